"""The point cloud: what a depth camera or a lidar saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import is_real
from linkwork.shapes.field_shapes import Sampled, given_array
from linkwork.shapes.shape import sizes

__all__ = ["PointCloud"]


@public
@dataclass(frozen=True, slots=True, eq=False)
class PointCloud(Sampled):
    """Points (n, 3) [m], each a ball of that radius [m], which may be zero.

    Raises ValueError for a cloud without points, numbers that are not finite and a radius below zero.

    >>> from linkwork import shapes
    >>> shapes.PointCloud([[0.0, 3.0, 4.0]], 0.01).reach
    5.01
    """

    points: Any
    radius: float = 0.0

    def __post_init__(self) -> None:
        expected = "point cloud: points: expected an array (n, 3) [m] of one point at least"
        points = given_array(self.points, expected, 2, (1, 3))
        if points.shape[1] != 3:
            raise ValueError(f"{expected}, got an array of shape {points.shape}")
        object.__setattr__(self, "points", points)
        radius = self.radius
        if not (is_real(radius) and radius == 0):
            radius = sizes("point cloud", "radius", radius)
        object.__setattr__(self, "radius", float(radius))

    @property
    def reach(self) -> float:
        return float(np.linalg.norm(self.points, axis=1).max()) + self.radius
