"""Contacts of two faces by clipping: of boxes, of boxes with cylinders, and of outlines where faces are not known.

Boxes: the faces of two boxes that look most along the normal, and against it, are parallelograms when seen along it.
Their intersection is a polygon of up to eight corners: ends of one face's edges within the other, crossings of edges,
and corners of the other face.  At each the depth is measured along the normal, from face to face.  It is linear over
the polygon, so its corners are deepest, and of a tilted pair only those are in contact that are deep enough: two for
an edge on a face, one for edges that cross.  Each corner keeps an index of its own, since no choice among them is
continuous as bodies move.

Boxes and cylinders: a cap that stands on a face shares with it the intersection of the disc and the parallelogram.
Its corners are the ends of the face's edges within the disc, and six points of the disc's rim, as on a half-space.  A
cylinder that lies on a face touches it along a line, of which both ends count.

Other bodies (`outlines`: hulls, cones, and cylinders on these): the part of a body that touches along a normal n is
found by its farthest points in eight directions tilted from n by a degree.  Seen along n each body has an outline of
eight edges, and the two outlines are clipped against each other.  Heights are those of the planes of the outlines, so
depths are those of faces, and a body that is tilted by more than a degree shows an edge or a corner.  Of all corners
the farthest in eight directions are kept, and the deepest.

Source: Ericson, Real-Time Collision Detection, 2005, sections 5.3.8 and 9.5 (Liang and Barsky, A new concept and
method for line clipping, 1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, fmin, le, lt, not_, sqrt, where
from linkwork.geometry.contacts.contact_manifold import CORNERS, Contact, Touching, chosen, corners_along, some_of
from linkwork.geometry.contacts.half_space_contacts import lowest_of_rim
from linkwork.geometry.cores import BoxCore, Core, CylinderCore, HalfSpaceCore, SegmentCore
from linkwork.geometry.distance import SignedDistance
from linkwork.spatial import Vec3

__all__ = ["box_box", "box_cylinder", "outlines", "segment_box"]


_THIN = 1e-12  # sines of angles below which what is seen of a face is a line
_BESIDE = 1e-12  # of a face's half edge: what is so near its end is on it


@dataclass(frozen=True, slots=True)
class _Face:
    """center + s u + t v, s and t in [−1, 1], seen along a normal n."""

    center: Vec3
    u: Vec3
    v: Vec3
    n: Vec3
    area: Any  # n · (u × v)
    seen: Any  # whether it is no line

    @staticmethod
    def of(center: Vec3, u: Vec3, v: Vec3, n: Vec3) -> _Face:
        area = n.dot(u.cross(v))
        return _Face(center, u, v, n, area, lt(_THIN * _THIN * u.dot(u) * v.dot(v), area * area))

    def places(self, r: Vec3) -> tuple[Any, Any]:
        """(s, t) of a direction that is seen along n: n · (r × v)/area and n · (u × r)/area."""
        scale = 1.0 / where(self.seen, self.area, 1.0)
        return self.n.dot(r.cross(self.v)) * scale, self.n.dot(self.u.cross(r)) * scale

    def point(self, s: Any, t: Any) -> Vec3:
        result: Vec3 = self.center + self.u * s + self.v * t
        return result


def box_box(a: BoxCore, b: BoxCore, result: SignedDistance, within: Any) -> Touching:
    """The corners of what their faces share, eight at most; the nearest points where faces share nothing.

    There are twelve places: where each edge of B's face begins to be over A's and where it ends, and A's corners.
    """
    n = result.normal
    on_a, on_b = face_along(a, n, 1.0), face_along(b, n, -1.0)
    both = and_(on_a.seen, on_b.seen)
    begun, ended, inside = [], [], []
    corners = [on_b.point(s, t) for s, t in CORNERS_ROUND]
    for k, corner in enumerate(corners):
        first, last = clipped(on_a, corner, corners[(k + 1) % 4] - corner)
        begun.append(contact_along(n, on_a.point(*first.at), first.point, and_(both, first.there), within))
        # the end of an edge is where the next one begins
        apart = and_(lt(first.part + _BESIDE, last.part), lt(last.part, 1.0 - _BESIDE))
        ended.append(contact_along(n, on_a.point(*last.at), last.point, and_(both, and_(last.there, apart)), within))
    for s, t in CORNERS_ROUND:
        p = on_a.point(s, t)
        at = on_b.places(p - on_b.center)
        over = and_(*(lt(fabs(x), 1.0 - _BESIDE) for x in at))  # what is on an edge is an end of it
        inside.append(contact_along(n, p, on_b.point(*at), and_(both, over), within))
    (nearest,) = or_nearest([*begun, *ended, *inside], result, within)
    return Touching(n, (chosen(nearest.there, nearest, begun[0]), *begun[1:], *ended, *inside))


def segment_box(a: SegmentCore, b: BoxCore, result: SignedDistance, within: Any) -> Touching:
    """Both ends of what lies over a face; the nearest points where nothing does."""
    n = result.normal
    face = face_along(b, n, -1.0)
    ends = [
        contact_along(n, end.point, face.point(*end.at), and_(face.seen, end.there), within)
        for end in clipped(face, a.center - a.half, a.half * 2.0)
    ]
    (nearest,) = or_nearest(ends, result, within)
    return Touching(n, (chosen(nearest.there, nearest, ends[0]), ends[1]))


CORNERS_ROUND = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))


def face_along(box: BoxCore, n: Vec3, sign: float) -> _Face:
    """The face of a box that looks most along n, or against it."""
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
    """Of the part of a line that is over a face: where it is on the face, how far along the line, the point of the
    line, and whether there is such a part.
    """

    at: tuple[Any, Any]
    part: Any
    point: Vec3
    there: Any


def clipped(face: _Face, start: Vec3, way: Vec3) -> tuple[_End, _End]:
    """The two ends of the part of a line that is over a face."""
    origin, rate = face.places(start - face.center), face.places(way)
    first: Any = 0.0
    last: Any = 1.0
    there: Any = le(0.0, face.area * face.area)
    for x, dx in zip(origin, rate, strict=True):
        along = lt(_BESIDE, fabs(dx))
        scale = 1.0 / where(along, dx, 1.0)
        one, other = (-1.0 - x) * scale, (1.0 - x) * scale
        first = fmax(first, where(along, fmin(one, other), 0.0))
        last = fmin(last, where(along, fmax(one, other), 1.0))
        there = and_(there, le(where(along, 0.0, fabs(x)), 1.0 + _BESIDE))
    there = and_(there, le(first, last + _BESIDE))

    def end(k: Any) -> _End:
        return _End((origin[0] + k * rate[0], origin[1] + k * rate[1]), k, start + way * k, there)

    return end(first), end(last)


def contact_along(n: Vec3, on_a: Vec3, on_b: Vec3, there: Any, within: Any) -> Contact:
    """A point of each, as deep as they are apart along n, which is there if it is deep enough, too."""
    depth = n.dot(on_a - on_b)
    return Contact(on_a, on_b, depth, and_(there, le(-depth, within)))


def or_nearest(candidates: Sequence[Contact], result: SignedDistance, within: Any) -> list[Contact]:
    """The nearest points, there where no candidate is."""
    some: Any = 0.0
    for candidate in candidates:
        some = fmax(some, where(candidate.there, 1.0, 0.0))
    return [Contact(result.on_a, result.on_b, -result.distance, and_(lt(some, 0.5), le(result.distance, within)))]


_FLAT = 1e-6  # cosines of the normal and a cap's axis below which the cap is seen as a line
_BESIDE_CAPS = 1e-12  # of an edge
_SHORT = 1e-24  # squares of edges that are seen as points [m²]


def box_cylinder(a: BoxCore, b: CylinderCore, result: SignedDistance, within: Any) -> Touching:
    """Both ends of the lowest line of the side that is over the face, five more points of the rim, and both ends of
    each of the face's edges over the cap; the nearest points where there are none of these: in fifteen places.
    """
    n = result.normal
    face = face_along(a, n, 1.0)
    (first, *others), low, x, y = lowest_of_rim(HalfSpaceCore(face.center, n), b)
    other = b.pose.point(Vec3(b.radius * x, b.radius * y, -low))
    candidates = []
    for end in clipped(face, first, other - first):
        candidates.append(contact_along(n, face.point(*end.at), end.point, and_(face.seen, end.there), within))
    for p in others:
        at = face.places(p - face.center)
        over = and_(*(le(fabs(s), 1.0) for s in at))
        candidates.append(contact_along(n, face.point(*at), p, and_(face.seen, over), within))
    corners = [face.point(s, t) for s, t in CORNERS_ROUND]
    for k, corner in enumerate(corners):
        candidates += _over_cap(b, n, low, corner, corners[(k + 1) % 4] - corner, face.seen, within)
    (nearest,) = or_nearest(candidates, result, within)
    return Touching(n, (chosen(nearest.there, nearest, candidates[0]), *candidates[1:]))


def _over_cap(
    b: CylinderCore, n: Vec3, low: Any, start: Vec3, way: Vec3, seen: Any, within: Any
) -> tuple[Contact, Contact]:
    """The two ends of the part of an edge that is over the lower cap, seen along n: where x² + y² is less than r²."""
    R = b.pose.rotation
    m = R.inv_act(n)
    flat = lt(_FLAT, fabs(m.z))
    scale = 1.0 / where(flat, m.z, 1.0)

    def down(v: Vec3, height: Any) -> Vec3:
        """Along n to a height over the cylinder's middle, or of a direction, across the axis."""
        result: Vec3 = v + m * ((height - v.z) * scale)
        return result

    p, d = down(R.inv_act(start - b.pose.translation), low), down(R.inv_act(way), 0.0)
    square = d.x * d.x + d.y * d.y
    long = lt(_SHORT, square)
    share = 1.0 / where(long, square, 1.0)
    middle = -(p.x * d.x + p.y * d.y) * share
    off = p.x * d.y - p.y * d.x
    half = (b.radius * b.radius - off * off * share) * share
    meets = and_(and_(flat, long), lt(0.0, half))
    reach = sqrt(where(meets, half, 1.0))
    begin, end = fmax(middle - reach, 0.0), fmin(middle + reach, 1.0)
    there = and_(seen, and_(meets, le(begin, end)))
    # the end of an edge is where the next one begins
    ends = and_(there, and_(lt(begin + _BESIDE_CAPS, end), lt(end, 1.0 - _BESIDE_CAPS)))

    def at(k: Any, there: Any) -> Contact:
        return contact_along(n, start + way * k, b.pose.point(p + d * k), there, within)

    return at(begin, there), at(end, ends)


