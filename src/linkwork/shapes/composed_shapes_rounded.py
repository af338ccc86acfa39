"""Any shape, rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.composed_shapes import Compound
from linkwork.shapes.field_shapes import Sampled
from linkwork.shapes.mass_properties import Moments
from linkwork.shapes.mesh import Mesh
from linkwork.shapes.shape import Shape, sizes
from linkwork.spatial import Symmetric3, Vec3

__all__ = ["Rounded"]


@public
@dataclass(frozen=True, slots=True)
class Rounded(Shape):
    """All points within a radius [m] of a convex shape; a radius of zero changes nothing.

    What it weighs is exact, to rounding, for boxes, polytopes, cylinders, cones, capsules and spheres; for ellipsoids
    it is a quadrature over their surface (1e-9 for radii within a factor of 20, 2e-4 within one of 100).  Raises
    ValueError for a radius below zero and for what is no convex shape, such as a mesh's file.

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
    def reach(self) -> float | None:
        return None if self.shape.reach is None else self.shape.reach + self.radius

    @property
    def volume(self) -> float | None:
        found = self._grown(0.0)
        return None if found is None else found.volume

    @property
    def center(self) -> Vec3:
        found = self._grown(0.0)
        return Vec3.zero() if found is None else Vec3.of(found.center.tolist())

    def gyration(self) -> Symmetric3 | None:
        found = self._grown(0.0)
        return None if found is None else found.gyration()

    @property
    def bound(self) -> tuple[Vec3, float] | None:
        found = self.shape.bound
        return None if found is None else (found[0], found[1] + self.radius)

    def _support(self, units: np.ndarray) -> np.ndarray:
        return self.shape.support(units) + self.radius * units

    def _grown(self, radius: float) -> Moments | None:
        return self.shape._grown(self.radius + radius)
