"""Signed distance of two boxes, exactly, without a loop.

Fifteen axes decide whether boxes overlap: their faces' normals, and the cross products of an edge of each.  The largest
gap along these axes, divided by the axis' length, is the signed distance if it is not positive, since the facets of the
boxes' Minkowski difference have these normals.  All three terms of a gap are computed without using orthogonality of
the axes.  So gaps keep their digits relative to the axis, however short it is for edges that are almost parallel, and
no axis is left out.

If boxes are separate, the nearest points are at a vertex of one of them, or on an edge of each.  Only the pair of edges
whose axis has the largest gap can hold the nearest points, since their direction has the largest gap of all.  So there
are sixteen pairs of vertex and box, and one pair of edges.  If boxes overlap, the axis tells which vertex or edges are
in contact; if edges are almost parallel to faces, the second box is moved out along the axis instead, and the same
search gives points on both surfaces.

Source: Gottschalk, Lin, Manocha, OBBTree, 1996, section 5 (the axes); Boyd, Vandenberghe, Convex Optimization, 2004,
section 8.1.3 (a distance is the largest gap).
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any, NamedTuple

from linkwork.expr.control import cond
from linkwork.expr.scalar.float_limits import by_type
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
from linkwork.geometry.cores import BoxCore, SignedDistance
from linkwork.geometry.pairs.closed_form.touching_normals import AXES, almost_touch, box_edges, normal_of_largest_gap
from linkwork.geometry.unit_vectors import TINY, choose, clamp, length_and_scale
from linkwork.spatial import Vec3

__all__ = ["box_box", "box_box_gap"]

_TIE = by_type(1e-12)  # relative difference of squares of lengths that counts as a tie
_ASLANT = 1e-4  # sine of the angle above which boxes touch only at a vertex or a pair of edges
_FLAT = 1e-6  # sine of the angle below which edges are also clipped against a face
_LEVEL = by_type(1e-13)  # sine of the angle below which it is a rounding error
_ROUNDING = by_type(1e-15)  # relative to sizes
_TINY = by_type(1e-30)  # smaller differences are not divisors


class _PlacedBoxes(NamedTuple):
    """Two boxes in A's coordinates: center t, axes and half edges of B, and the half sizes h of A and g of B."""

    t: Vec3
    axes: tuple[Vec3, Vec3, Vec3]
    edges: tuple[Vec3, Vec3, Vec3]
    h: Vec3
    g: Vec3


class _Axis(NamedTuple):
    """Gap of two boxes along a direction of any length.

    ``gap`` is the gap times that length, ``square`` the square of the length.
    """

    gap: Any
    square: Any


class _ChosenDirection(NamedTuple):
    """Direction n, with flags of the axes of A and B from which it is computed: a face's normal, or two edges."""

    of_a: tuple[Any, Any, Any]
    of_b: tuple[Any, Any, Any]
    crossed: Any  # True if it is the cross product of an edge of each
    by_b: Any  # True if it is the normal of a face of B
    i: Vec3  # A's axis
    b: Vec3  # B's axis
    n: Vec3


def box_box(a: BoxCore, b: BoxCore) -> SignedDistance:
    """Compute the signed distance of two boxes."""
    placed = _placed(a, b)
    axes = _faces(placed) + _crossed(placed)
    best, code = _largest(axes)
    chosen = _chosen(placed, code)
    scale, along = 1.0 / sqrt(best.square), chosen.n.dot(placed.t)
    depth, facet = best.gap * scale, chosen.n * copysign(scale, along)
    overlap = le(depth, 0.0)
    # overlapping or touching boxes may have the same depth along another axis, or in the opposite direction
    size = _sum((*placed.h, *placed.g))
    several = or_(_tie(best, axes, _ROUNDING * size), le(fabs(along), _TIE * fabs(best.gap)))
    several = and_(several, lt(depth, _ROUNDING * size))
    least = fmin(*(fmin(fmin(fabs(n.x), fabs(n.y)), fabs(n.z)) for n in placed.axes[:2]))
    least = fmin(least, fmin(fmin(*(fabs(x) for x in tuple(placed.axes[2])[:2])), fabs(placed.axes[2].z)))

    def from_features() -> tuple[Any, Vec3, Vec3, Any]:
        return depth, facet, _contact_point(placed, chosen, facet, depth, scale), where(several, 0.0, 1.0)

    def from_search() -> tuple[Any, Vec3, Vec3, Any]:
        return _search(placed, chosen, facet, depth, several, size)

    distance, normal, on_a, unique = cond(and_(overlap, lt(_ASLANT, least)), from_features, from_search)
    n, point = a.pose.rotation @ normal, a.pose.point(on_a)
    return SignedDistance(distance, n, point, point + n * distance, unique)


