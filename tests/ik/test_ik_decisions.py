"""Decisions of searches and closed forms: singularities, soft tasks, axes, bounds of reach and results."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from helpers.arms import planar
from linkwork._util import own_code
from linkwork.errors import Status
from linkwork.ik import failure_analysis, impossibility, multiple_solutions, path_ik
from linkwork.ik.algorithms import sqp
from linkwork.ik.algorithms.closed_form import axis_geometry as axes
from linkwork.ik.path_ik import IKPathResult
from linkwork.ik.reach_bounds import chain_between
from linkwork.ik.soft_restarts import SoftResiduals
from linkwork.ik.velocity_result import VelocityResult
from linkwork.spatial import Pose, Rotation, Vec3

TWO = lw.load("double_pendulum")
Failures = failure_analysis._Failures


def refused(words, function, *positional, error=ValueError, **options):
    with pytest.raises(error, match=words):
        function(*positional, **options)


def test_singularities_are_states_with_dependent_rows_and_a_small_gradient(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(failure_analysis, "aligned", lambda problem, q: (("a", "b"),))

    def singular(J, e):
        self = SimpleNamespace(q=np.zeros((1, 2)), scaled_residual=lambda q, states: (np.array([e]), np.array([J])))
        self.problem = SimpleNamespace(tasks=[SimpleNamespace(component_names=("x", "y", "z"))])
        (result,) = Failures.singularities(self, np.array([0]))
        return result

    for size, x, expected in (
        (5e-5, 0.0, True),  # of the smaller singular value
        (5e-4, 0.0, False),
        (5e-5, 3e-4, True),  # of the gradient, relative to |e| = 0.6
        (5e-5, 3e-3, False),
    ):
        J = [[1.0, 0.0, 0.0], [0.0, size, 0.0], [0.0, 0.0, 0.0]]  # the third joint moves nothing, the third row is zero
        result = singular(J, [x, 0.6, 0.0])
        assert (result is not None) == expected
        if expected:
            assert math.isclose(result.value, size) and result.aligned == (("a", "b"),)
            assert set(result.direction) == {"x", "y"} and math.isclose(abs(result.direction["y"]), 1.0)
    assert singular(np.zeros((3, 3)), [0.0, 0.6, 0.0]) is None  # no joint moves


def test_joints_with_one_axis_are_named_as_aligned():
    tree = SimpleNamespace(point=lambda name: SimpleNamespace(frame=name))
    tree.stacked = lambda: enumerate(SimpleNamespace(joint_name=n, joint=SimpleNamespace(nv=1)) for n in "abcd")

    def aligned(J):
        robot = SimpleNamespace(tree=tree, nv=4, jacobian=lambda q, frame: np.array(J).T)
        task = SimpleNamespace(between=("tip", "world"))
        return failure_analysis.aligned(SimpleNamespace(robot=robot, tasks=[task]), np.zeros(4))

    axis, second, slide = [0.0, 0.6, 0.8], [0.6, 0.0, 0.8], [0.0, 0.0, 0.0]
    near, far = (np.array([*axis, 0.3 + x, 0.2, 0.1]) for x in (1e-4, 2e-4))
    first = [*axis, 0.3, 0.2, 0.1]
    assert aligned([first, [*second, 0.3, 0.2, 0.1], near, [*slide, 0.0, 0.6, 0.8]]) == (("a", "c"),)
    assert aligned([first, -near, first, [*slide, 0.3, 0.2, 0.1]]) == (("a", "b"), ("a", "c"), ("b", "c"))
    assert aligned([first, far, [*slide, 0.3, 0.2, 0.1], [*slide, 0.3, 0.2, 0.1]]) == ()


def test_conflicts_that_a_further_search_solves_have_no_multipliers():
    def conflict(done, residual):
        reasons = [SimpleNamespace(tasks=("a", "b"), status=Status.NOT_FOUND, multipliers=None) for _ in range(2)]
        reasons[1].tasks = ("a",)
        self = SimpleNamespace(reasons=reasons, rows={"a": slice(0, 1), "b": slice(1, 3)})
        self.problem = SimpleNamespace(scales=(1.0, 0.5, 0.0))
        self.search = lambda states, **options: (np.array([done] * len(states)), np.zeros((len(states), 2)), None)
        self.scaled_residual = residual
        Failures.set_multipliers(self, np.array([0, 1]), np.ones((2, 3)))
        return reasons

    def unused(q, states):
        raise AssertionError("no state is left")

    solved = conflict(True, unused)
    assert solved[0].tasks == () and solved[1].tasks == ("a",)
    J, e = np.array([[1.0, 0.0], [1.0, 0.0], [9.0, 9.0]]), np.array([0.4, -0.6, 7.0])
    left = conflict(False, lambda q, states: (np.array([e]), np.array([J])))
    assert left[0].tasks == ("a", "b") and left[1].multipliers is None
    assert np.allclose(left[0].multipliers["a"], [0.5]) and np.allclose(left[0].multipliers["b"], [-0.25, 0.0])
    exact = conflict(False, lambda q, states: (np.array([0.0 * e]), np.array([J])))
    assert exact[0].multipliers is None


def test_problems_that_paths_and_several_solutions_do_not_support_are_refused():
    posture = SimpleNamespace(tasks=(), shapes={}, solver="soft", caller="f")
    refused("f: tasks: expected a task with a target, got none", path_ik._paths, posture, "f", {})
    words = "f: num_solutions: expected hard tasks and solver 'levenberg', got 'soft'"
    refused(words, multiple_solutions.several_solutions, posture, 2, np.zeros(2), np.zeros(0), {})
    for count in (0, multiple_solutions._MOST + 1):
        refused(
            "f: num_solutions: expected an integer",
            multiple_solutions.several_solutions,
            posture,
            count,
            np.zeros(2),
            None,
            {},
        )
    assert tuple(IKPathResult.largest_jump.fget(SimpleNamespace(steps=np.zeros((0, 2))))) == (0.0, "", 0)
    steps = np.array([[0.1, -0.2], [0.05, 0.7], [-0.3, 0.0]])
    jump = IKPathResult.largest_jump.fget(SimpleNamespace(steps=steps, _joint=lambda k: TWO.v_names[k]))
    assert tuple(jump) == (0.7, "elbow", 2)
    batch = SimpleNamespace(
        success=np.ones((2, 3), bool), reconfigured=np.zeros((2, 3), bool), steps=np.zeros((2, 2, 2))
    )
    refused(
        r"explain: index: expected indices of one path in the batch \(2,\), got \(\)", IKPathResult._describe, batch, ()
    )


def test_soft_tasks_are_done_within_their_tolerances():
    def residuals(**change):
        options = {
            "hard": True,
            "level": 0,
            "tolerance": 0.25,
            "ranges": ((0.0, 0.0),) * 2,
            "component_names": ("x", "y"),
        }
        tasks = [SimpleNamespace(**{**options, "ranges": ((0.0, 0.0),), "component_names": ("q",)})]
        tasks.append(SimpleNamespace(**{**options, "hard": False, "level": 1, **change}))
        problem = SimpleNamespace(tasks=tasks, weights=np.array([1.0, 2.0, 0.0]), tolerances=np.full(3, 0.25))
        problem.robot, problem.locked_dofs = TWO, change.get("locked", ())
        return SoftResiduals(problem)

    soft = residuals()
    left = np.full(3, 0.25)
    assert soft.any and soft.counted.tolist() == [False, True, False]
    for error, done in (([9.0, 0.25, 9.0], True), ([0.0, -0.25, 0.0], True), ([0.0, 0.2500001, 0.0], False)):
        assert bool(soft.done(np.array(error), left)) == done
    assert soft.costs(np.array([3.0, 0.5, 7.0])).tolist() == [0.0, 0.5]
    assert not soft.too_many and residuals(locked=(0,)).too_many  # two rows, of as many velocities


def test_states_within_their_own_tolerances_do_not_break_constraints():
    def status(after, least=True):
        tasks = [SimpleNamespace(own=x, component_names=("x",), tolerances=(0.25,)) for x in (False, True)]
        self = SimpleNamespace(problem=SimpleNamespace(tasks=tasks), after=np.array(after), success=False)
        self._is_set = lambda name: np.array(least)
        return VelocityResult.status.fget(self)

    assert status([9.0, 0.25]) == "tasks_not_met" and status([0.0, -0.2500001]) == "constraints_not_met"
    assert status([0.0, 0.0], least=False) == "max_iterations"


# -- geometry of arms


def axis(direction, point):
    d = np.array(direction, float) / np.linalg.norm(direction)
    return axes.JointAxis(Vec3(*map(float, d)), Vec3(*map(float, np.subtract(point, d * np.dot(d, point)))))


def test_axes_that_coincide_have_no_geometry_and_near_ones_intersect():
    z, x = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    geometry = axes.axis_geometry([axis(z, (0.0, 0.0, 0.0)), axis(z, (0.6, 0.8, 0.0)), axis(x, (0.6, 0.8, 0.5))])
    assert (
        geometry.parallel(0) and geometry.a[0] == 1.0 and geometry.intersect(1) and math.isclose(geometry.length, 1.5)
    )
    assert axes.axis_geometry([axis(z, (0.0, 0.0, 0.0)), axis(z, (0.0, 0.0, 0.7))]) is None
    for shift, exists in ((5e-6, False), (5e-5, True)):  # relative to a length of 1
        chain = [axis(z, (0.0, 0.0, 0.0)), axis(z, (shift, 0.0, 0.0)), axis(z, (1.0, 0.0, 0.0))]
        assert (axes.axis_geometry(chain) is not None) == exists
    for shift, meets in ((5e-6, True), (5e-5, False)):
        chain = [axis(z, (0.0, 0.0, 0.0)), axis(x, (0.0, shift, 0.3)), axis(z, (0.0, 1.0, 0.0))]
        assert axes.axis_geometry(chain).intersect(0) == meets
    for tilt, right in ((5e-10, True), (5e-9, False)):
        chain = [axis(z, (0.0, 0.0, 0.0)), axis((1.0, 0.0, tilt), (0.0, 1.0, 0.0))]
        assert (axes.axis_geometry(chain).twist[0].cos == 0.0) == right
    for tilt, parallel in ((5e-6, True), (5e-5, False)):
        chain = [axis(z, (0.0, 0.0, 0.0)), axis((0.0, tilt, 1.0), (1.0, 0.0, 0.0))]
        assert axes.axis_geometry(chain).parallel(0) == parallel


class Cam(lw.joints.JointType):
    """A joint with one coordinate, whose angle is q + ``bend`` q²."""

    nq = nv = 1
    q_units, v_units = ("rad",), ("rad/s",)
    __hash__ = object.__hash__

    def __init__(self, bend):
        self.bend = bend

    def X(self, q):
        return Pose(Rotation.about(Vec3(0.0, 0.6, 0.8), q[0] + self.bend * q[0] * q[0]), Vec3(0.0, 0.0, 0.0))


def test_joints_are_rotations_if_their_poses_are_those_of_a_fixed_axis():
    joints = lw.joints
    assert axes.turns_only(joints.Revolute(Vec3(0.0, 0.6, 0.8))) and axes.turns_only(Cam(0.0))
    for joint in (
        Cam(0.3),
        joints.Prismatic(Vec3(0.0, 0.6, 0.8)),
        joints.Helical(Vec3(0.0, 0.6, 0.8), 0.1),
        joints.Spherical(),
    ):
        assert not axes.turns_only(joint)


def test_reach_beyond_rounding_is_a_proof():
    far, X = np.full(2, np.inf), TWO.pose([0.3, -0.4], "tip")
    chain = chain_between(TWO, "tip", "world", np.array([0.3, -0.4]), -far, far)
    longest, hole = chain._bounds((*chain.links[:-1], type(chain.links[-1])(X[:3, 3] - chain.turns[-1].point, ())))
    start, axis = chain.turns[0].point, chain.turns[0].axis
    along = np.cross(axis, [0.3, 0.5, -0.7])
    along /= np.linalg.norm(along)
    attainable = axis * float(axis @ (X[:3, 3] - start))
    for bound, kind, sense in ((longest, "far", 1.0), (hole, "near", -1.0)):
        if bound < 1e-3:
            continue
        for share, proved in ((3.0, True), (0.3, False)):
            target = X.copy()
            distance = bound + sense * share * 1e-9 * (1.0 + bound)
            side = math.sqrt(max(distance**2 - float(attainable @ attainable), 0.0))
            target[:3, 3] = start + attainable + side * along
            (proof,) = chain.proofs(target[None], 0.0, 0.0, False)
            assert (proof is not None) == proved and (proof is None or proof.kind == kind)


# -- tasks


def test_tasks_without_a_part_of_the_robot_that_satisfies_them_are_refused():
    state = SimpleNamespace(closed_manipulability=lambda *args: None, between=lambda *args: SimpleNamespace(columns=[]))
    task = lw.ik.ManipulabilityTask("tip", part="angular")
    refused("task 'manipulability.*': part: no joint produces 'angular' motion of 'tip'", task.errors, state, [1.0])
    empty = SimpleNamespace(clearance_links=lambda with_target: ())
    refused(
        "task 'clearance': scene: expected a scene, or a robot with collision pairs",
        lw.ik.ClearanceTask().settled,
        TWO,
        empty,
    )
    settled = lw.ik.ClearanceTask().settled(TWO, SimpleNamespace(clearance_links=lambda with_target: ("hand",)))
    assert settled.links == ("hand",)
    balls = TWO.with_collisions("lower_rod", lw.shapes.Sphere(0.1))
    assert [*lw.ik.ClearanceTask().checked(balls.tree)] == []
    assert "has no collision shapes" in next(
        iter(lw.ik.ClearanceTask().checked(SimpleNamespace(frames=(), name="bare")))
    )
    evaluated = SimpleNamespace(name="sum", count=2, _evaluate=lambda state, target: ([1.0, 2.0, 3.0], None))
    words = "task 'sum': function: expected 2 values in every state, got 3"
    refused(words, lw.ik.FunctionTask.errors, evaluated, None, [])
    for count in (0, 3):
        evaluated.count = count
        assert lw.ik.FunctionTask.errors(evaluated, None, []) == [1.0, 2.0, 3.0]
    rolling = SimpleNamespace(of_velocity=True, component_names=("x", "y"))
    assert lw.ik.ConstraintTask.errors(rolling, None, []) == [0.0, 0.0]


def test_poses_without_a_configuration_are_not_proved_to_exceed_limits():
    branches = SimpleNamespace(q=np.zeros((2, 2)), valid=np.zeros(2, bool))
    problem = SimpleNamespace(
        robot=TWO,
        tasks=[lw.ik.PoseTask("tip")],
        form=SimpleNamespace(branches=lambda *args, **options: branches),
        midrange=np.zeros(2),
        lower=-np.ones(2),
        upper=np.ones(2),
    )
    assert not impossibility._branches_out_of_limits(problem, {"tip": np.eye(4)}, np.full(6, 1e-6))
    problem.form = None
    assert not impossibility._branches_out_of_limits(problem, {"tip": np.eye(4)}, np.full(6, 1e-6))


# -- several solutions


def test_selected_solutions_are_distinct_and_the_nearest_or_farthest():
    select, apart = multiple_solutions._select_solutions, multiple_solutions.APART
    q = np.array([[0.0], [0.5 * apart], [1.0], [1.0 + 2.0 * math.pi], [3.0], [2.0]])
    distances = np.abs(q[:, 0])

    def chosen(n, done=(True,) * 6, spread=False, periodic=1.0):
        return select(n, np.array(done), q, distances, np.ones(1), np.array([periodic]), spread)

    assert chosen(4) == [0, 2, 5, 4] and chosen(2) == [0, 2] and chosen(9) == [0, 2, 5, 4]
    assert chosen(9, periodic=0.0) == [0, 2, 5, 4, 3]
    assert chosen(2, spread=True) == [0, 4]  # the farthest from the first, up to full revolutions
    assert chosen(2, done=(False, True, True, False, True, False)) == [1, 2]
    assert chosen(3, done=(False,) * 6) == []
    assert chosen(0) == []


def test_solutions_are_shifted_by_revolutions_towards_the_initial_guess_within_limits():
    turn = 2.0 * math.pi
    problem = SimpleNamespace(lower=np.array([-7.0, -7.0]), upper=np.array([7.0, 7.0]))

    def shifted(q, guess, periodic=(1.0, 0.0)):
        return multiple_solutions._nearest_revolution(problem, np.array(q), np.array(guess), np.array(periodic))

    assert np.allclose(shifted([0.5, 0.5], [6.5, 6.5]), [0.5 + turn, 0.5])  # the second is no angle
    assert np.allclose(shifted([0.5, 0.5], [3.0, 3.0]), [0.5, 0.5])
    assert np.allclose(shifted([1.0, 0.0], [30.0, 0.0]), [1.0, 0.0])  # 1 + 2π is beyond the limit
    assert np.allclose(shifted([0.5, 0.0], [30.0, 0.0]), [0.5 + turn, 0.0])
    assert np.allclose(shifted([-0.5, 0.0], [-14.0, 0.0]), [-0.5 - turn, 0.0])
    problem.lower, problem.upper = np.array([0.5 - turn, 0.0]), np.array([0.5 + turn, 0.0])
    assert np.allclose(shifted([0.5, 0.0], [9.0, 0.0]), [0.5 + turn, 0.0])
    assert np.allclose(shifted([0.5, 0.0], [-9.0, 0.0]), [0.5 - turn, 0.0])


def test_differences_of_solutions_are_scaled_and_up_to_revolutions():
    a, b = np.array([0.1, 0.5, 2.0]), np.array([0.2 + 2.0 * math.pi, 0.25, 8.0])
    largest = multiple_solutions._largest_difference
    assert np.isclose(largest(a, b, np.array([1.0, 2.0, 0.0]), np.array([1.0, 0.0, 0.0])), 0.5)
    assert np.isclose(largest(a, b, np.array([1.0, 0.1, 0.0]), np.array([1.0, 0.0, 0.0])), 0.1)
    assert np.isclose(largest(a, b, np.array([1.0, 0.1, 0.0]), np.zeros(3)), 0.1 + 2.0 * math.pi)


def test_robots_are_redundant_if_more_joints_move_than_errors_count():
    def redundant(rows, tolerances=(0.1, 0.1), hard=(True, True)):
        tasks = [SimpleNamespace(hard=x, component_names=("x",)) for x in hard]
        problem = SimpleNamespace(
            tasks=tasks, residual_kernel=lambda q, *targets: SimpleNamespace(rows=np.array([rows]))
        )
        return multiple_solutions._is_redundant(problem, np.array(tolerances), np.zeros((1, 3)), {})

    full = [[1.0, 0.0, 0.5], [0.0, 2.0, 0.5]]
    assert redundant(full) and not redundant([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    assert redundant([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]], hard=(True, False))
    assert redundant([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]], tolerances=(0.1, np.inf))


def test_angles_of_a_search_are_shifted_by_revolutions_towards_the_reference_within_limits():
    turn, tree = 2.0 * math.pi, planar((0.4, 0.3))[0].tree

    def shifted(q, near, lower, upper, locked=()):
        box = SimpleNamespace(indices=[0], lower=[lower, -math.inf], upper=[upper, math.inf])
        stack = SimpleNamespace(tree=tree, locked_dofs=locked)
        search = SimpleNamespace(stack=stack, box=box, near=near, units=["rad", "rad"])
        return [float(x) for x in sqp._Search.nearest_revolution(search, q)]

    assert shifted([0.5, 0.25], [7.0, -7.0], -9.0, 9.0) == pytest.approx([0.5 + turn, 0.25 - turn], abs=1e-12)
    assert shifted([0.5, 0.25], [7.0, 0.0], -6.0, 6.0) == pytest.approx(
        [0.5, 0.25], abs=1e-12
    )  # 0.5 + 2π is beyond the upper limit
    assert shifted([0.5, 0.25], [-7.0, 0.0], -5.0, 6.0) == pytest.approx(
        [0.5, 0.25], abs=1e-12
    )  # 0.5 − 2π is below the lower limit
    assert shifted([0.5, 0.25], [3.0, 0.0], 3.0, 8.0) == pytest.approx([0.5 + turn, 0.25], abs=1e-12)
    assert shifted([0.5, 0.25], [7.0, 0.0], -9.0, 9.0, locked=(0,)) == pytest.approx([0.5, 0.25], abs=1e-12)


def test_repeated_searches_replace_only_failures_that_have_feasible_configurations():
    q, diagnostics = np.arange(6.0).reshape(3, 2), np.array([[1.0], [0.0], [0.0]])
    result = SimpleNamespace(q=q.copy(), errors=np.zeros((3, 1)), diagnostics=diagnostics.copy())
    calls = []

    def feasible(q, *more):
        return SimpleNamespace(q=q + 10.0, diagnostics=np.array([[0.0], [1.0]]))

    def nearest(q, *more):
        calls.append(q.tolist())
        return SimpleNamespace(q=q + 100.0, errors=np.full((len(q), 1), 0.5), diagnostics=np.ones((len(q), 1)))

    problem = SimpleNamespace(
        feasibility_kernel=feasible, kernel=nearest, weights=np.ones(1), finite_bounds=(), shapes={"target": (3,)}
    )
    inputs = (q, q, np.full((3, 1), 1e-6), {"target": np.zeros((3, 3))}, np.array(9.0))
    multiple_solutions.restart_from_feasible(problem, result, *inputs)
    assert calls == [[[14.0, 15.0]]]
    assert result.q.tolist() == [[0.0, 1.0], [2.0, 3.0], [114.0, 115.0]]
    assert result.diagnostics.tolist() == [[1.0], [0.0], [1.0]] and result.errors.tolist() == [[0.0], [0.0], [0.5]]
    problem.feasibility_kernel = lambda q, *more: SimpleNamespace(q=q, diagnostics=np.zeros((len(q), 1)))
    multiple_solutions.restart_from_feasible(problem, result, *inputs)
    assert len(calls) == 1, "no search starts without a feasible configuration"
