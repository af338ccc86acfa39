"""Arguments, targets and small decisions of inverse kinematics, on both sides of what is accepted."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.ik import arguments, differential, failure_analysis, impossibility, multiple_solutions, path_ik, traced_ik
from linkwork.ik.algorithms import restarts
from linkwork.ik.reach_bounds import chain_between
from linkwork.ik.result import IKResult
from linkwork.ik.tasks import center_of_mass_tasks
from linkwork.ik.tasks.arguments import pose_tolerance, read_values
from linkwork.ik.tasks.frame_tasks import PoseTask

TWO = lw.load("double_pendulum")
X = TWO.pose([0.3, -0.4], "tip")
FOLLOWER = TWO.with_couplings({"elbow": ("shoulder", -4.0, 0.1)})


def refused(words, function, *positional, error=ValueError, **options):
    with pytest.raises(error, match=words):
        function(*positional, **options)


def test_invalid_tolerances_weights_and_jumps_of_ik_are_refused():
    assert [*pose_tolerance("f", (0.25, 0.5, np.inf), 0.75)] == [0.75 / math.sqrt(3.0)] * 3 + [0.25, 0.5, np.inf]
    for value in (0.0, (0.5, 0.0, 0.5), np.nan, "x", (0.5, 0.5)):
        refused("f: position_tolerance: expected a positive number or three", pose_tolerance, "f", value, 1.0)
        refused("f: orientation_tolerance: expected a positive number or three", pose_tolerance, "f", 1.0, value)
    assert read_values("t", "weight", "1", 0.5, 1e6) == 0.5 and read_values("t", "weight", "1", 0.0, 1e6) == 0.0
    assert read_values("t", "tolerance", "m", 0.5, None) == 0.5
    refused("task 't': weight: expected a number >= 0", read_values, "t", "weight", "1", 1e6, 1e6)
    refused("task 't': weight: expected a number >= 0", read_values, "t", "weight", "1", -5e-324, 1e6)
    refused("task 't': tolerance: expected a number > 0", read_values, "t", "tolerance", "m", 0.0, None)
    tasks = [lw.ik.PositionTask("tip")]
    assert arguments.read_tolerances("f", tasks, [0.25, 0.5, 0.75]).tolist() == [0.25, 0.5, 0.75]
    for value in (0.0, [0.5, 0.0, 0.5], [0.5, 0.5], "x"):
        refused(
            "f: tolerance: expected a positive number .* or one for each of 3",
            arguments.read_tolerances,
            "f",
            tasks,
            value,
        )
    assert path_ik._jumps("f", TWO, 0.5).tolist() == [0.5, 0.5]
    for value in (0.0, [0.5, 0.0], "x", [0.5] * 3):
        refused(r"f: max_joint_jump: expected a positive number or \(2,\)", path_ik._jumps, "f", TWO, value)


def test_invalid_targets_of_tasks_are_refused():
    def read(task, value):
        shape = task.target_of.shape if hasattr(task.target_of, "shape") else task.target_of[0]
        return arguments.read_target("f", TWO, task, shape, value, check_values=True)

    size, length = lw.ik.ManipulabilityTask("tip"), lw.ik.DistanceTask("tip", "base")
    assert read(size, 0.5) == 0.5 and read(length, 0.0) == 0.0 and read(length, 0.5) == 0.5
    refused(r"f: manipulability\(tip\): expected .*, got 0.0", read, size, 0.0)
    refused("f: .*: expected .*, got -0.5", read, length, -0.5)
    turned = X[:3, :3]
    task = lw.ik.OrientationTask("tip")
    assert (read(task, turned * (1.0 + 3e-7)) != turned).any()
    for matrix in (turned * (1.0 + 4e-7), turned * [1.0, 1.0, -1.0]):
        refused("expected a rotation matrix|rotation", read, task, matrix)
    refused(r"got nan at \[2\]", read, lw.ik.PositionTask("tip"), [0.1, 0.2, np.nan])


def test_joints_that_do_not_suit_a_task_are_refused():
    problem = lw.ik.IKProblem
    assert arguments.read_locked("f", FOLLOWER, ["shoulder"]) == ("shoulder",)
    words = "f: locked: joint 'elbow' is coupled to joint 'shoulder'; name that joint"
    refused(words, arguments.read_locked, "f", FOLLOWER, ["elbow"])
    limits = np.array([-0.5, -0.5]), np.array([0.25, 0.5])
    check = arguments.refuse_locked_beyond_limits
    check("f", TWO, ["shoulder"], limits, np.array([0.25, 9.0]))
    check("f", TWO, ["shoulder"], limits, np.array([-0.5, 9.0]))
    for q in (np.nextafter(0.25, 1.0), np.nextafter(-0.5, -1.0)):
        words = r"f: locked: expected q_init of joint 'shoulder' within \[-0.5\] to \[0.25\]"
        refused(words, check, "f", TWO, ["shoulder"], limits, np.array([q, 0.0]))
    words = "'base' is rigidly fixed to 'world'"
    refused(words, problem, TWO, lw.ik.ManipulabilityTask("base"))


def test_options_of_differential_ik_outside_their_ranges_are_refused():
    read = differential._speeds
    assert [float(x) for _, x in read("f", TWO, {"elbow": 0.5, "shoulder": np.inf})] == [0.5]
    refused("f: motion_limits: speed: expected a dict by joint, got 3.0", read, "f", TWO, 3.0, error=TypeError)
    for value in (0.0, np.nan, "x", [1.0, 2.0]):
        refused("f: motion_limits: speed: joint 'elbow': expected 1 positive", read, "f", TWO, {"elbow": value})
    law = lw.ik.DifferentialIK
    task = lw.ik.PositionTask("tip")
    words = "motion_limits: acceleration: expected positive numbers, got 0.0"
    refused(words, law, TWO, task, 0.01, motion_limits={"acceleration": 0.0})
    law(TWO, task, 0.01, gain=1.0, motion_limits={"acceleration": 0.5})
    for gain in (-5e-324, np.nextafter(1.0, 2.0), np.nan):
        refused("gain of task 'tip': expected a number", law, TWO, task, 0.01, gain=gain)
    moving = lw.ik.JointVelocityTask("elbow")
    words = "gain of task 'elbow velocity': expected a configuration task, got a velocity task"
    refused(words, law, TWO, [task, moving], 0.01, gain={"elbow velocity": 0.5})
    words = "time_constant of task 'elbow velocity': expected a configuration task, got a velocity task"
    refused(words, law, TWO, [task, moving], 0.01, time_constant={"elbow velocity": 0.5})


def test_polygons_that_are_lines_or_not_convex_are_refused():
    read = center_of_mass_tasks._read_polygon
    square = [(0.1, 0.2), (0.6, 0.2), (0.6, 0.7), (0.1, 0.7)]
    assert list(read(square)) == square and list(read(square[::-1])) == square
    thin = [(0.0, 0.0), (1.0, 0.0), (0.5, 5e-12)]
    assert list(read(thin)) == thin
    near = [(0.0, 0.0), (5e-12, 0.0), (1.0, 0.5), (0.0, 1.0)]
    assert list(read(near)) == near
    dent = [(0.0, 0.0), (0.5, 5e-13), (1.0, 0.0), (0.5, 0.8)]  # within rounding of convex
    assert list(read(dent)) == dent
    for vertices, words in (
        ([(0.0, 0.0), (1.0, 0.0), (0.5, 5e-13)], "expected a polygon of nonzero area"),
        ([(0.0, 0.0), (5e-13, 0.0), (1.0, 0.5), (0.0, 1.0)], "with distinct vertices"),
        ([(0.0, 0.0), (0.5, 5e-12), (1.0, 0.0), (0.5, 0.8)], "expected a convex polygon"),
        ([square[k] for k in (0, 2, 1, 3)], "expected a polygon of nonzero area|expected a convex polygon"),
        ([(0.0, 1.0), (-0.6, -0.8), (0.95, 0.3), (-0.95, 0.3), (0.6, -0.8)], "expected a convex polygon"),  # a star
        ([(0.0, 0.0), (1.0, np.inf), (0.5, 1.0)], r"expected positions \(n, 2\)"),
        ([(0.0, 0.0, 0.0)] * 3, r"expected positions \(n, 2\)"),
    ):
        refused(f"SupportPolygonTask: vertices: .*{words}", read, vertices)


# -- decisions


def test_forces_of_compromises_are_the_errors_that_no_motion_removes():
    compromise = failure_analysis.compromise_multipliers
    J = np.array([[1.0, 0.5], [2.0, 1.0], [0.3, -0.2]])
    e = np.array([0.4, -0.3, 0.2])
    force = compromise(J, e)
    assert np.allclose(J.T @ force, 0.0) and force @ e > 0.0 and np.allclose(force, e - J @ np.linalg.pinv(J) @ e)
    bad = J.copy()
    bad[0, 0] = np.nan
    for matrix, errors in ((bad, e), (J, e * np.inf), (J, 0.0 * e), (J, J @ np.array([0.3, 0.7]))):
        assert compromise(matrix, errors) is None
    assert compromise(np.zeros((3, 2)), e) is not None and np.allclose(compromise(np.zeros((3, 2)), e), e)


def walker(reached, solved):
    """Return an object with the attributes that `_Walker.recover` uses, whose steps fail, and a list of calls."""
    calls = []

    def solve(before, **targets):
        calls.append(targets)
        return SimpleNamespace(q=before + 0.3, success=solved, iterations=7)

    self = SimpleNamespace(problem=SimpleNamespace(solve=solve), iterations=0, jump=np.array([0.5, 0.25]))
    self._interpolate = lambda name, last, now, part: now
    self.step = lambda q, targets: (q, np.array([False]))
    self._joint_steps = lambda q, next_q: np.abs(next_q - q) / self.jump
    self._jumps = lambda q, next_q: (self._joint_steps(q, next_q) > 1.0).any(axis=-1)

    def searched(q, targets, steps, first):
        if len(q) == 1:  # the last attempt, from the configuration before
            return q + 0.01, np.array([False])
        rows = np.tile(q[0], (3, 1)) + np.array([[0.9, 0.0], [0.4, 0.2], [0.1, 0.7]])
        return rows, np.array(reached)

    self._searched = searched
    return self, calls


def test_failed_steps_of_paths_are_recovered_from_the_nearest_solution():
    before, target = np.array([0.2, -0.1]), {"tip": np.zeros(3)}

    def recover(reached, solved):
        self, calls = walker(reached, solved)
        q, success, changed = path_ik._Walker.recover(self, before, target, target)
        return (q - before).round(9).tolist(), success, changed, len(calls), self.iterations

    assert recover([True, True, True], False) == ([0.4, 0.2], True, False, 0, 0)
    assert recover([True, False, True], False) == ([0.9, 0.0], True, True, 0, 0)
    exact = np.array([0.25, -0.125])  # whose sums are exact: a motion as large as permitted is no reconfiguration
    self, _ = walker([False] * 3, True)
    self.problem.solve = lambda before, **targets: SimpleNamespace(q=before + self.jump, success=True, iterations=1)
    assert path_ik._Walker.recover(self, exact, target, target)[1:] == (True, False)
    assert not self._jumps(exact, exact + self.jump)
    assert recover([False] * 3, True) == ([0.3, 0.3], True, True, 1, 7)
    assert recover([False] * 3, False) == ([0.01, 0.01], False, False, 1, 7)


def test_targets_between_two_targets_of_a_path_are_interpolated_by_their_kind():
    kinds = {"tip": "pose", "aim": "direction", "place": "place", "q": "configuration"}
    self = SimpleNamespace(kinds=kinds, problem=SimpleNamespace(robot=TWO))

    def between(name, last, now, part=0.25):
        return path_ik._Walker._interpolate(self, name, np.asarray(last), np.asarray(now), part)

    assert between("place", [1.0, 2.0, 3.0], [5.0, 2.0, -1.0]).tolist() == [2.0, 2.0, 2.0]
    aim = between("aim", [0.6, 0.0, 0.8], [0.0, 1.0, 0.0])
    assert np.isclose(np.linalg.norm(aim), 1.0) and np.allclose(np.cross(aim, [0.45, 0.25, 0.6]), 0.0)
    assert between("aim", [0.3, 0.1, 0.2], [-0.3, -0.1, -0.2], 0.5).tolist() == [0.0, 0.0, 0.0]
    assert np.allclose(between("q", [0.1, 0.2], [0.5, -0.2]), [0.2, 0.1])
    end = X @ lw.pose((0.1, 0.2, 0.3), axis=(0.3, 0.4, 0.5), angle=0.8)
    result = between("tip", X, end)
    assert np.allclose(result[:3, 3], X[:3, 3] + 0.25 * (end - X)[:3, 3])
    assert np.allclose(np.linalg.inv(X)[:3, :3] @ result[:3, :3], lw.pose(axis=(0.3, 0.4, 0.5), angle=0.2)[:3, :3])
    assert np.allclose(between("tip", X, X), X) and between("place", X, end, 1.0) is not X


def test_joint_targets_beyond_their_limits_are_impossible():
    problem = SimpleNamespace(robot=TWO, lower=np.array([-1.0, -0.5]), upper=np.array([1.0, 0.5]), tasks=())
    task, left = lw.ik.JointTask("elbow"), np.array([0.25])

    def beyond(x, task=task, left=left, problem=problem):
        return impossibility._joint_out_of_limits(problem, task, {task.name: np.array(x)}, left)

    assert not beyond(0.75) and not beyond(-0.75) and beyond(0.7500001) and beyond(-0.7500001)
    assert not beyond(9.0, left=np.array([0.25, 0.25])) and not beyond(9.0, task=lw.ik.PostureTask())
    follower = SimpleNamespace(robot=FOLLOWER, lower=np.array([-1.0]), upper=np.array([1.0]), tasks=())
    assert not beyond(9.0, task=lw.ik.JointTask("elbow"), problem=follower)
    assert beyond(9.0, task=lw.ik.JointTask("shoulder"), problem=follower)
    required = impossibility._required
    both = np.full(6, 0.5)
    assert required(lw.ik.PostureTask(), np.zeros(2), left) == {}
    assert {key[0] for key in required(lw.ik.PoseTask("tip"), X, both)} == {"turned", "placed"}
    assert {key[0] for key in required(lw.ik.PositionTask("tip"), X[:3, 3], both[:3])} == {"placed"}
    assert {key[0] for key in required(lw.ik.OrientationTask("tip"), X[:3, :3], both[:3])} == {"turned"}
    assert required(task, np.array(0.3), left)["joint", "elbow"][1] == 0.25


def test_tasks_of_one_quantity_contradict_each_other_beyond_their_tolerances():
    first, second = lw.ik.JointTask("elbow", name="a"), lw.ik.JointTask("elbow", name="b")
    problem = SimpleNamespace(tasks=lw.ik.IKProblem(TWO, [first, second]).tasks)

    def contradictory(x, y, names=("a", "b")):
        targets = {"a": np.array(x), "b": np.array(y)}
        return impossibility.are_contradictory(problem, names, targets, np.array([0.25, 0.5]))

    assert not contradictory(0.0, 0.75) and contradictory(0.0, 0.7500001) and not contradictory(0.0, 9.0, ("a",))


def test_chains_with_coupled_joints_have_no_bound_of_reach():
    q, far = np.zeros(2), np.full(2, np.inf)
    assert len(chain_between(TWO, "tip", "world", q, -far, far).turns) == 2
    assert chain_between(TWO, "base", "world", q, -far, far) is None  # nothing moves
    assert chain_between(FOLLOWER, "tip", "world", q[:1], -far[:1], far[:1]) is None


def test_searches_end_at_the_first_solution_or_at_their_limits(monkeypatch):
    def run_of(*results):
        calls = []

        def run(chunk, first):
            calls.append(float(first))
            name, success, status, rank = results[min(len(calls), len(results)) - 1]
            counted = lambda steps, starts: (name, steps, starts)  # noqa: E731
            return SimpleNamespace(
                iterations=10, restarts=2.0, success=success, status=status, rank=rank, _with_counts=counted
            )

        return run, calls

    monkeypatch.setattr(lw._util.own_code, "_replaced", {})
    monkeypatch.setattr(multiple_solutions, "_rank", lambda result: result.rank)
    until, solved, failed = multiple_solutions.run_until_deadline, lw.errors.Status.SOLVED, lw.errors.Status.NOT_FOUND
    run, calls = run_of(("a", False, failed, 2), ("b", True, failed, 1), ("c", True, solved, 0))
    assert until(60.0, 1000, run) == ("c", 30, 8) and calls == [0.0, 3.0, 6.0]
    run, calls = run_of(("a", False, failed, 1), ("b", False, failed, 2), ("c", False, failed, 1))
    assert until(60.0, 30, run) == ("a", 30, 8)
    assert until(0.0, 1000, run_of(("a", False, failed, 1))[0]) == ("a", 10, 2)


def test_first_starts_are_the_initial_guess_within_limits():
    box = SimpleNamespace(within=lambda q: ["within", *q])
    assert restarts.start_configuration(TWO.tree, [0.3, 0.4], box, 0.0) == ["within", 0.3, 0.4]
    assert restarts.start_configuration(TWO.tree, [0.3, 0.4], box, 0) == ["within", 0.3, 0.4]


def test_names_of_derivatives_that_are_no_input_are_refused():
    problem = SimpleNamespace(shapes={"tip": (3,)}, solver="levenberg", caller="f", robot=TWO)
    assert traced_ik._read_parameter(problem, "tip") is None
    assert str(traced_ik._read_parameter(problem, "placement:elbow")) == "placement:elbow"
    for by in ("elbow", 3, "nearest_to"):
        refused("f: derivative: expected a target, 'tip', or a robot parameter", traced_ik._read_parameter, problem, by)
    read = traced_ik._read_scalars
    assert read("f", "x", (2,), [0.25, 0.5]) == [0.25, 0.5]
    refused(r"f: x: expected an array of shape \(2,\), got None", read, "f", "x", (2,), None)
    refused(
        r"f: x: expected an array of shape \(2,\) in a compiled function, got \(3,\)", read, "f", "x", (2,), [1.0] * 3
    )


def test_nearest_poses_need_a_task_with_a_frame():
    problem = SimpleNamespace(robot=TWO, tasks=[lw.ik.PostureTask()], caller="f")
    with pytest.raises(ValueError, match="f: nearest_pose: expected a task with a frame, got none; see q and errors"):
        IKResult.nearest_pose.fget(SimpleNamespace(problem=problem))


def test_axes_of_rates_are_those_that_a_pose_task_names():
    R = lw.spatial.Rotation.about(lw.spatial.Vec3(0.6, 0.0, 0.8), 0.7)
    assert PoseTask("tip", axes="frame")._axes_of(None, None) is None
    assert PoseTask("tip")._axes_of(None, None) is None
    task = PoseTask("tip", axes="target")
    target = [*np.eye(4).ravel()]
    target[:3], target[4:7], target[8:11] = [*R.x], [*R.y], [*R.z]
    result = task._axes_of(None, target)
    assert np.allclose([[*x] for x in (result.x, result.y, result.z)], np.transpose([[*x] for x in (R.x, R.y, R.z)]))


def test_paths_of_matrices_that_are_no_rotations_are_refused():
    task = lw.ik.PoseTask("tip")
    problem = SimpleNamespace(tasks=[task], robot=TWO, shapes={"tip": (4, 4)})
    self = SimpleNamespace(kinds={"tip": "pose"}, problem=problem)

    def check(*changes):
        poses = np.repeat(X[None], 3, axis=0)
        for index, value in changes:
            poses[index] *= value
        path_ik._Walker.check_values(self, "f", {"tip": poses})

    rotation = (1, slice(0, 3), slice(0, 3))
    check()
    check((rotation, 1.0 + 3e-7))
    for value, words in (
        (1.0 + 3e-6, r"f: tip\[1\].*rotation"),
        ([1.0, 1.0, -1.0], r"f: tip\[1\].*rotation"),
        (np.nan, r"f: tip: expected poses of shape \(..., 4, 4\), got nan at \[1, 0, 0\]"),
    ):
        refused(words, check, (rotation, value))


def test_rolling_paths_are_done_at_their_tolerances():
    def done(errors, size=1.0, soft=False):
        problem = SimpleNamespace(tolerances=np.array([0.25, 0.5]))
        problem.residual_kernel = lambda q, *targets: SimpleNamespace(errors=np.array([errors]))
        self = SimpleNamespace(problem=problem, hard=np.array([True, not soft]), soft=soft)
        return bool(path_ik.RollingSteps._done(self, np.zeros((1, 2)), {}, np.array([size]))[0])

    assert done([0.25, 9.0], size=1e-7, soft=True) and not done([0.25, 9.0], size=3e-7, soft=True)
    assert done([0.25, -0.5]) and not done([0.2500001, 0.0]) and not done([0.0, 0.5000001])
