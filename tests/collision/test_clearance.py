"""Inverse kinematics that keeps clear of a scene: hard, soft, and of scenes that come with the call."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.balls import with_balls


def test_answers_keep_clear() -> None:
    robot = with_balls("arm7")
    scene = lw.Scene().with_sphere("a", 0.15, (0.4, 0.0, 0.5)).with_sphere("b", 0.1, (0.2, 0.3, 0.6))
    q = robot.random_configuration(seed=3, size=60)
    q = q[robot.minimum_distance(q, scene) > 0.02]
    X = robot.pose(q, "hand")
    clear = lw.ik.ClearanceTask(scene, 0.02)
    assert clear == lw.ik.ClearanceTask(scene=scene, at_least=0.02)
    problem = robot.ik_problem([lw.ik.PoseTask("hand"), clear])
    found = problem.solve(hand=X)
    assert found.success.mean() > 0.95
    assert robot.minimum_distance(found.q[found.success], scene).min() > 0.02 - 2e-6
    plain = robot.inverse_kinematics(X, "hand")
    assert (robot.minimum_distance(plain.q, scene) < 0.02).any()
    other = scene.with_pose("a", (0.0, 0.4, 0.6))
    settled = next(task for task in problem.tasks if task.name == "clearance")
    moved = problem.solve(hand=X, clearance=settled.target_for(other))
    assert robot.minimum_distance(moved.q[moved.success], other).min() > 0.02 - 2e-6
    rows = settled.component_names
    assert "clearance: hand" not in rows and "clearance: wrist" in rows
    with pytest.raises(ValueError, match="capacities"):
        settled.target_for(lw.Scene())
    with pytest.raises(TypeError, match="Scene"):
        lw.ik.ClearanceTask(scene="kitchen")
    with pytest.raises(ValueError, match="at_least"):
        lw.ik.ClearanceTask(scene=scene, at_least=np.nan)
    bare = robot
    for link in {link for pair in robot.collision_pairs for link in pair}:
        bare = bare.with_collisions(link)
    with pytest.raises(ValueError, match="collision shapes"):
        bare.ik_problem([lw.ik.ClearanceTask(scene=scene)])
