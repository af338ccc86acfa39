"""Linear quadratic regulators of robots: around states and along trajectories."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

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
    """Return the end of a motion by semi-implicit Euler steps."""
    for k in range(count):
        v = v + step * robot.forward_dynamics(q, v, tau(k * step, q, v))
        q = robot.integrate(q, step * v)
    return q, v


@pytest.mark.slow(every=3)
def test_lqr_controllers_print_robot_gains_and_time() -> None:
    robot = lw.load("double_pendulum")
    for step, time in ((None, "continuous time"), (0.005, "dt = 0.005 s")):
        regulator = lqr_about_state(robot, np.zeros(2), dt=step, actuators=robot.v_names[1])
        assert repr(regulator) == f"<LQRController of 'double_pendulum': K (1, 4), {time}>"
    path = robot.spline([0.0, 0.5], [[0.0, 0.0], [1.0, -0.5]], boundary="clamped")
    regulator = lqr_about_trajectory(robot, path, Q=1.0, R=1.0)
    assert repr(regulator) == "<TVLQRController of 'double_pendulum': K (50, 2, 4), 0 s to 0.5 s>"


@pytest.mark.slow(every=5)
def test_lqr_about_a_state_stabilises_a_robot_with_all_or_few_motors() -> None:
    robot = lw.load("double_pendulum")
    q = np.array([np.pi, 0.0])
    for how in ({}, {"dt": 0.005}):
        for joint in robot.v_names:  # by the shoulder alone, by the elbow alone
            regulator = lqr_about_state(robot, q, Q=(10.0, 1.0), R=0.1, actuators=joint, **how)
            ended, rate = _run(
                robot, lambda t, *x, u=regulator: u(*x), np.add(q, [0.01, -0.02]), np.zeros(2), 0.005, 2000
            )
            assert np.abs(robot.difference(q, ended)).max() < 1e-5 and np.abs(rate).max() < 1e-5
            idle = [k for k in range(2) if k not in regulator.acting]
            assert not regulator(q + 0.1, np.ones(2))[idle].any()
    # of a batch each is what it is alone, to the bit, and by matrices
    many = robot.random_configuration(seed=0, size=3)
    regulator = lqr_about_state(robot, many, Q=(10.0, 1.0), R=[0.1, 0.2])
    for k in range(3):
        alone = lqr_about_state(robot, many[k], Q=np.diag([10.0, 10.0, 1.0, 1.0]), R=np.diag([0.1, 0.2]))
        assert np.array_equal(alone.K, regulator.K[k]) and np.array_equal(alone.tau, regulator.tau[k])
        assert np.array_equal(alone(many[k] + 0.1, np.ones(2)), regulator(many + 0.1, np.ones(2))[k])
    A, B = robot.linearize(many, 0.0 * many, robot.inverse_dynamics(many, 0.0 * many, 0.0 * many))
    assert np.array_equal(regulator.K, lqr(A, B, np.diag([10.0, 10.0, 1.0, 1.0]), np.diag([0.1, 0.2])).K)
    assert np.array_equal(pickle.loads(pickle.dumps(regulator)).K, regulator.K)


def test_lqr_about_a_state_can_be_a_controller_of_a_simulation() -> None:
    robot, q, v = lw.load("double_pendulum"), np.array([0.1, 0.2]), np.ones(2)
    regulator = lqr_about_state(robot, np.zeros(2))
    for same in (regulator(3.0, q, v), regulator(q=q, v=v), regulator(q, v=v)):
        assert np.array_equal(same, regulator(q, v))
    for controller in (regulator, lambda t, q, v: regulator(q, v)):
        run = robot.simulate(q, controller=controller, duration=0.05, dt=0.01)
        assert np.allclose(run.q[-1], _run(robot, regulator, q, np.zeros(2), 0.01, 5)[0], atol=1e-12)
    for arguments, named in (((q,), {}), ((q, v, 0.0, 0.0), {}), ((0.0, q), {"v": v})):
        with pytest.raises(TypeError, match=r"^LQRController: .*expected q and v, or t, q and v, got \d by position"):
            regulator(*arguments, **named)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"simulate: controller: expected a function called as \(t, q, v, target\)"):
        robot.simulate(q, controller=regulator, duration=0.05, constants={"target": q})


def _constant_input(A: np.ndarray, B: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """The matrices of steps of h [s] with a constant input, by SciPy."""
    n, m = B.shape[-2:]
    whole = np.zeros((*A.shape[:-2], n + m, n + m))
    whole[..., :n, :n], whole[..., :n, n:] = h * A, h * B
    result = expm(whole)
    return result[..., :n, :n], result[..., :n, n:]


@pytest.mark.slow(every=5)
def test_lqr_about_a_trajectory_follows_it(tmp_path: Path) -> None:
    robot = lw.load("double_pendulum")
    trajectory = robot.spline([0.5, 1.0, 1.5], [[0.0, 0.0], [1.0, -0.5], [0.5, 1.0]], boundary="clamped")
    along = lqr_about_trajectory(robot, trajectory, Q=(100.0, 1.0), R=0.01, dt=0.01)
    assert along.K.shape == (100, 2, 4) and along.X.shape == (101, 4, 4)
    # gains are those of the recursion with the same matrices
    q, v, a = trajectory(along.times)
    A, B = _constant_input(*robot.linearize(q, v, robot.inverse_dynamics(q, v, a)), along.times[1] - along.times[0])
    Q, R = np.diag([100.0, 100.0, 1.0, 1.0]), 0.01 * np.eye(2)
    assert np.allclose(along.K, finite_horizon_lqr(A[:-1], B[:-1], Q, R, end=along.X[-1]).K, rtol=1e-9, atol=1e-9)
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
    for loaded in (TVLQRController.load(tmp_path / "along.npz", robot=robot), pickle.loads(pickle.dumps(along))):
        assert np.array_equal(loaded(t, q, 0.0 * q), together)
    trajectory.save(tmp_path / "way.npz")
    with pytest.raises(ValueError, match=r"not a file that TVLQRController\.save wrote"):
        TVLQRController.load(tmp_path / "way.npz", robot=robot)


def test_lqr_measures_deviations_of_free_bodies_as_tangent_vectors() -> None:
    robot = lw.load("double_pendulum", floating_base=True)
    q, n = robot.random_configuration(seed=1), robot.nv
    zeros, K = np.zeros(n), np.random.default_rng(0).normal(size=(n, 2 * n))
    controller = LQRController._make(robot, q, zeros, zeros, K, K, 0.0, K, K, np.arange(n), np.full(n, np.inf))
    turned = robot.integrate(q, 0.3 * np.eye(n)[2])
    assert np.allclose(controller.deviation(turned, zeros), 0.3 * np.eye(2 * n)[2], atol=1e-12)
    assert np.allclose(controller(turned, zeros), -0.3 * K[:, 2])
    with pytest.raises(
        ValueError, match=r"rest needs a force of .* from 'floating_base\..*', which is not an actuator"
    ):
        lqr_about_state(robot, q)


def test_invalid_arguments_of_lqr_about_states_and_trajectories_are_refused() -> None:
    robot = lw.load("double_pendulum")
    first, second = robot.v_names
    trajectory = robot.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 0.0]], boundary="clamped")
    refused = f"actuators: rest needs a force of .* from '{first}', which is not an actuator"
    with pytest.raises(ValueError, match=refused):
        lqr_about_state(robot, [0.5, 0.0], actuators=second)
    with pytest.raises(ValueError, match=f"the motion needs a force of .* from '{second}'"):
        lqr_about_trajectory(robot, trajectory, actuators=first)
    with pytest.raises(KeyError, match=first):
        lqr_about_state(robot, [0.0, 0.0], actuators=first + "x")
    with pytest.raises(
        ValueError, match=r"Q: expected a number, a diagonal \(4,\), a pair \(position weight.*, or a matrix"
    ):
        lqr_about_state(robot, [0.0, 0.0], Q=np.ones(3))
    with pytest.raises(ValueError, match=r"q: expected .* of shape \(..., 2\), got nan at 1"):
        lqr_about_state(robot, [0.0, np.nan])
    with pytest.raises(ValueError, match="expected a trajectory of 'double_pendulum'"):
        lqr_about_trajectory(robot, lw.motion.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="dt: expected a positive time"):
        lqr_about_trajectory(robot, trajectory, dt=0.0)
    for name in ("Q", "end"):
        with pytest.raises(ValueError, match=rf"lqr_about_trajectory: {name}: expected a number, a diagonal \(4,\)"):
            lqr_about_trajectory(robot, trajectory, **{name: np.ones(3)})
    with pytest.raises(ValueError, match=r"dt: expected at most .* time steps"):
        lqr_about_trajectory(robot, trajectory, dt=1e-12)
    with pytest.raises(TypeError, match="expected a robot"):
        lqr_about_state("double_pendulum", [0.0, 0.0])


@pytest.mark.parametrize("n", [1, 2])
def test_lqr_accepts_separate_weights_of_positions_and_velocities(n: int) -> None:
    whole = np.diag(np.repeat([10.0, 2.0], n))
    position_weights, velocity_weights = np.full(n, 10.0), np.full(n, 2.0)
    for value in (
        (10.0, 2.0),
        [10.0, 2.0],
        np.array([10.0, 2.0]),
        (position_weights, 2.0),
        [10.0, velocity_weights],
        [position_weights, velocity_weights],
    ):
        assert np.array_equal(state_cost("f", "Q", value, n), whole)
    for value in (whole, whole.tolist(), tuple(map(tuple, whole.tolist())), np.diag(whole)):
        assert np.array_equal(state_cost("f", "Q", value, n), whole)
    assert np.array_equal(state_cost("f", "Q", np.stack([whole, 2.0 * whole]), n), [whole, 2.0 * whole])
    with pytest.raises(ValueError, match=r"f: Q\[1\]: expected a number, a diagonal"):
        state_cost("f", "Q", [1.0, np.ones(n + 1)], n)


def test_lqr_time_steps_that_are_not_positive_are_refused() -> None:
    robot, at_rest = lw.load("double_pendulum"), np.zeros(2)
    for step in (-0.01, 0.0, np.nan):
        with pytest.raises(ValueError, match="linearize: dt"):
            robot.linearize(at_rest, at_rest, at_rest, dt=step)
        with pytest.raises(ValueError, match="lqr_about_state: dt: expected a finite number > 0"):
            lw.control.lqr_about_state(robot, at_rest, dt=step)


def test_lqr_of_large_robots_linearises_along_directions_with_equal_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kernel of A and B, whose code grows with the square of the number of joints, they are the same."""
    robot = lw.load("double_pendulum")
    rng = np.random.default_rng(5)
    q, v, tau = rng.normal(size=(2, robot.nq)), rng.normal(size=(2, robot.nv)), rng.normal(size=robot.nv)
    for step, integrator in ((None, "semi_implicit_euler"), (0.01, "semi_implicit_euler"), (0.01, "euler")):
        for passive in (False, True):
            known = robot.linearize(q, v, tau, dt=step, integrator=integrator, passive=passive)
            result = _by_directions(robot, q, v, tau, step, integrator, passive)
            assert result is not None
            for column, known_column in zip(result, known, strict=True):
                assert column == pytest.approx(known_column, rel=1e-12, abs=1e-12 * np.abs(known_column).max())
    monkeypatch.setattr(dense_linearization, "_MANY_JOINTS", 0)
    large = lqr_about_state(robot, q).K
    monkeypatch.undo()
    assert large == pytest.approx(lqr_about_state(robot, q).K, rel=1e-8)
    # no mass: `Robot.linearize` says which joint nothing resists
    parts = (lw.Link("rod"), lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="pin", parent="world", child="rod"))
    assert _by_directions(lw.Robot.build("none", *parts), *np.zeros((3, 1)), None, "euler", False) is None


