"""Rotations: orthonormal to rounding, equal to the matrix exponential, and exact at special angles."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest

from helpers.rigid import random_rotation, skew
from helpers.scalars import EPS, assert_near, every_jacobian, every_scalar
from helpers.spatial import scalars_of
from linkwork.expr.scalar.symbol import Graph
from linkwork.spatial import Quaternion, Rotation, Vec3

ANGLES = [0.0, 1e-12, 1e-8, 1e-4, 1.0, -2.5, math.pi - 1e-8, math.pi, 3.0 * math.pi, 100.0]
AXES = [(0.0, 0.0, 1.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.6, 0.0, -0.8), (2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)]


def matrix(R: Rotation) -> np.ndarray:
    return np.array([float(x) for x in scalars_of(R)]).reshape(3, 3)


def expm(A: np.ndarray) -> np.ndarray:
    with mpmath.workdps(40):
        return np.array(mpmath.expm(mpmath.matrix(A.tolist())).tolist(), dtype=float)


def assert_rotation(R: np.ndarray, times: float = 6.0) -> None:
    assert np.max(np.abs(R.T @ R - np.eye(3))) <= times * EPS
    assert abs(np.linalg.det(R) - 1.0) <= times * EPS


@pytest.mark.parametrize("axis", AXES)
@every_scalar
def test_rotations_about_an_axis_equal_the_matrix_exponential(axis: tuple[float, float, float], run: Any) -> None:
    results = run(lambda x: scalars_of(Rotation.about(Vec3(*axis), x[0])), np.array(ANGLES)[:, None])
    for angle, result in zip(ANGLES, results, strict=True):
        assert_rotation(result.reshape(3, 3))
        # the axis is a unit vector only to rounding, by which the exponential turns too far or too little
        with mpmath.workdps(40):
            exact = mpmath.expm(mpmath.matrix(skew(axis).tolist()) * mpmath.mpf(angle))
        assert_near(result, np.array(exact.tolist(), dtype=float).ravel(), times=4.0 * (1.0 + abs(angle)))


@pytest.mark.parametrize("k", range(3))
def test_rotations_about_coordinate_axes_have_exact_zeros_and_ones(k: int) -> None:
    axis = [0.0, 0.0, 0.0]
    axis[k] = 1.0
    angle = Graph().input("q")
    R = np.array(scalars_of(Rotation.about(Vec3.of(axis), angle)), dtype=object).reshape(3, 3)
    for i, j in itertools.product(range(3), repeat=2):
        if k in (i, j):
            assert type(R[i, j]) is float and R[i, j] == (1.0 if i == j else 0.0)
    assert matrix(Rotation.about(Vec3.of(axis), 0.3))[k].tolist() == axis


def test_rotation_by_a_zero_angle_is_the_identity() -> None:
    """It is exact for a coordinate axis, and to rounding for another."""
    for axis in AXES:
        R = matrix(Rotation.about(Vec3(*axis), 0.0))
        assert_near(R, np.eye(3), times=0.0 if set(axis) <= {-1.0, 0.0, 1.0} else 1.0)
    assert np.array_equal(matrix(Rotation.identity()), np.eye(3))


@pytest.mark.light
@every_jacobian
@pytest.mark.parametrize("angle", ANGLES)
def test_derivative_of_a_rotation_with_respect_to_its_angle_is_axis_cross_rotation(
    differentiate: Any, angle: float
) -> None:
    """dR/dθ = e × R, for each column of R."""
    axis = Vec3(2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)
    slope = differentiate(lambda x: scalars_of(Rotation.about(axis, x[0])), [angle])[:, 0]
    expected = skew(list(axis)) @ matrix(Rotation.about(axis, angle))
    assert_near(slope, expected.ravel(), times=8.0)


@pytest.mark.light
@every_scalar
def test_rotations_from_quaternions_equal_the_textbook_formula(run: Any) -> None:
    rng = np.random.default_rng(1)
    q = rng.normal(size=(40, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    results = run(lambda x: scalars_of(Rotation.from_quaternion(*x)), q)
    for (w, x, y, z), result in zip(q, results, strict=True):
        R = result.reshape(3, 3)
        assert_rotation(R)
        turned = skew([x, y, z])
        assert_near(R, np.eye(3) + 2.0 * w * turned + 2.0 * turned @ turned, times=6.0)


def test_quaternion_and_its_negative_give_equal_rotations_bit_for_bit() -> None:
    rng = np.random.default_rng(2)
    for q in rng.normal(size=(50, 4)):
        w, x, y, z = (q / np.linalg.norm(q)).tolist()
        assert Rotation.from_quaternion(w, x, y, z) == Rotation.from_quaternion(-w, -x, -y, -z)
        assert Quaternion(w, x, y, z).rotation() == Rotation.from_quaternion(w, x, y, z)


def test_rotations_from_rpy_are_rotations_about_fixed_axes_in_that_order() -> None:
    x, y, z = np.eye(3)
    rng = np.random.default_rng(3)
    for roll, pitch, yaw in rng.uniform(-7.0, 7.0, size=(40, 3)):
        R = matrix(Rotation.from_rpy(roll, pitch, yaw))
        assert_rotation(R)
        assert_near(R, expm(skew(z * yaw)) @ expm(skew(y * pitch)) @ expm(skew(x * roll)), times=6.0)


def nearest_quarter_turns() -> dict[int, set[float]]:
    """The float nearest to kπ/2, and what Python makes of k·(π/2)."""
    with mpmath.workdps(50):
        return {k: {float(k * mpmath.pi / 2), k * (math.pi / 2)} for k in range(-16, 17)}


def test_rotations_by_quarter_turns_are_exact() -> None:
    for k, angles in nearest_quarter_turns().items():
        c, s = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][k % 4]
        for angle in angles:
            assert matrix(Rotation.from_rpy(angle, 0.0, 0.0)).tolist() == [[1, 0, 0], [0, c, -s], [0, s, c]]
            assert matrix(Rotation.from_rpy(0.0, angle, 0.0)).tolist() == [[c, 0, s], [0, 1, 0], [-s, 0, c]]
            assert matrix(Rotation.from_rpy(0.0, 0.0, np.float64(angle))).tolist() == [[c, -s, 0], [s, c, 0], [0, 0, 1]]


def test_rpy_quarter_turns_give_the_24_rotations_of_a_cube() -> None:
    half_pi = math.pi / 2
    rotations = set()
    for a, b, c in itertools.product((-half_pi, 0.0, half_pi, math.pi), repeat=3):
        R = matrix(Rotation.from_rpy(a, b, c))
        assert set(np.abs(R).ravel()) == {0.0, 1.0}
        assert np.array_equal(R.T @ R, np.eye(3))
        rotations.add(tuple(map(tuple, R + 0.0)))
    assert len(rotations) == 24


@pytest.mark.light
@pytest.mark.parametrize("k", [-3, -2, -1, 0, 1, 2, 3, 4, 8])
def test_rotation_angles_near_a_quarter_turn_are_not_rounded_to_it(k: int) -> None:
    quarter = k * (math.pi / 2)
    for angle in (math.nextafter(quarter, 100.0), math.nextafter(quarter, -100.0), 1e-300 + quarter if k == 0 else 1.0):
        if angle in nearest_quarter_turns()[k]:
            continue
        assert Rotation.from_rpy(angle, 0.0, 0.0).y.y == math.cos(angle)
        assert Rotation.from_rpy(angle, 0.0, 0.0).z.y == math.sin(angle)


def test_from_rpy_equals_math_sin_beyond_four_revolutions() -> None:
    for angle in (34 * math.pi / 2, 1e6 * math.pi):
        assert Rotation.from_rpy(angle, 0.0, 0.0).z.y == math.sin(angle)


@pytest.mark.parametrize("angle", [math.nan, math.inf, -math.inf])
def test_rotation_angles_that_are_not_finite_are_refused(angle: float) -> None:
    with pytest.raises((ValueError, OverflowError), match="cannot convert float"):
        Rotation.from_rpy(0.0, angle, 0.0)


def test_products_of_many_rotations_stay_orthonormal() -> None:
    """The error grows with the number of factors, not faster."""
    rng = np.random.default_rng(4)
    total = Rotation.identity()
    for _ in range(200):
        R = random_rotation(rng)
        total = total @ Rotation(*(Vec3.of(row) for row in R.tolist()))
    assert_rotation(matrix(total), times=4.0 * 200.0)
