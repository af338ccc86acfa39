"""Nearest configurations at a pose: optimality conditions, other solvers, closed forms of planar arms."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import linkwork as lw
from linkwork.ik.multiple_solutions import _nearest_revolution

ARM = lw.load("arm7")
ARM6 = lw.load("arm6")
TURN = 2.0 * math.pi


def planar(*lengths):
    return lw.Robot.from_dh(
        f"planar{len(lengths)}",
        [{"a": a, "alpha": 0.0, "d": 0.0, "theta": 0.0} for a in lengths],
        convention="standard",
    )


def hand_of(robot):
    return robot.frames[-1].name if hasattr(robot.frames[-1], "name") else robot.frames[-1]


def stationary(robot, frame, q, near, lower, upper):
    """Return violations of the Karush-Kuhn-Tucker conditions: of free joints, and of signs at limits."""
    J, g = robot.jacobian(q, frame), q - near
    at_low, at_high = q <= lower, q >= upper
    free = ~(at_low | at_high)
    forces = np.linalg.lstsq(J[:, free].T, -g[free], rcond=None)[0]
    slopes = g + J.T @ forces
    pressed = max([0.0, *-slopes[at_low], *slopes[at_high]])
    return np.abs(slopes[free]).max(initial=0.0), pressed, int((at_low | at_high).sum())


def test_ik_solutions_nearest_to_a_reference_satisfy_the_optimality_conditions():
    """On seven axes, with solutions at limits; all reach their pose."""
    X = ARM.pose(ARM.random_configuration(seed=1, size=300), "hand")
    near = ARM.random_configuration(seed=2, size=300)
    solution = ARM.inverse_kinematics(X, "hand", nearest_to=near)
    assert solution.success.all() and (solution.q >= ARM.lower).all() and (solution.q <= ARM.upper).all()
    assert np.abs(lw.pose_difference(ARM.pose(solution.q, "hand"), X)).max() <= 1e-8
    residuals = [stationary(ARM, "hand", q, p, ARM.lower, ARM.upper) for q, p in zip(solution.q, near, strict=True)]
    off, pressed, stopped = (np.array(x) for x in zip(*residuals, strict=True))
    assert (stopped > 0).mean() > 0.3
    assert off.max() <= 1e-8
    assert pressed.max() <= 1e-6


def test_ik_reference_that_reaches_the_pose_is_its_own_nearest_solution():
    q = ARM.random_configuration(seed=5, size=50)
    solution = ARM.inverse_kinematics(ARM.pose(q, "hand"), "hand", nearest_to=q)
    assert solution.success.all() and np.abs(solution.q - q).max() <= 1e-7


@pytest.mark.slow(every=5)
def test_nearest_ik_solutions_are_no_farther_than_those_of_slsqp_from_many_starts(drawn):
    """SciPy's SLSQP from q₀ and from random starts, on six axes."""
    lower, upper = np.maximum(ARM6.lower, -3.0), np.minimum(ARM6.upper, 3.0)
    rng = np.random.default_rng(0)
    q = np.clip(ARM6.random_configuration(seed=3, size=6), lower, upper)
    near = np.clip(q + rng.normal(size=q.shape), lower, upper)
    X = ARM6.pose(q, "tool")
    solution = ARM6.inverse_kinematics(X, "tool", nearest_to=near, position_limits=(lower, upper))
    assert solution.success.all()
    for k in drawn(range(len(q))):

        def left(x, k=k):
            return lw.pose_difference(X[k], ARM6.pose(x, "tool"))

        best = np.inf
        for start in [near[k], *rng.uniform(lower, upper, (8, 6))]:
            got = minimize(
                lambda x, k=k: 0.5 * np.sum((x - near[k]) ** 2),
                start,
                jac=lambda x, k=k: x - near[k],
                method="SLSQP",
                bounds=list(zip(lower, upper, strict=True)),
                constraints={"type": "eq", "fun": left},
                options={"maxiter": 100, "ftol": 1e-12},
            )
            if np.abs(left(got.x)).max() < 1e-6:
                best = min(best, np.linalg.norm(got.x - near[k]))
        assert np.linalg.norm(solution.q[k] - near[k]) <= best * (1.0 + 1e-6) + 1e-6


