"""Shortest paths in graphs, samples of Halton, corners of paths and joints at rest, against brute force."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from linkwork.planning.configuration_geometry import ConfigurationGeometry
from linkwork.planning.roadmap_graph import RoadmapGraph
from linkwork.planning.search.halton_samples import halton, within_a_revolution
from linkwork.planning.search.neighbor_graph import Adjacency, ShortestLengths, components
from linkwork.planning.search.path_smoothing import _MAX_POINTS, _path_points, remove_straight_nodes


def graph(seed, count=9):
    """Return the edges and lengths of a random graph with two components, and the lengths of all shortest paths."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i, j in itertools.combinations(range(count), 2) if (i < 6) == (j < 6) and rng.random() < 0.5]
    edges, lengths = np.array(pairs), rng.integers(1, 9, len(pairs)) / 4.0  # many paths have equal lengths
    table = np.full((count, count), np.inf)
    np.fill_diagonal(table, 0.0)
    table[edges[:, 0], edges[:, 1]] = table[edges[:, 1], edges[:, 0]] = lengths
    for k in range(count):
        table = np.minimum(table, table[:, k, None] + table[k])
    return edges, lengths, table


@pytest.mark.light
@pytest.mark.parametrize("seed", range(6))
def test_shortest_paths_of_graphs_are_those_of_all_pairs(seed):
    edges, lengths, table = graph(seed)
    count = len(table)
    search = ShortestLengths(count, edges)
    begin = np.full(count, np.inf)
    begin[[0, 7]] = 0.5, 0.0
    result = search.distances(begin, lengths)
    assert np.array_equal(result, np.minimum(0.5 + table[0], table[7]))
    last = search.last_edges(begin, result, lengths)
    for node in range(count):
        if last[node] < 0:
            assert result[node] in (begin[node], np.inf)
            continue
        (tail,) = set(edges[last[node]].tolist()) - {node}
        assert result[tail] + lengths[last[node]] == result[node]
    adjacency = Adjacency(count, edges, lengths)
    for ahead in (np.zeros(count), np.minimum(table[:, 4], 0.25 + table[:, 5])):  # lower bounds
        nodes = adjacency.shortest({0: 0.5, 1: 0.125}, {4: 0.0, 5: 0.25}, ahead.tolist(), [True] * len(edges))
        best = min(0.5 + table[0, 4], 0.75 + table[0, 5], 0.125 + table[1, 4], 0.375 + table[1, 5])
        if math.isinf(best):
            assert nodes is None
            continue
        along = adjacency.edge_indices(nodes)
        ends = {0: 0.5, 1: 0.125}[nodes[0]] + {4: 0.0, 5: 0.25}[nodes[-1]]
        assert ends + lengths[along].sum() == best
        assert all(set(edges[e].tolist()) == {a, b} for e, (a, b) in zip(along, itertools.pairwise(nodes), strict=True))
    assert adjacency.shortest({0: 0.0}, {7: 0.0}, [0.0] * count, [True] * len(edges)) is None
    assert adjacency.shortest({0: 0.0}, {0: 0.5}, [0.0] * count, [False] * len(edges)) == [0]
    connected = np.isfinite(table)
    assert components(count, edges).tolist() == [int(np.flatnonzero(row)[0]) for row in connected]


def test_samples_of_halton_are_reversed_digits():
    def reversed_digits(k, p):
        result, scale = 0.0, 1.0 / p
        while k:
            result, k, scale = result + (k % p) * scale, k // p, scale / p
        return result

    for first, count in ((0, 20), (8, 1), (9, 1), (26, 3), (1, 1)):
        expected = [[reversed_digits(k, p) for p in (2, 3)] for k in range(first, first + count)]
        assert np.allclose(halton(first, count, [2, 3]), expected, atol=1e-15)
    inf = np.inf
    low, high = within_a_revolution(np.array([-inf, -inf, 0.5, -1.0]), np.array([inf, 1.0, inf, 2.0]))
    assert np.allclose(low, [-np.pi, 1.0 - 2.0 * np.pi, 0.5, -1.0]) and np.allclose(
        high, [np.pi, 1.0, 0.5 + 2.0 * np.pi, 2.0]
    )


