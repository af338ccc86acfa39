"""Searches and shortcuts as compiled loops: around a disc in a plane, on floats and compiled; trees that are cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import and_, fabs, lt, or_, where
from linkwork.kinematics.algorithms.low_discrepancy import kronecker_point, kronecker_rates
from linkwork.planning.algorithms.multi_start_search import SearchRequest, search_paths
from linkwork.planning.algorithms.path_shortcuts import PathMetric, segment_check, shorten
from linkwork.planning.algorithms.rrt_connect import DEAD, Sampling, Trees, grow

ROOM, SPACING, WALL = 96, 0.05, 2.0
START, GOALS = np.array([-2.0, 0.1]), np.array([[2.0, 0.0], [2.2, 0.5]])


LIMITS = np.array([[-3.0, -3.0], [3.0, 3.0]])
LENGTHS = np.linalg.norm(GOALS - START, axis=1)
SHIFT = [0.1, 0.2, 0.3, 0.4, 0.5]


def _looks(wall: float = 0.0) -> Any:
    """Around a disc of a radius of 1 m, and a margin; and a thin wall behind it, so many metres to both sides."""

    def touches(q: list[Any], margin: Any) -> Any:
        in_disc = lt(q[0] * q[0] + q[1] * q[1], (1.0 + margin) ** 2)
        in_wall = and_(lt(fabs(q[0] - 1.5), 0.05 + margin), lt(fabs(q[1]), wall + margin))
        return where(or_(in_disc, in_wall), 1.0, 0.0)

    return segment_check(touches)


def _sampling() -> Sampling:
    pairs = np.column_stack([np.tile(START, (2, 1)), GOALS - START, LENGTHS, [1.0, 1.5]])
    return Sampling(pairs, 2.0, 0.3, 1e30, SHIFT, 0.0, LIMITS, LIMITS, 0.2, 10.0)


def _grow(nodes: Any, links: Any, values: Any) -> tuple[Any, Any, Any]:
    metric, trees = PathMetric([1.0, 1.0], (False, False)), Trees(nodes, links, 3.0, (1.0, 2.0))
    result = grow(metric, _looks()(0.0), trees, _sampling(), values[0], values[1], max_iterations=1000)
    counters = [*result.trees.counts, *result.meeting_nodes, result.sample_index, result.rounds]
    return result.trees.nodes, result.trees.links, array(counters)


def _cut(nodes: Any, links: Any, values: Any) -> tuple[Any, Any, Any]:
    metric, (count, length) = PathMetric([1.0, 1.0], (False, False)), (values[0], values[1])
    hope = (1e30, 1.0)
    looks = _looks()(0.0)
    result = shorten(
        metric, looks, nodes, links, count, length, [0.3, 0.7], SPACING, values[2], hope, max_iterations=1000
    )
    return result.nodes, result.links, array([result.length, result.trials_done, result.num_checks])


def _search(nodes: Any, links: Any, path: Any, after: Any, best: Any, values: Any) -> tuple[Any, ...]:
    """Numbers: searches, rounds of all, whether trees grow on, rows of them, and of each, the last sample's number."""
    searches, max_iterations, growing, *sizes, first = list(values)
    roots = np.column_stack([[0.0, 1.0, 1.0], [LENGTHS.min(), *LENGTHS]])
    request = SearchRequest(roots, 3.0, 1.01, 0.2, SPACING, searches, 60.0, max_iterations, [0.3, 0.7], 60.0, 1.0)
    trees, looks = Trees(nodes, links, sizes[0], (sizes[1], sizes[2])), _looks(WALL)
    metric = PathMetric([1.0, 1.0], (False, False))
    result = search_paths(
        metric,
        looks(0.0),
        looks(0.01),
        trees,
        path,
        after,
        best,
        _sampling()._replace(first=first),
        request,
        growing,
        max_iterations=10_000,
    )
    counters = [result.best.count, result.best.length, result.trees.total, *result.trees.counts, *result[2:]]
    return result.trees.nodes, result.trees.links, result.best.path, array(counters)