def test_lqr_includes_springs_and_damping_but_no_dry_friction() -> None:
    """A mass on a spring and a damper, against its matrices; dry friction has no part in gains."""
    k, d, m = 100.0, 40.0, 1.5
    losses = {"stiffness": k, "damping": d, "armature": 0.5}
    for friction in (0.0, 3.0):
        joint = lw.Joint.of(
            lw.joints.Prismatic((1, 0, 0)), name="x", parent="world", child="mass", friction=friction, **losses
        )
        robot: Any = lw.Robot.build("spring", lw.Link("mass", mass=m), joint)
        regulator = lqr_about_state(robot, [0.3])
        A, B = np.array([[0.0, 1.0], [-k / 2.0, -d / 2.0]]), np.array([[0.0], [0.5]])
        assert np.allclose(
            regulator.K, lqr(A, B, np.eye(2), np.eye(1)).K, rtol=1e-9
        ) and regulator.tau == pytest.approx(30.0)
        free = lqr_about_state(robot, [0.3], passive=False)
        assert np.allclose(free.K, lqr([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0 / m]], np.eye(2), np.eye(1)).K)
        if friction == 0.0:
            assert np.allclose(robot.linearize([0.3], [0.1], [1.0])[0], A)
        rest_trajectory = robot.spline(
            [0.0, 2.0], [[0.3], [0.3]], boundary="clamped"
        )  # so long that its end has no effect
        along = lqr_about_trajectory(robot, rest_trajectory, dt=0.01)
        stay = lqr_about_state(robot, [0.3], dt=0.01)
        assert np.allclose(along.K[0], stay.K, rtol=1e-6) and along.feedforward(0.5) == pytest.approx(30.0)


