"""Contacts of two bodies, contacts of a body with a half-space, and the reduction of many contacts to few.

`corners_along` returns corners of a body's contact region: its support points in eight directions that are slightly
tilted from a given one. They are the corners of a face (eight of them if it has more), the ends of an edge, or a
repeated corner, in their order around the direction.  With a half-space, corners, ends and rims of the body touch it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, le, lt, not_, or_, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    Core,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    SignedDistance,
)
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import Vec3

__all__ = [
    "CORNERS",
    "ON_HALF_SPACES",
    "Contact",
    "Touching",
    "chosen",
    "corners_along",
    "lowest_of_rim",
    "one_point",
    "some_of",
]

_NONE = -1e30
_SAME = by_type(1e-18)  # [m²] squared distance of points that coincide
_LEVEL = 1e-4  # slope of a plane that counts as level


@dataclass(frozen=True, slots=True)
class Contact:
    """Contact point of bodies A and B: on_a − on_b = depth · normal, both on the surfaces."""

    on_a: Vec3  # [m]
    on_b: Vec3
    depth: Any  # [m] negative if the bodies are apart
    exists: Any  # True if the contact exists


@dataclass(frozen=True, slots=True)
class Touching:
    """Contacts of bodies A and B with a common normal of length 1 from A to B."""

    normal: Vec3
    points: tuple[Contact, ...]

    def flipped(self) -> Touching:
        """Return the contacts with A and B swapped."""
        return Touching(-self.normal, tuple(replace(p, on_a=p.on_b, on_b=p.on_a) for p in self.points))

    def rounded(self, a: Any, b: Any) -> Touching:
        """Return the contacts of the bodies grown by radii a and b [m]."""
        n = self.normal
        return Touching(
            n, tuple(Contact(p.on_a + n * a, p.on_b - n * b, p.depth + a + b, p.exists) for p in self.points)
        )


def one_point(result: SignedDistance, within: Any) -> Touching:
    """Return the contact at a signed distance's witness points; it exists if the distance is at most ``within``."""
    exists = le(result.distance, within)
    return Touching(result.normal, (Contact(result.on_a, result.on_b, -result.distance, exists),))


def some_of(normal: Vec3, candidates: Sequence[Contact]) -> Touching:
    """Reduce coplanar contacts to the farthest in each of eight tangent directions, and the deepest if it is deeper.

    Their hull equals the hull of all candidates if these are eight corners of equal angles; otherwise it has at least
    70 % of that hull's area. For bodies at rest, whose depths are equal up to rounding, the selection does not change,
    so resting bodies do not creep.
    """
    around = [_best(normal, candidates, [t.dot(c.on_b) for c in candidates]) for t in tangent_directions(normal)]
    return each_once(normal, around, _best(normal, candidates, [c.depth for c in candidates]))


def each_once(normal: Vec3, around: Sequence[Contact], deepest: Contact) -> Touching:
    """Return the contacts without repetitions, and the deepest contact if it is deeper than all of them.

    ``around`` are contacts in their order around the normal. A contact that coincides with the next contact does not
    exist in the result.
    """
    max_depth, far, distinct = _NONE, 0.0, []
    alone: Any = around[0].exists  # True if all coincide
    for contact, following in zip(around, [*around[1:], around[0]], strict=True):
        edge, apart = following.on_b - contact.on_b, contact.on_b - deepest.on_b
        repeated = and_(following.exists, le(edge.dot(edge), _SAME))
        alone = and_(alone, repeated)
        max_depth = fmax(max_depth, where(contact.exists, contact.depth, _NONE))
        far = fmax(far, apart.dot(apart))
        distinct.append(replace(contact, exists=and_(contact.exists, not_(repeated))))
    distinct[0] = replace(distinct[0], exists=or_(distinct[0].exists, alone))
    more = deepest.depth - max_depth
    deeper = and_(deepest.exists, lt(_LEVEL * _LEVEL * far, more * fabs(more)))
    return Touching(normal, (*distinct, replace(deepest, exists=deeper)))


