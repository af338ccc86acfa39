"""Machine code of a kernel: entries, compiled when first used; quick code is replaced by the best code."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import ismethod
from itertools import accumulate, pairwise
from types import MethodType
from typing import Any
from weakref import ref

from linkwork._util.console import log_compilation
from linkwork._util.thread_safety import Lock
from linkwork.compiler.backend import Backend, Claim
from linkwork.compiler.build import Source
from linkwork.compiler.code_parts import (
    CompiledPart,
    SharedWork,
    best_modules,
    compiled,
    improvable,
    is_cached,
    store_best,
)
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType

__all__ = ["Deadline", "KernelCode", "compilations", "make_in_background", "waiting"]

Improve = Callable[[Any], object]


class KernelCode:
    """A kernel's machine code: entries, each compiled or loaded from the cache on first use.

    Code that takes long to compile is quick code at first, of little optimization.  The best code is compiled in the
    background and replaces it; results are the same to the bit.  The backend's machine must be able to run in this
    process.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.seconds = 0.0  # to compile or load the entries so far, without tracing
        self.sizes: dict[tuple[str, FloatType], int] = {}  # of parts [bytes of the processor's instructions]
        self.compile_seconds = 0.0  # to compile the parts, possibly in another process
        self.cached = True  # True if all parts were loaded from the cache
        self._entries: dict[tuple[str, FloatType], Any] = {}
        self._parts: dict[tuple[str, FloatType], CompiledPart] = {}  # those that other entries may need
        self._improve: dict[tuple[str, FloatType], list[Callable[[], Improve | None]]] = {}  # entries of quick code
        self._replaced: list[Any] = []  # entries that other threads may be running
        self._lock = Lock()

    def entry(self, name: str, real: FloatType = DOUBLE) -> Any:
        """Return a loaded entry of the backend, compiling it if necessary. Raises the errors of compilation."""
        result = self._entries.get((name, real))
        if result is None:
            self.make([name], real)
            result = self._entries[name, real]
        return result

    def is_cached(self, name: str, real: FloatType) -> bool:
        """Return True if an entry needs no compilation: it is loaded, or the cache has its parts."""
        parts = self.source.backend.parts(name, real)
        return (name, real) in self._entries or is_cached(self.source, parts, real)

    def absent_parts(self, names: Iterable[str]) -> list[str]:
        """Return the parts of entries for float64 that are neither loaded nor in the cache."""
        missing = [name for name in names if not self.is_cached(name, DOUBLE)]
        parts = dict.fromkeys(part for name in missing for part in self.source.backend.parts(name, DOUBLE))
        return [part for part in parts if not self._has(part, DOUBLE, best=False)]

    def make(self, names: Iterable[str], real: FloatType = DOUBLE, best: bool = False) -> None:
        """Compile the entries ``names`` that are available and not loaded yet, all together.

        With ``best`` optimized code is compiled, which also replaces quick code of loaded entries.
        """
        backend = self.source.backend
        with waiting(), self._lock, self.source.one_look():
            known = self._entries.keys() - self._improve.keys() if best else self._entries.keys()
            missing = [name for name in names if backend.parts(name, real) and (name, real) not in known]
            _compilations[0] += bool(missing)
            parts = dict.fromkeys(part for name in missing for part in backend.parts(name, real))
            start, traced = time.perf_counter(), self.source.trace_seconds
            absent = [part for part in parts if not self._has(part, real, best)]
            new = compiled(self.source, absent, real, best)
            for part, code in new.items():
                self._parts[part, real] = code
                self.sizes[part, real] = sum(map(backend.code_bytes, code.objects))
                self.compile_seconds += code.seconds
                self.cached &= code.cached
            self._load(missing, real)
            self._forget()
            self.seconds += time.perf_counter() - start - (self.source.trace_seconds - traced)
            quick = {part: code for part, code in new.items() if code.is_quick}
            if quick:
                self._compile_best(quick, real)

    def when_improved(self, name: str, current: Any, improve: Improve, real: FloatType = DOUBLE) -> None:
        """Call a function with the best code of an entry as soon as it is loaded, if ``current`` is quick code.

        The function is called on another thread, or on this thread if the best code was loaded meanwhile.  A bound
        method is referenced weakly.
        """
        with self._lock:
            latest = self._entries[name, real]
            if latest is not current:
                improve(latest)
            elif (name, real) in self._improve:
                self._improve[name, real].append(_weak_method(improve) if ismethod(improve) else lambda: improve)

    def _has(self, part: str, real: FloatType, best: bool) -> bool:
        code = self._parts.get((part, real))
        return code is not None and not (best and code.is_quick)

    def _load(self, names: Sequence[str], real: FloatType) -> None:
        """Load entries from their parts; they replace quick code."""
        entries = {name: self.source.backend.parts(name, real) for name in names}
        objects = {part: self._parts[part, real].objects for parts in entries.values() for part in parts}
        codes = self.source.backend.load_together(objects, self.source.recipe.name, entries) if entries else []
        for name, code in zip(entries, codes, strict=True):
            self._use(name, real, code)

    def _use(self, name: str, real: FloatType, new: Any) -> None:
        """Use the loaded code of an entry from now on."""
        old = self._entries.get((name, real))
        self._entries[name, real] = new
        if any(self._parts[part, real].is_quick for part in self.source.backend.parts(name, real)):
            self._improve.setdefault((name, real), [])
            return
        waiting = self._improve.pop((name, real), [])
        if old is not None:
            self._replaced.append(old)
        for function in waiting:
            improve = function()
            if improve is not None:
                improve(new)

    def _forget(self) -> None:
        """Drop the parts that no remaining entry needs."""
        backend = self.source.backend
        every = [(n, real) for n in backend.entries for real in (DOUBLE, SINGLE)]
        to_come = [key for key in [*every, *self._improve] if key not in self._entries or key in self._improve]
        needed = {(part, real) for n, real in to_come for part in backend.parts(n, real)}
        self._parts = {key: part for key, part in self._parts.items() if key in needed}

    # -- the best code

    def _compile_best(self, quick: Mapping[str, CompiledPart], real: FloatType) -> None:
        """Compile the optimized code of the parts in the background."""
        source, parts = self.source, [*quick]
        backend = source.backend
        ends = [0]
        to = {part: improvable(part, source, real) for part in parts}
        weak_code, name, start = ref(self), source.recipe.name, time.perf_counter()
        work = SharedWork(source, parts, real)

        def use(best: Mapping[str, CompiledPart]) -> None:
            work.release()  # before the kernel's lock: who has that one may wait for the claim
            code = weak_code()
            if code is not None:
                code._replace(best, real)

        def claim() -> Claim:
            if not work.claim():
                return "later"
            best = work.done_by_others()
            if not best:
                return "now"
            use(best)
            return "done"

        def modules() -> tuple[list[bytes], int]:
            every = [best_modules(source, part, code, real) for part, code in quick.items()]
            ends[:] = accumulate((len(packed) for packed, _ in every), initial=0)
            return [module for packed, _ in every for module in packed], sum(count for _, count in every)

        def done(objects: list[bytes]) -> None:
            seconds = time.perf_counter() - start
            log_compilation(f"{name} again, in the background,", seconds)
            best = {}
            for part, (first, end) in zip(parts, pairwise(ends), strict=True):
                best[part] = CompiledPart(tuple(objects[first:end]), False, seconds / len(parts))
                store_best(to[part], best[part])
            use(best)

        written = all(code.packed is not None for code in quick.values())
        backend.emit_later(modules, written, done, claim=claim, release=work.release)

    def _replace(self, best: Mapping[str, CompiledPart], real: FloatType, *, is_first: bool = False) -> None:
        """Use the optimized code of the parts; entries with optimized code for all their parts are loaded again.

        Parts that no entry uses yet are dropped, unless the code ``is_first``.
        """
        backend = self.source.backend
        with self._lock:
            for part, code in best.items():
                if is_first or self._has(part, real, best=False):
                    self._parts[part, real] = code
                    self.sizes[part, real] = sum(map(backend.code_bytes, code.objects))
            waiting = [name for name, waiting_real in self._improve if waiting_real == real]
            ready = [
                name for name in waiting if all(self._has(part, real, best=True) for part in backend.parts(name, real))
            ]
            self._load(ready, real)
            self._forget()


