"""From a recipe to machine code: taken from the cache on disk, or traced, optimised and compiled."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from linkwork._util.console import Notice
from linkwork._util.fork_safe_lock import Lock
from linkwork.compiler.backend import Backend, Lowered, symbol_prefix
from linkwork.compiler.cache.disk_cache import Cache, Entry, digest, shared
from linkwork.compiler.cache.program_digest import content
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, Real
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import Port, Program
from linkwork.compiler.runtime.cpython import without_collections

__all__ = ["DEBUG", "CompiledPart", "KernelCode", "Recipe", "Source", "compiled"]

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
    ruled: Callable[[], Program] | None = None
    """The program with rules for derivatives that need not follow its operations, where there is one."""
    in_double: bool = False
    """Whether it is computed in float64, whatever it is called with."""

    @staticmethod
    def of(program: Program) -> Recipe:
        return Recipe(program.name, program.inputs, program.outputs, lambda: program, in_double=program.in_double)


class Source:
    """A recipe's program, traced and optimised when it is asked for."""

    def __init__(self, recipe: Recipe, backend: Backend[Any], without_passes: Sequence[str] = ()) -> None:
        self.recipe, self.backend = recipe, backend
        self.without_passes = (*without_passes, *backend.without_passes)
        self._cached = not without_passes
        self.trace_seconds = 0.0
        self._lock = Lock()
        self._traced: Program | None = None
        self._program: Program | None = None
        self._told: tuple[str, ...] | None = None
        self._designs: dict[Real, Lowered] = {}

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
    def is_traced(self) -> bool:
        """Whether the program is there."""
        return self._traced is not None

    @property
    def program(self) -> Program:
        """The program after all passes; with LINKWORK_DEBUG in the environment it is verified between them."""
        with self._lock:
            if self._program is None:
                debug = os.environ.get(DEBUG, "") not in ("", "0")
                self._program = without_collections(optimize)(self.traced, without=self.without_passes, debug=debug)
            return self._program

    def design(self, real: Real) -> Lowered:
        """How the program is laid out as code."""
        with self._lock:
            if real not in self._designs:
                reason = self.backend.refuse(self.traced)
                if reason is not None:
                    backend = self.backend.name
                    raise ValueError(f"{self.recipe.name}: the backend {backend!r} cannot compile it: {reason}")
                self._designs[real] = self.backend.lower(self.program, real)
            return self._designs[real]

    def texts(self, parts: Iterable[str], real: Real = DOUBLE) -> list[str]:
        """The text of parts of the code, one for each module: LLVM IR for the CPU."""
        return self.design(real).texts(parts)

    @property
    def told(self) -> tuple[str, ...]:
        """All that the program depends on besides linkwork itself."""
        with self._lock:
            if self._told is None:
                told = self.recipe.content
                self._told = ("program", content(self.traced)) if told is None else ("recipe", *told)
            return self._told

    def keys(self, parts: Iterable[str], real: Real) -> dict[str, str]:
        """The names of parts in the cache; none where they are not to be kept."""
        if not self._cached:
            return {}
        target = self.backend.name, *self.backend.target
        code = digest([real.name, symbol_prefix(self.recipe.name), *self.told], target)
        return {part: f"{code}-{part}" for part in parts}


@dataclass(frozen=True, slots=True)
class CompiledPart:
    """A part of a kernel's code, compiled."""

    objects: tuple[bytes, ...]
    cached: bool  # whether it comes from the cache on disk
    seconds: float  # that it took to compile, perhaps in another process


