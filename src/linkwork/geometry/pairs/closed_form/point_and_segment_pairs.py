"""Distances of a point or a segment from other cores, in closed form: spheres and capsules without their radius.

Points.  If a point is in a segment or on a box's surface, the witness points coincide and their difference gives no
normal; a separating normal is chosen, and `unique` is 0 where there are several.  A half-space meets a bounded body at
the body's support point along −n.  Cylinders and cones are polygons in the half-plane through the point and the axis,
with coordinates ρ, the distance from the axis, and z, along it.

A point and an ellipsoid, Σ (x_i/r_i)² = 1: the nearest point is x_i = r_i² p_i/(t + r_i²), and the signed distance is
t ‖p_i/(t + r_i²)‖, where t > −min r² solves

    S(t) = Σ (r_i p_i/(t + r_i²))² = 1.

1/√S is concave and almost linear, so Halley's method on it converges in three or four steps from where one of the
terms alone is 1, which is left of the root.  With the variable τ = t + min r² nothing cancels.  For a point inside, on
a plane of symmetry, τ vanishes as its coordinate does; a negligible lower bound keeps it positive.

Two segments: the nearest points center + s half and center' + t half' minimise a convex quadratic function of (s, t)
over a square: in its interior, or on one of its edges.  With n = u × w, the lines are nearest at s = n · (r × w)/n²,
where rounding errors are divided by the sine of their angle, and not by its square: for segments that are almost
parallel, that changes the distance by no more than rounding.  The normal of crossing segments is orthogonal to both.

A segment and a box: half the squared distance of the box and the segment's point center + s half, f(s), is convex,
and its derivative f'(s) = Σ_i u_i e_i(s), where e is the offset from the box, is continuous and linear between the
values of s at which the segment passes a face's plane.  So f' is evaluated there and at the ends, and its root follows
by one interpolation.  If both overlap, the normal is one of the facets' normals of their Minkowski difference: the
box's axes and the cross products of the segment and an edge.  Then the same search gives the witness points after
moving the segment out along the normal.

Sources: Ericson, Real-Time Collision Detection, 2005, section 5.1.9; Eberly, Distance from a Point to an Ellipse, an
Ellipsoid, or a Hyperellipsoid, 2013 (the equation and its initial value); Moré, Sorensen, Computing a Trust Region
Step, 1983 (1/√S in the place of S); Gander, On Halley's Iteration Method, 1985.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.control import cond, while_loop
from linkwork.expr.scalar.float_limits import by_type
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
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    Core,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    SegmentCore,
    SignedDistance,
)
from linkwork.geometry.pairs.closed_form.touching_normals import (
    AXES,
    almost_touch,
    box_edges,
    normal_of_largest_gap,
    normal_of_touching,
)
from linkwork.geometry.support_points import support, support_is_one
from linkwork.geometry.unit_vectors import TINY, across, choose, clamp, length_and_scale, radial
from linkwork.spatial import Pose, Vec3

__all__ = [
    "NearestOfSegments",
    "half_space_convex",
    "nearest_of_segments",
    "nearest_to_box",
    "point_box",
    "point_cone",
    "point_cylinder",
    "point_ellipsoid",
    "point_point",
    "point_segment",
    "segment_box",
    "segment_segment",
    "towards",
]


_PARALLEL = by_type(1e-26)  # sin² of the angle below which segments are parallel
_ROUNDED = by_type(1e-31)  # squares of lengths, relative to those of the segments, below which they are rounding errors
_ROUNDED_SQUARE = by_type(1e-32)  # sin² of angles that are rounding errors


class NearestOfSegments(NamedTuple):
    """Nearest points of two segments center + s half: their parameters s and t, and the vector between them.

    ``inside`` is True if the nearest points of the two lines are inside both segments.
    """

    s: Any
    t: Any
    between: Vec3
    inside: Any


def nearest_of_segments(a: SegmentCore, b: SegmentCore) -> NearestOfSegments:
    """Return the nearest points of two segments, either of which may be a point."""
    u, w, r = a.half, b.half, b.center - a.center
    uu, ww, uw, ur, wr = u.dot(u), w.dot(w), u.dot(w), u.dot(r), w.dot(r)
    n = u.cross(w)
    nn = n.dot(n)
    crossing = lt(fmax(_ROUNDED_SQUARE * (uu * ww), TINY), nn)
    s = where(crossing, n.dot(r.cross(w)) / where(crossing, nn, 1.0), 0.0)
    t = (uw * clamp(s, 1.0) - wr) / where(lt(TINY, ww), ww, 1.0)
    inside = and_(crossing, and_(le(fabs(s), 1.0), le(fabs(t), 1.0)))
    t = clamp(t, 1.0)
    s = clamp((uw * t + ur) / where(lt(TINY, uu), uu, 1.0), 1.0)
    return NearestOfSegments(s, t, r + w * t - u * s, inside)


def segment_segment(a: SegmentCore, b: SegmentCore) -> SignedDistance:
    """Compute the signed distance of two segments, either of which may be a point."""
    s, t, between, _ = nearest_of_segments(a, b)
    u, w, r = a.half, b.half, b.center - a.center
    uu, ww, n = u.dot(u), w.dot(w), u.cross(w)
    uw, ur, product = u.dot(w), u.dot(r), uu * ww
    skew = lt(_PARALLEL * product, n.dot(n))
    flush = and_(and_(not_(skew), lt(TINY, product)), lt(fabs(ur), (uu + fabs(uw)) - _TIE * (uu + fabs(uw))))
    size, square = uu + ww + r.dot(r), between.dot(between)
    known = lt(fmax(_ROUNDED * (size + a.center.dot(a.center)), TINY), square)

    def touching() -> Vec3:
        longer = choose(lt(ww, uu), u, w)
        both = longer.cross(n.cross(longer))  # orthogonal to both to rounding, also if they are almost parallel
        otherwise = choose(skew, both * copysign(1.0, both.dot(between)), across(longer))
        return choose(known, normal_of_touching(between, ((u, s), (w, -t)), size, otherwise), otherwise)

    along = cond(almost_touch(square, size), touching, lambda: between)
    scale = 1.0 / sqrt(along.dot(along))
    unique = where(and_(known, not_(flush)), 1.0, 0.0)
    return SignedDistance(sqrt(square), along * scale, a.center + u * s, b.center + w * t, unique)


_PARALLEL_SEGMENT_BOX = by_type(1e-26)  # sin² of angles below which they are rounding errors
_TIE = by_type(1e-12)  # relative difference of squares of lengths that counts as a tie
_ROUNDED_GAP = by_type(1e-15)  # difference of gaps, relative to the size, that counts as a rounding error


def segment_box(a: SegmentCore, b: BoxCore) -> SignedDistance:
    """Compute the signed distance of a segment, which may be a point, and a box."""
    c, u, h = b.pose.inv().point(a.center), b.pose.rotation.inv_act(a.half), b.half
    size = h.x + h.y + h.z + fabs(u.x) + fabs(u.y) + fabs(u.z)
    depth, facet, overlap, tie = _largest_gap(c, u, h, _ROUNDED_GAP * size)
    start = c + facet * where(overlap, size - depth, 0.0)
    s = nearest_to_box(start, u, h)
    out = Vec3(*(x - clamp(x, most) for x, most in zip(start + u * s, h, strict=True)))
    square = out.dot(out)
    known = and_(not_(overlap), lt(TINY, square))
    length, scale = length_and_scale(square, known)
    distance = where(overlap, depth, length)

    def touching() -> Vec3:
        edges = [*box_edges(AXES, h, start + u * s - out), (u, -s)]
        return normal_of_largest_gap(out, edges, size * size, facet, depth, c)

    close = and_(known, almost_touch(square, size * size))
    n = b.pose.rotation @ -cond(close, touching, lambda: choose(known, out * scale, facet))
    across: Any = 0.0
    for x, v in zip(out, u, strict=True):
        across = across + where(lt(0.0, fabs(x)), v * v, 0.0)
    uu = u.dot(u)
    flat = and_(le(across, _PARALLEL_SEGMENT_BOX * uu), lt(TINY, uu))
    on_a = a.center + a.half * s
    return SignedDistance(distance, n, on_a, on_a + n * distance, where(or_(flat, tie), 0.0, 1.0))


def _largest_gap(c: Vec3, u: Vec3, h: Vec3, rounding: Any) -> tuple[Any, Vec3, Any, Any]:
    """Return (gap, n, overlap, tie): the largest gap of a segment and a box along the normals of the facets.

    The facets are those of the Minkowski difference. n has length 1 and points out of the box. ``overlap`` is True if
    the gap is at most 0. ``tie`` is True if bodies that are at most ``rounding`` apart have several such facets.
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
    gaps = [fabs(offset) - reach for _, offset, reach, _ in axes]
    keys = [gap * fabs(gap) for gap in gaps]
    normal, offset, _, square = axes[0]
    gap, key = gaps[0], keys[0]
    for (n, along, _, nn), axis_gap, k in zip(axes[1:], gaps[1:], keys[1:], strict=True):
        more = and_(lt(key * nn, k * square), lt(TINY, nn))
        normal = choose(more, n, normal)
        values = zip((along, axis_gap, k, nn), (offset, gap, key, square), strict=True)
        offset, gap, key, square = (where(more, new, old) for new, old in values)
    level = (rounding * rounding) * square
    bound = fmin(key + _TIE * key, -level)
    count: Any = 0.0
    for (_, _, _, nn), k in zip(axes, keys, strict=True):
        count = count + where(lt(bound * nn, k * square), 1.0, 0.0)
    scale = 1.0 / sqrt(square)
    middle = le(fabs(offset), _TIE * fabs(gap))
    tie = and_(lt(key, level), or_(lt(1.5, count), middle))
    return gap * scale, normal * copysign(scale, offset), le(gap, 0.0), tie


