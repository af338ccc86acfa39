"""Angles as pairs of cosine and sine, and the equation that closed forms are made of, over any scalar.

The two solutions of

    a cos θ + b sin θ = c

are the direction of (a, b) turned by ±acos(c/ρ), ρ² = a² + b²: with w = √((ρ − c)(ρ + c)), which cancels no digits
where they meet,

    (cos θ, sin θ) = (a c ∓ b w, b c ± a w) / ρ².

Where there is none, c is replaced by the nearest ±ρ: both are then the angle of the least error, which is what rounding
asks for at the boundary, and the error that is left tells the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import atan2, cos, fmax, fmin, lt, sin, sqrt, where

__all__ = ["SAME", "AnglePair", "UnitAngle", "equation"]

SAME = 1e-6  # angles nearer than this are one [rad]
TINY = 1e-280  # squares below it are zero


class UnitAngle(NamedTuple):
    """An angle by its cosine and sine."""

    cos: Any
    sin: Any

    @staticmethod
    def of(angle: Any) -> UnitAngle:
        """From the angle [rad]."""
        return UnitAngle(cos(angle), sin(angle))

    @staticmethod
    def along(x: Any, y: Any) -> UnitAngle:
        """That of the vector (x, y); 0 where it has no length."""
        square = x * x + y * y
        known = lt(TINY, square)
        scale = 1.0 / sqrt(where(known, square, 1.0))
        return UnitAngle(where(known, x * scale, 1.0), y * scale)

    def angle(self) -> Any:
        """In [−π, π] [rad], also where the pair is not quite of unit length."""
        return atan2(self.sin, self.cos)

    def plus(self, other: UnitAngle) -> UnitAngle:
        """The sum of two angles."""
        return UnitAngle(self.cos * other.cos - self.sin * other.sin, self.sin * other.cos + self.cos * other.sin)

    def minus(self, other: UnitAngle) -> UnitAngle:
        """The difference of two angles."""
        return UnitAngle(self.cos * other.cos + self.sin * other.sin, self.sin * other.cos - self.cos * other.sin)

    def opposite(self) -> UnitAngle:
        """The negative angle."""
        return UnitAngle(self.cos, -self.sin)

    def turned(self, x: Any, y: Any) -> tuple[Any, Any]:
        """The vector (x, y), turned by the angle."""
        return self.cos * x - self.sin * y, self.sin * x + self.cos * y

    def turned_back(self, x: Any, y: Any) -> tuple[Any, Any]:
        """The vector (x, y), turned by the negative angle."""
        return self.cos * x + self.sin * y, self.cos * y - self.sin * x


class AnglePair(NamedTuple):
    """Two angles, whether they differ, and what is left of their equation: 0 where it has solutions."""

    first: UnitAngle
    second: UnitAngle
    differ: Any
    error: Any


def equation(a: Any, b: Any, c: Any) -> AnglePair:
    """The angles of a cos θ + b sin θ = c; where a = b = 0, θ = 0 twice."""
    square = a * a + b * b
    rho = sqrt(square)
    known = lt(TINY, square)
    inverse = 1.0 / where(known, square, 1.0)
    nearest = fmin(fmax(c, -rho), rho)
    w = sqrt((rho - nearest) * (rho + nearest))
    ac, bc, aw, bw = a * nearest, b * nearest, a * w, b * w
    return AnglePair(
        UnitAngle(where(known, (ac - bw) * inverse, 1.0), (bc + aw) * inverse),
        UnitAngle(where(known, (ac + bw) * inverse, 1.0), (bc - aw) * inverse),
        lt(0.5 * SAME * rho, w),
        c - nearest,
    )
