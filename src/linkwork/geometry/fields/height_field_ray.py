"""Ray casting on a height field by grid traversal, over any scalar.

The ground is the surface and all points below it, over the grid.  The ray's height above the surface is linear in the
path length t between crossings of grid lines and cell diagonals, where its coordinates in cells,

    u(t),     v(t),     u(t) − v(t),

are integers.  Each coordinate has integer values at regular steps of t, so the next crossing is the minimum of three
values.  The first segment at whose end the ray is not above the surface has the triangle that is hit, and the result is
the ray's intersection with its plane, with the derivatives of that.  The cost of a segment does not depend on the
field's size, and there are at most twice as many segments as cells along both sides.

Source: Amanatides and Woo, A fast voxel traversal algorithm for ray tracing, Eurographics 1987.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, where
from linkwork.geometry.fields.height_field import Ground, surface_under
from linkwork.geometry.ray_casting import ALONG, FAR, LineInterval, slab
from linkwork.spatial import Vec3

__all__ = ["ground_ray"]


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

    This is the first segment that ends on or below the surface, or the last segment if none does.
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