def _begun() -> tuple[np.ndarray, np.ndarray]:
    nodes, links = np.zeros((ROOM, 2)), np.zeros((ROOM, 2))
    nodes[:3], links[:3] = [START, *GOALS], [[0.0, -1.0], [1.0, -1.0], [1.0, -1.0]]
    return nodes, links


def _path_between(nodes: Any, side: Any, parent: Any, start: int, end: int) -> np.ndarray:
    """The rows from a start to a goal over two nodes that met, one of each tree."""
    halves = []
    for k in sorted((start, end), key=lambda k: side[k]):
        half = [k]
        while parent[half[-1]] >= 0:
            half.append(parent[half[-1]])
        halves.append(half)
    return np.array(nodes[[*halves[0][::-1], *halves[1][1:]]])


def _length(path: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def test_quasirandom_points_of_the_planner_are_spread_evenly() -> None:
    for d in (1, 2, 10):
        g = 1.0 / kronecker_rates(d)[0]
        assert abs(g ** (d + 1) - g - 1.0) < 1e-12
        points = np.array([kronecker_point(float(n), [0.3] * d) for n in range(1, 1001)])
        assert ((points >= 0.0) & (points < 1.0)).all()
        for column in points.T:
            counts = np.histogram(column, 10, (0.0, 1.0))[0]
            assert abs(counts - 100).max() <= 12  # random ones are off by up to about 30


@pytest.mark.slow(every=5)
def test_two_trees_of_the_planner_grow_until_they_meet() -> None:
    nodes, links, counters = _grow(*_begun(), np.array([0.2, 400.0]))
    count, (start, end) = int(counters[0] + counters[1]), counters[2:4].astype(int)
    side, parent = links[:count].astype(int).T
    assert counters[0] == (side == 0).sum() and start >= 0 and side[start] != side[end] and counters[5] <= 400
    assert (parent[3:] < np.arange(3, count)).all() and (parent[3:] >= 0).all()
    assert (side[parent[3:]] == side[3:]).all()
    for k in range(3, count):
        step = np.linalg.norm(nodes[k] - nodes[parent[k]])
        assert step < 0.2 * 4 + 1e-9 and np.linalg.norm(nodes[k]) >= 1.0
    path = _path_between(nodes, side, parent, start, end)
    assert np.array_equal(path[0], START) and (path[-1] == GOALS).all(axis=1).any()
    compiled = lw.compile(_grow, nodes=(ROOM, 2), links=(ROOM, 2), values=2)
    again = compiled(*_begun(), np.array([0.2, 400.0]))
    assert all(np.abs(a - b).max() < 1e-9 for a, b in zip((nodes, links, counters), again, strict=True))
    assert compiled(*_begun(), np.array([0.2, 3.0]))[2][5] == 3.0

    table, after = np.zeros((ROOM, 2)), np.full((ROOM, 2), -1.0)
    table[: len(path)] = path
    after[: len(path) - 1] = np.stack(
        [np.arange(1.0, len(path)), np.linalg.norm(np.diff(path, axis=0), axis=1)], axis=1
    )
    cut = lw.compile(_cut, nodes=(ROOM, 2), links=(ROOM, 2), values=3)
    lengths = []
    for trials in (0.0, 10.0, 60.0):
        arguments = (table, after, np.array([len(path), _length(path), trials]))
        result = _cut(*arguments)
        assert all(np.abs(a - b).max() < 1e-9 for a, b in zip(result, cut(*arguments), strict=True))
        rows, onward, (length, tried, _) = result
        chain = [0]
        while onward[chain[-1], 0] >= 0.0:
            chain.append(int(onward[chain[-1], 0]))
        short = rows[chain]
        assert np.array_equal(short[[0, -1]], path[[0, -1]]) and tried <= trials
        assert abs(length - _length(short)) < 1e-9
        for a, b in pairwise(short):
            t = np.linspace(0.0, 1.0, 2 + int(np.linalg.norm(b - a) / 1e-3))[:, None]
            assert np.linalg.norm(a + t * (b - a), axis=1).min() > 0.97  # of ways that are looked at 0.2 apart, or less
        lengths.append(length)
    assert lengths[0] == _length(path) > lengths[1] > lengths[2]
    # along two tangents and an arc, to the nearer goal, as a string would be
    tight = 2.0 * np.sqrt(4.0 - 1.0) + np.pi - 2.0 * np.arccos(0.5)
    assert lengths[2] < 1.1 * tight


@pytest.mark.slow(every=9)
def test_compiled_planning_searches_shorten_paths_step_by_step() -> None:
    """Starts without a path, in several calls, with edges that become blocked, and in free space."""
    shapes = {"nodes": (ROOM, 2), "links": (ROOM, 2), "path": (ROOM, 2), "after": (ROOM, 2), "best": (ROOM, 2)}
    tables = [np.zeros(shape) for shape in shapes.values()]
    tables[0][:3] = [START, *GOALS]
    kernel = lw.compile(_search, **shapes, values=7)
    lengths = []
    for searches in (1.0, 4.0):
        arguments = np.array([searches, 4000.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        nodes, links, best, counters = kernel(*tables, arguments)
        again = _search(*tables, arguments)
        assert all(np.abs(a - b).max() < 1e-9 for a, b in zip((nodes, links, best, counters), again, strict=True))
        count, length, total, first, second, number, done, rounds, explored, growing, full, crowded = counters.tolist()
        path = best[: int(count)]
        assert np.array_equal(path[0], START) and (path[-1] == GOALS).all(axis=1).any()
        assert abs(_length(path) - length) < 1e-9 and done == searches and not growing and not (full or crowded)
        assert 0.0 < rounds < 4000.0 and number <= rounds and explored >= total
        for a, b in pairwise(path):
            t = np.linspace(0.0, 1.0, 2 + int(np.linalg.norm(b - a) / 1e-3))[:, None]
            q = a + t * (b - a)
            assert np.linalg.norm(q, axis=1).min() > 1.0 - SPACING**2 / 8.0
            assert not ((abs(q[:, 0] - 1.5) < 0.05 - SPACING) & (abs(q[:, 1]) < WALL - SPACING)).any()
        side, parent = links[: int(total)].astype(int).T
        assert [first, second] == [(side == 0).sum(), (side == 1).sum()]
        lengths.append(length)
        assert (side == DEAD).any()  # trees go through the wall, unseen, until a path of them is looked at
        alive = (side != DEAD) & (parent >= 0)
        assert (side[parent[alive]] == side[alive]).all()
    assert lengths[1] <= lengths[0]
    # in pieces of a few rounds, the same path as at once
    nodes, links, *tables_left = tables
    counters = np.zeros(12)
    for _ in range(400):
        arguments = np.array([1.0, 5.0, counters[9], *counters[2:6]])
        nodes, links, best, counters = kernel(nodes, links, *tables_left, arguments)
        if counters[0]:
            break
    assert counters[0] > 0.0 and counters[6] == 1.0


@pytest.mark.slow(every=9)
def test_sizes_of_planning_tables_do_not_change_the_path_unless_they_overflow(drawn: Any) -> None:
    """More rows change nothing; fewer rows of the trees, of the path or of the best path are reported."""
    rows = {"nodes": ROOM, "links": ROOM, "path": ROOM, "after": ROOM, "best": ROOM}

    def searched(**changed: int) -> tuple[np.ndarray, list[float]]:
        shapes = {name: (count, 2) for name, count in {**rows, **changed}.items()}
        tables = [np.zeros(shape) for shape in shapes.values()]
        tables[0][:3] = [START, *GOALS]
        *_, best, counters = lw.compile(_search, **shapes, values=7)(*tables, arguments)
        return best, counters.tolist()

    arguments = np.array([2.0, 300.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    whole, expected = searched()
    assert expected[-1] == 0.0
    for trees, path, best, crowded in drawn(
        [(8, ROOM, ROOM, 1.0), (2 * ROOM, 2 * ROOM, 2 * ROOM, 0.0), (ROOM, 8, ROOM, 1.0), (ROOM, ROOM, 3, 1.0)]
    ):
        result, counters = searched(nodes=trees, links=trees, path=path, after=path, best=best)
        assert counters[-1] == crowded
        assert crowded or (counters == expected and np.array_equal(result[:ROOM], whole))
