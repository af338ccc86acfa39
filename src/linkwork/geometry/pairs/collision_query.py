"""Collision queries of two solids, and calls of pair functions whose code is shared within a kernel.

`within` (True if two solids are within a distance of each other) costs less than the distance.  It compares squares
where possible, without roots, witness points, normals and depths; two cylinders use the distance.  Separating planes
are tried first, and only these if all samples of a SIMD vector agree.

`signed_distance_once` and the others call the function of a pair with long code, which occurs once in a kernel for all
pairs of two kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linkwork.expr.control.conditional import call_once_traced, cond
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, not_, or_, sqrt
from linkwork.geometry.cores import (
    BoxCore,
    Core,
    CylinderCore,
    FieldCore,
    PointCore,
    SegmentCore,
    SignedDistance,
    Solid,
)
from linkwork.geometry.pairs.closed_form.box_box import box_box, box_box_gap
from linkwork.geometry.pairs.closed_form.box_cylinder import box_cylinder_within, segment_cylinder
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import nearest_of_segments, nearest_to_box
from linkwork.geometry.pairs.convex.convex_pair import polytope_separation
from linkwork.geometry.pairs.convex.minkowski_difference import Difference, nearest
from linkwork.geometry.pairs.convex.newton_refinement import CURVED
from linkwork.geometry.pairs.pair_dispatch import has_own, is_closed_form, signed_distance
from linkwork.geometry.solids import KINDS, SolidKind, kind_of, solid_row, with_listed_vertices
from linkwork.geometry.support_points import SUPPORTS, support
from linkwork.geometry.unit_vectors import TINY, clamp
from linkwork.spatial import Vec3

__all__ = [
    "WITHIN",
    "distance_once",
    "separation_once",
    "signed_distance_once",
    "with_planes_once",
    "within",
    "within_called",
    "within_once",
]


_STEPS = 2  # along a segment, before the exact search
_NEAR = by_type(1e-9)  # relative gap between bounds on squared distances at which searches end


def within(a: Solid, b: Solid, distance: Any) -> Any:
    """Return True if the distance of two solids is at most ``distance`` ≥ 0 [m].

    Raises TypeError for an unsupported pair.
    """
    kinds = type(a.core), type(b.core)
    most = distance + a.radius + b.radius
    if kinds in WITHIN:
        return WITHIN[kinds](a.core, b.core, most)
    if kinds[::-1] in WITHIN:
        return WITHIN[kinds[::-1]](b.core, a.core, most)
    if not has_own(*kinds) and all(kind in SUPPORTS for kind in kinds):
        return _convex(a.core, b.core, most)
    return le(signed_distance(a, b).distance, distance)


def _points(a: PointCore, b: PointCore, most: Any) -> Any:
    return _short(b.point - a.point, most)


def _point_segment(a: PointCore, b: SegmentCore, most: Any) -> Any:
    between, square = a.point - b.center, b.half.dot(b.half)
    s = clamp(between.dot(b.half) / fmax(square, TINY), 1.0)
    return _short(between - b.half * s, most)


def _segments(a: SegmentCore, b: SegmentCore, most: Any) -> Any:
    return _short(nearest_of_segments(a, b).between, most)


def _point_box(a: PointCore, b: BoxCore, most: Any) -> Any:
    return _short(_outside(b.pose.inv().point(a.point), b.half), most)


def _segment_box(a: SegmentCore, b: BoxCore, most: Any) -> Any:
    c, u, h = b.pose.inv().point(a.center), b.pose.rotation.inv_act(a.half), b.half
    near, open_ = _quick_test(lambda p: _outside(p, h), c, u, most)
    return cond(open_, lambda: _short(_outside(c + u * nearest_to_box(c, u, h), h), most), lambda: near)


def _quick_test(offset: Callable[[Vec3], Vec3], c: Vec3, u: Vec3, most: Any) -> tuple[Any, Any]:
    """Return (near, undecided): is the segment c ± u within ``most`` [m] of a body, and is that undecided.

    ``offset`` (p) is the vector from the body's nearest point to p.  The segment is near if one of its points is.  It
    is not near if a plane orthogonal to such an offset e at c + s u separates them: the gap of the plane is |e|² + min
    over t of (t − s) e · u, divided by |e|.  The points are the centre, and the results of steps down the slope e · u,
    which are never too long.
    """
    square, uu, s = most * most, fmax(u.dot(u), TINY), 0.0
    near: Any = False
    far: Any = False
    for step in range(_STEPS):
        e = offset(c + u * s if step else c)
        ee, slope = e.dot(e), e.dot(u)
        gap = ee - fabs(slope) - s * slope
        near, far = or_(near, le(ee, square)), or_(far, and_(lt(0.0, gap), lt(square * ee, gap * gap)))
        s = clamp(s - slope / uu, 1.0)
    return near, not_(or_(near, far))


def _point_cylinder(a: PointCore, b: CylinderCore, most: Any) -> Any:
    p = b.pose.inv().point(a.point)
    aside, beyond = fmax(sqrt(p.x * p.x + p.y * p.y) - b.radius, 0.0), p.z - clamp(p.z, b.half)
    return le(aside * aside + beyond * beyond, most * most)


def _segment_cylinder(a: SegmentCore, b: CylinderCore, most: Any) -> Any:
    def offset(p: Vec3) -> Vec3:
        rho = sqrt(p.x * p.x + p.y * p.y)
        aside = fmax(rho - b.radius, 0.0) / fmax(rho, TINY)
        return Vec3(p.x * aside, p.y * aside, p.z - clamp(p.z, b.half))

    near, open_ = _quick_test(offset, b.pose.inv().point(a.center), b.pose.rotation.inv_act(a.half), most)
    return cond(open_, lambda: le(segment_cylinder(a, b).distance, most), lambda: near)


def _boxes(a: BoxCore, b: BoxCore, most: Any) -> Any:
    gap = box_box_gap(a, b)
    open_ = and_(lt(0.0, gap), le(gap, most))
    return cond(open_, lambda: le(box_box(a, b).distance, most), lambda: le(gap, 0.0))


def _convex(a: Core, b: Core, most: Any) -> Any:
    """Return True unless a plane between two convex cores proves that their distance is more than ``most`` [m].

    The plane is orthogonal to the line between the nearest points.
    """
    difference = Difference.of(a, b)
    result = nearest(difference, gap=_NEAR)
    v = result.v
    gap = v.dot(difference.support(-v)[0])  # ‖v‖ times the gap of planes orthogonal to v
    apart = and_(lt(0.0, gap), lt(most * most * v.dot(v), gap * gap))
    return not_(and_(apart, not_(result.inside)))


def _outside(point: Vec3, half: Vec3) -> Vec3:
    """Return the vector from a box's nearest point to a point; zero inside."""
    return Vec3(*(x - clamp(x, side) for x, side in zip(point, half, strict=True)))


