"""Inverse kinematics of poses: solutions reach the target within limits, and report their errors."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.model.random_tree import random_tree
from oracles.trees import TREES, robot_of

ARM = lw.load("arm7")
TOLERANCE = 1e-6


def targets(robot, frame, count, seed=0, relative_to="world"):
    q = robot.random_configuration(seed=seed, size=count)
    return robot.pose(q, frame, relative_to=relative_to)


def left(robot, q, frame, X, relative_to="world"):
    return np.abs(lw.pose_difference(robot.pose(q, frame, relative_to=relative_to), X))


def test_ik_reaches_random_poses_of_an_arm_within_limits():
    X = targets(ARM, "hand", 500)
    solution = ARM.inverse_kinematics(X, "hand")
    assert solution.success.all() and (solution.status == "solved").all()
    assert left(ARM, solution.q, "hand", X).max() <= 1.01 * TOLERANCE
    assert (solution.q >= ARM.lower).all() and (solution.q <= ARM.upper).all()
    assert solution.position_error.max() <= TOLERANCE and solution.orientation_error.max() <= TOLERANCE


def test_ik_reaches_poses_near_all_limits_by_later_searches():
    """The first search of 800 iterations misses a few."""
    q = np.where(np.random.default_rng(3).random((200, 7)) < 0.5, ARM.lower, ARM.upper) * 0.995
    solution = ARM.inverse_kinematics(ARM.pose(q, "hand"), "hand")
    assert solution.success.all() and solution.iterations.max() > 800


def test_ik_solutions_are_equal_for_single_poses_for_batches_and_on_any_number_of_threads():
    X = targets(ARM, "hand", 300, seed=1)
    threads = lw.get_num_threads()
    try:
        many = {}
        for count in (1, 2):
            lw.set_num_threads(count)
            many[count] = ARM.inverse_kinematics(X, "hand")
    finally:
        lw.set_num_threads(threads)
    assert np.array_equal(many[1].q, many[2].q)
    for k in (0, 17, 299):
        single = ARM.inverse_kinematics(X[k], "hand")
        assert np.array_equal(single.q, many[1].q[k]) and single.iterations == many[1].iterations[k]
        assert single.success is True and single.restarts == many[1].restarts[k]


@pytest.mark.parametrize(
    "tree", [TREES[name] for name in TREES if name.endswith(("_chain", "_0", "rerooted"))], ids=str
)
def test_ik_reaches_reachable_poses_for_every_joint_type(tree):
    """Random trees: solutions stay on the manifold."""
    robot = robot_of(tree)
    frame = max(tree.frames, key=lambda frame: frame.body).name
    q = robot.random_configuration(seed=3, size=8)
    if not robot.nv:
        with pytest.raises(ValueError, match="no joint"):
            robot.inverse_kinematics(np.eye(4), frame)
        return
    solution = robot.inverse_kinematics(
        robot.pose(q, frame), frame, position_tolerance=1e-7, orientation_tolerance=1e-7
    )
    assert solution.success.all()
    assert left(robot, solution.q, frame, robot.pose(q, frame)).max() <= 1.01e-7
    assert np.abs(robot.normalize(solution.q) - solution.q).max() <= 1e-12


def test_ik_reaches_poses_relative_to_a_moving_frame():
    X = targets(ARM, "hand", 20, relative_to="forearm_distal")
    solution = ARM.inverse_kinematics(X, "hand", relative_to="forearm_distal")
    assert solution.success.all() and left(ARM, solution.q, "hand", X, "forearm_distal").max() <= 1.01 * TOLERANCE


def test_infinite_orientation_tolerance_of_ik_frees_an_axis():
    """Free rotation about the target's z axis."""
    X = targets(ARM, "hand", 50, seed=5)
    free = ARM.inverse_kinematics(
        X, "hand", position_tolerance=1e-7, orientation_tolerance=[1e-7, 1e-7, np.inf], axes="target"
    )
    R = np.swapaxes(X[:, :3, :3], 1, 2) @ ARM.pose(free.q, "hand")[:, :3, :3]
    assert free.success.all()
    assert np.abs(R[:, 2, 2] - 1.0).max() <= 1e-12 and np.abs(R[:, 0, 0] - 1.0).max() > 1e-3
    assert np.abs(ARM.pose(free.q, "hand")[:, :3, 3] - X[:, :3, 3]).max() <= 2e-7


