"""Bounding spheres and axis-aligned extents of cores: cheap lower bounds on the distance of two solids.

For bounding spheres, ‖c' − c‖ − r − r' never exceeds the distance.  A ball intersects a core only if, along each of the
world's axes, it is within the core's extent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import fabs, fmax, fmin, lt, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    Core,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
)
from linkwork.spatial import Rotation, Vec3

__all__ = ["BOUNDS", "EXTENTS", "BoundingSphere", "bounding_sphere"]


class BoundingSphere(NamedTuple):
    """Sphere that contains a core; radius in metres."""

    center: Vec3
    radius: Any


def bounding_sphere(core: Core) -> BoundingSphere:
    """Return the smallest sphere that contains a core; for a polytope, the one about its bounding box's centre.

    Raises TypeError for an unbounded core, such as a half-space.
    """
    try:
        around = BOUNDS[type(core)]
    except KeyError:
        kind = type(core).__name__.removesuffix("Core").lower()
        raise TypeError(f"bounding_sphere: expected a bounded core, got a {kind}") from None
    return around(core)


def _cone(core: ConeCore) -> BoundingSphere:
    """Return the sphere through apex and rim, of radius (r² + l²)/(2 l), if r ≤ l; else that of the base circle."""
    length = 2.0 * core.half
    slender = lt(core.radius, length)
    square = core.radius * core.radius + length * length
    radius = where(slender, 0.5 * square / where(slender, length, 1.0), core.radius)
    z = where(slender, core.half - radius, -core.half)
    return BoundingSphere(core.pose.point(Vec3(0.0, 0.0, z)), radius)


def _polytope(core: PolytopeCore) -> BoundingSphere:
    least = most = core.vertices[0]
    for vertex in core.vertices[1:]:
        least = Vec3(*(fmin(old, new) for old, new in zip(least, vertex, strict=True)))
        most = Vec3(*(fmax(old, new) for old, new in zip(most, vertex, strict=True)))
    middle = (least + most) * 0.5
    square: Any = 0.0
    for vertex in core.vertices:
        away = vertex - middle
        square = fmax(square, away.dot(away))
    known = lt(0.0, square)
    return BoundingSphere(core.pose.point(middle), where(known, sqrt(where(known, square, 1.0)), 0.0))


def _length(*sides: Any) -> Any:
    square = sum((x * x for x in sides), start=0.0)
    known = lt(0.0, square)
    return where(known, sqrt(where(known, square, 1.0)), 0.0)


BOUNDS: Mapping[type, Callable[[Any], BoundingSphere]] = {
    PointCore: lambda core: BoundingSphere(core.point, 0.0),
    SegmentCore: lambda core: BoundingSphere(core.center, _length(*core.half)),
    BoxCore: lambda core: BoundingSphere(core.pose.translation, _length(*core.half)),
    CylinderCore: lambda core: BoundingSphere(core.pose.translation, _length(core.radius, core.half)),
    ConeCore: _cone,
    EllipsoidCore: lambda core: BoundingSphere(core.pose.translation, fmax(fmax(*list(core.radii)[:2]), core.radii.z)),
    PolytopeCore: _polytope,
}
"""Bounding sphere by type of core."""


def _extents(R: Rotation, half: Vec3) -> Vec3:
    return Vec3(*(sum((fabs(x) * h for x, h in zip(row, half, strict=True)), start=0.0) for row in (R.x, R.y, R.z)))


EXTENTS: Mapping[type, Callable[[Any], Vec3]] = {
    PointCore: lambda core: Vec3(0.0, 0.0, 0.0),
    SegmentCore: lambda core: Vec3(*map(fabs, core.half)),
    BoxCore: lambda core: _extents(core.pose.rotation, core.half),
    CylinderCore: lambda core: _extents(core.pose.rotation, Vec3(0.0, 0.0, core.half)) + Vec3(*[core.radius] * 3),
}
"""Bounds [m] on the half extents along the world's axes about the core's anchor, by type of core."""
