"""B-splines of any degree on a manifold: of control points, and through points."""

from __future__ import annotations

import numpy as np

from ...algorithms.motion.curves import KINDS, CurveSpace
from ...expr.arrays import array
from .bands import solved_rows
from .basis import basis_polynomials, control_knots, interpolation_knots, spans, values_at
from .corrected import settled
from .pieces import Rows, each, one_sign
from .section import Section

__all__ = ["of_control_points", "through_points"]


def of_control_points(
    space: CurveSpace,
    t: np.ndarray,
    q: Rows,
    degree: int,
    knots: np.ndarray | None = None,
    basis: np.ndarray | None = None,
) -> Section:
    """The spline of control points (n, nq): it begins with the first, ends with the last, and passes the others by.

    On a manifold it is q_i ⊕ w_1 (q_{i+1} ⊖ q_i) ⊕ ..., the weights w_j sums of basis functions.
    """
    knots = control_knots(t, degree) if knots is None else knots
    places = spans(knots, degree)
    basis = basis_polynomials(knots, degree) if basis is None else basis
    starts, end = knots[places], float(knots[-1])
    first = places - degree
    if space.is_plain:
        c = _polynomials(q, first, basis)
        return Section(space, KINDS["polynomial"], {"starts": starts, "coefficients": c}, starts[0], end)
    q = one_sign(space, q)
    steps = each(lambda a, b: space.local(a, b), q[:-1], q[1:])
    return _cumulative(space, q, steps, degree, knots)


def _polynomials(q: Rows, first: np.ndarray, basis: np.ndarray) -> Rows:
    """Coefficients (spans, nv, terms) of Σ q_i B_i, of plain numbers."""
    count = basis.shape[1]
    if q.dtype != object:
        return q[first[:, None] + np.arange(count)].swapaxes(1, 2) @ basis
    rows = [sum(q[first[i] + j][:, None] * basis[i, j][None, :] for j in range(count)) for i in range(len(first))]
    return array([[[*x] for x in row] for row in rows])


def _cumulative(space: CurveSpace, q: Rows, steps: Rows, degree: int, knots: np.ndarray) -> Section:
    """The spline of control points, and steps that lead from each to the next."""
    places, basis = spans(knots, degree), basis_polynomials(knots, degree)
    starts, first = knots[places], places - degree
    weights = np.stack([basis[:, j:].sum(axis=1) for j in range(1, degree + 1)], axis=1)
    arrays = {
        "starts": starts,
        "base": q[first],
        "steps": steps[first[:, None] + np.arange(degree)],
        "weights": weights,
    }
    return Section(space, KINDS["cumulative"], arrays, starts[0], float(knots[-1]))


def through_points(space: CurveSpace, t: np.ndarray, q: Rows, degree: int, who: str) -> Section:
    """The spline through points (n, nq) at times t, with all derivatives continuous but the last."""
    knots = interpolation_knots(t, degree)
    basis = basis_polynomials(knots, degree)
    rows = values_at(knots, degree, basis, t)
    if space.is_plain:
        solved = solved_rows(*rows, q)
        control = array([[*x] for x in solved]) if q.dtype == object else solved
        return of_control_points(space, t, control, degree, knots, basis)
    if q.dtype == object:
        raise TypeError(
            f'{who}: control points of kind="bspline" follow from equations that are no linear ones where a joint is '
            f"no plain number: of points that are symbols make them control points, control=True"
        )
    q = one_sign(space, q)

    def controls(x: np.ndarray) -> np.ndarray:
        found = [np.array(space.retract([*q[0]], [*x[0]]), dtype=float)]
        for step in x[1:]:
            found.append(np.array(space.retract([*found[-1]], [*step]), dtype=float))
        return np.array(found)

    def correction(x: np.ndarray) -> np.ndarray:
        """Of the first control point, and of the steps to all others: what moves the points to where they are not."""
        c = controls(x)
        section = _cumulative(space, c, x[1:], degree, knots)
        there = np.stack(section.kind.q(space, section.padded()[0], t, t), axis=-1)
        left = each(lambda a, b: space.in_fixed_axes(a, space.local(a, b)), there, q)
        moves = each(space.from_fixed_axes, c, solved_rows(*rows, left))
        return np.concatenate([moves[:1], each(space.step_rates, c[:-1], x[1:], moves[:-1], moves[1:])])

    steps = each(lambda a, b: space.local(a, b), q[:-1], q[1:])
    x = settled(np.concatenate([np.zeros((1, space.nv)), steps]), correction, space.parts, 1.0, who)
    return _cumulative(space, controls(x), x[1:], degree, knots)
