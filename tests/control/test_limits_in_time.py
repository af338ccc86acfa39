"""Limits that hold over time: bounds of accelerations, and whole-body control near position limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import WholeBody
from linkwork.ik import JointTask, PostureTask
from linkwork.ik.algorithms.joint_bounds import MotionLimits

INF = math.inf
LOWER, UPPER = np.array([-1.0, -1.0]), np.array([1.0, 1.5])


def _arm() -> Any:
    """Two links about parallel axes, against gravity, with ranges of positions."""
    tilt, boxes = (
        lw.joints.Revolute((0, 1, 0)),
        [lw.shapes.Box((0.05, 0.05, x)).at((0, 0, 0.5 * x)) for x in (0.4, 0.3)],
    )
    robot: Any = lw.Robot.build(
        "arm",
        lw.Link("base"),
        lw.Link("upper", boxes[0], mass=1.0),
        lw.Link("lower", boxes[1], mass=0.5),
        lw.Joint.of(tilt, name="one", parent="base", child="upper", lower=LOWER[0], upper=UPPER[0], velocity=6.0),
        lw.Joint.of(
            tilt, name="two", parent="upper", child="lower", placement=(0, 0, 0.4), lower=LOWER[1], upper=UPPER[1]
        ),
    )
    return robot


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("braking", [INF, 30.0, 2.0])
@pytest.mark.parametrize("velocity", [INF, 3.0])
def test_joints_with_bounded_accelerations_never_cross_a_position_limit(braking: float, velocity: float) -> None:
    """10⁴ joints at once, by exact and by semi-implicit steps up to half the horizon, from speeds up to s(d)."""
    tree, count = lw.Robot.build("arm", *_slide()).tree, 10_000
    speeds = frozenset(k for k in range(1) if velocity < INF)
    limits = MotionLimits([-1.0], [1.0], [velocity], [braking], frozenset([0]), speeds, frozenset())
    for horizon, share, exact in ((0.05, 0.5, True), (0.05, 0.5, False), (0.2, 0.1, True), (0.2, 0.3, False)):
        rng = np.random.default_rng(0)
        h, d = share * horizon, 2.0 * rng.random(count) ** 3 + 1e-5
        a_T = min(braking, 1e6) * horizon
        speed = np.where(
            d < a_T * horizon, d / horizon, np.sqrt(np.maximum(a_T / horizon * (2.0 * d - a_T * horizon), 0))
        )
        q, v = 1.0 - d, np.minimum(rng.choice([1.0, 0.999, 0.5], count) * speed, velocity)
        hardest = 0.0
        for _ in range(400):
            low, high = limits.acceleration_box(tree, [q], [v], horizon, [1e-4])
            assert (low[0] <= high[0]).all()
            before = v
            v = v + h * high[0]
            hardest = max(hardest, float(-high[0].min()))
            q = q + h * (0.5 * (before + v) if exact else v)
            assert q.max() <= 1.0 and np.abs(v).max() <= velocity + 1e-9, (horizon, share, exact)
        assert q.min() > 1.0 - 1e-2 - 2.0 * 1e-4 * horizon**2 and hardest < 1.1 * braking + 1.0


def test_weak_motors_brake_before_position_limits_at_their_limit_and_report_it() -> None:
    """Near a limit the bound requires more than the motor's limit, which holds and is reported."""
    robot: Any = lw.Robot.build("slide", *_slide())
    law = WholeBody(robot, JointTask("slide"), 100.0, effort_limits=1.0)
    q, v = np.array([[0.99], [0.0], [1.1]]), np.array([[1.0], [0.0], [0.0]])
    answer = law.answer(0.0, q, v, slide=3.0)
    assert answer.tau.ravel().tolist() == [-1.0, 1.0, -1.0] and answer.found.tolist() == [0.0, 1.0, 0.0]
    strong = WholeBody(robot, JointTask("slide"), 100.0, effort_limits=1000.0).answer(0.0, q, v, slide=3.0)
    assert strong.found.all() and np.allclose(strong.acceleration, strong.tau, rtol=1e-6, atol=1e-6)


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("error::linkwork.errors.SimulationWarning")
def test_whole_body_control_keeps_joints_within_position_limits() -> None:
    """10⁴ runs from starts near limits, with targets beyond them.

    Half of them are from rest, with motors of 5 N·m, of which gravity needs 4.7.
    """
    robot, rng, count = _arm(), np.random.default_rng(0), 5000
    for efforts, horizon, share in ((INF, 0.05, 1.0), ((5.0, 1.2), 0.05, 0.0)):
        law = WholeBody(robot, PostureTask(), 100.0, horizon=horizon, effort_limits=efforts)
        near, side = 0.2 * rng.random((count, 2)), rng.random((count, 2)) < 0.5
        q = np.where(side, LOWER + near, UPPER - near)
        v = share * np.where(side, -1.0, 1.0) * np.minimum(near / horizon, [5.9, 20.0]) * rng.uniform(-1, 1, (count, 2))
        aim = {"posture_q": q + 3.0 * rng.normal(size=(count, 2))}
        run = robot.simulate(q, v, controller=law, duration=0.5, dt=2e-3, constants=aim, passive=False)
        beyond = np.maximum(LOWER - run.q, run.q - UPPER).max()
        assert -1e-4 < beyond < 1e-9 and (np.abs(run.v[..., 0]) < 6.0).all(), (efforts, beyond)


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("error::linkwork.errors.SimulationWarning")
def test_friction_that_changes_within_a_time_step_causes_no_violation_of_position_limits() -> None:
    """Short and long steps, with friction that stops joints within a step, with and without motor limits."""
    for damping, friction, efforts in ((0.5, 0.3, INF), (20.0, 3.0, INF), (0.5, 0.3, (6.0, 2.0))):
        robot = _arm()
        for joint in robot.joints:
            robot = robot.with_joint(joint.with_damping(damping).with_friction(friction).with_armature(0.01))
        rng, lower, upper, n = np.random.default_rng(0), robot.lower, robot.upper, 1000
        law = WholeBody(robot, PostureTask(), 100.0, effort_limits=efforts)
        near, side = 0.2 * rng.random((n, 2)), rng.random((n, 2)) < 0.5
        q, v = np.where(side, lower + near, upper - near), np.where(side, -5.0, 5.0) * near * np.all(efforts == INF)
        aim = {"posture_q": q + 3.0 * rng.normal(size=(n, 2))}
        for dt in (1e-3, 5e-3) if damping < 1.0 else (2e-2,):
            run = robot.simulate(q, v, controller=law, duration=0.5, dt=dt, constants=aim)
            assert np.maximum(lower - run.q, run.q - upper).max() < 1e-9, (damping, efforts, dt)


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore::linkwork.errors.SimulationWarning")
def test_accelerations_that_vary_within_a_time_step_cause_no_violation_of_position_limits() -> None:
    """Commands that are held for several steps, and methods in whose steps accelerations are not constant."""
    smooth, rng, n = _arm(), np.random.default_rng(1), 1000
    resisting = smooth
    for joint in smooth.joints:
        resisting = resisting.with_joint(joint.with_damping(0.5).with_friction(0.3).with_armature(0.01))
    near, side = 0.2 * rng.random((n, 2)), rng.random((n, 2)) < 0.5
    q, v = np.where(side, LOWER + near, UPPER - near), np.clip(np.where(side, -5.0, 5.0) * near, -6.0, 6.0)
    aim = {"posture_q": q + 3.0 * rng.normal(size=(n, 2))}
    for robot, options in (
        (smooth, {"control_every": 5}),
        (resisting, {"control_every": 2}),
        (resisting, {"method": "rk4"}),
    ):
        law = WholeBody(robot, PostureTask(), 100.0, effort_limits=INF)
        run = robot.simulate(q, v, controller=law, duration=0.5, dt=1e-3, constants=aim, **options)
        beyond = np.maximum(LOWER - run.q, run.q - UPPER).max()
        assert -1e-4 < beyond < 1e-9, (options, beyond)


