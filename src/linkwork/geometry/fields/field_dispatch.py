"""Distances of fields: functions by kind of field, fields as rows of arrays, and distance grids of shapes.

A row has a field's pose and the values of its arrays, like the rows of a scene's solids.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, le, lt, where
from linkwork.geometry.cores import FieldCore, PointCore, SignedDistance, Solid, chosen, core_in, distance_in
from linkwork.geometry.fields.distance_grid import Voxels, distance_slope, voxel_arrays, voxel_distance, voxel_reach
from linkwork.geometry.fields.height_field import Ground, ground_arrays, ground_distance
from linkwork.geometry.fields.point_cloud import Cloud, cloud_arrays, cloud_distance, least_of_points
from linkwork.geometry.pairs import signed_distance
from linkwork.geometry.solids import EVERYWHERE, SOLIDS, SolidKind, SolidRow, solid
from linkwork.shapes import Compound, DistanceField, HeightField, PointCloud, Shape
from linkwork.shapes.shape import sizes
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = [
    "FIELDS",
    "Field",
    "FieldKind",
    "distance_field",
    "distance_of_shapes",
    "field_distance",
    "field_row",
    "is_bounded",
    "is_measured",
    "minimum_of",
]


_APART = by_type(1e-18)  # [m²] minimum squared distance of distinct points
_TIE = by_type(1e-12)  # [m] difference of equal distances


@dataclass(frozen=True)
class Field:
    """Table of functions for one type of field shape, such as height fields.

    ``arrays`` returns the arrays of a shape, and ``of`` creates the field from arrays over any scalar.  ``distance``
    returns the signed distance from the field to a solid.  ``radius`` is the radius by which the shape is grown [m],
    ``reach`` the radius of a sphere about the shape's origin that contains it [m].
    """

    arrays: Callable[..., Mapping[str, np.ndarray]]  # arrays of a shape and a capacity
    of: Callable[..., Any]  # constructor from the arrays by name, over any scalar
    distance: Callable[[Any, Solid], SignedDistance]  # to a solid in the field's coordinates
    radius: Callable[[Any], float]  # [m] by which a shape is grown
    reach: Callable[[Any], float]  # [m] radius of a sphere about a shape's origin that contains it


_ABOVE = 1.0 + 1e-12  # factor of a radius, which exceeds rounding

FIELDS: Mapping[type[Shape], Field] = {
    HeightField: Field(ground_arrays, Ground, ground_distance, lambda shape: 0.0, lambda shape: EVERYWHERE),
    PointCloud: Field(
        cloud_arrays, Cloud, cloud_distance, lambda shape: shape.radius, lambda shape: _ABOVE * shape.origin_radius
    ),
    DistanceField: Field(
        voxel_arrays, Voxels, voxel_distance, lambda shape: 0.0, lambda shape: _ABOVE * voxel_reach(shape)
    ),
}
"""Kind of field by type of shape."""


def field_distance(
    kind: type[Shape], arrays: Mapping[str, Any], X: Pose, b: Solid, radius: Any = 0.0
) -> SignedDistance:
    """Compute the signed distance from a field at a pose, grown by a radius, to a convex solid."""
    field = FIELDS[kind]
    inside = Solid(core_in(X.inv(), b.core), b.radius)
    return distance_in(X, field.distance(field.of(**arrays), inside)).rounded(radius, 0.0)


def distance_of_shapes(a: Shape, X_a: Pose, b: Shape, X_b: Pose) -> tuple[SignedDistance, Any, Any]:
    """Return the signed distance of two shapes at poses, and the indices of the components of both that are nearest.

    An index counts the components of a compound; it is 0 for other shapes. The shapes may be of any type, but at least
    one of them is convex, a point cloud, or a compound of such. Raises TypeError for an unsupported pair.
    """
    if isinstance(a, Compound):
        result = [distance_of_shapes(part.shape, X_a @ part.origin, b, X_b) for part in a.parts]
        nearest, index = minimum_of([row[0] for row in result])
        return nearest, index, _entry(index, [row[2] for row in result])
    if isinstance(b, Compound):
        nearest, index_b, index_a = distance_of_shapes(b, X_b, a, X_a)
        return nearest.flipped(), index_a, index_b
    if not is_measured(a, b):
        raise TypeError(f"signed_distance: the distance of {_named(a)} and {_named(b)} is not supported")
    if type(a) in FIELDS and is_bounded(b):
        return _field(a, X_a, solid(b, X_b)), 0.0, 0.0
    if type(b) in FIELDS and is_bounded(a):
        return _field(b, X_b, solid(a, X_a)).flipped(), 0.0, 0.0
    if isinstance(a, PointCloud):
        at_point = lambda point: distance_of_point(point, b, X_b)  # noqa: E731
        return least_of_points(Cloud(**cloud_arrays(a)), X_a, at_point, a.radius), 0.0, 0.0
    if isinstance(b, PointCloud):
        return distance_of_shapes(b, X_b, a, X_a)[0].flipped(), 0.0, 0.0
    return signed_distance(solid(a, X_a), solid(b, X_b)), 0.0, 0.0


def distance_of_point(point: PointCore, b: Shape, X_b: Pose) -> SignedDistance:
    """Compute the signed distance from a point to a shape of any kind except compounds."""
    if type(b) in FIELDS:
        return _field(b, X_b, Solid(point)).flipped()
    return signed_distance(Solid(point), solid(b, X_b))


def is_bounded(shape: Shape) -> bool:
    """Return True for a convex shape of finite size, whose distance to every field is supported."""
    return type(shape) in SOLIDS and shape.origin_radius is not None


def is_measured(a: Shape, b: Shape) -> bool:
    """Return True if the distance of two shapes, neither of them a compound, is supported.

    Not supported are two half-spaces, and a field with a shape that is not convex and bounded, unless one of them is a
    point cloud.
    """
    if type(a) in FIELDS or type(b) in FIELDS:
        return is_bounded(a) or is_bounded(b) or PointCloud in (type(a), type(b))
    return a.origin_radius is not None or b.origin_radius is not None


def minimum_of(result: list[SignedDistance]) -> tuple[SignedDistance, Any]:
    """Return the smallest of several signed distances and its index.

    The distance is marked as not unique if another one has the same value at another point.
    """
    best, index = result[0], 0.0
    for k, candidate in enumerate(result[1:], 1):
        gap = candidate.on_a - best.on_a
        tie = and_(le(fabs(candidate.distance - best.distance), _TIE), lt(_APART, gap.dot(gap)))
        better = lt(candidate.distance, best.distance)
        best = chosen(better, candidate, best)
        best = replace(best, unique=where(tie, 0.0, best.unique))
        index = where(better, float(k), index)
    return best, index


def _field(shape: Shape, X: Pose, b: Solid) -> SignedDistance:
    field = FIELDS[type(shape)]
    return field_distance(type(shape), field.arrays(shape), X, b, field.radius(shape))


def _entry(index: Any, entries: list[Any]) -> Any:
    result = entries[0]
    for k, entry in enumerate(entries[1:], 1):
        result = where(le(float(k), index), entry, result)
    return result


def _named(shape: Shape) -> str:
    return f"a {type(shape).__name__}"


_HEAD = 16  # values before the arrays: there, reach, radius, the pose, and the slope of distances


@dataclass(frozen=True, slots=True)
class FieldKind(SolidKind):
    """Type of field together with the names and shapes of its arrays.

    All fields of one kind are described by the same number of values.
    """

    arrays: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def name(self) -> str:
        """Name of the kind, such as "heightfield_9x9_31x2_6"."""
        sizes = ("x".join(map(str, shape)) for _, shape in self.arrays)
        return "_".join([self.core.__name__.lower(), *sizes])

    @property
    def size(self) -> int:
        """Number of values that describe a field of this kind: its pose, radii and arrays."""
        return _HEAD + sum(math.prod(shape) for _, shape in self.arrays)

    @property
    def in_loops(self) -> bool:
        return False

    def solid(self, row: Sequence[Any]) -> SolidRow:
        """Return the field as a solid, over any scalar, from the values that describe it: pose, radii and arrays."""
        values = [*row]
        x, y, z, p = (Vec3.of(values[k : k + 3]) for k in range(3, _HEAD - 1, 3))
        pose = Pose(Rotation(x, y, z), p)
        arrays, start = {}, _HEAD
        for name, shape in self.arrays:
            size = math.prod(shape)
            array = np.empty(size, dtype=object)
            array[:] = values[start : start + size]
            arrays[name], start = array.reshape(shape), start + size
        core = FieldCore(
            pose, lambda core: field_distance(self.core, arrays, pose, Solid(core)), slope=values[_HEAD - 1]
        )
        if self.core is PointCloud:
            core = replace(core, points=lambda measure: least_of_points(Cloud(**arrays), pose, measure))
        return SolidRow(values[0], values[1], Solid(core, values[2]))

    def data(self, row: Sequence[Any]) -> Sequence[Any]:
        """Return the values of a field's arrays from ``row``, which also has pose and radii."""
        return row[_HEAD:]

    def placed(self, X: Pose, radius: Any, data: Sequence[Any]) -> Solid:
        """Return the field with the arrays ``data``, flattened into one sequence, at a pose and grown by a radius."""
        R = X.rotation
        return self.solid([1.0, 0.0, radius, *R.x, *R.y, *R.z, *X.translation, 1.0, *data]).solid


