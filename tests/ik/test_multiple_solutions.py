"""Several solutions of one target: branches of arms, configurations far apart, and messages about missing ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from helpers.arms import planar

ARM6, ARM7 = lw.load("arm6"), lw.load("arm7")


def apart(q):
    """The smallest of the largest differences of joints, whole turns aside, between any two of them."""
    d = q[:, None] - q[None, :]
    d = np.abs(d - math.tau * np.round(d / math.tau)).max(axis=-1)
    return d[np.triu_indices(len(q), 1)].min()


def test_two_ik_solutions_of_a_planar_arm_follow_the_law_of_cosines():
    robot, tip = planar((1.0, 0.8))
    problem = robot.ik_problem(lw.ik.PositionTask(tip, name="place"))
    position = np.array([0.9, 0.6, 0.0])
    solution = problem.solve([1.0, -1.0], num_solutions=3, place=position)
    bend = math.acos((position @ position - 1.0 - 0.64) / 1.6)
    assert solution.q.shape == (3, 2) and solution.success.tolist() == [True, True, False]
    assert solution.status.tolist() == ["solved", "solved", "no_other_solution"]
    assert np.abs(solution.q[:2, 1] - [-bend, bend]).max() < 1e-5  # the nearer one first
    assert "2 distinct solutions" in solution.explain(2) and solution.explain(0).startswith("solved")
    assert problem.solve([1.0, 1.0], num_solutions=1, place=position).q[0, 1] > 0.0


def test_ik_of_six_axis_arms_returns_all_branches_in_order_of_distance():
    """Every branch of the closed form, for random poses."""
    q = ARM6.random_configuration(seed=3, size=6)
    X, seed = ARM6.pose(q, "tool"), np.zeros(6)
    branches = ARM6.closed_form("tool").branches(X)
    solution = ARM6.inverse_kinematics(
        X, "tool", q_init=seed, num_solutions=16, position_tolerance=1e-9, orientation_tolerance=1e-9
    )
    assert solution.q.shape == (16, 6, 6) and solution.success.shape == (16, 6)
    for k in range(6):
        mine = solution.q[solution.success[:, k], k]
        solutions = branches.q[k][branches.valid[k]]
        assert len(mine) >= len(solutions) and apart(mine) > 0.1
        d = mine[:, None] - solutions[None, :]
        assert np.abs(d - math.tau * np.round(d / math.tau)).max(axis=-1).min(axis=0).max() < 1e-6
        assert np.abs(lw.pose_difference(ARM6.pose(mine, "tool"), X[k])).max() < 1.01e-9
        far = np.abs(mine - seed).max(axis=-1)
        assert (np.diff(far) >= 0.0).all()
    assert (solution.q >= ARM6.lower).all() and (solution.q <= ARM6.upper).all()


def test_several_ik_solutions_of_a_seven_axis_arm_are_far_apart_and_independent_of_the_batch():
    X = ARM7.pose(ARM7.random_configuration(seed=8, size=4), "hand")
    solution = ARM7.inverse_kinematics(X, "hand", num_solutions=5)
    assert solution.success.all() and (solution.status == "solved").all()
    for k in range(4):
        assert apart(solution.q[:, k]) > 0.3
    single = ARM7.inverse_kinematics(X[2], "hand", num_solutions=5)
    assert (
        np.array_equal(single.q, solution.q[:, 2]) and single.iterations.tolist() == solution.iterations[:, 2].tolist()
    )


def test_unreachable_poses_have_no_ik_solutions_and_invalid_counts_are_refused():
    far = ARM7.inverse_kinematics(lw.pose((3.0, 0.0, 0.0)), "hand", num_solutions=2)
    assert far.status.tolist() == ["out_of_reach"] * 2 and not far.success.any() and far.proof[0].proved
    X = ARM7.pose(ARM7.neutral(), "hand")
    for count in (0, -1, 1.5, True, 10**9):
        with pytest.raises(ValueError, match="num_solutions"):
            ARM7.inverse_kinematics(X, "hand", num_solutions=count)
    with pytest.raises(ValueError, match="time_limit"):
        ARM7.inverse_kinematics(X, "hand", num_solutions=2, time_limit=1.0)
    with pytest.raises(ValueError, match="X_target"):
        ARM7.inverse_kinematics(2.0 * X, "hand", num_solutions=2)


def test_empty_batches_of_ik_targets_have_empty_solutions():
    """No targets have no answers, of the shapes that answers have."""
    for robot, frame in ((ARM7, "hand"), (lw.load("arm6"), "tool")):
        for shape in ((0,), (3, 0)):
            solution = robot.inverse_kinematics(np.zeros((*shape, 4, 4)), frame, num_solutions=2)
            assert solution.q.shape == (2, *shape, robot.nq) and solution.errors.shape == (2, *shape, 6)
            assert solution.success.shape == solution.status.shape == solution.iterations.shape == (2, *shape)
            assert solution.position_error.shape == (2, *shape) and "0 of 0" in repr(solution)
    with pytest.raises(ValueError, match="num_solutions"):
        ARM7.inverse_kinematics(np.zeros((0, 4, 4)), "hand", num_solutions=0)


def test_ik_solutions_that_differ_by_a_full_revolution_are_distinct_if_it_changes_a_follower_or_task():
    """A follower of ratio ½ turns half a revolution when its master turns one; a target of 3π is not π."""
    turn, Joint, links = lw.joints.Revolute((0, 0, 1)), lw.Joint, [lw.Link(name, mass=1.0) for name in "abc"]
    first = Joint.of(turn, name="first", parent="a", child="b")
    second = Joint.of(turn, name="second", parent="b", child="c", placement=(0.6, 0.0, 0.0))
    robot = lw.Robot.build("arm", *links, first, second)
    coupled = robot.with_couplings({"second": ("first", 0.5)})
    for angle, q in ((-3.0, 4.5), (-2.25, 2.25)):
        target = coupled.pose([angle], "c")
        solution = coupled.inverse_kinematics(target, "c", q_init=[q], num_solutions=2)
        assert np.abs(coupled.pose(solution.q[solution.success], "c") - target).max(initial=0.0) < 1e-5
    problem = robot.ik_problem(lw.ik.JointTask("first", target=3.0 * math.pi))
    solution = problem.solve([0.0, 0.5], num_solutions=2)  # the second joint, which changes no error, stays
    assert solution.success.tolist() == [True, False] and np.abs(solution.q[0] - [3.0 * math.pi, 0.5]).max() < 1e-5
    problem = robot.ik_problem(lw.ik.FunctionTask("tenth", lambda k: 0.1 * k.q()[0] - 1.0))
    solution = problem.solve([0.0, 0.5], num_solutions=2)
    assert solution.success.all() and np.abs(solution.q[:, 0] - 10.0).max() < 1e-4
