"""Derivatives of the signed distance of two cores, its normal and its witness points with respect to the cores' motion.

The witness points p_A and p_B of separate or overlapping bodies are on the surfaces, whose normals there are n and −n,
and p_B − p_A = d n.  Let the motion of a body change its point at the witness point by w and its normal there by ν.
The surface equations (`surface_derivatives.py`) in the plane orthogonal to n are

    P_A · (δn − ν_A) = Q_A · (δp_A − w_A),    P_B · (−δn − ν_B) = Q_B · (δp_B − w_B),    δp_B = δp_A + d δn.

These are four linear equations for δn and δp_A, the differentiated optimality conditions (implicit function theorem).
They are singular if the witness points or the normal are not unique.  The distance itself has δd = n · (w_B − w_A)
without solving equations (envelope theorem).  The derivatives do not depend on the method that computes the witness
points, so iterative methods are not differentiated step by step.

Sources: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, 1983, chapter 3; Danskin,
The Theory of Max-Min, 1967.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.custom_derivative import apply_rule
from linkwork.expr.autodiff.graph_derivative import TransposedTangent
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import fabs, lt, sqrt, where
from linkwork.geometry.cores import Core, PointCore, SegmentCore, SignedDistance, Solid
from linkwork.geometry.pairs.closed_form.box_box import box_box
from linkwork.geometry.pairs.closed_form.box_cylinder import box_cylinder, segment_cylinder
from linkwork.geometry.pairs.closed_form.cylinder_cylinder import cylinder_cylinder
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import (
    point_cone,
    point_ellipsoid,
    point_segment,
    segment_box,
    segment_segment,
)
from linkwork.geometry.pairs.convex.convex_pair import convex
from linkwork.geometry.solids import HEAD, KINDS, SolidKind, solid_row
from linkwork.geometry.surface_derivatives import SURFACES, Surface, surface
from linkwork.geometry.unit_vectors import across, unit
from linkwork.spatial import Motion, Vec3

__all__ = ["MEASURES", "Response", "differentiated", "motion_response"]

_LEAST = by_type(1e-30)  # [m]
_LEAST_SQUARE = by_type(1e-60)  # [m²]
_SINGULAR = by_type(1e-11)  # determinant of a matrix with unit rows below which it counts as singular

MEASURES: Mapping[str, Callable[[Any, Any], SignedDistance]] = {
    "convex": convex,
    "point_segment": point_segment,
    "point_cone": point_cone,
    "point_ellipsoid": point_ellipsoid,
    "segment_segment": segment_segment,
    "box_box": box_box,
    "segment_box": segment_box,
    "segment_cylinder": segment_cylinder,
    "box_cylinder": box_cylinder,
    "cylinder_cylinder": cylinder_cylinder,
}
"""Functions by name that iterate, choose among directions, or need more operations than the derivatives' equations."""


class Response:
    """Linear map from the motions of two cores to the changes of the normal and the witness points.

    ``exists`` is 1 where the derivatives exist; elsewhere it is 0, and the derivatives are zero.
    """

    def __init__(self, a: Surface, b: Surface, n: Vec3, distance: Any) -> None:
        t = unit(across(n))
        self.t, self.u = t, n.cross(t)
        self._rows = a.rows, b.rows
        size = fabs(distance)
        for row in (*a.rows, *b.rows):
            size = size + sqrt(row.P.dot(row.P) * row.Q.dot(row.Q) + _LEAST_SQUARE)
        size = where(lt(_LEAST, size), size, 1.0)
        matrix = [[*self._flat(row.P * (1.0 / size)), *self._flat(-row.Q)] for row in a.rows]
        matrix += [[*self._flat(-row.P * (1.0 / size) - row.Q * (distance / size)), *self._flat(-row.Q)]
                   for row in b.rows]  # fmt: skip
        self._scales = [1.0 / sqrt(dot(row, row) + _LEAST_SQUARE) for row in matrix]
        self._size = size
        inverse, determinant = _adjugate([[x * k for x in row] for row, k in zip(matrix, self._scales, strict=True)])
        known = lt(_SINGULAR, fabs(determinant))
        scale = where(known, 1.0, 0.0) / where(known, determinant, 1.0)
        self._inverse = [[x * scale for x in row] for row in inverse]
        self.exists = where(known, a.clear * b.clear, 0.0)

    def _flat(self, v: Vec3) -> tuple[Any, Any]:
        return self.t.dot(v), self.u.dot(v)

    def __call__(self, of_a: tuple[Vec3, Vec3], of_b: tuple[Vec3, Vec3]) -> tuple[Vec3, Vec3]:
        """Return the change of the normal n, and the change of A's witness point orthogonal to n.

        ``of_a`` and ``of_b`` are the pairs (w, ν) for each body: the changes of its point at the witness point, and of
        its normal there.
        """
        (w_a, nu_a), (w_b, nu_b) = of_a, of_b
        rows_a, rows_b = self._rows
        right = [row.P.dot(nu_a) - row.Q.dot(w_a) for row in rows_a]
        right += [row.P.dot(nu_b) - row.Q.dot(w_b) for row in rows_b]
        right = [x * (k / self._size) for x, k in zip(right, self._scales, strict=True)]
        x, y, z, w = (dot(row, right) for row in self._inverse)
        along, across = self.t, self.u
        return along * x + across * y, (along * z + across * w) * self._size


