"""The normal of two bodies to rounding, by Newton's method on directions, from the features in contact.

g(n) = −h(n), the signed gap of the supporting planes orthogonal to n, is maximal at the normal: globally for separate
bodies, locally for overlapping ones.  Near the normal, the simplex of the nearest point identifies each body's feature
(`feature`):

- curved: the support point c(n) depends on n, with the symmetric derivative J(n), J n = 0;
- flat along a line, so that the normal satisfies q · n = s: an edge, the side of a cylinder (q the axis, s = 0) or of a
  cone (q the axis, s the sine of the slant);
- flat: an end or a face, whose normal is known.

With r(n) = c_B(−n) − c_A(n), the normal satisfies

    r = λ n + μ q + μ' q',   n · n = 1,   and the constraints q · n = s of the features.

With two constraints the normal has no freedom, with one it moves on a circle, and with none on the sphere.  There a
step is that of Newton's method for the Lagrangian, whose second derivative is −(J_A + J_B) − λ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import BoxCore, ConeCore, CylinderCore, EllipsoidCore, PolytopeCore, SegmentCore
from linkwork.geometry.pairs.convex.minkowski_difference import Difference, WeightedPoints, safe_square, unit_of
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import TINY, choose
from linkwork.spatial import Vec3

__all__ = ["CURVED", "absolute", "ascent", "refine"]


_STEPS = 12
_FAR = 0.3  # [rad] longest step
_CONVERGED = by_type(1e-16)  # [rad²] square of the last step
_ROUNDING = by_type(1e-14)  # relative to sizes
_LEVEL = by_type(1e-15)  # gradient relative to sizes that is a rounding error, as in level valleys
_NEARLY_ONE = by_type(1e-12)  # 1 − cosine² below which directions are equal
_SHORT = by_type(1e-24)  # squared sine of a direction without a rim point
_COLLINEAR = by_type(1e-20)  # sin² of the angle of collinear lines
_PARALLEL = by_type(1e-16)  # sin² of the angle below which lines are parallel


def refine(difference: Difference, s: WeightedPoints, n: Vec3, lined: Any = False) -> tuple[Any, Vec3, Vec3, Any]:
    """Return (distance, normal, point of A, settled) from an initial normal n from A to B and a simplex.

    ``settled`` is True if the normal satisfies the equations of the features near the simplex; otherwise the simplex
    gives wrong features. With ``lined``, the side of a cylinder or cone is a feature also if n is only almost
    orthogonal to it, and faces next to an edge are tried.
    """
    b = tuple(a - p for a, p in zip(s.a, s.p, strict=True))
    square = s.a[0].dot(s.a[0]) + s.p[0].dot(s.p[0])
    on_a = feature(difference.a, s.a, s.weights, n, square, lined)
    on_b = feature(difference.b, b, s.weights, -n, square, lined)
    constraints = _Constraints(on_a, on_b)
    start = constraints.project(n), 1.0 + 0.0 * n.x
    m, square = while_loop(
        lambda state: lt(_CONVERGED, state[1]), lambda state: _step(constraints, state[0]), start, max_iterations=_STEPS
    ).state
    m = unit_of(m)  # for almost parallel lines its length is not 1
    best, g = n, difference.gap(n)
    result = difference.gap(m)
    size = sqrt(safe_square(constraints.a.at(m)[0]) + safe_square(constraints.b.at(-m)[0]))
    better = le(g, result + _ROUNDING * size)  # a larger gap than that of a solution is a rounding error
    best, g = choose(better, m, best), where(better, result, g)
    settled = and_(better, le(square, _CONVERGED))
    flat_a = flat_b = lt(1.0, 0.0 * g)
    for index, holds, candidate in ((0, on_a.end, on_a.normal), (1, on_b.end, -on_b.normal)):
        result = difference.gap(candidate)
        better = and_(holds, le(g, result + _ROUNDING * size))
        best, g = choose(better, candidate, best), where(better, result, g)
        flat_a, flat_b = (better, flat_b) if index == 0 else (flat_a, better)
        settled = or_(settled, better)
    if lined is not False:
        for core, shape, sign in ((difference.a, on_a, 1.0), (difference.b, on_b, -1.0)):
            if isinstance(core, (BoxCore, PolytopeCore)):
                candidate = _adjacent_normal(core, shape, m * sign, n * sign) * sign
                result = difference.gap(candidate)
                better = and_(and_(shape.line, not_(settled)), lt(g + _ROUNDING * size, result))
                best, g = choose(better, candidate, best), where(better, result, g)
    return g, best, _point(constraints, s, best, g, flat_a, flat_b), settled


def _adjacent_normal(core: Any, edge: CoreFeature, m: Vec3, n: Vec3) -> Vec3:
    """Return the normal, on the side of n, of the face that contains an edge and the support point along m."""
    normal = edge.q.cross(support(core, m) - edge.at(n)[0])
    known = lt(TINY, normal.dot(normal))
    return choose(known, unit_of(choose(lt(normal.dot(n), 0.0), -normal, normal)), n)


class _Constraints:
    """Constraints q · n = s on the normal n by two features; each feature may be flat along a line."""

    def __init__(self, a: CoreFeature, b: CoreFeature) -> None:
        self.a, self.b = a, b
        across = a.q.cross(b.q)
        both = and_(and_(a.line, b.line), lt(_PARALLEL, across.dot(across)))
        self.both, self.across = both, across
        self.single = and_(or_(a.line, b.line), not_(both))
        self.q = choose(a.line, a.q, b.q)
        self.s = where(a.line, a.s, -b.s)
        self.last = -b.s

    def project(self, n: Vec3) -> Vec3:
        """Return the nearest direction that satisfies the constraints."""
        n = n * (1.0 / sqrt(safe_square(n)))
        q, s = self.q, self.s
        free = n - q * q.dot(n)
        ring = q * s + free * (sqrt(fmax(1.0 - s * s, 0.0)) / sqrt(safe_square(free)))
        p, cos = self.b.q, self.q.dot(self.b.q)
        sin = safe_square(self.across)
        x, y = (s - cos * self.last) / sin, (self.last - cos * s) / sin
        flat = q * x + p * y
        up = sqrt(fmax(1.0 - flat.dot(flat), 0.0) / sin)
        corner = flat + self.across * where(lt(self.across.dot(n), 0.0), -up, up)
        return choose(self.both, corner, choose(self.single, ring, n))


def _step(constraints: _Constraints, n: Vec3) -> tuple[Vec3, Any]:
    """Return the normal after a step of Newton's method, and the step's square."""
    at_a, curvature_a = constraints.a.at(n)
    at_b, curvature_b = constraints.b.at(-n)
    r = at_b - at_a
    q = choose(constraints.single, constraints.q, choose(lt(n.x * n.x, 0.5), Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)))
    t = q.cross(n)
    t = t * (1.0 / sqrt(safe_square(t)))
    u = n.cross(t)
    s = where(constraints.single, constraints.s, 0.0)
    scale = 1.0 / where(lt(_NEARLY_ONE, 1.0 - s * s), 1.0 - s * s, 1.0)
    force = where(constraints.single, (r.dot(n) - s * r.dot(q)) * scale, r.dot(n))  # λ
    tt = curvature_a(t, t) + curvature_b(t, t) + force
    tu = where(constraints.single, 0.0, curvature_a(t, u) + curvature_b(t, u))
    uu = where(constraints.single, 1.0, curvature_a(u, u) + curvature_b(u, u) + force)
    x, y = r.dot(t), where(constraints.single, 0.0, r.dot(u))
    level = _LEVEL * sum(fabs(c) for c in (*at_a, *at_b))
    x, y = (where(lt(level, fabs(slope)), slope, 0.0) for slope in (x, y))  # avoids steps from rounding errors alone
    a, b, short, _ = ascent(tt, tu, uu, x, y)
    a, b = where(constraints.both, 0.0, a * short), where(constraints.both, 0.0, b * short)
    return constraints.project(n + t * a + u * b), a * a + b * b


def ascent(tt: Any, tu: Any, uu: Any, x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Return (a, b, factor, square): the Newton step (a, b) that ascends a function of two variables.

    [[tt, tu], [tu, uu]] is the negative Hessian and (x, y) the gradient. The factor, at most 1, limits the length of
    the step; ``square`` is a² + b².
    """
    tt, tu, uu = absolute(tt, tu, uu)
    det = tt * uu - tu * tu
    known = lt(TINY, det)
    scale = where(known, 1.0, 0.0) / where(known, det, 1.0)
    a, b = (uu * x - tu * y) * scale, (tt * y - tu * x) * scale
    square = a * a + b * b
    return a, b, fmin(1.0, _FAR / sqrt(where(lt(0.0, square), square, 1.0))), square


