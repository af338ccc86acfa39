"""Motions and forces of tasks on floats: targets, Jacobians and accelerations."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.control.algorithms.operational_space_forces import (
    Level,
    _target_rates,
    force_shares,
    task_forces,
    task_motion,
)
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.ik.algorithms.task_stack import Stack, TaskState
from linkwork.ik.arguments import check_tasks
from linkwork.ik.tasks.task import Task
from linkwork.kinematics.algorithms.configuration_manifold import integrate

ARM = lw.load("arm7")
RNG = np.random.default_rng(3)
Q, V = RNG.uniform(-1.2, 1.2, 7), RNG.normal(size=7)
STEP = 1e-6


def _pose() -> np.ndarray:
    return np.asarray(lw.pose((0.3, -0.2, 0.7), rpy=(0.4, -0.7, 1.1)))


def _cases() -> list[tuple[Task, list[float], np.ndarray]]:
    """Return tasks, their targets, and velocities J v at which they follow moving targets."""
    unit = np.array([0.48, -0.6, 0.64])
    tasks = check_tasks(
        "test",
        ARM,
        [
            lw.ik.PoseTask("hand", name="pose"),
            lw.ik.PositionTask("hand", name="position"),
            lw.ik.OrientationTask("hand", name="orientation"),
            lw.ik.AlignTask("hand.z", name="axis"),
            lw.ik.PoseTask("hand", axes="reference", name="pose in fixed axes"),
            lw.ik.OrientationTask("hand", axes="reference", name="orientation in fixed axes"),
        ],
        velocities=False,
    )
    targets = (_pose().ravel(), _pose()[:3, 3], _pose()[:3, :3].ravel(), unit, _pose().ravel(), _pose()[:3, :3].ravel())
    sizes = (6, 3, 3, None, 6, 3)
    cases = []
    for task, target, size in zip(tasks, targets, sizes, strict=True):
        count = len(task.errors(TaskState(ARM.tree, [*Q]), [*target])) if size is None else size
        cases.append((task, target.tolist(), 0.4 * RNG.normal(size=count)))
    return cases


def test_targets_move_such_that_errors_of_a_robot_at_rest_change_at_the_stated_rate() -> None:
    state = TaskState(ARM.tree, [*Q])
    for task, target, lead in _cases():
        rates = np.array(_target_rates(state, task, target, [*lead]))
        moved = [np.array(task.errors(state, [*(np.array(target) + h * rates)])) for h in (-STEP, STEP)]
        slope = (moved[1] - moved[0]) / (2.0 * STEP)
        if not task.rates_follow_jacobian:
            assert not rates.any()
            continue
        if task.name != "axis":
            assert np.abs(slope + lead).max() < 1e-7, task.name
        else:  # a direction moves across itself, and no change of it turns about itself
            assert abs(rates @ np.array(target)) < 1e-12 and np.abs(rates).max() > 0.1
            again = np.array(_target_rates(state, task, target, [*-slope]))
            assert np.abs(again - rates).max() < 1e-7
        assert _target_rates(state, task, target, [0.0] * len(lead)) == [0.0] * len(target)
        if len(target) in (9, 16):  # a rotation remains one
            width = 4 if len(target) == 16 else 3
            R, dR = (np.array(x).reshape(-1, width)[:3, :3] for x in (target, rates))
            assert np.abs(dR @ R.T + R @ dR.T).max() < 1e-12 and np.abs(dR).max() > 0.1


def test_drifts_of_tasks_are_the_changes_of_their_jacobians_with_robot_and_target() -> None:
    for task, target, lead in _cases():
        if task.name not in ("pose", "axis", "orientation in fixed axes"):
            continue
        stack = Stack(ARM.tree, (task,), (target,), [1e-6] * 6, [1.0] * 6)
        motion = task_motion(stack, [*Q], [*V], ([*lead],))
        rates = np.array(_target_rates(TaskState(ARM.tree, [*Q]), task, target, [*lead]))

        def rows(h: float, robot: bool, task: Task = task, target: list[float] = target, y: np.ndarray = rates):
            q = integrate(ARM.tree, [*Q], [*(h * V if robot else 0.0 * V)])
            moved = Stack(ARM.tree, (task,), ([*(np.array(target) + h * y)],), [1e-6] * 6, [1.0] * 6)
            return np.array(task_motion(moved, q, [*V], ([0.0] * 6,)).rows, dtype=float)

        for changes, robot in ((motion.drifts, True), (motion.led, False)):
            expected = (rows(STEP, robot) - rows(-STEP, robot)) / (2.0 * STEP) @ V
            assert np.abs(np.array(changes, dtype=float) - expected).max() < 1e-6, task.name
        assert np.abs(np.array(motion.rates[0]) - np.array(motion.rows) @ V).max() < 1e-12


def test_shares_of_task_forces_bound_the_accelerations_of_joints() -> None:
    rows = np.array(
        task_motion(
            Stack(ARM.tree, (_cases()[0][0],), (_cases()[0][1],), [1e-6] * 6, [1.0] * 6), [*Q], [*V], ([0.0] * 6,)
        ).rows,
        dtype=float,
    )
    M = np.array(mass_matrix(ARM.tree, [*Q]), dtype=float)
    a0, desired, led = 0.3 * RNG.normal(size=7), 5.0 * RNG.normal(size=3), 0.5 * RNG.normal(size=3)
    levels = [Level(rows[:3].tolist(), desired.tolist(), led.tolist()), Level(rows[3:].tolist(), [4.0, -3.0, 2.0])]
    condition = 1e6
    forces = np.array(task_forces(ARM.tree, [*Q], levels, [*a0], condition))
    a = np.linalg.solve(M, forces) + a0
    assert np.abs(rows[:3] @ a - desired).max() < 1e-9  # of the first level exactly, though the second one acts
    assert np.abs(rows[3:] @ a - [4.0, -3.0, 2.0]).max() < 1e-9  # seven joints suffice for both
    (share,) = force_shares(ARM.tree, [*Q], levels[:1], [*a0], 1.5, False, [0.5] * 7)
    pushes = [np.array(task_forces(ARM.tree, [*Q], levels[:1], [*a0], 1.5, False, [x])) for x in (share, 0.0)]
    assert 0.0 < share < 1.0  # near singularities, as any is for this bound of the condition number
    assert np.abs(np.linalg.solve(M, pushes[0] - pushes[1])).max() == pytest.approx(0.5)
    alone = [levels[0]]
    for most in (1e6, 0.5, 0.1):
        (share,) = force_shares(ARM.tree, [*Q], alone, [*a0], condition, False, [most] * 7)
        forces, at_reference = (
            np.array(task_forces(ARM.tree, [*Q], alone, [*a0], condition, False, [x])) for x in (share, 0.0)
        )
        push = np.linalg.solve(M, forces - at_reference)
        assert share == 1.0 if most == 1e6 else 0.0 < share < 1.0
        if share < 1.0:  # far from singularities
            assert np.abs(push).max() == np.float64(8.0 * most) or abs(np.abs(push).max() / (8.0 * most) - 1.0) < 1e-9
        reached = rows[:3] @ (np.linalg.solve(M, forces) + a0)
        assert np.abs(reached - rows[:3] @ a0 - led - share * (desired - rows[:3] @ a0 - led)).max() < 1e-9
