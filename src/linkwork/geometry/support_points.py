"""Support points: the farthest point of a core in a direction, over any scalar.

Directions may have any length.  If several points are equally far, the result is one of them (see `support_is_one`).
The choice depends only on the direction's signs, so it is the same for all positive multiples of a direction.

Source: van den Bergen, Collision Detection in Interactive 3D Environments, 2004, section 4.3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    Core,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
)
from linkwork.geometry.unit_vectors import TINY, choose, radial
from linkwork.spatial import Vec3

__all__ = ["SUPPORTS", "support", "support_is_line", "support_is_one"]

_COLLINEAR = by_type(1e-20)  # sin² of the angle of collinear lines
_LEVEL = by_type(1e-13)  # sine of the angle below which a direction counts as orthogonal to an edge


def support(core: Core, direction: Vec3) -> Vec3:
    """Return the point p of a core that maximises p · direction, in the coordinates of both.

    Raises TypeError for an unbounded core, such as a half-space.
    """
    try:
        farthest = SUPPORTS[type(core)]
    except KeyError:
        kind = type(core).__name__.removesuffix("Core").lower()
        raise TypeError(f"support: expected a bounded core, got a {kind}") from None
    return farthest(core, direction)


def _point(core: PointCore, direction: Vec3) -> Vec3:
    return core.point


def _segment(core: SegmentCore, direction: Vec3) -> Vec3:
    end: Vec3 = core.half * copysign(1.0, core.half.dot(direction))
    return core.center + end


def _box(core: BoxCore, direction: Vec3) -> Vec3:
    d = core.pose.rotation.inv_act(direction)
    return core.pose.point(Vec3(*(copysign(h, x) for h, x in zip(core.half, d, strict=True))))


def _cylinder(core: CylinderCore, direction: Vec3) -> Vec3:
    d = core.pose.rotation.inv_act(direction)
    x, y, _ = radial(d.x, d.y)
    return core.pose.point(Vec3(core.radius * x, core.radius * y, copysign(core.half, d.z)))


def _cone(core: ConeCore, direction: Vec3) -> Vec3:
    """Return the apex if 2 half d_z > radius √(d_x² + d_y²), else a point of the base's rim."""
    d = core.pose.rotation.inv_act(direction)
    x, y, length = radial(d.x, d.y)
    apex = lt(core.radius * length, 2.0 * core.half * d.z)
    rim = where(apex, 0.0, core.radius)
    return core.pose.point(Vec3(rim * x, rim * y, where(apex, core.half, -core.half)))


def _ellipsoid(core: EllipsoidCore, direction: Vec3) -> Vec3:
    """Return the ellipsoid's farthest point in a direction d: E² d/‖E d‖ with E = diag(radii), in the pose's axes."""
    d = core.pose.rotation.inv_act(direction)
    scaled = core.stretched(d)
    square = scaled.dot(scaled)
    known = lt(TINY, square)
    scale = where(known, 1.0 / sqrt(where(known, square, 1.0)), 0.0)
    return core.pose.point(core.stretched(scaled) * scale)


def _polytope(core: PolytopeCore, direction: Vec3) -> Vec3:
    """Return the first of the farthest vertices, by a tournament of pairs."""
    d = core.pose.rotation.inv_act(direction)

    def best(vertices: Sequence[Vec3]) -> tuple[Any, Vec3]:
        if len(vertices) == 1:
            return vertices[0].dot(d), vertices[0]
        half = (len(vertices) + 1) // 2
        (height, first), (height2, second) = best(vertices[:half]), best(vertices[half:])
        higher = lt(height, height2)
        return where(higher, height2, height), choose(higher, second, first)

    return core.pose.point(best(core.vertices)[1])


SUPPORTS: Mapping[type, Callable[[Any, Vec3], Vec3]] = {
    PointCore: _point,
    SegmentCore: _segment,
    BoxCore: _box,
    CylinderCore: _cylinder,
    ConeCore: _cone,
    EllipsoidCore: _ellipsoid,
    PolytopeCore: _polytope,
}
"""Support function by type of core."""


def support_is_one(core: Core, direction: Vec3) -> Any:
    """Return 1 if the farthest point of a core in a direction of length 1 is unique, else 0."""
    if isinstance(core, PointCore):
        return 1.0
    if isinstance(core, SegmentCore):
        across = core.half.dot(direction)
        return where(le(across * across, by_type(_LEVEL * _LEVEL) * core.half.dot(core.half)), _zero(core.half), 1.0)
    d = core.pose.rotation.inv_act(direction)  # type: ignore[union-attr]
    if isinstance(core, BoxCore):
        is_unique: Any = True
        for h, x in zip(core.half, d, strict=True):
            is_unique = and_(is_unique, or_(lt(_LEVEL, fabs(x)), le(h, 0.0)))
        return where(is_unique, 1.0, 0.0)
    if isinstance(core, CylinderCore):
        _, _, length = radial(d.x, d.y)
        rim = or_(lt(_LEVEL, length), le(core.radius, 0.0))
        return where(and_(rim, or_(lt(_LEVEL, fabs(d.z)), le(core.half, 0.0))), 1.0, 0.0)
    if isinstance(core, ConeCore):
        _, _, length = radial(d.x, d.y)
        slant = sqrt(core.radius * core.radius + 4.0 * core.half * core.half)
        rim = or_(or_(lt(_LEVEL, length), lt(0.0, d.z)), le(core.radius, 0.0))
        side = lt(_LEVEL * slant, fabs(core.radius * length - 2.0 * core.half * d.z))
        return where(and_(rim, or_(side, le(slant, 0.0))), 1.0, 0.0)
    if isinstance(core, EllipsoidCore):
        return where(_flat(core.radii, d), 0.0, 1.0)
    if isinstance(core, PolytopeCore):
        return where(_is_one_vertex(core.vertices, d), 1.0, 0.0)
    raise TypeError(f"support_is_one: expected a bounded core, got {core!r}")


