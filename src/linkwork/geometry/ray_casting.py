"""Ray casting: length of a ray until it hits a solid or a height field, over any scalar.

For half-spaces, balls, boxes, cylinders, capsules and ellipsoids, the line is intersected with planes and quadrics.
Other solids use sphere tracing, which needs only the distance from a point: the ray advances by the distance to the
solid.  A `LineInterval` is the interval of t in which a line o + t d is inside a convex body.

Sources: Ericson, Real-Time Collision Detection, 2005, section 5.3; Hart, Sphere tracing, The Visual Computer 12, 1996;
Amanatides and Woo, A fast voxel traversal algorithm for ray tracing, Eurographics 1987 (height fields).

**Height field.** The ground is the surface and all points below it, over the grid.  The ray's height above the surface
is linear in the path length t between crossings of grid lines and cell diagonals, where its coordinates in cells,

    u(t),     v(t),     u(t) − v(t),

are integers.  Each coordinate has integer values at regular steps of t, so the next crossing is the minimum of three
values.  The first segment at whose end the ray is not above the surface has the triangle that is hit, and the result is
the ray's intersection with its plane, with the derivatives of that.  The cost of a segment does not depend on the
field's size, and there are at most twice as many segments as cells along both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.control import while_loop
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, or_, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    SegmentCore,
    Solid,
)
from linkwork.geometry.fields.height_field import Ground, surface_under
from linkwork.geometry.pairs import distance_once
from linkwork.spatial import Pose, Vec3

__all__ = ["ALONG", "FAR", "ground_ray", "ray_length", "slab"]

_NEAR = 1e-7  # [m] distance at which sphere tracing ends
_ROUNDING = by_type(1e-14)  # the same, relative to the length: smaller steps are rounding errors of a point
_MAX_STEPS = 5000  # of sphere tracing; a ray at half a degree to a face needs 2000


def ray_length(origin: Vec3, direction: Vec3, solids: Sequence[Solid], most: Any) -> Any:
    """Return the length [m] of a ray from ``origin`` along ``direction`` (length 1) until it hits a solid.

    It is 0 inside a solid, and ``most`` if the ray hits no solid within that length.
    """
    length: Any = most
    traced = []
    for solid in solids:
        hit = _HIT_LENGTHS.get(type(solid.core))
        if hit is None or (type(solid.core) not in _ROUNDED and not is_zero(solid.radius)):
            traced.append(solid)
        else:
            length = fmin(length, hit(solid, origin, direction))
    return _sphere_traced(origin, direction, traced, length) if traced else length


def _sphere_traced(origin: Vec3, direction: Vec3, solids: Sequence[Solid], most: Any) -> Any:
    """Return the length by sphere tracing; ``most`` if a ray that grazes a solid does not end within `_MAX_STEPS`."""

    def clearance(t: Any) -> Any:
        point = Solid(PointCore(origin + direction * t), 0.0)
        return reduce(fmin, (distance_once(point, solid) for solid in solids), most)

    def advance(state: tuple[Any, Any]) -> tuple[Any, Any]:
        t = state[0] + state[1]
        return t, clearance(t)

    def is_open(state: tuple[Any, Any]) -> Any:
        t, free = state
        return and_(lt(_NEAR + _ROUNDING * t, free), lt(t, most))

    state = while_loop(is_open, advance, (0.0 * most, clearance(0.0)), max_iterations=_MAX_STEPS).state
    return where(is_open(state), most, fmin(fmax(state[0], 0.0), most))


def _half_space(solid: Solid, o: Vec3, d: Vec3) -> Any:
    core = solid.core
    assert isinstance(core, HalfSpaceCore)
    high, rate = core.normal.dot(o - core.point) - solid.radius, core.normal.dot(d)
    comes = lt(rate, -ALONG)
    return where(le(high, 0.0), 0.0, where(comes, -high / where(comes, rate, -1.0), FAR))


def _point(solid: Solid, o: Vec3, d: Vec3) -> Any:
    assert isinstance(solid.core, PointCore)
    return _ball(o - solid.core.point, d, solid.radius).hit


def _box(solid: Solid, o: Vec3, d: Vec3) -> Any:
    core = solid.core
    assert isinstance(core, BoxCore)
    p, w = _local_line(core.pose, o, d)
    slabs = [slab(x, rate, -h, h) for x, rate, h in zip(p, w, core.half, strict=True)]
    return slabs[0].within(slabs[1]).within(slabs[2]).hit


def _cylinder(solid: Solid, o: Vec3, d: Vec3) -> Any:
    core = solid.core
    assert isinstance(core, CylinderCore)
    p, w = _local_line(core.pose, o, d)
    side = quadric(w.x * w.x + w.y * w.y, p.x * w.x + p.y * w.y, p.x * p.x + p.y * p.y - core.radius * core.radius)
    return side.within(slab(p.z, w.z, -core.half, core.half)).hit


def _segment(solid: Solid, o: Vec3, d: Vec3) -> Any:
    """Return the length of a ray until it hits a capsule: the balls at its ends, or the tube between them.

    The tube is the quadric r² − (r·a)² = radius² for the axis a.
    """
    core, radius = solid.core, solid.radius
    assert isinstance(core, SegmentCore)
    r, half = o - core.center, core.half
    square = half.dot(half)
    scale = 1.0 / where(lt(0.0, square), square, 1.0)
    x, rate = r.dot(half), d.dot(half)
    a, b = d.dot(d) - rate * rate * scale, r.dot(d) - x * rate * scale
    tube = quadric(a, b, r.dot(r) - x * x * scale - radius * radius)
    result = tube.within(slab(x, rate, -square, square)).hit
    return fmin(result, fmin(_ball(r - half, d, radius).hit, _ball(r + half, d, radius).hit))


def _ellipsoid(solid: Solid, o: Vec3, d: Vec3) -> Any:
    core = solid.core
    assert isinstance(core, EllipsoidCore)
    p, w = _local_line(core.pose, o, d)
    p, w = (Vec3(*(x / r for x, r in zip(v, core.radii, strict=True))) for v in (p, w))
    return quadric(w.dot(w), p.dot(w), p.dot(p) - 1.0).hit


def _ball(r: Vec3, d: Vec3, radius: Any) -> LineInterval:
    return quadric(d.dot(d), r.dot(d), r.dot(r) - radius * radius)


def _local_line(pose: Pose, o: Vec3, d: Vec3) -> tuple[Vec3, Vec3]:
    """Return the origin and the direction of a line in the coordinates of a pose."""
    return pose.rotation.inv_act(o - pose.translation), pose.rotation.inv_act(d)


_HIT_LENGTHS: Mapping[type, Callable[[Any, Vec3, Vec3], Any]] = {
    HalfSpaceCore: _half_space,
    PointCore: _point,
    BoxCore: _box,
    CylinderCore: _cylinder,
    SegmentCore: _segment,
    EllipsoidCore: _ellipsoid,
}
"""Function that returns a ray's length to a solid, by type of core."""
_ROUNDED = (HalfSpaceCore, PointCore, SegmentCore)  # cores whose functions accept any radius


