"""Unit vectors and lengths of vectors that may be zero, over any scalar."""

from __future__ import annotations

from typing import Any

from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import fabs, fmax, fmin, lt, sqrt, where
from linkwork.spatial import Vec3

__all__ = [
    "FAR",
    "SHORT",
    "TINY",
    "across",
    "choose",
    "clamp",
    "length",
    "length_and_scale",
    "radial",
    "rounding",
    "unit",
]

FAR = by_type(1e150)  # [m] beyond all lengths
SHORT = by_type(1e-150)  # [m] lengths below it count as zero
TINY = by_type(1e-300)  # [m²] squared lengths below it count as zero


def clamp(x: Any, most: Any) -> Any:
    """Clamp x to [−most, most]."""
    return fmin(fmax(x, -most), most)


def choose(condition: Any, a: Vec3, b: Vec3) -> Vec3:
    """Return the vector a where the condition is true, else b."""
    return Vec3(*(where(condition, x, y) for x, y in zip(a, b, strict=True)))


def across(v: Vec3) -> Vec3:
    """Return a vector orthogonal to v and at least half as long; the unit vector z for a zero vector."""
    wide = lt(fabs(v.z), fabs(v.x))
    result = choose(wide, Vec3(-v.y, v.x, 0.0), Vec3(0.0, -v.z, v.y))
    return choose(lt(TINY, result.dot(result)), result, Vec3(0.0, 0.0, 1.0))


def rounding(n: Vec3) -> Any:
    """Return a relative tolerance for rounding errors, estimated from the error of a computed unit vector's length.

    It may be 0.  Adding it adapts a tolerance for double precision to rounding in single precision.
    """
    return 16.0 * fabs(n.dot(n) - 1.0)


def unit(v: Vec3) -> Vec3:
    """Return v divided by its length, or zero for a zero vector."""
    square = v.dot(v)
    known = lt(TINY, square)
    result: Vec3 = v * (where(known, 1.0, 0.0) / sqrt(where(known, square, 1.0)))
    return result


def length(v: Vec3) -> Any:
    """Return |v|; 0 if its square is below `TINY`, so that the derivative is finite."""
    square = v.dot(v)
    known = lt(TINY, square)
    return where(known, sqrt(where(known, square, 1.0)), 0.0)


def length_and_scale(square: Any, known: Any) -> tuple[Any, Any]:
    """Return √square and its inverse where ``known``; 0 and 1 elsewhere."""
    length = sqrt(where(known, square, 1.0))
    return where(known, length, 0.0), 1.0 / length


def radial(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return (x, y, length): the direction of a plane vector, of length 1, and the vector's length.

    The direction is (1, 0) for a zero vector.
    """
    square = x * x + y * y
    known = lt(TINY, square)
    length, scale = length_and_scale(square, known)
    return where(known, x * scale, 1.0), where(known, y * scale, 0.0), length