def test_ik_keeps_locked_joints_and_applies_custom_limits():
    name = ARM.joints[2].name
    X = targets(ARM, "hand", 20, seed=7)
    seed = ARM.random_configuration(seed=7, size=20)  # at which the targets were made: so they can be reached
    solution = ARM.inverse_kinematics(X, "hand", q_init=seed + 0.0, locked=[name])
    assert (
        np.array_equal(solution.q[:, ARM.joints[2].q_slice], seed[:, ARM.joints[2].q_slice]) and solution.success.all()
    )
    low, high = seed.min(axis=0) - 0.05, seed.max(axis=0) + 0.05
    tight = ARM.inverse_kinematics(X, "hand", position_limits=(low, high))
    assert tight.success.all() and (tight.q >= low).all() and (tight.q <= high).all()


def test_ik_seed_that_solves_the_problem_is_returned():
    q = ARM.random_configuration(seed=9)
    solution = ARM.inverse_kinematics(ARM.pose(q, "hand"), "hand", q_init=q)
    assert np.array_equal(solution.q, q) and solution.iterations == 1 and solution.restarts == 0


def test_ik_of_unreachable_poses_ends_without_success_within_limits():
    X = lw.pose((50.0, 0.0, 0.0))
    solution = ARM.inverse_kinematics(X, "hand", max_iterations=300)
    assert solution.success is False and solution.position_error > 40.0 and solution.iterations <= 300
    assert np.isfinite(solution.q).all() and (solution.q >= ARM.lower).all() and (solution.q <= ARM.upper).all()
    late = ARM.inverse_kinematics(X, "hand", time_limit=0.0)
    assert not late.success and late.iterations < 3000


def test_ik_solution_meets_several_tasks_of_one_problem():
    problem = ARM.ik_problem([lw.ik.PositionTask("hand"), lw.ik.OrientationTask("forearm_distal", axes="reference")])
    q = ARM.random_configuration(seed=2, size=30)
    position, R = ARM.pose(q, "hand")[:, :3, 3], ARM.pose(q, "forearm_distal")[:, :3, :3]
    solution = problem.solve(hand=position, forearm_distal=R)
    assert solution.success.all()
    assert np.abs(ARM.pose(solution.q, "hand")[:, :3, 3] - position).max() <= 2e-6
    assert np.abs(ARM.pose(solution.q, "forearm_distal")[:, :3, :3] - R).max() <= 2e-6


@pytest.mark.slow(every=9)
def test_ik_failures_of_robots_with_few_joints_name_the_remedy():
    """Failed searches without locked joints, and proofs that the orientation is impossible."""
    robot = lw.Robot(random_tree(np.random.default_rng(0), 4, types=[lw.joints.Revolute], shape="chain"))
    q = np.random.default_rng(0).uniform(-2.0, 2.0, 4)
    target = lw.pose((0.0, 0.0, 0.05)) @ robot.pose(q, "body3")
    remedy = "orientation_tolerance=np.inf leaves its orientation free"
    solution = robot.inverse_kinematics(target, "body3")
    assert (
        solution.status == "not_found"
        and f"'body3' has nv = 4 < 6 components of its pose: {remedy}" in solution.message
    )
    assert "max_iterations" in solution.explain()
    assert robot.inverse_kinematics(target, "body3", orientation_tolerance=np.inf).success
    locked = robot.inverse_kinematics(target, "body3", q_init=q, locked=["joint1"]).message
    assert "nv = 3 < 6" in locked
    pendulum = lw.load("double_pendulum")
    across = pendulum.inverse_kinematics(pendulum.pose([0.3, 0.4], "tip") @ np.diag([-1.0, -1.0, 1.0, 1.0]), "tip")
    assert across.status == "out_of_reach" and "'tip' has nv = 2 < 6" in across.message


