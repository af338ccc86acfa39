"""Contact points of two shapes of any kind, including fields: points, and the normal at each.

`CONTACTS` has the functions for pairs of cores that may touch at more than one point; other pairs have one contact.

Height fields: every point of a solid that may be its lowest is in contact with the triangle below it: ends, corners,
vertices, and the lowest points of round rims.  Two indices select the triangle, so the cost of a point does not depend
on the field's size.  A point grown by a radius is in contact with the plane of the triangle below its centre, so facets
should be wider than the bodies on them.  A point that is farther below the surface than from the grid's edge is in
contact with the terrain's vertical wall there.  Bodies slide over an edge that is lower than a tenth of a cell.

Peaks and ridges of a field may also penetrate a body from below.  In each quadrant of grid points about the body's
centre, the deepest point counts, so there are four contacts, two of them on a ridge.  The number of candidates depends
on the shape and the field: all points that may be below it, at most 31 × 31.  A peak counts only if its contact normal
points away from all neighbouring points, some of which are lower.  So flat and concave terrain is in contact with the
body's own corners, and bodies do not catch on peaks that they are pushed across.  A ridge counts at its points only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.control import scan
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, not_, or_, where
from linkwork.geometry.contacts.contact_manifold import ON_HALF_SPACES, Contact, Touching, one_point
from linkwork.geometry.contacts.face_clipping import box_box, box_cylinder, outlines, segment_box
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    Core,
    CylinderCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    SignedDistance,
    Solid,
    bounding_sphere,
    core_in,
)
from linkwork.geometry.fields.field_dispatch import FIELDS, distance_of_shapes
from linkwork.geometry.fields.height_field import Ground, corner_at, ground_arrays, sides_of, surface_under
from linkwork.geometry.pairs import signed_distance
from linkwork.geometry.solids import solid
from linkwork.geometry.unit_vectors import choose
from linkwork.shapes import HeightField, Shape
from linkwork.spatial import Pose, Vec3

__all__ = ["CONTACTS", "contacts", "touching_shapes"]


def touching_shapes(a: Shape, X_a: Pose, b: Shape, X_b: Pose, within: Any) -> list[Touching]:
    """Return the contacts of two shapes, neither of them a compound, that are at most ``within`` [m] apart.

    Raises TypeError for an unsupported pair.
    """
    if type(a) is HeightField and type(b) not in FIELDS:
        ground = Ground(**ground_arrays(a))
        placed = Solid(core_in(X_a.inv(), solid(b, X_b).core), solid(b, X_b).radius)
        result = _on_ground(ground, placed, within)
        if not isinstance(placed.core, PointCore):
            result += peaks_below(ground, placed, points_below(b, a.spacing), within)
        return [_placed(X_a, touching) for touching in result]
    if type(b) is HeightField and type(a) not in FIELDS:
        return [touching.flipped() for touching in touching_shapes(b, X_b, a, X_a, within)]
    if type(a) in FIELDS or type(b) in FIELDS:
        return [one_point(distance_of_shapes(a, X_a, b, X_b)[0], within)]
    return [contacts(solid(a, X_a), solid(b, X_b), within)]


def _on_ground(ground: Ground, b: Solid, within: Any) -> list[Touching]:
    """Return the contacts of a solid's lowest points with the triangles below them, or with the walls at the edge."""
    result = []
    step = _LOW_EDGE * fmin(ground.grid[2], ground.grid[3])
    for p in _lowest(ground, b.core):
        inside, under, n = surface_under(ground, p)
        to_sides, outward, _ = sides_of(ground, p)
        height = n.dot(p - under)
        at_wall = and_(lt(p.z, under.z - step), lt(height, to_sides))
        normal, gap = choose(at_wall, outward, n), where(at_wall, to_sides, height)
        exists = or_(and_(at_wall, le(gap, b.radius + within)), and_(inside, not_(at_wall)))
        touching = Touching(normal, (Contact(p - normal * gap, p, -gap, exists),))
        result.append(touching.rounded(0.0, b.radius))
    return result


def _lowest(ground: Ground, core: Core) -> Sequence[Vec3]:
    """Return points of a core that include its lowest point for any slope."""
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


def _placed(X: Pose, touching: Touching) -> Touching:
    points = tuple(replace(p, on_a=X.point(p.on_a), on_b=X.point(p.on_b)) for p in touching.points)
    return Touching(X.rotation @ touching.normal, points)


_LOW_EDGE = 0.1  # of a cell's shorter side: height up to which the grid's edge is no wall
_MAX_POINTS = 15  # to each side of the centre
_QUARTERS = ((-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0))
_AROUND = ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1))  # neighbours of a point by triangles
_FAR = 1e9  # [m]
_RISE = 0.05  # sine of the slope to a neighbour below which the neighbour counts as level


def points_below(shape: Shape, spacing: Sequence[float]) -> tuple[int, int]:
    """Return the numbers of grid points along x and y that a shape may cover on each side of its centre.

    The numbers follow from the shape's `origin_radius` and the grid's ``spacing`` [m], up to a maximum.
    """
    reach = math.inf if shape.origin_radius is None else shape.origin_radius  # from its origin
    x, y = (_MAX_POINTS if reach > _MAX_POINTS * s else math.ceil(reach / s) for s in spacing)
    return x, y


