"""The points of bodies that are farthest in a direction, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...expr.functions import copysign, lt, sqrt, where
from ...spatial import Vec3
from ..cores import BoxCore, ConeCore, CylinderCore, EllipsoidCore, PointCore, PolytopeCore, SegmentCore

__all__ = ["farthest", "support"]

_NOTHING = 1e-300


def support(core: Any, n: Vec3) -> Vec3:
    """A point of a core where n · x is largest; n need not be of length 1."""
    if isinstance(core, PointCore):
        return core.point
    if isinstance(core, SegmentCore):
        forward = copysign(1.0, core.half.dot(n))
        return core.center + core.half * forward
    return core.pose.point(_LOCAL[type(core)](core, core.pose.rotation.inv_act(n)))


def _box(core: BoxCore, n: Vec3) -> Vec3:
    return Vec3(copysign(core.half.x, n.x), copysign(core.half.y, n.y), copysign(core.half.z, n.z))


def _outward(n: Vec3) -> tuple[Any, Any, Any]:
    """The part of n across z: its direction, 0 where there is none, and its length."""
    square = n.x * n.x + n.y * n.y
    known = lt(_NOTHING, square)
    length = sqrt(where(known, square, 1.0))
    scale = where(known, 1.0, 0.0) / length
    return n.x * scale, n.y * scale, where(known, length, 0.0)


def _cylinder(core: CylinderCore, n: Vec3) -> Vec3:
    x, y, _ = _outward(n)
    return Vec3(x * core.radius, y * core.radius, copysign(core.half, n.z))


def _cone(core: ConeCore, n: Vec3) -> Vec3:
    x, y, across = _outward(n)
    base = lt(2.0 * core.half * n.z, core.radius * across)
    radius = where(base, core.radius, 0.0)
    return Vec3(x * radius, y * radius, where(base, -core.half, core.half))


def _ellipsoid(core: EllipsoidCore, n: Vec3) -> Vec3:
    r = core.radii
    scaled = Vec3(r.x * n.x, r.y * n.y, r.z * n.z)
    square = scaled.dot(scaled)
    scale = 1.0 / sqrt(where(lt(_NOTHING, square), square, 1.0))
    return Vec3(r.x * scaled.x * scale, r.y * scaled.y * scale, r.z * scaled.z * scale)


def farthest(vertices: Sequence[Vec3], n: Vec3) -> Vec3:
    """The vertex that is farthest along n, the first of those that are as far: by rounds, two by two."""
    left: list[tuple[Any, Vec3]] = [(v.dot(n), v) for v in vertices]
    while len(left) > 1:
        rounds = []
        for (h, v), (k, w) in zip(left[::2], left[1::2], strict=False):
            other = lt(h, k)
            rounds.append((where(other, k, h), Vec3(*(where(other, y, x) for x, y in zip(v, w, strict=True)))))
        left = [*rounds, left[-1]] if len(left) % 2 else rounds
    return left[0][1]


def _polytope(core: PolytopeCore, n: Vec3) -> Vec3:
    return farthest(core.vertices, n)


_LOCAL = {
    BoxCore: _box,
    CylinderCore: _cylinder,
    ConeCore: _cone,
    EllipsoidCore: _ellipsoid,
    PolytopeCore: _polytope,
}
