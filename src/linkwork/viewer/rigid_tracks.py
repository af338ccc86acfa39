"""Rotations by time as unit quaternions that do not change sign between times."""

from __future__ import annotations

import numpy as np

from linkwork.viewer.rotations import quaternions as rotation_quaternions

__all__ = ["quaternions"]


def quaternions(rotations: np.ndarray) -> np.ndarray:
    """Return unit quaternions (T, 4), (w, x, y, z), of rotation matrices (T, 3, 3).

    Each is that of the two equal ones that is nearer to the one before, so that interpolation takes the shorter arc.
    """
    q = rotation_quaternions(np.asarray(rotations, dtype=float))
    same = np.einsum("ti,ti->t", q[1:], q[:-1]) >= 0.0
    q[1:] *= np.cumprod(np.where(same, 1.0, -1.0))[:, None]
    return q
