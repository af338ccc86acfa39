"""Signed distance of two cylinders, by the few directions in which their overlap can be extreme.

The overlap h(n) of bodies A and B along a unit vector n is the sum of their extents along n, minus the distance of the
centers along n. The Minkowski difference A − B is the sum of two segments (the axes) and two discs. Unless these are
parallel, its surface is smooth everywhere:

- flat where n is parallel to an axis, or orthogonal to both;
- where the side of one touches a rim of the other: n is orthogonal to the first axis, along which the other projects to
  a swept ellipse, as in `edge_rim_extremes.py`;
- where two rims touch: n is arbitrary, and is the result of Newton's method on the sphere.

−h(n) is extreme at one of these. Separate cylinders have one such direction, and it is recognised: the support points
along n are on both. So rims are evaluated only if the best of the other candidates is not recognised. Overlaps may
have many. There Newton's method starts from four directions; it missed the minimum in 4 of 740 000 overlaps.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import cond
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
from linkwork.geometry.cores import CylinderCore, SegmentCore, SignedDistance
from linkwork.geometry.pairs.closed_form.cylinder_projections import (
    CylinderInBoxFrame,
    in_both,
    in_cylinder,
    is_tied,
    out_of_cylinder,
    tolerance,
)
from linkwork.geometry.pairs.closed_form.edge_rim_extremes import along_axis
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import nearest_of_segments
from linkwork.geometry.pairs.convex.newton_refinement import absolute
from linkwork.geometry.unit_vectors import FAR, SHORT, TINY, choose, length, unit
from linkwork.spatial import Pose, Vec3

__all__ = ["cylinder_cylinder"]

_LEVEL = by_type(1e-13)  # sine of the angle below which a direction is orthogonal or parallel to an axis
_SQUARE = by_type(_LEVEL * _LEVEL)
_FLAT = by_type(1e-16)  # sine of the angle below which axes have no common normal
_LEAST = by_type(1e-30)  # [m²] squared lengths below it have no direction
_STEPS = 12
_FEW = 6  # steps from each start for overlaps; the best result is refined
_LARGEST = 0.3  # [rad] maximum step
_ASIDE, _BESIDE = 0.2, 0.05  # offsets from a flat end, whose rim has no direction
_ENOUGH = by_type(1e-18)  # [rad²] squared step at which iterations end
_CLOSE = by_type(1e-12)  # [rad²] the same for the starts of overlaps
_METHODS = 3.0  # for rims, tried in turn
_PROVED = by_type(1e-14)  # relative to sizes: distance of the support points of a recognised normal
_PARALLEL = by_type(1e-9)  # 1 − cosine of equal directions
_ROUNDING = by_type(4e-15)
_END_A, _END_B, _CROSSED, _SIDE_A, _SIDE_B, _RIMS = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0  # kinds, in the order of `_known`
_Z = Vec3(0.0, 0.0, 1.0)


class _TwoCylinders(NamedTuple):
    """Two cylinders: B's center and axis in A's axes, and radii and half lengths of both."""

    c: Vec3
    a: Vec3
    ra: Any
    la: Any
    rb: Any
    lb: Any

    def height(self, n: Vec3) -> Any:
        """Return h(n), the sum of both extents along ±n minus the distance of the centers along n."""
        t, u = n.cross(_Z), n.cross(self.a)
        reach = self.la * fabs(n.z) + self.lb * fabs(n.dot(self.a)) + self.ra * length(t) + self.rb * length(u)
        return reach - fabs(n.dot(self.c))

    @property
    def size(self) -> Any:
        return self.ra + self.la + self.rb + self.lb

    @property
    def both(self) -> tuple[tuple[Vec3, Vec3, Any, Any], tuple[Vec3, Vec3, Any, Any]]:
        """Center, axis, radius and half length of A and of B."""
        return (Vec3.zero(), _Z, self.ra, self.la), (self.c, self.a, self.rb, self.lb)


def cylinder_cylinder(a: CylinderCore, b: CylinderCore) -> SignedDistance:
    """Compute the signed distance of two cylinders."""
    X = a.pose.inv() @ b.pose
    two = _TwoCylinders(X.translation, X.rotation @ _Z, a.radius, a.half, b.radius, b.half)
    known = _known(two, X)
    h, n, out_a, out_b = known[0]
    kind: Any = 0.0 * h
    for k, (height, m, s, t) in enumerate(known[1:], 1):
        less = lt(height, h)
        h, n, kind = where(less, height, h), choose(less, m, n), where(less, float(k), kind)
        out_a, out_b = choose(less, s, out_a), choose(less, t, out_b)
    sign = copysign(1.0, n.dot(two.c))
    best = _beside_ends(two, known, _BestDirection(h, n * sign, out_a * sign, out_b * sign, kind))
    best = _with_rims(two, best)
    h, n = best.h, best.n
    at = _touching(two, best)
    tie = cond(
        lt(0.0, h),
        lambda: is_tied([*((x, m) for x, m, *_ in known), *_images(two, n, known[2][1])], h, n, two.c, two.size),
        lambda: lt(1.0, 0.0 * h),
    )
    # next to a flat end of equal depth up to rounding, all points on the end are witnesses
    for height, m, *_ in known[:2]:
        across = n.cross(m)
        near = and_(lt(_SQUARE, across.dot(across)), lt(1.0 - fabs(n.dot(m)), _PARALLEL))
        tie = or_(tie, and_(near, le(height, h + _PROVED * two.size)))
    between, enough, of_a, of_b = n * -h, tolerance(n, two.size), *two.both
    out = or_(out_of_cylinder(at.on_a, *of_a, enough), out_of_cylinder(at.on_a + between, *of_b, enough))
    end = two.c - two.a * copysign(two.lb, n.dot(two.a))
    on_a = in_both(at.on_a, end, between, enough, out, lambda p: in_cylinder(p, *of_a), lambda p: in_cylinder(p, *of_b))
    normal, p = a.pose.rotation @ n, a.pose.point(on_a)
    return SignedDistance(-h, normal, p, p - normal * h, where(and_(at.is_unique, not_(tie)), 1.0, 0.0))


def _known(two: _TwoCylinders, X: Pose) -> list[tuple[Any, Vec3, Vec3, Vec3]]:
    """Return (h, n, out_a, out_b) of all candidate directions n except those of two rims.

    ``out_a`` and ``out_b`` are the radial directions from the axes of A and B to their support points along ±n.
    """
    a, c = two.a, two.c
    sine = length(Vec3(a.x, a.y, 0.0))
    cap = two.la + two.lb * fabs(a.z) + two.rb * sine - fabs(c.z)
    other_cap = two.lb + two.la * fabs(a.z) + two.ra * sine - fabs(c.dot(a))
    result = [(cap, _Z, Vec3.zero(), _Z - a * a.z), (other_cap, a, a - _Z * a.z, Vec3.zero())]
    crossed = lt(SHORT, sine)
    scale = where(crossed, 1.0, 0.0) / where(crossed, sine, 1.0)
    m = Vec3(-a.y * scale, a.x * scale, 0.0)
    result.append((where(crossed, two.ra + two.rb - fabs(m.dot(c)), FAR), m, m, m))
    b_in_a = CylinderInBoxFrame(c, a, two.rb, two.lb, Vec3.zero(), (1.0, 1.0, sine))
    R = X.rotation
    a_in_b = CylinderInBoxFrame(-R.inv_act(c), R.inv_act(_Z), two.ra, two.la, Vec3.zero(), (1.0, 1.0, sine))
    n, out = along_axis(b_in_a)
    result.append((two.height(n), n, n, out))
    n, out = along_axis(a_in_b)
    n, out = R @ n, R @ out
    result.append((two.height(n), n, out, n))
    return result


def _images(two: _TwoCylinders, n: Vec3, across: Vec3) -> list[tuple[Any, Vec3]]:
    """Return overlap and direction (h, n) of three mirror images of n.

    The mirrors are the planes orthogonal to each axis, and to ``across``, the common normal of the axes.
    """
    result = [n - axis * (2.0 * axis.dot(n)) for axis in (_Z, two.a, across)]
    return [(two.height(m), m) for m in result]


class _SupportPoints(NamedTuple):
    """Nearest support points of both bodies along n, and True if they are unique."""

    n: Vec3
    on_a: Vec3
    on_b: Vec3
    is_unique: Any

    def mismatch(self, h: Any) -> Vec3:
        """Return the vector to B's support point from A's, after A's is moved by −h n.

        It is zero if n is the normal of the bodies' contact and h their overlap along n.
        """
        result: Vec3 = self.on_b - self.on_a + self.n * h
        return result


def _touching(two: _TwoCylinders, best: _BestDirection) -> _SupportPoints:
    n, out_a, out_b = best.n, best.out_a, best.out_b
    along = n.dot(two.a)
    t, u = n.cross(_Z), n.cross(two.a)
    level = [or_(le(fabs(x), _LEVEL), exact) for x, exact in zip((n.z, along), best.levels(), strict=True)]
    flat = [or_(le(x.dot(x), _SQUARE), lt(fabs(best.kind - code), 0.5)) for x, code in ((t, _END_A), (u, _END_B))]
    ra, rb = (where(x, 0.0, r) for x, r in zip(flat, (two.ra, two.rb), strict=True))
    a = unit(out_a) * ra + _Z * where(level[0], 0.0, copysign(two.la, n.z))
    b = two.c - unit(out_b) * rb - two.a * where(level[1], 0.0, copysign(two.lb, along))
    side_a, side_b = _Z * where(level[0], two.la, 0.0), two.a * where(level[1], two.lb, 0.0)
    near = nearest_of_segments(SegmentCore(a, side_a), SegmentCore(b, side_b))
    p, q = a + side_a * near.s, b + side_b * near.t
    # all points of a flat end are support points
    q_end = _in_disc(p, b, two.a, two.rb)
    p_end = _in_disc(q, a, _Z, two.ra)
    q_end = choose(flat[0], _in_disc(p_end, b, two.a, two.rb), q_end)
    p, q = choose(flat[0], p_end, p), choose(flat[1], q_end, q)
    many = [or_(and_(x, lt(0.0, half)), and_(y, lt(0.0, r)))
            for x, y, half, r in zip(level, flat, (two.la, two.lb), (two.ra, two.rb), strict=True)]  # fmt: skip
    sine = two.a.x * two.a.x + two.a.y * two.a.y
    crossing = and_(and_(level[0], level[1]), lt(_FLAT, sine))
    return _SupportPoints(n, p, q, or_(crossing, not_(and_(many[0], many[1]))))


def _in_disc(p: Vec3, center: Vec3, axis: Vec3, radius: Any) -> Vec3:
    """Return the point of a disc nearest to a point."""
    away = p - center
    away = away - axis * axis.dot(away)
    far = length(away)
    nearest: Vec3 = center + away * (fmin(far, radius) / where(lt(0.0, far), far, 1.0))
    return nearest


class _BestDirection(NamedTuple):
    """Best direction so far of those that may have the least overlap of two cylinders A and B.

    n is a unit vector, and h is their overlap along n, as in `_TwoCylinders.height`; the least h is minus the signed
    distance. ``out_a`` and ``out_b`` are the radial directions from the axes of A and B to their points farthest along
    n.

    ``kind`` tells what touches along n: 0 a flat end of A, 1 a flat end of B, 2 both sides, 3 the side of A and a rim
    of B, 4 the side of B and a rim of A, 5 two rims.
    """

    h: Any
    n: Vec3
    out_a: Vec3
    out_b: Vec3
    kind: Any

    def levels(self) -> tuple[Any, Any]:
        """Return True for each axis that n is orthogonal to by construction."""
        crossed = lt(fabs(self.kind - _CROSSED), 0.5)
        return tuple(or_(crossed, lt(fabs(self.kind - code), 0.5)) for code in (_SIDE_A, _SIDE_B))

    def with_normal(self, two: _TwoCylinders, m: Vec3, rounding: Any = 0.0) -> _BestDirection:
        """Return the better of this direction and the direction m, which is preferred up to ``rounding`` [m]."""
        m = m * copysign(1.0, m.dot(two.c))
        h = two.height(m)
        less = and_(lt(h, self.h + rounding), lt(0.5, m.dot(m)))
        radial = m - _Z * m.z, m - two.a * m.dot(two.a)
        return _BestDirection(where(less, h, self.h), choose(less, m, self.n), choose(less, radial[0], self.out_a),
                     choose(less, radial[1], self.out_b), where(less, _RIMS, self.kind))  # fmt: skip


def _beside_ends(two: _TwoCylinders, known: list[tuple[Any, Vec3, Vec3, Vec3]], best: _BestDirection) -> _BestDirection:
    """Return the best of a candidate and the directions of two rims next to the flat ends, for overlapping cylinders.

    Next to a flat end two local minima of h may be close together, so a candidate that passes the test of `_with_rims`
    need not be the global minimum.
    """
    aligned = copysign(1.0, two.a.z)
    starts = []
    for index, (_, n, out_a, out_b) in enumerate(known[:2]):
        sign = copysign(1.0, n.dot(two.c))
        n = n * sign
        at = _touching(two, _BestDirection(0.0 * best.h, n, out_a * sign, out_b * sign, float(index) + 0.0 * best.h))
        to_b, to_a = at.on_b, at.on_a - two.c
        aside = Vec3(to_b.x, to_b.y, 0.0) if index == 0 else two.a * two.a.dot(to_a) - to_a
        starts.append((unit(n + unit(aside) * _BESIDE), copysign(1.0, n.z if index == 0 else n.dot(two.a))))

    (m, end_a), (n, end_b) = starts
    ends = _corner(two, end_a, end_a * aligned), _corner(two, end_b * aligned, end_b)
    facing = _corner(two, copysign(1.0, two.c.z), copysign(1.0, two.c.dot(two.a)))
    trials = ((m, ends[0]), (n, ends[1]), (unit(two.c), facing), (unit(facing), facing))
    going = where(lt(0.0, best.h), 1.0, 0.0)

    def step(state: tuple[Vec3, Vec3, Vec3, Vec3, Any]) -> tuple[Vec3, Vec3, Vec3, Vec3, Any]:
        result = [_rim_step(two, n, corner) for n, (_, corner) in zip(state[:4], trials, strict=True)]
        square: Any = reduce(fmax, (radius for _, radius in result), 0.0)
        w, x, y, z = (n for n, _ in result)
        return w, x, y, z, where(lt(_CLOSE, square), 1.0, 0.0)

    w, x, y, z = (n for n, _ in trials)
    last = while_loop(lambda s: lt(0.5, s[4]), step, (w, x, y, z, going), max_iterations=_FEW).state
    for n in last[:4]:
        best = best.with_normal(two, n)
    return best


def _with_rims(two: _TwoCylinders, first: _BestDirection) -> _BestDirection:
    """Return the best of a candidate and the directions of two rims near it.

    Several methods are tried in turn until the support points along the best direction are ``best.h`` apart along it,
    which proves it for separate cylinders.
    """
    at = _touching(two, first)
    to_b, to_a = at.on_b, at.on_a - two.c
    e, f = unit(Vec3(to_b.x, to_b.y, 0.0)), unit(to_a - two.a * two.a.dot(to_a))
    t, u = first.n.cross(_Z), first.n.cross(two.a)
    start = first.n + choose(lt(t.dot(t), 1e-4), e * _ASIDE, Vec3.zero())
    start = unit(start - choose(lt(u.dot(u), 1e-4), f * _ASIDE, Vec3.zero()))
    along = first.n.dot(two.a)
    level_a, level_b = first.levels()
    end_a = copysign(1.0, where(or_(level_a, lt(fabs(first.n.z), _LEVEL)), to_b.z, first.n.z))
    end_b = copysign(1.0, where(or_(level_b, lt(fabs(along), _LEVEL)), -to_a.dot(two.a), along))
    corner = _corner(two, end_a, end_b)

    def is_recognised(best: _BestDirection, at: _SupportPoints) -> Any:
        return le(length(at.mismatch(best.h)), _PROVED * two.size)

    def step(state: tuple[_BestDirection, Any]) -> tuple[_BestDirection, Any]:
        best, k = state
        m = choose(lt(k, 0.5), _on_sphere(two, start, corner, lt(k, 0.5)), _on_rims(two, e, f, corner, k))
        best = best.with_normal(two, m, _ROUNDING * two.size)
        at = _touching(two, best)
        return best, where(is_recognised(best, at), _METHODS, k + 1.0)

    begin = where(is_recognised(first, at), _METHODS, 0.0)
    best: _BestDirection = while_loop(
        lambda state: lt(state[1], _METHODS - 0.5), step, (first, begin), max_iterations=int(_METHODS)
    ).state[0]
    return best


def _corner(two: _TwoCylinders, end_a: Any, end_b: Any) -> Vec3:
    """Return the vector from the center of A's end disc to that of B's; ``end_a`` and ``end_b`` are 1 or −1."""
    result: Vec3 = two.c - _Z * (two.la * end_a) - two.a * (two.lb * end_b)
    return result


def _on_sphere(two: _TwoCylinders, n: Vec3, corner: Vec3, going: Any) -> Vec3:
    """Return the direction in which two rims touch, by Newton's method from n; ``corner`` leads from disc to disc."""

    def step(state: tuple[Vec3, Any]) -> tuple[Vec3, Any]:
        m, square = _rim_step(two, state[0], corner)
        return m, where(lt(_ENOUGH, square), 1.0, 0.0)

    start = n, where(going, 1.0, 0.0)
    result: Vec3 = while_loop(lambda state: lt(0.5, state[1]), step, start, max_iterations=_STEPS).state[0]
    return result


