"""Linear equations near a diagonal, of numbers: solved by a kernel, all right-hand sides at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import Once
from linkwork.motion.algorithms.banded_solver import solve_band, solve_banded

__all__ = ["solved_band", "solved_rows"]

_KERNELS: Once[Kernel] = Once(32)
_FEWEST, _MOST = 16, 1 << 14  # rows that a kernel has


def solved_band(band: np.ndarray, right: np.ndarray) -> np.ndarray:
    """x (n, m) of A x = right (n, m), A as the band (n, 2 w + 1) around its diagonal (see `solve_band`)."""
    n, width = band.shape
    if n > _MOST:
        w = width // 2
        rows = [{i - w + k: row[k] for k in range(width) if row[k] != 0.0} for i, row in enumerate(band.tolist())]
        return np.array(solve_banded(rows, [*right]))
    size = _FEWEST
    while size < n:
        size *= 4
    kernel = _KERNELS.get((size, width), lambda: _kernel(size, width))
    padded, sides = np.zeros((size, width)), np.zeros((right.shape[1], size))
    padded[:, width // 2] = 1.0
    padded[:n], sides[:, :n] = band, right.T
    found: np.ndarray = kernel(padded, sides)[:, :n].T
    return found


def solved_rows(first: np.ndarray, values: np.ndarray, right: Any) -> Any:
    """x of A x = right (n, ...), of any scalars; row i of A has its values (n, m) from a column on."""
    n, count = values.shape
    columns = first[:, None] + np.arange(count)
    if right.dtype == object:
        rows = [
            {k: x for k, x in zip(at, row, strict=True) if not (isinstance(x, (int, float)) and x == 0.0)}
            for at, row in zip(columns.tolist(), values.tolist(), strict=True)
        ]
        return solve_banded(rows, [*right])
    offsets = columns - np.arange(n)[:, None]
    there = values != 0.0
    w = max(int(np.abs(offsets[there]).max(initial=0)), 1)
    band = np.zeros((n, 2 * w + 1))
    i, k = np.nonzero(there)
    band[i, offsets[i, k] + w] = values[i, k]
    return solved_band(band, right)


def _kernel(size: int, width: int) -> Kernel:
    return compile(lambda band, right: solve_band(band, right), name="banded", band=(size, width), right=(size,))
