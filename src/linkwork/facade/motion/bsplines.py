"""B-splines of any degree on a manifold: of control points, and through points."""

from __future__ import annotations

import numpy as np

from ...algorithms.motion.curves import KINDS, CurveSpace
from ...algorithms.motion.splines.banded import solve_banded
from ...expr.arrays import array
from .basis import basis_polynomials, control_knots, interpolation_knots, spans, values_at
from .corrected import settled
from .pieces import Rows, each, one_sign
from .section import Section

__all__ = ["of_control_points", "through_points"]


def of_control_points(
    space: CurveSpace, t: np.ndarray, q: Rows, degree: int, knots: np.ndarray | None = None
) -> Section:
    """The spline of control points (n, nq): it begins with the first, ends with the last, and passes the others by.

    On a manifold it is q_i ⊕ w_1 (q_{i+1} ⊖ q_i) ⊕ ..., the weights w_j sums of basis functions.
    """
    knots = control_knots(t, degree) if knots is None else knots
    places = spans(knots, degree)
    basis = basis_polynomials(knots, degree)
    starts, end = knots[places], float(knots[-1])
    first = places - degree
    if space.is_plain:
        rows = [
            sum(q[first[i] + j][:, None] * basis[i, j][None, :] for j in range(degree + 1)) for i in range(len(places))
        ]
        c = array([[[*x] for x in row] for row in rows]) if q.dtype == object else np.array(rows)
        return Section(space, KINDS["polynomial"], {"starts": starts, "coefficients": c}, starts[0], end)
    q = one_sign(space, q)
    steps = each(lambda a, b: space.local(a, b), q[:-1], q[1:])
    weights = np.stack([basis[:, j:].sum(axis=1) for j in range(1, degree + 1)], axis=1)
    arrays = {
        "starts": starts,
        "base": q[first],
        "steps": steps[first[:, None] + np.arange(degree)],
        "weights": weights,
    }
    return Section(space, KINDS["cumulative"], arrays, starts[0], end)


def through_points(space: CurveSpace, t: np.ndarray, q: Rows, degree: int, who: str) -> Section:
    """The spline through points (n, nq) at times t, with all derivatives continuous but the last."""
    knots = interpolation_knots(t, degree)
    rows = values_at(knots, degree, t)
    if space.is_plain:
        solved = solve_banded(rows, [*q])
        control = array([[*x] for x in solved]) if q.dtype == object else np.array(solved)
        return of_control_points(space, t, control, degree, knots)
    if q.dtype == object:
        raise TypeError(
            f'{who}: control points of kind="bspline" follow from equations that are no linear ones where a joint is '
            f"no plain number: of points that are symbols make them control points, control=True"
        )
    q = one_sign(space, q)

    def moved(x: np.ndarray) -> Rows:
        return each(lambda a, b: space.retract(a, b), q, x)

    def correction(x: np.ndarray) -> np.ndarray:
        section = of_control_points(space, t, moved(x), degree, knots)
        arrays = section.padded()[0]
        there = section.kind.q(space, arrays, t, t)
        left = each(lambda a, b: space.local(a, b), np.stack(there, axis=-1), q)
        return np.array(solve_banded(rows, [*left]))

    return of_control_points(
        space, t, moved(settled(np.zeros((len(t), space.nv)), correction, space.parts, 1.0, who)), degree, knots
    )
