"""Where an edge of a box and a rim of a cylinder touch: the extremes of what planes along an edge keep between the two.

Across an edge u the box is a rectangle and the cylinder an ellipse, of half axes κ r along b₁, the axis as it is seen,
and r along b₂, κ = |u · a|, that is drawn out by ±L b₁.  Between two neighbours of the directions at which the
rectangle or what is drawn out changes its corner w, h(n) is the support function of an ellipse about w.  With the
center of the cylinder at p, q = p − w, it is least where a normal of the ellipse goes through q.  By the eccentric
angle φ in the quadrant of n (the signs of q are turned accordingly), with d = 1 − κ²,

    E(φ) = r d + κ q₁/cos φ − q₂/sin φ

has the sign of dh/dφ, so h has a least value where E rises through 0, which is for q₂ > 0 alone.  With q₁ ≥ 0, E
grows, so its signs at the ends of an arc say whether it has a root there.  With q₁ < 0 it is concave, and the lesser
of two roots counts.  They are there only in the ellipse's evolute, (κ|q₁|)^⅔ + q₂^⅔ < (r d)^⅔, which needs
κ² q₁² + q₂² + 6 κ|q₁| q₂ < (r d)².

In z = 1/cos φ, E = 0 is (1/z² + (q₂/(κ q₁ z + r d))²)^−½ = 1, whose left side is a power mean of linear functions: it
is concave and almost straight, so Newton's method from below, at which the arc begins, never passes the first root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
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
from linkwork.geometry.pairs.closed_form.cylinder_projections import CylinderInBoxFrame
from linkwork.geometry.unit_vectors import NOTHING, choose, unit
from linkwork.spatial import Vec3

__all__ = ["along_axis", "least_along_edges"]


_STEPS = 5
_MORE = 40  # steps that are needed next to touching
_ENOUGH = 1e-9  # of 1/cos φ, after which a step converges to rounding
_STEEP = 1e30  # the largest 1/cos φ
_NEVER = 1e300
_LEAST = 1e-14  # κ is no less: what is seen edge-on has rounding for its width
_ROUNDING = 2e-15  # relative
_THIN = 1e-60  # squares of half axes, relative, below which there are none


class _Arc(NamedTuple):
    """Normals between two of the directions: v₁ and v₂ are b₁ and b₂ with the signs of its quadrant, and seen along
    the edge, the disc's own direction e, across v₂, is κ v₁.

    Its chord says what h is at least there: where the key is above 0, √(key/square).  A key of `_NEVER` says that h has
    no least value there.
    """

    q1: Any
    q2: Any
    kappa: Any
    bent: Any  # r d
    z: Any  # where it begins
    v1: Vec3
    v2: Vec3
    e: Vec3
    key: Any
    square: Any


def least_along_edges(
    can: CylinderInBoxFrame, edges: Sequence[int], depth: Any, n: Vec3, going: Any
) -> tuple[Any, Vec3, Vec3]:
    """The least h and its n, of those known and those across edges; where it is not going, those known.

    And the way from the axis to where the cylinder is farthest along n: next to the axis, an edge knows it better.
    """

    def better(
        can: CylinderInBoxFrame, arcs: Sequence[_Arc], index: Any, depth: Any, n: Vec3, out: Vec3, going: Any
    ) -> tuple[Any, Any, Vec3, Vec3]:
        index, arc = _following(arcs, index, depth, going)
        m, way = _root(arc, lt(index, len(arcs) - 0.5))
        h = can.height(m)
        less = and_(lt(index, len(arcs) - 0.5), lt(h, depth))
        return index, where(less, h, depth), choose(less, m, n), choose(less, way, out)

    def step(state: tuple[CylinderInBoxFrame, Any, Any, Vec3, Vec3]) -> tuple[CylinderInBoxFrame, Any, Any, Vec3, Vec3]:
        can = state[0]
        return can, *better(can, _all_arcs(can, edges), *state[1:], going=True)

    arcs = _all_arcs(can, edges)
    index, depth, n, out = better(can, arcs, None, depth, n, n - can.axis * can.axis.dot(n), going)
    if len(arcs) == 1:
        return depth, n, out
    # hardly ever there is another: its loop brings its numbers along, so that arcs do not wait for it in memory
    left = _following(arcs, index, depth, True)[0]
    state = (can, where(lt(left, len(arcs) - 0.5), index, float(len(arcs))), depth, n, out)
    return while_loop(lambda s: lt(s[1], len(arcs) - 0.5), step, state, max_iterations=len(arcs)).state[2:]  # type: ignore[no-any-return]


def _following(arcs: Sequence[_Arc], index: Any, depth: Any, going: Any) -> tuple[Any, _Arc]:
    """The number of the next arc, and that, in which h may be less than the depth; their number where there is none."""
    most = where(lt(0.0, depth), depth * depth, 0.0)
    result, number = arcs[-1], float(len(arcs)) + 0.0 * depth
    for k, arc in reversed(list(enumerate(arcs))):
        here = and_(lt(arc.key, most * arc.square), going)
        here = here if index is None else and_(here, lt(index, float(k)))
        result, number = _chosen(here, arc, result), where(here, float(k), number)
    return number, result


def _all_arcs(can: CylinderInBoxFrame, edges: Sequence[int]) -> list[_Arc]:
    return [arc for i in edges for arc in (_arcs(can, i) if len(edges) > 1 else _single(can, i))]


def _chosen(condition: Any, a: _Arc, b: _Arc) -> _Arc:
    """One of two, by all but its chord."""
    q1, q2, kappa, bent, z = (where(condition, x, y) for x, y in zip(a[:5], b[:5], strict=True))
    v1, v2, e = (choose(condition, x, y) for x, y in zip(a[5:8], b[5:8], strict=True))
    return _Arc(q1, q2, kappa, bent, z, v1, v2, e, a.key, a.square)


def along_axis(can: CylinderInBoxFrame) -> tuple[Vec3, Vec3]:
    """The normal across z where a cylinder's rim is nearest to what is round about z, or deepest in it, and the way
    from the cylinder's axis to that.
    """
    arc = _single(can, 2)[0]
    return _root(arc, lt(arc.key, 0.5 * _NEVER))


def _root(arc: _Arc, going: Any) -> tuple[Vec3, Vec3]:
    """The normal where E rises through 0, and the way from the axis to the rim there."""
    q2, bent, slope, z = arc.q2, arc.bent, arc.kappa * arc.q1, arc.z
    before = z
    for _ in range(_STEPS):
        before, z = z, _nearer(z, q2, bent, slope)
    more = and_(going, lt(_ENOUGH * z, fabs(z - before)))

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        following = _nearer(state[0], q2, bent, slope)
        return following, where(lt(_ENOUGH * following, fabs(following - state[0])), 1.0, 0.0)

    z = while_loop(lambda state: lt(0.5, state[1]), step, (z, where(more, 1.0, 0.0)), max_iterations=_MORE).state[0]
    x, y = slope * z + bent, q2 * z
    n, out = arc.v1 * x + arc.v2 * (arc.kappa * y), arc.e * x + arc.v2 * y
    some = lt(NOTHING, n.dot(n))
    return choose(some, unit(n), arc.v1), choose(some, unit(out), arc.e)


def _nearer(z: Any, q2: Any, bent: Any, slope: Any) -> Any:
    """A step of Newton's method."""
    x, y = slope * z + bent, q2 * z
    square = x * x + y * y
    rise = x * x * x + slope * (q2 * q2) * (z * z * z)
    some = lt(0.0, rise)
    further = where(some, square * (sqrt(square) - z * x), 0.0) / where(some, rise, 1.0)
    return fmin(fmax(z + further, 1.0), _STEEP)


