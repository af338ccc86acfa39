"""Check of a shape against the contract of `Shape`: `check_shape`.

The shape's own support points are the reference.  Their convex hull converges to a convex shape as the number of
directions grows, so its volume, centre and inertia need no formula of the shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.contract_report import (
    ContractReport,
    Requirement,
    check_requirements,
    relative_error,
    require_value,
)
from linkwork.shapes.mass_properties import Moments, of_triangles
from linkwork.shapes.quickhull import hull_triangles
from linkwork.shapes.shape import Shape
from linkwork.spatial import Symmetric3, Vec3

__all__ = ["REQUIREMENTS", "check_shape"]

_ROUNDING = 1e-9
_SAMPLING = 1e-2  # tolerance of the moments of a hull of support points
_COARSE, _FINE = 150, 600  # directions of the two hulls from which moments are extrapolated


@public
def check_shape(shape: Shape, *, seed: int | np.random.Generator = 0) -> ContractReport:
    """Check a shape, for example a user-defined one, against the contract of `linkwork.shapes.Shape`.

    Support points in directions from ``seed`` are compared with each other, with ``origin_radius`` and with
    ``bounding_sphere``.  Volume, centre and inertia are compared with the values of the support points' hull; a shape
    with a volume has to be convex. Requirements on properties that are ``None`` hold.  The report prints as a table;
    ``check_shape(shape).raise_if_failed()`` is a test.

    >>> from linkwork import shapes
    >>> print(shapes.check_shape(shapes.Cone(0.1, 0.3)))  # doctest: +ELLIPSIS
    shape Cone keeps the contract
    ok    value ...
    """
    kind = type(shape)
    if not isinstance(shape, Shape):
        raise TypeError(f"check_shape: shape: expected a linkwork.shapes.Shape, got {shape!r}")
    return check_requirements(f"shape {kind.__name__}", REQUIREMENTS, _Trial(shape, seed), kind, Shape)


class _Trial:
    """Shape to be checked, and the directions of its support points."""

    def __init__(self, shape: Shape, seed: int | np.random.Generator) -> None:
        self.shape = shape
        drawn = np.random.default_rng(seed).normal(size=(60, 3))
        self.directions = np.concatenate([drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.eye(3), -np.eye(3)])

    @property
    def has_support(self) -> bool:
        """True if the shape has support points, that is, overrides ``_support``."""
        return type(self.shape)._support is not Shape._support and self.shape.origin_radius is not None

    @cached_property
    def points(self) -> np.ndarray:
        return self.shape.support(self.directions) if self.has_support else np.empty((0, 3))

    def moments(self, radius: float = 0.0) -> Moments:
        """Return the moments of the hull of the support points, enlarged by ``radius``.

        The error of a smooth shape's hull is inversely proportional to the number of directions, so extrapolation from
        two hulls cancels it.
        """
        coarse, finer = (self._hull_moments(count, radius) for count in (_COARSE, _FINE))
        share = _COARSE / (_FINE - _COARSE)
        limits = [(1.0 + share) * np.asarray(b) - share * np.asarray(a) for a, b in zip(coarse, finer, strict=True)]
        return Moments(float(limits[0]), *limits[1:])

    def _hull_moments(self, count: int, radius: float) -> tuple[Any, ...]:
        directions = _spread(count)
        points = self.shape.support(directions) + radius * directions
        result = of_triangles(points, hull_triangles(points))
        return result.volume, result.center, result.second


def _spread(count: int) -> np.ndarray:
    """Return nearly uniform unit vectors (count, 3) along a spiral on the sphere."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = math.pi * (1.0 + math.sqrt(5.0)) * np.arange(count)
    flat = np.sqrt(1.0 - z * z)
    return np.stack([flat * np.cos(angle), flat * np.sin(angle), z], axis=1)


def _value(t: _Trial) -> list[float]:
    require_value(t.shape, "shapes")
    duplicate = copy(t.shape)
    for name in getattr(t.shape, "__dataclass_fields__", ()):
        try:
            setattr(duplicate, name, getattr(t.shape, name))
        except (AttributeError, TypeError):
            continue
        raise ValueError(f"{name}: a shape is immutable: make the class a frozen dataclass")
    return []


def _sizes(t: _Trial) -> list[float]:
    shape = t.shape
    for name in ("origin_radius", "volume"):
        size = getattr(shape, name)
        if size is not None and not (math.isfinite(size) and size > 0.0):
            raise ValueError(f"{name}: expected a positive number or None, got {size!r}")
    if not isinstance(shape.center, Vec3) or not all(map(math.isfinite, shape.center)):
        raise ValueError(f"center: expected a Vec3 of finite numbers [m], got {shape.center!r}")
    J = shape.unit_inertia()
    if J is not None and not isinstance(J, Symmetric3):
        raise ValueError(f"unit_inertia: expected a Symmetric3 [m²] or None, got {J!r}")
    if (J is None) != (shape.volume is None):
        raise ValueError("volume, unit_inertia: expected both, or None for both")
    if J is not None and np.linalg.eigvalsh(_second(shape)).min() < -_ROUNDING:
        raise ValueError(f"unit_inertia: not the inertia of a body: a moment exceeds the sum of the others: {J!r}")
    return []


