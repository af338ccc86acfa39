"""Penetration depth of polytopes whose faces are known when code is generated, by facets of the Minkowski difference.

The depth is the least overlap h(n), the support function of A − B, over the normals n of its facets. A facet's normal
is the normal of a face of A, the opposite of one of B, or the cross product of an edge of each. On the sphere of
directions the faces of a hull H are points, and its edges are arcs between the points of adjacent faces. The normal of
two edges is the intersection of an arc of each hull. With the other body O,

    h(n) = h_H(n) + h_O(−n)

is evaluated at every face of both. This gives a good upper bound. Arcs are bounded from below: everywhere on an arc, h
≥ max(n · w, n · w'), where w and w' are the support points of H − O at its ends, and this is least where the two are
equal. If it is less than the best h, h is evaluated there, and the arc is cut in two unless h equals the bound. For
hulls of 20 vertices, that is one of 54 arcs on average. The arcs of one hull are enough, since every facet of two
edges is on one of them. Since the depth is the minimum over facets, an equal minimum of another facet, within
rounding, is evaluated too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control.loops import scan, while_loop
from linkwork.expr.control.table_access import entry, table_of
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import PolytopeCore, SegmentCore
from linkwork.geometry.pairs.convex.minkowski_difference import Best, WeightedPoints, safe_square
from linkwork.geometry.pairs.convex.polytope_sides import KnownHull, Sides
from linkwork.geometry.pairs.convex.witness_proof import ROUNDING, SAME
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import FAR, choose
from linkwork.spatial import Pose, Vec3

__all__ = ["Facet", "nearest_facet"]

_STEPS = 1000
_BITS = 24  # arcs with their flags in one floating-point value, exact also in single precision
_ROUNDING = by_type(4e-15)  # relative rounding error between bounds
_PARALLEL = by_type(1e-16)  # sin² of the angle below index edges are parallel


class Facet(NamedTuple):
    """Facet of A − B that is nearest to 0, in the difference's axes.

    Its normal n points from A to B. ``simplex`` are its points of A and B, two of each if it is spanned by two edges.
    ``on_a`` is A's contact point after B is moved out along n, and ``sure`` is True if that point is in both bodies.
    ``tied`` is 1 if a facet with another normal is at the same distance.
    """

    n: Vec3
    simplex: WeightedPoints
    on_a: Vec3
    sure: Any
    tied: Any


class _LeastDepth(NamedTuple):
    """Least overlap h of two bodies in the directions tried so far, with its direction.

    ``tied`` is 1 if another direction has the same h within the tolerance ``level`` [m].
    """

    best: Best
    tied: Any
    level: Any

    def better(self, h: Any, n: Vec3, valid: Any = True) -> _LeastDepth:
        """Return the state after a further direction n with the value h, which is ignored unless ``valid``."""
        best, level = self.best, self.level
        close = and_(le(h, best.h + level), lt(SAME, 1.0 - n.dot(best.n)))
        tied = where(le(h, best.h - level), 0.0, where(close, 1.0, self.tied))
        less = lt(h, best.h)
        if valid is not True:
            tied, less = where(valid, tied, self.tied), and_(valid, less)
        return _LeastDepth(Best(where(less, h, best.h), choose(less, n, best.n)), tied, level)

    @property
    def most(self) -> Any:
        """(|h| + level)²: only directions with a smaller h² may replace the best one or tie with it."""
        size = fabs(self.best.h) + self.level
        return size * size


def nearest_facet(sides: Sides) -> Facet:
    """Return the facet of A − B nearest to 0, for two bodies that overlap; for separate bodies, an arbitrary facet."""
    hull, faces, second = sides.hull, sides.faces, sides.second
    farthest = _farthest(second)

    def face(state: tuple[_LeastDepth, Any], plane: Any) -> tuple[tuple[_LeastDepth, Any], Any]:
        least, index = state
        n = Vec3.of(plane[:3])
        b = farthest(-n)
        h = plane[3] - n.dot(b)
        less = lt(h, least.best.h)
        return (least.better(h, n), where(less, plane[4], index)), np.array([*b, h], dtype=object)

    zero = 0.0 * hull.pose.translation.x
    size = sqrt(safe_square(farthest(Vec3(0.0, 0.0, 1.0)))) + sqrt(safe_square(hull.vertices[0]))
    start = _LeastDepth(Best(FAR + zero, Vec3(zero, zero, 1.0 + zero)), zero, ROUNDING * size), zero
    (least, index), ends = scan(face, start, _planes(faces))
    least, index, of_other = _of_other(sides, least, index)
    scale = sqrt(safe_square(Vec3.of(ends[0][:3])) + safe_square(hull.vertices[0]))
    words = _open_arcs(sides, ends, least.most)
    walk = _search_arcs(sides, farthest, ends, words, least, _ROUNDING * scale)
    return _with_contact(sides, farthest, index, of_other, walk)


def _planes(faces: KnownHull) -> np.ndarray:
    """Return a table with a row (normal, offset, index) for each face of a hull."""
    return np.column_stack([faces.normals, faces.offsets, np.arange(len(faces.offsets))])


def _farthest(core: Any) -> Callable[[Vec3], Vec3]:
    """Return the support function of a core; a polytope's vertices are rotated once, and not for each direction."""
    if not isinstance(core, PolytopeCore):
        return lambda n: support(core, n)
    pose = core.pose
    table = scan(lambda state, v: (state, np.array([*pose.point(Vec3.of(v))], dtype=object)),
                 0.0 * pose.translation.x, np.array([[*v] for v in core.vertices]))[1]  # fmt: skip
    vertices = [Vec3.of(row) for row in table]

    def farthest(n: Vec3) -> Vec3:
        result = [(v.dot(n), float(k)) for k, v in enumerate(vertices)]
        while len(result) > 1:
            pairs = [_higher(*pair) for pair in zip(result[::2], result[1::2], strict=False)]
            result = pairs + result[len(result) - len(result) % 2 :]
        return Vec3(*entry(table, result[0][1]))

    return farthest


