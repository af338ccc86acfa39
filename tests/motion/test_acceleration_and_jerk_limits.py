"""Limits of acceleration and jerk of a robot: defaults of profiles, timing, velocity steps and problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw


def _arm() -> Any:
    """Two hinges with limits, and a slide that follows the second one with the ratio −0.5."""
    link = {"mass": 1.0, "com": (0.2, 0.0, 0.0), "inertia": (0.01, 0.01, 0.01)}
    hinge = lw.joints.Revolute((0, 0, 1))
    robot: Any = lw.Robot.build(
        "arm",
        *(lw.Link(name, **link) for name in ("a", "b", "c")),
        lw.Joint.of(hinge, name="first", parent="world", child="a", velocity=2.0, acceleration=3.0, jerk=40.0),
        lw.Joint.of(hinge, name="second", parent="a", child="b", placement=(0.4, 0, 0), velocity=2.0, jerk=60.0),
        lw.Joint.of(
            lw.joints.Prismatic((1, 0, 0)), name="slide", parent="b", child="c", mimic=("second", -0.5),
            acceleration=2.0, jerk=50.0,
        ),
    )  # fmt: skip
    return robot.with_frame("tip", "b", (0.4, 0.0, 0.0))


def test_acceleration_limits_of_masters_include_the_limits_of_followers() -> None:
    robot = _arm()
    assert robot.acceleration_limits.tolist() == [3.0, 4.0] and robot.jerk_limits.tolist() == [40.0, 60.0]
    assert np.isinf(lw.load("arm6").acceleration_limits).all()


def test_profiles_use_the_robots_acceleration_and_jerk_limits() -> None:
    robot, start, goal = _arm(), np.zeros(2), np.array([1.0, -0.7])
    limits = {"acceleration": robot.acceleration_limits, "jerk": robot.jerk_limits}
    profile = robot.profile(start, goal)
    assert profile.duration == robot.profile(start, goal, **limits).duration
    assert profile.duration > robot.profile(start, goal, acceleration={"first": 30.0}, jerk=1e4).duration
    assert profile.satisfies_limits()


@pytest.mark.slow(every=9)
def test_time_optimal_motions_use_the_robots_acceleration_and_jerk_limits() -> None:
    robot, goal = _arm(), np.array([1.0, -0.7])
    limits = {"acceleration": robot.acceleration_limits, "jerk": robot.jerk_limits}
    path = robot.spline([0.0, 1.0, 2.0], [np.zeros(2), [0.6, -0.2], goal])
    timed = lw.motion.time_optimal(path)
    assert timed.duration == lw.motion.time_optimal(path, **limits).duration
    without_jerk = lw.motion.time_optimal(path, jerk=np.inf)
    assert without_jerk.duration == lw.motion.time_optimal(path, acceleration=[3.0, 4.0], jerk=np.inf).duration
    assert timed.duration > without_jerk.duration
    assert timed.trajectory.satisfies_limits(tolerance=1e-3)
    faster = lw.motion.time_optimal(path, acceleration=9.0, jerk=np.inf).trajectory
    margins = faster.limit_margins()
    assert (margins["acceleration"] < -1.0).any() and (margins["jerk"] < 0.0).any() and not faster.satisfies_limits()
    assert (faster.limit_margins(acceleration={"first": 9.0}, jerk=np.inf)["acceleration"] < [1.0, -1.0]).all()


def test_differential_ik_uses_the_robots_acceleration_limits() -> None:
    robot, task = _arm(), lw.ik.PositionTask("tip", tolerance=(1e-6, 1e-6, np.inf))
    q, target = np.array([0.2, 0.8]), np.array([0.1, 0.7, 0.0])
    free = robot.velocity_for(task, q, dt=0.01, tip=target)
    bounded = robot.velocity_for(task, q, dt=0.01, v_last=np.zeros(2), tip=target)
    assert np.abs(free.v).max() == 2.0  # only the limit of velocity: nothing is known of the step before
    assert (np.abs(bounded.v) <= 0.01 * robot.acceleration_limits + 1e-12).all() and np.abs(bounded.v).max() > 0.02
    unlimited = robot.velocity_for(
        task, q, dt=0.01, v_last=np.zeros(2), motion_limits={"acceleration": False}, tip=target
    )
    assert np.allclose(unlimited.v, free.v)
    explicit = robot.velocity_for(task, q, dt=0.01, motion_limits={"acceleration": [3.0, 4.0]}, tip=target)
    assert np.array_equal(explicit.v, bounded.v)


def test_trajectory_problems_use_the_robots_acceleration_and_jerk_limits() -> None:
    robot = _arm()
    problem = lw.TrajectoryProblem(robot, num_steps=20, duration=1.5).add("acceleration", "least_squares")
    goal = problem.add("configuration", "equality", steps=-1, target=[1.0, -0.7]).add("velocity", "equality", steps=-1)
    assert [term.name for term in goal.add_limits().terms[3:]] == [
        "velocity limits", "acceleration limits", "jerk limits"
    ]  # fmt: skip
    solution = goal.add_limits().solve(np.zeros(2))
    largest = np.abs(solution.trajectory().extremes(2)).max(axis=0)
    assert solution.success and (largest <= robot.acceleration_limits + 1e-5).all()
    plain = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=5, duration=1.0)
    assert [term.name for term in plain.add_limits().terms] == ["velocity limits"]