def _best(normal: Vec3, candidates: Sequence[Contact], values: Sequence[Any]) -> Contact:
    """Return the candidate with the largest of ``values``, among the candidates that exist."""
    first, *remaining = zip(candidates, values, strict=True)
    point, depth, largest = first[0].on_b, first[0].depth, where(first[0].exists, first[1], _NONE)
    for contact, value in remaining:
        key = where(contact.exists, value, _NONE)
        better = lt(largest, key)
        largest, depth = where(better, key, largest), where(better, contact.depth, depth)
        point = choose(better, contact.on_b, point)
    return Contact(point + normal * depth, point, depth, lt(_NONE, largest))


def chosen(condition: Any, first: Contact, second: Contact) -> Contact:
    """Return the contact ``first`` where the condition is true, else the contact ``second``."""
    exists = lt(0.0, where(condition, where(first.exists, 1.0, 0.0), where(second.exists, 1.0, 0.0)))
    on_a, on_b = choose(condition, first.on_a, second.on_a), choose(condition, first.on_b, second.on_b)
    return Contact(on_a, on_b, where(condition, first.depth, second.depth), exists)


CORNERS = 8
_TILT = 0.02  # of support directions; faces tilted by less from the normal count as faces
_FIRST = 0.3  # [rad] angle of the first direction, which avoids symmetric shapes' edges


def corners_along(core: Core, direction: Vec3, n: Vec3) -> list[Vec3]:
    """Return the corners of a core's face in a direction, which is n or −n; n has length 1.

    They are support points for eight directions slightly tilted from it, in counterclockwise order about n.
    """
    return [support(core, direction + t * _TILT) for t in tangent_directions(n)]


def tangent_directions(n: Vec3) -> list[Vec3]:
    """Return eight unit vectors orthogonal to n of length 1, counterclockwise about it."""
    u, v = _across(n)
    angles = [_FIRST + 2.0 * math.pi * k / CORNERS for k in range(CORNERS)]
    return [u * math.cos(angle) + v * math.sin(angle) for angle in angles]


def _across(n: Vec3) -> tuple[Vec3, Vec3]:
    """Return two unit vectors that form an orthonormal basis with n.

    Source: Duff and others, Building an orthonormal basis, revisited, Journal of Computer Graphics Techniques 2017.
    """
    sign = copysign(1.0, n.z)
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    return Vec3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x), Vec3(b, sign + n.y * n.y * a, -n.y)


_UPRIGHT = 1e-6  # sine of the angle below which an axis is parallel to the normal and a rim level
_SIXTHS = tuple((math.cos(k * math.pi / 3.0), math.sin(k * math.pi / 3.0)) for k in range(6))


def half_space_point(a: HalfSpaceCore, b: PointCore, within: Any) -> Touching:
    """Return the contact of a half-space and a point; it exists if they are at most ``within`` [m] apart."""
    return Touching(a.normal, (*_under(a, within, (b.point,)),))


def half_space_segment(a: HalfSpaceCore, b: SegmentCore, within: Any) -> Touching:
    """Return the contacts of a half-space and both ends of a segment, if at most ``within`` [m] apart."""
    return Touching(a.normal, (*_under(a, within, (b.center + b.half, b.center - b.half)),))


def half_space_box(a: HalfSpaceCore, b: BoxCore, within: Any) -> Touching:
    """Return the contacts of a half-space and the corners of the box's face that is most parallel to its plane."""
    R = b.pose.rotation
    down = R.inv_act(-a.normal)
    half = tuple(b.half)
    sizes = [fabs(x) for x in down]
    corners = []
    over = where(le(sizes[1], sizes[0]), 0.0, 1.0)
    first = where(le(sizes[2], fmax(sizes[0], sizes[1])), over, 2.0)
    for i, j in ((1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0)):
        signs = []
        for k in range(3):
            ahead = where(lt(fabs(first - (k - 1) % 3), 0.5), i, j)  # the axis after the face's, or that after it
            signs.append(where(lt(fabs(first - k), 0.5), copysign(1.0, tuple(down)[k]), ahead))
        corners.append(b.pose.point(Vec3(*(h * s for h, s in zip(half, signs, strict=True)))))
    return Touching(a.normal, (*_under(a, within, corners),))


