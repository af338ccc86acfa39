"""Distance, normal and witness points of two bodies from the result of a search, with a proof of the points.

Newton's method makes the normal exact with the features that the search shows.  The witness points are accepted if
both are in their bodies (`outside`): then nearest points are proved, and so is that the bodies touch when moved apart
by a depth.  Otherwise bodies are searched again, and for overlaps a rival normal, whose depth may be as good, is
refined too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import while_loop
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
from linkwork.geometry.pairs.convex.gjk_simplex import Kept, Simplex, nearest
from linkwork.geometry.pairs.convex.minkowski_difference import Difference, Moved, length_of
from linkwork.geometry.pairs.convex.newton_refinement import polished
from linkwork.geometry.unit_vectors import choose, rounding
from linkwork.spatial import Vec3

__all__ = ["EXACT", "ROUNDING", "ROUNDS", "SAME", "Found", "apart_of", "length", "mirrored", "moved_out", "proved"]


EXACT = 0.0  # relative gaps between bounds on squares of distances, at which searches end
ROUNDING = 1e-14  # of sizes
ROUNDS = 6  # of asking where bodies touch, while their normal becomes better
SAME = 1e-9  # 1 less the cosine of directions that are one
_NEAR = 1e-9  # the gap of overlaps: features that are next to the right ones may lead from one valley to another
_OUT = 1e-3  # of the size, by which overlapping bodies are moved further
_OUT_ROUNDED = 1e-5  # the same, where the search goes on to rounding: the square of its error is as large as that
_FEW = 1.5  # rounds, after which searches go on to rounding
_OFF = 1e-12  # of the size: by which points may be out of their bodies


class Found(NamedTuple):
    """What is known of two bodies: what their nearest points lie between, the distance, its normal, the point on A, the
    normal where a polish may begin, whether another one is as good (1 or 0), a normal far from it that may be as good,
    and whether there is one (1 or 0).
    """

    kept: Kept
    distance: Any
    normal: Vec3
    on_a: Vec3
    start: Vec3
    tied: Any
    rival: Vec3
    contested: Any


def proved(difference: Difference, known: Found, over: Any, scale: Any) -> Found:
    """Return distance, normal and points of two bodies, one of which is curved, from what a search says of them.

    A round polishes the normal with the features that the search shows, and is the last one if both points are in their
    bodies.  Of bodies that overlap the features are those that touch when they are moved out.  Where a search that ends
    early shows features that are next to the right ones, as on flush faces, the next rounds search to rounding; the
    last one takes the search's own points, which are in the bodies.
    """

    def first() -> Found:
        g, n, on_a, _ = polished(difference, known.kept, known.start)
        return known._replace(distance=g, normal=n, on_a=on_a)

    shown = cond(over, lambda: known, first)
    open_ = or_(over, not_(_is_valid(difference, shown, scale)))
    return cond(open_, lambda: _again(difference, known, over, scale), lambda: shown)  # type: ignore[no-any-return]


class _Trial(NamedTuple):
    """State of the rounds: what is known with the normal that is tried; whether sides count where it is almost theirs;
    the rounds made of it; whether it is the rival of the first one; the first one's distance, normal, point on A and
    whether it is tied; and whether there is another round.
    """

    known: Found
    lined: Any
    rounds: Any
    second: Any
    distance: Any
    normal: Vec3
    on_a: Vec3
    tied: Any
    going: Any


def _again(difference: Difference, known: Found, over: Any, scale: Any) -> Found:
    """Return the result of the rounds of `proved` that search; of overlaps that are contested, also with the rival."""
    none = 0.0 * scale
    start = _Trial(known, none, where(over, 0.0, math.ceil(_FEW)), none, known.distance, known.normal, known.on_a, none,
                   1.0 + none)  # fmt: skip
    last: _Trial = while_loop(
        lambda x: lt(0.5, x.going), lambda x: _round(difference, x, over, scale), start, max_iterations=2 * ROUNDS
    ).state
    known, level = last.known, ROUNDING * scale
    # of two that were tried the better one, which is tied where the other is as good
    two, worse = lt(0.5, last.second), le(known.distance, last.distance + level)
    as_good = and_(le(last.distance - level, known.distance), lt(known.normal.dot(last.normal), 1.0 - SAME))
    first = and_(two, worse)
    return known._replace(
        distance=where(first, last.distance, known.distance),
        normal=choose(first, last.normal, known.normal),
        on_a=choose(first, last.on_a, known.on_a),
        tied=where(and_(two, and_(worse, as_good)), 1.0, where(first, last.tied, known.tied)),
    )


def _round(difference: Difference, trial: _Trial, over: Any, scale: Any) -> _Trial:
    """Make a round of a trial; where that is done and contested, begin the rival's."""
    known, rounds, level = trial.known, trial.rounds, ROUNDING * scale
    few = lt(rounds, _FEW)
    further = where(over, where(few, _OUT, _OUT_ROUNDED) * scale, known.distance)
    known, far = moved_out(difference, known, further, where(few, _NEAR, EXACT))
    g, n, on_a, settled = polished(difference, known.kept, known.start, lt(0.5, trial.lined))
    better = or_(not_(over), le(known.distance - level, g))
    result = known._replace(
        distance=where(better, g, known.distance), normal=choose(better, n, known.normal), on_a=on_a
    )
    valid = _is_valid(difference, result, scale)
    last = lt(ROUNDS - 1.5, rounds)
    # the points of a search belong to its own normal, and of overlaps to that by which the bodies were moved out
    raw = and_(not_(valid), last)
    result = result._replace(
        distance=where(raw, where(over, known.distance, far), result.distance),
        normal=choose(raw, choose(over, known.normal, known.start), result.normal),
        on_a=choose(raw, known.on_a, on_a),
        tied=where(raw, 1.0, result.tied),
    )
    done = or_(last, and_(valid, or_(not_(over), settled)))
    rival = and_(and_(done, over), and_(lt(trial.second, 0.5), lt(0.5, known.contested)))

    def contested() -> tuple[Found, Found]:
        image, better = mirrored(difference, result, scale)
        n = choose(lt(0.5, better), image.normal, result.rival)
        return result._replace(tied=fmax(result.tied, image.tied)), result._replace(
            distance=difference.kept(n), normal=n, tied=0.0 * scale
        )

    result, following = cond(rival, contested, lambda: (result, result))
    return _Trial(
        following._replace(kept=result.kept),
        where(or_(settled, rival), 0.0, 1.0),
        where(rival, 0.0, rounds + 1.0),
        where(rival, 1.0, trial.second),
        where(rival, result.distance, trial.distance),
        choose(rival, result.normal, trial.normal),
        choose(rival, result.on_a, trial.on_a),
        where(rival, result.tied, trial.tied),
        where(or_(rival, not_(done)), 1.0, 0.0),
    )


