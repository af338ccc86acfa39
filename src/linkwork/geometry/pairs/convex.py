"""Any two convex bodies that have no closed form: by the support functions of both."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...expr.control.loops import while_loop
from ...expr.functions import and_, le, lt, not_, or_, sqrt, where
from ...spatial import Vec3
from ..cores import Core, EllipsoidCore
from ..distance import SignedDistance
from .cones import deepest
from .difference import Difference, Moved, chosen, length_of
from .features import CURVED
from .polish import polished
from .simplex import Kept, Simplex, nearest

__all__ = ["convex"]

_EXACT = 0.0  # relative gaps between bounds on squares of distances, at which searches end
_NEAR = 1e-9
_NEARLY = 1e-4  # of depths: what is less than that part better is not looked for, of curved bodies
_NEARLY_SMOOTH = 5e-3  # where a body is an ellipsoid
_TOUCHING = 1e-13  # of the size of A − B
_INWARD = 1e-12
_ROUNDING = 1e-14
_OUT = 1e-3  # of the size, by which overlapping bodies are moved further
_OUT_EXACT = 1e-6


def convex(a: Core, b: Core) -> SignedDistance:
    """Of two bounded cores."""
    difference = Difference.of(a, b)
    curved = isinstance(a, CURVED) or isinstance(b, CURVED)
    near = _NEAR if curved else _EXACT
    out = _OUT if curved else _OUT_EXACT
    smooth = isinstance(a, EllipsoidCore) or isinstance(b, EllipsoidCore)
    enough = (_NEARLY_SMOOTH if smooth else _NEARLY) if curved else 0.0
    s = nearest(difference, gap=near)
    distance, normal, on_a = _apart(s)
    g = difference.kept(normal)
    # all but touching, 0 is taken a little further in: then there are facets about it
    scale = _length(difference.between()) + _length(s.w)
    touches = le(distance, _TOUCHING * scale)
    if not curved:
        touches = or_(touches, lt(g, distance - _ROUNDING * scale))
    touches = and_(touches, not_(s.inside))
    inward = Vec3(0.036 * scale, 0.048 * scale, 0.08 * scale) - difference.between()
    inward = inward * (where(touches, 2.0 * distance + _INWARD * scale, 0.0) / sqrt(length_of(inward)))
    further = Moved(difference, inward)
    t = nearest(further, gap=near, going=touches, askew=True)
    found = deepest(
        further,
        tuple(chosen(touches, x, y) for x, y in zip((*t.p, t.w), (*s.p, s.w), strict=True)),
        or_(s.inside, and_(touches, t.inside)),
        or_(s.inside, touches),
        gap=enough,
    )
    normal, g = chosen(s.inside, found.n, normal), where(s.inside, -found.depth, g)
    for other in (found.n, _apart(t)[1]):
        kept = difference.kept(other)
        better = and_(touches, lt(g, kept))
        normal, g = chosen(better, other, normal), where(better, kept, g)
    over = or_(s.inside, touches)
    distance = where(over, g, distance)
    passes = where(over, 2.0 if curved else 1.0, 1.0 if curved else 0.0)
    start = _Pass(_kept(s), distance, normal, on_a, passes)

    def step(now: _Pass) -> _Pass:
        # moved out by the depth and a bit, overlapping bodies show where they touch
        away = Moved(difference, now.normal * where(over, out * scale - now.distance, 0.0))
        t = nearest(away, gap=near, going=over)
        _, normal, on_a = _apart(t)
        if not curved:
            return _Pass(now.kept, now.distance, now.normal, on_a, 0.0 * now.left)
        kept = Kept(
            tuple(chosen(over, x + away.by, y) for x, y in zip(t.p, now.kept.p, strict=True)),
            tuple(chosen(over, x, y) for x, y in zip(t.a, now.kept.a, strict=True)),
            tuple(where(over, x, y) for x, y in zip(t.weights, now.kept.weights, strict=True)),
        )
        g, n, on_a = polished(difference, kept, chosen(over, normal, now.normal))
        worse = and_(over, lt(g, now.distance))  # then only what is known of the points is of use
        g, n = where(worse, now.distance, g), chosen(worse, now.normal, n)
        return _Pass(kept, g, n, on_a, now.left - 1.0)

    last = while_loop(lambda now: lt(0.5, now.left), step, start, at_most=3).state
    return difference.seen_outside(SignedDistance(last.distance, last.normal, last.on_a, last.on_a, 1.0))


def _length(v: Vec3) -> Any:
    square = v.dot(v)
    return where(lt(1e-300, square), sqrt(length_of(v)), 0.0)


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
    line = line - edge * (line.dot(edge) / length_of(edge))  # the shorter it is, the more rounding there was
    line = chosen(or_(and_(x, y), or_(and_(x, z), and_(y, z))), line, origin)
    inside = and_(x, and_(y, z))
    backward = lt(plane.dot(s.v), 0.0)
    n = chosen(inside, chosen(backward, -plane, plane), line)
    known = lt(1e-300, n.dot(n))
    n = chosen(known, n * (1.0 / sqrt(length_of(n))), Vec3(0.0, 0.0, 1.0))
    distance = where(inside, n.dot(origin), where(known, n.dot(line), 0.0))
    on_a = s.a[0] * s.weights[0] + s.a[1] * s.weights[1] + s.a[2] * s.weights[2]
    return distance, -n, on_a
