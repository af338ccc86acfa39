"""Cores: what is left of shapes without the radius that rounds them, placed somewhere, over any scalar.

A sphere is a point that is rounded, a capsule a segment.  Pairs are measured between cores: see `SignedDistance`.  All
numbers may be symbols: a scene's shapes come as arrays.

Cores and distances in other coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from linkwork.expr.scalar.functions import where
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import InversePose, Pose, Vec3

if TYPE_CHECKING:
    from linkwork.geometry.distance import SignedDistance

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
    "Solid",
    "chosen",
    "core_in",
    "distance_in",
]


@dataclass(frozen=True, slots=True)
class PointCore:
    """A point."""

    point: Vec3


@dataclass(frozen=True, slots=True)
class SegmentCore:
    """From center − half to center + half; half may be zero."""

    center: Vec3
    half: Vec3


@dataclass(frozen=True, slots=True)
class BoxCore:
    """A box about a pose's origin, by half of its edges, any of which may be zero."""

    pose: Pose
    half: Vec3


@dataclass(frozen=True, slots=True)
class CylinderCore:
    """A cylinder about a pose's origin, its axis along z: radius and half of its length."""

    pose: Pose
    radius: Any
    half: Any


@dataclass(frozen=True, slots=True)
class ConeCore:
    """A cone about a pose's origin, its axis along z: the base of that radius at z = −half, the apex at z = half."""

    pose: Pose
    radius: Any
    half: Any


@dataclass(frozen=True, slots=True)
class EllipsoidCore:
    """An ellipsoid about a pose's origin, by its radii along x, y and z."""

    pose: Pose
    radii: Vec3

    def stretched(self, v: Vec3) -> Vec3:
        """E v, E being diagonal with the radii, in its own axes."""
        return Vec3(*(r * x for r, x in zip(self.radii, v, strict=True)))


@dataclass(frozen=True, slots=True)
class PolytopeCore:
    """The convex hull of vertices in a pose's coordinates.

    Vertices may repeat: so hulls of different sizes fit into arrays of one size.
    """

    pose: Pose
    vertices: Sequence[Vec3]


@dataclass(frozen=True, slots=True)
class HalfSpaceCore:
    """All that lies behind a plane through a point; the normal, of length 1, points out of it."""

    point: Vec3
    normal: Vec3


@dataclass(frozen=True, slots=True)
class FieldCore:
    """What is no convex body, about a pose's origin, and knows how far a bounded convex core is from it: see `fields`.

    What is points knows their least distance too, by the function that measures one of them.
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
    """A core that is grown by a radius [m]."""

    core: Core
    radius: Any = 0.0


def core_in(X: Pose | InversePose, core: Core) -> Core:
    """A core given in b, in the coordinates of a, by X_ab."""
    turned = X.rotation.inv_act if isinstance(X, InversePose) else lambda v: X.rotation @ v
    if isinstance(core, PointCore):
        return PointCore(X.point(core.point))
    if isinstance(core, SegmentCore):
        return SegmentCore(X.point(core.center), turned(core.half))
    if isinstance(core, HalfSpaceCore):
        return HalfSpaceCore(X.point(core.point), turned(core.normal))
    return replace(core, pose=X @ core.pose)


def distance_in(X: Pose, result: SignedDistance) -> SignedDistance:
    """What was measured in b, in the coordinates of a, by X_ab."""
    return replace(result, normal=X.rotation @ result.normal, on_a=X.point(result.on_a), on_b=X.point(result.on_b))


def chosen(condition: Any, yes: SignedDistance, no: SignedDistance) -> SignedDistance:
    """One of two."""
    return SignedDistance(
        where(condition, yes.distance, no.distance),
        choose(condition, yes.normal, no.normal),
        choose(condition, yes.on_a, no.on_a),
        choose(condition, yes.on_b, no.on_b),
        where(condition, yes.unique, no.unique),
    )
