"""Any two convex bodies that have no closed form: by the support functions of both."""

from __future__ import annotations

import math
from typing import Any

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, or_, where
from linkwork.geometry.cores import ConeCore, Core, EllipsoidCore, Solid
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.pairs.convex.direction_branch_and_bound import (
    SAME_VALLEY,
    deepest,
    direction,
    rotational_symmetry,
)
from linkwork.geometry.pairs.convex.ellipsoid_ellipsoid import between_ellipsoids
from linkwork.geometry.pairs.convex.gjk_simplex import Kept, nearest
from linkwork.geometry.pairs.convex.minkowski_difference import Difference
from linkwork.geometry.pairs.convex.newton_refinement import CURVED, polished
from linkwork.geometry.pairs.convex.polytope_facets import least_of_facets
from linkwork.geometry.pairs.convex.polytope_sides import sides_of
from linkwork.geometry.pairs.convex.witness_proof import (
    EXACT,
    ROUNDING,
    ROUNDS,
    SAME,
    Found,
    apart_of,
    length,
    mirrored,
    moved_out,
    proved,
)
from linkwork.geometry.solids import HEAD, KINDS, kind_of, solid_row
from linkwork.geometry.support_points import support_is_line, support_is_one
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import Vec3

__all__ = ["convex"]

_NEAR = 1e-5  # features are clear mostly, and Newton's method converges; where they are not, no points are proved
_NEAR_SMOOTH = 1e-4  # the latter is enough
# of depths: of curved bodies, what is less than that part better than the best is not looked for
_NEARLY = {0: 1e-6, 1: 1e-5}  # by how many of the two are ellipsoids
_NEARLY_SMOOTH = 0.03  # the same of two ellipsoids, after the polish of two starts
_VALLEYS = 2
_TOUCHING = 1e-13  # of the size of A − B
_CLOSE = 1e-4  # the same: normals of polytopes farther apart are known
_TOUCHING_CURVED = 1e-5  # of such pairs' nearest points rounding leaves too little to tell features by
_OUT_EXACT = 1e-6  # of the size, by which overlapping polytopes are moved further
_RIVAL = 1e-4  # relative: a depth that is no more than that above the least may be as good after a polish


def convex(a: Core, b: Core) -> SignedDistance:
    """Of two bounded cores.

    Searches ask about the two in an order that does not depend on which is given first, so that depths are symmetric
    also where several are next to the least.
    """
    if _kind(b) < _kind(a):
        return convex(b, a).flipped()
    if not (isinstance(a, EllipsoidCore) and isinstance(b, EllipsoidCore)):
        return _in_order(a, b) if isinstance(a, ConeCore) and isinstance(b, ConeCore) else _measured(a, b)
    difference = Difference.of(a, b)
    distance, normal, on_a, proved = between_ellipsoids(difference)

    def known() -> SignedDistance:
        one = fmax(support_is_one(difference.a, normal), support_is_one(difference.b, -normal))
        opposite = and_(lt(distance, 0.0), le(fabs(normal.dot(difference.between())), ROUNDING * fabs(distance)))
        return difference.seen_outside(SignedDistance(distance, normal, on_a, on_a, where(opposite, 0.0, one)))

    return cond(proved, known, lambda: _in_order(a, b))  # type: ignore[no-any-return]


def _kind(core: Core) -> tuple[int, int, bool]:
    kind = kind_of(core)
    known = all(isinstance(x, (float, int)) for v in getattr(core, "vertices", ()) for x in v)
    return KINDS.index(kind.core), len(getattr(core, "vertices", ())), not known


