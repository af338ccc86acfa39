"""Roadmaps: paths compared with brute force, many queries, checked files, threads, and failures."""

from __future__ import annotations

import itertools
import json
import pickle
import threading

import numpy as np
import pytest

import linkwork as lw
from helpers.gantry import gantry
from linkwork._util import own_code
from linkwork.planning import Roadmap
from linkwork.planning.search.rrt_connect_batch import SearchOptions, rrt_connect

ROBOT = gantry()
WALL = lw.Scene().with_box("wall", (0.2, 3.0, 1.0))
CLOSED = lw.Scene().with_box("wall", (0.2, 5.0, 1.0))
START, GOAL = np.array([-1.5, 0.1]), np.array([1.5, -0.1])
SHORTEST = 2 * np.hypot(1.35, 1.45) + 0.3  # with the wall grown by half of the tool


def _text(said):
    return np.frombuffer(json.dumps(said).encode(), dtype=np.uint8)


def _free(path):
    """No configuration on straight ways is in the grown wall."""
    for a, b in itertools.pairwise(path):
        q = a + np.linspace(0, 1, 1000)[:, None] * (b - a)
        if ((np.abs(q[:, 0]) < 0.15) & (np.abs(q[:, 1]) < 1.55)).any():
            return False
    return True


def test_roadmap_paths_are_collision_free_and_short_with_lazy_and_full_checks():
    full = Roadmap(ROBOT, WALL, num_nodes=300, seed=2)
    lazy = Roadmap(ROBOT, WALL, num_nodes=300, seed=2, lazy=True)
    assert np.array_equal(full.nodes, lazy.nodes) and len(full) == 300 and len(np.unique(full.components)) == 1
    assert len(full.edges) < len(lazy.edges) and "300 nodes" in repr(full)
    rng = np.random.default_rng(0)
    for k in range(30):
        start, goal = rng.uniform(-1.9, 1.9, (2, 2)) * [0.9, 1.0]
        start[0], goal[0] = -abs(start[0]) - 0.2, abs(goal[0]) + 0.2
        plan = full.plan(start, goal, simplify=False)
        same = lazy.plan(start, goal, simplify=False)
        assert plan.success and _free(plan.path) and np.array_equal(plan.path, same.path)
        assert np.array_equal(plan.path[[0, -1]], [start, goal])
        if k < 5:
            shorter = full.plan(start, goal)
            assert shorter.cost <= plan.cost and _free(shorter.path)
    assert len(lazy.edges) > len(full.edges)  # most were never looked at
    plan = full.plan(START, [[1.5, 1.9], GOAL.tolist()])
    assert plan.goal == 0 and plan.nodes == 300 and plan.motions_checked > 0
    dense = full.extended(500)
    assert len(dense) == 800 and np.array_equal(dense.nodes[:300], full.nodes)
    costs = [roadmap.plan(START, GOAL, simplify=False).cost for roadmap in (full, dense)]
    assert SHORTEST <= dense.plan(START, GOAL).cost < 0.995 * costs[1] <= costs[0] * 1.05
    assert costs[1] < 1.1 * SHORTEST


@pytest.mark.slow(every=3)
def test_roadmap_searches_in_one_kernel_end_exactly_at_a_goal():
    """Paths around the wall are free, nearly the shortest, and begin and end at configurations of the arguments."""
    goals = np.array([[1.9, 0.3], GOAL, [1.9, 0.5]])
    lengths = np.hypot(goals[:, 0] - 0.15, 1.55 - goals[:, 1])  # from the wall's corner, grown by half of the tool
    for seed in range(4):
        plan = ROBOT.plan(START, goals, scene=WALL, seed=seed)
        assert plan.success and plan.nodes > 4 and _free(plan.path)
        assert np.array_equal(plan.path[[0, -1]], [START, goals[plan.goal]])
        shortest = np.hypot(1.35, 1.45) + 0.3 + lengths[plan.goal]
        assert 0.999 * shortest < plan.cost < 1.06 * shortest


def test_nodes_of_a_path_are_adjacent_where_two_trees_meet():
    """Nodes are no farther apart where the trees meet than on one tree."""
    space = Roadmap(ROBOT, WALL, num_nodes=2)._graph.space
    starts, goals = np.array([START, [-1.2, 0.4]]), np.array([GOAL, [1.2, 0.3]])
    for seed in range(6):
        path, _ = rrt_connect(space, starts, goals, seed=seed, continues=lambda count: count < 100_000)
        assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < SearchOptions().node * space.unit + 1e-9
        assert path[0].tolist() in starts.tolist() and path[-1].tolist() in goals.tolist() and _free(path)


