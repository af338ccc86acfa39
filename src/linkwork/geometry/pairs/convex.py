"""Any two convex bodies that have no closed form: by the support functions of both."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...expr.control.choices import cond
from ...expr.control.loops import while_loop
from ...expr.functions import and_, fabs, fmax, le, lt, not_, or_, sqrt, where
from ...spatial import Vec3
from ..cores import ConeCore, Core, EllipsoidCore, SegmentCore, Solid
from ..directions import choose, rounding
from ..distance import SignedDistance
from ..rows import HEAD, KINDS, kind_of, solid_row
from ..support import support_is_line, support_is_one
from .cells import SAME_VALLEY, deepest
from .containment import outside
from .difference import Difference, Moved, length_of
from .ellipsoids import between_ellipsoids
from .facets import least_of_facets
from .features import CURVED
from .polish import polished
from .sides import sides_of
from .simplex import Kept, Simplex, nearest

__all__ = ["convex"]

_EXACT = 0.0  # relative gaps between bounds on squares of distances, at which searches end
_NEAR = 1e-9  # features are clear, and Newton's method converges
_NEAR_SMOOTH = 1e-4  # the latter is enough
# of depths: of curved bodies, what is less than that part better than the best is not looked for
_NEARLY = {0: 1e-6, 1: 1e-5}  # by how many of the two are ellipsoids
_NEARLY_SMOOTH = 0.03  # the same of two ellipsoids, after the polish of two starts
_VALLEYS = 2
_TOUCHING = 1e-13  # of the size of A − B
_CLOSE = 1e-4  # the same: normals of polytopes farther apart are known
_TOUCHING_CURVED = 1e-5  # of such pairs' nearest points rounding leaves too little to tell features by
_ROUNDING = 1e-14
_SAME = 1e-9  # 1 less the cosine of directions that are one
_OUT = 1e-3  # of the size, by which overlapping bodies are moved further
_OUT_ROUNDED = 1e-5  # the same, where the search goes on to rounding: the square of its error is as large as that
_OUT_EXACT = 1e-6
_ROUNDS = 6  # of asking where bodies touch, while their normal becomes better
_FEW = 1.5  # of these rounds, after which searches go on to rounding
_OFF = 1e-12  # of the size: by which points may be out of their bodies


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
        opposite = and_(lt(distance, 0.0), le(fabs(normal.dot(difference.between())), _ROUNDING * fabs(distance)))
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
    found = _measured(first, second)
    n, p, q = found.normal, found.on_a, found.on_b
    return SignedDistance(
        found.distance, choose(turned, -n, n), choose(turned, q, p), choose(turned, p, q), found.unique
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
    s = nearest(difference, gap=_NEAR_SMOOTH if smooth else _NEAR if curved else _EXACT)
    distance, normal, on_a = _apart(s)
    scale = _length(difference.between()) + _length(s.p[0])
    touches = le(distance, (_TOUCHING_CURVED if curved else _TOUCHING) * scale)
    if not curved:  # of a normal that is not known well, as between two that all but touch, planes across it keep less
        less = cond(
            lt(distance, _CLOSE * scale),
            lambda: lt(difference.kept(normal), distance - _ROUNDING * scale),
            lambda: lt(1.0, 0.0 * distance),
        )
        touches = or_(touches, less)
    over = or_(s.inside, touches)
    apart = _Found(Kept(s.p, s.a, s.weights), distance, normal, on_a, normal, 0.0 * distance)
    if curved and not smooth:
        known = cond(over, lambda: _deepest(difference, apart), lambda: apart)
        found = _proved(difference, known, over, scale)
    else:
        found = cond(over, lambda: _beside(difference, _overlap(difference, apart, scale), scale), lambda: apart)
    if smooth:
        g, n, on_a, _ = polished(difference, found.kept, found.start)
        worse = and_(over, lt(g, found.distance - _ROUNDING * scale))  # then only what is known of the points is of use
        g, n = where(worse, found.distance, g), choose(worse, found.normal, n)
        found = found._replace(distance=g, normal=n, on_a=on_a, start=n)
    unique = where(lt(0.5, found.tied), 0.0, _unique(difference, found))
    return SignedDistance(found.distance, found.normal, found.on_a, found.on_a, unique)


class _Found(NamedTuple):
    """What is known of two bodies: what their nearest points lie between, the distance, its normal, the point on A, the
    normal where a polish may begin, and whether the opposite one is as good (1 or 0)."""

    kept: Kept
    distance: Any
    normal: Vec3
    on_a: Vec3
    start: Vec3
    tied: Any


def _overlap(difference: Difference, apart: _Found, scale: Any) -> _Found:
    """What is known of two polytopes or two ellipsoids that overlap or all but touch."""
    known = [apart.normal, _direction(difference.between())]
    if isinstance(difference.a, EllipsoidCore):
        near_by = _valleys(difference, apart.kept, [*difference.sides(), *known])
        found = deepest(difference, near_by, True, gap=_NEARLY_SMOOTH, valleys=near_by)
        g, n, _, _ = polished(difference, apart.kept, found.m)
        less = lt(-found.depth, g)
        g, n = where(less, g, -found.depth), choose(less, n, found.n)
        return apart._replace(distance=g, normal=n, start=n)
    sides = sides_of(difference)
    if sides is not None:
        facet = least_of_facets(sides)
        touching = apart._replace(distance=difference.kept(facet.n), normal=facet.n)
        known_points = touching._replace(kept=facet.kept, on_a=facet.on_a)
        return cond(facet.sure, lambda: known_points, lambda: _settled(difference, touching, scale))  # type: ignore[no-any-return]
    return _settled(difference, _deepest(difference, apart), scale)


def _deepest(difference: Difference, apart: _Found) -> _Found:
    """The depth of two bodies that are not both ellipsoids, and its normal, by a search of all directions."""
    known = [apart.normal, _direction(difference.between())]
    curved = isinstance(difference.a, CURVED) or isinstance(difference.b, CURVED)
    ellipsoids = isinstance(difference.a, EllipsoidCore) + isinstance(difference.b, EllipsoidCore)
    found = deepest(difference, known, True, gap=_NEARLY[ellipsoids] if curved else 0.0)
    return apart._replace(distance=-found.depth, normal=found.n, start=found.n)


def _settled(difference: Difference, touching: _Found, scale: Any) -> _Found:
    """Normal and points of two polytopes that overlap: moved out, they show by what they touch."""

    def step(state: tuple[_Found, Any]) -> tuple[_Found, Any]:
        known, _ = state
        known, _ = _moved(difference, known, _OUT_EXACT * scale, _EXACT)
        g = difference.kept(known.start)
        better = lt(known.distance, g)
        again = where(lt(known.distance + _ROUNDING * scale, g), 1.0, 0.0)
        normal = choose(better, known.start, known.normal)
        return known._replace(distance=where(better, g, known.distance), normal=normal), again

    start = touching, 1.0 + 0.0 * scale
    last: _Found = while_loop(lambda x: lt(0.5, x[1]), step, start, at_most=_ROUNDS).state[0]
    return last


def _proved(difference: Difference, known: _Found, over: Any, scale: Any) -> _Found:
    """Distance, normal and points of two bodies, one of which is curved, from what a search says of them.

    A round polishes the normal with the features that the search shows, and is the last one if both points are in their
    bodies: then nearest points are proved, and so is that the bodies touch when moved apart by a depth.  Of bodies that
    overlap the features are those that touch when they are moved out, and a better normal may show others.  Where a
    search that ends early shows features that are next to the right ones, as on flush faces, the next rounds search to
    rounding; the last one takes the search's own points, which are in the bodies.
    """
    g, n, on_a, _ = polished(difference, known.kept, known.start)
    first = known._replace(distance=g, normal=n, on_a=on_a)
    open_ = or_(over, not_(_is_valid(difference, first, scale)))
    return cond(open_, lambda: _again(difference, known, over, scale), lambda: first)  # type: ignore[no-any-return]


def _again(difference: Difference, known: _Found, over: Any, scale: Any) -> _Found:
    """The rounds of `_proved` that search, of which bodies that overlap have one more."""
    level = _ROUNDING * scale

    def step(state: tuple[_Found, Any, Any, Any]) -> tuple[_Found, Any, Any, Any]:
        known, lined, rounds, _ = state
        few = lt(rounds, _FEW)
        further = where(over, where(few, _OUT, _OUT_ROUNDED) * scale, known.distance)
        known, length = _moved(difference, known, further, where(few, _NEAR, _EXACT))
        g, n, on_a, settled = polished(difference, known.kept, known.start, lt(0.5, lined))
        better = or_(not_(over), le(known.distance - level, g))
        improved = and_(over, lt(known.distance + level, g))
        found = known._replace(
            distance=where(better, g, known.distance), normal=choose(better, n, known.normal), on_a=on_a
        )
        valid = _is_valid(difference, found, scale)
        raw = and_(not_(valid), lt(_ROUNDS - 1.5, rounds))
        own = and_(raw, not_(over))
        found = found._replace(
            distance=where(own, length, found.distance),
            normal=choose(own, known.start, found.normal),
            on_a=choose(raw, known.on_a, on_a),
        )
        found, other = cond(over, lambda: _mirrored(difference, found, scale), lambda: (found, 0.0 * scale))
        found = found._replace(tied=where(raw, 1.0, found.tied))
        again = or_(or_(improved, lt(0.5, other)), or_(and_(over, not_(settled)), not_(valid)))
        return found, where(settled, 0.0, 1.0), rounds + 1.0, where(again, 1.0, 0.0)

    none = 0.0 * scale
    start = known, none, where(over, 0.0, math.ceil(_FEW)), 1.0 + none
    last: _Found = while_loop(lambda x: lt(0.5, x[3]), step, start, at_most=_ROUNDS).state[0]
    return last


def _is_valid(difference: Difference, found: _Found, scale: Any) -> Any:
    """Whether the points of a result are in their bodies."""
    return le(_off(difference, found), (_OFF + rounding(found.normal)) * scale)


def _off(difference: Difference, found: _Found) -> Any:
    """How far the points of a result are out of their bodies."""
    kept, on_a = found.kept, found.on_a
    b = tuple(x - y for x, y in zip(kept.a, kept.p, strict=True))
    on_b = on_a + found.normal * found.distance
    off_a = outside(difference.a, on_a, kept.a, kept.weights)
    return fmax(off_a, outside(difference.b, on_b, b, kept.weights))


def _valleys(difference: Difference, kept: Kept, starts: list[Vec3]) -> list[Vec3]:
    """Directions where h of two ellipsoids is least near by: from the best start, and from the best far from that."""
    heights = [-difference.kept(n) for n in starts]
    found: list[Vec3] = []
    for _ in range(_VALLEYS):
        least: Any = 1e150
        best = starts[-1]
        for n, h in zip(starts, heights, strict=True):
            less = lt(h, least)
            for other in found:
                less = and_(less, lt(n.dot(other), SAME_VALLEY))
            least, best = where(less, h, least), choose(less, n, best)
        found.append(polished(difference, kept, best)[1])
    return found


def _moved(difference: Difference, found: _Found, further: Any, near: Any) -> tuple[_Found, Any]:
    """What is known when bodies are moved out by their depth and further, as they show where they touch; and how far
    apart they are then."""
    away = Moved(difference, found.normal * (further - found.distance))
    t = nearest(away, gap=near)
    kept = Kept(tuple(p + away.by for p in t.p), t.a, t.weights)
    length, start, on_a = _apart(t)
    return found._replace(kept=kept, on_a=on_a, start=start), length


def _beside(difference: Difference, found: _Found, scale: Any) -> _Found:
    """What is known of two polytopes or ellipsoids, with a look at other normals that part them as well, or better."""
    other = _mirrored(difference, found, scale)[0]
    if isinstance(difference.a, EllipsoidCore):
        return other._replace(start=other.normal)
    return found._replace(tied=other.tied)


def _mirrored(difference: Difference, found: _Found, scale: Any) -> tuple[_Found, Any]:
    """The best of a normal of overlapping bodies, the opposite one, their images in the planes and about the axes of
    both bodies, and these axes, with whether another is as good; and whether it is one of these (1 or 0).

    Bodies about one center or axis may be parted by each of them alike, and if they are next to it nearly so.
    """
    n, g = found.normal, found.distance
    images = [-n]
    for core in (difference.a, difference.b):
        for axis in _axes(core):
            image = n - axis * (2.0 * axis.dot(n))
            images += [image, -image, axis, -axis]
    best, most, tied, level = n, g, 0.0 * scale, _ROUNDING * scale
    for image in images:
        kept = difference.kept(image)
        as_good = and_(le(g, kept + level), lt(image.dot(n), 1.0 - _SAME))
        tied = where(as_good, 1.0, tied)
        better = lt(most, kept)
        best, most = choose(better, image, best), where(better, kept, most)
    other = lt(g + level, most)
    better_one = found._replace(distance=where(other, most, g), normal=choose(other, best, n), tied=tied)
    return better_one, where(other, 1.0, 0.0)


def _axes(core: Any) -> list[Vec3]:
    """Directions across which a core may be its own image."""
    if isinstance(core, SegmentCore):
        return [_direction(core.half)]
    if not hasattr(core, "pose"):
        return []
    return [core.pose.rotation @ Vec3.of(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]


def _unique(difference: Difference, found: _Found) -> Any:
    """Whether the nearest points are the only ones: one of the two is a corner there, or two lines cross."""
    n = found.normal
    one = fmax(support_is_one(difference.a, n), support_is_one(difference.b, -n))

    def crossing() -> Any:
        (a, along), (b, other) = support_is_line(difference.a, n), support_is_line(difference.b, -n)
        across = along.cross(other)
        crossed = lt(1e-16 * (along.dot(along) * other.dot(other)), across.dot(across))
        return where(and_(crossed, lt(1.5, a + b)), 1.0, 0.0 * one)

    return cond(lt(one, 0.5), crossing, lambda: one)


def _direction(v: Vec3) -> Vec3:
    """Of length 1; z where there is none."""
    known = lt(1e-300, v.dot(v))
    return choose(known, v * (1.0 / sqrt(length_of(v))), Vec3(0.0, 0.0, 1.0))


def _length(v: Vec3) -> Any:
    square = v.dot(v)
    return where(lt(1e-300, square), sqrt(length_of(v)), 0.0)


def _apart(s: Simplex) -> tuple[Any, Vec3, Vec3]:
    """Distance, normal from A to B, and the point on A, of what was found: by the plane of three points, the line of
    two, or one."""
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
    n = _direction(n)
    distance = where(inside, n.dot(origin), where(known, n.dot(line), 0.0))
    on_a = s.a[0] * s.weights[0] + s.a[1] * s.weights[1] + s.a[2] * s.weights[2]
    return distance, -n, on_a
