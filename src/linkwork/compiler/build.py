"""From a recipe to machine code: taken from the cache on disk, or traced, optimised and compiled."""

from __future__ import annotations

import hashlib
import os
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._locks import Lock
from . import fastcall
from .cache import Entry, digest, shared
from .jit import MachineCode, emit, link, module_texts
from .passes import optimize
from .program import CONSTANT, INPUT, Port, Program
from .real import DOUBLE, Real
from .target import Target

__all__ = ["DEBUG", "Recipe", "Source", "machine_code"]

DEBUG = "LINKWORK_DEBUG"


@dataclass(frozen=True)
class Recipe:
    """What a kernel is made from: its ports, and how to trace its program, which may not be needed."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    trace: Callable[[], Program]
    content: tuple[str, ...] | None = None
    """All that the program depends on besides linkwork itself; None where only the program tells."""
    facts: tuple[tuple[str, str], ...] = ()
    """What people may want to know of it in a list of the cache's entries."""

    @staticmethod
    def of(program: Program) -> Recipe:
        return Recipe(program.name, program.inputs, program.outputs, lambda: program)


class Source:
    """A recipe's program, traced and optimised when it is asked for."""

    def __init__(self, recipe: Recipe, target: Target, without_passes: Sequence[str] = ()) -> None:
        self.recipe, self.target = recipe, target
        self.without_passes = tuple(without_passes) if target.fma else (*without_passes, "fuse")
        self._cached = not without_passes
        self.trace_seconds = 0.0
        self._lock = Lock()
        self._traced: Program | None = None
        self._program: Program | None = None

    @property
    def traced(self) -> Program:
        """The program as it was traced."""
        with self._lock:
            if self._traced is None:
                start = time.perf_counter()
                self._traced = self.recipe.trace()
                self.trace_seconds = time.perf_counter() - start
            return self._traced

    @property
    def program(self) -> Program:
        """The program after all passes; with LINKWORK_DEBUG in the environment it is verified between them."""
        with self._lock:
            if self._program is None:
                debug = os.environ.get(DEBUG, "") not in ("", "0")
                self._program = optimize(self.traced, without=self.without_passes, debug=debug)
            return self._program

    def texts(self, real: Real) -> list[str]:
        return module_texts(self.program, self.target, real)

    def key(self, real: Real) -> str | None:
        """The name of the code in the cache; None where it is not to be kept."""
        if not self._cached:
            return None
        content = self.recipe.content
        parts = ("program", _content(self.traced)) if content is None else ("recipe", *content)
        return digest([real.name, *parts], self.target)


def machine_code(source: Source, real: Real) -> MachineCode:
    """Machine code for the source's target, which must be able to run here."""
    fast_call = fastcall.available() and real is DOUBLE
    cache = shared()
    key = source.key(real) if cache else None
    if cache is not None and key is not None:
        entry = cache.load(key)
        if entry is not None:
            code = link(_apart(entry), source.target, fast_call=fast_call)
            return replace(code, cached=True, seconds=float(entry.facts["seconds"]))
    start = time.perf_counter()
    objects = emit(source.texts(real), source.target)
    seconds = time.perf_counter() - start
    if cache is not None and key is not None:
        cache.store(key, _together(source, real, objects, seconds))
    return replace(link(objects, source.target, fast_call=fast_call), seconds=seconds)


def _together(source: Source, real: Real, objects: Sequence[bytes], seconds: float) -> Entry:
    facts: dict[str, Any] = {
        "kernel": source.recipe.name,
        **dict(source.recipe.facts),
        "type": real.dtype.__name__,
        "lanes": source.target.lanes_of(real),
        "seconds": round(seconds, 3),
        "sizes": [len(code) for code in objects],
    }
    return Entry(facts, b"".join(objects))


def _apart(entry: Entry) -> list[bytes]:
    objects, start = [], 0
    for size in entry.facts["sizes"]:
        objects.append(entry.code[start : start + size])
        start += size
    return objects


def _content(program: Program) -> str:
    """A digest of everything in a program that its code depends on: all but names."""
    names: dict[str, int] = {}
    operations, arguments, numbers = array("q"), array("q"), array("d")
    for operation, args, value in program.instructions:
        operations.append(names.setdefault(operation.name, len(names)))
        arguments.extend(args)
        if operation is INPUT:
            arguments.append(value)
        elif operation is CONSTANT:
            numbers.append(value)
    shapes = [[port.shape for port in side] for side in (program.inputs, program.outputs)]
    total = hashlib.sha256(repr((shapes, program.guards, list(names), len(operations), len(arguments))).encode())
    for part in (operations, arguments, numbers, array("q", program.results)):
        total.update(part.tobytes())
    return total.hexdigest()