def test_roadmap_edges_checked_in_blocks_equal_edges_checked_separately(monkeypatch):
    """Edges of all blocks are those that separate checks report as free."""
    reports = []
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr("linkwork.planning.roadmap_graph._EDGES", 7)
    full = Roadmap(ROBOT, WALL, num_nodes=20, num_neighbors=4, progress=reports.append)
    pairs = Roadmap(ROBOT, WALL, num_nodes=20, num_neighbors=4, lazy=True).edges
    free = [_free(full.nodes[pair]) for pair in pairs]
    assert 0 < sum(free) < len(pairs) and np.array_equal(full.edges, pairs[free])
    assert len(pairs) % 7 and reports[-1].total == reports[-1].done == len(pairs) > 7


def test_roadmaps_state_the_reason_of_a_failed_plan():
    roadmap = Roadmap(ROBOT, CLOSED, num_nodes=60, num_neighbors=8)
    plan = roadmap.plan(START, GOAL)
    assert plan.status == "disconnected" and not plan.success and len(plan.path) == 0
    assert "different components of the roadmap" in plan.message and "of its 60 nodes" in plan.message
    assert len(np.unique(roadmap.components)) == 2
    assert roadmap.plan([0.0, 0.0], GOAL).status == "start_in_collision"
    assert roadmap.plan(START, [0.0, 0.0]).status == "goal_in_collision"
    pocket = lw.Scene()
    for k, (x, y) in enumerate([(-0.3, 0.0), (0.3, 0.0), (0.0, -0.3), (0.0, 0.3)]):
        pocket = pocket.with_box(f"wall {k}", (0.1, 0.8, 1.0) if x else (0.8, 0.1, 1.0), (x, y, 0.0))
    plan = Roadmap(ROBOT, pocket, num_nodes=60).plan([1.0, 1.0], [0.0, 0.0])
    assert "no free edge leads from the goal to any of" in plan.message or "different components" in plan.message
    full = lw.Scene().with_box("all", (9.0, 9.0, 1.0))
    for make, said in (
        (lambda: Roadmap(ROBOT, full), "hardly any configuration is free: 0 of"),
        (
            lambda: Roadmap(lw.load("arm7"), lw.Scene().with_box("block", (3.0, 3.0, 3.0))),
            r"hardly any configuration is free: 0 of .*; obstacle 'block' contains the robot's base: the middle of",
        ),
        (lambda: Roadmap(ROBOT, WALL, num_nodes=0), "num_nodes: expected an integer >= 1"),
        (lambda: Roadmap(ROBOT, WALL, num_neighbors=1.5), "num_neighbors: expected"),
        (lambda: roadmap.save("roadmap.txt"), "named .npz"),
    ):
        with pytest.raises(ValueError, match=said):
            make()


