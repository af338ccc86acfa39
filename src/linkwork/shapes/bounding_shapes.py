"""Bounding shapes of points and shapes: convex hulls, spheres, capsules and boxes, with their overestimates."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import integer
from linkwork.shapes.composed_shapes import Rounded
from linkwork.shapes.hull_simplification import distance_from_hull, outer_vertices
from linkwork.shapes.polytope import Polytope, read_points, smallest_sphere
from linkwork.shapes.primitives import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from linkwork.shapes.quickhull import hull_triangles
from linkwork.shapes.shape import Geometry, Shape
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["Fit", "bounding_box", "bounding_capsule", "bounding_sphere", "convex_hull"]

_SIDES = 64  # of the prisms that contain cylinders and cones
_FEW = 100  # points for the first fit of a capsule
_MAX_FACETS = 200  # the largest facets of a hull, which a box may share a face with
_POLLS = 24  # steps of the search that are evaluated together
_MIN_STEP = 1e-6  # relative to the extent
_THIN = 5e-7  # relative to the extent: thinner points are thickened by as much


@dataclass(frozen=True, slots=True)
class Fit(Geometry):
    """Bounding shape with its pose.

    ``overestimate`` is an upper bound on the distance [m] of its farthest point from the convex hull of the bounded
    points or shape.

    ``origin`` is the pose; ``name``, ``material`` and ``friction`` are as in `Geometry`.
    """

    overestimate: float = 0.0


@public
def convex_hull(points: ArrayLike | Shape, max_vertices: int | None = None) -> Polytope:
    """Compute the convex hull of points (n, 3) [m], of a polytope or of a box.

    With ``max_vertices`` (at least 8), the result is an outer hull of at most so many vertices: it contains all points
    and is a little larger.  `Polytope.overestimate` bounds the distance of its farthest point from the exact hull,
    which is returned if it has few enough vertices.  Outer hulls are computed by edge collapses that add little volume
    (linkwork/shapes/hull_simplification.py).  Several hundred vertices take a second or more.

    >>> import numpy as np
    >>> from linkwork import shapes
    >>> ball = shapes.Sphere(1.0).support(np.random.default_rng(0).normal(size=(100, 3)))
    >>> hull = shapes.convex_hull(ball, max_vertices=16)
    >>> len(hull.vertices), hull.overestimate < 0.5
    (16, True)

    Raises ValueError for points without volume, invalid points and ``max_vertices`` below 8.
    """
    if max_vertices is not None:
        max_vertices = integer("convex_hull", "max_vertices", max_vertices, least=8, description="None or an integer")
    if isinstance(points, Shape):
        result, radius, _ = _around(points, "convex_hull")
        if radius > 0.0 or not isinstance(points, Polytope | Box):
            raise ValueError(f"convex_hull: expected points, a polytope or a box, got {points!r}: it is round")
    else:
        result = read_points(points, "convex_hull")
    hull = Polytope(result)  # type: ignore[arg-type]
    if max_vertices is None or len(hull.vertices) <= max_vertices:
        return hull
    corners, triangles = np.array(hull.vertices), np.array(hull.triangles)
    outer = outer_vertices(corners, triangles, max_vertices)
    return Polytope(outer, float(max(distance_from_hull(outer, corners, triangles).max(), 0.0)))  # type: ignore[arg-type]


@public
def bounding_sphere(around: ArrayLike | Shape) -> Fit:
    """Compute the smallest sphere around points (n, 3) [m] or a shape, to rounding.

    >>> from linkwork import shapes
    >>> fit = shapes.bounding_sphere(shapes.Box((2.0, 2.0, 1.0)))
    >>> fit.shape, round(fit.overestimate, 6)  # from the middle of a large side to the sphere
    (Sphere(radius=1.5), 1.0)
    """
    points, radius, slack = _around(around, "bounding_sphere")
    center, size = smallest_sphere(points)
    if slack > 0.0 and isinstance(around, Shape) and around.bounding_sphere is not None:
        center, size = np.array([*around.bounding_sphere[0]]), around.bounding_sphere[1] - radius
    beyond = _signed_distances(center[None], points)
    return _fit(Sphere(_sound(size + radius, "bounding_sphere")), np.eye(3), center, size + slack + beyond)


@public
def bounding_capsule(around: ArrayLike | Shape) -> Fit:
    """Compute a capsule of small volume around points (n, 3) [m] or a shape.

    It is the best result of a local search over axis and radius, from axes in nine directions.

    >>> from linkwork import shapes
    >>> fit = shapes.bounding_capsule(shapes.Cylinder(0.1, 1.0))
    >>> fit.shape.volume < 1.3 * shapes.Cylinder(0.1, 1.0).volume
    True
    """
    points, radius, slack = _around(around, "bounding_capsule")
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    if extent == 0.0:
        return _fit(Capsule(_sound(radius, "bounding_capsule"), 0.0), np.eye(3), middle, 0.0)
    unit = (_corners(points) - middle) / extent
    chosen = unit if len(unit) <= _FEW else unit[np.unique(np.argmax(_around_unit_sphere() @ unit.T, axis=1))]
    for _ in range(10):  # fit few of the points until all others are inside
        axis, through, size = _smallest_capsule(chosen, radius / extent)
        ends = _segment_ends(chosen, axis, through, size)
        out = _distance_to_segment(unit, ends) > size * (1.0 + 1e-6)
        if not out.any():
            break
        chosen = np.concatenate([chosen, unit[out][np.argsort(-_distance_to_segment(unit[out], ends))[:_FEW]]])
    ends = middle + extent * ends
    size = float(_distance_to_segment(points, ends).max())  # leaves no point outside by rounding
    beyond = _signed_distances(ends, points)
    shape = Capsule(_sound(size + radius, "bounding_capsule"), float(np.linalg.norm(ends[1] - ends[0])))
    return _fit(shape, _with_z(axis), ends.mean(axis=0), size + slack + beyond)


@public
def bounding_box(around: ArrayLike | Shape) -> Fit:
    """Compute a box of small volume, of any orientation, around points (n, 3) [m] or a shape.

    For points and polytopes it is the smallest box with a face on one of the 200 largest facets of their hull and
    another face along an edge.  For other shapes it has the axes of the shape.  Coplanar points get a box of thickness
    1e-6 of their extent.

    >>> from linkwork import shapes
    >>> fit = shapes.bounding_box([(0, 0, 0), (1, 1, 0), (1, -1, 0), (2, 0, 0), (1, 0, 1)])
    >>> [round(edge, 6) for edge in sorted(fit.shape.size)]
    [1.0, 1.414214, 1.414214]
    """
    points, radius, slack = _around(around, "bounding_box")
    inner = around
    while isinstance(inner, Rounded):
        inner = inner.shape
    if isinstance(inner, Shape) and not isinstance(inner, Polytope):
        shape = around if isinstance(around, Shape) else inner
        low, high = -np.diag(shape.support(-np.eye(3))), np.diag(shape.support(np.eye(3)))
        low, rotation = -low, np.eye(3)
    else:
        rotation = _best_rotation(_thickened(points, "bounding_box"))
        along = _thickened(points, "bounding_box") @ rotation
        low, high = along.min(axis=0) - radius, along.max(axis=0) + radius
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    beyond = _signed_distances(np.where(corners == 1, high, low) @ rotation.T, points)
    return _fit(Box((high - low).tolist()), rotation, rotation @ (0.5 * (low + high)), beyond - radius + slack)


# -- the shapes to fit around


def _around(value: Any, caller: str) -> tuple[np.ndarray, float, float]:
    """Return points, a radius and a slack [m] that describe the points or the shape to be bounded.

    All points within the radius of the points' hull contain the shape, and exceed it by at most the slack.
    """
    if not isinstance(value, Shape):
        points = read_points(value, caller)
        if not len(points):
            raise ValueError(f"{caller}: expected points (n, 3) [m], got an empty array")
        return points, 0.0, 0.0
    match value:
        case Rounded(shape, radius):
            points, inner, slack = _around(shape, caller)
            return points, inner + radius, slack
        case Sphere(radius):
            return np.zeros((1, 3)), radius, 0.0
        case Capsule(radius, length):
            return np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]]), radius, 0.0
        case Box(size):
            return np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size, 0.0, 0.0
        case Polytope():
            return np.array(value.vertices), 0.0, 0.0
        case Cylinder(radius, length) | Cone(radius, length):
            angles = np.arange(_SIDES) * (2.0 * math.pi / _SIDES)
            wide = radius / math.cos(math.pi / _SIDES)
            ring = np.stack([wide * np.cos(angles), wide * np.sin(angles), np.full(_SIDES, -0.5 * length)], axis=1)
            top = [[0.0, 0.0, 0.5 * length]] if isinstance(value, Cone) else ring * [1.0, 1.0, -1.0]
            return np.concatenate([ring, top]), 0.0, wide - radius
        case Ellipsoid(radii):
            points = _around_unit_sphere()
            return points * radii, 0.0, float(np.linalg.norm(points, axis=1).max() - 1.0) * max(radii)
    raise ValueError(f"{caller}: expected points or a shape of known size, got {value!r}")


@functools.cache
def _around_unit_sphere() -> np.ndarray:
    """Return points along a spiral whose hull contains the unit sphere [Swinbank and Purser 2006]."""
    count = 400
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angles = np.arange(count) * (math.pi * (3.0 - math.sqrt(5.0)))
    flat = np.sqrt(1.0 - z * z)
    points = np.stack([flat * np.cos(angles), flat * np.sin(angles), z], axis=1)
    triangles = hull_triangles(points)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    return np.asarray(points / ((a * normals).sum(axis=1) / np.linalg.norm(normals, axis=1)).min())


def _thickened(points: np.ndarray, caller: str) -> np.ndarray:
    """Return points whose hull has non-zero volume: flat sets are thickened by `_THIN` times the extent."""
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    if extent == 0.0:
        raise ValueError(f"{caller}: expected distinct points, got only {points[0].tolist()}")
    _, thick, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=True)
    thick = np.concatenate([thick, np.zeros(3 - len(thick))])
    for k in range(3):
        if np.ptp(points @ axes[k]) <= _THIN * extent:
            points = np.concatenate([points + _THIN * extent * axes[k], points - _THIN * extent * axes[k]])
    return points


def _corners(points: np.ndarray) -> np.ndarray:
    """Return the vertices of the points' convex hull, or the points themselves if they are flat."""
    try:
        return np.asarray(points[np.unique(hull_triangles(points))])
    except ValueError:
        return points


