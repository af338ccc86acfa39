"""Two boxes, exactly, without a loop.

Fifteen axes decide whether boxes overlap: their faces' normals, and what is across an edge of each.  Of the gaps along
them the largest, in units of the axis' length, is the signed distance where it is not above zero: the facets of the
boxes' Minkowski difference have these normals.  An axis is computed from the numbers that are there, without what
orthogonality would spare: so gaps keep their digits relative to the axis, however short it is where edges are almost
parallel, and no axis is left out.

Apart, the nearest points are at a vertex of one of them, or on an edge of each; of pairs of edges only those come
into question whose axis has the largest gap, since the nearest points' direction has the largest gap of all.  So there
are sixteen vertices to look at, each against a box, and one pair of edges.  Where boxes overlap, the axis says which
vertex or which edges touch; but where edges are all but parallel to faces, the second box is moved out along the axis,
and the same search gives points on both surfaces.

Source: Gottschalk, Lin, Manocha, OBBTree, 1996, section 5 (the axes); Boyd, Vandenberghe, Convex Optimization, 2004,
section 8.1.3 (a distance is the largest gap).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.control import cond
from linkwork.expr.scalar.functions import (
    and_,
    copysign,
    fabs,
    fmax,
    fmin,
    le,
    lt,
    not_,
    or_,
    sqrt,
    where,
)
from linkwork.geometry.cores import BoxCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.unit_vectors import NOTHING, choose, clamp, length_and_scale
from linkwork.spatial import Vec3

__all__ = ["box_box", "box_box_gap"]

_TIE = 1e-12  # squares of lengths, relative, that differ by less are as good
_ASLANT = 1e-4  # sines of angles above which a vertex or a pair of edges is all that boxes touch with
_FLAT = 1e-6  # sines of angles below which edges are looked at as if they were parallel to a face
_LEVEL = 1e-13  # sines of angles below it are rounding
_ROUNDING = 1e-15  # of sizes


class _Placed(NamedTuple):
    """Box B in box A's axes: the way to its middle, its axes and half edges; and half of A's edges."""

    t: Vec3
    axes: tuple[Vec3, Vec3, Vec3]
    edges: tuple[Vec3, Vec3, Vec3]
    h: Vec3
    g: Vec3


class _Axis(NamedTuple):
    """What lies between the boxes along a direction, of any length, as a multiple of it; and the length's square."""

    gap: Any
    square: Any


class _Chosen(NamedTuple):
    """An axis, by what it is across: whether along which axes of A and of B (their normals, or edges), and n."""

    of_a: tuple[Any, Any, Any]
    of_b: tuple[Any, Any, Any]
    crossed: Any  # whether it is across an edge of each
    by_b: Any  # whether it is normal to a face of B
    i: Vec3  # A's axis
    b: Vec3  # B's
    n: Vec3


def box_box(a: BoxCore, b: BoxCore) -> SignedDistance:
    """Of two boxes."""
    placed = _placed(a, b)
    axes = _faces(placed) + _crossed(placed)
    best, code = _largest(axes)
    chosen = _chosen(placed, code)
    scale, along = 1.0 / sqrt(best.square), chosen.n.dot(placed.t)
    depth, facet = best.gap * scale, chosen.n * copysign(scale, along)
    overlap = le(depth, 0.0)
    # boxes that overlap may be parted as well along another axis, or the other way along the same
    several = or_(_tie(best, axes), le(fabs(along), _TIE * fabs(best.gap)))
    least = fmin(*(fmin(fmin(fabs(n.x), fabs(n.y)), fabs(n.z)) for n in placed.axes[:2]))
    least = fmin(least, fmin(fmin(*(fabs(x) for x in tuple(placed.axes[2])[:2])), fabs(placed.axes[2].z)))

    def touching() -> tuple[Any, Vec3, Vec3, Any]:
        return depth, facet, _touching(placed, chosen, facet, depth, scale), where(several, 0.0, 1.0)

    def any_way() -> tuple[Any, Vec3, Vec3, Any]:
        return _any_way(placed, chosen, facet, depth, several)

    distance, normal, on_a, unique = cond(and_(overlap, lt(_ASLANT, least)), touching, any_way)
    n, point = a.pose.rotation @ normal, a.pose.point(on_a)
    return SignedDistance(distance, n, point, point + n * distance, unique)


