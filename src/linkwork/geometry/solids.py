"""Shapes at poses as solids (a core and a rounding radius), and solids as rows of arrays.

Many solids of a kind form an array: a scene's obstacles, the shapes of a robot.  A row is (exists, reach, radius,
values of the core).  ``exists`` is 1, or 0 for an unused row, which is never near anything; it is checked first.  The
reach [m] is the radius of a sphere about the core's `anchor` that contains the solid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.conditional import call_once_traced
from linkwork.expr.control.table_access import Take
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
    "HullTable",
    "HullVertices",
    "ListedVertices",
    "SolidKind",
    "SolidRow",
    "anchor",
    "kind_of",
    "reach_of",
    "solid",
    "solid_row",
    "with_listed_vertices",
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
"""Function that converts a shape at a pose to a solid, by type of shape."""


def solid(shape: Shape, X: Pose) -> Solid:
    """Return the solid of a shape at a pose.  Raises TypeError for a shape that is not convex, such as a mesh file."""
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
EVERYWHERE = 1e30  # [m] reach of an unbounded solid
HEAD = 3  # values of a row before those of the core


class ListedVertices(tuple[Vec3, ...]):
    """Vertices of a polytope, with their mean."""

    mean: Vec3


class HullTable:
    """Known vertices of several polytopes with equal numbers of vertices: a table of constants in a kernel's code.

    A row has the vertices of a polytope and their mean.
    """

    def __init__(self, hulls: Sequence[Sequence[Vec3]]) -> None:
        self.count = len(hulls[0])
        rows = []
        for hull in hulls:
            total = hull[0]
            for vertex in hull[1:]:
                total = total + vertex
            rows.append(tuple(float(x) for vertex in (*hull, total * (1.0 / self.count)) for x in vertex))
        self.rows = tuple(rows)
        self._hash = hash(self.rows)
        self._take = Take(len(rows), len(rows[0]), tuple(x for row in rows for x in row))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HullTable) and self.rows == other.rows

    def vertices(self, index: Any) -> ListedVertices:
        """Return the vertices of the polytope with an index, which may be known at run time only."""
        row: Sequence[Any]
        if isinstance(index, (float, int)):
            row = self.rows[int(index)]
        else:
            row = [*call_once_traced(self, lambda k: array([*self._take([k])]), index)]
        *points, mean = [Vec3(*row[k : k + 3]) for k in range(0, len(row), 3)]
        result = ListedVertices(points)
        result.mean = mean
        return result


class HullVertices(Sequence[Vec3]):
    """Vertices of one polytope of a table; each access reads the table."""

    def __init__(self, table: HullTable, index: Any) -> None:
        self.table, self.hull = table, index

    def __len__(self) -> int:
        return self.table.count

    def __getitem__(self, k: Any) -> Any:
        return self.listed()[k]

    def listed(self) -> ListedVertices:
        """Return the vertices, which reads the table once."""
        return self.table.vertices(self.hull)


@dataclass(frozen=True, slots=True)
class SolidKind:
    """Kind of a solid: the type of its core, such as `BoxCore`, and for polytopes the number of vertices.

    A solid is a core grown by a radius. Each solid is described by one row of an array, and all solids of a kind have
    rows of the same length.  With ``hulls``, rows of polytopes have an index of this table instead of vertices.
    """

    core: type
    vertices: int = 0
    _: KW_ONLY
    hulls: HullTable | None = None

    @property
    def name(self) -> str:
        """Name of the kind, such as "box" or "polytope16"."""
        word = self.core.__name__.removesuffix("Core").lower()
        return f"{word}{self.vertices}" if self.vertices else word

    @property
    def size(self) -> int:
        """Number of values that describe a solid of this kind in one row of an array."""
        return HEAD + sum(_SIZES[field] for field in _FIELDS[self.core]) + (1 if self.hulls else 3 * self.vertices)

    @property
    def in_loops(self) -> bool:
        """True if loops iterate over rows; False if code is unrolled for each row."""
        return True

    def solid(self, row: Scalars) -> SolidRow:
        """Return the solid that the values of a row describe, over any scalar."""
        values = iter([*row][HEAD:])

        def vector() -> Vec3:
            return Vec3(next(values), next(values), next(values))

        fields: list[Any] = []
        for field in _FIELDS[self.core]:
            if field == "number":
                fields.append(next(values))
            elif field == "vector":
                fields.append(vector())
            elif field == "pose":
                fields.append(Pose(Rotation(vector(), vector(), vector()), vector()))
            elif self.hulls is not None:
                fields.append(HullVertices(self.hulls, next(values)))
            else:
                fields.append(tuple(vector() for _ in range(self.vertices)))
        return SolidRow(row[0], row[1], Solid(self.core(*fields), row[2]))


_SIZES = {"vector": 3, "pose": 12, "number": 1, "vertices": 0}
_FIELDS: dict[type, tuple[str, ...]] = {
    PointCore: ("vector",),
    SegmentCore: ("vector", "vector"),
    BoxCore: ("pose", "vector"),
    CylinderCore: ("pose", "number", "number"),
    ConeCore: ("pose", "number", "number"),
    EllipsoidCore: ("pose", "vector"),
    HalfSpaceCore: ("vector", "vector"),
    PolytopeCore: ("pose", "vertices"),
}
"""Kinds of the fields of each type of core, in their order."""
KINDS = tuple(_FIELDS)
"""Types of cores in the order of their arrays."""


@dataclass(frozen=True, slots=True)
class SolidRow:
    """Solid from a row of an array, with the flag ``exists`` and the reach [m], over any scalar."""

    exists: Any  # 1, or 0 for an unused row
    reach: Any  # [m]
    solid: Solid

    @property
    def anchor(self) -> Vec3:
        return anchor(self.solid.core)


def kind_of(core: Core) -> SolidKind:
    """Return the kind of a core; a polytope's number of vertices is rounded up to a power of two, at least 8."""
    if isinstance(core, PolytopeCore) and isinstance(core.vertices, HullVertices):
        return SolidKind(PolytopeCore, len(core.vertices), hulls=core.vertices.table)
    if isinstance(core, PolytopeCore):
        return SolidKind(PolytopeCore, max(8, 1 << (len(core.vertices) - 1).bit_length()))
    return SolidKind(type(core))


