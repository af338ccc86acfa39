"""Splines through points of a manifold: linear, cubic, quintic, Hermite, squad, and B-splines of any degree.

The basis functions of B-splines are polynomials between knots, whose times are floats or symbols.  Times that are
symbols are assumed to be distinct and increasing (`in_order`).

Source: de Boor, A Practical Guide to Splines, revised edition, Springer 2001, chapters IX, X and XIII.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves import KINDS, CurveSpace, motion_of
from linkwork.motion.algorithms.curves.curve_kinds import polynomial
from linkwork.motion.algorithms.hermite_interpolation import (
    correction,
    cubic_between,
    inner_point,
    mean_slope,
    straight_between,
)
from linkwork.motion.splines.spline_solvers import iterated, iterated_on_symbols, plain_cubics, solved_rows
from linkwork.motion.trajectory.map_segments import Rows, between_points, each, one_sign, plain_section, rows_of
from linkwork.motion.trajectory.trajectory_construction import through_states
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["control_knots", "cubic", "estimated_rates", "hermite", "quintic", "squad", "straight", "with_breaks"]


_KERNELS: LazyCache[Kernel] = LazyCache(64)
_UNKNOWN = {  # the unknown velocities of a cubic
    "natural": slice(None),
    "clamped": slice(1, -1),
    "launched": slice(1, None),
    "periodic": slice(0, -1),
}


def straight(space: CurveSpace, t: np.ndarray, q: Rows) -> Section:
    """Return a curve through points q (n, nq) at times t (n,), with constant velocity from point to point."""
    q = one_sign(space, q)
    coefficients = each(lambda h, a, b: straight_between(space, h, a, b), np.diff(t), q[:-1], q[1:])
    return between_points(space, t, q, coefficients)


def hermite(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows | None) -> Section:
    """Return cubics through points q (n, nq) at times t (n,) with velocities v (n, nv).

    By default v is estimated by parabolas through neighbouring points.
    """
    q = one_sign(space, q)
    if v is None:
        v = estimated_rates(space, t, q)[0]
    return between_points(space, t, q, _cubics(space, t, q, v))


def quintic(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows | None, a: Rows | None) -> Section:
    """Return quintics through points q (n, nq) at times t (n,) with velocities and accelerations (n, nv).

    By default v and a are estimated by parabolas through neighbouring points.
    """
    q = one_sign(space, q)
    if v is None or a is None:
        result = estimated_rates(space, t, q)
        v, a = result[0] if v is None else v, result[1] if a is None else a
    return through_states(space, t, q, v, a)


def cubic(space: CurveSpace, t: np.ndarray, q: Rows, boundary: str, ends: Rows | None, caller: str) -> Section:
    """Return the cubic spline through points q (n, nq) at times t (n,), with continuous acceleration.

    ``boundary`` is "natural", "clamped" (at rest, or with the velocities ``ends`` (2, nv)), "launched" (with the
    velocity ``ends`` (nv,) at the beginning) or "periodic".
    """
    if space.is_plain and not any(x.dtype == object for x in (t, q, *(() if ends is None else (ends,)))):
        return plain_section(space, t, plain_cubics(t, q, boundary, ends))
    q, h = one_sign(space, q), np.diff(t).tolist()
    v = [np.zeros(space.nv) for _ in t]
    if boundary == "clamped" and ends is not None:
        v[0], v[-1] = ends[0], ends[1]
    if boundary == "launched" and ends is not None:
        v[0] = ends
    start = rows_of(v)

    def corrected(v: Rows) -> Rows:
        return rows_of(correction(h, _jumps(space, t, q, v, boundary), boundary))

    if space.is_plain:
        return between_points(space, t, q, _cubics(space, t, q, start + corrected(start)))
    if any(x.dtype == object for x in (t, q, start)):
        unknown = _UNKNOWN[boundary]

        def completed(v: Rows) -> Rows:
            first = unknown.indices(len(t))[0]
            return _joined(start[:first], v, v[:1] if boundary == "periodic" else start[first + len(v) :])

        if len(start[unknown]):  # known velocities have no equation; the derivative's equations would be singular
            unknown_correction = lambda v: corrected(completed(v))[unknown]  # noqa: E731
            start = completed(iterated_on_symbols(start[unknown], unknown_correction, space.parts))
        return between_points(space, t, q, _cubics(space, t, q, start))
    slopes = each(lambda h, a, b: [x / h for x in space.difference(a, b)], np.diff(t), q[:-1], q[1:])
    scale = max(float(np.abs(slopes).max()), float(np.abs(start).max()), 1e-6)
    return between_points(space, t, q, _cubics(space, t, q, iterated(start, corrected, space.parts, scale, caller)))


def squad(space: CurveSpace, t: np.ndarray, q: Rows) -> Section:
    """Return spherical quadrangles through points q (n, nq) at times t (n,).

    A quadrangle interpolates between two geodesics: from point to point, and between inner control points.
    """
    q, h = one_sign(space, q), np.diff(t)
    inner = q
    if len(t) > 2:
        middle = each(lambda a, b, *points: inner_point(space, a, b, *points), h[:-1], h[1:], q[:-2], q[1:-1], q[2:])
        inner = _joined(q[:1], middle, q[-1:])
    to = lambda a, b: space.difference(a, b)  # noqa: E731
    arrays = {
        "starts": t[:-1],
        "rates": 1.0 / h,
        "base": q[:-1],
        "steps": each(to, q[:-1], q[1:]),
        "inner": inner[:-1],
        "inner_steps": each(to, inner[:-1], inner[1:]),
    }
    return Section(space, KINDS["squad"], arrays, t[0], t[-1])


def estimated_rates(space: CurveSpace, t: np.ndarray, q: Rows) -> tuple[Rows, Rows]:
    """Return velocities and accelerations (n, nv) at points, of parabolas through each point and its neighbours.

    At both ends the velocity is that of a cubic with zero acceleration at the end.
    """
    h = np.diff(t)
    if len(t) == 2:
        v = each(lambda h, a, b: [x / h for x in space.difference(a, b)], h, q[:-1], q[1:])
        return _joined(v, v), np.zeros((2, space.nv))

    def inside(h0: Any, h1: Any, before: Any, at: Any, after: Any) -> list[list[Any]]:
        both = zip(space.difference(at, before), space.difference(at, after), strict=True)
        return [[*mean_slope(h0, h1, x, y)] for x, y in both]

    def first(h: Any, at: Any, on: Any, v: Any) -> list[Any]:
        w, _ = space.local_rates(at, on, v, [0.0] * space.nv)
        return [1.5 * x / h - 0.5 * y for x, y in zip(space.difference(at, on), w, strict=True)]

    result = each(inside, h[:-1], h[1:], q[:-2], q[1:-1], q[2:])
    v, a = result[..., 0], result[..., 1]
    begin = each(first, h[:1], q[:1], q[1:2], v[:1])
    end = each(first, -h[-1:], q[-1:], q[-2:-1], v[-1:])
    return _joined(begin, v, end), _joined(0.0 * a[:1], a, 0.0 * a[:1])


def _cubics(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows) -> Rows:
    return each(lambda h, *states: cubic_between(space, h, *states), np.diff(t), q[:-1], q[1:], v[:-1], v[1:])


def _jumps(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows, boundary: str) -> list[Any]:
    """Return the acceleration after each point minus that before it, for cubics with velocities v.

    At the first point of a spline that is not periodic, the result is the acceleration after the point. At the last
    point, it is minus the acceleration before the point.
    """
    if space.is_plain or any(x.dtype == object for x in (t, q, v)):
        out, into = each(
            lambda h, *of: _accelerations(space, h, *of), np.diff(t), q[:-1], q[1:], v[:-1], v[1:]
        ).swapaxes(0, 1)
    else:
        out, into = _KERNELS.get(space, lambda: _kernel(space))(np.diff(t), q[:-1], q[1:], v[:-1], v[1:])
    result = [a - b for a, b in zip(out[1:], into[:-1], strict=True)]
    if boundary == "periodic":
        return [out[0] - into[-1], *result]
    return [out[0], *result, -into[-1]]


def _accelerations(space: CurveSpace, h: Any, q0: Any, q1: Any, v0: Any, v1: Any) -> list[list[Any]]:
    """Return the accelerations (nv,) at the beginning and at the end of the cubic from q0, v0 to q1, v1 in time h."""
    c = cubic_between(space, h, q0, q1, v0, v1)
    if space.is_plain:
        return [[2.0 * x[2] for x in c], [2.0 * x[2] + 6.0 * x[3] * h for x in c]]
    return [
        motion_of(space, lambda now: space.integrate(q0, [polynomial(x, now) for x in c]), u)[2] for u in (0.0 * h, h)
    ]


def _kernel(space: CurveSpace) -> Kernel:
    """Return the compiled kernel of `_accelerations` for a space."""

    def cubic_accelerations(h: Any, q0: Any, q1: Any, v0: Any, v1: Any) -> Any:
        return tuple(array(x) for x in _accelerations(space, h, [*q0], [*q1], [*v0], [*v1]))

    sizes: dict[str, Any] = {"q0": (space.nq,), "q1": (space.nq,), "v0": (space.nv,), "v1": (space.nv,)}
    return compile(cubic_accelerations, h=(), **sizes)


def _joined(*parts: Rows) -> Rows:
    return rows_of([row for part in parts for row in part])


_NEGLIGIBLE = 1e-9  # of a basis function's value, for knots with unit spacing


class _Basis(NamedTuple):
    """B-spline basis: knots (n + degree + 1,), indices of the knots at which nonempty intervals begin, and polynomials.

    ``polynomials`` (intervals, degree + 1, degree + 1) are the coefficients of the nonzero basis functions on each
    interval, lowest power first.
    """

    degree: int
    knots: np.ndarray
    span_starts: np.ndarray
    polynomials: np.ndarray

    @staticmethod
    def of(knots_of: Callable[[np.ndarray, int], np.ndarray], t: np.ndarray, degree: int) -> _Basis:
        """Return the basis for times that are floats or symbols; symbols are assumed to be in increasing order."""
        knots, span_starts = knots_of(t, degree), spans(knots_of(in_order(t), degree), degree)
        return _Basis(degree, knots, span_starts, basis_polynomials(knots, degree, span_starts))

    @property
    def starts(self) -> Any:
        """Times at which the nonempty intervals between knots begin."""
        return self.knots[self.span_starts]

    @property
    def first(self) -> np.ndarray:
        """Index of the first nonzero basis function on each nonempty interval between knots."""
        return self.span_starts - self.degree

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the index (n,) of the first nonzero basis function at times t (n,), and the values (n, degree + 1)."""
        even = in_order(t)
        plain = self if even is t else _Basis.of(interpolation_knots, even, self.degree)
        which = np.clip(np.searchsorted(plain.starts, even, side="right") - 1, 0, len(self.span_starts) - 1)
        first, values = values_at(self.knots, self.degree, self.polynomials, t, self.span_starts, which)
        if plain is not self:  # zeros depend on the order of knots only
            even_values = values_at(plain.knots, self.degree, plain.polynomials, even, self.span_starts, which)[1]
            values = np.where(np.abs(even_values) < _NEGLIGIBLE, 0.0, values)
        return first, values


