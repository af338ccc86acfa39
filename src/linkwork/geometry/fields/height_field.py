"""Height fields: the nearest of many triangles, and which side of them is the ground.

Four cells are a leaf of a tree, whose boxes know the least and the greatest height in them: heights and these are data
of the call, and where the boxes are in the grid is constant.

Triangles, which have no inside, against cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from linkwork.expr.control import cond, scan, take
from linkwork.expr.scalar.functions import and_, floor, fmax, fmin, le, lt, sqrt, where
from linkwork.geometry.cores import BoxCore, Core, PointCore, PolytopeCore, SegmentCore, Solid, chosen
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.fields.bvh import (
    NOWHERE,
    NearestPlace,
    depth_of,
    nearer,
    nearest,
    to_box,
    walk_table,
)
from linkwork.geometry.pairs import segment_segment, signed_distance
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import towards
from linkwork.geometry.separation_bounds import bounding_sphere
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import NOTHING, choose
from linkwork.shapes import HeightField
from linkwork.spatial import Pose, Vec3

__all__ = ["Ground", "corner_at", "ground_arrays", "ground_distance", "surface_under"]


_SIDE = 2  # cells along a side of a leaf
_SLACK = 1e-9  # relative, and [m]: what a bound may be off by rounding
# The triangles of a leaf: of each corner its row and column of heights from the leaf's first.
_TRIANGLES = np.array(
    [
        [i, j, i + 1, j, i + 1, j + 1] if lower else [i, j, i + 1, j + 1, i, j + 1]
        for i in range(_SIDE)
        for j in range(_SIDE)
        for lower in (True, False)
    ],
    dtype=float,
)


@dataclass(frozen=True, slots=True)
class Ground:
    """A height field's numbers, over any scalar: heights (m, n) [m]; the least and greatest height of nodes in preorder
    (nodes, 2); and (origin x, y, spacing x, y [m], cells along x, y).  m − 1 and n − 1 are powers of two; heights
    beyond the cells that there are do not count.
    """

    heights: Any
    ranges: Any
    grid: Any


def ground_arrays(field: HeightField, capacity: tuple[int, int] | None = None) -> Mapping[str, np.ndarray]:
    """The numbers of a height field: of the least capacity (cells along x and y, powers of two), or of a larger one.

    Raises ValueError where the capacity is none or too small.
    """
    cells = tuple(n - 1 for n in field.heights.shape)
    least = tuple(max(_SIDE, 1 << (n - 1).bit_length()) for n in cells)
    capacity = least if capacity is None else capacity
    if any(c < n or c & (c - 1) for c, n in zip(capacity, least, strict=True)):
        raise ValueError(f"height field: capacity: expected two powers of two, at least {least}, got {capacity}")
    heights = np.pad(field.heights, [(0, c - n) for c, n in zip(capacity, cells, strict=True)], mode="edge")
    ranges = []
    for i0, i1, j0, j1 in _places(*(c // _SIDE for c in capacity)).astype(int):
        part = field.heights[i0 : i1 + 1, j0 : j1 + 1]
        empty = i0 >= cells[0] or j0 >= cells[1]
        ranges.append((NOWHERE, NOWHERE) if empty else (part.min(), part.max()))
    grid = np.array([*field.origin, *field.spacing, *map(float, cells)])
    return {"heights": heights, "ranges": np.array(ranges), "grid": grid}


def ground_distance(ground: Ground, b: Solid) -> SignedDistance:
    """From the ground to a convex solid that is bounded, both in the field's coordinates.

    Apart it is exact.  Of overlaps it is what one point of the core takes to the surface, and never more than the least
    translation that parts them: for a sphere its centre; for a capsule an end, for a box or a polytope a vertex, the
    one that is farthest below the ground above it; for others the lowest point.  A ridge that goes into a face counts
    with the overlap of its triangles; where a capsule's axis crosses the surface and no end is below, it is the radius.
    """
    point = _deepest(ground, b.core)
    if isinstance(b.core, PointCore):
        return _point_distance(ground, point).rounded(0.0, b.radius)
    whole = _core_distance(ground, b.core)

    def deep() -> tuple[Any, ...]:
        result = _point_distance(ground, point)
        less = lt(result.distance, fmin(whole.distance, 0.0))
        return _numbers(chosen(less, result, whole))

    distance, *rest, unique = cond(lt(_gap(ground, point), 0.0), deep, lambda: _numbers(whole))
    normal, on_a, on_b = (Vec3.of(rest[k : k + 3]) for k in (0, 3, 6))
    return SignedDistance(distance, normal, on_a, on_b, unique).rounded(0.0, b.radius)


def _numbers(result: SignedDistance) -> tuple[Any, ...]:
    return (result.distance, *result.normal, *result.on_a, *result.on_b, result.unique)


def _point_distance(ground: Ground, p: Vec3) -> SignedDistance:
    """From the surface, and less than zero below it."""
    best = _search(ground, PointCore(p))
    corners = _corners(ground, best.which)
    on = nearest_on_triangle(corners, p)
    sign = where(lt(_gap(ground, p), 0.0), -1.0, 1.0)
    away = p - on
    square = away.dot(away)
    known = lt(1e-300, square)
    length = sqrt(where(known, square, 1.0))
    up = (corners[1] - corners[0]).cross(corners[2] - corners[0])
    up = up * (1.0 / sqrt(up.dot(up)))
    scale = sign / length
    normal = Vec3(*(where(known, x * scale, y) for x, y in zip(away, up, strict=True)))
    return SignedDistance(where(known, length * sign, 0.0), normal, on, p, 1.0 - best.tie)


def _core_distance(ground: Ground, core: Core) -> SignedDistance:
    """The least over all triangles."""
    best = _search(ground, core)
    result = triangle_distance(_corners(ground, best.which), core)
    return SignedDistance(
        result.distance, result.normal, result.on_a, result.on_b, where(best.tie > 0.5, 0.0, result.unique)
    )


def _search(ground: Ground, core: Core) -> NearestPlace:
    """Which triangle is nearest, or deepest in the core."""
    around = bounding_sphere(core)
    c = around.center
    x0, y0, dx, dy, cells_x, cells_y = ground.grid
    depth = depth_of(len(ground.ranges))
    across = [n // _SIDE for n in _capacity(ground)]
    table = np.hstack([walk_table(depth), _places(*across)])
    origins = np.array([row[2::2] for row in table if row[1] >= 0.0])

    def bound(node: Any) -> Any:
        i0, i1, j0, j1 = take(table[:, 2:], node)
        low, high = take(ground.ranges, node)
        return to_box(c, (x0 + dx * i0, y0 + dy * j0, low), (x0 + dx * i1, y0 + dy * j1, high)) - around.radius

    def look(best: NearestPlace, corners: Sequence[Vec3], i: Any, j: Any, which: Any) -> NearestPlace:
        there = and_(lt(i, cells_x), lt(j, cells_y))
        place = nearest_on_triangle(corners, c)
        away = c - place
        least = sqrt(away.dot(away)) - around.radius
        if isinstance(core, PointCore):
            return nearer(best, where(there, least, NOWHERE), place, which)

        def measured() -> tuple[Any, ...]:
            result = triangle_distance(corners, core)
            return (result.distance, *result.on_a)

        distance, *on = cond(and_(there, le(least, best.distance)), measured, lambda: (NOWHERE, *place))
        return nearer(best, distance, Vec3(*on), which)

    def leaf(number: Any, best: NearestPlace) -> NearestPlace:
        i0, j0 = take(origins, number)
        first = len(_TRIANGLES) * number
        if isinstance(core, PointCore):  # short enough to be written out, and heights are looked up once
            grid = {(i, j): corner_at(ground, i0 + i, j0 + j) for i in range(_SIDE + 1) for j in range(_SIDE + 1)}
            for k, row in enumerate(_TRIANGLES.astype(int).tolist()):
                corners = [grid[row[c], row[c + 1]] for c in range(0, 6, 2)]
                best = look(best, corners, i0 + row[0], j0 + row[1], first + k)
            return best

        def step(best: NearestPlace, row: Any) -> tuple[NearestPlace, None]:
            corners = _triangle(ground, i0, j0, row[1])
            return look(best, corners, i0 + row[1][0], j0 + row[1][1], first + row[0]), None

        result: NearestPlace = scan(step, best, (np.arange(float(len(_TRIANGLES))), _TRIANGLES))[0]
        return result

    _, under = _under(ground, c)
    gap = c - under
    most = (sqrt(gap.dot(gap)) + around.radius) * (1.0 + _SLACK) + _SLACK
    return nearest(depth, bound, leaf, NearestPlace(most, under, 0.0, 0.0))


def _corners(ground: Ground, which: Any) -> list[Vec3]:
    """A triangle by its number."""
    leaf = floor(which / len(_TRIANGLES))
    across = [n // _SIDE for n in _capacity(ground)]
    table = np.hstack([walk_table(depth_of(len(ground.ranges))), _places(*across)])
    origins = np.array([row[2::2] for row in table if row[1] >= 0.0])
    i0, j0 = take(origins, leaf)
    return _triangle(ground, i0, j0, take(_TRIANGLES, which - len(_TRIANGLES) * leaf))


def _triangle(ground: Ground, i0: Any, j0: Any, offsets: Any) -> list[Vec3]:
    return [corner_at(ground, i0 + offsets[k], j0 + offsets[k + 1]) for k in range(0, 6, 2)]


def corner_at(ground: Ground, i: Any, j: Any) -> Vec3:
    """The field's point by its places along x and y."""
    x0, y0, dx, dy = ground.grid[:4]
    height = take(ground.heights.reshape(-1), ground.heights.shape[1] * i + j)
    return Vec3(x0 + dx * i, y0 + dy * j, height)


