"""Spherical and floating joints with Euler angles of any of the twelve axis orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.expr.scalar.functions import atan2, cos, fabs, sin, where
from linkwork.joints.base.checks import parameter_error
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.joints.quaternion_joints import ALL_FORCES
from linkwork.spatial import Force, Inertia, Motion, Pose, Rotation, Subspace, Vec3

__all__ = ["ORDERS", "FloatingEuler", "SphericalEuler"]


ORDERS = tuple(a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b != c)
_AXES = {"x": Vec3(1.0, 0.0, 0.0), "y": Vec3(0.0, 1.0, 0.0), "z": Vec3(0.0, 0.0, 1.0)}
_PI = float(np.pi)


@public_constructor
@dataclass(frozen=True)
class SphericalEuler(JointType):
    """Spherical joint with Euler angles: three intersecting hinges in series.

    q (3,): intrinsic Euler angles (α, β, γ) [rad], R_FM = R_i(α) R_j(β) R_k(γ) for the axis ``order`` ijk.

    v (3,): their rates [rad/s]. q̇ = v, so τ are the torques of three hinges at one point, and S depends on q: S =
    (R_kᵀ R_jᵀ e_i, R_kᵀ e_j, e_k). An order of three different axes is singular where cos β = 0 (gimbal lock). An
    order that repeats its first axis is singular where sin β = 0, which includes the zero configuration. There S has
    rank 2: kinematics, inverse dynamics and the mass matrix stay finite and exact, the mass matrix is singular, and
    forward dynamics has no solution. `regularity` is 0 there. The velocities are rates rather than ω because rates
    correspond to gimbal motors and recorded angles, and because q̇ is then finite everywhere. [RBDA, section 4.4]
    """

    order: str = "xyz"

    nq, nv = 3, 3
    q_units, v_units = ("rad",) * 3, ("rad/s",) * 3
    q_names, v_names = ("alpha", "beta", "gamma"), ("alpha_rate", "beta_rate", "gamma_rate")

    def __post_init__(self) -> None:
        EulerAngles.of(self.order, self.type_name())

    @classmethod
    def example(cls, rng: np.random.Generator) -> SphericalEuler:
        return cls(ORDERS[rng.integers(12)])

    @classmethod
    def type_name(cls) -> str:
        return "spherical (Euler)"

    def X(self, q: Scalars) -> Pose:
        return Pose(EulerAngles(self.order).rotation(q), Vec3.zero())

    def S(self, q: Scalars) -> Subspace:
        return Subspace(tuple(Motion(axis, Vec3.zero()) for axis in EulerAngles(self.order).axes(q)))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion(EulerAngles(self.order).bias(q, v), Vec3.zero())

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        return ALL_FORCES

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        """Return the principal Euler angles of the rotation of X; at gimbal lock those with γ = 0."""
        return EulerAngles(self.order).of_rotation(X.rotation)

    def pose_residual(self, X: Pose) -> Motion:
        return Motion(Vec3.zero(), X.rotation.inv_act(X.translation))

    def canonical(self, q: Scalars) -> list[Any]:
        """Return the principal angles of the same rotation as q.

        β is in [−π/2, π/2], or in [0, π] for an order that repeats its first axis; the others are in [−π, π].
        """
        return EulerAngles(self.order).canonical(q)

    def regularity(self, q: Scalars) -> Any:
        """Return |cos β| of q, or |sin β| for an order that repeats its first axis: 0 at gimbal lock."""
        return EulerAngles(self.order).regularity(q)

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia with its mass set to zero: a point mass at the centre of rotation does not move."""
        return Inertia(0.0, inertia.moment, inertia.about)


