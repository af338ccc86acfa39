"""A whole humanoid with a free base: hands, feet and the centre of mass at once."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.ik.algorithms.damped_least_squares import damped_step

FRAMES = ("left_hand", "right_hand", "left_foot", "right_foot")


@pytest.mark.slow(every=5)
def test_ik_of_a_humanoid_reaches_targets_of_hands_feet_and_center_of_mass():
    robot = lw.load("humanoid")
    q = robot.random_configuration(seed=0, size=40)
    targets = {frame: robot.pose(q, frame) for frame in FRAMES} | {"center_of_mass": robot.center_of_mass(q)}
    problem = robot.ik_problem([*(lw.ik.PoseTask(frame) for frame in FRAMES), lw.ik.CenterOfMassTask()])
    solution = problem.solve(**targets)
    assert solution.success.all()
    for frame in FRAMES:
        assert np.abs(lw.pose_difference(robot.pose(solution.q, frame), targets[frame])).max() <= 1.01e-6
    assert np.abs(robot.center_of_mass(solution.q) - targets["center_of_mass"]).max() <= 1e-6
    assert (solution.q >= robot.lower).all() and (solution.q <= robot.upper).all()
    single = problem.solve(**{name: x[7] for name, x in targets.items()})
    assert np.array_equal(single.q, solution.q[7])
    assert sum(problem.kernel.while_loops[0].operations.values()) <= 20_000


def test_ik_with_a_free_base_near_the_guess_needs_no_other_start():
    """The base moves first.  Where it ends, no step of it helps, and the legs move from there."""
    robot = lw.load("quadruped", floating_base=True)
    q = robot.neutral().copy()
    for part, angle in (("flexion", 0.7), ("knee", -1.3)):
        q[robot.q_index([joint.name for joint in robot.joints if part in joint.name])] = angle
    feet = [f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right")]
    problem = robot.ik_problem([lw.ik.CenterOfMassTask(), *map(lw.ik.PositionTask, feet)])
    targets = {foot: robot.pose(q, foot)[:3, 3] for foot in feet}
    directions, lengths = np.random.default_rng(0).normal(size=(4, 1, 3)), np.array([0.002, 0.005, 0.01, 0.02, 0.03])
    moved = lengths[:, None] * directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    solution = problem.solve(q_init=q, center_of_mass=robot.center_of_mass(q) + moved, **targets)
    assert solution.success.all() and not solution.restarts.any()
    assert (np.abs(robot.difference(q, solution.q)).max(axis=-1) < 25.0 * lengths).all()  # a leg is 0.4 m long


def test_damped_least_squares_steps_solved_limb_by_limb_equal_the_dense_solution():
    rng = np.random.default_rng(0)
    J = np.zeros((14, 13))
    J[:, :3] = rng.normal(size=(14, 3))  # what limbs share
    J[:7, 3:8], J[7:, 8:] = rng.normal(size=(7, 5)), rng.normal(size=(7, 5))
    e = rng.normal(size=14)
    for damping in (1e-1, 1e-6):
        step = damped_step(J.tolist(), e.tolist(), damping)
        assert np.abs(step + np.linalg.solve(J.T @ J + damping * np.eye(13), J.T @ e)).max() <= 1e-8
