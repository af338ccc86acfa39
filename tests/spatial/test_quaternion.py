"""Quaternions, and the exponential and logarithm of rotations and poses: values, inverses, half turns."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from helpers import lie
from helpers.precise import precisely
from helpers.rigid import skew
from helpers.scalars import EPS, assert_near, every_scalar
from helpers.spatial import scalars_of
from linkwork.spatial import Quaternion, Vec3
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

NEAR_PI = [math.pi - 1e-6, math.pi - 1e-8, math.pi - 1e-12, math.pi]
# beside where a power series gives way to the closed form: |φ| = 0.2 (sine and cosine), 1 (V); sin(|φ|/2) = 0.01 (log)
BESIDE = [x + d for x in (0.2, 1.0, 2.0 * math.asin(0.01)) for d in (-1e-9, 0.0, 1e-9)]
ANGLES = [0.0, 5e-324, 1e-160, 1e-12, 1e-8, 1e-4, *BESIDE, 1.0, 2.0, 3.0, *NEAR_PI]
AXES = [(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.6, -0.8, 0.0), (2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)]
VECTORS = np.array([np.array(axis) * angle for axis in AXES for angle in ANGLES])


def unit_quaternions(seed: int, n: int) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def precise(function: Any, x: np.ndarray) -> np.ndarray:
    return np.array([float(y) for y in precisely(function, x.tolist())])


# -- the group


@every_scalar
def test_products_of_quaternions_are_products_of_rotations(run: Any) -> None:
    samples = np.hstack([unit_quaternions(0, 20), unit_quaternions(1, 20)])

    def both(x: list[Any]) -> list[Any]:
        a, b = Quaternion(*x[:4]), Quaternion(*x[4:])
        return [*scalars_of((a @ b).rotation()), *scalars_of(a.rotation() @ b.rotation())]

    for result in run(both, samples):
        by_quaternions, by_rotations = np.split(result, 2)
        assert_near(by_quaternions, by_rotations, times=8.0)


@pytest.mark.light
@every_scalar
def test_conjugate_of_a_unit_quaternion_is_its_inverse(run: Any) -> None:
    def function(x: list[Any]) -> list[Any]:
        q = Quaternion(*x)
        return [*(q @ q.conjugate()).elements(), *scalars_of(q.conjugate().rotation()), *scalars_of(q.rotation().T)]

    for result in run(function, unit_quaternions(2, 20)):
        assert_near(result[:4], np.array([1.0, 0.0, 0.0, 0.0]), times=4.0)
        assert_near(result[4:13], result[13:], times=0.0)


@pytest.mark.light
@every_scalar
def test_normalized_quaternions_have_unit_length(run: Any) -> None:
    samples = np.random.default_rng(3).normal(size=(20, 4)) * np.logspace(-8, 8, 20)[:, None]
    for result, q in zip(run(lambda x: Quaternion(*x).normalized().elements(), samples), samples, strict=True):
        assert abs(math.hypot(*result) - 1.0) <= 4.0 * EPS
        assert_near(result, q / np.linalg.norm(q), times=4.0)


def test_vector_of_a_quaternion_is_its_imaginary_part() -> None:
    assert Quaternion(1.0, 2.0, 3.0, 4.0).vector == Vec3(2.0, 3.0, 4.0)


# -- exponential and logarithm of rotations


@every_scalar
def test_quaternion_exponentials_equal_multiprecision_values(run: Any) -> None:
    for result, phi in zip(run(lambda x: Quaternion.exp(Vec3.of(x)).elements(), VECTORS), VECTORS, strict=True):
        assert_near(result, precise(lie.quaternion_exp, phi), times=2.0)
        assert abs(math.hypot(*result) - 1.0) <= 4.0 * EPS


@every_scalar
def test_quaternion_exponentials_of_tiny_vectors_are_accurate_to_the_last_digits(run: Any) -> None:
    tiny = VECTORS[[0.0 < np.linalg.norm(phi) < 0.1 for phi in VECTORS]]
    for result, phi in zip(run(lambda x: Quaternion.exp(Vec3.of(x)).elements(), tiny), tiny, strict=True):
        assert np.all(np.abs(result[1:] - precise(lie.quaternion_exp, phi)[1:]) <= 4.0 * EPS * np.abs(phi) + 5e-324)


@pytest.mark.light
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-4, 1.0, math.pi - 1e-8, math.pi, 4.0, 2.0 * math.pi, 50.0])
def test_quaternion_exponential_equals_the_matrix_exponential(axis: tuple[float, float, float], angle: float) -> None:
    phi = np.array(axis) * angle
    with mpmath.workdps(40):
        exact = np.array(mpmath.expm(mpmath.matrix(skew(phi).tolist())).tolist(), dtype=float)
    R = scalars_of(Quaternion.exp(Vec3.of(phi.tolist())).rotation())
    assert_near(R, exact.ravel(), times=4.0 * (1.0 + angle))


@every_scalar
def test_quaternion_logarithms_equal_multiprecision_values(run: Any) -> None:
    samples = np.array([precise(lie.quaternion_exp, phi) for phi in VECTORS])
    for q, result in zip(samples, run(lambda x: list(Quaternion(*x).log()), samples), strict=True):
        assert_near(result, precise(lie.quaternion_log, q), times=2.0)


@every_scalar
def test_quaternion_logarithm_inverts_the_exponential_up_to_half_a_turn(run: Any) -> None:
    """The error is rounding; the requirement is 1e-12, and 1e-7 near half a turn."""
    results = run(lambda x: list(Quaternion.exp(Vec3.of(x)).log()), VECTORS)
    for phi, result in zip(VECTORS, results, strict=True):
        assert_near(result, phi, times=4.0)
        assert np.linalg.norm(result - phi) <= 8.0 * EPS * np.linalg.norm(phi) + 1e-300


@every_scalar
def test_quaternion_exponential_inverts_the_logarithm(run: Any) -> None:
    samples = np.vstack([unit_quaternions(4, 40), [precise(lie.quaternion_exp, phi) for phi in VECTORS]])
    samples = np.vstack([samples, -samples])
    results = run(lambda x: Quaternion.exp(Quaternion(*x).log()).elements(), samples)
    for q, result in zip(samples, results, strict=True):
        assert_near(result, -q if q[0] < 0.0 else q, times=4.0)


def test_quaternion_and_its_negative_have_the_same_logarithm() -> None:
    for w, x, y, z in unit_quaternions(5, 50).tolist():
        assert Quaternion(w, x, y, z).log() == Quaternion(-w, -x, -y, -z).log()


def test_quaternion_logarithms_are_at_most_half_a_turn_long() -> None:
    for q in unit_quaternions(6, 200).tolist():
        assert np.linalg.norm(list(Quaternion(*q).log())) <= math.pi * (1.0 + EPS)
    beyond = Quaternion.exp(Vec3(math.pi + 0.5, 0.0, 0.0)).log()
    assert_near(list(beyond), [0.5 - math.pi, 0.0, 0.0], times=4.0)


def test_quaternion_logarithms_of_half_turns_are_exact() -> None:
    for u in np.eye(3).tolist():
        for sign in (1.0, -1.0):
            half = Quaternion(0.0, *(sign * a for a in u)).log()
            assert [sign * a for a in half] == [a * math.pi for a in u]
            half = Quaternion(-0.0, *(sign * a for a in u)).log()
            assert [sign * a for a in half] == [a * math.pi for a in u]


# -- exponential and logarithm of poses

TWISTS = np.array([[*phi, *v] for phi in VECTORS for v in [(0.3, -1.2, 0.5)]])


@every_scalar
def test_translations_of_twists_equal_multiprecision_values(run: Any) -> None:
    function = lambda x: list(translation_of_twist(Vec3.of(x[:3]), Vec3.of(x[3:])))  # noqa: E731
    for twist, result in zip(TWISTS, run(function, TWISTS), strict=True):
        assert_near(result, precise(lie.translation_of_twist, twist), times=8.0)


@every_scalar
def test_twists_of_translations_equal_multiprecision_values(run: Any) -> None:
    function = lambda x: list(twist_of_translation(Vec3.of(x[:3]), Vec3.of(x[3:])))  # noqa: E731
    for pair, result in zip(TWISTS, run(function, TWISTS), strict=True):
        assert_near(result, precise(lie.twist_of_translation, pair), times=8.0)


@every_scalar
def test_translation_of_twist_and_twist_of_translation_are_inverse(run: Any) -> None:
    def function(x: list[Any]) -> list[Any]:
        phi, v = Vec3.of(x[:3]), Vec3.of(x[3:])
        return [
            *twist_of_translation(phi, translation_of_twist(phi, v)),
            *translation_of_twist(phi, twist_of_translation(phi, v)),
        ]

    for twist, result in zip(TWISTS, run(function, TWISTS), strict=True):
        assert_near(result, np.tile(twist[3:], 2), times=16.0)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-4, 0.5, 1.0, 2.0, math.pi, 4.0, 2.0 * math.pi, 20.0])
def test_exponential_of_a_twist_equals_the_matrix_exponential(angle: float) -> None:
    """The pose (exp φ, V(φ) v) is the exponential of the 4×4 matrix [[φ×], v; 0, 0]."""
    phi, v = np.array(AXES[3]) * angle, np.array([0.3, -1.2, 0.5])
    generator = np.zeros((4, 4))
    generator[:3, :3], generator[:3, 3] = skew(phi), v
    with mpmath.workdps(40):
        exact = np.array(mpmath.expm(mpmath.matrix(generator.tolist())).tolist(), dtype=float)
    R = scalars_of(Quaternion.exp(Vec3.of(phi.tolist())).rotation())
    p = list(translation_of_twist(Vec3.of(phi.tolist()), Vec3.of(v.tolist())))
    assert_near(R, exact[:3, :3].ravel(), times=4.0 * (1.0 + angle))
    assert_near(p, exact[:3, 3], times=4.0 * (1.0 + angle))