def absolute(tt: Any, tu: Any, uu: Any) -> tuple[Any, Any, Any]:
    """Return the elements (tt, tu, uu) of |M|, the symmetric 2 × 2 matrix M with absolute eigenvalues.

    With it steps ascend also where g is not concave.  |M| = √(M²) = (M² + |det M| 1)/√(tr M² + 2 |det M|).
    """
    det = fabs(tt * uu - tu * tu)
    p, q, r = tt * tt + tu * tu + det, tu * (tt + uu), uu * uu + tu * tu + det
    trace = p + r
    known = lt(TINY, trace)
    scale = where(known, 1.0, 0.0) / sqrt(where(known, trace, 1.0))
    return p * scale, q * scale, r * scale


def _point(constraints: _Constraints, s: WeightedPoints, n: Vec3, g: Any, flat_a: Any, flat_b: Any) -> Vec3:
    """Return the witness point on A."""
    a, b = constraints.a, constraints.b
    at_a, at_b = a.at(n)[0], b.at(-n)[0]
    one_a, one_b = not_(or_(a.line, flat_a)), not_(or_(b.line, flat_b))
    along, along_b = a.along(n), b.along(-n)
    across = n.cross(along_b)
    slope = along.dot(across)
    known = lt(_PARALLEL, slope * slope)
    crossing = and_(and_(a.line, b.line), and_(known, not_(or_(flat_a, flat_b))))
    crossing_point = at_a + along * ((at_b - at_a).dot(across) / where(known, slope, 1.0))
    # both are flat, and lines are parallel or in a face: the mean of the simplex, projected
    mean = s.a[0] * s.weights[0] + s.a[1] * s.weights[1] + s.a[2] * s.weights[2]
    v = s.p[0] * s.weights[0] + s.p[1] * s.weights[1] + s.p[2] * s.weights[2]
    on_line = at_a + along * along.dot(mean - at_a)
    other_line = at_b + along_b * along_b.dot(mean - v - at_b) - n * g
    flat = mean + n * n.dot(at_a - mean)
    mean = choose(and_(a.line, not_(flat_a)), on_line, choose(and_(b.line, not_(flat_b)), other_line, flat))
    return choose(one_a, at_a, choose(one_b, at_b - n * g, choose(crossing, crossing_point, mean)))


