"""Signed distances of polytopes by the facets of their Minkowski difference: slow, and of nothing else but hulls."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull


def signed_distance_of_hulls(a: np.ndarray, b: np.ndarray) -> float:
    """Return the signed distance of hulls (n, 3) and (m, 3) by the facets of {b − a}, which must not be flat.

    If the origin is inside, the facet whose plane is nearest to it says how to part them; else the triangle that is.
    """
    difference = (b[None] - a[:, None]).reshape(-1, 3)
    hull = ConvexHull(difference)
    exactly = (b.astype(np.longdouble)[None] - a.astype(np.longdouble)[:, None]).reshape(-1, 3)  # some are slivers
    corners = exactly[hull.simplices]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.sqrt((normal**2).sum(1))
    solid = length > 1e-7 * length.max()  # the largest triangles of a facet say best where its plane is
    normal = normal[solid] / length[solid, None]
    normal *= np.sign((normal * hull.equations[solid, :3]).sum(1))[:, None]
    heights = -(normal * corners[solid].mean(1)).sum(1)
    if heights.max() <= 0.0:
        return float(heights.max())
    return float(np.sqrt((_nearest_to_origin(corners) ** 2).sum(1).min()))


def _nearest_to_origin(triangles: np.ndarray) -> np.ndarray:
    """The points of triangles (n, 3, 3) that are nearest to the origin, each the nearest of four candidates."""
    results = []
    for k in range(3):  # on the edges
        p, d = triangles[:, k], triangles[:, (k + 1) % 3] - triangles[:, k]
        s = np.clip(-(p * d).sum(1) / np.maximum((d * d).sum(1), 1e-200), 0.0, 1.0)
        results.append(p + s[:, None] * d)
    a, u, w = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    n = np.cross(u, w)
    square = np.maximum((n * n).sum(1), 1e-200)
    s, t = (np.cross(-a, w) * n).sum(1) / square, (np.cross(u, -a) * n).sum(1) / square
    inside = (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0)
    plane = n * ((a * n).sum(1) / square)[:, None]
    results.append(np.where(inside[:, None], plane, results[0]))
    results = np.array(results)
    best = np.argmin((results**2).sum(2), axis=0)
    return results[best, np.arange(len(triangles))]