def _weak_method(method: MethodType) -> Callable[[], Improve | None]:
    """Return a function that returns a bound method while its object lives.

    A `WeakMethod` would run Python code when the object is deleted, where an interrupt would be lost.
    """
    owner, function = ref(method.__self__), method.__func__

    def bound() -> Improve | None:
        instance = owner()
        return None if instance is None else MethodType(function, instance)

    return bound


def make_in_background(code_and_entries: Callable[[], tuple[KernelCode, Sequence[str]]], backend: Backend[Any]) -> None:
    """Compile float64 code of a kernel's entries in the background, at once as optimized code.

    ``code_and_entries`` is called on another thread and may trace.  Its errors are dropped, since the call that needs
    the code raises them.  A call that needs the code earlier compiles it.  The backend has a `quick` one.
    """
    traced: list[tuple[KernelCode, Sequence[str]]] = []
    missing: list[str] = []
    works: list[SharedWork] = []
    ends, start = [0], time.perf_counter()

    def modules() -> tuple[list[bytes], int]:
        code, entries = code_and_entries()
        traced.append((code, entries))
        work = SharedWork(code.source, code.absent_parts(entries), DOUBLE)
        works.append(work)
        work.wait()
        missing.extend(code.absent_parts(entries))
        every = [best_modules(code.source, part, None, DOUBLE) for part in missing]
        ends.extend(accumulate(len(packed) for packed, _ in every))
        return [module for packed, _ in every for module in packed], sum(count for _, count in every)

    def done(objects: list[bytes]) -> None:
        code, entries = traced[-1]
        seconds, best = time.perf_counter() - start, {}
        for part, (first, end) in zip(missing, pairwise(ends), strict=True):
            best[part] = CompiledPart(tuple(objects[first:end]), False, seconds / len(missing))
            store_best(improvable(part, code.source, DOUBLE), best[part])
        release()
        code._replace(best, DOUBLE, is_first=True)
        code.make(entries)

    def release() -> None:
        for work in works:
            work.release()

    backend.emit_later(modules, False, done, urgent=True, release=release)


_compilations = [0]  # of all kernels, those loaded from the cache included


def compilations() -> int:
    """Return the number of times that this process has compiled or loaded code of kernels.

    A call that increases it has compiled or loaded code.
    """
    return _compilations[0]


_waits = threading.local()  # `seconds` for which calls of this thread have waited for code of kernels


def _waited() -> float:
    result: float = getattr(_waits, "seconds", 0.0)
    return result


@contextmanager
def waiting() -> Iterator[None]:
    """Exclude the time of the ``with`` block, in which this thread waits for code, from time limits (`Deadline`)."""
    before, start = _waited(), time.perf_counter()
    try:
        yield
    finally:
        _waits.seconds = before + time.perf_counter() - start


class Deadline:
    """End of a time limit [s]; the time that this thread waits for code of kernels is not counted."""

    def __init__(self, limit: float) -> None:
        self._end = self._now() + limit

    @staticmethod
    def _now() -> float:
        return time.perf_counter() - _waited()

    @property
    def left(self) -> float:
        """Time that is left [s]."""
        return self._end - self._now()
