"""Signed distance of a box or a segment and a cylinder, by the few directions in which their overlap can be least.

The overlap h(n) of bodies A and B along a unit vector n is the sum of their extents along n, minus the distance of the
centers along n. The signed distance is the largest −h(n), if it is not positive. The Minkowski difference A − B is the
sum of segments (the box's edges and the cylinder's axis) and a disc. Its surface is smooth

- on flat faces, which two of the segments or the disc span;
- on the cylinder's side next to a vertex of the box: n is orthogonal to the axis, along the line from the vertex to it;
- where an edge of the box and a rim touch (`edge_rim_extremes.py`).

h(n) is minimal at one of these, so −h is the negative depth, or, if positive, a distance. Separate bodies may also be
nearest at a vertex of the box and a rim. This holds for the vertex nearest to the cylinder if its normal leads out of
the box, since it is then the nearest of all points.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import cond
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import BoxCore, CylinderCore, SegmentCore, SignedDistance
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
from linkwork.geometry.unit_vectors import FAR, SHORT, TINY, across, choose, clamp, length, unit
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["box_cylinder", "box_cylinder_within", "segment_cylinder"]

_END = by_type(1e-16)  # 1 − |x| below which a point is at an end
_LEVEL = by_type(1e-13)  # sine of the angle below which a direction is orthogonal to an edge, or parallel to the axis
_SQUARE = by_type(_LEVEL * _LEVEL)
_EDGES = (0, 1, 2)
_ALONG, _OBLIQUE, _ACROSS = 0.0, 1.0, 2.0  # n is parallel to the axis, neither, or orthogonal, by construction
_AXES = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


def box_cylinder(a: BoxCore, b: CylinderCore) -> SignedDistance:
    """Compute the signed distance of a box, whose sides may be zero, and a cylinder."""
    return _signed_distance(a.pose, a.half, b, _EDGES)


def box_cylinder_within(a: BoxCore, b: CylinderCore, most: Any) -> Any:
    """Return True if the distance of a box and a cylinder is at most ``most`` [m].

    Edges against rims are evaluated only if the other candidates do not decide.
    """
    cylinder, _, h, n, _ = _candidates(a.pose, a.half, b, _EDGES)
    corner = _corner(cylinder, _EDGES)
    far = or_(lt(most, -h), and_(corner.leads, lt(most, corner.distance)))
    near = and_(corner.leads, le(corner.distance, most))
    open_ = not_(or_(far, near))
    return cond(open_, lambda: le(-least_along_edges(cylinder, _EDGES, h, n, open_)[0], most), lambda: near)


def segment_cylinder(a: SegmentCore, b: CylinderCore) -> SignedDistance:
    """Compute the signed distance of a segment, which may be a point, and a cylinder."""
    square = a.half.dot(a.half)
    has_length = lt(TINY, square)
    long = sqrt(where(has_length, square, 1.0))
    x = choose(has_length, a.half * (1.0 / long), _AXES[0])
    y = unit(across(x))
    z = x.cross(y)
    rows = (Vec3(*row) for row in zip(x, y, z, strict=True))
    return _signed_distance(Pose(Rotation(*rows), a.center), Vec3(where(has_length, long, 0.0), 0.0, 0.0), b, (0,))


def _candidates(
    X: Pose, box: Vec3, b: CylinderCore, edges: Sequence[int]
) -> tuple[CylinderInBoxFrame, list[tuple[Any, Vec3, Any]], Any, Vec3, Any]:
    """Return (cylinder, candidates, h, n, kind) for all candidate directions except edges against rims.

    The cylinder is in the box's axes. Each candidate is (h, n, kind) with the sum of extents h(n) along the direction
    n. The last three results are those of the candidate with the least h.
    """
    axis = X.rotation.inv_act(b.pose.rotation @ _AXES[2])
    cylinder = CylinderInBoxFrame.of(X.inv().point(b.pose.translation), axis, b.radius, b.half, box)
    known = _known(cylinder, edges)
    h, n, kind = known[0][0], known[0][1], known[0][2] + 0.0 * known[0][0]
    for height, m, its in known[1:]:
        less = lt(height, h)
        h, n, kind = where(less, height, h), choose(less, m, n), where(less, its, kind)
    return cylinder, known, h, n, kind


def _signed_distance(X: Pose, box: Vec3, b: CylinderCore, edges: Sequence[int]) -> SignedDistance:
    """Compute the signed distance of a box at a pose; ``edges`` are the axes along which it has a length."""
    cylinder, known, least, n, kind = _candidates(X, box, b, edges)
    corner = _corner(cylinder, edges)
    h, n, out = least_along_edges(cylinder, edges, least, n, not_(corner.leads))
    kind = where(lt(h, least), _OBLIQUE, kind)
    sign = copysign(1.0, n.dot(cylinder.center))
    n, out = n * sign, out * sign
    distance, n = where(corner.leads, corner.distance, -h), choose(corner.leads, corner.n, n)
    on_a, is_unique = _witness(cylinder, n, out, distance, kind)
    on_a = choose(corner.leads, corner.vertex, on_a)
    size = cylinder.radius + cylinder.half + fabs(cylinder.box.x) + fabs(cylinder.box.y) + fabs(cylinder.box.z)
    between, enough = n * distance, tolerance(n, size)
    dimensions = (cylinder.center, cylinder.axis, cylinder.radius, cylinder.half)
    on_a = in_both(
        on_a,
        cylinder.center - cylinder.axis * copysign(cylinder.half, n.dot(cylinder.axis)),
        between,
        enough,
        out_of_cylinder(on_a + between, *dimensions, enough),
        lambda p: Vec3(*(clamp(x, most) for x, most in zip(p, cylinder.box, strict=True))),
        lambda p: in_cylinder(p, *dimensions),
    )
    tie = and_(lt(distance, 0.0), is_tied([(x, m) for x, m, _ in known], h, n, cylinder.center, size))
    normal, p = X.rotation @ n, X.point(on_a)
    return SignedDistance(distance, normal, p, p + normal * distance, where(and_(is_unique, not_(tie)), 1.0, 0.0))


def _known(cylinder: CylinderInBoxFrame, edges: Sequence[int]) -> list[tuple[Any, Vec3, Any]]:
    """Return (h, n, kind) of candidate directions: normals of flat faces, and one on the cylinder's side.

    The direction on the side is orthogonal to the cylinder's axis, from the box's vertex nearest to the axis.
    """
    a, c, sides, r = tuple(cylinder.axis), tuple(cylinder.center), tuple(cylinder.box), cylinder.radius
    cap = cylinder.half - fabs(cylinder.axis.dot(cylinder.center))
    for side, x in zip(sides, a, strict=True):
        cap = cap + side * fabs(x)
    result = [(cap, cylinder.axis, _ALONG)]
    if len(edges) == 3:
        for i, n in enumerate(_AXES):
            result.append((sides[i] + cylinder.half * fabs(a[i]) + r * cylinder.sines[i] - fabs(c[i]), n, _OBLIQUE))
    for i in edges:
        j, k = (i + 1) % 3, (i + 2) % 3
        known = lt(SHORT, cylinder.sines[i])
        inverse = where(known, 1.0, 0.0) / where(known, cylinder.sines[i], 1.0)
        x, y = a[j] * inverse, a[k] * inverse
        reach = sides[j] * fabs(y) + sides[k] * fabs(x) + r - fabs(c[k] * x - c[j] * y)
        normal = [0.0, 0.0, 0.0]
        normal[j], normal[k] = -y, x
        result.append((where(known, reach, FAR), Vec3(*normal), _ACROSS))
    # orthogonal to the axis: only outside the projection of the box
    toward = cylinder.center - cylinder.axis * cylinder.axis.dot(cylinder.center)
    projected = [n - cylinder.axis * x for n, x in zip(_AXES, a, strict=True)]
    least: Any = None
    for signs in itertools.product((1.0, -1.0), repeat=len(edges)):
        w = toward
        for i, sign in zip(edges, signs, strict=True):
            w = w - projected[i] * (sign * sides[i])
        square = w.dot(w)
        if least is None:
            least, best = square, w
        else:
            less = lt(square, least)
            least, best = where(less, square, least), choose(less, w, best)
    exists = lt(TINY, least)
    n = choose(exists, best * (1.0 / sqrt(where(exists, least, 1.0))), unit(across(cylinder.axis)))
    level = lt(fabs(n.dot(cylinder.axis)), 1e-6)
    n = choose(level, n, cylinder.axis)
    result.append((cylinder.height(n), n, where(level, _ACROSS, _ALONG)))
    return result


class _Corner(NamedTuple):
    """The box's vertex nearest to the cylinder, with its distance and the direction n to the cylinder.

    ``leads`` is True if n points out of the box at the vertex, so that the vertex is the box's nearest point.
    """

    distance: Any
    n: Vec3
    vertex: Vec3
    leads: Any


def _corner(cylinder: CylinderInBoxFrame, edges: Sequence[int]) -> _Corner:
    least: Any = None
    for signs in itertools.product((1.0, -1.0), repeat=len(edges)):
        signed = [0.0, 0.0, 0.0]
        for i, sign in zip(edges, signs, strict=True):
            signed[i] = sign
        vertex = Vec3(*(sign * side for sign, side in zip(signed, cylinder.box, strict=True)))
        v = cylinder.center - vertex
        z = cylinder.axis.dot(v)
        out, beyond = fmax(length(v - cylinder.axis * z) - cylinder.radius, 0.0), fmax(fabs(z) - cylinder.half, 0.0)
        square = out * out + beyond * beyond
        if least is None:
            least, best, side = square, v, Vec3(*signed)
        else:
            less = lt(square, least)
            least, best, side = where(less, square, least), choose(less, v, best), choose(less, Vec3(*signed), side)
    z = cylinder.axis.dot(best)
    away = best - cylinder.axis * z
    rho = length(away)
    scale = fmax(rho - cylinder.radius, 0.0) / where(lt(0.0, rho), rho, 1.0)
    offset = away * scale + cylinder.axis * copysign(fmax(fabs(z) - cylinder.half, 0.0), z)
    square = offset.dot(offset)
    exists = lt(TINY, square)
    distance = sqrt(where(exists, square, 1.0))
    n = offset * (1.0 / distance)
    for x, s, most in zip(n, side, cylinder.box, strict=True):
        exists = and_(exists, or_(le(0.0, x * s), le(most, 0.0)))
    return _Corner(distance, n, cylinder.center - best, exists)


def _witness(cylinder: CylinderInBoxFrame, n: Vec3, out: Vec3, distance: Any, kind: Any) -> tuple[Vec3, Any]:
    """Return the witness point of the box, and True if it is unique."""
    along = n.dot(cylinder.axis)
    square = out.dot(out)
    level = or_(le(fabs(along), _LEVEL), lt(_OBLIQUE + 0.5, kind))
    end, across_n = lt(kind, _OBLIQUE - 0.5), n.cross(cylinder.axis)
    upright, flat = or_(end, le(square, _SQUARE)), or_(end, le(across_n.dot(across_n), _SQUARE))
    scale = where(upright, 0.0, cylinder.radius) / sqrt(where(upright, 1.0, square))
    side = cylinder.center - out * scale
    tip = side - cylinder.axis * copysign(cylinder.half, along)
    size = cylinder.radius + cylinder.half
    for x in (*cylinder.box, *cylinder.center):
        size = size + fabs(x)
    s = nearest_to_box(side + n * (size - distance), cylinder.axis * cylinder.half, cylinder.box)
    point = choose(level, side + cylinder.axis * (cylinder.half * s), tip)
    free = [le(fabs(x), _LEVEL) for x in n]
    coordinates = zip(free, point, n, cylinder.box, strict=True)
    on_box = Vec3(*(where(is_free, clamp(p, most), copysign(most, x)) for is_free, p, x, most in coordinates))
    wide: Any = 0.0
    crossing: Any = True
    for is_free, most, x in zip(free, cylinder.box, cylinder.axis, strict=True):
        counts = and_(is_free, lt(0.0, most))
        wide = wide + where(counts, 1.0, 0.0)
        crossing = and_(crossing, or_(not_(counts), lt(_END, 1.0 - fabs(x))))
    crossing = and_(and_(crossing, lt(wide, 1.5)), level)
    round_one = not_(or_(and_(level, lt(0.0, cylinder.half)), and_(flat, lt(0.0, cylinder.radius))))
    return on_box, or_(or_(lt(wide, 0.5), round_one), crossing)