def half_space_cylinder(a: HalfSpaceCore, b: CylinderCore, within: Any) -> Touching:
    """Return the contacts of a half-space and a cylinder: seven points of its rims.

    They are the lowest point of both rims, and five further points of the lower rim, 60° apart.
    """
    rim, low, x, y = lowest_of_rim(a, b)
    opposite = b.pose.point(Vec3(b.radius * x, b.radius * y, -low))
    return Touching(a.normal, (*_under(a, within, (*rim, opposite)),))


def half_space_cone(a: HalfSpaceCore, b: ConeCore, within: Any) -> Touching:
    """Return the contacts of a half-space and a cone: its apex, and six points of its rim, 60° apart.

    One of the six is the rim's lowest point.
    """
    rim, _, _, _ = lowest_of_rim(a, b, -b.half)
    return Touching(a.normal, (*_under(a, within, (*rim, b.pose.point(Vec3(0.0, 0.0, b.half)))),))


def half_space_ellipsoid(a: HalfSpaceCore, b: EllipsoidCore, within: Any) -> Touching:
    """Return the contact of a half-space and the ellipsoid's lowest point."""
    return Touching(a.normal, (*_under(a, within, (support(b, -a.normal),)),))


def half_space_polytope(a: HalfSpaceCore, b: PolytopeCore, within: Any) -> Touching:
    """Return the contacts of a half-space and a polytope's vertices.

    If it has more than eight vertices, they are the corners of its lowest region, and the deepest vertex.
    """
    if len(b.vertices) <= CORNERS:
        return Touching(a.normal, (*_under(a, within, (b.pose.point(vertex) for vertex in b.vertices)),))
    around = [*_under(a, within, corners_along(b, -a.normal, a.normal))]
    (deepest,) = _under(a, within, (support(b, -a.normal),))
    return each_once(a.normal, around, deepest)


def lowest_of_rim(a: HalfSpaceCore, b: CylinderCore | ConeCore, at: Any = None) -> tuple[list[Vec3], Any, Any, Any]:
    """Return (points, z, x, y): six points of a rim that are 60° apart, the lowest point first.

    z is the rim's coordinate along the axis, (x, y) the direction of length 1 from the axis to the lowest point, both
    in the body's coordinates. The rim is at z = ``at``, or by default the lower one of the body's ends.
    """
    down = b.pose.rotation.inv_act(-a.normal)
    low = copysign(b.half, down.z) if at is None else at
    square = down.x * down.x + down.y * down.y
    tilted = lt(_UPRIGHT * _UPRIGHT, square)
    scale = 1.0 / sqrt(where(tilted, square, 1.0))
    x, y = where(tilted, down.x * scale, 1.0), where(tilted, down.y * scale, 0.0)
    r = b.radius
    rim = [b.pose.point(Vec3(r * (c * x - s * y), r * (s * x + c * y), low)) for c, s in _SIXTHS]
    return rim, low, x, y


def _under(a: HalfSpaceCore, within: Any, points: Iterable[Vec3]) -> Iterable[Contact]:
    for p in points:
        height = a.normal.dot(p - a.point)
        yield Contact(p - a.normal * height, p, -height, le(height, within))


ON_HALF_SPACES: dict[type, Callable[[HalfSpaceCore, Any, Any], Touching]] = {
    PointCore: half_space_point,
    SegmentCore: half_space_segment,
    BoxCore: half_space_box,
    CylinderCore: half_space_cylinder,
    ConeCore: half_space_cone,
    EllipsoidCore: half_space_ellipsoid,
    PolytopeCore: half_space_polytope,
}
"""Function of a half-space and a core by the core's type."""
