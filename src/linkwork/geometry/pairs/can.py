"""A cylinder as a box sees it, and how far apart planes across a direction keep the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...expr.functions import fabs, lt, sqrt, where
from ...spatial import Vec3

__all__ = ["Can"]


@dataclass(frozen=True, slots=True)
class Can:
    """In the axes of a box: the cylinder's center and axis, of length 1; radius, half of its length, and the box's half
    edges.  ``sines`` are those of the angles between the axis and the box's."""

    center: Vec3
    axis: Vec3
    radius: Any
    half: Any
    box: Vec3
    sines: tuple[Any, Any, Any]

    @staticmethod
    def of(center: Vec3, axis: Vec3, radius: Any, half: Any, box: Vec3) -> Can:
        """With its sines."""
        x, y, z = (v * v for v in axis)
        return Can(center, axis, radius, half, box, tuple(_root(s) for s in (y + z, z + x, x + y)))

    def height(self, n: Vec3) -> Any:
        """h(n): the sum of what both reach along n, of length 1, or −n, less the way between their centers."""
        turned = n.cross(self.axis)
        reach = self.half * fabs(n.dot(self.axis)) + self.radius * _root(turned.dot(turned))
        for x, side in zip(n, self.box, strict=True):
            reach = reach + side * fabs(x)
        return reach - fabs(n.dot(self.center))


def _root(square: Any) -> Any:
    known = lt(1e-300, square)
    return where(known, sqrt(where(known, square, 1.0)), 0.0)
