"""Shorter and shorter ways: batches of samples through which one may lead, edges looked at in order of promise.

A path that is known bounds what counts.  Each batch adds samples of the ellipsoid that it leaves, and others about the
path, each joined to its k nearest, k = e (1 + 1/d) log n, and to the path's nodes; nobody looks at an edge before it is
promising.  The length of the shortest way through an edge, along edges that are not known to be blocked, is what it
promises: those that promise most are looked at, many at once, until no edge that is unknown promises less than the best
path is long.  So the best path of each batch is the shortest of its graph, and with more samples tends to the shortest
that there is.

Sources: Gammell, Srinivasa and Barfoot, Batch informed trees (BIT*), 2015; Akgun and Stilman, Sampling heuristics for
optimal motion planning in high dimensions, 2011 (samples about the path); Hauser, Lazy collision checking in
asymptotically-optimal motion planning, 2015; Karaman and Frazzoli, Sampling-based algorithms for optimal motion
planning, 2011.

Configurations through which a shorter way than one that is known may lead.

A way from s to g through x is at least |x − s| + |g − x| long, so only x of an ellipsoid about both count.  Where
configurations are plain numbers it is drawn from; elsewhere, and where the box of limits is smaller, samples are drawn
and the others left out.

Source: Gammell, Srinivasa and Barfoot, Informed RRT*, 2014.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace
from linkwork.planning.result import CostSoFar
from linkwork.planning.search.neighbor_graph import (
    BLOCKED,
    FREE,
    UNKNOWN,
    ShortestLengths,
    near_pairs,
    needed_neighbours,
)

__all__ = ["InformedSamples", "improved", "least_ways"]


_BATCH = 128  # samples
_EDGES = 256  # looked at at once
_SAME = 1e-9  # part of a length by which another is no shorter


def improved(
    space: PlanningSpace,
    path: np.ndarray,
    starts: np.ndarray,
    goals: np.ndarray,
    *,
    seed: int,
    iterations: int | None,
    going: Callable[[int], bool],
    shorten: Callable[[np.ndarray], np.ndarray],
    begun: float,
) -> tuple[np.ndarray, list[CostSoFar]]:
    """A path (k, nq) that is no longer than a given one, and how long the best ones were.

    ``going`` is asked before each round, with how many nodes there are; it ends before, after so many ``iterations``.
    ``shorten`` is what is done with each better path.
    """
    search = _Improving(space, path, starts, goals, seed, begun)
    with suppress(OutOfTimeError):
        _improve(search, iterations, going, shorten)
    return search.path, search.history


def _improve(
    search: _Improving,
    iterations: int | None,
    going: Callable[[int], bool],
    shorten: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Add batches until nothing is shorter, or the time is spent.  Raises OutOfTimeError."""
    done = 0
    while (iterations is None or done < iterations) and going(len(search.q)):
        if search.cost <= search.least * (1.0 + _SAME):
            break  # straight: nothing is shorter
        search.add_batch()
        while search.looked_on():
            better = search.better()
            if better is not None:
                if not search.take(shorten(better), done + 1) and not search.take(better, done + 1):
                    break  # shorter by rounding alone
            elif not going(len(search.q)):
                return
        done += 1


