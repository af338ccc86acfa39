"""Shapes defined by arrays: distance fields on a grid, height fields (terrain) and point clouds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import is_real
from linkwork.shapes.shape import MasslessShape, sizes
from linkwork.spatial.arguments import checked_array

__all__ = ["DistanceField", "HeightField", "PointCloud", "Sampled", "frozen"]


_WORDS = {2: "two", 3: "three"}


class Sampled(MasslessShape):
    """Base class of shapes defined by arrays, which are read-only copies and are compared element by element."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _key(self) == _key(other)

    def __hash__(self) -> int:
        return hash((type(self), _key(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


def _key(shape: Any) -> tuple[Any, ...]:
    values = (getattr(shape, field.name) for field in fields(shape))
    return tuple((x.shape, x.tobytes()) if isinstance(x, np.ndarray) else x for x in values)


def read_array(value: Any, expected: str, dimensions: int, least: tuple[int, ...]) -> np.ndarray:
    """Return an array of finite numbers, read-only, with the given number of dimensions and minimum sizes.

    Raises ValueError.
    """
    shape = np.shape(value)
    if len(shape) != dimensions or any(have < need for have, need in zip(shape, least, strict=True)):
        raise ValueError(f"{expected}, got an array of shape {shape}")
    array = np.array(value)
    if array.dtype.kind in "iuf" and not np.isfinite(array).all():
        index = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{expected}, all finite, got {array[index]} at {index}")
    return frozen(checked_array(array, expected, shape))


def placed_grid(
    shape: str, spacing: Any, origin: Any, counts: tuple[int, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the spacing of a grid along each axis and the position of its first point [m].

    A scalar spacing applies to all axes.  By default the grid is centred at zero.  Raises ValueError.
    """
    dimensions = len(counts)
    steps = sizes(shape, "spacing", spacing if np.ndim(spacing) else (spacing,) * dimensions, dimensions)
    if origin is None:
        return steps, tuple(-0.5 * s * (n - 1) for s, n in zip(steps, counts, strict=True))
    expected = f"{shape}: origin: expected {_WORDS[dimensions]} numbers [m]"
    first = read_array(origin, expected, 1, (dimensions,))
    if first.shape != (dimensions,):
        raise ValueError(f"{expected}, got an array of shape {first.shape}")
    return steps, tuple(first.tolist())


def ends_of_grid(spacing: tuple[float, ...], origin: tuple[float, ...], counts: tuple[int, ...]) -> list[float]:
    """Return the maximum absolute coordinate of a grid's points along each axis [m]."""
    grid = zip(origin, spacing, counts, strict=True)
    return [float(np.abs([o, o + s * (n - 1)]).max()) for o, s, n in grid]


def frozen(values: np.ndarray) -> np.ndarray:
    """Return a read-only copy of an array."""
    copy = np.array(values, dtype=float, order="C")
    copy.setflags(write=False)
    return copy


@public
@dataclass(frozen=True, slots=True, eq=False)
class DistanceField(Sampled):
    """Signed distances ``values`` (l, m, n) [m] at the points origin + (spacing[0] i, spacing[1] j, spacing[2] k).

    ``spacing`` [m] is one number or three; ``origin`` is (3,) [m].  By default the grid is centred at zero.  Distances
    are interpolated between the points, with an error of at most ``error``; space outside the grid counts as empty.
    `linkwork.distance_field` computes a field from shapes.

    Raises ValueError for fewer than two points along an axis, values that are not finite, and a spacing that is not
    positive.
    """

    values: Any
    spacing: Any
    origin: Any = None

    def __post_init__(self) -> None:
        shape = "distance field"
        expected = f"{shape}: values: expected numbers (l, m, n) [m], at least (2, 2, 2)"
        values = read_array(self.values, expected, 3, (2, 2, 2))
        spacing, origin = placed_grid(shape, self.spacing, self.origin, values.shape)
        for name, value in (("values", values), ("spacing", spacing), ("origin", origin)):
            object.__setattr__(self, name, value)

    @property
    def error(self) -> float:
        """Bound on the interpolation error of distances that are exact at the grid's points: half a cell's diagonal.

        A distance function d is 1-Lipschitz, so Σ wᵢ d(cᵢ) has an error of at most Σ wᵢ ‖p − cᵢ‖ ≤ √(Σ wᵢ ‖p − cᵢ‖²),
        which is √(Σ t (1 − t) h²) over the axes.
        """
        return 0.5 * float(np.linalg.norm(self.spacing))

    @property
    def origin_radius(self) -> float:
        ends = ends_of_grid(self.spacing, self.origin, self.values.shape)
        return float(np.linalg.norm(ends))


@public
@dataclass(frozen=True, slots=True, eq=False)
class HeightField(Sampled):
    """Terrain on a grid: the solid of all points below its triangles, to any depth, with vertical walls at its edge.

    ``heights`` (m, n) [m] are z at the points origin + (spacing[0] i, spacing[1] j).  ``spacing`` [m] is one number or
    two; ``origin`` is (2,) [m].  By default the grid is centred at zero.  Each cell has two triangles, separated by the
    line from (i, j) to (i + 1, j + 1).  Space beside the grid is empty, so the grid extends beyond the objects that
    stand on it.

    Raises ValueError for fewer than two rows or columns, values that are not finite, and a spacing that is not
    positive.

    >>> from linkwork import shapes
    >>> ground = shapes.HeightField([[0.0, 0.0], [0.1, 0.1]], 0.5)
    >>> ground.origin, round(ground.origin_radius, 4)
    ((-0.25, -0.25), 0.3674)
    """

    heights: Any
    spacing: Any
    origin: Any = None

    def __post_init__(self) -> None:
        shape = "height field"
        heights = read_array(self.heights, f"{shape}: heights: expected numbers (m, n) [m], at least (2, 2)", 2, (2, 2))
        spacing, origin = placed_grid(shape, self.spacing, self.origin, heights.shape)
        for name, value in (("heights", heights), ("spacing", spacing), ("origin", origin)):
            object.__setattr__(self, name, value)

    @property
    def origin_radius(self) -> float:
        """Radius [m] of a sphere about the origin that contains the surface; the terrain below it is unbounded."""
        ends = ends_of_grid(self.spacing, self.origin, self.heights.shape)
        return float(np.linalg.norm([*ends, np.abs(self.heights).max()]))


@public
@dataclass(frozen=True, slots=True, eq=False)
class PointCloud(Sampled):
    """Cloud of ``points`` (n, 3) [m], each a ball of the common ``radius`` [m], which may be zero.

    Raises ValueError for an empty cloud, values that are not finite and a negative radius.

    >>> from linkwork import shapes
    >>> shapes.PointCloud([[0.0, 3.0, 4.0]], 0.01).origin_radius
    5.01
    """

    points: Any
    radius: float = 0.0

    def __post_init__(self) -> None:
        expected = "point cloud: points: expected an array (n, 3) [m] of at least one point"
        points = read_array(self.points, expected, 2, (1, 3))
        if points.shape[1] != 3:
            raise ValueError(f"{expected}, got an array of shape {points.shape}")
        object.__setattr__(self, "points", points)
        radius = self.radius
        if not (is_real(radius) and radius == 0):
            radius = sizes("point cloud", "radius", radius)
        object.__setattr__(self, "radius", float(radius))

    @property
    def origin_radius(self) -> float:
        return float(np.linalg.norm(self.points, axis=1).max()) + self.radius
