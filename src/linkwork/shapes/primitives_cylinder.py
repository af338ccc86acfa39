"""The cylinder."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.mass_properties import Moments, arc, line, of_revolution
from linkwork.shapes.shape import Shape, sizes
from linkwork.spatial import Symmetric3

__all__ = ["Cylinder", "rim"]


@public
@dataclass(frozen=True, slots=True)
class Cylinder(Shape):
    """A cylinder about the origin, its axis along z: radius and length [m], both above zero (ValueError)."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", sizes("cylinder", "radius", self.radius))
        object.__setattr__(self, "length", sizes("cylinder", "length", self.length))

    @property
    def reach(self) -> float:
        return math.hypot(self.radius, 0.5 * self.length)

    @property
    def volume(self) -> float:
        return math.pi * self.radius * self.radius * self.length

    def gyration(self) -> Symmetric3:
        square = self.radius * self.radius
        across = 0.25 * square + self.length * self.length / 12.0
        return Symmetric3.diagonal(across, across, 0.5 * square)

    def _support(self, units: np.ndarray) -> np.ndarray:
        points = rim(units, self.radius)
        points[..., 2] = np.where(units[..., 2] < 0.0, -0.5, 0.5) * self.length
        return points

    def _grown(self, radius: float) -> Moments:
        half, r, right = 0.5 * self.length, self.radius, 0.5 * math.pi
        side = line((-half, half), (r + radius, r + radius))
        return of_revolution([arc(-half, r, radius, -right, 0.0), side, arc(half, r, radius, 0.0, right)])


def rim(units: np.ndarray, radius: float) -> np.ndarray:
    """The farthest points along directions (..., 3) of a circle about z, at z = 0; along z, its centre is given."""
    points = np.zeros_like(units)
    flat = units[..., :2]
    length = np.hypot(flat[..., :1], flat[..., 1:])
    points[..., :2] = np.where(length > 0.0, flat / np.where(length > 0.0, length, 1.0), 0.0) * radius
    return points