CURVED = (CylinderCore, ConeCore, EllipsoidCore)
_SAME = by_type(1e-18)  # square of the distance of equal points, relative to that of the size
_ALMOST = 1e-3  # sine of the angle between a normal and that of a side below which they are almost equal
_END = 1e-5  # sine of the angle to an end's normal below which the end is considered


@dataclass(frozen=True)
class CoreFeature:
    """Feature of a body's surface near a point: a curved region, a line such as an edge, or a flat face.

    The support point ``at`` and the direction ``along`` of a line are functions of the outward normal.
    """

    at: Callable[[Vec3], tuple[Vec3, Callable[[Vec3, Vec3], Any]]]  # n to c(n) and (t, u) to t · J u
    line: Any  # True if it is flat along a line
    q: Vec3
    s: Any
    along: Callable[[Vec3], Vec3]  # n to the direction of the line
    end: Any  # True if it may be flat
    normal: Vec3  # of the flat feature


def feature(
    core: Any, points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, square: Any, lined: Any = False
) -> CoreFeature:
    """Return the surface feature of a convex core, such as an edge or a face, near a mean of support points.

    The mean has these ``weights``. n is approximately the normal. Points are equal if their squared distance is a
    rounding error relative to ``square``. With ``lined``, the side of a cylinder, cone or segment is the feature if n
    is almost normal to it, also if all points are at one end of it.
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
        scale = 1.0 / sqrt(safe_square(scaled))
        c: Vec3 = R @ Vec3(r.x * scaled.x * scale, r.y * scaled.y * scale, r.z * scaled.z * scale)

        def derivative(t: Vec3, u: Vec3) -> Any:
            x, y = R.inv_act(t), R.inv_act(u)
            along = r.x * r.x * x.x * y.x + r.y * r.y * x.y * y.y + r.z * r.z * x.z * y.z
            return (along - c.dot(t) * c.dot(u)) * scale

        point: Vec3 = core.pose.translation + c
        return point, derivative

    never = lt(r.x, -1.0)
    z = Vec3(0.0, 0.0, 1.0)
    return CoreFeature(at, never, z, 0.0, lambda n: z, never, z)


def _axis(core: Any) -> Vec3:
    axis: Vec3 = core.pose.rotation @ Vec3(0.0, 0.0, 1.0)
    return axis


def _round(axis: Vec3, n: Vec3, radius: Any) -> tuple[Vec3, Callable[[Vec3, Vec3], Any], Any]:
    """Return a disc's support point from its center, its derivative, and the square of n's component in its plane."""
    across = n - axis * axis.dot(n)
    square = across.dot(across)
    known = lt(_SHORT, square)
    scale = where(known, 1.0, 0.0) / sqrt(where(known, square, 1.0))
    out = across * scale
    tangent = axis.cross(out)
    curvature = radius * scale
    return out * radius, lambda t, u: curvature * tangent.dot(t) * tangent.dot(u), square


def _ends(values: list[Any], weights: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return (above, below): True if any value with a positive weight is positive, and if any is not."""
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
        out, derivative, _ = _round(axis, n, core.radius)
        return base + out, derivative

    square = _round(axis, n, core.radius)[2]
    normal = axis * copysign(1.0, axis.dot(n))
    return CoreFeature(at, side, axis, 0.0, lambda n: axis, lt(square, _END * _END), normal)


