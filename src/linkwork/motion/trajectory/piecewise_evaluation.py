"""Search for the segments of a curve that contain parameters, by bisection or, for many parameters, by a table.

Evaluation of polynomials of plain coordinates at many times, all coordinates of a time in parallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.kernels.compiler_api import Kernel, PiecewiseKernel, compile_piecewise
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves import KINDS, CurveSpace, curve_motion

__all__ = ["polynomial_evaluator", "segment_indices"]


_TABLE_SIZE = 2048  # parameters from which a table pays off
_CELLS_PER_SEGMENT = 4  # cells of the table for a segment
_CROWDED = 4  # segments that begin in one cell: from there on bisection is as fast


def segment_indices(starts: np.ndarray, s: Any) -> Any:
    """Return the index of the segment of each parameter s: the last that begins at or before it, or else the first."""
    if np.size(s) >= _TABLE_SIZE and np.ndim(s) == 1 and len(starts) > 1:
        return _in_order(starts, s) if bool((s[1:] >= s[:-1]).all()) else _by_cells(starts, s)
    return _bisected(starts, s)


def _bisected(starts: np.ndarray, s: Any) -> Any:
    return np.maximum(np.searchsorted(starts, s, side="right") - 1, 0)


def _in_order(starts: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the segment indices of parameters that do not decrease, by searching the starts among them."""
    cuts = np.searchsorted(s, starts[1:], side="left")
    return np.repeat(np.arange(len(starts)), np.diff(cuts, prepend=0, append=len(s)))


def _by_cells(starts: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the segment indices by a table of equal cells, which has the segment at each cell's beginning.

    A few steps lead from there to the segment.
    """
    count = _CELLS_PER_SEGMENT * len(starts)
    scale = count / (starts[-1] - starts[0])
    if not np.isfinite(scale):
        return np.asarray(_bisected(starts, s))
    first = _bisected(starts, starts[0] + np.arange(count) / scale)
    if np.diff(first).max(initial=0) >= _CROWDED:
        return np.asarray(_bisected(starts, s))
    result: np.ndarray = first.take(((s - starts[0]) * scale).astype(np.intp), mode="clip")
    result -= (s < starts.take(result)) & (result > 0)  # cell boundaries are rounded
    following = np.append(starts[1:], np.inf)
    while (later := s >= following.take(result)).any():
        result += later
    return result


_KERNELS: LazyCache[Kernel] = LazyCache(64)


def polynomial_evaluator(arrays: Mapping[str, np.ndarray], order: int) -> PiecewiseKernel:
    """Return a kernel of q and its first ``order`` derivatives along a polynomial curve."""
    kernel = _kernel(arrays["coefficients"].shape[2], order)
    return PiecewiseKernel(kernel, arrays["starts"], arrays["coefficients"], np.array([]))


def _kernel(terms: int, order: int) -> Kernel:
    """Return the kernel that evaluates one coordinate of a curve of polynomials with a number of ``terms``."""
    space, kind = CurveSpace(1, 1), KINDS["polynomial"]

    def coordinate(*, t: Any, start: Any, column: Any, **_: Any) -> Any:
        arrays = {"starts": [start], "coefficients": [[[*column]]]}
        return tuple(x for (x,) in curve_motion(space, kind, arrays, None, None, t, order))

    return _KERNELS.get((terms, order), lambda: compile_piecewise(coordinate, "plain_curve", 0, terms))
