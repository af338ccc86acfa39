"""Signed distance of two convex bodies without a closed form, from their support functions."""

from __future__ import annotations

import math
from typing import Any

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, or_, where
from linkwork.geometry.cores import ConeCore, Core, EllipsoidCore, SignedDistance, Solid
from linkwork.geometry.pairs.convex.direction_branch_and_bound import (
    SAME_VALLEY,
    direction,
    rotational_symmetry,
    search_depth,
)
from linkwork.geometry.pairs.convex.ellipsoid_ellipsoid import between_ellipsoids
from linkwork.geometry.pairs.convex.minkowski_difference import Difference, WeightedPoints, nearest
from linkwork.geometry.pairs.convex.newton_refinement import CURVED, refine
from linkwork.geometry.pairs.convex.polytope_facets import nearest_facet
from linkwork.geometry.pairs.convex.polytope_sides import sides_of
from linkwork.geometry.pairs.convex.witness_proof import (
    EXACT,
    ROUNDING,
    ROUNDS,
    SAME,
    Estimate,
    check_images,
    length,
    prove_witnesses,
    separate,
    separation_of,
)
from linkwork.geometry.solids import HEAD, KINDS, kind_of, solid_row
from linkwork.geometry.support_points import support_is_line, support_is_one
from linkwork.geometry.unit_vectors import FAR, choose
from linkwork.spatial import Vec3

__all__ = ["convex", "polytope_separation"]

_NEAR = 1e-5  # most features are recognised and Newton's method converges; otherwise, no points are proved
_NEAR_SMOOTH = 1e-4  # smooth bodies have no features to recognise
# relative depth of curved bodies by which another direction must be better than the best to be searched for
_DEPTH_GAP = {0: 1e-6, 1: 1e-5}  # by the number of ellipsoids
_DEPTH_GAP_SMOOTH = 0.03  # for two ellipsoids, after the refinement of two initial values
_VALLEYS = 2
_PARALLEL = by_type(1e-16)  # sin² of the angle below which lines are parallel
_TOUCHING = by_type(1e-13)  # relative to the size of A − B
_CLOSE = 1e-4  # the same, above which normals of polytopes are accurate
_TOUCHING_CURVED = by_type(1e-5)  # the same, below which rounding errors prevent recognising features
_OUT_EXACT = 1e-6  # relative to the size: distance to which overlapping polytopes are separated
_RIVAL = 1e-4  # relative difference from the least depth, below which a depth may be equal after refinement


def convex(a: Core, b: Core) -> SignedDistance:
    """Compute the signed distance of two bounded cores.

    Searches use an order of the cores that does not depend on the arguments' order, so that depths are symmetric also
    if several directions have almost the least depth.
    """
    if _kind(b) < _kind(a):
        return convex(b, a).flipped()
    if not (isinstance(a, EllipsoidCore) and isinstance(b, EllipsoidCore)):
        return _in_order(a, b) if isinstance(a, ConeCore) and isinstance(b, ConeCore) else _evaluate(a, b)
    difference = Difference.of(a, b)
    distance, normal, on_a, proved = between_ellipsoids(difference)

    def accepted() -> SignedDistance:
        is_unique = fmax(support_is_one(difference.a, normal), support_is_one(difference.b, -normal))
        opposite = and_(lt(distance, 0.0), le(fabs(normal.dot(difference.between())), ROUNDING * fabs(distance)))
        return difference.in_original_coordinates(
            SignedDistance(distance, normal, on_a, on_a, where(opposite, 0.0, is_unique))
        )

    return cond(proved, accepted, lambda: _in_order(a, b))  # type: ignore[no-any-return]


def _kind(core: Core) -> tuple[int, int, bool]:
    kind = kind_of(core)
    known = all(isinstance(x, (float, int)) for v in getattr(core, "vertices", ()) for x in v)
    return KINDS.index(kind.core), len(getattr(core, "vertices", ())), not known


def _in_order(a: Core, b: Core) -> SignedDistance:
    """Compute the signed distance of two cores of one kind.

    A sum of their parameters decides which one is A in the search, so that the result does not depend on their order.
    """
    kind = kind_of(a)
    x, y = (solid_row(Solid(core), kind, 0.0)[HEAD:] for core in (a, b))
    key, second_key = (sum(math.sqrt(k + 2.0) * value for k, value in enumerate(row)) for row in (x, y))
    swapped = lt(second_key, key)
    head = [0.0] * HEAD
    first = kind.solid([*head, *(where(swapped, q, p) for p, q in zip(x, y, strict=True))]).solid.core
    second = kind.solid([*head, *(where(swapped, p, q) for p, q in zip(x, y, strict=True))]).solid.core
    result = _evaluate(first, second)
    n, p, q = result.normal, result.on_a, result.on_b
    return SignedDistance(
        result.distance, choose(swapped, -n, n), choose(swapped, q, p), choose(swapped, p, q), result.unique
    )