def test_invalid_arguments_of_inverse_kinematics_are_refused():
    X = targets(ARM, "hand", 2)
    mirrored, late = X[0].copy(), np.full((4, 4), np.nan)
    mirrored[:3, 0] *= -1.0
    for call, error, text in (
        (lambda: ARM.inverse_kinematics(X, "hadn"), UnknownNameError, "did you mean 'hand'"),
        (lambda: ARM.inverse_kinematics(X[:, :3], "hand"), ValueError, "4, 4"),
        (lambda: ARM.inverse_kinematics(mirrored, "hand"), ValueError, "expected a pose, a matrix of shape"),
        (lambda: ARM.inverse_kinematics(late, "hand"), ValueError, "got nan at"),
        (lambda: ARM.inverse_kinematics(2.0 * np.eye(4), "hand"), ValueError, r"matrix of shape \(4, 4\) with a rota"),
        (lambda: ARM.inverse_kinematics(X, "hand", q_init=np.zeros(3)), ValueError, "q_init: expected an array of"),
        (lambda: ARM.inverse_kinematics(X, "hand", position_tolerance=-1.0), ValueError, "position_tolerance"),
        (lambda: ARM.inverse_kinematics(X, "hand", orientation_tolerance=[1.0, 2.0]), ValueError, "or three"),
        (lambda: ARM.inverse_kinematics(X, "hand", relative_to="hand"), ValueError, "no joint"),
        (
            lambda: ARM.inverse_kinematics(X, "hand", position_limits=(np.ones(7), -np.ones(7))),
            ValueError,
            "empty range",
        ),
        (lambda: ARM.inverse_kinematics(X, "hand", position_limits=(-1.0, np.nan)), ValueError, "expected no NaN"),
        (lambda: ARM.inverse_kinematics(X, "hand", locked=["elbow9"]), UnknownNameError, "no joint named 'elbow9'"),
        (lambda: ARM.inverse_kinematics(X, "hand", time_limit=1.0), ValueError, "one state"),
        (lambda: ARM.inverse_kinematics(X, "hand", axes="tools"), ValueError, "axes: expected 'frame', 'target'"),
        (lambda: ARM.ik_problem([]), ValueError, "expected at least one task"),
        (lambda: ARM.ik_problem([lw.ik.PoseTask("hand")] * 2), ValueError, "distinct names"),
        (lambda: ARM.ik_problem(lw.ik.PoseTask("hand")).solve(), ValueError, "has no target"),
        (lambda: ARM.ik_problem(lw.ik.PoseTask("hand")).solve(hnad=X), UnknownNameError, "did you mean"),
        *(
            (
                lambda call=call, name=name: getattr(ARM.ik_problem(lw.ik.PoseTask("hand")), call)(hand=X, **{name: 1}),
                UnknownNameError,
                rf"IKProblem.{call}: no \w+ named '{name}'; it is an option of Robot.ik_problem: .*tasks, {name}=",
            )
            for call in ("solve", "follow")
            for name in list(inspect.signature(ARM.ik_problem).parameters)[1:]
        ),
        (lambda: lw.ik.PoseTask("hand", weight=-1.0), ValueError, "weight: expected a number"),
    ):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.slow(every=9)
def test_ik_target_position_leaves_the_orientation_free():
    positions = targets(ARM, "hand", 20, seed=8)[:, :3, 3]
    solution = ARM.inverse_kinematics(positions, "hand")
    assert solution.success.all() and solution.orientation_error.max() == 0.0
    assert np.abs(ARM.pose(solution.q, "hand")[:, :3, 3] - positions).max() < 1e-5
    singles = [ARM.inverse_kinematics(positions[0].tolist(), "hand", orientation_tolerance=x) for x in (1e-6, np.inf)]
    assert all(np.abs(ARM.pose(each.q, "hand")[:3, 3] - positions[0]).max() < 1e-5 for each in singles)
    assert ARM.inverse_kinematics(positions[1], "hand").problem is singles[0].problem  # built once
    pose = lw.pose(positions[0])
    assert ARM.inverse_kinematics(pose, "hand").problem is not singles[0].problem
    flat = [ARM.inverse_kinematics(x, "hand", position_tolerance=(1e-6, 1e-6, np.inf)) for x in (pose, positions[0])]
    assert [each.success for each in flat] == [True, True] and flat[1].orientation_error == 0.0
    near = ARM.inverse_kinematics(positions[0], "hand", posture=ARM.neutral())
    assert near.feasible and np.abs(ARM.pose(near.q, "hand")[:3, 3] - positions[0]).max() < 1e-5


def test_error_of_a_missing_ik_target_names_only_the_target_argument():
    problem = ARM.ik_problem([lw.ik.PoseTask("hand")])
    said = r"task 'hand' has no target; pass hand=<array of shape \(4, 4\)>, the pose of 'hand' in 'world'$"
    with pytest.raises(ValueError, match=f"^IKProblem.solve: {said}"):
        problem.solve(ARM.neutral())
    with pytest.raises(ValueError, match=f"^IKProblem.velocity: {said}"):
        problem.velocity(ARM.neutral(), 0.01)
    with pytest.raises(ValueError, match=f"^DifferentialIK.velocity: {said}"):
        problem.differential(0.01).velocity(ARM.neutral())
    with pytest.raises(
        ValueError, match=r"^IKProblem.solve: hand: expected poses of shape \(\.\.\., 4, 4\), got shape"
    ):
        problem.solve(hand=[1.0, 2.0, 3.0])


