"""Excitation of motions, exciting trajectories, and derivatives of measured positions."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import identify, joints
from linkwork.model.random_tree import random_tree
from oracles.comparison import assert_close
from oracles.example_robots import shipped
from oracles.trees import TREES, robot_of

from .cases import motion, pendulum_motion


@pytest.mark.slow(every=5)
def test_excitation_of_rich_motions_is_better_than_of_poor_and_constant_motions() -> None:
    robot = shipped("arm7")
    rich = identify.excitation(robot, *motion(robot, 200))
    q, v, a = motion(robot, 200)
    poor = identify.excitation(robot, q[0] + 0.02 * (q - q[0]), 0.02 * v, 0.02 * a)
    motionless = identify.excitation(robot, q, 0.0 * v, 0.0 * a)
    assert rich.condition < 10.0 < 50.0 < poor.condition < np.inf == motionless.condition
    assert rich.unexcited == () and rich.smallest > poor.smallest
    assert rich.deviations.max() < poor.deviations.max() < np.inf
    assert "wrist.J_xy + 0.088 flange.h_z" in motionless.unexcited and "flange.h_x" not in motionless.unexcited
    assert np.array_equal(motionless.independence == 0.0, np.isinf(motionless.deviations))
    assert (np.diff(rich.independence[rich.order]) >= 0.0).all()
    assert str(rich).splitlines()[4].startswith(rich.names[rich.order[0]][:40])
    tau = robot.inverse_dynamics(q, 0.0 * v, 0.0 * a)
    with pytest.raises(ValueError, match=r"do not excite \d+ of 43 base parameters: .* and 1 more do not move in them"):
        identify.base_parameters(robot, q, 0.0 * v, 0.0 * a, tau, passive=False)
    v[:, 2] = a[:, 2] = 0.0
    q[:, 2] = 0.3
    with pytest.raises(ValueError, match=r"do not excite \d+ of 43 .*'upper_arm_roll' does not move in them"):
        identify.base_parameters(robot, q, v, a, tau, passive=False)


def test_condition_number_of_an_excitation_is_that_of_the_regressor() -> None:
    robot = lw.load("double_pendulum")
    q, v, a = pendulum_motion(100)
    weights = np.array([2.0, 5.0])
    excitation = identify.excitation(robot, q, v, a, weights=weights, passive=["damping"])
    Y = robot.inverse_dynamics_regressor(q, v, a, passive=True)[..., [*range(20), 22, 23]]
    Y_b = (excitation.base.regressor(Y) * weights[:, None]).reshape(200, -1)
    lengths = np.linalg.norm(Y_b, axis=0)
    assert_close(excitation.singular_values, np.linalg.svd(Y_b / lengths, compute_uv=False), 1e-12)
    inverse = np.linalg.inv(Y_b.T @ Y_b)
    assert_close(excitation.deviations, np.sqrt(np.diag(inverse)), 1e-10)
    residuals = [Y_b[:, k] - Y_b[:, o] @ np.linalg.lstsq(Y_b[:, o], Y_b[:, k])[0] for k, o in _others(Y_b.shape[1])]
    assert_close(excitation.independence, np.linalg.norm(residuals, axis=1) / lengths, 1e-10)
    fit = identify.base_parameters(
        robot, q, v, a, robot.inverse_dynamics(q, v, a), weights=weights, passive=["damping"], held_out=0.0
    )
    assert fit.condition == pytest.approx(excitation.condition, rel=1e-9)


@pytest.mark.slow(every=9)
def test_exciting_trajectories_stay_within_limits_and_excite_all_parameters() -> None:
    robot = shipped("arm7")
    limits = {"acceleration": 4.0, "velocity": np.full(7, 1.5), "lower": -1.0, "upper": np.linspace(0.0, 1.0, 7)}
    estimate = identify.exciting_trajectory(robot, num_trials=40, seed=3, period=8.0, **limits)
    again = identify.exciting_trajectory(robot, num_trials=40, seed=3, period=8.0, **limits)
    trajectory = identify.exciting_trajectory(robot, num_trials=8, seed=4, period=8.0, **limits)
    assert np.array_equal(estimate.sines, again.sines) and not np.array_equal(estimate.sines, trajectory.sines)
    assert estimate.excitation.condition < trajectory.excitation.condition < np.inf
    t = np.linspace(0.0, 8.0, 5001)
    q, v, a = estimate.at(t)
    assert (q >= limits["lower"]).all() and (q <= limits["upper"]).all()
    assert np.abs(v).max() <= 1.5 and np.abs(a).max() <= 4.0
    reached = np.max(
        [np.ptp(q, axis=0) / (limits["upper"] + 1.0), np.abs(v).max(0) / 1.5, np.abs(a).max(0) / 4.0], axis=0
    )
    assert (reached > 0.4).all()  # to a limit, or near it
    assert_close(np.gradient(q, t, axis=0)[2:-2], v[2:-2], 1e-5)
    assert_close(np.gradient(v, t, axis=0)[2:-2], a[2:-2], 1e-4)
    for x in (q[0] - q[-1], v[0], v[-1], a[0], a[-1]):
        assert_close(x, np.zeros(7), 1e-12)
    times, *samples = estimate.sampled(100)
    assert times[-1] == pytest.approx(8.0 * 0.99) and estimate.at(1.0)[0].shape == (7,)
    assert identify.excitation(robot, *samples).condition == pytest.approx(estimate.excitation.condition)
    by_default, *_ = identify.exciting_trajectory(lw.load("double_pendulum"), num_trials=5).sampled(3)
    assert by_default[0] == 0.0


@pytest.mark.slow(every=5)
def test_exciting_trajectories_respect_limits_of_mimic_followers() -> None:
    """A gripper of two fingers, one of which follows: its limits are its master's too."""
    robot = lw.load("arm7_gripper", mimic="coupled")
    follower = next(joint for joint in robot.joints if joint.mimic is not None)
    master = robot.joint(follower.mimic.joint)
    robot = robot.with_joint(master.with_velocity_limit(0.2)).with_joint(follower.with_velocity_limit(0.005))
    q, v, _ = identify.exciting_trajectory(robot, num_trials=5).at(np.linspace(0.0, 10.0, 2000))
    index = robot.v_index([master.name])[0]
    assert 0.002 < np.abs(v[:, index]).max() * abs(follower.mimic.ratio) <= 0.005
    assert q[:, index].min() >= master.lower[0] and q[:, index].max() <= master.upper[0]


