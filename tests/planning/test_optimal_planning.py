"""Asymptotically optimal planning: paths converge to the shortest, which is known around a box, and never lengthen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import linkwork as lw
from helpers.gantry import gantry
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.search.informed_planner import InformedSamples, length_bounds
from linkwork.planning.search.neighbor_graph import Adjacency, ShortestLengths, components, near_pairs

WIDE, TALL, WIDTH = 1.0, 1.3, 0.1  # the box, and what moves around it [m]


ROBOT = gantry()
SCENE = lw.Scene().with_box("box", (WIDE - WIDTH, TALL - WIDTH, 1.0))
START, GOAL = np.array([-1.5, 0.1]), np.array([1.5, -0.1])


def _shortest() -> float:
    """A box about a box is a box, and a string pulled tight around it touches corners alone."""
    paths = []
    for side in (-0.5, 0.5):
        a, b = np.array([-0.5 * WIDE, side * TALL]), np.array([0.5 * WIDE, side * TALL])
        paths.append(np.linalg.norm(a - START) + WIDE + np.linalg.norm(GOAL - b))
    return float(min(paths))


@pytest.mark.slow(every=9)
def test_optimal_planner_converges_to_the_shortest_path_around_a_box():
    best = _shortest()
    for seed in range(2):
        first = ROBOT.plan(START, GOAL, SCENE, seed=seed)
        plan = ROBOT.plan(START, GOAL, SCENE, seed=seed, method="optimal", max_iterations=20, time_limit=300.0)
        costs = [entry.cost for entry in plan.history]
        assert plan.status == "solved" and plan.cost == costs[-1] <= first.cost == costs[0]
        assert all(b < a for a, b in itertools.pairwise(costs))
        assert all(a.iterations <= b.iterations <= 20 for a, b in itertools.pairwise(plan.history))
        assert best < plan.cost < best * 1.001
        assert plan.cost == pytest.approx(np.linalg.norm(np.diff(plan.path, axis=0), axis=1).sum())
        again = ROBOT.plan(START, GOAL, SCENE, seed=seed, method="optimal", max_iterations=20, time_limit=300.0)
        assert np.array_equal(again.path, plan.path)
        for a, b in itertools.pairwise(plan.path):  # inside of the grown box nothing is free
            inside = a + np.linspace(0, 1, 2000)[:, None] * (b - a)
            assert not ((np.abs(inside) < 0.5 * np.array([WIDE, TALL])).all(axis=1)).any()


@pytest.mark.slow(every=5)
def test_optimal_planner_selects_straight_paths_and_the_nearest_goal():
    goals = np.array([[1.5, 1.5], [-1.5, 1.9]])
    plan = ROBOT.plan(START, goals, SCENE, method="optimal", max_iterations=5)
    assert plan.goal == 1 and len(plan.path) == 2 and plan.cost == pytest.approx(1.8)
    assert len(plan.history) == 1
    spent = ROBOT.plan(START, GOAL, SCENE, method="optimal", time_limit=0.3, max_iterations=None)
    assert spent.cost <= spent.history[0].cost
    with pytest.raises(ValueError, match="iterations: expected"):
        ROBOT.plan(START, GOAL, SCENE, method="optimal", max_iterations=1.5)


def test_informed_samples_of_the_planner_lie_where_they_can_improve_the_path():
    space = PlanningSpace(ROBOT, SCENE, weights=np.array([2.0, 1.0]))
    for cost, drawn in ((6.3, 400), (60.0, 400)):
        samples = InformedSamples(space, START[None], GOAL[None], 3)
        q = samples.take(drawn, cost)
        assert (
            len(q) == drawn
            and (length_bounds(space, q, START[None], GOAL[None]) < cost).all()
            and space.within(q).all()
        )
        assert np.array_equal(q, InformedSamples(space, START[None], GOAL[None], 3).take(drawn, cost))
        scaled = q * [2.0, 1.0]
        middle = 0.5 * (START + GOAL) * [2.0, 1.0]
        assert np.abs(scaled.mean(axis=0) - middle).max() < 0.25  # all over the ellipse, or the limits
        assert (scaled > middle).mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.1)
    path = np.array([START, [0.0, 0.8], GOAL])
    near = samples.near(path, 200, 100.0)
    assert len(near) > 150 and np.median(np.abs(near[::2] - path[1]).max(axis=1)) < 0.2


def test_shortest_paths_in_a_planning_graph_equal_brute_force():
    rng = np.random.default_rng(0)
    space = PlanningSpace(ROBOT, SCENE)
    q = rng.uniform(-1.0, 1.0, (12, 2))
    edges = near_pairs(space, q, 3)
    for i in range(12):
        near = np.argsort(np.linalg.norm(q - q[i], axis=1))[1:4]
        assert all([min(i, j), max(i, j)] in edges.tolist() for j in near.tolist())
    edges = edges[rng.uniform(size=len(edges)) < 0.8]
    lengths = np.linalg.norm(q[edges[:, 0]] - q[edges[:, 1]], axis=1)
    table = np.full((12, 12), np.inf)
    np.fill_diagonal(table, 0.0)
    table[edges[:, 0], edges[:, 1]] = table[edges[:, 1], edges[:, 0]] = lengths
    for k in range(12):  # Floyd and Warshall
        table = np.minimum(table, table[:, k : k + 1] + table[k : k + 1])
    label = components(12, edges)
    assert np.array_equal(label, [np.flatnonzero(np.isfinite(row))[0] for row in table])
    begin = np.full(12, np.inf)
    begin[[0, 5]] = 0.0, 0.3
    shortest, graph = ShortestLengths(12, edges), Adjacency(12, edges, lengths)
    distances = shortest.distances(begin, lengths)
    assert np.allclose(distances, np.minimum(table[0], 0.3 + table[5]))
    by = shortest.last_edges(begin, distances, lengths)
    assert (by[np.isfinite(distances) & (distances < begin)] >= 0).all() and by[0] == -1
    for target in range(12):
        ahead = np.linalg.norm(q - q[target], axis=1) * 0.999
        nodes = graph.shortest({0: 0.0, 5: 0.3}, {target: 0.0}, ahead.tolist(), [True] * len(edges))
        if nodes is None:
            assert np.isinf(distances[target])
        else:
            length = lengths[graph.edge_indices(nodes)].sum() + (0.3 if nodes[0] == 5 else 0.0)
            assert length == pytest.approx(distances[target])