def _rim_step(two: _TwoCylinders, m: Vec3, corner: Vec3) -> tuple[Vec3, Any]:
    """Return the direction after a Newton step from m to a stationary overlap of two rims, and the step's square."""
    t, u = m.cross(_Z), m.cross(two.a)
    i, j = _inverse(t), _inverse(u)
    r = (m - _Z * m.z) * (two.ra * i) + (m - two.a * m.dot(two.a)) * (two.rb * j) - corner
    height = r.dot(m)
    t = t * i
    s = m.cross(t)
    x, y = u.dot(t) * j, u.dot(s) * j
    bent = two.rb * j
    tt, ts, ss = absolute(two.ra * i + bent * x * x - height, bent * x * y, bent * y * y - height)
    d, e, square, short = _newton(tt, ts, ss, r.dot(t), r.dot(s))
    return unit(m + (t * d + s * e) * short), square


def _on_rims(two: _TwoCylinders, e: Vec3, f: Vec3, corner: Vec3, k: Any) -> Vec3:
    """Return the normal of two rims; Newton's method starts from their points in directions e and f from the axes.

    This is well-conditioned next to a flat end, where the points change much more than the normal.  Half the squared
    distance of the points is minimised for k = 1, and made stationary for k = 2.
    """
    ra, rb = (where(lt(0.0, r), r, 1.0) for r in (two.ra, two.rb))

    def step(state: tuple[Vec3, Vec3, Any]) -> tuple[Vec3, Vec3, Any]:
        e, f, _ = state
        t, u = _Z.cross(e), two.a.cross(f)
        offset = corner + f * two.rb - e * two.ra
        tt, ts, ss = 1.0 + offset.dot(e) / ra, -t.dot(u), 1.0 - offset.dot(f) / rb
        least = absolute(tt, ts, ss)
        tt, ts, ss = (where(lt(1.5, k), x, y) for x, y in zip((tt, ts, ss), least, strict=True))
        x, y, _, _ = _newton(tt, ts, ss, -offset.dot(t), offset.dot(u))
        x, y = x / ra, y / rb
        square = x * x + y * y
        short = fmin(1.0, _LARGEST / sqrt(where(lt(0.0, square), square, 1.0)))
        return unit(e + t * (x * short)), unit(f + u * (y * short)), where(lt(_ENOUGH, square), 1.0, 0.0)

    start = e, f, where(lt(k, 0.5), 0.0, 1.0)
    e, f, _ = while_loop(lambda state: lt(0.5, state[2]), step, start, max_iterations=_STEPS).state
    return unit(_Z.cross(e).cross(two.a.cross(f)))


def _newton(tt: Any, ts: Any, ss: Any, g: Any, k: Any) -> tuple[Any, Any, Any, Any]:
    """Return (x, y, square, factor): a Newton step (x, y) for two variables, its square, and a factor that limits it.

    The Hessian is [[tt, ts], [ts, ss]], the gradient (g, k).  The factor is at most 1.  The step is 0 for a singular
    Hessian.
    """
    det = tt * ss - ts * ts
    regular = lt(TINY, fabs(det))
    scale = where(regular, 1.0, 0.0) / where(regular, det, 1.0)
    x, y = -(ss * g - ts * k) * scale, -(tt * k - ts * g) * scale
    square = x * x + y * y
    return x, y, square, fmin(1.0, _LARGEST / sqrt(where(lt(0.0, square), square, 1.0)))


def _inverse(v: Vec3) -> Any:
    square = v.dot(v)
    has_length = lt(_LEAST, square)
    return where(has_length, 1.0, 0.0) / sqrt(where(has_length, square, 1.0))