def solid_row(solid: Solid, kind: SolidKind, reach: Any) -> list[Any]:
    """Return the row of an array that describes a solid: (1, reach, radius, values of the core)."""
    result: list[Any] = [1.0, reach, solid.radius]
    for field, value in zip(_FIELDS[kind.core], _fields(solid.core), strict=True):
        if field == "number":
            result.append(value)
        elif field == "vector":
            result += [*value]
        elif field == "pose":
            result += [*value.rotation.x, *value.rotation.y, *value.rotation.z, *value.translation]
        elif kind.hulls is not None:
            result.append(value.hull)
        else:
            padded = [*value, *([value[0]] * (kind.vertices - len(value)))]
            result += [x for vertex in padded for x in vertex]
    return result


def with_listed_vertices(solid: Solid) -> Solid:
    """Return the solid with the vertices of a `HullTable` as a list, which reads the table once."""
    core = solid.core
    if isinstance(core, PolytopeCore) and isinstance(core.vertices, HullVertices):
        return Solid(PolytopeCore(core.pose, core.vertices.listed()), solid.radius)
    return solid


def anchor(core: Core) -> Vec3:
    """Return a core's reference point: the centre of the bounding sphere whose radius is the reach."""
    if isinstance(core, SegmentCore):
        return core.center
    if isinstance(core, (PointCore, HalfSpaceCore)):
        return core.point
    return core.pose.translation


def reach_of(solid: Solid) -> float:
    """Return the radius [m] of a sphere about a solid's anchor that contains the solid; its values are floats.

    It is `EVERYWHERE` for half-spaces and fields.
    """
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
    return float(result + solid.radius) * (1.0 + 1e-12)  # a bound in spite of rounding


def _length(v: Iterable[float]) -> float:
    return math.hypot(*v)


def _fields(core: Core) -> list[Any]:
    return [getattr(core, name) for name in type(core).__slots__]
