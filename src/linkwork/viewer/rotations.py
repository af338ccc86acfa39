"""Quaternions of rotation matrices, and poses of quaternions, for batches."""

from __future__ import annotations

import numpy as np

__all__ = ["pose_of", "quaternions", "steady_quaternions"]


def quaternions(R: np.ndarray) -> np.ndarray:
    """Return the unit quaternions (w, x, y, z) (..., 4) of rotation matrices (..., 3, 3).

    The largest component of each is computed first, which avoids loss of significance.
    """
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    squares = np.stack([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], axis=-1)
    x, y, z = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    outer = np.stack([squares[..., 0], x, y, z, x, squares[..., 1], xy, xz, y, xy, squares[..., 2], yz], axis=-1)
    outer = np.concatenate([outer, np.stack([z, xz, yz, squares[..., 3]], axis=-1)], axis=-1)
    table = outer.reshape(*R.shape[:-2], 4, 4)  # 4 q qᵀ
    row = np.take_along_axis(table, squares.argmax(-1)[..., None, None], axis=-2)[..., 0, :]
    result: np.ndarray = row / np.linalg.norm(row, axis=-1, keepdims=True)
    return result


def steady_quaternions(R: np.ndarray) -> np.ndarray:
    """Return unit quaternions (T, 4) of rotation matrices (T, 3, 3), without changes of sign between times.

    A rotation has two quaternions; of these the one nearer to the previous quaternion is chosen, so that interpolation
    takes the shorter arc.
    """
    q = quaternions(np.asarray(R, dtype=float))
    same = np.einsum("ti,ti->t", q[1:], q[:-1]) >= 0.0
    q[1:] *= np.cumprod(np.where(same, 1.0, -1.0))[:, None]
    return q


def pose_of(wxyz: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) of a quaternion (w, x, y, z), which is normalised, and a position (3,) [m]."""
    w, x, y, z = np.asarray(wxyz, dtype=float) / np.linalg.norm(wxyz)
    X = np.eye(4)
    X[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    X[:3, 3] = position
    return X
