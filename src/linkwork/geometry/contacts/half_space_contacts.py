"""Contacts with a half-space: corners, ends and rims of the body on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from linkwork.expr.scalar.functions import copysign, fabs, fmax, le, lt, sqrt, where
from linkwork.geometry.contacts.contact_manifold import CORNERS, Contact, Touching, corners_along, each_once
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
)
from linkwork.geometry.support_points import support
from linkwork.spatial import Vec3

__all__ = [
    "ON_HALF_SPACES",
    "half_space_box",
    "half_space_cylinder",
    "half_space_polytope",
    "half_space_segment",
    "lowest_of_rim",
]

_UPRIGHT = 1e-6  # sine of the angle below which an axis is parallel to the normal and a rim level
_SIXTHS = tuple((math.cos(k * math.pi / 3.0), math.sin(k * math.pi / 3.0)) for k in range(6))


def half_space_point(a: HalfSpaceCore, b: PointCore, within: Any) -> Touching:
    """Return the contact of a point."""
    return Touching(a.normal, (*_under(a, within, (b.point,)),))


def half_space_segment(a: HalfSpaceCore, b: SegmentCore, within: Any) -> Touching:
    """Return the contacts of both ends of a segment."""
    return Touching(a.normal, (*_under(a, within, (b.center + b.half, b.center - b.half)),))


def half_space_box(a: HalfSpaceCore, b: BoxCore, within: Any) -> Touching:
    """Return the contacts of the corners of the box's face that is most parallel to the plane."""
    R = b.pose.rotation
    down = R.inv_act(-a.normal)
    half = tuple(b.half)
    sizes = [fabs(x) for x in down]
    corners = []
    over = where(le(sizes[1], sizes[0]), 0.0, 1.0)
    first = where(le(sizes[2], fmax(sizes[0], sizes[1])), over, 2.0)
    for i, j in ((1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0)):
        signs = []
        for k in range(3):
            ahead = where(lt(fabs(first - (k - 1) % 3), 0.5), i, j)  # the axis after the face's, or that after it
            signs.append(where(lt(fabs(first - k), 0.5), copysign(1.0, tuple(down)[k]), ahead))
        corners.append(b.pose.point(Vec3(*(h * s for h, s in zip(half, signs, strict=True)))))
    return Touching(a.normal, (*_under(a, within, corners),))


def half_space_cylinder(a: HalfSpaceCore, b: CylinderCore, within: Any) -> Touching:
    """Return the contacts of the lowest points of both rims, and five further points of the lower rim, 60° apart."""
    rim, low, x, y = lowest_of_rim(a, b)
    opposite = b.pose.point(Vec3(b.radius * x, b.radius * y, -low))
    return Touching(a.normal, (*_under(a, within, (*rim, opposite)),))


def half_space_cone(a: HalfSpaceCore, b: ConeCore, within: Any) -> Touching:
    """Return the contacts of the rim's lowest point, five further points of the rim, 60° apart, and the apex."""
    rim, _, _, _ = lowest_of_rim(a, b, -b.half)
    return Touching(a.normal, (*_under(a, within, (*rim, b.pose.point(Vec3(0.0, 0.0, b.half)))),))


def half_space_ellipsoid(a: HalfSpaceCore, b: EllipsoidCore, within: Any) -> Touching:
    """Return the contact of the ellipsoid's lowest point."""
    return Touching(a.normal, (*_under(a, within, (support(b, -a.normal),)),))


def half_space_polytope(a: HalfSpaceCore, b: PolytopeCore, within: Any) -> Touching:
    """Return the contacts of all vertices; if more than eight, of the lowest region's corners and the deepest."""
    if len(b.vertices) <= CORNERS:
        return Touching(a.normal, (*_under(a, within, (b.pose.point(vertex) for vertex in b.vertices)),))
    around = [*_under(a, within, corners_along(b, -a.normal, a.normal))]
    (deepest,) = _under(a, within, (support(b, -a.normal),))
    return each_once(a.normal, around, deepest)


def lowest_of_rim(a: HalfSpaceCore, b: CylinderCore | ConeCore, at: Any = None) -> tuple[list[Vec3], Any, Any, Any]:
    """Return (points, z, x, y): six points of a rim that are 60° apart, the lowest point first.

    z is the rim's coordinate along the axis, (x, y) the direction of length 1 from the axis to the lowest point, both
    in the body's coordinates. The rim is at z = ``at``, or by default the lower one of the body's ends.
    """
    down = b.pose.rotation.inv_act(-a.normal)
    low = copysign(b.half, down.z) if at is None else at
    square = down.x * down.x + down.y * down.y
    tilted = lt(_UPRIGHT * _UPRIGHT, square)
    scale = 1.0 / sqrt(where(tilted, square, 1.0))
    x, y = where(tilted, down.x * scale, 1.0), where(tilted, down.y * scale, 0.0)
    r = b.radius
    rim = [b.pose.point(Vec3(r * (c * x - s * y), r * (s * x + c * y), low)) for c, s in _SIXTHS]
    return rim, low, x, y


def _under(a: HalfSpaceCore, within: Any, points: Iterable[Vec3]) -> Iterable[Contact]:
    for p in points:
        height = a.normal.dot(p - a.point)
        yield Contact(p - a.normal * height, p, -height, le(height, within))


ON_HALF_SPACES: dict[type, Callable[[HalfSpaceCore, Any, Any], Touching]] = {
    PointCore: half_space_point,
    SegmentCore: half_space_segment,
    BoxCore: half_space_box,
    CylinderCore: half_space_cylinder,
    ConeCore: half_space_cone,
    EllipsoidCore: half_space_ellipsoid,
    PolytopeCore: half_space_polytope,
}
"""Function of a half-space and a core by the core's type."""
