"""Regulators of robots: around states, along trajectories; against matrices, motions and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import (
    LQRController,
    TVLQRController,
    finite_horizon_lqr,
    lqr,
    lqr_about_state,
    lqr_about_trajectory,
)
from linkwork.control.linear_quadratic import dense_linearization
from linkwork.control.linear_quadratic.arguments import state_cost
from linkwork.control.linear_quadratic.dense_linearization import _by_directions


def _run(robot: Any, tau: Any, q: np.ndarray, v: np.ndarray, step: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where semi-implicit Euler steps lead."""
    for k in range(count):
        v = v + step * robot.forward_dynamics(q, v, tau(k * step, q, v))
        q = robot.integrate(q, step * v)
    return q, v


@pytest.mark.slow(every=3)
def test_a_state_is_held_also_by_few_joints() -> None:
    robot = lw.load("double_pendulum")
    q = np.array([np.pi, 0.0])
    for how in ({}, {"dt": 0.005}):
        for joint in robot.v_names:  # by the shoulder alone, by the elbow alone
            held = lqr_about_state(robot, q, Q=(10.0, 1.0), R=0.1, actuators=joint, **how)
            ended, rate = _run(robot, lambda t, *x, u=held: u(*x), np.add(q, [0.01, -0.02]), np.zeros(2), 0.005, 2000)
            assert np.abs(robot.difference(q, ended)).max() < 1e-5 and np.abs(rate).max() < 1e-5
            idle = [k for k in range(2) if k not in held.acting]
            assert not held(q + 0.1, np.ones(2))[idle].any()
    # of a batch each is what it is alone, to the bit, and by matrices
    many = robot.random_configuration(seed=0, size=3)
    held = lqr_about_state(robot, many, Q=(10.0, 1.0), R=[0.1, 0.2])
    for k in range(3):
        alone = lqr_about_state(robot, many[k], Q=np.diag([10.0, 10.0, 1.0, 1.0]), R=np.diag([0.1, 0.2]))
        assert np.array_equal(alone.K, held.K[k]) and np.array_equal(alone.tau, held.tau[k])
        assert np.array_equal(alone(many[k] + 0.1, np.ones(2)), held(many + 0.1, np.ones(2))[k])
    A, B = robot.linearize(many, 0.0 * many, robot.inverse_dynamics(many, 0.0 * many, 0.0 * many))
    assert np.array_equal(held.K, lqr(A, B, np.diag([10.0, 10.0, 1.0, 1.0]), np.diag([0.1, 0.2])).K)
    assert np.array_equal(pickle.loads(pickle.dumps(held)).K, held.K)


def test_a_regulator_about_a_state_is_a_controller_of_simulations() -> None:
    robot, q, v = lw.load("double_pendulum"), np.array([0.1, 0.2]), np.ones(2)
    held = lqr_about_state(robot, np.zeros(2))
    for same in (held(3.0, q, v), held(q=q, v=v), held(q, v=v)):
        assert np.array_equal(same, held(q, v))
    for controller in (held, lambda t, q, v: held(q, v)):
        run = robot.simulate(q, controller=controller, duration=0.05, dt=0.01)
        assert np.allclose(run.q[-1], _run(robot, held, q, np.zeros(2), 0.01, 5)[0], atol=1e-12)
    for arguments, named in (((q,), {}), ((q, v, 0.0, 0.0), {}), ((0.0, q), {"v": v})):
        with pytest.raises(TypeError, match=r"^LQRController: .*expected q and v, or t, q and v, got \d by position"):
            held(*arguments, **named)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"simulate: controller: expected a function called as \(t, q, v, target\)"):
        robot.simulate(q, controller=held, duration=0.05, constants={"target": q})