def _under(ground: Ground, p: Vec3) -> tuple[Any, Vec3]:
    """Whether a point is above or below the grid, and the surface's point there: of the edge, beyond that."""
    inside, under, _ = surface_under(ground, p)
    return inside, under


def surface_under(ground: Ground, p: Vec3) -> tuple[Any, Vec3, Vec3]:
    """Whether a point is above or below the grid, and the surface's point and normal there: of the edge, beyond it."""
    x0, y0, dx, dy, cells_x, cells_y = ground.grid
    u, v = (p.x - x0) / dx, (p.y - y0) / dy
    inside = and_(and_(le(0.0, u), le(u, cells_x)), and_(le(0.0, v), le(v, cells_y)))
    u, v = fmin(fmax(u, 0.0), cells_x), fmin(fmax(v, 0.0), cells_y)
    i, j = fmin(floor(u), cells_x - 1.0), fmin(floor(v), cells_y - 1.0)
    s, t = u - i, v - j
    heights, columns = ground.heights.reshape(-1), ground.heights.shape[1]
    first = columns * i + j
    a, d = take(heights, first), take(heights, first + (columns + 1.0))
    b, c = take(heights, first + columns), take(heights, first + 1.0)
    lower = lt(t, s)
    along, across = where(lower, b - a, d - c), where(lower, d - b, c - a)
    steep = Vec3(-along / dx, -across / dy, 1.0)
    normal = steep * (1.0 / sqrt(steep.dot(steep)))
    return inside, Vec3(x0 + dx * u, y0 + dy * v, a + along * s + across * t), normal


