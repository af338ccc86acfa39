"""B-splines of any degree on a manifold: of control points, and through points.

B-splines' basis functions: knots, and polynomials between them, of times that are numbers or symbols.

Between symbols, which are taken to increase, there are as many spans as between as many other times: `in_order`.

Source: de Boor, A Practical Guide to Splines, revised edition, Springer 2001, chapters IX, X and XIII.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.splines.anderson_acceleration import settled, settled_on_symbols
from linkwork.motion.splines.euclidean_spline import solved_rows
from linkwork.motion.trajectory.map_segments import Rows, each, one_sign, rows_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["control_knots", "of_control_points", "through_points"]


_NOTHING = 1e-9  # of a basis function's value between knots that are 1 apart


class _Basis(NamedTuple):
    """Knots (n + degree + 1,), the spans between them that have a length, and the polynomials there."""

    degree: int
    knots: np.ndarray
    places: np.ndarray
    polynomials: np.ndarray

    @staticmethod
    def of(knots_of: Callable[[np.ndarray, int], np.ndarray], t: np.ndarray, degree: int) -> _Basis:
        """Of times that are numbers, or symbols that increase."""
        knots, places = knots_of(t, degree), spans(knots_of(in_order(t), degree), degree)
        return _Basis(degree, knots, places, basis_polynomials(knots, degree, places))

    @property
    def starts(self) -> Any:
        """Where spans begin."""
        return self.knots[self.places]

    @property
    def first(self) -> np.ndarray:
        """On each span the first of the functions that are not zero there."""
        return self.places - self.degree

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of an interpolation at its times: each one's first column, and its values (n, degree + 1)."""
        even = in_order(t)
        plain = self if even is t else _Basis.of(interpolation_knots, even, self.degree)
        which = np.clip(np.searchsorted(plain.starts, even, side="right") - 1, 0, len(self.places) - 1)
        first, values = values_at(self.knots, self.degree, self.polynomials, t, self.places, which)
        if plain is not self:  # a function is zero at knots alone, whatever they are
            there = values_at(plain.knots, self.degree, plain.polynomials, even, self.places, which)[1]
            values = np.where(np.abs(there) < _NOTHING, 0.0, values)
        return first, values


def of_control_points(space: CurveSpace, t: np.ndarray, q: Rows, degree: int, basis: _Basis | None = None) -> Section:
    """The spline of control points (n, nq): it begins with the first, ends with the last, and passes the others by.

    On a manifold it is q_i ⊕ w_1 (q_{i+1} ⊖ q_i) ⊕ ..., the weights w_j sums of basis functions.
    """
    basis = _Basis.of(control_knots, t, degree) if basis is None else basis
    if space.is_plain:
        arrays = {"starts": basis.starts, "coefficients": _polynomials(q, basis.first, basis.polynomials)}
        return Section(space, KINDS["polynomial"], arrays, basis.starts[0], basis.knots[-1])
    q = one_sign(space, q)
    steps = each(lambda a, b: space.difference(a, b), q[:-1], q[1:])
    return _cumulative(space, q, steps, basis)


def _polynomials(q: Rows, first: np.ndarray, basis: np.ndarray) -> Rows:
    """Coefficients (spans, nv, terms) of Σ q_i B_i, of plain numbers."""
    count = basis.shape[1]
    if q.dtype != object and basis.dtype != object:
        return q[first[:, None] + np.arange(count)].swapaxes(1, 2) @ basis
    rows = [sum(q[first[i] + j][:, None] * basis[i, j][None, :] for j in range(count)) for i in range(len(first))]
    return array([[[*x] for x in row] for row in rows])


def _cumulative(space: CurveSpace, q: Rows, steps: Rows, basis: _Basis) -> Section:
    """The spline of control points, and steps that lead from each to the next."""
    weights = np.stack([basis.polynomials[:, j:].sum(axis=1) for j in range(1, basis.degree + 1)], axis=1)
    arrays = {
        "starts": basis.starts,
        "base": q[basis.first],
        "steps": steps[basis.first[:, None] + np.arange(basis.degree)],
        "weights": weights,
    }
    return Section(space, KINDS["cumulative"], arrays, basis.starts[0], basis.knots[-1])


