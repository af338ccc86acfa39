"""The normal between two bodies to rounding, by Newton's method on directions, from the features in contact.

g(n) = −h(n), the distance that planes across n keep between the bodies, is greatest at the normal, where they are
apart and, among normals near by, where they overlap.  Near the normal, with points that the nearest one lies between,
each body is one of these (`feature`):

- curved: its farthest point c(n) moves with n, with derivative J(n), which is symmetric, and J n = 0;
- flat along a line, so that q · n = s holds of the normal: an edge, the side of a cylinder (q the axis, s = 0) or of a
  cone (q the axis, s the sine of the slant);
- flat: an end or a face, whose normal is known.

With r(n) = c_B(−n) − c_A(n), the normal satisfies

    r = λ n + μ q + μ' q',   n · n = 1,   and the rows q · n = s that hold.

Two rows leave the normal no freedom, with one it moves on a circle, and with none on the sphere: there a step is that
of Newton's method for the Lagrangian, whose second derivative is −(J_A + J_B) − λ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import BoxCore, ConeCore, CylinderCore, EllipsoidCore, PolytopeCore, SegmentCore
from linkwork.geometry.pairs.convex.gjk_simplex import Kept
from linkwork.geometry.pairs.convex.minkowski_difference import Difference, length_of, unit_of
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import Vec3

__all__ = ["CURVED", "absolute", "ascent", "polished"]


_STEPS = 12
_FAR = 0.3  # [rad] no step is longer
_ENOUGH = 1e-16  # [rad²] of a step after which none is needed
_ROUNDING = 1e-14  # of sizes
_LEVEL = 1e-15  # of sizes: slopes that are rounding, as in level valleys
_PARALLEL = 1e-16  # sin² of the angle of lines that are parallel


def polished(difference: Difference, s: Kept, n: Vec3, lined: Any = False) -> tuple[Any, Vec3, Vec3, Any]:
    """The signed distance, the normal and the point on A, near a normal n from A to B and a simplex there.

    And whether the normal is what the equations ask for: else the simplex tells the wrong parts of the bodies, and with
    ``lined`` sides count where n is almost theirs, and a face counts where the normals of an edge of it end.
    """
    b = tuple(a - p for a, p in zip(s.a, s.p, strict=True))
    square = s.a[0].dot(s.a[0]) + s.p[0].dot(s.p[0])
    on_a = feature(difference.a, s.a, s.weights, n, square, lined)
    on_b = feature(difference.b, b, s.weights, -n, square, lined)
    rows = _Rows(on_a, on_b)
    m, square = while_loop(
        lambda state: lt(_ENOUGH, state[1]), lambda state: _step(rows, state[0]), (rows.restored(n), 1.0 + 0.0 * n.x),
        max_iterations=_STEPS,
    ).state  # fmt: skip
    m = unit_of(m)  # beside lines that are all but parallel its length is off 1
    best, g = n, difference.kept(n)
    result = difference.kept(m)
    size = sqrt(length_of(rows.a.at(m)[0]) + length_of(rows.b.at(-m)[0]))
    better = le(g, result + _ROUNDING * size)  # what else is better than a solution is rounding
    best, g = choose(better, m, best), where(better, result, g)
    settled = and_(better, le(square, _ENOUGH))
    flat_a = flat_b = lt(1.0, 0.0 * g)
    for which, holds, candidate in ((0, on_a.end, on_a.normal), (1, on_b.end, -on_b.normal)):
        result = difference.kept(candidate)
        better = and_(holds, le(g, result + _ROUNDING * size))
        best, g = choose(better, candidate, best), where(better, result, g)
        flat_a, flat_b = (better, flat_b) if which == 0 else (flat_a, better)
        settled = or_(settled, better)
    if lined is not False:
        for core, shown, sign in ((difference.a, on_a, 1.0), (difference.b, on_b, -1.0)):
            if isinstance(core, (BoxCore, PolytopeCore)):
                candidate = _beside(core, shown, m * sign, n * sign) * sign
                result = difference.kept(candidate)
                better = and_(and_(shown.line, not_(settled)), lt(g + _ROUNDING * size, result))
                best, g = choose(better, candidate, best), where(better, result, g)
    return g, best, _point(rows, s, best, g, flat_a, flat_b), settled


def _beside(core: Any, edge: CoreFeature, m: Vec3, n: Vec3) -> Vec3:
    """Return the normal next to n of the face that an edge has in common with the farthest point along m."""
    normal = edge.q.cross(support(core, m) - edge.at(n)[0])
    known = lt(1e-300, normal.dot(normal))
    return choose(known, unit_of(choose(lt(normal.dot(n), 0.0), -normal, normal)), n)


class _Rows:
    """What holds of the normal between two features."""

    def __init__(self, a: CoreFeature, b: CoreFeature) -> None:
        self.a, self.b = a, b
        across = a.q.cross(b.q)
        both = and_(and_(a.line, b.line), lt(_PARALLEL, across.dot(across)))
        self.both, self.across = both, across
        self.one = and_(or_(a.line, b.line), not_(both))
        self.q = choose(a.line, a.q, b.q)
        self.s = where(a.line, a.s, -b.s)
        self.last = -b.s

    def restored(self, n: Vec3) -> Vec3:
        """The nearest direction that obeys the rows."""
        n = n * (1.0 / sqrt(length_of(n)))
        q, s = self.q, self.s
        free = n - q * q.dot(n)
        ring = q * s + free * (sqrt(fmax(1.0 - s * s, 0.0)) / sqrt(length_of(free)))
        p, cos = self.b.q, self.q.dot(self.b.q)
        sin = length_of(self.across)
        x, y = (s - cos * self.last) / sin, (self.last - cos * s) / sin
        flat = q * x + p * y
        up = sqrt(fmax(1.0 - flat.dot(flat), 0.0) / sin)
        corner = flat + self.across * where(lt(self.across.dot(n), 0.0), -up, up)
        return choose(self.both, corner, choose(self.one, ring, n))


def _step(rows: _Rows, n: Vec3) -> tuple[Vec3, Any]:
    """A step of Newton's method, and its square."""
    at_a, bent_a = rows.a.at(n)
    at_b, bent_b = rows.b.at(-n)
    r = at_b - at_a
    q = choose(rows.one, rows.q, choose(lt(n.x * n.x, 0.5), Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)))
    t = q.cross(n)
    t = t * (1.0 / sqrt(length_of(t)))
    u = n.cross(t)
    s = where(rows.one, rows.s, 0.0)
    scale = 1.0 / where(lt(s * s, 1.0 - 1e-12), 1.0 - s * s, 1.0)
    force = where(rows.one, (r.dot(n) - s * r.dot(q)) * scale, r.dot(n))  # λ
    tt = bent_a(t, t) + bent_b(t, t) + force
    tu = where(rows.one, 0.0, bent_a(t, u) + bent_b(t, u))
    uu = where(rows.one, 1.0, bent_a(u, u) + bent_b(u, u) + force)
    x, y = r.dot(t), where(rows.one, 0.0, r.dot(u))
    level = _LEVEL * sum(fabs(c) for c in (*at_a, *at_b))
    x, y = (where(lt(level, fabs(slope)), slope, 0.0) for slope in (x, y))  # no step is rounding over rounding
    a, b, short, _ = ascent(tt, tu, uu, x, y)
    a, b = where(rows.both, 0.0, a * short), where(rows.both, 0.0, b * short)
    return rows.restored(n + t * a + u * b), a * a + b * b


