"""Machine code of a kernel: loaded from the cache on disk, or traced, optimized and compiled."""

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
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import Port, Program
from linkwork.compiler.runtime.cpython import without_collections

__all__ = ["DEBUG", "CompiledPart", "KernelCode", "Recipe", "Source", "compiled"]

DEBUG = "LINKWORK_DEBUG"


@dataclass(frozen=True)
class Recipe:
    """The ports of a kernel, and a function that traces its program if the cache does not have its code."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    trace: Callable[[], Program]
    content: tuple[str, ...] | None = None
    """Everything that the program depends on except linkwork itself; None if only the traced program shows it."""
    facts: tuple[tuple[str, str], ...] = ()
    """Facts that a list of the cache's entries shows."""
    ruled: Callable[[], Program] | None = None
    """The program with its own rules of differentiation, if it has any."""
    in_double: bool = False
    """True if it is computed in float64 for arguments of any type."""

    @staticmethod
    def of(program: Program) -> Recipe:
        return Recipe(program.name, program.inputs, program.outputs, lambda: program, in_double=program.in_double)


class Source:
    """The program of a recipe, traced and optimized on first use."""

    def __init__(self, recipe: Recipe, backend: Backend[Any], without_passes: Sequence[str] = ()) -> None:
        self.recipe, self.backend = recipe, backend
        self.without_passes = (*without_passes, *backend.without_passes)
        self._cached = not without_passes
        self.trace_seconds = 0.0
        self._lock = Lock()
        self._traced: Program | None = None
        self._program: Program | None = None
        self._identity: tuple[str, ...] | None = None
        self._layouts: dict[FloatType, Lowered] = {}

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
        """True if the program was traced already."""
        return self._traced is not None

    @property
    def program(self) -> Program:
        """The program after all passes; with LINKWORK_DEBUG in the environment it is verified between them."""
        with self._lock:
            if self._program is None:
                debug = os.environ.get(DEBUG, "") not in ("", "0")
                self._program = without_collections(optimize)(self.traced, without=self.without_passes, debug=debug)
            return self._program

    def layout(self, real: FloatType) -> Lowered:
        """Return the layout of the program's code for a floating-point type."""
        with self._lock:
            if real not in self._layouts:
                reason = self.backend.refuse(self.traced)
                if reason is not None:
                    backend = self.backend.name
                    raise ValueError(f"{self.recipe.name}: backend {backend!r} cannot compile it: {reason}")
                self._layouts[real] = self.backend.lower(self.program, real)
            return self._layouts[real]

    def texts(self, parts: Iterable[str], real: FloatType = DOUBLE) -> list[str]:
        """Return the text of parts of the code, one for each module: LLVM IR for the CPU."""
        return self.layout(real).texts(parts)

    @property
    def identity(self) -> tuple[str, ...]:
        """Everything that the program depends on except linkwork itself."""
        with self._lock:
            if self._identity is None:
                known = self.recipe.content
                self._identity = ("program", content(self.traced)) if known is None else ("recipe", *known)
            return self._identity

    def keys(self, parts: Iterable[str], real: FloatType) -> dict[str, str]:
        """Return the names of parts in the cache; {} if they are not to be stored."""
        if not self._cached:
            return {}
        target = self.backend.name, *self.backend.target
        code = digest([real.name, symbol_prefix(self.recipe.name), *self.identity], target)
        return {part: f"{code}-{part}" for part in parts}


@dataclass(frozen=True, slots=True)
class CompiledPart:
    """A compiled part of a kernel's code."""

    objects: tuple[bytes, ...]
    cached: bool  # True if it was loaded from the cache on disk
    seconds: float  # time to compile it, possibly in another process