class _Seen(NamedTuple):
    """A cylinder along an edge, with axes turned so that p₁ and p₂ are not negative."""

    j: int
    k: int
    x: Any
    y: Any
    p1: Any
    p2: Any
    kappa: Any
    bent: Any
    shift: Any
    v1: Vec3
    v2: Vec3
    e: Vec3
    turned: Any  # whether one of the axes is
    rounding: Any  # of products of two lengths


def _seen(can: CylinderInBoxFrame, i: int) -> _Seen:
    j, k = (i + 1) % 3, (i + 2) % 3
    a, c, sine = tuple(can.axis), tuple(can.center), can.sines[i]
    known = lt(0.0, sine)
    inverse = where(known, 1.0, 0.0) / where(known, sine, 1.0)
    x, y = where(known, a[j] * inverse, 1.0), a[k] * inverse
    p1, p2 = c[j] * x + c[k] * y, c[k] * x - c[j] * y
    s1, s2 = copysign(1.0, p1), copysign(1.0, p2)
    v1, v2 = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    v1[j], v1[k], v2[j], v2[k] = x * s1, y * s1, -y * s2, x * s2
    # (b₁ − a sin)/κ, which is (κ a ∓ u)/sin
    upright = lt(0.5, fabs(a[i]))
    sign = copysign(1.0, a[i])
    b1 = [0.0, 0.0, 0.0]
    b1[j], b1[k] = x, y
    e1 = []
    scale = 1.0 / where(upright, fabs(a[i]), 1.0)
    for index, (b, along) in enumerate(zip(b1, a, strict=True)):
        other = fabs(a[i]) * along - (sign if index == i else 0.0)
        e1.append(where(upright, (b - along * sine) * scale, other * inverse) * s1)
    near = fabs(p1), fabs(p2), fmax(fabs(a[i]), _LEAST), can.radius * (sine * sine), can.half * sine
    far = can.center.dot(can.center) + can.box.dot(can.box) + can.radius * can.radius + can.half * can.half
    return _Seen(j, k, x, y, *near, Vec3(*v1), Vec3(*v2), Vec3(*e1), lt(s1 * s2, 0.0), _ROUNDING * far)


