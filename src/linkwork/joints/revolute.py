"""The revolute joint: rotation about one axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..spatial import Motion, Pose, Rotation, Subspace, Vec3
from .axis import random_axis, unit_axis
from .joint import Joint, Scalars

__all__ = ["Revolute"]


@dataclass(frozen=True)
class Revolute(Joint):
    """q (1,): angle [rad], zero when F and M coincide.  v (1,): rate [rad/s].  q̇ = v.  [RBDA, table 4.1]"""

    axis: Vec3  # unit; the same coordinates in F and M

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Revolute:
        return cls(random_axis(rng))

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.about(self.axis, q[0]), Vec3.zero())

    def S(self, q: Scalars) -> Subspace:
        return Subspace((Motion(self.axis, Vec3.zero()),))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    @property
    def has_fixed_subspaces(self) -> bool:
        return True
