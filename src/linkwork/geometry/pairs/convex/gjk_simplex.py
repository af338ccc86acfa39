"""Search for the point of A − B that is nearest to 0, by a simplex of its points (GJK algorithm).

A step adds the support point w along −v, where v is the nearest point so far, and reduces the simplex to the vertices
of its nearest point: at most a triangle.  In the new simplex, only the parts with the vertex w can be nearer: three
triangles and three edges.  All are computed by cross products, which lose fewer digits than products of dot products.

Sources: Gilbert, Johnson and Keerthi, 1988; van den Bergen, Collision Detection in Interactive 3D Environments, 2003,
chapter 4; signs of volumes as in Montanari, Petrinic and Barbieri, 2017.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, where
from linkwork.geometry.pairs.convex.minkowski_difference import Difference, Moved
from linkwork.geometry.unit_vectors import FAR, choose
from linkwork.spatial import Vec3

__all__ = ["Simplex", "WeightedPoints", "nearest"]

_STEPS = 60
_ASKEW = Vec3(0.36, 0.48, 0.8)  # a generic direction, for bodies with the same center
_ROUNDING = by_type(1e-15)  # relative rounding error of a gap, or of a square
_FLAT = by_type(1e-26)  # sin² of the angle of a degenerate triangle


class WeightedPoints(NamedTuple):
    """Points p of A − B with weights (0: unused), and for each p the point ``a`` of A from which it is computed."""

    p: tuple[Vec3, ...]
    a: tuple[Vec3, ...]
    weights: tuple[Any, ...]


class Simplex(NamedTuple):
    """Simplex of points p of A − B, with its point v nearest to 0 and the weights of p in v (0: unused).

    For each p, ``a`` is the point of A from which it is computed. ``inside`` is True if the simplex and one more point
    are a tetrahedron that contains 0, ``continues`` while the search is not at its end.
    """

    p: tuple[Vec3, ...]
    a: tuple[Vec3, ...]
    weights: tuple[Any, ...]
    v: Vec3
    inside: Any
    continues: Any


def nearest(difference: Difference | Moved, *, gap: Any) -> Simplex:
    """Return the simplex with the point of A − B nearest to 0 or, if the bodies overlap, a simplex that contains 0.

    The search ends when the bounds on the square of the distance differ by at most ``gap``, relative to the square.
    """
    between = difference.between()
    p, a = difference.support(choose(lt(0.0, between.dot(between)), between, _ASKEW))
    yes = lt(-1.0, p.dot(p))
    start = Simplex((p, p, p), (a, a, a), (1.0, 0.0, 0.0), p, not_(yes), yes)
    result: Simplex = while_loop(
        lambda s: s.continues, lambda s: _step(difference, s, gap), start, max_iterations=_STEPS
    ).state
    return result


def _step(difference: Difference | Moved, s: Simplex, least: Any) -> Simplex:
    square = s.v.dot(s.v)
    w, on_a = difference.support(-s.v)
    gap, ww = square - s.v.dot(w), w.dot(w)
    ends = le(gap, least * square)
    open_ = lt(by_type(_ROUNDING * _ROUNDING) * (square * ww), gap * fabs(gap))
    in_use = [lt(0.0, weight) for weight in s.weights]
    e = [choose(known, p, w) - w for known, p in zip(in_use, s.p, strict=True)]
    for known, x in zip(in_use, e, strict=True):  # w is a vertex already
        ends = or_(ends, and_(known, le(x.dot(x), by_type(_ROUNDING * _ROUNDING) * ww)))
    weights, v = _nearest_point(w, e)
    n = e[0].cross(e[1])
    volume = n.dot(e[2])
    parts = [-e[1].cross(e[2]).dot(w), -e[2].cross(e[0]).dot(w), -n.dot(w)]
    parts.append((w + e[0]).dot((w + e[1]).cross(w + e[2])))
    inside = and_(in_use[0], and_(in_use[1], in_use[2]))
    for part in parts:
        inside = and_(inside, lt(0.0, part * volume))
    # near almost parallel faces the first steps can improve by less than rounding before others improve by more
    new = v.dot(v)
    nearer = or_(lt(new, square), and_(open_, le(new, square + _ROUNDING * square)))
    nearer = and_(nearer, not_(or_(ends, inside)))
    take, free = [], nearer
    for known in (lt(0.0, x) for x in weights):
        take.append(and_(free, not_(known)))
        free = and_(free, known)
    last = fmax(1.0 - weights[0] - weights[1] - weights[2], 0.0)
    return Simplex(
        tuple(choose(taken, w, p) for taken, p in zip(take, s.p, strict=True)),
        tuple(choose(taken, on_a, a) for taken, a in zip(take, s.a, strict=True)),
        tuple(where(taken, last, where(nearer, x, y)) for taken, x, y in zip(take, weights, s.weights, strict=True)),
        choose(nearer, v, s.v),
        inside,
        and_(nearer, lt(0.0, v.dot(v))),
    )


def _nearest_point(w: Vec3, e: list[Vec3]) -> tuple[list[Any], Vec3]:
    """Return (weights, v) of the point v nearest to 0 on the triangles and edges of a tetrahedron that meet at w.

    The other corners are w + e; v is w plus the sum of the vectors e times the weights.
    """
    squares = [x.dot(x) for x in e]
    result: list[tuple[Any, list[Any]]] = []
    for k in range(3):
        known = lt(0.0, squares[k])
        t = fmin(fmax(-w.dot(e[k]) / where(known, squares[k], 1.0), 0.0), 1.0)
        q = w + e[k] * t
        result.append((q.dot(q), [t if k == i else 0.0 for i in range(3)]))
    across = [x.cross(w) for x in e]  # (−w) × e
    for i, j in ((0, 1), (1, 2), (2, 0)):
        n = e[i].cross(e[j])
        nn = n.dot(n)
        known = lt(_FLAT * squares[i] * squares[j], nn)
        scale = 1.0 / where(known, nn, 1.0)
        s, t = across[j].dot(n) * scale, -across[i].dot(n) * scale
        inside = and_(and_(known, le(s + t, 1.0)), and_(lt(0.0, s), lt(0.0, t)))
        height = w.dot(n)
        square = where(inside, height * height * scale, FAR)
        result.append((square, [s if k == i else t if k == j else 0.0 for k in range(3)]))
    square, weights = result[0]
    for candidate_square, candidate in result[1:]:
        better = lt(candidate_square, square)
        square = where(better, candidate_square, square)
        weights = [where(better, x, y) for x, y in zip(candidate, weights, strict=True)]
    v = w
    for x, weight in zip(e, weights, strict=True):
        v = v + x * weight
    return weights, v