def _signed_distances(queries: np.ndarray, points: np.ndarray) -> float:
    """Return the largest signed distance of ``queries`` from the hull of ``points``, within 1e-6 of the extent."""
    if not np.ptp(points, axis=0).any():
        return float(np.linalg.norm(queries - points[0], axis=1).max())
    thick = _thickened(points, "fit")
    more = _THIN * float(np.linalg.norm(np.ptp(points, axis=0))) * 2.0 if len(thick) > len(points) else 0.0
    return float(distance_from_hull(queries, thick, hull_triangles(thick)).max()) + more


def _sound(size: float, caller: str) -> float:
    if not size > 0.0:
        raise ValueError(f"{caller}: expected distinct points")
    return size


def _fit(shape: Shape, rotation: np.ndarray, center: np.ndarray, excess: float) -> Fit:
    pose = Pose(Rotation(*(Vec3.of(row) for row in rotation.tolist())), Vec3.of(center.tolist()))
    return Fit(shape, pose, overestimate=max(float(excess), 0.0))


# -- capsules


def _line_coordinates(points: np.ndarray, axis: np.ndarray, through: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of points along lines, and their squared distances from the lines, (..., n) each.

    A line has the direction ``axis`` (..., 3) and the point ``through`` (..., 3).
    """
    offset = points - through[..., None, :]
    along = (offset * axis[..., None, :]).sum(axis=-1)
    off = offset - along[..., None] * axis[..., None, :]
    return along, (off * off).sum(axis=-1)


def _volumes(points: np.ndarray, radius: float, axis: np.ndarray, through: np.ndarray, more: np.ndarray) -> Any:
    """Return volumes and radii of the shortest capsules about given lines that contain all balls.

    Balls of ``radius`` are about the points. Returned radii do not include ``radius``, and are (1 + ``more``) times
    the smallest possible radii.
    """
    along, across = _line_coordinates(points, axis, through)
    size = np.sqrt(across.max(axis=-1)) * (1.0 + more)
    reach = np.sqrt(np.maximum(size[..., None] ** 2 - across, 0.0))
    length = np.maximum((along - reach).max(axis=-1) - (along + reach).min(axis=-1), 0.0)
    whole = size + radius
    return whole * whole * (length + 4.0 / 3.0 * whole), size


def _smallest_capsule(points: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return axis, point on the axis and radius of the smallest capsule found, for points of extent 1."""
    rng = np.random.default_rng(0)
    _, _, axes = np.linalg.svd(points - points.mean(axis=0))
    diagonals = np.array([[0, 1, 1], [0, 1, -1], [1, 0, 1], [1, 0, -1], [1, 1, 0], [1, -1, 0]]) / math.sqrt(2.0)
    best: tuple[float, np.ndarray, np.ndarray, float] | None = None
    starts = []
    for axis in np.concatenate([axes, diagonals @ axes]):
        flat = points - np.outer(points @ axis, axis)
        through = smallest_sphere(flat)[0]
        volume, _ = _volumes(points, radius, axis, through, np.array(0.0))
        starts.append((float(volume), axis, through))
    for start, axis, through in sorted(starts, key=lambda s: s[0])[:3]:
        volume, more, step = start, 0.0, 0.1
        while step > _MIN_STEP:
            polls = rng.normal(size=(_POLLS, 7)) * step
            tried = axis + polls[:, :3]
            tried = tried / np.linalg.norm(tried, axis=1, keepdims=True)
            positions, mores = through + polls[:, 3:6], np.abs(more + polls[:, 6])
            volumes, _ = _volumes(points, radius, tried, positions, mores)
            k = int(np.argmin(volumes))
            if volumes[k] < volume:
                volume, axis, through, more = float(volumes[k]), tried[k], positions[k], float(mores[k])
                step *= 1.5
            else:
                step *= 0.7
        if best is None or volume < best[0]:
            best = volume, axis, through, more
    assert best is not None
    _, axis, through, more = best
    _, size = _volumes(points, radius, axis, through, np.array(more))
    return axis, through, float(size)


def _segment_ends(points: np.ndarray, axis: np.ndarray, through: np.ndarray, size: float) -> np.ndarray:
    """Return the centres (2, 3) of the hemispheres of the shortest capsule about a line."""
    along, across = _line_coordinates(points, axis, through)
    reach = np.sqrt(np.maximum(size * size - across, 0.0))
    top, bottom = float((along - reach).max()), float((along + reach).min())
    top, bottom = (top, bottom) if top > bottom else (0.5 * (top + bottom),) * 2
    return np.asarray(through + np.outer([bottom, top], axis))


def _distance_to_segment(points: np.ndarray, ends: np.ndarray) -> np.ndarray:
    edge = ends[1] - ends[0]
    square = float(edge @ edge)
    t = np.clip((points - ends[0]) @ edge / (square if square > 0.0 else 1.0), 0.0, 1.0)
    return np.asarray(np.linalg.norm(points - ends[0] - t[:, None] * edge, axis=1))


def _with_z(axis: np.ndarray) -> np.ndarray:
    """Return a rotation matrix whose last column is the axis."""
    x = np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis)
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


