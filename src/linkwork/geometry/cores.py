"""Cores: shapes at poses without their rounding radius, over any scalar, and the signed distance of two of them.

A sphere is a rounded point, a capsule a rounded segment.  Distances of pairs are computed between cores: see
`SignedDistance`.  All values may be symbols, since a scene's shapes are arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from linkwork.expr.scalar.functions import where
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import InversePose, Pose, Vec3

__all__ = [
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
    """

    pose: Pose
    measure: Callable[[Core], SignedDistance]
    points: Callable[[Callable[[PointCore], SignedDistance]], SignedDistance] | None = None


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