def _edge(n: Vec3, c: Vec3, h: Vec3) -> tuple[Vec3, Any, Any, Any]:
    """Return (n, n · c, extent, n · n) for a direction n orthogonal to the segment and an edge of the box.

    The extent is half the box's width along n, times the length of n.
    """
    return n, n.dot(c), fabs(n.x) * h.x + fabs(n.y) * h.y + fabs(n.z) * h.z, n.dot(n)


def nearest_to_box(c: Vec3, u: Vec3, h: Vec3) -> Any:
    """Return the s in [−1, 1] for which c + s u is nearest to the box with half sizes h about the origin.

    If all s of an interval are nearest, it is the interval's middle.
    """
    low, high = -1.0, 1.0
    slope_low, slope_high = (_slope(s, c, u, h, None) for s in (low, high))
    slope_low, slope_high = fmin(slope_low, 0.0), fmax(slope_high, 0.0)
    for i, (x, v, most) in enumerate(zip(c, u, h, strict=True)):
        inverse = 1.0 / where(lt(_TINY, fabs(v)), v, 1.0)
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
    """Return f'(s): the derivative of half the squared distance from a box to the point c + s u.

    ``plane`` is the index of an axis if the point is in the plane of a face orthogonal to it, else None.
    """
    total: Any = 0.0
    for i, (x, v, most) in enumerate(zip(c, u, h, strict=True)):
        if i != plane:
            at = x + v * s
            total = total + v * (at - clamp(at, most))
    return total