@pytest.mark.slow(every=5)
def test_whole_body_control_uses_friction_at_the_end_of_the_time_step() -> None:
    """A simulation realises the planned accelerations; a law with a step of its own refuses others."""
    robot = _arm()
    for joint in robot.joints:
        robot = robot.with_joint(joint.with_damping(2.0).with_friction(1.0).with_armature(0.01))
    rng = np.random.default_rng(0)
    q, v, aim = rng.uniform(-0.5, 0.5, (100, 2)), rng.normal(size=(100, 2)) * 0.1, rng.normal(size=(100, 2))
    free, planned_law = (WholeBody(robot, PostureTask(), 100.0, effort_limits=INF, dt=dt) for dt in (None, 5e-3))
    run = robot.simulate(q, v, controller=free, duration=5e-3, dt=5e-3, constants={"posture_q": aim})
    planned = planned_law.answer(0.0, q, v, posture_q=aim).acceleration
    assert np.allclose((run.v[:, 1] - v) / 5e-3, planned, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="controller: expected one for steps of dt"):
        robot.simulate(q, v, controller=planned_law, duration=1e-3, constants={"posture_q": aim})


def _slide() -> list[Any]:
    joint = lw.Joint.of(
        lw.joints.Prismatic((1, 0, 0)), name="slide", parent="base", child="mass", lower=-1.0, upper=1.0
    )
    return [lw.Link("base"), lw.Link("mass", lw.shapes.Box((0.1, 0.1, 0.1)), mass=1.0), joint]