def _second(shape: Shape) -> np.ndarray:
    J = shape.unit_inertia()
    assert J is not None
    return Moments.of(1.0, shape.center, J).second


def _batches(t: _Trial) -> list[float]:
    if not t.has_support:
        return []
    if t.points.shape != t.directions.shape:
        raise ValueError(f"support: expected points {t.directions.shape}, got shape {t.points.shape}")
    single = np.array([t.shape.support(d) for d in t.directions])
    folded = t.shape.support(t.directions.reshape(3, -1, 3)).reshape(-1, 3)
    scaled = t.shape.support(3.0 * t.directions)
    heights = _heights(t, t.points)
    return [relative_error(_heights(t, points), heights) for points in (single, folded, scaled)]


def _heights(t: _Trial, points: np.ndarray) -> np.ndarray:
    return np.asarray((points * t.directions).sum(axis=1))


def _farthest(t: _Trial) -> list[float]:
    """Return the distances by which other support points are farther along a direction than its own support point."""
    if not t.has_support:
        return []
    reached = t.directions @ t.points.T
    return [float((reached.max(axis=1) - np.diag(reached)).max()) / max(1.0, float(np.abs(reached).max()))]


def _beyond(points: np.ndarray, center: np.ndarray, radius: float) -> float:
    away = np.linalg.norm(points - center, axis=1)
    return float(np.max(away / radius - 1.0, initial=0.0))


def _reach(t: _Trial) -> list[float]:
    return (
        [_beyond(t.points, np.zeros(3), t.shape.origin_radius)]
        if t.has_support and t.shape.origin_radius is not None
        else []
    )


def _bound(t: _Trial) -> list[float]:
    if not t.has_support or t.shape.bounding_sphere is None:
        return []
    center, radius = t.shape.bounding_sphere
    reach = t.shape.origin_radius
    larger = 0.0 if reach is None else max(0.0, radius / reach - 1.0)
    return [_beyond(t.points, np.array([*center]), radius), larger]


def _volume(t: _Trial) -> list[float]:
    if t.shape.volume is None or not t.has_support:
        return []
    return [abs(t.moments().volume / t.shape.volume - 1.0)]


def _center(t: _Trial) -> list[float]:
    if t.shape.volume is None or not t.has_support or t.shape.origin_radius is None:
        return []
    return [float(np.linalg.norm(t.moments().center - [*t.shape.center])) / t.shape.origin_radius]


def _gyration(t: _Trial) -> list[float]:
    if t.shape.unit_inertia() is None or not t.has_support:
        return []
    second = _second(t.shape)
    return [float(np.abs(t.moments().second - second).max() / np.abs(second).max())]


def _grown(t: _Trial) -> Iterable[float]:
    if not t.has_support or t.shape.origin_radius is None:
        return []
    radius = 0.3 * t.shape.origin_radius
    grown = t.shape._grown(radius)
    if grown is None:
        return []
    hull, size = t.moments(radius), np.abs(grown.second).max()
    return [
        abs(hull.volume / grown.volume - 1.0),
        float(np.linalg.norm(hull.center - grown.center)) / t.shape.origin_radius,
        float(np.abs(hull.second - grown.second).max() / size),
    ]


REQUIREMENTS: tuple[Requirement[_Trial], ...] = (
    Requirement("value", "shapes of the same sizes are equal and hashable, and cannot be changed", 0.0, _value),
    Requirement("numbers", "sizes are positive or None, and the inertia is physical", 0.0, _sizes),
    Requirement("batches", "support points do not depend on the batch or the length", _ROUNDING, _batches),
    Requirement("support", "no point of the shape is farther along the direction", _ROUNDING, _farthest),
    Requirement("origin_radius", "all points are within origin_radius of the origin", _ROUNDING, _reach),
    Requirement(
        "bounding_sphere",
        "all points are in the bounding sphere, whose radius is at most origin_radius",
        _ROUNDING,
        _bound,
    ),
    Requirement("volume", "is that of the hull of the support points", _SAMPLING, _volume),
    Requirement("center", "is that of the hull of the support points", _SAMPLING, _center),
    Requirement("unit_inertia", "is that of the hull of the support points", _SAMPLING, _gyration),
    Requirement("grown", "_grown(r) has the moments of all points within r", _SAMPLING, _grown),
)
