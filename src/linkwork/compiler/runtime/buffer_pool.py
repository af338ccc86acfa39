"""Memory for large results that is used again once nobody has the arrays any more.

The system hands out fresh memory page by page, each cleared when it is first touched: that takes several times as long
as to compute what is written there (a batch of mass matrices, say).  Memory of arrays that are gone needs none of it.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork._util.fork_safe_lock import Lock

__all__ = ["LARGE", "empty", "owner"]

LARGE = 1 << 17  # bytes of an array from which on C's allocator asks the system
_MOST = 1 << 27  # bytes that are kept while nobody uses them
_ROUND = 1 << 16  # sizes are multiples of it, so that batches of nearly equal size share memory


class _Kept:
    """Memory that waits for the next array of its size."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_size: dict[int, list[np.ndarray]] = {}
        self._bytes = 0

    def take(self, size: int) -> np.ndarray:
        with self._lock:
            waiting = self._by_size.get(size)
            if waiting:
                self._bytes -= size
                return waiting.pop()
        return np.empty(size, np.uint8)

    def give(self, memory: np.ndarray) -> None:
        with self._lock:
            if memory.size > _MOST:
                return
            if self._bytes + memory.size > _MOST:
                self._by_size.clear()
                self._bytes = 0
            self._by_size.setdefault(memory.size, []).append(memory)
            self._bytes += memory.size


_kept = _Kept()


def _given_back(lent: Any, give: Callable[[np.ndarray], None] = _kept.give) -> None:
    give(lent.memory)


@lru_cache(maxsize=256)
def _lent_of(size: int) -> Any:
    """A type of what an array and its views hold on to as long as there is one of them: a buffer of so many bytes."""
    own = {"_type_": ctypes.c_char, "_length_": size, "__del__": _given_back, "lent": True}
    return type("Lent", (ctypes.Array,), own)


def empty(shape: Sequence[int]) -> np.ndarray:
    """An array of float64 to write to, as `numpy.empty` gives; a large one in memory that was used before, if possible.

    It does not own its memory, so its method ``resize`` refuses.
    """
    size = 8 * math.prod(shape)
    if size < LARGE:
        return np.empty(shape)
    memory = _kept.take(-(-size // _ROUND) * _ROUND)
    lent = _lent_of(memory.size).from_buffer(memory)
    lent.memory = memory
    return np.ndarray(shape, np.float64, lent)


def owner(x: Any) -> Any:
    """What holds the memory of an array, as nothing else does: an array of its own, or a loan of `empty`; else None."""
    while x.__class__ is np.ndarray:
        if x.flags.owndata:
            return x
        x = x.base
    return x if getattr(x.__class__, "lent", False) else None
