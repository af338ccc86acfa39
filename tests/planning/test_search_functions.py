"""Functions of the planners on small arrays: samples, neighbours, graphs, edges, goals and messages."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.planning import PoseRegion, planning_space, rejected_configurations
from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace
from linkwork.planning.roadmap_graph import RoadmapGraph
from linkwork.planning.search import informed_planner, path_smoothing
from linkwork.planning.search.neighbor_graph import near_pairs, nearest_nodes, needed_neighbours

LIMITS = np.array([-1.0, -0.5, -2.0]), np.array([1.0, 0.5, 2.0])


def plane(**change):
    """Return a flat space of three coordinates without obstacles."""
    space = SimpleNamespace(lower=LIMITS[0], upper=LIMITS[1], weights=np.ones(3), is_flat=True)
    space.between = lambda rows, q: ((q[:, None] - rows) ** 2).sum(axis=-1)
    space.__dict__.update(change)
    return space


def test_mirrored_points_have_their_first_axis_along_a_direction():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5, 3))
    for along in (np.array([0.3, -0.4, 0.5]), np.array([2.0, 0.0, 0.0]), np.array([-2.0, 0.0, 0.0])):
        result = informed_planner._mirrored(x, along)
        assert np.allclose(np.linalg.norm(result, axis=1), np.linalg.norm(x, axis=1))
        assert np.allclose(np.abs(result @ along), np.abs(x[:, 0]) * np.linalg.norm(along))
        first = informed_planner._mirrored(np.eye(3), along)[0]
        assert np.allclose(first, along / np.linalg.norm(along))
    assert (informed_planner._mirrored(x, np.zeros(3)) == x).all()
    tiny = 3e-12 * np.array([0.6, 0.8, 0.0])
    assert np.allclose(informed_planner._mirrored(np.eye(3), tiny)[0], [0.6, 0.8, 0.0])


def informed(starts, goals, box=60.0, free=(True, True, True), **space):
    search = SimpleNamespace(
        space=plane(**space), _free=np.array(free), starts=np.array(starts), goals=np.array(goals), _box=box
    )
    search._rng = np.random.default_rng(7)
    search._samples = SimpleNamespace(take=lambda count: np.full((count, 3), 9.0))
    return search


def test_informed_samples_lie_on_paths_that_are_shorter_than_the_best():
    draw = informed_planner.InformedSamples._draw
    start, goal, cost = np.array([0.1, 0.2, -0.4]), np.array([0.5, -0.1, 0.8]), 1.7
    q = draw(informed([start], [goal]), 400, cost)
    lengths = np.linalg.norm(q - start, axis=1) + np.linalg.norm(q - goal, axis=1)
    assert q.shape == (400, 3) and (lengths < cost).all() and lengths.max() > 0.97 * cost
    assert np.ptp(lengths) > 0.1 and np.linalg.norm(q - start, axis=1).min() < 0.4
    locked = draw(informed([start], [goal], free=(True, False, True)), 50, cost)
    assert (locked[:, 1] == start[1]).all() and np.ptp(locked[:, 0]) > 0.1
    direct = float(np.linalg.norm(goal - start))
    assert draw(informed([start], [goal]), 5, direct).shape == (0, 3)  # no path is shorter than the straight one
    assert draw(informed([start], [goal]), 5, direct * (1.0 + 1e-9)).shape == (5, 3)
    assert draw(informed([start], [goal], free=(False,) * 3), 5, cost).shape == (0, 3)
    for search, bound in (
        (informed([start], [goal]), math.inf),
        (informed([start], [goal], is_flat=False), cost),
        (informed([start], [goal], box=-60.0), cost),  # an ellipsoid larger than the box
    ):
        assert (draw(search, 4, bound) == 9.0).all()


def test_better_paths_replace_the_best_one_and_equal_ones_do_not():
    search = SimpleNamespace(cost=3.0, path=None, history=[], begin_time=0.0)
    search.space = SimpleNamespace(detailed=lambda path: path, cost=lambda path: float(np.sum(path)))
    search.ends, search.q, added = (1, 1), np.array([[0.1], [0.9]]), []
    search._end_index, search._add = lambda q, low, high: low, lambda pairs, state: added.append(pairs.tolist())
    kind = informed_planner._ImprovementGraph
    assert not kind.take(search, np.array([[1.0], [2.0]]), 1) and search.path is None and not search.history
    assert not kind.take(search, np.array([[np.nan], [2.0]]), 1) and search.cost == 3.0 and not added
    assert kind.take(search, np.array([[0.5], [0.75], [1.25]]), 2) and search.cost == 2.5 and len(search.history) == 1
    assert added == [[[0, 2], [1, 2]]] and search.q[:, 0].tolist() == [0.1, 0.9, 0.75]


def test_neighbours_of_nodes_are_the_nearest_rows():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(12, 3))
    space = plane()
    squared = ((rows[:, None] - rows) ** 2).sum(axis=-1)
    expected = squared.argsort(axis=1, kind="stable")
    for k in (1, 4, 11, 12, 20):
        assert (nearest_nodes(space, rows, rows, k) == expected[:, :k]).all()
    pairs = near_pairs(space, rows, 3, first=5)
    nearest = {tuple(sorted((i, int(j)))) for i in range(5, 12) for j in expected[i, 1:4]}
    assert {tuple(pair) for pair in pairs.tolist()} == nearest
    assert near_pairs(space, rows, 3, first=11).shape[0] == 3
    for q, first in ((rows[:1], 0), (rows, 12), (rows[:0], 0)):
        assert near_pairs(space, q, 3, first).shape == (0, 2)
    assert near_pairs(space, rows[:2], 3).tolist() == [[0, 1]]
    assert [needed_neighbours(n, 2) for n in (0, 2, 100)] == [3, 3, math.ceil(1.5 * math.e * math.log(100))]


def test_arrays_that_are_no_graph_are_refused():
    def restored(**change):
        graph = SimpleNamespace(q=np.zeros((0, 2)), _index=lambda: None)
        arrays = {
            "q": np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.7]]),
            "edges": np.array([[0, 1], [1, 2]]),
            "lengths": np.ones(2),
            "state": np.zeros(2),
        }
        RoadmapGraph.restored(graph, {**arrays, **change}, 4)
        return graph

    assert restored().batches == 4 and restored().edges.tolist() == [[0, 1], [1, 2]]
    empty = {"edges": np.zeros((0, 2), int), "lengths": np.zeros(0), "state": np.zeros(0)}
    assert restored(**empty).edges.shape == (0, 2)
    for change in (
        {"q": np.array([[0.1, 0.2], [0.3, np.nan], [0.5, 0.7]])},
        {"q": np.zeros((3, 3))},
        {"edges": np.array([[0, 1], [1, 3]])},
        {"edges": np.array([[0, 1], [-1, 2]])},
        {"edges": np.array([0, 1])},
        {"lengths": np.ones(3)},
        {"state": np.zeros(1)},
    ):
        with pytest.raises(
            ValueError, match=r"Roadmap.load: expected arrays of a graph: nodes \(n, 2\), edges \(m, 2\)"
        ):
            restored(**change)


def test_checks_of_edges_end_when_no_time_is_left():
    space = SimpleNamespace(has_time=lambda: False)
    PlanningSpace._check_time(space, False)
    with pytest.raises(OutOfTimeError, match=r"^$"):
        PlanningSpace._check_time(space, True)
    space.has_time = lambda: True
    PlanningSpace._check_time(space, True)


def edge_checker(blocked, method="sampled"):
    """Return a checker of edges, of which those are not free that contain the first coordinate ``blocked``."""
    space = SimpleNamespace(method=method, resolution=0.01, checked=0, batches=[], times=[])
    space.straight = SimpleNamespace(difference=lambda a, b: b - a, integrate=lambda q, phi: q + phi)

    def check(q0, q1, more):
        space.batches.append(len(q0))
        low, high = np.minimum(q0, q1)[:, 0], np.maximum(q0, q1)[:, 0]
        return ~((low <= blocked) & (blocked <= high)) & (more < 0.5)

    space._check_batch, space._check_time = check, space.times.append
    for name in ("_check_in_batches", "_check_long_edge", "_check_edges"):
        setattr(space, name, getattr(PlanningSpace, name).__get__(space))
    return space


@pytest.mark.light
@pytest.mark.parametrize("method", ["sampled", "certified"])
def test_long_edges_are_checked_in_parts_with_equal_results(method, monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    q0 = np.array([[0.0, 0.1], [0.0, 0.2], [-0.3, 0.0], [0.5, 0.5]])
    q1 = np.array([[0.6, 0.4], [0.05, 0.2], [0.2, 0.9], [0.5, 0.5]])
    expected = [False, True, True, True]
    assert edge_checker(0.21, method)._check_edges(q0, q1, np.zeros(4)).tolist() == expected
    monkeypatch.setattr(planning_space, "_SAMPLES_PER_PART", 8)
    monkeypatch.setattr(planning_space, "MAX_CONFIGURATIONS", 16)
    space = edge_checker(0.21, method)
    assert space._check_edges(q0, q1, np.zeros(4)).tolist() == expected and space.checked == 4
    assert method == "certified" or max(space.batches) <= 2
    assert space.times[0] is False and all(space.times[1:])  # the first batch is checked in any case
    assert not space._check_edges(q0, q1, np.full(4, 0.5)).any()
    single = edge_checker(9.0, method)
    assert single._check_edges(q0[1:2], q1[1:2], np.zeros(1)).tolist() == [True]
    assert single._check_edges(q0[:0], q1[:0], np.zeros(0)).tolist() == []


def test_shortened_paths_that_are_not_free_are_not_taken(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    path = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 0.0]])
    monkeypatch.setattr(path_smoothing, "remove_straight_nodes", lambda space, path: path)
    monkeypatch.setattr(path_smoothing, "_path_points", lambda space, path, shift: (path,))
    monkeypatch.setattr(path_smoothing, "shortest_visible", lambda space, path, spacing: path[[0, -1]])

    def shorten(is_free, factor=1.0, continues=lambda: True):
        space = SimpleNamespace(unit=1.0, detailed=lambda path: path)
        space.cost = lambda q: (
            float(np.linalg.norm(np.diff(q, axis=0), axis=1).sum()) * (factor if len(q) == 2 else 1.0)
        )
        space.edges_are_free = lambda a, b: np.array([is_free] * len(a))
        return path_smoothing._shorten(space, path, 0, 0.1, continues)

    assert len(shorten(True)) == 2 and len(shorten(False)) == 3
    assert len(shorten(True, factor=2.0)) == 3  # longer along edges that satisfy path constraints
    assert len(shorten(True, continues=lambda: False)) == 3


def test_regions_of_poses_with_empty_bounds_are_refused():
    inf = np.inf
    for lower, upper in (
        ([-inf, 0, 0, -0.2, 0, 0], [-np.pi, 0, 0, 0.2, 0, 0]),
        ([np.pi, 0, 0, 0.1, 0, 0], [inf, 0, 0, 0.1, 0, 0]),
    ):
        region = PoseRegion("hand", lw.pose((0.5, 0.1, 0.3)), lower, upper)
        assert region.sampled(3, seed=1).shape == (3, 4, 4)
    words = r"PoseRegion: upper: expected an angle in \[-π, π\] where the other bound is infinite"
    for lower, upper in (
        ([-inf, 0, 0, 0, 0, 0], [np.nextafter(-np.pi, -9.0), 0, 0, 0, 0, 0]),
        ([np.nextafter(np.pi, 9.0), 0, 0, 0, 0, 0], [inf, 0, 0, 0, 0, 0]),
    ):
        with pytest.raises(ValueError, match=words):
            PoseRegion("hand", lw.pose(), lower, upper)
    with pytest.raises(ValueError, match=r"PoseRegion: lower: expected lower <= upper, got 0.25 and 0.125 at 4"):
        PoseRegion("hand", lw.pose(), [0, 0, 0, 0, 0.25, 0], [0, 0, 0, 0, 0.125, 0])


def test_reasons_of_rejected_configurations_name_pairs_distances_and_limits(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})

    def reason(*pairs):
        names, distances, margins = zip(*pairs, strict=True) if pairs else ((), (), ())
        result = SimpleNamespace(pairs=[(name, "box") for name in names], distance=np.array(distances))
        order = np.argsort(result.distance - np.array(margins), kind="stable")
        answer = result, np.array(margins), order
        monkeypatch.setattr(rejected_configurations, "_colliding", lambda space, q: answer)
        return rejected_configurations.collisions_of(None, None)

    assert reason() == "the configuration violates the path constraints"
    assert reason(("arm", -0.25, 0.0)) == "'arm' is 0.25 m deep in 'box'"
    assert reason(("arm", 0.5, 0.75)) == "'arm' is 0.5 m from 'box', within the margin of 0.75 m"
    assert reason(("arm", 5e-7, 0.5)) == "'arm' touches 'box', within the margin of 0.5 m"
    assert reason(("arm", 5e-7, 0.0)) == "'arm' touches 'box': touching=[('arm', 'box')] lets them touch"
    assert "touching=" not in reason(("arm", 5e-7, 0.0), ("hand", -0.5, 0.0))
    many = reason(*((f"arm{k}", -0.5 - k, 0.0) for k in range(rejected_configurations._NAMED + 2)))
    assert many.endswith(", and 2 more pairs")
    assert reason(*((f"arm{k}", -0.5 - k, 0.0) for k in range(rejected_configurations._NAMED + 1))).endswith(
        ", and 1 more pair"
    )
    space = SimpleNamespace(lower=LIMITS[0], upper=LIMITS[1], robot=SimpleNamespace(q_names=("a", "b", "c")))
    limits_of = rejected_configurations.limits_of
    assert limits_of(space, np.array([1.0, -0.5, 0.0])) == ""
    assert (
        limits_of(space, np.array([1.25, -0.75, 0.0]))
        == "'a' is 1.25, 0.25 outside its limit 1, 'b' is -0.75, 0.25 outside its limit -0.5"
    )