def of_control_points(space: CurveSpace, t: np.ndarray, q: Rows, degree: int, basis: _Basis | None = None) -> Section:
    """Return the B-spline of control points (n, nq), from the first control point to the last.

    On a manifold the curve is q_i ⊕ w_1 (q_{i+1} ⊖ q_i) ⊕ ..., with weights w_j that are sums of basis functions.
    """
    basis = _Basis.of(control_knots, t, degree) if basis is None else basis
    if space.is_plain:
        arrays = {"starts": basis.starts, "coefficients": _polynomials(q, basis.first, basis.polynomials)}
        return Section(space, KINDS["polynomial"], arrays, basis.starts[0], basis.knots[-1])
    q = one_sign(space, q)
    steps = each(lambda a, b: space.difference(a, b), q[:-1], q[1:])
    return _cumulative(space, q, steps, basis)


def with_breaks(space: CurveSpace, breaks: np.ndarray, q: np.ndarray) -> Section:
    """Return the B-spline of control points (n, nq) that consists of polynomials between the times ``breaks``.

    Its degree is n minus the number of polynomials.
    """
    degree = len(q) - len(breaks) + 1
    knots = np.concatenate([np.full(degree, breaks[0]), breaks, np.full(degree, breaks[-1])])
    return of_control_points(space, breaks, q, degree, _Basis.of(lambda t, degree: knots, breaks, degree))


