"""Contacts of faces: what two faces have in common, seen along the normal, and how deep it is there.

The faces of two boxes that look most along the normal, and against it, are parallelograms when seen along it; what they
share is a polygon, whose corners are ends of one face's edges within the other, crossings of edges, and corners of the
other face.  At each the depth is measured along the normal, from face to face.  It is linear over the polygon, so its
corners are deepest, and of what is tilted only those are in contact that are deep enough: two for an edge on a face,
one for edges that cross.

Source: Ericson, Real-Time Collision Detection, 2005, section 5.3.8 (Liang and Barsky, A new concept and method for line
clipping, 1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...expr.functions import and_, copysign, fabs, fmax, fmin, le, lt, not_, where
from ...spatial import Vec3
from ..cores import BoxCore, SegmentCore
from ..distance import SignedDistance
from .contact import Contact, Touching, chosen, four_of

__all__ = ["box_box", "segment_box"]

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
        found: Vec3 = self.center + self.u * s + self.v * t
        return found


def box_box(a: BoxCore, b: BoxCore, found: SignedDistance, within: Any) -> Touching:
    """Four corners at most of what their faces share; the nearest points where faces share nothing."""
    n = found.normal
    on_a, on_b = _face(a, n, 1.0), _face(b, n, -1.0)
    both = and_(on_a.seen, on_b.seen)
    candidates = []
    corners = [on_b.point(s, t) for s, t in _ROUND]
    for k, corner in enumerate(corners):
        for at, p, there in _clipped(on_a, corner, corners[(k + 1) % 4] - corner):
            candidates.append(_contact(n, on_a.point(*at), p, and_(both, there), within))
    for s, t in _ROUND:
        p = on_a.point(s, t)
        at = on_b.places(p - on_b.center)
        over = and_(*(le(fabs(x), 1.0 + _BESIDE) for x in at))
        candidates.append(_contact(n, p, on_b.point(*at), and_(both, over), within))
    return four_of(n, [*_or_nearest(candidates, found, within), *candidates])


def segment_box(a: SegmentCore, b: BoxCore, found: SignedDistance, within: Any) -> Touching:
    """Both ends of what lies over a face; the nearest points where nothing does."""
    n = found.normal
    face = _face(b, n, -1.0)
    ends = [
        _contact(n, p, face.point(*at), and_(face.seen, there), within)
        for at, p, there in _clipped(face, a.center - a.half, a.half * 2.0)
    ]
    (nearest,) = _or_nearest(ends, found, within)
    return Touching(n, (chosen(nearest.there, nearest, ends[0]), ends[1]))


_ROUND = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))


def _face(box: BoxCore, n: Vec3, sign: float) -> _Face:
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


def _clipped(face: _Face, start: Vec3, way: Vec3) -> list[tuple[tuple[Any, Any], Vec3, Any]]:
    """The two ends of the part of a line that is over a face: where on the face, where on the line, whether there."""
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
    ends = []
    for k in (first, last):
        ends.append((tuple(x + k * dx for x, dx in zip(origin, rate, strict=True)), start + way * k, there))
    return ends


def _contact(n: Vec3, on_a: Vec3, on_b: Vec3, there: Any, within: Any) -> Contact:
    depth = n.dot(on_a - on_b)
    return Contact(on_a, on_b, depth, and_(there, le(-depth, within)))


def _or_nearest(candidates: Sequence[Contact], found: SignedDistance, within: Any) -> list[Contact]:
    """The nearest points, there where no candidate is."""
    some: Any = 0.0
    for candidate in candidates:
        some = fmax(some, where(candidate.there, 1.0, 0.0))
    return [Contact(found.on_a, found.on_b, -found.distance, and_(lt(some, 0.5), le(found.distance, within)))]