def _touching(p: _Placed, axis: _Chosen, n: Vec3, depth: Any, scale: Any) -> Vec3:
    """A's point where boxes that overlap, none of whose edges is parallel to a face of the other, touch when they are
    parted along n: a vertex of one on a face of the other, or an edge of each.
    """
    a = Vec3(*(copysign(h, x) for h, x in zip(p.h, n, strict=True)))
    b = p.t
    for column, side in zip(p.axes, p.edges, strict=True):
        b = b - side * copysign(1.0, column.dot(n))
    start, common = b - a, axis.b.dot(axis.i)
    s = (axis.b - axis.i * common).dot(start) * (scale * scale)
    on_edge = a + axis.i * (start.dot(axis.i) - common * s)
    result = choose(axis.crossed, on_edge, choose(axis.by_b, a, b - n * depth))
    return Vec3(*(clamp(x, h) for x, h in zip(result, p.h, strict=True)))


def _any_way(p: _Placed, axis: _Chosen, facet: Vec3, depth: Any, several: Any) -> tuple[Any, Vec3, Vec3, Any]:
    """Distance, normal, A's point and whether they are the only ones, of boxes that lie in any way."""
    overlap = le(depth, 0.0)
    size = p.h.x + p.h.y + p.h.z + p.g.x + p.g.y + p.g.z
    apart = p._replace(t=p.t + facet * where(overlap, size - depth, 0.0))
    way, on_a = _together(apart, _nearest(apart, axis)[1])
    square = way.dot(way)
    known = and_(not_(overlap), lt(NOTHING, square))
    length, scale = length_and_scale(square, known)
    aside = way - facet * facet.dot(way)  # of boxes that all but touch, the way has no digits left, the axis has all
    known = and_(known, lt(_ROUNDING * _ROUNDING * size * size, aside.dot(aside)))
    normal = choose(known, way * scale, facet)
    unique = where(or_(_flush(p, normal), and_(overlap, several)), 0.0, 1.0)
    return where(overlap, depth, length), normal, on_a, unique


def _together(p: _Placed, on_a: Vec3) -> tuple[Vec3, Vec3]:
    """The way and A's point, of boxes that are apart, after a projection of the point onto B and back onto A.

    Where edges are flush but for next to nothing, one of two ends that seem as near is beyond the other box's.
    """
    x = on_a - p.t
    on_b = p.t + _combined(p.axes, Vec3(*(clamp(axis.dot(x), g) for axis, g in zip(p.axes, p.g, strict=True))))
    on_a = Vec3(*(clamp(x, h) for x, h in zip(on_b, p.h, strict=True)))
    return on_b - on_a, on_a


def box_box_gap(a: BoxCore, b: BoxCore) -> Any:
    """A number that is above zero where two boxes are apart, and there is no more than their distance [m].

    It is the largest of the gaps along fifteen axes, in units of axes that are no longer than 1.
    """
    placed = _placed(a, b)
    first, *others = _faces(placed) + _crossed(placed)
    gap = first.gap
    for axis in others:
        gap = fmax(gap, axis.gap)
    return gap


def _placed(a: BoxCore, b: BoxCore) -> _Placed:
    R = a.pose.rotation.T @ b.pose.rotation
    axes = (Vec3(R.x.x, R.y.x, R.z.x), Vec3(R.x.y, R.y.y, R.z.y), Vec3(R.x.z, R.y.z, R.z.z))
    edges = (axes[0] * b.half.x, axes[1] * b.half.y, axes[2] * b.half.z)
    return _Placed(a.pose.inv().point(b.pose.translation), axes, edges, a.half, b.half)


