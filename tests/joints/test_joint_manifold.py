"""Manifold of a joint's configurations: rates, steps, differences and their derivatives, on every kind of scalar."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from helpers.joints import EVERY, Ball, rotation_vector, unit_length_indices
from helpers.precise import difference_jacobian
from helpers.scalars import EPS, assert_near, every_jacobian, every_scalar
from linkwork.expr.scalar.symbol import Graph
from linkwork.joints import JointType

SAMPLES = 6

every_joint = pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY.keys())


def configurations(joint: JointType, seed: int, n: int = SAMPLES) -> np.ndarray:
    free = np.full(joint.nq, np.inf)
    return joint.random(np.random.default_rng(seed), -free, free, (n,))


def steps(joint: JointType, lengths: list[float], seed: int = 3) -> np.ndarray:
    """Local coordinates whose rotation vector, where they are not rates of angles, has these lengths."""
    phi = np.random.default_rng(seed).normal(size=(len(lengths), joint.nv))
    turn = rotation_vector(joint)
    if turn:
        phi[:, turn] *= (np.array(lengths) / np.linalg.norm(phi[:, turn], axis=1))[:, None]
    return phi


LENGTHS = [0.0, 1e-12, 1e-8, 1e-4, 1.0, 3.0, math.pi - 1e-6, math.pi - 1e-8]


@every_joint
@every_scalar
def test_joint_difference_inverts_integrate_up_to_half_a_turn(joint: JointType, run: Any) -> None:
    """difference(q, integrate(q, φ)) = φ for turns up to half a turn."""
    phi = steps(joint, LENGTHS)
    samples = np.hstack([configurations(joint, 5, len(phi)), phi])
    nq = joint.nq
    results = run(lambda x: joint.difference(x[:nq], joint.integrate(x[:nq], x[nq:])), samples)
    for result, step in zip(results, phi, strict=True):
        assert_near(result, step, times=32.0)


@every_joint
@every_scalar
def test_integrating_the_difference_of_joint_configurations_reaches_the_transform(joint: JointType, run: Any) -> None:
    """integrate(q, difference(q, p)) has the transform of p."""
    samples = np.hstack([configurations(joint, 6), configurations(joint, 7)])
    nq = joint.nq

    def function(x: list[Any]) -> list[Any]:
        q, p = x[:nq], x[nq:]
        return [*joint.X(joint.integrate(q, joint.difference(q, p))).elements(), *joint.X(p).elements()]

    for result in run(function, samples):
        reached, target = np.split(result, 2)
        assert_near(reached, target, times=32.0)


@every_joint
def test_joint_differences_count_turns_of_angles_and_use_the_shorter_rotation(joint: JointType) -> None:
    """Whole turns of angle coordinates count; other representations of one rotation do not."""
    for q in configurations(joint, 14, 3).tolist():
        for k, unit in enumerate(joint.q_units):
            if unit == "rad":
                turned = [x + 4.0 * math.pi * (i == k) for i, x in enumerate(q)]
                phi = np.array(joint.difference(q, turned))
                assert np.max(np.abs(np.array(joint.q_dot(q, phi.tolist())) - np.subtract(turned, q))) <= 64.0 * EPS
        for same in _same_rotations(joint, q):
            assert_near(joint.difference(q, same), np.zeros(joint.nv), times=8.0)


def _same_rotations(joint: JointType, q: list[float]) -> list[list[float]]:
    """Return other coordinates of the same rotation: −ε of a quaternion, or the shadow of Rodrigues parameters."""
    equal_rotations = []
    for columns in joint.unit_length:
        if len(columns) == 4:
            equal_rotations.append([-x if k in columns else x for k, x in enumerate(q)])
    if joint.q_names[:3] == ("sx", "sy", "sz"):
        square = sum(x * x for x in q[:3])
        equal_rotations.append([*(-x / square for x in q[:3]), *q[3:]])
    return equal_rotations


@every_scalar
@pytest.mark.parametrize("name", [name for name, joint in EVERY.items() if joint.unit_length])
def test_many_integration_steps_of_a_joint_stay_on_the_manifold(name: str, run: Any) -> None:
    """The quaternion's length does not drift."""
    joint = EVERY[name]
    samples = np.hstack([configurations(joint, 9, 2), 0.3 * np.random.default_rng(9).normal(size=(2, joint.nv))])
    nq = joint.nq

    def function(x: list[Any]) -> list[Any]:
        q = list(x[:nq])
        for _ in range(50):
            q = joint.integrate(q, x[nq:])
        return q

    for result in run(function, samples):
        for columns in joint.unit_length:
            assert abs(math.hypot(*result[list(columns)]) - 1.0) <= 4.0 * EPS


