"""The motion of a frame relative to another, up to accelerations, and how such motions chain, over any scalar.

C moves relative to B, and B relative to A.  With capital letters for what B sees, turned to A's axes (P = R p',
V = R v', and so on), the motion of C relative to A follows from p + P and R R' by differentiating twice:

    v + V + ω × P,      v̇ + V̇ + 2 ω × V + ω × (ω × P) + ω̇ × P,      ω + W,      ω̇ + Ẇ + ω × W

The factor is 2 (Coriolis): one ω × V is the rate of R in R v', and one that of P in ω × P.

Sources: M. Toussaint, Robot Kinematics and Dynamics Essentials, 2024, footnote 2, which has ω × V once and leaves out
V̇ and Ẇ; Kane and Levinson, Dynamics, 1985, section 2.8.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.spatial.motion_and_force import Motion
from linkwork.spatial.pose import Pose

__all__ = ["FrameMotion"]


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
