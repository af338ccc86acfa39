"""Constraints among tasks: hard, soft or within ranges; and constraints of a robot, which hold without being named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import ik
from linkwork.ik.algorithms.task_stack import TaskState
from linkwork.ik.arguments import check_tasks

ARM = lw.load("arm7")
LEG = lw.load("leg")


@pytest.mark.slow(every=9)
def test_ik_solutions_satisfy_the_loop_constraints_of_the_robot():
    """The problem names only the foot's task."""
    q = LEG.assemble().q
    X = LEG.pose(q, "foot")
    problem = LEG.ik_problem(ik.PositionTask("foot"))
    assert [task.name for task in problem.tasks] == ["foot", "achilles", "plantar"]
    seeds = LEG.random_configuration(seed=0, size=12)
    solution = problem.solve(seeds, foot=X[:3, 3])
    assert solution.success.all()
    assert np.abs(LEG.constraint_error(solution.q)).max() <= 1e-8
    assert np.abs(LEG.pose(solution.q, "foot")[:, :3, 3] - X[:3, 3]).max() <= 1e-6
    assert (solution.q >= LEG.lower).all() and (solution.q <= LEG.upper).all()
    simple = LEG.inverse_kinematics(X, "foot", position_tolerance=1e-6, orientation_tolerance=[1e-6] * 3)
    assert simple.success and np.abs(LEG.constraint_error(simple.q)).max() <= 1e-8
    assert LEG.inverse_kinematics(X, "foot").success


def test_ik_solutions_respect_the_limits_of_a_loop_joint():
    robot = lw.load("fourbar")
    q = robot.assemble(hold={robot.joints[0].name: 0.9}).q
    p = robot.pose(q, "coupler_tip")[:3, 3]
    angle = float(robot.loop_configuration(q)[0])
    pin = robot.tree.constraints[0]

    def bounded(lower, upper):
        bounded_pin = replace(pin, lower=(lower,), upper=(upper,))
        return robot.without_constraints("pin").with_constraints(bounded_pin)

    task = ik.PositionTask("coupler_tip", tolerance=1e-4)
    inside = bounded(angle - 0.1, angle + 0.1).ik_problem(task)
    assert [t.name for t in inside.tasks] == ["coupler_tip", "pin", "pin: bounds"]
    solution = inside.solve(coupler_tip=p)
    assert solution.success and abs(float(robot.loop_configuration(solution.q)[0]) - angle) <= 0.1 + 1e-7
    assert not bounded(angle + 0.5, angle + 0.6).ik_problem(task).solve(q, coupler_tip=p).success


@pytest.mark.slow(every=5)
def test_every_position_constraint_can_be_an_ik_task():
    robot = ARM.with_point("tip", "hand", (0.0, 0.0, 0.1))
    tasks = (
        lw.constraints.Distance("tip", "world", 0.6),
        lw.constraints.PointOnPlane("tip", "world.z", offset=0.4),
        lw.constraints.PointOnLine("tip", "world.z", line_point=(0.3, 0.1, 0.0)),
        lw.constraints.Parallel("hand.z", "world.x"),
        lw.constraints.Angle("hand.z", "world.x", 0.7),
        lw.constraints.Ball("tip", "world", point=(0.3, 0.2, 0.4)),
        lw.constraints.CenterOfMass(x=0.05),
        lw.constraints.Coupling({robot.joints[0].name: 1.0, robot.joints[2].name: -2.0}),
        lw.constraints.Holonomic("mine", lambda k: k.point("tip")[0] - 2.0 * k.point("forearm_distal")[1]),
        lw.constraints.Prescribed(robot.joints[1].name, lambda t: 0.2 + 0.1 * t),
    )
    for constraint in tasks:
        targets = {constraint.name: 3.0} if constraint.time_dependent else {}
        solution = robot.ik_problem(constraint).solve(**targets)
        assert solution.success and abs(left_of(robot, constraint, solution.q)) <= 2e-6, constraint


def left_of(robot, constraint, q):
    """Return the error of a constraint, as an IK task, by independent formulas."""
    X, elbow = robot.pose(q, "hand"), robot.pose(q, "forearm_distal")
    z = X[:3, 2]
    tip = X[:3, 3] + 0.1 * z
    return {
        "Distance": np.linalg.norm(tip) - 0.6,
        "PointOnPlane": tip[2] - 0.4,
        "PointOnLine": np.hypot(tip[0] - 0.3, tip[1] - 0.1),
        "Parallel": np.linalg.norm(z - [1.0, 0.0, 0.0]),
        "Angle": np.arccos(z[0]) - 0.7,
        "Ball": np.linalg.norm(tip - [0.3, 0.2, 0.4]),
        "CenterOfMass": robot.center_of_mass(q)[0] - 0.05,
        "Coupling": q[0] - 2.0 * q[2],
        "Holonomic": tip[0] - 2.0 * elbow[1, 3],
        "Prescribed": q[1] - 0.5,
    }[type(constraint).__name__]


