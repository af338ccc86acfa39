"""What is left from one pose to another: closed forms, half turns, derivatives, batches, symbols."""

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
    """Poses, targets and what is left: a turn by φ in the world's axes after any other."""
    rng = np.random.default_rng(0)
    X = np.array([pose(rng.normal(size=3), rng.normal(size=3)) for _ in VECTORS])
    target, left = X.copy(), np.zeros((len(VECTORS), 6))
    for k, phi in enumerate(VECTORS):
        way = rng.normal(size=3)
        target[k, :3, :3] = turned(phi) @ X[k, :3, :3]
        target[k, :3, 3] += way
        left[k] = [*phi, *way]
    return X, target, left


def test_it_is_the_turn_in_the_worlds_axes_and_the_way() -> None:
    X, target, left = cases()
    found = lw.pose_difference(X, target)
    assert found.shape == left.shape
    beside = np.linalg.norm(left[:, :3], axis=1) > 3.1  # rounding of the matrices decides less about the axis there
    assert np.abs(found - left)[~beside].max() < 1e-14
    assert np.abs(found - left)[beside].max() < 1e-14 * 10
    assert np.array_equal(found[3], lw.pose_difference(X[3], target[3]))
    assert not lw.pose_difference(X[:, None], X[:, None]).any()


def test_half_a_turn_is_one_of_two() -> None:
    for axis in AXES:
        R = 2.0 * np.outer(axis, axis) - np.eye(3)
        X = np.eye(4)
        X[:3, :3] = R
        phi = lw.pose_difference(np.eye(4), X)[:3]
        assert abs(np.linalg.norm(phi) - math.pi) < 1e-15 * 4
        assert np.abs(turned(phi) - R).max() < 1e-15


@pytest.mark.parametrize("phi", VECTORS[::3], ids=str)
def test_derivatives_are_those_of_the_motion(phi: np.ndarray) -> None:
    """Where a's axes turn at ω and its origin moves at v: d' = −v, and φ' = −J⁻¹ ω by the right Jacobian of SO(3)."""
    w, v = np.array([0.3, -0.5, 0.7]), np.array([1.0, 2.0, -1.0])
    start, end = pose([0.2, -0.1, 0.4], [0.1, 0.2, 0.3]), np.eye(4)
    end[:3, :3] = turned(phi) @ start[:3, :3]
    hat = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    rate = np.zeros((4, 4))
    rate[:3, :3], rate[:3, 3] = hat @ start[:3, :3], v
    moving = object_array((4, 4), seeded(start.ravel().tolist(), rate.ravel().tolist()))
    found = [parts(x)[1] for x in lw.pose_difference(moving, end).tolist()]
    angle = float(np.linalg.norm(phi))
    turn = np.cross(phi, w)
    factor = 1.0 / 12.0 if angle < 1e-3 else (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / angle**2
    expected = [*-(w + 0.5 * turn + factor * np.cross(phi, turn)), *-v]
    assert np.abs(np.array(found, float) - expected).max() < (1e-13 if angle < 3.1 else 1e-6)


def test_symbols_give_what_numbers_give() -> None:
    X, target, _ = cases()
    kernel = lw.compile(lambda X, target: lw.pose_difference(X, target), X=(4, 4), target=(4, 4))
    assert np.array_equal(kernel(X, target), lw.pose_difference(X, target))
    fixed = lw.compile(lambda X: lw.pose_difference(X, target[3]), X=(4, 4))
    assert np.allclose(fixed(X[3]), lw.pose_difference(X[3], target[3]), rtol=1e-15, atol=1e-15)
    nothing = lw.compile(lambda X: lw.pose_difference(np.stack([X, X]), X)[1], X=(4, 4))
    assert np.abs(nothing(X)).max() == 0.0


def test_other_shapes_are_refused() -> None:
    for arguments in ((np.eye(3), np.eye(4)), (np.eye(4), np.zeros(16)), (3.0, np.eye(4))):
        with pytest.raises(ValueError, match=r"^pose_difference: (X|target): expected poses of shape \(\.\.\., 4, 4\)"):
            lw.pose_difference(*arguments)


def test_the_quaternion_of_a_rotation_is_exact_everywhere() -> None:
    """... wherever the largest of its four numbers stands."""
    rng = np.random.default_rng(1)
    for q in [*np.eye(4), *rng.normal(size=(20, 4)), *(np.eye(4) + 1e-9)]:
        w, x, y, z = q / np.linalg.norm(q)
        R = Rotation.from_quaternion(w, x, y, z)
        found = np.array(Quaternion.of(R).elements())
        exact = np.array([w, x, y, z])
        assert min(np.abs(found - exact).max(), np.abs(found + exact).max()) < 2e-15
    assert Quaternion.of(Rotation.identity()).vector == Vec3.zero()
