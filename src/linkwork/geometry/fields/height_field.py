"""Height fields: the nearest of many triangles by a bounding volume hierarchy, with the sign of the ground.

A leaf of the tree is four cells.  The minimum and maximum height of each box and the heights are inputs of a call; the
boxes' positions in the grid are constant.

The ground is the solid below the surface, so it has vertical walls below the grid's edge.  Let s be the signed distance
of a point from the sides of the grid in the horizontal plane, negative over the grid, and h the height of the surface
at the grid's nearest point.  A point is in the ground if max(z − h, s) < 0.  The distance to the walls is s for a point
that is beside the grid and below h, and −s for a point in the ground.  Other points are nearer to the surface than to
any wall.  For cores, a wall is two triangles below each edge on the grid's boundary, which are deep enough that no core
is nearer to their lower ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.control import cond, take, while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, or_, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    Core,
    PointCore,
    PolytopeCore,
    SegmentCore,
    SignedDistance,
    Solid,
    bounding_sphere,
    chosen,
)
from linkwork.geometry.fields.bvh import (
    NOWHERE,
    NearestItem,
    depth_of,
    distance_to_box,
    nearer,
    nearest,
    row_at,
    skip_table,
)
from linkwork.geometry.fields.triangle_distance import nearest_on_triangle, triangle_distance
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import TINY, choose
from linkwork.shapes import HeightField
from linkwork.spatial import Vec3

__all__ = ["Ground", "corner_at", "ground_arrays", "ground_distance", "sides_of", "surface_under"]


_SIDE = 2  # cells along a side of a leaf
_SLACK = by_type(1e-9)  # relative, and [m]: rounding error of a bound
_TIE = by_type(1e-12)  # [m] difference of equal distances
_ROUNDED = by_type(1e-30)  # square of a distance, relative to that from the origin, below which its sign is not known
# Triangles of a leaf: row and column of each corner relative to the leaf's first height.
_TRIANGLES = np.array(
    [
        [i, j, i + 1, j, i + 1, j + 1] if lower else [i, j, i + 1, j + 1, i, j + 1]
        for i in range(_SIDE)
        for j in range(_SIDE)
        for lower in (True, False)
    ],
    dtype=float,
)


def _leaf_triangles() -> np.ndarray:
    """Return the triangles of a leaf on the surface, and then on the walls of all sides (24, 14).

    A row has the flags "wall normal to x" and "wall normal to y", the side (0 or 1), row and column of the cell, and of
    each corner the row, the column and the flag "at the wall's lower end".  The normals point outward.
    """
    rows = [[0, 0, 0, *row[:2], *(x for k in range(0, 6, 2) for x in (row[k], row[k + 1], 0))] for row in _TRIANGLES]
    for x, side, cell in product((1, 0), (0, 1), range(_SIDE)):
        a, b = (cell, cell + 1) if x != side else (cell + 1, cell)
        for corners in (((a, 0), (b, 0), (b, 1)), ((a, 0), (b, 1), (a, 1))):
            offsets = [(0, k, low) if x else (k, 0, low) for k, low in corners]
            rows.append([x, 1 - x, side, *((0, cell) if x else (cell, 0)), *(entry for c in offsets for entry in c)])
    return np.array(rows, dtype=float)


_OF_LEAF = _leaf_triangles()


@dataclass(frozen=True, slots=True)
class Ground:
    """Arrays of a height field, over any scalar; heights beyond the used cells are padding."""

    heights: Any  # (m, n) [m]; m − 1 and n − 1 are powers of two
    ranges: Any  # (nodes, 2): minimum and maximum height of nodes in preorder [m]
    grid: Any  # (6,): origin x, y [m], spacing x, y [m], used cells along x, y


def ground_arrays(field: HeightField, capacity: tuple[int, int] | None = None) -> Mapping[str, np.ndarray]:
    """Return the arrays of a height field with the smallest capacity (cells, powers of two), or a larger one.

    Raises ValueError for an invalid or too small capacity.
    """
    cells = tuple(n - 1 for n in field.heights.shape)
    smallest = tuple(max(_SIDE, 1 << (n - 1).bit_length()) for n in cells)
    capacity = smallest if capacity is None else capacity
    if any(c < n or c & (c - 1) for c, n in zip(capacity, smallest, strict=True)):
        raise ValueError(f"height field: capacity: expected two powers of two, at least {smallest}, got {capacity}")
    heights = np.pad(field.heights, [(0, c - n) for c, n in zip(capacity, cells, strict=True)], mode="edge")
    ranges = []
    for i0, i1, j0, j1 in _node_cells(*(c // _SIDE for c in capacity)).astype(int):
        block = field.heights[i0 : i1 + 1, j0 : j1 + 1]
        empty = i0 >= cells[0] or j0 >= cells[1]
        ranges.append((NOWHERE, NOWHERE) if empty else (block.min(), block.max()))
    grid = np.array([*field.origin, *field.spacing, *map(float, cells)])
    return {"heights": heights, "ranges": np.array(ranges), "grid": grid}


def ground_distance(ground: Ground, b: Solid) -> SignedDistance:
    """Compute the signed distance from the ground to a bounded convex solid, both in the field's coordinates.

    The ground has vertical walls below the grid's edge.  The distance is exact for separate bodies.  For overlaps, it
    is the depth of one point of the core in the ground, which never exceeds the length of the shortest separating
    translation.  The point is

    - a sphere's centre;
    - the end of a capsule, or the vertex of a box or polytope, that is farthest below the surface and behind the walls;
    - the lowest point of other cores.

    If a ridge penetrates a face of the core between its vertices, the depth is the overlap of the ridge's triangles
    and the core. If a capsule's axis crosses the surface and no end is below, the depth is the radius.
    """
    point = _deepest(ground, b.core)
    if isinstance(b.core, PointCore):
        return _point_distance(ground, point).rounded(0.0, b.radius)
    total = _core_distance(ground, b.core)

    def deep() -> tuple[Any, ...]:
        result = _point_distance(ground, point)
        less = lt(result.distance, fmin(total.distance, 0.0))
        return _values(chosen(less, result, total))

    distance, *vectors, unique = cond(lt(_gap(ground, point), 0.0), deep, lambda: _values(total))
    normal, on_a, on_b = (Vec3.of(vectors[k : k + 3]) for k in (0, 3, 6))
    return SignedDistance(distance, normal, on_a, on_b, unique).rounded(0.0, b.radius)


def _values(result: SignedDistance) -> tuple[Any, ...]:
    return (result.distance, *result.normal, *result.on_a, *result.on_b, result.unique)


def _point_distance(ground: Ground, p: Vec3) -> SignedDistance:
    """Return the signed distance of a point from the ground, negative in it."""
    best = _search(ground, PointCore(p))
    corners = _corners(ground, best.index)
    on, away = nearest_on_triangle(corners, p)
    below = lt(p.z, _under(ground, p).z)
    to_sides, outward, one_side = sides_of(ground, p)
    sign = where(and_(below, lt(to_sides, 0.0)), -1.0, 1.0)
    square = away.dot(away)
    known = lt(fmax(TINY, _ROUNDED * on.dot(on)), square)
    length = sqrt(where(known, square, 1.0))
    up = (corners[1] - corners[0]).cross(corners[2] - corners[0])
    up = up * (1.0 / sqrt(up.dot(up)))
    scale = sign / length
    normal = Vec3(*(where(known, x * scale, y) for x, y in zip(away, up, strict=True)))
    distance = where(known, length * sign, 0.0)
    surface = SignedDistance(distance, normal, on, p, 1.0 - best.tie)
    wall = SignedDistance(to_sides, outward, p - outward * to_sides, p, one_side)
    nearer_wall = and_(below, or_(le(0.0, to_sides), lt(distance, to_sides)))
    result = chosen(nearer_wall, wall, surface)
    both = and_(and_(below, lt(to_sides, 0.0)), le(fabs(distance - to_sides), _TIE))
    return replace(result, unique=where(both, 0.0, result.unique))


def sides_of(ground: Ground, p: Vec3) -> tuple[Any, Vec3, Any]:
    """Return the signed horizontal distance of a point from the grid's sides [m], its outward normal, and `unique`.

    The distance is negative over the grid.  `unique` is 0 for a point over the grid that is equally near to two sides.
    """
    x0, y0, dx, dy, cells_x, cells_y = ground.grid
    low_x, high_x, low_y, high_y = x0 - p.x, p.x - (x0 + dx * cells_x), y0 - p.y, p.y - (y0 + dy * cells_y)
    beyond_x, beyond_y = fmax(low_x, high_x), fmax(low_y, high_y)
    sign_x, sign_y = where(lt(high_x, low_x), -1.0, 1.0), where(lt(high_y, low_y), -1.0, 1.0)
    out_x, out_y = fmax(beyond_x, 0.0), fmax(beyond_y, 0.0)
    square = out_x * out_x + out_y * out_y
    beside = lt(TINY, square)
    length = sqrt(where(beside, square, 1.0))
    by_x = lt(beyond_y, beyond_x)
    distance = where(beside, length, fmax(beyond_x, beyond_y))
    normal_x = where(beside, out_x / length, where(by_x, 1.0, 0.0)) * sign_x
    normal_y = where(beside, out_y / length, where(by_x, 0.0, 1.0)) * sign_y
    to_opposite = where(by_x, fabs(low_x - high_x), fabs(low_y - high_y))
    several = and_(lt(distance, 0.0), le(fmin(fabs(beyond_x - beyond_y), to_opposite), _TIE))
    return distance, Vec3(normal_x, normal_y, 0.0), where(several, 0.0, 1.0)


def _core_distance(ground: Ground, core: Core) -> SignedDistance:
    """Return the minimum distance over all triangles of the surface and the walls."""
    best = _search(ground, core)
    result = triangle_distance(_corners(ground, best.index, core), core)
    return SignedDistance(
        result.distance, result.normal, result.on_a, result.on_b, where(best.tie > 0.5, 0.0, result.unique)
    )


def _lower_end(ground: Ground, core: Core) -> Any:
    """Return z of the walls' lower ends [m]: deep enough that no translation by the core's diameter passes below."""
    around = bounding_sphere(core)
    lowest = fmin(around.center.z, ground.ranges[0][0])
    return stop_gradient([lowest - 4.0 * around.radius - ground.grid[2]])[0]


def _search(ground: Ground, core: Core) -> NearestItem:
    """Return the triangle that is nearest to the core, or deepest in it.

    For points these are the triangles of the surface, for other cores those of the walls too.
    """
    is_point = isinstance(core, PointCore)
    around = bounding_sphere(core)
    c = around.center
    x0, y0, dx, dy, cells_x, cells_y = ground.grid
    depth = depth_of(len(ground.ranges))
    across = [n // _SIDE for n in _capacity(ground)]
    table = np.hstack([skip_table(depth), _node_cells(*across)])
    origins = np.array([row[2::2] for row in table if row[1] >= 0.0])

    def bound(node: Any) -> Any:
        i0, i1, j0, j1 = row_at(table[:, 2:], node)
        low, high = row_at(ground.ranges, node)
        if not is_point:
            inner = and_(and_(lt(0.0, i0), lt(i1, cells_x)), and_(lt(0.0, j0), lt(j1, cells_y)))
            empty = or_(le(cells_x, i0), le(cells_y, j0))
            low = where(or_(or_(inner, empty), over), low, -NOWHERE)
        return distance_to_box(c, (x0 + dx * i0, y0 + dy * j0, low), (x0 + dx * i1, y0 + dy * j1, high)) - around.radius

    def evaluate(best: NearestItem, corners: Sequence[Vec3], in_grid: Any, index: Any) -> NearestItem:
        point, away = nearest_on_triangle(corners, c)
        least = sqrt(away.dot(away)) - around.radius
        if is_point:
            return nearer(best, where(in_grid, least, NOWHERE), point, index)

        def measured() -> tuple[Any, ...]:
            result = triangle_distance(corners, core)
            return (result.distance, *result.on_a)

        distance, *on = cond(and_(in_grid, le(least, best.distance)), measured, lambda: (NOWHERE, *point))
        return nearer(best, distance, Vec3(*on), index)

    def leaf(index: Any, best: NearestItem) -> NearestItem:
        i0, j0 = row_at(origins, index)
        first = len(_OF_LEAF) * index
        if is_point:  # short enough to be unrolled, with each height loaded once
            grid = {(i, j): corner_at(ground, i0 + i, j0 + j) for i in range(_SIDE + 1) for j in range(_SIDE + 1)}
            for k, row in enumerate(_TRIANGLES.astype(int).tolist()):
                corners = [grid[row[c], row[c + 1]] for c in range(0, 6, 2)]
                in_grid = and_(lt(i0 + row[0], cells_x), lt(j0 + row[1], cells_y))
                best = evaluate(best, corners, in_grid, first + k)
            return best
        inner = and_(and_(lt(0.0, i0), lt(0.0, j0)), and_(lt(i0 + _SIDE, cells_x), lt(j0 + _SIDE, cells_y)))
        count = where(or_(inner, over), float(len(_TRIANGLES)), float(len(_OF_LEAF)))

        def step(at: tuple[Any, NearestItem]) -> tuple[Any, NearestItem]:
            k, best = at
            row = row_at(_OF_LEAF, k)
            corners = _triangle(ground, i0, j0, row, low)
            return k + 1.0, evaluate(best, corners, _exists(ground, i0, j0, row), first + k)

        run = while_loop(lambda at: lt(at[0], count), step, (0.0, best), max_iterations=len(_OF_LEAF))
        result: NearestItem = run.state[1]
        return result

    low = None if is_point else _lower_end(ground, core)
    over = None if is_point else le(sides_of(ground, c)[0], -around.radius)  # then the walls are not nearer
    under = _under(ground, c)
    gap = c - under
    size = sqrt(gap.dot(gap)) + around.radius
    most = size + _SLACK * size + _SLACK
    return nearest(depth, bound, leaf, NearestItem(most, under, 0.0, 0.0))


def _corners(ground: Ground, index: Any, core: Core | None = None) -> list[Vec3]:
    """Return the corners of a triangle by its index; for a triangle of a wall, the core defines the lower end."""
    leaf = floor(index / len(_OF_LEAF))
    across = [n // _SIDE for n in _capacity(ground)]
    table = np.hstack([skip_table(depth_of(len(ground.ranges))), _node_cells(*across)])
    origins = np.array([row[2::2] for row in table if row[1] >= 0.0])
    i0, j0 = row_at(origins, leaf)
    low = ground.ranges[0][0] if core is None else _lower_end(ground, core)
    return _triangle(ground, i0, j0, row_at(_OF_LEAF, index - len(_OF_LEAF) * leaf), low)


def _triangle(ground: Ground, i0: Any, j0: Any, row: Sequence[Any], low: Any) -> list[Vec3]:
    """Return the corners of a leaf's triangle by its row in `_OF_LEAF`."""
    on_x, on_y, side = row[:3]
    result = []
    for k in range(5, 14, 3):
        i = where(lt(0.5, on_x), side * ground.grid[4], i0 + row[k])
        j = where(lt(0.5, on_y), side * ground.grid[5], j0 + row[k + 1])
        corner = corner_at(ground, i, j)
        result.append(Vec3(corner.x, corner.y, where(lt(0.5, row[k + 2]), low, corner.z)))
    return result


