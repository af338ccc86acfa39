"""The floating joint with Euler angles of any of the twelve orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.joints.euler_angle_joints import ORDERS, EulerAngles
from linkwork.spatial import Motion, Pose, Rotation, Subspace, Vec3

__all__ = ["FloatingEuler"]


@public_constructor
@dataclass(frozen=True)
class FloatingEuler(JointType):
    """q (6,): Euler angles (α, β, γ) [rad], R_FM = R_i(α) R_j(β) R_k(γ) (intrinsic), then M's origin p in F [m].

    v (6,): their rates [rad/s, m/s], ṗ along the axes of F.  q̇ = v, and S = (R_kᵀ R_jᵀ e_i, R_kᵀ e_j, e_k; Rᵀ):
    the same as three sliders and three hinges.  At gimbal lock, cos β = 0, or sin β = 0 for an order that repeats its
    first axis, S is singular: see `SphericalEuler`, also for the reason of v.
    """

    order: str = "xyz"

    nq, nv = 6, 6
    q_units = ("rad", "rad", "rad", "m", "m", "m")
    v_units = ("rad/s", "rad/s", "rad/s", "m/s", "m/s", "m/s")
    q_names = ("alpha", "beta", "gamma", "x", "y", "z")
    v_names = ("alpha_rate", "beta_rate", "gamma_rate", "x_rate", "y_rate", "z_rate")

    def __post_init__(self) -> None:
        EulerAngles.of(self.order, self.type_name())

    @classmethod
    def example(cls, rng: np.random.Generator) -> FloatingEuler:
        return cls(ORDERS[rng.integers(12)])

    @classmethod
    def type_name(cls) -> str:
        return "floating (Euler)"

    def X(self, q: Scalars) -> Pose:
        return Pose(EulerAngles(self.order).rotation(q[0:3]), Vec3.of(q[3:6]))

    def S(self, q: Scalars) -> Subspace:
        angles = EulerAngles(self.order)
        R: Rotation = angles.rotation(q[0:3])
        turns = (Motion(axis, Vec3.zero()) for axis in angles.axes(q[0:3]))
        return Subspace((*turns, *(Motion(Vec3.zero(), row) for row in (R.x, R.y, R.z))))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """(ω̇; −ω × Rᵀṗ)."""
        twist = self.S(q) @ v
        return Motion(EulerAngles(self.order).bias(q[0:3], v[0:3]), twist.linear.cross(twist.angular))

    def q_of(self, X: Pose) -> list[Any]:
        """The principal angles; at gimbal lock those with γ = 0."""
        return [*EulerAngles(self.order).of_rotation(X.rotation), *X.translation]

    def gap(self, X: Pose) -> Motion:
        return Motion.zero()

    def principal(self, q: Scalars) -> list[Any]:
        """β in [−π/2, π/2], or [0, π] for an order that repeats its first axis; the others in [−π, π]."""
        return [*EulerAngles(self.order).principal(q[0:3]), *q[3:6]]

    def regularity(self, q: Scalars) -> Any:
        """|cos β|, or |sin β| for an order that repeats its first axis: 0 at gimbal lock."""
        return EulerAngles(self.order).regularity(q[0:3])
