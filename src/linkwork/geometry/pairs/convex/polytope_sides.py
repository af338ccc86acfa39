"""Polytopes whose faces are known when code is generated: the hull of one body, and the other body in its axes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linkwork.geometry.cores import BoxCore, PolytopeCore, SegmentCore, core_in
from linkwork.geometry.pairs.convex.minkowski_difference import Difference
from linkwork.shapes.quickhull import hull_triangles
from linkwork.spatial import Pose

__all__ = ["KnownHull", "Sides", "sides_of"]

_MOST = 200_000  # products for the heights of vertices over faces; above, branch and bound is faster


@dataclass(frozen=True, slots=True)
class KnownHull:
    """Convex hull of constant vertices: normal, offset and corners of each face, and the edges.

    An edge is (face, other face, vertex, other vertex).
    """

    normals: np.ndarray
    offsets: np.ndarray
    corners: np.ndarray
    edges: list[tuple[int, int, int, int]]


def _hull_of(core: Any) -> KnownHull | None:
    """Return the hull of a core, or None if vertices are not constants, or have no volume."""
    if not isinstance(core, PolytopeCore) or not all(isinstance(x, (float, int)) for v in core.vertices for x in v):
        return None
    vertices = [[float(x) for x in v] for v in core.vertices]
    points, inverse = np.unique(np.array(vertices), axis=0, return_index=True)
    try:
        triangles = hull_triangles(points)
    except ValueError:
        return None
    normals = np.array([_normal(*(points[k] for k in triangle)) for triangle in triangles])
    sides = {(t[k], t[(k + 1) % 3]): face for face, t in enumerate(triangles.tolist()) for k in range(3)}
    edges = [(face, sides[j, i], int(inverse[i]), int(inverse[j])) for (i, j), face in sides.items() if i < j]
    edges = [edge for edge in edges if np.abs(np.cross(normals[edge[0]], normals[edge[1]])).max() > 1e-15]
    return KnownHull(normals, (normals @ points.T).max(axis=1), points[triangles], edges)


def _normal(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the exact normal of a triangle, which may be a sliver."""
    p, q, r = ([Fraction(x) for x in v.tolist()] for v in (a, b, c))
    u, v = ([x - y for x, y in zip(w, p, strict=True)] for w in (q, r))
    n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    most = max(abs(x) for x in n)
    result = np.array([float(x / most) for x in n])
    return np.asarray(result / np.linalg.norm(result))


class Sides(NamedTuple):
    """Two bodies in the axes of one of them, whose hull is known when code is generated.

    X is the pose of that body; ``swapped`` is True if it is B.
    """

    hull: PolytopeCore
    faces: KnownHull
    second: Any
    second_faces: KnownHull | None
    swapped: bool
    X: Pose


def sides_of(difference: Difference) -> Sides | None:
    """Return the two bodies in the axes of the one whose known hull has fewer edges.

    The result is None if the faces of a polytope are not known, or if there are too many of them.
    """
    a, b = difference.a, difference.b
    if not all(isinstance(core, (PolytopeCore, BoxCore, SegmentCore)) for core in (a, b)):
        return None
    result = [_hull_of(a), _hull_of(b)]
    if any(hull is None and isinstance(core, PolytopeCore) for hull, core in zip(result, (a, b), strict=True)):
        return None
    known = [k for k in (0, 1) if result[k] is not None]
    if not known:
        return None
    k = min(known, key=lambda k: len(result[k].edges))  # type: ignore[union-attr]
    hull, second = ((a, b), (b, a))[k]
    vertices = [len(core.vertices) if isinstance(core, PolytopeCore) else 2 for core in (hull, second)]
    counts = [0 if result[j] is None else len(result[j].normals) for j in (k, 1 - k)]  # type: ignore[union-attr]
    if 8 * counts[0] * vertices[1] + 4 * counts[1] * vertices[0] > _MOST:
        return None
    X, faces = hull.pose, result[k]
    assert faces is not None
    return Sides(hull, faces, core_in(X.inv(), second), result[1 - k], k == 1, X)
