"""Modified Rodrigues parameters: three numbers for a rotation, over any scalar.

Source: Schaub and Junkins, Analytical Mechanics of Space Systems, 4th ed., AIAA 2018, section 3.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.expr.scalar.functions import where
from linkwork.spatial.quaternion import Quaternion
from linkwork.spatial.rotation import Rotation
from linkwork.spatial.vec3 import Vec3

__all__ = ["MRP"]


@dataclass(frozen=True, slots=True)
class MRP:
    """σ = tan(θ/4) times the axis: the unit quaternion's vector, divided by 1 + w.

    σ and its shadow −σ/|σ|² are the same rotation.  The short way round has |σ| ≤ 1; a whole turn lies at infinity.
    """

    sigma: Vec3

    @staticmethod
    def of(epsilon: Quaternion) -> MRP:
        """Those of the short way round, |σ| ≤ 1, of a unit quaternion."""
        flip = where(epsilon.w < 0.0, -1.0, 1.0)
        return MRP(epsilon.vector * (flip / (1.0 + epsilon.w * flip)))

    def quaternion(self) -> Quaternion:
        """(1 − σ², 2σ)/(1 + σ²)."""
        square = self.sigma.dot(self.sigma)
        scale = 1.0 / (1.0 + square)
        return Quaternion((1.0 - square) * scale, *(self.sigma * (2.0 * scale)))

    def rotation(self) -> Rotation:
        """The rotation with these parameters."""
        return self.quaternion().rotation()

    def short(self) -> MRP:
        """The one of σ and its shadow with |σ| ≤ 1."""
        square = self.sigma.dot(self.sigma)
        outside = square > 1.0
        return MRP(self.sigma * where(outside, -1.0 / where(outside, square, 1.0), 1.0))

    def rate(self, w: Vec3) -> Vec3:
        """σ̇ = ¼ ((1 − σ²) ω + 2 σ × ω + 2 σ (σ·ω)), ω in the turned frame's coordinates (3.150)."""
        s = self.sigma
        rate: Vec3 = w * (0.25 * (1.0 - s.dot(s))) + (s.cross(w) + s * s.dot(w)) * 0.5
        return rate

    def velocity(self, rate: Vec3) -> Vec3:
        """ω = 4/(1 + σ²)² ((1 − σ²) σ̇ − 2 σ × σ̇ + 2 σ (σ·σ̇)): the inverse of ``rate`` (3.152)."""
        s = self.sigma
        square = s.dot(s)
        scale: Any = 1.0 + square
        w: Vec3 = (rate * (1.0 - square) + (s * s.dot(rate) - s.cross(rate)) * 2.0) * (4.0 / (scale * scale))
        return w
