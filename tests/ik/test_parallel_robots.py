"""Parallel robots: a pose of the platform is reached, and loops hold without being named."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import hexapod
from linkwork.model.periodic_coordinates import periodic_coordinates


def test_ik_of_a_delta_robot_reaches_platform_positions():
    robot = lw.load("delta")
    q = robot.neutral()  # at which its loops are closed
    p = robot.pose(q, "platform")[:3, 3]
    target = p + np.random.default_rng(0).uniform(-0.05, 0.05, (20, 3))
    solution = robot.ik_problem(lw.ik.PositionTask("platform")).solve(q, platform=target)
    assert solution.success.all()
    assert np.abs(robot.constraint_error(solution.q)).max() <= 1e-8
    X = robot.pose(solution.q, "platform")
    assert np.linalg.norm(X[:, :3, 3] - target, axis=-1).max() <= 1e-6
    assert np.abs(X[:, :3, :3] - robot.pose(q, "platform")[:3, :3]).max() <= 1e-6  # it cannot turn
    assert (solution.q >= robot.lower).all() and (solution.q <= robot.upper).all()
    assert np.abs(robot.normalize(solution.q) - solution.q).max() <= 1e-12


@pytest.mark.slow(every=5)
def test_ik_of_a_stewart_platform_reaches_poses():
    robot = lw.load("stewart")
    q = robot.neutral()  # at which its loops are closed
    rng = np.random.default_rng(1)
    X = robot.pose(q, "platform") @ np.array(
        [lw.pose(rng.uniform(-0.03, 0.03, 3), rpy=rng.uniform(-0.1, 0.1, 3)) for _ in range(10)]
    )
    solution = robot.inverse_kinematics(X, "platform", q_init=q)
    assert solution.success.all() and np.abs(robot.constraint_error(solution.q)).max() <= 1e-8
    assert np.abs(robot.pose(solution.q, "platform") - X).max() <= 2e-6
    assert (solution.q >= robot.lower).all() and (solution.q <= robot.upper).all()


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["delta", "stewart", "hexapod"])
def test_ik_solutions_of_parallel_robots_stay_in_the_assembly_and_revolutions_of_the_guess(name):
    """Near targets move the joints by the Jacobian's prediction, on any revolution."""
    robot = hexapod() if name == "hexapod" else lw.load(name)
    q = robot.assemble(hold={"carried": [1, 0, 0, 0, 0, 0, 0.8]}).q if name == "hexapod" else robot.neutral()
    moved = np.random.default_rng(2).uniform(-0.02, 0.02, (30, 3))
    X = np.array([lw.pose(p) for p in moved]) @ robot.pose(q, "platform")
    G, J = robot.constraint_jacobian(q), robot.jacobian(q, "platform")
    velocity = np.concatenate([np.zeros((30, 3 + len(G))), moved], axis=-1)
    v = np.linalg.lstsq(np.concatenate([G, J]), velocity.T, rcond=1e-9)[0].T
    turned = np.array(q)
    turned[:4] *= -1.0  # the other quaternion
    turned[periodic_coordinates(robot.tree).in_q & np.isinf(robot.upper)] += 4.0 * np.pi
    for guess in (q, turned):
        solution = robot.inverse_kinematics(X, "platform", q_init=guess)
        assert solution.success.all()
        assert np.abs(robot.difference(guess, solution.q) - v).max() < 2e-2
        assert np.abs(solution.q - guess).max() < 0.2
