"""What shapes that are given by arrays have in common.

The distance field: signed distances at the points of a grid.

The height field: ground.

The point cloud: what a depth camera or a lidar saw.
"""

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
    """A shape of arrays, which are kept as they are: read-only copies, compared number by number."""

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


def given_array(value: Any, expected: str, dimensions: int, least: tuple[int, ...]) -> np.ndarray:
    """Finite numbers in an array of so many dimensions, along each of them at least so many, read-only.

    Raises ValueError.
    """
    shape = np.shape(value)
    if len(shape) != dimensions or any(have < need for have, need in zip(shape, least, strict=True)):
        raise ValueError(f"{expected}, got an array of shape {shape}")
    numbers = np.array(value)
    if numbers.dtype.kind in "iuf" and not np.isfinite(numbers).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(numbers))[0])
        raise ValueError(f"{expected}, all finite, got {numbers[where]} at {where}")
    return frozen(checked_array(numbers, expected, shape))


def placed_grid(
    what: str, spacing: Any, origin: Any, counts: tuple[int, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """How far points of a grid are apart along its axes, one number or one an axis, and where the first is [m].

    The middle of the grid is at zero if no origin is given.  Raises ValueError.
    """
    many = len(counts)
    apart = sizes(what, "spacing", spacing if np.ndim(spacing) else (spacing,) * many, many)
    if origin is None:
        return apart, tuple(-0.5 * s * (n - 1) for s, n in zip(apart, counts, strict=True))
    expected = f"{what}: origin: expected {_WORDS[many]} numbers [m]"
    given = given_array(origin, expected, 1, (many,))
    if given.shape != (many,):
        raise ValueError(f"{expected}, got an array of shape {given.shape}")
    return apart, tuple(given.tolist())


def ends_of_grid(spacing: tuple[float, ...], origin: tuple[float, ...], counts: tuple[int, ...]) -> list[float]:
    """By axis: how far the points of a grid are from zero at most [m]."""
    grid = zip(origin, spacing, counts, strict=True)
    return [float(np.abs([o, o + s * (n - 1)]).max()) for o, s, n in grid]


def frozen(numbers: np.ndarray) -> np.ndarray:
    """A copy that nobody can change."""
    copy = np.array(numbers, dtype=float, order="C")
    copy.setflags(write=False)
    return copy


@public
@dataclass(frozen=True, slots=True, eq=False)
class DistanceField(Sampled):
    """Signed distances (l, m, n) [m] at the points origin + (spacing[0] i, spacing[1] j, spacing[2] k).

    ``spacing`` [m] is one number or three, ``origin`` (3,) [m], the middle of the grid at zero if left out.  Between
    points distances are interpolated, which is off by ``error`` at most; beyond the grid there is taken to be nothing.
    `linkwork.distance_field` makes one of shapes.

    Raises ValueError for fewer than two points along an axis, numbers that are not finite, and a spacing that is not
    above zero.
    """

    values: Any
    spacing: Any
    origin: Any = None

    def __post_init__(self) -> None:
        what = "distance field"
        expected = f"{what}: values: expected numbers (l, m, n) [m], at least (2, 2, 2)"
        values = given_array(self.values, expected, 3, (2, 2, 2))
        spacing, origin = placed_grid(what, self.spacing, self.origin, values.shape)
        for name, value in (("values", values), ("spacing", spacing), ("origin", origin)):
            object.__setattr__(self, name, value)

    @property
    def error(self) -> float:
        """How far interpolated distances are off at most, if those at the points are right: half of a cell's diagonal.

        A distance d changes by no more than one goes, so Σ wᵢ d(cᵢ) is off by Σ wᵢ ‖p − cᵢ‖ ≤ √(Σ wᵢ ‖p − cᵢ‖²), and
        that is √(Σ t (1 − t) h²) over the axes.
        """
        return 0.5 * float(np.linalg.norm(self.spacing))

    @property
    def origin_radius(self) -> float:
        ends = ends_of_grid(self.spacing, self.origin, self.values.shape)
        return float(np.linalg.norm(ends))


@public
@dataclass(frozen=True, slots=True, eq=False)
class HeightField(Sampled):
    """Ground under a grid: all that lies below its triangles, down to any depth.

    ``heights`` (m, n) [m] are z above the points origin + (spacing[0] i, spacing[1] j); ``spacing`` [m] is one number
    or two, ``origin`` (2,) [m], the middle of the grid at zero if left out.  Each cell has two triangles, on both sides
    of the line from (i, j) to (i + 1, j + 1).  Beyond the grid is nothing: let it reach further than what stands on
    it.

    Raises ValueError for fewer than two rows or columns, numbers that are not finite, and a spacing that is not above
    zero.

    >>> from linkwork import shapes
    >>> ground = shapes.HeightField([[0.0, 0.0], [0.1, 0.1]], 0.5)
    >>> ground.origin, round(ground.origin_radius, 4)
    ((-0.25, -0.25), 0.3674)
    """

    heights: Any
    spacing: Any
    origin: Any = None

    def __post_init__(self) -> None:
        what = "height field"
        heights = given_array(self.heights, f"{what}: heights: expected numbers (m, n) [m], at least (2, 2)", 2, (2, 2))
        spacing, origin = placed_grid(what, self.spacing, self.origin, heights.shape)
        for name, value in (("heights", heights), ("spacing", spacing), ("origin", origin)):
            object.__setattr__(self, name, value)

    @property
    def origin_radius(self) -> float:
        """Of the surface: the ground below it has no end."""
        ends = ends_of_grid(self.spacing, self.origin, self.heights.shape)
        return float(np.linalg.norm([*ends, np.abs(self.heights).max()]))


@public
@dataclass(frozen=True, slots=True, eq=False)
class PointCloud(Sampled):
    """Points (n, 3) [m], each a ball of that radius [m], which may be zero.

    Raises ValueError for a cloud without points, numbers that are not finite and a radius below zero.

    >>> from linkwork import shapes
    >>> shapes.PointCloud([[0.0, 3.0, 4.0]], 0.01).origin_radius
    5.01
    """

    points: Any
    radius: float = 0.0

    def __post_init__(self) -> None:
        expected = "point cloud: points: expected an array (n, 3) [m] of one point at least"
        points = given_array(self.points, expected, 2, (1, 3))
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
