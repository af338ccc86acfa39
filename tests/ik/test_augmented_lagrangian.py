"""Soft tasks under hard tasks: minima by the Karush-Kuhn-Tucker conditions, and compared with other solvers."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.ik.algorithms.sqp_step import QuadraticPrograms
from linkwork.kinematics.algorithms.coordinates import LimitBox

ARM = lw.load("arm7")
MIDDLE = 0.5 * (ARM.lower + ARM.upper)


def numeric(function, q, h=1e-6):
    """The Jacobian of a function of q, whose joints all have one number."""
    return np.stack([(function(q + h * e) - function(q - h * e)) / (2.0 * h) for e in np.eye(len(q))], axis=-1)


def gradient_left(errors, q, weights, multipliers, lower, upper):
    """Return ∇ of ½ Σ (w e)² + λᵀ c without the components that limits balance, by differences."""
    e, J = errors(q), numeric(errors, q)
    g = J.T @ (weights**2 * e + multipliers)
    g[(q <= lower) & (g > 0.0)] = 0.0
    g[(q >= upper) & (g < 0.0)] = 0.0
    return g


@pytest.mark.slow(every=5)
def test_ik_minima_of_soft_tasks_satisfy_the_kkt_conditions():
    q = ARM.random_configuration(seed=1, size=40)
    X, p = ARM.pose(q, "hand"), ARM.pose(ARM.random_configuration(seed=2, size=40), "forearm_distal")[:, :3, 3]
    problem = ARM.ik_problem([lw.ik.PoseTask("hand"), lw.ik.PositionTask("forearm_distal", weight=(1.0, 2.0, 0.5))])
    assert problem.solver == "augmented"
    solution = problem.solve(hand=X, forearm_distal=p)
    assert solution.feasible.all() and solution.success.mean() >= 0.95
    assert (solution.q >= ARM.lower).all() and (solution.q <= ARM.upper).all()
    for k in np.flatnonzero(solution.success)[:10]:

        def errors(q, k=k):
            X_q = ARM.pose(q, "hand")
            R = X[k, :3, :3].T @ X_q[:3, :3]
            phi = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
            F = ARM.pose(q, "forearm_distal")
            return np.concatenate([phi, X_q[:3, :3].T @ (X_q[:3, 3] - X[k, :3, 3]), F[:3, :3].T @ (F[:3, 3] - p[k])])

        g = gradient_left(errors, solution.q[k], problem.weights, solution.row_multipliers[k], ARM.lower, ARM.upper)
        assert np.abs(g).max() <= 1e-5
        assert np.abs(errors(solution.q[k])[:6]).max() <= 1e-6


def test_ik_joints_not_determined_by_hard_tasks_follow_the_posture_task():
    """The wrist's joints determine a pose in the forearm: met, met within tolerance, or out of reach."""
    q, posture = ARM.random_configuration(seed=3), ARM.random_configuration(seed=4)
    X = np.linalg.inv(ARM.pose(q, "forearm_distal")) @ ARM.pose(q, "hand")
    targets = np.stack([X @ lw.pose([offset, 0.0, 0.0]) for offset in (0.0, 5e-7, 1e-5)])
    locked = ["wrist_flex", "wrist_roll"]
    expected = np.array([*posture[:5], *q[5:]])
    hard, last = lw.ik.PoseTask("hand", relative_to="forearm_distal"), lw.ik.PostureTask(weight=1.0, level=1)
    levels = ARM.ik_problem([hard, last], locked=locked, num_starts=1)
    for solution in (
        ARM.inverse_kinematics(targets, "hand", q_init=q, relative_to="forearm_distal", posture=posture, locked=locked),
        levels.solve(q, hand=targets, posture=posture),
    ):
        assert [str(x) for x in solution.status] == ["local_minimum", "local_minimum", "out_of_reach"]
        assert np.abs(solution.q[:2] - expected).max() <= 1e-9 and (solution.iterations[:2] <= 30).all()


@pytest.mark.slow(every=3)
def test_ik_errors_of_hard_tasks_within_tolerance_stay_if_no_motion_removes_them():
    """Fewer free joints than errors: the target is off by half of the tolerance, also beside a closed loop."""
    for name, frame, locked in (("arm7", "hand", ["shoulder_pan", "elbow"]), ("jansen_leg", "foot_triangle", [])):
        robot = lw.load(name)
        q = robot.random_configuration(seed=3)
        q = robot.assemble(q).q if robot.constraints else q
        target = robot.pose(q, frame) @ lw.pose([5e-7, 0.0, 0.0])
        solution = robot.inverse_kinematics(target, frame, q_init=q, posture=q + 0.1, locked=locked)
        assert solution.success and solution.position_error <= 1e-6 and np.abs(solution.q - q).max() <= 1e-4


