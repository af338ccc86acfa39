"""Where two shapes of any kind touch, fields included: points, each with the normal there.

On a height field every point of a solid that may be its lowest has the triangle under it: its ends, corners, vertices,
and of what is round the lowest points of its rims.  Two numbers look up the triangle, so a point costs the same on any
field.  A point that is grown by a radius meets the plane of the triangle under its middle: facets should be wider than
what stands on them.  What has an extent is met by the field's own points, too (`peaks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linkwork.geometry.contacts.contact_dispatch import contacts
from linkwork.geometry.contacts.contact_manifold import Contact, Touching, one_point
from linkwork.geometry.contacts.half_space_contacts import ON_HALF_SPACES
from linkwork.geometry.contacts.shape_contacts_peaks import peaks_below, points_below
from linkwork.geometry.cores import BoxCore, Core, HalfSpaceCore, PointCore, PolytopeCore, Solid
from linkwork.geometry.cores_placed import core_in
from linkwork.geometry.fields.field_dispatch import FIELDS, distance_of_shapes
from linkwork.geometry.fields.height_field import Ground, ground_arrays, surface_under
from linkwork.geometry.solids import solid
from linkwork.shapes import HeightField, Shape
from linkwork.spatial import Pose, Vec3

__all__ = ["touching_shapes"]


def touching_shapes(a: Shape, X_a: Pose, b: Shape, X_b: Pose, within: Any) -> list[Touching]:
    """The points of two shapes, neither of them a compound, that are no farther apart than ``within`` [m].

    Raises TypeError for a pair that nothing measures.
    """
    if type(a) is HeightField and type(b) not in FIELDS:
        ground = Ground(**ground_arrays(a))
        placed = Solid(core_in(X_a.inv(), solid(b, X_b).core), solid(b, X_b).radius)
        found = _on_ground(ground, placed)
        if not isinstance(placed.core, PointCore):
            found += peaks_below(ground, placed, points_below(b, a.spacing), within)
        return [_placed(X_a, one) for one in found]
    if type(b) is HeightField and type(a) not in FIELDS:
        return [one.flipped() for one in touching_shapes(b, X_b, a, X_a, within)]
    if type(a) in FIELDS or type(b) in FIELDS:
        return [one_point(distance_of_shapes(a, X_a, b, X_b)[0], within)]
    return [contacts(solid(a, X_a), solid(b, X_b), within)]


def _on_ground(ground: Ground, b: Solid) -> list[Touching]:
    found = []
    for p in _lowest(ground, b.core):
        inside, under, n = surface_under(ground, p)
        height = n.dot(p - under)
        one = Touching(n, (Contact(p - n * height, p, -height, inside),))
        found.append(one.rounded(0.0, b.radius))
    return found


def _lowest(ground: Ground, core: Core) -> Sequence[Vec3]:
    """The points of a core one of which is the lowest on any slope."""
    signs = (1.0, -1.0)
    if isinstance(core, BoxCore):
        corners = [Vec3(core.half.x * i, core.half.y * j, core.half.z * k) for i in signs for j in signs for k in signs]
        return [core.pose.point(corner) for corner in corners]
    if isinstance(core, PolytopeCore):
        return [core.pose.point(vertex) for vertex in core.vertices]
    middle = core.pose.translation if hasattr(core, "pose") else None
    n = Vec3(0.0, 0.0, 1.0) if middle is None else surface_under(ground, middle)[2]
    plane = HalfSpaceCore(Vec3.zero() if middle is None else middle, n)
    return [point.on_b for point in ON_HALF_SPACES[type(core)](plane, core, 0.0).points]


def _placed(X: Pose, one: Touching) -> Touching:
    points = tuple(replace(p, on_a=X.point(p.on_a), on_b=X.point(p.on_b)) for p in one.points)
    return Touching(X.rotation @ one.normal, points)
