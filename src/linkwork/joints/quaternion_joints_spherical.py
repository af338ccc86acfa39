"""The spherical joint: rotation in every direction, with a quaternion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.joints.base.joint_type import Scalars
from linkwork.joints.quaternion_joints import QuaternionJoint, quaternion_names, quaternion_numbers
from linkwork.spatial import Force, Inertia, Motion, Pose, Quaternion, Subspace, Vec3

__all__ = ["ANY_FORCE", "ANY_TURN", "Spherical"]


@public_constructor
@dataclass(frozen=True)
class Spherical(QuaternionJoint):
    """q (4,): unit quaternion (w, x, y, z) of R_FM, or (x, y, z, w) with ``scalar_last``.

    v (3,): angular velocity of M relative to F in M's coordinates [rad/s], so S = (1; 0).  q̇ ≠ v: ε̇ = ½ ε ⊗ (0, ω).
    No configuration is singular.  [RBDA, table 4.1]
    """

    scalar_last: bool = False

    def __post_init__(self) -> None:
        self._say(q_names=quaternion_names(self.scalar_last))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Spherical:
        return cls(scalar_last=bool(rng.random() < 0.5))

    def X(self, q: Scalars) -> Pose:
        return Pose(self._epsilon(q).rotation(), Vec3.zero())

    def S(self, q: Scalars) -> Subspace:
        return ANY_TURN

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        return ANY_FORCE

    def q_of(self, X: Pose) -> list[Any]:
        return quaternion_numbers(Quaternion.of(X.rotation), self.scalar_last)

    def v_of_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [*V.angular]

    def gap(self, X: Pose) -> Motion:
        return Motion(Vec3.zero(), X.rotation.inv_act(X.translation))

    def felt(self, inertia: Inertia) -> Inertia:
        """Without the mass at the centre, which does not move."""
        return Inertia(0.0, inertia.moment, inertia.about)


_AXES = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
ANY_TURN = Subspace(tuple(Motion(axis, Vec3.zero()) for axis in _AXES))
ANY_FORCE = tuple(Force(Vec3.zero(), axis) for axis in _AXES)