def _faces(p: _Placed) -> list[_Axis]:
    """The axes of A's faces, and of B's."""
    result = []
    for way, half, *others in zip(p.t, p.h, *p.edges, strict=True):
        result.append(_Axis(fabs(way) - half - _sum(fabs(x) for x in others), 1.0))
    for n, half in zip(p.axes, p.g, strict=True):
        reach = half + _sum(fabs(x) * most for x, most in zip(n, p.h, strict=True))
        result.append(_Axis(fabs(n.dot(p.t)) - reach, 1.0))
    return result


def _crossed(p: _Placed) -> list[_Axis]:
    """Axes across an edge of each: A's first with B's three, then A's second with them, then the third."""
    result = []
    g = tuple(p.g)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        u, v = [(tuple(x)[j], tuple(x)[k]) for x in p.axes], (tuple(p.h)[j], tuple(p.h)[k])
        # e_i · (b_m × b_n): what an axis across b_m has in common with b_n, and the other way round
        mixed = {(m, n): fabs(u[m][0] * u[n][1] - u[m][1] * u[n][0]) for m, n in ((0, 1), (1, 2), (2, 0))}
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            x, y = -u[m][1], u[m][0]  # e_i × b_m along the axes j and k
            way = x * tuple(p.t)[j] + y * tuple(p.t)[k]
            reach = fabs(x) * v[0] + fabs(y) * v[1] + mixed[m, n] * g[n] + mixed[o, m] * g[o]
            result.append(_Axis(fabs(way) - reach, x * x + y * y))
    return result


def _largest(axes: list[_Axis]) -> tuple[_Axis, Any]:
    """The axis of the largest gap in units of its length, and which it is, faces being before crossed edges.

    Gaps g and g' of axes of squares s and s' compare as g |g| s' and g' |g'| s.
    """
    gap, code = axes[0].gap, 0.0
    for k, axis in enumerate(axes[1:6], start=1):
        more = lt(gap, axis.gap)
        gap, code = where(more, axis.gap, gap), where(more, float(k), code)
    key, square = gap * fabs(gap), 1.0
    for k, axis in enumerate(axes[6:], start=6):
        here = axis.gap * fabs(axis.gap)
        more = lt(key * axis.square, here * square)
        gap, key, square = where(more, axis.gap, gap), where(more, here, key), where(more, axis.square, square)
        code = where(more, float(k), code)
    return _Axis(gap, square), code


def _chosen(p: _Placed, code: Any) -> _Chosen:
    """An axis by its place: of A's three faces, then B's, and then of crossed edges, A's first with B's three first."""
    crossed = lt(5.5, code)
    row = [lt(x, code) for x in (8.5, 11.5)]
    column = code - where(row[1], 12.0, where(row[0], 9.0, where(crossed, 6.0, 3.0)))
    of_a = (
        or_(lt(code, 0.5), and_(crossed, not_(row[0]))),
        or_(and_(lt(0.5, code), lt(code, 1.5)), and_(row[0], not_(row[1]))),
        or_(and_(lt(1.5, code), lt(code, 2.5)), row[1]),
    )
    of_b = (and_(lt(-0.5, column), lt(column, 0.5)), and_(lt(0.5, column), lt(column, 1.5)), lt(1.5, column))
    i = Vec3(*(where(here, 1.0, 0.0) for here in of_a))
    b = choose(of_b[0], p.axes[0], choose(of_b[1], p.axes[1], p.axes[2]))
    by_b = and_(lt(2.5, code), not_(crossed))
    return _Chosen(of_a, of_b, crossed, by_b, i, b, choose(crossed, i.cross(b), choose(by_b, b, i)))