def two_bars(x, y, a, b):
    """Both (q1, q2) of a planar arm that reaches a place."""
    c = (x * x + y * y - a * a - b * b) / (2.0 * a * b)
    if abs(c) > 1.0:
        return []
    return [
        np.array([math.atan2(y, x) - math.atan2(b * math.sin(e), a + b * math.cos(e)), e])
        for e in (math.acos(c), -math.acos(c))
    ]


def nearest_turns(q, near):
    return q - TURN * np.round((q - near) / TURN)


def test_nearest_ik_solution_of_two_bar_arms_equals_the_closed_form():
    """Two elbows, each with whole turns."""
    robot = planar(0.5, 0.4)
    problem = robot.ik_problem(lw.ik.PositionTask(hand_of(robot), axes="reference", name="place"), solver="nearest")
    rng = np.random.default_rng(1)
    near = rng.uniform(-9.0, 9.0, (60, 2))
    q = rng.uniform(-3.0, 3.0, (60, 2))
    position = robot.pose(q, hand_of(robot))[:, :3, 3]
    solution = problem.solve(nearest_to=near, place=position)
    assert solution.success.all()
    for k in range(60):
        all_ = [nearest_turns(x, near[k]) for x in two_bars(*position[k, :2], 0.5, 0.4)]
        best = min(all_, key=lambda x, k=k: np.linalg.norm(x - near[k]))
        assert np.linalg.norm(solution.q[k] - near[k]) <= np.linalg.norm(best - near[k]) + 1e-6


def test_nearest_ik_solution_of_three_bar_arms_equals_that_of_a_scan():
    """One angle is free: a refined scan of it with both elbows."""
    a, b, c = 0.5, 0.4, 0.3
    robot = planar(a, b, c)
    problem = robot.ik_problem(lw.ik.PositionTask(hand_of(robot), axes="reference", name="place"), solver="nearest")
    rng = np.random.default_rng(2)
    near, q = rng.uniform(-2.0, 2.0, (2, 12, 3))
    position = robot.pose(q, hand_of(robot))[:, :3, 3]
    solution = problem.solve(nearest_to=near, place=position)
    assert solution.success.all()
    for k in range(12):
        x, y = position[k, :2]

        def distance(angle, side, k=k, x=x, y=y):
            elbows = two_bars(x - a * math.cos(angle), y - a * math.sin(angle), b, c)
            if not elbows:
                return 1e3
            candidate = np.array([angle, elbows[side][0] - angle, elbows[side][1]])
            return float(np.linalg.norm(nearest_turns(candidate, near[k]) - near[k]))

        angles = np.linspace(-math.pi, math.pi, 4001)
        best = min((distance(t, side), t, side) for t in angles for side in (0, 1))
        own_distance = np.linalg.norm(solution.q[k] - near[k])
        assert own_distance <= best[0] + 1e-9  # a scan is never nearer
        assert own_distance >= best[0] - 2e-3  # and all but as near


def test_nearest_ik_solutions_use_full_turns_within_limits():
    """Limits of two turns permit the nearest revolution, tighter limits another revolution."""
    robot = planar(0.5, 0.4)
    frame = hand_of(robot)
    X = robot.pose([0.3, 0.8], frame)
    for near, limits, expected in (
        ([6.0, 0.5], ([-TURN] * 2, [TURN] * 2), [0.3 + TURN if 0.3 + TURN <= TURN else 0.3, 0.8]),
        ([-5.5, 7.0], ([-7.0] * 2, [7.5] * 2), [0.3 - TURN, 0.8 + TURN]),
        ([-5.5, 7.0], ([-5.0, -7.0], [7.5, 7.0]), [0.3, 0.8]),
    ):
        solution = robot.inverse_kinematics(X, frame, nearest_to=np.array(near), position_limits=limits)
        assert solution.success and np.abs(solution.q - expected).max() <= 1e-6


