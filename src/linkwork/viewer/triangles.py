"""Triangles of surfaces: arrows, normals that are smooth except at creases, decimation by clustering of vertices."""

from __future__ import annotations

import math

import numpy as np

from linkwork.viewer.document import Surface

__all__ = ["arrow_poses", "cone", "cylinder", "decimated", "smooth_surface"]

_CREASE = math.cos(math.radians(35.0))  # triangles at a larger angle have an edge between them
_MAX_DEGREE = 48  # triangles at one vertex; normals at vertices with more are those of the triangles
_NORMAL_STEPS = 511.0  # resolution of normals that are merged, for each of three components in 10 bits
_CELL_GROWTH = 1.25


def smooth_surface(
    points: np.ndarray,
    triangles: np.ndarray,
    *,
    colors: np.ndarray | None = None,
    uv: np.ndarray | None = None,
    texture: bytes | None = None,
) -> Surface:
    """Return a surface with smooth normals; an edge of more than 35° is a crease.

    ``points`` (n, 3), ``triangles`` (m, 3); ``colors`` (n, 4) uint8 and ``uv`` (n, 2) belong to the points.  Points at
    the same position share a normal.  Triangles without area are left out.
    """
    points = np.asarray(points, dtype=float)
    triangles = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    areas = np.cross(b - a, c - a)  # twice the area, along the normal
    sizes = np.linalg.norm(areas, axis=1)
    positive = sizes > 0.0
    triangles, areas, sizes = triangles[positive], areas[positive], sizes[positive]
    corners = triangles.reshape(-1)
    normals = _corner_normals(_positions(points)[corners], areas, areas / sizes[:, None])
    key = np.round((normals + 1.0) * _NORMAL_STEPS).astype(np.int64)
    packed = ((corners * 1024 + key[:, 0]) * 1024 + key[:, 1]) * 1024 + key[:, 2]
    _, first, index = np.unique(packed, return_index=True, return_inverse=True)
    chosen = corners[first]
    return Surface(
        vertices=points[chosen].astype(np.float32),
        triangles=index.reshape(-1, 3).astype(np.uint32),
        normals=normals[first].astype(np.float32),
        colors=None if colors is None else colors[chosen],
        uv=None if uv is None else uv[chosen].astype(np.float32),
        texture=texture,
    )


def _positions(points: np.ndarray) -> np.ndarray:
    """Return an index (n,) for each point; points at the same position have the same index."""
    if not len(points):
        return np.empty(0, np.int64)
    return np.asarray(np.unique(points + 0.0, axis=0, return_inverse=True)[1]).reshape(-1)


