"""Distance, normal and witness points of two bodies from the result of a search, with a proof of the points.

Newton's method makes the normal exact for the features that the search finds.  The witness points are accepted if both
are in their bodies (`outside`).  This proves the nearest points of separate bodies, and the contact of overlapping
bodies after they are separated by the depth.  Otherwise bodies are searched again.  For overlaps, a rival normal, whose
depth may be equal, is refined too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    SegmentCore,
)
from linkwork.geometry.pairs.convex.direction_branch_and_bound import direction, images
from linkwork.geometry.pairs.convex.minkowski_difference import (
    Difference,
    Moved,
    Simplex,
    WeightedPoints,
    nearest,
    safe_square,
)
from linkwork.geometry.pairs.convex.newton_refinement import refine
from linkwork.geometry.unit_vectors import TINY, choose, rounding
from linkwork.spatial import Vec3

__all__ = [
    "EXACT",
    "ROUNDING",
    "ROUNDS",
    "SAME",
    "Estimate",
    "check_images",
    "length",
    "prove_witnesses",
    "separate",
    "separation_of",
]


EXACT = 0.0  # relative gap between bounds on squares of distances at which searches end
ROUNDING = by_type(1e-14)  # relative to sizes
ROUNDS = 6  # of searches for the features in contact, as the normal improves
SAME = by_type(1e-9)  # 1 − the cosine of the angle below which directions are equal
_NEAR = by_type(1e-9)  # the gap for overlaps; wrong adjacent features may lead to another valley
_OUT = 1e-3  # relative to the size: distance to which overlapping bodies are separated
_OUT_ROUNDED = 1e-5  # the same, if the search continues to rounding: of the order of its squared error
_FEW = 1.5  # rounds after which searches continue to rounding
_OFF = by_type(1e-12)  # relative to the size: tolerance of points outside their bodies


class Estimate(NamedTuple):
    """Estimate of the signed distance of two bodies A and B, with its normal and the point of A nearest to B.

    ``simplex`` has the nearest features of both bodies, as points of A − B with weights. ``start`` is the normal from
    which the refinement by Newton's method starts. ``tied`` is 1 if another normal has the same distance. ``rival`` is
    a normal far from this one that may have the same distance, and ``contested`` is 1 if there is a rival.
    """

    simplex: WeightedPoints
    distance: Any
    normal: Vec3
    on_a: Vec3
    start: Vec3
    tied: Any
    rival: Vec3
    contested: Any


def prove_witnesses(difference: Difference, known: Estimate, overlaps: Any, scale: Any) -> Estimate:
    """Return the proved distance, normal and points of two bodies, one of which is curved.

    ``known`` is the result of a search. A round refines the normal with the features that the search finds, and is the
    last one if both points are in their bodies. For overlapping bodies, these are the features in contact after they
    are separated. A search that ends early may find wrong adjacent features, as on flush faces, so the next rounds
    search to rounding. The last round uses the search's own points, which are in the bodies.
    """

    def first() -> Estimate:
        g, n, on_a, _ = refine(difference, known.simplex, known.start)
        return known._replace(distance=g, normal=n, on_a=on_a)

    refined = cond(overlaps, lambda: known, first)
    open_ = or_(overlaps, not_(_is_valid(difference, refined, scale)))
    return cond(open_, lambda: _repeat(difference, known, overlaps, scale), lambda: refined)  # type: ignore[no-any-return]


class _Trial(NamedTuple):
    """State of the rounds of `prove_witnesses`.

    ``known`` is the estimate with the current normal, ``rounds`` the number of rounds from it. ``lined`` is 1 if the
    side of a cylinder or cone is a feature where the normal is almost orthogonal to it, ``second`` 1 if the current
    normal is the rival. ``distance``, ``normal``, ``on_a`` and ``tied`` are the results for the first normal. ``going``
    is 1 if another round follows.
    """

    known: Estimate
    lined: Any
    rounds: Any
    second: Any
    distance: Any
    normal: Vec3
    on_a: Vec3
    tied: Any
    going: Any


def _repeat(difference: Difference, known: Estimate, overlaps: Any, scale: Any) -> Estimate:
    """Return the estimate after the rounds of `prove_witnesses`.

    If bodies overlap and a rival normal exists, the estimate is that of the better normal.
    """
    zero = 0.0 * scale
    rounds = where(overlaps, 0.0, math.ceil(_FEW))
    start = _Trial(known, zero, rounds, zero, known.distance, known.normal, known.on_a, zero, 1.0 + zero)
    last: _Trial = while_loop(
        lambda x: lt(0.5, x.going), lambda x: _round(difference, x, overlaps, scale), start, max_iterations=2 * ROUNDS
    ).state
    known, level = last.known, ROUNDING * scale
    # the better of the two normals, which is tied if the other has the same distance
    two, worse = lt(0.5, last.second), le(known.distance, last.distance + level)
    equal = and_(le(last.distance - level, known.distance), lt(SAME, 1.0 - known.normal.dot(last.normal)))
    first = and_(two, worse)
    return known._replace(
        distance=where(first, last.distance, known.distance),
        normal=choose(first, last.normal, known.normal),
        on_a=choose(first, last.on_a, known.on_a),
        tied=where(and_(two, and_(worse, equal)), 1.0, where(first, last.tied, known.tied)),
    )


def _round(difference: Difference, trial: _Trial, overlaps: Any, scale: Any) -> _Trial:
    """Make a round of a trial; if it was the trial's last round and a rival exists, start the rival's rounds."""
    known, rounds, level = trial.known, trial.rounds, ROUNDING * scale
    few = lt(rounds, _FEW)
    separation = where(overlaps, where(few, _OUT, _OUT_ROUNDED) * scale, known.distance)
    known, far = separate(difference, known, separation, where(few, _NEAR, EXACT))
    g, n, on_a, settled = refine(difference, known.simplex, known.start, lt(0.5, trial.lined))
    better = or_(not_(overlaps), le(known.distance - level, g))
    result = known._replace(
        distance=where(better, g, known.distance), normal=choose(better, n, known.normal), on_a=on_a
    )
    valid = _is_valid(difference, result, scale)
    last = lt(ROUNDS - 1.5, rounds)
    # the points of a search belong to its own normal, and for overlaps to that along which bodies were separated
    raw = and_(not_(valid), last)
    result = result._replace(
        distance=where(raw, where(overlaps, known.distance, far), result.distance),
        normal=choose(raw, choose(overlaps, known.normal, known.start), result.normal),
        on_a=choose(raw, known.on_a, on_a),
        tied=where(raw, 1.0, result.tied),
    )
    done = or_(last, and_(valid, or_(not_(overlaps), settled)))
    rival = and_(and_(done, overlaps), and_(lt(trial.second, 0.5), lt(0.5, known.contested)))

    def contested() -> tuple[Estimate, Estimate]:
        image, better = check_images(difference, result, scale)
        n = choose(lt(0.5, better), image.normal, result.rival)
        return result._replace(tied=fmax(result.tied, image.tied)), result._replace(
            distance=difference.gap(n), normal=n, tied=0.0 * scale
        )

    result, following = cond(rival, contested, lambda: (result, result))
    return _Trial(
        following._replace(simplex=result.simplex),
        where(or_(settled, rival), 0.0, 1.0),
        where(rival, 0.0, rounds + 1.0),
        where(rival, 1.0, trial.second),
        where(rival, result.distance, trial.distance),
        choose(rival, result.normal, trial.normal),
        choose(rival, result.on_a, trial.on_a),
        where(rival, result.tied, trial.tied),
        where(or_(rival, not_(done)), 1.0, 0.0),
    )


def _is_valid(difference: Difference, result: Estimate, scale: Any) -> Any:
    """Return True if both witness points of an estimate are in their bodies, up to a tolerance."""
    return le(_off(difference, result), (_OFF + rounding(result.normal)) * scale)


def _off(difference: Difference, result: Estimate) -> Any:
    """Return the larger of the distances [m] by which the witness points of an estimate are outside their bodies."""
    simplex, on_a = result.simplex, result.on_a
    b = tuple(x - y for x, y in zip(simplex.a, simplex.p, strict=True))
    on_b = on_a + result.normal * result.distance
    off_a = outside(difference.a, on_a, simplex.a, simplex.weights)
    return fmax(off_a, outside(difference.b, on_b, b, simplex.weights))


def separate(difference: Difference, result: Estimate, separation: Any, near: Any) -> tuple[Estimate, Any]:
    """Return (estimate, distance) of two bodies after B is moved along the normal.

    B is moved until the distance along the normal is ``separation`` [m]. The estimate has the nearest features and the
    normal of the moved bodies. ``near`` is the relative gap at which the search for them ends.
    """
    away = Moved(difference, result.normal * (separation - result.distance))
    t = nearest(away, gap=near)
    simplex = WeightedPoints(tuple(p + away.by for p in t.p), t.a, t.weights)
    far, start, on_a = separation_of(t)
    return result._replace(simplex=simplex, on_a=on_a, start=start), far


def check_images(difference: Difference, result: Estimate, scale: Any) -> tuple[Estimate, Any]:
    """Return the estimate with the normal of least overlap, its own or an image (`images`), and 1 for an image.

    Concentric or coaxial bodies may have the same depth along an image, which makes the result ``tied``.
    """
    n, g = result.normal, result.distance
    best, most, tied, level = n, g, 0.0 * scale, ROUNDING * scale
    for image in images(difference, n):
        gap = difference.gap(image)
        equal = and_(le(g, gap + level), lt(SAME, 1.0 - image.dot(n)))
        tied = where(equal, 1.0, tied)
        better = lt(most, gap)
        best, most = choose(better, image, best), where(better, gap, most)
    mirrored = lt(g + level, most)
    better_one = result._replace(distance=where(mirrored, most, g), normal=choose(mirrored, best, n), tied=tied)
    return better_one, where(mirrored, 1.0, 0.0)


def separation_of(s: Simplex) -> tuple[Any, Vec3, Vec3]:
    """Return the distance, the normal from A to B and the point of A that a simplex of A − B determines.

    The points with a positive weight form a triangle, an edge or a point.
    """
    x, y, z = (lt(0.0, weight) for weight in s.weights)
    origin = choose(x, s.p[0], choose(y, s.p[1], s.p[2]))
    second = choose(and_(x, y), s.p[1], s.p[2])
    plane = (s.p[1] - s.p[0]).cross(s.p[2] - s.p[0])
    edge = second - origin
    line = origin - edge * (origin.dot(edge) / safe_square(edge))
    line = line - edge * (line.dot(edge) / safe_square(edge))  # again, to reduce the rounding error of a short result
    line = choose(or_(and_(x, y), or_(and_(x, z), and_(y, z))), line, origin)
    inside = and_(x, and_(y, z))
    backward = lt(plane.dot(s.v), 0.0)
    n = choose(inside, choose(backward, -plane, plane), line)
    known = lt(TINY, n.dot(n))
    n = direction(n)
    distance = where(inside, n.dot(origin), where(known, n.dot(line), 0.0))
    on_a = s.a[0] * s.weights[0] + s.a[1] * s.weights[1] + s.a[2] * s.weights[2]
    return distance, -n, on_a


def length(v: Vec3) -> Any:
    square = v.dot(v)
    return where(lt(TINY, square), sqrt(safe_square(v)), 0.0)


_FLAT = by_type(1e-20)  # square of the height of a degenerate triangle, relative to its longest side
_THIN = by_type(1e-15)  # [m] least radius


def outside(core: Any, p: Vec3, points: tuple[Vec3, ...], weights: tuple[Any, ...]) -> Any:
    """Return an upper bound on the distance of a point outside a core [m]: 0 inside, exact to first order at faces.

    A polytope is represented by up to three of its points, those whose weight is positive.
    """
    if isinstance(core, PointCore):
        away = p - core.point
        return fmax(fabs(away.x), fmax(fabs(away.y), fabs(away.z)))
    if isinstance(core, SegmentCore):
        along = (p - core.center).dot(core.half) / safe_square(core.half)
        off = p - core.center - core.half * where(lt(fabs(along), 1.0), along, where(lt(along, 0.0), -1.0, 1.0))
        return sqrt(off.dot(off))
    if isinstance(core, (BoxCore, CylinderCore, ConeCore, EllipsoidCore)):
        x = core.pose.inv().point(p)
        if isinstance(core, BoxCore):
            beyond = [fabs(u) - most for u, most in zip(x, core.half, strict=True)]
            return fmax(fmax(beyond[0], beyond[1]), fmax(beyond[2], 0.0))
        if isinstance(core, EllipsoidCore):
            radii = [fmax(r, _THIN) for r in core.radii]
            scaled = Vec3(*(u / r for u, r in zip(x, radii, strict=True)))
            steep = Vec3(*(u / r for u, r in zip(scaled, radii, strict=True)))
            square = scaled.dot(scaled)
            return fmax(square - 1.0, 0.0) / (2.0 * sqrt(safe_square(steep)))
        across = sqrt(x.x * x.x + x.y * x.y)
        if isinstance(core, CylinderCore):
            return fmax(fmax(across - core.radius, fabs(x.z) - core.half), 0.0)
        slant = sqrt(safe_square(Vec3(core.radius, 2.0 * core.half, 0.0)))
        side = (2.0 * core.half * across - core.radius * (core.half - x.z)) / slant
        return fmax(fmax(side, fabs(x.z) - core.half), 0.0)
    return _from_triangle(p, points, weights)


def _from_triangle(p: Vec3, points: tuple[Vec3, ...], weights: tuple[Any, ...]) -> Any:
    """Return an upper bound on the distance of p from a triangle, edge or point; p is almost in the plane."""
    in_use = [lt(0.0, weight) for weight in weights]
    first = choose(in_use[0], points[0], choose(in_use[1], points[1], points[2]))
    u, w = (choose(known, q, first) - first for known, q in zip(in_use[1:], points[1:], strict=True))
    offset = p - first
    n = u.cross(w)
    nn, uu, ww = n.dot(n), u.dot(u), w.dot(w)
    u_long = lt(ww, uu)  # for a degenerate triangle, its longer edge
    most = where(u_long, uu, ww)
    wide = lt(_FLAT * (most * most), nn)
    scale = 1.0 / where(wide, nn, where(lt(0.0, most), most, 1.0))
    s = where(wide, n.dot(offset.cross(w)), where(u_long, offset.dot(u), 0.0))
    t = where(wide, n.dot(u.cross(offset)), 0.0)
    t = where(or_(wide, u_long), t, offset.dot(w))
    s = fmin(fmax(s * scale, 0.0), 1.0)
    t = fmin(fmax(t * scale, 0.0), 1.0 - s)
    off = offset - u * s - w * t
    return sqrt(off.dot(off))