def _contact_point(p: _PlacedBoxes, axis: _ChosenDirection, n: Vec3, depth: Any, scale: Any) -> Vec3:
    """Return A's contact point of overlapping boxes after they are separated along n.

    No edge is parallel to a face of the other box: a vertex is on a face, or two edges cross.
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


def _search(
    p: _PlacedBoxes, axis: _ChosenDirection, facet: Vec3, depth: Any, several: Any, size: Any
) -> tuple[Any, Vec3, Vec3, Any]:
    """Return (distance, normal, point of A, unique) of two boxes, separate or overlapping.

    ``unique`` is 1 if the nearest points are unique, else 0.
    """
    overlap = le(depth, 0.0)
    apart = p._replace(t=p.t + facet * where(overlap, size - depth, 0.0))
    offset, on_a = _project(apart, _nearest(apart, axis)[1])
    square = offset.dot(offset)
    known = and_(not_(overlap), lt(TINY, square))
    length, scale = length_and_scale(square, known)
    aside = offset - facet * facet.dot(offset)  # for boxes that face each other, the facet is exact, the offset is not
    known = and_(known, lt(by_type(_ROUNDING * _ROUNDING) * size * size, aside.dot(aside)))

    def touching() -> Vec3:
        of_b = box_edges(p.axes, p.g, on_a + offset - p.t)
        edges = [*box_edges(AXES, p.h, on_a), *((e, -position) for e, position in of_b)]
        return normal_of_largest_gap(offset, edges, size * size, facet, depth, p.t)

    close = and_(known, almost_touch(square, size * size))
    normal = cond(close, touching, lambda: choose(known, offset * scale, facet))
    unique = where(or_(_flush(p, normal), several), 0.0, 1.0)
    return where(overlap, depth, length), normal, on_a, unique


def _project(p: _PlacedBoxes, on_a: Vec3) -> tuple[Vec3, Vec3]:
    """Return the vector between nearest points of separate boxes, and A's point, improved by two projections.

    A's approximate nearest point is projected onto B, and the result back onto A. This matters for edges that are
    almost flush: of two ends at the same computed distance, one may be beyond the end of the other edge.
    """
    x = on_a - p.t
    on_b = p.t + _combined(p.axes, Vec3(*(clamp(axis.dot(x), g) for axis, g in zip(p.axes, p.g, strict=True))))
    on_a = Vec3(*(clamp(x, h) for x, h in zip(on_b, p.h, strict=True)))
    return on_b - on_a, on_a


def box_box_gap(a: BoxCore, b: BoxCore) -> Any:
    """Return a lower bound on the distance of two boxes that is positive if and only if they are separate [m].

    It is the largest of the gaps along fifteen axes, whose lengths are at most 1.
    """
    placed = _placed(a, b)
    return reduce(fmax, (axis.gap for axis in _faces(placed) + _crossed(placed)))


def _placed(a: BoxCore, b: BoxCore) -> _PlacedBoxes:
    R = a.pose.rotation.T @ b.pose.rotation
    axes = (Vec3(R.x.x, R.y.x, R.z.x), Vec3(R.x.y, R.y.y, R.z.y), Vec3(R.x.z, R.y.z, R.z.z))
    edges = (axes[0] * b.half.x, axes[1] * b.half.y, axes[2] * b.half.z)
    return _PlacedBoxes(a.pose.inv().point(b.pose.translation), axes, edges, a.half, b.half)


def _faces(p: _PlacedBoxes) -> list[_Axis]:
    """Return the gaps along the normals of A's faces and of B's."""
    result = []
    for x, half, *columns in zip(p.t, p.h, *p.edges, strict=True):
        result.append(_Axis(fabs(x) - half - _sum(fabs(y) for y in columns), 1.0))
    for n, half in zip(p.axes, p.g, strict=True):
        reach = half + _sum(fabs(x) * most for x, most in zip(n, p.h, strict=True))
        result.append(_Axis(fabs(n.dot(p.t)) - reach, 1.0))
    return result


def _crossed(p: _PlacedBoxes) -> list[_Axis]:
    """Return the gaps along cross products of edges: A's first edge with B's three, then A's second and third."""
    result = []
    g = tuple(p.g)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        u, v = [(tuple(x)[j], tuple(x)[k]) for x in p.axes], (tuple(p.h)[j], tuple(p.h)[k])
        # |e_i · (b_m × b_n)|: the component of e_i × b_m along b_n, and of e_i × b_n along b_m
        mixed = {(m, n): fabs(u[m][0] * u[n][1] - u[m][1] * u[n][0]) for m, n in ((0, 1), (1, 2), (2, 0))}
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            x, y = -u[m][1], u[m][0]  # e_i × b_m along the axes j and k
            offset = x * tuple(p.t)[j] + y * tuple(p.t)[k]
            reach = fabs(x) * v[0] + fabs(y) * v[1] + mixed[m, n] * g[n] + mixed[o, m] * g[o]
            result.append(_Axis(fabs(offset) - reach, x * x + y * y))
    return result


