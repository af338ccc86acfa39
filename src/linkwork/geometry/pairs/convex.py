"""Any two convex bodies that have no closed form: by the support functions of both."""

from __future__ import annotations

from typing import Any

from ...expr.functions import and_, lt, or_, sqrt, where
from ...spatial import Vec3
from ..cores import Core
from ..distance import SignedDistance
from .cones import deepest
from .difference import Difference, chosen, length_of
from .simplex import Simplex, nearest

__all__ = ["convex"]


def convex(a: Core, b: Core) -> SignedDistance:
    """Of two bounded cores."""
    difference = Difference.of(a, b)
    s = nearest(difference)
    distance, normal, on_a = _apart(s)
    found = deepest(difference, (*s.p, s.w), s.inside)
    distance = where(s.inside, -found.depth, distance)
    normal = chosen(s.inside, found.n, normal)
    return difference.seen_outside(SignedDistance(distance, normal, on_a, on_a, 1.0))


def _apart(s: Simplex) -> tuple[Any, Vec3, Vec3]:
    """Distance, normal from A to B, and the point on A, of what was found: by the plane of three points, the line of
    two, or one."""
    x, y, z = (lt(0.0, weight) for weight in s.weights)
    origin = chosen(x, s.p[0], chosen(y, s.p[1], s.p[2]))
    other = chosen(and_(x, y), s.p[1], s.p[2])
    plane = (s.p[1] - s.p[0]).cross(s.p[2] - s.p[0])
    edge = other - origin
    line = origin - edge * (origin.dot(edge) / length_of(edge))
    line = chosen(or_(and_(x, y), or_(and_(x, z), and_(y, z))), line, origin)
    inside = and_(x, and_(y, z))
    backward = lt(plane.dot(s.v), 0.0)
    n = chosen(inside, chosen(backward, -plane, plane), line)
    n = n * (1.0 / sqrt(length_of(n)))
    distance = n.dot(origin)
    on_a = s.a[0] * s.weights[0] + s.a[1] * s.weights[1] + s.a[2] * s.weights[2]
    return distance, -n, on_a
