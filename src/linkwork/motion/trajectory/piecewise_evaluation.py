"""Evaluation of curves: search for segments, kernels for each kind and size of curve, and polynomials.

The segment of a parameter is found by bisection or, for many parameters, with a table.  Polynomials of plain
coordinates are evaluated for all coordinates of a time in parallel.  Arrays of curves are padded so that few kernels
suffice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, PiecewiseKernel, compile, compile_piecewise
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves import KINDS, CurveKind, CurveSpace, TimeScaling, curve_motion
from linkwork.motion.algorithms.curves.curve_kinds import FAR

__all__ = [
    "CLOCK",
    "array_shapes",
    "composed",
    "curve_kernel",
    "filled",
    "polynomial_evaluator",
    "reversed_in",
    "scaled",
    "segment_indices",
    "shifted",
    "values_of",
]

_TABLE_SIZE = 2048  # parameters from which a table pays off
_CELLS_PER_SEGMENT = 4  # cells of the table for a segment
_CROWDED = 4  # segments that begin in one cell: from there on bisection is as fast


def segment_indices(starts: np.ndarray, s: Any) -> Any:
    """Return the index of each parameter's segment: the last one that begins at or before s, else the first."""
    if np.size(s) >= _TABLE_SIZE and np.ndim(s) == 1 and len(starts) > 1:
        return _in_order(starts, s) if bool((s[1:] >= s[:-1]).all()) else _by_cells(starts, s)
    return _bisected(starts, s)


def _bisected(starts: np.ndarray, s: Any) -> Any:
    return np.maximum(np.searchsorted(starts, s, side="right") - 1, 0)


def _in_order(starts: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the index of each parameter's segment, for non-decreasing parameters s.

    The search is for each segment's start among the parameters, which is fast for few segments.
    """
    cuts = np.searchsorted(s, starts[1:], side="left")
    return np.repeat(np.arange(len(starts)), np.diff(cuts, prepend=0, append=len(s)))


def _by_cells(starts: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the index of each parameter's segment, by a table over many equal cells of the parameter's range.

    The table has the segment at the beginning of each cell. From it, a few steps forward lead to the segment of a
    parameter.
    """
    count = _CELLS_PER_SEGMENT * len(starts)
    with np.errstate(over="ignore", divide="ignore"):
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
    """Return a kernel that evaluates q and its first ``order`` derivatives along a polynomial curve."""
    kernel = _kernel(arrays["coefficients"].shape[2], order)
    return PiecewiseKernel(kernel, arrays["starts"], arrays["coefficients"], np.array([]))


def _kernel(terms: int, order: int) -> Kernel:
    """Return the kernel that evaluates one coordinate of a curve of polynomials with a number of ``terms``."""
    space, kind = CurveSpace(1, 1), KINDS["polynomial"]

    def coordinate(*, t: Any, start: Any, column: Any, **_: Any) -> Any:
        arrays = {"starts": [start], "coefficients": [[[*column]]]}
        return tuple(x for (x,) in curve_motion(space, kind, arrays, None, None, t, order))

    return _KERNELS.get((terms, order), lambda: compile_piecewise(coordinate, "plain_curve", 0, terms))


_CURVE_KERNELS: LazyCache[Kernel] = LazyCache(256)
CLOCK = "clock_starts", "clock", "clock_segments"  # ports of kernels: the arrays of a time scaling


def filled(x: Any, axis: int | None, name: str) -> Any:
    """Return an array padded to 2^k segments; unused segments begin at `FAR`."""
    if axis is None:
        return x
    count = x.shape[axis]
    missing = (1 << max(count - 1, 0).bit_length()) - count
    if not missing:
        return x
    last = np.take(np.asarray(x), [-1] * missing, axis=axis)
    if name == "starts":
        last = np.full(last.shape, FAR)
    return np.concatenate([np.asarray(x), last], axis=axis)


def array_shapes(kind: CurveKind, arrays: Mapping[str, np.ndarray]) -> tuple[tuple[int, ...], ...]:
    return tuple(arrays[name].shape[arrays[name].ndim - len(shape) :] for name, shape in kind.arrays)


def curve_kernel(
    space: CurveSpace, kind: CurveKind, shapes: tuple[Any, ...], clocks: tuple[Any, ...], order: int
) -> Kernel:
    """Return the kernel that evaluates curves of a kind and size."""
    names = [name for name, _ in kind.arrays]
    more = CLOCK[: len(clocks)]

    def traced(*, t: Any, **arrays: Any) -> Any:
        clock = TimeScaling(*(arrays[name] for name in more)) if clocks else None
        curve_arrays = {name: arrays[name] for name in names}
        return tuple(array(x) for x in curve_motion(space, kind, curve_arrays, clock, None, t, order))

    def build() -> Kernel:
        sizes = dict(zip([*names, *more], [*shapes, *clocks], strict=True))
        return compile(traced, name=f"{kind.name}_curve", t=(), **sizes)

    return _CURVE_KERNELS.get((space, kind.name, shapes, clocks, order), build)


def values_of(c: np.ndarray, u: Any) -> np.ndarray:
    """Return the values at u (...) of polynomials c (..., terms), lowest first."""
    result = c[..., -1]
    for k in range(c.shape[-1] - 2, -1, -1):
        result = result * u + c[..., k]
    return np.asarray(result)


def shifted(c: np.ndarray, by: Any) -> np.ndarray:
    """Return the coefficients of p(u + by) for polynomials with coefficients p (..., terms), lowest first."""
    result = np.array(c)
    for k in range(result.shape[-1] - 1):
        for j in range(result.shape[-1] - 2, k - 1, -1):
            result[..., j] += by * result[..., j + 1]
    return result


def scaled(c: Any, scale: float) -> Any:
    """Return the coefficients c of polynomials p(u), lowest first, converted to those of p(u / scale)."""
    return c * scale ** -np.arange(c.shape[-1], dtype=float)


def reversed_in(c: Any, span: Any) -> Any:
    """Return the coefficients c of polynomials p(u), lowest first, converted to those of p(span − u)."""
    return shifted(c, span) * (-1.0) ** np.arange(c.shape[-1])


def composed(c: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return the coefficients of p(s(t) − s(0)) in powers of t, for polynomials p (..., terms) and s, lowest first."""
    change = inner[..., 1:]  # of t times this
    n = change.shape[-1]
    result = c[..., -1:]
    for k in range(c.shape[-1] - 2, -1, -1):
        product = np.zeros((*np.broadcast_shapes(result.shape[:-1], change.shape[:-1]), result.shape[-1] + n))
        for j in range(n):
            product[..., j + 1 : j + 1 + result.shape[-1]] += result * change[..., j : j + 1]
        product[..., 0] = c[..., k]
        result = product
    return result
