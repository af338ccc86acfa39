"""Bodies that move together and relative to each other: their inertia about a point, and how it moves.

Where the masses are at r from a point O and move by ṙ relative to it, ten numbers are their inertia, and twelve more
say how it changes: ḣ = ∫ρ ṙ and P = ∫ρ ṙ rᵀ.  A joint that carries all of them moves the mass at r by J = s_v + s_ω × r
for each unit of its velocity, so

    ∫ρ J,    ∫ρ r × J    (momentum),     ∫ρ J̇,    ∫ρ r × J̇,    ∫ρ ṙ × J    (how it changes)

follow from these numbers, without the velocity of O itself.

Sources: Legnani et al., A homogeneous matrix approach to 3D kinematics and dynamics, Mech. Mach. Theory 31, 1996
(P, as the upper part of a 4 × 4 matrix); Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and
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

__all__ = ["Carried", "MovingInertia"]


@dataclass(frozen=True, slots=True)
class Carried:
    """What a joint's unit velocity does to the masses that it carries, with r from the origin of its frame."""

    momentum: Force  # (∫ρ r × J; ∫ρ J)
    moved: Force  # (∫ρ r × J̇; ∫ρ J̇)
    swept: Vec3  # ∫ρ ṙ × J

    @property
    def rate(self) -> Force:
        """How the momentum changes: (∫ρ (r × J̇ + ṙ × J); ∫ρ J̇)."""
        return Force(self.moved.moment + self.swept, self.moved.force)

    def seen(self, X: Pose, velocity: Vec3) -> Carried:
        """The same, with r from another frame's origin: this one is at X there, and its origin moves so fast."""
        momentum: Force = X @ self.momentum
        return Carried(momentum, X @ self.moved, X.rotation @ self.swept + velocity.cross(momentum.force))


@dataclass(frozen=True, slots=True)
class MovingInertia:
    """The inertia of masses about a frame's origin, ḣ = ∫ρ ṙ [kg m/s] and P = ∫ρ ṙ rᵀ [kg m²/s] in the frame's axes.

    r and ṙ are relative to the origin; the axes of the frame turn, and ṙ is what is seen from axes that do not.
    """

    inertia: Inertia
    moment_rate: Vec3
    spread: Matrix3

    @staticmethod
    def of(inertia: Inertia, w: Vec3) -> MovingInertia:
        """A rigid body that turns with ω about the origin: ḣ = ω × h, P = [ω×] Σ with Σ = ½ tr(J) 1 − J."""
        return MovingInertia(inertia, w.cross(inertia.moment), Matrix3.cross(w) @ _distribution(inertia))

    @staticmethod
    def moving(inertia: Inertia, V: Motion) -> MovingInertia:
        """A rigid body of twist V: ḣ = m v + ω × h, P = v hᵀ + [ω×] Σ."""
        turning, v = MovingInertia.of(inertia, V.angular), V.linear
        rate = turning.moment_rate + v * inertia.mass
        return MovingInertia(inertia, rate, turning.spread + _outer(v, inertia.moment))

    def __add__(self, other: MovingInertia) -> MovingInertia:
        return MovingInertia(
            self.inertia + other.inertia, self.moment_rate + other.moment_rate, self.spread + other.spread
        )

    def seen(self, X: Pose, velocity: Vec3) -> MovingInertia:
        """The same masses about the origin of a frame in which this one is at X and its origin moves by ``velocity``.

        With p and ṗ for both: ∫ρ (ṙ + ṗ)(r + p)ᵀ = P + ḣ pᵀ + ṗ (h + m p)ᵀ.
        """
        inertia: Inertia = X @ self.inertia
        rate = X.rotation @ self.moment_rate
        spread = X.rotation.congruent(self.spread) + _outer(rate, X.translation) + _outer(velocity, inertia.moment)
        return MovingInertia(inertia, rate + velocity * inertia.mass, spread)

    def carried(self, S: Motion, S_dot: Motion) -> Carried:
        """What a joint's column S does that carries all of the masses, and changes by Ṡ in axes that do not turn.

        J̇ = ṡ_v + ṡ_ω × r + s_ω × ṙ, and ∫ρ r × (s × ṙ) = N s, ∫ρ ṙ × (s × r) = Nᵀ s with N = tr(P) 1 − P.
        """
        return Carried(self.inertia @ S, self.inertia @ S_dot + self.turned(S.angular), self.swept(S))

    def turned(self, s: Vec3) -> Force:
        """(∫ρ r × (s × ṙ); ∫ρ s × ṙ)."""
        return Force(self._turning @ s, -self.moment_rate.cross(s))

    def swept(self, S: Motion) -> Vec3:
        """∫ρ ṙ × J, the transpose of `turned`: s · swept(S) = S · turned(s)."""
        return self.moment_rate.cross(S.linear) + self._turning.T @ S.angular

    @property
    def _turning(self) -> Matrix3:
        """N = tr(P) 1 − P."""
        P = self.spread
        return Matrix3(
            Vec3(P.y.y + P.z.z, -P.x.y, -P.x.z),
            Vec3(-P.y.x, P.x.x + P.z.z, -P.y.z),
            Vec3(-P.z.x, -P.z.y, P.x.x + P.y.y),
        )


def _distribution(inertia: Inertia) -> Symmetric3:
    """Σ = ½ tr(J) 1 − J."""
    J, (xx, yy, zz) = inertia.about, second_moments(inertia.about)
    return Symmetric3(xx, -J.xy, -J.xz, yy, -J.yz, zz)


def _outer(a: Vec3, b: Vec3) -> Matrix3:
    """a bᵀ."""
    return Matrix3(b * a.x, b * a.y, b * a.z)
