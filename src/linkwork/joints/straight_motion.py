"""Joints whose origin moves on a straight line at constant velocity, for the edges of planners.

At a constant twist, a planar or floating joint moves along an arc or a screw, which may leave the box of its position
limits between two configurations inside the box.  The joints here have the same configurations and transforms.  Their
velocity contains the rate of the position in the axes of F instead of the linear part of the twist, so that at constant
velocity

    p(t) = p₀ + t (p₁ − p₀),     R(t) = R₀ exp(t φ_ω):

positions stay within any convex set that contains both ends, and rotations are the shortest ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.joints.composite import Composite
from linkwork.joints.mrp_joints import FloatingMRP
from linkwork.joints.planar import Planar
from linkwork.joints.quaternion_joints import Floating
from linkwork.joints.reversed import Reversed
from linkwork.spatial import Force, Motion, Pose, Subspace, Vec3

__all__ = ["StraightFloating", "StraightJoint", "StraightPlanar", "straight_motion_joint"]


class StraightJoint(JointType):
    """Joint whose origin moves straight at constant velocity.

    Its velocity is (ω in the axes of M; rate of M's origin in the axes of F).
    """

    def rates(self, v: Scalars) -> tuple[Vec3, Vec3]:
        """Return the angular velocity ω in the axes of M [rad/s] and ṗ in the axes of F [m/s], for velocity v."""
        raise NotImplementedError


@dataclass(frozen=True)
class StraightPlanar(StraightJoint):
    """Planar joint with straight motion.

    q (3,) is that of `Planar`; v = q̇ (3,): the rates of M's origin along the axes x and y of F, then of the angle.
    """

    x_axis: Vec3 = Vec3(1.0, 0.0, 0.0)
    y_axis: Vec3 = Vec3(0.0, 1.0, 0.0)

    nq, nv = 3, 3
    q_units, v_units = ("m", "m", "rad"), ("m/s", "m/s", "rad/s")
    q_names, v_names = ("x", "y", "angle"), ("x_rate", "y_rate", "angle_rate")

    @property
    def _planar(self) -> Planar:
        return Planar(self.x_axis, self.y_axis)

    def X(self, q: Scalars) -> Pose:
        return self._planar.X(q)

    def S(self, q: Scalars) -> Subspace:
        R, n = self.X(q).rotation, self._planar.normal
        along = (Motion(Vec3.zero(), R.inv_act(axis)) for axis in (self.x_axis, self.y_axis))
        return Subspace((*along, Motion(n, Vec3.zero())))

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        zero = Vec3.zero()
        return Force(self.x_axis, zero), Force(self.y_axis, zero), Force(zero, self._planar.normal)

    def rates(self, v: Scalars) -> tuple[Vec3, Vec3]:
        return self._planar.normal * v[2], self.x_axis * v[0] + self.y_axis * v[1]

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return self._planar.configuration_from_pose(X)


@dataclass(frozen=True)
class StraightFloating(StraightJoint):
    """Floating joint with straight motion.

    q is that of ``joint``, whose last three coordinates are M's origin; v (6,): ω in the axes of M, ṗ in the axes of F.
    """

    joint: Floating | FloatingMRP

    nv = 6
    v_units = ("rad/s", "rad/s", "rad/s", "m/s", "m/s", "m/s")
    v_names = ("wx", "wy", "wz", "x_rate", "y_rate", "z_rate")

    def __post_init__(self) -> None:
        self._set_attributes(
            **{name: getattr(self.joint, name) for name in ("nq", "q_units", "q_names", "unit_length")}
        )

    def X(self, q: Scalars) -> Pose:
        return self.joint.X(q)

    def S(self, q: Scalars) -> Subspace:
        R = self.X(q).rotation
        axes = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
        return Subspace(
            (*(Motion(axis, Vec3.zero()) for axis in axes), *(Motion(Vec3.zero(), row) for row in (R.x, R.y, R.z)))
        )

    def rates(self, v: Scalars) -> tuple[Vec3, Vec3]:
        return Vec3.of(v[0:3]), Vec3.of(v[3:6])

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return self.joint.configuration_from_pose(X)

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        return [*self.joint.q_dot(q, _angular_only(v))[:-3], *v[3:6]]

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        return [*self.joint.velocity_from_rate(q, [*q_dot[:-3], 0.0, 0.0, 0.0])[:3], *q_dot[-3:]]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        moved = (x + d for x, d in zip(q[-3:], phi[3:6], strict=True))
        return [*self.joint.integrate(q, _angular_only(phi))[:-3], *moved]

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        displacement = (b - a for a, b in zip(q[-3:], other[-3:], strict=True))
        return [*self.joint.difference(q, [*other[:-3], *q[-3:]])[:3], *displacement]

    def zero(self) -> list[float]:
        return self.joint.zero()

    def normalize(self, q: Scalars) -> list[Any]:
        return self.joint.normalize(q)

    def distance(self, q: Scalars) -> Any:
        return self.joint.distance(q)

    def canonical(self, q: Scalars) -> list[Any]:
        return self.joint.canonical(q)

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        return self.joint.random(rng, lower, upper, size)


def straight_motion_joint(joint: JointType) -> JointType:
    """Return the joint whose origin moves on a straight line at constant velocity.

    Configurations and transforms are unchanged.  Planar and floating joints are converted, and composite and reversed
    joints component by component.  A joint that needs no conversion is returned itself, and so are types written by
    users.
    """
    kind = type(joint)
    if kind is Planar:
        assert isinstance(joint, Planar)
        return StraightPlanar(joint.x_axis, joint.y_axis)
    if kind in (Floating, FloatingMRP):
        assert isinstance(joint, (Floating, FloatingMRP))
        return StraightFloating(joint)
    if kind is Composite or kind is Reversed:
        parts = tuple(map(straight_motion_joint, joint.parts))
        if all(a is b for a, b in zip(parts, joint.parts, strict=True)):
            return joint
        if isinstance(joint, Composite):
            return replace(joint, joints=parts)
        return Reversed(parts[0])
    return joint


def _angular_only(v: Scalars) -> list[Any]:
    """Return a velocity (6,) with its linear part set to zero."""
    return [*v[:3], 0.0, 0.0, 0.0]
