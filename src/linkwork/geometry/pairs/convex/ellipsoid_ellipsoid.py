"""Signed distance of two ellipsoids by Newton's method on directions, with a proof of global optimality.

In the axes of A, with D = diag(radii of A), E = diag(radii of B) Rᵀ and c from the center of A to that of B, the
supporting planes orthogonal to a unit vector n have the signed gap g(n) = c · n − |D n| − |E n|.  With the points
u = D² n/|D n| and w = Eᵀ E n/|E n| and r = c − u − w, g = r · n, its gradient on the sphere is the component of r
orthogonal to n, and its second derivative there is −(D² − u uᵀ)/|D n| − (Eᵀ E − w wᵀ)/|E n| − g.

If r is parallel to n and g ≥ 0, n is optimal: |r| is the distance of two points, and g a lower bound on the distance.
If g < 0, for any rotation Q,

    |D n| + |E n| ≥ |(D + Q E) n|,

with equality for n if Q rotates E n to the direction of D n: the Minkowski sum of the bodies contains an ellipsoid with
M = (D + Q E)ᵀ (D + Q E) that touches its surface there.  For a point in an ellipsoid, a stationary point of the
distance to the surface is the nearest point if M − λ I is positive definite, with λ = −g (|D n| + |E n|).  Then n is
optimal for both.  The angle of Q about that direction is free: first the angle that gives the component of Dᵀ Q E
orthogonal to it the largest trace, then angles near it.

Sources: Kurzhanski and Vályi, Ellipsoidal Calculus for Estimation and Control, 1997 (sums of ellipsoids from inside);
Moré and Sorensen, Computing a Trust Region Step, 1983 (the condition on λ).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmin, le, lt, or_, sqrt, where
from linkwork.geometry.pairs.convex.minkowski_difference import Difference, unit_of
from linkwork.geometry.pairs.convex.newton_refinement import ascent
from linkwork.geometry.unit_vectors import FAR, TINY, across, choose
from linkwork.spatial import Vec3

__all__ = ["between_ellipsoids"]

_STEPS = 12
_CONVERGED = by_type(1e-16)  # [rad²] square of the last step
_POSITIVE = by_type(1e-13)  # minors of a matrix of trace 1 above which they are positive despite rounding
_SAME_VALLEY = 0.95  # cosine of the angle below which directions are in different valleys of h
_TURNS = (0.0, 0.2, -0.2, 0.5, -0.5, 1.0, -1.0)  # [rad] angles of Q from that of the largest trace
_THIN = 1e-6  # radii, relative to their sum, below which the general search is used


class _Pair:
    """Two ellipsoids A and B with the matrices D² = D Dᵀ and Eᵀ E, and the vector c from A's center to B's.

    D has A's radii on its diagonal, E is diag(radii of B) Rᵀ: n · D² n and n · Eᵀ E n are the squares of the extents
    of A and B along n.
    """

    def __init__(self, difference: Difference) -> None:
        a, b = difference.a, difference.b
        self.c = difference.between()
        self.radii, self.radii_b = a.radii, b.radii
        self.rotation_a, self.rotation_b = a.pose.rotation, b.pose.rotation
        self.squares = Vec3(*(x * x for x in a.radii))
        columns = [self.rotation_b @ Vec3.of(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
        parts = [[column * (r * r * x) for x in column] for r, column in zip(b.radii, columns, strict=True)]
        self.rows = [x + y + z for x, y, z in zip(*parts, strict=True)]

    def of_a(self, n: Vec3) -> Vec3:
        """Return D² n, in the coordinates of the pair, from which A's axes may differ."""
        d = self.rotation_a.inv_act(n)
        result: Vec3 = self.rotation_a @ Vec3(*(x * y for x, y in zip(self.squares, d, strict=True)))
        return result

    def of_b(self, n: Vec3) -> Vec3:
        """Return Eᵀ E n, with the matrix E of B; its product with n is the square of B's extent along n."""
        return Vec3(*(row.dot(n) for row in self.rows))

    def lengths(self, n: Vec3) -> tuple[Vec3, Any, Vec3, Any]:
        """Return (u, 1/|D n|, w, 1/|E n|): the support points of A and B along n, and the inverse of their extents.

        u = D² n/|D n| and w = Eᵀ E n/|E n| are relative to the centers.
        """
        u, w = self.of_a(n), self.of_b(n)
        x, y = 1.0 / sqrt(_positive(u.dot(n))), 1.0 / sqrt(_positive(w.dot(n)))
        return u * x, x, w * y, y

    def gap(self, n: Vec3) -> Any:
        """Return g(n) = c · n − |D n| − |E n|, the signed gap of the supporting planes orthogonal to n [m]."""
        return n.dot(self.c) - sqrt(_positive(self.of_a(n).dot(n))) - sqrt(_positive(self.of_b(n).dot(n)))


