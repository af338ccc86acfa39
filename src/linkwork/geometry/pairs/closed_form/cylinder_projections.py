"""A cylinder in the axes of a box, projections onto cylinders, and ties between candidate directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmin, le, lt, or_, where
from linkwork.geometry.unit_vectors import choose, clamp, length, rounding
from linkwork.spatial import Vec3

__all__ = ["CylinderInBoxFrame", "in_both", "in_cylinder", "is_tied", "out_of_cylinder", "tolerance"]

_TIE = by_type(1e-14)  # relative to sizes: difference of equal depths
_OFF = by_type(1e-12)  # relative to sizes: tolerance of points in their bodies
_MAX_PROJECTIONS = 40
_BETTER = 0.01  # required reduction of the squared error by alternating projections
_SAME = by_type(1e-9)  # 1 − cosine of equal directions


@dataclass(frozen=True, slots=True)
class CylinderInBoxFrame:
    """Cylinder in the axes of a box: center, unit axis, radius and half length, with the box's half edges.

    ``sines`` are the sines of the angles between the cylinder's axis and the box's axes.
    """

    center: Vec3
    axis: Vec3
    radius: Any
    half: Any
    box: Vec3
    sines: tuple[Any, Any, Any]

    @staticmethod
    def of(center: Vec3, axis: Vec3, radius: Any, half: Any, box: Vec3) -> CylinderInBoxFrame:
        """Return a cylinder in the axes of a box, with the sines of the angles between its axis and the box's axes.

        ``half`` is the cylinder's half length, and ``box`` are the box's half edges [m].
        """
        sines = (
            length(Vec3(axis.y, axis.z, 0.0)),
            length(Vec3(axis.z, axis.x, 0.0)),
            length(Vec3(axis.x, axis.y, 0.0)),
        )
        return CylinderInBoxFrame(center, axis, radius, half, box, sines)

    def height(self, n: Vec3) -> Any:
        """Return the overlap h(n) [m] of the projections of cylinder and box on the unit vector n; a gap is negative.

        It is the sum of both half extents along n, minus the distance of the centers along n.
        """
        turned = n.cross(self.axis)
        reach = self.half * fabs(n.dot(self.axis)) + self.radius * length(turned)
        for x, side in zip(n, self.box, strict=True):
            reach = reach + side * fabs(x)
        return reach - fabs(n.dot(self.center))


def is_tied(known: Iterable[tuple[Any, Vec3]], h: Any, n: Vec3, between: Vec3, size: Any) -> Any:
    """Return True if a second direction, other than n, has almost the same depth h as n.

    It may be one of the ``known`` pairs (h, direction), or −n if the centers are at almost the same height along n.
    """
    tied = le(fabs(n.dot(between)), _TIE * size)
    for height, m in known:
        tied = or_(tied, and_(lt(height, h + _TIE * size), lt(_SAME, 1.0 - fabs(n.dot(m)))))
    return tied


def tolerance(n: Vec3, size: Any) -> Any:
    """Return the distance [m] by which a computed witness point may be outside its body.

    It is proportional to the bodies' ``size`` [m], and includes the rounding error of the computed normal n.
    """
    return (_OFF + rounding(n)) * size


def in_cylinder(p: Vec3, center: Vec3, axis: Vec3, radius: Any, half: Any) -> Vec3:
    """Return the point of a cylinder nearest to p; the axis has length 1."""
    offset = p - center
    z = axis.dot(offset)
    out = offset - axis * z
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
    """Return A's witness point; if ``out``, it is first corrected by alternating projections onto A and B.

    ``out`` is True if the point is outside A, or, moved by ``between``, outside B.  For almost flush faces, the normal
    does not determine which points of a plane orthogonal to it are in both bodies.  Projections start at the centre of
    B's ``end``, whose nearest point of A is in B's disc if any is.
    """

    enough = enough * enough

    def step(state: tuple[Vec3, Any]) -> tuple[Vec3, Any]:
        below = to_b(state[0] + between) - between
        on_body = to_a(below)
        off = on_body - below
        return on_body, off.dot(off)

    def projected() -> Vec3:
        near, square = step((on_a, 0.0))
        start = choose(lt(enough, square), to_a(end - between), near), square
        result, off = while_loop(lambda state: lt(enough, state[1]), step, start, max_iterations=_MAX_PROJECTIONS).state
        return choose(lt(_BETTER * square, off), near, result)

    inside: Vec3 = cond(out, projected, lambda: on_a)
    return inside


def out_of_cylinder(p: Vec3, center: Vec3, axis: Vec3, radius: Any, half: Any, by: Any) -> Any:
    """Return True if a point is outside a cylinder by more than a length, without a square root."""
    offset = p - center
    z, far = axis.dot(offset), radius + by
    return or_(lt(half + by, fabs(z)), lt(far * far, offset.dot(offset) - z * z))
