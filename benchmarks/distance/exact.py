"""Signed distances in longdouble, by brute force: references for `benchmarks.distance.accuracy`."""

from __future__ import annotations

import itertools

import numpy as np

__all__ = ["difference_distance", "round_distance", "segments_distance", "triangles_distance", "vertices"]

Array = np.ndarray


def vertices(kind: str, X: Array, x: Array) -> Array:
    """(count, vertices, 3), placed, in longdouble."""
    X, x = X.astype(np.longdouble), x.astype(np.longdouble)
    count = len(X)
    if kind == "point":  # a segment of no length
        local = np.zeros((count, 2, 3), np.longdouble)
    elif kind == "segment":
        local = np.zeros((count, 2, 3), np.longdouble)
        local[:, 0, 2], local[:, 1, 2] = -x[:, 0], x[:, 0]
    elif kind == "box":
        local = np.array(list(itertools.product((-1, 1), repeat=3))) * x[:, None, :]
    else:
        local = x.reshape(count, -1, 3)
    result: Array = np.einsum("kij,kvj->kvi", X[:, :3, :3], local) + X[:, None, :3, 3]
    return result


def round_distance(kind: str, X: Array, Y: Array, y: Array) -> Array:
    """Return the signed distances of points to cylinders or cones, from the polygon of their meridian section."""
    p = np.einsum("kij,ki->kj", Y[:, :3, :3].astype(np.longdouble), X[:, :3, 3].astype(np.longdouble) - Y[:, :3, 3])
    point = np.stack([np.sqrt(p[:, 0] ** 2 + p[:, 1] ** 2), p[:, 2]], axis=-1)
    r, h, zero = y[:, 0].astype(np.longdouble), y[:, 1].astype(np.longdouble), np.zeros(len(y), np.longdouble)
    corners = [(zero, h), (r, h), (r, -h), (zero, -h)] if kind == "cylinder" else [(zero, h), (r, -h), (zero, -h)]
    ring = np.stack([np.stack(corner, axis=-1) for corner in corners], axis=1)
    away, inward = [], []
    for k in range(len(corners) - 1):
        a, b = ring[:, k], ring[:, k + 1]
        away.append(_to_segment(point, np.stack([a, b], axis=1)))
        e = b - a
        beyond = (-e[:, 1] * (point - a)[:, 0] + e[:, 0] * (point - a)[:, 1]) / np.sqrt((e * e).sum(-1))
        inward.append(beyond)
    deepest, nearest = np.max(inward, axis=0), np.min(away, axis=0)
    result: Array = np.where(deepest < 0, deepest, nearest)
    return result


def segments_distance(kinds: tuple[str, str], X: Array, x: Array, Y: Array, y: Array) -> Array:
    """Return the distances of segments: the minimum over end points and over interior points of both."""
    a, b = vertices(kinds[0], X, x), vertices(kinds[1], Y, y)
    tried = [_to_segment(a[:, k], b) for k in (0, 1)] + [_to_segment(b[:, k], a) for k in (0, 1)]
    u, w, r = a[:, 1] - a[:, 0], b[:, 1] - b[:, 0], a[:, 0] - b[:, 0]
    n = np.cross(u, w)
    nn = (n * n).sum(-1)
    crossing = nn > 0
    nn = np.where(crossing, nn, 1)
    s, t = ((np.cross(w, r) * n).sum(-1) / nn, (np.cross(u, r) * n).sum(-1) / nn)
    inside = crossing & (s > 0) & (s < 1) & (t > 0) & (t < 1)
    across = np.abs((r * n).sum(-1)) / np.sqrt(nn)
    result: Array = np.minimum(np.min(tried, axis=0), np.where(inside, across, np.inf))
    return result


def difference_distance(kinds: tuple[str, str], X: Array, x: Array, Y: Array, y: Array) -> Array:
    """Return the signed distance of the origin to the boundary of B − A (triangles by Qhull): negative inside."""
    from scipy.spatial import ConvexHull

    a, b = vertices(kinds[0], X, x), vertices(kinds[1], Y, y)
    result = np.empty(len(X), np.longdouble)
    for k, (v, w) in enumerate(zip(a, b, strict=True)):
        points = (w[None] - v[:, None]).reshape(-1, 3)
        hull = ConvexHull(points.astype(float))
        length = triangles_distance(points[hull.simplices]).min()
        result[k] = -length if (hull.equations[:, 3] < 0.0).all() else length
    return result


def triangles_distance(corners: Array) -> Array:
    """Return the distances of the origin to triangles (count, 3, 3)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    result = np.min(
        [_to_segment(np.zeros_like(a), np.stack(edge, axis=1)) for edge in ((a, b), (b, c), (c, a))], axis=0
    )
    n = np.cross(b - a, c - a)
    nn = (n * n).sum(-1)
    above = np.all([(np.cross(e - s, -s) * n).sum(-1) >= 0 for s, e in ((a, b), (b, c), (c, a))], axis=0) & (nn > 0)
    plane = np.abs((a * n).sum(-1)) / np.sqrt(np.where(nn > 0, nn, 1))
    least: Array = np.where(above, np.minimum(plane, result), result)
    return least


def _to_segment(p: Array, ends: Array) -> Array:
    u = ends[:, 1] - ends[:, 0]
    uu = (u * u).sum(-1)
    s = np.clip(((p - ends[:, 0]) * u).sum(-1) / np.where(uu > 0, uu, 1), 0, 1)
    return np.sqrt(((p - ends[:, 0] - u * s[:, None]) ** 2).sum(-1))
