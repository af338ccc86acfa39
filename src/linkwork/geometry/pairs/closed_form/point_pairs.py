"""A point and a point, a segment, or a box: what spheres are without their radius.

Where the point is the nearest point itself there is no normal from one to the other: one is given that parts them, and
where there are several, `unique` is 0.
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.scalar.functions import copysign, fabs, fmax, fmin, le, lt, where
from linkwork.geometry.cores import BoxCore, PointCore, SegmentCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.unit_vectors import NOTHING, across, choose, clamp, length_and_scale
from linkwork.spatial import Vec3

__all__ = ["point_box", "point_point", "point_segment", "towards"]

_ROUNDED = 1e-31  # squares of lengths below it, relative to those of the core, are rounding
_TIE = 1e-14  # lengths that differ by less, relative to the core, are as good


def point_point(a: PointCore, b: PointCore) -> SignedDistance:
    """‖b − a‖."""
    return towards(a.point, b.point, 0.0, Vec3(0.0, 0.0, 1.0))


def point_segment(a: PointCore, b: SegmentCore) -> SignedDistance:
    """To the point center + s half, s in [−1, 1], that is nearest; across the segment, if the point is on it."""
    square = b.half.dot(b.half)
    s = (a.point - b.center).dot(b.half) / where(lt(NOTHING, square), square, 1.0)
    return towards(a.point, b.center + b.half * clamp(s, 1.0), _ROUNDED * square, across(b.half))


def point_box(a: PointCore, b: BoxCore) -> SignedDistance:
    """To the box's point nearest to it, or, from inside, to the nearest face."""
    r, h = b.pose.inv().point(a.point), b.half
    inner = Vec3(*(clamp(x, most) for x, most in zip(r, h, strict=True)))
    out = r - inner
    square = out.dot(out)
    outside = lt(NOTHING, square)
    length, scale = length_and_scale(square, outside)
    gaps = [most - fabs(x) for x, most in zip(r, h, strict=True)]
    gap = fmin(fmin(gaps[0], gaps[1]), gaps[2])
    first = le(gaps[0], gap)
    second = le(gaps[1], gaps[2])
    sides = [copysign(1.0, x) for x in r]
    face = choose(first, Vec3(sides[0], 0.0, 0.0), choose(second, Vec3(0.0, sides[1], 0.0), Vec3(0.0, 0.0, sides[2])))
    normal = choose(outside, out * -scale, -face)
    distance = where(outside, length, -gap)
    # from inside: of six faces, only one is as near
    tie = gap + _TIE * (h.x + h.y + h.z)
    as_near: Any = 0.0
    for x, most, here in zip(r, h, gaps, strict=True):
        as_near = as_near + where(le(here, tie), 1.0, 0.0) + where(le(most + fabs(x), tie), 1.0, 0.0)
    unique = where(outside, 1.0, where(lt(as_near, 1.5), 1.0, 0.0))
    n = b.pose.rotation @ normal
    return SignedDistance(distance, n, a.point, a.point + n * distance, unique)


def towards(a: Vec3, b: Vec3, rounded: Any, otherwise: Vec3) -> SignedDistance:
    """From one point to another.

    Where the square of the distance is rounding, as the caller says it, along a vector of any length that it gives.
    """
    between = b - a
    square = between.dot(between)
    known = lt(fmax(rounded, NOTHING), square)
    along = choose(known, between, otherwise)
    length, scale = length_and_scale(along.dot(along), True)
    return SignedDistance(where(known, length, 0.0), along * scale, a, b, where(known, 1.0, 0.0))
