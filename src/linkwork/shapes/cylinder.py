"""The cylinder."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..spatial import Symmetric3
from .shape import Shape, sizes

__all__ = ["Cylinder"]


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