def support_is_line(core: Core, direction: Vec3) -> tuple[Any, Vec3]:
    """Return (1, u) if the farthest points of a core in a direction of length 1 form a segment along u, else (0, u).

    A unique farthest point is not a segment.  u has any length.
    """
    zero = Vec3.zero()
    if isinstance(core, (PointCore, EllipsoidCore)):
        return 0.0, zero
    is_point = support_is_one(core, direction)
    if isinstance(core, SegmentCore):
        return 1.0 - is_point, core.half
    R = core.pose.rotation  # type: ignore[union-attr]
    d, z = R.inv_act(direction), R @ Vec3(0.0, 0.0, 1.0)
    if isinstance(core, BoxCore):
        free = [where(and_(le(fabs(x), _LEVEL), lt(0.0, h)), 1.0, 0.0) for h, x in zip(core.half, d, strict=True)]
        return where(lt(fabs(free[0] + free[1] + free[2] - 1.0), 0.5), 1.0, 0.0), R @ Vec3(*free)
    if isinstance(core, (CylinderCore, ConeCore)):
        x, y, length = radial(d.x, d.y)
        side = z if isinstance(core, CylinderCore) else R @ Vec3(core.radius * x, core.radius * y, -2.0 * core.half)
        end = or_(lt(_LEVEL, length), le(core.radius, 0.0))  # else a disc or the apex
        return where(end, 1.0 - is_point, 0.0), side
    if isinstance(core, PolytopeCore):
        line, along = _line_of_vertices(core.vertices, d)
        return where(lt(0.5, is_point), 0.0, line), R @ along
    raise TypeError(f"support_is_line: expected a bounded core, got {core!r}")


def _line_of_vertices(vertices: Sequence[Vec3], d: Vec3) -> tuple[Any, Vec3]:
    """Return 1 if all farthest vertices in a direction are collinear, else 0, and the longest edge between them."""
    far = _farthest(vertices, d)[0]
    first = vertices[0]
    for is_far, vertex in zip(far[1:], vertices[1:], strict=True):
        first = choose(is_far, vertex, first)
    edges = [choose(is_far, vertex - first, Vec3.zero()) for is_far, vertex in zip(far, vertices, strict=True)]
    line = edges[0]
    for edge in edges[1:]:
        line = choose(lt(line.dot(line), edge.dot(edge)), edge, line)
    square, off = line.dot(line), 0.0 * d.x
    for edge in edges:
        across = edge.cross(line)
        off = fmax(off, across.dot(across))
    return where(le(off, _COLLINEAR * (square * square)), 1.0, 0.0), line


def _farthest(vertices: Sequence[Vec3], d: Vec3) -> tuple[list[Any], Any]:
    """Return a mask of the farthest vertices in a direction d, and the largest |vertex · d| of all vertices."""
    heights = [vertex.dot(d) for vertex in vertices]
    highest, lowest = heights[0], heights[0]
    for h in heights[1:]:
        highest, lowest = where(lt(highest, h), h, highest), where(lt(h, lowest), h, lowest)
    size = where(lt(fabs(highest), fabs(lowest)), fabs(lowest), fabs(highest))
    return [le(highest - _LEVEL * size, h) for h in heights], size


def _is_one_vertex(vertices: Sequence[Vec3], d: Vec3) -> Any:
    """Return True if all farthest vertices in a direction coincide, that is, if their mean is one of them."""
    far, size = _farthest(vertices, d)
    count: Any = 0.0
    for is_far in far:
        count = count + where(is_far, 1.0, 0.0)
    known = all(isinstance(x, (float, int)) for v in vertices for x in v)
    if known and len({tuple(v) for v in vertices}) == len(vertices):
        return lt(count, 1.5)
    top, total = vertices[0], Vec3.zero()
    for is_far, vertex in zip(far, vertices, strict=True):
        top = choose(is_far, vertex, top)
        total = total + choose(is_far, vertex, Vec3.zero())
    away = total - top * count
    return le(away.dot(away), (_LEVEL * size) * (_LEVEL * size) * count)


def _zero(v: Vec3) -> Any:
    """Return 1 for a zero vector, else 0."""
    return where(le(v.dot(v), 0.0), 1.0, 0.0)


def _flat(radii: Vec3, d: Vec3) -> Any:
    """Return True if d is along the only zero radius of a flat ellipsoid, so that its farthest points are a face."""
    flat: Any = False
    for k in range(3):
        r, u, v = (tuple(radii)[(k + i) % 3] for i in range(3))
        x, y = (tuple(d)[(k + i) % 3] for i in (1, 2))
        level = and_(le(fabs(x), _LEVEL), le(fabs(y), _LEVEL))
        flat = or_(flat, and_(level, and_(le(r, 0.0), not_(and_(le(u, 0.0), le(v, 0.0))))))
    return flat