def field_row(shape: Shape, X: Pose, *, moves: bool = False) -> tuple[FieldKind, list[Any]]:
    """Return the kind of a field, and all values that describe it at a pose: radii, pose, slope and arrays.

    The slope bounds the change of distances per displacement, of a field that rests or that ``moves``.

    A distance field is grown by its `error`.  Its distances are therefore lower bounds, if the values on the grid are
    exact.
    """
    arrays = FIELDS[type(shape)].arrays(shape)
    kind = FieldKind(type(shape), 0, tuple((name, array.shape) for name, array in arrays.items()))
    R = X.rotation
    radius = shape.error if isinstance(shape, DistanceField) else FIELDS[type(shape)].radius(shape)
    reach, slope = FIELDS[type(shape)].reach(shape) + radius, distance_slope(shape, moves=moves)
    head = [1.0, reach, radius, *R.x, *R.y, *R.z, *X.translation, slope]
    return kind, [*head, *(float(x) for array in arrays.values() for x in array.ravel())]


_MAX_POINTS = 4_000_000
_BATCH = 1 << 15


@public
def distance_field(shapes: Any, spacing: Any, *, margin: float | None = None) -> DistanceField:
    """Compute a distance field of shapes: signed distances at the points of a grid around them.

    ``shapes`` are those of a `linkwork.shapes.Compound`: shapes, pairs (shape, pose), or results of `Shape.at`.  Inside
    overlapping shapes, the distance of the deepest shape counts.  ``spacing`` [m] is one number or three.  The grid
    extends beyond the shapes by ``margin`` [m], by default four cells; a larger margin makes distances outside the
    shapes more exact.  The interpolation error is at most `DistanceField.error`.

    >>> import linkwork as lw
    >>> from linkwork import shapes
    >>> field = lw.distance_field([shapes.Sphere(0.1)], 0.05)
    >>> field.values.shape, float(field.values[6, 6, 6])
    ((13, 13, 13), -0.1)

    Raises ValueError for an invalid spacing or margin, unbounded shapes, and more than 4 000 000 points; TypeError for
    an invalid shape.
    """
    caller = "distance_field"
    if isinstance(shapes, (list, tuple, np.ndarray)) and not len(shapes):
        raise ValueError("distance_field: shapes: expected at least one shape, got an empty list")
    parts = (shapes if isinstance(shapes, Compound) else Compound(shapes)).parts
    steps = sizes(caller, "spacing", spacing if np.ndim(spacing) else (spacing,) * 3, 3)
    edge = 4.0 * max(steps) if margin is None else sizes(caller, "margin", margin)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for part in parts:
        reach = part.shape.origin_radius
        if reach is None or not math.isfinite(reach):
            raise ValueError(f"{caller}: shapes: expected shapes of a known size, got {part.shape!r}")
        center = np.array([*part.origin.translation])
        low, high = np.minimum(low, center - reach), np.maximum(high, center + reach)
    cells = [max(math.ceil((b - a + 2.0 * edge) / h - 1e-9), 1) for a, b, h in zip(low, high, steps, strict=True)]
    count = math.prod(n + 1 for n in cells)
    if count > _MAX_POINTS:
        raise ValueError(
            f"{caller}: spacing: expected a grid of at most {_MAX_POINTS} points, got {count}; use a larger spacing"
        )
    origin = 0.5 * (low + high) - 0.5 * np.array(cells) * steps
    axes = (o + h * np.arange(n + 1) for o, h, n in zip(origin, steps, cells, strict=True))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = np.concatenate([_minimum_distances(parts, points[k : k + _BATCH]) for k in range(0, count, _BATCH)])
    return DistanceField(values.reshape([n + 1 for n in cells]), steps, origin)


def _minimum_distances(parts: Any, points: np.ndarray) -> np.ndarray:
    batch = Solid(PointCore(Vec3(*points.T)))
    least = np.full(len(points), np.inf)
    for part in parts:
        kind = type(part.shape)
        if kind in FIELDS:
            field = FIELDS[kind]
            result = field_distance(kind, field.arrays(part.shape), part.origin, batch, field.radius(part.shape))
        else:
            result = signed_distance(solid(part.shape, part.origin), batch)
        least = np.minimum(least, result.distance)
    return least