def _largest(axes: list[_Axis]) -> tuple[_Axis, Any]:
    """Return the axis of the largest gap in units of its length, and its index.

    Gaps g and g' of axes of squares s and s' compare as g |g| s' and g' |g'| s.
    """
    gap, code = axes[0].gap, 0.0
    for k, axis in enumerate(axes[1:6], start=1):
        more = lt(gap, axis.gap)
        gap, code = where(more, axis.gap, gap), where(more, float(k), code)
    key, square = gap * fabs(gap), 1.0
    for k, axis in enumerate(axes[6:], start=6):
        axis_key = axis.gap * fabs(axis.gap)
        more = lt(key * axis.square, axis_key * square)
        gap, key, square = where(more, axis.gap, gap), where(more, axis_key, key), where(more, axis.square, square)
        code = where(more, float(k), code)
    return _Axis(gap, square), code


def _chosen(p: _PlacedBoxes, code: Any) -> _ChosenDirection:
    """Return an axis by its index: A's three faces, B's three, then cross products in the order of `_crossed`."""
    crossed = lt(5.5, code)
    row = [lt(x, code) for x in (8.5, 11.5)]
    column = code - where(row[1], 12.0, where(row[0], 9.0, where(crossed, 6.0, 3.0)))
    of_a = (
        or_(lt(code, 0.5), and_(crossed, not_(row[0]))),
        or_(and_(lt(0.5, code), lt(code, 1.5)), and_(row[0], not_(row[1]))),
        or_(and_(lt(1.5, code), lt(code, 2.5)), row[1]),
    )
    of_b = (and_(lt(-0.5, column), lt(column, 0.5)), and_(lt(0.5, column), lt(column, 1.5)), lt(1.5, column))
    i = Vec3(*(where(selected, 1.0, 0.0) for selected in of_a))
    b = choose(of_b[0], p.axes[0], choose(of_b[1], p.axes[1], p.axes[2]))
    by_b = and_(lt(2.5, code), not_(crossed))
    return _ChosenDirection(of_a, of_b, crossed, by_b, i, b, choose(crossed, i.cross(b), choose(by_b, b, i)))


