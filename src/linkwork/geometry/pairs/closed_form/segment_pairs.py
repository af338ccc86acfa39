"""Two segments: what capsules are without their radius.

The nearest points center + s half and center' + t half' minimise a convex quadratic function of (s, t) over a square:
in its inside, or on one of its edges.  With n = u × w, the lines come nearest at s = n · (r × w)/n², where rounding is
divided by the sine of their angle, and not by its square: between segments that are almost parallel, that changes the
distance by no more than rounding.  Segments that cross are parted across both.

Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.9.

A segment and a box: what capsules and boxes, also rounded ones, need.

Half the square of the distance from the box to the segment's point center + s half, f(s), is convex, and its derivative
f'(s) = Σ_i u_i e_i(s) is continuous and linear between the values of s at which the segment passes a face's plane, e
being what sticks out of the box.  So f' is asked there and at the ends, and its root follows by one interpolation.

Where both overlap, the facets of their Minkowski difference, whose normals are the box's axes and what is across the
segment and an edge, say how to part them; then the same search, with the segment moved out that way, gives the points.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import (
    and_,
    copysign,
    fabs,
    fmax,
    fmin,
    le,
    lt,
    not_,
    or_,
    sqrt,
    where,
)
from linkwork.geometry.cores import BoxCore, SegmentCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.unit_vectors import NOTHING, across, choose, clamp, length_and_scale
from linkwork.spatial import Vec3

__all__ = ["NearestOfSegments", "nearest_of_segments", "nearest_to_box", "segment_box", "segment_segment"]


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


_PARALLEL_SEGMENT_BOX = 1e-26  # sin² of angles below it are rounding
_TIE = 1e-12  # squares of lengths, relative, that differ by less are as good


def segment_box(a: SegmentCore, b: BoxCore) -> SignedDistance:
    """Of a segment, which may be a point, and a box."""
    c, u, h = b.pose.inv().point(a.center), b.pose.rotation.inv_act(a.half), b.half
    depth, facet, overlap, tie = _parting(c, u, h)
    size = h.x + h.y + h.z + fabs(u.x) + fabs(u.y) + fabs(u.z)
    start = c + facet * where(overlap, size - depth, 0.0)
    s = nearest_to_box(start, u, h)
    out = Vec3(*(x - clamp(x, most) for x, most in zip(start + u * s, h, strict=True)))
    square = out.dot(out)
    known = and_(not_(overlap), lt(NOTHING, square))
    length, scale = length_and_scale(square, known)
    distance = where(overlap, depth, length)
    n = b.pose.rotation @ choose(known, out * -scale, -facet)
    across: Any = 0.0
    for x, v in zip(out, u, strict=True):
        across = across + where(lt(0.0, fabs(x)), v * v, 0.0)
    uu = u.dot(u)
    flat = and_(le(across, _PARALLEL_SEGMENT_BOX * uu), lt(NOTHING, uu))
    on_a = a.center + a.half * s
    return SignedDistance(distance, n, on_a, on_a + n * distance, where(or_(flat, and_(overlap, tie)), 0.0, 1.0))


def _parting(c: Vec3, u: Vec3, h: Vec3) -> tuple[Any, Vec3, Any, Any]:
    """Of the facets' normals n, that along which the gap is largest: (gap, n, overlap, tie).

    n points out of the box; without an overlap, the gap is above zero; a tie is of several facets.
    """
    axes = [
        (Vec3(1.0, 0.0, 0.0), c.x, h.x + fabs(u.x), 1.0),
        (Vec3(0.0, 1.0, 0.0), c.y, h.y + fabs(u.y), 1.0),
        (Vec3(0.0, 0.0, 1.0), c.z, h.z + fabs(u.z), 1.0),
        _edge(Vec3(0.0, u.z, -u.y), c, h),
        _edge(Vec3(-u.z, 0.0, u.x), c, h),
        _edge(Vec3(u.y, -u.x, 0.0), c, h),
    ]
    # gaps g and g' along axes of squares s and s' compare as g |g| s' and g' |g'| s
    gaps = [fabs(way) - reach for _, way, reach, _ in axes]
    keys = [gap * fabs(gap) for gap in gaps]
    normal, way, _, square = axes[0]
    gap, key = gaps[0], keys[0]
    for (n, along, _, nn), here, k in zip(axes[1:], gaps[1:], keys[1:], strict=True):
        more = and_(lt(key * nn, k * square), lt(NOTHING, nn))
        normal = choose(more, n, normal)
        numbers = zip((along, here, k, nn), (way, gap, key, square), strict=True)
        way, gap, key, square = (where(more, new, old) for new, old in numbers)
    bound = (1.0 + _TIE) * key
    count: Any = 0.0
    for (_, _, _, nn), k in zip(axes, keys, strict=True):
        count = count + where(lt(bound * nn, k * square), 1.0, 0.0)
    scale = 1.0 / sqrt(square)
    middle = le(fabs(way), _TIE * fabs(gap))
    return gap * scale, normal * copysign(scale, way), le(gap, 0.0), or_(lt(1.5, count), middle)


def _edge(n: Vec3, c: Vec3, h: Vec3) -> tuple[Vec3, Any, Any, Any]:
    """What is across the segment and an edge: (n, way from the middle, reach of both along it, square of n)."""
    return n, n.dot(c), fabs(n.x) * h.x + fabs(n.y) * h.y + fabs(n.z) * h.z, n.dot(n)


def nearest_to_box(c: Vec3, u: Vec3, h: Vec3) -> Any:
    """The s in [−1, 1] at which c + s u is nearest to the box; in the middle, where a range of them is."""
    low, high = -1.0, 1.0
    slope_low, slope_high = (_slope(s, c, u, h, None) for s in (low, high))
    slope_low, slope_high = fmin(slope_low, 0.0), fmax(slope_high, 0.0)
    for i, (x, v, most) in enumerate(zip(c, u, h, strict=True)):
        inverse = 1.0 / where(lt(1e-30, fabs(v)), v, 1.0)
        for side in (-most, most):
            s = (side - x) * inverse
            slope = _slope(s, c, u, h, i)
            below, above = and_(le(slope, 0.0), lt(low, s)), and_(le(0.0, slope), lt(s, high))
            low, slope_low = where(below, s, low), where(below, slope, slope_low)
            high, slope_high = where(above, s, high), where(above, slope, slope_high)
    rise = slope_high - slope_low
    steep = lt(0.0, rise)
    root = low - slope_low * ((high - low) / where(steep, rise, 1.0))
    return clamp(where(steep, root, 0.5 * (low + high)), 1.0)


def _slope(s: Any, c: Vec3, u: Vec3, h: Vec3, plane: int | None) -> Any:
    """f'(s); at s, the segment is in the plane of a face of that axis."""
    total: Any = 0.0
    for i, (x, v, most) in enumerate(zip(c, u, h, strict=True)):
        if i != plane:
            at = x + v * s
            total = total + v * (at - clamp(at, most))
    return total