def _evaluate(a: Core, b: Core) -> SignedDistance:
    """Compute the signed distance of two cores in the given order by searches."""
    difference = Difference.of(a, b)
    return difference.in_original_coordinates(_search(difference))


def polytope_separation(a: Core, b: Core) -> SignedDistance:
    """Compute the distance of two polytopes (boxes, segments and points included); it is 0 where they overlap.

    This is a fraction of the code of `convex`, which has the same result for polytopes that are further apart than some
    1e-4 of their size.
    """
    if _kind(b) < _kind(a):
        return polytope_separation(b, a).flipped()
    difference = Difference.of(a, b)
    s = nearest(difference, gap=EXACT)
    distance, normal, on_a = separation_of(s)
    scale = length(difference.between()) + length(s.p[0])
    overlaps = or_(s.inside, le(distance, _TOUCHING * scale))
    distance = where(overlaps, 0.0, distance)
    return difference.in_original_coordinates(SignedDistance(distance, normal, on_a, on_a, where(overlaps, 0.0, 1.0)))


def _search(difference: Difference) -> SignedDistance:
    """Return the signed distance in the axes of the Minkowski difference; both witness points are set to A's."""
    a, b = difference.a, difference.b
    curved = isinstance(a, CURVED) or isinstance(b, CURVED)
    smooth = isinstance(a, EllipsoidCore) and isinstance(b, EllipsoidCore)
    s = nearest(difference, gap=_NEAR_SMOOTH if smooth else _NEAR if curved else EXACT)
    distance, normal, on_a = separation_of(s)
    scale = length(difference.between()) + length(s.p[0])
    touches = le(distance, (_TOUCHING_CURVED if curved else _TOUCHING) * scale)
    if not curved:  # along an inaccurate normal, as of bodies almost in contact, the gap is less than the distance
        less = cond(
            lt(distance, _CLOSE * scale),
            lambda: lt(difference.gap(normal), distance - ROUNDING * scale),
            lambda: lt(1.0, 0.0 * distance),
        )
        touches = or_(touches, less)
    overlaps = or_(s.inside, touches)
    simplex, zero = WeightedPoints(s.p, s.a, s.weights), 0.0 * distance
    apart = Estimate(simplex, distance, normal, on_a, normal, zero, normal, zero)
    if curved and not smooth:
        known = cond(overlaps, lambda: _depth_estimate(difference, apart), lambda: apart)
        result = prove_witnesses(difference, known, overlaps, scale)
    else:
        result = cond(
            overlaps, lambda: _check_ties(difference, _overlap(difference, apart, scale), scale), lambda: apart
        )
    if smooth:
        g, n, on_a, _ = refine(difference, result.simplex, result.start)
        worse = and_(overlaps, lt(g, result.distance - ROUNDING * scale))  # then only the points are used
        g, n = where(worse, result.distance, g), choose(worse, result.normal, n)
        result = result._replace(distance=g, normal=n, on_a=on_a, start=n)
    unique = where(lt(0.5, result.tied), 0.0, _unique(difference, result))
    return SignedDistance(result.distance, result.normal, result.on_a, result.on_a, unique)


def _overlap(difference: Difference, apart: Estimate, scale: Any) -> Estimate:
    """Return the estimate for two polytopes or two ellipsoids that overlap or almost touch."""
    known = [apart.normal, direction(difference.between())]
    if isinstance(difference.a, EllipsoidCore):
        valleys = _valleys(difference, apart.simplex, [*difference.sides(), *known])
        result = search_depth(difference, valleys, gap=_DEPTH_GAP_SMOOTH, valleys=valleys)
        g, n, _, _ = refine(difference, apart.simplex, result.m)
        less = lt(-result.depth, g)
        g, n = where(less, g, -result.depth), choose(less, n, result.n)
        return apart._replace(distance=g, normal=n, start=n)
    sides = sides_of(difference)
    if sides is not None:
        facet = nearest_facet(sides)
        touching = apart._replace(distance=difference.gap(facet.n), normal=facet.n, tied=facet.tied)
        known_points = touching._replace(simplex=facet.simplex, on_a=facet.on_a)
        return cond(facet.sure, lambda: known_points, lambda: _separated(difference, touching, scale))  # type: ignore[no-any-return]
    return _separated(difference, _depth_estimate(difference, apart), scale)


