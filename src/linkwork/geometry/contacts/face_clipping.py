"""Contact points of two faces by clipping: boxes, boxes with cylinders, and outlines of other bodies.

Boxes: the faces of two boxes that are most parallel to the contact plane project along the normal to parallelograms.
Their intersection is a polygon of up to eight corners: ends of one face's edges within the other, crossings of edges,
and corners of the other face.  At each corner the depth is measured along the normal, from face to face.  The depth is
linear over the polygon, so the deepest point is a corner.  For a tilted pair only the corners that are deep enough are
in contact: two for an edge on a face, one for crossing edges.  Each corner has its own index, since a selection among
them would not be continuous as the bodies move.

Boxes and cylinders: the intersection of a cap and a face is the intersection of a disc and a parallelogram.  Its
corners are the ends of the face's edges within the disc, and six points of the disc's rim, as on a half-space.  A
cylinder whose side is on a face touches it along a line, whose ends count.

Other bodies (`outlines`: hulls, cones, and cylinders with these): the contact region of a body along a normal n is
computed from its support points in eight directions tilted from n by a degree.  Projected along n, each body has an
outline of eight edges, and the two outlines are clipped against each other.  Heights are measured on the planes of the
outlines, so depths are measured between faces; a body tilted by more than a degree has an edge or a corner as its
outline.  The corners that are farthest in eight directions and the deepest one are retained.

Source: Ericson, Real-Time Collision Detection, 2005, sections 5.3.8 and 9.5 (Liang and Barsky, A new concept and
method for line clipping, 1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, fmin, le, lt, not_, sqrt, where
from linkwork.geometry.contacts.contact_manifold import (
    CORNERS,
    Contact,
    Touching,
    chosen,
    corners_along,
    lowest_of_rim,
    some_of,
)
from linkwork.geometry.cores import BoxCore, Core, CylinderCore, HalfSpaceCore, SegmentCore, SignedDistance
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import Vec3

__all__ = ["box_box", "box_cylinder", "outlines", "segment_box"]


_THIN = by_type(1e-12)  # sine of the angle below which the projection of a face is a line
_EDGE_TOLERANCE = by_type(1e-12)  # relative to a face's half edge


@dataclass(frozen=True, slots=True)
class _Face:
    """Parallelogram with the points center + s u + t v, s and t in [−1, 1], which is viewed along a normal n."""

    center: Vec3
    u: Vec3
    v: Vec3
    n: Vec3
    area: Any  # n · (u × v)
    has_area: Any  # False if the projection is a line

    @staticmethod
    def of(center: Vec3, u: Vec3, v: Vec3, n: Vec3) -> _Face:
        area = n.dot(u.cross(v))
        return _Face(center, u, v, n, area, lt(by_type(_THIN * _THIN) * u.dot(u) * v.dot(v), area * area))

    def coordinates(self, r: Vec3) -> tuple[Any, Any]:
        """Return (s, t) of a vector projected along n: n · (r × v)/area and n · (u × r)/area."""
        scale = 1.0 / where(self.has_area, self.area, 1.0)
        return self.n.dot(r.cross(self.v)) * scale, self.n.dot(self.u.cross(r)) * scale

    def point(self, s: Any, t: Any) -> Vec3:
        result: Vec3 = self.center + self.u * s + self.v * t
        return result


def box_box(a: BoxCore, b: BoxCore, result: SignedDistance, within: Any) -> Touching:
    """Return the corners of the intersection of two boxes' faces, at most eight; the witness points if it is empty.

    There are twelve entries: begin and end of each edge of B's face over A's face, and A's corners.
    """
    n = result.normal
    on_a, on_b = face_along(a, n, 1.0), face_along(b, n, -1.0)
    both = and_(on_a.has_area, on_b.has_area)
    begun, ended, inside = [], [], []
    corners = [on_b.point(s, t) for s, t in CORNERS_ROUND]
    for k, corner in enumerate(corners):
        first, last = clipped(on_a, corner, corners[(k + 1) % 4] - corner)
        begun.append(contact_along(n, on_a.point(*first.coordinates), first.point, and_(both, first.exists), within))
        # the end of an edge is the beginning of the next one
        apart = and_(lt(first.t + _EDGE_TOLERANCE, last.t), lt(_EDGE_TOLERANCE, 1.0 - last.t))
        exists = and_(both, and_(last.exists, apart))
        ended.append(contact_along(n, on_a.point(*last.coordinates), last.point, exists, within))
    for s, t in CORNERS_ROUND:
        p = on_a.point(s, t)
        st = on_b.coordinates(p - on_b.center)
        over = and_(*(lt(_EDGE_TOLERANCE, 1.0 - fabs(x)) for x in st))  # a point on an edge is an end of it
        inside.append(contact_along(n, p, on_b.point(*st), and_(both, over), within))
    (nearest,) = or_nearest([*begun, *ended, *inside], result, within)
    return Touching(n, (chosen(nearest.exists, nearest, begun[0]), *begun[1:], *ended, *inside))


def segment_box(a: SegmentCore, b: BoxCore, result: SignedDistance, within: Any) -> Touching:
    """Return both ends of the segment clipped to the box's face; the witness points if it is outside the face."""
    n = result.normal
    face = face_along(b, n, -1.0)
    ends = [
        contact_along(n, end.point, face.point(*end.coordinates), and_(face.has_area, end.exists), within)
        for end in clipped(face, a.center - a.half, a.half * 2.0)
    ]
    (nearest,) = or_nearest(ends, result, within)
    return Touching(n, (chosen(nearest.exists, nearest, ends[0]), ends[1]))