def _in_order(a: Core, b: Core) -> SignedDistance:
    """Of two cores of one kind, in an order that a sum of their numbers tells."""
    kind = kind_of(a)
    x, y = (solid_row(Solid(core), kind, 0.0)[HEAD:] for core in (a, b))
    key, other = (sum(math.sqrt(k + 2.0) * number for k, number in enumerate(row)) for row in (x, y))
    turned = lt(other, key)
    head = [0.0] * HEAD
    first = kind.solid([*head, *(where(turned, q, p) for p, q in zip(x, y, strict=True))]).solid.core
    second = kind.solid([*head, *(where(turned, p, q) for p, q in zip(x, y, strict=True))]).solid.core
    result = _measured(first, second)
    n, p, q = result.normal, result.on_a, result.on_b
    return SignedDistance(
        result.distance, choose(turned, -n, n), choose(turned, q, p), choose(turned, p, q), result.unique
    )


def _measured(a: Core, b: Core) -> SignedDistance:
    """Of two cores in the order given, by searches."""
    difference = Difference.of(a, b)
    return difference.seen_outside(_searched(difference))


def _searched(difference: Difference) -> SignedDistance:
    """Of any two, in the difference's axes; of the points, that on A is given."""
    a, b = difference.a, difference.b
    curved = isinstance(a, CURVED) or isinstance(b, CURVED)
    smooth = isinstance(a, EllipsoidCore) and isinstance(b, EllipsoidCore)
    s = nearest(difference, gap=_NEAR_SMOOTH if smooth else _NEAR if curved else EXACT)
    distance, normal, on_a = apart_of(s)
    scale = length(difference.between()) + length(s.p[0])
    touches = le(distance, (_TOUCHING_CURVED if curved else _TOUCHING) * scale)
    if not curved:  # of a normal that is not known well, as between two that all but touch, planes across it keep less
        less = cond(
            lt(distance, _CLOSE * scale),
            lambda: lt(difference.kept(normal), distance - ROUNDING * scale),
            lambda: lt(1.0, 0.0 * distance),
        )
        touches = or_(touches, less)
    over = or_(s.inside, touches)
    apart = Found(Kept(s.p, s.a, s.weights), distance, normal, on_a, normal, 0.0 * distance, normal, 0.0 * distance)
    if curved and not smooth:
        known = cond(over, lambda: _deepest(difference, apart), lambda: apart)
        result = proved(difference, known, over, scale)
    else:
        result = cond(over, lambda: _beside(difference, _overlap(difference, apart, scale), scale), lambda: apart)
    if smooth:
        g, n, on_a, _ = polished(difference, result.kept, result.start)
        worse = and_(over, lt(g, result.distance - ROUNDING * scale))  # then only what is known of the points is of use
        g, n = where(worse, result.distance, g), choose(worse, result.normal, n)
        result = result._replace(distance=g, normal=n, on_a=on_a, start=n)
    unique = where(lt(0.5, result.tied), 0.0, _unique(difference, result))
    return SignedDistance(result.distance, result.normal, result.on_a, result.on_a, unique)


def _overlap(difference: Difference, apart: Found, scale: Any) -> Found:
    """What is known of two polytopes or two ellipsoids that overlap or all but touch."""
    known = [apart.normal, direction(difference.between())]
    if isinstance(difference.a, EllipsoidCore):
        near_by = _valleys(difference, apart.kept, [*difference.sides(), *known])
        result = deepest(difference, near_by, True, gap=_NEARLY_SMOOTH, valleys=near_by)
        g, n, _, _ = polished(difference, apart.kept, result.m)
        less = lt(-result.depth, g)
        g, n = where(less, g, -result.depth), choose(less, n, result.n)
        return apart._replace(distance=g, normal=n, start=n)
    sides = sides_of(difference)
    if sides is not None:
        facet = least_of_facets(sides)
        touching = apart._replace(distance=difference.kept(facet.n), normal=facet.n, tied=facet.tied)
        known_points = touching._replace(kept=facet.kept, on_a=facet.on_a)
        return cond(facet.sure, lambda: known_points, lambda: _settled(difference, touching, scale))  # type: ignore[no-any-return]
    return _settled(difference, _deepest(difference, apart), scale)


