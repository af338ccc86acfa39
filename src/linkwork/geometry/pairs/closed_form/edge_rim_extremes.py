"""Contact of an edge of a box and a rim of a cylinder: the least overlap along directions orthogonal to the edge.

The overlap h(n) of box and cylinder along a unit vector n is the sum of their extents, minus the distance of the
centers along n. Projected along an edge u, the box is a rectangle. The cylinder is an ellipse with half axes κ r along
b₁, the projected axis, and r along b₂, κ = |u · a|, swept by ±L b₁. Between two neighbouring directions at which the
rectangle or the sweep changes its corner w, h(n) is the support function of an ellipse about w. With the cylinder's
center p and q = p − w, it has a minimum where a normal of the ellipse passes through q. Let φ be the eccentric angle
in the quadrant of n (the signs of q are adapted to the quadrant) and d = 1 − κ². Then

    E(φ) = r d + κ q₁/cos φ − q₂/sin φ

has the sign of dh/dφ, so h has a minimum where E crosses 0 upward, which requires q₂ > 0. For q₁ ≥ 0, E is increasing,
so its signs at the ends of an arc decide if there is a root. For q₁ < 0 it is concave, and the smaller of two roots
counts. The roots exist only inside the ellipse's evolute, (κ|q₁|)^⅔ + q₂^⅔ < (r d)^⅔, which implies κ² q₁² + q₂² + 6
κ|q₁| q₂ < (r d)².

In z = 1/cos φ, E = 0 is (1/z² + (q₂/(κ q₁ z + r d))²)^−½ = 1. The left side is a power mean of linear functions, which
is concave and almost linear. So Newton's method from below, from the beginning of the arc, never passes the first
root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
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
from linkwork.geometry.pairs.closed_form.cylinder_projections import CylinderInBoxFrame
from linkwork.geometry.unit_vectors import TINY, choose, unit
from linkwork.spatial import Vec3

__all__ = ["along_axis", "least_along_edges"]


_ARCS = 4  # of each edge of a box
_STEPS = 5
_MORE = 40  # further steps, for almost touching bodies
_ENOUGH = by_type(1e-9)  # relative step of 1/cos φ after which the next one converges to rounding
_STEEP = by_type(1e27)  # maximum of 1/cos φ, whose cube is finite
_NEVER = by_type(1e300)
_LEAST = by_type(1e-14)  # minimum of κ, whose width is rounding
_ROUNDING = by_type(2e-15)  # relative
_THIN = by_type(1e-60)  # relative squared half axes that count as zero


class _Arc(NamedTuple):
    """Arc of normals, orthogonal to an edge, between two neighbouring directions at which the support point changes.

    The symbols are defined in the module's docstring. v1 and v2 are b₁ and b₂ with the signs of the arc's quadrant. The
    direction e, in the rim's plane and orthogonal to v2, projects to κ v1. If key > 0, √(key/square) is a lower bound
    on the gap h(n) over the arc. A key of `_NEVER` means that h has no minimum in the arc.
    """

    q1: Any
    q2: Any
    kappa: Any
    bent: Any  # r d
    z: Any  # its beginning
    v1: Vec3
    v2: Vec3
    e: Vec3
    key: Any
    square: Any


def least_along_edges(
    cylinder: CylinderInBoxFrame, edges: Sequence[int], depth: Any, n: Vec3, going: Any
) -> tuple[Any, Vec3, Vec3]:
    """Return (h, n, out): the least overlap h among a known direction n and the normals orthogonal to edges.

    ``depth`` is h of the known direction. Where ``going`` is False, the result is that of the known direction. ``out``
    is the radial direction from the axis to the cylinder's farthest point along n; close to the axis it is more
    accurate from an edge than from n.
    """

    out = n - cylinder.axis * cylinder.axis.dot(n)
    if len(edges) == 1:
        arcs = _all_arcs(cylinder, edges)
        return _with_next_arc(cylinder, arcs, None, depth, n, out, going)[1:]

    def step(state: tuple[CylinderInBoxFrame, Any, Any, Vec3, Vec3]) -> tuple[CylinderInBoxFrame, Any, Any, Vec3, Vec3]:
        # a second arc is rare: an iteration computes the arcs anew, so that they are not stored in memory
        cylinder, index, depth, n, out = state
        arcs = _all_arcs(cylinder, edges)
        index, depth, n, out = _with_next_arc(cylinder, arcs, index, depth, n, out, True)
        following = _following(arcs, index, depth, True)[0]
        return cylinder, where(lt(following, count - 0.5), index, count), depth, n, out

    count = float(_ARCS * len(edges))
    state = (cylinder, where(going, -1.0, count), depth, n, out)
    return while_loop(lambda s: lt(s[1], count - 0.5), step, state, max_iterations=int(count)).state[2:]  # type: ignore[no-any-return]


def _with_next_arc(
    cylinder: CylinderInBoxFrame, arcs: Sequence[_Arc], index: Any, depth: Any, n: Vec3, out: Vec3, going: Any
) -> tuple[Any, Any, Vec3, Vec3]:
    """Return (index, h, n, out) after the next arc of directions in which the overlap h may be below ``depth``.

    n and ``out`` are those of the least h so far; ``out`` is the radial direction from the axis to the rim.
    """
    index, arc = _following(arcs, index, depth, going)
    m, radial = _root(arc, lt(index, len(arcs) - 0.5))
    h = cylinder.height(m)
    less = and_(lt(index, len(arcs) - 0.5), lt(h, depth))
    return index, where(less, h, depth), choose(less, m, n), choose(less, radial, out)


def _following(arcs: Sequence[_Arc], index: Any, depth: Any, going: Any) -> tuple[Any, _Arc]:
    """Return (index, arc) of the next arc of directions in which the overlap h may be below ``depth``.

    The index is len(arcs) if there is none.
    """
    limit = where(lt(0.0, depth), depth * depth, 0.0)
    result, following = arcs[-1], float(len(arcs)) + 0.0 * depth
    for k, arc in reversed(list(enumerate(arcs))):
        possible = and_(lt(arc.key, limit * arc.square), going)
        possible = possible if index is None else and_(possible, lt(index, float(k)))
        result, following = _chosen(possible, arc, result), where(possible, float(k), following)
    return following, result


def _all_arcs(cylinder: CylinderInBoxFrame, edges: Sequence[int]) -> list[_Arc]:
    return [arc for i in edges for arc in (_arcs(cylinder, i) if len(edges) > 1 else _single(cylinder, i))]


def _chosen(condition: Any, a: _Arc, b: _Arc) -> _Arc:
    """Return the arc a where the condition is true, else b; its fields ``key`` and ``square`` are always those of a."""
    q1, q2, kappa, bent, z = (where(condition, x, y) for x, y in zip(a[:5], b[:5], strict=True))
    v1, v2, e = (choose(condition, x, y) for x, y in zip(a[5:8], b[5:8], strict=True))
    return _Arc(q1, q2, kappa, bent, z, v1, v2, e, a.key, a.square)


def along_axis(cylinder: CylinderInBoxFrame) -> tuple[Vec3, Vec3]:
    """Return the normal, orthogonal to z, at which a rim is nearest to, or deepest in, a body of revolution.

    The body's axis is z. The second result is the radial direction from the cylinder's axis to the rim.
    """
    arc = _single(cylinder, 2)[0]
    return _root(arc, lt(arc.key, by_type(0.5 * _NEVER)))


def _root(arc: _Arc, going: Any) -> tuple[Vec3, Vec3]:
    """Return the direction in an arc at which the overlap h is minimal, and the radial direction to the rim there.

    It is where E, which has the sign of the derivative of h, becomes positive; see the module's docstring.
    """
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
    has_length = lt(TINY, n.dot(n))
    return choose(has_length, unit(n), arc.v1), choose(has_length, unit(out), arc.e)


def _nearer(z: Any, q2: Any, bent: Any, slope: Any) -> Any:
    """Return z = 1/cos φ after one Newton step toward a minimum of the overlap h.

    φ is the eccentric angle of the rim's projection, an ellipse.
    """
    x, y = slope * z + bent, q2 * z
    square = x * x + y * y
    rise = x * x * x + slope * (q2 * q2) * (z * z * z)
    rises = lt(0.0, rise)
    further = where(rises, square * (sqrt(square) - z * x), 0.0) / where(rises, rise, 1.0)
    return fmin(fmax(z + further, 1.0), _STEEP)


class _Projection(NamedTuple):
    """Projection of a cylinder along an edge, with axes whose signs make p₁ and p₂ non-negative."""

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
    flipped: Any  # True if the sign of one axis is changed
    rounding: Any  # of products of two lengths


def _projection(cylinder: CylinderInBoxFrame, i: int) -> _Projection:
    j, k = (i + 1) % 3, (i + 2) % 3
    a, c, sine = tuple(cylinder.axis), tuple(cylinder.center), cylinder.sines[i]
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
        offset = fabs(a[i]) * along - (sign if index == i else 0.0)
        e1.append(where(upright, (b - along * sine) * scale, offset * inverse) * s1)
    near = fabs(p1), fabs(p2), fmax(fabs(a[i]), _LEAST), cylinder.radius * (sine * sine), cylinder.half * sine
    far = (
        cylinder.center.dot(cylinder.center)
        + cylinder.box.dot(cylinder.box)
        + cylinder.radius * cylinder.radius
        + cylinder.half * cylinder.half
    )
    return _Projection(j, k, x, y, *near, Vec3(*v1), Vec3(*v2), Vec3(*e1), lt(s1 * s2, 0.0), _ROUNDING * far)


def _arc(
    view: _Projection,
    cylinder: CylinderInBoxFrame,
    q: tuple[Any, Any],
    m: tuple[Any, Any, Any],
    begins: bool,
    v: tuple[Vec3, Vec3, Vec3],
) -> _Arc:
    """Return the arc between b₁ and a direction m if ``begins``, else the arc between m and b₂.

    m is (m₁, m₂, ρ): a direction in the quadrant of v₁ and v₂, and the extent ρ of the ellipse along it.
    """
    q1, q2 = q
    kappa, bent, r = view.kappa, view.bent, cylinder.radius
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
        z = fmax(rho / fmax(cubes, by_type(1.0 / _STEEP)), 1.0)
    above = lt(0.0, q1)
    slope = kappa * q1
    z = fmax(z, where(above, q2 - bent, 0.0) / where(above, fmax(slope, TINY), 1.0))
    across = start[0] * end[1] - start[1] * end[0]
    chord = (end[0] - start[0], end[1] - start[1])
    square = chord[0] * chord[0] + chord[1] * chord[1]
    key = _key(across - view.rounding, square)
    if begins:  # of the ends of an arc with a second extremum, b₁ is not evaluated otherwise
        key = where(lt(q1, 0.0), fmin(key, start[0] * start[0] * square), key)
    key = where(or_(simple, double), key, _NEVER)
    return _Arc(q1, q2, kappa, bent, fmin(z, _STEEP), *v, key, square)


def _key(across: Any, square: Any) -> Any:
    """Return c |c| for the cross product c = ``across`` of the ends of an arc's chord.

    It is −1 for a chord without length, since the sign of c is then a rounding error. ``square`` is the squared length
    of the chord.
    """
    return where(lt(TINY, square), across * fabs(across), -1.0)


def _arcs(cylinder: CylinderInBoxFrame, i: int) -> list[_Arc]:
    view = _projection(cylinder, i)
    h = tuple(cylinder.box)
    x, y = fabs(view.x), fabs(view.y)
    # the rectangle's axes e, in the first quadrant, and f, rotated by 90°, and its half sides along them
    crossed = lt(view.x * view.y, 0.0)
    first = or_(and_(crossed, not_(view.flipped)), and_(lt(0.0, view.x * view.y), view.flipped))
    ex, ey = where(first, x, y), where(first, y, x)
    along_e, along_f = where(first, h[view.j], h[view.k]), where(first, h[view.k], h[view.j])
    squeezed = view.kappa * view.kappa
    e = ex, ey, sqrt(fmax(squeezed * ex * ex + ey * ey, _THIN))
    f = ey, ex, sqrt(fmax(squeezed * ey * ey + ex * ex, _THIN))
    shift, v1, v2, e1 = view.shift, view.v1, view.v2, view.e
    wide, thin = along_e * ex + along_f * ey, along_e * ex - along_f * ey
    tall, low = along_e * ey + along_f * ex, along_e * ey - along_f * ex
    up, down = view.p2 - tall, view.p2 - low
    falls = lt(down, 0.0)
    m = where(falls, f[0], e[0]), where(falls, f[1], e[1]), where(falls, f[2], e[2])
    return [
        _arc(view, cylinder, (view.p1 - wide - shift, fabs(down)), m, True, (v1, choose(falls, -v2, v2), e1)),
        _arc(view, cylinder, (view.p1 - thin - shift, up), e, False, (v1, v2, e1)),
        _arc(view, cylinder, (thin - shift - view.p1, up), f, False, (-v1, v2, -e1)),
        _arc(view, cylinder, (-view.p1 - wide - shift, view.p2 + low), f, True, (-v1, v2, -e1)),
    ]


def _single(cylinder: CylinderInBoxFrame, i: int) -> list[_Arc]:
    """Return a list of one arc for a segment and a rim: by symmetry, one quadrant of normals is enough."""
    view = _projection(cylinder, i)
    q1, q2 = view.p1 - view.shift, view.p2
    low = view.kappa * fabs(q1)
    inside = lt(low * low + q2 * q2 + 6.0 * (low * q2), view.bent * view.bent)
    exists = or_(le(0.0, q1), inside)
    above = lt(0.0, q1)
    z = where(above, q2 - view.bent, 0.0) / where(above, fmax(view.kappa * q1, TINY), 1.0)
    z = fmin(fmax(z, 1.0), _STEEP)
    r = cylinder.radius
    x, y = r * view.kappa - q1, r - q2
    across = x * y - q1 * q2
    square = r * r * (1.0 + view.kappa * view.kappa)
    key = _key(across - view.rounding, square)
    key = where(exists, where(lt(q1, 0.0), fmin(key, x * x * square), key), _NEVER)
    return [_Arc(q1, q2, view.kappa, view.bent, z, view.v1, view.v2, view.e, key, square)]