class KernelCode:
    """A kernel's machine code: entries, each compiled or loaded from the cache on first use.

    The backend's machine must be able to run in this process.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.seconds = 0.0  # to compile or load the entries so far, without tracing
        self.sizes: dict[tuple[str, FloatType], int] = {}  # of parts [bytes of the processor's instructions]
        self.compile_seconds = 0.0  # to compile the parts, possibly in another process
        self.cached = True  # True if all parts were loaded from the cache
        self._entries: dict[tuple[str, FloatType], Any] = {}
        self._parts: dict[tuple[str, FloatType], CompiledPart] = {}  # those that other entries may need
        self._lock = Lock()

    def entry(self, name: str, real: FloatType = DOUBLE) -> Any:
        """Return a loaded entry of the backend, compiling it if necessary. Raises the errors of compilation."""
        result = self._entries.get((name, real))
        if result is None:
            self.make([name], real)
            result = self._entries[name, real]
        return result

    def make(self, names: Iterable[str], real: FloatType = DOUBLE) -> None:
        """Compile these entries together, except those that are loaded already or that the backend lacks."""
        backend = self.source.backend
        with self._lock:
            missing = [name for name in names if backend.parts(name, real) and (name, real) not in self._entries]
            parts = dict.fromkeys(part for name in missing for part in backend.parts(name, real))
            start, traced = time.perf_counter(), self.source.trace_seconds
            absent = [part for part in parts if (part, real) not in self._parts]
            for part, new in compiled(self.source, absent, real).items():
                self._parts[part, real] = new
                self.sizes[part, real] = sum(map(backend.code_bytes, new.objects))
                self.compile_seconds += new.seconds
                self.cached &= new.cached
            for name in missing:
                objects = [code for part in backend.parts(name, real) for code in self._parts[part, real].objects]
                self._entries[name, real] = backend.load(objects, self.source.recipe.name, name)
            self._forget()
            self.seconds += time.perf_counter() - start - (self.source.trace_seconds - traced)

    def _forget(self) -> None:
        """Drop the parts that no remaining entry needs."""
        backend = self.source.backend
        to_come = [(n, real) for n in backend.entries for real in (DOUBLE, SINGLE) if (n, real) not in self._entries]
        needed = {(part, real) for n, real in to_come for part in backend.parts(n, real)}
        self._parts = {key: part for key, part in self._parts.items() if key in needed}


def compiled(source: Source, parts: Sequence[str], real: FloatType) -> dict[str, CompiledPart]:
    """Return parts of a kernel's code, from the cache or compiled in parallel."""
    cache = shared()
    if cache is None or not parts:
        return _emitted(source, parts, real)
    keys = source.keys(parts, real)
    result = _loaded(cache, keys, source.backend)
    new = _emitted(source, [part for part in parts if part not in result], real, stored=bool(keys))
    for part, key in keys.items():
        if part in new:
            cache.store(key, _cache_entry(source, part, real, new[part]))
    return result | new


def _loaded(cache: Cache, keys: dict[str, str], backend: Backend[Any]) -> dict[str, CompiledPart]:
    """Return the parts that the cache has completely."""
    result = {}
    for part, key in keys.items():
        entry = cache.load(key)
        whole = None if entry is None else _cached_part(entry, backend)
        if whole is not None:
            result[part] = whole
        elif entry is not None:
            cache.refuse(key)
    return result


def _emitted(source: Source, parts: Sequence[str], real: FloatType, stored: bool = False) -> dict[str, CompiledPart]:
    """Compile parts in parallel; ``stored`` is True if the cache will store them, which the notice mentions."""
    if not parts:
        return {}
    after = "; the cache stores it for the next process" if stored else ""
    notice = Notice(f"linkwork: compiling {source.recipe.name} takes more than a second{after}")
    layout, start = source.layout(real), time.perf_counter()
    texts = {part: layout.texts([part]) for part in parts}
    objects = iter(source.backend.emit([text for part in parts for text in texts[part]], notice))
    each = (time.perf_counter() - start) / sum(len(text) for part in parts for text in texts[part])

    def compiled_part(part: str) -> CompiledPart:
        return CompiledPart(tuple([next(objects) for _ in texts[part]]), False, each * sum(map(len, texts[part])))

    return {part: compiled_part(part) for part in parts}


def _cache_entry(source: Source, part: str, real: FloatType, compiled: CompiledPart) -> Entry:
    facts: dict[str, Any] = {
        "kernel": f"{source.recipe.name}.{part}",
        **dict(source.recipe.facts),
        "type": real.dtype.__name__,
        "lanes": source.backend.lanes(real),
        "seconds": round(compiled.seconds, 3),
        "sizes": [len(code) for code in compiled.objects],
    }
    return Entry(facts, b"".join(compiled.objects))


def _cached_part(entry: Entry, backend: Backend[Any]) -> CompiledPart | None:
    """Return the part in an entry of the cache; None if the entry was written in another form."""
    sizes, seconds = entry.facts.get("sizes"), entry.facts.get("seconds")
    if not isinstance(sizes, list) or not all(type(size) is int and size > 0 for size in sizes):
        return None
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf or sum(sizes) != len(entry.code):
        return None
    ends = list(accumulate(sizes, initial=0))
    objects = tuple(entry.code[start:end] for start, end in pairwise(ends))
    return CompiledPart(objects, True, float(seconds)) if objects and all(map(backend.is_object, objects)) else None