def motion_response(a: Solid, b: Solid, result: SignedDistance) -> tuple[list[list[Any]], Any]:
    """Return K = ∂(p × n; n)/∂(ω; v), 6 × 6, for a motion of B relative to A, and 1 if it exists, else zeros and 0.

    (p × n; n) is the wrench of the normal at the witness points, (ω; v) a twist, both about the origin.  K does not
    exist for fields.
    """
    if any(type(solid.core) not in SURFACES for solid in (a, b)):  # fields
        return [[0.0] * 6 for _ in range(6)], 0.0
    core = result.rounded(-a.radius, -b.radius)
    n, p, q = core.normal, core.on_a, core.on_b
    response = Response(surface(a.core, p, n), surface(b.core, q, -n), n, core.distance)
    exists = where(lt(0.5, result.unique), response.exists, 0.0)
    columns = []
    for k in range(6):
        V = Motion.of([1.0 if i == k else 0.0 for i in range(6)])
        turned, moved = response(_NO_MOTION, (V.linear + V.angular.cross(q), V.angular.cross(-n)))
        F = [*(moved.cross(n) + p.cross(turned)), *turned]
        columns.append([where(lt(0.5, exists), x, 0.0) for x in F])
    return [[column[i] for column in columns] for i in range(6)], exists


_NO_MOTION = Vec3.zero(), Vec3.zero()


def differentiated(measure: str, a: Core, b: Core) -> SignedDistance:
    """Return the signed distance of two bounded cores by one of `MEASURES`, with derivatives.

    They are available in forward and reverse mode and follow from the implicit equations, not from the steps of a
    search. Vertices of polytopes are constant in their body; all other values may vary.
    """
    kinds = [(KINDS.index(type(core)), len(getattr(core, "vertices", ()))) for core in (a, b)]
    rule = _Measured(measure, *kinds)
    cores = zip((a, b), rule.kinds, strict=True)
    return _distance(apply_rule(rule, [x for core, kind in cores for x in solid_row(Solid(core), kind, 0.0)[HEAD:]]))


def _distance(values: Sequence[Any]) -> SignedDistance:
    d, *values_of = values
    return SignedDistance(d, Vec3.of(values_of[0:3]), Vec3.of(values_of[3:6]), Vec3.of(values_of[6:9]), values_of[9])