def _polynomials(q: Rows, first: np.ndarray, basis: np.ndarray) -> Rows:
    """Return the coefficients (intervals, nv, terms) of the B-spline Σ q_i B_i of plain coordinates.

    q are the control points and B the basis functions. ``first`` is the index of the first nonzero basis function on
    each interval between knots.
    """
    count = basis.shape[1]
    if q.dtype != object and basis.dtype != object:
        return q[first[:, None] + np.arange(count)].swapaxes(1, 2) @ basis
    rows = [sum(q[first[i] + j][:, None] * basis[i, j][None, :] for j in range(count)) for i in range(len(first))]
    return array([[[*x] for x in row] for row in rows])


def _cumulative(space: CurveSpace, q: Rows, steps: Rows, basis: _Basis) -> Section:
    """Return the B-spline with control points q, as a curve q_i ⊕ w_1 φ_1 ⊕ w_2 φ_2 ... on the manifold.

    ``steps`` are the tangent vectors φ between successive control points.
    """
    weights = np.stack([basis.polynomials[:, j:].sum(axis=1) for j in range(1, basis.degree + 1)], axis=1)
    arrays = {
        "starts": basis.starts,
        "base": q[basis.first],
        "steps": steps[basis.first[:, None] + np.arange(basis.degree)],
        "weights": weights,
    }
    return Section(space, KINDS["cumulative"], arrays, basis.starts[0], basis.knots[-1])