@pytest.mark.slow(every=3)
def test_a_trajectory_is_followed(tmp_path: Path) -> None:
    robot = lw.load("double_pendulum")
    way = robot.spline([0.5, 1.0, 1.5], [[0.0, 0.0], [1.0, -0.5], [0.5, 1.0]], boundary="clamped")
    along = lqr_about_trajectory(robot, way, Q=(100.0, 1.0), R=0.01, dt=0.01)
    assert along.K.shape == (100, 2, 4) and along.X.shape == (101, 4, 4)
    # gains are those of the recursion with the same matrices
    q, v, a = way(along.times)
    A, B = robot.linearize(q, v, robot.inverse_dynamics(q, v, a), dt=along.times[1] - along.times[0])
    Q, R = np.diag([100.0, 100.0, 1.0, 1.0]), 0.01 * np.eye(2)
    assert np.array_equal(along.K, finite_horizon_lqr(A[:-1], B[:-1], Q, R, end=along.X[-1]).K)
    # what an end costs by itself is what it costs to stay there
    stay = lqr(A[-1], B[-1], Q, R, discrete=True).X
    assert np.abs(along.X[-1] - stay).max() < 1e-9 * np.abs(stay).max()
    # from beside the trajectory back onto it; before its start and after its end its ends are held
    ended, rate = _run(robot, lambda t, *x: along(0.5 + t, *x), np.array([0.05, -0.05]), np.zeros(2), 0.001, 1500)
    assert np.abs(ended - [0.5, 1.0]).max() < 1e-3 and np.abs(rate).max() < 1e-3
    assert np.array_equal(along.gains(0.0), along.K[0]) and np.array_equal(along.gains(9.0), along.K[-1])
    assert np.allclose(along.feedforward([0.0, 9.0]), robot.gravity_force([[0.0, 0.0], [0.5, 1.0]]))
    # many times at once, each as alone
    t, q = np.array([0.3, 0.505, 0.9, 2.0]), np.tile([0.2, 0.1], (4, 1))
    together = along(t, q, 0.0 * q)
    assert all(np.array_equal(together[k], along(t[k], q[k], 0.0 * q[k])) for k in range(4))
    assert np.abs(along.gains(0.505) - 0.5 * (along.K[0] + along.K[1])).max() < 1e-9 * np.abs(along.K).max()
    # a value
    along.save(tmp_path / "along.npz")
    for other in (TVLQRController.load(tmp_path / "along.npz", robot=robot), pickle.loads(pickle.dumps(along))):
        assert np.array_equal(other(t, q, 0.0 * q), together)
    way.save(tmp_path / "way.npz")
    with pytest.raises(ValueError, match=r"not a file that TVLQRController\.save wrote"):
        TVLQRController.load(tmp_path / "way.npz", robot=robot)


def test_deviations_of_free_bodies_are_those_of_their_manifold() -> None:
    robot = lw.load("double_pendulum", floating_base=True)
    q, n = robot.random_configuration(seed=1), robot.nv
    zeros, K = np.zeros(n), np.random.default_rng(0).normal(size=(n, 2 * n))
    held = LQRController._make(robot, q, zeros, zeros, K, K, 0.0, K, K, np.arange(n))
    turned = robot.integrate(q, 0.3 * np.eye(n)[2])
    assert np.allclose(held.deviation(turned, zeros), 0.3 * np.eye(2 * n)[2], atol=1e-12)
    assert np.allclose(held(turned, zeros), -0.3 * K[:, 2])
    with pytest.raises(
        ValueError, match=r"rest needs a force of .* from 'floating_base\..*', which is not an actuator"
    ):
        lqr_about_state(robot, q)