def _higher(x: tuple[Any, Any], y: tuple[Any, Any]) -> tuple[Any, Any]:
    less = lt(x[0], y[0])
    return where(less, y[0], x[0]), where(less, y[1], x[1])


def _of_other(sides: Sides, least: _LeastDepth, index: Any) -> tuple[_LeastDepth, Any, Any]:
    """Return (least, index, of_other) after the faces of the body without a known hull are tried as directions.

    ``least`` is the least overlap h so far, ``index`` the number of its face, and ``of_other`` True if that is a face
    of this body.
    """
    second = sides.second
    mine = lt(least.best.h, -FAR)  # False
    if isinstance(second, SegmentCore):
        return least, index, mine
    vertices, pose = sides.hull.vertices, second.pose

    def height(m: Vec3, offset: Any) -> tuple[Any, Vec3]:
        n = -(pose.rotation @ m)
        heights = [v.dot(n) for v in vertices]
        while len(heights) > 1:
            pairs = zip(heights[::2], heights[1::2], strict=False)
            heights = [where(lt(x, y), y, x) for x, y in pairs] + heights[len(heights) - len(heights) % 2 :]
        return heights[0] + offset - n.dot(pose.translation), n

    before = least.best.h
    if sides.second_faces is None:
        for k in range(3):
            for sign in (1.0, -1.0):
                least = least.better(*height(Vec3(*(sign if j == k else 0.0 for j in range(3))), [*second.half][k]))
        return least, index, lt(least.best.h, before)

    def face(state: tuple[_LeastDepth, Any], plane: Any) -> tuple[tuple[_LeastDepth, Any], None]:
        least, index = state
        h, n = height(Vec3.of(plane[:3]), plane[3])
        return (least.better(h, n), where(lt(h, least.best.h), plane[4], index)), None

    least, index = scan(face, (least, index), _planes(sides.second_faces))[0]
    return least, index, lt(least.best.h, before)


def _open_arcs(sides: Sides, ends: Any, bound: Any) -> list[Any]:
    """Return words with one bit for each arc, which is set if the overlap h may be less than a bound on the arc.

    ``bound`` is the signed square of that h.
    """
    words: list[Any] = []
    for k, (f, g, _, _) in enumerate(sides.faces.edges):
        (n, p), (m, q) = ((Vec3.of(sides.faces.normals[j].tolist()), float(sides.faces.offsets[j])) for j in (f, g))
        (*at_f, x), (*at_g, y) = ends[f], ends[g]
        s, t = x - (p - n.dot(Vec3.of(at_g))), y - (q - m.dot(Vec3.of(at_f)))
        height = t * x + s * (y - t)
        open_ = lt(height * fabs(height), bound * (t * t + s * (s + (2.0 * n.dot(m)) * t)))
        bit = where(open_, 2.0 ** (k % _BITS), 0.0)
        if k % _BITS == 0:
            words.append(bit)
        else:
            words[-1] = words[-1] + bit
    return words