@dataclass(frozen=True)
class _Measured(TransposedTangent):
    """Signed distance of two cores as a function of the values that describe them, with its derivative.

    The results are distance, normal, witness points and uniqueness.
    """

    measure: str
    a: tuple[int, int]  # index of its type in `KINDS`, and number of vertices
    b: tuple[int, int]

    @property
    def kinds(self) -> tuple[SolidKind, SolidKind]:
        return SolidKind(KINDS[self.a[0]], self.a[1]), SolidKind(KINDS[self.b[0]], self.b[1])

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        result = MEASURES[self.measure](*self._cores(inputs))
        return [result.distance, *result.normal, *result.on_a, *result.on_b, result.unique], []

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        (a, b), (a_dot, b_dot), result = self._cores(inputs), self._cores(direction), _distance(results)
        n, d = result.normal, result.distance
        of_a, of_b = _carried(a, a_dot, result.on_a, n), _carried(b, b_dot, result.on_b, -n)
        response = Response(surface(a, result.on_a, n), surface(b, result.on_b, -n), n, d)
        turned, moved = response(of_a, of_b)
        on_a = moved + n * n.dot(of_a[0])
        closer = n.dot(of_b[0] - of_a[0])
        return [closer, *turned, *on_a, *(on_a + n * closer + turned * d), 0.0]

    def _cores(self, values: Sequence[Any]) -> tuple[Any, Any]:
        a, b = self.kinds
        head, split = [0.0] * HEAD, a.size - HEAD
        return a.solid([*head, *values[:split]]).solid.core, b.solid([*head, *values[split:]]).solid.core


def _carried(core: Any, change: Any, p: Vec3, n: Vec3) -> tuple[Vec3, Vec3]:
    """Return the changes of a surface point p and of its normal n, for a change of the parameters of a core.

    Scaling a core is a linear map of its points; normals are mapped by its inverse transpose.
    """
    if isinstance(core, PointCore):
        return change.point, Vec3.zero()
    if isinstance(core, SegmentCore):
        square = core.half.dot(core.half)
        known = lt(0.0, square)
        scale = where(known, 1.0, 0.0) / where(known, square, 1.0)
        along = (p - core.center).dot(core.half) * scale
        return change.center + change.half * along, core.half * (-n.dot(change.half) * scale)
    R, turning = core.pose.rotation, change.pose.rotation
    x, m = R.inv_act(p - core.pose.translation), R.inv_act(n)
    grown = Vec3(*(_rate(size, rate) for size, rate in zip(_sizes(core), _sizes(change), strict=True)))
    moved = turning @ x + change.pose.translation + R @ Vec3(*(k * y for k, y in zip(grown, x, strict=True)))
    return moved, turning @ m - R @ Vec3(*(k * y for k, y in zip(grown, m, strict=True)))


def _sizes(core: Any) -> tuple[Any, Any, Any]:
    """Return the lengths that a core is proportional to along its axes; zeros for cores without sizes."""
    for name in ("half", "radii"):
        result = getattr(core, name, None)
        if isinstance(result, Vec3):
            return (result.x, result.y, result.z)
    return (core.radius, core.radius, core.half) if hasattr(core, "radius") else (0.0, 0.0, 0.0)


def _rate(size: Any, rate: Any) -> Any:
    if is_zero(rate):
        return 0.0
    known = lt(0.0, size)
    return where(known, rate, 0.0) / where(known, size, 1.0)


def _adjugate(m: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], Any]:
    """Return the adjugate of a 4 × 4 matrix and its determinant, by minors of the upper and lower two rows."""
    (a, b, c, d), (e, f, g, h), (i, j, k, l), (o, p, q, r) = m
    s = (a * f - e * b, a * g - e * c, a * h - e * d, b * g - f * c, b * h - f * d, c * h - g * d)
    t = (i * p - o * j, i * q - o * k, i * r - o * l, j * q - p * k, j * r - p * l, k * r - q * l)
    determinant = s[0] * t[5] - s[1] * t[4] + s[2] * t[3] + s[3] * t[2] - s[4] * t[1] + s[5] * t[0]
    return [
        [f * t[5] - g * t[4] + h * t[3], c * t[4] - b * t[5] - d * t[3],
         p * s[5] - q * s[4] + r * s[3], k * s[4] - j * s[5] - l * s[3]],
        [g * t[2] - e * t[5] - h * t[1], a * t[5] - c * t[2] + d * t[1],
         q * s[2] - o * s[5] - r * s[1], i * s[5] - k * s[2] + l * s[1]],
        [e * t[4] - f * t[2] + h * t[0], b * t[2] - a * t[4] - d * t[0],
         o * s[4] - p * s[2] + r * s[0], j * s[2] - i * s[4] - l * s[0]],
        [f * t[1] - e * t[3] - g * t[0], a * t[3] - b * t[1] + c * t[0],
         p * s[1] - o * s[3] - q * s[0], i * s[3] - j * s[1] + k * s[0]],
    ], determinant  # fmt: skip
