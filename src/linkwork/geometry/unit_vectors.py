"""Directions: of vectors that may have no length, and across others."""

from __future__ import annotations

from typing import Any

from linkwork.expr.scalar.functions import fabs, fmax, fmin, lt, sqrt, where
from linkwork.spatial import Vec3

__all__ = ["NOTHING", "across", "choose", "clamp", "length", "length_and_scale", "radial", "rounding", "unit"]

NOTHING = 1e-300  # squares of lengths below it are zero [m²]


def clamp(x: Any, most: Any) -> Any:
    """The number in [−most, most] that is nearest to x."""
    return fmin(fmax(x, -most), most)


def choose(condition: Any, a: Vec3, b: Vec3) -> Vec3:
    """One of two vectors."""
    return Vec3(*(where(condition, x, y) for x, y in zip(a, b, strict=True)))


def across(v: Vec3) -> Vec3:
    """A vector across another one and at least 0.5 as long; z, of length 1, where the other has none."""
    wide = lt(fabs(v.z), fabs(v.x))
    result = choose(wide, Vec3(-v.y, v.x, 0.0), Vec3(0.0, -v.z, v.y))
    return choose(lt(NOTHING, result.dot(result)), result, Vec3(0.0, 0.0, 1.0))


def rounding(n: Vec3) -> Any:
    """A multiple of the relative rounding error, from how far the length of a computed direction is off 1.

    It may be 0.  So a tolerance that is made for double precision is not beneath rounding in single precision.
    """
    return 16.0 * fabs(n.dot(n) - 1.0)


def unit(v: Vec3) -> Vec3:
    """A vector of length 1, or zero where there is none."""
    square = v.dot(v)
    known = lt(NOTHING, square)
    result: Vec3 = v * (where(known, 1.0, 0.0) / sqrt(where(known, square, 1.0)))
    return result


def length(v: Vec3) -> Any:
    """Of a vector; 0 where its square is `NOTHING`, so that it has a derivative."""
    square = v.dot(v)
    known = lt(NOTHING, square)
    return where(known, sqrt(where(known, square, 1.0)), 0.0)


def length_and_scale(square: Any, known: Any) -> tuple[Any, Any]:
    """√square and its inverse where it is known that there is one; 0 and 1 elsewhere."""
    length = sqrt(where(known, square, 1.0))
    return where(known, length, 0.0), 1.0 / length


def radial(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """The direction of (x, y), (1, 0) where it has none, and its length."""
    square = x * x + y * y
    known = lt(NOTHING, square)
    length, scale = length_and_scale(square, known)
    return where(known, x * scale, 1.0), where(known, y * scale, 0.0), length
