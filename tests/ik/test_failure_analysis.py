"""Reasons of failures: each status in a case with closed-form distances and bounds."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest

import linkwork as lw
from helpers.arms import chain_text, planar
from linkwork.errors import Status
from linkwork.ik.failure_analysis import Reason, compromise_multipliers
from linkwork.ik.impossibility import limits_prevent
from linkwork.ik.reach_bounds import chain_between
from linkwork.ik.result import _reason_sentence

ARM = lw.load("arm7")


class Proof(str):
    """A proof of a kind of its own, which prints as its text."""

    kind, joint = "far", ""


def test_every_reason_of_an_ik_failure_has_an_explaining_sentence():
    hard_task = lw.ik.PositionTask("hand", name="place")
    soft_task = lw.ik.PoseTask("hand", name="pull", weight=2.0)
    facts = {"iterations": 7, "cost": 0.25, "position_error": 0.5, "orientation_error": 0.125, "reached": 0.0}
    left = "the nearest configuration found is 0.5 m and 0.125 rad away"
    after, starts = "remaining error 0.5 m and 0.125 rad after 7 iterations", "from 3 starts"
    steps, start = "9 iterations find a solution", "another start finds a solution"
    both, pulls = ("place", "pull"), {"place": np.array([3.0, 0.0, 4.0]), "pull": np.array([2.0])}
    for status, reason, expected in (
        (Status.SOLVED, {}, after),
        (Status.NOT_FINITE, {"tasks": both}, "errors of 'place' and 'pull' are NaN at every configuration tried"),
        (Status.OUT_OF_REACH, {"tasks": both[:1], "proof": Proof("too far")}, f"'place': too far; {left}"),
        (Status.NOT_FOUND, {}, f"no solution {starts}, with or without limits, with 'j1' locked; {left}"),
        (
            Status.INFEASIBLE,
            {"tasks": both, "multipliers": pulls},
            f"'place' and 'pull' contradict each other (multipliers at their compromise: 'place' 5, 'pull' 2); {left}",
        ),
        (
            Status.NOT_FOUND,
            {"tasks": both},
            f"'place' and 'pull' are not satisfied together {starts}, each is without the other; {left}",
        ),
        (
            Status.NOT_FOUND,
            {"tasks": (*both, "more")},
            f"'place' and 'pull' and 'more' are not satisfied together {starts}, fewer of them are; {left}",
        ),
        (Status.NO_OTHER_SOLUTION, {"num_solutions": 2}, "2 distinct solutions were found in 3 searches"),
        (Status.SINGULAR, {"singularity": "S", "steps": 9}, f"stopped after 7 iterations at a singularity: S; {steps}"),
        (
            Status.LOCAL_MINIMUM,
            {},
            f"the gradient of the error is zero after 7 iterations, remaining error 0.5 m and 0.125 rad; {start}",
        ),
        (Status.MAX_ITERATIONS, {"steps": 9}, f"{after}; {steps}"),
    ):
        problem = types.SimpleNamespace(tasks=[hard_task, soft_task], locked=["j1"], tolerances=np.full(9, np.inf))
        assert _reason_sentence(Reason(status, starts=3, **reason), problem, facts) == expected
    soft = "remaining error 0.5 m and 0.125 rad of soft 'pull', at a cost of 0.25"
    for count, hard, text in ((1, hard_task, "stationary from q_init"), (3, soft_task, "the lowest of 3 starts")):
        problem, reached = types.SimpleNamespace(tasks=[hard, soft_task]), facts | {"reached": 1.0}
        done = "hard tasks are satisfied, " if hard is hard_task else ""
        reason = Reason(Status.LOCAL_MINIMUM, tasks=("pull",), starts=count)
        assert _reason_sentence(reason, problem, reached) == f"{done}{soft}, {text}"
    late = "hard tasks are satisfied, soft tasks have not converged after 7 iterations"
    assert _reason_sentence(Reason(Status.MAX_ITERATIONS), problem, reached) == late


def test_ik_targets_beyond_a_planar_arms_reach_have_status_out_of_reach():
    """The remaining error is |p| minus the sum of lengths; the proof states the bound."""
    robot, tip = planar((1.0, 0.8, 0.5))
    problem = robot.ik_problem(lw.ik.PositionTask(tip, name="place"))
    positions = np.array([[3.0, 0.0, 0.0], [-2.0, 2.5, 0.0], [0.4, -1.7, 0.0], [0.0, 1e6, 0.0]])
    solution = problem.solve(place=positions)
    far = np.linalg.norm(positions, axis=1)
    assert solution.status.tolist() == ["out_of_reach", "out_of_reach", "solved", "out_of_reach"]
    assert solution.success.tolist() == [False, False, True, False]
    assert solution.iterations.max() < 0.5 * problem.max_iterations  # a proof ends searches early
    for k in (0, 1, 3):
        proof = solution.proof[k]
        assert proof.proved and proof.kind == "far" and not proof.within_limits
        assert abs(proof.bound - 2.3) < 1e-9 and abs(proof.distance - far[k]) < 1e-9 * far[k]
        assert np.abs(proof.point).max() < 1e-9
        assert abs(solution.position_error[k] - (far[k] - 2.3)) < 1e-6 * far[k]
    assert solution.proof[2] is None
    assert "reach of 3 m" in solution.explain(0) and "2.3 m" in solution.explain(0) and "0.7 m" in solution.explain(0)
    assert str(solution) == "solved        1\nout_of_reach  3"
    beyond = robot.inverse_kinematics(lw.pose((2.0, 0.0, 0.0)), tip)  # its last link along x: 1.5 from the base
    turned = robot.inverse_kinematics(lw.pose((2.0, 0.0, 0.0), rpy=(0.0, 0.0, math.pi)), tip)
    assert beyond.status == "solved" and beyond.proof is None
    assert turned.status == "out_of_reach" and abs(turned.proof.distance - 2.5) < 1e-9
    assert abs(turned.proof.bound - 1.8) < 1e-9 and turned.proof.frame == tip
    joint = robot.joints[-1].name  # its position follows from the target's position and orientation
    assert turned.proof.joint == joint and f"with its orientation, the target needs joint {joint!r}" in turned.message
    assert "orientation_tolerance=np.inf leaves its orientation free" in turned.message
    far = robot.inverse_kinematics(lw.pose((3.0, 0.0, 0.0), rpy=(0.0, 0.0, math.pi)), tip)  # in any orientation
    assert far.proof.joint == "" and abs(far.proof.distance - 3.0) < 1e-9 and abs(far.proof.bound - 2.3) < 1e-9
    assert "orientation_tolerance" not in far.message


def test_ik_targets_in_the_unreachable_hole_about_the_base_have_status_out_of_reach():
    robot, tip = planar((1.0, 0.3, 0.2), 3.2)
    solution = robot.ik_problem(lw.ik.PositionTask(tip, name="place")).solve(place=[[0.1, 0.2, 0.0], [0.3, 0.41, 0.0]])
    near = math.hypot(0.1, 0.2)
    assert solution.status.tolist() == ["out_of_reach", "solved"]
    assert solution.proof[0].kind == "near" and abs(solution.proof[0].bound - 0.5) < 1e-9
    assert abs(solution.proof[0].distance - near) < 1e-9 and abs(solution.position_error[0] - (0.5 - near)) < 1e-6
    assert "minimum is 0.5 m" in solution.explain(0)


def test_ik_targets_off_the_plane_of_a_planar_arm_have_status_out_of_reach():
    robot, tip = planar((1.0, 0.8, 0.5))
    aside = robot.inverse_kinematics(lw.pose((1.0, 0.5, 0.2)), tip)
    turned = robot.inverse_kinematics(lw.pose((1.0, 0.5, 0.0), rpy=(0.3, 0.0, 0.0)), tip)
    assert aside.status == turned.status == "out_of_reach"
    assert aside.proof.kind == "aside" and abs(aside.proof.beyond - 0.2) < 1e-9
    assert turned.proof.kind == "turned" and abs(turned.proof.beyond - 0.3) < 1e-9


def test_ik_failures_name_the_limits_that_prevent_a_solution():
    """Two links of 1 m, 2 cos(½) apart: the elbow has to be at ±1."""
    robot, tip = planar((1.0, 1.0), limits=[(-3.0, 3.0), (-0.4, 0.4)])
    reach = 2.0 * math.cos(0.5)
    positions = [[reach * math.cos(a), reach * math.sin(a), 0.0] for a in (0.0, 1.0, -2.0)]
    solution = robot.ik_problem(lw.ik.PositionTask(tip, name="place")).solve(place=positions)
    assert (solution.status == "at_limits").all() and not solution.success.any()
    for (limit,) in solution.blocking_limits:
        assert limit.joint == "j1" and limit.unit == "rad"
        assert abs(abs(limit.needed) - 1.0) < 1e-5 and limit.bound == math.copysign(0.4, limit.needed)
    assert np.abs(solution.position_error - (2.0 * math.cos(0.2) - reach)).max() < 1e-6
    assert np.abs(np.abs(solution.q[:, 1]) - 0.4).max() == 0.0  # exactly
    assert "'j1' needs" in solution.explain(1)


def test_ik_failure_names_a_short_slide_as_the_limit_that_prevents_a_solution():
    """The range of a slide proves that the target is out of reach within limits."""
    robot = chain_text([("prismatic", "0 0 1", "0 0 0", 0.0, 0.5), ("revolute", "0 0 1", "0 0 0", -3, 3)], "0.7 0 0")
    solution = robot.inverse_kinematics(lw.pose((0.7, 0.0, 2.0)), "l3")
    assert solution.status == "at_limits" and solution.proof.within_limits
    (limit,) = solution.blocking_limits
    assert limit.joint == "j0" and limit.unit == "m" and abs(limit.needed - 2.0) < 1e-6 and limit.bound == 0.5
    assert solution.q[0] == 0.5 and abs(solution.position_error - 1.5) < 1e-6
    assert abs(solution.nearest_pose[2, 3] - 0.5) < 1e-12


def test_ik_failure_names_contradictory_tasks_with_their_multipliers():
    """Two positions for one frame: the least-squares compromise lies between them."""
    tasks = [
        lw.ik.PositionTask("hand", name="here", axes="reference"),
        lw.ik.PositionTask("hand", name="there", axes="reference"),
        lw.ik.OrientationTask("hand", name="turn"),
    ]
    robot = ARM
    X = robot.pose(robot.neutral() + 0.5, "hand")
    position, offset = X[:3, 3], np.array([0.0, 0.03, 0.04])
    solution = robot.ik_problem(tasks).solve(here=position + offset, there=position - offset, turn=X[:3, :3])
    assert solution.status == "infeasible" and solution.success is False and solution.proof is None
    assert set(solution.multipliers) == {"here", "there"}
    pull_here, pull_there = solution.multipliers["here"], solution.multipliers["there"]
    assert np.abs(pull_here + pull_there).max() < 1e-6 * np.abs(pull_here).max()
    assert np.linalg.norm(np.cross(pull_here, offset)) < 1e-5 * np.linalg.norm(pull_here) * np.linalg.norm(offset)
    assert pull_here @ offset < 0.0  # the error of what is to be further up is below zero
    assert abs(solution.position_error - 0.05) < 1e-6
    assert "'here' and 'there' contradict each other" in solution.explain()


@pytest.mark.slow(every=5)
def test_multipliers_of_contradictory_ik_tasks_prove_that_no_solution_exists():
    """Jᵀ λ = 0 and λᵀ e > 0, or no multipliers exist."""
    rng = np.random.default_rng(0)
    for rows, rank in ((6, 3), (4, 4), (5, 1)):
        J = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, 7))
        e = rng.normal(size=rows)
        force = compromise_multipliers(J, e)
        assert (force is None) == (rank == rows)
        assert force is None or (np.abs(J.T @ force).max() < 1e-12 and force @ e > 0.0)
        assert compromise_multipliers(J, 0.0 * e) is None and compromise_multipliers(J, np.nan * e) is None
        assert compromise_multipliers(J, J @ rng.normal(size=7)) is None  # a motion takes all of these errors away
    frame, inf, axes = ARM.frames[-1], np.inf, {"axes": "reference"}
    task_here, task_there = (lw.ik.PositionTask(frame, name=name, **axes) for name in ("here", "there"))
    q = ARM.random_configuration(seed=1, size=4)
    X = ARM.pose(q, frame)
    position = X[:, :3, 3]
    above = lw.ik.Within(task_there, [-inf, -inf, 0.1], inf, name="above")
    posture = lw.ik.PostureTask(name="posture")
    cases = (
        ([task_here, task_there], {"here": position, "there": position + np.array([0.0, 0.0, 0.1])}),
        ([task_here, above], {"here": position, "above": position}),
        ([posture, task_here], {"posture": q, "here": position + np.array([0.0, 0.05, 0.0])}),
    )
    for (tasks, targets), proved in zip(cases, ("infeasible", "not_found", "not_found"), strict=True):
        problem = ARM.ik_problem(tasks)
        solution = problem.solve(**targets)
        indices = [k for k, status in enumerate(solution.status) if status == proved and solution.multipliers[k]]
        assert indices, tasks
        for k in indices:
            assert proved == "infeasible" or "are not satisfied together from" in solution.explain(k)
            pulls = solution.multipliers[k]
            assert set(pulls) == {task.name for task in tasks}
            for pull in pulls.values():
                assert np.isfinite(pull).all() and np.abs(pull).max() > 1e-6


def test_ik_failure_names_the_task_out_of_reach_when_several_tasks_are_solved():
    tasks = [lw.ik.PositionTask("hand", name="far"), lw.ik.OrientationTask("hand", name="turn")]
    solution = ARM.ik_problem(tasks).solve(far=[0.0, 0.0, 5.0], turn=np.eye(3))
    assert solution.status == "out_of_reach" and "'far'" in solution.explain() and solution.proof.kind == "far"


def test_ik_failures_report_singularities_and_exhausted_iterations():
    """A stretched arm with a target along its own line: no small motion reduces the error."""
    robot, tip = planar((1.0, 0.8))
    problem = robot.ik_problem(lw.ik.PositionTask(tip, name="place", axes="reference"), max_iterations=1)
    solution = problem.solve([0.0, 0.0], place=[1.2, 0.0, 0.0])
    assert solution.status == "singular" and not solution.success and solution.proof is None
    assert "no joint moves the tasks along" in solution.explain() and "place: position x" in solution.explain()
    moved = problem.solve([0.0, 0.9], place=[1.2, 0.0, 0.0])
    assert moved.status == "max_iterations" and "after 1 iterations" in moved.explain()
    X = ARM.pose(ARM.neutral() + 0.3, "hand")
    assert ARM.inverse_kinematics(X, "hand", max_iterations=2).status == "max_iterations"


def test_reachable_ik_poses_are_never_proved_out_of_reach():
    """Chains with and without slides."""
    slides = chain_text(
        [
            ("revolute", "0 0 1", "0 0 0.3", -2, 2),
            ("prismatic", "0 1 0", "0.2 0 0", -0.3, 0.4),
            ("revolute", "1 0 0", "0 0.1 0.3", -1, 0.5),
            ("prismatic", "0.6 0 0.8", "0 0.1 0", 0.1, 0.2),
            ("revolute", "0 1 0", "0 0 0.5", -1, 2),
        ],
        "0.1 0.2 0.3",
    )
    for robot, tip in ((ARM, "hand"), (slides, "l6"), planar((1.0, 0.3, 0.2), 1.0)):
        q = robot.random_configuration(seed=4, size=3000)
        q = np.concatenate(
            [q, np.where(np.random.default_rng(0).uniform(size=q.shape) < 0.5, robot.lower, robot.upper)]
        )
        X = robot.pose(q, tip)
        chain = chain_between(robot, tip, "world", robot.neutral(), robot.lower, robot.upper)
        for turned in (True, False):
            assert not any(chain.proofs(X, 0.0, 0.0, turned))


@pytest.mark.slow(every=5)
def test_failed_ik_searches_are_never_reported_as_proofs():
    """No status or proof denies a pose of a configuration within limits."""
    rail = chain_text(
        [
            ("prismatic", "0 1 0", "0 0 0", 0.0, 4000.0),
            ("revolute", "0 0 1", "0 0 400", -2.9, 2.9),
            ("revolute", "0 1 0", "25 0 0", -1.5, 2.3),
            ("revolute", "0 1 0", "0 0 450", -2.5, 1.2),
            ("revolute", "1 0 0", "100 0 35", -3, 3),
            ("revolute", "0 1 0", "320 0 0", -2, 2),
            ("revolute", "1 0 0", "80 0 0", -3.1, 3.1),
        ],
        "60 0 0",
    )
    honest = {"solved", "max_iterations", "local_minimum", "singular", "not_found"}
    arm, bound = lw.load("arm6"), np.full(6, 0.6)
    for robot, tip, limits in ((rail, "l8", (rail.lower, rail.upper)), (arm, "tool", (-bound, bound))):
        rng = np.random.default_rng(0)
        q = rng.uniform(*limits, (1000, robot.nq))
        q = np.where(rng.uniform(size=q.shape) < 0.2, np.where(rng.uniform(size=q.shape) < 0.5, *limits), q)
        for iterations in (5, 20):
            solution = robot.inverse_kinematics(
                robot.pose(q, tip), tip, position_limits=limits, max_iterations=iterations
            )
            assert set(solution.status) <= honest and not any(proof is not None for proof in solution.proof)
    problem = arm.ik_problem(lw.ik.PoseTask("tool", name="X"), position_limits=(-bound, bound))
    assert not any(limits_prevent(problem, {"X": X}, problem.tolerances) for X in arm.pose(q[:300], "tool"))
    beyond = np.random.default_rng(0).uniform(rail.lower, rail.upper, (8, 7))
    solution = rail.inverse_kinematics(
        rail.pose(beyond, "l8"), "l8", position_limits=(0.3 * rail.lower, 0.3 * rail.upper)
    )
    words = [solution.explain(k) for k in range(8) if solution.status[k] == "not_found"]
    assert any("without limits there is one" in text for text in words)


def test_closed_form_ik_proves_that_limits_prevent_all_solutions():
    arm, bound = lw.load("arm6"), np.full(6, 0.6)
    X = arm.pose(arm.random_configuration(seed=1, size=30), "tool")
    solution = arm.inverse_kinematics(X, "tool", position_limits=(-bound, bound), max_iterations=200)
    every = arm.closed_form("tool").branches(X, position_limits=False)
    turned = every.q - 2.0 * np.pi * np.round(every.q / (2.0 * np.pi))
    inside = ((np.abs(turned) <= 0.6).all(axis=-1) & every.valid).any(axis=-1)
    assert (solution.status == "at_limits").sum() > 20 and not inside[solution.status == "at_limits"].any()
    assert all(limits for limits in solution.blocking_limits[solution.status == "at_limits"])
    turning = arm.with_joint(arm.joints[5].with_position_limits_enabled(False))
    limits = [*-bound[:5], -np.inf], [*bound[:5], np.inf]
    solution = turning.inverse_kinematics(X, "tool", position_limits=limits, max_iterations=200)
    inside = ((np.abs(turned[..., :5]) <= 0.6).all(axis=-1) & every.valid).any(axis=-1)
    assert (solution.status == "at_limits").sum() > 10 and not inside[solution.status == "at_limits"].any()


@pytest.mark.parametrize("scale", [1.0, 1.5, 100.0, 1e6])
def test_failed_ik_results_stay_within_limits_and_state_a_reason(scale):
    X = ARM.pose(ARM.random_configuration(seed=6, size=300), "hand")
    X[:, :3, 3] *= scale
    solution = ARM.inverse_kinematics(X, "hand", max_iterations=200)
    assert (solution.q >= ARM.lower).all() and (solution.q <= ARM.upper).all() and np.isfinite(solution.q).all()
    left = np.abs(lw.pose_difference(ARM.pose(solution.q, "hand"), X)).max(axis=-1)
    assert np.array_equal(solution.success, left <= 1e-6) or (left[solution.success] <= 1.01e-6).all()
    assert ((solution.status == "solved") == solution.success).all()
    assert (solution.status != "").all() and (scale < 100.0 or (solution.status == "out_of_reach").all())
    assert scale < 100.0 or all(proof.proved for proof in solution.proof)
    for k in np.flatnonzero(~solution.success)[:20]:
        assert solution.explain(k).startswith(solution.status[k]) and "nan" not in solution.explain(k)


def test_ik_of_arms_with_links_of_length_zero_gives_finite_results():
    robot, tip = planar((0.0, 0.0), 3.0)  # no length at all
    assert robot.inverse_kinematics(lw.pose((0.0, 0.0, 0.0), rpy=(0.0, 0.0, 1.0)), tip).status == "solved"
    far = robot.inverse_kinematics(lw.pose((0.1, 0.0, 0.0)), tip, max_iterations=50)
    assert far.status == "out_of_reach" and far.proof.bound < 1e-12 and abs(far.position_error - 0.1) < 1e-12
    tiny = ARM.inverse_kinematics(
        ARM.pose(ARM.neutral(), "hand"),
        "hand",
        position_tolerance=1e-30,
        orientation_tolerance=1e-30,
        max_iterations=50,
    )
    assert np.isfinite(tiny.q).all() and tiny.success == bool(tiny.position_error <= 1e-30 and tiny.iterations < 50)
    locked = ARM.inverse_kinematics(ARM.pose(ARM.neutral() + 0.3, "hand"), "hand", locked=["elbow"], max_iterations=200)
    assert locked.status == "not_found" and locked.proof is None and "with 'elbow' locked" in locked.explain()
    with pytest.raises(ValueError, match="explain: index: expected 1 integers"):
        ARM.inverse_kinematics(np.tile(np.eye(4), (2, 1, 1)), "hand", max_iterations=5).explain((0, 1))


@pytest.mark.slow(every=5)
def test_failed_ik_solutions_are_as_near_as_the_best_of_a_hundred_random_searches():
    """Projected Levenberg–Marquardt steps in NumPy, from random configurations."""
    robot, tip, starts = lw.load("arm6"), "tool", 100
    X = robot.pose(robot.random_configuration(seed=12, size=40), tip)
    X[:, :3, 3] *= 1.5
    solution = robot.inverse_kinematics(X, tip)
    length = solution.problem.scales[-1]  # of a way, in units in which an angle is 1

    def left(q, X):
        scale = np.repeat([1.0, length], 3)
        return scale * lw.pose_difference(X, robot.pose(q, tip)), scale[:, None] * robot.jacobian(q, tip)

    rng = np.random.default_rng(1)
    q = rng.uniform(robot.lower, robot.upper, (len(X) * starts, robot.nq))
    many, damping = np.repeat(X, starts, axis=0), np.full(len(q), 0.1)
    e, J = left(q, many)
    for _ in range(80):
        A = np.swapaxes(J, 1, 2) @ J + damping[:, None, None] * np.eye(robot.nq)
        step = -np.linalg.solve(A, (np.swapaxes(J, 1, 2) @ e[..., None]))[..., 0]
        step /= np.maximum(np.abs(step).max(axis=1), 1.0)[:, None]
        candidate = np.clip(q + step, robot.lower, robot.upper)
        e_other, J_other = left(candidate, many)
        better = (e_other * e_other).sum(axis=1) < (e * e).sum(axis=1)
        q, e = np.where(better[:, None], candidate, q), np.where(better[:, None], e_other, e)
        J = np.where(better[:, None, None], J_other, J)
        damping = np.clip(np.where(better, 0.4 * damping, 3.0 * damping), 1e-9, 1e9)
    best = np.linalg.norm(e, axis=1).reshape(len(X), starts).min(axis=1)
    far = best > 1e-5
    assert far.sum() >= 4 and np.array_equal(solution.success, ~far)
    mine = np.sqrt(solution.cost[far])
    assert (mine <= 1.01 * best[far]).all() and np.abs(solution.distance[far] * length - mine).max() < 1e-12
    assert set(solution.status[far]) <= {"out_of_reach", "not_found", "at_limits"}


def test_ik_failure_names_a_joint_with_a_target_beyond_its_limit():
    arm = lw.load("arm7")
    solution = arm.ik_problem(lw.ik.JointTask("elbow", target=100.0)).solve()
    assert solution.status == "at_limits"
    (limit,) = solution.blocking_limits
    assert limit.joint == "elbow" and abs(limit.needed - 100.0) <= 1e-5 and limit.bound == arm.joints[3].upper[0]