def test_impossible_exciting_trajectories_are_refused() -> None:
    robot = shipped("arm7")
    for options, problem in (
        ({"velocity": 0.0}, "velocity: no range of motion for 'shoulder_pan'"),
        ({"lower": 1.0, "upper": 0.5}, "lower, upper: no range"),
        ({"velocity": [1.0, 2.0]}, r"velocity: expected a finite number or an array of shape \(7,\)"),
        ({"period": -1.0}, "period: expected a finite number > 0"),
        ({"period": "long"}, r"period: expected a finite number > 0 \[s\], got 'long'"),
        ({"velocity": "fast"}, r"velocity: expected a finite number or an array of shape \(7,\); got 'fast'"),
        ({"num_harmonics": 1}, "num_harmonics: expected an integer >= 2, got 1"),
        ({"num_harmonics": 2.5}, "num_harmonics: expected an integer >= 2, got 2.5"),
        ({"num_trials": 0}, "num_trials: expected an integer >= 1, got 0"),
        ({"num_trials": 1.5}, "num_trials: expected an integer >= 1, got 1.5"),
    ):
        with pytest.raises(ValueError, match=problem):
            identify.exciting_trajectory(robot, **options)
    with pytest.raises(ValueError, match="'floating_base': the velocity is not the rate of the configuration"):
        identify.exciting_trajectory(shipped("quadruped"))
    with pytest.raises(TypeError, match="robot: expected a Robot"):
        identify.exciting_trajectory("arm7")
    motion = identify.exciting_trajectory(lw.load("double_pendulum"), num_trials=1)
    for samples in (1, 2.5, "two"):
        with pytest.raises(ValueError, match="sampled: samples: expected an integer >= 2, got"):
            motion.sampled(samples)


