"""Damped least-squares step: its equation, and its convergence when it is iterated."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.ik.algorithms.levenberg_marquardt import newton_step

ARM = lw.load("arm7")


def test_damped_least_squares_step_minimises_its_cost():
    """Jᵀ(JJᵀ + 1/μ)⁻¹(y − φ), where the gradient of ‖δ‖² + μ‖φ + J δ − y‖² vanishes; μ may be infinite."""
    rng = np.random.default_rng(0)
    for m, n in ((3, 7), (6, 7), (6, 6), (2, 2), (6, 4)):
        J, y = rng.normal(size=(m, n)), rng.normal(size=m)
        for mu in (1e-2, 1.0, 1e4):
            step = np.array(newton_step(J.tolist(), y.tolist(), mu))
            assert np.abs(step - J.T @ np.linalg.solve(J @ J.T + np.eye(m) / mu, y)).max() <= 1e-9
            assert np.abs(step - mu * J.T @ (y - J @ step)).max() <= 1e-8 * max(1.0, mu)
        if m <= n:
            assert np.abs(newton_step(J.tolist(), y.tolist(), np.inf) - np.linalg.pinv(J) @ y).max() <= 1e-9


def test_first_iterate_of_the_damped_ik_solver_is_the_damped_least_squares_step():
    """A position with errors in the axes of the world: y − φ and J are those of textbooks."""
    task = lw.ik.PositionTask("hand", axes="reference")
    problem = ARM.ik_problem(task, solver="damped", position_limits=False, max_iterations=2)
    q, rng = ARM.random_configuration(seed=1), np.random.default_rng(1)
    position = ARM.pose(q, "hand")[:3, 3] + 0.05 * rng.normal(size=3)
    solution = problem.solve(q, hand=position)
    J = ARM.jacobian(q, "hand", expressed_in="world")[3:]
    scale = 2.0 / 0.42  # half the arm's longest way from joint to joint is what a radian is weighed with
    lengths = [np.linalg.norm([*body.placement.translation]) for body in ARM.tree.bodies]
    scale = 2.0 / max(lengths)
    y = scale * (position - ARM.pose(q, "hand")[:3, 3])
    step = (scale * J).T @ np.linalg.solve(scale**2 * J @ J.T + 1e-6 * np.eye(3), y)
    assert np.abs(solution.q - q - step).max() <= 1e-9


def test_damped_least_squares_steps_converge_only_from_nearby_initial_guesses():
    """Near poses are reached, far poses need restarts; success is reported where the pose is reached."""
    q = ARM.random_configuration(seed=4, size=200)
    X = ARM.pose(q, "hand")
    plain = ARM.ik_problem(lw.ik.PoseTask("hand"), solver="damped", max_iterations=100)
    near = plain.solve(np.clip(q + 0.02, ARM.lower, ARM.upper), hand=X)
    far = plain.solve(hand=X)
    assert near.success.mean() >= 0.98 and near.iterations[near.success].max() <= 20
    assert far.success.mean() <= 0.8 and ARM.inverse_kinematics(X, "hand").success.all()
    for result in (near, far):
        left = np.abs(lw.pose_difference(ARM.pose(result.q, "hand"), X)).max(axis=-1)
        assert ((left <= 1.01e-6) == result.success).all()
        assert (result.q >= ARM.lower).all() and (result.q <= ARM.upper).all()
    assert np.array_equal(far.q[7], plain.solve(hand=X[7]).q)


def test_invalid_arguments_of_the_damped_ik_solver_are_refused():
    plain = ARM.ik_problem(lw.ik.PoseTask("hand"), solver="damped")
    X = np.eye(4)
    for call, error, text in (
        (lambda: ARM.ik_problem(lw.ik.PoseTask("hand"), solver="dampd"), ValueError, "damped"),
        (lambda: plain.solve(hand=X, nearest_to=ARM.neutral()), ValueError, "solver='nearest'"),
        (lambda: plain.solve(foot=X, hand=X), UnknownNameError, "no target named 'foot'"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_targets_by_task_may_be_passed_as_one_dict():
    problem = ARM.ik_problem([lw.ik.PoseTask("hand"), lw.ik.JointTask("elbow", name="targets", weight=0.1)])
    plain = ARM.ik_problem([lw.ik.PoseTask("hand"), lw.ik.PositionTask("forearm_distal", weight=0.1)], solver="damped")
    q = ARM.random_configuration(seed=3)
    X, x = ARM.pose(q, "hand"), ARM.pose(q, "forearm_distal")[:3, 3]
    by_name = plain.solve(q, hand=X, forearm_distal=x).q
    assert np.array_equal(plain.solve(q, targets={"hand": X, "forearm_distal": x}).q, by_name)
    assert np.array_equal(plain.solve(q, forearm_distal=x, targets={"hand": X}).q, by_name)
    with pytest.raises(UnknownNameError, match="targets: no target named 'hnd'; did you mean 'hand'"):
        plain.solve(q, targets={"hnd": X})
    with pytest.raises(ValueError, match="hand: expected one target, got one by name"):
        plain.solve(q, hand=X, forearm_distal=x, targets={"hand": X})
    assert "targets" in problem.shapes  # the name of a task
    with pytest.raises(ValueError, match="targets"):
        problem.solve(q, hand=X, targets={"hand": X})
