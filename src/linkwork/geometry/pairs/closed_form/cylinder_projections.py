"""A cylinder in the axes of a box, projections onto cylinders, and ties between candidate directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.functions import and_, fabs, fmin, le, lt, or_, where
from linkwork.geometry.unit_vectors import choose, clamp, length, rounding
from linkwork.spatial import Vec3

__all__ = ["CylinderInBoxFrame", "in_both", "in_cylinder", "is_tied", "out_of_cylinder", "tolerance"]

_TIE = 1e-14  # of sizes: depths that differ by less are as good
_OFF = 1e-12  # the same, of points that are in their bodies
_PROJECTIONS = 40
_BETTER = 0.01  # of the square of how far a point is out: else projections in turn are of no use
_SAME = 1e-9  # 1 less the cosine of directions that are one


@dataclass(frozen=True, slots=True)
class CylinderInBoxFrame:
    """In the axes of a box: the cylinder's center and axis, of length 1; radius, half of its length, and the box's half
    edges.  ``sines`` are those of the angles between the axis and the box's.
    """

    center: Vec3
    axis: Vec3
    radius: Any
    half: Any
    box: Vec3
    sines: tuple[Any, Any, Any]

    @staticmethod
    def of(center: Vec3, axis: Vec3, radius: Any, half: Any, box: Vec3) -> CylinderInBoxFrame:
        """With its sines."""
        sines = (
            length(Vec3(axis.y, axis.z, 0.0)),
            length(Vec3(axis.z, axis.x, 0.0)),
            length(Vec3(axis.x, axis.y, 0.0)),
        )
        return CylinderInBoxFrame(center, axis, radius, half, box, sines)

    def height(self, n: Vec3) -> Any:
        """h(n): the sum of what both reach along n, of length 1, or −n, less the way between their centers."""
        turned = n.cross(self.axis)
        reach = self.half * fabs(n.dot(self.axis)) + self.radius * length(turned)
        for x, side in zip(n, self.box, strict=True):
            reach = reach + side * fabs(x)
        return reach - fabs(n.dot(self.center))


def is_tied(known: Iterable[tuple[Any, Vec3]], h: Any, n: Vec3, between: Vec3, size: Any) -> Any:
    """Whether another direction is as good, of those that are known with their heights, or the opposite one."""
    tied = le(fabs(n.dot(between)), _TIE * size)
    for other, m in known:
        tied = or_(tied, and_(lt(other, h + _TIE * size), lt(fabs(n.dot(m)), 1.0 - _SAME)))
    return tied


def tolerance(n: Vec3, size: Any) -> Any:
    """By how much points may be out of their bodies [m]."""
    return (_OFF + rounding(n)) * size


def in_cylinder(p: Vec3, center: Vec3, axis: Vec3, radius: Any, half: Any) -> Vec3:
    """The point of a cylinder that is nearest to p; the axis has length 1."""
    way = p - center
    z = axis.dot(way)
    out = way - axis * z
    far = length(out)
    result: Vec3 = center + axis * clamp(z, half) + out * (fmin(far, radius) / where(lt(0.0, far), far, 1.0))
    return result


def in_both(
    on_a: Vec3,
    end: Vec3,
    between: Vec3,
    enough: Any,
    out: Any,
    to_a: Callable[[Vec3], Vec3],
    to_b: Callable[[Vec3], Vec3],
) -> Vec3:
    """A's witness point, unless it is ``out`` of A or, moved by ``between``, of B: then what projections in turn find.

    Where something is flush but for next to nothing, the normal does not tell which of the points in a plane across it
    are in both bodies.  Projections begin at the middle of B's ``end``: the nearest point of A to it is in B's disc, if
    any is.
    """

    enough = enough * enough

    def step(state: tuple[Vec3, Any]) -> tuple[Vec3, Any]:
        below = to_b(state[0] + between) - between
        there = to_a(below)
        off = there - below
        return there, off.dot(off)

    def projected() -> Vec3:
        near, square = step((on_a, 0.0))
        start = choose(lt(enough, square), to_a(end - between), near), square
        result, off = while_loop(lambda state: lt(enough, state[1]), step, start, max_iterations=_PROJECTIONS).state
        return choose(lt(_BETTER * square, off), near, result)

    inside: Vec3 = cond(out, projected, lambda: on_a)
    return inside


def out_of_cylinder(p: Vec3, center: Vec3, axis: Vec3, radius: Any, half: Any, by: Any) -> Any:
    """Whether a point is out of a cylinder by more than some length, without a root."""
    way = p - center
    z, far = axis.dot(way), radius + by
    return or_(lt(half + by, fabs(z)), lt(far * far, way.dot(way) - z * z))
