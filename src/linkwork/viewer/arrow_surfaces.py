"""Surfaces of arrows: a cylinder and a cone along z, with radius 1 and length 1, and their poses along vectors."""

from __future__ import annotations

import numpy as np

from linkwork.viewer.document import Surface

__all__ = ["arrow_poses", "cone", "cylinder"]

_SIDES = 16
_SMALLEST = 1e-6  # [m] shorter arrows, and hidden ones, have this size: a scale of zero has no normals
_HEAD_LENGTH, _HEAD_WIDTH = 6.0, 2.4  # of the shaft's radius


def cylinder() -> Surface:
    """Return a cylinder without ends, with smooth normals."""
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
    """Return the poses (T, 4, 4) and scales (T, 3) of the shaft and of the head of an arrow.

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