FAR = 1e30  # [m] length of a ray that hits no solid
ALONG = by_type(1e-300)  # smaller values are not divisors


class LineInterval(NamedTuple):
    """Interval of the parameter t of a line; ``exists`` is False if it is empty."""

    begin: Any
    end: Any
    exists: Any

    def within(self, other: LineInterval) -> LineInterval:
        """Return the intersection of two intervals."""
        return LineInterval(fmax(self.begin, other.begin), fmin(self.end, other.end), and_(self.exists, other.exists))

    @property
    def ahead(self) -> Any:
        """True if the interval contains a t ≥ 0."""
        return and_(self.exists, and_(le(self.begin, self.end), le(0.0, self.end)))

    @property
    def hit(self) -> Any:
        """Length of a ray until it enters the interval; 0 inside."""
        return where(self.ahead, fmax(self.begin, 0.0), FAR)


def slab(x: Any, rate: Any, low: Any, high: Any) -> LineInterval:
    """Return the interval of t with low ≤ x + rate t ≤ high."""
    along = lt(ALONG, fabs(rate))
    scale = 1.0 / where(along, rate, 1.0)
    to_low, to_high = (low - x) * scale, (high - x) * scale
    begin, end = where(along, fmin(to_low, to_high), -FAR), where(along, fmax(to_low, to_high), FAR)
    return LineInterval(begin, end, or_(along, and_(le(low, x), le(x, high))))


def quadric(a: Any, b: Any, c: Any) -> LineInterval:
    """Return the interval of t with a t² + 2 b t + c ≤ 0, for a ≥ 0, computed without cancellation."""
    inner = b * b - a * c
    crosses = and_(lt(ALONG, a), le(0.0, inner))
    root = sqrt(where(crosses, inner, 1.0))
    sum_ = where(lt(b, 0.0), root - b, -root - b)
    far, near = sum_ / where(crosses, a, 1.0), c / where(lt(ALONG, fabs(sum_)), sum_, 1.0)
    begin, end = where(crosses, fmin(far, near), -FAR), where(crosses, fmax(far, near), FAR)
    return LineInterval(begin, end, or_(crosses, and_(le(a, ALONG), le(c, 0.0))))


