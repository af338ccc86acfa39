"""Tasks: rows are the derivative of errors in the tangent space, for all joint types; solutions satisfy them."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork import ik
from linkwork.errors import UnknownNameError
from linkwork.ik.algorithms.task_stack import Stack, TaskState
from linkwork.ik.arguments import check_tasks
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from oracles.trees import TREES, robot_of

TREE_NAMES = ("mixed_0", "mixed_1", "mixed_chain", "coupled_0", "rerooted_coupled")


def on(robot, *tasks):
    """Tasks as they are of a robot."""
    return check_tasks("test", robot, tasks)


def rows_of(robot, task, q, target):
    result = task.rows(TaskState(robot.tree, list(q)), list(np.ravel(target)))
    return np.array(result.errors, dtype=float), np.array(result.rows, dtype=float)


def rate_by_differences(robot, task, q, target, v, step=1e-6):
    """Return the rate of errors along a velocity."""
    ends = (integrate(robot.tree, q, x * v) for x in (step, -step))
    after, before = (task.errors(TaskState(robot.tree, list(end)), list(np.ravel(target))) for end in ends)
    return (np.array(after, dtype=float) - np.array(before, dtype=float)) / (2.0 * step)


def assert_rows(robot, task, q, target, size=1e-7):
    """Rows as differences of errors, and as the project's own derivatives of them."""
    errors, rows = rows_of(robot, task, q, target)
    assert errors.shape == (len(task.component_names),) and rows.shape == (len(task.component_names), robot.nv)
    scale = 1.0 + np.abs(rows).max(initial=0.0) + np.abs(errors).max(initial=0.0)
    v = np.random.default_rng(0).normal(size=robot.nv)
    rate = rate_by_differences(robot, task, q, target, v)
    assert np.abs(rows @ v - rate).max(initial=0.0) <= size * scale * np.linalg.norm(v), task
    values = list(np.ravel(target))
    derived = TaskState(robot.tree, list(q)).derived(lambda k: task.errors(k, values))
    assert np.abs(np.array(derived.errors, dtype=float) - errors).max(initial=0.0) <= 1e-12 * scale
    assert np.abs(np.array(derived.rows, dtype=float) - rows).max(initial=0.0) <= 1e-10 * scale, task


def last(robot):
    return max(robot.tree.frames, key=lambda frame: frame.body).name


def moves_along(robot, frame):
    return np.abs(robot.jacobian(robot.random_configuration(seed=0), frame)[3:]).max(initial=0.0) > 1e-6


@pytest.mark.parametrize("name", TREE_NAMES)
def test_jacobians_of_ik_tasks_are_derivatives_of_their_errors(name, drawn):
    robot = robot_of(TREES[name])
    q, q1 = robot.random_configuration(seed=1, size=2)
    hand = last(robot)
    joint = next(body.joint_name for body in robot.tree.bodies if body.joint.nv)
    base = min((f for f in robot.tree.frames if f.body >= 0), key=lambda frame: frame.body).name
    robot = robot.with_point("tip", hand, (0.1, -0.2, 0.3)).with_direction("way", hand, (0.6, 0.0, 0.8))
    X, position = robot.pose(q1, hand), [0.1, -0.2, 0.3]
    single = robot.joint(joint).nq
    free = (1.0, 1.0, np.inf, 1.0, 1.0, np.inf)
    square = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    tasks = [
        (ik.PoseTask(hand, axes="target"), X),
        (ik.PoseTask(hand, axes="reference"), X),
        (ik.PoseTask(hand, axes=base), X),
        (ik.PoseTask(hand, axes=hand), X),
        (ik.PoseTask(hand, tolerance=free), X),
        (ik.PositionTask("tip", axes="reference"), position),
        (ik.PositionTask("tip", tolerance=free[:3]), position),
        (ik.OrientationTask(hand, weight=(1.0, 2.0, 1.0)), X[:3, :3]),
        (ik.AlignTask("way", cone=0.2), [0.3, 0.2, -0.4]),
        (ik.AlignTask("way", to="world.y", cone=0.2), []),
        (ik.LookAtTask("way", cone=0.2), [2.0, 3.0, -4.0]),
        (ik.BoxTask("tip", -1.0, 1.0), []),
        (ik.DistanceTask("tip", "world"), 0.3),
        (ik.SupportPolygonTask(square), []),
        (ik.SupportPolygonTask(["tip", "world", base], relative_to="world"), []),
        (ik.ManipulabilityTask(hand, part="position") if moves_along(robot, hand) else ik.BoxTask("tip"), 0.5),
        (ik.FunctionTask("mine", lambda k, t: k.point("tip") - t * k.center_of_mass()[0], shape=(3,)), position),
        (ik.CenterOfMassTask(), position),
        (ik.CenterOfMassTask(relative_to=hand), position),
        (ik.PostureTask(), q1),
        (ik.PostureTask([robot.tree.bodies[next(i for i, b in robot.tree.stacked() if b.joint.nv)].joint_name]), q1),
        (ik.JointTask(joint), q1[robot.tree.q_slices[robot.tree.joint_index(joint)]][:single]),
    ]
    for task, target in drawn(tasks):
        (settled,) = on(robot, task)
        assert_rows(robot, settled, q, target)