def test_ik_posture_in_the_null_space_equals_slsqps():
    optimize = pytest.importorskip("scipy.optimize")
    q0, q = ARM.random_configuration(seed=4, size=30), ARM.random_configuration(seed=1, size=30)
    X = ARM.pose(q, "hand")
    solution = ARM.inverse_kinematics(X, "hand", posture=q0)
    assert solution.feasible.all() and solution.success.mean() >= 0.9 and (solution.position_error <= 1e-6).all()
    for k in np.flatnonzero(solution.success)[:4]:  # from the answer, others find nothing better

        def off(q, k=k):
            return lw.pose_difference(ARM.pose(q, "hand"), X[k])

        better = optimize.minimize(
            lambda q, k=k: 0.5 * np.sum((q - q0[k]) ** 2),
            solution.q[k],
            constraints={"type": "eq", "fun": off},
            bounds=list(zip(ARM.lower, ARM.upper, strict=True)),
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 100},
        )
        assert 0.5 * np.sum((solution.q[k] - q0[k]) ** 2) <= better.fun + 1e-4 or np.abs(off(better.x)).max() > 1e-6
    with pytest.raises(ValueError, match="posture: cannot be combined"):
        ARM.inverse_kinematics(X, "hand", posture=q0, nearest_to=q0)


def test_ik_multipliers_are_nonzero_only_at_active_ranges():
    """The hand above a height: the multiplier is zero where the range is inactive, and pushes up where it is active."""
    q0 = ARM.random_configuration(seed=6, size=20)
    z = ARM.pose(q0, "hand")[:, 2, 3]
    height = float(np.median(z))
    above = lw.ik.Within(
        lw.ik.PositionTask("hand", axes="reference"), (-np.inf, -np.inf, 0.0), np.inf, target=(0.0, 0.0, height)
    )
    problem = ARM.ik_problem([above, lw.ik.PostureTask(weight=1.0)])
    solution = problem.solve(posture=q0)
    assert solution.feasible.all() and solution.success.mean() >= 0.95
    pushes = solution.row_multipliers[:, 2]
    free = solution.success & (z > height + 1e-3)
    assert free.any() and not free.all()
    assert np.abs(pushes[free]).max() <= 1e-9 and np.abs(solution.q[free] - q0[free]).max() <= 1e-6
    assert (pushes[solution.success & (z < height - 1e-3)] < 0.0).all()
    assert (ARM.pose(solution.q, "hand")[:, 2, 3] >= height - 1e-6).all()
    single = problem.solve(q0[3], posture=q0[3])
    assert np.array_equal(single.q, problem.solve(q0, posture=q0).q[3])


@pytest.mark.slow(every=5)
def test_lower_ik_priority_levels_do_not_increase_the_cost_of_higher_levels():
    q, q0 = ARM.random_configuration(seed=1, size=20), ARM.random_configuration(seed=4, size=20)
    position = ARM.pose(q, "hand")[:, :3, 3]
    position[10:] *= 3.0  # where the hand cannot be
    first, then = lw.ik.PositionTask("hand", weight=1.0), lw.ik.PostureTask(weight=1.0, level=1)
    problem = ARM.ik_problem([first, then])
    assert problem.solver == "levels"
    both, alone = problem.solve(hand=position, posture=q0), ARM.ik_problem(first).solve(hand=position)
    reach = [np.linalg.norm(ARM.pose(results.q, "hand")[:, :3, 3] - position, axis=-1) for results in (both, alone)]
    assert both.success.all() and (reach[0] <= reach[1] + 1e-6).all()
    assert (np.linalg.norm(both.q - q0, axis=-1) <= np.linalg.norm(alone.q - q0, axis=-1) + 1e-9).all()
    assert (both.q >= ARM.lower).all() and (both.q <= ARM.upper).all()


@pytest.mark.slow(every=5)
def test_ik_initial_guess_that_is_already_optimal_is_returned():
    """Soft tasks with zero cost, or without effect, end at once at the start."""
    q = ARM.random_configuration(seed=3, size=30)
    X = ARM.pose(q, "hand")
    position, box = {"hand": X[:, :3, 3]}, {"lower": (-5.0,) * 3, "upper": (5.0,) * 3}
    hand, wide = lw.ik.PositionTask("hand"), lw.ik.BoxTask("hand", **box, weight=1.0, name="box")
    large = lw.ik.ManipulabilityTask("hand", part="position", target=1e-9, weight=1.0)
    cases = [
        ([hand, lw.ik.PostureTask(weight=1.0, name="p")], {**position, "p": q}),
        (lw.ik.PositionTask("hand", weight=1.0), position),
        (wide, {}),
        (lw.ik.SupportPolygonTask([(-5, -5), (5, -5), (5, 5), (-5, 5)], weight=1.0), {}),
        (large, {}),
    ]
    for tasks, targets in cases:
        solution = ARM.ik_problem(tasks).solve(q, **targets)
        assert solution.success.all() and solution.feasible.all(), (tasks, solution.success.mean())
        assert np.abs(solution.q - q).max() <= 1e-12 and solution.iterations.max() <= 10, tasks
    posture = ARM.inverse_kinematics(X, "hand", posture=q)
    assert posture.success.all() and np.abs(posture.q - q).max() <= 1e-12
    assert ARM.ik_problem(wide).solve(q[0]).success is True


