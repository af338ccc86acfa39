"""Which pieces of a curve parameters are in: few of them by bisection, many in a pass or two.

Polynomials of plain numbers at many times: all coordinates of a time side by side, from the row of its piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.kernels.compiler_api import Kernel, PiecewiseKernel, compile_piecewise
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves import KINDS, Clock, CurveSpace, curve_motion

__all__ = ["along_pieces", "pieces_at"]


_MANY = 2048  # parameters that are worth a table
_FINE = 4  # cells of the table for a piece
_CROWDED = 4  # pieces that begin in one cell: from there on bisection is as quick


def pieces_at(starts: np.ndarray, s: Any) -> Any:
    """The last piece that begins no later than a parameter, or else the first."""
    if np.size(s) >= _MANY and np.ndim(s) == 1 and len(starts) > 1:
        return _in_order(starts, s) if bool((s[1:] >= s[:-1]).all()) else _by_cells(starts, s)
    return _bisected(starts, s)


def _bisected(starts: np.ndarray, s: Any) -> Any:
    return np.maximum(np.searchsorted(starts, s, side="right") - 1, 0)


def _in_order(starts: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Of parameters that never go back: where pieces begin among them."""
    cuts = np.searchsorted(s, starts[1:], side="left")
    return np.repeat(np.arange(len(starts)), np.diff(cuts, prepend=0, append=len(s)))


def _by_cells(starts: np.ndarray, s: np.ndarray) -> np.ndarray:
    """By a table of equal cells, which says the piece at each cell's beginning, and a few steps from there."""
    count = _FINE * len(starts)
    scale = count / (starts[-1] - starts[0])
    if not np.isfinite(scale):
        return np.asarray(_bisected(starts, s))
    first = _bisected(starts, starts[0] + np.arange(count) / scale)
    if np.diff(first).max(initial=0) >= _CROWDED:
        return np.asarray(_bisected(starts, s))
    result: np.ndarray = first.take(((s - starts[0]) * scale).astype(np.intp), mode="clip")
    result -= (s < starts.take(result)) & (result > 0)  # a cell's edge is rounded
    following = np.append(starts[1:], np.inf)
    while (later := s >= following.take(result)).any():
        result += later
    return result


_KERNELS: LazyCache[Kernel] = LazyCache(64)


def along_pieces(arrays: Mapping[str, np.ndarray], clock: Clock | None, order: int) -> PiecewiseKernel:
    """q and so many derivatives along a polynomial curve, whose clock runs evenly."""
    numbers = [] if clock is None else [clock.starts[0], *clock.coefficients[0]]
    kernel = _kernel(arrays["coefficients"].shape[2], len(numbers), order)
    return PiecewiseKernel(kernel, arrays["starts"], arrays["coefficients"], np.array(numbers))


def _kernel(terms: int, clocks: int, order: int) -> Kernel:
    """What evaluates one coordinate, made once."""
    one, kind = CurveSpace(1, 1), KINDS["polynomial"]

    def coordinate(*, t: Any, start: Any, common: Any, column: Any) -> Any:
        clock = Clock([common[0]], [[*common[1:]]]) if clocks else None
        arrays = {"starts": [start], "coefficients": [[[*column]]]}
        return tuple(x for (x,) in curve_motion(one, kind, arrays, clock, None, t, order))

    return _KERNELS.get((terms, clocks, order), lambda: compile_piecewise(coordinate, "plain_curve", clocks, terms))
