"""Soft tasks: the least cost is reached if it is zero, and the remaining errors are reported otherwise."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize

import linkwork as lw
from helpers.arms import planar
from linkwork.ik import soft_restarts

ARM = lw.load("arm7")


@pytest.mark.parametrize(("name", "frame"), [("arm7", "hand"), ("arm6", "tool"), ("quadruped", "hind_right_shank")])
def test_soft_ik_tasks_reach_reachable_poses(name, frame):
    """Without restarts, one target in five to ten ends in a local minimum."""
    robot = lw.load(name)
    X = robot.pose(robot.random_configuration(seed=1, size=120), frame)
    problem = robot.ik_problem(lw.ik.PoseTask(frame, weight=1.0, name="X"))
    solution = problem.solve(X=X)
    assert np.abs(lw.pose_difference(robot.pose(solution.q, frame), X)).max() <= 1e-6
    assert (solution.status == "solved").all() and solution.success.all() and solution.soft_cost.max() <= 1e-12
    assert (solution.q >= robot.lower).all() and (solution.q <= robot.upper).all()
    alone = robot.ik_problem(lw.ik.PoseTask(frame, weight=1.0, name="X"), num_starts=1).solve(X=X)
    left = np.abs(lw.pose_difference(robot.pose(alone.q, frame), X)).max(axis=-1)
    assert 0.05 < (left > 1e-3).mean() < 0.5
    assert (alone.status[(left > 1e-3) & alone.success] == "local_minimum").all()
    first = left <= 1e-7  # what the seed leads to is kept, and costs no step more
    assert np.array_equal(solution.q[first], alone.q[first])
    assert np.array_equal(solution.iterations[first], alone.iterations[first])


@pytest.mark.slow(every=5)
def test_remaining_errors_of_soft_ik_tasks_are_reported():
    problem = ARM.ik_problem(lw.ik.PositionTask("hand", weight=2.0))
    solution = problem.solve(hand=[[3.0, 0.0, 0.5], [0.3, 0.3, 0.3]])
    assert solution.status.tolist() == ["local_minimum", "solved"] and solution.success.all()
    left = np.linalg.norm(ARM.pose(solution.q, "hand")[:, :3, 3] - [[3.0, 0.0, 0.5], [0.3, 0.3, 0.3]], axis=-1)
    assert np.abs(solution.soft_position_error - left).max() <= 1e-12 and left[0] > 1.0
    assert np.abs(solution.soft_cost - 0.5 * np.square(2.0 * left)).max() <= 1e-12
    assert (solution.soft_orientation_error == 0.0).all() and (solution.position_error == 0.0).all()
    assert (
        f"{left[0]:.4g} m" in solution.explain(0)
        and "'hand'" in solution.explain(0)
        and "starts" in solution.explain(0)
    )
    single = problem.solve(hand=[3.0, 0.0, 0.5])
    assert single.status == "local_minimum" and single.restarts == 47 and f"{left[0]:.3g} m" in repr(single)


@pytest.mark.slow(every=5)
def test_more_random_starts_never_increase_the_cost_of_soft_ik_tasks():
    X = ARM.pose(ARM.random_configuration(seed=2, size=10), "hand")
    tasks = [lw.ik.PoseTask("hand", weight=1.0), lw.ik.PostureTask(weight=1e-2)]
    costs = []
    for starts in (1, None, 40):
        solution = ARM.ik_problem(tasks, num_starts=starts).solve(hand=X, posture=ARM.neutral())
        costs.append(solution.soft_cost)
        assert solution.success.all()
    assert (costs[1] <= costs[0] * (1.0 + 1e-6)).all() and (costs[2] <= costs[1] * (1.0 + 1e-6)).all()
    assert (costs[2] < 0.5 * costs[0]).any()
    levels = [lw.ik.PoseTask("hand", weight=1.0), lw.ik.PostureTask(weight=1.0, level=1)]
    solution = ARM.ik_problem(levels).solve(hand=X, posture=ARM.neutral())
    assert np.abs(lw.pose_difference(ARM.pose(solution.q, "hand"), X)).max() <= 1e-3


@pytest.mark.slow(every=5)
def test_ik_solutions_with_priority_levels_are_minima_of_each_level():
    """SciPy finds no lower cost nearby, with higher levels at a large weight."""
    frames = {"hand": "hand", "elbow": "forearm_distal", "upper": "upper_arm_distal"}
    tasks = [
        lw.ik.PositionTask(frame, name=name, weight=1.0, level=k) for k, (name, frame) in enumerate(frames.items())
    ]
    problem, rng, successes = ARM.ik_problem(tasks, num_starts=1), np.random.default_rng(0), 0
    bounds = np.stack([ARM.lower, ARM.upper], axis=1)
    for _ in range(30):
        q, reach = ARM.random_configuration(rng), (1.5, 1.0, 1.0)
        targets = {name: rng.uniform(-far, far, 3) for name, far in zip(frames, reach, strict=True)}
        solution = problem.solve(q, **targets)
        assert solution.success == (solution.status in ("solved", "local_minimum"))
        successes += solution.success
        for weights in ((1.0, 0.0), (1e4, 1.0)) if solution.success else ():

            def cost(q, weights=weights, targets=targets):
                errors = [ARM.pose(q, frames[name])[:3, 3] - targets[name] for name in ("hand", "elbow")]
                return sum(w * np.square(e).sum() for w, e in zip(weights, errors, strict=True))

            lower = scipy.optimize.minimize(cost, solution.q, bounds=bounds, method="L-BFGS-B")
            assert lower.fun >= cost(solution.q) * (1.0 - 1e-3) - 1e-6
    assert successes > 20


@pytest.mark.slow(every=5)
def test_ik_names_a_task_function_that_returns_nan():
    for weight in (None, 1.0):
        task = lw.ik.FunctionTask("odd", lambda k: np.sqrt(-1.0 - k.point("hand")[2] ** 2), weight=weight)
        solution = ARM.ik_problem(task, max_iterations=200).solve()
        assert solution.status == "not_finite" and not solution.success and "'odd'" in solution.explain()


def test_ik_names_the_states_of_a_batch_with_nan_errors():
    robot, tip = planar((1.0, 0.8))
    even = lw.ik.FunctionTask("even", lambda k, x: k.point(tip)[0] - 0.5 * x[0] * x[1], shape=(2,))
    odd = lw.ik.FunctionTask("odd", lambda k, x: np.sqrt(x[0]) * k.point(tip)[1] - 0.5 * x[1], shape=(2,))
    solution = robot.ik_problem([even, odd]).solve(even=[1.0, 1.0], odd=[[1.0, 1.0], [4.0, 2.0], [-1.0, 1.0]])
    assert solution.status.tolist() == ["solved", "solved", "not_finite"]
    assert "'odd'" in solution.explain(2) and "'even'" not in solution.explain(2)


@pytest.mark.slow(every=5)
def test_ik_advises_raising_max_iterations_only_if_it_helps():
    """More iterations do not help a method without restarts that has stopped."""
    X = ARM.pose(ARM.random_configuration(seed=1, size=40), "hand")
    for solver in ("projection", "damped"):
        solution = ARM.ik_problem(lw.ik.PoseTask("hand"), solver=solver, max_iterations=50).solve(hand=X)
        more = ARM.ik_problem(lw.ik.PoseTask("hand"), solver=solver, max_iterations=20_000).solve(hand=X)
        stuck = ~solution.success & ~more.success
        assert stuck.sum() >= 3 and set(solution.status[stuck]) <= {"local_minimum", "singular"}
        for k in np.flatnonzero(~solution.success):
            assert ("iterations find a solution" in solution.explain(k)) == bool(more.success[k])


@pytest.mark.slow(every=9)
def test_minima_of_soft_ik_tasks_do_not_depend_on_the_unit_of_weights():
    """Also with a hard task, whose first penalty follows from the weights."""
    q = ARM.random_configuration(seed=3, size=5)
    positions, known = ARM.pose(q, "hand")[:, :3, 3], None
    for unit in (1.0, 1e-9, 1e9):
        tasks = [lw.ik.PositionTask("hand"), lw.ik.PostureTask(weight=unit, target=ARM.neutral())]
        solution = ARM.ik_problem(tasks, num_starts=1).solve(q + 0.1, hand=positions)
        known = solution if known is None else known
        assert solution.success.all() and np.array_equal(solution.status, known.status)
        assert np.abs(solution.q - known.q).max() < 1e-6


def test_better_of_two_ik_results_has_the_lower_cost_in_the_first_differing_level():
    """Both satisfy the hard tasks; costs equal up to 1e-6 count as equal."""
    costs = SimpleNamespace(costs=lambda errors: errors, negligible_costs=lambda: [1e-12, 1e-12])
    mine = np.array([[1.0, 2.0]] * 6)
    costs_b = np.array([[0.9, 3.0], [1.1, 0.1], [1.0, 1.9], [1.0, 2.1], [1.0 + 5e-7, 2.0 - 1e-6], [1.0, 2.0 - 3e-6]])
    solved = np.ones((6, len(soft_restarts.DIAGNOSTICS)))
    better, same = soft_restarts._compare(costs, solved, mine, solved, costs_b)
    assert better.tolist() == [True, False, True, False, False, True]
    assert same.tolist() == [False, False, False, False, True, False]