def _arc(
    seen: _Seen,
    can: CylinderInBoxFrame,
    q: tuple[Any, Any],
    m: tuple[Any, Any, Any],
    begins: bool,
    v: tuple[Vec3, Vec3, Vec3],
) -> _Arc:
    """In the quadrant of v₁ and v₂: from b₁ to a direction m, or from there to b₂; m with the ellipse's support."""
    q1, q2 = q
    kappa, bent, r = seen.kappa, seen.bent, can.radius
    low, high = kappa * fabs(q1), q2
    inside = and_(lt(q1, 0.0), lt(low * low + q2 * q2 + 6.0 * (low * q2), bent * bent))
    m1, m2, rho = m
    inverse = 1.0 / rho
    at = (r * kappa * kappa * m1 * inverse - q1, r * m2 * inverse - q2)
    rises = m1 * at[1] - m2 * at[0]
    cubes = kappa * m1
    bends = high * (cubes * cubes * cubes) - low * (m2 * m2 * m2)  # the sign of E' at m, for q₁ < 0
    if begins:
        start, end = (r * kappa - q1, -q2), at
        simple = and_(le(0.0, q2), lt(0.0, rises))
        double = and_(and_(inside, le(0.0, q2)), and_(le(rises, 0.0), le(bends, 0.0)))
        z: Any = 1.0
    else:
        start, end = at, (-q1, r - q2)
        simple = and_(and_(lt(0.0, q2), le(0.0, q1)), lt(rises, 0.0))
        double = and_(and_(inside, lt(0.0, q2)), and_(lt(rises, 0.0), le(0.0, bends)))
        z = fmax(rho / fmax(cubes, 1.0 / _STEEP), 1.0)
    above = lt(0.0, q1)
    slope = kappa * q1
    z = fmax(z, where(above, q2 - bent, 0.0) / where(above, fmax(slope, 1e-280), 1.0))
    across = start[0] * end[1] - start[1] * end[0]
    chord = (end[0] - start[0], end[1] - start[1])
    square = chord[0] * chord[0] + chord[1] * chord[1]
    key = _key(across - seen.rounding, square)
    if begins:  # of the ends of an arc with a second extremum, b₁ is not known otherwise
        key = where(lt(q1, 0.0), fmin(key, start[0] * start[0] * square), key)
    key = where(or_(simple, double), key, _NEVER)
    return _Arc(q1, q2, kappa, bent, fmin(z, _STEEP), *v, key, square)


