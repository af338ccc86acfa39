"""Motion subspace, bias and constraint wrenches of every joint type follow from its transform."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from helpers.joints import EVERY, EXAMPLES, bare
from helpers.precise import DIGITS, STEP, Precise, differences
from helpers.rigid import skew
from helpers.scalars import EPS, assert_near, every_scalar
from helpers.spatial import scalars_of
from linkwork.joints import JointType, Revolute

SAMPLES = 4

every_joint = pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY.keys())
every_own_joint = pytest.mark.parametrize("joint", EXAMPLES.values(), ids=EXAMPLES.keys())


def configurations(joint: JointType, n: int = SAMPLES, seed: int = 0) -> np.ndarray:
    free = np.full(joint.nq, np.inf)
    return joint.random(np.random.default_rng(seed), -free, free, (n,))


def velocities(joint: JointType, n: int = SAMPLES, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, joint.nv))


def columns(joint: JointType, q: Any) -> list[Any]:
    """S(q), column by column."""
    return [x for column in joint.S(q).columns for x in column.elements()]


def twist_and_rate(joint: JointType, q: list[float], v: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return (R^T R')^v, R^T p' along a path of constant v, and its rate, by differences at 120 digits.

    The path follows q' = q_dot(q, v) to second order, which is all that is asked.
    """
    with mpmath.workdps(DIGITS):
        start = [Precise(x) for x in q]
        rate = joint.q_dot(start, [Precise(x) for x in v])
        ahead, behind = (
            joint.q_dot([a + b * (sign * STEP) for a, b in zip(start, rate, strict=True)], v) for sign in (1, -1)
        )
        second = [(Precise(a) - Precise(b)) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]
        poses = []
        for t in (-STEP, mpmath.mpf(0), STEP):
            coordinates = [a + b * t + c * (t * t / 2) for a, b, c in zip(start, rate, second, strict=True)]
            elements = [Precise(x).value for x in joint.X(coordinates).elements()]
            poses.append(mpmath.matrix([elements[4 * k : 4 * k + 4] for k in range(4)]))
        X, X1, X2 = poses[1], (poses[2] - poses[0]) / (2 * STEP), (poses[2] - 2 * poses[1] + poses[0]) / STEP**2
        hat = X**-1 * X1
        hat_rate = X**-1 * X2 - hat * hat
        return tuple(
            np.array([float(h[2, 1]), float(h[0, 2]), float(h[1, 0]), *(float(h[k, 3]) for k in range(3))])
            for h in (hat, hat_rate)
        )


@cache
def exact_subspaces(joint: JointType) -> list[list[float]]:
    """S(q), column by column, at the configurations: the same for every kind of scalar."""
    units = np.eye(joint.nv).tolist()
    return [[x for v in units for x in twist_and_rate(joint, q, v)[0]] for q in configurations(joint).tolist()]


@cache
def exact_twists_and_rates(joint: JointType) -> list[tuple[np.ndarray, np.ndarray]]:
    """At the configurations and velocities: the same for every kind of scalar."""
    states = zip(configurations(joint).tolist(), velocities(joint).tolist(), strict=True)
    return [twist_and_rate(joint, q, v) for q, v in states]


@every_joint
@every_scalar
def test_motion_subspace_of_a_joint_is_the_derivative_of_its_transform(joint: JointType, run: Any) -> None:
    """Its closed form, and the contract's derivation; the reference is differences."""
    q = configurations(joint)
    derived = bare(joint)
    closed, default = run(lambda q: columns(joint, q), q), run(lambda q: columns(derived, q), q)
    for k, exact in enumerate(exact_subspaces(joint)):
        assert_near(closed[k], exact, times=16.0)
        assert_near(default[k], exact, times=16.0)


@every_joint
@every_scalar
def test_velocity_bias_of_a_joint_is_the_rate_of_its_twist_at_constant_velocity(joint: JointType, run: Any) -> None:
    """Its closed form, and the contract's derivations from S and from the transform."""
    samples = np.hstack([configurations(joint), velocities(joint)])
    nq, derived = joint.nq, bare(joint)
    forms = [
        run(lambda x, form=form: form(x[:nq], x[nq:]).elements(), samples)
        for form in (joint.bias, lambda q, v: JointType.bias(joint, q, v), derived.bias)
    ]
    for k, (x, (twist, rate)) in enumerate(zip(samples, exact_twists_and_rates(joint), strict=True)):
        scale = max(1.0, float(np.linalg.norm(twist)), float(x[nq:] @ x[nq:]))
        for form in forms:
            assert_near(form[k], rate, times=32.0, scale=scale)


@every_joint
def test_velocity_bias_of_a_joint_is_the_derivative_of_its_motion_subspace(joint: JointType) -> None:
    for q, v in zip(configurations(joint).tolist(), velocities(joint).tolist(), strict=True):
        rate = [float(x) for x in joint.q_dot(q, v)]
        exact = differences(lambda q, v=v: (joint.S(q) @ v).elements(), q, rate)
        assert_near(list(joint.bias(q, v).elements()), [float(x) for x in exact], times=32.0, scale=1.0 + np.dot(v, v))


@every_joint
@every_scalar
def test_constraint_wrenches_of_a_joint_do_no_work_and_are_orthonormal(joint: JointType, run: Any) -> None:
    """There are six minus nv of them, orthonormal."""

    def function(q: list[Any]) -> list[Any]:
        return [*columns(joint, q), *(x for F in joint.constraint_wrench_subspace(q) for x in F.elements())]

    for result in run(function, configurations(joint)):
        rows = result.reshape(6, 6)
        S, C = rows[: joint.nv], rows[joint.nv :]
        assert C.shape == (6 - joint.nv, 6) == (joint.num_constraints, 6)
        assert np.max(np.abs(C @ S.T), initial=0.0) <= 16.0 * EPS * max(1.0, float(np.linalg.norm(S)))
        assert np.max(np.abs(C @ C.T - np.eye(len(C))), initial=0.0) <= 16.0 * EPS
        if joint.nv:
            assert np.linalg.matrix_rank(S) == joint.nv
        assert np.linalg.matrix_rank(rows) == 6


@pytest.mark.parametrize("name", [name for name, joint in EXAMPLES.items() if joint.has_fixed_subspaces])
def test_joints_with_a_constant_motion_subspace_move_by_the_exponential_map(name: str) -> None:
    """A step by φ multiplies the transform by the exponential of S φ."""
    joint = EXAMPLES[name]
    rng = np.random.default_rng(2)
    for q in configurations(joint).tolist():
        phi = rng.normal(size=joint.nv).tolist()
        w, v = np.split(np.array([*(joint.S(q) @ phi).elements()], dtype=float), 2)
        generator = np.zeros((4, 4))
        generator[:3, :3], generator[:3, 3] = skew(w), v
        with mpmath.workdps(40):
            step = np.array(mpmath.expm(mpmath.matrix(generator.tolist())).tolist(), dtype=float)
        before = np.array(joint.X(q).elements(), dtype=float).reshape(4, 4)
        after = np.array(joint.X(joint.integrate(q, phi)).elements(), dtype=float)
        assert_near(after, (before @ step).ravel(), times=16.0)


@pytest.mark.parametrize("angle", [0.0, 1.0, -3.0])
def test_full_revolution_of_a_hinge_restores_its_transform(angle: float) -> None:
    for joint in EXAMPLES.values():
        if isinstance(joint, Revolute):
            turned = scalars_of(joint.X([angle + 2.0 * np.pi]))
            assert_near(turned, scalars_of(joint.X([angle])), times=8.0)