def peaks_below(ground: Ground, b: Solid, counts: tuple[int, int], within: Any) -> list[Touching]:
    """Return up to four contacts of a solid with a terrain's grid points, one for each quadrant around its centre.

    Each contact is at the nearest grid point of its quadrant, and exists if that point is at most ``within`` [m] from
    the solid.  The solid is in the field's coordinates.  ``counts`` are the numbers of grid points along x and y that
    are checked on each side of the solid's centre.
    """
    around = bounding_sphere(b.core)
    x0, y0, dx, dy = ground.grid[:4]
    middle = [floor((around.center.x - x0) / dx + 0.5), floor((around.center.y - y0) / dy + 0.5)]
    i0, j0 = stop_gradient(middle)
    result = []
    for side_x, side_y in _QUARTERS:
        # the first quadrant of each side includes the centre
        steps = [(i, j) for i in range(side_x > 0.0, counts[0] + 1) for j in range(side_y > 0.0, counts[1] + 1)]
        offsets = [[side_x * i, side_y * j] for i, j in steps]

        def nearer(best: tuple[Any, Any, Any], offset: Any) -> tuple[tuple[Any, Any, Any], None]:
            i, j = i0 + offset[0], j0 + offset[1]
            p = corner_at(ground, *_clamped(ground, i, j))
            apart = where(_on(ground, i, j), signed_distance(Solid(PointCore(p)), b).distance, _FAR)
            less = lt(apart, best[0])
            return (where(less, apart, best[0]), where(less, i, best[1]), where(less, j, best[2])), None

        (_, i, j), _ = scan(nearer, (_FAR, i0, j0), offsets)
        i, j = stop_gradient([i, j])
        on = _on(ground, i, j)
        i, j = _clamped(ground, i, j)
        p = corner_at(ground, i, j)
        near = signed_distance(Solid(PointCore(p)), b)
        exists = and_(on, le(near.distance, within))
        falls: Any = 0.0
        for a, c in _AROUND:
            edge = corner_at(ground, *_clamped(ground, i + a, j + c)) - p
            rises, least = near.normal.dot(edge), _RISE * _RISE * edge.dot(edge)
            exists = and_(exists, le(rises * fabs(rises), least))
            falls = fmax(falls, where(lt(rises * fabs(rises), -least), 1.0, 0.0))
        exists = and_(exists, lt(0.5, falls))
        result.append(Touching(near.normal, (Contact(near.on_a, near.on_b, -near.distance, exists),)))
    return result


def _on(ground: Ground, i: Any, j: Any) -> Any:
    cells_x, cells_y = ground.grid[4:6]
    return and_(and_(le(0.0, i), le(i, cells_x)), and_(le(0.0, j), le(j, cells_y)))


def _clamped(ground: Ground, i: Any, j: Any) -> tuple[Any, Any]:
    cells_x, cells_y = ground.grid[4:6]
    return fmin(fmax(i, 0.0), cells_x), fmin(fmax(j, 0.0), cells_y)


_BY_OUTLINES = (
    (PolytopeCore, PolytopeCore),
    (PolytopeCore, BoxCore),
    (PolytopeCore, ConeCore),
    (PolytopeCore, CylinderCore),
    (PolytopeCore, SegmentCore),
    (ConeCore, BoxCore),
    (ConeCore, ConeCore),
    (ConeCore, CylinderCore),
    (ConeCore, SegmentCore),
    (CylinderCore, CylinderCore),
    (CylinderCore, SegmentCore),
)
CONTACTS: Mapping[tuple[type, type], Callable[[Any, Any, SignedDistance, Any], Touching]] = {
    (BoxCore, BoxCore): box_box,
    (SegmentCore, BoxCore): segment_box,
    (BoxCore, CylinderCore): box_cylinder,
    **dict.fromkeys(_BY_OUTLINES, outlines),
}
"""Function of two cores, their signed distance and the maximum distance, by the cores' types in one of both orders."""


def contacts(a: Solid, b: Solid, within: Any = 0.0) -> Touching:
    """Return the contacts of two solids that are at most ``within`` [m] apart, over any scalar.

    Raises TypeError for an unsupported pair, such as two half-spaces.
    """
    kinds = type(a.core), type(b.core)
    grown = within + a.radius + b.radius
    if isinstance(a.core, HalfSpaceCore) and kinds[1] in ON_HALF_SPACES:
        result = ON_HALF_SPACES[kinds[1]](a.core, b.core, grown)
    elif kinds in CONTACTS:
        result = CONTACTS[kinds](a.core, b.core, signed_distance(Solid(a.core), Solid(b.core)), grown)
    elif (isinstance(b.core, HalfSpaceCore) and kinds[0] in ON_HALF_SPACES) or kinds[::-1] in CONTACTS:
        return contacts(b, a, within).flipped()
    else:
        return one_point(signed_distance(a, b), within)
    return result.rounded(a.radius, b.radius)
