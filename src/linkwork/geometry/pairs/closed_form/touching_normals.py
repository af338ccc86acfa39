"""Normals of bodies that are sums of segments (points, segments, boxes) where their nearest points almost coincide.

The vector between the nearest points has rounding errors, so its direction is inaccurate for bodies that touch.  The
normal n of a signed distance obeys conditions that do not depend on the length of this vector: the nearest points are
support points along n and −n.  A body is c + Σ λ_i e_i with |λ_i| ≤ 1, and its support points along n have
λ_i n · e_i = |n · e_i|.  The excess |n · e_i| − λ_i n · e_i is then zero: n is orthogonal to an edge if its point is
between both ends, and on the outer side of the edge if its point is at an end.

The direction is projected onto the plane orthogonal to the edge of the largest excess.  If another edge then has an
excess, the normal is orthogonal to both.  The same holds for the cone of all normals at the nearest points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, copysign, fabs, le, lt, sqrt, where
from linkwork.geometry.unit_vectors import TINY, choose, clamp, unit
from linkwork.spatial import Vec3

__all__ = ["AXES", "almost_touch", "box_edges", "normal_of_largest_gap", "normal_of_touching"]

_TOUCHING = by_type(1e-12)  # square of the distance, relative to the size, below which its direction is inaccurate
_ROUNDING = by_type(1e-31)  # square of an excess, relative to the size, below which it is a rounding error
_ROUNDING_OF_GAPS = by_type(1e-15)  # difference of gaps, relative to the size, below which it is a rounding error
_END = by_type(1e-15)  # 1 − |λ| below which a point is at an end
_FIRST = 1e30  # factor of squares that precede others

AXES = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)


def almost_touch(square: Any, size: Any) -> Any:
    """Return True if the direction between nearest points is inaccurate, by the squares of distance and size [m²]."""
    return le(square, _TOUCHING * size)


def normal_of_touching(between: Vec3, edges: Sequence[tuple[Vec3, Any]], size: Any, otherwise: Vec3) -> Vec3:
    """Return the normal, of any length, of two bodies with the vector ``between`` from A's nearest point to B's.

    ``edges`` are (e, λ) for A and (e, −λ) for B, with λ of the nearest point.  ``size`` is a squared length of the
    bodies [m²].  If the points coincide, the normal is along ``otherwise``, a vector that is not zero.
    """
    square = between.dot(between)
    n = choose(lt(TINY, square), between, otherwise)
    inexact, e = _largest_excess(n, edges, size)
    along = e.cross(n.cross(e))
    n = choose(inexact, choose(lt(TINY, along.dot(along)), along, otherwise), n)
    excessive, f = _largest_excess(n, edges, size)
    across = e.cross(f)
    slanted = across.dot(across)  # their direction is more accurate than `between` if the sine of their angle is larger
    close = lt(square * (e.dot(e) * f.dot(f)), slanted * size)
    across = e.cross(across.cross(e)) * copysign(1.0, across.dot(between))
    return choose(and_(and_(inexact, excessive), and_(close, lt(TINY, across.dot(across)))), across, n)


def normal_of_largest_gap(
    between: Vec3, edges: Sequence[tuple[Vec3, Any]], size: Any, facet: Vec3, gap: Any, center: Vec3
) -> Vec3:
    """Return the normal of two bodies that almost touch: `normal_of_touching`, or ``facet`` if its ``gap`` is larger.

    ``center`` is the vector from A's center to B's.
    """
    n = unit(normal_of_touching(between, edges, size, facet))
    gap_along = n.dot(center)
    for e, _ in edges:
        gap_along = gap_along - fabs(n.dot(e))
    return choose(le(gap - _ROUNDING_OF_GAPS * sqrt(size), gap_along), n, facet)


def box_edges(axes: Sequence[Vec3], half: Vec3, point: Vec3) -> list[tuple[Vec3, Any]]:
    """Return (e, λ) of the three edges of a box at one of its points, which is relative to the box's center."""
    sizes = [where(lt(0.0, h), h, 1.0) for h in half]
    return [(e * h, clamp(e.dot(point) / size, 1.0)) for e, h, size in zip(axes, half, sizes, strict=True)]


def _largest_excess(n: Vec3, edges: Sequence[tuple[Vec3, Any]], size: Any) -> tuple[Any, Vec3]:
    """Return True if |n · e| − λ n · e of an edge is more than rounding errors, and the edge of the largest excess.

    Edges with |λ| < 1, to which n is orthogonal, precede others.
    """
    bound = _ROUNDING * size * n.dot(n)
    most, (worst, _) = 0.0 * bound, edges[0]
    for e, position in edges:
        x = n.dot(e)
        excess = fabs(x) - position * x
        square = excess * excess
        key = where(lt(bound, square), where(lt(_END, 1.0 - fabs(position)), _FIRST * square, square), 0.0)
        larger = lt(most, key)
        most, worst = where(larger, key, most), choose(larger, e, worst)
    return lt(0.0, most), worst
