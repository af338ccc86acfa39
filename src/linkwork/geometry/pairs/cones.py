"""How deep 0 is in A − B: the least of h(n) over all directions, found by covering them with cones.

Three points of A − B span a triangle that lies in it, so that in the cone of directions of the triangle the surface is
no nearer than the triangle.  Four triangles about 0 cover all directions.  One of them at a time is looked at: the
farthest point w along its normal n bounds the depth from above by h(n), and the triangle bounds it from below.  Where
the two meet, or where the triangle is no nearer than the best h so far, the cone is done; otherwise w and the edges of
the triangle that it sees span up to three triangles that are farther out, and whose cones cover the one before.
Cones that wait are on a stack.

A cone may reach out of the one that it came from, where others answer.  What it answers for lies beyond the planes of
all triangles before it, and so beyond the plane through x, at right angles to x, where x is the nearest point beyond
two such planes: each cone keeps that x, whose length never falls.  Of polytopes the search ends at a facet of A − B,
and the least h is exact.

Related: van den Bergen, Proximity queries and penetration depth computation on 3D game objects, 2001, where one
polytope is expanded, and its faces know their neighbours; here none does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...expr.control.loops import while_loop
from ...expr.functions import and_, fmax, fmin, le, lt, not_, or_, sqrt, where
from ...spatial import Vec3
from ..directions import choose
from .difference import Difference, Moved, length_of

__all__ = ["Deepest", "deepest"]

_STEPS = 600
_WAITING = 24
_ROUNDING = 4e-15  # of lengths: what rounding leaves between bounds


class Wedge(NamedTuple):
    """Corners, counterclockwise from outside, and what no point that it answers for is nearer than."""

    corners: tuple[Vec3, ...]
    x: Vec3


class Deepest(NamedTuple):
    """The best bound h(n) so far and its n; the cone that is looked at, and those that wait, the last first."""

    depth: Any
    n: Vec3
    now: Wedge
    waiting: tuple[Wedge, ...]
    many: Any
    going: Any


def deepest(
    difference: Difference | Moved,
    corners: tuple[Vec3, ...],
    inside: Any,
    steps: int = _STEPS,
    gap: float = 0.0,
) -> Deepest:
    """The least h(n) of an A − B that has 0 between four of its points; where it has not, that of some directions.

    With a gap, what may be less than that part better than the best so far is not looked for.
    """
    p, q, r, s = corners
    turned = lt((q - p).cross(r - p).dot(s - p), 0.0)
    q, r = choose(turned, r, q), choose(turned, q, r)
    cones = [Wedge(t, _foot(t)[0]) for t in ((p, r, q), (p, q, s), (q, r, s), (r, p, s))]
    scale = fmax(fmax(p.dot(p), q.dot(q)), fmax(r.dot(r), s.dot(s)))
    rounding = sqrt(where(lt(0.0, scale), scale, 1.0)) * _ROUNDING
    waiting = tuple(cones[min(1 + k, 3)] for k in range(_WAITING))
    depth, n = _best(difference)
    start = Deepest(depth, n, cones[0], waiting, where(inside, 3.0, 0.0), inside)
    found: Deepest = while_loop(
        lambda x: x.going, lambda x: _step(difference, x, rounding, gap), start, at_most=steps
    ).state
    return found


def _best(difference: Difference | Moved) -> tuple[Any, Vec3]:
    """The least h(n) of the axes of both bodies."""
    depth: Any = 1e150
    best = Vec3(0.0, 0.0, 1.0)
    for n in difference.axes():
        for way in (n, -n):
            h = way.dot(difference.support(way)[0])
            less = lt(h, depth)
            depth, best = where(less, h, depth), choose(less, way, best)
    return depth, best


def _foot(t: tuple[Vec3, ...]) -> tuple[Vec3, Vec3, Any]:
    """The point of a triangle's plane that is nearest to 0, its outward normal, and how far the plane is."""
    n = (t[1] - t[0]).cross(t[2] - t[0])
    n = n * (1.0 / sqrt(length_of(n)))
    height = n.dot(t[0])
    return n * height, n, height


