"""Joints as people hold them, one of every type, at random places on both of their links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.joints import Ball, Swivel
from linkwork.joints import ALL
from linkwork.model.random_tree import random_pose

__all__ = [
    "EVERY",
    "SAMPLES",
    "every_joint",
    "every_moving_joint",
    "hat",
    "matrix",
    "motion",
    "near",
    "six",
    "state",
    "wrench",
]

SAMPLES = 3


def _joint(name: str, kind: Any, seed: int) -> lw.Joint:
    rng = np.random.default_rng(seed)
    poses = [matrix(random_pose(rng)) for _ in range(2)]
    links = {"parent": "before", "child": "after"}
    return lw.Joint.of(kind.example(rng), name=name, placement=poses[0], rotor=poses[1], **links)


def matrix(pose: Any) -> np.ndarray:
    return np.array(pose.elements(), dtype=float).reshape(4, 4)


EVERY: dict[str, lw.Joint] = {
    kind.type_name(): _joint(kind.type_name(), kind, seed) for seed, kind in enumerate((*ALL, Swivel, Ball))
}
every_joint = pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY)
_MOVING = {name: joint for name, joint in EVERY.items() if joint.nv}
every_moving_joint = pytest.mark.parametrize("joint", _MOVING.values(), ids=_MOVING)


def state(joint: lw.Joint, seed: int = 0, n: int = SAMPLES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q (n, nq), v and a (n, nv)."""
    rng = np.random.default_rng(seed)
    return joint.random_configuration(rng, size=n), rng.normal(size=(n, joint.nv)), rng.normal(size=(n, joint.nv))


def six(hat: np.ndarray) -> np.ndarray:
    """(ω; v) of (..., 4, 4) matrices [ω×, v; 0, 0]."""
    parts = [hat[..., 2, 1], hat[..., 0, 2], hat[..., 1, 0], hat[..., 0, 3], hat[..., 1, 3], hat[..., 2, 3]]
    return np.stack(parts, axis=-1)


def near(result: np.ndarray, expected: Any, within: float = 1e-13) -> None:
    expected = np.asarray(expected).reshape(result.shape)
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    assert np.max(np.abs(result - expected), initial=0.0) <= within * scale


def hat(V: np.ndarray) -> np.ndarray:
    """[ω×, v; 0, 0] of (..., 6) vectors."""
    matrix = np.zeros((*V.shape[:-1], 4, 4))
    w, matrix[..., :3, 3] = V[..., :3], V[..., 3:]
    matrix[..., 2, 1], matrix[..., 0, 2], matrix[..., 1, 0] = w[..., 0], w[..., 1], w[..., 2]
    matrix[..., 1, 2], matrix[..., 2, 0], matrix[..., 0, 1] = -w[..., 0], -w[..., 1], -w[..., 2]
    return matrix


def motion(X: np.ndarray, V: np.ndarray) -> np.ndarray:
    """A motion vector in a, of one in b, by the matrices X_ab (..., 4, 4)."""
    return six(X @ hat(V) @ np.linalg.inv(X))


def wrench(X: np.ndarray, F: np.ndarray) -> np.ndarray:
    """A wrench in a, of one in b, by the matrices X_ab (..., 4, 4)."""
    R, p = X[..., :3, :3], X[..., :3, 3]
    moment, force = (np.einsum("...ij,...j->...i", R, part) for part in (F[..., :3], F[..., 3:]))
    return np.concatenate([moment + np.cross(p, force), force], axis=-1)