def through_points(space: CurveSpace, t: np.ndarray, q: Rows, degree: int, caller: str) -> Section:
    """Return the B-spline through points (n, nq) at times t, with continuous derivatives except the last."""
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
        result = [space.integrate([*q[0]], [*x[0]])]
        for step in x[1:]:
            result.append(space.integrate(result[-1], [*step]))
        return array(result) if traced else np.array(result, dtype=float)

    def correction(x: Rows) -> Rows:
        """Return the correction (n, nv) of x that moves the curve to the given points, by one linearized step.

        x has the first control point, and then the tangent vectors between successive control points.
        """
        c = controls(x)
        reached = each(space.cumulative, c[first], x[1:][on_each], weights)
        left = each(lambda a, b: space.in_fixed_axes(a, space.difference(a, b)), reached, q)
        moves = each(space.from_fixed_axes, c, rows_of(solved_rows(first, values, left)))
        return np.concatenate([moves[:1], each(space.step_rates, c[:-1], x[1:], moves[:-1], moves[1:])])

    steps = each(lambda a, b: space.difference(a, b), q[:-1], q[1:])
    start = np.concatenate([np.zeros((1, space.nv)), steps])
    x = (
        iterated_on_symbols(start, correction, space.parts)
        if traced
        else iterated(start, correction, space.parts, 1.0, caller)
    )
    return _cumulative(space, controls(x), x[1:], basis)


def in_order(t: Any) -> np.ndarray:
    """Return the times (n,); for symbols, 0, 1, ..., which have the same order."""
    return np.arange(float(len(t))) if t.dtype == object else t


def interpolation_knots(t: np.ndarray, degree: int) -> np.ndarray:
    """Return knots (n + degree + 1,) of the B-spline through n points at times t.

    Inner knots are at the points, except the points next to the ends; for even degrees they are midway between points.
    """
    inner = t[1:-1] if degree % 2 else 0.5 * (t[1:] + t[:-1])
    left = (degree - 1) // 2 if degree % 2 else degree // 2
    inner = inner[left : len(inner) - left]
    return np.concatenate([np.full(degree + 1, t[0]), inner, np.full(degree + 1, t[-1])])


def control_knots(t: np.ndarray, degree: int) -> np.ndarray:
    """Return the knots (n + degree + 1,) of the B-spline with n control points at times t.

    Inner knots are means of ``degree`` consecutive times.
    """
    inner = [t[k : k + degree].mean() for k in range(1, len(t) - degree)]
    return np.concatenate([np.full(degree + 1, t[0]), inner, np.full(degree + 1, t[-1])])


def spans(knots: np.ndarray, degree: int) -> np.ndarray:
    """Return the indices of the knots at which nonempty intervals between knots begin."""
    k = np.arange(degree, len(knots) - degree - 1)
    return k[knots[k + 1] > knots[k]]


def basis_polynomials(knots: np.ndarray, degree: int, span_starts: np.ndarray) -> np.ndarray:
    """Return the nonzero basis functions on each interval: coefficients (intervals, degree + 1, degree + 1).

    Intervals are those between successive knots that are not empty; ``span_starts`` are the indices of the knots at
    which they begin. Coefficients are in powers of the time since the interval's beginning, lowest power first. The
    method is the Cox–de Boor recursion.
    """
    result = np.zeros((degree + 1, degree + 1, len(span_starts)), dtype=knots.dtype)  # by function and power
    result[0, 0] = 1.0
    start = knots[span_starts]
    for d in range(1, degree + 1):
        before, result = result, np.zeros_like(result)
        i = span_starts + np.arange(1 - d, 1)[:, None]  # function i of degree d − 1 contributes to two of degree d
        left, right = knots[i], knots[i + d]
        part = before[:d, :d] / (right - left)[:, None]
        result[1 : d + 1, 1 : d + 1] = part  # times u
        result[:d, 1 : d + 1] -= part
        result[1 : d + 1, :d] += part * (start - left)[:, None]
        result[:d, :d] += part * (right - start)[:, None]
    return result.transpose(2, 0, 1)


def values_at(
    knots: np.ndarray, degree: int, polynomials: np.ndarray, t: np.ndarray, span_starts: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the index (n,) of the first nonzero basis function at times t (n,), and values (n, degree + 1) from it on.

    ``which`` (n,) are the indices of the intervals of knots that contain the times. ``polynomials`` are the results of
    `basis_polynomials`.
    """
    u, c = (t - knots[span_starts[which]])[:, None], polynomials[which]
    values = c[..., degree]
    for k in range(degree - 1, -1, -1):
        values = values * u + c[..., k]
    return span_starts[which] - degree, values
