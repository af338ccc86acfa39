"""Searches and shortcuts as loops: around a disc in a plane, on plain numbers and compiled; trees that are cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.algorithms.planning.growing import LINES, Samplings, grown
from linkwork.algorithms.planning.shortcuts import cut_short
from linkwork.algorithms.planning.spread import rates, spread
from linkwork.algorithms.planning.ways import Ways
from linkwork.expr.arrays import array
from linkwork.expr.functions import lt, where
from linkwork.facade.planning.quick import _way, _without

ROOM, SPACING = 96, 0.05
START, GOALS = np.array([-2.0, 0.1]), np.array([[2.0, 0.0], [2.2, 0.5]])


def _in_disc(q: list[Any]) -> Any:
    return where(lt(q[0] * q[0] + q[1] * q[1], 1.0), 1.0, 0.0)


def _grow(nodes: Any, links: Any, numbers: Any) -> tuple[Any, Any, Any]:
    lines = np.zeros((LINES, 6))
    lines[:, :2], lines[:, 2:4], lines[:, 4:] = START, GOALS[np.arange(LINES) % 2] - START, (0.5, 9.0)
    limits = np.array([[-3.0, -3.0], [3.0, 3.0]])
    samples = Samplings(lines, [0.1, 0.2, 0.3, 0.4, 0.5], 0.0, limits, limits, 0.2, 10.0)
    ways = Ways([1.0, 1.0], (False, False))
    found = grown(ways, _in_disc, nodes, links, (1.0, 2.0), samples, numbers[0], numbers[1], at_most=1000)
    return found.nodes, found.links, array([*found.counts, *found.met, found.number, found.rounds])


def _cut(nodes: Any, links: Any, numbers: Any) -> tuple[Any, Any, Any]:
    ways, (count, length) = Ways([1.0, 1.0], (False, False)), (numbers[0], numbers[1])
    hope = (1e30, 1.0)
    found = cut_short(ways, _in_disc, nodes, links, count, length, [0.3, 0.7], SPACING, numbers[2], hope, at_most=1000)
    return found.nodes, found.links, array([found.length, found.tried, found.looks])


def _begun() -> tuple[np.ndarray, np.ndarray]:
    nodes, links = np.zeros((ROOM, 2)), np.zeros((ROOM, 2))
    nodes[:3], links[:3] = [START, *GOALS], [[0.0, -1.0], [1.0, -1.0], [1.0, -1.0]]
    return nodes, links


def _length(path: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def test_points_are_spread_evenly() -> None:
    for d in (1, 2, 10):
        g = 1.0 / rates(d)[0]
        assert abs(g ** (d + 1) - g - 1.0) < 1e-12
        points = np.array([spread(float(n), [0.3] * d) for n in range(1, 1001)])
        assert ((points >= 0.0) & (points < 1.0)).all()
        for column in points.T:
            counts = np.histogram(column, 10, (0.0, 1.0))[0]
            assert abs(counts - 100).max() <= 12  # random ones are off by up to about 30


def test_trees_meet_and_paths_are_cut_short() -> None:
    nodes, links, told = _grow(*_begun(), np.array([0.2, 400.0]))
    count, (here, there) = int(told[0] + told[1]), told[2:4].astype(int)
    side, parent = links[:count].astype(int).T
    assert told[0] == (side == 0).sum() and here >= 0 and side[here] != side[there] and told[5] <= 400
    assert (parent[3:] < np.arange(3, count)).all() and (parent[3:] >= 0).all()
    assert (side[parent[3:]] == side[3:]).all()
    for k in range(3, count):
        step = np.linalg.norm(nodes[k] - nodes[parent[k]])
        assert step < 0.2 * 4 + 1e-9 and np.linalg.norm(nodes[k]) >= 1.0
    way, ahead = _way(links[:count], here, there)
    path = nodes[way]
    assert np.array_equal(path[0], START) and (path[-1] == GOALS).all(axis=1).any()
    assert (side[way[: ahead + 1]] == 0).all() and (side[way[ahead + 1 :]] == 1).all()
    compiled = lw.compile(_grow, nodes=(ROOM, 2), links=(ROOM, 2), numbers=2)
    again = compiled(*_begun(), np.array([0.2, 400.0]))
    assert all(np.abs(a - b).max() < 1e-9 for a, b in zip((nodes, links, told), again, strict=True))
    assert compiled(*_begun(), np.array([0.2, 3.0]))[2][5] == 3.0

    # without what is blocked, and what grew on it
    blocked = np.array([way[1]])
    fewer, kept, counts = _without(nodes, links, count, blocked)
    gone = {way[1]}
    for k in range(count):
        if parent[k] in gone:
            gone.add(k)
    left = [k for k in range(count) if k not in gone]
    assert counts.sum() == len(left) and np.array_equal(fewer[: len(left)], nodes[left])
    for place, k in enumerate(left):
        assert kept[place, 0] == side[k]
        assert kept[place, 1] == -1 if parent[k] < 0 else left[int(kept[place, 1])] == parent[k]

    table, after = np.zeros((ROOM, 2)), np.full((ROOM, 2), -1.0)
    table[: len(path)] = path
    after[: len(path) - 1] = np.stack(
        [np.arange(1.0, len(path)), np.linalg.norm(np.diff(path, axis=0), axis=1)], axis=1
    )
    cut = lw.compile(_cut, nodes=(ROOM, 2), links=(ROOM, 2), numbers=3)
    lengths = []
    for trials in (0.0, 10.0, 60.0):
        given = (table, after, np.array([len(path), _length(path), trials]))
        found = _cut(*given)
        assert all(np.abs(a - b).max() < 1e-9 for a, b in zip(found, cut(*given), strict=True))
        rows, onward, (length, tried, _) = found
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