def _exists(ground: Ground, i0: Any, j0: Any, row: Sequence[Any]) -> Any:
    """Return True if a leaf has the triangle of a row in `_OF_LEAF`: if its cell, with the side, is in the grid."""
    on_x, on_y, side, *cell = row[:5]
    result: Any = True
    for flag, first, k, cells in zip((on_x, on_y), (i0, j0), cell, ground.grid[4:6], strict=True):
        index = where(lt(0.5, flag), side * (cells - 1.0), first + k)
        result = and_(result, and_(and_(le(first, index), lt(index, first + _SIDE)), lt(index, cells)))
    return result


def corner_at(ground: Ground, i: Any, j: Any) -> Vec3:
    """Return the surface point of grid indices along x and y."""
    x0, y0, dx, dy = ground.grid[:4]
    height = take(ground.heights.reshape(-1), ground.heights.shape[1] * i + j)
    return Vec3(x0 + dx * i, y0 + dy * j, height)


def _under(ground: Ground, p: Vec3) -> Vec3:
    """Return the surface point below p; for a p beside the grid, the surface point at the grid's edge."""
    return surface_under(ground, p)[1]


def surface_under(ground: Ground, p: Vec3) -> tuple[Any, Vec3, Vec3]:
    """Return (inside, point, normal): True if p is over the grid; the surface point below p and the normal there.

    For a p beside the grid, the point is clamped to the grid's edge.
    """
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
    """Return max(z − h, s) for a point [m]: height above the surface, or distance from the sides; negative inside."""
    return fmax(p.z - _under(ground, p).z, sides_of(ground, p)[0])


def _deepest(ground: Ground, core: Core) -> Vec3:
    """Return the point of a core that defines its depth in the ground: the farthest below it and behind its walls."""
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
        best = choose(lower, point, best)
        least = fmin(least, gap)
    return best


def _capacity(ground: Ground) -> tuple[int, int]:
    m, n = ground.heights.shape
    return m - 1, n - 1


@cache
def _node_cells(leaves_x: int, leaves_y: int) -> np.ndarray:
    """Return the cell range (i0, i1, j0, j1) of each node in preorder; the longer side is halved."""
    rows = []
    stack = [(0, leaves_x, 0, leaves_y)]
    while stack:
        i0, i1, j0, j1 = stack.pop()
        rows.append([_SIDE * i0, _SIDE * i1, _SIDE * j0, _SIDE * j1])
        if i1 - i0 >= j1 - j0 and i1 - i0 > 1:
            middle = (i0 + i1) // 2
            stack += [(middle, i1, j0, j1), (i0, middle, j0, j1)]
        elif j1 - j0 > 1:
            middle = (j0 + j1) // 2
            stack += [(i0, i1, middle, j1), (i0, i1, j0, middle)]
    table = np.array(rows, dtype=float)
    table.setflags(write=False)
    return table