def between_ellipsoids(difference: Difference) -> tuple[Any, Vec3, Vec3, Any]:
    """Return (distance, normal, point of A, proved) of two ellipsoids.

    ``proved`` is True if the result is proved to be the global optimum.  Otherwise the other results are meaningless.
    """
    pair = _Pair(difference)
    g, n, stationary = _stationary(pair, _start(difference, pair))
    proved = and_(stationary, _is_best(pair, n, g, _TURNS[:1]))

    def again() -> tuple[Any, Vec3, Any]:
        second_g, m, second_proved = _stationary(pair, _best(difference, pair, n, -FAR, n))
        second_proved = and_(second_proved, _is_best(pair, m, second_g, _TURNS))
        first_proved = and_(stationary, _is_best(pair, n, g, _TURNS))
        return where(second_proved, second_g, g), choose(second_proved, m, n), or_(second_proved, first_proved)

    g, n, proved = cond(proved, lambda: (g, n, proved), again)
    return g, n, difference.a.pose.translation + pair.lengths(n)[0], proved


def _stationary(pair: _Pair, start: Vec3) -> tuple[Any, Vec3, Any]:
    """Return (g, n, stationary): the signed gap g and direction n after Newton's method from an initial direction.

    ``stationary`` is True if the vector r between the support points is parallel to n.
    """
    n, square = while_loop(
        lambda s: lt(_CONVERGED, s[1]), lambda s: _step(pair, s[0]), (start, 1.0 + 0.0 * start.x), max_iterations=_STEPS
    ).state
    u, _, w, _ = pair.lengths(n)
    g = n.dot(pair.c - u - w)
    return g, n, and_(and_(_fat(pair.radii), _fat(pair.radii_b)), le(square, _CONVERGED))


def _positive(x: Any) -> Any:
    return where(lt(TINY, x), x, 1.0)


def _fat(radii: Vec3) -> Any:
    least, most = fmin(radii.x, fmin(radii.y, radii.z)), radii.x + radii.y + radii.z
    return lt(_THIN * most, least)