def test_posture_tasks_of_ik_use_the_tangent_space():
    robot = robot_of(TREES["mixed_0"])
    q, q1 = robot.random_configuration(seed=5, size=2)
    (task,) = on(robot, ik.PostureTask(weight=2.0))
    errors, _ = rows_of(robot, task, q, q1)
    assert np.abs(errors - robot.difference(q1, q)).max() <= 1e-12
    assert task.weights == (2.0,) * robot.nv and len(task.row_units) == robot.nv
    solution = robot.ik_problem(ik.PostureTask()).solve(posture=q1)
    assert solution.success and np.abs(robot.difference(solution.q, q1)).max() <= 1e-6
    assert np.abs(robot.normalize(solution.q) - solution.q).max() <= 1e-12


def test_weights_of_posture_tasks_apply_by_joint():
    robot = lw.load("arm7")
    (task,) = on(robot, ik.PostureTask({robot.joints[2].name: 3.0, robot.joints[0].name: 1.0}, weight=2.0))
    assert task.weights == (2.0, 6.0) and [name.split(": ")[1] for name in task.component_names] == [
        robot.joints[0].name,
        robot.joints[2].name,
    ]  # in the robot's order
    problem = robot.ik_problem([ik.PositionTask("hand"), ik.JointTask(robot.joints[3].name, name="elbow")])
    q = robot.random_configuration(seed=0, size=5)
    solution = problem.solve(hand=robot.pose(q, "hand")[:, :3, 3], elbow=q[:, 3])
    assert solution.success.all() and np.abs(solution.q[:, 3] - q[:, 3]).max() <= 1e-6


def test_ik_moves_the_center_of_mass_of_a_floating_robot_to_its_target():
    """Four feet stay on the ground."""
    robot = lw.load("quadruped", floating_base=True)
    feet = [name for name in robot.frames if name.endswith("foot")]
    q = robot.neutral()
    target = robot.center_of_mass(q) + np.array([0.02, 0.03, -0.04])
    problem = robot.ik_problem([*(ik.PositionTask(foot) for foot in feet), ik.CenterOfMassTask()])
    aims = {foot: robot.pose(q, foot)[:3, 3] for foot in feet}
    solution = problem.solve(q_init=q, **aims, center_of_mass=target)
    assert solution.success and len(feet) == 4
    assert np.abs(robot.center_of_mass(solution.q) - target).max() <= 1e-6
    for foot in feet:
        assert np.linalg.norm(robot.pose(solution.q, foot)[:3, 3] - aims[foot]) <= 1e-6
    assert np.abs(robot.normalize(solution.q) - solution.q).max() <= 1e-12


def test_center_of_mass_task_may_leave_a_coordinate_free():
    robot = lw.load("arm7")
    c = robot.center_of_mass(robot.random_configuration(seed=3))
    solution = robot.ik_problem(ik.CenterOfMassTask(tolerance=(1e-7, 1e-7, np.inf))).solve(
        center_of_mass=c * [1, 1, 50]
    )
    assert solution.success and np.abs(robot.center_of_mass(solution.q) - c)[:2].max() <= 1e-7


