"""What a core is near a point of its surface, to first order: which points and normals are next to these.

There the changes of a point p and of the normal n, which points out of the core, obey two equations in the plane across
n, one a direction:

    P · δn = Q · δp.

What is curved by a radius r along t has P = r t, Q = t; a corner, where the point stays, P = 0, and what is flat along
t, where the normal stays, Q = 0.  So a face, an edge, the side of a cylinder and a rim are one thing.  Which of them it
is follows from point and normal alone: where a normal could move, the point lies at an end of what is flat, and where
the point could, the normal is across it, so of the sine of the one and the way to the other, relative to what is flat,
one is zero and the larger one decides.  Where both are zero, the next points of both kinds differ in their curvature:
`Surface.clear` is 0 there.

Source: Montana, The Kinematics of Contact and Grasp, 1988 (what curvature does where bodies touch).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    Core,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
)
from linkwork.geometry.unit_vectors import NOTHING, across, choose, unit
from linkwork.spatial import Vec3

__all__ = ["SURFACES", "Across", "Surface", "surface"]

_BOTH = 1e-9  # of sines and of relative lengths: below it both are zero
_SAME = 1e-9  # of the size of a hull, by which vertices are one, or as far along a normal
_OFF = 1e-10  # sin² of angles of lines that are one
_FAR = 1e18  # [m]


class Across(NamedTuple):
    """P · δn = Q · δp; P in metres where Q is not zero."""

    P: Vec3
    Q: Vec3


@dataclass(frozen=True, slots=True)
class Surface:
    """Two rows in independent directions across the normal, and whether it is clear what is there: 1 or 0."""

    rows: tuple[Across, Across]
    clear: Any


def surface(core: Core, p: Vec3, n: Vec3) -> Surface:
    """Of a core near a point of its surface, with a normal of length 1 that points out of it.

    Raises TypeError for what is no convex core.
    """
    try:
        return SURFACES[type(core)](core, p, n)
    except KeyError:
        raise TypeError(f"surface: expected a convex core, got {core!r}") from None


def _flat(n: Vec3, along: Vec3, one: Any, both: Any, clear: Any) -> Surface:
    """Flat along a line, if one direction is free, or along all."""
    line = along - n * n.dot(along)
    t = unit(choose(and_(one, lt(NOTHING, line.dot(line))), line, across(n)))
    return Surface((_free(one, t), _free(both, n.cross(t))), where(clear, 1.0, 0.0))


def _free(free: Any, t: Vec3) -> Across:
    flat = where(free, 1.0, 0.0)
    return Across(t * flat, t * (1.0 - flat))


def _point(core: PointCore, p: Vec3, n: Vec3) -> Surface:
    t = unit(across(n))
    return Surface((Across(Vec3.zero(), t), Across(Vec3.zero(), n.cross(t))), 1.0)


def _half_space(core: HalfSpaceCore, p: Vec3, n: Vec3) -> Surface:
    t = unit(across(n))
    return Surface((Across(t, Vec3.zero()), Across(n.cross(t), Vec3.zero())), 1.0)


def _segment(core: SegmentCore, p: Vec3, n: Vec3) -> Surface:
    square = core.half.dot(core.half)
    scale = 1.0 / where(lt(NOTHING, square), square, 1.0)
    end = 1.0 - fabs((p - core.center).dot(core.half)) * scale
    sine = fabs(n.dot(core.half)) * sqrt(scale)
    known = lt(NOTHING, square)
    free = and_(known, lt(sine, end))
    return _flat(n, core.half, free, lt(1.0, 0.0 * square), or_(not_(known), lt(_BOTH, fmax(sine, end))))


def _box(core: BoxCore, p: Vec3, n: Vec3) -> Surface:
    """By coordinates: each is at an end, or free."""
    R = core.pose.rotation
    x, m = R.inv_act(p - core.pose.translation), R.inv_act(n)
    count: Any = 0.0
    clear: Any = None
    along = Vec3(0.0, 0.0, 1.0)
    for k, (half, here, sine) in enumerate(zip(core.half, x, m, strict=True)):
        free = lt(fabs(sine) * half, half - fabs(here))
        axis = Vec3(*(1.0 if i == k else 0.0 for i in range(3)))
        along = choose(free, axis, along)
        count = count + where(free, 1.0, 0.0)
        sure = or_(le(half, 0.0), lt(_BOTH * half, fmax(fabs(sine) * half, half - fabs(here))))
        clear = sure if clear is None else and_(clear, sure)
    return _flat(n, R @ along, lt(0.5, count), lt(1.5, count), clear)


def _polytope(core: PolytopeCore, p: Vec3, n: Vec3) -> Surface:
    """By the vertices that are as far as any along the normal: one, some on a line, or more.

    The first is a vertex as far as any, the nearest one of these, the second the farthest of the others along the
    normal, the third that of those off the line of the two: the point is at the first, or the second is as far; it is
    on their line, or the third is as far.
    """
    R = core.pose.rotation
    m = R.inv_act(n)
    x = R.inv_act(p - core.pose.translation)
    away = [vertex - x for vertex in core.vertices]
    squares = [v.dot(v) for v in away]
    heights = [v.dot(m) for v in away]
    size, top = squares[0], heights[0]
    for square, height in zip(squares[1:], heights[1:], strict=True):
        size, top = fmax(size, square), fmax(top, height)
    least: Any = None
    first = away[0]
    for square, v, height in zip(squares, away, heights, strict=True):
        gap = (top - height) * (1.0 / _SAME)
        key = gap * gap + square
        if least is None:
            least = key
            continue
        nearer = lt(key, least)
        least, first = where(nearer, key, least), choose(nearer, v, first)
    level = _SAME * sqrt(size)
    edges = [v - first for v in away]
    others = [where(lt(level * level, e.dot(e)), height, -_FAR) for e, height in zip(edges, heights, strict=True)]
    second, line = others[0], edges[0]
    for height, e in zip(others[1:], edges[1:], strict=True):
        higher = lt(second, height)
        second, line = where(higher, height, second), choose(higher, e, line)
    length = line.dot(line)
    third: Any = -_FAR
    for height, e in zip(others, edges, strict=True):
        area = e.cross(line)
        third = fmax(third, where(lt(_OFF * size * length, area.dot(area)), height, -_FAR))
    near = first.dot(first)
    corner = or_(le(near, level * level), lt(near, (top - second) * (top - second)))
    off = first.cross(line)
    across = sqrt(off.dot(off) / where(lt(NOTHING, length), length, 1.0))
    edge = not_(corner)
    face = and_(edge, lt(top - third, fmax(across, level)))
    return _flat(n, R @ line, edge, face, not_(and_(corner, le(top - second, level))))


def _cylinder(core: CylinderCore, p: Vec3, n: Vec3) -> Surface:
    def profile(out: Any, up: Any, across: Any, along: Any) -> tuple[Any, Any]:
        x, z = core.radius - out, core.half - fabs(up)
        return sqrt(x * x + z * z), fmin(fabs(along), across)

    return _round(core, p, n, profile)


def _cone(core: ConeCore, p: Vec3, n: Vec3) -> Surface:
    def profile(out: Any, up: Any, across: Any, along: Any) -> tuple[Any, Any]:
        x, z, top = core.radius - out, core.half + up, core.half - up
        slant = sqrt(core.radius * core.radius + 4.0 * core.half * core.half)
        side = fabs(core.radius * across - 2.0 * core.half * along) / where(lt(0.0, slant), slant, 1.0)
        base = where(lt(along, 0.0), across, 1.0)
        return fmin(sqrt(x * x + z * z), sqrt(out * out + top * top)), fmin(side, base)

    return _round(core, p, n, profile)


def _round(
    core: CylinderCore | ConeCore, p: Vec3, n: Vec3, profile: Callable[[Any, Any, Any, Any], tuple[Any, Any]]
) -> Surface:
    """Of revolution: around it, the point at the distance r from the axis turns with the normal, ρ δp = r δn, where ρ
    is the normal's part across the axis.  Along the profile it is at a corner, or free.

    ``profile`` gives the way to the nearest corner and the least sine of the normal's angle to what is across a side,
    of the point's distance from the axis and its height, and of the normal's.
    """
    R = core.pose.rotation
    x, m = R.inv_act(p - core.pose.translation), R.inv_act(n)
    size = core.radius + core.half
    rho, wide = sqrt(m.x * m.x + m.y * m.y), sqrt(x.x * x.x + x.y * x.y)
    turned = lt(1e-9, rho)  # else the point tells which way is out
    out = choose(turned, Vec3(m.x, m.y, 0.0), Vec3(x.x, x.y, 0.0))
    out = choose(lt(NOTHING, out.dot(out)), out, Vec3(1.0, 0.0, 0.0))
    out = unit(out)
    radius = x.x * out.x + x.y * out.y
    corner, sine = profile(wide, x.z, rho, m.z)
    free = lt(sine * size, corner)
    t = R @ Vec3(-out.y, out.x, 0.0)
    t = unit(t - n * n.dot(t))
    on_axis = and_(lt(fabs(radius), 1e-12 * size), lt(rho, 1e-12))
    around = Across(t * where(on_axis, where(free, 1.0, 0.0), radius), t * where(on_axis, where(free, 0.0, 1.0), rho))
    clear = lt(_BOTH * size, fmax(sine * size, corner))
    return Surface((around, _free(free, n.cross(t))), where(clear, 1.0, 0.0))


def _ellipsoid(core: EllipsoidCore, p: Vec3, n: Vec3) -> Surface:
    """c(n) = E² n/‖E n‖ varies by (E² − c cᵀ)/‖E n‖."""
    R = core.pose.rotation
    c, m = R.inv_act(p - core.pose.translation), R.inv_act(n)
    scaled = core.stretched(m)
    square = scaled.dot(scaled)
    known = lt(NOTHING, square)
    scale = where(known, 1.0, 0.0) / sqrt(where(known, square, 1.0))

    def bent(v: Vec3) -> Vec3:
        x = R.inv_act(v)
        grown = core.stretched(core.stretched(x))
        result: Vec3 = R @ ((grown - c * c.dot(x)) * scale)
        return result

    t = unit(across(n))
    u = n.cross(t)
    return Surface((Across(bent(t), t), Across(bent(u), u)), where(known, 1.0, 0.0))


SURFACES: Mapping[type, Callable[[Any, Vec3, Vec3], Surface]] = {
    PointCore: _point,
    SegmentCore: _segment,
    BoxCore: _box,
    CylinderCore: _cylinder,
    ConeCore: _cone,
    EllipsoidCore: _ellipsoid,
    PolytopeCore: _polytope,
    HalfSpaceCore: _half_space,
}
"""An entry a type of core."""