CORNERS_ROUND = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))


def face_along(box: BoxCore, n: Vec3, sign: float) -> _Face:
    """Return the face of a box whose outward normal is most along sign · n."""
    R = box.pose.rotation
    local = R.inv_act(n)
    x, y, z = (fabs(c) for c in local)
    first = and_(le(y, x), le(z, x))
    second = and_(not_(first), le(z, y))

    def pick(a: Any, b: Any, c: Any) -> Any:
        return where(first, a, where(second, b, c))

    hx, hy, hz = box.half
    out = pick(copysign(hx, local.x), copysign(hy, local.y), copysign(hz, local.z)) * sign
    center = Vec3(where(first, out, 0.0), where(second, out, 0.0), pick(0.0, 0.0, out))
    u = Vec3(pick(0.0, 0.0, hx), pick(hy, 0.0, 0.0), pick(0.0, hz, 0.0))
    v = Vec3(pick(0.0, hx, 0.0), pick(0.0, 0.0, hy), pick(hz, 0.0, 0.0))
    return _Face.of(box.pose.point(center), R @ u, R @ v, n)


class _End(NamedTuple):
    """End of a line that is clipped to a face."""

    coordinates: tuple[Any, Any]  # (s, t) on the face
    t: Any  # parameter on the line, from 0 to 1
    point: Vec3  # on the line
    exists: Any  # False if no point of the line is over the face


def clipped(face: _Face, start: Vec3, edge: Vec3) -> tuple[_End, _End]:
    """Return both ends of the part of a segment that is over a face (Liang–Barsky).

    The segment is ``start`` + k ``edge``, k in [0, 1].  Points are projected to the face along its normal n.
    """
    origin, rate = face.coordinates(start - face.center), face.coordinates(edge)
    first: Any = 0.0
    last: Any = 1.0
    exists: Any = le(0.0, face.area * face.area)
    for x, dx in zip(origin, rate, strict=True):
        along = lt(_EDGE_TOLERANCE, fabs(dx))
        scale = 1.0 / where(along, dx, 1.0)
        at_low, at_high = (-1.0 - x) * scale, (1.0 - x) * scale
        first = fmax(first, where(along, fmin(at_low, at_high), 0.0))
        last = fmin(last, where(along, fmax(at_low, at_high), 1.0))
        exists = and_(exists, le(where(along, 0.0, fabs(x) - 1.0), _EDGE_TOLERANCE))
    exists = and_(exists, le(first, last + _EDGE_TOLERANCE))

    def end(k: Any) -> _End:
        return _End((origin[0] + k * rate[0], origin[1] + k * rate[1]), k, start + edge * k, exists)

    return end(first), end(last)


