"""Inverse kinematics along paths: continuous if possible, with reported jumps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.ik.path_ik import RollingSteps

ARM = lw.load("arm7")


def planar(*limits):
    """Two links of 1 m in a plane, whose joints have these limits."""
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/>'
        f'<origin xyz="{min(k, 1)} 0 0"/><limit lower="{low}" upper="{high}" effort="1" velocity="2"/></joint>'
        for k, (low, high) in enumerate(limits)
    )
    links = "".join(f'<link name="l{k}"/>' for k in range(len(limits) + 2))
    tip = f'<joint name="tip" type="fixed"><parent link="l{len(limits)}"/><child link="l{len(limits) + 1}"/>'
    return lw.Robot.from_urdf_string(f'<robot name="planar">{links}{joints}{tip}<origin xyz="1 0 0"/></joint></robot>')


def straight(X, to, count):
    """Poses on the way to a place, turned alike."""
    path = np.array([X] * count)
    path[:, :3, 3] += np.linspace(0.0, 1.0, count)[:, None] * (np.asarray(to) - X[:3, 3])
    return path


def test_path_ik_follows_smooth_pose_paths_without_jumps():
    """Coarse paths are refined between poses that are far apart."""
    q = np.array([0.2, 0.3, 0.1, -1.8, 0.3, 2.0, 0.4])
    X = ARM.pose(q, "hand")
    for count in (3, 60):
        path = straight(X, X[:3, 3] + [0.1, -0.25, -0.15], count)
        path_solution = ARM.inverse_kinematics_path(path, "hand", q_init=q)
        assert path_solution.success.all() and path_solution.reconfigurations == 0
        assert np.abs(lw.pose_difference(ARM.pose(path_solution.q, "hand"), path)).max() <= 1e-6
        assert (path_solution.q >= ARM.lower).all() and (path_solution.q <= ARM.upper).all()
        assert np.array_equal(path_solution.q[0], q)
        steps = np.abs(ARM.difference(path_solution.q[:-1], path_solution.q[1:]))
        step, joint = np.unravel_index(steps.argmax(), steps.shape)
        assert path_solution.largest_jump == (steps.max(), ARM.joints[joint].name, step + 1)
        assert "reconfigured" not in path_solution.explain() and f"{count} of {count}" in path_solution.explain()
    assert path_solution.largest_jump.size < 0.1


def test_path_ik_counts_and_names_a_forced_reconfiguration():
    """A bound of the first joint forces the elbow over while the tip follows a circle."""
    robot = planar((-0.6, 0.6), (-2.5, 2.5))
    angles = np.linspace(0.0, 0.8, 41)
    reach = np.sqrt(2.0 + 2.0 * np.cos(1.0))
    positions = reach * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)
    problem = robot.ik_problem(lw.ik.PositionTask("l3"))
    path_solution = problem.follow(np.array([0.5, -1.0]), l3=positions)
    assert path_solution.success.all() and path_solution.reconfigurations == 1
    (step,) = np.flatnonzero(path_solution.reconfigured)
    assert (path_solution.q[:step, 1] < 0.0).all() and (path_solution.q[step:, 1] > 0.0).all()
    assert abs(angles[step - 1] + 0.5) <= 0.6 + 1e-6 < angles[step] + 0.5  # as far as it could
    assert path_solution.largest_jump.step == step and path_solution.largest_jump.joint == "j1"
    assert np.isclose(path_solution.largest_jump.size, 2.0, atol=0.1)
    assert f"reconfigured before target {step}: j1" in path_solution.explain()
    free = planar((-3.0, 3.0), (-2.5, 2.5)).ik_problem(lw.ik.PositionTask("l3"))
    assert free.follow(np.array([0.5, -1.0]), l3=positions).reconfigurations == 0


def test_path_ik_fails_at_unreachable_targets_without_a_jump():
    robot = planar((-3.0, 3.0), (-2.5, 2.5))
    positions = np.stack([np.linspace(1.2, 3.0, 19), np.zeros(19), np.zeros(19)], axis=-1)
    path_solution = robot.ik_problem(lw.ik.PositionTask("l3")).follow(np.array([0.9, -1.8]), l3=positions)
    assert np.array_equal(path_solution.success, positions[:, 0] < 1.95) or path_solution.success.sum() in (8, 9)
    assert path_solution.reconfigurations == 0 and np.isfinite(path_solution.q).all()
    assert f"the first failure is target {int(path_solution.success.sum())}" in path_solution.explain()


def test_path_ik_of_a_batch_equals_path_ik_of_each_path():
    seeds = ARM.random_configuration(seed=31, size=4)
    starts = ARM.pose(seeds, "hand")
    paths = np.array([straight(X, 0.85 * X[:3, 3], 12) for X in starts])
    many = ARM.inverse_kinematics_path(paths, "hand", q_init=seeds)
    assert many.q.shape == (4, 12, 7) and many.success.shape == (4, 12) and many.reconfigurations.shape == (4,)
    for k in range(4):
        single = ARM.inverse_kinematics_path(paths[k], "hand", q_init=seeds[k])
        assert np.array_equal(single.q, many.q[k]) and single.explain() == many.explain(k)


def test_invalid_arguments_of_path_ik_are_refused():
    X = np.array([ARM.pose(np.zeros(7), "hand")] * 3)
    late = X.copy()
    late[1, 0, 3] = np.nan
    turned = X.copy()
    turned[2, :3, :3] *= 1.1
    problem = ARM.ik_problem([lw.ik.PositionTask("hand"), lw.ik.OrientationTask("forearm_distal")])
    for call, error, text in (
        (lambda: ARM.inverse_kinematics_path(X[0], "hand"), ValueError, "expected a path"),
        (lambda: ARM.inverse_kinematics_path(late, "hand"), ValueError, "got nan at"),
        (lambda: ARM.inverse_kinematics_path(turned, "hand"), ValueError, "rotation|pose"),
        (lambda: ARM.inverse_kinematics_path(X, "hadn"), UnknownNameError, "did you mean 'hand'"),
        (lambda: ARM.inverse_kinematics_path(X, "hand", max_joint_jump=0.0), ValueError, "max_joint_jump: expected a"),
        (lambda: ARM.inverse_kinematics_path(X, "hand", q_init=np.zeros(2)), ValueError, "q_init: expected an array"),
        (lambda: problem.follow(hand=X[:, :3, 3], forearm_distal=X[:2, :3, :3]), ValueError, "equal length"),
        (lambda: problem.follow(hnad=X[:, :3, 3]), UnknownNameError, "did you mean 'hand'"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_steps_with_velocity_constraints_end_at_targets_or_where_no_step_is_possible():
    """Coordinates move to their targets; the second one has a wall, and the third one is soft."""

    def velocity(q, goal):
        step = goal - q
        step[:, 1] = np.where(q[:, 1] + step[:, 1] > 0.5, 0.5 - q[:, 1], step[:, 1])
        return SimpleNamespace(v=step)

    steps = object.__new__(RollingSteps)
    steps.problem = SimpleNamespace(
        robot=SimpleNamespace(integrate=lambda q, step: q + step),
        residual_kernel=lambda q, goal: SimpleNamespace(errors=q - goal),
        tolerances=np.array([1e-6, 1e-6, 1e-6]),
    )
    steps.ik, steps.max_step = SimpleNamespace(velocity=velocity), np.array([0.1, 0.1, 0.4])
    before, goal = np.zeros((4, 3)), np.zeros((4, 3))
    goal[0, 0], goal[1, 1], goal[2, 2] = 1.05, 0.7, 0.7
    steps.hard = np.array([True, True, True])
    q, done, count = steps.walk(before, {"goal": goal})
    assert done.tolist() == [True, False, True, True] and np.abs(q[[0, 2, 3]] - goal[[0, 2, 3]]).max() < 1e-6
    assert q[1].tolist() == pytest.approx([0.0, 0.5, 0.0])  # at the wall, without a step
    assert count == 11 + 6 + 2  # of at most 0.1, and 0.4 of the third
    steps.hard = np.array([True, False, True])  # a soft task is at its minimum once steps end
    q, done, _ = steps.walk(before, {"goal": goal})
    assert done.tolist() == [True] * 4 and q[1, 1] == pytest.approx(0.5)