def _deepest(difference: Difference, apart: Found) -> Found:
    """The depth of two bodies that are not both ellipsoids, and its normal, by a search of all directions."""
    known = [apart.normal, direction(difference.between())]
    curved = isinstance(difference.a, CURVED) or isinstance(difference.b, CURVED)
    ellipsoids = isinstance(difference.a, EllipsoidCore) + isinstance(difference.b, EllipsoidCore)
    revolved = rotational_symmetry(difference)
    result = deepest(difference, known, True, gap=_NEARLY[ellipsoids] if curved else 0.0, revolved=revolved)
    most = result.depth * (1.0 + _RIVAL) + ROUNDING * length(difference.between())
    contested = lt(result.other, most * fabs(most))
    if revolved is not None:
        contested = or_(contested, revolved.parallel)
    rival, contested = direction(result.m), where(contested, 1.0, 0.0)
    return apart._replace(distance=-result.depth, normal=result.n, start=result.n, rival=rival, contested=contested)


def _settled(difference: Difference, touching: Found, scale: Any) -> Found:
    """Normal and points of two polytopes that overlap: moved out, they show by what they touch."""

    def step(state: tuple[Found, Any]) -> tuple[Found, Any]:
        known, _ = state
        known, _ = moved_out(difference, known, _OUT_EXACT * scale, EXACT)
        g = difference.kept(known.start)
        better = lt(known.distance, g)
        again = where(lt(known.distance + ROUNDING * scale, g), 1.0, 0.0)
        normal = choose(better, known.start, known.normal)
        return known._replace(distance=where(better, g, known.distance), normal=normal), again

    start = touching, 1.0 + 0.0 * scale
    last: Found = while_loop(lambda x: lt(0.5, x[1]), step, start, max_iterations=ROUNDS).state[0]
    return last


def _valleys(difference: Difference, kept: Kept, starts: list[Vec3]) -> list[Vec3]:
    """Directions where h of two ellipsoids is least near by: from the best start, and from the best far from that."""
    heights = [-difference.kept(n) for n in starts]
    result: list[Vec3] = []
    for _ in range(_VALLEYS):
        least: Any = 1e150
        best = starts[-1]
        for n, h in zip(starts, heights, strict=True):
            less = lt(h, least)
            for other in result:
                less = and_(less, lt(n.dot(other), SAME_VALLEY))
            least, best = where(less, h, least), choose(less, n, best)
        result.append(polished(difference, kept, best)[1])
    return result


def _beside(difference: Difference, result: Found, scale: Any) -> Found:
    """What is known of two polytopes or ellipsoids, with a look at other normals that part them as well, or better."""
    if isinstance(difference.a, EllipsoidCore):
        other = mirrored(difference, result, scale)[0]
        return other._replace(start=other.normal)
    if sides_of(difference) is not None:
        return result

    def looked() -> Any:
        n = result.rival
        as_good = le(result.distance, difference.kept(n) + ROUNDING * scale)
        known = and_(as_good, lt(n.dot(result.normal), 1.0 - SAME))
        return where(known, 1.0, mirrored(difference, result, scale)[0].tied)

    return result._replace(tied=cond(lt(0.5, result.contested), looked, lambda: result.tied))


def _unique(difference: Difference, result: Found) -> Any:
    """Whether the nearest points are the only ones: one of the two is a corner there, or two lines cross."""
    n = result.normal
    one = fmax(support_is_one(difference.a, n), support_is_one(difference.b, -n))

    def crossing() -> Any:
        (a, along), (b, other) = support_is_line(difference.a, n), support_is_line(difference.b, -n)
        across = along.cross(other)
        crossed = lt(1e-16 * (along.dot(along) * other.dot(other)), across.dot(across))
        return where(and_(crossed, lt(1.5, a + b)), 1.0, 0.0 * one)

    return cond(lt(one, 0.5), crossing, lambda: one)
