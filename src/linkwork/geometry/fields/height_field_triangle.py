"""Triangles, which have no inside, against cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, sqrt, where
from linkwork.geometry.cores import Core, PointCore, PolytopeCore, SegmentCore, Solid
from linkwork.geometry.cores_placed import chosen
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.pairs import segment_segment, signed_distance
from linkwork.geometry.pairs.closed_form.point_pairs import towards
from linkwork.geometry.unit_vectors import NOTHING, choose
from linkwork.spatial import Pose, Vec3

__all__ = ["nearest_on_triangle", "triangle_distance"]

_PARALLEL = 1e-14

Corners = Sequence[Vec3]


def nearest_on_triangle(corners: Corners, p: Vec3) -> Vec3:
    """The point of a triangle that is nearest to p: its foot on the plane, or on one of the three edges."""
    normal = _normal(corners)
    square = normal.dot(normal)
    known = lt(NOTHING, square)
    best = p - normal * (normal.dot(p - corners[0]) / where(known, square, 1.0))
    inside: Any = known
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        inside = and_(inside, le(0.0, (b - a).cross(p - a).dot(normal)))
    least: Any = None
    on_edge = p
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        edge = b - a
        length = edge.dot(edge)
        t = fmin(fmax((p - a).dot(edge) / where(lt(NOTHING, length), length, 1.0), 0.0), 1.0)
        here = a + edge * t
        away = (p - here).dot(p - here)
        if least is None:
            least, on_edge = away, here
            continue
        better = lt(away, least)
        least, on_edge = where(better, away, least), choose(better, here, on_edge)
    return choose(inside, best, on_edge)


def triangle_distance(corners: Corners, core: Core) -> SignedDistance:
    """From a triangle to a core; where a segment crosses it, the distance is zero and the normal the triangle's."""
    if isinstance(core, PointCore):
        return towards(nearest_on_triangle(corners, core.point), core.point, 0.0, _normal(corners))
    if isinstance(core, SegmentCore):
        return _triangle_segment(corners, core)
    return signed_distance(Solid(PolytopeCore(Pose.identity(), tuple(corners))), Solid(core))


def _triangle_segment(corners: Corners, core: SegmentCore) -> SignedDistance:
    """The least over edges and ends, unless they cross."""
    start, end = core.center - core.half, core.center + core.half
    found = towards(nearest_on_triangle(corners, start), start, 0.0, _normal(corners))
    for other in (
        towards(nearest_on_triangle(corners, end), end, 0.0, _normal(corners)),
        *(segment_segment(SegmentCore((a + b) * 0.5, (b - a) * 0.5), core)
          for a, b in zip(corners, (*corners[1:], corners[0]), strict=True)),
    ):  # fmt: skip
        tie = and_(le(other.distance, found.distance), le(found.distance, other.distance))
        better = chosen(lt(other.distance, found.distance), other, found)
        gap = other.on_a - found.on_a
        two = and_(tie, lt(1e-18, gap.dot(gap)))
        found = SignedDistance(better.distance, better.normal, better.on_a, better.on_b, where(two, 0.0, better.unique))
    normal = _normal(corners)
    square = normal.dot(normal)
    up, down = normal.dot(start - corners[0]), normal.dot(end - corners[0])
    steep = lt(_PARALLEL * square, (up - down) * (up - down))
    t = up / where(steep, up - down, 1.0)
    here = start + (end - start) * t
    inside = and_(steep, and_(le(0.0, t), le(t, 1.0)))
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        inside = and_(inside, le(0.0, (b - a).cross(here - a).dot(normal)))
    length = sqrt(where(lt(NOTHING, square), square, 1.0))
    unit = normal * (1.0 / length)
    return chosen(inside, SignedDistance(0.0 * t, unit, here, here, 1.0 + 0.0 * t), found)


def _normal(corners: Corners) -> Vec3:
    a, b, c = corners
    return (b - a).cross(c - a)