_THIN_OUTLINE = 1e-4  # of an outline: its width relative to its length, below which it is a line
_BESIDE_EDGE = 1e-12  # of an edge
_LINE = 1e-30  # squares of edges' products with directions that are seen as none


@dataclass(frozen=True, slots=True)
class _Outline:
    """Corners of what is in touch, anticlockwise about n, and the plane that they lie in."""

    corners: Sequence[Vec3]
    n: Vec3
    center: Vec3
    plane: Vec3  # its normal, where it has one, else n
    seen: Any  # whether it is no line

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
        seen = lt(_THIN_OUTLINE * length, size)
        plane = Vec3(*(where(seen, x, y) for x, y in zip(area, n, strict=True)))
        return _Outline(corners, n, center, plane, seen)

    def under(self, p: Vec3) -> Vec3:
        """The point of its plane that is seen at p."""
        result: Vec3 = p + self.n * ((self.center - p).dot(self.plane) / self.n.dot(self.plane))
        return result

    def clipped(self, start: Vec3, end: Vec3) -> tuple[Any, Any, Any]:
        """Between which parts of a way it is over the outline, and whether it is at all."""
        first: Any = 0.0
        last: Any = 1.0
        there: Any = self.seen
        for k, p in enumerate(self.corners):
            edge = self.corners[(k + 1) % CORNERS] - p
            out = self.n.cross(edge)  # inwards, as long as the edge
            a, b = out.dot(start - p), out.dot(end - p)
            change = b - a
            along = lt(_LINE, change * change)
            at = -a / where(along, change, 1.0)
            first = fmax(first, where(and_(along, lt(0.0, change)), at, 0.0))
            last = fmin(last, where(and_(along, lt(change, 0.0)), at, 1.0))
            there = and_(there, le(where(along, 0.0, -a), _BESIDE_EDGE * edge.dot(edge)))
        return first, last, and_(there, le(first, last + _BESIDE_EDGE))


def outlines(a: Core, b: Core, result: SignedDistance, within: Any) -> Touching:
    """Corners of what both share, seen along the normal; the nearest points where they share nothing."""
    n = result.normal
    on_a, on_b = _Outline.of(a, n, 1.0), _Outline.of(b, n, -1.0)
    candidates: list[Contact] = []
    for own, other, flipped in ((on_b, on_a, False), (on_a, on_b, True)):
        for k, start in enumerate(own.corners):
            end = own.corners[(k + 1) % CORNERS]
            first, last, there = other.clipped(start, end)
            for part in (first, last):
                p = start + (end - start) * part
                there_a, there_b = (p, other.under(p)) if flipped else (other.under(p), p)
                candidates.append(contact_along(n, there_a, there_b, there, within))
    some = some_of(n, candidates)
    (nearest,) = or_nearest(candidates, result, within)
    return Touching(n, (chosen(nearest.there, nearest, some.points[0]), *some.points[1:]))
