"""Contacts of a box with a cylinder: what a face and a cap share, or a face and a side, seen along the normal.

A cap that stands on a face shares with it what the disc and the parallelogram have in common: its corners are the ends
of the face's edges within the disc, and of the disc six points of its rim are taken, as on a half-space.  A cylinder
that lies on a face touches it along a line, of which both ends count.  Each has a place of its own and is there or not,
so what hangs over an edge tips where it should.
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, sqrt, where
from linkwork.geometry.contacts.contact_manifold import Contact, Touching, chosen
from linkwork.geometry.contacts.face_clipping import (
    CORNERS_ROUND,
    clipped,
    contact_along,
    face_along,
    or_nearest,
)
from linkwork.geometry.contacts.half_space_contacts import lowest_of_rim
from linkwork.geometry.cores import BoxCore, CylinderCore, HalfSpaceCore
from linkwork.geometry.distance import SignedDistance
from linkwork.spatial import Vec3

__all__ = ["box_cylinder"]

_FLAT = 1e-6  # cosines of the normal and a cap's axis below which the cap is seen as a line
_BESIDE = 1e-12  # of an edge
_SHORT = 1e-24  # squares of edges that are seen as points [m²]


def box_cylinder(a: BoxCore, b: CylinderCore, found: SignedDistance, within: Any) -> Touching:
    """Both ends of the lowest line of the side that is over the face, five more points of the rim, and both ends of
    each of the face's edges over the cap; the nearest points where there are none of these: in fifteen places."""
    n = found.normal
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
    (nearest,) = or_nearest(candidates, found, within)
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
        found: Vec3 = v + m * ((height - v.z) * scale)
        return found

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
    ends = and_(there, and_(lt(begin + _BESIDE, end), lt(end, 1.0 - _BESIDE)))

    def at(k: Any, there: Any) -> Contact:
        return contact_along(n, start + way * k, b.pose.point(p + d * k), there, within)

    return at(begin, there), at(end, ends)
