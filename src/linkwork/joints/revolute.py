"""The revolute joint: rotation about one axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..spatial import Inertia, Motion, Pose, Rotation, Subspace, Symmetric3, Vec3
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

    def slides(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def turns(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def felt(self, inertia: Inertia) -> Inertia:
        """Without the masses on the axis a, which do not move: ∫dm = 0, a·∫r dm = 0 and ∫(a·r)² dm = 0 are left.

        They are m, a·h and aᵀΣa, where J = tr(Σ) 1 − Σ.  The resistance aᵀJa = ∫|a × r|² dm stays as it is.
        """
        a, h = self.axis, inertia.moment
        return Inertia(0.0, h - a * a.dot(h), _flattened(inertia.about, a))

    @property
    def has_fixed_subspaces(self) -> bool:
        return True


def _flattened(J: Symmetric3, a: Vec3) -> Symmetric3:
    """J − γ (1 − a aᵀ) with γ = aᵀΣa = ½ tr(J) − aᵀJa: the rotational inertia of a flat body, across a.

    About a coordinate axis, z say, that is J_xx + J_yy = J_zz, which holds without rounding.
    """
    diagonal = [J.xx, J.yy, J.zz]
    for k in range(3):
        if [abs(x) for x in a] == [float(i == k) for i in range(3)]:
            small, large = sorted(((k + 1) % 3, (k + 2) % 3), key=diagonal.__getitem__)
            diagonal[large] = 0.5 * (diagonal[k] + (diagonal[large] - diagonal[small]))
            diagonal[small] = diagonal[k] - diagonal[large]
            return Symmetric3(diagonal[0], J.xy, J.xz, diagonal[1], J.yz, diagonal[2])
    gamma = 0.5 * (J.xx + J.yy + J.zz) - a.dot(J @ a)
    across = Symmetric3(1.0 - a.x * a.x, -a.x * a.y, -a.x * a.z, 1.0 - a.y * a.y, -a.y * a.z, 1.0 - a.z * a.z)
    flat: Symmetric3 = J - across * gamma
    return flat
