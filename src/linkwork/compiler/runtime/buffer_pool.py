"""Memory of large results, reused once no array refers to it.

The system provides new memory page by page, each cleared at first access, which takes several times as long as
computing the content (of a batch of mass matrices, say). Reused memory has no such cost.
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

LARGE = 1 << 17  # [bytes] from this size on C's allocator requests memory from the system
_MAX_UNUSED = 1 << 27  # [bytes] of unused memory in the pool
_ROUND = 1 << 16  # [bytes] sizes are multiples of it, so that batches of nearly equal size share memory


class _Pool:
    """Unused memory, by size."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_size: dict[int, list[np.ndarray]] = {}
        self._bytes = 0

    def take(self, size: int) -> np.ndarray:
        with self._lock:
            unused = self._by_size.get(size)
            if unused:
                self._bytes -= size
                return unused.pop()
        return np.empty(size, np.uint8)

    def give(self, memory: np.ndarray) -> None:
        with self._lock:
            if memory.size > _MAX_UNUSED:
                return
            if self._bytes + memory.size > _MAX_UNUSED:
                self._by_size.clear()
                self._bytes = 0
            self._by_size.setdefault(memory.size, []).append(memory)
            self._bytes += memory.size


_pool = _Pool()


def _give_back(lent: Any, give: Callable[[np.ndarray], None] = _pool.give) -> None:
    give(lent.memory)


@lru_cache(maxsize=256)
def _buffer_type(size: int) -> Any:
    """Return the ctypes buffer type of a size whose instances give their memory back when the last array is deleted."""
    own = {"_type_": ctypes.c_char, "_length_": size, "__del__": _give_back, "lent": True}
    return type("Lent", (ctypes.Array,), own)


def empty(shape: Sequence[int]) -> np.ndarray:
    """Return an uninitialized array of float64, as `numpy.empty` does; a large one in reused memory if possible.

    It does not own its memory, so its method ``resize`` refuses.
    """
    size = 8 * math.prod(shape)
    if size < LARGE:
        return np.empty(shape)
    memory = _pool.take(-(-size // _ROUND) * _ROUND)
    lent = _buffer_type(memory.size).from_buffer(memory)
    lent.memory = memory
    return np.ndarray(shape, np.float64, lent)


def owner(x: Any) -> Any:
    """Return the object that exclusively owns an array's memory: an array or a buffer of `empty`; None for others."""
    while x.__class__ is np.ndarray:
        if x.flags.owndata:
            return x
        x = x.base
    return x if getattr(x.__class__, "lent", False) else None