def _is_valid(difference: Difference, result: Found, scale: Any) -> Any:
    """Whether the points of a result are in their bodies."""
    return le(_off(difference, result), (_OFF + rounding(result.normal)) * scale)


def _off(difference: Difference, result: Found) -> Any:
    """How far the points of a result are out of their bodies."""
    kept, on_a = result.kept, result.on_a
    b = tuple(x - y for x, y in zip(kept.a, kept.p, strict=True))
    on_b = on_a + result.normal * result.distance
    off_a = outside(difference.a, on_a, kept.a, kept.weights)
    return fmax(off_a, outside(difference.b, on_b, b, kept.weights))


def moved_out(difference: Difference, result: Found, further: Any, near: Any) -> tuple[Found, Any]:
    """What is known when bodies are moved out by their depth and further, as they show where they touch; and how far
    apart they are then.
    """
    away = Moved(difference, result.normal * (further - result.distance))
    t = nearest(away, gap=near)
    kept = Kept(tuple(p + away.by for p in t.p), t.a, t.weights)
    far, start, on_a = apart_of(t)
    return result._replace(kept=kept, on_a=on_a, start=start), far


def mirrored(difference: Difference, result: Found, scale: Any) -> tuple[Found, Any]:
    """The best of a normal of overlapping bodies, the opposite one, their images in the planes and about the axes of
    both bodies, and these axes, with whether another is as good; and whether it is one of these (1 or 0).

    Bodies about one center or axis may be parted by each of them alike, and if they are next to it nearly so.
    """
    n, g = result.normal, result.distance
    best, most, tied, level = n, g, 0.0 * scale, ROUNDING * scale
    for image in images(difference, n):
        kept = difference.kept(image)
        as_good = and_(le(g, kept + level), lt(image.dot(n), 1.0 - SAME))
        tied = where(as_good, 1.0, tied)
        better = lt(most, kept)
        best, most = choose(better, image, best), where(better, kept, most)
    other = lt(g + level, most)
    better_one = result._replace(distance=where(other, most, g), normal=choose(other, best, n), tied=tied)
    return better_one, where(other, 1.0, 0.0)


