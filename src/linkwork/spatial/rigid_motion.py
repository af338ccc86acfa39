"""The state of motion of a rigid body up to accelerations, over any scalar, and the Newton-Euler equations in it.

A body's points move by its angular velocity ω, its angular acceleration ω̇ and the acceleration p̈ of its origin; the
velocity of the origin itself enters no force (Galileo), so it is not carried along.  With Ω = [ω̇×] + [ω×][ω×] the
point at r accelerates by p̈ + Ω r.

Sources: Luh, Walker and Paul, On-line computational scheme for mechanical manipulators, ASME J. DSMC 102, 1980
(the recursion); Legnani et al., A homogeneous matrix approach to 3D kinematics and dynamics, Mech. Mach. Theory 31,
1996 (the wrench as the antisymmetric part of acceleration times mass distribution).

The motion of a frame relative to another, up to accelerations, and how such motions chain, over any scalar.

C moves relative to B, and B relative to A.  With capital letters for what B sees, turned to A's axes (P = R p',
V = R v', and so on), the motion of C relative to A follows from p + P and R R' by differentiating twice:

    v + V + ω × P,      v̇ + V̇ + 2 ω × V + ω × (ω × P) + ω̇ × P,      ω + W,      ω̇ + Ẇ + ω × W

The factor is 2 (Coriolis): one ω × V is the rate of R in R v', and one that of P in ω × P.

Sources: M. Toussaint, Robot Kinematics and Dynamics Essentials, 2024, footnote 2, which has ω × V once and leaves out
V̇ and Ẇ; Kane and Levinson, Dynamics, 1985, section 2.8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from linkwork.spatial.inertia import Inertia
from linkwork.spatial.matrix3 import Matrix3
from linkwork.spatial.motion_and_force import Force, Motion
from linkwork.spatial.pose import Pose
from linkwork.spatial.vec3 import Vec3

__all__ = ["FrameMotion", "RigidMotion"]


@dataclass(frozen=True, slots=True)
class RigidMotion:
    """Angular velocity ω, angular acceleration ω̇ and the origin's acceleration p̈, in the body's own axes."""

    angular_velocity: Vec3
    angular_acceleration: Vec3
    acceleration: Vec3
    omega: Matrix3  # Ω = [ω̇×] + [ω×][ω×]

    @staticmethod
    def of(w: Vec3, w_dot: Vec3, acceleration: Vec3) -> RigidMotion:
        """From ω [rad/s], ω̇ [rad/s²] and the origin's acceleration [m/s²], in the body's axes."""
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
        """Turning steadily about the origin."""
        return RigidMotion.of(w, Vec3.zero(), Vec3.zero())

    @staticmethod
    def held_against(gravity: Vec3) -> RigidMotion:
        """At rest in a field of gravity: the same as accelerating the other way without one."""
        return RigidMotion.of(Vec3.zero(), Vec3.zero(), -gravity)

    @property
    def spatial_rate(self) -> Motion:
        """(ω̇; p̈)."""
        return Motion(self.angular_acceleration, self.acceleration)

    def through(self, X: Pose, V_J: Motion, A_J: Motion) -> RigidMotion:
        """The motion of a frame at X that moves relative to this body with twist V_J and acceleration A_J.

        V_J and A_J (spatial: S·a + bias) are in the moving frame's coordinates.
        ω' = Rᵀω + ω_J;  ω̇' = Rᵀω̇ + ω̇_J + Rᵀω × ω_J;  p̈' = Rᵀ(p̈ + Ω p) + v̇_J + ω_J × v_J + 2 Rᵀω × v_J.
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
        """The motion of the body that this frame, at X in it, moves on by V_J and A_J: `through` the other way."""
        R, p = X.rotation, X.translation
        w_J, v_J = V_J.angular, V_J.linear
        w = self.angular_velocity - w_J
        turning = RigidMotion.of(R @ w, R @ (self.angular_acceleration - A_J.angular - w.cross(w_J)), Vec3.zero())
        linear = R @ (self.acceleration - A_J.linear - (w_J + w * 2.0).cross(v_J))
        return replace(turning, acceleration=linear - turning.omega @ p)

    def wrench(self, inertia: Inertia) -> Force:
        """The wrench that moves a body so: f = m p̈ + Ω h, n = h × p̈ + (Ω Σ's antisymmetric part).

        Σ = ½ tr(J) 1 − J is the body's second moment of mass.  The same as J ω̇ + ω × J ω + h × p̈ (Euler).
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
    """∫x², ∫y², ∫z² of a body's mass, from its rotational inertia."""
    return 0.5 * (J.yy + J.zz - J.xx), 0.5 * (J.xx + J.zz - J.yy), 0.5 * (J.xx + J.yy - J.zz)


@dataclass(frozen=True, slots=True)
class FrameMotion:
    """X_AB, with twist and acceleration of the frame B as an observer fixed in A sees them, in the axes of A.

    Linear parts are velocity and (classical) acceleration of B's origin.  ``A_C = A_B @ B_C``.
    """

    pose: Pose
    twist: Motion  # (ω; v)
    acceleration: Motion  # (ω̇; v̇)

    @staticmethod
    def at_rest(pose: Pose) -> FrameMotion:
        """That of a frame that is fixed to the other."""
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
        """That of A as an observer fixed in B sees it, in the axes of B: ``A_B @ A_B.inv()`` is at rest."""
        R, p, w, w_dot = self.pose.rotation, self.pose.translation, self.twist.angular, self.acceleration.angular
        V = w.cross(p) - self.twist.linear
        V_dot = w_dot.cross(p) - self.acceleration.linear - w.cross(V) * 2.0 + w.cross(w.cross(p))
        return FrameMotion(
            self.pose.inv().formed(),
            Motion(-R.inv_act(w), R.inv_act(V)),
            Motion(-R.inv_act(w_dot), R.inv_act(V_dot)),
        )
