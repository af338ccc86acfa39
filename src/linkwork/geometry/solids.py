"""Shapes at poses as solids: what each is without the radius that rounds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
)
from linkwork.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Polytope,
    Rounded,
    Shape,
    Sphere,
)
from linkwork.spatial import Pose, Vec3

__all__ = ["SOLIDS", "solid"]

SOLIDS: Mapping[type, Callable[[Any, Pose], Solid]] = {
    Sphere: lambda shape, X: Solid(PointCore(X.translation), shape.radius),
    Box: lambda shape, X: Solid(BoxCore(X, Vec3.of(shape.size) * 0.5)),
    Cylinder: lambda shape, X: Solid(CylinderCore(X, shape.radius, 0.5 * shape.length)),
    Capsule: lambda shape, X: Solid(SegmentCore(X.translation, _z_axis(X) * (0.5 * shape.length)), shape.radius),
    Cone: lambda shape, X: Solid(ConeCore(X, shape.radius, 0.5 * shape.length)),
    Ellipsoid: lambda shape, X: Solid(EllipsoidCore(X, Vec3.of(shape.radii))),
    Polytope: lambda shape, X: Solid(PolytopeCore(X, tuple(Vec3.of(vertex) for vertex in shape.vertices))),
    HalfSpace: lambda shape, X: Solid(HalfSpaceCore(X.translation, _z_axis(X))),
    Rounded: lambda shape, X: _grown(solid(shape.shape, X), shape.radius),
}
"""An entry a type of shape."""


def solid(shape: Shape, X: Pose) -> Solid:
    """A shape whose frame is at a pose.  Raises TypeError for one that is no convex solid, such as a mesh's file."""
    try:
        return SOLIDS[type(shape)](shape, X)
    except KeyError:
        raise TypeError(f"expected a convex shape, got {shape!r}") from None


def _z_axis(X: Pose) -> Vec3:
    R = X.rotation
    return Vec3(R.x.z, R.y.z, R.z.z)


def _grown(found: Solid, radius: Any) -> Solid:
    return Solid(found.core, found.radius + radius)