def test_nearest_ik_solutions_are_equal_in_batches_and_on_any_threads():
    X = ARM.pose(ARM.random_configuration(seed=6, size=40), "hand")
    near = ARM.random_configuration(seed=7, size=40)
    threads, many = lw.get_num_threads(), []
    try:
        for count in (1, 2):
            lw.set_num_threads(count)
            many.append(ARM.inverse_kinematics(X, "hand", nearest_to=near))
    finally:
        lw.set_num_threads(threads)
    assert np.array_equal(many[0].q, many[1].q)
    for k in (0, 13, 39):
        for _ in range(2):  # what is made once, and after it
            single = ARM.inverse_kinematics(X[k], "hand", nearest_to=near[k])
            assert np.array_equal(single.q, many[0].q[k]) and single.iterations == many[0].iterations[k]


def test_nearest_ik_solutions_keep_locked_joints_at_the_seed():
    q = ARM.random_configuration(seed=8, size=10)
    near = q + 0.1
    name, index = ARM.joints[2].name, ARM.joints[2].q_slice
    solution = ARM.inverse_kinematics(
        ARM.pose(q, "hand"), "hand", q_init=q, nearest_to=near, locked=[name], position_limits=False
    )
    assert solution.success.all() and np.array_equal(solution.q[:, index], q[:, index])
    assert (np.linalg.norm(solution.q - near, axis=1) <= np.linalg.norm(q - near, axis=1) + 1e-9).all()


def test_unreachable_poses_have_no_ik_solution_nearest_to_a_reference():
    near = ARM.random_configuration(seed=9)
    solution = ARM.inverse_kinematics(lw.pose((50.0, 0.0, 0.0)), "hand", nearest_to=near, max_iterations=200)
    assert not solution.success and np.isfinite(solution.q).all() and solution.iterations == 200
    assert (solution.q >= ARM.lower).all() and (solution.q <= ARM.upper).all() and solution.position_error > 40.0


def test_invalid_reference_configurations_of_ik_are_refused():
    X = ARM.pose(ARM.neutral(), "hand")
    for near, text in ((np.zeros(3), "nearest_to"), (np.full(7, np.nan), "nearest_to"), (np.full(7, np.inf), "finite")):
        for _ in range(2):
            with pytest.raises(ValueError, match=text):
                ARM.inverse_kinematics(X, "hand", nearest_to=near)
    with pytest.raises(ValueError, match="broadcast"):
        ARM.inverse_kinematics(np.tile(X, (3, 1, 1)), "hand", nearest_to=np.zeros((2, 7)))


def test_nearest_ik_solutions_of_arms_with_closed_form_are_no_farther_than_their_branches():
    """A single solution equals that of a batch."""
    q, near = (ARM6.random_configuration(seed=seed, size=60) for seed in (1, 2))
    X = ARM6.pose(q, "tool")
    solution = ARM6.inverse_kinematics(X, "tool", nearest_to=near)
    branches = ARM6.closed_form("tool").branches(X, q_init=near)
    away = np.where(branches.valid, ((branches.q - near[:, None]) ** 2).sum(axis=-1), np.inf).min(axis=1)
    assert solution.success.all() and (((solution.q - near) ** 2).sum(axis=-1) <= away * (1.0 + 1e-6)).all()
    for k in (0, 59):
        assert np.array_equal(ARM6.inverse_kinematics(X[k], "tool", nearest_to=near[k]).q, solution.q[k])


def test_periodic_coordinates_are_shifted_to_the_nearest_revolution_within_limits():
    """The coordinate q + 2π k within the limits that is nearest to the initial guess, by trial of all k."""
    rng = np.random.default_rng(0)
    problem = SimpleNamespace(lower=np.array([-9.0, -9.0, -2.0]), upper=np.array([8.0, 8.0, 20.0]))
    q, start = rng.uniform(-2.0, 2.0, (40, 3)), rng.uniform(-16.0, 16.0, (40, 3))
    result = _nearest_revolution(problem, q, start, np.array([1.0, 0.0, 1.0]))
    for k in (0, 2):
        shifted = q[:, k, None] + math.tau * np.arange(-5, 6)
        shifted = np.where((shifted >= problem.lower[k]) & (shifted <= problem.upper[k]), shifted, np.inf)
        nearest = np.abs(shifted - start[:, k, None]).argmin(axis=1)
        assert np.allclose(result[:, k], shifted[np.arange(40), nearest], rtol=0.0, atol=1e-12)
    assert np.array_equal(result[:, 1], q[:, 1]) and (np.abs(result - q) > 6.0).sum() > 20
