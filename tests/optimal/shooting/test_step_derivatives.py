"""Derivatives of steps of robots, against differences, on any scalar."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.joints import ALL, Floating, JointType, Prismatic, Revolute
from linkwork.model.random_tree import random_tree
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import RobotDynamics
from linkwork.optimal.algorithms.shooting.inverse_dynamics_steps import InverseDynamics
from linkwork.optimal.algorithms.shooting.step_dynamics import Dynamics
from linkwork.optimal.features import PathContact


def _state(dynamics: RobotDynamics, rng: np.random.Generator) -> list[float]:
    tree = dynamics.tree
    q = [x for _, body in tree.stacked() for x in body.call_joint("zero")]
    state = dynamics.moved([*q, *[0.0] * tree.nv], rng.uniform(-0.6, 0.6, 2 * tree.nv).tolist())
    return [float(x) for x in state]


def _differences(dynamics: Dynamics, x: list[float], u: list[float], h: float = 1e-6) -> np.ndarray:
    n, y = dynamics.size, dynamics.step(x, u)
    columns = []
    for k in range(n + len(u)):
        ends = []
        for sign in (h, -h):
            e = np.zeros(n + len(u))
            e[k] = sign
            result = dynamics.step(dynamics.moved(x, e[:n].tolist()), [a + b for a, b in zip(u, e[n:], strict=True)])
            ends.append(np.array(dynamics.state_difference(y, result), dtype=float))
        columns.append((ends[0] - ends[1]) / (2.0 * h))
    return np.array(columns).T


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4"])
def test_first_derivatives_of_time_steps_equal_finite_differences(integrator: str) -> None:
    """Random trees of revolute, prismatic and floating joints; explicit rows equal differentiated ones."""
    rng = np.random.default_rng(3)
    for trial in range(2):
        tree = random_tree(
            np.random.default_rng(trial), 3, types=(Revolute, Floating) if trial else (Revolute, Prismatic)
        )
        dynamics = RobotDynamics(tree, 0.02, tuple(range(0, tree.nv, 2)), integrator, passive=trial == 1)
        x, u = _state(dynamics, rng), rng.uniform(-1.0, 1.0, dynamics.controls).tolist()
        y, linear = dynamics.linear(x, u)
        assert np.abs(np.subtract(y, dynamics.step(x, u))).max() < 1e-12
        basis = np.eye(dynamics.size + dynamics.controls)
        columns = np.array([linear.changed(e.tolist()) for e in basis], dtype=float).T
        known = _differences(dynamics, x, u)
        size = np.abs(known).max()
        assert np.abs(columns - known).max() < 1e-7 * size
        by_hand = np.array(Dynamics.linear(dynamics, x, u)[1].factors[0], dtype=float)
        assert np.abs(columns - by_hand).max() < 1e-10 * size
        V = rng.uniform(-1.0, 1.0, (dynamics.size, dynamics.size))
        V = V + V.T
        assert (
            np.abs(np.array(linear.hessian(V.tolist()), dtype=float) - columns.T @ V @ columns).max() < 1e-10 * size**2
        )
        assert np.abs(np.array(linear.gradient(V[0].tolist()), dtype=float) - columns.T @ V[0]).max() < 1e-10 * size


@pytest.mark.slow(every=5)
def test_second_derivatives_of_time_steps_equal_finite_differences() -> None:
    """Closed-form curvature and differentiation, against differences of Fᵀw."""
    rng = np.random.default_rng(5)
    for types in ((Revolute, Prismatic), (Floating, Revolute), (Revolute,)):
        tree = random_tree(np.random.default_rng(1), 3, types=types)
        dynamics = RobotDynamics(tree, 0.05, (0, 2), passive=len(types) == 1)
        n = dynamics.size
        x, u = _state(dynamics, rng), rng.uniform(-1.0, 1.0, 2).tolist()
        w = rng.uniform(-1.0, 1.0, n).tolist()
        linear = dynamics.linear(x, u)[1]
        parts = dynamics.curvature(x, u, linear.gradients(w)[:-1])
        hessian = np.array(linear.hessian(np.zeros((n, n)).tolist(), parts), dtype=float)
        assert np.abs(hessian - np.array(dynamics.whole_curvature(x, u, w), dtype=float)).max() < 1e-10
        if Floating in types:  # turning twice counts as the mean of both orders
            continue
        for k in range(n + 2):
            ends = []
            for sign in (1e-6, -1e-6):
                e = np.zeros(n + 2)
                e[k] = sign
                moved = dynamics.moved(x, e[:n].tolist()), (np.array(u) + e[n:]).tolist()
                ends.append(np.array(dynamics.linear(*moved)[1].gradient(w), dtype=float))
            assert np.abs((ends[0] - ends[1]) / 2e-6 - hessian[k]).max() < 1e-7 * (1.0 + np.abs(hessian).max())


def test_second_derivatives_of_time_steps_with_special_joints_equal_automatic_differentiation(drawn) -> None:
    """Closed forms are right for each joint type that defines ``integrate``."""
    types = [kind for kind in ALL if kind.integrate is not JointType.integrate]
    rng = np.random.default_rng(5)
    for kind in drawn(types):
        tree = random_tree(np.random.default_rng(1), 1, types=(kind,))
        dynamics = RobotDynamics(tree, 0.05, (0,), passive=kind is types[0])
        x, u, w = _state(dynamics, rng), [0.3], rng.uniform(-1.0, 1.0, dynamics.size).tolist()
        linear = dynamics.linear(x, u)[1]
        parts = dynamics.curvature(x, u, linear.gradients(w)[:-1])
        hessian = np.array(linear.hessian(np.zeros((dynamics.size,) * 2).tolist(), parts), dtype=float)
        assert np.abs(hessian - np.array(dynamics.whole_curvature(x, u, w), dtype=float)).max() < 1e-12, kind


def test_implicit_time_steps_use_damping_and_friction_at_the_end_of_the_step() -> None:
    """M (v⁺ − v) = h (τ − h(q, v) + τ_p(v⁺)), also where dry friction stops joints."""
    rng = np.random.default_rng(2)
    for name in ("arm6", "arm7_gripper"):
        robot = lw.load(name)
        h, n = 0.05, robot.nv
        stopped = 0
        for speed, force in ((0.0, 0.1), (1e-3, 1.0), (1.0, 0.0), (3.0, 30.0)):
            q, v, tau = robot.random_configuration(seed=1), speed * rng.normal(size=n), force * rng.normal(size=n)
            tau += robot.gravity_force(q)
            after = np.array(RobotDynamics(robot.tree, h, tuple(range(n)), passive=True).step([*q, *v], [*tau]))[-n:]
            impulse = h * (tau - robot.bias_force(q, v) + robot.passive_force(q, after))
            M = robot.mass_matrix(q, passive=True)
            assert np.abs(M @ (after - v) - impulse).max() < 1e-10 * (1.0 + np.abs(h * tau).max()), (name, speed)
            stopped += np.sum(np.abs(after) < 0.01)
        assert stopped > n


@pytest.mark.slow(every=5)
@pytest.mark.parametrize(("integrator", "joints"), [("semi_implicit_euler", 3), ("stormer_verlet", 2)])
def test_derivatives_of_joint_forces_of_a_time_step_equal_finite_differences(integrator: str, joints: int) -> None:
    """Random trees with a contact at a point or a sole; forward dynamics of τ makes the same step."""
    rng = np.random.default_rng(5)
    floats = integrator == "stormer_verlet"
    kinds = (Floating, Revolute) if floats else (Revolute, Prismatic)
    tree = random_tree(np.random.default_rng(1), joints, types=kinds)
    contact = PathContact("foot", tree.bodies[-1].name, surface=floats)
    n, h = tree.nv, 0.02
    arguments_of_dynamics = tree, h, tuple(range(n)), integrator, floats
    dynamics = InverseDynamics(*arguments_of_dynamics, (("other", 2), ("foot", contact.size)), (contact,))
    x, u = _state(dynamics, rng), rng.uniform(-1.0, 1.0, dynamics.controls)
    y, linear = dynamics.linear(x, u.tolist())
    basis, m = np.eye(dynamics.size + dynamics.controls), dynamics.size
    columns = np.array([linear.changed(e.tolist()) for e in basis], dtype=float).T
    known = _differences(dynamics, x, u.tolist())
    assert np.abs(columns - known).max() < 1e-7 * np.abs(known).max()
    assert np.abs(np.subtract(y, dynamics.step(x, u.tolist()))).max() < 1e-14

    def torque(x: list[float], u: Any) -> np.ndarray:
        return np.array(dynamics.torque(x, list(u), floats, 0.0), dtype=float)

    if not floats:
        alone = [*u[:n], *[0.0] * (dynamics.controls - n)]
        forward = RobotDynamics(*arguments_of_dynamics).step(x, torque(x, alone).tolist())
        assert np.abs(np.subtract(forward, y)).max() < 1e-12

    def varied_by(compute: Any, direction: np.ndarray) -> np.ndarray:
        ends = [compute(dynamics.moved(x, (s * direction[:m]).tolist()), u + s * direction[m:]) for s in (1e-5, -1e-5)]
        return np.asarray((ends[0] - ends[1]) / 2e-5)

    def rows(x: list[float], u: Any) -> np.ndarray:
        zeros = np.zeros((dynamics.controls, m))
        return np.array(dynamics.motors(x, list(u), zeros, 0.0)[1], dtype=float)

    by_x = np.array([varied_by(torque, e) for e in basis[:m]]).T
    assert np.abs(rows(x, u) - by_x).max() < 1e-7 * np.abs(by_x).max()
    w, direction = rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, len(basis))
    direction[:n] = 0.0 if floats else direction[:n]  # turning twice counts as the mean of both orders
    bent = np.array(dynamics.torque_curvature(x, u.tolist(), w.tolist(), floats, 0.0), dtype=float)
    known = varied_by(lambda x, u: w @ rows(x, u), direction)
    assert np.abs(bent[:m] @ direction - known).max() < 1e-6 * np.abs(known).max()
    assert np.abs(bent - bent.T).max() < 1e-12 * np.abs(bent).max()