def test_repeated_ik_calls_share_one_compiled_problem():
    robot, frame = lw.load("arm6"), "tool"
    X = robot.pose(robot.random_configuration(seed=0), frame)
    for tolerance in (1e-6, 1e-5, 1e-3):
        results = [
            robot.inverse_kinematics(X, frame, position_tolerance=tolerance, orientation_tolerance=tolerance)
            for _ in range(2)
        ]
        assert results[0].problem is results[1].problem and (results[0].q == results[1].q).all()
        assert results[0].problem.kernel is robot.inverse_kinematics(X, frame).problem.kernel
        assert results[0].iterations <= robot.inverse_kinematics(X, frame).iterations
    loose = robot.inverse_kinematics(X, frame, position_tolerance=0.5, orientation_tolerance=0.5)
    assert loose.success and loose.orientation_error > 1e-3  # its own tolerance, not another call's
    with pytest.raises(ValueError, match="tolerance"):
        robot.inverse_kinematics(X, frame, position_tolerance=float("nan"))


def test_ik_problems_and_results_are_pickled_without_machine_code():
    problem = ARM.ik_problem(lw.ik.PoseTask("hand"))
    X = targets(ARM, "hand", 3, seed=4)
    X[2, :3, 3] *= 10.0
    solution = problem.solve(hand=X)
    for again in (pickle.loads(pickle.dumps(solution)), copy.deepcopy(solution)):
        assert np.array_equal(again.q, solution.q) and again.status.tolist() == solution.status.tolist()
        assert again.explain(2) == solution.explain(2)
        assert np.array_equal(again.problem.solve(hand=X).q, solution.q)


def test_invalid_time_limits_of_ik_are_refused():
    for deadline in (-1.0, np.nan, "soon"):
        with pytest.raises(ValueError, match="time_limit"):
            ARM.inverse_kinematics(targets(ARM, "hand", 1)[0], "hand", time_limit=deadline)


def test_ik_targets_that_are_not_finite_are_refused():
    X, near = targets(ARM, "hand", 2), np.zeros(7)
    for position in ((0, 3), (1, 1)):
        for number in (np.nan, np.inf):
            for poses in (X[0].copy(), X.copy()):
                poses[..., *position] = number
                for options in ({}, {"nearest_to": near}, {"q_init": near}):
                    with pytest.raises(ValueError, match="X_target"):
                        ARM.inverse_kinematics(poses, "hand", **options)
    for target, how, error, text in (
        ([0.3, 0.1, 0.4], {"orientation_tolerance": 0.1}, ValueError, "orientation_tolerance: .* got a position"),
        (np.eye(3), {}, ValueError, "X_target: .* got rotation matrices; ik.OrientationTask"),
        ([np.nan, 0.0, 0.0], {}, ValueError, "X_target: expected positions"),
        (
            [0.9, 0.6],
            {},
            ValueError,
            r"X_target: .* or positions .* got shape \(2,\); the third coordinate of a position may be 0",
        ),
        (np.eye(5), {}, ValueError, r"X_target: expected poses of shape .* or positions .*, got shape \(5, 5\)$"),
        (lw.ik.PositionTask("hand"), {}, TypeError, "X_target: .* got PositionTask; use robot.ik_problem"),
        ([lw.ik.PositionTask("hand")], {}, TypeError, "X_target: .* got PositionTask; use robot.ik_problem"),
    ):
        with pytest.raises(error, match=f"^inverse_kinematics: {text}"):
            ARM.inverse_kinematics(target, "hand", **how)


def test_ik_results_do_not_change_if_the_caller_changes_the_target_array():
    ARM.inverse_kinematics(targets(ARM, "hand", 1)[0], "hand")  # from now on the short way is taken
    X = lw.pose((1.5, 0.0, 0.9))
    solution, again = ARM.inverse_kinematics(X, "hand"), ARM.inverse_kinematics(X.copy(), "hand")
    X[:] = targets(ARM, "hand", 1)[0]
    assert solution.status == again.status == "out_of_reach" and solution.explain() == again.explain()


