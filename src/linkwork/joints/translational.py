"""Translational, prismatic and fixed joints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.lazy_dataclass import dataclass
from linkwork.joints.axis import random_axis, unit_axis
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.spatial import (
    Force,
    Inertia,
    Motion,
    Pose,
    Rotation,
    Subspace,
    Symmetric3,
    Vec3,
)

__all__ = ["Fixed", "Prismatic", "Translational"]


@dataclass(frozen=True)
class Translational(JointType):
    """Translational joint: all translations; the axes of F and M stay parallel.

    q (3,): M's origin in F [m].  v (3,): its rate [m/s].  q̇ = v.
    """

    nq, nv = 3, 3
    q_units, v_units = ("m", "m", "m"), ("m/s", "m/s", "m/s")
    q_names, v_names = ("x", "y", "z"), ("vx", "vy", "vz")

    @classmethod
    def example(cls, rng: np.random.Generator) -> Translational:
        return cls()

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.identity(), Vec3.of(q))

    def S(self, q: Scalars) -> Subspace:
        return Subspace(tuple(Motion(Vec3.zero(), axis) for axis in _AXES))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return [*X.translation]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [*V.linear]

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        return tuple(Force(axis, Vec3.zero()) for axis in _AXES)

    def commuting_translations(self) -> tuple[Vec3, ...]:
        return _AXES

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia without its rotational part, which has no effect: the joint does not rotate."""
        return Inertia(inertia.mass, inertia.moment, Symmetric3.zero())


_AXES = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Fixed(JointType):
    """Fixed joint: two bodies welded together.

    q (0,), v (0,): no motion.  X = 1.
    """

    nq, nv = 0, 0
    q_units = v_units = ()

    @classmethod
    def example(cls, rng: np.random.Generator) -> Fixed:
        return cls()

    def X(self, q: Scalars) -> Pose:
        return Pose.identity()

    def S(self, q: Scalars) -> Subspace:
        return Subspace(())

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return []

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return []

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a zero inertia: no part of a body's inertia affects a joint without motion."""
        return Inertia.zero()

    def reversed(self) -> Fixed:
        return self


@public_constructor
@dataclass(frozen=True)
class Prismatic(JointType):
    """Prismatic joint: translation along one axis.

    q (1,): displacement [m], zero when F and M coincide.  v (1,): rate [m/s].  q̇ = v.  [RBDA, table 4.1]
    """

    axis: Vec3  # unit; the same coordinates in F and M

    nq, nv = 1, 1
    q_units, v_units = ("m",), ("m/s",)

    if TYPE_CHECKING:  # any three numbers, or the name of a coordinate axis

        def __init__(self, axis: Iterable[float] | str) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "prismatic"))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Prismatic:
        return cls(random_axis(rng))

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.identity(), self.axis * q[0])

    def S(self, q: Scalars) -> Subspace:
        return Subspace((Motion(Vec3.zero(), self.axis),))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return [self.axis.dot(X.translation)]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [self.axis.dot(V.linear)]

    def commuting_translations(self) -> tuple[Vec3, ...]:
        return Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)

    def commuting_rotations(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia without its rotational part, which has no effect: the joint does not rotate."""
        return Inertia(inertia.mass, inertia.moment, Symmetric3.zero())

    def reversed(self) -> Prismatic:
        return Prismatic(-self.axis)
