"""The cone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.mass_properties import Moments, arc, line, of_revolution
from linkwork.shapes.primitives_cylinder import rim
from linkwork.shapes.shape import Shape, sizes
from linkwork.spatial import Symmetric3, Vec3

__all__ = ["Cone"]


@public
@dataclass(frozen=True, slots=True)
class Cone(Shape):
    """A cone about the z axis: its base, of that radius, at z = −length/2, its apex at z = length/2 [m].

    Its centre of mass lies a quarter of its length above the base.  Raises ValueError where a size is not above zero.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", sizes("cone", "radius", self.radius))
        object.__setattr__(self, "length", sizes("cone", "length", self.length))

    @property
    def reach(self) -> float:
        return math.hypot(self.radius, 0.5 * self.length)

    @property
    def volume(self) -> float:
        return math.pi / 3.0 * self.radius * self.radius * self.length

    @property
    def center(self) -> Vec3:
        return Vec3(0.0, 0.0, -0.25 * self.length)

    def gyration(self) -> Symmetric3:
        square = self.radius * self.radius
        across = 0.15 * square + 0.0375 * self.length * self.length
        return Symmetric3.diagonal(across, across, 0.3 * square)

    @property
    def bound(self) -> tuple[Vec3, float]:
        r, l = self.radius, self.length
        if r >= l:  # the base's circle is the sphere's
            return Vec3(0.0, 0.0, -0.5 * l), r
        radius = 0.5 * (l + r * (r / l))  # through the apex and the base's circle
        return Vec3(0.0, 0.0, 0.5 * l - radius), radius

    def _support(self, units: np.ndarray) -> np.ndarray:
        points = rim(units, self.radius)
        flat = np.hypot(units[..., 0], units[..., 1])
        apex = units[..., 2] * self.length > flat * self.radius
        points[..., 2] = -0.5 * self.length
        return np.where(apex[..., None], [0.0, 0.0, 0.5 * self.length], points)

    def _grown(self, radius: float) -> Moments:
        half, r, right = 0.5 * self.length, self.radius, 0.5 * math.pi
        slope = math.atan2(r, self.length)  # of the side's normal
        up, out = radius * math.sin(slope), radius * math.cos(slope)
        side = line((up - half, up + half), (r + out, out))
        return of_revolution([arc(-half, r, radius, -right, slope), side, arc(half, 0.0, radius, slope, right)])