def _start(difference: Difference, pair: _Pair) -> Vec3:
    """Return the direction from which the search starts.

    For separate bodies it is (D² + Eᵀ E)⁻¹ c; c leads from A's center to B's, D² and Eᵀ E are those of `_Pair`. For
    overlapping bodies, an axis of an ellipsoid replaces it if its gap is larger.
    """
    c = pair.c
    x, y, z = (Vec3.of(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    rows = [pair.of_a(e) + pair.of_b(e) for e in (x, y, z)]
    scale = 1.0 / _positive(rows[0].x + rows[1].y + rows[2].z)
    rows = [row * scale for row in rows]
    n = Vec3(*(c.dot(rows[(k + 1) % 3].cross(rows[(k + 2) % 3])) for k in range(3)))  # (D² + Eᵀ E)⁻¹ c, of any length
    n = choose(lt(TINY, n.dot(n)), unit_of(n), z)

    apart: Vec3 = cond(lt(0.0, pair.gap(n)), lambda: n, lambda: _best(difference, pair, n, pair.gap(n)))
    return apart


def _best(difference: Difference, pair: _Pair, result: Vec3, most: Any, known: Vec3 | None = None) -> Vec3:
    """Return the direction with the largest gap: ``result``, with the gap ``most``, or an axis of an ellipsoid.

    With ``known``, only axes that are far from this direction are tried.
    """
    for axis in difference.sides()[::2]:
        trial = choose(lt(axis.dot(pair.c), 0.0), -axis, axis)  # the opposite direction has a smaller gap
        g = pair.gap(trial)
        better = lt(most, g)
        if known is not None:
            better = and_(better, lt(fabs(trial.dot(known)), _SAME_VALLEY))
        most, result = where(better, g, most), choose(better, trial, result)
    return result


def _step(pair: _Pair, n: Vec3) -> tuple[Vec3, Any]:
    """Return the direction after a step of Newton's method, and the step's square."""
    u, x, w, y = pair.lengths(n)
    r = pair.c - u - w
    g = r.dot(n)
    t = unit_of(across(n))
    s = n.cross(t)
    at, as_, bt, bs = pair.of_a(t), pair.of_a(s), pair.of_b(t), pair.of_b(s)
    ut, us, wt, ws = u.dot(t), u.dot(s), w.dot(t), w.dot(s)
    tt = (at.dot(t) - ut * ut) * x + (bt.dot(t) - wt * wt) * y + g
    ts = (at.dot(s) - ut * us) * x + (bt.dot(s) - wt * ws) * y
    ss = (as_.dot(s) - us * us) * x + (bs.dot(s) - ws * ws) * y + g
    p, q, short, square = ascent(tt, ts, ss, r.dot(t), r.dot(s))
    return unit_of(n + t * (p * short) + s * (q * short)), square


def _is_best(pair: _Pair, n: Vec3, g: Any, turns: Sequence[float]) -> Any:
    """Return True if a direction n with the signed gap g is proved to have the largest gap of all directions.

    n is stationary: the vector between the support points is parallel to it. For an overlap, the proof is an ellipsoid
    in the Minkowski sum of the bodies that touches its surface along n; ``turns`` are the angles of the ellipsoids
    tried.
    """
    u, x, w, y = pair.lengths(n)
    d = pair.rotation_a.inv_act(n)
    a = Vec3(*(r * k * x for r, k in zip(pair.radii, d, strict=True)))  # D n/|D n|, in A's axes
    e = pair.rotation_b.inv_act(n)
    b = Vec3(*(r * k * y for r, k in zip(pair.radii_b, e, strict=True)))  # E n/|E n|
    D: list[Vec3] = []  # rows of D and E across a and b
    E: list[Vec3] = []
    bodies = (a, pair.radii, pair.rotation_a, D), (b, pair.radii_b, pair.rotation_b, E)
    for direction, radii, rotation, rows in bodies:
        t = unit_of(across(direction))
        for tangent in (t, direction.cross(t)):
            rows.append(rotation @ Vec3(*(r * k for r, k in zip(radii, tangent, strict=True))))
    cos, sin = D[0].dot(E[0]) + D[1].dot(E[1]), D[1].dot(E[0]) - D[0].dot(E[1])
    square = cos * cos + sin * sin
    known = lt(TINY, square)
    scale = 1.0 / sqrt(where(known, square, 1.0))
    cos, sin = where(known, cos * scale, 1.0), where(known, sin * scale, 0.0)
    level = g * (1.0 / x + 1.0 / y)  # −λ
    units = [Vec3.of(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    squares = [pair.of_a(e) + row + u * p + w * q for e, row, p, q in zip(units, pair.rows, w, u, strict=True)]
    proved = le(0.0, g)
    for turn in turns:
        c, s = cos * math.cos(turn) - sin * math.sin(turn), sin * math.cos(turn) + cos * math.sin(turn)
        rotated = E[0] * c - E[1] * s, E[0] * s + E[1] * c
        rows = list(squares)
        for p, q in zip(D, rotated, strict=True):
            rows = [row + p * y + q * x for row, x, y in zip(rows, p, q, strict=True)]
        proved = or_(proved, _is_positive(rows, level))
    return proved


def _is_positive(rows: Sequence[Vec3], level: Any) -> Any:
    """Return True if a symmetric matrix + ``level`` I is positive definite despite rounding errors."""
    scale = 1.0 / _positive(rows[0].x + rows[1].y + rows[2].z)
    xx, yy, zz = ((z + level) * scale for z in (rows[0].x, rows[1].y, rows[2].z))
    xy, xz, yz = rows[0].y * scale, rows[0].z * scale, rows[1].z * scale
    minor = xx * yy - xy * xy
    determinant = zz * minor - xx * yz * yz - yy * xz * xz + 2.0 * xy * xz * yz
    return and_(lt(_POSITIVE, xx), and_(lt(_POSITIVE, minor), lt(_POSITIVE, determinant)))