def contact_along(n: Vec3, on_a: Vec3, on_b: Vec3, exists: Any, within: Any) -> Contact:
    """Return the contact of a point of A and a point of B, with their depth n · (on_a − on_b).

    The contact exists if ``exists`` is true and −depth ≤ ``within`` [m].
    """
    depth = n.dot(on_a - on_b)
    return Contact(on_a, on_b, depth, and_(exists, le(-depth, within)))


def or_nearest(candidates: Sequence[Contact], result: SignedDistance, within: Any) -> list[Contact]:
    """Return one contact at the witness points of a signed distance; it exists only if no candidate exists.

    Its distance must also be at most ``within`` [m].
    """
    any_exists: Any = reduce(fmax, (where(candidate.exists, 1.0, 0.0) for candidate in candidates), 0.0)
    return [Contact(result.on_a, result.on_b, -result.distance, and_(lt(any_exists, 0.5), le(result.distance, within)))]


_FLAT = 1e-6  # cosine between the normal and a cap's axis below which the cap's projection is a line
_CAP_TOLERANCE = by_type(1e-12)  # relative to an edge
_SHORT = by_type(1e-24)  # [m²] squared length of edges whose projection is a point


def box_cylinder(a: BoxCore, b: CylinderCore, result: SignedDistance, within: Any) -> Touching:
    """Return the contacts of a box's face and a cylinder, in fifteen entries.

    They are both ends of the side's lowest line clipped to the face, five more points of the rim, and both ends of each
    of the face's edges clipped to the cap; the witness points if none of these exist.
    """
    n = result.normal
    face = face_along(a, n, 1.0)
    (first, *further), low, x, y = lowest_of_rim(HalfSpaceCore(face.center, n), b)
    opposite = b.pose.point(Vec3(b.radius * x, b.radius * y, -low))
    candidates = []
    for end in clipped(face, first, opposite - first):
        candidates.append(
            contact_along(n, face.point(*end.coordinates), end.point, and_(face.has_area, end.exists), within)
        )
    for p in further:
        st = face.coordinates(p - face.center)
        over = and_(*(le(fabs(s), 1.0) for s in st))
        candidates.append(contact_along(n, face.point(*st), p, and_(face.has_area, over), within))
    corners = [face.point(s, t) for s, t in CORNERS_ROUND]
    for k, corner in enumerate(corners):
        candidates += _over_cap(b, n, low, corner, corners[(k + 1) % 4] - corner, face.has_area, within)
    (nearest,) = or_nearest(candidates, result, within)
    return Touching(n, (chosen(nearest.exists, nearest, candidates[0]), *candidates[1:]))


def _over_cap(
    b: CylinderCore, n: Vec3, low: Any, start: Vec3, edge: Vec3, has_area: Any, within: Any
) -> tuple[Contact, Contact]:
    """Return the two ends of an edge clipped to the lower cap, x² + y² < r², projected along n."""
    R = b.pose.rotation
    m = R.inv_act(n)
    flat = lt(_FLAT, fabs(m.z))
    scale = 1.0 / where(flat, m.z, 1.0)

    def down(v: Vec3, height: Any) -> Vec3:
        """Project a point along n to an axial coordinate, or a vector to the plane orthogonal to the axis."""
        result: Vec3 = v + m * ((height - v.z) * scale)
        return result

    p, d = down(R.inv_act(start - b.pose.translation), low), down(R.inv_act(edge), 0.0)
    square = d.x * d.x + d.y * d.y
    long = lt(_SHORT, square)
    share = 1.0 / where(long, square, 1.0)
    middle = -(p.x * d.x + p.y * d.y) * share
    off = p.x * d.y - p.y * d.x
    half = (b.radius * b.radius - off * off * share) * share
    meets = and_(and_(flat, long), lt(0.0, half))
    reach = sqrt(where(meets, half, 1.0))
    begin, end = fmax(middle - reach, 0.0), fmin(middle + reach, 1.0)
    has_part = and_(has_area, and_(meets, le(begin, end)))
    # the end of an edge is the beginning of the next one
    ends = and_(has_part, and_(lt(begin + _CAP_TOLERANCE, end), lt(_CAP_TOLERANCE, 1.0 - end)))

    def at(k: Any, has_part: Any) -> Contact:
        return contact_along(n, start + edge * k, b.pose.point(p + d * k), has_part, within)

    return at(begin, has_part), at(end, ends)