def _nearest(p: _Placed, axis: _Chosen) -> tuple[Vec3, Vec3]:
    """Of boxes that are apart: the way from A's nearest point to B's, and A's."""
    # B's vertices against A
    corner = _nearest_corner(p.t, p.edges, p.h)
    inner = Vec3(*(clamp(x, most) for x, most in zip(corner, p.h, strict=True)))
    way, on_a = corner - inner, inner
    # A's vertices against B, in B's axes
    middle = -Vec3(*(axis.dot(p.t) for axis in p.axes))
    sides = [Vec3(*(tuple(axis)[i] * half for axis in p.axes)) for i, half in enumerate(p.h)]
    corner = _nearest_corner(middle, sides, p.g)
    out = Vec3(*(x - clamp(x, most) for x, most in zip(corner, p.g, strict=True)))
    nearer = lt(out.dot(out), way.dot(way))
    way = choose(nearer, -_combined(p.axes, out), way)
    on_a = choose(nearer, _combined(p.axes, corner) + p.t, on_a)
    # an edge of each
    valid, between, on_edge = _edges(p, axis)
    nearer = and_(valid, lt(between.dot(between), way.dot(way)))
    way, on_a = choose(nearer, between, way), choose(nearer, on_edge, on_a)
    # what lies flat over faces
    level: Any = False
    for column in p.axes:
        for x in column:
            level = or_(level, lt(fabs(x), _FLAT))
    best: tuple[Vec3, Vec3] = cond(level, lambda: _nearer(p, way, on_a), lambda: (way, on_a))
    return best


def _nearer(p: _Placed, way: Vec3, on_a: Vec3) -> tuple[Vec3, Vec3]:
    result, between, point = _on_faces(p)
    nearer = and_(result, lt(between.dot(between), way.dot(way)))
    return choose(nearer, between, way), choose(nearer, point, on_a)


def _on_faces(p: _Placed) -> tuple[Any, Vec3, Vec3]:
    """Faces that edges of the other box are parallel to: whether there are such points, the way, and A's point."""
    mirrored = _Placed(-Vec3(*(axis.dot(p.t) for axis in p.axes)), *_rows(p), p.g, p.h)
    result, height, on_b, on_a = _over_face(mirrored)
    way = -_combined(p.axes, on_a - on_b)
    here, own, below, above = _over_face(p)
    nearer = or_(not_(result), and_(here, lt(own, height)))
    on_a = choose(nearer, below, _combined(p.axes, on_a) + p.t)
    return or_(here, result), choose(nearer, above - below, way), on_a


def _rows(p: _Placed) -> tuple[tuple[Vec3, Vec3, Vec3], tuple[Vec3, Vec3, Vec3]]:
    """A's axes in B's, and its half edges."""
    x, y, z = (Vec3(*(tuple(axis)[i] for axis in p.axes)) for i in range(3))
    return (x, y, z), (x * p.h.x, y * p.h.y, z * p.h.z)


def _over_face(p: _Placed) -> tuple[Any, Any, Vec3, Vec3]:
    """Where edges of the face of B that faces A's farthest face most lie over it: (whether they do, the least height,
    a point of A's face, and that of B's edge over it, in the middle of what lies over the face).
    """
    # A's axes in an order in which that of the face is the last
    gaps = [axis.gap for axis in _faces(p)[:3]]
    last = lt(fmax(gaps[0], gaps[1]), gaps[2])
    first = and_(not_(last), lt(gaps[1], gaps[0]))

    def turned(v: Vec3) -> Vec3:
        return choose(last, v, choose(first, Vec3(v.y, v.z, v.x), Vec3(v.z, v.x, v.y)))

    def back(v: Vec3) -> Vec3:
        return choose(last, v, choose(first, Vec3(v.z, v.x, v.y), Vec3(v.y, v.z, v.x)))

    t, h = turned(p.t), turned(p.h)
    x, y, z = (turned(edge) for edge in p.edges)
    slopes = [fabs(turned(axis).z) for axis in p.axes]
    third = lt(fmax(slopes[0], slopes[1]), slopes[2])
    one = and_(not_(third), lt(slopes[1], slopes[0]))
    u, w, out = choose(one, y, x), choose(third, y, z), choose(third, z, choose(one, x, y))
    middle = t - out * copysign(1.0, out.z * t.z)
    result: Any = False
    height, best = 0.0, middle
    for way, side in ((u, w), (u, -w), (w, u), (w, -u)):
        start = middle + side
        low, high = -1.0, 1.0
        for c, d, most in ((start.x, way.x, h.x), (start.y, way.y, h.y)):
            inverse = 1.0 / copysign(fmax(fabs(d), 1e-30), d)
            low, high = fmax(low, -c * inverse - most * fabs(inverse)), fmin(high, most * fabs(inverse) - c * inverse)
        here = start + way * (0.5 * (low + high))
        over, above = le(low, high), fabs(here.z) - h.z
        better = and_(over, or_(not_(result), lt(above, height)))
        result, height, best = or_(result, over), where(better, above, height), choose(better, here, best)
    below = Vec3(clamp(best.x, h.x), clamp(best.y, h.y), copysign(h.z, t.z))
    return result, height, back(below), back(Vec3(below.x, below.y, best.z))