@pytest.mark.slow(every=5)
def test_derivatives_of_measured_positions_are_filtered_without_delay() -> None:
    """Noisy sines below the cutoff.  Ball joints and free bases are filtered by their tangents."""
    pytest.importorskip("scipy")
    robot = lw.load("double_pendulum")
    t = np.arange(2000) * 5e-3
    q, v, a = (np.sin(t)[:, None] * [1.0, 0.0], np.cos(t)[:, None] * [1.0, 0.0], -np.sin(t)[:, None] * [1.0, 0.0])
    noisy = q + 1e-4 * np.random.default_rng(0).normal(size=q.shape)
    estimate = identify.differentiate(robot, t, noisy, cutoff=2.0)
    inside = slice(200, -200)
    for x, y, tolerance in zip(estimate, (q, v, a), (2e-4, 2e-3, 2e-2), strict=True):
        assert np.abs(x - y)[inside].max() < tolerance
    rough = np.gradient(np.gradient(noisy, t, axis=0), t, axis=0)
    assert np.abs(rough - a)[inside].max() > 1.0
    assert_close(identify.low_pass(t, noisy, cutoff=2.0), estimate.q, 1e-12)
    delayed = np.argmax(np.correlate(estimate.v[inside, 0], v[inside, 0], "full")) - (len(v[inside]) - 1)
    assert delayed == 0

    ball = robot_of(TREES["spherical_chain"])
    rates = 0.3 * np.random.default_rng(1).normal(size=ball.nv)
    turning = ball.integrate(ball.random_configuration(seed=2), t[:, None] * rates)
    estimate = identify.differentiate(ball, t, turning, cutoff=5.0)
    assert_close(estimate.v[inside], np.broadcast_to(rates, (1600, ball.nv)), 1e-6, core=1)
    assert np.abs(estimate.a[inside]).max() < 1e-4 and np.array_equal(estimate.q, turning)


def test_differentiation_attenuates_sines_by_the_documented_factor() -> None:
    """5 Hz at 100 samples a second, of ball joints that oscillate about fixed axes, and of plain coordinates."""
    pytest.importorskip("scipy")
    robot, t, w, inside = robot_of(TREES["spherical_chain"]), np.arange(400) * 0.01, 10.0 * np.pi, slice(60, -60)
    turn = 0.4 * np.random.default_rng(1).normal(size=robot.nv)
    signals = identify.differentiate(
        robot, t, robot.integrate(robot.random_configuration(seed=2), np.sin(w * t)[:, None] * turn), cutoff=40.0
    )
    loss = (w * 0.01) ** 4 / 30.0
    for rates, exact, share in ((signals.v, w * np.cos(w * t), loss), (signals.a, -w * w * np.sin(w * t), 2.0 * loss)):
        gain = (rates[inside] / turn * exact[inside, None]).mean(axis=0) / (exact[inside] ** 2).mean()
        assert_close(1.0 - gain, np.full(robot.nv, share), 5e-5)