def test_contradictory_ik_tasks_and_zero_weights_give_finite_results_within_limits():
    """Two positions for one hand, or weights of zero: no NaN, and success only for a solution."""
    far = [lw.ik.PositionTask("hand", name="a"), lw.ik.PositionTask("hand", name="b")]
    problem = ARM.ik_problem([*far, lw.ik.PostureTask(weight=0.0)], max_iterations=200)
    apart = problem.solve(a=[0.4, 0.0, 0.4], b=[0.4, 0.0, 0.6], posture=ARM.neutral())
    assert apart.success is False and apart.feasible is False and np.isfinite(apart.q).all()
    middle = ARM.pose(apart.q, "hand")[:3, 3]
    assert np.abs(middle - [0.4, 0.0, 0.5]).max() <= 1e-3
    same = problem.solve(a=[0.4, 0.0, 0.4], b=[0.4, 0.0, 0.4], posture=ARM.neutral())
    assert same.feasible and np.isfinite(same.q).all()
    assert (apart.q >= ARM.lower).all() and (apart.q <= ARM.upper).all()


@pytest.mark.slow(every=5)
def test_ik_task_with_weight_zero_has_no_effect():
    """A task, or rows of one, with weight zero does not change the solution; its remaining error is reported."""
    position, q0 = [0.4, 0.0, 0.4], ARM.random_configuration(seed=4)
    hand = lw.ik.PositionTask("hand")
    alone = ARM.ik_problem([hand]).solve(hand=position)
    beside = ARM.ik_problem([hand, lw.ik.PostureTask(weight=0.0)]).solve(hand=position, posture=q0)
    assert alone.success and beside.success
    assert np.abs(ARM.pose(beside.q, "hand")[:3, 3] - position).max() <= 1e-6
    np.testing.assert_allclose(np.abs(beside.errors[3:]), np.abs(beside.q - q0), atol=1e-12)
    X = lw.pose((0.4, 0.1, 0.4))
    free = ARM.ik_problem([lw.ik.PoseTask("hand", weight=(0.0, 0.0, 0.0, 1.0, 1.0, 1.0))]).solve(hand=X)
    assert free.success and np.abs(ARM.pose(free.q, "hand")[:3, 3] - X[:3, 3]).max() <= 1e-6


@pytest.mark.light
@pytest.mark.parametrize("seed", range(12))
def test_steps_of_sqp_solve_their_quadratic_programs(seed: int) -> None:
    """Programs with equations, a range and bounds, of which some are active, against another solver."""
    rng, n = np.random.default_rng(seed), 6
    B, J = rng.normal(size=(n, n)), rng.normal(size=(3, n))
    H, g, q = B @ B.T + np.eye(n), 4.0 * rng.normal(size=n), rng.normal(size=n)
    lower, upper = q - rng.uniform(0.2, 1.0, n), q + rng.uniform(0.2, 1.0, n)
    errors = -J @ rng.uniform(0.5 * (lower - q), 0.5 * (upper - q))
    low, high = errors[2] - 0.3, errors[2] + 0.1
    bounded = {k: k for k in ((0, 2, 3, 5) if seed % 4 else ())}  # of the others no bound counts
    programs = QuadraticPrograms(range(n), LimitBox(bounded, lower, upper), {2: (low, high)}, rounds=20)
    result = programs.solve(
        H.tolist(), g.tolist(), J.tolist(), errors.tolist(), 0.0, q.tolist(), [0.0] * len(bounded), [0.0]
    )
    free = [k for k in range(n) if k not in bounded]
    lower[free], upper[free] = -np.inf, np.inf
    least, most = (np.array([0.0, 0.0, end]) - errors for end in (low, high))
    expected = lw.quadratic_program(
        H, g, J, lower=least, upper=most, x_lower=lower - q, x_upper=upper - q, tolerance=1e-12
    )
    assert expected.status == 0 and np.abs(expected.x - result.step).max() < 1e-8
    sides = (expected.x > (upper - q - 1e-9)) * 1.0 - (expected.x < lower - q + 1e-9)
    assert result.bound_sides == [sides[k] for k in bounded]
    assert result.range_sides == [expected.active[2]]
    stationary = H @ result.step + g + J.T @ result.multipliers
    assert np.abs(stationary[sides == 0.0]).max() < 1e-9
