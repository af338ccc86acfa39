"""The Minkowski difference A − B of two convex cores, and its point nearest to 0 by a simplex (GJK algorithm).

A − B = {a − b}, and its distance from 0 is the distance of A and B.  If A and B overlap, their depth is the least
distance from 0 to the surface of A − B: the minimum of h(n) over unit vectors n, where h(n) = max n · (A − B) =
h_A(n) + h_B(−n) is the support function.

A step of the search adds the support point w along −v, where v is the nearest point so far, and reduces the simplex
to the vertices of its nearest point: at most a triangle.  In the new simplex, only the parts with the vertex w can be
nearer: three triangles and three edges.  All are computed by cross products, which lose fewer digits than products of
dot products.

Sources: Gilbert, Johnson and Keerthi, 1988; van den Bergen, Collision Detection in Interactive 3D Environments, 2003,
chapter 4; signs of volumes as in Montanari, Petrinic and Barbieri, 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import PointCore, PolytopeCore, SegmentCore, SignedDistance
from linkwork.geometry.solids import ListedVertices
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import FAR, TINY, choose
from linkwork.spatial import Pose, Vec3

__all__ = ["Best", "Difference", "Moved", "Simplex", "WeightedPoints", "nearest", "safe_square", "unit_of"]


def safe_square(v: Vec3) -> Any:
    """Return v · v, or 1 if that is 0: a safe denominator."""
    square = v.dot(v)
    return where(lt(TINY, square), square, 1.0)


def unit_of(v: Vec3) -> Vec3:
    """Return v divided by its length, or 0 for 0."""
    unit: Vec3 = v * (1.0 / sqrt(safe_square(v)))
    return unit


@dataclass(frozen=True, slots=True)
class Difference:
    """Minkowski difference A − B of two cores, in the coordinates of the pose X of one of them."""

    a: Any
    b: Any
    X: Pose

    @staticmethod
    def of(a: Any, b: Any) -> Difference:
        """Return the difference of two bounded cores."""
        X = a.pose if hasattr(a, "pose") else b.pose if hasattr(b, "pose") else Pose.identity()
        base = a if hasattr(a, "pose") else b
        return Difference(_in_coordinates(a, X, is_base=a is base), _in_coordinates(b, X, is_base=b is base), X)

    def support(self, n: Vec3) -> tuple[Vec3, Vec3]:
        """Return the support point of A − B along n, and A's support point from which it is computed."""
        on_a = support(self.a, n)
        return on_a - support(self.b, -n), on_a

    def gap(self, n: Vec3) -> Any:
        """Return the signed gap from A to B between their supporting planes orthogonal to n: minus the overlap h(n)."""
        return -n.dot(self.support(n)[0])

    def between(self) -> Vec3:
        """Return the vector from the center of A to that of B."""
        between: Vec3 = _center(self.b) - _center(self.a)
        return between

    def in_original_coordinates(self, result: SignedDistance) -> SignedDistance:
        """Return a result in the coordinates that the cores were given in."""
        X = self.X
        normal, on_a = X.rotation @ result.normal, X.point(result.on_a)
        return SignedDistance(result.distance, normal, on_a, on_a + normal * result.distance, result.unique)

    def sides(self) -> list[Vec3]:
        """Return the axes of both cores' poses and their opposites, as directions; polytopes have none.

        If there are none at all, the result is ± the z axis.
        """
        axes = []
        for core in (self.a, self.b):
            if hasattr(core, "pose") and not isinstance(core, PolytopeCore):
                axes += [core.pose.rotation @ Vec3.of(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
        return [n for axis in axes or [Vec3(0.0, 0.0, 1.0)] for n in (axis, -axis)]


@dataclass(frozen=True, slots=True)
class Moved:
    """Minkowski difference A − B after a translation of B by the vector ``by``."""

    difference: Difference
    by: Vec3

    def support(self, n: Vec3) -> tuple[Vec3, Vec3]:
        """Return the support point of A − B along n, and A's support point from which it is computed."""
        p, on_a = self.difference.support(n)
        return p - self.by, on_a

    def between(self) -> Vec3:
        """Return the vector from the center of A to that of B."""
        return self.difference.between() + self.by


def _in_coordinates(core: Any, X: Pose, *, is_base: bool) -> Any:
    """Return a core in the coordinates of X; ``is_base``: X is its pose."""
    if isinstance(core, PointCore):
        return PointCore(X.inv().point(core.point))
    if isinstance(core, SegmentCore):
        return SegmentCore(X.inv().point(core.center), X.rotation.inv_act(core.half))
    return replace(core, pose=Pose.identity() if is_base else X.inv() @ core.pose)


def _center(core: Any) -> Any:
    if isinstance(core, PointCore):
        return core.point
    if isinstance(core, SegmentCore):
        return core.center
    if hasattr(core, "vertices"):
        if isinstance(core.vertices, ListedVertices):
            return core.pose.point(core.vertices.mean)
        total = core.vertices[0]
        for v in core.vertices[1:]:
            total = total + v
        return core.pose.point(total * (1.0 / len(core.vertices)))
    return core.pose.translation


class Best(NamedTuple):
    """Least overlap h [m] so far of all directions tried, and its direction n."""

    h: Any
    n: Vec3

    def better(self, h: Any, n: Vec3) -> Best:
        """Return the pair (h, n) with the smaller h: this pair, or the one of the arguments."""
        less = lt(h, self.h)
        return Best(where(less, h, self.h), choose(less, n, self.n))


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