def _nearest_corner(middle: Vec3, sides: Any, h: Vec3) -> Vec3:
    """The vertex, of those of a box of half edges ``sides``, that is nearest to another one, of half sizes h."""
    corners = [middle]
    for side in sides:
        corners = [corner + way for corner in corners for way in (side, -side)]
    best, least = corners[0], None
    for corner in corners:
        out = Vec3(*(fmax(fabs(x) - most, 0.0) for x, most in zip(corner, h, strict=True)))
        square = out.dot(out)
        if least is None:
            least = square
        else:
            less = lt(square, least)
            best, least = choose(less, corner, best), where(less, square, least)
    return best


def _edges(p: _Placed, axis: _Chosen) -> tuple[Any, Vec3, Vec3]:
    """The edges that face each other along an axis across both: whether their insides do, the way, and A's point."""
    of_a, of_b, crossed, _, i, b, n = axis
    square = n.dot(n)
    way = n.dot(p.t)
    a = Vec3(*(where(here, 0.0, copysign(x, v * way)) for here, x, v in zip(of_a, p.h, n, strict=True)))
    start = p.t - a
    for here, column, side in zip(of_b, p.axes, p.edges, strict=True):
        start = start - side * where(here, 0.0, copysign(1.0, column.dot(n) * way))
    inverse = 1.0 / where(lt(0.0, square), square, 1.0)
    across = b - i * b.dot(i)
    s = -(across.dot(start)) * inverse
    r = start.dot(i) + b.dot(i) * s
    most_a = where(of_a[0], p.h.x, where(of_a[1], p.h.y, p.h.z))
    most_b = where(of_b[0], p.g.x, where(of_b[1], p.g.y, p.g.z))
    valid = and_(lt(0.0, square), and_(crossed, and_(le(fabs(r), most_a), le(fabs(s), most_b))))
    return valid, n * (n.dot(start) * inverse), a + i * r


def _flush(p: _Placed, n: Vec3) -> Any:
    """Whether faces or edges of both that face each other along n are parallel, so that many points are as near."""
    level_a = [where(and_(le(fabs(x), _LEVEL), lt(0.0, s)), 1.0, 0.0) for x, s in zip(n, p.h, strict=True)]
    level_b = [
        where(and_(le(fabs(axis.dot(n)), _LEVEL), lt(0.0, s)), 1.0, 0.0) for axis, s in zip(p.axes, p.g, strict=True)
    ]
    aligned = fabs(Vec3.of(level_a).dot(_combined(p.axes, Vec3.of(level_b))))  # of one edge each: their cosine
    return or_(lt(2.5, _sum(level_a + level_b)), lt(1.0 - _LEVEL, aligned))


def _tie(best: _Axis, axes: list[_Axis]) -> Any:
    """Whether another gap is as large, in units of its axis."""
    count: Any = 0.0
    key = best.gap * fabs(best.gap) * (1.0 + _TIE)
    for axis in axes:
        count = count + where(lt(key * axis.square, axis.gap * fabs(axis.gap) * best.square), 1.0, 0.0)
    return lt(1.5, count)


def _combined(axes: Any, x: Vec3) -> Vec3:
    result: Vec3 = axes[0] * x.x + axes[1] * x.y + axes[2] * x.z
    return result


def _sum(numbers: Any) -> Any:
    first, *others = numbers
    for x in others:
        first = first + x
    return first