@pytest.mark.slow(every=3)
def test_forces_of_lqr_controllers_stay_within_effort_limits() -> None:
    robot = lw.load("double_pendulum")
    start = np.array([np.pi + 0.4, 0.0])
    rest_trajectory = robot.spline([0.0, 1.0], [[np.pi, 0.0]] * 2, boundary="clamped")
    for limits, expected in ((None, robot.effort_limits), (5.0, [5.0, 5.0]), ({robot.v_names[1]: 2.0}, None)):
        largest = np.where([False, True], 2.0, robot.effort_limits) if expected is None else np.array(expected)
        weights: Any = {"Q": (1e6, 1.0), "R": 1e-3, "effort_limits": limits}
        regulator = lqr_about_state(robot, [np.pi, 0.0], dt=0.01, **weights)
        along = lqr_about_trajectory(robot, rest_trajectory, **weights)
        for law, at in ((regulator, ()), (along, (0.5,))):
            free = law.tau if law is regulator else law.feedforward(0.5)
            free = free - (law.K if law is regulator else law.gains(0.5)) @ np.r_[start - [np.pi, 0.0], 0.0, 0.0]
            tau = law(*at, start, np.zeros(2))
            assert np.array_equal(tau, np.clip(free, -largest, largest)) and (np.abs(tau) == largest).any()
            kernel = lw.compile(lambda q, v, law=law, at=at: law(*at, q, v), q=2, v=2)
            assert np.allclose(kernel(start, np.zeros(2)), tau, rtol=1e-12) and np.array_equal(
                law.effort_limits, largest
            )
        run = robot.simulate(start, controller=regulator, duration=0.05, dt=0.01)
        assert run.saturation.any()
    with pytest.raises(ValueError, match=r"for steps of dt · control_every = 0.005 s, got LQRController for"):
        robot.simulate(start, controller=regulator, duration=0.05, dt=0.005)
    assert robot.simulate(start, controller=regulator, duration=0.05, dt=0.005, control_every=2).success
    with pytest.raises(ValueError, match="effort_limits: expected numbers >= 0"):
        lqr_about_state(robot, [0.0, 0.0], effort_limits=-1.0)


