"""Cubic splines of plain numbers without jumps of acceleration, all pieces at once.

Linear equations near a diagonal, of numbers: solved by a kernel, all right-hand sides at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.banded_solver import solve_band, solve_banded
from linkwork.motion.trajectory.time_scaling import cubic_pieces

__all__ = ["plain_cubics", "solved_rows"]


def plain_cubics(t: np.ndarray, q: np.ndarray, boundary: str, ends: np.ndarray | None) -> np.ndarray:
    """Coefficients (n - 1, nv, 4) of the pieces through points (n, nv): natural, clamped (at rest, or with velocities
    (2, nv) of the ends), launched (with a velocity (nv,), and natural at the end), or periodic."""
    h = np.diff(t)
    inverse = 1.0 / h
    rate = np.diff(q, axis=0) * inverse[:, None]
    if boundary == "periodic":
        v = _periodic(inverse, rate)
    else:
        band, right = np.zeros((len(t), 3)), np.zeros(q.shape)
        band[1:, 0] = band[:-1, 2] = inverse
        band[1:-1, 1] = 2.0 * (inverse[1:] + inverse[:-1])
        pull = rate * (3.0 * inverse)[:, None]
        right[1:-1] = pull[1:] + pull[:-1]
        if boundary == "clamped":
            band[[0, -1]] = 0.0, 1.0, 0.0
            right[[0, -1]] = 0.0 if ends is None else ends
        else:
            band[[0, -1], 1] = 2.0 * inverse[[0, -1]]
            right[[0, -1]] = pull[[0, -1]]
            if boundary == "launched":
                band[0], right[0] = (0.0, 1.0, 0.0), ends
        v = solved_band(band, right)
    return cubic_pieces(h, q, v)


def _periodic(inverse: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Velocities (n, nv), the last being the first.  The last unknown is left out of the others, solved twice."""
    m = len(inverse)
    before, after = np.roll(inverse, 1), inverse  # of point k: the pieces on both sides
    right = 3.0 * (rate * inverse[:, None] + np.roll(rate * inverse[:, None], 1, axis=0))
    if m == 1:
        return np.repeat(right / (6.0 * inverse[0]), 2, axis=0)
    last, border = m - 1, np.zeros((m - 1, 1))
    band = np.zeros((last, 3))
    band[:, 0], band[:, 1], band[:, 2] = before[:last], 2.0 * (before + after)[:last], after[:last]
    border[0] += before[0]
    border[-1] += after[last - 1]
    band[0, 0] = band[-1, 2] = 0.0
    found = solved_band(band, np.concatenate([right[:last], border], axis=1))
    x, y = found[:, :-1], found[:, -1]
    pivot = 2.0 * (before[last] + after[last]) - after[last] * y[0] - before[last] * y[-1]
    end = (right[last] - after[last] * x[0] - before[last] * x[-1]) / pivot
    v = np.concatenate([x - y[:, None] * end, end[None]])
    return np.concatenate([v, v[:1]])


_KERNELS: LazyCache[Kernel] = LazyCache(32)
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