def _square(t: tuple[Vec3, ...], n: Vec3, height: Any) -> Any:
    """The square of the distance of a triangle from 0."""
    inside: Any = None
    edges: Any = None
    for p, q in zip(t, (*t[1:], t[0]), strict=True):
        e = q - p
        here = le(0.0, p.cross(q).dot(n))
        nearest = p + e * fmin(fmax(-p.dot(e) / length_of(e), 0.0), 1.0)
        square = nearest.dot(nearest)
        inside = here if inside is None else and_(inside, here)
        edges = square if edges is None else fmin(edges, square)
    return where(inside, height * height, edges)


def _beyond(x: Vec3, n: Vec3, height: Any) -> Vec3:
    """The point nearest to 0 of those beyond the plane through x, across x, and beyond another plane."""
    xx, along = x.dot(x), x.dot(n)
    across = xx - along * along  # of the Gram matrix [[xx, along], [along, 1]]
    known = lt(1e-12 * xx, across)
    scale = where(known, 1.0, 0.0) / where(known, across, 1.0)
    a, b = xx * scale - along * height * scale, xx * (height - along) * scale
    both = x * a + n * b
    first = choose(lt(xx, height * height), n * height, x)  # the farther one
    return choose(and_(known, and_(lt(0.0, a), lt(0.0, b))), both, first)


def _step(difference: Difference | Moved, state: Deepest, rounding: Any, gap: float) -> Deepest:
    now = state.now
    corners = now.corners
    _, n, height = _foot(corners)
    w, _ = difference.support(n)
    h = n.dot(w)
    better = lt(h, state.depth)
    depth, best = where(better, h, state.depth), choose(better, n, state.n)
    enough = depth * (1.0 - gap) - rounding
    done = or_(le(h - height, rounding), le(enough, height))
    for corner in corners:  # of a triangle that is all but flat: its normal is not better known
        done = or_(done, le((w - corner).dot(w - corner), rounding * rounding))
    enough = fmax(enough, 0.0)
    children = []
    for k in range(3):
        a, b = corners[(k + 1) % 3], corners[(k + 2) % 3]
        _, m, far = _foot((w, a, b))
        x = _beyond(now.x, m, far)
        bound = fmax(_square((w, a, b), m, far), x.dot(x))
        still = and_(and_(lt(0.0, w.dot(a.cross(b))), lt(bound, enough * enough)), not_(done))
        children.append((where(still, bound, 1e300), Wedge((w, a, b), x)))
    first, second, third = children
    second, third = _ordered(second, third)
    first, second = _ordered(first, second)
    second, third = _ordered(second, third)
    some, two, three = (lt(child[0], 1e299) for child in (first, second, third))
    last = state.waiting
    waiting = []
    for k in range(_WAITING):
        popped = last[min(k + 1, _WAITING - 1)]
        one = second[1] if k == 0 else last[k - 1]
        both = second[1] if k == 0 else third[1] if k == 1 else last[k - 2]
        waiting.append(_wedge(three, both, _wedge(two, one, _wedge(some, last[k], popped))))
    many = state.many + where(three, 2.0, where(two, 1.0, where(some, 0.0, -1.0)))
    return Deepest(depth, best, _wedge(some, first[1], last[0]), tuple(waiting), many, lt(-0.5, many))


def _wedge(condition: Any, x: Wedge, y: Wedge) -> Wedge:
    corners = tuple(choose(condition, p, q) for p, q in zip(x.corners, y.corners, strict=True))
    return Wedge(corners, choose(condition, x.x, y.x))


def _ordered(x: tuple[Any, Wedge], y: tuple[Any, Wedge]) -> tuple[tuple[Any, Wedge], tuple[Any, Wedge]]:
    """The nearer one first."""
    swap = lt(y[0], x[0])
    return (where(swap, y[0], x[0]), _wedge(swap, y[1], x[1])), (where(swap, x[0], y[0]), _wedge(swap, x[1], y[1]))
