"""Simple shapes around points and shapes: hulls, spheres, capsules and boxes, and by how much they are too large."""

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
from linkwork.shapes.polytope import Polytope, given_points, smallest_ball
from linkwork.shapes.primitives import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from linkwork.shapes.quickhull import hull_triangles
from linkwork.shapes.shape import Geometry, Shape
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["Fit", "bounding_box", "bounding_capsule", "bounding_sphere", "convex_hull"]

_SIDES = 64  # of the prisms around cylinders and cones
_FEW = 100  # points that a capsule is fitted around at first
_MOST_SIDES = 200  # the largest, that a box may have one of its own on
_POLLS = 24  # steps that are tried at once where a fit is looked for
_FINEST = 1e-6  # relative to the extent: the last step
_THIN = 5e-7  # relative to the extent: what is as thin is thickened by so much


@dataclass(frozen=True, slots=True)
class Fit(Geometry):
    """A shape at the place where it holds what it was fitted around; ``overestimate``: how far its farthest point is
    from the
    convex hull of that [m], at most.
    """

    overestimate: float = 0.0


@public
def convex_hull(points: ArrayLike | Shape, max_vertices: int | None = None) -> Polytope:
    """The convex hull of points (n, 3) [m], or of a polytope's or box's; with ``max_vertices``, an outer hull of at
    most so
    many vertices (8 or more): it holds all points, and is a little larger.

    `Polytope.overestimate` tells how far its farthest point is from their hull.  Where that has no more vertices than
    asked for, it is the answer.  Outer hulls are made by edges of the hull that shrink, with little volume added; see
    linkwork/shapes/hull_simplification.py.  Several hundred vertices take a second or more.

    >>> import numpy as np
    >>> from linkwork import shapes
    >>> ball = shapes.Sphere(1.0).support(np.random.default_rng(0).normal(size=(100, 3)))
    >>> hull = shapes.convex_hull(ball, max_vertices=16)
    >>> len(hull.vertices), hull.overestimate < 0.5
    (16, True)

    Raises ValueError for what has no volume, for what are no points, and for fewer vertices than 8.
    """
    if max_vertices is not None:
        max_vertices = integer(
            "convex_hull", "max_vertices", max_vertices, least=8, what="None or a number of vertices"
        )
    if isinstance(points, Shape):
        result, radius, _ = _around(points, "convex_hull")
        if radius > 0.0 or not isinstance(points, Polytope | Box):
            raise ValueError(f"convex_hull: expected points, a polytope or a box, got {points!r}: it is round")
    else:
        result = given_points(points, "convex_hull")
    hull = Polytope(result)  # type: ignore[arg-type]
    if max_vertices is None or len(hull.vertices) <= max_vertices:
        return hull
    corners, triangles = np.array(hull.vertices), np.array(hull.triangles)
    outer = outer_vertices(corners, triangles, max_vertices)
    return Polytope(outer, float(max(distance_from_hull(outer, corners, triangles).max(), 0.0)))  # type: ignore[arg-type]


@public
def bounding_sphere(around: ArrayLike | Shape) -> Fit:
    """The smallest sphere around points (n, 3) [m] or a shape, to rounding.

    >>> from linkwork import shapes
    >>> fit = shapes.bounding_sphere(shapes.Box((2.0, 2.0, 1.0)))
    >>> fit.shape, round(fit.overestimate, 6)  # from the middle of a large side to the sphere
    (Sphere(radius=1.5), 1.0)
    """
    points, radius, slack = _around(around, "bounding_sphere")
    center, size = smallest_ball(points)
    if slack > 0.0 and isinstance(around, Shape) and around.bounding_sphere is not None:
        center, size = np.array([*around.bounding_sphere[0]]), around.bounding_sphere[1] - radius
    beyond = _signed_distances(center[None], points)
    return _fit(Sphere(_sound(size + radius, "bounding_sphere")), np.eye(3), center, size + slack + beyond)


