"""Cylindrical and helical joints: rotation about an axis and translation along it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.expr.scalar.functions import floor
from linkwork.joints.axis import angle_about, axis_residual, flat_inertia, random_axis, unit_axis
from linkwork.joints.base.checks import finite_parameter
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.spatial import Inertia, Motion, Pose, Rotation, Subspace, Vec3

__all__ = ["Cylindrical", "Helical"]


@public_constructor
@dataclass(frozen=True)
class Cylindrical(JointType):
    """Cylindrical joint: rotation about an axis and translation along it.

    q (2,): angle [rad] and displacement [m], zero when F and M coincide.  v (2,): their rates.  q̇ = v.  Equivalent to
    a revolute and a prismatic joint on one axis.  [RBDA, table 4.1]
    """

    axis: Vec3  # unit; the same coordinates in F and M

    nq, nv = 2, 2
    q_units, v_units = ("rad", "m"), ("rad/s", "m/s")
    q_names, v_names = ("angle", "displacement"), ("angle_rate", "displacement_rate")

    if TYPE_CHECKING:  # any three numbers, or the name of a coordinate axis

        def __init__(self, axis: Iterable[float] | str) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "cylindrical"))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Cylindrical:
        return cls(random_axis(rng))

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.about(self.axis, q[0]), self.axis * q[1])

    def S(self, q: Scalars) -> Subspace:
        return Subspace((Motion(self.axis, Vec3.zero()), Motion(Vec3.zero(), self.axis)))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return [angle_about(self.axis, X.rotation), self.axis.dot(X.translation)]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [self.axis.dot(V.angular), self.axis.dot(V.linear)]

    def pose_residual(self, X: Pose) -> Motion:
        return axis_residual(self.axis, X, self.axis.dot(X.translation))

    def commuting_translations(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def commuting_rotations(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia without the spread of mass along the axis a, which has no effect: ∫(a·r)² dm = 0."""
        return Inertia(inertia.mass, inertia.moment, flat_inertia(inertia.about, self.axis))

    def reversed(self) -> Cylindrical:
        return Cylindrical(-self.axis)


@public_constructor
@dataclass(frozen=True)
class Helical(JointType):
    """Helical joint: rotation about an axis with a proportional advance, as a screw in its nut.

    q (1,): angle [rad], zero when F and M coincide.  v (1,): rate [rad/s].  q̇ = v.  The advance is pitch · q, so S =
    (a; pitch · a).  [RBDA, table 4.1]
    """

    axis: Vec3  # unit; the same coordinates in F and M
    pitch: float  # advance per radian [m/rad]: the lead of the screw over 2π

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    if TYPE_CHECKING:  # any three numbers, or the name of a coordinate axis

        def __init__(self, axis: Iterable[float] | str, pitch: float) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "helical"))
        object.__setattr__(self, "pitch", finite_parameter(self.pitch, "helical", "pitch"))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Helical:
        return cls(random_axis(rng), float(rng.uniform(-0.5, 0.5)))

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.about(self.axis, q[0]), self.axis * (self.pitch * q[0]))

    def S(self, q: Scalars) -> Subspace:
        return Subspace((Motion(self.axis, self.axis * self.pitch),))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        """Return the angle (1,) of the screw whose pose is nearest to X, with its full revolutions [rad].

        Its fraction of a revolution is the angle of the rotation about the axis that is nearest to X. The number of
        full revolutions is the one whose advance along the axis is nearest to the displacement of X.
        """
        angle = angle_about(self.axis, X.rotation)
        if self.pitch == 0.0:
            return [angle]
        turns = floor((self.axis.dot(X.translation) * (1.0 / self.pitch) - angle) * (0.5 / math.pi) + 0.5)
        return [angle + turns * (2.0 * math.pi)]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        """Return the rate (1,) at q whose twist is nearest to V: (a·ω + h a·v) / (1 + h²), with axis a, pitch h."""
        along = self.axis.dot(V.angular) + self.axis.dot(V.linear) * self.pitch
        return [along * (1.0 / (1.0 + self.pitch * self.pitch))]

    def pose_residual(self, X: Pose) -> Motion:
        return axis_residual(self.axis, X, self.configuration_from_pose(X)[0] * self.pitch)

    def commuting_translations(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def commuting_rotations(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia without the spread of mass along the axis a, which has no effect: ∫(a·r)² dm = 0."""
        return Inertia(inertia.mass, inertia.moment, flat_inertia(inertia.about, self.axis))

    def reversed(self) -> Helical:
        return Helical(-self.axis, self.pitch)
