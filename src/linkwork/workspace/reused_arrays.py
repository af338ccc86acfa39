"""Arrays whose memory is used again.

An allocation for each of many short computations is slow where freed memory goes back to the system at once, as in
workers of Dask, whose parent process sets MALLOC_TRIM_THRESHOLD_.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["ReusedArrays"]


class ReusedArrays:
    """Arrays by name: an array overwrites the one that had its name before.  Each thread has an object of its own."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def __call__(self, name: str, shape: int | tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """Return an array with arbitrary values; arrays of one name have one dtype."""
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        array = self._arrays.get(name)
        if array is None or array.size < size:
            array = self._arrays[name] = np.empty(size, dtype)
        return array[:size].reshape(shape)
