"""Parts of a kernel's machine code: loaded from the cache on disk, or compiled and stored there.

Code that takes long to compile is compiled twice.  Quick code, of little optimization, answers the first calls.  The
source of the best code is stored in the cache with the quick code, so that a later process can compile the best code
without a trace. For long programs this source is written in the background; until then, only quick code is in the
cache.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from linkwork._util.collection_pauses import without_collections
from linkwork._util.console import CompileNotice
from linkwork._util.lazy_dataclass import dataclass
from linkwork.compiler.backend import Backend, Module
from linkwork.compiler.build import Source
from linkwork.compiler.cache.disk_cache import Cache, Entry, shared
from linkwork.compiler.cache.key_lock import LONGEST_WAIT, KeyLock
from linkwork.compiler.codegen.float_type import FloatType

__all__ = [
    "CompiledPart",
    "ImprovablePart",
    "SharedWork",
    "best_modules",
    "compiled",
    "improvable",
    "is_cached",
    "store_best",
]

_SHORT = 120_000  # characters of LLVM IR: the best code of less takes some 30 ms, at most 0.1 s
_LONG = 5000  # instructions from which on the source of the best code is written in the background


@dataclass(frozen=True, slots=True)
class CompiledPart:
    """The object code of one separately compiled part of a kernel, and how it was obtained."""

    objects: tuple[bytes, ...]
    cached: bool  # True if it was loaded from the cache on disk
    seconds: float  # time to compile it, possibly in another process
    is_quick: bool = False  # True if better code is to replace it
    packed: tuple[bytes, ...] | None = None  # of quick code: the modules of the best code, compressed, once written
    characters: int = 0  # of these modules


@dataclass(frozen=True, slots=True)
class ImprovablePart:
    """The cache entry for the optimized code of a part: the cache, the entry's name, and facts about the code.

    ``quick_name`` names the entry of the quickly compiled code that the optimized code replaces.  ``cache`` is None if
    the code is not stored.
    """

    cache: Cache | None
    name: str
    quick_name: str
    facts: Mapping[str, Any]


@without_collections
def compiled(source: Source, parts: Sequence[str], real: FloatType, best: bool = True) -> dict[str, CompiledPart]:
    """Return parts of a kernel's code, from the cache or compiled in parallel.

    The parts may be quick code unless ``best``.  If another process compiles the same code, this function waits for it.
    """
    cache, quick = shared(), None if best else source.backend.quick
    result = _cached(source, quick, cache, parts, real)
    absent = [part for part in parts if part not in result]
    if not absent:
        return result
    if cache is None or not source.keys(absent, real):
        return result | _compiled_and_stored(source, quick, cache, absent, real)
    (name,) = source.keys(["best" if best else "first"], real).values()

    def work() -> dict[str, CompiledPart]:
        stored_parts = _cached(source, quick, cache, absent, real)
        remaining = [part for part in absent if part not in stored_parts]
        return result | stored_parts | _compiled_and_stored(source, quick, cache, remaining, real)

    return cache.lock(name).run(work)


def _cached(
    source: Source, quick: Backend[Any] | None, cache: Cache | None, parts: Sequence[str], real: FloatType
) -> dict[str, CompiledPart]:
    """Return the parts that the cache has: their best code or, with a ``quick`` backend, quick code."""
    if cache is None:
        return {}
    result = _loaded(cache, source.keys(parts, real), source.backend)
    absent = [part for part in parts if part not in result]
    if quick is not None and absent:
        keys = source.keys(absent, real, quick)
        result |= _with_sources(cache, _loaded(cache, keys, quick), keys)
    return result


def _compiled_and_stored(
    source: Source, quick: Backend[Any] | None, cache: Cache | None, parts: Sequence[str], real: FloatType
) -> dict[str, CompiledPart]:
    """Compile parts and store them in the cache."""
    backend = source.backend
    keys = source.keys(parts, real) if cache is not None else {}
    result = {} if quick is None else _quick(source, quick, cache, parts, real)
    absent = [part for part in parts if part not in result]
    write: Callable[[Sequence[str], FloatType], Sequence[Module]]
    write = source.quick_texts if backend.is_quick else source.texts
    new = _emitted(source, backend, {part: write([part], real) for part in absent}, stored=bool(keys))
    is_unchanged = source.is_unchanged()
    for part, code in new.items():
        if cache is not None and part in keys and is_unchanged:
            cache.store(keys[part], _cache_entry(_facts(source, part, real), code))
    return result | new


def best_modules(
    source: Source, part: str, code: CompiledPart | None, real: FloatType
) -> tuple[tuple[bytes, ...], int]:
    """Return the compressed modules of the best code of a part, and their length in characters.

    ``code`` is the quick code of the part, if there is any.  If the modules do not exist yet, they are written, and
    stored in the cache with the quick code.
    """
    if code is not None and code.packed is not None:
        return code.packed, code.characters
    packed, characters = _packed(source.texts([part], real))
    to = improvable(part, source, real)
    if code is not None and to.cache is not None:
        _store_source(to.cache, to.quick_name, to.facts, packed, characters)
    return packed, characters


def is_cached(source: Source, parts: Sequence[str], real: FloatType) -> bool:
    """Return True if the disk cache has all parts of a kernel's code, either all as optimized or all as quick code."""
    cache = shared()
    if cache is None:
        return False
    backends = [backend for backend in (source.backend, source.backend.quick) if backend is not None]
    with source.one_look():
        keys = [source.keys(parts, real, backend) for backend in backends]
    return any(backend_keys and all(key in cache for key in backend_keys.values()) for backend_keys in keys)