@public
def bounding_capsule(around: ArrayLike | Shape) -> Fit:
    """A capsule of little volume around points (n, 3) [m] or a shape.

    The best that a search over its axis and radius finds, from axes in nine directions: none near it has less volume.

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
    some = unit if len(unit) <= _FEW else unit[np.unique(np.argmax(_around_unit_sphere() @ unit.T, axis=1))]
    for _ in range(10):  # around few of the points, until the others are inside too
        axis, through, size = _least_capsule(some, radius / extent)
        ends = _ends(some, axis, through, size)
        out = _off_segment(unit, ends) > size * (1.0 + 1e-6)
        if not out.any():
            break
        some = np.concatenate([some, unit[out][np.argsort(-_off_segment(unit[out], ends))[:_FEW]]])
    ends = middle + extent * ends
    size = float(_off_segment(points, ends).max())  # so that none is left outside by rounding
    beyond = _signed_distances(ends, points)
    shape = Capsule(_sound(size + radius, "bounding_capsule"), float(np.linalg.norm(ends[1] - ends[0])))
    return _fit(shape, _with_z(axis), ends.mean(axis=0), size + slack + beyond)


@public
def bounding_box(around: ArrayLike | Shape) -> Fit:
    """A box of little volume around points (n, 3) [m] or a shape, turned as it fits best.

    Around points and polytopes it is the smallest of those that have a side on one of the 200 largest sides of their
    hull and another on an edge; around other shapes, the one along their own axes.  Points in a plane get a box of some
    thickness, 1e-6 of their extent.

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
        low, turn = -low, np.eye(3)
    else:
        turn = _best_turn(_thickened(points, "bounding_box"))
        along = _thickened(points, "bounding_box") @ turn
        low, high = along.min(axis=0) - radius, along.max(axis=0) + radius
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    places = np.where(corners == 1, high, low) @ turn.T
    beyond = _signed_distances(places, points)
    return _fit(Box((high - low).tolist()), turn, turn @ (0.5 * (low + high)), beyond - radius + slack)


# -- what is fitted around


def _around(value: Any, caller: str) -> tuple[np.ndarray, float, float]:
    """Points whose hull, grown by a radius, holds a shape or points; and how far it reaches beyond at most."""
    if not isinstance(value, Shape):
        points = given_points(value, caller)
        if not len(points):
            raise ValueError(f"{caller}: expected points (n, 3) [m], got none")
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
    """Points whose hull holds the unit sphere: along a spiral [Swinbank and Purser 2006]."""
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
    """Points that have a hull: where they lie in a plane or on a line, with others a little off it."""
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    if extent == 0.0:
        raise ValueError(f"{caller}: expected points that are not all one, got {points[0].tolist()}")
    _, thick, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=True)
    thick = np.concatenate([thick, np.zeros(3 - len(thick))])
    for k in range(3):
        if np.ptp(points @ axes[k]) <= _THIN * extent:
            points = np.concatenate([points + _THIN * extent * axes[k], points - _THIN * extent * axes[k]])
    return points


def _corners(points: np.ndarray) -> np.ndarray:
    """The corners of their hull, or the points themselves where they have none."""
    try:
        return np.asarray(points[np.unique(hull_triangles(points))])
    except ValueError:
        return points


def _signed_distances(places: np.ndarray, points: np.ndarray) -> float:
    """How far the farthest of places is from the hull of points, below zero inside; at most 1e-6 of the extent more."""
    if not np.ptp(points, axis=0).any():
        return float(np.linalg.norm(places - points[0], axis=1).max())
    thick = _thickened(points, "fit")
    more = _THIN * float(np.linalg.norm(np.ptp(points, axis=0))) * 2.0 if len(thick) > len(points) else 0.0
    return float(distance_from_hull(places, thick, hull_triangles(thick)).max()) + more


def _sound(size: float, caller: str) -> float:
    if not size > 0.0:
        raise ValueError(f"{caller}: expected points that are not all one")
    return size


def _fit(shape: Shape, turn: np.ndarray, center: np.ndarray, excess: float) -> Fit:
    pose = Pose(Rotation(*(Vec3.of(row) for row in turn.tolist())), Vec3.of(center.tolist()))
    return Fit(shape, pose, overestimate=max(float(excess), 0.0))


# -- capsules