def test_ik_tasks_can_be_compared_by_value_and_pickled():
    pose = np.eye(4)
    for task, same in (
        (ik.PoseTask("hand", target=pose), ik.PoseTask("hand", target=pose.copy())),
        (ik.PostureTask({"a": 2.0}, weight=1), ik.PostureTask({"a": 2}, weight=1.0)),
        (
            ik.Within(lw.constraints.Distance("a", "b", 1.0), 0.0, 1.0),
            ik.Within(lw.constraints.Distance("a", "b", 1.0), 0, 1),
        ),
        (
            ik.Soft(lw.constraints.Distance("a", "b", 1.0), 3.0),
            ik.Soft(ik.ConstraintTask(lw.constraints.Distance("a", "b", 1.0)), 3.0),
        ),
        (ik.CenterOfMassTask(target=[0.0, 0.0, 1.0]), ik.CenterOfMassTask(target=np.array([0.0, 0.0, 1.0]))),
        (ik.BoxTask("hand", [0, 0, 0], 1), ik.BoxTask("hand", np.zeros(3), 1.0)),
        (ik.AlignTask("hand.z", cone=1), ik.AlignTask("hand.z", cone=np.float64(1.0))),
        (ik.LookAtTask("hand.z", point="foot"), ik.LookAtTask("hand.z", point="foot")),
        (ik.SupportPolygonTask([(0, 0), (0, 1), (1, 0)]), ik.SupportPolygonTask(np.array([[1, 0], [0, 1], [0, 0]]))),
        (ik.FunctionTask("f", abs), ik.FunctionTask("f", abs)),
        (ik.JointTask("elbow", target=1), ik.JointTask("elbow", target=np.float64(1.0))),
    ):
        assert task == same and hash(task) == hash(same) and task != replace(same, name="other")
        assert pickle.loads(pickle.dumps(task)) == task and type(task).__name__ in repr(task)