@pytest.mark.slow(every=9)
def test_lqr_about_a_trajectory_of_a_four_bar_equals_the_lqr_of_its_crank() -> None:
    """Gains equal those of the crank's angle, up to the error of time steps; the four-bar returns to its trajectory."""
    robot: Any = lw.load("fourbar")
    crank = robot.v_names[0]
    m = robot.minimal_coordinates(crank)
    t = np.linspace(0.0, 1.0, 81)
    angle, rate, change = 0.8 + 0.8 * t - 0.3 * np.cos(2.0 * t), 0.8 + 0.6 * np.sin(2.0 * t), 1.2 * np.cos(2.0 * t)
    at = [m.at]
    for y in angle:
        at.append(m.expand([y], near=at[-1]))
    q, v, a = m.expand(angle[:, None], rate[:, None], change[:, None], near=np.array(at[1:]))
    trajectory = robot.spline(t, q, "quintic", velocity=v, acceleration=a)
    weights, errors = np.diag([100.0] * 3 + [1.0] * 3), []
    for dt in (0.02, 0.01):
        along = lqr_about_trajectory(robot, trajectory, Q=(100.0, 1.0), R=0.1, actuators=crank, dt=dt, end=weights)
        q, v, _ = trajectory(along.times)
        y, u, h = m.coordinates_of(q), v[:, :1], along.times[1]
        A, B = m.linearize(y, u, along.feedforward(along.times), near=q)
        A, B = _constant_input(A, B[..., :1], h)
        ahead, behind = (m.expand(y + s, u, near=q)[1] for s in (1e-6, -1e-6))
        J = np.zeros((len(q), 6, 2))
        J[:, :3, 0] = J[:, 3:, 1] = m.jacobian(y, near=q)[..., 0]
        J[:, 3:, 0] = (ahead - behind) / 2e-6
        Q = np.swapaxes(J, -1, -2) @ weights @ J
        known = finite_horizon_lqr(A[:-1], B[:-1], Q[:-1], [[0.1]], end=Q[-1])
        errors.append(np.abs(along.K @ J[:-1] - known.K).max() / np.abs(known.K).max())
        assert np.abs(along.K @ (np.eye(6) - J[:-1] @ np.linalg.pinv(J[:-1]))).max() < 1e-9 * np.abs(along.K).max()
    assert errors[1] < 0.6 * errors[0] < 0.03
    start, rate = m.expand(y[0] + 0.05, u[0], near=q[0])
    run = robot.simulate(start, rate, controller=along, duration=1.0, dt=1e-3)
    assert np.abs(run.q[-1] - q[-1]).max() < 0.1 * np.abs(start - q[0]).max()