def _gap(ground: Ground, p: Vec3) -> Any:
    """How far a point is above the surface, along z, less than zero below it."""
    inside, under = _under(ground, p)
    return where(inside, p.z - under.z, NOWHERE)


def _deepest(ground: Ground, core: Core) -> Vec3:
    """The point of a core that counts where it overlaps the ground: the one that is farthest below, along z."""
    if isinstance(core, PointCore):
        return core.point
    if isinstance(core, SegmentCore):
        points = [core.center - core.half, core.center + core.half]
    elif isinstance(core, BoxCore):
        signs = (-1.0, 1.0)
        corners = [Vec3(core.half.x * i, core.half.y * j, core.half.z * k) for i in signs for j in signs for k in signs]
        points = [core.pose.point(corner) for corner in corners]
    elif isinstance(core, PolytopeCore):
        points = [core.pose.point(vertex) for vertex in core.vertices]
    else:
        return support(core, Vec3(0.0, 0.0, -1.0))
    best, least = points[0], _gap(ground, points[0])
    for point in points[1:]:
        gap = _gap(ground, point)
        lower = lt(gap, least)
        best = Vec3(*(where(lower, x, y) for x, y in zip(point, best, strict=True)))
        least = fmin(least, gap)
    return best


def _capacity(ground: Ground) -> tuple[int, int]:
    m, n = ground.heights.shape
    return m - 1, n - 1