class _Walk(NamedTuple):
    """State of the search along arcs, the directions between the normals of two adjacent faces.

    ``words`` are the bits of waiting arcs. The current part of an arc is between l and r, with the other body's
    support points ``at_l`` and ``at_r``; the arc ends at ``end``, and belongs to the hull's edge from v to w.
    ``active`` is 1 if a current part exists, ``last`` 1 if r is the arc's end. ``least`` is the best so far, ``edges``
    the ends of its two edges, and ``has_edges`` 1 if it is of two edges.
    """

    words: list[Any]
    l: Vec3
    at_l: Vec3
    r: Vec3
    at_r: Vec3
    end: Vec3
    at_end: Vec3
    v: Vec3
    w: Vec3
    active: Any
    last: Any
    least: _LeastDepth
    edges: tuple[Vec3, Vec3, Vec3, Vec3]
    has_edges: Any


def _waits(s: _Walk) -> Any:
    """Return True if arcs remain."""
    return reduce(or_, (lt(0.5, word) for word in s.words), lt(0.5, s.active))


def _search_arcs(
    sides: Sides, farthest: Callable[[Vec3], Vec3], ends: Any, words: list[Any], least: _LeastDepth, rounding: Any
) -> _Walk:
    faces, vertices = sides.faces, sides.hull.vertices
    rows = [[f, g, *faces.normals[f], *faces.normals[g], *vertices[v], *vertices[w]] for f, g, v, w in faces.edges]
    arcs, ends = np.array(rows, dtype=float), table_of([row[:3] for row in ends])

    def step(s: _Walk) -> _Walk:
        new = lt(s.active, 0.5)
        base, word = 0.0, s.words[0]
        left = []
        for k, x in enumerate(s.words[1:], 1):
            is_last = lt(word, 0.5)
            base, word = where(is_last, float(_BITS * k), base), where(is_last, x, word)
        index, bit = _highest_bit(word)
        free = new
        for x in s.words:
            is_last = and_(free, lt(0.5, x))
            left.append(x - where(is_last, bit, 0.0))
            free = and_(free, lt(x, 0.5))
        row = entry(arcs, where(new, base + index, 0.0))
        at_f, at_g = (Vec3(*entry(ends, row[k])) for k in (0, 1))
        f, g = Vec3(*row[2:5]), Vec3(*row[5:8])
        v, w = choose(new, Vec3(*row[8:11]), s.v), choose(new, Vec3(*row[11:14]), s.w)
        l, at_l = choose(new, f, s.l), choose(new, at_f, s.at_l)
        r, at_r = choose(new, g, s.r), choose(new, at_g, s.at_r)
        end, at_end = choose(new, g, s.end), choose(new, at_g, s.at_end)
        last = where(new, 1.0, s.last)
        offset = at_r - at_l
        x, y = l.dot(offset), -r.dot(offset)
        m = l * y + r * x
        height, square = m.dot(v - at_l), safe_square(m)
        open_ = and_(and_(lt(0.0, x), lt(0.0, y)), lt(height * fabs(height), s.least.most * square))
        size = 1.0 / sqrt(square)
        m = m * size
        at_m = farthest(-m)
        h = m.dot(v - at_m)
        less = and_(open_, lt(h, s.least.best.h))
        cut = and_(open_, lt(height * size + rounding, h))
        done = and_(not_(cut), lt(0.5, last))
        return _Walk(
            left,
            choose(cut, l, r),
            choose(cut, at_l, at_r),
            choose(cut, m, end),
            choose(cut, at_m, at_end),
            end,
            at_end,
            v,
            w,
            where(done, 0.0, 1.0),
            where(cut, 0.0, 1.0),
            s.least.better(h, m, open_),
            tuple(choose(less, x, y) for x, y in zip((v, w, at_l, at_r), s.edges, strict=True)),  # type: ignore[arg-type]
            where(less, 1.0, s.has_edges),
        )

    z = least.best.n * 0.0
    zero = 0.0 * least.best.h
    start = _Walk(words, z, z, z, z, z, z, z, z, zero, zero, least, (z, z, z, z), zero)
    result: _Walk = while_loop(_waits, step, start, max_iterations=_STEPS).state
    return result