def _short(v: Vec3, most: Any) -> Any:
    return le(v.dot(v), most * most)


WITHIN: Mapping[tuple[type, type], Callable[[Any, Any, Any], Any]] = {
    (PointCore, PointCore): _points,
    (PointCore, SegmentCore): _point_segment,
    (SegmentCore, SegmentCore): _segments,
    (PointCore, BoxCore): _point_box,
    (PointCore, CylinderCore): _point_cylinder,
    (SegmentCore, BoxCore): _segment_box,
    (SegmentCore, CylinderCore): _segment_cylinder,
    (BoxCore, BoxCore): _boxes,
    (BoxCore, CylinderCore): box_cylinder_within,
}
"""Function of two cores and a distance, True if they are within it, by the cores' types in one of both orders."""


def signed_distance_once(a: Solid, b: Solid) -> SignedDistance:
    """Return the signed distance of two solids.

    The generated code of a convex pair without a closed form occurs once in a kernel, for all pairs of these kinds.
    """
    result, swapped = _called(signed_distance, a, b)
    return result.flipped() if swapped else result  # type: ignore[no-any-return]


def separation_once(a: Solid, b: Solid) -> SignedDistance:
    """Return the signed distance of two solids that is exact where it is positive, and at most 0 elsewhere.

    Pairs of polytopes need a fraction of the code of `signed_distance_once`.
    """
    result, swapped = _called(_separation, a, b)
    return result.flipped() if swapped else result  # type: ignore[no-any-return]