def flat(rotation=0.0):
    """Return a space of two coordinates, each edge of which turns joints by a part of its length."""
    return SimpleNamespace(
        difference=lambda a, b: b - a,
        integrate=lambda q, phi: q + phi,
        length=lambda phi: np.linalg.norm(phi, axis=-1),
        rotation=lambda phi: rotation * np.linalg.norm(phi, axis=-1),
    )


def test_nodes_on_straight_lines_are_removed_up_to_half_a_turn():
    path = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [2.0, 3.0]])
    assert remove_straight_nodes(flat(), path).tolist() == [[0.0, 0.0], [2.0, 0.0], [2.0, 3.0]]
    assert len(remove_straight_nodes(flat(), path[:2])) == 2
    for shift, count in ((5e-10, 2), (5e-9, 3)):  # of the directions
        bent = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, shift]])
        assert len(remove_straight_nodes(flat(), bent)) == count
    line = np.array([[float(k), 0.0] for k in range(5)])
    turned = remove_straight_nodes(flat(1.25), line)  # each edge turns by 1.25 rad, two by less than half a turn
    assert turned[:, 0].tolist() == [0.0, 2.0, 4.0]


def test_points_of_paths_are_equally_spaced_between_corners():
    path = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 1.0]])
    points, at = _path_points(flat(), path, None)
    assert (points == path).all() and at.tolist() == [0.0, 1.0, 2.0]
    points, at = _path_points(flat(), path, 0.5)
    assert len(points) == len(at) == _MAX_POINTS and (np.diff(at) >= 0.0).all()
    added = _MAX_POINTS - 3
    s = 4.0 * (np.arange(added) + 0.5) / added
    expected = [[x, 0.0] if x < 3.0 else [3.0, x - 3.0] for x in s]
    inner = [point for point, x in zip(points.tolist(), at, strict=True) if x != round(x)]
    assert np.allclose(inner, expected)
    long = np.array([[float(k), 0.0] for k in range(_MAX_POINTS)])
    assert len(_path_points(flat(), long, 0.5)[0]) == _MAX_POINTS


def test_configurations_at_the_limits_are_within_them():
    space = SimpleNamespace(lower=np.array([-1.0, 0.0]), upper=np.array([1.0, 0.5]))
    q = np.array([[-1.0, 0.5], [1.0 + 5e-10, 0.0], [1.0 + 5e-9, 0.0], [0.0, -5e-9], [np.nan, 0.0]])
    assert ConfigurationGeometry.within(space, q).tolist() == [True, True, False, False, False]


def test_nodes_near_several_ends_belong_to_the_nearest_end():
    near = [({3: 2.0, 5: 1.0}, 4), ({3: 1.5, 5: 1.0, 8: 0.25}, 2)]
    self = SimpleNamespace(_connect=lambda q: near[int(q[0])])
    result, checked = RoadmapGraph._connect_all(self, np.array([[0.0], [1.0]]))
    assert checked == 6 and result == {3: (1.5, 1), 5: (1.0, 0), 8: (0.25, 1)}


def test_paths_begin_at_every_node_that_no_shorter_path_reaches():
    """An edge of length zero between two nodes at which paths may begin is in no shortest path."""
    search = ShortestLengths(3, np.array([[0, 1], [1, 2]]))
    begin, lengths = np.array([0.5, 0.5, np.inf]), np.array([0.0, 0.25])
    result = search.distances(begin, lengths)
    assert result.tolist() == [0.5, 0.5, 0.75] and search.last_edges(begin, result, lengths).tolist() == [-1, -1, 1]
