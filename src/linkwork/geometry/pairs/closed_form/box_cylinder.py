"""A box or a segment and a cylinder: by the few directions at which what planes keep between them can be extreme.

A − B is the sum of segments, which are the box's edges and the cylinder's axis, and of a disc.  Its surface is smooth

- on flat faces, which two of the segments span, or the disc;
- on the cylinder's side beside a vertex of the box: n is across the axis, on the way from the vertex to it;
- where an edge of the box and a rim touch (`edge_rim_extremes.py`);

and h(n) is least at one of these, so −h is the depth, or, where it is above 0, a distance.  But for what is left: apart
they may also be nearest at a vertex of the box and a rim.  Of the vertex that is nearest to the cylinder it is
known at once, because it is nearest of all points where the normal leads out of the box.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import cond
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import BoxCore, CylinderCore, SegmentCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.pairs.closed_form.cylinder_projections import (
    CylinderInBoxFrame,
    in_both,
    in_cylinder,
    is_tied,
    out_of_cylinder,
    tolerance,
)
from linkwork.geometry.pairs.closed_form.edge_rim_extremes import least_along_edges
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import nearest_to_box
from linkwork.geometry.unit_vectors import NOTHING, across, choose, clamp, length, unit
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["box_cylinder", "box_cylinder_within", "segment_cylinder"]

_LEVEL = 1e-13  # sines of angles below which a direction is across an edge, or along the axis
_EDGES = (0, 1, 2)
_ALONG, _OTHER, _ACROSS = 0.0, 1.0, 2.0  # what n is to the axis, where it was made so
_AXES = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


def box_cylinder(a: BoxCore, b: CylinderCore) -> SignedDistance:
    """Of a box, any of whose sides may be zero, and a cylinder."""
    return _measured(a.pose, a.half, b, _EDGES)


def box_cylinder_within(a: BoxCore, b: CylinderCore, most: Any) -> Any:
    """Whether they are no farther apart than that: edges on rims are asked where faces and vertices leave it open."""
    can, _, h, n, _ = _begun(a.pose, a.half, b, _EDGES)
    corner = _corner(can, _EDGES)
    far = or_(lt(most, -h), and_(corner.leads, lt(most, corner.distance)))
    near = and_(corner.leads, le(corner.distance, most))
    open_ = not_(or_(far, near))
    return cond(open_, lambda: le(-least_along_edges(can, _EDGES, h, n, open_)[0], most), lambda: near)


def segment_cylinder(a: SegmentCore, b: CylinderCore) -> SignedDistance:
    """Of a segment, which may be a point, and a cylinder."""
    square = a.half.dot(a.half)
    some = lt(NOTHING, square)
    long = sqrt(where(some, square, 1.0))
    x = choose(some, a.half * (1.0 / long), _AXES[0])
    y = unit(across(x))
    z = x.cross(y)
    rows = (Vec3(*row) for row in zip(x, y, z, strict=True))
    return _measured(Pose(Rotation(*rows), a.center), Vec3(where(some, long, 0.0), 0.0, 0.0), b, (0,))


def _begun(
    X: Pose, box: Vec3, b: CylinderCore, edges: Sequence[int]
) -> tuple[CylinderInBoxFrame, list[tuple[Any, Vec3, Any]], Any, Vec3, Any]:
    """The cylinder in the box's axes; h, n and kinds that are known without edges on rims, and the least of them."""
    axis = X.rotation.inv_act(b.pose.rotation @ _AXES[2])
    can = CylinderInBoxFrame.of(X.inv().point(b.pose.translation), axis, b.radius, b.half, box)
    known = _known(can, edges)
    h, n, kind = known[0][0], known[0][1], known[0][2] + 0.0 * known[0][0]
    for other, m, its in known[1:]:
        less = lt(other, h)
        h, n, kind = where(less, other, h), choose(less, m, n), where(less, its, kind)
    return can, known, h, n, kind


def _measured(X: Pose, box: Vec3, b: CylinderCore, edges: Sequence[int]) -> SignedDistance:
    """Of a box at a pose, whose edges are those that have a length."""
    can, known, least, n, kind = _begun(X, box, b, edges)
    corner = _corner(can, edges)
    h, n, out = least_along_edges(can, edges, least, n, not_(corner.leads))
    kind = where(lt(h, least), _OTHER, kind)
    sign = copysign(1.0, n.dot(can.center))
    n, out = n * sign, out * sign
    distance, n = where(corner.leads, corner.distance, -h), choose(corner.leads, corner.n, n)
    on_a, one = _witness(can, n, out, distance, kind)
    on_a = choose(corner.leads, corner.vertex, on_a)
    size = can.radius + can.half + fabs(can.box.x) + fabs(can.box.y) + fabs(can.box.z)
    between, enough, cylinder = n * distance, tolerance(n, size), (can.center, can.axis, can.radius, can.half)
    on_a = in_both(
        on_a,
        can.center - can.axis * copysign(can.half, n.dot(can.axis)),
        between,
        enough,
        out_of_cylinder(on_a + between, *cylinder, enough),
        lambda p: Vec3(*(clamp(x, most) for x, most in zip(p, can.box, strict=True))),
        lambda p: in_cylinder(p, *cylinder),
    )
    tie = and_(lt(distance, 0.0), is_tied([(x, m) for x, m, _ in known], h, n, can.center, size))
    normal, p = X.rotation @ n, X.point(on_a)
    return SignedDistance(distance, normal, p, p + normal * distance, where(and_(one, not_(tie)), 1.0, 0.0))