def with_planes_once(a: Solid, b: Solid, *, depths: bool) -> tuple[SignedDistance, Any]:
    """Return the signed distance of two solids, and the gap between the planes along its normal that bound the cores.

    The gap of the cores is larger than the gap of the solids by both radii. Without ``depths``, the distance is
    computed as by `separation_once`.  Both are computed in the same code, which occurs once in a kernel for all pairs
    of these kinds.
    """
    (result, gap), swapped = _called(_distance_with_planes if depths else _separation_with_planes, a, b)
    return (result.flipped() if swapped else result), gap


def _separation(a: Solid, b: Solid) -> SignedDistance:
    kinds = type(a.core), type(b.core)
    if not has_own(*kinds) and all(kind in SUPPORTS and not issubclass(kind, CURVED) for kind in kinds):
        return polytope_separation(a.core, b.core).rounded(a.radius, b.radius)
    return signed_distance(a, b)


def _distance_with_planes(a: Solid, b: Solid) -> tuple[SignedDistance, Any]:
    return _with_planes(signed_distance(a, b), a, b)


def _separation_with_planes(a: Solid, b: Solid) -> tuple[SignedDistance, Any]:
    return _with_planes(_separation(a, b), a, b)


def _with_planes(result: SignedDistance, a: Solid, b: Solid) -> tuple[SignedDistance, Any]:
    n = result.normal
    return result, n.dot(support(b.core, -n) - support(a.core, n))


def distance_once(a: Solid, b: Solid) -> Any:
    """Return only the distance [m] of two solids, which needs less code than `signed_distance_once`."""
    return _called(_distance, a, b)[0]


def within_once(a: Solid, b: Solid, distance: Any) -> Any:
    """Return True if the distance of two solids is at most ``distance`` [m].

    The generated code of a convex pair without a closed form occurs once in a kernel, for all pairs of these kinds.
    """
    return _called(within, a, b, distance)[0]


def within_called(a: Solid, b: Solid, distance: Any) -> Any:
    """Return True if the distance of two solids is at most ``distance`` [m].

    All pairs of the same kinds share their generated code, even closed forms. This is for unrolled code with many
    pairs of which few are evaluated.
    """
    return _called(within, a, b, distance, unrolled=False)[0]


def _distance(a: Solid, b: Solid) -> Any:
    return signed_distance(a, b).distance


def _called(function: Callable[..., Any], a: Solid, b: Solid, *more: Any, unrolled: bool = True) -> tuple[Any, bool]:
    """Return (result, swapped) of a function of two solids; ``swapped`` is True if it is called with b before a.

    The function's code is shared by all pairs of the same kinds.  Closed forms are inlined if ``unrolled``, and fields
    always.
    """
    types = type(a.core), type(b.core)
    if FieldCore in types or (unrolled and is_closed_form(*types)):
        return function(a, b, *more), False
    kinds = [kind_of(solid.core) for solid in (a, b)]
    swapped = _order(kinds[1]) < _order(kinds[0])
    if swapped:
        a, b, kinds = b, a, kinds[::-1]

    def of_rows(x: Any, y: Any, *more: Any) -> Any:
        solids = [with_listed_vertices(kind.solid([*row]).solid) for kind, row in zip(kinds, (x, y), strict=True)]
        return function(*solids, *more)

    rows = [solid_row(solid, kind, 0.0) for solid, kind in zip((a, b), kinds, strict=True)]
    return call_once_traced((function, *kinds), of_rows, *rows, *more), swapped


def _order(kind: SolidKind) -> tuple[int, int]:
    return KINDS.index(kind.core), kind.vertices
