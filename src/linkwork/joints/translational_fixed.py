"""The fixed joint: two bodies welded together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.spatial import Inertia, Motion, Pose, Subspace

__all__ = ["Fixed"]


@dataclass(frozen=True)
class Fixed(JointType):
    """q (0,), v (0,): no motion.  X = 1."""

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

    def q_of(self, X: Pose) -> list[Any]:
        return []

    def v_of_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return []

    def felt(self, inertia: Inertia) -> Inertia:
        """Nothing: there is no motion to feel it."""
        return Inertia.zero()

    def reversed(self) -> Fixed:
        return self