def test_what_robots_regulators_refuse() -> None:
    robot = lw.load("double_pendulum")
    first, second = robot.v_names
    way = robot.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 0.0]], boundary="clamped")
    with pytest.raises(ValueError, match=f"rest needs a force of .* from '{first}', which is not an actuator"):
        lqr_about_state(robot, [0.5, 0.0], actuators=second)
    with pytest.raises(ValueError, match=f"the trajectory of state 0 needs a force of .* from '{second}'"):
        lqr_about_trajectory(robot, way, actuators=first)
    with pytest.raises(KeyError, match=first):
        lqr_about_state(robot, [0.0, 0.0], actuators=first + "x")
    with pytest.raises(
        ValueError, match=r"Q: expected a number, a diagonal \(4,\), a pair \(position weight.*, or a matrix"
    ):
        lqr_about_state(robot, [0.0, 0.0], Q=np.ones(3))
    with pytest.raises(ValueError, match=r"q: expected \(nq,\) = \(2,\) numbers.*got nan at 1"):
        lqr_about_state(robot, [0.0, np.nan])
    with pytest.raises(ValueError, match="expected one of robot 'double_pendulum'"):
        lqr_about_trajectory(robot, lw.motion.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="dt: expected a positive time"):
        lqr_about_trajectory(robot, way, dt=0.0)
    with pytest.raises(TypeError, match="expected a robot"):
        lqr_about_state("double_pendulum", [0.0, 0.0])


@pytest.mark.parametrize("n", [1, 2])
def test_two_weights_are_those_of_positions_and_velocities(n: int) -> None:
    whole = np.diag(np.repeat([10.0, 2.0], n))
    one, other = np.full(n, 10.0), np.full(n, 2.0)
    for value in ((10.0, 2.0), [10.0, 2.0], np.array([10.0, 2.0]), (one, 2.0), [10.0, other], [one, other]):
        assert np.array_equal(state_cost("f", "Q", value, n), whole)
    for value in (whole, whole.tolist(), tuple(map(tuple, whole.tolist())), np.diag(whole)):
        assert np.array_equal(state_cost("f", "Q", value, n), whole)
    assert np.array_equal(state_cost("f", "Q", np.stack([whole, 2.0 * whole]), n), [whole, 2.0 * whole])
    with pytest.raises(ValueError, match=r"f: Q\[1\]: expected a number, a diagonal"):
        state_cost("f", "Q", [1.0, np.ones(n + 1)], n)


def test_steps_of_no_length_are_refused() -> None:
    robot, still = lw.load("double_pendulum"), np.zeros(2)
    for step in (-0.01, 0.0, np.nan):
        with pytest.raises(ValueError, match="linearize: dt"):
            robot.linearize(still, still, still, dt=step)
        with pytest.raises(ValueError, match="lqr_about_state: dt: expected a finite number > 0"):
            lw.control.lqr_about_state(robot, still, dt=step)


def test_large_robots_are_linearised_along_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kernel of A and B, whose code grows with the square of the number of joints, they are the same."""
    robot = lw.load("double_pendulum")
    rng = np.random.default_rng(5)
    q, v, tau = rng.normal(size=(2, robot.nq)), rng.normal(size=(2, robot.nv)), rng.normal(size=robot.nv)
    for step, integrator in ((None, "semi_implicit_euler"), (0.01, "semi_implicit_euler"), (0.01, "euler")):
        for passive in (False, True):
            known = robot.linearize(q, v, tau, dt=step, integrator=integrator, passive=passive)
            found = _by_directions(robot, q, v, tau, step, integrator, passive)
            assert found is not None
            for one, other in zip(found, known, strict=True):
                assert one == pytest.approx(other, rel=1e-12, abs=1e-12 * np.abs(other).max())
    monkeypatch.setattr(dense_linearization, "_MANY_JOINTS", 0)
    large = lqr_about_state(robot, q).K
    monkeypatch.undo()
    assert large == pytest.approx(lqr_about_state(robot, q).K, rel=1e-8)
    # no mass: `Robot.linearize` says which joint nothing resists
    parts = (lw.Link("rod"), lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="pin", parent="world", child="rod"))
    assert _by_directions(lw.Robot.build("none", *parts), *np.zeros((3, 1)), None, "euler", False) is None
