"""A point against cylinders and cones: in the half-plane through the point and the axis, where they are polygons.

Coordinates there are ρ, away from the axis, and z, along it.
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, fmin, le, lt, not_, or_, where
from linkwork.geometry.cores import ConeCore, CylinderCore, PointCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.unit_vectors import NOTHING, clamp, length_and_scale, radial
from linkwork.spatial import Pose, Vec3

__all__ = ["point_cone", "point_cylinder"]

_TIE = 1e-14  # lengths that differ by less, relative to the body, are as good


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
    tie = _TIE * (b.radius + b.half)
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
    tie = _TIE * (b.radius + b.half)
    level = and_(and_(steep, le(rho, tie)), lt(tie, m_rho))
    unique = or_(outside, not_(or_(level, le(fabs(mantle - base), tie))))
    distance = where(outside, length, fmin(fmax(mantle, base), 0.0))
    return _placed(a, b.pose, distance, Vec3(n_rho * x, n_rho * y, n_z), unique)


def _placed(a: PointCore, X: Pose, distance: Any, out: Vec3, unique: Any) -> SignedDistance:
    """From a point to a body, by the body's outward normal in the body's axes."""
    n = -(X.rotation @ out)
    return SignedDistance(distance, n, a.point, a.point + n * distance, where(unique, 1.0, 0.0))
