"""A point and a point, a segment, or a box: what spheres are without their radius.

Where the point is the nearest point itself there is no normal from one to the other: one is given that parts them, and
where there are several, `unique` is 0.

A half-space and anything that is bounded: by the point that reaches farthest into it.

A point and an ellipsoid, Σ (x_i/r_i)² = 1.

The nearest point is x_i = r_i² p_i/(t + r_i²), and the signed distance t ‖p_i/(t + r_i²)‖, where t > −min r² solves

    S(t) = Σ (r_i p_i/(t + r_i²))² = 1.

1/√S is concave and almost straight, so Halley's method on it is there after three or four steps, from wherever one of
the terms alone is 1, which is on the left.  With τ = t + min r² nothing cancels.  For a point inside, on a plane of
symmetry, τ vanishes as its coordinate does: that is kept above zero by nothing that counts.

Sources: Eberly, Distance from a Point to an Ellipse, an Ellipsoid, or a Hyperellipsoid, 2013 (the equation and where it
begins); Moré, Sorensen, Computing a Trust Region Step, 1983 (1/√S in the place of S); Gander, On Halley's Iteration
Method, 1985.

A point against cylinders and cones: in the half-plane through the point and the axis, where they are polygons.

Coordinates there are ρ, away from the axis, and z, along it.
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    Core,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    SegmentCore,
)
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.support_points import support, support_is_one
from linkwork.geometry.unit_vectors import NOTHING, across, choose, clamp, length_and_scale, radial
from linkwork.spatial import Pose, Vec3

__all__ = [
    "half_space_convex",
    "point_box",
    "point_cone",
    "point_cylinder",
    "point_ellipsoid",
    "point_point",
    "point_segment",
    "towards",
]


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


def half_space_convex(a: HalfSpaceCore, b: Core) -> SignedDistance:
    """n · (p − point), p being b's support point along −n.  The normal is the plane's."""
    deepest = support(b, -a.normal)
    distance = a.normal.dot(deepest - a.point)
    return SignedDistance(distance, a.normal, deepest - a.normal * distance, deepest, support_is_one(b, -a.normal))


_THIN = 1e-15  # radii are no smaller than that part of the largest one
_ASIDE = 1e-20  # nor is the point nearer to a plane of symmetry; both in units of the largest radius
_LEVEL = 1e-14
_STILL = 1e-6  # a relative step
_TINY = 1e-30  # [m]


def point_ellipsoid(a: PointCore, b: EllipsoidCore) -> SignedDistance:
    """To the ellipsoid's surface, also from inside; radii may be zero."""
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
        # S and, times τ and τ², its next two derivatives without their factors: so all are near 1
        S, slope, bend = 0.0, 0.0, 0.0
        for x, inverse in zip(scaled, inverses, strict=True):
            square, part = (x * inverse) * (x * inverse), tau * inverse
            S, slope, bend = S + square, slope + square * part, bend + square * part * part
        off, least = sqrt(S) - 1.0, slope * slope
        way = tau * (S * off * slope / fmax(least + 1.5 * off * (least - S * bend), 0.25 * least))
        after = fmax(tau + way, start)
        return after, after - tau

    # steps are of third order: after one of 1e-6 nothing is left to do
    first = step(step((start, start)))
    tau, _ = while_loop(lambda state: lt(_STILL * state[0], fabs(state[1])), step, first, max_iterations=80).state
    inverses = [1.0 / (tau + y) for y in above]
    gradient = Vec3(*(copysign(x * y, at_p) for x, y, at_p in zip(at, inverses, p, strict=True)))
    length = sqrt(gradient.dot(gradient))
    t = tau - r_min * r_min
    several: Any = 0.0
    for x, r, y in zip(at, radii, inverses, strict=True):
        here = and_(le(x, fmax(_LEVEL * r, 2.0 * _ASIDE)), and_(lt(t, 0.0), lt(1e-7, r * x * y)))
        several = several + where(here, 1.0, 0.0)
    distance = t * length * largest
    n = b.pose.rotation @ (gradient * (-1.0 / length))
    return SignedDistance(distance, n, a.point, a.point + n * distance, where(lt(0.0, several), 0.0, 1.0))


