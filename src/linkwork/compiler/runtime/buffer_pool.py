"""Memory of large results, reused once no array refers to it.

The system provides new memory page by page, and clears each page at first access.  This takes several times as long as
computing the content, for example a batch of mass matrices. Reused memory has no such cost.
"""

from __future__ import annotations

import ctypes
import math
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from weakref import ref

import numpy as np

from linkwork._util.thread_safety import Lock

__all__ = ["LARGE", "empty", "owner"]

LARGE = 1 << 17  # [bytes] from this size on C's allocator requests memory from the system
_MAX_UNUSED = 1 << 27  # [bytes] of unused memory in the pool
_MAX_EACH = 1 << 24  # [bytes] of unused memory of one size, unless the size is larger
_ROUND = 1 << 16  # [bytes] sizes are multiples of it, so that batches of nearly equal size share memory


class _Loan(ref["Any"]):
    """Weak reference to a buffer; when the buffer is deleted, its memory returns to the pool.

    The callback is a method written in C: in a Python callback, an exception raised by a signal handler would be
    ignored.
    """

    __slots__ = ("memory",)
    memory: np.ndarray


class _Pool:
    """Unused memory by size, for the most recently used sizes, up to a maximum."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_size: dict[int, deque[_Loan]] = {}  # the size used last is the last

    def lend(self, size: int) -> Any:
        """Return a buffer of ``size`` bytes; after deletion, its memory returns to the pool unless it is too large."""
        if size > _MAX_UNUSED:
            return _buffer_type(size).from_buffer(np.empty(size, np.uint8))
        with self._lock:
            unused = self._by_size.pop(size, None)
            if unused is None:
                unused = deque(maxlen=max(_MAX_EACH // size, 1))
            self._by_size[size] = unused
            while self.most_unused > _MAX_UNUSED:
                del self._by_size[next(iter(self._by_size))]
            memory = unused.pop().memory if unused else np.empty(size, np.uint8)
        lent = _buffer_type(size).from_buffer(memory)
        lent.loan = _Loan(lent, unused.append)
        lent.loan.memory = memory
        return lent

    @property
    def most_unused(self) -> int:
        """Maximum number of bytes of unused memory in the pool."""
        return sum(size * (unused.maxlen or 0) for size, unused in self._by_size.items())


_pool = _Pool()


@lru_cache(maxsize=256)
def _buffer_type(size: int) -> Any:
    """Return the ctypes buffer type of a size, whose instances `_Pool.lend` returns."""
    return type("Lent", (ctypes.Array,), {"_type_": ctypes.c_char, "_length_": size, "lent": True})


def empty(shape: Sequence[int]) -> np.ndarray:
    """Return an uninitialized array of float64, as `numpy.empty` does; large arrays are in reused memory if possible.

    The array does not own its memory, so its method ``resize`` raises an error.
    """
    size = 8 * math.prod(shape)
    if size < LARGE:
        return np.empty(shape)
    return np.ndarray(shape, np.float64, _pool.lend(-(-size // _ROUND) * _ROUND))


def owner(x: Any) -> Any:
    """Return the object that exclusively owns an array's memory: an array or a pool's buffer; None for other memory."""
    while x.__class__ is np.ndarray:
        if x.flags.owndata:
            return x
        x = x.base
    return x if getattr(x.__class__, "lent", False) else None