def test_invalid_measured_signals_are_refused() -> None:
    pytest.importorskip("scipy")
    robot = lw.load("double_pendulum")
    t = np.arange(100) * 0.01
    q = np.zeros((100, 2))
    uneven = t.copy()
    uneven[50] += 0.004
    for arguments, cutoff, problem in (
        ((uneven, q), 5.0, "expected times at equal steps, got steps from 0.006 to 0.014 s"),
        ((t[:50], q), 5.0, "at least 16 samples"),
        ((t[:9], q[:9]), 5.0, "expected at least 16 samples"),
        ((t, q), 50.0, "below half the sampling rate, 50 Hz, got 50.0"),
        ((t, np.where(np.arange(100)[:, None] == 7, np.nan, q)), 5.0, r"q\[7, 0\] \('.*'\) is nan"),
        ((t, q), "low", "half the sampling rate, 50 Hz, got 'low'"),
        ((t, q), [5.0], r"half the sampling rate, 50 Hz, got \[5.0\]"),
        ((t, q[0]), 5.0, r"q: expected the samples of one motion, shape \(n, 2\), got shape \(2,\)"),
        ((t, np.stack([q, q])), 5.0, r"q: expected .* got shape \(2, 100, 2\); differentiate motions one by one"),
        (("now", q), 5.0, r"t: expected times \(n,\) \[s\]; got 'now'"),
    ):
        with pytest.raises(ValueError, match=problem):
            identify.differentiate(robot, *arguments, cutoff=cutoff)
    with pytest.raises(ValueError, match="x: expected finite numbers"):
        identify.low_pass(t, np.full((100, 2), np.inf), cutoff=5.0)
    with pytest.raises(ValueError, match=r"x: expected an array of measurements.*; got 'nothing'"):
        identify.low_pass(t, "nothing", cutoff=5.0)
    for cutoff in (0.0, 0.99e-4, -5.0):
        with pytest.raises(ValueError, match=f"low_pass: cutoff: expected a frequency from 0.0001 Hz .*got {cutoff}"):
            identify.low_pass(t, q, cutoff=cutoff)
    for order in (1, 2, 4, 8):  # constant signals pass, with the rounding of the coefficients
        filtered = identify.low_pass(t, np.full(100, 2.0), cutoff=1.01e-4, order=order)
        assert np.abs(filtered - 2.0).max() < 2e-5 * 2.0
    for order in (0, 2.5):
        with pytest.raises(ValueError, match=f"low_pass: order: expected an integer >= 1, got {order}"):
            identify.low_pass(t, q, cutoff=5.0, order=order)


def test_wrapped_encoder_angles_are_refused_or_unwrapped() -> None:
    """Refused where they jump, of any joint that has angles; with turns unwrapped, or counted by a circle, they go."""
    pytest.importorskip("scipy")
    t = np.arange(200) * 0.01
    turning = 5.0 * t
    wrapped = (turning + np.pi) % (2.0 * np.pi) - np.pi
    for robot, position in ((lw.load("double_pendulum"), 1), (robot_of(TREES["planar_chain"]), 2)):
        q = np.zeros((200, robot.nq))
        q[:, position] = wrapped
        problem = rf"q\[63, {position}\] \('{robot.q_names[position]}'\): .* got -3.13319 after 3.1 rad; .*np.unwrap\(q"
        with pytest.raises(ValueError, match=problem):
            identify.differentiate(robot, t, q, cutoff=5.0)
        q[:, position] = np.unwrap(q[:, position])
        assert_close(identify.differentiate(robot, t, q, cutoff=5.0).v[:, position], np.full(200, 5.0), 1e-6)
    circle = robot_of(TREES["unbounded revolute_chain"])
    q = circle.integrate(circle.random_configuration(seed=1), turning[:, None] * np.ones(circle.nv))
    assert_close(identify.differentiate(circle, t, q, cutoff=5.0).v, np.full((200, circle.nv), 5.0), 1e-6, core=1)
    slider = robot_of(TREES["prismatic_chain"])
    identify.differentiate(slider, t, np.where(t[:, None] < 1.0, 0.0, 9.0) * np.ones(slider.nq), cutoff=5.0)


def test_robots_with_parallel_slides_have_masses_as_base_parameters() -> None:
    """Prismatic joints along one line determine as many masses as there are joints."""
    tree = random_tree(np.random.default_rng(0), 3, types=[joints.Prismatic], shape="chain")
    robot = robot_of(tree)
    assert identify.excitation(robot, *motion(robot, 30)).base.rank == 3


def _others(count: int) -> list[tuple[int, np.ndarray]]:
    return [(k, np.setdiff1d(np.arange(count), [k])) for k in range(count)]
