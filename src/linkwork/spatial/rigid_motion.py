"""Motion of rigid bodies, masses and frames with accelerations, and the Newton-Euler equations.

A rigid body has the angular velocity ω, the angular acceleration ω̇ and the acceleration p̈ of its origin.  The
velocity of the origin is not stored, since no force depends on it (Galilean invariance).  With Ω = [ω̇×] + [ω×][ω×] the
point at r has the acceleration p̈ + Ω r.

`FrameMotion` is the motion of a frame relative to another.  Let C move relative to B, and B relative to A.  Capital
letters are quantities relative to B in the axes of A (P = R p', V = R v', and so on).  The motion of C relative to A
follows from p + P and R R' by differentiating twice:

    v + V + ω × P,      v̇ + V̇ + 2 ω × V + ω × (ω × P) + ω̇ × P,      ω + W,      ω̇ + Ẇ + ω × W

The factor 2 (Coriolis) has two sources: one ω × V is from the rate of R in R v', and one from the rate of P in ω × P.

Sources: Luh, Walker and Paul, On-line computational scheme for mechanical manipulators, ASME J. DSMC 102, 1980 (the
recursion); Legnani et al., A homogeneous matrix approach to 3D kinematics and dynamics, Mech. Mach. Theory 31, 1996
(the wrench as the antisymmetric part of acceleration times mass distribution); M. Toussaint, Robot Kinematics and
Dynamics Essentials, 2024, footnote 2, which has ω × V once and omits V̇ and Ẇ; Kane and Levinson, Dynamics, 1985,
section 2.8.

`MovingInertia` is the inertia of moving masses about a point, and its rate, for Coriolis matrices and momentum rates.
The masses are at r from a point O and move with ṙ relative to it.  Ten elements are the inertia of the masses; twelve
more describe its rate: ḣ = ∫ρ ṙ and P = ∫ρ ṙ rᵀ.  A joint that carries all masses moves the mass at r with J = s_v +
s_ω × r per unit of its velocity.  So the integrals

    ∫ρ J,    ∫ρ r × J    (momentum),     ∫ρ J̇,    ∫ρ r × J̇,    ∫ρ ṙ × J    (its change)

follow from these elements, without the velocity of O itself.

Sources: Legnani et al., A homogeneous matrix approach to 3D kinematics and dynamics, Mech. Mach. Theory 31, 1996 (P, as
the upper part of a 4 × 4 matrix); Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and
Christoffel symbols for rigid-body systems, ASME J. Comput. Nonlinear Dynam. 16, 2021 (composites of such inertias).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.spatial.inertia import Inertia
from linkwork.spatial.pose import Pose
from linkwork.spatial.vectors import Force, Matrix3, Motion, Symmetric3, Vec3

__all__ = ["FrameMotion", "JointMomentum", "MovingInertia", "RigidMotion"]


@dataclass(frozen=True, slots=True)
class RigidMotion:
    """Motion of a body with accelerations: ω, ω̇ and the acceleration p̈ of its origin, in the body's axes.

    ``angular_velocity`` is ω, ``angular_acceleration`` ω̇, and ``omega`` the matrix Ω = [ω̇×] + [ω×][ω×].
    """

    angular_velocity: Vec3
    angular_acceleration: Vec3
    acceleration: Vec3
    omega: Matrix3  # Ω = [ω̇×] + [ω×][ω×]

    @staticmethod
    def of(w: Vec3, w_dot: Vec3, acceleration: Vec3) -> RigidMotion:
        """Create from ``w`` [rad/s], ``w_dot`` [rad/s²] and the origin's acceleration [m/s²], in the body's axes."""
        xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
        xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
        omega = Matrix3(
            Vec3(-(yy + zz), xy - w_dot.z, xz + w_dot.y),
            Vec3(xy + w_dot.z, -(xx + zz), yz - w_dot.x),
            Vec3(xz - w_dot.y, yz + w_dot.x, -(xx + yy)),
        )
        return RigidMotion(w, w_dot, acceleration, omega)

    @staticmethod
    def spinning(w: Vec3) -> RigidMotion:
        """Return the motion of a body that rotates about its origin with the constant angular velocity w."""
        return RigidMotion.of(w, Vec3.zero(), Vec3.zero())

    @staticmethod
    def of_fixed_base(gravity: Vec3) -> RigidMotion:
        """Return the motion that represents a body at rest under gravity: the acceleration −gravity.

        The wrench that causes this motion supports the body's weight, so algorithms need no gravity term.
        """
        return RigidMotion.of(Vec3.zero(), Vec3.zero(), -gravity)

    @property
    def spatial_rate(self) -> Motion:
        """Motion vector (ω̇; p̈)."""
        return Motion(self.angular_acceleration, self.acceleration)

    def through(self, X: Pose, V_J: Motion, A_J: Motion) -> RigidMotion:
        """Return the motion of a frame that moves relative to this body; X is the frame's pose in the body.

        The frame's twist V_J = (ω_J; v_J) and spatial acceleration A_J = (ω̇_J; v̇_J), which is S·a + bias for a
        joint, are relative to the body, in the moving frame's coordinates. With X = (R, p) and Ω = [ω̇×] + [ω×][ω×]:
        ω' = Rᵀω + ω_J; ω̇' = Rᵀω̇ + ω̇_J + Rᵀω × ω_J; p̈' = Rᵀ(p̈ + Ω p) + v̇_J + ω_J × v_J + 2 Rᵀω × v_J.
        """
        R, p = X.rotation, X.translation
        w = R.inv_act(self.angular_velocity)
        w_J, v_J = V_J.angular, V_J.linear
        return RigidMotion.of(
            w + w_J,
            R.inv_act(self.angular_acceleration) + A_J.angular + w.cross(w_J),
            R.inv_act(self.acceleration + self.omega @ p) + A_J.linear + (w_J + w * 2.0).cross(v_J),
        )

    def before(self, X: Pose, V_J: Motion, A_J: Motion) -> RigidMotion:
        """Return the motion of a body A, given this motion of a frame that moves relative to A.

        The frame is at X in A and moves relative to A with the twist V_J and the spatial acceleration A_J.  This is
        the inverse of `through`.
        """
        R, p = X.rotation, X.translation
        w_J, v_J = V_J.angular, V_J.linear
        w = self.angular_velocity - w_J
        rotating = RigidMotion.of(R @ w, R @ (self.angular_acceleration - A_J.angular - w.cross(w_J)), Vec3.zero())
        linear = R @ (self.acceleration - A_J.linear - (w_J + w * 2.0).cross(v_J))
        return replace(rotating, acceleration=linear - rotating.omega @ p)

    def wrench(self, inertia: Inertia) -> Force:
        """Return the wrench (n; f) on a body with this motion: f = m p̈ + Ω h, n = h × p̈ + n_Σ.

        The body's ``inertia`` has the mass m and the first moment of mass h. p̈ is the acceleration of the origin and Ω
        = [ω̇×] + [ω×][ω×]. n_Σ is the axial vector of the antisymmetric part of Ω Σ, with the second moments of mass Σ
        = ½ tr(J) 1 − J. The moment equals J ω̇ + ω × J ω + h × p̈ (Euler).
        """
        m, h, J, W = inertia.mass, inertia.moment, inertia.about, self.omega
        a = self.acceleration
        xx, yy, zz = second_moments(J)
        n = Vec3(
            yy * W.z.y - zz * W.y.z + J.xz * W.y.x - J.xy * W.z.x + J.yz * (W.y.y - W.z.z),
            zz * W.x.z - xx * W.z.x + J.xy * W.z.y - J.yz * W.x.y + J.xz * (W.z.z - W.x.x),
            xx * W.y.x - yy * W.x.y + J.yz * W.x.z - J.xz * W.y.z + J.xy * (W.x.x - W.y.y),
        )
        return Force(n + h.cross(a), a * m + W @ h)


def second_moments(J: Any) -> tuple[Any, Any, Any]:
    """Return the second moments of mass ∫x² dm, ∫y² dm, ∫z² dm [kg m²] of a rotational inertia J."""
    return 0.5 * (J.yy + J.zz - J.xx), 0.5 * (J.xx + J.zz - J.yy), 0.5 * (J.xx + J.yy - J.zz)


@dataclass(frozen=True, slots=True)
class FrameMotion:
    """Motion of a frame B relative to a frame A: pose X_AB, twist and acceleration, in the axes of A.

    Linear parts are velocity and (classical) acceleration of B's origin.  Motions compose: ``A_C = A_B @ B_C``.
    """

    pose: Pose
    twist: Motion  # (ω; v)
    acceleration: Motion  # (ω̇; v̇)

    @staticmethod
    def at_rest(pose: Pose) -> FrameMotion:
        """Return the motion of a frame B that is fixed to A at this pose: twist and acceleration are zero."""
        return FrameMotion(pose, Motion.zero(), Motion.zero())

    def __matmul__(self, other: FrameMotion) -> FrameMotion:
        R, w, w_dot = self.pose.rotation, self.twist.angular, self.acceleration.angular
        P = R @ other.pose.translation
        W, V = R @ other.twist.angular, R @ other.twist.linear
        W_dot, V_dot = R @ other.acceleration.angular, R @ other.acceleration.linear
        linear = V_dot + w.cross(V) * 2.0 + w.cross(w.cross(P)) + w_dot.cross(P)
        return FrameMotion(
            self.pose @ other.pose,
            self.twist + Motion(W, V + w.cross(P)),
            self.acceleration + Motion(W_dot + w.cross(W), linear),
        )

    def inv(self) -> FrameMotion:
        """Return the motion of A relative to B, in the axes of B: ``A_B @ A_B.inv()`` is at rest."""
        R, p, w, w_dot = self.pose.rotation, self.pose.translation, self.twist.angular, self.acceleration.angular
        V = w.cross(p) - self.twist.linear
        V_dot = w_dot.cross(p) - self.acceleration.linear - w.cross(V) * 2.0 + w.cross(w.cross(p))
        return FrameMotion(
            self.pose.inv().formed(),
            Motion(-R.inv_act(w), R.inv_act(V)),
            Motion(-R.inv_act(w_dot), R.inv_act(V_dot)),
        )


@dataclass(frozen=True, slots=True)
class JointMomentum:
    """Momentum of the masses that a joint carries, per unit of the joint's velocity, and the momentum's rate.

    J is the velocity of the mass at r from the frame's origin, per unit of the joint's velocity.
    """

    momentum: Force  # (∫ρ r × J; ∫ρ J)
    column_rate: Force  # (∫ρ r × J̇; ∫ρ J̇)
    coriolis: Vec3  # ∫ρ ṙ × J

    @property
    def rate(self) -> Force:
        """Rate of the momentum (moment; force) per unit of the joint's velocity: (∫ρ (r × J̇ + ṙ × J); ∫ρ J̇).

        J is the velocity of the mass at r, per unit of the joint's velocity, and ρ the density.
        """
        return Force(self.column_rate.moment + self.coriolis, self.column_rate.force)

    def transformed(self, X: Pose, velocity: Vec3) -> JointMomentum:
        """Return the same momentum and its rate about another frame's origin, in that frame's axes.

        X is the pose of this frame in the other frame.  ``velocity`` is the velocity of this frame's origin, in the
        other frame's axes [m/s].
        """
        momentum: Force = X @ self.momentum
        return JointMomentum(
            momentum, X @ self.column_rate, X.rotation @ self.coriolis + velocity.cross(momentum.force)
        )


@dataclass(frozen=True, slots=True)
class MovingInertia:
    """Inertia of moving masses about a frame's origin, and integrals that give its rate.

    The integrals are ḣ = ∫ρ ṙ [kg m/s] and P = ∫ρ ṙ rᵀ [kg m²/s], in the frame's axes.  r is the position of a mass
    relative to the origin, and ṙ its rate relative to axes that do not rotate.
    """

    inertia: Inertia
    moment_rate: Vec3
    second_moment_rate: Matrix3

    @staticmethod
    def of(inertia: Inertia, w: Vec3) -> MovingInertia:
        """Return the moving inertia of a rigid body that rotates with the angular velocity w = ω about the origin.

        The rate of the first moment of mass h is ḣ = ω × h. With J the inertia about the origin, P = [ω×] Σ, Σ = ½
        tr(J) 1 − J.
        """
        return MovingInertia(inertia, w.cross(inertia.moment), Matrix3.cross(w) @ _second_moments_matrix(inertia))

    @staticmethod
    def with_twist(inertia: Inertia, V: Motion) -> MovingInertia:
        """Return the moving inertia of a rigid body with twist V: ḣ = m v + ω × h, P = v hᵀ + [ω×] Σ."""
        rotating, v = MovingInertia.of(inertia, V.angular), V.linear
        rate = rotating.moment_rate + v * inertia.mass
        return MovingInertia(inertia, rate, rotating.second_moment_rate + _outer(v, inertia.moment))

    def __add__(self, other: MovingInertia) -> MovingInertia:
        return MovingInertia(
            self.inertia + other.inertia,
            self.moment_rate + other.moment_rate,
            self.second_moment_rate + other.second_moment_rate,
        )

    def transformed(self, X: Pose, velocity: Vec3) -> MovingInertia:
        """Return the inertia of the same masses about another frame's origin, in that frame's axes.

        X, with the translation p, is the pose of this frame in the other frame.  ``velocity`` ṗ is the velocity of this
        frame's origin, in the other frame's axes: ∫ρ (ṙ + ṗ)(r + p)ᵀ = P + ḣ pᵀ + ṗ (h + m p)ᵀ.
        """
        inertia: Inertia = X @ self.inertia
        rate = X.rotation @ self.moment_rate
        second_moment_rate = (
            X.rotation.congruent(self.second_moment_rate)
            + _outer(rate, X.translation)
            + _outer(velocity, inertia.moment)
        )
        return MovingInertia(inertia, rate + velocity * inertia.mass, second_moment_rate)

    def joint_momentum(self, S: Motion, S_dot: Motion) -> JointMomentum:
        """Return the momentum of all masses per unit velocity of a joint that carries them, and its rate.

        S is the column of the joint and Ṡ its rate, relative to axes that do not rotate.  The mass at r has the
        velocity J = s_v + s_ω × r per unit of the joint's velocity, and J̇ = ṡ_v + ṡ_ω × r + s_ω × ṙ, ∫ρ r × (s × ṙ) =
        N s, ∫ρ ṙ × (s × r) = Nᵀ s with N = tr(P) 1 − P.
        """
        return JointMomentum(
            self.inertia @ S, self.inertia @ S_dot + self.coriolis(S.angular), self.coriolis_transpose(S)
        )

    def coriolis(self, s: Vec3) -> Force:
        """Return half the Coriolis wrench for an angular velocity s: (∫ρ r × (s × ṙ); ∫ρ s × ṙ).

        ρ is the density, r the position of a mass from the frame's origin, and ṙ its rate.
        """
        return Force(self._N @ s, -self.moment_rate.cross(s))

    def coriolis_transpose(self, S: Motion) -> Vec3:
        """Return ∫ρ ṙ × (s_v + s_ω × r) for a joint column S = (s_ω; s_v), the transpose of the map `coriolis`.

        ρ is the density, r the position of a mass and ṙ its rate. With C(S) for the result, s · C(S) = S · coriolis(s)
        for every angular velocity s.
        """
        return self.moment_rate.cross(S.linear) + self._N.T @ S.angular

    @property
    def _N(self) -> Matrix3:
        """Matrix N = tr(P) 1 − P with P = ∫ρ ṙ rᵀ, so that N s = ∫ρ r × (s × ṙ) for every vector s."""
        P = self.second_moment_rate
        return Matrix3(
            Vec3(P.y.y + P.z.z, -P.x.y, -P.x.z),
            Vec3(-P.y.x, P.x.x + P.z.z, -P.y.z),
            Vec3(-P.z.x, -P.z.y, P.x.x + P.y.y),
        )


def _second_moments_matrix(inertia: Inertia) -> Symmetric3:
    """Return the matrix of second moments of mass, Σ = ∫ρ r rᵀ = ½ tr(J) 1 − J."""
    J, (xx, yy, zz) = inertia.about, second_moments(inertia.about)
    return Symmetric3(xx, -J.xy, -J.xz, yy, -J.yz, zz)


def _outer(a: Vec3, b: Vec3) -> Matrix3:
    """Return a bᵀ."""
    return Matrix3(b * a.x, b * a.y, b * a.z)