@cache
def _places(leaves_x: int, leaves_y: int) -> np.ndarray:
    """By node, in preorder: from which to which cell along x, and along y; the longer side is halved."""
    rows = []
    waiting = [(0, leaves_x, 0, leaves_y)]
    while waiting:
        i0, i1, j0, j1 = waiting.pop()
        rows.append([_SIDE * i0, _SIDE * i1, _SIDE * j0, _SIDE * j1])
        if i1 - i0 >= j1 - j0 and i1 - i0 > 1:
            middle = (i0 + i1) // 2
            waiting += [(middle, i1, j0, j1), (i0, middle, j0, j1)]
        elif j1 - j0 > 1:
            middle = (j0 + j1) // 2
            waiting += [(i0, i1, middle, j1), (i0, i1, j0, middle)]
    table = np.array(rows, dtype=float)
    table.setflags(write=False)
    return table


_PARALLEL = 1e-14
Corners = Sequence[Vec3]


def nearest_on_triangle(corners: Corners, p: Vec3) -> Vec3:
    """The point of a triangle that is nearest to p: its foot on the plane, or on one of the three edges."""
    normal = _normal(corners)
    square = normal.dot(normal)
    known = lt(NOTHING, square)
    best = p - normal * (normal.dot(p - corners[0]) / where(known, square, 1.0))
    inside: Any = known
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        inside = and_(inside, le(0.0, (b - a).cross(p - a).dot(normal)))
    least: Any = None
    on_edge = p
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        edge = b - a
        length = edge.dot(edge)
        t = fmin(fmax((p - a).dot(edge) / where(lt(NOTHING, length), length, 1.0), 0.0), 1.0)
        here = a + edge * t
        away = (p - here).dot(p - here)
        if least is None:
            least, on_edge = away, here
            continue
        better = lt(away, least)
        least, on_edge = where(better, away, least), choose(better, here, on_edge)
    return choose(inside, best, on_edge)


def triangle_distance(corners: Corners, core: Core) -> SignedDistance:
    """From a triangle to a core; where a segment crosses it, the distance is zero and the normal the triangle's."""
    if isinstance(core, PointCore):
        return towards(nearest_on_triangle(corners, core.point), core.point, 0.0, _normal(corners))
    if isinstance(core, SegmentCore):
        return _triangle_segment(corners, core)
    return signed_distance(Solid(PolytopeCore(Pose.identity(), tuple(corners))), Solid(core))


def _triangle_segment(corners: Corners, core: SegmentCore) -> SignedDistance:
    """The least over edges and ends, unless they cross."""
    start, end = core.center - core.half, core.center + core.half
    result = towards(nearest_on_triangle(corners, start), start, 0.0, _normal(corners))
    for other in (
        towards(nearest_on_triangle(corners, end), end, 0.0, _normal(corners)),
        *(segment_segment(SegmentCore((a + b) * 0.5, (b - a) * 0.5), core)
          for a, b in zip(corners, (*corners[1:], corners[0]), strict=True)),
    ):  # fmt: skip
        tie = and_(le(other.distance, result.distance), le(result.distance, other.distance))
        better = chosen(lt(other.distance, result.distance), other, result)
        gap = other.on_a - result.on_a
        two = and_(tie, lt(1e-18, gap.dot(gap)))
        result = SignedDistance(
            better.distance, better.normal, better.on_a, better.on_b, where(two, 0.0, better.unique)
        )
    normal = _normal(corners)
    square = normal.dot(normal)
    up, down = normal.dot(start - corners[0]), normal.dot(end - corners[0])
    steep = lt(_PARALLEL * square, (up - down) * (up - down))
    t = up / where(steep, up - down, 1.0)
    here = start + (end - start) * t
    inside = and_(steep, and_(le(0.0, t), le(t, 1.0)))
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        inside = and_(inside, le(0.0, (b - a).cross(here - a).dot(normal)))
    length = sqrt(where(lt(NOTHING, square), square, 1.0))
    unit = normal * (1.0 / length)
    return chosen(inside, SignedDistance(0.0 * t, unit, here, here, 1.0 + 0.0 * t), result)


def _normal(corners: Corners) -> Vec3:
    a, b, c = corners
    return (b - a).cross(c - a)
