"""Surfaces of shapes on grids: height fields by their triangles, distance fields by marching tetrahedra."""

from __future__ import annotations

import itertools

import numpy as np

from linkwork.shapes import DistanceField, HeightField, PointCloud
from linkwork.viewer.document import Surface
from linkwork.viewer.triangles import smooth_surface

__all__ = ["cloud_points", "cloud_surface", "distance_field_surface", "height_field_surface"]

MAX_GRID = 250  # points of a drawn grid along an axis
MAX_POINTS = 20_000  # of a drawn cloud
_MARKER = 0.004  # [m] half size of the drawn points of a cloud without a radius
_MAX_MARKERS = 2000  # points of a cloud on a link


def height_field_surface(field: HeightField) -> Surface:
    """Return the top of a terrain; grids with more than 250 points along an axis are sampled."""
    heights = np.asarray(field.heights)
    i, j = (_sampled(count) for count in heights.shape)
    x = field.origin[0] + field.spacing[0] * i
    y = field.origin[1] + field.spacing[1] * j
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), heights[np.ix_(i, j)]], axis=-1)
    index = np.arange(len(i) * len(j)).reshape(len(i), len(j))
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    triangles = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    return smooth_surface(points.reshape(-1, 3), triangles)


def _sampled(count: int) -> np.ndarray:
    """Return at most `MAX_GRID` indices of a grid line, with both ends."""
    return np.unique(np.round(np.linspace(0, count - 1, min(count, MAX_GRID))).astype(int))


def cloud_points(cloud: PointCloud) -> np.ndarray:
    """Return the points of a cloud (n, 3) [m], of larger clouds every k-th."""
    points = np.asarray(cloud.points)
    return points[:: -(-len(points) // MAX_POINTS)]


def cloud_surface(cloud: PointCloud) -> Surface:
    """Return a small octahedron at each point of a cloud, for clouds that move with a link."""
    points = np.asarray(cloud.points)
    points = points[:: -(-len(points) // _MAX_MARKERS)]
    corners = np.concatenate([np.eye(3), -np.eye(3)]) * max(cloud.radius, _MARKER)
    faces = [(0, 1, 2), (1, 3, 2), (3, 4, 2), (4, 0, 2), (1, 0, 5), (3, 1, 5), (4, 3, 5), (0, 4, 5)]
    vertices = (points[:, None] + corners).reshape(-1, 3)
    triangles = (6 * np.arange(len(points))[:, None, None] + np.array(faces)).reshape(-1, 3)
    return Surface(vertices.astype(np.float32), triangles.astype(np.uint32))


def distance_field_surface(field: DistanceField) -> Surface | None:
    """Return the surface of distance zero, or None if there is none inside the grid.

    Each cell is divided into six tetrahedra around one of its diagonals.  Source: Doi and Koide, An efficient method of
    triangulating equi-valued surfaces by using tetrahedral cells, 1991.
    """
    stride = [-(-count // MAX_GRID) for count in field.values.shape]
    values = np.asarray(field.values)[:: stride[0], :: stride[1], :: stride[2]]
    if min(values.shape) < 2:
        return None
    values = np.where(values == 0.0, 1e-300, values)  # a point on the surface counts as outside
    cells = _crossed_cells(values)
    if not len(cells):
        return None
    edges, triangles = _march(values, cells)
    unique, index = np.unique(edges, axis=0, return_inverse=True)
    low, high = (np.stack(np.unravel_index(unique[:, k], values.shape), axis=1) for k in (0, 1))
    first, second = values[tuple(low.T)], values[tuple(high.T)]
    t = (first / (first - second))[:, None]
    grid = (1.0 - t) * low + t * high
    points = np.asarray(field.origin) + grid * np.asarray(field.spacing) * stride
    return smooth_surface(points, index.reshape(-1)[triangles])


def _crossed_cells(values: np.ndarray) -> np.ndarray:
    """Return the indices (n, 3) of cells with corners on both sides of the surface."""
    inside = values < 0.0
    corners = [inside[tuple(slice(k, n - 1 + k) for k, n in zip(c, values.shape, strict=True))] for c in _CORNERS]
    count = sum(corner.astype(np.int8) for corner in corners)
    return np.argwhere((count > 0) & (count < 8))


_CORNERS = tuple(itertools.product((0, 1), repeat=3))


def _march(values: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the crossed edges (k, 2) as grid indices, smaller first, and triangles as indices of them.

    Triangles are counter-clockwise seen from where values are positive.
    """
    edges, triangles, total = [], [], 0
    for axes in itertools.permutations(range(3)):
        steps = np.concatenate([np.zeros((1, 3), int), np.cumsum(np.eye(3, dtype=int)[list(axes)], axis=0)])
        odd = np.linalg.det(np.eye(3)[list(axes)]) < 0.0  # corners in mirrored order
        corner = cells[:, None, :] + steps
        index = np.ravel_multi_index(tuple(np.moveaxis(corner, -1, 0)), values.shape)  # (n, 4)
        inside = values.reshape(-1)[index] < 0.0
        code = inside @ np.array([1, 2, 4, 8])
        for pattern in range(1, 15):
            chosen = index[code == pattern]
            for triangle in _faces(pattern) if len(chosen) else ():
                turned = triangle[::-1] if odd else triangle
                ends = np.sort(np.stack([chosen[:, list(pair)] for pair in turned], axis=1), axis=-1)
                edges.append(ends.reshape(-1, 2))
                triangles.append(total + np.arange(3 * len(chosen)).reshape(-1, 3))
                total += 3 * len(chosen)
    return np.concatenate(edges), np.concatenate(triangles)


def _faces(pattern: int) -> list[tuple[tuple[int, int], ...]]:
    """Return the triangles of a tetrahedron with the corners ``pattern`` inside, as crossed edges (inside, outside).

    The corners (0, 1, 2, 3) of the tetrahedron have positive orientation: (c1 - c0) · (c2 - c0) × (c3 - c0) > 0.
    """
    inside = [k for k in range(4) if pattern >> k & 1]
    outside = [k for k in range(4) if not pattern >> k & 1]
    if len(inside) == 2:
        (a, b), (c, d) = inside, outside
        if not _is_even((a, b, c, d)):
            c, d = d, c
        return [((a, c), (a, d), (b, d)), ((a, c), (b, d), (b, c))]
    lone, opposite = (inside[0], outside) if len(inside) == 1 else (outside[0], inside)
    x, y, z = opposite
    if _is_even((lone, x, y, z)) != (len(inside) == 1):
        y, z = z, y
    return [((lone, x), (lone, y), (lone, z))]


def _is_even(order: tuple[int, ...]) -> bool:
    """Return True for an even permutation of (0, 1, 2, 3)."""
    return sum(order[i] > order[j] for i in range(4) for j in range(i + 1, 4)) % 2 == 0
