"""Comparison of poses, mass matrices and gravity forces at the same configurations of two models of a robot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.compare.robot_comparison import Comparer
from linkwork.model import WORLD, FunctionSpec, Tree
from linkwork.spatial import Pose, Vec3

__all__ = [
    "Dynamics",
    "Functions",
    "Matrices",
    "compare_dynamics",
    "compare_poses",
    "dynamics_of",
    "gravity_scale",
    "poses_of",
    "size_of",
]

Functions = Mapping[str, FunctionSpec]
"""`Robot.functions`, whose algorithms run on floats here: a comparison needs few states."""

Matrices = Mapping[str, np.ndarray]
"""Poses (4, 4) in the world by the name of the link or frame."""

_MOST = 200  # velocities up to which mass matrices are compared; beyond, M a for a random acceleration


class Dynamics(NamedTuple):
    """Dynamics of a robot in one configuration, along n velocities."""

    mass_matrix: np.ndarray | None  # (n, n); None if n is large
    inertial_force: np.ndarray  # (n,): M a at a random acceleration
    gravity_force: np.ndarray  # (n,)
    gravity_scale: float  # √m |g| with the mass m of the robot


def poses_of(functions: Functions, tree: Tree, q: list[float]) -> dict[int, Pose]:
    """Return the world pose of each body by its index, and that of the world, the identity."""
    return {WORLD: Pose.identity(), **dict(enumerate(functions["forward_kinematics"].compute(tree, q)))}


def size_of(poses: Mapping[int, Pose]) -> float:
    """Return the largest distance [m] of a body's origin from the world's origin; 1 m if all are zero."""
    return max(math.hypot(*X.translation) for X in poses.values()) or 1.0


def dynamics_of(functions: Functions, tree: Tree, q: list[float], G: np.ndarray, a: np.ndarray) -> Dynamics:
    """Return the dynamics along the velocities v = G u, at the acceleration u̇ = a."""
    zeros = [0.0] * tree.nv
    forces = functions["inverse_dynamics"].compute(tree.with_gravity(Vec3.zero()), q, zeros, (G @ a).tolist())
    M = None
    if max(G.shape) <= _MOST:
        M = G.T @ np.array(functions["mass_matrix"].compute(tree, q), dtype=float).reshape(tree.nv, tree.nv) @ G
    gravity = np.array(functions["gravity_force"].compute(tree, q), dtype=float)
    return Dynamics(M, G.T @ np.array(forces, dtype=float), G.T @ gravity, gravity_scale(tree))


def gravity_scale(tree: Tree) -> float:
    """Return √m |g| with the mass m of a robot: gravity forces are at most √M_kk times as large."""
    return math.sqrt(tree.mass) * math.hypot(*tree.gravity)


def compare_poses(to: Comparer, poses: Sequence[tuple[Matrices, Matrices]], size: float, when: str) -> None:
    """Compare positions and orientations of frames; errors of positions are relative to the robot's ``size`` [m].

    ``poses`` has both models' poses by the same names, for each configuration; the largest difference counts.
    """
    if not poses:
        return
    for name in poses[0][0]:
        pairs = [(left[name], right[name]) for left, right in poses]
        distances = [float(np.linalg.norm(a[:3, 3] - b[:3, 3])) for a, b in pairs]
        angles = [_angle(a[:3, :3], b[:3, :3]) for a, b in pairs]
        k = int(np.argmax(distances))
        in_left, in_right = (X[:3, 3] for X in pairs[k])
        scale = max(size, float(np.linalg.norm(in_left)), float(np.linalg.norm(in_right)))
        texts = _vector_text(in_left), _vector_text(in_right)
        to.record("poses", f"position{when} [m]", name, *texts, distances[k], distances[k] / scale)
        k = int(np.argmax(angles))
        in_left, in_right = (_rotation_vector(X[:3, :3]) for X in pairs[k])
        texts = _vector_text(in_left), _vector_text(in_right)
        to.record("poses", f"orientation{when} [rad]", name, *texts, angles[k], angles[k])


def _angle(R: np.ndarray, S: np.ndarray) -> float:
    """Return the angle [rad] of the rotation between two rotation matrices, accurate for small angles."""
    return 2.0 * math.asin(min(float(np.linalg.norm(R - S)) / math.sqrt(8.0), 1.0))


def _rotation_vector(R: np.ndarray) -> np.ndarray:
    """Return the rotation vector [rad] of a rotation matrix with a few digits, for display."""
    values, vectors = np.linalg.eig(R)
    axis = np.real(vectors[:, int(np.argmin(np.abs(values - 1.0)))])
    skew = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    angle = math.atan2(float(skew @ axis) / 2.0, (float(np.trace(R)) - 1.0) / 2.0)
    result: np.ndarray = axis * angle
    return result


def _vector_text(values: np.ndarray) -> str:
    return f"({', '.join(f'{x + 0.0:.6g}' for x in values)})"


def compare_dynamics(to: Comparer, velocities: Sequence[str], states: Sequence[tuple[Dynamics, Dynamics]]) -> None:
    """Compare mass matrices or inertial forces, and gravity forces, of several configurations.

    The scale of an element of the mass matrix is the root of the product of its diagonal elements.  With the mass m of
    the robot, no gravity force is larger than √(M_kk m) |g|, its scale.
    """
    if not states or not velocities:
        return
    matrices = [
        (a.mass_matrix, b.mass_matrix) for a, b in states if a.mass_matrix is not None and b.mass_matrix is not None
    ]
    forces = [(a.inertial_force, b.inertial_force) for a, b in states]
    if matrices:
        scales = [np.sqrt(np.maximum(np.diag(a), np.diag(b)).clip(min=0.0)) for a, b in matrices]
        for i, row in enumerate(velocities):
            for j, column in enumerate(velocities[: i + 1]):
                values = [
                    (float(a[i, j]), float(b[i, j]), float(s[i] * s[j]))
                    for (a, b), s in zip(matrices, scales, strict=True)
                ]
                subject = row if i == j else f"{row}, {column}"
                to.values("dynamics", "mass matrix", subject, *_worst(values))
        bounds = [s * max(a.gravity_scale, b.gravity_scale) for s, (a, b) in zip(scales, states, strict=True)]
    else:
        bounds = [np.full(len(velocities), max(np.abs(a).max(), np.abs(b).max())) for a, b in forces]
        for i, name in enumerate(velocities):
            values = [(float(a[i]), float(b[i]), float(s[i])) for (a, b), s in zip(forces, bounds, strict=True)]
            to.values("dynamics", "inertial force M a", name, *_worst(values))
        bounds = [
            np.full(len(velocities), float(np.abs(np.array([a.gravity_force, b.gravity_force])).max()))
            for a, b in states
        ]
    for i, name in enumerate(velocities):
        values = [
            (float(a.gravity_force[i]), float(b.gravity_force[i]), float(s[i]))
            for (a, b), s in zip(states, bounds, strict=True)
        ]
        to.values("dynamics", "gravity force [N·m, N]", name, *_worst(values))


def _worst(values: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Return the triple (left value, right value, scale) with the largest relative difference."""

    def relative(pair: tuple[float, float, float]) -> float:
        a, b, scale = pair
        return abs(a - b) / (max(abs(a), abs(b), scale) or 1.0)

    return max(values, key=relative)
