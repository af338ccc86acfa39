"""Differences of poses: closed forms, half turns, derivatives, batches, symbols."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.spatial import Quaternion, Rotation, Vec3

ANGLES = [0.0, 1e-300, 1e-9, 1e-3, 0.02, 1.0, 2.0, 3.0, math.pi - 1e-6, math.pi - 1e-9]
AXES = [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, -0.8), (2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)]
VECTORS = np.array([np.array(axis) * angle for axis in AXES for angle in ANGLES])


def turned(phi: Any) -> np.ndarray:
    """exp([φ×]) by Rodrigues' formula."""
    phi = np.asarray(phi)
    angle = float(np.linalg.norm(phi))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = phi / angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * K + 2.0 * math.sin(0.5 * angle) ** 2 * (K @ K)


def pose(phi: Any, p: Any) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = turned(phi), p
    return X


def cases() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return poses, targets and their differences: a turn by φ in the world's axes after any rotation."""
    rng = np.random.default_rng(0)
    X = np.array([pose(rng.normal(size=3), rng.normal(size=3)) for _ in VECTORS])
    target, left = X.copy(), np.zeros((len(VECTORS), 6))
    for k, phi in enumerate(VECTORS):
        offset = rng.normal(size=3)
        target[k, :3, :3] = turned(phi) @ X[k, :3, :3]
        target[k, :3, 3] += offset
        left[k] = [*phi, *offset]
    return X, target, left


def test_pose_difference_is_a_rotation_vector_and_a_displacement() -> None:
    X, target, left = cases()
    difference = lw.pose_difference(X, target)
    assert difference.shape == left.shape
    beside = np.linalg.norm(left[:, :3], axis=1) > 3.1  # rounding of the matrices decides less about the axis there
    assert np.abs(difference - left)[~beside].max() < 1e-14
    assert np.abs(difference - left)[beside].max() < 1e-14 * 10
    assert np.array_equal(difference[3], lw.pose_difference(X[3], target[3]))
    assert not lw.pose_difference(X[:, None], X[:, None]).any()


def test_pose_difference_of_half_a_turn_has_length_pi() -> None:
    for axis in AXES:
        R = 2.0 * np.outer(axis, axis) - np.eye(3)
        X = np.eye(4)
        X[:3, :3] = R
        phi = lw.pose_difference(np.eye(4), X)[:3]
        assert abs(np.linalg.norm(phi) - math.pi) < 1e-15 * 4
        assert np.abs(turned(phi) - R).max() < 1e-15


@pytest.mark.parametrize("phi", VECTORS[::3], ids=str)
def test_derivatives_of_pose_difference_equal_the_closed_form(phi: np.ndarray) -> None:
    """For a's rotation at ω and motion at v: d' = −v, and φ' = −J⁻¹ ω by the right Jacobian."""
    w, v = np.array([0.3, -0.5, 0.7]), np.array([1.0, 2.0, -1.0])
    start, end = pose([0.2, -0.1, 0.4], [0.1, 0.2, 0.3]), np.eye(4)
    end[:3, :3] = turned(phi) @ start[:3, :3]
    hat = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    rate = np.zeros((4, 4))
    rate[:3, :3], rate[:3, 3] = hat @ start[:3, :3], v
    moving = object_array((4, 4), seeded(start.ravel().tolist(), rate.ravel().tolist()))
    rates = [parts(x)[1] for x in lw.pose_difference(moving, end).tolist()]
    angle = float(np.linalg.norm(phi))
    turn = np.cross(phi, w)
    factor = 1.0 / 12.0 if angle < 1e-3 else (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / angle**2
    expected = [*-(w + 0.5 * turn + factor * np.cross(phi, turn)), *-v]
    assert np.abs(np.array(rates, float) - expected).max() < (1e-13 if angle < 3.1 else 1e-6)


def test_pose_difference_on_symbols_equals_that_on_floats() -> None:
    X, target, _ = cases()
    kernel = lw.compile(lambda X, target: lw.pose_difference(X, target), X=(4, 4), target=(4, 4))
    assert np.array_equal(kernel(X, target), lw.pose_difference(X, target))
    fixed = lw.compile(lambda X: lw.pose_difference(X, target[3]), X=(4, 4))
    assert np.allclose(fixed(X[3]), lw.pose_difference(X[3], target[3]), rtol=1e-15, atol=1e-15)
    zero_difference = lw.compile(lambda X: lw.pose_difference(np.stack([X, X]), X)[1], X=(4, 4))
    assert np.abs(zero_difference(X)).max() == 0.0


def test_arrays_that_are_not_poses_are_refused_by_pose_difference() -> None:
    for arguments in ((np.eye(3), np.eye(4)), (np.eye(4), np.zeros(16)), (3.0, np.eye(4))):
        with pytest.raises(ValueError, match=r"^pose_difference: (X|target): expected poses of shape \(\.\.\., 4, 4\)"):
            lw.pose_difference(*arguments)


def test_quaternions_computed_from_rotation_matrices_are_exact() -> None:
    """Any of the four components may be the largest."""
    rng = np.random.default_rng(1)
    for q in [*np.eye(4), *rng.normal(size=(20, 4)), *(np.eye(4) + 1e-9)]:
        w, x, y, z = q / np.linalg.norm(q)
        R = Rotation.from_quaternion(w, x, y, z)
        quaternion = np.array(Quaternion.of(R).elements())
        exact = np.array([w, x, y, z])
        assert min(np.abs(quaternion - exact).max(), np.abs(quaternion + exact).max()) < 2e-15
    assert Quaternion.of(Rotation.identity()).vector == Vec3.zero()