def _seen_along(points: np.ndarray, axis: np.ndarray, through: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far points lie along lines and, squared, off them: for many lines (..., 3) at once (..., n)."""
    way = points - through[..., None, :]
    along = (way * axis[..., None, :]).sum(axis=-1)
    off = way - along[..., None] * axis[..., None, :]
    return along, (off * off).sum(axis=-1)


def _volumes(points: np.ndarray, radius: float, axis: np.ndarray, through: np.ndarray, more: np.ndarray) -> Any:
    """The volumes of the shortest capsules about lines, and their radii: the least ones times 1 + more."""
    along, across = _seen_along(points, axis, through)
    size = np.sqrt(across.max(axis=-1)) * (1.0 + more)
    reach = np.sqrt(np.maximum(size[..., None] ** 2 - across, 0.0))
    length = np.maximum((along - reach).max(axis=-1) - (along + reach).min(axis=-1), 0.0)
    whole = size + radius
    return whole * whole * (length + 4.0 / 3.0 * whole), size


def _least_capsule(points: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Axis, a point on it and radius of the capsule of least volume that is found around points of extent 1."""
    rng = np.random.default_rng(0)
    _, _, axes = np.linalg.svd(points - points.mean(axis=0))
    diagonals = np.array([[0, 1, 1], [0, 1, -1], [1, 0, 1], [1, 0, -1], [1, 1, 0], [1, -1, 0]]) / math.sqrt(2.0)
    best: tuple[float, np.ndarray, np.ndarray, float] | None = None
    starts = []
    for axis in np.concatenate([axes, diagonals @ axes]):
        flat = points - np.outer(points @ axis, axis)
        through = smallest_ball(flat)[0]
        volume, _ = _volumes(points, radius, axis, through, np.array(0.0))
        starts.append((float(volume), axis, through))
    for start, axis, through in sorted(starts, key=lambda s: s[0])[:3]:
        volume, more, step = start, 0.0, 0.1
        while step > _FINEST:
            polls = rng.normal(size=(_POLLS, 7)) * step
            tried = axis + polls[:, :3]
            tried = tried / np.linalg.norm(tried, axis=1, keepdims=True)
            places, mores = through + polls[:, 3:6], np.abs(more + polls[:, 6])
            volumes, _ = _volumes(points, radius, tried, places, mores)
            k = int(np.argmin(volumes))
            if volumes[k] < volume:
                volume, axis, through, more = float(volumes[k]), tried[k], places[k], float(mores[k])
                step *= 1.5
            else:
                step *= 0.7
        if best is None or volume < best[0]:
            best = volume, axis, through, more
    assert best is not None
    _, axis, through, more = best
    _, size = _volumes(points, radius, axis, through, np.array(more))
    return axis, through, float(size)


def _ends(points: np.ndarray, axis: np.ndarray, through: np.ndarray, size: float) -> np.ndarray:
    """Where the shortest capsule about a line has the centres of its half spheres."""
    along, across = _seen_along(points, axis, through)
    reach = np.sqrt(np.maximum(size * size - across, 0.0))
    top, bottom = float((along - reach).max()), float((along + reach).min())
    top, bottom = (top, bottom) if top > bottom else (0.5 * (top + bottom),) * 2
    return np.asarray(through + np.outer([bottom, top], axis))


def _off_segment(points: np.ndarray, ends: np.ndarray) -> np.ndarray:
    way = ends[1] - ends[0]
    square = float(way @ way)
    t = np.clip((points - ends[0]) @ way / (square if square > 0.0 else 1.0), 0.0, 1.0)
    return np.asarray(np.linalg.norm(points - ends[0] - t[:, None] * way, axis=1))


def _with_z(axis: np.ndarray) -> np.ndarray:
    """A rotation whose z axis, the last column, is this one."""
    x = np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis)
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


# -- boxes


def _best_turn(points: np.ndarray) -> np.ndarray:
    """The axes, as columns, of the smallest box with one side on a side of the hull, and one on an edge."""
    hull = Polytope(points)  # type: ignore[arg-type]
    corners, triangles = np.array(hull.vertices), np.array(hull.triangles)
    sides = np.cross(*(corners[triangles[:, k]] - corners[triangles[:, 0]] for k in (1, 2)))
    left = {edge: k for k, (a, b, c) in enumerate(triangles.tolist()) for edge in ((a, b), (b, c), (c, a))}
    pairs = [(a, b, k, left[b, a]) for (a, b), k in left.items() if a < b]
    one, two, here, there = np.array(pairs).T
    edges, best, turn = corners[two] - corners[one], math.inf, np.eye(3)
    for z in hull.planes[0][:_MOST_SIDES]:
        up = sides @ z
        outline = up[here] * up[there] <= 1e-9 * np.abs(up).max() ** 2  # edges that are seen against the sky
        x = edges[outline] - np.outer(edges[outline] @ z, z)
        length = np.linalg.norm(x, axis=1)
        x = x[length > 1e-9 * length.max()] / length[length > 1e-9 * length.max(), None]
        y = np.cross(z, x)
        volumes = np.ptp(corners @ z) * np.ptp(corners @ x.T, axis=0) * np.ptp(corners @ y.T, axis=0)
        k = int(np.argmin(volumes))
        if volumes[k] < best:
            best, turn = float(volumes[k]), np.stack([x[k], y[k], z], axis=1)
    return turn