_TIE_POINT = by_type(1e-14)  # difference of lengths, relative to the core, that counts as a tie


def point_point(a: PointCore, b: PointCore) -> SignedDistance:
    """Compute the signed distance of two points, ‖b − a‖."""
    return towards(a.point, b.point, b.point - a.point, 0.0, Vec3(0.0, 0.0, 1.0))


def point_segment(a: PointCore, b: SegmentCore) -> SignedDistance:
    """Compute the signed distance of a point and a segment; n is orthogonal to the segment if the point is on it."""
    u, r = b.half, b.center - a.point
    square = u.dot(u)
    inverse = 1.0 / where(lt(TINY, square), square, 1.0)
    s = -r.dot(u) * inverse
    inner = clamp(s, 1.0)
    # the component across the segment is orthogonal to it to rounding, also if the point is almost on it
    between = choose(lt(TINY, square), u.cross(r.cross(u)) * inverse + u * (inner - s), r)
    rounded = _ROUNDED * (square + a.point.dot(a.point))
    return towards(a.point, b.center + u * inner, between, rounded, across(u))


def point_box(a: PointCore, b: BoxCore) -> SignedDistance:
    """Compute the signed distance of a point and a box: from its nearest point, or, inside, its nearest face."""
    r, h = b.pose.inv().point(a.point), b.half
    inner = Vec3(*(clamp(x, most) for x, most in zip(r, h, strict=True)))
    out = r - inner
    square = out.dot(out)
    outside = lt(TINY, square)
    length, scale = length_and_scale(square, outside)
    gaps = [most - fabs(x) for x, most in zip(r, h, strict=True)]
    gap = fmin(fmin(gaps[0], gaps[1]), gaps[2])
    first = le(gaps[0], gap)
    second = le(gaps[1], gaps[2])
    sides = [copysign(1.0, x) for x in r]
    face = choose(first, Vec3(sides[0], 0.0, 0.0), choose(second, Vec3(0.0, sides[1], 0.0), Vec3(0.0, 0.0, sides[2])))
    normal = choose(outside, out * -scale, -face)
    distance = where(outside, length, -gap)
    # inside and on the surface, the distance is unique if one of the six faces is nearest
    tie = gap + _TIE_POINT * (h.x + h.y + h.z)
    count: Any = 0.0
    for x, most, face_gap in zip(r, h, gaps, strict=True):
        count = count + where(le(face_gap, tie), 1.0, 0.0) + where(le(most + fabs(x), tie), 1.0, 0.0)
    unique = where(or_(lt(tie, distance), lt(count, 1.5)), 1.0, 0.0)
    n = b.pose.rotation @ normal
    return SignedDistance(distance, n, a.point, a.point + n * distance, unique)