def _depth_estimate(difference: Difference, apart: Estimate) -> Estimate:
    """Return depth and normal of two bodies, not both ellipsoids, by a search of all directions."""
    known = [apart.normal, direction(difference.between())]
    curved = isinstance(difference.a, CURVED) or isinstance(difference.b, CURVED)
    ellipsoids = isinstance(difference.a, EllipsoidCore) + isinstance(difference.b, EllipsoidCore)
    symmetry = rotational_symmetry(difference)
    result = search_depth(difference, known, gap=_DEPTH_GAP[ellipsoids] if curved else 0.0, symmetry=symmetry)
    most = result.depth * (1.0 + _RIVAL) + ROUNDING * length(difference.between())
    contested = lt(result.rival, most * fabs(most))
    if symmetry is not None:
        contested = or_(contested, symmetry.parallel)
    rival, contested = direction(result.m), where(contested, 1.0, 0.0)
    return apart._replace(distance=-result.depth, normal=result.n, start=result.n, rival=rival, contested=contested)


def _separated(difference: Difference, touching: Estimate, scale: Any) -> Estimate:
    """Return normal and points of two overlapping polytopes from the features in contact after they are separated."""

    def step(state: tuple[Estimate, Any]) -> tuple[Estimate, Any]:
        known, _ = state
        known, _ = separate(difference, known, _OUT_EXACT * scale, EXACT)
        g = difference.gap(known.start)
        better = lt(known.distance, g)
        again = where(lt(known.distance + ROUNDING * scale, g), 1.0, 0.0)
        normal = choose(better, known.start, known.normal)
        return known._replace(distance=where(better, g, known.distance), normal=normal), again

    start = touching, 1.0 + 0.0 * scale
    last: Estimate = while_loop(lambda x: lt(0.5, x[1]), step, start, max_iterations=ROUNDS).state[0]
    return last


def _valleys(difference: Difference, simplex: WeightedPoints, starts: list[Vec3]) -> list[Vec3]:
    """Return two directions in which the overlap h(n) of two ellipsoids has local minima.

    The first search starts from the best of the initial directions ``starts``, the second one from the best direction
    far from the first minimum.
    """
    heights = [-difference.gap(n) for n in starts]
    result: list[Vec3] = []
    for _ in range(_VALLEYS):
        least: Any = FAR
        best = starts[-1]
        for n, h in zip(starts, heights, strict=True):
            less = lt(h, least)
            for earlier in result:
                less = and_(less, lt(n.dot(earlier), SAME_VALLEY))
            least, best = where(less, h, least), choose(less, n, best)
        result.append(refine(difference, simplex, best)[1])
    return result


def _check_ties(difference: Difference, result: Estimate, scale: Any) -> Estimate:
    """Return the result for two polytopes or two ellipsoids after a comparison with other normals.

    For ellipsoids a normal of a larger gap replaces the result.  For polytopes only the mark of a tie changes.
    """
    if isinstance(difference.a, EllipsoidCore):
        image = check_images(difference, result, scale)[0]
        return image._replace(start=image.normal)
    if sides_of(difference) is not None:
        return result

    def tied() -> Any:
        n = result.rival
        equal = le(result.distance, difference.gap(n) + ROUNDING * scale)
        known = and_(equal, lt(SAME, 1.0 - n.dot(result.normal)))
        return where(known, 1.0, check_images(difference, result, scale)[0].tied)

    return result._replace(tied=cond(lt(0.5, result.contested), tied, lambda: result.tied))


def _unique(difference: Difference, result: Estimate) -> Any:
    """Return 1 if the nearest points along the normal are unique, else 0.

    They are if one body's support there is a single point, or if both are lines that cross.
    """
    n = result.normal
    is_point = fmax(support_is_one(difference.a, n), support_is_one(difference.b, -n))

    def crossing() -> Any:
        (a, along), (b, along_b) = support_is_line(difference.a, n), support_is_line(difference.b, -n)
        across = along.cross(along_b)
        crossed = lt(_PARALLEL * (along.dot(along) * along_b.dot(along_b)), across.dot(across))
        return where(and_(crossed, lt(1.5, a + b)), 1.0, 0.0 * is_point)

    return cond(lt(is_point, 0.5), crossing, lambda: is_point)