def _corner_normals(positions: np.ndarray, areas: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the unit normal at each corner of the triangles (3m, 3).

    It is the mean normal of adjacent triangles, without those behind a crease.
    """
    count = len(positions)
    face = np.arange(count) // 3
    order = np.argsort(positions, kind="stable")
    degree = np.bincount(positions, minlength=0)[positions[order]]
    start = np.searchsorted(positions[order], positions[order])
    partners = np.where(degree <= _MAX_DEGREE, degree, 0)
    first = np.repeat(np.arange(count), partners)
    within = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    first_face, second_face = face[order[first]], face[order[start[first] + within]]
    near = (units[first_face] * units[second_face]).sum(axis=1) >= _CREASE
    total = np.zeros((count, 3))
    for k in range(3):
        total[:, k] = np.bincount(order[first[near]], areas[second_face[near], k], minlength=count)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 0.0, total / np.where(length > 0.0, length, 1.0), units[face])


def decimated(
    points: np.ndarray, triangles: np.ndarray, limit: int, labels: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Approximate a surface by at most ``limit`` triangles, by clustering of vertices in a grid of cubic cells.

    The result is the points, the triangles, and the index of an original vertex for each point. Vertices with
    different ``labels`` (n,) are never merged. Source: Rossignac and Borrel, Multi-resolution 3D approximations for
    rendering complex scenes, 1993.
    """
    source = np.arange(len(points))
    if len(triangles) <= limit:
        return points, triangles, source
    low = points.min(axis=0)
    extent = np.ptp(points, axis=0)
    cell = float(extent.max()) / max(math.sqrt(limit), 2.0)
    while True:
        grid = np.floor((points - low) / cell).astype(np.int64)
        counts = np.maximum(np.floor(extent / cell).astype(np.int64) + 1, 1)
        key = (grid[:, 0] * counts[1] + grid[:, 1]) * counts[2] + grid[:, 2]
        if labels is not None:
            key = key * (int(labels.max()) + 1) + labels
        _, first, index = np.unique(key, return_index=True, return_inverse=True)
        index = index.reshape(-1)
        merged = index[triangles]
        merged = merged[
            (merged[:, 0] != merged[:, 1]) & (merged[:, 1] != merged[:, 2]) & (merged[:, 2] != merged[:, 0])
        ]
        merged = merged[_first_of_each(merged)]
        if len(merged) <= limit:
            break
        cell *= _CELL_GROWTH
    weights = np.bincount(index, minlength=len(first))
    means = np.stack([np.bincount(index, points[:, k], minlength=len(first)) for k in range(3)], axis=1)
    return means / weights[:, None], merged, source[first]


def _first_of_each(triangles: np.ndarray) -> np.ndarray:
    """Return the indices of distinct triangles; two are equal if vertices and orientation are the same."""
    if not len(triangles):
        return np.empty(0, np.int64)
    lead = triangles.argmin(axis=1)
    rows = np.arange(len(triangles))
    turned = np.stack([triangles[rows, (lead + k) % 3] for k in range(3)], axis=1)
    return np.sort(np.unique(turned, axis=0, return_index=True)[1])


_SIDES = 16
_SMALLEST = 1e-6  # [m] shorter arrows, and hidden ones, have this size: a scale of zero has no normals
_HEAD_LENGTH, _HEAD_WIDTH = 6.0, 2.4  # of the shaft's radius


def cylinder() -> Surface:
    """Return the lateral surface of a cylinder, with smooth normals."""
    return _round(1.0)


def cone() -> Surface:
    """Return a cone with its base, with smooth normals."""
    return _round(0.0)


def _round(top: float) -> Surface:
    angles = np.linspace(0.0, 2.0 * np.pi, _SIDES + 1)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=-1)
    up = np.array([0.0, 0.0, 1.0])
    side = (circle + (1.0 - top) * up) / np.hypot(1.0, 1.0 - top)
    vertices = np.concatenate([circle, circle * top + up, circle, np.zeros((1, 3))])
    normals = np.concatenate([side, side, np.tile(-up, (_SIDES + 2, 1))])
    i, count = np.arange(_SIDES), _SIDES + 1
    triangles = [
        np.stack([i, i + 1, i + 1 + count], axis=-1),
        np.stack([i, i + 1 + count, i + count], axis=-1),
        np.stack([i + 1 + 2 * count, i + 2 * count, np.full(_SIDES, 3 * count)], axis=-1),
    ]
    return Surface(vertices.astype("f4"), np.concatenate(triangles).astype("u4"), normals.astype("f4"))


def arrow_poses(
    starts: np.ndarray, vectors: np.ndarray, radius: float
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return poses (T, 4, 4) and scales (T, 3) of the shaft, and poses and scales of the head, of an arrow.

    ``starts`` and ``vectors`` are (T, 3) [m]; a vector of zero length gives a shaft and a head too small to be seen.
    """
    lengths = np.linalg.norm(vectors, axis=-1)
    shown = lengths > _SMALLEST
    z = np.where(shown[:, None], vectors, [0.0, 0.0, 1.0]) / np.where(shown, lengths, 1.0)[:, None]
    side = np.where(np.abs(z[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    x = np.cross(side, z)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    poses = np.tile(np.eye(4), (len(z), 1, 1))
    poses[:, :3, :3] = np.stack([x, np.cross(z, x), z], axis=-1)
    poses[:, :3, 3] = starts
    width = np.minimum(radius, 0.12 * lengths)
    tip = np.minimum(0.35 * lengths, _HEAD_LENGTH * radius)
    heads = poses.copy()
    heads[:, :3, 3] += z * (lengths - tip)[:, None]
    sizes = [np.stack([width, width, lengths - tip], axis=-1)]
    sizes.append(np.stack([_HEAD_WIDTH * width, _HEAD_WIDTH * width, tip], axis=-1))
    shaft, head = (np.where(shown[:, None], size, _SMALLEST) for size in sizes)
    return (poses, shaft), (heads, head)
