"""Height fields: the nearest of many triangles by a bounding volume hierarchy, with the sign of the ground.

A leaf of the tree is four cells.  The minimum and maximum height of each box and the heights are inputs of a call; the
boxes' positions in the grid are constant.  Distances of triangles, which have no interior, to cores are computed here
too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from linkwork.expr.control import cond, scan, take
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, floor, fmax, fmin, le, lt, sqrt, where
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
from linkwork.geometry.pairs import segment_segment, signed_distance
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import towards
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import TINY, choose
from linkwork.shapes import HeightField
from linkwork.spatial import Pose, Vec3

__all__ = ["Ground", "corner_at", "ground_arrays", "ground_distance", "surface_under"]


_SIDE = 2  # cells along a side of a leaf
_SLACK = by_type(1e-9)  # relative, and [m]: rounding error of a bound
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

    It is exact for separate bodies.  For overlaps, the depth is that of one point of the core below the surface, which
    never exceeds the length of the shortest separating translation.  The point is

    - a sphere's centre;
    - the end of a capsule, or the vertex of a box or polytope, that is farthest below the surface;
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
    """Return the signed distance of a point from the surface, negative below it."""
    best = _search(ground, PointCore(p))
    corners = _corners(ground, best.index)
    on, away = nearest_on_triangle(corners, p)
    sign = where(lt(_gap(ground, p), 0.0), -1.0, 1.0)
    square = away.dot(away)
    known = lt(fmax(TINY, _ROUNDED * on.dot(on)), square)
    length = sqrt(where(known, square, 1.0))
    up = (corners[1] - corners[0]).cross(corners[2] - corners[0])
    up = up * (1.0 / sqrt(up.dot(up)))
    scale = sign / length
    normal = Vec3(*(where(known, x * scale, y) for x, y in zip(away, up, strict=True)))
    return SignedDistance(where(known, length * sign, 0.0), normal, on, p, 1.0 - best.tie)


def _core_distance(ground: Ground, core: Core) -> SignedDistance:
    """Return the minimum distance over all triangles."""
    best = _search(ground, core)
    result = triangle_distance(_corners(ground, best.index), core)
    return SignedDistance(
        result.distance, result.normal, result.on_a, result.on_b, where(best.tie > 0.5, 0.0, result.unique)
    )


def _search(ground: Ground, core: Core) -> NearestItem:
    """Return the triangle that is nearest to the core, or deepest in it."""
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
        return distance_to_box(c, (x0 + dx * i0, y0 + dy * j0, low), (x0 + dx * i1, y0 + dy * j1, high)) - around.radius

    def evaluate(best: NearestItem, corners: Sequence[Vec3], i: Any, j: Any, index: Any) -> NearestItem:
        in_grid = and_(lt(i, cells_x), lt(j, cells_y))
        point, away = nearest_on_triangle(corners, c)
        least = sqrt(away.dot(away)) - around.radius
        if isinstance(core, PointCore):
            return nearer(best, where(in_grid, least, NOWHERE), point, index)

        def measured() -> tuple[Any, ...]:
            result = triangle_distance(corners, core)
            return (result.distance, *result.on_a)

        distance, *on = cond(and_(in_grid, le(least, best.distance)), measured, lambda: (NOWHERE, *point))
        return nearer(best, distance, Vec3(*on), index)

    def leaf(index: Any, best: NearestItem) -> NearestItem:
        i0, j0 = row_at(origins, index)
        first = len(_TRIANGLES) * index
        if isinstance(core, PointCore):  # short enough to be unrolled, with each height loaded once
            grid = {(i, j): corner_at(ground, i0 + i, j0 + j) for i in range(_SIDE + 1) for j in range(_SIDE + 1)}
            for k, row in enumerate(_TRIANGLES.astype(int).tolist()):
                corners = [grid[row[c], row[c + 1]] for c in range(0, 6, 2)]
                best = evaluate(best, corners, i0 + row[0], j0 + row[1], first + k)
            return best

        def step(best: NearestItem, row: Any) -> tuple[NearestItem, None]:
            corners = _triangle(ground, i0, j0, row[1])
            return evaluate(best, corners, i0 + row[1][0], j0 + row[1][1], first + row[0]), None

        result: NearestItem = scan(step, best, (np.arange(float(len(_TRIANGLES))), _TRIANGLES))[0]
        return result

    _, under = _under(ground, c)
    gap = c - under
    size = sqrt(gap.dot(gap)) + around.radius
    most = size + _SLACK * size + _SLACK
    return nearest(depth, bound, leaf, NearestItem(most, under, 0.0, 0.0))


def _corners(ground: Ground, index: Any) -> list[Vec3]:
    """Return the corners of a triangle by its index."""
    leaf = floor(index / len(_TRIANGLES))
    across = [n // _SIDE for n in _capacity(ground)]
    table = np.hstack([skip_table(depth_of(len(ground.ranges))), _node_cells(*across)])
    origins = np.array([row[2::2] for row in table if row[1] >= 0.0])
    i0, j0 = row_at(origins, leaf)
    return _triangle(ground, i0, j0, row_at(_TRIANGLES, index - len(_TRIANGLES) * leaf))


def _triangle(ground: Ground, i0: Any, j0: Any, offsets: Any) -> list[Vec3]:
    return [corner_at(ground, i0 + offsets[k], j0 + offsets[k + 1]) for k in range(0, 6, 2)]


def corner_at(ground: Ground, i: Any, j: Any) -> Vec3:
    """Return the surface point of grid indices along x and y."""
    x0, y0, dx, dy = ground.grid[:4]
    height = take(ground.heights.reshape(-1), ground.heights.shape[1] * i + j)
    return Vec3(x0 + dx * i, y0 + dy * j, height)


def _under(ground: Ground, p: Vec3) -> tuple[Any, Vec3]:
    """Return (inside, point): True if p is over the grid, and the surface point below p.

    For a p beside the grid, the point is clamped to the grid's edge.
    """
    inside, under, _ = surface_under(ground, p)
    return inside, under


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
    """Return the height of a point above the surface along z, negative below it."""
    inside, under = _under(ground, p)
    return where(inside, p.z - under.z, NOWHERE)


def _deepest(ground: Ground, core: Core) -> Vec3:
    """Return the point of a core that defines its depth in the ground: the farthest below it along z."""
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


_APART = by_type(1e-18)  # [m²] minimum squared distance of distinct points
_PARALLEL = by_type(1e-14)
_ROUNDED = by_type(1e-30)  # square of a distance, relative to that from the origin, below which its sign is not known
Corners = Sequence[Vec3]


def nearest_on_triangle(corners: Corners, p: Vec3) -> tuple[Vec3, Vec3]:
    """Return the point of a triangle nearest to p, in its plane or on one of its edges, and the vector from it to p.

    The vector is orthogonal to the triangle, or to the edge, to rounding also if p is almost on it.
    """
    normal = _normal(corners)
    square = normal.dot(normal)
    known = lt(TINY, square)
    upright = normal * (normal.dot(p - corners[0]) / where(known, square, 1.0))
    inside: Any = known
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        inside = and_(inside, le(0.0, (b - a).cross(p - a).dot(normal)))
    least: Any = None
    on_edge, beside = p, Vec3.zero()
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        edge = b - a
        length = edge.dot(edge)
        inverse = 1.0 / where(lt(TINY, length), length, 1.0)
        s = (p - a).dot(edge) * inverse
        t = fmin(fmax(s, 0.0), 1.0)
        on_line, between = a + edge * t, edge.cross((p - a).cross(edge)) * inverse + edge * (s - t)
        between = choose(lt(TINY, length), between, p - a)
        away = between.dot(between)
        if least is None:
            least, on_edge, beside = away, on_line, between
            continue
        better = lt(away, least)
        least = where(better, away, least)
        on_edge, beside = choose(better, on_line, on_edge), choose(better, between, beside)
    return choose(inside, p - upright, on_edge), choose(inside, upright, beside)


def triangle_distance(corners: Corners, core: Core) -> SignedDistance:
    """Compute the distance of a triangle to a core; it is zero, with the triangle's normal, for a crossing segment."""
    if isinstance(core, PointCore):
        return _triangle_point(corners, core.point)
    if isinstance(core, SegmentCore):
        return _triangle_segment(corners, core)
    return signed_distance(Solid(PolytopeCore(Pose.identity(), tuple(corners))), Solid(core))


