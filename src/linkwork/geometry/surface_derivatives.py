"""First-order geometry of a core's surface near a point: relation of changes of the point and of the normal.

The changes of a surface point p and of the outward normal n obey two equations, one for each of two directions
orthogonal to n:

    P · δn = Q · δp.

A surface of radius of curvature r along t has P = r t, Q = t.  A corner, where the point is constant, has P = 0.  A
surface that is flat along t, where the normal is constant, has Q = 0.  Faces, edges, cylinder sides and rims are thus
described alike.  Point and normal determine which applies.  If the normal can change, the point is at an end of a flat
region; if the point can move, the normal is orthogonal to the region.  So one of two quantities is zero and the larger
one decides: the sine of the normal's angle, and the distance to the end relative to the region's size.  If both are
zero, neighbouring points differ in curvature, and `Surface.clear` is 0.

Source: Montana, The Kinematics of Contact and Grasp, 1988 (effect of curvature where bodies touch).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.scalar.float_limits import by_type
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
from linkwork.geometry.unit_vectors import TINY, across, choose, unit
from linkwork.spatial import Vec3

__all__ = ["SURFACES", "Across", "Surface", "surface"]

_BOTH = by_type(1e-9)  # sines and relative lengths below it count as zero
_SAME = by_type(1e-9)  # relative to the hull's size: vertices that coincide, or are equally far along a normal
_ON_AXIS = by_type(1e-12)  # radii below it count as zero, relative and [m]
_COLLINEAR = by_type(1e-10)  # sin² of the angle of collinear lines
_FAR = 1e18  # [m]


class Across(NamedTuple):
    """Linear equation P · δn = Q · δp between changes of a surface point p and of its normal n.

    P is in metres if Q is not zero.
    """

    P: Vec3
    Q: Vec3


@dataclass(frozen=True, slots=True)
class Surface:
    """First-order geometry of a surface near a point p with the normal n: two equations P · δn = Q · δp.

    They relate the change δn of the normal to the change δp of the point, in independent tangent directions. ``clear``
    is 1 if the point and its normal determine the curvature unambiguously, else 0.
    """

    rows: tuple[Across, Across]
    clear: Any


def surface(core: Core, p: Vec3, n: Vec3) -> Surface:
    """Return the surface of a core near a point p of it with the outward normal n of length 1.

    Raises TypeError for a core that is not convex.
    """
    try:
        return SURFACES[type(core)](core, p, n)
    except KeyError:
        raise TypeError(f"surface: expected a convex core, got {core!r}") from None


def _flat(n: Vec3, along: Vec3, is_edge: Any, both: Any, clear: Any) -> Surface:
    """Return a surface near a point of a polyhedron: a face if ``both``, an edge along ``along`` if only ``is_edge``.

    If neither is true, the point is a corner.
    """
    line = along - n * n.dot(along)
    t = unit(choose(and_(is_edge, lt(TINY, line.dot(line))), line, across(n)))
    return Surface((_free(is_edge, t), _free(both, n.cross(t))), where(clear, 1.0, 0.0))


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
    scale = 1.0 / where(lt(TINY, square), square, 1.0)
    end = 1.0 - fabs((p - core.center).dot(core.half)) * scale
    sine = fabs(n.dot(core.half)) * sqrt(scale)
    known = lt(TINY, square)
    free = and_(known, lt(sine, end))
    return _flat(n, core.half, free, lt(1.0, 0.0 * square), or_(not_(known), lt(_BOTH, fmax(sine, end))))


def _box(core: BoxCore, p: Vec3, n: Vec3) -> Surface:
    """Return the surface of a box near a point: a corner, an edge or a face.

    A coordinate is free if the point can move along it; other coordinates are at the box's end.
    """
    R = core.pose.rotation
    x, m = R.inv_act(p - core.pose.translation), R.inv_act(n)
    count: Any = 0.0
    clear: Any = None
    along = Vec3(0.0, 0.0, 1.0)
    for k, (half, coordinate, sine) in enumerate(zip(core.half, x, m, strict=True)):
        free = lt(fabs(sine) * half, half - fabs(coordinate))
        axis = Vec3(*(1.0 if i == k else 0.0 for i in range(3)))
        along = choose(free, axis, along)
        count = count + where(free, 1.0, 0.0)
        decided = or_(le(half, 0.0), lt(_BOTH * half, fmax(fabs(sine) * half, half - fabs(coordinate))))
        clear = decided if clear is None else and_(clear, decided)
    return _flat(n, R @ along, lt(0.5, count), lt(1.5, count), clear)


def _polytope(core: PolytopeCore, p: Vec3, n: Vec3) -> Surface:
    """Return the surface of a polytope near a point: a corner, an edge or a face.

    It is determined by three vertices. The first is the nearest of those that are farthest along the normal. The
    second is the farthest of the others along the normal, the third the farthest of those off the line through both.
    The point is at the first vertex, or the second is equally far; it is on the line, or the third is equally far.
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
        gap = (top - height) * by_type(1.0 / _SAME)
        key = gap * gap + square
        if least is None:
            least = key
            continue
        nearer = lt(key, least)
        least, first = where(nearer, key, least), choose(nearer, v, first)
    level = _SAME * sqrt(size)
    edges = [v - first for v in away]
    heights_off = [where(lt(level * level, e.dot(e)), height, -_FAR) for e, height in zip(edges, heights, strict=True)]
    second, line = heights_off[0], edges[0]
    for height, e in zip(heights_off[1:], edges[1:], strict=True):
        higher = lt(second, height)
        second, line = where(higher, height, second), choose(higher, e, line)
    length = line.dot(line)
    third: Any = -_FAR
    for height, e in zip(heights_off, edges, strict=True):
        area = e.cross(line)
        third = fmax(third, where(lt(_COLLINEAR * size * length, area.dot(area)), height, -_FAR))
    near = first.dot(first)
    corner = or_(le(near, level * level), lt(near, (top - second) * (top - second)))
    off = first.cross(line)
    across = sqrt(off.dot(off) / where(lt(TINY, length), length, 1.0))
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
    """Return the surface of a body of revolution.

    Around the axis, a point at the distance r rotates with the normal: ρ δp = r δn, with ρ the normal's radial
    component.  Along the profile, the point is at a corner, or free.  ``profile`` takes the point's radius and height
    and the normal's radial and axial components.  It returns the distance to the nearest corner, and the smallest sine
    of an angle between the normal and the normal of a side.
    """
    R = core.pose.rotation
    x, m = R.inv_act(p - core.pose.translation), R.inv_act(n)
    size = core.radius + core.half
    rho, wide = sqrt(m.x * m.x + m.y * m.y), sqrt(x.x * x.x + x.y * x.y)
    radial = lt(_BOTH, rho)  # else the point determines the radial direction
    out = choose(radial, Vec3(m.x, m.y, 0.0), Vec3(x.x, x.y, 0.0))
    out = choose(lt(TINY, out.dot(out)), out, Vec3(1.0, 0.0, 0.0))
    out = unit(out)
    radius = x.x * out.x + x.y * out.y
    corner, sine = profile(wide, x.z, rho, m.z)
    free = lt(sine * size, corner)
    t = R @ Vec3(-out.y, out.x, 0.0)
    t = unit(t - n * n.dot(t))
    on_axis = and_(lt(fabs(radius), _ON_AXIS * size), lt(rho, _ON_AXIS))
    around = Across(t * where(on_axis, where(free, 1.0, 0.0), radius), t * where(on_axis, where(free, 0.0, 1.0), rho))
    clear = lt(_BOTH * size, fmax(sine * size, corner))
    return Surface((around, _free(free, n.cross(t))), where(clear, 1.0, 0.0))


def _ellipsoid(core: EllipsoidCore, p: Vec3, n: Vec3) -> Surface:
    """Return the surface of an ellipsoid near a point, by the derivative of its support point c(n) = E² n/‖E n‖.

    The derivative is (E² − c cᵀ)/‖E n‖, with E = diag(radii).
    """
    R = core.pose.rotation
    c, m = R.inv_act(p - core.pose.translation), R.inv_act(n)
    scaled = core.stretched(m)
    square = scaled.dot(scaled)
    known = lt(TINY, square)
    scale = where(known, 1.0, 0.0) / sqrt(where(known, square, 1.0))

    def point_rate(v: Vec3) -> Vec3:
        x = R.inv_act(v)
        grown = core.stretched(core.stretched(x))
        result: Vec3 = R @ ((grown - c * c.dot(x)) * scale)
        return result

    t = unit(across(n))
    u = n.cross(t)
    return Surface((Across(point_rate(t), t), Across(point_rate(u), u)), where(known, 1.0, 0.0))


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
"""Surface function by type of core."""