@every_joint
@every_scalar
def test_joint_normalize_restores_unit_length(joint: JointType, run: Any) -> None:
    q = configurations(joint, 10)
    off = q.copy()
    off[:, unit_length_indices(joint)] *= np.linspace(0.3, 3.0, len(q))[:, None]
    for result, again, expected in zip(
        run(joint.normalize, off), run(lambda q: joint.normalize(joint.normalize(q)), off), q, strict=True
    ):
        assert_near(result, expected, times=4.0)
        assert_near(again, result, times=2.0)
        for columns in joint.unit_length:
            assert abs(math.hypot(*result[list(columns)]) - 1.0) <= 4.0 * EPS


@every_joint
@every_scalar
def test_manifold_error_of_a_joint_is_the_deviation_from_unit_length(joint: JointType, run: Any) -> None:
    """It is 0 on the manifold, and the constant 0.0 where every configuration is on it."""
    q = configurations(joint, 10)
    by = np.array([1e-3, -1e-3, 1e-6, -1e-6, 1e-9, 0.0])
    off = q.copy()
    off[:, unit_length_indices(joint)] *= 1.0 + by[:, None]
    if not joint.unit_length:
        distance = joint.distance(Graph().inputs("q", (joint.nq,)))
        assert isinstance(distance, float) and distance == 0.0
        return
    expected = len(joint.unit_length) * np.abs(by)
    for result, size in zip(run(lambda q: [joint.distance(q)], off), expected, strict=True):
        assert abs(result[0] - size) <= 2e-3 * size + 8.0 * EPS


@every_scalar
def test_manifold_error_of_a_users_joint_type_is_computed_from_normalize(run: Any) -> None:
    class Hidden(Ball):
        unit_length = ()

    q = configurations(Ball(), 10)
    off = q * np.linspace(0.99, 1.01, len(q))[:, None]
    for result, size in zip(run(lambda q: [Hidden().distance(q)], off), np.linspace(0.99, 1.01, len(q)), strict=True):
        assert abs(result[0] - abs(size - 1.0)) <= 4.0 * EPS


@every_joint
@every_jacobian
@pytest.mark.parametrize("length", [0.0, 1e-12, 1e-8, 1.25, math.pi - 1e-8])
def test_derivatives_of_joint_integrate_equal_finite_differences(
    joint: JointType, differentiate: Any, length: float
) -> None:
    """Derivatives by configuration and by step, at the identity and up to half a turn."""
    (phi,), (q,) = steps(joint, [length]).tolist(), configurations(joint, 12, 1).tolist()
    nq = joint.nq

    def function(x: list[Any]) -> list[Any]:
        return joint.integrate(x[:nq], x[nq:])

    if not q:
        assert function([]) == []
        return
    result = differentiate(function, [*q, *phi])
    assert np.isfinite(result).all()
    assert_near(result, difference_jacobian(function, [*q, *phi]), times=32.0)


@every_joint
@every_jacobian
@pytest.mark.parametrize("length", [0.0, 1e-12, 1e-8, 1.25, math.pi - 1e-8])
def test_derivatives_of_joint_difference_equal_finite_differences(
    joint: JointType, differentiate: Any, length: float
) -> None:
    (phi,), (q,) = steps(joint, [length]).tolist(), configurations(joint, 13, 1).tolist()
    p = q if length == 0.0 else [float(x) for x in joint.integrate(q, phi)]
    nq = joint.nq

    def function(x: list[Any]) -> list[Any]:
        return joint.difference(x[:nq], x[nq:])

    if not q:
        assert function([]) == []
        return
    result = differentiate(function, [*q, *p])
    assert np.isfinite(result).all()
    assert_near(result, difference_jacobian(function, [*q, *p]), times=64.0)