@pytest.mark.slow(every=5)
def test_invalid_ik_seeds_are_refused_in_every_call():
    """Seeds off their manifold, and locked joints beyond limits."""
    robot = robot_of(TREES["floating_chain"])
    frame = max(robot.tree.frames, key=lambda frame: frame.body).name
    q = robot.random_configuration(seed=1)
    for _ in range(2):
        assert robot.inverse_kinematics(robot.pose(q, frame), frame, q_init=q).success
        for wrong in (2.0 * q, 0.0 * q):
            with pytest.raises(ValueError, match="q_init"):
                robot.inverse_kinematics(robot.pose(q, frame), frame, q_init=wrong)
    turned = ARM.random_configuration(seed=2)
    X = ARM.pose(turned, "hand")
    turned[0] += 2.0 * np.pi
    with pytest.raises(ValueError, match="locked: expected q_init"):
        ARM.inverse_kinematics(X, "hand", q_init=turned, locked=[ARM.joints[0].name])
    assert ARM.inverse_kinematics(X, "hand", q_init=turned, locked=[ARM.joints[0].name], position_limits=False).success


@pytest.mark.slow(every=5)
def test_joint_tasks_of_ik_accept_scalar_targets():
    problem = ARM.ik_problem(lw.ik.JointTask("elbow", weight=1.0))
    q = np.array(ARM.neutral())
    v = problem.velocity(q, 0.01, elbow=-0.001).v
    assert v[3] < 0.0 and np.abs(np.delete(v, 3)).max() <= 1e-9
    apart = ARM.ik_problem([lw.ik.JointTask("elbow"), lw.ik.JointTask("elbow", name="other")])
    assert apart.solve(elbow=-1.0, other=-1.5).status == "infeasible"


@pytest.mark.slow(every=5)
def test_ik_options_are_passed_to_the_solver_or_refused():
    problem = ARM.ik_problem(lw.ik.PoseTask("hand", axes="target"))
    X = targets(ARM, "hand", 1)[0]
    free = [1e-6, 1e-6, np.inf, 1e-6, 1e-6, 1e-6]
    assert problem.solve(hand=X, tolerance=free, num_solutions=3).q.shape == (3, 7)
    low, high = np.full(7, -0.001), np.full(7, 0.001)
    tight = ARM.ik_problem(
        lw.ik.PoseTask("hand", weight=1.0), position_limits=(ARM.neutral() + low, ARM.neutral() + high)
    )
    step = tight.differential(1.0, motion_limits={"velocity": 1.0}, locked=["elbow"])
    v = step.velocity(ARM.neutral(), hand=X).v
    assert np.abs(v).max() <= 0.001 + 1e-12 and v[3] == 0.0
    for option in ({"num_solutions": 2}, {"time_limit": 1.0}, {"posture": ARM.neutral()}):
        with pytest.raises(ValueError, match="compiled"):
            lw.compile(lambda X: ARM.inverse_kinematics(X, "hand", **option).q, X=(4, 4))  # noqa: B023


@pytest.mark.slow(every=5)
def test_joints_that_move_no_frame_of_the_tasks_keep_their_positions_in_all_starts():
    robot = lw.load("humanoid")
    q, q_init = robot.random_configuration(seed=1, size=40), robot.random_configuration(seed=2, size=40)
    for frame, relative_to in (("left_hand", "pelvis"), ("left_hand", "right_hand")):
        J = robot.jacobian(q, frame, relative_to=relative_to)
        idle = ~np.abs(J).any(axis=(0, 1))
        result = robot.inverse_kinematics(
            robot.pose(q, frame, relative_to=relative_to), frame, relative_to=relative_to, q_init=q_init
        )
        assert result.success.mean() > 0.9 and result.restarts.max() > 0 and 5 < idle.sum() < robot.nv
        assert np.abs(robot.difference(q_init, result.q)[:, idle]).max() < 1e-12
    several = robot.inverse_kinematics(
        robot.pose(q[0], "left_hand", relative_to="pelvis"),
        "left_hand",
        relative_to="pelvis",
        q_init=q_init[0],
        num_solutions=4,
    )
    assert len(several.q) > 1
    J = robot.jacobian(q[0], "left_hand", relative_to="pelvis")
    assert np.abs(robot.difference(q_init[0], several.q)[:, ~np.abs(J).any(axis=0)]).max() < 1e-12
