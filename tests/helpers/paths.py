"""Frames that move: smooth paths of poses, over numbers of any precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

__all__ = ["Path", "path"]

Path = Callable[[Any], Any]  # from time to a homogeneous 4×4 matrix


def path(seed: int) -> Path:
    """Three angles and three coordinates, each a polynomial plus an oscillation."""
    values = np.random.default_rng(seed).normal(size=(6, 4)).tolist()

    def pose(t: Any) -> Any:
        a, b, c, x, y, z = (k[0] + k[1] * t + k[2] * t * t + mpmath.sin(k[3] * t) for k in values)
        sin, cos = mpmath.sin, mpmath.cos
        Z = mpmath.matrix([[cos(a), -sin(a), 0], [sin(a), cos(a), 0], [0, 0, 1]])
        Y = mpmath.matrix([[cos(b), 0, sin(b)], [0, 1, 0], [-sin(b), 0, cos(b)]])
        X = mpmath.matrix([[1, 0, 0], [0, cos(c), -sin(c)], [0, sin(c), cos(c)]])
        T = mpmath.eye(4)
        T[:3, :3] = Z * Y * X
        T[:3, 3] = mpmath.matrix([x, y, z])
        return T

    return pose