class KernelCode:
    """A kernel's machine code: entries, each compiled, or taken from the cache, when it is first asked for.

    The backend's machine must be able to run here.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.seconds = 0.0  # to make what is there, without tracing
        self.sizes: dict[tuple[str, Real], int] = {}  # of parts, in bytes of the processor's instructions
        self.compile_seconds = 0.0  # that the parts took, perhaps in another process
        self.cached = True  # whether all of them came from the cache
        self._entries: dict[tuple[str, Real], Any] = {}
        self._parts: dict[tuple[str, Real], CompiledPart] = {}  # those that other entries may need
        self._lock = Lock()

    def entry(self, name: str, real: Real = DOUBLE) -> Any:
        """An entry that the backend has, loaded.  Raises what compiling it raises."""
        result = self._entries.get((name, real))
        if result is None:
            self.make([name], real)
            result = self._entries[name, real]
        return result

    def make(self, names: Iterable[str], real: Real = DOUBLE) -> None:
        """Compile entries, those that are available and not there, side by side."""
        backend = self.source.backend
        with self._lock:
            missing = [name for name in names if backend.parts(name, real) and (name, real) not in self._entries]
            parts = dict.fromkeys(part for name in missing for part in backend.parts(name, real))
            start, traced = time.perf_counter(), self.source.trace_seconds
            wanted = [part for part in parts if (part, real) not in self._parts]
            for part, made in compiled(self.source, wanted, real).items():
                self._parts[part, real] = made
                self.sizes[part, real] = sum(map(backend.code_bytes, made.objects))
                self.compile_seconds += made.seconds
                self.cached &= made.cached
            for name in missing:
                objects = [code for part in backend.parts(name, real) for code in self._parts[part, real].objects]
                self._entries[name, real] = backend.load(objects, self.source.recipe.name, name)
            self._forget()
            self.seconds += time.perf_counter() - start - (self.source.trace_seconds - traced)

    def _forget(self) -> None:
        """Drop the parts that no entry still to come needs."""
        backend = self.source.backend
        to_come = [(n, real) for n in backend.entries for real in (DOUBLE, SINGLE) if (n, real) not in self._entries]
        needed = {(part, real) for n, real in to_come for part in backend.parts(n, real)}
        self._parts = {key: part for key, part in self._parts.items() if key in needed}


def compiled(source: Source, parts: Sequence[str], real: Real) -> dict[str, CompiledPart]:
    """Parts of a kernel's code: from the cache, or compiled side by side."""
    cache = shared()
    if cache is None or not parts:
        return _emitted(source, parts, real)
    keys = source.keys(parts, real)
    result = _loaded(cache, keys, source.backend)
    made = _emitted(source, [part for part in parts if part not in result], real, kept=bool(keys))
    for part, key in keys.items():
        if part in made:
            cache.store(key, _together(source, part, real, made[part]))
    return result | made


def _loaded(cache: Cache, keys: dict[str, str], backend: Backend[Any]) -> dict[str, CompiledPart]:
    """The parts that the cache has whole."""
    result = {}
    for part, key in keys.items():
        entry = cache.load(key)
        whole = None if entry is None else _apart(entry, backend)
        if whole is not None:
            result[part] = whole
        elif entry is not None:
            cache.refuse(key)
    return result


def _emitted(source: Source, parts: Sequence[str], real: Real, kept: bool = False) -> dict[str, CompiledPart]:
    """Parts compiled side by side; ``kept`` says whether the cache is going to have them."""
    if not parts:
        return {}
    after = "; the cache keeps it for the next process" if kept else ""
    notice = Notice(f"linkwork: compiling {source.recipe.name} takes more than a second{after}")
    design, start = source.design(real), time.perf_counter()
    texts = {part: design.texts([part]) for part in parts}
    objects = iter(source.backend.emit([text for part in parts for text in texts[part]], notice))
    each = (time.perf_counter() - start) / sum(len(text) for part in parts for text in texts[part])

    def made(part: str) -> CompiledPart:
        return CompiledPart(tuple([next(objects) for _ in texts[part]]), False, each * sum(map(len, texts[part])))

    return {part: made(part) for part in parts}


def _together(source: Source, part: str, real: Real, made: CompiledPart) -> Entry:
    facts: dict[str, Any] = {
        "kernel": f"{source.recipe.name}.{part}",
        **dict(source.recipe.facts),
        "type": real.dtype.__name__,
        "lanes": source.backend.lanes(real),
        "seconds": round(made.seconds, 3),
        "sizes": [len(code) for code in made.objects],
    }
    return Entry(facts, b"".join(made.objects))


def _apart(entry: Entry, backend: Backend[Any]) -> CompiledPart | None:
    """The part in an entry; None where another program made it, with what is not as it is here."""
    sizes, seconds = entry.facts.get("sizes"), entry.facts.get("seconds")
    if not isinstance(sizes, list) or not all(type(size) is int and size > 0 for size in sizes):
        return None
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf or sum(sizes) != len(entry.code):
        return None
    ends = list(accumulate(sizes, initial=0))
    objects = tuple(entry.code[start:end] for start, end in pairwise(ends))
    return CompiledPart(objects, True, float(seconds)) if objects and all(map(backend.is_object, objects)) else None