def improvable(part: str, source: Source, real: FloatType) -> ImprovablePart:
    """Return the cache entry in which the optimized code of a part will be stored."""
    cache, quick = shared(), source.backend.quick
    keys = source.keys([part], real)
    if cache is None or quick is None or not keys:
        return ImprovablePart(None, "", "", {})
    (quick_name,) = source.keys([part], real, quick).values()
    return ImprovablePart(cache, keys[part], quick_name, _facts(source, part, real))


class SharedWork:
    """Compilation of parts to optimized code, by only one of the processes that share a cache.

    Another process that claims the same work waits until the code is in the cache, or the first process has ended.
    """

    def __init__(self, source: Source, parts: Sequence[str], real: FloatType) -> None:
        self._source, self._parts, self._real = source, parts, real
        self._lock: KeyLock | None = None
        self._since: float | None = None  # [s] of the first claim

    def claim(self) -> bool:
        """Return False while another process compiles, and True once this process may compile.

        After some minutes the result is True in any case.
        """
        cache, names = shared(), self._source.keys(["best"], self._real)
        if cache is None or not names:
            return True
        lock = cache.lock(names["best"])
        self._since = time.monotonic() if self._since is None else self._since
        if not lock.attempt():
            return time.monotonic() - self._since > LONGEST_WAIT
        self._lock = lock
        return True

    def wait(self) -> None:
        """Wait while another process compiles, for a few minutes at most."""
        cache, names = shared(), self._source.keys(["best"], self._real)
        if self._parts and cache is not None and names:
            self._lock = cache.lock(names["best"])
            self._lock.wait()

    def release(self) -> None:
        """End this process's claim to compile the parts, if it has made one."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def done_by_others(self) -> dict[str, CompiledPart]:
        """Return the optimized code of all parts if another process has stored it in the cache, otherwise {}."""
        cache, keys = shared(), self._source.keys(self._parts, self._real)
        if cache is None or not all(name in cache for name in keys.values()):
            return {}
        result = _loaded(cache, keys, self._source.backend)
        return result if len(result) == len(self._parts) else {}


def store_best(to: ImprovablePart, code: CompiledPart) -> None:
    """Store the optimized code of a part in the cache, replacing the quick code."""
    if to.cache is not None:
        to.cache.store(to.name, _cache_entry(to.facts, code))
        for name in (to.quick_name, _source_name(to.quick_name)):
            to.cache.remove(name)


# -- quick code


def _quick(
    source: Source, quick: Backend[Any], cache: Cache | None, parts: Sequence[str], real: FloatType
) -> dict[str, CompiledPart]:
    """Return the parts as quickly compiled code, with little optimization; {} if optimized code takes little time."""
    if not parts:
        return {}
    keys = source.keys(parts, real, quick) if cache is not None else {}
    from linkwork.expr.scalar.block import instruction_count

    is_long = instruction_count(source.simplified) >= _LONG
    texts = {} if is_long else {part: source.texts([part], real) for part in parts}
    if not is_long and sum(len(text) for modules_of_part in texts.values() for text in modules_of_part) < _SHORT:
        return {}
    result = {}
    short = {part: source.quick_texts([part], real, scheduled=not is_long) for part in parts}
    for part, code in _emitted(source, quick, short, stored=bool(keys)).items():
        packed, characters = _packed(texts[part]) if part in texts else (None, 0)
        result[part] = CompiledPart(code.objects, code.cached, code.seconds, True, packed, characters)
        if cache is not None and part in keys and source.is_unchanged():
            facts = {**_facts(source, part, real), "tier": "quick"}
            cache.store(keys[part], _cache_entry(facts, code))
            if packed is not None:
                _store_source(cache, keys[part], facts, packed, characters)
    return result


def _packed(texts: Sequence[str]) -> tuple[tuple[bytes, ...], int]:
    return tuple([zlib.compress(text.encode(), 1) for text in texts]), sum(map(len, texts))


def _store_source(
    cache: Cache, quick_name: str, facts: Mapping[str, Any], packed: Sequence[bytes], characters: int
) -> None:
    facts = {**facts, "tier": "source of the best code", "sizes": [*map(len, packed)], "characters": characters}
    cache.store(_source_name(quick_name), Entry(facts, b"".join(packed)))


def _with_sources(cache: Cache, parts: Mapping[str, CompiledPart], keys: Mapping[str, str]) -> dict[str, CompiledPart]:
    """Add to parts of quick code the compressed source modules of their optimized code, if the cache has them."""
    result = {}
    for part, code in parts.items():
        packed, characters = _stored_source(cache, keys[part]) or (None, 0)
        result[part] = CompiledPart(code.objects, code.cached, code.seconds, True, packed, characters)
    return result


def _stored_source(cache: Cache, quick_name: str) -> tuple[tuple[bytes, ...], int] | None:
    """Return the cached source modules of optimized code, compressed, and their total length in characters.

    They are stored beside the quick code ``quick_name``.  The result is None if they are not in the cache.
    """
    entry = cache.load(_source_name(quick_name))
    if entry is None:
        return None
    ends = accumulate(entry.facts["sizes"], initial=0)
    return tuple([entry.code[start:end] for start, end in pairwise(ends)]), entry.facts["characters"]


def _source_name(name: str) -> str:
    return f"{name}-source"


# -- the cache and the compiler


def _loaded(cache: Cache, keys: Mapping[str, str], backend: Backend[Any]) -> dict[str, CompiledPart]:
    """Return, by part, the compiled code that the cache has; a damaged entry gives a warning and is left out."""
    result = {}
    for part, key in keys.items():
        entry = cache.load(key)
        whole = None if entry is None else _cached_part(entry, backend)
        if whole is not None:
            result[part] = whole
        elif entry is not None:
            cache.refuse(key)
    return result


def _emitted(
    source: Source, backend: Backend[Any], texts: Mapping[str, Sequence[Module]], stored: bool
) -> dict[str, CompiledPart]:
    """Compile parts in parallel; ``stored`` is True if the cache will store them, which the notice mentions."""
    if not texts:
        return {}
    notice = CompileNotice(source.recipe.name, stored)
    start, modules = time.perf_counter(), [text for modules_of_part in texts.values() for text in modules_of_part]
    objects = iter(backend.emit(modules, notice))
    notice.end()
    parts = {part: tuple([next(objects) for _ in modules_of_part]) for part, modules_of_part in texts.items()}
    sizes = {part: sum(map(len, objects)) for part, objects in parts.items()}
    each = (time.perf_counter() - start) / sum(sizes.values())
    return {part: CompiledPart(objects, False, each * sizes[part]) for part, objects in parts.items()}


def _facts(source: Source, part: str, real: FloatType) -> dict[str, Any]:
    return {
        "kernel": f"{source.recipe.name}.{part}",
        **dict(source.recipe.facts),
        "type": real.dtype.__name__,
        "lanes": source.backend.lanes(real),
    }


def _cache_entry(facts: Mapping[str, Any], code: CompiledPart) -> Entry:
    more = {"seconds": round(code.seconds, 3), "sizes": [*map(len, code.objects)]}
    return Entry({**facts, **more}, b"".join(code.objects))


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