class _Improving:
    """A graph of nodes through which a shorter way may lead."""

    def __init__(
        self, space: PlanningSpace, path: np.ndarray, starts: np.ndarray, goals: np.ndarray, seed: int, begun: float
    ) -> None:
        self.space, self.starts, self.goals, self.begun = space, starts, goals, begun
        self.samples = InformedSamples(space, starts, goals, seed)
        self.dimension = space.dimension()
        self.least = float(np.sqrt(space.between(goals, starts).min()))
        self.q = np.concatenate([starts, goals])
        self.ends = len(starts), len(goals)
        self.edges = np.empty((0, 2), dtype=int)
        self.lengths, self.state = np.empty(0), np.empty(0, dtype=np.int8)
        self.way: np.ndarray = np.empty(0, dtype=int)  # edges of the most promising way
        self.nodes: list[int] = []
        self.path, self.cost = path, np.inf
        self.places: np.ndarray = np.empty(0, dtype=int)  # of the path's nodes
        self.shortest: ShortestLengths | None = None
        self.history: list[CostSoFar] = []
        self.take(path, 0)

    def take(self, path: np.ndarray, iteration: int) -> bool:
        """A path that is known to be free, if it is shorter than the best: whether it is."""
        cost = self.space.cost(self.space.detailed(path))
        if not cost < self.cost:
            return False
        self.path, self.cost = path, cost
        self.history.append(CostSoFar(time.perf_counter() - self.begun, iteration, cost))
        places = [self._place(path[0], 0, self.ends[0]), *range(len(self.q), len(self.q) + len(path) - 2)]
        places.append(self._place(path[-1], self.ends[0], sum(self.ends)))
        self.q = np.concatenate([self.q, path[1:-1]])
        self.places = np.array(places)
        pairs = np.sort(np.stack([self.places[:-1], self.places[1:]], axis=1), axis=1)
        self._add(pairs, FREE)
        return True

    def _place(self, q: np.ndarray, low: int, high: int) -> int:
        """Which of the starts, or of the goals, a configuration is."""
        return low + int(self.space.between(self.q[low:high], q[None])[0].argmin())

    def _add(self, pairs: np.ndarray, state: int) -> None:
        lengths = self._true(pairs) if state == FREE else self._straight(pairs)
        self.edges = np.concatenate([self.edges, pairs])
        self.lengths = np.concatenate([self.lengths, lengths])
        self.shortest = None
        self.state = np.concatenate([self.state, np.full(len(pairs), state, dtype=np.int8)])

    def _straight(self, pairs: np.ndarray) -> np.ndarray:
        return self.space.length(self.space.difference(self.q[pairs[:, 0]], self.q[pairs[:, 1]]))

    def _true(self, pairs: np.ndarray) -> np.ndarray:
        return self.space.edge_lengths(self.q[pairs[:, 0]], self.q[pairs[:, 1]])

    def add_batch(self) -> None:
        """Samples, and edges to what is near; nodes through which no shorter way leads any more are dropped."""
        promise = least_ways(self.space, self.q, self.starts, self.goals)
        kept = promise < self.cost
        kept[: sum(self.ends)] = kept[self.places] = True
        place = np.cumsum(kept) - 1
        fine = kept[self.edges].all(axis=1) & (self.state != BLOCKED)  # pairs that were looked at do not come again
        self.edges, self.lengths, self.state = place[self.edges[fine]], self.lengths[fine], self.state[fine]
        self.q, self.places = self.q[kept], place[self.places]
        half = _BATCH // 2
        q = np.concatenate([self.samples.take(half, self.cost), self.samples.near(self.path, half, self.cost)])
        q = q[self.space.free(q)] if len(q) else q
        old, self.q = len(self.q), np.concatenate([self.q, q])
        near = near_pairs(self.space, self.q, needed_neighbours(len(self.q), self.dimension), first=old)
        along = np.stack(np.meshgrid(self.places, np.arange(old, len(self.q)), indexing="ij"), axis=-1).reshape(-1, 2)
        pairs = np.unique(np.concatenate([near, along]), axis=0)
        self._add(pairs[self._through(pairs) < self.cost], UNKNOWN)

    def _through(self, pairs: np.ndarray) -> np.ndarray:
        """How short ways over pairs of nodes may be at most."""
        ends = self.starts, self.goals
        before, after = (np.sqrt(self.space.between(some, self.q).min(axis=1)) for some in ends)
        i, j = pairs.T
        result: np.ndarray = np.minimum(before[i] + after[j], before[j] + after[i]) + self._straight(pairs)
        return result

    def looked_on(self) -> bool:
        """Whether some way may be shorter than the best: the most promising one is then in ``way``."""
        count = len(self.q)
        lengths = np.where(self.state == BLOCKED, np.inf, self.lengths)
        begin, end = np.full(count, np.inf), np.full(count, np.inf)
        first, last = self.ends
        begin[:first], end[first : first + last] = 0.0, 0.0
        if self.shortest is None:
            self.shortest = ShortestLengths(count, self.edges)
        before = self.shortest.found(begin, lengths)
        goal = first + int(before[first : first + last].argmin())
        if not before[goal] < self.cost * (1.0 - _SAME):
            return False
        by = self.shortest.by(begin, before, lengths)
        self.nodes, way = [goal], []
        while by[self.nodes[-1]] >= 0:
            number = int(by[self.nodes[-1]])
            way.append(number)
            i, j = self.edges[number].tolist()
            self.nodes.append(j if i == self.nodes[-1] else i)
        self.way = np.array(way, dtype=int)
        unknown = self.way[self.state[self.way] == UNKNOWN]
        if len(unknown):
            after = self.shortest.found(end, lengths)
            i, j = self.edges.T
            promise = np.minimum(before[i] + after[j], before[j] + after[i]) + lengths
            others = np.flatnonzero((self.state == UNKNOWN) & (promise < self.cost))
            others = others[np.argsort(promise[others], kind="stable")[:_EDGES]]
            self._look_at(np.union1d(unknown, others))
        return True

    def _look_at(self, numbers: np.ndarray) -> None:
        pairs = self.edges[numbers]
        free = self.space.edges_are_free(self.q[pairs[:, 0]], self.q[pairs[:, 1]])
        self.state[numbers] = np.where(free, FREE, BLOCKED)
        self.lengths[numbers[free]] = self._true(pairs[free])

    def better(self) -> np.ndarray | None:
        """The most promising way (k, nq), if all of it is known to be free."""
        if not (self.state[self.way] == FREE).all():
            return None
        return self.q[self.nodes[::-1]]


