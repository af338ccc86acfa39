"""Two segments: what capsules are without their radius.

The nearest points center + s half and center' + t half' minimise a convex quadratic function of (s, t) over a square:
in its inside, or on one of its edges.  With n = u × w, the lines come nearest at s = n · (r × w)/n², where rounding is
divided by the sine of their angle, and not by its square: between segments that are almost parallel, that changes the
distance by no more than rounding.  Segments that cross are parted across both.

Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.9.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, le, lt, not_, sqrt, where
from linkwork.geometry.cores import SegmentCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.unit_vectors import NOTHING, across, choose, clamp
from linkwork.spatial import Vec3

__all__ = ["NearestOfSegments", "nearest_of_segments", "segment_segment"]

_PARALLEL = 1e-26  # sin² of the angle below which segments are taken to be parallel
_ROUNDED = 1e-31  # squares of lengths below it, relative to those of the segments, are rounding


class NearestOfSegments(NamedTuple):
    """At which s and t they are nearest, the way from one to the other there, and whether both are between the ends."""

    s: Any
    t: Any
    between: Vec3
    inside: Any


def nearest_of_segments(a: SegmentCore, b: SegmentCore) -> NearestOfSegments:
    """Of two segments, either of which may be a point."""
    u, w, r = a.half, b.half, b.center - a.center
    uu, ww, uw, ur, wr = u.dot(u), w.dot(w), u.dot(w), u.dot(r), w.dot(r)
    n = u.cross(w)
    nn = n.dot(n)
    crossing = lt(fmax(1e-32 * (uu * ww), NOTHING), nn)
    s = where(crossing, n.dot(r.cross(w)) / where(crossing, nn, 1.0), 0.0)
    t = (uw * clamp(s, 1.0) - wr) / where(lt(NOTHING, ww), ww, 1.0)
    inside = and_(crossing, and_(le(fabs(s), 1.0), le(fabs(t), 1.0)))
    t = clamp(t, 1.0)
    s = clamp((uw * t + ur) / where(lt(NOTHING, uu), uu, 1.0), 1.0)
    return NearestOfSegments(s, t, r + w * t - u * s, inside)


def segment_segment(a: SegmentCore, b: SegmentCore) -> SignedDistance:
    """Of two segments, either of which may be a point."""
    s, t, between, inside = nearest_of_segments(a, b)
    u, w = a.half, b.half
    uu, ww, n = u.dot(u), w.dot(w), u.cross(w)
    uw, ur, nn = u.dot(w), u.dot(b.center - a.center), n.dot(n)
    product, size = uu * ww, uu + ww
    square = between.dot(between)
    # the normal: n is known to rounding/sin(angle), the way between to rounding/distance
    some = lt(fmax(_ROUNDED * size, NOTHING), square)
    skew = lt(_PARALLEL * product, nn)
    along = choose(skew, n * copysign(1.0, n.dot(between)), across(choose(lt(ww, uu), u, w)))
    close = and_(inside, lt(square * product, nn * size))
    along = choose(and_(some, not_(close)), between, along)
    normal = along * (1.0 / sqrt(along.dot(along)))
    flush = and_(and_(not_(skew), lt(NOTHING, product)), lt(fabs(ur), (1.0 - 1e-12) * (uu + fabs(uw))))
    unique = where(and_(some, not_(flush)), 1.0, 0.0)
    return SignedDistance(between.dot(normal), normal, a.center + u * s, b.center + w * t, unique)
