"""Rigid-body mechanics in plain matrices, angular part first: an independent reference of a few lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def skew(a: ArrayLike) -> np.ndarray:
    x, y, z = np.asarray(a, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def homogeneous(R: np.ndarray, p: ArrayLike) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def random_pose(rng: np.random.Generator) -> np.ndarray:
    return homogeneous(random_rotation(rng), rng.normal(size=3))


def motion_matrix(T: np.ndarray) -> np.ndarray:
    """Return the matrix from twists in b to twists in a, for T = X_ab."""
    R, p = T[:3, :3], T[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def force_matrix(T: np.ndarray) -> np.ndarray:
    """Return the matrix from wrenches in b to wrenches in a, for T = X_ab."""
    return np.linalg.inv(motion_matrix(T)).T


def cross_motion(V: ArrayLike) -> np.ndarray:
    w, v = np.asarray(V, dtype=float)[:3], np.asarray(V, dtype=float)[3:]
    return np.block([[skew(w), np.zeros((3, 3))], [skew(v), skew(w)]])


def point_cloud(rng: np.random.Generator, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Masses and places of some points."""
    return rng.uniform(0.1, 2.0, size=n), rng.normal(size=(n, 3))


def inertia_matrix(masses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The 6×6 inertia about the origin, by its definition: the sum of m [1 −[r×]]ᵀ [1 −[r×]] in (ω; v)."""
    total = np.zeros((6, 6))
    for m, r in zip(masses, points, strict=True):
        velocity_of_point = np.hstack([-skew(r), np.eye(3)])
        total += m * velocity_of_point.T @ velocity_of_point
    return total
