"""Distances of triangles, which have no interior, to cores: closed forms for points and segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, sqrt, where
from linkwork.geometry.cores import Core, PointCore, PolytopeCore, SegmentCore, SignedDistance, Solid, chosen
from linkwork.geometry.pairs import segment_segment, signed_distance
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import towards
from linkwork.geometry.unit_vectors import TINY, choose
from linkwork.spatial import Pose, Vec3

__all__ = ["Corners", "nearest_on_triangle", "triangle_distance"]

_APART = by_type(1e-18)  # [m²] minimum squared distance of distinct points
_PARALLEL = by_type(1e-14)
Corners = Sequence[Vec3]


def nearest_on_triangle(corners: Corners, p: Vec3) -> tuple[Vec3, Vec3]:
    """Return the point of a triangle nearest to p, in its plane or on one of its edges, and the vector from it to p.

    The vector is orthogonal to the triangle, or to the edge, to rounding also if p is almost on it.
    """
    normal = _normal(corners)
    square = normal.dot(normal)
    known = lt(TINY, square)
    upright = normal * (normal.dot(p - corners[0]) / where(known, square, 1.0))
    inside: Any = known
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        inside = and_(inside, le(0.0, (b - a).cross(p - a).dot(normal)))
    least: Any = None
    on_edge, beside = p, Vec3.zero()
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        edge = b - a
        length = edge.dot(edge)
        inverse = 1.0 / where(lt(TINY, length), length, 1.0)
        s = (p - a).dot(edge) * inverse
        t = fmin(fmax(s, 0.0), 1.0)
        on_line, between = a + edge * t, edge.cross((p - a).cross(edge)) * inverse + edge * (s - t)
        between = choose(lt(TINY, length), between, p - a)
        away = between.dot(between)
        if least is None:
            least, on_edge, beside = away, on_line, between
            continue
        better = lt(away, least)
        least = where(better, away, least)
        on_edge, beside = choose(better, on_line, on_edge), choose(better, between, beside)
    return choose(inside, p - upright, on_edge), choose(inside, upright, beside)


def triangle_distance(corners: Corners, core: Core) -> SignedDistance:
    """Compute the distance of a triangle to a core; it is zero, with the triangle's normal, for a crossing segment."""
    if isinstance(core, PointCore):
        return _triangle_point(corners, core.point)
    if isinstance(core, SegmentCore):
        return _triangle_segment(corners, core)
    return signed_distance(Solid(PolytopeCore(Pose.identity(), tuple(corners))), Solid(core))


def _triangle_point(corners: Corners, p: Vec3) -> SignedDistance:
    nearest, between = nearest_on_triangle(corners, p)
    return towards(nearest, p, between, 0.0, _normal(corners))


def _triangle_segment(corners: Corners, core: SegmentCore) -> SignedDistance:
    """Return the signed distance of a triangle to a segment: 0 if they cross.

    Otherwise it is the minimum of the distances of the triangle's edges to the segment and of the segment's ends to
    the triangle.
    """
    start, end = core.center - core.half, core.center + core.half
    result = _triangle_point(corners, start)
    for candidate in (
        _triangle_point(corners, end),
        *(segment_segment(SegmentCore((a + b) * 0.5, (b - a) * 0.5), core)
          for a, b in zip(corners, (*corners[1:], corners[0]), strict=True)),
    ):  # fmt: skip
        tie = and_(le(candidate.distance, result.distance), le(result.distance, candidate.distance))
        better = chosen(lt(candidate.distance, result.distance), candidate, result)
        gap = candidate.on_a - result.on_a
        two = and_(tie, lt(_APART, gap.dot(gap)))
        result = SignedDistance(
            better.distance, better.normal, better.on_a, better.on_b, where(two, 0.0, better.unique)
        )
    normal = _normal(corners)
    square = normal.dot(normal)
    up, down = normal.dot(start - corners[0]), normal.dot(end - corners[0])
    steep = lt(_PARALLEL * square, (up - down) * (up - down))
    t = up / where(steep, up - down, 1.0)
    crossing = start + (end - start) * t
    inside = and_(steep, and_(le(0.0, t), le(t, 1.0)))
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        inside = and_(inside, le(0.0, (b - a).cross(crossing - a).dot(normal)))
    length = sqrt(where(lt(TINY, square), square, 1.0))
    unit = normal * (1.0 / length)
    return chosen(inside, SignedDistance(0.0 * t, unit, crossing, crossing, 1.0 + 0.0 * t), result)


def _normal(corners: Corners) -> Vec3:
    a, b, c = corners
    return (b - a).cross(c - a)