def ascent(tt: Any, tu: Any, uu: Any, x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Newton's step (a, b) upward, by the negative Hessian and the slopes x and y; by how much it is to be shortened,
    and its square.
    """
    tt, tu, uu = absolute(tt, tu, uu)
    det = tt * uu - tu * tu
    known = lt(1e-300, det)
    scale = where(known, 1.0, 0.0) / where(known, det, 1.0)
    a, b = (uu * x - tu * y) * scale, (tt * y - tu * x) * scale
    square = a * a + b * b
    return a, b, fmin(1.0, _FAR / sqrt(where(lt(0.0, square), square, 1.0))), square


def absolute(tt: Any, tu: Any, uu: Any) -> tuple[Any, Any, Any]:
    """The symmetric matrix with the absolute eigenvalues: where g is not concave, a step goes up all the same.

    √(M²) = (M² + |det M| 1)/√(tr M² + 2 |det M|).
    """
    det = fabs(tt * uu - tu * tu)
    p, q, r = tt * tt + tu * tu + det, tu * (tt + uu), uu * uu + tu * tu + det
    trace = p + r
    known = lt(1e-300, trace)
    scale = where(known, 1.0, 0.0) / sqrt(where(known, trace, 1.0))
    return p * scale, q * scale, r * scale


def _point(rows: _Rows, s: Kept, n: Vec3, g: Any, flat_a: Any, flat_b: Any) -> Vec3:
    """The point on A."""
    a, b = rows.a, rows.b
    at_a, at_b = a.at(n)[0], b.at(-n)[0]
    one_a, one_b = not_(or_(a.line, flat_a)), not_(or_(b.line, flat_b))
    along, other = a.along(n), b.along(-n)
    across = n.cross(other)
    slope = along.dot(across)
    known = lt(1e-16, slope * slope)
    crossing = and_(and_(a.line, b.line), and_(known, not_(or_(flat_a, flat_b))))
    there = at_a + along * ((at_b - at_a).dot(across) / where(known, slope, 1.0))
    # both are flat, and one line may lie along the other or in a face: between the ends that were found
    mean = s.a[0] * s.weights[0] + s.a[1] * s.weights[1] + s.a[2] * s.weights[2]
    v = s.p[0] * s.weights[0] + s.p[1] * s.weights[1] + s.p[2] * s.weights[2]
    on_line = at_a + along * along.dot(mean - at_a)
    other_line = at_b + other * other.dot(mean - v - at_b) - n * g
    flat = mean + n * n.dot(at_a - mean)
    mean = choose(and_(a.line, not_(flat_a)), on_line, choose(and_(b.line, not_(flat_b)), other_line, flat))
    return choose(one_a, at_a, choose(one_b, at_b - n * g, choose(crossing, there, mean)))


CURVED = (CylinderCore, ConeCore, EllipsoidCore)
_SAME = 1e-18  # squares of distances of points that are one, to that of the size
_ALMOST = 1e-3  # sines of angles between a normal and that of a side
_END = 1e-5  # sines of angles to an end's normal below which the end is considered


@dataclass(frozen=True)
class CoreFeature:
    """What a body is near a point; directions are as the normals that point out of it."""

    at: Callable[[Vec3], tuple[Vec3, Callable[[Vec3, Vec3], Any]]]  # n to c(n) and (t, u) to t · J u
    line: Any  # whether it is flat along a line
    q: Vec3
    s: Any
    along: Callable[[Vec3], Vec3]  # n to the direction of the line
    end: Any  # whether it may be flat
    normal: Vec3  # of what is flat


def feature(
    core: Any, points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, square: Any, lined: Any = False
) -> CoreFeature:
    """Of a core near the mean of some of its farthest points, n being about normal.

    ``square`` is of the size that points have rounding of: points are one where they differ by next to nothing of it.
    ``lined``: where n is almost that of a side, it is the side that is touched, and points at its end tell nothing.
    """
    if isinstance(core, EllipsoidCore):
        return _ellipsoid(core)
    if isinstance(core, CylinderCore):
        return _cylinder(core, points, weights, n, lined)
    if isinstance(core, ConeCore):
        return _cone(core, points, weights, n, lined)
    if isinstance(core, SegmentCore):
        almost = and_(lined, lt(core.half.dot(n) * core.half.dot(n), _ALMOST * _ALMOST * core.half.dot(core.half)))
        return _segment(core, _corners(points, weights, n, square), almost)
    return _corners(points, weights, n, square)


def _none(t: Vec3, u: Vec3) -> Any:
    return 0.0


def _mean(points: tuple[Vec3, ...], weights: tuple[Any, ...]) -> Vec3:
    mean: Vec3 = points[0] * weights[0] + points[1] * weights[1] + points[2] * weights[2]
    return mean


def _ellipsoid(core: EllipsoidCore) -> CoreFeature:
    R, r = core.pose.rotation, core.radii

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        d = R.inv_act(n)
        scaled = Vec3(r.x * d.x, r.y * d.y, r.z * d.z)
        scale = 1.0 / sqrt(length_of(scaled))
        c: Vec3 = R @ Vec3(r.x * scaled.x * scale, r.y * scaled.y * scale, r.z * scaled.z * scale)

        def varied(t: Vec3, u: Vec3) -> Any:
            x, y = R.inv_act(t), R.inv_act(u)
            along = r.x * r.x * x.x * y.x + r.y * r.y * x.y * y.y + r.z * r.z * x.z * y.z
            return (along - c.dot(t) * c.dot(u)) * scale

        there: Vec3 = core.pose.translation + c
        return there, varied

    never = lt(r.x, -1.0)
    z = Vec3(0.0, 0.0, 1.0)
    return CoreFeature(at, never, z, 0.0, lambda n: z, never, z)


def _axis(core: Any) -> Vec3:
    axis: Vec3 = core.pose.rotation @ Vec3(0.0, 0.0, 1.0)
    return axis


def _round(axis: Vec3, n: Vec3, radius: Any) -> tuple[Vec3, Callable[[Vec3, Vec3], Any], Any]:
    """The farthest point of a disc across an axis from its center, how it varies, and the square of n across."""
    across = n - axis * axis.dot(n)
    square = across.dot(across)
    known = lt(1e-24, square)
    scale = where(known, 1.0, 0.0) / sqrt(where(known, square, 1.0))
    out = across * scale
    tangent = axis.cross(out)
    bent = radius * scale
    return out * radius, lambda t, u: bent * tangent.dot(t) * tangent.dot(u), square


def _ends(values: list[Any], weights: tuple[Any, ...]) -> tuple[Any, Any]:
    """Whether some of the values that count are above 0, and some not."""
    above = below = lt(1.0, 0.0 * weights[0])
    for value, weight in zip(values, weights, strict=True):
        counts = lt(0.0, weight)
        above = or_(above, and_(counts, lt(0.0, value)))
        below = or_(below, and_(counts, le(value, 0.0)))
    return above, below


def _cylinder(
    core: CylinderCore, points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, lined: Any
) -> CoreFeature:
    axis, center = _axis(core), core.pose.translation
    heights = [axis.dot(p - center) for p in points]
    above, below = _ends(heights, weights)
    almost = and_(lined, lt(fabs(axis.dot(n)), _ALMOST))
    side = and_(or_(and_(above, below), almost), lt(0.0, core.half))
    mean = heights[0] * weights[0] + heights[1] * weights[1] + heights[2] * weights[2]
    base = center + axis * where(side, mean, copysign(core.half, axis.dot(n)))

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        out, varied, _ = _round(axis, n, core.radius)
        return base + out, varied

    square = _round(axis, n, core.radius)[2]
    normal = axis * copysign(1.0, axis.dot(n))
    return CoreFeature(at, side, axis, 0.0, lambda n: axis, lt(square, _END * _END), normal)


def _cone(core: ConeCore, points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, lined: Any) -> CoreFeature:
    axis, center = _axis(core), core.pose.translation
    apex, rim = _ends([axis.dot(p - center) for p in points], weights)
    slant = sqrt(length_of(Vec3(core.radius, 2.0 * core.half, 0.0)))
    almost = and_(lined, lt(fabs(axis.dot(n) - core.radius / slant), _ALMOST))
    side = and_(or_(and_(apex, rim), almost), lt(0.0, core.half))
    pointed = apex  # there c is the apex

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        out, varied, _ = _round(axis, n, core.radius)
        c = choose(pointed, center + axis * core.half, center - axis * core.half + out)
        return c, lambda t, u: where(pointed, 0.0, varied(t, u))

    def along(n: Vec3) -> Vec3:
        return unit_of(_round(axis, n, core.radius)[0] - axis * (2.0 * core.half))

    square = _round(axis, n, core.radius)[2]
    end = and_(lt(square, _END * _END), lt(axis.dot(n), 0.0))
    return CoreFeature(at, side, axis, core.radius / slant, along, end, -axis)


def _segment(core: SegmentCore, shown: CoreFeature, almost: Any) -> CoreFeature:
    """All of it where that is almost so, else what its points show."""
    q = choose(almost, unit_of(core.half), shown.q)

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        return choose(almost, core.center, shown.at(n)[0]), _none

    return CoreFeature(at, or_(almost, shown.line), q, 0.0, lambda n: q, and_(shown.end, not_(almost)), shown.normal)


def _corners(points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, size: Any) -> CoreFeature:
    """A corner, an edge or a face, by how many of the points differ."""
    there = [lt(0.0, weight) for weight in weights]
    first = choose(there[0], points[0], choose(there[1], points[1], points[2]))
    e = [choose(known, p, first) - first for known, p in zip(there, points, strict=True)]
    squares = [x.dot(x) for x in e]
    longest = choose(lt(squares[0], squares[1]), e[1], e[0])
    longest = choose(lt(longest.dot(longest), squares[2]), e[2], longest)
    square = longest.dot(longest)
    line = lt(_SAME * size, square)
    q = unit_of(longest)
    across, most = e[0].cross(longest), 0.0 * square
    for x in e:
        n3 = x.cross(longest)
        larger = lt(most, n3.dot(n3))
        across, most = choose(larger, n3, across), where(larger, n3.dot(n3), most)
    face = and_(line, lt(1e-20 * square * square, most))
    normal = unit_of(across)
    normal = choose(lt(normal.dot(n), 0.0), -normal, normal)
    mean = _mean(points, weights)
    return CoreFeature(lambda n: (mean, _none), and_(line, not_(face)), q, 0.0, lambda n: q, face, normal)
