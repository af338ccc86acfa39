"""Distance of a point from a core that it should be in: the proof that a witness point is one."""

from __future__ import annotations

from typing import Any

from linkwork.expr.scalar.functions import fabs, fmax, fmin, lt, or_, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    SegmentCore,
)
from linkwork.geometry.pairs.convex.minkowski_difference import length_of
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import Vec3

__all__ = ["outside"]

_FLAT = 1e-20  # the square of the height of a triangle that is an edge, relative to its longest side
_THIN = 1e-15  # [m] radii are no smaller than that


def outside(core: Any, p: Vec3, points: tuple[Vec3, ...], weights: tuple[Any, ...]) -> Any:
    """Return a bound on how far a point is out of a core [m]: 0 inside, and exact to first order beside its faces.

    A polytope is represented by up to three of its points, those whose weight is positive.
    """
    if isinstance(core, PointCore):
        away = p - core.point
        return fmax(fabs(away.x), fmax(fabs(away.y), fabs(away.z)))
    if isinstance(core, SegmentCore):
        along = (p - core.center).dot(core.half) / length_of(core.half)
        off = p - core.center - core.half * where(lt(fabs(along), 1.0), along, where(lt(along, 0.0), -1.0, 1.0))
        return sqrt(off.dot(off))
    if isinstance(core, (BoxCore, CylinderCore, ConeCore, EllipsoidCore)):
        x = core.pose.inv().point(p)
        if isinstance(core, BoxCore):
            over = [fabs(u) - most for u, most in zip(x, core.half, strict=True)]
            return fmax(fmax(over[0], over[1]), fmax(over[2], 0.0))
        if isinstance(core, EllipsoidCore):
            radii = [fmax(r, _THIN) for r in core.radii]
            scaled = Vec3(*(u / r for u, r in zip(x, radii, strict=True)))
            steep = Vec3(*(u / r for u, r in zip(scaled, radii, strict=True)))
            square = scaled.dot(scaled)
            return fmax(square - 1.0, 0.0) / (2.0 * sqrt(length_of(steep)))
        across = sqrt(x.x * x.x + x.y * x.y)
        if isinstance(core, CylinderCore):
            return fmax(fmax(across - core.radius, fabs(x.z) - core.half), 0.0)
        slant = sqrt(length_of(Vec3(core.radius, 2.0 * core.half, 0.0)))
        side = (2.0 * core.half * across - core.radius * (core.half - x.z)) / slant
        return fmax(fmax(side, fabs(x.z) - core.half), 0.0)
    return _from_triangle(p, points, weights)


def _from_triangle(p: Vec3, points: tuple[Vec3, ...], weights: tuple[Any, ...]) -> Any:
    """The distance of p, which is about in its plane, from a point of a triangle, an edge or a point."""
    there = [lt(0.0, weight) for weight in weights]
    first = choose(there[0], points[0], choose(there[1], points[1], points[2]))
    u, w = (choose(known, q, first) - first for known, q in zip(there[1:], points[1:], strict=True))
    way = p - first
    n = u.cross(w)
    nn, uu, ww = n.dot(n), u.dot(u), w.dot(w)
    one = lt(ww, uu)  # the longer edge, if that is all
    most = where(one, uu, ww)
    wide = lt(_FLAT * (most * most), nn)
    scale = 1.0 / where(wide, nn, where(lt(0.0, most), most, 1.0))
    s, t = where(wide, n.dot(way.cross(w)), where(one, way.dot(u), 0.0)), where(wide, n.dot(u.cross(way)), 0.0)
    t = where(or_(wide, one), t, way.dot(w))
    s = fmin(fmax(s * scale, 0.0), 1.0)
    t = fmin(fmax(t * scale, 0.0), 1.0 - s)
    off = way - u * s - w * t
    return sqrt(off.dot(off))