def _triangle_point(corners: Corners, p: Vec3) -> SignedDistance:
    nearest, between = nearest_on_triangle(corners, p)
    return towards(nearest, p, between, 0.0, _normal(corners))


def _triangle_segment(corners: Corners, core: SegmentCore) -> SignedDistance:
    """Return the signed distance of a triangle to a segment: 0 if they cross.

    Otherwise it is the minimum of the distances of the triangle's edges to the segment and of the segment's ends to
    the triangle.
    """
    start, end = core.center - core.half, core.center + core.half
    result = _triangle_point(corners, start)
    for candidate in (
        _triangle_point(corners, end),
        *(segment_segment(SegmentCore((a + b) * 0.5, (b - a) * 0.5), core)
          for a, b in zip(corners, (*corners[1:], corners[0]), strict=True)),
    ):  # fmt: skip
        tie = and_(le(candidate.distance, result.distance), le(result.distance, candidate.distance))
        better = chosen(lt(candidate.distance, result.distance), candidate, result)
        gap = candidate.on_a - result.on_a
        two = and_(tie, lt(_APART, gap.dot(gap)))
        result = SignedDistance(
            better.distance, better.normal, better.on_a, better.on_b, where(two, 0.0, better.unique)
        )
    normal = _normal(corners)
    square = normal.dot(normal)
    up, down = normal.dot(start - corners[0]), normal.dot(end - corners[0])
    steep = lt(_PARALLEL * square, (up - down) * (up - down))
    t = up / where(steep, up - down, 1.0)
    crossing = start + (end - start) * t
    inside = and_(steep, and_(le(0.0, t), le(t, 1.0)))
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        inside = and_(inside, le(0.0, (b - a).cross(crossing - a).dot(normal)))
    length = sqrt(where(lt(TINY, square), square, 1.0))
    unit = normal * (1.0 / length)
    return chosen(inside, SignedDistance(0.0 * t, unit, crossing, crossing, 1.0 + 0.0 * t), result)


def _normal(corners: Corners) -> Vec3:
    a, b, c = corners
    return (b - a).cross(c - a)
