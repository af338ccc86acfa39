"""The revolute joint: rotation about one axis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.joints.axis import across, angle_about, off_axis, random_axis, unit_axis
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.spatial import Inertia, Motion, Pose, Rotation, Subspace, Vec3

__all__ = ["Revolute"]


@public_constructor
@dataclass(frozen=True)
class Revolute(JointType):
    """q (1,): angle [rad], zero when F and M coincide.  v (1,): rate [rad/s].  q̇ = v.  [RBDA, table 4.1]"""

    axis: Vec3  # unit; the same coordinates in F and M

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    if TYPE_CHECKING:  # any three numbers make an axis

        def __init__(self, axis: Iterable[float]) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "revolute"))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Revolute:
        return cls(random_axis(rng))

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.about(self.axis, q[0]), Vec3.zero())

    def S(self, q: Scalars) -> Subspace:
        return Subspace((Motion(self.axis, Vec3.zero()),))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def q_of(self, X: Pose) -> list[Any]:
        """The angle of the nearest turn, in [−π, π]."""
        return [angle_about(self.axis, X.rotation)]

    def v_of_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [self.axis.dot(V.angular)]

    def gap(self, X: Pose) -> Motion:
        return off_axis(self.axis, X, 0.0)

    def slides(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def turns(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def felt(self, inertia: Inertia) -> Inertia:
        """Without the masses on the axis a, which do not move: ∫dm = 0, a·∫r dm = 0 and ∫(a·r)² dm = 0 are left.

        They are m, a·h and aᵀΣa, where J = tr(Σ) 1 − Σ.  The resistance aᵀJa = ∫|a × r|² dm stays as it is.
        """
        a, h = self.axis, inertia.moment
        return Inertia(0.0, h - a * a.dot(h), across(inertia.about, a))

    def reversed(self) -> Revolute:
        return Revolute(-self.axis)
