"""Any two convex bodies that have no closed form: by the support functions of both."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...expr.control.loops import while_loop
from ...expr.functions import and_, lt, or_, sqrt, where
from ...spatial import Vec3
from ..cores import Core
from ..distance import SignedDistance
from .cones import deepest
from .difference import Difference, Moved, chosen, length_of
from .features import CURVED
from .polish import polished
from .simplex import Kept, Simplex, nearest

__all__ = ["convex"]

_EXACT = 1e-14  # relative gaps between bounds on squares of distances, at which searches end
_NEAR = 1e-9
_NEARLY = 1e-3  # of depths
_OUT = 1.2


def convex(a: Core, b: Core) -> SignedDistance:
    """Of two bounded cores."""
    difference = Difference.of(a, b)
    curved = isinstance(a, CURVED) or isinstance(b, CURVED)
    s = nearest(difference, gap=_NEAR if curved else _EXACT)
    found = deepest(difference, (*s.p, s.w), s.inside, gap=_NEARLY if curved else 0.0)
    distance, normal, on_a = _apart(s)
    start = _Pass(
        _kept(s),
        where(s.inside, -found.depth, distance),
        chosen(s.inside, found.n, normal),
        on_a,
        where(s.inside, 2.0 if curved else 1.0, 1.0 if curved else 0.0),
    )

    def step(now: _Pass) -> _Pass:
        # moved out by the depth and a bit, overlapping bodies show where they touch
        away = Moved(difference, now.normal * where(s.inside, -_OUT * now.distance, 0.0))
        t = nearest(away, gap=_NEAR if curved else _EXACT, going=s.inside)
        _, normal, on_a = _apart(t)
        if not curved:
            return _Pass(now.kept, now.distance, now.normal, on_a, 0.0 * now.left)
        moved = Kept(tuple(p + away.by for p in t.p), t.a, t.weights)
        kept = Kept(
            tuple(chosen(s.inside, x, y) for x, y in zip(moved.p, now.kept.p, strict=True)),
            tuple(chosen(s.inside, x, y) for x, y in zip(moved.a, now.kept.a, strict=True)),
            tuple(where(s.inside, x, y) for x, y in zip(moved.weights, now.kept.weights, strict=True)),
        )
        return _Pass(kept, *polished(difference, kept, chosen(s.inside, normal, now.normal)), now.left - 1.0)

    last = while_loop(lambda now: lt(0.5, now.left), step, start, at_most=3).state
    return difference.seen_outside(SignedDistance(last.distance, last.normal, last.on_a, last.on_a, 1.0))


class _Pass(NamedTuple):
    """What is known before a polish, and how many are left."""

    kept: Kept
    distance: Any
    normal: Vec3
    on_a: Vec3
    left: Any


def _kept(s: Simplex) -> Kept:
    return Kept(s.p, s.a, s.weights)


def _apart(s: Simplex) -> tuple[Any, Vec3, Vec3]:
    """Distance, normal from A to B, and the point on A, of what was found: by the plane of three points, the line of
    two, or one."""
    x, y, z = (lt(0.0, weight) for weight in s.weights)
    origin = chosen(x, s.p[0], chosen(y, s.p[1], s.p[2]))
    other = chosen(and_(x, y), s.p[1], s.p[2])
    plane = (s.p[1] - s.p[0]).cross(s.p[2] - s.p[0])
    edge = other - origin
    line = origin - edge * (origin.dot(edge) / length_of(edge))
    line = chosen(or_(and_(x, y), or_(and_(x, z), and_(y, z))), line, origin)
    inside = and_(x, and_(y, z))
    backward = lt(plane.dot(s.v), 0.0)
    n = chosen(inside, chosen(backward, -plane, plane), line)
    n = n * (1.0 / sqrt(length_of(n)))
    distance = n.dot(origin)
    on_a = s.a[0] * s.weights[0] + s.a[1] * s.weights[1] + s.a[2] * s.weights[2]
    return distance, -n, on_a