def _nearest(p: _PlacedBoxes, axis: _ChosenDirection) -> tuple[Vec3, Vec3]:
    """Return the vector between the nearest points of separate boxes, and the nearest point of A."""
    # B's vertices against A
    corner = _nearest_corner(p.t, p.edges, p.h)
    inner = Vec3(*(clamp(x, most) for x, most in zip(corner, p.h, strict=True)))
    offset, on_a = corner - inner, inner
    # A's vertices against B, in B's axes
    middle = -Vec3(*(axis.dot(p.t) for axis in p.axes))
    sides = [Vec3(*(tuple(axis)[i] * half for axis in p.axes)) for i, half in enumerate(p.h)]
    corner = _nearest_corner(middle, sides, p.g)
    out = Vec3(*(x - clamp(x, most) for x, most in zip(corner, p.g, strict=True)))
    nearer = lt(out.dot(out), offset.dot(offset))
    offset = choose(nearer, -_combined(p.axes, out), offset)
    on_a = choose(nearer, _combined(p.axes, corner) + p.t, on_a)
    # an edge of each
    valid, between, on_edge = _edges(p, axis)
    nearer = and_(valid, lt(between.dot(between), offset.dot(offset)))
    offset, on_a = choose(nearer, between, offset), choose(nearer, on_edge, on_a)
    # edges parallel to a face
    level: Any = False
    for column in p.axes:
        for x in column:
            level = or_(level, lt(fabs(x), _FLAT))
    best: tuple[Vec3, Vec3] = cond(level, lambda: _nearer(p, offset, on_a), lambda: (offset, on_a))
    return best


def _nearer(p: _PlacedBoxes, offset: Vec3, on_a: Vec3) -> tuple[Vec3, Vec3]:
    exists, between, point = _on_faces(p)
    nearer = and_(exists, lt(between.dot(between), offset.dot(offset)))
    return choose(nearer, between, offset), choose(nearer, point, on_a)


def _on_faces(p: _PlacedBoxes) -> tuple[Any, Vec3, Vec3]:
    """Return (exists, offset, A's point) of the nearest points of a face and an edge that projects onto it.

    The face may belong to either box.  ``offset`` is the vector from A's point to B's.
    """
    mirrored = _PlacedBoxes(-Vec3(*(axis.dot(p.t) for axis in p.axes)), *_rows(p), p.g, p.h)
    exists, height, on_b, on_a = _over_face(mirrored)
    offset = -_combined(p.axes, on_a - on_b)
    over_b, height_b, below, above = _over_face(p)
    nearer = or_(not_(exists), and_(over_b, lt(height_b, height)))
    on_a = choose(nearer, below, _combined(p.axes, on_a) + p.t)
    return or_(over_b, exists), choose(nearer, above - below, offset), on_a


def _rows(p: _PlacedBoxes) -> tuple[tuple[Vec3, Vec3, Vec3], tuple[Vec3, Vec3, Vec3]]:
    """Return A's axes and half edges in B's axes."""
    x, y, z = (Vec3(*(tuple(axis)[i] for axis in p.axes)) for i in range(3))
    return (x, y, z), (x * p.h.x, y * p.h.y, z * p.h.z)


def _over_face(p: _PlacedBoxes) -> tuple[Any, Any, Vec3, Vec3]:
    """Clip the edges of B's face that is opposite to the nearest face of A against that face.

    Return (found, smallest height, point of A's face, point of B's edge).  The two points are those below and at the
    middle of the clipped edge; ``found`` is False if no edge is above the face.
    """
    # A's axes are permuted cyclically so that the face's normal is the last
    gaps = [axis.gap for axis in _faces(p)[:3]]
    last = lt(fmax(gaps[0], gaps[1]), gaps[2])
    first = and_(not_(last), lt(gaps[1], gaps[0]))

    def permute(v: Vec3) -> Vec3:
        return choose(last, v, choose(first, Vec3(v.y, v.z, v.x), Vec3(v.z, v.x, v.y)))

    def restore(v: Vec3) -> Vec3:
        return choose(last, v, choose(first, Vec3(v.z, v.x, v.y), Vec3(v.y, v.z, v.x)))

    t, h = permute(p.t), permute(p.h)
    x, y, z = (permute(edge) for edge in p.edges)
    slopes = [fabs(permute(axis).z) for axis in p.axes]
    third = lt(fmax(slopes[0], slopes[1]), slopes[2])
    second = and_(not_(third), lt(slopes[1], slopes[0]))
    u, w, out = choose(second, y, x), choose(third, y, z), choose(third, z, choose(second, x, y))
    middle = t - out * copysign(1.0, out.z * t.z)
    exists: Any = False
    height, best = 0.0, middle
    for edge, side in ((u, w), (u, -w), (w, u), (w, -u)):
        start = middle + side
        low, high = -1.0, 1.0
        for c, d, most in ((start.x, edge.x, h.x), (start.y, edge.y, h.y)):
            inverse = 1.0 / copysign(fmax(fabs(d), _TINY), d)
            low, high = fmax(low, -c * inverse - most * fabs(inverse)), fmin(high, most * fabs(inverse) - c * inverse)
        mid = start + edge * (0.5 * (low + high))
        over, above = le(low, high), fabs(mid.z) - h.z
        better = and_(over, or_(not_(exists), lt(above, height)))
        exists, height, best = or_(exists, over), where(better, above, height), choose(better, mid, best)
    below = Vec3(clamp(best.x, h.x), clamp(best.y, h.y), copysign(h.z, t.z))
    return exists, height, restore(below), restore(Vec3(below.x, below.y, best.z))


