"""Inverse kinematics with clearance from a scene: hard, soft, and with scenes that are passed in the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.balls import with_balls
from linkwork.collision.algorithms import pairwise_distances
from linkwork.collision.kernels import select_pairs


def test_clearance_tasks_keep_the_robot_away_from_obstacles() -> None:
    robot = with_balls("arm7")
    scene = lw.Scene().with_sphere("a", 0.15, (0.4, 0.0, 0.5)).with_sphere("b", 0.1, (0.2, 0.3, 0.6))
    q = robot.random_configuration(seed=3, size=60)
    q = q[robot.minimum_distance(q, scene) > 0.02]
    X = robot.pose(q, "hand")
    clear = lw.ik.ClearanceTask(scene, 0.02)
    assert clear == lw.ik.ClearanceTask(scene=scene, at_least=0.02)
    problem = robot.ik_problem([lw.ik.PoseTask("hand"), clear])
    solution = problem.solve(hand=X)
    assert solution.success.mean() > 0.95
    assert robot.minimum_distance(solution.q[solution.success], scene).min() > 0.02 - 2e-6
    plain = robot.inverse_kinematics(X, "hand")
    assert (robot.minimum_distance(plain.q, scene) < 0.02).any()
    moved_scene = scene.with_pose("a", (0.0, 0.4, 0.6))
    settled = next(task for task in problem.tasks if task.name == "clearance")
    moved = problem.solve(hand=X, clearance=settled.target_for(moved_scene))
    assert robot.minimum_distance(moved.q[moved.success], moved_scene).min() > 0.02 - 2e-6
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


@pytest.mark.parametrize("together", [True, False])
def test_distances_of_a_batch_equal_distances_of_single_configurations(
    monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    """Numbers of several samples are evaluated for all pairs of two kinds together, or in loops over pairs."""
    robot = lw.load("arm7") if together else with_balls("arm7")
    scene = lw.Scene().with_sphere("a", 0.15, (0.4, 0.0, 0.5)).with_box("b", (0.2, 0.1, 0.3), (0.3, 0.3, 0.4))
    scene = scene.with_half_space("ground")
    if not together:
        monkeypatch.setattr(pairwise_distances, "_are_batches", lambda *_: False)
    selection = select_pairs(robot.tree, "distances", scene, None, None)
    rows = {kind: selection.scene.rows[kind] for kind, _ in selection.spec.capacities}

    def nearby(q: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        pairs = selection.spec.pairs, selection.spec.shapes
        distances, gradients = pairwise_distances.nearby_distances(robot.tree, q, *pairs, rows, 0.2)
        shape = np.broadcast_shapes(*map(np.shape, q))
        every = [[distance, *gradient] for distance, gradient in zip(distances, gradients, strict=True)]
        values = np.array([[np.broadcast_to(x, shape) for x in row] for row in every])
        return values[:, 0], values[:, 1:]

    q = robot.random_configuration(seed=2, size=3)
    result = nearby(list(q.T))
    for k, sample in enumerate(q):
        alone = nearby([float(x) for x in sample])
        for many, single in zip(result, alone, strict=True):
            np.testing.assert_array_equal(many[..., k], single)


def test_distances_of_a_batch_for_one_pair_of_different_shapes_equal_those_of_single_configurations() -> None:
    robot = lw.load("arm7")
    for link in {link for pair in robot.collision_pairs for link in pair}:
        robot = robot.with_collisions(link)
    robot = robot.with_attached("ball", "hand", lw.shapes.Sphere(0.07), (0.02, -0.03, 0.05))
    robot = robot.with_attached(
        "crate", "base", lw.shapes.Box((0.2, 0.1, 0.3)), lw.pose((0.3, 0.4, 0.5), rpy=(1, 2, 3))
    )
    selection = select_pairs(robot.tree, "distances", None, None, None)
    q = robot.random_configuration(seed=2, size=3)
    (many,), _ = pairwise_distances.nearby_distances(
        robot.tree, list(q.T), selection.spec.pairs, selection.spec.shapes, {}, 5.0
    )
    np.testing.assert_allclose(many, robot.minimum_distance(q), rtol=0, atol=1e-12)
