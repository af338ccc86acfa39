"""Distance fields: trilinear interpolation on a grid, extrapolation beyond it, and distances to cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from linkwork.expr.control import scan, take
from linkwork.expr.scalar.functions import floor, fmax, fmin, lt, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    Core,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    SegmentCore,
    SignedDistance,
    Solid,
    bounding_sphere,
)
from linkwork.geometry.unit_vectors import TINY
from linkwork.shapes import DistanceField, Shape
from linkwork.spatial import Pose, Vec3

__all__ = ["Voxels", "distance_slope", "interpolated", "voxel_arrays", "voxel_distance", "voxel_reach"]

_ALONG = 8  # balls along a segment
_ACROSS = 3  # balls along each edge of a box


@dataclass(frozen=True, slots=True)
class Voxels:
    """Arrays of a distance field, over any scalar; values beyond the used cells are padding."""

    values: Any  # (l, m, n) [m]
    grid: Any  # (9,): origin x, y, z [m], spacing x, y, z [m], used cells along x, y, z


def voxel_arrays(field: DistanceField, capacity: tuple[int, int, int] | None = None) -> Mapping[str, np.ndarray]:
    """Return the arrays of a distance field, of its own size or padded to a capacity.

    Raises ValueError if the capacity is too small.
    """
    shape = field.values.shape
    capacity = shape if capacity is None else capacity
    if any(c < n for c, n in zip(capacity, shape, strict=True)):
        raise ValueError(f"distance field: capacity: expected at least {shape}, got {capacity}")
    values = np.pad(field.values, [(0, c - n) for c, n in zip(capacity, shape, strict=True)], mode="edge")
    return {"values": values, "grid": np.array([*field.origin, *field.spacing, *(n - 1.0 for n in shape)])}


def interpolated(field: Voxels, p: Vec3) -> tuple[Any, Vec3]:
    """Return the distance of a point and its gradient by trilinear interpolation.

    Outside the grid, the result is a lower bound if all shapes are inside the grid: with the grid's nearest point c at
    the distance r, it is √(r² + d(c)²), or d(c) + r if d(c) < 0.
    """
    x0, y0, z0, dx, dy, dz, *cells = field.grid
    raw = [(p.x - x0) / dx, (p.y - y0) / dy, (p.z - z0) / dz]
    u = [fmin(fmax(x, 0.0), n) for x, n in zip(raw, cells, strict=True)]
    first = [fmin(floor(x), n - 1.0) for x, n in zip(u, cells, strict=True)]
    t = [x - i for x, i in zip(u, first, strict=True)]
    _, m, n = field.values.shape
    values = field.values.reshape(-1)
    index = (first[0] * m + first[1]) * n + first[2]
    corner = {k: take(values, index + float((k[0] * m + k[1]) * n + k[2])) for k in product((0, 1), repeat=3)}
    along_z = {(i, j): (corner[i, j, 0], corner[i, j, 1] - corner[i, j, 0]) for i, j in product((0, 1), repeat=2)}
    line = {k: (a + b * t[2], b) for k, (a, b) in along_z.items()}
    rows = {i: (line[i, 0], line[i, 1]) for i in (0, 1)}
    mixed = {i: a[0] + (b[0] - a[0]) * t[1] for i, (a, b) in rows.items()}
    across = {i: b[0] - a[0] for i, (a, b) in rows.items()}
    steep = {i: a[1] + (b[1] - a[1]) * t[1] for i, (a, b) in rows.items()}
    d = mixed[0] + (mixed[1] - mixed[0]) * t[0]
    gradient = [
        (mixed[1] - mixed[0]) / dx,
        (across[0] + (across[1] - across[0]) * t[0]) / dy,
        (steep[0] + (steep[1] - steep[0]) * t[0]) / dz,
    ]
    away = Vec3(*((x - y) * h for x, y, h in zip(raw, u, (dx, dy, dz), strict=True)))
    square = away.dot(away)
    beyond = lt(0.0, square)
    r = sqrt(where(beyond, square, 1.0))
    positive = lt(0.0, d)
    far = sqrt(where(beyond, square, 1.0) + d * d)
    apart = where(positive, far, d + r)
    inside = (where(lt(0.0, x * x), 0.0, g) for x, g in zip(away, gradient, strict=True))
    inner = where(positive, d / far, 1.0)
    outer = where(positive, 1.0 / far, 1.0 / r)
    slope = (where(beyond, g * inner + x * outer, full)
             for g, x, full in zip(inside, away, gradient, strict=True))  # fmt: skip
    return where(beyond, apart, d), Vec3(*slope)


def distance_slope(shape: Shape, *, moves: bool) -> float:
    """Return a bound on the change of a shape's distances per displacement, of itself or of the other shape.

    It is 1 except for distance fields. Their values between the grid's points change by up to √3 per displacement, and
    more if these values are not distances. Values at points beyond the grid follow those on its faces, so they change
    faster if the field ``moves``.
    """
    if not isinstance(shape, DistanceField):
        return 1.0
    values, squares = shape.values, 0.0
    for axis, spacing in enumerate(shape.spacing):
        largest = np.abs(np.diff(values, axis=axis)) / spacing
        for across in {0, 1, 2} - {axis}:
            low, high = (np.delete(largest, k, axis=across) for k in (-1, 0))
            largest = np.maximum(low, high)
        squares = squares + largest**2
    result = max(1.0, float(np.sqrt(np.max(squares))))
    if _lowest_on_faces(shape) < 0.0:  # beyond such a face the distance to the grid is added
        result = float(np.hypot(1.0, result))
    return result * (2.0 + float(np.abs(values).max()) / shape.origin_radius) if moves else result


def voxel_reach(shape: DistanceField) -> float:
    """Return the radius [m] of a sphere about a field's origin.

    Outside the sphere, values are at least the distance from the sphere.
    """
    return shape.origin_radius + max(0.0, -_lowest_on_faces(shape))


def _lowest_on_faces(shape: DistanceField) -> float:
    return min(float(np.take(shape.values, (0, -1), axis=axis).min()) for axis in range(3))


def voxel_distance(field: Voxels, b: Solid) -> SignedDistance:
    """Compute the signed distance from a field to a bounded convex solid, both in the field's coordinates.

    For a sphere it is the interpolated distance of the centre minus the radius.  Other cores are covered by balls, and
    the result is the minimum over these.  It is too small by at most the balls' radius: an eighth of a segment's half
    length, and a third of the half diagonal of other cores' boxes.
    """
    core = b.core
    if isinstance(core, PointCore):
        return _at(field, core.point).rounded(0.0, b.radius)
    if isinstance(core, SegmentCore):
        steps = (np.arange(_ALONG) + 0.5) * (2.0 / _ALONG) - 1.0
        offsets = np.column_stack([steps, 0.0 * steps, 0.0 * steps])
        frame, ball = _along(core), sqrt(core.half.dot(core.half)) / _ALONG
    else:
        steps = (np.arange(_ACROSS) + 0.5) * (2.0 / _ACROSS) - 1.0
        offsets = np.array([*product(steps, repeat=3)])
        pose, half = _box_around(core)
        frame = lambda k: pose.point(Vec3(half.x * k[0], half.y * k[1], half.z * k[2]))  # noqa: E731
        ball = sqrt(half.dot(half)) / _ACROSS

    def step(best: tuple[Any, Any], row: Any) -> tuple[Any, None]:
        p = frame(row)
        d = interpolated(field, p)[0]
        better = lt(d, best[0])
        return (where(better, d, best[0]), tuple(where(better, x, y) for x, y in zip(p, best[1], strict=True))), None

    first = frame(offsets[0])
    (_, nearest), _ = scan(step, (interpolated(field, first)[0], (first.x, first.y, first.z)), offsets[1:])
    return _at(field, Vec3(*nearest)).rounded(0.0, ball + b.radius)


def _at(field: Voxels, p: Vec3) -> SignedDistance:
    """Return the signed distance of a point, with the gradient's direction as normal."""
    d, slope = interpolated(field, p)
    square = slope.dot(slope)
    known = lt(TINY, square)
    scale = 1.0 / sqrt(where(known, square, 1.0))
    normal = Vec3(*(where(known, x * scale, y) for x, y in zip(slope, (0.0, 0.0, 1.0), strict=True)))
    return SignedDistance(d, normal, p - normal * d, p, where(known, 1.0, 0.0))


def _along(core: SegmentCore) -> Any:
    return lambda k: core.center + core.half * k[0]


def _box_around(core: Core) -> tuple[Pose, Vec3]:
    """Return pose and half edges of a box that contains the core, in the core's axes."""
    if isinstance(core, BoxCore):
        return core.pose, core.half
    if isinstance(core, (CylinderCore, ConeCore)):
        return core.pose, Vec3(core.radius, core.radius, core.half)
    if isinstance(core, EllipsoidCore):
        return core.pose, core.radii
    around = bounding_sphere(core)
    return Pose(Pose.identity().rotation, around.center), Vec3(around.radius, around.radius, around.radius)
