"""Point clouds: the nearest of many points, by a tree of boxes around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.expr.control import scan, take
from linkwork.expr.scalar.functions import and_, fabs, le, lt, where
from linkwork.geometry.cores import PointCore, Solid
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.fields.bvh import (
    FAR,
    NOWHERE,
    NearestPlace,
    depth_of,
    nearer,
    nearest,
    to_box,
)
from linkwork.geometry.pairs import signed_distance
from linkwork.geometry.separation_bounds import bounding_sphere
from linkwork.shapes import PointCloud
from linkwork.spatial import Pose, Vec3

__all__ = ["Cloud", "cloud_arrays", "cloud_distance", "least_of_points"]

_LEAF = 4  # points in a leaf
_TIE = 1e-12  # [m] distances, and [m²] squares of those of points, that are the same


@dataclass(frozen=True, slots=True)
class Cloud:
    """A cloud's numbers, over any scalar: points of leaves (leaves, 12) [m]; boxes of nodes in preorder
    (2 leaves − 1, 6), lowest and highest coordinates [m]; the points' radius [m].
    """

    points: Any
    boxes: Any
    radius: Any = 0.0


def cloud_arrays(cloud: PointCloud, capacity: int | None = None) -> Mapping[str, np.ndarray]:
    """The numbers of a cloud: of the least capacity, 4 · 2^k points, or of a larger one.

    Points are split in the middle, across their longest extent, again and again.  Raises ValueError where the capacity
    is none or too small.
    """
    count = len(cloud.points)
    capacity = _LEAF << max(-(-count // _LEAF) - 1, 0).bit_length() if capacity is None else capacity
    leaves = capacity // _LEAF
    if capacity != leaves * _LEAF or leaves & (leaves - 1) or capacity < count:
        raise ValueError(f"point cloud: capacity: expected 4 · 2^k points, at least {count}, got {capacity}")
    nodes = [np.array(cloud.points)]
    boxes, rows = [], []
    waiting = [(nodes[0], leaves)]
    while waiting:
        points, below = waiting.pop()
        empty = len(points) == 0
        low, high = ([NOWHERE] * 3, [NOWHERE] * 3) if empty else (points.min(0), points.max(0))
        boxes.append([*low, *high])
        if below == 1:
            rows.append(np.resize(np.full(3, NOWHERE) if empty else points, (_LEAF, 3)).ravel())
            continue
        axis = 0 if empty else int(np.argmax(points.max(0) - points.min(0)))
        ordered = points[np.argsort(points[:, axis], kind="stable")]
        middle = -(-len(points) // 2)
        waiting += [(ordered[middle:], below // 2), (ordered[:middle], below // 2)]
    return {"points": np.array(rows), "boxes": np.array(boxes)}


def cloud_distance(cloud: Cloud, b: Solid) -> SignedDistance:
    """Of the ball around a point that is nearest to a solid or, where points are within it, deepest in it.

    Any convex solid that is bounded; both in the same coordinates.
    """
    around = bounding_sphere(b.core)
    core = Solid(b.core)

    def bound(node: Any) -> Any:
        row = take(cloud.boxes, node)
        return to_box(around.center, row[:3], row[3:]) - around.radius

    def leaf(number: Any, best: NearestPlace) -> NearestPlace:
        row = take(cloud.points, number)
        for k in range(_LEAF):
            place = Vec3.of(row[3 * k : 3 * k + 3])
            which = _LEAF * number + float(k)
            best = nearer(best, signed_distance(Solid(PointCore(place)), core).distance, place, which)
        return best

    start = NearestPlace(FAR, Vec3.of([0.0, 0.0, 0.0]), 0.0, 0.0)
    best = nearest(depth_of(len(cloud.boxes)), bound, leaf, start)
    # which point it is has no derivative, so that there is one in reverse
    place = Vec3.of(take(cloud.points.reshape(-1, 3), best.which))
    result = signed_distance(Solid(PointCore(place), cloud.radius), b)
    return replace(result, unique=where(best.tie > 0.5, 0.0, result.unique))


def least_of_points(
    cloud: Cloud, X: Pose, measure: Callable[[PointCore], SignedDistance], radius: Any = 0.0
) -> SignedDistance:
    """From the ball around a point, of a cloud at a pose, for which what a function measures is least.

    Every point is looked at, whatever it is measured against: a half-space, or another field.
    """

    def look(best: tuple[Any, ...], row: Any) -> tuple[tuple[Any, ...], None]:
        there = lt(row[0], 0.5 * NOWHERE)
        place = Vec3(*(where(there, x, 0.0) for x in row))
        result = measure(PointCore(X.point(place)))
        distance = where(there, result.distance, FAR)
        gap = result.on_b - Vec3.of(best[7:10])
        tie = and_(le(fabs(distance - best[0]), _TIE), lt(_TIE, gap.dot(gap)))
        unique = where(tie, 0.0, where(lt(distance, best[0]), result.unique, best[10]))
        numbers = (distance, *result.normal, *result.on_a, *result.on_b)
        better = lt(distance, best[0])
        return (*(where(better, x, y) for x, y in zip(numbers, best, strict=False)), unique), None

    start = (FAR, 0.0, 0.0, 1.0, *(0.0 for _ in range(6)), 1.0)
    distance, *rest, unique = scan(look, start, cloud.points.reshape(-1, 3))[0]
    normal, on_a, on_b = (Vec3.of(rest[k : k + 3]) for k in (0, 3, 6))
    return SignedDistance(distance, normal, on_a, on_b, unique).rounded(radius, 0.0)