def _cone(core: ConeCore, points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, lined: Any) -> CoreFeature:
    axis, center = _axis(core), core.pose.translation
    apex, rim = _ends([axis.dot(p - center) for p in points], weights)
    slant = sqrt(safe_square(Vec3(core.radius, 2.0 * core.half, 0.0)))
    almost = and_(lined, lt(fabs(axis.dot(n) - core.radius / slant), _ALMOST))
    side = and_(or_(and_(apex, rim), almost), lt(0.0, core.half))
    pointed = apex  # c is the apex

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        out, derivative, _ = _round(axis, n, core.radius)
        c = choose(pointed, center + axis * core.half, center - axis * core.half + out)
        return c, lambda t, u: where(pointed, 0.0, derivative(t, u))

    def along(n: Vec3) -> Vec3:
        return unit_of(_round(axis, n, core.radius)[0] - axis * (2.0 * core.half))

    square = _round(axis, n, core.radius)[2]
    end = and_(lt(square, _END * _END), lt(axis.dot(n), 0.0))
    return CoreFeature(at, side, axis, core.radius / slant, along, end, -axis)


def _segment(core: SegmentCore, shape: CoreFeature, almost: Any) -> CoreFeature:
    """Return the whole segment as a line if n is almost orthogonal to it, else the feature of its points."""
    q = choose(almost, unit_of(core.half), shape.q)

    def at(n: Vec3) -> tuple[Vec3, Callable[[Vec3, Vec3], Any]]:
        return choose(almost, core.center, shape.at(n)[0]), _none

    return CoreFeature(at, or_(almost, shape.line), q, 0.0, lambda n: q, and_(shape.end, not_(almost)), shape.normal)


def _corners(points: tuple[Vec3, ...], weights: tuple[Any, ...], n: Vec3, size: Any) -> CoreFeature:
    """Return a vertex, an edge or a face, by the number of different points."""
    in_use = [lt(0.0, weight) for weight in weights]
    first = choose(in_use[0], points[0], choose(in_use[1], points[1], points[2]))
    e = [choose(known, p, first) - first for known, p in zip(in_use, points, strict=True)]
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
    face = and_(line, lt(_COLLINEAR * square * square, most))
    normal = unit_of(across)
    normal = choose(lt(normal.dot(n), 0.0), -normal, normal)
    mean = _mean(points, weights)
    return CoreFeature(lambda n: (mean, _none), and_(line, not_(face)), q, 0.0, lambda n: q, face, normal)