def _known(can: CylinderInBoxFrame, edges: Sequence[int]) -> list[tuple[Any, Vec3, Any]]:
    """h and n of faces, and beside the vertex that is nearest to the axis; and what n is to the axis."""
    a, c, sides, r = tuple(can.axis), tuple(can.center), tuple(can.box), can.radius
    cap = can.half - fabs(can.axis.dot(can.center))
    for side, x in zip(sides, a, strict=True):
        cap = cap + side * fabs(x)
    result = [(cap, can.axis, _ALONG)]
    if len(edges) == 3:
        for i, n in enumerate(_AXES):
            result.append((sides[i] + can.half * fabs(a[i]) + r * can.sines[i] - fabs(c[i]), n, _OTHER))
    for i in edges:
        j, k = (i + 1) % 3, (i + 2) % 3
        known = lt(1e-150, can.sines[i])
        inverse = where(known, 1.0, 0.0) / where(known, can.sines[i], 1.0)
        x, y = a[j] * inverse, a[k] * inverse
        reach = sides[j] * fabs(y) + sides[k] * fabs(x) + r - fabs(c[k] * x - c[j] * y)
        way = [0.0, 0.0, 0.0]
        way[j], way[k] = -y, x
        result.append((where(known, reach, 1e150), Vec3(*way), _ACROSS))
    # across the axis, where only what is beside the shadow of the box has its own
    toward = can.center - can.axis * can.axis.dot(can.center)
    seen = [n - can.axis * x for n, x in zip(_AXES, a, strict=True)]
    least: Any = None
    for signs in itertools.product((1.0, -1.0), repeat=len(edges)):
        w = toward
        for i, sign in zip(edges, signs, strict=True):
            w = w - seen[i] * (sign * sides[i])
        square = w.dot(w)
        if least is None:
            least, best = square, w
        else:
            less = lt(square, least)
            least, best = where(less, square, least), choose(less, w, best)
    some = lt(NOTHING, least)
    n = choose(some, best * (1.0 / sqrt(where(some, least, 1.0))), unit(across(can.axis)))
    level = lt(fabs(n.dot(can.axis)), 1e-6)
    n = choose(level, n, can.axis)
    result.append((can.height(n), n, where(level, _ACROSS, _ALONG)))
    return result


class _Corner(NamedTuple):
    """The vertex that is nearest to the cylinder: how far, which way, and whether that leads out of the box."""

    distance: Any
    n: Vec3
    vertex: Vec3
    leads: Any


def _corner(can: CylinderInBoxFrame, edges: Sequence[int]) -> _Corner:
    least: Any = None
    for signs in itertools.product((1.0, -1.0), repeat=len(edges)):
        signed = [0.0, 0.0, 0.0]
        for i, sign in zip(edges, signs, strict=True):
            signed[i] = sign
        vertex = Vec3(*(sign * side for sign, side in zip(signed, can.box, strict=True)))
        v = can.center - vertex
        z = can.axis.dot(v)
        out, beyond = fmax(length(v - can.axis * z) - can.radius, 0.0), fmax(fabs(z) - can.half, 0.0)
        square = out * out + beyond * beyond
        if least is None:
            least, best, side = square, v, Vec3(*signed)
        else:
            less = lt(square, least)
            least, best, side = where(less, square, least), choose(less, v, best), choose(less, Vec3(*signed), side)
    z = can.axis.dot(best)
    away = best - can.axis * z
    rho = length(away)
    scale = fmax(rho - can.radius, 0.0) / where(lt(0.0, rho), rho, 1.0)
    way = away * scale + can.axis * copysign(fmax(fabs(z) - can.half, 0.0), z)
    square = way.dot(way)
    some = lt(NOTHING, square)
    distance = sqrt(where(some, square, 1.0))
    n = way * (1.0 / distance)
    for x, s, most in zip(n, side, can.box, strict=True):
        some = and_(some, or_(le(0.0, x * s), le(most, 0.0)))
    return _Corner(distance, n, can.center - best, some)


def _witness(can: CylinderInBoxFrame, n: Vec3, out: Vec3, distance: Any, kind: Any) -> tuple[Vec3, Any]:
    """The point of the box, and whether it is the only one."""
    along = n.dot(can.axis)
    square = out.dot(out)
    level = or_(le(fabs(along), _LEVEL), lt(_OTHER + 0.5, kind))
    end, turned = lt(kind, _OTHER - 0.5), n.cross(can.axis)
    upright, flat = or_(end, le(square, _LEVEL * _LEVEL)), or_(end, le(turned.dot(turned), _LEVEL * _LEVEL))
    scale = where(upright, 0.0, can.radius) / sqrt(where(upright, 1.0, square))
    side = can.center - out * scale
    tip = side - can.axis * copysign(can.half, along)
    size = can.radius + can.half
    for x in (*can.box, *can.center):
        size = size + fabs(x)
    s = nearest_to_box(side + n * (size - distance), can.axis * can.half, can.box)
    point = choose(level, side + can.axis * (can.half * s), tip)
    free = [le(fabs(x), _LEVEL) for x in n]
    numbers = zip(free, point, n, can.box, strict=True)
    on_box = Vec3(*(where(here, clamp(p, most), copysign(most, x)) for here, p, x, most in numbers))
    wide: Any = 0.0
    crossing: Any = True
    for here, most, x in zip(free, can.box, can.axis, strict=True):
        counts = and_(here, lt(0.0, most))
        wide = wide + where(counts, 1.0, 0.0)
        crossing = and_(crossing, or_(not_(counts), lt(fabs(x), 1.0 - 1e-16)))
    crossing = and_(and_(crossing, lt(wide, 1.5)), level)
    round_one = not_(or_(and_(level, lt(0.0, can.half)), and_(flat, lt(0.0, can.radius))))
    return on_box, or_(or_(lt(wide, 0.5), round_one), crossing)
