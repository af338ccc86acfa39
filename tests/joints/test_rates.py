"""Twist, acceleration and torque through a joint, and the linear maps between q̇ and v, on every kind of scalar."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from helpers.joints import EVERY
from helpers.precise import Precise, differences
from helpers.scalars import assert_near, every_scalar
from linkwork.joints import JointType
from linkwork.spatial import Force

SAMPLES = 4

every_joint = pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY.keys())


def draw(joint: JointType, *sizes: int) -> np.ndarray:
    """Rows of a configuration and of further vectors of these sizes."""
    free = np.full(joint.nq, np.inf)
    rng = np.random.default_rng(0)
    q = joint.random(rng, -free, free, (SAMPLES,))
    return np.hstack([q, *(rng.normal(size=(SAMPLES, n)) for n in sizes)])


# what is exact is the same for every kind of scalar


@cache
def exact_twists(joint: JointType) -> list[list[float]]:
    """(R^T R')^v, R^T p' of the states, by differences of the transform."""
    found = []
    for x in draw(joint, joint.nv).tolist():
        q, v = x[: joint.nq], x[joint.nq :]
        rate = differences(lambda q: joint.X(q).elements(), q, [float(d) for d in joint.q_dot(q, v)])
        X = np.array(joint.X(q).elements(), dtype=float).reshape(4, 4)
        hat = np.linalg.inv(X) @ np.array([float(r) for r in rate]).reshape(4, 4)
        found.append([hat[2, 1], hat[0, 2], hat[1, 0], *hat[:3, 3]])
    return found


@cache
def exact_accelerations(joint: JointType) -> list[list[float]]:
    """By differences of the twist."""
    found, nq, nv = [], joint.nq, joint.nv
    for x in draw(joint, nv, nv).tolist():
        q, v, a = x[:nq], x[nq : nq + nv], x[nq + nv :]
        direction = [*(float(d) for d in joint.q_dot(q, v)), *a]
        rate = differences(lambda x: joint.twist(x[:nq], x[nq:]).elements(), [*q, *v], direction)
        found.append([float(r) for r in rate])
    return found


@cache
def exact_local_rates(joint: JointType) -> list[list[float]]:
    """Of difference(q, p), p = integrate(q, φ / 2), while p moves at v."""
    found, nq, nv = [], joint.nq, joint.nv
    for x in draw(joint, nv, nv).tolist():
        q, phi, v = x[:nq], [0.5 * a for a in x[nq : nq + nv]], x[nq + nv :]

        def after(time: list[Any], q: list[float] = q, phi: list[float] = phi, v: list[float] = v) -> list[Any]:
            start = [Precise(a) for a in q]
            moved = joint.integrate(joint.integrate(start, [Precise(a) for a in phi]), [time[0] * a for a in v])
            return joint.difference(start, moved)

        found.append([float(d) for d in differences(after, [0.0], [1.0])])
    return found


@every_joint
@every_scalar
def test_the_twist_is_the_transforms_rate(joint: JointType, run: Any) -> None:
    """X(q + q̇ dt) = X(q) (1 + [twist] dt)."""
    samples, nq = draw(joint, joint.nv), joint.nq
    results = run(lambda x: joint.twist(x[:nq], x[nq:]).elements(), samples)
    for result, exact in zip(results, exact_twists(joint), strict=True):
        assert_near(result, exact, times=16.0)


@every_joint
@every_scalar
def test_the_acceleration_is_the_twists_rate(joint: JointType, run: Any) -> None:
    """While q changes at q̇ and v at a."""
    samples, nq, nv = draw(joint, joint.nv, joint.nv), joint.nq, joint.nv
    results = run(lambda x: joint.acceleration(x[:nq], x[nq : nq + nv], x[nq + nv :]).elements(), samples)
    for result, x, rate in zip(results, samples, exact_accelerations(joint), strict=True):
        v = x[nq : nq + nv]
        assert_near(result, rate, times=32.0, scale=1.0 + float(np.linalg.norm(rate)) + float(np.dot(v, v)))


@every_joint
@every_scalar
def test_torques_do_the_work_of_the_wrench(joint: JointType, run: Any) -> None:
    samples, nq, nv = draw(joint, joint.nv, 6), joint.nq, joint.nv

    def function(x: list[Any]) -> list[Any]:
        q, v, F = x[:nq], x[nq : nq + nv], Force.of(x[nq + nv :])
        return [sum((t * r for t, r in zip(joint.torque(q, F), v, strict=True)), 0.0), joint.twist(q, v).dot(F)]

    for of_joint, of_wrench in run(function, samples):
        assert_near([of_joint], [of_wrench], times=32.0)


@every_joint
@every_scalar
def test_the_matrices_of_the_rates(joint: JointType, run: Any) -> None:
    samples, nq, nv = draw(joint, joint.nv, joint.nq), joint.nq, joint.nv

    def apply(rows: list[list[Any]], x: list[Any]) -> list[Any]:
        return [sum((a * b for a, b in zip(row, x, strict=True)), 0.0) for row in rows]

    def function(x: list[Any]) -> list[Any]:
        q, v, rate = x[:nq], x[nq : nq + nv], x[nq + nv :]
        forward, backward = joint.q_dot_jacobian(q), joint.velocity_from_rate_jacobian(q)
        assert len(forward) == nq and all(len(row) == nv for row in forward)
        assert len(backward) == nv and all(len(row) == nq for row in backward)
        one = [*apply(forward, v), *apply(backward, rate), *apply(backward, apply(forward, v))]
        return [*one, *joint.q_dot(q, v), *joint.velocity_from_rate(q, rate), *v]

    for result in run(function, samples):
        one, other = np.split(result, 2)
        assert_near(one, other, times=16.0)


@every_joint
@every_scalar
def test_the_adjoint_keeps_the_power(joint: JointType, run: Any) -> None:
    """⟨velocity_from_rate_adjoint(f), q̇⟩ = ⟨f, velocity_from_rate(q̇)⟩ for every q̇."""
    samples, nq, nv = draw(joint, joint.nv, joint.nq), joint.nq, joint.nv

    def function(x: list[Any]) -> list[Any]:
        q, f, rate = x[:nq], x[nq : nq + nv], x[nq + nv :]
        pairs = ((joint.velocity_from_rate_adjoint(q, f), rate), (f, joint.velocity_from_rate(q, rate)))
        return [sum((a * b for a, b in zip(*pair, strict=True)), 0.0) for pair in pairs]

    for one, other in run(function, samples):
        assert_near([one], [other], times=32.0)


@every_joint
@every_scalar
def test_the_rate_of_the_local_coordinates(joint: JointType, run: Any) -> None:
    """How local(q, p) changes while p moves at v, away from half a turn and at p = q, where it is v."""
    samples, nq, nv = draw(joint, joint.nv, joint.nv), joint.nq, joint.nv

    def function(x: list[Any]) -> list[Any]:
        q, phi, v = x[:nq], [0.5 * a for a in x[nq : nq + nv]], x[nq + nv :]
        return [*joint.difference_rate(q, joint.integrate(q, phi), v), *joint.difference_rate(q, q, v)]

    for result, x, exact in zip(run(function, samples), samples, exact_local_rates(joint), strict=True):
        assert_near(result[:nv], exact, times=32.0)
        assert_near(result[nv:], x[nq + nv :], times=16.0)
