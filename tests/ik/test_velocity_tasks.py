"""Velocity tasks on floats: their rows and drifts give the velocity of a joint and the momentum minus their targets."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.algorithms.momentum.momentum import centroidal_momentum
from linkwork.ik.algorithms.task_stack import TaskState
from linkwork.ik.arguments import check_tasks
from linkwork.joints import Revolute, Spherical


def robot_with_ball():
    hinge = lw.Joint.of(Revolute((0.48, -0.6, 0.64)), name="hinge", parent="world", child="rod")
    ball = lw.Joint.of(Spherical(), name="ball", parent="rod", child="hand", placement=lw.pose((0.3, 0.1, -0.2)))
    links = (
        lw.Link(name, lw.shapes.Box((0.1, 0.2, 0.3)).at((0.1, -0.2, 0.3)), mass=m)
        for name, m in (("rod", 1.0), ("hand", 2.5))
    )
    return lw.Robot.build("ball", *links, hinge, ball)


def test_rows_and_drifts_of_velocity_tasks_are_velocities_minus_targets():
    robot, rng = robot_with_ball(), np.random.default_rng(2)
    q, v = robot.random_configuration(seed=1), rng.normal(size=4)
    state, h = TaskState(robot.tree, [*q]), [*centroidal_momentum(robot.tree, [*q], [*v]).elements()]
    tasks = check_tasks(
        "test",
        robot,
        [lw.ik.JointVelocityTask("hinge"), lw.ik.JointVelocityTask("ball"), lw.ik.MomentumTask(name="total")],
        velocities=True,
    )
    for task, values, names, units in (
        (tasks[0], v[:1], ("hinge velocity",), ("rad",)),
        (tasks[1], v[1:], tuple(f"ball velocity[{k}]" for k in range(3)), ("rad",) * 3),
        (tasks[2], h, tuple(f"total: {kind} {axis}" for kind in ("angular", "linear") for axis in "xyz"), ("1",) * 6),
    ):
        target = rng.normal(size=len(values))
        result = task.rows(state, [*target])
        rates = np.array(result.rows, dtype=float) @ v + np.array(task.drift(state, [*target]), dtype=float)
        assert rates == pytest.approx(np.array(values, dtype=float) - target, abs=1e-12)
        assert task.of_velocity and not np.any(result.errors)
        assert (task.component_names, task.row_units) == (names, units)
        assert task.target_of.shape == (() if len(values) == 1 else (len(values),))
    assert tasks[1].target_of.doc == "velocity of joint 'ball'" and np.abs(np.array(h, dtype=float)).min() > 1e-3


def test_velocity_tasks_of_fixed_joints_and_of_robots_without_mass_are_refused():
    robot = robot_with_ball()
    fixed = lw.Robot.build(
        "fixed",
        lw.Link("rod", mass=1.0),
        lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="hinge", parent="world", child="rod"),
        lw.Link("tip"),
        lw.Joint.of(lw.joints.Fixed(), name="weld", parent="rod", child="tip"),
    )
    with pytest.raises((ValueError, LookupError), match="weld"):
        check_tasks("test", fixed, [lw.ik.JointVelocityTask("weld")], velocities=True)
    with pytest.raises(LookupError, match="did you mean 'hinge'"):
        check_tasks("test", robot, [lw.ik.JointVelocityTask("hing")], velocities=True)
    with pytest.raises(ValueError, match="hinge velocity"):
        check_tasks("test", robot, [lw.ik.JointVelocityTask("hinge")])
