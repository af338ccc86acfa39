"""Contacts of bodies whose faces are not known: hulls, cones, and cylinders on these.

What of a body is in touch along a normal n is seen by its farthest points in eight directions that are tilted from n by
a degree (`corners`).  Seen along n each body has an outline of eight edges.  What outlines share has its corners where
an edge of one begins or ends to be over the other.  Heights are those of the planes that the outlines lie in, so depths
are those of faces, and what is tilted by more than a degree shows an edge or a corner.  Of all corners the farthest in
eight directions are kept, and the deepest.

Source: Ericson, Real-Time Collision Detection, 2005, sections 5.3.8 and 9.5 (polygons clipped by polygons).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, where
from linkwork.geometry.contacts.contact_manifold import CORNERS, Contact, Touching, chosen, corners_along, some_of
from linkwork.geometry.contacts.face_clipping import contact_along, or_nearest
from linkwork.geometry.cores import Core
from linkwork.geometry.distance import SignedDistance
from linkwork.spatial import Vec3

__all__ = ["outlines"]

_THIN = 1e-4  # of an outline: its width relative to its length, below which it is a line
_BESIDE = 1e-12  # of an edge
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
        seen = lt(_THIN * length, size)
        plane = Vec3(*(where(seen, x, y) for x, y in zip(area, n, strict=True)))
        return _Outline(corners, n, center, plane, seen)

    def under(self, p: Vec3) -> Vec3:
        """The point of its plane that is seen at p."""
        found: Vec3 = p + self.n * ((self.center - p).dot(self.plane) / self.n.dot(self.plane))
        return found

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
            there = and_(there, le(where(along, 0.0, -a), _BESIDE * edge.dot(edge)))
        return first, last, and_(there, le(first, last + _BESIDE))


def outlines(a: Core, b: Core, found: SignedDistance, within: Any) -> Touching:
    """Corners of what both share, seen along the normal; the nearest points where they share nothing."""
    n = found.normal
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
    (nearest,) = or_nearest(candidates, found, within)
    return Touching(n, (chosen(nearest.there, nearest, some.points[0]), *some.points[1:]))