def test_roadmaps_can_be_saved_pickled_and_shared_by_threads(tmp_path):
    roadmap = Roadmap(ROBOT, WALL, num_nodes=120, lazy=True, seed=1)
    where = tmp_path / "roadmap.npz"
    roadmap.save(where)
    path = roadmap.plan(START, GOAL).path
    with pytest.raises(ValueError, match=r"expected the robot, scene and options of the roadmap"):
        Roadmap.load(where, lw.load("arm7"), WALL)
    for again in (Roadmap.load(where, gantry(), WALL), pickle.loads(pickle.dumps(roadmap))):
        assert np.array_equal(again.nodes, roadmap.nodes) and np.array_equal(again.plan(START, GOAL).path, path)
        assert np.array_equal(again.extended(20).nodes, roadmap.extended(20).nodes)
    for robot, scene, options in (
        (gantry(0.11), WALL, {}),
        (ROBOT, CLOSED, {}),
        (ROBOT, WALL, {"margin": 0.01}),
        (ROBOT, WALL, {"position_limits": {"x": (-1.9, 1.9)}}),
        (ROBOT.with_attached("cup", "tool", lw.shapes.Sphere(0.1)), WALL, {}),
    ):
        with pytest.raises(ValueError, match="expected the robot, scene and options of the roadmap"):
            Roadmap.load(where, robot, scene, **options)
    (tmp_path / "broken.npz").write_bytes(b"PK not a file")
    np.savez(tmp_path / "other.npz", q=np.zeros(3))
    with np.load(where) as file:
        arrays = {name: file[name] for name in file.files if name != "said"}
        said = json.loads(file["said"].tobytes())
    for name in ("seed", "of", "batches", "robot"):
        less = {key: x for key, x in said.items() if key != name}
        np.savez(tmp_path / f"no {name}.npz", said=_text(less), **arrays)
    np.savez(tmp_path / "later.npz", said=_text({"format": "linkwork roadmap 3"}))
    for name, array in (
        ("negative", {"lengths": -arrays["lengths"]}),
        ("nan", {"q": arrays["q"] * np.nan}),
        ("edges", {"edges": arrays["edges"] + 1000}),
        ("ragged", {"lengths": arrays["lengths"][:-1]}),
        ("states", {"state": arrays["state"] + 5}),
    ):
        np.savez(tmp_path / f"{name}.npz", said=_text(said), **{**arrays, **array})
    for name, words in (
        ("broken", "zip"),
        ("other", "'said' is missing"),
        ("negative", "'lengths': expected numbers >= 0"),
        ("nan", "'q': expected finite numbers"),
        ("edges", "'edges': expected numbers <="),
        ("ragged", "'lengths': expected the shape"),
        ("states", "'state': expected numbers <="),
        ("no seed", "'seed'"),
        ("no of", "'of'"),
        ("no batches", "'batches'"),
        ("no robot", "'robot'"),
        ("later", "expected format 'linkwork roadmap 2', got 'linkwork roadmap 3'"),
    ):
        with pytest.raises(ValueError, match=f"{name}.npz: not a file that Roadmap.save wrote: .*({words})"):
            Roadmap.load(tmp_path / f"{name}.npz", ROBOT, WALL)
    with pytest.raises(TypeError, match="got 'margn'"):
        Roadmap.load(where, ROBOT, WALL, margn=0.0)
    fresh = Roadmap.load(where, ROBOT, WALL)
    goals = np.random.default_rng(3).uniform(0.3, 1.9, (8, 2))
    answers: dict[int, np.ndarray] = {}
    threads = [
        threading.Thread(target=lambda k=k: answers.update({k: fresh.plan(START, goals[k], simplify=False).path}))
        for k in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loaded = Roadmap.load(where, ROBOT, WALL)
    for k in range(8):
        assert np.array_equal(answers[k], loaded.plan(START, goals[k], simplify=False).path)


def _limit(bound, sign=-1.0):
    """A task with a function of its own code and closure: x is at most ``bound``, or at least with another sign."""
    if sign < 0.0:
        return lw.ik.Within(lw.ik.FunctionTask("side", lambda k: bound - k.q()[0]), 0.0, np.inf)
    return lw.ik.Within(lw.ik.FunctionTask("side", lambda k: bound + k.q()[0]), 0.0, np.inf)


@pytest.mark.slow(every=5)
def test_saved_roadmaps_are_loaded_only_with_the_functions_and_masses_they_depend_on(tmp_path):
    where, error = tmp_path / "roadmap.npz", "expected the robot, scene and options of the roadmap"
    Roadmap(ROBOT, WALL, num_nodes=20, lazy=True, path_constraints=[_limit(1.0)]).save(where)
    assert (Roadmap.load(where, ROBOT, WALL, path_constraints=[_limit(1.0)]).nodes[:, 0] <= 1.0 + 1e-6).all()
    for task in (_limit(0.5), _limit(1.0, 1.0)):
        with pytest.raises(ValueError, match=error):
            Roadmap.load(where, ROBOT, WALL, path_constraints=[task])
    heavy = ROBOT.with_inertia("tool", mass=5.0, com=(0.5, 0.0, 0.0))
    balance = [lw.ik.SupportPolygonTask([(2, 2), (-2, 2), (-2, -2), (2, -2)])]
    Roadmap(ROBOT, WALL, num_nodes=20, lazy=True).save(where)
    assert len(Roadmap.load(where, heavy, WALL)) == 20  # masses have no effect on collisions
    Roadmap(ROBOT, WALL, num_nodes=20, lazy=True, path_constraints=balance).save(where)
    with pytest.raises(ValueError, match=error):
        Roadmap.load(where, heavy, WALL, path_constraints=balance)


@pytest.mark.slow(every=5)
def test_roadmaps_can_plan_for_closed_loops():
    robot = lw.load("fourbar")
    scene = lw.Scene().with_sphere("far", 0.05, (5.0, 0.0, 0.0))
    roadmap = Roadmap(robot, scene, num_nodes=40, lazy=True)
    assert np.abs(robot.constraint_error(roadmap.nodes)).max() < 1e-7
    ends = robot.drive_mechanism({"crank_hinge": np.linspace(0.0, 1.6, 9)}).q[[1, -1]]
    plan = roadmap.plan(*ends)
    assert plan.success and np.abs(robot.constraint_error(plan.path)).max() < 1e-7