# -- boxes


def _best_rotation(points: np.ndarray) -> np.ndarray:
    """Return the axes, as columns, of the smallest box with a face on a hull facet and an edge along a hull edge."""
    hull = Polytope(points)  # type: ignore[arg-type]
    corners, triangles = np.array(hull.vertices), np.array(hull.triangles)
    sides = np.cross(*(corners[triangles[:, k]] - corners[triangles[:, 0]] for k in (1, 2)))
    left = {edge: k for k, (a, b, c) in enumerate(triangles.tolist()) for edge in ((a, b), (b, c), (c, a))}
    pairs = [(a, b, k, left[b, a]) for (a, b), k in left.items() if a < b]
    begin, end, first, second = np.array(pairs).T
    edges, best, result = corners[end] - corners[begin], math.inf, np.eye(3)
    for z in hull.planes[0][:_MAX_FACETS]:
        up = sides @ z
        outline = up[first] * up[second] <= 1e-9 * np.abs(up).max() ** 2  # edges of the silhouette along z
        x = edges[outline] - np.outer(edges[outline] @ z, z)
        length = np.linalg.norm(x, axis=1)
        x = x[length > 1e-9 * length.max()] / length[length > 1e-9 * length.max(), None]
        y = np.cross(z, x)
        volumes = np.ptp(corners @ z) * np.ptp(corners @ x.T, axis=0) * np.ptp(corners @ y.T, axis=0)
        k = int(np.argmin(volumes))
        if volumes[k] < best:
            best, result = float(volumes[k]), np.stack([x[k], y[k], z], axis=1)
    return result
