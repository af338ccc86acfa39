"""A point and anything else.

A point is what spheres are without their radius.  Where the point is the nearest point itself there is no normal: one
is given, and `unique` is 0.
"""

from __future__ import annotations

from typing import Any

from ...expr.functions import fmax, fmin, lt, sqrt, where
from ...spatial import Vec3
from ..cores import PointCore, SegmentCore
from ..distance import SignedDistance

__all__ = ["point_point", "point_segment", "towards"]

_NOTHING = 1e-300  # squares of lengths below it are zero [m²]


def point_point(a: PointCore, b: PointCore) -> SignedDistance:
    """‖b − a‖."""
    return towards(a.point, b.point)


def point_segment(a: PointCore, b: SegmentCore) -> SignedDistance:
    """To the point center + s half, s in [−1, 1], that is nearest."""
    square = b.half.dot(b.half)
    known = lt(_NOTHING, square)
    s = (a.point - b.center).dot(b.half) / where(known, square, 1.0)
    return towards(a.point, b.center + b.half * fmin(fmax(s, -1.0), 1.0))


def towards(a: Vec3, b: Vec3) -> SignedDistance:
    """From one point to another: along z where they are one."""
    between = b - a
    square = between.dot(between)
    known = lt(_NOTHING, square)
    length = sqrt(where(known, square, 1.0))
    scale = 1.0 / length
    normal = Vec3(*(where(known, x * scale, still) for x, still in zip(between, (0.0, 0.0, 1.0), strict=True)))
    unique: Any = where(known, 1.0, 0.0)
    return SignedDistance(where(known, length, 0.0), normal, a, b, unique)
