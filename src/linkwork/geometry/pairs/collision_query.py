"""Queries of two solids: within a distance of each other or not, and functions that share the code of long pairs.

`within` costs less than the distance.  Squares are compared where they can be, so there are no roots, no witness
points and no normals, and no depth of overlaps; two cylinders are measured.  Separating planes are tried first, and
no more than these where all samples of a SIMD vector agree.

`signed_distance_once` and the others call a function of a pair whose code is long: it stands once in a kernel for all
pairs of two kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linkwork.expr.control import call, cond
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, not_, or_, sqrt
from linkwork.geometry.cores import BoxCore, Core, CylinderCore, FieldCore, PointCore, SegmentCore, Solid
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.pairs.closed_form.box_box import box_box, box_box_gap
from linkwork.geometry.pairs.closed_form.box_cylinder import box_cylinder_within, segment_cylinder
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import nearest_of_segments, nearest_to_box
from linkwork.geometry.pairs.convex.gjk_simplex import nearest
from linkwork.geometry.pairs.convex.minkowski_difference import Difference
from linkwork.geometry.pairs.pair_dispatch import has_own, is_closed_form, signed_distance
from linkwork.geometry.solids import KINDS, SolidKind, kind_of, solid_row
from linkwork.geometry.support_points import SUPPORTS
from linkwork.geometry.unit_vectors import NOTHING, clamp
from linkwork.spatial import Vec3

__all__ = ["WITHIN", "distance_once", "signed_distance_once", "within", "within_called", "within_once"]


_STEPS = 2  # along a segment, after which a search is left to say what is open
_NEAR = 1e-9  # relative gap between bounds on squares of distances, at which searches end


def within(a: Solid, b: Solid, distance: Any) -> Any:
    """Whether two solids are no farther apart than a distance, at least 0 [m], or overlap: a truth value.

    Raises TypeError for a pair that nothing measures.
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
    s = clamp(between.dot(b.half) / fmax(square, NOTHING), 1.0)
    return _short(between - b.half * s, most)


def _segments(a: SegmentCore, b: SegmentCore, most: Any) -> Any:
    return _short(nearest_of_segments(a, b).between, most)


def _point_box(a: PointCore, b: BoxCore, most: Any) -> Any:
    return _short(_out(b.pose.inv().point(a.point), b.half), most)


def _segment_box(a: SegmentCore, b: BoxCore, most: Any) -> Any:
    c, u, h = b.pose.inv().point(a.center), b.pose.rotation.inv_act(a.half), b.half
    near, open_ = _known(lambda p: _out(p, h), c, u, most)
    return cond(open_, lambda: _short(_out(c + u * nearest_to_box(c, u, h), h), most), lambda: near)


def _known(out: Callable[[Vec3], Vec3], c: Vec3, u: Vec3, most: Any) -> tuple[Any, Any]:
    """Of the segment c ± u and what ``out`` tells the way from to a point: whether they are near, and whether that is
    open yet.

    They are near where a point of the segment is, and they are not where a plane across such a way e keeps them apart:
    at c + s u, it keeps |e|² + min over t of (t − s) e · u, divided by |e|.  The points are the middle, and what a step
    down the slope e · u leads to, which is never too long.
    """
    square, uu, s = most * most, fmax(u.dot(u), NOTHING), 0.0
    near: Any = False
    far: Any = False
    for step in range(_STEPS):
        e = out(c + u * s if step else c)
        ee, slope = e.dot(e), e.dot(u)
        kept = ee - fabs(slope) - s * slope
        near, far = or_(near, le(ee, square)), or_(far, and_(lt(0.0, kept), lt(square * ee, kept * kept)))
        s = clamp(s - slope / uu, 1.0)
    return near, not_(or_(near, far))


def _point_cylinder(a: PointCore, b: CylinderCore, most: Any) -> Any:
    p = b.pose.inv().point(a.point)
    aside, beyond = fmax(sqrt(p.x * p.x + p.y * p.y) - b.radius, 0.0), p.z - clamp(p.z, b.half)
    return le(aside * aside + beyond * beyond, most * most)


def _segment_cylinder(a: SegmentCore, b: CylinderCore, most: Any) -> Any:
    def out(p: Vec3) -> Vec3:
        rho = sqrt(p.x * p.x + p.y * p.y)
        aside = fmax(rho - b.radius, 0.0) / fmax(rho, NOTHING)
        return Vec3(p.x * aside, p.y * aside, p.z - clamp(p.z, b.half))

    near, open_ = _known(out, b.pose.inv().point(a.center), b.pose.rotation.inv_act(a.half), most)
    return cond(open_, lambda: le(segment_cylinder(a, b).distance, most), lambda: near)


def _boxes(a: BoxCore, b: BoxCore, most: Any) -> Any:
    gap = box_box_gap(a, b)
    open_ = and_(lt(0.0, gap), le(gap, most))
    return cond(open_, lambda: le(box_box(a, b).distance, most), lambda: le(gap, 0.0))


def _convex(a: Core, b: Core, most: Any) -> Any:
    """Unless a plane across the way between the nearest points that were found keeps them farther apart."""
    difference = Difference.of(a, b)
    result = nearest(difference, gap=_NEAR)
    v = result.v
    kept = v.dot(difference.support(-v)[0])  # ‖v‖ times what planes across v keep
    apart = and_(lt(0.0, kept), lt(most * most * v.dot(v), kept * kept))
    return not_(and_(apart, not_(result.inside)))


def _out(point: Vec3, half: Vec3) -> Vec3:
    """What sticks out of a box."""
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
"""By the types of the two cores, in one of the two orders: whether they are no farther apart than a number."""


def signed_distance_once(a: Solid, b: Solid) -> SignedDistance:
    """The same as `signed_distance`."""
    result, turned = _called(signed_distance, a, b)
    return result.flipped() if turned else result  # type: ignore[no-any-return]


def distance_once(a: Solid, b: Solid) -> Any:
    """The distance alone: with less code than all of it."""
    return _called(_distance, a, b)[0]


def within_once(a: Solid, b: Solid, distance: Any) -> Any:
    """The same as `within`."""
    return _called(within, a, b, distance)[0]


def within_called(a: Solid, b: Solid, distance: Any) -> Any:
    """The same, of any length: for code in which many pairs of two kinds are written out, and few are measured."""
    return _called(within, a, b, distance, written_out=False)[0]


def _distance(a: Solid, b: Solid) -> Any:
    return signed_distance(a, b).distance


def _called(function: Callable[..., Any], a: Solid, b: Solid, *more: Any, written_out: bool = True) -> tuple[Any, bool]:
    """A function of two solids and numbers, and whether it was called with the two in the other order; closed forms are
    ``written_out``.
    """
    types = type(a.core), type(b.core)
    if FieldCore in types or (written_out and is_closed_form(*types)):
        return function(a, b, *more), False
    kinds = [kind_of(one.core) for one in (a, b)]
    turned = _order(kinds[1]) < _order(kinds[0])
    if turned:
        a, b, kinds = b, a, kinds[::-1]

    def of_rows(x: Any, y: Any, *more: Any) -> Any:
        return function(kinds[0].solid([*x]).solid, kinds[1].solid([*y]).solid, *more)

    return call(of_rows, *(solid_row(one, kind, 0.0) for one, kind in zip((a, b), kinds, strict=True)), *more), turned


def _order(kind: SolidKind) -> tuple[int, int]:
    return KINDS.index(kind.core), kind.vertices
