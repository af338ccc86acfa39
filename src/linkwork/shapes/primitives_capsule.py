"""The capsule."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.mass_properties import Moments
from linkwork.shapes.shape import Shape, sizes
from linkwork.spatial import Symmetric3

__all__ = ["Capsule"]


@public
@dataclass(frozen=True, slots=True)
class Capsule(Shape):
    """All points within a radius of a segment along z, about the origin: a cylinder with a half sphere at either end.

    ``radius`` [m], above zero, and ``length`` [m], between the centres of the half spheres: zero makes a sphere.
    Raises ValueError.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", sizes("capsule", "radius", self.radius))
        object.__setattr__(self, "length", sizes("capsule", "length", self.length, zero=True))

    @property
    def reach(self) -> float:
        return self.radius + 0.5 * self.length

    @property
    def volume(self) -> float:
        return math.pi * self.radius * self.radius * (self.length + 4.0 / 3.0 * self.radius)

    def gyration(self) -> Symmetric3:
        # Of the cylinder, and of both half spheres, whose centres of mass lie 3/8 r beyond their flat sides.
        r, l = self.radius, self.length
        tube = l / (l + 4.0 / 3.0 * r)
        caps = 1.0 - tube
        along = tube * 0.5 * r * r + caps * 0.4 * r * r
        across = tube * (0.25 * r * r + l * l / 12.0) + caps * (0.4 * r * r + 0.375 * r * l + 0.25 * l * l)
        return Symmetric3.diagonal(across, across, along)

    def _support(self, units: np.ndarray) -> np.ndarray:
        points = units * self.radius
        points[..., 2] += np.where(units[..., 2] < 0.0, -0.5, 0.5) * self.length
        return points

    def _grown(self, radius: float) -> Moments:
        whole = Capsule(self.radius + radius, self.length)
        return Moments.of(whole.volume, whole.center, whole.gyration())
