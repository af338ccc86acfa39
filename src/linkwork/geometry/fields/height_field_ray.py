"""How far a ray goes until it meets the ground of a height field, over any scalar.

The ground is all that is on its surface or below, over the grid.  The ray's height above the surface is linear in the
way t between places where it passes a line of the grid or a cell's diagonal: where its coordinates in cells,

    u(t),     v(t),     u(t) − v(t),

are whole numbers, which they are one after the other at steady steps of t.  So the next place is the least of three
numbers.  The first piece at whose end the ray is no longer above the surface has the triangle that is met, and what the
ray has with its plane is the answer, which varies as that does.  Pieces cost the same on any field, and there are no
more of them than twice the cells along both sides.

Source: Amanatides and Woo, A fast voxel traversal algorithm for ray tracing, Eurographics 1987.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, where
from linkwork.geometry.fields.height_field import Ground, surface_under
from linkwork.geometry.ray_casting import ALONG, FAR, LinePart, slab
from linkwork.spatial import Vec3

__all__ = ["ground_ray"]


class _Piece(NamedTuple):
    """From ``begin`` to ``end`` [m] along the ray: how high it is at the end [m], and the next whole number of each
    coordinate.
    """

    begin: Any
    end: Any
    height: Any
    following: tuple[Any, Any, Any]


def ground_ray(ground: Ground, origin: Vec3, direction: Vec3, most: Any) -> Any:
    """How far [m] a ray goes from an ``origin`` in a ``direction`` of length 1, both in the field's coordinates: 0 in
    the ground, ``most`` where there is none so far.  What comes from beside the grid may meet the ground's side.
    """
    over = _over(ground, origin, direction, most)
    begin = where(over.ahead, over.begin, 0.0)
    known = stop_gradient([*origin, *direction, begin, where(over.ahead, over.end, 0.0)])
    first, result = _met(ground, Vec3.of(known[:3]), Vec3.of(known[3:6]), known[6], known[7])
    low, high = stop_gradient([result.begin, result.end])
    _, under, normal = surface_under(ground, origin + direction * (0.5 * (low + high)))
    sinks = normal.dot(direction)
    falls = lt(sinks, -ALONG)
    t = normal.dot(under - origin) / where(falls, sinks, -1.0)
    t = where(falls, fmin(fmax(t, low), high), high)
    t = where(le(first, 0.0), begin, t)
    return where(and_(over.ahead, le(result.height, 0.0)), t, most)


def _over(ground: Ground, o: Vec3, d: Vec3, most: Any) -> LinePart:
    """What of a ray is over the grid, and not above all of the surface."""
    x0, y0, dx, dy, cells_x, cells_y = ground.grid
    along_x, along_y = slab((o.x - x0) / dx, d.x / dx, 0.0, cells_x), slab((o.y - y0) / dy, d.y / dy, 0.0, cells_y)
    below = slab(o.z, d.z, -FAR, ground.ranges[0][1])
    return along_x.within(along_y).within(below).within(LinePart(0.0, most, le(0.0, most)))


def _met(ground: Ground, o: Vec3, d: Vec3, begin: Any, end: Any) -> tuple[Any, _Piece]:
    """How high the ray is at first, and the piece in which it is over the surface no longer, or the last one."""
    x0, y0, dx, dy, _, _ = ground.grid
    u, v, u_rate, v_rate = (o.x - x0) / dx, (o.y - y0) / dy, d.x / dx, d.y / dy
    coordinates = [(u, u_rate), (v, v_rate), (u - v, u_rate - v_rate)]
    moving = [lt(ALONG, fabs(rate)) for _, rate in coordinates]
    steps = [where(lt(0.0, rate), 1.0, -1.0) for _, rate in coordinates]
    shares = [1.0 / where(moves, rate, 1.0) for moves, (_, rate) in zip(moving, coordinates, strict=True)]

    def height(t: Any) -> Any:
        p = o + d * t
        return p.z - surface_under(ground, p)[1].z

    def further(piece: _Piece) -> _Piece:
        each = zip(moving, coordinates, shares, piece.following, strict=True)
        at = [where(moves, (number - x) * share, FAR) for moves, (x, _), share, number in each]
        to = fmax(fmin(fmin(at[0], at[1]), fmin(at[2], end)), piece.end)
        passed = zip(at, piece.following, steps, strict=True)
        following = [where(le(t, to), number + step, number) for t, number, step in passed]
        return _Piece(piece.end, to, height(to), (following[0], following[1], following[2]))

    def above(piece: _Piece) -> Any:
        return and_(lt(0.0, piece.height), lt(piece.end, end))

    there = [x + rate * begin for x, rate in coordinates]
    numbers = [where(lt(0.0, step), floor(x) + 1.0, -floor(-x) - 1.0) for x, step in zip(there, steps, strict=True)]
    start = _Piece(begin, begin, height(begin), (numbers[0], numbers[1], numbers[2]))
    rows, columns = ground.heights.shape
    result: _Piece = while_loop(above, further, start, max_iterations=2 * (rows + columns) + 4).state
    return start.height, result
