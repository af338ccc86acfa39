"""How deep 0 is in A − B: the least of h(n) over all directions, found by covering them with cones.

Three points of A − B span a triangle that lies in it, so that in the cone of directions of the triangle the surface is
no nearer than the triangle.  Four triangles about 0 cover all directions.  One of them at a time is looked at: the
farthest point w along its normal n gives the bound h(n) from above, and the triangle itself one from below.  Where
they meet, or where the triangle is no nearer than the best h so far, the cone is done; otherwise w and the edges of
the triangle that it sees span up to three triangles that are farther out, and whose cones cover the one before.
Cones that wait are on a stack.  Of polytopes that ends, at a facet of A − B; the least h is exact then.

Related: van den Bergen, Proximity queries and penetration depth computation on 3D game objects, 2001, where one
polytope is expanded, and its faces know their neighbours; here none does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...expr.control.loops import while_loop
from ...expr.functions import and_, fmax, fmin, le, lt, not_, or_, sqrt, where
from ...spatial import Vec3
from .difference import Difference, chosen, length_of

__all__ = ["Deepest", "deepest"]

_STEPS = 400
_WAITING = 24
_GAP = 4e-15  # of lengths: what rounding leaves between bounds
Triangle = tuple[Vec3, ...]


class Deepest(NamedTuple):
    """The best bound h(n) so far, where; the triangle that is looked at, and those that wait, the last first."""

    depth: Any
    n: Vec3
    now: Triangle
    waiting: tuple[Triangle, ...]
    many: Any
    going: Any


def deepest(
    difference: Difference, corners: tuple[Vec3, ...], inside: Any, steps: int = _STEPS, gap: float = 0.0
) -> Deepest:
    """The least h(n) of an A − B that has 0 between four of its points; nothing is done where it has not."""
    p, q, r, s = corners
    turned = lt((q - p).cross(r - p).dot(s - p), 0.0)
    q, r = chosen(turned, r, q), chosen(turned, q, r)
    faces: list[Triangle] = [(p, r, q), (p, q, s), (q, r, s), (r, p, s)]
    scale = fmax(fmax(p.dot(p), q.dot(q)), fmax(r.dot(r), s.dot(s)))
    rounding = sqrt(scale) * _GAP
    many = where(inside, 3.0, 0.0)
    waiting = tuple(faces[min(1 + k, 3)] for k in range(_WAITING))
    start = Deepest(1e150, Vec3(0.0, 0.0, 1.0), faces[0], waiting, many, inside)
    found: Deepest = while_loop(
        lambda x: x.going, lambda x: _step(difference, x, rounding, gap), start, at_most=steps
    ).state
    return found


def _normal(t: Triangle) -> tuple[Vec3, Any]:
    """A triangle's outward normal, and how far from 0 its plane is."""
    n = (t[1] - t[0]).cross(t[2] - t[0])
    n = n * (1.0 / sqrt(length_of(n)))
    return n, n.dot(t[0])


def _bound(t: Triangle) -> Any:
    """The square of the distance of a triangle from 0."""
    e = (t[1] - t[0], t[2] - t[1], t[0] - t[2])
    n = e[0].cross(e[1])
    height = n.dot(t[0])
    inside: Any = None
    edges: Any = None
    for p, x in zip(t, e, strict=True):
        here = le(0.0, p.cross(x).dot(n))
        q = p + x * fmin(fmax(-p.dot(x) / length_of(x), 0.0), 1.0)
        square = q.dot(q)
        inside = here if inside is None else and_(inside, here)
        edges = square if edges is None else fmin(edges, square)
    return where(inside, height * height / length_of(n), edges)


def _step(difference: Difference, x: Deepest, rounding: Any, gap: float) -> Deepest:
    now = x.now
    n, height = _normal(now)
    w, _ = difference.support(n)
    h = n.dot(w)
    better = lt(h, x.depth)
    depth, best = where(better, h, x.depth), chosen(better, n, x.n)
    enough = depth * (1.0 - gap) - rounding
    done = or_(le(h - height, rounding), le(enough, height))
    for corner in now:  # of a triangle that is all but flat: its normal is not better known
        done = or_(done, le((w - corner).dot(w - corner), rounding * rounding))
    squared = fmax(enough, 0.0)
    squared = squared * squared
    children = []
    for k in range(3):
        a, b = now[(k + 1) % 3], now[(k + 2) % 3]
        child = (w, a, b)
        bound = _bound(child)
        open_ = and_(and_(lt(0.0, w.dot(a.cross(b))), lt(bound, squared)), not_(done))
        children.append((where(open_, bound, 1e300), child, open_))
    first, second, third = (c[:2] for c in children)
    second, third = _ordered(second, third)
    first, second = _ordered(first, second)
    second, third = _ordered(second, third)
    some, two, three = (lt(c[0], 1e299) for c in (first, second, third))
    top = x.waiting[0]
    following = tuple(chosen(some, p, q) for p, q in zip(first[1], top, strict=True))
    waiting = []
    for k in range(_WAITING):
        kept = x.waiting[k]
        popped = x.waiting[min(k + 1, _WAITING - 1)]
        one = second[1] if k == 0 else x.waiting[k - 1]
        both = second[1] if k == 0 else third[1] if k == 1 else x.waiting[k - 2]
        waiting.append(
            tuple(
                chosen(three, r, chosen(two, q, chosen(some, p, o)))
                for o, p, q, r in zip(popped, kept, one, both, strict=True)
            )
        )
    many = x.many + where(three, 2.0, where(two, 1.0, where(some, 0.0, -1.0)))
    going = lt(-0.5, many)
    return Deepest(depth, best, following, tuple(waiting), many, going)


def _ordered(x: Any, y: Any) -> tuple[Any, Any]:
    """The nearer one first."""
    swap = lt(y[0], x[0])
    first = tuple(chosen(swap, q, p) for p, q in zip(x[1], y[1], strict=True))
    last = tuple(chosen(swap, p, q) for p, q in zip(x[1], y[1], strict=True))
    return (where(swap, y[0], x[0]), first), (where(swap, x[0], y[0]), last)