class _Segment(NamedTuple):
    """Part of a ray between two crossings of the grid's lines, from ``begin`` to ``end`` along the ray [m].

    ``height`` is the ray's height above the surface at ``end`` [m].  ``following`` are the next integers that the grid
    coordinates u, v and u − v reach.
    """

    begin: Any
    end: Any
    height: Any
    following: tuple[Any, Any, Any]


def ground_ray(ground: Ground, origin: Vec3, direction: Vec3, most: Any) -> Any:
    """Return the length [m] of a ray from ``origin`` along ``direction`` (length 1) until it hits the ground.

    Both are in the field's coordinates.  The length is 0 in the ground, and ``most`` if the ray does not hit the ground
    within that length.  A ray from outside the grid may hit the side of the ground.
    """
    over = _over(ground, origin, direction, most)
    begin = where(over.ahead, over.begin, 0.0)
    known = stop_gradient([*origin, *direction, begin, where(over.ahead, over.end, 0.0)])
    first, result = _hit(ground, Vec3.of(known[:3]), Vec3.of(known[3:6]), known[6], known[7])
    low, high = stop_gradient([result.begin, result.end])
    _, under, normal = surface_under(ground, origin + direction * (0.5 * (low + high)))
    sinks = normal.dot(direction)
    falls = lt(sinks, -ALONG)
    t = normal.dot(under - origin) / where(falls, sinks, -1.0)
    t = where(falls, fmin(fmax(t, low), high), high)
    t = where(le(first, 0.0), begin, t)
    return where(and_(over.ahead, le(result.height, 0.0)), t, most)


def _over(ground: Ground, o: Vec3, d: Vec3, most: Any) -> LineInterval:
    """Return the interval of a ray in which it is over the grid and not above the surface's highest point."""
    x0, y0, dx, dy, cells_x, cells_y = ground.grid
    along_x, along_y = slab((o.x - x0) / dx, d.x / dx, 0.0, cells_x), slab((o.y - y0) / dy, d.y / dy, 0.0, cells_y)
    below = slab(o.z, d.z, -FAR, ground.ranges[0][1])
    return along_x.within(along_y).within(below).within(LineInterval(0.0, most, le(0.0, most)))


def _hit(ground: Ground, o: Vec3, d: Vec3, begin: Any, end: Any) -> tuple[Any, _Segment]:
    """Return the ray's height above the surface at ``begin`` [m], and the segment of the ray that hits the surface.

    The segment is the first one that ends on or below the surface, or the last one if none does.
    """
    x0, y0, dx, dy, _, _ = ground.grid
    u, v, u_rate, v_rate = (o.x - x0) / dx, (o.y - y0) / dy, d.x / dx, d.y / dy
    coordinates = [(u, u_rate), (v, v_rate), (u - v, u_rate - v_rate)]
    moving = [lt(ALONG, fabs(rate)) for _, rate in coordinates]
    steps = [where(lt(0.0, rate), 1.0, -1.0) for _, rate in coordinates]
    shares = [1.0 / where(moves, rate, 1.0) for moves, (_, rate) in zip(moving, coordinates, strict=True)]

    def height(t: Any) -> Any:
        p = o + d * t
        return p.z - surface_under(ground, p)[1].z

    def next_segment(segment: _Segment) -> _Segment:
        each = zip(moving, coordinates, shares, segment.following, strict=True)
        crossings = [where(moves, (integer - x) * share, FAR) for moves, (x, _), share, integer in each]
        to = fmax(fmin(fmin(crossings[0], crossings[1]), fmin(crossings[2], end)), segment.end)
        passed = zip(crossings, segment.following, steps, strict=True)
        following = [where(le(t, to), integer + step, integer) for t, integer, step in passed]
        return _Segment(segment.end, to, height(to), (following[0], following[1], following[2]))

    def is_above(segment: _Segment) -> Any:
        return and_(lt(0.0, segment.height), lt(segment.end, end))

    initial = [x + rate * begin for x, rate in coordinates]
    integers = [where(lt(0.0, step), floor(x) + 1.0, -floor(-x) - 1.0) for x, step in zip(initial, steps, strict=True)]
    start = _Segment(begin, begin, height(begin), (integers[0], integers[1], integers[2]))
    rows, columns = ground.heights.shape
    result: _Segment = while_loop(is_above, next_segment, start, max_iterations=2 * (rows + columns) + 4).state
    return start.height, result
