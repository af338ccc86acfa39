"""Hermite interpolation in local coordinates: polynomials between two configurations with given motion at both.

On a segment of length h, q(u) = q_0 ⊕ p(u) with p(0) = 0 and p(h) = φ = q_1 ⊖ q_0.  At q_0, ⊕ is the identity to
second order: ṗ(0) = v_0 and p̈(0) = a_0 (for decoupled floating joints, p̈(0) follows from a_0 and v_0 instead).  At
the end, ṗ(h) and p̈(h) are the rates of q ⊖ q_0 at (q_1, v_1, a_1).  So the interpolant has exactly the required v,
and for quintics the required a, on every manifold.

Inner points of spherical quadrangles: at a point q with neighbours h_0 before and h_1 after it, the inner point s makes
the velocities on both sides equal,

    s ⊖ q = −(φ_0 / h_0 + φ_1 / h_1) / (2/h_0 + 2/h_1),

with φ_0 and φ_1 the local coordinates of the neighbours; for equal steps this is Shoemake's −(φ_0 + φ_1)/4.

Velocities at points: estimates from neighbours, and corrections that make accelerations continuous.  The jump of the
acceleration of cubics at point k varies with the velocities v as

    −(2/h_{k−1}) v_{k−1} − 4 (1/h_{k−1} + 1/h_k) v_k − (2/h_k) v_{k+1},

exactly for plain coordinates, and approximately on a manifold.  Velocities are changed by the solution δ of the
equations in which this expression cancels the jumps R: once for plain coordinates, otherwise in a few iterations.

The matrices of these equations are banded. They are solved by Gaussian elimination without pivoting, which is stable
for matrices that are diagonally dominant (cubic splines) or totally positive (values of B-splines).  The work is
proportional to the number of equations.  Source: de Boor and Pinkus, Backward error analysis for totally positive
linear systems, Numerische Mathematik 27, 1977.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.expr.control.loops import scan
from linkwork.motion.algorithms.curves import CurveSpace

__all__ = [
    "correction",
    "cubic_between",
    "inner_point",
    "mean_slope",
    "quintic_between",
    "solve_band",
    "solve_banded",
    "solve_cyclic",
    "straight_between",
]

Scalars = Sequence[Any]


def straight_between(space: CurveSpace, h: Any, q0: Scalars, q1: Scalars) -> list[list[Any]]:
    """Return the linear polynomials (nv, 2) of φ in q0 ⊕ φ(t), for a motion at constant velocity to q1 in time h.

    The curve is a straight line, a great circle, or a screw motion.
    """
    return [[0.0, phi / h] for phi in space.difference(q0, q1)]


def cubic_between(space: CurveSpace, h: Any, q0: Scalars, q1: Scalars, v0: Scalars, v1: Scalars) -> list[list[Any]]:
    """Return the cubics (nv, 4) of φ in q0 ⊕ φ(t), from q0 with velocity v0 to q1 with velocity v1 in time h."""
    phi = space.difference(q0, q1)
    w1, _ = space.local_rates(q0, q1, v1, [0.0] * space.nv)
    return [_cubic(h, *values) for values in zip(phi, v0, w1, strict=True)]


def quintic_between(
    space: CurveSpace, h: Any, q0: Scalars, q1: Scalars, v0: Scalars, v1: Scalars, a0: Scalars, a1: Scalars
) -> list[list[Any]]:
    """Return the quintics (nv, 6) of φ in q0 ⊕ φ(t), from q0 with v0 and a0 to q1 with v1 and a1 in time h."""
    phi = space.difference(q0, q1)
    w1, b1 = space.local_rates(q0, q1, v1, a1)
    w0, b0 = space.local_rates(q0, q0, v0, a0) if space.apart else (v0, a0)
    return [_quintic(h, *values) for values in zip(phi, w0, w1, b0, b1, strict=True)]


def _cubic(h: Any, phi: Any, v0: Any, v1: Any) -> list[Any]:
    mean = phi / h
    return [0.0, v0, (3.0 * mean - 2.0 * v0 - v1) / h, (v0 + v1 - 2.0 * mean) / (h * h)]


def _quintic(h: Any, phi: Any, v0: Any, v1: Any, a0: Any, a1: Any) -> list[Any]:
    position_left = (phi / h - v0 - 0.5 * h * a0) / h  # residuals, divided by h², h and 1
    velocity_left = (v1 - v0 - h * a0) / h
    acceleration_left = a1 - a0
    return [
        0.0,
        v0,
        0.5 * a0,
        (10.0 * position_left - 4.0 * velocity_left + 0.5 * acceleration_left) / h,
        (-15.0 * position_left + 7.0 * velocity_left - acceleration_left) / (h * h),
        (6.0 * position_left - 3.0 * velocity_left + 0.5 * acceleration_left) / (h * h * h),
    ]


def inner_point(space: CurveSpace, h0: Any, h1: Any, before: Scalars, q: Scalars, after: Scalars) -> list[Any]:
    """Return the inner control point s (nq) of a squad curve (spherical quadrangle) at its point q.

    ``before`` and ``after`` are the curve's points at time h_0 before q and at time h_1 after q.
    """
    scale = -0.5 / (1.0 / h0 + 1.0 / h1)
    both = zip(space.difference(q, before), space.difference(q, after), strict=True)
    return space.integrate(q, [scale * (x / h0 + y / h1) for x, y in both])


def correction(h: Sequence[float], jumps: Sequence[Any], boundary: str) -> list[Any]:
    """Return the changes (n) of velocities at n points that make the accelerations of cubics continuous.

    ``h`` are the lengths of the n − 1 segments between the points. ``jumps`` are the accelerations after each point
    minus those before it; at the ends of a natural spline they are a at the first point and −a at the last. A clamped
    spline keeps the velocities at both ends, and a launched spline keeps the velocity at the first point. A periodic
    spline has equal velocities at both ends, and one jump less.
    """
    count = len(h) + 1
    if boundary == "periodic":
        m = len(h)
        lower = [2.0 / h[k - 1] for k in range(m)]
        upper = [2.0 / h[k] for k in range(m)]
        result = solve_cyclic(lower, [2.0 * (a + b) for a, b in zip(lower, upper, strict=True)], upper, jumps[:m])
        return [*result, result[0]]
    rows: list[dict[int, float]] = []
    right = list(jumps)
    for k in range(count):
        if 0 < k < count - 1:
            a, b = 2.0 / h[k - 1], 2.0 / h[k]
            rows.append({k - 1: a, k: 2.0 * (a + b), k + 1: b})
        elif boundary == "clamped" or (boundary == "launched" and k == 0):
            rows.append({k: 1.0})
            right[k] = right[k] * 0.0
        else:
            rows.append({0: 4.0 / h[0], 1: 2.0 / h[0]} if k == 0 else {k - 1: 2.0 / h[-1], k: 4.0 / h[-1]})
    return solve_banded(rows, right)


def mean_slope(h0: Any, h1: Any, back: Any, on: Any) -> tuple[Any, Any]:
    """Return the velocity and acceleration of the parabola through a point and its two neighbours, at the point.

    ``back`` is the tangent vector from the point to the neighbour at time h_0 before it, and ``on`` the tangent vector
    to the neighbour at time h_1 after it.
    """
    before, after = -back / h0, on / h1
    return (before * h1 + after * h0) / (h0 + h1), (after - before) * 2.0 / (h0 + h1)


def solve_banded(rows: Sequence[Mapping[int, float]], right: Sequence[Any]) -> list[Any]:
    """Return the solution x of A x = right for a banded matrix A of floats.

    ``rows[i]`` maps column j to the nonzero entry A_ij. Entries of ``right`` and x may be scalars or arrays.
    """
    left = [dict(row) for row in rows]
    x = list(right)
    count = len(left)
    below: list[list[int]] = [[] for _ in range(count)]
    for i, row in enumerate(left):
        for k in row:
            if k < i:
                below[k].append(i)
    for k in range(count):
        pivot = left[k][k]
        for i in sorted(set(below[k])):
            factor = left[i].pop(k) / pivot
            for j, entry in left[k].items():
                if j > k:
                    if j not in left[i] and j < i:
                        below[j].append(i)
                    left[i][j] = left[i].get(j, 0.0) - factor * entry
            x[i] = x[i] - x[k] * factor
    for k in range(count - 1, -1, -1):
        for j, entry in left[k].items():
            if j > k:
                x[k] = x[k] - x[j] * entry
        x[k] = x[k] * (1.0 / left[k][k])
    return x


def solve_band(band: Any, right: Any) -> Any:
    """Return the solution x of A x = right, with A given as a band (n, 2 w + 1), by two loops.

    Row i of the band has the entries of A in columns i − w to i + w; those outside the matrix are 0. A step of the
    first loop eliminates the entries left of the diagonal with the w rows before, which are the state of the loop, and
    divides by the pivot. The second loop is the back substitution.
    """
    w = (len(band[0]) - 1) // 2

    def eliminate(state: Any, row: Any) -> Any:
        before, (entries, x) = state, row
        left = list(entries)
        for j, (upper, y) in enumerate(before):  # the farthest first
            factor = left[j]
            for k in range(w):
                left[j + 1 + k] = left[j + 1 + k] - factor * upper[k]
            x = x - factor * y
        each = 1.0 / left[w]
        upper, x = tuple(u * each for u in left[w + 1 :]), x * each
        return (*before[1:], (upper, x)), (upper, x)

    def back(after: Any, row: Any) -> Any:
        upper, x = row
        for u, y in zip(upper, after, strict=True):
            x = x - u * y
        return (x, *after[:-1]), x

    zeros = (0.0,) * w
    _, rows = scan(eliminate, tuple((zeros, 0.0) for _ in range(w)), (band, right))
    return scan(back, zeros, rows, reverse=True)[1]


def solve_cyclic(
    lower: Sequence[float], diagonal: Sequence[float], upper: Sequence[float], right: Sequence[Any]
) -> list[Any]:
    """Return the solution x of lower_k x_{k−1} + diagonal_k x_k + upper_k x_{k+1} = right_k, with cyclic indices.

    The last unknown is eliminated: the first n − 1 unknowns are linear in it, by two solutions of a banded system.
    """
    count = len(right)
    if count == 1:
        return [right[0] * (1.0 / (lower[0] + diagonal[0] + upper[0]))]
    last = count - 1
    rows: list[dict[int, float]] = [{} for _ in range(last)]
    border = [0.0] * last
    for k in range(last):
        for j, entry in ((k - 1, lower[k]), (k, diagonal[k]), (k + 1, upper[k])):
            if j % count == last:
                border[k] += entry
            else:
                rows[k][j] = rows[k].get(j, 0.0) + entry
    x, y = solve_banded(rows, right[:last]), solve_banded(rows, border)
    after, before = upper[last], lower[last]
    pivot = diagonal[last] - after * y[0] - before * y[-1]
    end = (right[last] - x[0] * after - x[-1] * before) * (1.0 / pivot)
    return [*(a - end * b for a, b in zip(x, y, strict=True)), end]