_THIN_OUTLINE = 1e-4  # ratio of width to length below which an outline is a line
_OUTLINE_TOLERANCE = by_type(1e-12)  # relative to an edge
_LINE = by_type(1e-30)  # squared products of edges and directions that count as parallel


@dataclass(frozen=True, slots=True)
class _Outline:
    """Corners of a contact region, counterclockwise about n, and their plane."""

    corners: Sequence[Vec3]
    n: Vec3
    center: Vec3
    plane: Vec3  # normal of the plane if the outline has an area, else n
    has_area: Any  # False if the outline is a line

    @staticmethod
    def of(core: Core, n: Vec3, sign: float) -> _Outline:
        corners = corners_along(core, n * sign, n)
        center = corners[0]
        for p in corners[1:]:
            center = center + p
        center = center * (1.0 / CORNERS)
        area, length = Vec3.zero(), 0.0
        for k, p in enumerate(corners):
            edge = corners[(k + 1) % CORNERS] - p
            area, length = area + (p - center).cross(edge), length + edge.dot(edge)
        size = n.dot(area)
        has_area = lt(_THIN_OUTLINE * length, size)
        plane = choose(has_area, area, n)
        return _Outline(corners, n, center, plane, has_area)

    def under(self, p: Vec3) -> Vec3:
        """Return the projection of p along n to the outline's plane."""
        result: Vec3 = p + self.n * ((self.center - p).dot(self.plane) / self.n.dot(self.plane))
        return result

    def clipped(self, start: Vec3, end: Vec3) -> tuple[Any, Any, Any]:
        """Return (first, last, exists): the interval of a segment's parameter in [0, 1] that is over the outline.

        ``exists`` is False if the interval is empty.
        """
        first: Any = 0.0
        last: Any = 1.0
        exists: Any = self.has_area
        for k, p in enumerate(self.corners):
            edge = self.corners[(k + 1) % CORNERS] - p
            inward = self.n.cross(edge)  # as long as the edge
            a, b = inward.dot(start - p), inward.dot(end - p)
            change = b - a
            along = lt(_LINE, change * change)
            t = -a / where(along, change, 1.0)
            first = fmax(first, where(and_(along, lt(0.0, change)), t, 0.0))
            last = fmin(last, where(and_(along, lt(change, 0.0)), t, 1.0))
            exists = and_(exists, le(where(along, 0.0, -a), _OUTLINE_TOLERANCE * edge.dot(edge)))
        return first, last, and_(exists, le(first, last + _OUTLINE_TOLERANCE))


def outlines(a: Core, b: Core, result: SignedDistance, within: Any) -> Touching:
    """Return corners of the intersection of two bodies' outlines; the witness points if it is empty."""
    n = result.normal
    on_a, on_b = _Outline.of(a, n, 1.0), _Outline.of(b, n, -1.0)
    candidates: list[Contact] = []
    for outline, face, flipped in ((on_b, on_a, False), (on_a, on_b, True)):
        for k, start in enumerate(outline.corners):
            end = outline.corners[(k + 1) % CORNERS]
            first, last, exists = face.clipped(start, end)
            for t in (first, last):
                p = start + (end - start) * t
                point_a, point_b = (p, face.under(p)) if flipped else (face.under(p), p)
                candidates.append(contact_along(n, point_a, point_b, exists, within))
    selected = some_of(n, candidates)
    (nearest,) = or_nearest(candidates, result, within)
    return Touching(n, (chosen(nearest.exists, nearest, selected.points[0]), *selected.points[1:]))
