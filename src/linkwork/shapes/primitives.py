"""The box."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.mass_properties import Moments, of_polytope_grown
from linkwork.shapes.quickhull import hull_triangles
from linkwork.shapes.shape import Shape, sizes
from linkwork.spatial import Symmetric3

__all__ = ["Box"]


@public
@dataclass(frozen=True, slots=True)
class Box(Shape):
    """A box about the origin: its edges along x, y and z [m].  Raises ValueError where one is not above zero."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sizes("box", "size", self.size, 3))

    @property
    def reach(self) -> float:
        return 0.5 * math.hypot(*self.size)

    @property
    def volume(self) -> float:
        return math.prod(self.size)

    def gyration(self) -> Symmetric3:
        x, y, z = (a * a / 12.0 for a in self.size)
        return Symmetric3.diagonal(y + z, x + z, x + y)

    def _support(self, units: np.ndarray) -> np.ndarray:
        return np.where(units < 0.0, -0.5, 0.5) * self.size

    def _grown(self, radius: float) -> Moments:
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        return of_polytope_grown(corners * self.size, hull_triangles(corners), radius)