_NEAR, _FAR = -4.0, -0.5  # powers of ten of a path's length: how far from it samples about it are
_ROUNDS = 30  # draws for those that are left out


def least_ways(space: PlanningSpace, q: np.ndarray, starts: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """How short ways from a start through q (n, nq) to a goal may be at most: straight, (n,)."""
    before, after = (np.sqrt(space.between(ends, q).min(axis=1)) for ends in (starts, goals))
    result: np.ndarray = before + after
    return result


class InformedSamples:
    """The same ones for a seed and the same costs asked for."""

    def __init__(self, space: PlanningSpace, starts: np.ndarray, goals: np.ndarray, seed: int) -> None:
        self.space, self.starts, self.goals = space, starts, goals
        self._samples: Any = space.samples(seed)
        self._rng = np.random.default_rng([seed, 3])
        self._box = math.inf
        if space.is_flat:
            with np.errstate(divide="ignore"):
                self._box = float(np.log((space.upper - space.lower) * space.weights).sum())

    def take(self, count: int, cost: float) -> np.ndarray:
        """Up to so many (k, nq) through which a way shorter than a cost may lead; they need not be free."""
        result: list[np.ndarray] = []
        left = count
        for _ in range(_ROUNDS):
            q = self._drawn(count, cost)
            q = q[self.space.within(q)] if len(q) else q
            if len(q):
                q = q[least_ways(self.space, q, self.starts, self.goals) < cost][:left]
            result.append(q)
            left -= len(q)
            if not left:
                break
        return np.concatenate(result)

    def near(self, path: np.ndarray, count: int, cost: float) -> np.ndarray:
        """Up to so many about a path (k, nq), half of them about its corners, from far to very near."""
        space, rng = self.space, self._rng
        lengths = space.length(space.difference(path[:-1], path[1:]))
        at = np.concatenate([[0.0], np.cumsum(lengths)])
        s = rng.uniform(0.0, at[-1], count)
        corners = rng.integers(1, max(len(path) - 1, 2), count)
        s = np.where((np.arange(count) % 2 == 0) & (len(path) > 2), at[np.minimum(corners, len(path) - 1)], s)
        piece = np.clip(np.searchsorted(at, s, side="right") - 1, 0, len(lengths) - 1)
        t = (s - at[piece]) / np.maximum(lengths[piece], 1e-300)
        phi = t[:, None] * space.difference(path[piece], path[piece + 1])
        away = rng.normal(size=phi.shape) / space.weights / math.sqrt(phi.shape[1])
        phi += away * (at[-1] * 10.0 ** rng.uniform(_NEAR, _FAR, count))[:, None]
        q = space.integrate(path[piece], phi)
        q = q[space.within(q)]
        result: np.ndarray = q[least_ways(space, q, self.starts, self.goals) < cost] if len(q) else q
        return result

    def _drawn(self, count: int, cost: float) -> np.ndarray:
        space = self.space
        if not space.is_flat or not math.isfinite(cost):
            return np.asarray(self._samples.take(count))
        s = self.starts[self._rng.integers(len(self.starts))] * space.weights
        g = self.goals[self._rng.integers(len(self.goals))] * space.weights
        along, d = g - s, len(s)
        least = float(np.linalg.norm(along))
        if least >= cost:
            return np.empty((0, d))
        across = 0.5 * math.sqrt(cost * cost - least * least)
        volume = 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1.0) + math.log(0.5 * cost)
        if volume + (d - 1) * math.log(across) > self._box:
            return np.asarray(self._samples.take(count))
        x = self._rng.normal(size=(count, d))
        x *= (self._rng.uniform(size=count) ** (1.0 / d) / np.linalg.norm(x, axis=1))[:, None]
        x *= np.array([0.5 * cost] + [across] * (d - 1))
        result: np.ndarray = (0.5 * (s + g) + _turned(x, along)) / space.weights
        return result


def _turned(x: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Rows mirrored so that their first axis is along a direction (Householder)."""
    length = float(np.linalg.norm(along))
    if length <= 1e-12:
        return x
    u = -along / length
    u[0] += 1.0
    square = float(u @ u)
    result: np.ndarray = x if square < 1e-24 else x - np.outer(x @ u, 2.0 * u / square)
    return result
