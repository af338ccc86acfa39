"""Functions of one segment applied to all segments: vectorised for floats, one by one for symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["between_points", "each", "one_sign", "plain_section", "rows_of"]

Rows = Any  # (n, ...) of floats or symbols


def each(computed: Callable[..., Any], *rows: Rows) -> Any:
    """Return an array (n, ...) of the n results of ``computed``, called with row k of every array in ``rows``.

    ``computed`` must work with floats and symbols. Arrays of floats are passed in one call, each argument as a list of
    columns (n,). Arrays of symbols are passed row by row.
    """
    count = len(rows[0])
    if any(x.dtype == object for x in rows):
        result = [computed(*([*x[k]] if x.ndim > 1 else x[k] for x in rows)) for k in range(count)]
        return array([[[*row] if isinstance(row, list) else row for row in values] for values in result])
    result = computed(*([*np.moveaxis(x, 0, -1)] if x.ndim > 1 else x for x in rows))
    return _stacked(result, count)


def _stacked(result: Any, count: int) -> np.ndarray:
    if isinstance(result, (list, tuple)):
        return np.stack([_stacked(x, count) for x in result], axis=1) if result else np.zeros((count, 0))
    return np.broadcast_to(np.asarray(result, dtype=float), (count,))


def one_sign(space: CurveSpace, q: Rows) -> Rows:
    """Return points q (n, nq), with each unit quaternion's sign chosen to be nearer to the previous point."""
    if space.is_plain:
        return q
    result = [[*q[0]]]
    for row in q[1:]:
        result.append(space.nearer_sign(result[-1], [*row]))
    return array(result) if q.dtype == object else np.array(result, dtype=float)


def between_points(space: CurveSpace, t: np.ndarray, q: Rows, coefficients: Rows) -> Section:
    """Return a section through points q (n, nq) at times t (n,), from polynomials on the n − 1 intervals.

    The polynomials (n − 1, nv, terms) describe the displacement from the point at the beginning of an interval.
    """
    if not space.is_plain:
        arrays = {"starts": t[:-1], "base": q[:-1], "coefficients": coefficients}
        return Section(space, KINDS["retracted"], arrays, t[0], t[-1])
    traced = coefficients.dtype == object or q.dtype == object
    absolute = np.array(coefficients, dtype=object if traced else float)
    absolute[..., 0] = q[:-1]
    return plain_section(space, t, array(absolute.tolist()) if traced else absolute)


def plain_section(space: CurveSpace, t: np.ndarray, coefficients: Rows) -> Section:
    """Return a section of polynomials (n − 1, nv, terms) between times t (n,), for coordinates of a vector space."""
    return Section(space, KINDS["polynomial"], {"starts": t[:-1], "coefficients": coefficients}, t[0], t[-1])


def rows_of(rows: Any) -> Rows:
    """Return a sequence of n rows, of floats or symbols, as an array (n, ...)."""
    result = [*rows]
    return array([[*x] for x in result]) if any(x.dtype == object for x in result) else np.array(result, dtype=float)