def test_invalid_arguments_of_ik_tasks_are_refused():
    arm = lw.load("arm7")
    distance = ik.DistanceTask("hand", "base", name="far")
    far = arm.ik_problem(distance)
    robot = robot_of(TREES["coupled_0"])
    follower = next(b.joint_name for b in robot.tree.bodies if b.coupling is not None)
    for call, error, text in (
        (lambda: arm.ik_problem(ik.PostureTask(["elbw"])), UnknownNameError, "no joint named 'elbw'"),
        (lambda: robot.ik_problem(ik.PostureTask([follower])), ValueError, "coupled to"),
        (lambda: ik.PostureTask({"elbow": -1.0}), ValueError, "positive factor"),
        (lambda: ik.PostureTask([]), ValueError, "at least one joint"),
        (lambda: ik.PostureTask(3), TypeError, "expected names, or a dict of positive factors"),
        (lambda: arm.ik_problem(ik.JointTask("elbw")), UnknownNameError, "no joint named 'elbw'"),
        (lambda: ik.JointTask(3), TypeError, "expected the name of a joint"),
        (lambda: arm.ik_problem(ik.CenterOfMassTask(relative_to="hnad")), UnknownNameError, "did you mean 'hand'"),
        (lambda: ik.CenterOfMassTask(target=[0.0, np.nan, 1.0]), ValueError, "expected finite numbers"),
        (lambda: ik.CenterOfMassTask(weight=(1.0, 2.0)), ValueError, "3 errors"),
        (lambda: ik.Within(ik.PositionTask("hand"), 1.0, 0.0), ValueError, "nonempty range"),
        (lambda: ik.Within(ik.PositionTask("hand"), np.nan, 0.0), ValueError, "lower: expected a number, or one per"),
        (lambda: ik.Within(ik.PositionTask("hand"), [0.0, 0.0]), ValueError, "3 errors"),
        (lambda: ik.Within("hand", 0.0), TypeError, "expected a task"),
        (lambda: ik.Soft(ik.PositionTask("hand"), -1.0), ValueError, "weight: expected a number"),
        (lambda: ik.Soft(ik.PositionTask("hand"), None), ValueError, "weight: expected a number"),
        (lambda: ik.BoxTask("hand", [0.0, 0.0, 1.0], 0.5), ValueError, "nonempty range"),
        (lambda: ik.BoxTask("hand", [0.0, 0.0]), ValueError, "3 errors"),
        (lambda: arm.ik_problem(ik.BoxTask("hnad")), UnknownNameError, "no frame or point named 'hnad'"),
        (lambda: arm.ik_problem(ik.BoxTask("base")), ValueError, "no joint"),
        (lambda: arm.ik_problem(ik.PoseTask("hand", axes="hnad")), ValueError, "task 'hand': axes: expected 'frame'"),
        (lambda: ik.PositionTask("hand", axes="target"), ValueError, "axes: expected 'frame', 'reference' or a"),
        (lambda: arm.ik_problem(ik.AlignTask("hand")), UnknownNameError, "hand.x"),
        (lambda: arm.ik_problem(ik.AlignTask("hand.z")).solve(**{"hand.z": [0.0] * 3}), ValueError, "zero vector"),
        (lambda: arm.ik_problem(ik.AlignTask("hand.z", to="hand.x")), ValueError, "one body"),
        (lambda: ik.AlignTask("hand.z", cone=4.0), ValueError, "cone: expected an angle between 0 and"),
        (lambda: ik.LookAtTask("hand.z", cone="wide"), ValueError, "cone: expected an angle between 0 and"),
        (lambda: arm.ik_problem(ik.LookAtTask("hand.z", point="hand")), ValueError, "one body"),
        (lambda: arm.ik_problem(ik.DistanceTask("hand", "hand")), ValueError, "it is between 'hand' and itself"),
        (lambda: far.solve(far=-0.1), ValueError, "far: expected lengths .*, got -0.1"),
        (lambda: far.solve(far=[0.4, -0.2]), ValueError, "got -0.2"),
        (lambda: arm.ik_problem(replace(distance, target=-1.0)).solve(), ValueError, "got -1.0"),
        (lambda: arm.ik_problem(ik.Soft(replace(distance, target=-1.0), 1.0)).solve(), ValueError, "got -1.0"),
        (lambda: arm.velocity_for(distance, arm.neutral(), 0.01, far=-0.1), ValueError, "got -0.1"),
        (lambda: far.follow(far=[0.4, -0.2]), ValueError, "got -0.2"),
        (lambda: ik.SupportPolygonTask([(0, 0), (1, 0)]), ValueError, "expected at least three"),
        (lambda: ik.SupportPolygonTask([(0, 0), (1, 0), (2, 0)]), ValueError, "nonzero area"),
        (lambda: ik.SupportPolygonTask([(0, 0), (1, 1), (1, 0), (0, 1)]), ValueError, "with vertices in order"),
        (lambda: ik.SupportPolygonTask([(0, 0), (1, 0), (1, 0), (0, 1)]), ValueError, "distinct vertices"),
        (lambda: ik.SupportPolygonTask([(0, 0), (4, 0), (1, 1), (0, 4)]), ValueError, "expected a convex polygon"),
        (lambda: ik.SupportPolygonTask([(0, 0), (1, 0), (0, np.nan)]), ValueError, "vertices: expected positions"),
        (lambda: ik.SupportPolygonTask(["a", "b", "a"]), ValueError, "no duplicates"),
        (lambda: ik.SupportPolygonTask("abc"), TypeError, "or names, got 'abc'"),
        (lambda: arm.ik_problem(ik.ManipulabilityTask("hand", target=-1.0)).solve(), ValueError, "positive numbers"),
        (lambda: ik.ManipulabilityTask("hand", part="some"), ValueError, "part: expected one of all, position"),
        (lambda: arm.ik_problem(ik.FunctionTask("f", lambda k: 3.0)), ValueError, "function of the configuration"),
        (lambda: arm.ik_problem(ik.FunctionTask("f", lambda k: k.q("elbw"))), UnknownNameError, "no joint named 'elbw"),
        (lambda: arm.ik_problem(ik.FunctionTask("f", lambda k: k.q()[9])), ValueError, "IndexError: index 9 is out"),
        (lambda: arm.ik_problem(ik.FunctionTask("f", lambda k: k.q(), units=("m", "m"))), ValueError, "7 components"),
        (lambda: ik.FunctionTask("f", 3), TypeError, "expected a function"),
        (lambda: ik.FunctionTask("f", abs, units="km"), ValueError, "units: expected"),
        (lambda: ik.FunctionTask("f", abs, shape=(0,)), ValueError, "shape: expected an integer, or several"),
        (lambda: pickle.dumps(ik.FunctionTask("f", lambda k: k.q())), pickle.PicklingError, "task 'f'"),
        (lambda: ik.ConstraintTask("loop"), TypeError, "constraint: expected a linkwork"),
        (lambda: arm.ik_problem(ik.ConstraintTask(lw.constraints.KnifeEdge("hand"))), ValueError, "velocity task"),
        (lambda: arm.ik_problem(ik.JointVelocityTask("elbow")), ValueError, "velocity task"),
        (lambda: ik.Within(ik.JointVelocityTask("elbow"), 0.0), ValueError, "velocity task"),
        (lambda: ik.JointVelocityTask(3), TypeError, "expected the name of a joint"),
        (lambda: arm.velocity_for(ik.JointVelocityTask("elbw"), arm.neutral(), 0.01), UnknownNameError, "elbow"),
        (lambda: arm.ik_problem(ik.PoseTask("hand"), num_starts=0), ValueError, "num_starts: expected None or an"),
        (lambda: arm.ik_problem(["hand"]), TypeError, "expected a task"),
        (lambda: arm.ik_problem(ik.CenterOfMassTask()).solve(center_of_mass=[0.0, 1.0]), ValueError, "shape"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_joints_that_change_no_error_of_a_task_are_those_with_zero_columns():
    """They are the joints with zeros in the Jacobian in several configurations."""
    robot = lw.load("humanoid")
    gap = ik.DistanceTask("left_hand", "right_hand", name="gap")
    height = lw.constraints.Distance("left_hand", "left_foot", 0.8)
    examples = (
        (ik.AlignTask("left_forearm.x", relative_to="pelvis"), (0.0, 0.6, 0.8)),
        (ik.LookAtTask("left_forearm.x", point="right_hand"), ()),
        (ik.BoxTask("left_foot", lower=-0.1, upper=0.1, relative_to="torso"), ()),
        (gap, 0.3),
        (ik.Within(gap, -0.1, 0.1), 0.3),
        (ik.JointTask("left_elbow"), 0.2),
        (ik.PostureTask(("left_elbow", "right_knee")), robot.neutral()),
        (ik.ConstraintTask(height), ()),
    )
    for example, target in examples:
        (task,) = on(robot, example)
        idle = Stack(robot.tree, (task,), ((),), (), ()).idle_dofs
        columns = [rows_of(robot, task, robot.random_configuration(seed=k), target)[1] for k in range(3)]
        zeros = ~np.abs(np.concatenate(columns)).any(axis=0)
        assert idle == {*np.flatnonzero(zeros)} and 5 < len(idle) < robot.nv, example
    (com,) = on(robot, ik.CenterOfMassTask())
    assert not Stack(robot.tree, (task, com), ((), ()), (), ()).idle_dofs


def test_other_starts_keep_joints_that_change_no_error():
    robot = lw.load("arm7_gripper")
    problem = robot.ik_problem([ik.AlignTask("hand.x", name="a"), ik.BoxTask("hand", lower=(0.3, 0.1, 0.1), upper=0.5)])
    q = robot.random_configuration(seed=1, size=40)
    result = problem.solve(q, a=np.array([0.0, 0.6, 0.8]))
    moved = np.abs(robot.difference(q, result.q)).max(axis=0)
    assert result.restarts.max() > 0 and moved[:7].min() > 0.1 and moved[7:].max() < 1e-12


@pytest.mark.light
@pytest.mark.parametrize("axes", ["frame", "target", "reference", "wrist", "hand", "upper_arm_distal"])
def test_errors_of_pose_tasks_are_in_the_axes_of_the_task(axes):
    """Rotation vector and translation from the target to the frame, both relative to a moving frame."""
    robot = lw.load("arm7")
    q, q1 = robot.random_configuration(seed=3, size=2)
    A, B, C = (robot.pose(q, name) for name in ("upper_arm_distal", "hand", "wrist"))
    X, X_T = np.linalg.inv(A) @ B, np.linalg.inv(robot.pose(q1, "upper_arm_distal")) @ robot.pose(q1, "hand")
    (task,) = on(robot, ik.PoseTask("hand", relative_to="upper_arm_distal", axes=axes))
    errors, _ = rows_of(robot, task, q, X_T)
    R = {"frame": X, "hand": X, "target": X_T, "wrist": np.linalg.inv(A) @ C}.get(axes, np.eye(4))[:3, :3]
    turn = X_T[:3, :3] @ Rotation.from_matrix(X_T[:3, :3].T @ X[:3, :3]).as_rotvec()
    np.testing.assert_allclose(errors, [*(R.T @ turn), *(R.T @ (X[:3, 3] - X_T[:3, 3]))], rtol=0, atol=1e-12)