def test_ik_tasks_with_ranges_of_errors_are_solved():
    """A point above a plane, a minimum distance, a maximum angle."""
    q = ARM.random_configuration(seed=4, size=20)
    position = ARM.pose(q, "hand")[:, :3, 3]
    problem = ARM.ik_problem(
        [
            ik.PositionTask("hand", tolerance=(1e-6, 1e-6, np.inf), axes="reference"),
            ik.Within(lw.constraints.PointOnPlane("hand", "world.z", name="height"), 0.1, 0.3),
        ]
    )
    solution = problem.solve(hand=position)
    got = ARM.pose(solution.q, "hand")[:, :3, 3]
    can = solution.success
    assert can.sum() >= 10
    assert np.abs(got - position)[can, :2].max() <= 1e-6
    assert (got[can, 2] >= 0.1 - 1e-6).all() and (got[can, 2] <= 0.3 + 1e-6).all()
    inside = problem.solve(q, hand=position)  # what is within its range already stays where it is
    stays = (position[:, 2] >= 0.1) & (position[:, 2] <= 0.3)
    assert np.array_equal(inside.q[stays], q[stays])


def test_jacobians_of_ik_tasks_with_error_ranges_are_exact_derivatives():
    """Errors need not vanish within a range, so rows are their derivative in every representation."""
    robot = ARM.with_constraints(lw.constraints.Weld("hand", pose=lw.pose((0.3, 0.1, 0.5))))
    tree, q = ARM.tree, ARM.random_configuration(seed=8)
    (weld,) = robot.tree.constraints
    for task in (ik.Within(weld, -0.1, 0.1), ik.Within(ik.PoseTask("hand", axes="frame"), -0.1, 0.1)):
        (task,) = check_tasks("test", ARM, task)
        target = [] if task.target_of is None else np.eye(4).ravel().tolist()
        rows = np.array(task.rows(TaskState(tree, list(q)), target).rows)
        for k, unit in enumerate(np.eye(7) * 1e-6):
            ends = [np.array(task.errors(TaskState(tree, list(x)), target)) for x in (q + unit, q - unit)]
            assert np.abs((ends[0] - ends[1]) / 2e-6 - rows[:, k]).max() <= 1e-7


def test_weld_task_of_ik_may_have_a_free_axis():
    """Rows are exact, although the weld has a closed form with other rows."""
    q, aims = ARM.random_configuration(seed=1, size=12), ARM.random_configuration(seed=0)
    X = ARM.pose(aims, "hand")
    weld = ik.ConstraintTask(lw.constraints.Weld("hand", pose=X), tolerance=(1e-7, 1e-7, np.inf, 1e-7, 1e-7, 1e-7))
    solution = ARM.ik_problem(weld).solve(q)
    Y = ARM.pose(solution.q, "hand")
    assert solution.success.all() and np.abs(Y[:, :3, 2:] - X[:3, 2:]).max() <= 3e-7
    assert np.abs(Y[:, :3, 0] - X[:3, 0]).max() > 0.1


def test_soft_ik_constraints_with_remaining_errors_are_not_failures():
    far = ik.Soft(lw.constraints.Distance("hand", "world", 30.0), 1e-3)
    q = ARM.random_configuration(seed=2)
    solution = ARM.ik_problem([ik.PositionTask("hand"), far]).solve(q, hand=ARM.pose(q, "hand")[:3, 3])
    assert solution.success


def test_constant_constraints_and_constraints_of_unknown_points_are_refused_as_ik_tasks():
    for constraint, text in (
        (lw.constraints.Holonomic("mine", lambda k: 3.0), "for every robot"),
        (lw.constraints.Holonomic("mine", lambda k: k.point("hnad")[0]), "no frame or point named 'hnad'"),
        (lw.constraints.Distance("hand", "hand", 1.0), "it is between 'hand' and itself"),
    ):
        with pytest.raises((ValueError, KeyError), match=text):
            ARM.ik_problem(constraint)
