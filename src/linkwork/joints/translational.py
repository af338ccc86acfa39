"""The translational joint: translation in every direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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

__all__ = ["Translational"]


@dataclass(frozen=True)
class Translational(JointType):
    """q (3,): M's origin in F [m].  v (3,): its rate [m/s].  q̇ = v.  The axes of F and M stay parallel."""

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

    def q_of(self, X: Pose) -> list[Any]:
        return [*X.translation]

    def v_of_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [*V.linear]

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        return tuple(Force(axis, Vec3.zero()) for axis in _AXES)

    def slides(self) -> tuple[Vec3, ...]:
        return _AXES

    def felt(self, inertia: Inertia) -> Inertia:
        """Without the rotational inertia: the joint turns nothing."""
        return Inertia(inertia.mass, inertia.moment, Symmetric3.zero())


_AXES = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
