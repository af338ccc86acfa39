"""The geometry of a chain of axes: lengths and twists of the common normals between neighbours, on floats.

    exp(S₁ θ₁) ... exp(S_n θ_n) = B Rz(θ'₁) A₁ Tz(d₂) Rz(θ'₂) A₂ ... A_{n−1} Rz(θ'_n) T,    A_k = Tx(a_k) Rx(α_k),

with θ'_k = θ_k + o_k.  z is along each axis, and x along the common normal to the next, from foot to foot; a is 0 where
neighbours intersect, and sin α where they are parallel.  Where they are so within `TOLERANCE` they are taken to be:
files round their numbers (1.5708 is off by 4e-6), and the steps that polish a solution on the robot's own kinematics
square what that makes wrong.  No family needs right angles, so these are exact only where rounding explains the rest.

Source: Denavit and Hartenberg, A kinematic notation for lower-pair mechanisms, ASME J. Applied Mechanics 22, 1955.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.ik.algorithms.closed_form.axis_geometry_chain import JointAxis
from linkwork.ik.algorithms.closed_form.cos_sin_pair import UnitAngle
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["TOLERANCE", "AxisGeometry", "axis_geometry"]

TOLERANCE = 1e-5  # [rad, parts of the arm's length]
_RIGHT = 1e-9  # [rad]: how far right angles may be off


@dataclass(frozen=True)
class AxisGeometry:
    """A chain's numbers: ``a`` and ``twist`` between neighbours (n − 1), ``d`` and ``zero`` of each axis (n)."""

    a: tuple[float, ...]  # [m]
    twist: tuple[UnitAngle, ...]  # α
    d: tuple[float, ...]  # from the foot of the normal before to that of the one after [m]; 0 for first and last
    zero: tuple[float, ...]  # o: θ' while θ is 0 [rad]; 0 for first and last
    base: Pose  # B
    tool: Pose  # T
    length: float  # of the arm: the sum of all [m]

    def intersect(self, k: int) -> bool:
        """Whether axes k and k + 1 do, counted from 0."""
        return is_zero(self.a[k]) and not self.parallel(k)

    def parallel(self, k: int) -> bool:
        """Whether axes k and k + 1 are."""
        return is_zero(self.twist[k].sin)

    def spherical(self, k: int) -> bool:
        """Whether axes k, k + 1 and k + 2 go through one point, and neighbours are not parallel."""
        return self.intersect(k) and self.intersect(k + 1) and is_zero(self.d[k + 1])


@dataclass(frozen=True)
class _Normal:
    """The common normal of two axes: its direction, feet on both, length and twist."""

    x: Vec3
    from_foot: Vec3
    to_foot: Vec3
    a: float
    twist: UnitAngle


def axis_geometry(axes: Sequence[JointAxis]) -> AxisGeometry | None:
    """The geometry of two or more axes; None where neighbours are one and the same."""
    rough = _with_tolerance(axes, 0.0)
    return None if rough is None or is_zero(rough.length) else _with_tolerance(axes, TOLERANCE * rough.length)


def _with_tolerance(axes: Sequence[JointAxis], short: float) -> AxisGeometry | None:
    """The geometry, in which what is no longer than ``short`` is zero."""
    normals: list[_Normal] = []
    for one, other in pairwise(axes):
        start = normals[-1].to_foot if normals else one.point
        normal = _normal(one, other, start, short)
        if normal is None:
            return None
        normals.append(normal)
    offsets, angles = [0.0], [0.0]
    for axis, before, after in zip(axes[1:-1], normals, normals[1:], strict=False):
        z, y = axis.direction, axis.direction.cross(before.x)
        offset = (after.from_foot - before.to_foot).dot(z)
        point = is_zero(before.a) and is_zero(after.a) and abs(offset) <= short  # three axes go through it
        offsets.append(0.0 if point else offset)
        angles.append(math.atan2(after.x.dot(y), after.x.dot(before.x)))
    first, last = normals[0], normals[-1]
    return AxisGeometry(
        tuple(normal.a for normal in normals),
        tuple(normal.twist for normal in normals),
        (*offsets, 0.0),
        (*angles, 0.0),
        _frame(axes[0].direction, first.x, first.from_foot),
        _frame(axes[-1].direction, last.x, last.to_foot).inv().formed(),
        sum(abs(normal.a) for normal in normals) + sum(map(abs, offsets)),
    )


def _normal(one: JointAxis, other: JointAxis, start: Vec3, short: float) -> _Normal | None:
    """The common normal; of parallel axes, the one at the point ``start`` of the first."""
    z, w = one.direction, other.direction
    across, between = z.cross(w), other.point - one.point
    sin, cos = math.hypot(*across), z.dot(w)
    if sin <= TOLERANCE:
        here = one.point + z * (start - one.point).dot(z)
        there = other.point + w * (here - other.point).dot(w)
        x = there - here
        a = math.hypot(*x)
        if a <= short:
            return None
        return _Normal(x * (1.0 / a), here, there, a, UnitAngle(math.copysign(1.0, cos), 0.0))
    x = across * (1.0 / sin)
    a = between.dot(x)
    here = one.point + z * (between.cross(w).dot(x) / sin)
    there = other.point + w * (between.cross(z).dot(x) / sin)
    twist = UnitAngle(0.0, 1.0) if abs(cos) <= _RIGHT else UnitAngle(cos, sin)
    return _Normal(x, here, there, 0.0 if abs(a) <= short else a, twist)


def _frame(z: Vec3, x: Vec3, origin: Vec3) -> Pose:
    """The pose of a frame with these axes, x made normal to z."""
    x = x - z * x.dot(z)
    x = x * (1.0 / math.hypot(*x))
    y = z.cross(x)
    return Pose(Rotation(Vec3(x.x, y.x, z.x), Vec3(x.y, y.y, z.y), Vec3(x.z, y.z, z.z)), origin)