def apart_of(s: Simplex) -> tuple[Any, Vec3, Vec3]:
    """Distance, normal from A to B, and the point on A, of what was found: by the plane of three points, the line of
    two, or one.
    """
    x, y, z = (lt(0.0, weight) for weight in s.weights)
    origin = choose(x, s.p[0], choose(y, s.p[1], s.p[2]))
    other = choose(and_(x, y), s.p[1], s.p[2])
    plane = (s.p[1] - s.p[0]).cross(s.p[2] - s.p[0])
    edge = other - origin
    line = origin - edge * (origin.dot(edge) / length_of(edge))
    line = line - edge * (line.dot(edge) / length_of(edge))  # the shorter it is, the more rounding there was
    line = choose(or_(and_(x, y), or_(and_(x, z), and_(y, z))), line, origin)
    inside = and_(x, and_(y, z))
    backward = lt(plane.dot(s.v), 0.0)
    n = choose(inside, choose(backward, -plane, plane), line)
    known = lt(1e-300, n.dot(n))
    n = direction(n)
    distance = where(inside, n.dot(origin), where(known, n.dot(line), 0.0))
    on_a = s.a[0] * s.weights[0] + s.a[1] * s.weights[1] + s.a[2] * s.weights[2]
    return distance, -n, on_a


def length(v: Vec3) -> Any:
    square = v.dot(v)
    return where(lt(1e-300, square), sqrt(length_of(v)), 0.0)


_FLAT = 1e-20  # the square of the height of a triangle that is an edge, relative to its longest side
_THIN = 1e-15  # [m] radii are no smaller than that


def outside(core: Any, p: Vec3, points: tuple[Vec3, ...], weights: tuple[Any, ...]) -> Any:
    """Return a bound on how far a point is out of a core [m]: 0 inside, and exact to first order beside its faces.

    A polytope is represented by up to three of its points, those whose weight is positive.
    """
    if isinstance(core, PointCore):
        away = p - core.point
        return fmax(fabs(away.x), fmax(fabs(away.y), fabs(away.z)))
    if isinstance(core, SegmentCore):
        along = (p - core.center).dot(core.half) / length_of(core.half)
        off = p - core.center - core.half * where(lt(fabs(along), 1.0), along, where(lt(along, 0.0), -1.0, 1.0))
        return sqrt(off.dot(off))
    if isinstance(core, (BoxCore, CylinderCore, ConeCore, EllipsoidCore)):
        x = core.pose.inv().point(p)
        if isinstance(core, BoxCore):
            over = [fabs(u) - most for u, most in zip(x, core.half, strict=True)]
            return fmax(fmax(over[0], over[1]), fmax(over[2], 0.0))
        if isinstance(core, EllipsoidCore):
            radii = [fmax(r, _THIN) for r in core.radii]
            scaled = Vec3(*(u / r for u, r in zip(x, radii, strict=True)))
            steep = Vec3(*(u / r for u, r in zip(scaled, radii, strict=True)))
            square = scaled.dot(scaled)
            return fmax(square - 1.0, 0.0) / (2.0 * sqrt(length_of(steep)))
        across = sqrt(x.x * x.x + x.y * x.y)
        if isinstance(core, CylinderCore):
            return fmax(fmax(across - core.radius, fabs(x.z) - core.half), 0.0)
        slant = sqrt(length_of(Vec3(core.radius, 2.0 * core.half, 0.0)))
        side = (2.0 * core.half * across - core.radius * (core.half - x.z)) / slant
        return fmax(fmax(side, fabs(x.z) - core.half), 0.0)
    return _from_triangle(p, points, weights)


def _from_triangle(p: Vec3, points: tuple[Vec3, ...], weights: tuple[Any, ...]) -> Any:
    """The distance of p, which is about in its plane, from a point of a triangle, an edge or a point."""
    there = [lt(0.0, weight) for weight in weights]
    first = choose(there[0], points[0], choose(there[1], points[1], points[2]))
    u, w = (choose(known, q, first) - first for known, q in zip(there[1:], points[1:], strict=True))
    way = p - first
    n = u.cross(w)
    nn, uu, ww = n.dot(n), u.dot(u), w.dot(w)
    one = lt(ww, uu)  # the longer edge, if that is all
    most = where(one, uu, ww)
    wide = lt(_FLAT * (most * most), nn)
    scale = 1.0 / where(wide, nn, where(lt(0.0, most), most, 1.0))
    s, t = where(wide, n.dot(way.cross(w)), where(one, way.dot(u), 0.0)), where(wide, n.dot(u.cross(way)), 0.0)
    t = where(or_(wide, one), t, way.dot(w))
    s = fmin(fmax(s * scale, 0.0), 1.0)
    t = fmin(fmax(t * scale, 0.0), 1.0 - s)
    off = way - u * s - w * t
    return sqrt(off.dot(off))
