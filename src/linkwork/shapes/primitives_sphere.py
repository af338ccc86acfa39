"""The sphere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.mass_properties import Moments
from linkwork.shapes.shape import Shape, sizes
from linkwork.spatial import Symmetric3

__all__ = ["Sphere"]


@public
@dataclass(frozen=True, slots=True)
class Sphere(Shape):
    """A sphere about the origin: radius [m], above zero (ValueError)."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", sizes("sphere", "radius", self.radius))

    @property
    def reach(self) -> float:
        return self.radius

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * self.radius * self.radius * self.radius

    def gyration(self) -> Symmetric3:
        moment = 0.4 * self.radius * self.radius
        return Symmetric3.diagonal(moment, moment, moment)

    def _support(self, units: np.ndarray) -> np.ndarray:
        return units * self.radius

    def _grown(self, radius: float) -> Moments:
        whole = Sphere(self.radius + radius)
        return Moments.of(whole.volume, whole.center, whole.gyration())
