"""Memory between two protected pages: a read or write beyond an array's end ends the process."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import numpy as np

AVAILABLE = sys.platform in ("linux", "darwin")
PAGE = mmap.PAGESIZE
_PROT_NONE = 0


class Guarded:
    """Some pages of memory with a forbidden page before and after."""

    def __init__(self, pages: int = 1) -> None:
        self._memory = mmap.mmap(-1, (pages + 2) * PAGE)
        self.size = pages * PAGE
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._first, self.start = first, first + PAGE
        for forbidden in (first, self.start + self.size):
            self._protect(forbidden, _PROT_NONE)

    def _protect(self, address: int, protection: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if libc.mprotect(address, PAGE, protection):
            raise OSError(ctypes.get_errno(), "mprotect")

    def array(
        self, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, *, at_end: bool, dtype: Any = np.float64
    ) -> np.ndarray:
        """An array whose last number ends, or whose first number begins, where the forbidden page does."""
        if strides is None:
            strides = np.empty(shape, dtype).strides
        if 0 in shape:
            return np.empty(shape, dtype)
        reach = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
        low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + np.dtype(dtype).itemsize
        assert high - low <= self.size
        begin = self.size - high if at_end else -low
        window = (ctypes.c_char * self.size).from_address(self.start)
        window.keep = self  # type: ignore[attr-defined]  # arrays hold the window, and the window the memory
        return np.ndarray(shape, dtype, window, begin, strides)
