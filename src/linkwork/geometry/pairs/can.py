"""A cylinder as a box sees it, and how far apart planes across a direction keep the two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...expr.functions import and_, fabs, le, lt, or_
from ...spatial import Vec3
from ..directions import length

__all__ = ["Can", "is_tied"]

_TIE = 1e-14  # of sizes: depths that differ by less are as good
_SAME = 1e-9  # 1 less the cosine of directions that are one


def is_tied(known: Iterable[tuple[Any, Vec3]], h: Any, n: Vec3, between: Vec3, size: Any) -> Any:
    """Whether another direction is as good, of those that are known with their heights, or the opposite one."""
    tied = le(fabs(n.dot(between)), _TIE * size)
    for other, m in known:
        tied = or_(tied, and_(lt(other, h + _TIE * size), lt(fabs(n.dot(m)), 1.0 - _SAME)))
    return tied


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
        sines = (
            length(Vec3(axis.y, axis.z, 0.0)),
            length(Vec3(axis.z, axis.x, 0.0)),
            length(Vec3(axis.x, axis.y, 0.0)),
        )
        return Can(center, axis, radius, half, box, sines)

    def height(self, n: Vec3) -> Any:
        """h(n): the sum of what both reach along n, of length 1, or −n, less the way between their centers."""
        turned = n.cross(self.axis)
        reach = self.half * fabs(n.dot(self.axis)) + self.radius * length(turned)
        for x, side in zip(n, self.box, strict=True):
            reach = reach + side * fabs(x)
        return reach - fabs(n.dot(self.center))
