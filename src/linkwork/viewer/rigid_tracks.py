"""Rotations by time as unit quaternions that do not change sign between times."""

from __future__ import annotations

import numpy as np

__all__ = ["quaternions"]


def quaternions(rotations: np.ndarray) -> np.ndarray:
    """Return unit quaternions (T, 4), (w, x, y, z), of rotation matrices (T, 3, 3).

    Each is that of the two equal ones that is nearer to the one before, so that interpolation takes the shorter arc.
    The largest of the four components is computed first: accurate for every angle.
    """
    R = np.asarray(rotations, dtype=float)
    xx, yy, zz = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    squares = 1.0 + np.stack([xx + yy + zz, xx - yy - zz, yy - xx - zz, zz - xx - yy], axis=-1)
    products = np.empty((len(R), 4, 4))  # of components i and j, times four
    pairs = {
        (0, 1): R[:, 2, 1] - R[:, 1, 2],
        (0, 2): R[:, 0, 2] - R[:, 2, 0],
        (0, 3): R[:, 1, 0] - R[:, 0, 1],
        (1, 2): R[:, 1, 0] + R[:, 0, 1],
        (1, 3): R[:, 0, 2] + R[:, 2, 0],
        (2, 3): R[:, 2, 1] + R[:, 1, 2],
    }
    for k in range(4):
        products[:, k, k] = squares[:, k]
    for (i, j), value in pairs.items():
        products[:, i, j] = products[:, j, i] = value
    q: np.ndarray = products[np.arange(len(R)), squares.argmax(axis=-1)]
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    same = np.einsum("ti,ti->t", q[1:], q[:-1]) >= 0.0
    q[1:] *= np.cumprod(np.where(same, 1.0, -1.0))[:, None]
    return q
