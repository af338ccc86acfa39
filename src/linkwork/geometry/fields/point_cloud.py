"""Point clouds: the nearest of many points by a bounding volume hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.expr.control import scan
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, le, lt, where
from linkwork.geometry.cores import PointCore, SignedDistance, Solid, bounding_sphere
from linkwork.geometry.fields.bvh import (
    FAR,
    NOWHERE,
    NearestItem,
    depth_of,
    distance_to_box,
    nearer,
    nearest,
    row_at,
)
from linkwork.geometry.pairs import signed_distance
from linkwork.shapes import PointCloud
from linkwork.spatial import Pose, Vec3

__all__ = ["Cloud", "cloud_arrays", "cloud_distance", "least_of_points"]

_LEAF = 4  # points of a leaf
_TIE = by_type(1e-12)  # [m] difference of equal distances; [m²] squared distance of points that coincide


@dataclass(frozen=True, slots=True)
class Cloud:
    """Arrays of a point cloud, over any scalar."""

    points: Any  # (leaves, 12): points of each leaf [m]
    boxes: Any  # (2 leaves − 1, 6): minimum and maximum coordinates of nodes in preorder [m]
    radius: Any = 0.0  # of the points [m]


def cloud_arrays(cloud: PointCloud, capacity: int | None = None) -> Mapping[str, np.ndarray]:
    """Return the arrays of a cloud with the smallest capacity, 4 · 2^k points, or a larger one.

    The tree is built by recursive median splits along the longest extent.  Raises ValueError for an invalid or too
    small capacity.
    """
    count = len(cloud.points)
    capacity = _LEAF << max(-(-count // _LEAF) - 1, 0).bit_length() if capacity is None else capacity
    leaves = capacity // _LEAF
    if capacity != leaves * _LEAF or leaves & (leaves - 1) or capacity < count:
        raise ValueError(f"point cloud: capacity: expected 4 · 2^k points, at least {count}, got {capacity}")
    nodes = [np.array(cloud.points)]
    boxes, rows = [], []
    stack = [(nodes[0], leaves)]
    while stack:
        points, below = stack.pop()
        empty = len(points) == 0
        low, high = ([NOWHERE] * 3, [NOWHERE] * 3) if empty else (points.min(0), points.max(0))
        boxes.append([*low, *high])
        if below == 1:
            rows.append(np.resize(np.full(3, NOWHERE) if empty else points, (_LEAF, 3)).ravel())
            continue
        axis = 0 if empty else int(np.argmax(points.max(0) - points.min(0)))
        ordered = points[np.argsort(points[:, axis], kind="stable")]
        middle = -(-len(points) // 2)
        stack += [(ordered[middle:], below // 2), (ordered[:middle], below // 2)]
    return {"points": np.array(rows), "boxes": np.array(boxes)}


def cloud_distance(cloud: Cloud, b: Solid) -> SignedDistance:
    """Compute the signed distance from a cloud's points to a bounded convex solid, in the same coordinates.

    The result is the distance of the nearest point, or of the deepest point inside the solid.
    """
    around = bounding_sphere(b.core)
    core = Solid(b.core)

    def bound(node: Any) -> Any:
        row = row_at(cloud.boxes, node)
        return distance_to_box(around.center, row[:3], row[3:]) - around.radius

    def leaf(index: Any, best: NearestItem) -> NearestItem:
        row = row_at(cloud.points, index)
        for k in range(_LEAF):
            point = Vec3.of(row[3 * k : 3 * k + 3])
            distance = signed_distance(Solid(PointCore(point)), core).distance
            best = nearer(best, distance, point, _LEAF * index + float(k))
        return best

    start = NearestItem(FAR, Vec3.of([0.0, 0.0, 0.0]), 0.0, 0.0)
    best = nearest(depth_of(len(cloud.boxes)), bound, leaf, start)
    # evaluated again by index, which has no derivative, so that reverse mode works
    point = Vec3.of(row_at(cloud.points.reshape(-1, 3), best.index))
    result = signed_distance(Solid(PointCore(point), cloud.radius), b)
    return replace(result, unique=where(best.tie > 0.5, 0.0, result.unique))


def least_of_points(
    cloud: Cloud, X: Pose, measure: Callable[[PointCore], SignedDistance], radius: Any = 0.0
) -> SignedDistance:
    """Return the minimum of a signed distance over the points of a cloud at a pose, grown by a radius.

    All points are evaluated, so ``measure`` may be the distance to anything, such as a half-space or another field.
    """

    def step(best: tuple[Any, ...], row: Any) -> tuple[tuple[Any, ...], None]:
        exists = lt(row[0], 0.5 * NOWHERE)
        point = Vec3(*(where(exists, x, 0.0) for x in row))
        result = measure(PointCore(X.point(point)))
        distance = where(exists, result.distance, FAR)
        gap = result.on_b - Vec3.of(best[7:10])
        tie = and_(le(fabs(distance - best[0]), _TIE), lt(_TIE, gap.dot(gap)))
        unique = where(tie, 0.0, where(lt(distance, best[0]), result.unique, best[10]))
        values = (distance, *result.normal, *result.on_a, *result.on_b)
        better = lt(distance, best[0])
        return (*(where(better, x, y) for x, y in zip(values, best, strict=False)), unique), None

    start = (FAR, 0.0, 0.0, 1.0, *(0.0 for _ in range(6)), 1.0)
    distance, *vectors, unique = scan(step, start, cloud.points.reshape(-1, 3))[0]
    normal, on_a, on_b = (Vec3.of(vectors[k : k + 3]) for k in (0, 3, 6))
    return SignedDistance(distance, normal, on_a, on_b, unique).rounded(radius, 0.0)