def _with_contact(sides: Sides, farthest: Callable[[Vec3], Vec3], index: Any, of_other: Any, walk: _Walk) -> Facet:
    """Return the facet with its contact point: a vertex of one body on a face of the other, or a crossing of edges."""
    n, second = walk.least.best.n, sides.second
    on_h, on_o = support(PolytopeCore(Pose.identity(), sides.hull.vertices), n), farthest(-n)
    h = n.dot(on_h - on_o)
    v, w, at_l, at_r = walk.edges
    e, x, r = w - v, at_r - at_l, at_l - v
    m = e.cross(x)
    mm = m.dot(m)
    known = lt(_PARALLEL * e.dot(e) * x.dot(x), mm)
    scale = 1.0 / where(known, mm, 1.0)
    s, t = r.cross(x).dot(m) * scale, r.cross(e).dot(m) * scale
    apart = r + x * t - e * s + n * h  # zero if these two edges cross at the least h
    size = _ROUNDING * (sqrt(safe_square(on_h)) + sqrt(safe_square(on_o)))
    crossing = and_(and_(known, and_(_between(s), _between(t))), le(apart.dot(apart), size * size))
    below, above = on_o + n * h, on_h - n * h
    mine = _within(_corners(entry(_flat(sides.faces), index)), below, n)
    if isinstance(second, SegmentCore):
        theirs = of_other
    elif sides.second_faces is None:
        at = second.pose.inv().point(above)
        most = _ROUNDING * (second.half.x + second.half.y + second.half.z)
        theirs = reduce(and_, (le(fabs(x), half + most) for x, half in zip(at, second.half, strict=True)), of_other)
    else:
        corners = [second.pose.point(corner) for corner in _corners(entry(_flat(sides.second_faces), index))]
        theirs = _within(corners, above, -n)
    edges = lt(0.5, walk.has_edges)
    contact = choose(edges, v + e * s, choose(of_other, on_h, below))
    sure = or_(and_(edges, crossing), and_(not_(edges), or_(and_(of_other, theirs), and_(not_(of_other), mine))))
    sure = and_(sure, not_(_waits(walk)))
    of_h, of_o = (choose(edges, v, on_h), w), (choose(edges, at_l, on_o), at_r)
    X, R = sides.X, sides.X.rotation
    a, b = [[X.point(p) for p in points] for points in ((of_o, of_h) if sides.swapped else (of_h, of_o))]
    half = where(edges, 0.5, 0.0)
    simplex = WeightedPoints(
        (a[0] - b[0], a[1] - b[1], a[0] - b[0]), (a[0], a[1], a[0]), (1.0 - half, half, 0.0 * half)
    )
    if not sides.swapped:
        return Facet(R @ n, simplex, X.point(contact), sure, walk.least.tied)
    return Facet(-(R @ n), simplex, X.point(contact - n * h), sure, walk.least.tied)


def _flat(faces: KnownHull) -> np.ndarray:
    return faces.corners.reshape(-1, 9)


def _corners(row: list[Any]) -> list[Vec3]:
    return [Vec3(*row[k : k + 3]) for k in (0, 3, 6)]


def _between(s: Any) -> Any:
    return and_(le(0.0, s), le(s, 1.0))


def _within(corners: list[Vec3], point: Vec3, n: Vec3) -> Any:
    """Return True if a point of a triangle's plane is in it; n is its normal."""
    result: Any = True
    for p, q in zip(corners, corners[1:] + corners[:1], strict=True):
        result = and_(result, le(0.0, (q - p).cross(point - p).dot(n)))
    return result


def _highest_bit(word: Any) -> tuple[Any, Any]:
    """Return the index of the highest bit of a positive integer, and that bit."""
    index: Any = 0.0
    bit: Any = 1.0
    shift = 16  # less than the number of bits
    while shift:
        high = le(2.0**shift, word)
        word = where(high, word * 0.5**shift, word)
        index, bit = index + where(high, float(shift), 0.0), where(high, bit * 2.0**shift, bit)
        shift //= 2
    return index, bit
