"""Unit quaternions, modified Rodrigues parameters, exponential and logarithm of rotations and poses.

All are smooth at the identity and accurate up to half a revolution.  Quotients such as sin(θ)/θ are evaluated as power
series for small θ.  Both branches of each selection are finite, so derivatives are finite too.

Sources: Sola, Deray and Atchuthan, A micro Lie theory for state estimation in robotics, 2018, appendices B and D;
Schaub and Junkins, Analytical Mechanics of Space Systems, 4th ed., AIAA 2018, section 3.6 (modified Rodrigues
parameters).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.expr.scalar.functions import atan2, cos, sin, sqrt, where
from linkwork.spatial.rotation import Rotation
from linkwork.spatial.vectors import Vec3

__all__ = ["MRP", "Quaternion", "translation_of_twist", "twist_of_translation"]


@dataclass(frozen=True, slots=True)
class Quaternion:
    """Unit quaternion w + x i + y j + z k: cos(θ/2) and sin(θ/2) times the axis."""

    w: Any
    x: Any
    y: Any
    z: Any

    @property
    def vector(self) -> Vec3:
        """Vector part (x, y, z)."""
        return Vec3(self.x, self.y, self.z)

    def elements(self) -> tuple[Any, ...]:
        """Return the four elements w, x, y, z."""
        return (self.w, self.x, self.y, self.z)

    def conjugate(self) -> Quaternion:
        """Return the inverse rotation: (w, −x, −y, −z)."""
        return Quaternion(self.w, -self.x, -self.y, -self.z)

    def rotation(self) -> Rotation:
        """Return the rotation of this unit quaternion."""
        return Rotation.from_quaternion(self.w, self.x, self.y, self.z)

    @staticmethod
    def of(R: Rotation) -> Quaternion:
        """Return one of the two unit quaternions of a rotation matrix R.

        Of four formulas for the elements, the one with a large divisor is used.

        Source: Shepperd, Quaternion from rotation matrix, J. Guidance and Control 1 (3), 1978; the choice by signs is
        Day's, Converting a rotation matrix to a quaternion, 2015.
        """
        (a, b, c), (d, e, g), (h, i, j) = R.x, R.y, R.z
        z_negative, x_larger, w_small = j < 0.0, a > e, a < -e
        wx, wy, wz, xy, xz, yz = i - g, c - h, d - b, d + b, c + h, i + g

        def select(by_x: Any, by_y: Any, by_z: Any, by_w: Any) -> Any:
            return where(z_negative, where(x_larger, by_x, by_y), where(w_small, by_z, by_w))

        square = select(
            1.0 + a - e - j, 1.0 - a + e - j, 1.0 - a - e + j, 1.0 + a + e + j
        )  # four times the largest square
        scale = 0.5 / sqrt(square)
        return Quaternion(
            select(wx, wy, wz, square) * scale,
            select(square, xy, xz, wx) * scale,
            select(xy, square, yz, wy) * scale,
            select(xz, yz, square, wz) * scale,
        )

    def __matmul__(self, o: Quaternion) -> Quaternion:
        """Return the product, which is the rotation by ``o`` followed by the rotation by this quaternion."""
        a, b, c, d = self.elements()
        w, x, y, z = o.elements()
        return Quaternion(
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        )

    def normalized(self) -> Quaternion:
        """Return this quaternion divided by its length."""
        scale = 1.0 / sqrt(self.w * self.w + self.vector.dot(self.vector))
        return Quaternion(self.w * scale, self.x * scale, self.y * scale, self.z * scale)

    @staticmethod
    def exp(phi: Vec3) -> Quaternion:
        """Return the rotation by the rotation vector ``phi`` [rad]: the angle |phi| about its direction."""
        half = phi.dot(phi) * 0.25  # (θ/2)²
        s = 0.5 * _sinc(half)
        return Quaternion(_cos_of_square(half), phi.x * s, phi.y * s, phi.z * s)

    def log(self) -> Vec3:
        """Return the rotation vector φ with exp(φ) = ±self and |φ| ≤ π."""
        flip = where(self.w < 0.0, -1.0, 1.0)  # q and −q are the same rotation: w ≥ 0 has the smaller angle
        w, u = self.w * flip, self.vector * flip
        s2 = u.dot(u)
        small = s2 < 1e-4
        s = sqrt(where(small, 1.0, s2))
        t = s2 / where(small, w * w, 1.0)  # tan²(θ/2)
        series = 2.0 / where(small, w, 1.0) * _horner(t, [(-1.0) ** k / (2 * k + 1) for k in range(6)])
        scale = where(small, series, 2.0 * atan2(s, w) / s)
        return Vec3(u.x * scale, u.y * scale, u.z * scale)


def translation_of_twist(phi: Vec3, v: Vec3) -> Vec3:
    """Return V(φ) v, the translation of the origin by the constant twist (φ; v) in unit time.

    V = 1 + B [φ×] + C [φ×]², B = (1 − cos θ)/θ², C = (θ − sin θ)/θ³.
    """
    t = phi.dot(phi)
    half = _sinc(0.25 * t)
    small = t < 1.0
    theta = sqrt(where(small, 1.0, t))
    series = _horner(t, [(-1.0) ** k / math.factorial(2 * k + 3) for k in range(9)])
    C = where(small, series, (theta - sin(theta)) / where(small, 1.0, t * theta))
    cross = phi.cross(v)
    translation: Vec3 = v + cross * (0.5 * half * half) + phi.cross(cross) * C
    return translation


def twist_of_translation(phi: Vec3, p: Vec3) -> Vec3:
    """Return V(φ)⁻¹ p, the linear part of the twist (φ; v) that moves the origin to p in unit time.

    V⁻¹ = 1 − ½ [φ×] + D [φ×]², D = (1 − (θ/2) cot(θ/2))/θ².
    """
    t = phi.dot(phi)
    small = t < 1.0
    half = 0.5 * sqrt(where(small, 1.0, t))
    cotangent = _cos_of_square(half * half) / sin(half)
    D = where(small, _horner(t, _cotangent_series()), (1.0 - half * cotangent) / where(small, 1.0, t))
    cross = phi.cross(p)
    v: Vec3 = p - cross * 0.5 + phi.cross(cross) * D
    return v


def _sinc(square: Any) -> Any:
    """Return sin(x)/x as a function of ``square`` = x², smooth at 0."""
    small = square < 1e-2
    x = sqrt(where(small, 1.0, square))
    return where(small, _horner(square, [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(7)]), sin(x) / x)


def _cos_of_square(square: Any) -> Any:
    """Return cos(x) as a function of ``square`` = x²."""
    small = square < 1e-2
    x = sqrt(where(small, 1.0, square))
    series = _horner(square, [(-1.0) ** k / math.factorial(2 * k) for k in range(7)])
    return where(small, series, cos(x))


def _horner(x: Any, coefficients: list[float]) -> Any:
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def _bernoulli(n: int) -> list[float]:
    """Return the Bernoulli numbers B₀ … Bₙ (recurrence of Akiyama and Tanigawa, in exact arithmetic)."""
    from fractions import Fraction

    bernoulli_numbers, row = [], []
    for m in range(n + 1):
        row.append(Fraction(1, m + 1))
        for j in range(m, 0, -1):
            row[j - 1] = j * (row[j - 1] - row[j])
        bernoulli_numbers.append(float(row[0]))
    return bernoulli_numbers


@cache
def _cotangent_series() -> list[float]:
    """Return the coefficients of (1 − (θ/2) cot(θ/2))/θ² = Σ |B₂ₖ|/(2k)! θ²ᵏ⁻², k = 1, 2, ..."""
    return [abs(b) / math.factorial(2 * k) for k, b in enumerate(_bernoulli(24)[2::2], start=1)]


@dataclass(frozen=True, slots=True)
class MRP:
    """Modified Rodrigues parameters σ (``sigma``) of a rotation: tan(θ/4) times the axis, with the angle θ.

    They are a unit quaternion's vector part divided by 1 + w.  σ and its shadow −σ/|σ|² represent the same rotation.
    For angles of at most half a revolution |σ| ≤ 1; σ is infinite for a full revolution.
    """

    sigma: Vec3

    @staticmethod
    def of(epsilon: Quaternion) -> MRP:
        """Return the parameters with |σ| ≤ 1 of a unit quaternion ``epsilon``."""
        flip = where(epsilon.w < 0.0, -1.0, 1.0)
        return MRP(epsilon.vector * (flip / (1.0 + epsilon.w * flip)))

    def quaternion(self) -> Quaternion:
        """Return the unit quaternion (1 − σ², 2σ)/(1 + σ²)."""
        square = self.sigma.dot(self.sigma)
        scale = 1.0 / (1.0 + square)
        return Quaternion((1.0 - square) * scale, *(self.sigma * (2.0 * scale)))

    def rotation(self) -> Rotation:
        """Return the rotation with these parameters."""
        return self.quaternion().rotation()

    def short(self) -> MRP:
        """Return the parameters σ if |σ| ≤ 1, else their shadow −σ/|σ|², which represents the same rotation."""
        square = self.sigma.dot(self.sigma)
        outside = square > 1.0
        return MRP(self.sigma * where(outside, -1.0 / where(outside, square, 1.0), 1.0))

    def rate(self, w: Vec3) -> Vec3:
        """Return σ̇ = ¼ ((1 − σ²) ω + 2 σ × ω + 2 σ (σ·ω)), with ω (``w``) in the rotated frame (3.150)."""
        s = self.sigma
        rate: Vec3 = w * (0.25 * (1.0 - s.dot(s))) + (s.cross(w) + s * s.dot(w)) * 0.5
        return rate

    def velocity(self, rate: Vec3) -> Vec3:
        """Return ω = 4/(1 + σ²)² ((1 − σ²) σ̇ − 2 σ × σ̇ + 2 σ (σ·σ̇)), the inverse of ``rate`` (3.152)."""
        s = self.sigma
        square = s.dot(s)
        scale: Any = 1.0 + square
        w: Vec3 = (rate * (1.0 - square) + (s * s.dot(rate) - s.cross(rate)) * 2.0) * (4.0 / (scale * scale))
        return w