def towards(a: Vec3, b: Vec3, between: Vec3, rounded: Any, otherwise: Vec3) -> SignedDistance:
    """Return the signed distance of two points, with the normal along the vector ``between`` from a to b.

    If the square of the distance is at most ``rounded``, the distance is 0 and the normal is along ``otherwise``, a
    vector of any length.
    """
    square = between.dot(between)
    known = lt(fmax(rounded, TINY), square)
    along = choose(known, between, otherwise)
    length, scale = length_and_scale(along.dot(along), True)
    return SignedDistance(where(known, length, 0.0), along * scale, a, b, where(known, 1.0, 0.0))


def half_space_convex(a: HalfSpaceCore, b: Core) -> SignedDistance:
    """Compute the signed distance of a half-space and a bounded convex core: n · (p − point).

    n and ``point`` are the half-space's normal and point; p is b's support point along −n.
    """
    deepest = support(b, -a.normal)
    distance = a.normal.dot(deepest - a.point)
    return SignedDistance(distance, a.normal, deepest - a.normal * distance, deepest, support_is_one(b, -a.normal))


_THIN = by_type(5e-16)  # the least radius, relative to the largest one
_ASIDE = by_type(1e-20)  # the point's least distance from a plane of symmetry, relative to the largest radius
_LEVEL = by_type(1e-14)
_CONVERGED = 1e-6  # relative step of third order after which the error is rounding
_TINY = by_type(1e-30)  # [m]


def point_ellipsoid(a: PointCore, b: EllipsoidCore) -> SignedDistance:
    """Compute the signed distance of a point and an ellipsoid, whose radii may be zero."""
    p = b.pose.inv().point(a.point)
    largest = fmax(fmax(fmax(b.radii.x, b.radii.y), b.radii.z), _TINY)
    scale = 1.0 / largest  # from here on, in units of the largest radius
    radii = [fmax(r * scale, _THIN) for r in b.radii]
    r_min = fmin(fmin(radii[0], radii[1]), radii[2])
    above = [(r - r_min) * (r + r_min) for r in radii]
    at = [fmax(fabs(x) * scale, _ASIDE) for x in p]
    scaled = [x * r for x, r in zip(at, radii, strict=True)]
    start = fmax(fmax(*(x - y for x, y in zip(scaled[:2], above[:2], strict=True))), scaled[2] - above[2])

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        tau, _ = state
        inverses = [1.0 / (tau + y) for y in above]
        # S, and its first two derivatives without their constant factors, times τ and τ²: all are near 1
        S, slope, bend = 0.0, 0.0, 0.0
        for x, inverse in zip(scaled, inverses, strict=True):
            square, part = (x * inverse) * (x * inverse), tau * inverse
            S, slope, bend = S + square, slope + square * part, bend + square * part * part
        off, least = sqrt(S) - 1.0, slope * slope
        change = tau * (S * off * slope / fmax(least + 1.5 * off * (least - S * bend), 0.25 * least))
        after = fmax(tau + change, start)
        return after, after - tau

    first = step(step((start, start)))
    tau, _ = while_loop(lambda state: lt(_CONVERGED * state[0], fabs(state[1])), step, first, max_iterations=80).state
    inverses = [1.0 / (tau + y) for y in above]
    gradient = Vec3(*(copysign(x * y, at_p) for x, y, at_p in zip(at, inverses, p, strict=True)))
    length = sqrt(gradient.dot(gradient))
    t = tau - r_min * r_min
    several: Any = 0.0
    for x, r, y in zip(at, radii, inverses, strict=True):
        is_level = and_(le(x, fmax(_LEVEL * r, by_type(2.0 * _ASIDE))), and_(lt(t, 0.0), lt(1e-7, r * x * y)))
        several = several + where(is_level, 1.0, 0.0)
    distance = t * length * largest
    n = b.pose.rotation @ (gradient * (-1.0 / length))
    return SignedDistance(distance, n, a.point, a.point + n * distance, where(lt(0.0, several), 0.0, 1.0))