def through_points(space: CurveSpace, t: np.ndarray, q: Rows, degree: int, caller: str) -> Section:
    """The spline through points (n, nq) at times t, with all derivatives continuous but the last."""
    basis = _Basis.of(interpolation_knots, t, degree)
    first, values = basis.at(t)
    traced = q.dtype == object or t.dtype == object
    if space.is_plain:
        solved = solved_rows(first, values, q.astype(object) if traced else q)
        return of_control_points(space, t, array([[*x] for x in solved]) if traced else solved, degree, basis)
    q = one_sign(space, q)
    weights = np.stack([values[:, j:].sum(axis=1) for j in range(1, degree + 1)], axis=1)
    on_each = first[:, None] + np.arange(degree)

    def controls(x: Rows) -> Rows:
        found = [space.integrate([*q[0]], [*x[0]])]
        for step in x[1:]:
            found.append(space.integrate(found[-1], [*step]))
        return array(found) if traced else np.array(found, dtype=float)

    def there(base: Any, steps: Any, shares: Any) -> list[Any]:
        """The configuration at a point's time."""
        found = [*base]
        for step, share in zip(steps, shares, strict=True):
            found = space.integrate(found, [share * x for x in step])
        return found

    def correction(x: Rows) -> Rows:
        """Of the first control point, and of the steps to all others: what moves the points to where they are not."""
        c = controls(x)
        reached = each(there, c[first], x[1:][on_each], weights)
        left = each(lambda a, b: space.in_fixed_axes(a, space.difference(a, b)), reached, q)
        moves = each(space.from_fixed_axes, c, rows_of(solved_rows(first, values, left)))
        return np.concatenate([moves[:1], each(space.step_rates, c[:-1], x[1:], moves[:-1], moves[1:])])

    steps = each(lambda a, b: space.difference(a, b), q[:-1], q[1:])
    start = np.concatenate([np.zeros((1, space.nv)), steps])
    x = (
        settled_on_symbols(start, correction, space.parts)
        if traced
        else settled(start, correction, space.parts, 1.0, caller)
    )
    return _cumulative(space, controls(x), x[1:], basis)


def in_order(t: Any) -> np.ndarray:
    """The times (n,), or of symbols others."""
    return np.arange(float(len(t))) if t.dtype == object else t


def interpolation_knots(t: np.ndarray, degree: int) -> np.ndarray:
    """Knots (n + degree + 1,) of the spline through n points at times t: none at the points next to the ends.

    Of even degree they lie halfway between points.
    """
    inner = t[1:-1] if degree % 2 else 0.5 * (t[1:] + t[:-1])
    left = (degree - 1) // 2 if degree % 2 else degree // 2
    inner = inner[left : len(inner) - left]
    return np.concatenate([np.full(degree + 1, t[0]), inner, np.full(degree + 1, t[-1])])


def control_knots(t: np.ndarray, degree: int) -> np.ndarray:
    """Knots of n control points at times t: the mean of each ``degree`` times that follow each other."""
    inner = [t[k : k + degree].mean() for k in range(1, len(t) - degree)]
    return np.concatenate([np.full(degree + 1, t[0]), inner, np.full(degree + 1, t[-1])])


def spans(knots: np.ndarray, degree: int) -> np.ndarray:
    """Which intervals between knots have a length: the index of the knot before each."""
    k = np.arange(degree, len(knots) - degree - 1)
    return k[knots[k + 1] > knots[k]]


def basis_polynomials(knots: np.ndarray, degree: int, places: np.ndarray) -> np.ndarray:
    """On each of the `spans` the functions that are not zero there: coefficients (spans, degree + 1, degree + 1).

    By powers of the time since the span's beginning, lowest first; by Cox's and de Boor's recursion.
    """
    found = np.zeros((degree + 1, degree + 1, len(places)), dtype=knots.dtype)  # by function and power
    found[0, 0] = 1.0
    start = knots[places]
    for d in range(1, degree + 1):
        before, found = found, np.zeros_like(found)
        i = places + np.arange(1 - d, 1)[:, None]  # function i of degree d − 1 gives to two of degree d
        left, right = knots[i], knots[i + d]
        part = before[:d, :d] / (right - left)[:, None]
        found[1 : d + 1, 1 : d + 1] = part  # times u
        found[:d, 1 : d + 1] -= part
        found[1 : d + 1, :d] += part * (start - left)[:, None]
        found[:d, :d] += part * (right - start)[:, None]
    return found.transpose(2, 0, 1)


def values_at(
    knots: np.ndarray, degree: int, polynomials: np.ndarray, t: np.ndarray, places: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The basis functions that are not zero at times (n,), each in its span ``which`` (n,) of those at ``places``: the
    first of them, and the values (n, degree + 1)."""
    u, c = (t - knots[places[which]])[:, None], polynomials[which]
    values = c[..., degree]
    for k in range(degree - 1, -1, -1):
        values = values * u + c[..., k]
    return places[which] - degree, values
