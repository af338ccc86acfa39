"""Shapes composed of other shapes: a compound of several shapes, and a convex shape with a rounding radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.field_shapes import Sampled
from linkwork.shapes.mass_properties import Moments
from linkwork.shapes.mesh import Mesh
from linkwork.shapes.shape import Geometry, MasslessShape, Shape, sizes
from linkwork.spatial import Symmetric3, Vec3
from linkwork.spatial.arguments import checked_pose

__all__ = ["Compound", "Rounded"]


@public
@dataclass(frozen=True, slots=True)
class Compound(MasslessShape):
    """Union of several shapes at poses, such as the convex components of a mesh.

    Its distance is the minimum of its components' distances.  ``parts`` are shapes, pairs (shape, pose) or results of
    `Shape.at`; nested compounds are flattened.  Components may overlap, so a compound has no mass properties.

    Raises ValueError for an empty list, TypeError for an element that is not a shape.

    >>> from linkwork import shapes
    >>> dumbbell = shapes.Compound([shapes.Sphere(0.1).at((0, 0, -0.3)), shapes.Sphere(0.1).at((0, 0, 0.3))])
    >>> len(dumbbell.parts), dumbbell.origin_radius
    (2, 0.4)
    """

    parts: Any

    def __post_init__(self) -> None:
        expected = "compound: parts: expected shapes, or pairs of a shape and a pose"
        if isinstance(self.parts, (str, bytes, Shape, Geometry)) or not hasattr(self.parts, "__iter__"):
            raise TypeError(f"{expected}, got {self.parts!r}")
        parts: list[Geometry] = []
        for k, part in enumerate(self.parts):
            placed = _placed(part, f"{expected}, got {part!r} at index {k}", f"compound: parts[{k}]: pose")
            if isinstance(placed.shape, Compound):
                parts += [replace(p, origin=placed.origin @ p.origin, material=None) for p in placed.shape.parts]
            else:
                parts.append(placed)
        if not parts:
            raise ValueError("compound: parts: expected at least one shape, got an empty list")
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def origin_radius(self) -> float | None:
        radii = [part.shape.origin_radius for part in self.parts]
        if any(radius is None for radius in radii):
            return None
        offsets = [np.linalg.norm([*part.origin.translation]) for part in self.parts]
        return float(max(offset + radius for offset, radius in zip(offsets, radii, strict=True)))


def _placed(part: Any, expected: str, pose: str) -> Geometry:
    if isinstance(part, Geometry):
        return part
    if isinstance(part, Shape):
        return Geometry(part, checked_pose(None, pose))
    if isinstance(part, Sequence) and len(part) == 2 and isinstance(part[0], Shape):
        return Geometry(part[0], checked_pose(part[1], pose))
    raise TypeError(expected)


@public
@dataclass(frozen=True, slots=True)
class Rounded(Shape):
    """Rounded shape: all points within a non-negative radius [m] of a convex shape.

    Mass properties are exact to rounding for boxes, polytopes, cylinders, cones, capsules and spheres.  For ellipsoids
    they are a quadrature over the surface: relative error 1e-9 for radii within a factor of 20, 2e-4 within 100.

    Raises ValueError for a negative radius and for a shape that is not convex, such as a mesh file.

    >>> from linkwork import shapes
    >>> pad = shapes.Rounded(shapes.Box((0.1, 0.1, 0.02)), 0.01)
    >>> pad.support((0, 0, 1)).tolist()[2], round(pad.volume, 8)
    (0.02, np.float64(0.0005533))
    """

    shape: Shape
    radius: float

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape) or isinstance(self.shape, (Mesh, Sampled, Compound)):
            raise ValueError(f"rounded: shape: expected a convex shape, got {self.shape!r}")
        object.__setattr__(self, "radius", sizes("rounded", "radius", self.radius, zero=True))

    @property
    def origin_radius(self) -> float | None:
        return None if self.shape.origin_radius is None else self.shape.origin_radius + self.radius

    @property
    def volume(self) -> float | None:
        result = self._grown(0.0)
        return None if result is None else result.volume

    @property
    def center(self) -> Vec3:
        result = self._grown(0.0)
        return Vec3.zero() if result is None else Vec3.of(result.center.tolist())

    def unit_inertia(self) -> Symmetric3 | None:
        result = self._grown(0.0)
        return None if result is None else result.unit_inertia()

    @property
    def bounding_sphere(self) -> tuple[Vec3, float] | None:
        result = self.shape.bounding_sphere
        return None if result is None else (result[0], result[1] + self.radius)

    def _support(self, units: np.ndarray) -> np.ndarray:
        return self.shape.support(units) + self.radius * units

    def _grown(self, radius: float) -> Moments | None:
        return self.shape._grown(self.radius + radius)