_TIE_POINT_ROUND = 1e-14  # lengths that differ by less, relative to the body, are as good


def point_cylinder(a: PointCore, b: CylinderCore) -> SignedDistance:
    """To the nearest point of side, caps and rims; from inside, to the nearer of the side and a cap."""
    r = b.pose.inv().point(a.point)
    x, y, rho = radial(r.x, r.y)
    out_rho, out_z = fmax(rho - b.radius, 0.0), r.z - clamp(r.z, b.half)
    square = out_rho * out_rho + out_z * out_z
    outside = lt(NOTHING, square)
    length, scale = length_and_scale(square, outside)
    side, cap = rho - b.radius, fabs(r.z) - b.half
    by_side = lt(cap, side)
    n_rho = where(outside, out_rho * scale, where(by_side, 1.0, 0.0))
    n_z = where(outside, out_z * scale, where(by_side, 0.0, copysign(1.0, r.z)))
    tie = _TIE_POINT_ROUND * (b.radius + b.half)
    # on the axis, all of the side is as near; between the caps, both; and where side and cap are
    level = or_(and_(by_side, le(rho, tie)), and_(not_(by_side), le(fabs(r.z), tie)))
    unique = or_(outside, not_(or_(level, le(fabs(side - cap), tie))))
    return _placed(a, b.pose, where(outside, length, fmax(side, cap)), Vec3(n_rho * x, n_rho * y, n_z), unique)


def point_cone(a: PointCore, b: ConeCore) -> SignedDistance:
    """To the nearest point of mantle and base; from inside, to the nearer of both."""
    r = b.pose.inv().point(a.point)
    x, y, rho = radial(r.x, r.y)
    height = 2.0 * b.half
    slant = height * height + b.radius * b.radius
    some = lt(NOTHING, slant)
    _, inverse = length_and_scale(slant, some)
    # the mantle's normal, and how far beyond mantle and base the point is
    m_rho, m_z = where(some, height * inverse, 1.0), b.radius * inverse
    up = r.z + b.half
    mantle, base = m_rho * (rho - b.radius) + m_z * up, -up
    inside = and_(le(mantle, 0.0), le(base, 0.0))
    # the nearest points of both, from the rim up to the apex and from the axis out to the rim
    along = ((b.radius - rho) * b.radius + up * height) * (inverse * inverse)
    along = fmin(fmax(along, 0.0), 1.0)
    to_mantle = (rho - b.radius * (1.0 - along), up - height * along)
    to_base = (rho - fmin(rho, b.radius), up)
    squares = [u * u + v * v for u, v in (to_mantle, to_base)]
    by_mantle = lt(squares[0], squares[1])
    out_rho, out_z = (where(by_mantle, u, v) for u, v in zip(to_mantle, to_base, strict=True))
    square = where(by_mantle, *squares)
    outside = and_(not_(inside), lt(NOTHING, square))
    length, scale = length_and_scale(square, outside)
    steep = lt(base, mantle)
    n_rho = where(outside, out_rho * scale, where(steep, m_rho, 0.0))
    n_z = where(outside, out_z * scale, where(steep, m_z, -1.0))
    tie = _TIE_POINT_ROUND * (b.radius + b.half)
    level = and_(and_(steep, le(rho, tie)), lt(tie, m_rho))
    unique = or_(outside, not_(or_(level, le(fabs(mantle - base), tie))))
    distance = where(outside, length, fmin(fmax(mantle, base), 0.0))
    return _placed(a, b.pose, distance, Vec3(n_rho * x, n_rho * y, n_z), unique)


def _placed(a: PointCore, X: Pose, distance: Any, out: Vec3, unique: Any) -> SignedDistance:
    """From a point to a body, by the body's outward normal in the body's axes."""
    n = -(X.rotation @ out)
    return SignedDistance(distance, n, a.point, a.point + n * distance, where(unique, 1.0, 0.0))