@dataclass(frozen=True, slots=True)
class EulerAngles:
    """Intrinsic Euler angles of an axis order: R = R_i(α) R_j(β) R_k(γ)."""

    order: str

    @staticmethod
    def of(order: object, joint: str) -> EulerAngles:
        """Return the Euler angles of an axis ``order`` such as "xyz".

        Raises ValueError unless it is one of the twelve orders.
        """
        if not isinstance(order, str) or order not in ORDERS:
            raise parameter_error(joint, "order", f"one of {', '.join(ORDERS)}", repr(order))
        return EulerAngles(order)

    def rotation(self, q: Scalars) -> Rotation:
        first, second, third = (Rotation.about(_AXES[a], angle) for a, angle in zip(self.order, q, strict=True))
        return first @ second @ third

    def of_rotation(self, R: Rotation) -> list[Any]:
        """Return the angles of a rotation, with β in the principal range.

        α follows from R's column of the last axis, which depends on α and β only.  R rotated back by α then determines
        β and γ; at gimbal lock this is exact for any α.
        """
        rows = R.rows()
        i, j = "xyz".index(self.order[0]), "xyz".index(self.order[1])
        k = 3 - i - j
        e = 1.0 if (j - i) % 3 == 1 else -1.0
        s, c = (rows[j][i], -e * rows[k][i]) if self._repeats else (-e * rows[j][k], rows[k][k])
        locked = s * s + c * c < 1e-28
        alpha = atan2(where(locked, e * rows[k][j], s), where(locked, rows[j][j], c))
        s, c = sin(alpha) * e, cos(alpha)
        second = [c * y + s * z for y, z in zip(rows[j], rows[k], strict=True)]
        third = [c * z - s * y for y, z in zip(rows[j], rows[k], strict=True)]
        if self._repeats:
            return [alpha, atan2(-e * third[i], rows[i][i]), atan2(-e * second[k], second[j])]
        return [alpha, atan2(e * rows[i][k], third[k]), atan2(e * second[i], second[j])]

    def axes(self, q: Scalars) -> tuple[Vec3, Vec3, Vec3]:
        """Return the axes, in M, about which M rotates at unit rate of each angle."""
        i, j, k = (_AXES[a] for a in self.order)
        second, third = Rotation.about(j, q[1]), Rotation.about(k, q[2])
        return third.inv_act(second.inv_act(i)), third.inv_act(j), k

    def bias(self, q: Scalars, v: Scalars) -> Vec3:
        """Return the angular acceleration ω̇ in M [rad/s²] at constant rates v of the angles.

        Seen from M, each of the three rotation axes turns, due to the rates of the angles after it.
        """
        first, second, third = self.axes(q)
        w2, w3 = second * v[1], third * v[2]
        rate: Vec3 = first.cross(w2 + w3) * v[0] + w2.cross(w3)
        return rate

    def canonical(self, q: Scalars) -> list[Any]:
        """Return the principal angles of the same rotation.

        The other angles of a rotation are (α + π, π − β, γ + π), or (α + π, −β, γ + π) for an order that repeats its
        first axis.
        """
        alpha, beta, gamma = q
        far = (sin(beta) if self._repeats else cos(beta)) < 0.0
        beta_other = -beta if self._repeats else _PI - beta
        turned = alpha + where(far, _PI, 0.0), where(far, beta_other, beta), gamma + where(far, _PI, 0.0)
        return [atan2(sin(angle), cos(angle)) for angle in turned]

    def regularity(self, q: Scalars) -> Any:
        return fabs(sin(q[1]) if self._repeats else cos(q[1]))

    @property
    def _repeats(self) -> bool:
        return self.order[0] == self.order[2]


@public_constructor
@dataclass(frozen=True)
class FloatingEuler(JointType):
    """Floating joint (6-DoF) with Euler angles: three sliders and three hinges in series.

    q (6,): intrinsic Euler angles (α, β, γ) [rad], R_FM = R_i(α) R_j(β) R_k(γ), then M's origin p in F [m].

    v (6,): their rates [rad/s, m/s], ṗ along the axes of F.  q̇ = v, and S = (R_kᵀ R_jᵀ e_i, R_kᵀ e_j, e_k; Rᵀ). At
    gimbal lock, cos β = 0, or sin β = 0 for an order that repeats its first axis, S is singular: see `SphericalEuler`,
    which also gives the reason for this choice of v.
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
        """Return the spatial acceleration (ω̇; −ω × Rᵀṗ) in M at q̈ = 0.

        ω̇ is the angular acceleration at the velocity v and constant rates of the Euler angles, and Rᵀṗ the velocity of
        M's origin in M's axes.
        """
        twist = self.S(q) @ v
        return Motion(EulerAngles(self.order).bias(q[0:3], v[0:3]), twist.linear.cross(twist.angular))

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        """Return the principal Euler angles and the position of X; at gimbal lock those with γ = 0."""
        return [*EulerAngles(self.order).of_rotation(X.rotation), *X.translation]

    def pose_residual(self, X: Pose) -> Motion:
        return Motion.zero()

    def canonical(self, q: Scalars) -> list[Any]:
        """Return the principal angles of the same rotation as q, and the position.

        β is in [−π/2, π/2], or in [0, π] for an order that repeats its first axis; the others are in [−π, π].
        """
        return [*EulerAngles(self.order).canonical(q[0:3]), *q[3:6]]

    def regularity(self, q: Scalars) -> Any:
        """Return |cos β| of q, or |sin β| for an order that repeats its first axis: 0 at gimbal lock."""
        return EulerAngles(self.order).regularity(q[0:3])
