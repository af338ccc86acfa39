"""Inertia of moving masses about a point and its rate, for Coriolis matrices and momentum rates.

The masses are at r from a point O and move with ṙ relative to it.  Ten elements are their inertia; twelve more describe
its change: ḣ = ∫ρ ṙ and P = ∫ρ ṙ rᵀ.  A joint that carries all masses moves the mass at r with J = s_v + s_ω × r per
unit of its velocity.  So the integrals

    ∫ρ J,    ∫ρ r × J    (momentum),     ∫ρ J̇,    ∫ρ r × J̇,    ∫ρ ṙ × J    (its change)

follow from these elements, without the velocity of O itself.

Sources: Legnani et al., A homogeneous matrix approach to 3D kinematics and dynamics, Mech. Mach. Theory 31, 1996 (P, as
the upper part of a 4 × 4 matrix); Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and
Christoffel symbols for rigid-body systems, ASME J. Comput. Nonlinear Dynam. 16, 2021 (composites of such inertias).
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.spatial.inertia import Inertia
from linkwork.spatial.matrix3 import Matrix3, Symmetric3
from linkwork.spatial.motion_and_force import Force, Motion
from linkwork.spatial.pose import Pose
from linkwork.spatial.rigid_motion import second_moments
from linkwork.spatial.vec3 import Vec3

__all__ = ["JointMomentum", "MovingInertia"]


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

        X is the pose of this frame in the other one, and ``velocity`` that of its origin, in the other's axes [m/s].
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

        X, with the translation p, is the pose of this frame in the other one, and ``velocity`` = ṗ that of its origin,
        in the other's axes: ∫ρ (ṙ + ṗ)(r + p)ᵀ = P + ḣ pᵀ + ṗ (h + m p)ᵀ.
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
        """Return half the Coriolis force of an angular velocity s: (∫ρ r × (s × ṙ); ∫ρ s × ṙ)."""
        return Force(self._N @ s, -self.moment_rate.cross(s))

    def coriolis_transpose(self, S: Motion) -> Vec3:
        """Return ∫ρ ṙ × J for a joint column S, the transpose of the map `coriolis`.

        With C(S) for the result, s · C(S) = S · coriolis(s) for every angular velocity s.
        """
        return self.moment_rate.cross(S.linear) + self._N.T @ S.angular

    @property
    def _N(self) -> Matrix3:
        """Matrix N = tr(P) 1 − P, with N s = ∫ρ r × (s × ṙ)."""
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