def _key(across: Any, square: Any) -> Any:
    """Of a chord of no length, as of a rim that is seen edge-on, rounding must not say that h is positive there."""
    return where(lt(NOTHING, square), across * fabs(across), -1.0)


def _arcs(can: CylinderInBoxFrame, i: int) -> list[_Arc]:
    seen = _seen(can, i)
    h = tuple(can.box)
    x, y = fabs(seen.x), fabs(seen.y)
    # the rectangle's axes e, in the first quadrant, and f, a quarter turn from it, and its half sides along them
    crossed = lt(seen.x * seen.y, 0.0)
    first = or_(and_(crossed, not_(seen.turned)), and_(lt(0.0, seen.x * seen.y), seen.turned))
    ex, ey = where(first, x, y), where(first, y, x)
    along_e, along_f = where(first, h[seen.j], h[seen.k]), where(first, h[seen.k], h[seen.j])
    squeezed = seen.kappa * seen.kappa
    e = ex, ey, sqrt(fmax(squeezed * ex * ex + ey * ey, _THIN))
    f = ey, ex, sqrt(fmax(squeezed * ey * ey + ex * ex, _THIN))
    shift, v1, v2, e1 = seen.shift, seen.v1, seen.v2, seen.e
    wide, thin = along_e * ex + along_f * ey, along_e * ex - along_f * ey
    tall, low = along_e * ey + along_f * ex, along_e * ey - along_f * ex
    up, down = seen.p2 - tall, seen.p2 - low
    falls = lt(down, 0.0)
    m = where(falls, f[0], e[0]), where(falls, f[1], e[1]), where(falls, f[2], e[2])
    return [
        _arc(seen, can, (seen.p1 - wide - shift, fabs(down)), m, True, (v1, choose(falls, -v2, v2), e1)),
        _arc(seen, can, (seen.p1 - thin - shift, up), e, False, (v1, v2, e1)),
        _arc(seen, can, (thin - shift - seen.p1, up), f, False, (-v1, v2, -e1)),
        _arc(seen, can, (-seen.p1 - wide - shift, seen.p2 + low), f, True, (-v1, v2, -e1)),
    ]


def _single(can: CylinderInBoxFrame, i: int) -> list[_Arc]:
    """Of a segment, which has no width: both quadrants of its one corner mirror each other."""
    seen = _seen(can, i)
    q1, q2 = seen.p1 - seen.shift, seen.p2
    low = seen.kappa * fabs(q1)
    inside = lt(low * low + q2 * q2 + 6.0 * (low * q2), seen.bent * seen.bent)
    there = or_(le(0.0, q1), inside)
    above = lt(0.0, q1)
    z = where(above, q2 - seen.bent, 0.0) / where(above, fmax(seen.kappa * q1, 1e-280), 1.0)
    z = fmin(fmax(z, 1.0), _STEEP)
    r = can.radius
    x, y = r * seen.kappa - q1, r - q2
    across = x * y - q1 * q2
    square = r * r * (1.0 + seen.kappa * seen.kappa)
    key = _key(across - seen.rounding, square)
    key = where(there, where(lt(q1, 0.0), fmin(key, x * x * square), key), _NEVER)
    return [_Arc(q1, q2, seen.kappa, seen.bent, z, seen.v1, seen.v2, seen.e, key, square)]
