"""Cores: shapes at poses without their rounding radius, over any scalar, and the signed distance of two of them.

A sphere is a rounded point, a capsule a rounded segment.  Distances of pairs are computed between cores: see
`SignedDistance`.  All values may be symbols, since a scene's shapes are arrays.

Bounding spheres and axis-aligned extents give cheap lower bounds: ‖c' − c‖ − r − r' of bounding spheres never exceeds
the distance.  A ball intersects a core only if, along each of the world's axes, it is within the core's extent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from linkwork.expr.scalar.functions import fabs, fmax, fmin, lt, sqrt, where
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import InversePose, Pose, Rotation, Vec3

__all__ = [
    "BOUNDS",
    "EXTENTS",
    "BoundingSphere",
    "BoxCore",
    "ConeCore",
    "Core",
    "CylinderCore",
    "EllipsoidCore",
    "FieldCore",
    "HalfSpaceCore",
    "PointCore",
    "PolytopeCore",
    "SegmentCore",
    "SignedDistance",
    "Solid",
    "bounding_sphere",
    "chosen",
    "core_in",
    "distance_in",
]


@dataclass(frozen=True, slots=True)
class PointCore:
    """Point, the core of a sphere."""

    point: Vec3


@dataclass(frozen=True, slots=True)
class SegmentCore:
    """Segment from center − half to center + half; half may be zero."""

    center: Vec3
    half: Vec3


@dataclass(frozen=True, slots=True)
class BoxCore:
    """Box whose center and axes are those of a pose; the half edges ``half`` along x, y and z may be zero."""

    pose: Pose
    half: Vec3


@dataclass(frozen=True, slots=True)
class CylinderCore:
    """Cylinder about a pose's origin along z: radius and half of its length."""

    pose: Pose
    radius: Any
    half: Any


@dataclass(frozen=True, slots=True)
class ConeCore:
    """Cone about a pose's origin along z: base of the radius at z = −half, apex at z = half."""

    pose: Pose
    radius: Any
    half: Any


@dataclass(frozen=True, slots=True)
class EllipsoidCore:
    """Ellipsoid about a pose's origin with radii along x, y and z."""

    pose: Pose
    radii: Vec3

    def stretched(self, v: Vec3) -> Vec3:
        """Return E v in the ellipsoid's axes, with E = diag(radii)."""
        return Vec3(*(r * x for r, x in zip(self.radii, v, strict=True)))


@dataclass(frozen=True, slots=True)
class PolytopeCore:
    """Convex hull of vertices in a pose's coordinates; vertices may repeat, to pad hulls to one size."""

    pose: Pose
    vertices: Sequence[Vec3]


@dataclass(frozen=True, slots=True)
class HalfSpaceCore:
    """Half-space behind a plane through a point; the normal, of length 1, points outward."""

    point: Vec3
    normal: Vec3


@dataclass(frozen=True, slots=True)
class FieldCore:
    """Non-convex body at a pose, represented by functions for its signed distances.

    ``measure`` returns the signed distance to a bounded convex core.  A point cloud also has ``points``: it applies a
    function that returns the signed distance of one point to all points of the cloud, and returns the minimum.
    ``slope`` bounds the change of the distance per displacement of points.
    """

    pose: Pose
    measure: Callable[[Core], SignedDistance]
    points: Callable[[Callable[[PointCore], SignedDistance]], SignedDistance] | None = None
    slope: Any = 1.0


Core: TypeAlias = (
    PointCore
    | SegmentCore
    | BoxCore
    | CylinderCore
    | ConeCore
    | EllipsoidCore
    | PolytopeCore
    | HalfSpaceCore
    | FieldCore
)


@dataclass(frozen=True, slots=True)
class Solid:
    """Core grown by a radius [m]."""

    core: Core
    radius: Any = 0.0


def core_in(X: Pose | InversePose, core: Core) -> Core:
    """Transform a core from the coordinates of b to those of a, by X_ab."""
    rotated = X.rotation_ab.inv_act if isinstance(X, InversePose) else lambda v: X.rotation @ v
    if isinstance(core, PointCore):
        return PointCore(X.point(core.point))
    if isinstance(core, SegmentCore):
        return SegmentCore(X.point(core.center), rotated(core.half))
    if isinstance(core, HalfSpaceCore):
        return HalfSpaceCore(X.point(core.point), rotated(core.normal))
    return replace(core, pose=X @ core.pose)


def distance_in(X: Pose, result: SignedDistance) -> SignedDistance:
    """Transform a distance from the coordinates of b to those of a, by X_ab."""
    return replace(result, normal=X.rotation @ result.normal, on_a=X.point(result.on_a), on_b=X.point(result.on_b))


def slope_between(a: Core, b: Core) -> Any:
    """Return a bound on the change of two cores' distance per relative displacement: 1 without distance fields."""
    result: Any = 1.0
    for core in (a, b):
        if isinstance(core, FieldCore):
            result = result * core.slope
    return result


def chosen(condition: Any, yes: SignedDistance, no: SignedDistance) -> SignedDistance:
    """Return the signed distance ``yes`` where the condition is true, else ``no``."""
    return SignedDistance(
        where(condition, yes.distance, no.distance),
        choose(condition, yes.normal, no.normal),
        choose(condition, yes.on_a, no.on_a),
        choose(condition, yes.on_b, no.on_b),
        where(condition, yes.unique, no.unique),
    )


@dataclass(frozen=True, slots=True)
class SignedDistance:
    """Signed distance of bodies A and B, over any scalar, in the bodies' coordinates.

    For separate bodies, ``distance`` is the minimum between their points.  For overlapping bodies it is minus the
    length of the shortest translation that separates them.  ``normal`` has length 1 and points from A to B: moving B by
    d · normal changes the distance by d, to first order.  The witness points ``on_a`` and ``on_b`` are on the surfaces:
    on_b − on_a = distance · normal.  ``unique`` is 1 if the points and the normal are unique.  If it is 0, they are one
    of several choices, and the distance may have a kink.
    """

    distance: Any  # [m]
    normal: Vec3
    on_a: Vec3  # [m]
    on_b: Vec3
    unique: Any

    def flipped(self) -> SignedDistance:
        """Return the signed distance with A and B swapped."""
        return SignedDistance(self.distance, -self.normal, self.on_b, self.on_a, self.unique)

    def rounded(self, a: Any, b: Any) -> SignedDistance:
        """Return the signed distance of the bodies grown by radii a and b [m].

        It holds for overlaps too: separating the grown bodies takes a + b more in every direction.
        """
        n = self.normal
        return SignedDistance(self.distance - a - b, n, self.on_a + n * a, self.on_b - n * b, self.unique)


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
    """Return the sphere through apex and rim, of radius (r² + l²)/(2 l), if r ≤ l; else about the base circle."""
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
