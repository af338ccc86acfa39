"""Shapes at poses as solids: what each is without the radius that rounds it.

Solids as rows of numbers, so that many of a kind are an array: a scene's obstacles, the shapes of a robot.

A row is (whether it is there, reach, radius, numbers of the core).  Reach [m] is the radius of a sphere about the
core's `anchor` that the solid fits into.  A row that is not there is never near anything: whoever measures asks
`there` first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    Core,
    CylinderCore,
    EllipsoidCore,
    FieldCore,
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
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = [
    "EVERYWHERE",
    "HEAD",
    "KINDS",
    "SOLIDS",
    "SolidKind",
    "SolidRow",
    "anchor",
    "kind_of",
    "reach_of",
    "solid",
    "solid_row",
]


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


def _grown(result: Solid, radius: Any) -> Solid:
    return Solid(result.core, result.radius + radius)


Scalars = Sequence[Any]
EVERYWHERE = 1e30  # the reach of what has no end [m]
HEAD = 3


@dataclass(frozen=True, slots=True)
class SolidKind:
    """A type of core, and of how many vertices where it has any: what has rows of one length."""

    core: type
    vertices: int = 0

    @property
    def name(self) -> str:
        """A word for it, such as "box" or "polytope16"."""
        word = self.core.__name__.removesuffix("Core").lower()
        return f"{word}{self.vertices}" if self.vertices else word

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return HEAD + sum(_SIZES[part] for part in _PARTS[self.core]) + 3 * self.vertices

    @property
    def in_loops(self) -> bool:
        """Whether rows are short enough to be many: else code is written out for each."""
        return True

    def solid(self, row: Scalars) -> SolidRow:
        """What a row says, over any scalar."""
        numbers = iter([*row][HEAD:])

        def vector() -> Vec3:
            return Vec3(next(numbers), next(numbers), next(numbers))

        fields: list[Any] = []
        for part in _PARTS[self.core]:
            if part == "number":
                fields.append(next(numbers))
            elif part == "vector":
                fields.append(vector())
            elif part == "pose":
                fields.append(Pose(Rotation(vector(), vector(), vector()), vector()))
            else:
                fields.append(tuple(vector() for _ in range(self.vertices)))
        return SolidRow(row[0], row[1], Solid(self.core(*fields), row[2]))


_SIZES = {"vector": 3, "pose": 12, "number": 1, "vertices": 0}
_PARTS: dict[type, tuple[str, ...]] = {
    PointCore: ("vector",),
    SegmentCore: ("vector", "vector"),
    BoxCore: ("pose", "vector"),
    CylinderCore: ("pose", "number", "number"),
    ConeCore: ("pose", "number", "number"),
    EllipsoidCore: ("pose", "vector"),
    HalfSpaceCore: ("vector", "vector"),
    PolytopeCore: ("pose", "vertices"),
}
"""By type of core: what its fields are, in their order."""
KINDS = tuple(_PARTS)
"""The types of cores in the order in which arrays of them stand side by side."""


@dataclass(frozen=True, slots=True)
class SolidRow:
    """What a row says, over any scalar."""

    there: Any  # 1, or 0 where nothing is
    reach: Any  # [m]
    solid: Solid

    @property
    def anchor(self) -> Vec3:
        return anchor(self.solid.core)


def kind_of(core: Core) -> SolidKind:
    """The kind of a core; polytopes get the next power of two of vertices, 8 at least."""
    if isinstance(core, PolytopeCore):
        return SolidKind(PolytopeCore, max(8, 1 << (len(core.vertices) - 1).bit_length()))
    return SolidKind(type(core))


def solid_row(solid: Solid, kind: SolidKind, reach: Any) -> list[Any]:
    """The row of a solid that is there."""
    result: list[Any] = [1.0, reach, solid.radius]
    for part, value in zip(_PARTS[kind.core], _fields(solid.core), strict=True):
        if part == "number":
            result.append(value)
        elif part == "vector":
            result += [*value]
        elif part == "pose":
            result += [*value.rotation.x, *value.rotation.y, *value.rotation.z, *value.translation]
        else:
            given = [*value, *([value[0]] * (kind.vertices - len(value)))]
            result += [x for vertex in given for x in vertex]
    return result


def anchor(core: Core) -> Vec3:
    """The point of a core that its reach is about."""
    if isinstance(core, SegmentCore):
        return core.center
    if isinstance(core, (PointCore, HalfSpaceCore)):
        return core.point
    return core.pose.translation


def reach_of(solid: Solid) -> float:
    """The radius of a sphere about the anchor that a solid of floats fits into [m]."""
    core = solid.core
    if isinstance(core, (HalfSpaceCore, FieldCore)):
        return EVERYWHERE
    if isinstance(core, PointCore):
        result = 0.0
    elif isinstance(core, (SegmentCore, BoxCore)):
        result = _length(core.half)
    elif isinstance(core, EllipsoidCore):
        result = max(core.radii)
    elif isinstance(core, PolytopeCore):
        result = max(map(_length, core.vertices))
    else:
        result = math.hypot(core.radius, core.half)
    return float(result + solid.radius) * (1.0 + 1e-12)  # rounding shall not make it less than it is


def _length(v: Iterable[float]) -> float:
    return math.hypot(*v)


def _fields(core: Core) -> list[Any]:
    return [getattr(core, name) for name in type(core).__slots__]