def _nearest_corner(middle: Vec3, sides: Any, h: Vec3) -> Vec3:
    """Return the vertex of a box with half edges ``sides`` that is nearest to a box with half sizes h."""
    corners = [middle]
    for side in sides:
        corners = [corner + step for corner in corners for step in (side, -side)]
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


def _edges(p: _PlacedBoxes, axis: _ChosenDirection) -> tuple[Any, Vec3, Vec3]:
    """Return the nearest points of the edges that support along an axis: validity, offset and A's point.

    They are valid if both are between the edges' ends.
    """
    of_a, of_b, crossed, _, i, b, n = axis
    square = n.dot(n)
    offset = n.dot(p.t)
    a = Vec3(*(where(along, 0.0, copysign(x, v * offset)) for along, x, v in zip(of_a, p.h, n, strict=True)))
    start = p.t - a
    for along, column, side in zip(of_b, p.axes, p.edges, strict=True):
        start = start - side * where(along, 0.0, copysign(1.0, column.dot(n) * offset))
    inverse = 1.0 / where(lt(0.0, square), square, 1.0)
    across = b - i * b.dot(i)
    s = -(across.dot(start)) * inverse
    r = start.dot(i) + b.dot(i) * s
    most_a = where(of_a[0], p.h.x, where(of_a[1], p.h.y, p.h.z))
    most_b = where(of_b[0], p.g.x, where(of_b[1], p.g.y, p.g.z))
    valid = and_(lt(0.0, square), and_(crossed, and_(le(fabs(r), most_a), le(fabs(s), most_b))))
    return valid, n * (n.dot(start) * inverse), a + i * r


def _flush(p: _PlacedBoxes, n: Vec3) -> Any:
    """Return True if the supporting faces or edges along n are parallel, so that the nearest points are not unique."""
    level_a = [where(and_(le(fabs(x), _LEVEL), lt(0.0, s)), 1.0, 0.0) for x, s in zip(n, p.h, strict=True)]
    level_b = [
        where(and_(le(fabs(axis.dot(n)), _LEVEL), lt(0.0, s)), 1.0, 0.0) for axis, s in zip(p.axes, p.g, strict=True)
    ]
    aligned = fabs(
        Vec3.of(level_a).dot(_combined(p.axes, Vec3.of(level_b)))
    )  # for one edge each, the cosine of their angle
    return or_(lt(2.5, _sum(level_a + level_b)), lt(1.0 - aligned, _LEVEL))


def _tie(best: _Axis, axes: list[_Axis], rounding: Any) -> Any:
    """Return True if a second axis has the same gap up to rounding, or a gap of at least −``rounding`` [m]."""
    count: Any = 0.0
    square = best.gap * fabs(best.gap)
    key = fmin(square + _TIE * square, -(rounding * rounding) * best.square)
    for axis in axes:
        count = count + where(lt(key * axis.square, axis.gap * fabs(axis.gap) * best.square), 1.0, 0.0)
    return lt(1.5, count)


def _combined(axes: Any, x: Vec3) -> Vec3:
    result: Vec3 = axes[0] * x.x + axes[1] * x.y + axes[2] * x.z
    return result


def _sum(values: Any) -> Any:
    return reduce(add, values)