_TIE_POINT_ROUND = by_type(1e-14)  # difference of lengths, relative to the body, that counts as a tie


def point_cylinder(a: PointCore, b: CylinderCore) -> SignedDistance:
    """Compute the signed distance of a point and a cylinder: from side, caps and rims, or, inside, side and caps."""
    r = b.pose.inv().point(a.point)
    x, y, rho = radial(r.x, r.y)
    out_rho, out_z = fmax(rho - b.radius, 0.0), r.z - clamp(r.z, b.half)
    square = out_rho * out_rho + out_z * out_z
    outside = lt(TINY, square)
    length, scale = length_and_scale(square, outside)
    side, cap = rho - b.radius, fabs(r.z) - b.half
    by_side = lt(cap, side)
    n_rho = where(outside, out_rho * scale, where(by_side, 1.0, 0.0))
    n_z = where(outside, out_z * scale, where(by_side, 0.0, copysign(1.0, r.z)))
    tie = _TIE_POINT_ROUND * (b.radius + b.half)
    # ties: on the axis, all of the side; midway between the caps, both; and side and cap
    level = or_(and_(by_side, le(rho, tie)), and_(not_(by_side), le(fabs(r.z), tie)))
    distance = where(outside, length, fmax(side, cap))
    unique = or_(lt(tie, distance), not_(or_(level, le(fabs(side - cap), tie))))
    return _placed(a, b.pose, distance, Vec3(n_rho * x, n_rho * y, n_z), unique)


def point_cone(a: PointCore, b: ConeCore) -> SignedDistance:
    """Compute the signed distance of a point and a cone: from the nearest point of mantle and base."""
    r = b.pose.inv().point(a.point)
    x, y, rho = radial(r.x, r.y)
    height = 2.0 * b.half
    slant = height * height + b.radius * b.radius
    has_slant = lt(TINY, slant)
    _, inverse = length_and_scale(slant, has_slant)
    # the mantle's normal, and the point's signed distances from the planes of mantle and base
    m_rho, m_z = where(has_slant, height * inverse, 1.0), b.radius * inverse
    up = r.z + b.half
    mantle, base = m_rho * (rho - b.radius) + m_z * up, -up
    # outside: below the base, beside the mantle, or nearest to the rim or the apex
    below = and_(lt(up, 0.0), le(rho, b.radius))
    from_rim, from_apex = (rho - b.radius, up), (rho, r.z - b.half)
    above_rim = lt(b.radius * from_rim[0], height * up)
    beside = and_(above_rim, lt(height * from_apex[1], b.radius * rho))
    out_rho, out_z = (where(above_rim, x, y) for x, y in zip(from_apex, from_rim, strict=True))
    square = out_rho * out_rho + out_z * out_z
    corner = and_(not_(or_(below, beside)), lt(TINY, square))
    length, scale = length_and_scale(square, corner)
    steep = and_(not_(below), lt(base, mantle))
    n_rho = where(corner, out_rho * scale, where(steep, m_rho, 0.0))
    n_z = where(corner, out_z * scale, where(steep, m_z, -1.0))
    tie = _TIE_POINT_ROUND * (b.radius + b.half)
    level = and_(and_(steep, le(rho, tie)), lt(tie, m_rho))
    distance = where(corner, length, where(steep, mantle, base))
    unique = or_(lt(tie, distance), not_(or_(level, le(fabs(mantle - base), tie))))
    return _placed(a, b.pose, distance, Vec3(n_rho * x, n_rho * y, n_z), unique)


def _placed(a: PointCore, X: Pose, distance: Any, out: Vec3, unique: Any) -> SignedDistance:
    """Return the signed distance of a point and a body at a pose X.

    ``out`` is the body's outward normal at its nearest point, in the body's axes.
    """
    n = -(X.rotation @ out)
    return SignedDistance(distance, n, a.point, a.point + n * distance, where(unique, 1.0, 0.0))
