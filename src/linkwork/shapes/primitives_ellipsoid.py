"""The ellipsoid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.mass_properties import Moments, of_ellipsoid_grown
from linkwork.shapes.shape import Shape, sizes
from linkwork.spatial import Symmetric3

__all__ = ["Ellipsoid"]


@public
@dataclass(frozen=True, slots=True)
class Ellipsoid(Shape):
    """An ellipsoid about the origin: its radii along x, y and z [m], all above zero (ValueError)."""

    radii: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", sizes("ellipsoid", "radii", self.radii, 3))

    @property
    def reach(self) -> float:
        return max(self.radii)

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * math.prod(self.radii)

    def gyration(self) -> Symmetric3:
        x, y, z = (0.2 * a * a for a in self.radii)
        return Symmetric3.diagonal(y + z, x + z, x + y)

    def _support(self, units: np.ndarray) -> np.ndarray:
        unit = np.array(self.radii) / self.reach  # so that nothing underflows
        image = units * unit
        return np.asarray(self.radii * image / np.sqrt((image * image).sum(axis=-1, keepdims=True)))

    def _grown(self, radius: float) -> Moments:
        return of_ellipsoid_grown(self.radii, radius)
