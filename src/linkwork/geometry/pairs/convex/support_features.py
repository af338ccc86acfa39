"""Where bodies touch, by the normal: what a body is near a point, as its support function has it.

With a normal that is known nearly, and points that the nearest one lies between, a body is there one of these:

- curved: its farthest point c(n) moves with n, with derivative J(n), which is symmetric, and J n = 0;
- flat along a line, so that q · n = s holds of the normal: an edge, the side of a cylinder (q the axis, s = 0) or of a
  cone (q the axis, s the sine of the slant);
- flat: an end or a face, whose normal is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linkwork.expr.scalar.functions import and_, copysign, fabs, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import ConeCore, CylinderCore, EllipsoidCore, SegmentCore
from linkwork.geometry.pairs.convex.minkowski_difference import length_of, unit_of
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import Vec3

__all__ = ["CURVED", "CoreFeature", "feature"]

CURVED = (CylinderCore, ConeCore, EllipsoidCore)
_SAME = 1e-18  # squares of distances of points that are one, to that of the size
_ALMOST = 1e-3  # sines of angles between a normal and that of a side
_END = 1e-5  # sines of angles to an end's normal below which the end is considered


@dataclass(frozen=True)
class CoreFeature:
    """What a body is near a point; directions are as the normals that point out of it."""

    at: Callable[[Vec3], tuple[Vec3, Callable[[Vec3, Vec3], Any]]]  # n to c(n) and (t, u) to t · J u
    line: Any  # whether it is flat along a line
    q: Vec3
    s: Any
    along: Callable[[Vec3], Vec3]  # n to the direction of the line
    end: Any  # whether it may be flat
    normal: Vec3  # of what is flat


def feature(
    core: Any, points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, square: Any, lined: Any = False
) -> CoreFeature:
    """Of a core near the mean of some of its farthest points, n being about normal.

    ``square`` is of the size that points have rounding of: points are one where they differ by next to nothing of it.
    ``lined``: where n is almost that of a side, it is the side that is touched, and points at its end tell nothing.
    """
    if isinstance(core, EllipsoidCore):
        return _ellipsoid(core)
    if isinstance(core, CylinderCore):
        return _cylinder(core, points, weights, n, lined)
    if isinstance(core, ConeCore):
        return _cone(core, points, weights, n, lined)
    if isinstance(core, SegmentCore):
        almost = and_(lined, lt(core.half.dot(n) * core.half.dot(n), _ALMOST * _ALMOST * core.half.dot(core.half)))
        return _segment(core, _corners(points, weights, n, square), almost)
    return _corners(points, weights, n, square)


def _none(t: Vec3, u: Vec3) -> Any:
    return 0.0


def _mean(points: tuple[Vec3, ...], weights: tuple[Any, ...]) -> Vec3:
    mean: Vec3 = points[0] * weights[0] + points[1] * weights[1] + points[2] * weights[2]
    return mean


def _ellipsoid(core: EllipsoidCore) -> CoreFeature:
    R, r = core.pose.rotation, core.radii

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        d = R.inv_act(n)
        scaled = Vec3(r.x * d.x, r.y * d.y, r.z * d.z)
        scale = 1.0 / sqrt(length_of(scaled))
        c: Vec3 = R @ Vec3(r.x * scaled.x * scale, r.y * scaled.y * scale, r.z * scaled.z * scale)

        def varied(t: Vec3, u: Vec3) -> Any:
            x, y = R.inv_act(t), R.inv_act(u)
            along = r.x * r.x * x.x * y.x + r.y * r.y * x.y * y.y + r.z * r.z * x.z * y.z
            return (along - c.dot(t) * c.dot(u)) * scale

        there: Vec3 = core.pose.translation + c
        return there, varied

    never = lt(r.x, -1.0)
    z = Vec3(0.0, 0.0, 1.0)
    return CoreFeature(at, never, z, 0.0, lambda n: z, never, z)


def _axis(core: Any) -> Vec3:
    axis: Vec3 = core.pose.rotation @ Vec3(0.0, 0.0, 1.0)
    return axis


def _round(axis: Vec3, n: Vec3, radius: Any) -> tuple[Vec3, Callable[[Vec3, Vec3], Any], Any]:
    """The farthest point of a disc across an axis from its center, how it varies, and the square of n across."""
    across = n - axis * axis.dot(n)
    square = across.dot(across)
    known = lt(1e-24, square)
    scale = where(known, 1.0, 0.0) / sqrt(where(known, square, 1.0))
    out = across * scale
    tangent = axis.cross(out)
    bent = radius * scale
    return out * radius, lambda t, u: bent * tangent.dot(t) * tangent.dot(u), square


def _ends(values: list[Any], weights: tuple[Any, ...]) -> tuple[Any, Any]:
    """Whether some of the values that count are above 0, and some not."""
    above = below = lt(1.0, 0.0 * weights[0])
    for value, weight in zip(values, weights, strict=True):
        counts = lt(0.0, weight)
        above = or_(above, and_(counts, lt(0.0, value)))
        below = or_(below, and_(counts, le(value, 0.0)))
    return above, below


def _cylinder(
    core: CylinderCore, points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, lined: Any
) -> CoreFeature:
    axis, center = _axis(core), core.pose.translation
    heights = [axis.dot(p - center) for p in points]
    above, below = _ends(heights, weights)
    almost = and_(lined, lt(fabs(axis.dot(n)), _ALMOST))
    side = and_(or_(and_(above, below), almost), lt(0.0, core.half))
    mean = heights[0] * weights[0] + heights[1] * weights[1] + heights[2] * weights[2]
    base = center + axis * where(side, mean, copysign(core.half, axis.dot(n)))

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        out, varied, _ = _round(axis, n, core.radius)
        return base + out, varied

    square = _round(axis, n, core.radius)[2]
    normal = axis * copysign(1.0, axis.dot(n))
    return CoreFeature(at, side, axis, 0.0, lambda n: axis, lt(square, _END * _END), normal)


def _cone(core: ConeCore, points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, lined: Any) -> CoreFeature:
    axis, center = _axis(core), core.pose.translation
    apex, rim = _ends([axis.dot(p - center) for p in points], weights)
    slant = sqrt(length_of(Vec3(core.radius, 2.0 * core.half, 0.0)))
    almost = and_(lined, lt(fabs(axis.dot(n) - core.radius / slant), _ALMOST))
    side = and_(or_(and_(apex, rim), almost), lt(0.0, core.half))
    pointed = apex  # there c is the apex

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        out, varied, _ = _round(axis, n, core.radius)
        c = choose(pointed, center + axis * core.half, center - axis * core.half + out)
        return c, lambda t, u: where(pointed, 0.0, varied(t, u))

    def along(n: Vec3) -> Vec3:
        return unit_of(_round(axis, n, core.radius)[0] - axis * (2.0 * core.half))

    square = _round(axis, n, core.radius)[2]
    end = and_(lt(square, _END * _END), lt(axis.dot(n), 0.0))
    return CoreFeature(at, side, axis, core.radius / slant, along, end, -axis)


def _segment(core: SegmentCore, shown: CoreFeature, almost: Any) -> CoreFeature:
    """All of it where that is almost so, else what its points show."""
    q = choose(almost, unit_of(core.half), shown.q)

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        return choose(almost, core.center, shown.at(n)[0]), _none

    return CoreFeature(at, or_(almost, shown.line), q, 0.0, lambda n: q, and_(shown.end, not_(almost)), shown.normal)


def _corners(points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, size: Any) -> CoreFeature:
    """A corner, an edge or a face, by how many of the points differ."""
    there = [lt(0.0, weight) for weight in weights]
    first = choose(there[0], points[0], choose(there[1], points[1], points[2]))
    e = [choose(known, p, first) - first for known, p in zip(there, points, strict=True)]
    squares = [x.dot(x) for x in e]
    longest = choose(lt(squares[0], squares[1]), e[1], e[0])
    longest = choose(lt(longest.dot(longest), squares[2]), e[2], longest)
    square = longest.dot(longest)
    line = lt(_SAME * size, square)
    q = unit_of(longest)
    across, most = e[0].cross(longest), 0.0 * square
    for x in e:
        n3 = x.cross(longest)
        larger = lt(most, n3.dot(n3))
        across, most = choose(larger, n3, across), where(larger, n3.dot(n3), most)
    face = and_(line, lt(1e-20 * square * square, most))
    normal = unit_of(across)
    normal = choose(lt(normal.dot(n), 0.0), -normal, normal)
    mean = _mean(points, weights)
    return CoreFeature(lambda n: (mean, _none), and_(line, not_(face)), q, 0.0, lambda n: q, face, normal)
