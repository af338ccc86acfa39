"""Asymptotically optimal planning: batches of informed samples with lazy edge checks (BIT*-like).

The length of a known path bounds the search.  Each batch adds samples of an ellipsoid, and samples near the path.  The
ellipsoid contains all configurations through which a shorter path may lead.  Each sample is connected to its k nearest
neighbours, k = e (1 + 1/d) log n, and to the path's nodes.  Edges are checked lazily.  A lower bound of each edge is
the length of the shortest path through it, along edges that are not known to be blocked.  Edges with the smallest
bounds are checked, many together, until no unknown edge has a bound below the length of the best path.  So the best
path of each batch is the shortest of its graph, and converges to the shortest path with more samples.

Sources: Gammell, Srinivasa and Barfoot, Batch informed trees (BIT*), 2015; Akgun and Stilman, Sampling heuristics for
optimal motion planning in high dimensions, 2011 (samples about the path); Hauser, Lazy collision checking in
asymptotically-optimal motion planning, 2015; Karaman and Frazzoli, Sampling-based algorithms for optimal motion
planning, 2011.

Informed samples: a path from s to g through x has at least the length |x − s| + |g − x|, so only x in an ellipsoid
about both can shorten it.  In Euclidean spaces the ellipsoid is sampled directly.  Elsewhere, and where the box of
limits is smaller, samples of the limits outside the ellipsoid are rejected.

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

__all__ = ["InformedSamples", "improve_path", "length_bounds"]


_BATCH = 128  # samples
_EDGES = 256  # edges checked together
_SAME = 1e-9  # relative tolerance of equal lengths


def improve_path(
    space: PlanningSpace,
    path: np.ndarray,
    starts: np.ndarray,
    goals: np.ndarray,
    *,
    seed: int,
    iterations: int | None,
    continues: Callable[[int], bool],
    shorten: Callable[[np.ndarray], np.ndarray],
    begin_time: float,
) -> tuple[np.ndarray, list[CostSoFar]]:
    """Return a path (k, nq) no longer than ``path``, and the history of best lengths.

    ``continues`` is called before each round with the number of nodes and ends the search by False.
    ``iterations`` limits the number of batches.  ``shorten`` is applied to each better path.
    """
    search = _ImprovementGraph(space, path, starts, goals, seed, begin_time)
    with suppress(OutOfTimeError):
        _improve(search, iterations, continues, shorten)
    return search.path, search.history


def _improve(
    search: _ImprovementGraph,
    iterations: int | None,
    continues: Callable[[int], bool],
    shorten: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Improve the best path of a search by batches of samples, until no shorter one is possible.

    It ends before that when ``continues`` returns False.

    Raises OutOfTimeError.
    """
    done = 0
    while (iterations is None or done < iterations) and continues(len(search.q)):
        if search.cost <= search.min_length * (1.0 + _SAME):
            break  # a straight motion is the shortest
        search.add_batch()
        while search.check_promising():
            better = search.better()
            if better is not None:
                if not search.take(shorten(better), done + 1) and not search.take(better, done + 1):
                    break  # shorter only by rounding
            elif not continues(len(search.q)):
                return
        done += 1


class _ImprovementGraph:
    """Graph of configurations through which a path shorter than the best one may lead, and that best path."""

    def __init__(
        self,
        space: PlanningSpace,
        path: np.ndarray,
        starts: np.ndarray,
        goals: np.ndarray,
        seed: int,
        begin_time: float,
    ) -> None:
        self.space, self.starts, self.goals, self.begin_time = space, starts, goals, begin_time
        self.samples = InformedSamples(space, starts, goals, seed)
        self.dimension = max(space.dimension() - int((space.lower == space.upper).sum()), 1)
        self.min_length = float(np.sqrt(space.between(goals, starts).min()))
        self.q = np.concatenate([starts, goals])
        self.ends = len(starts), len(goals)
        self.edges = np.empty((0, 2), dtype=int)
        self.lengths, self.state = np.empty(0), np.empty(0, dtype=np.int8)
        self.candidate_edges: np.ndarray = np.empty(0, dtype=int)  # edges of the most promising path
        self.nodes: list[int] = []
        self.path, self.cost = path, np.inf
        self.path_nodes: np.ndarray = np.empty(0, dtype=int)  # indices of the path's nodes
        self.shortest: ShortestLengths | None = None
        self.history: list[CostSoFar] = []
        self.take(path, 0)

    def take(self, path: np.ndarray, iteration: int) -> bool:
        """Replace the best path by a collision-free path if that is shorter; return True if it was replaced."""
        cost = self.space.cost(self.space.detailed(path))
        if not cost < self.cost:
            return False
        self.path, self.cost = path, cost
        self.history.append(CostSoFar(time.perf_counter() - self.begin_time, iteration, cost))
        path_nodes = [self._end_index(path[0], 0, self.ends[0]), *range(len(self.q), len(self.q) + len(path) - 2)]
        path_nodes.append(self._end_index(path[-1], self.ends[0], sum(self.ends)))
        self.q = np.concatenate([self.q, path[1:-1]])
        self.path_nodes = np.array(path_nodes)
        pairs = np.sort(np.stack([self.path_nodes[:-1], self.path_nodes[1:]], axis=1), axis=1)
        self._add(pairs, FREE)
        return True

    def _end_index(self, q: np.ndarray, low: int, high: int) -> int:
        """Return the index of the node nearest to q among the nodes ``low`` to ``high``, which are starts or goals."""
        return low + int(self.space.between(self.q[low:high], q[None])[0].argmin())

    def _add(self, pairs: np.ndarray, state: int) -> None:
        lengths = self._checked_lengths(pairs) if state == FREE else self._straight_lengths(pairs)
        self.edges = np.concatenate([self.edges, pairs])
        self.lengths = np.concatenate([self.lengths, lengths])
        self.shortest = None
        self.state = np.concatenate([self.state, np.full(len(pairs), state, dtype=np.int8)])

    def _straight_lengths(self, pairs: np.ndarray) -> np.ndarray:
        return self.space.length(self.space.difference(self.q[pairs[:, 0]], self.q[pairs[:, 1]]))

    def _checked_lengths(self, pairs: np.ndarray) -> np.ndarray:
        return self.space.edge_lengths(self.q[pairs[:, 0]], self.q[pairs[:, 1]])

    def add_batch(self) -> None:
        """Add samples and edges to their neighbours; remove nodes that cannot be on a shorter path."""
        bounds = length_bounds(self.space, self.q, self.starts, self.goals)
        keep = bounds < self.cost
        keep[: sum(self.ends)] = keep[self.path_nodes] = True
        new_index = np.cumsum(keep) - 1
        retained = keep[self.edges].all(axis=1) & (self.state != BLOCKED)  # checked pairs are not added again
        self.edges, self.lengths, self.state = (
            new_index[self.edges[retained]],
            self.lengths[retained],
            self.state[retained],
        )
        self.q, self.path_nodes = self.q[keep], new_index[self.path_nodes]
        half = _BATCH // 2
        q = np.concatenate([self.samples.take(half, self.cost), self.samples.near(self.path, half, self.cost)])
        q = q[self.space.free(q)] if len(q) else q
        old, self.q = len(self.q), np.concatenate([self.q, q])
        near = near_pairs(self.space, self.q, needed_neighbours(len(self.q), self.dimension), first=old)
        along = np.stack(np.meshgrid(self.path_nodes, np.arange(old, len(self.q)), indexing="ij"), axis=-1).reshape(
            -1, 2
        )
        pairs = np.unique(np.concatenate([near, along]), axis=0)
        self._add(pairs[self._through(pairs) < self.cost], UNKNOWN)

    def _through(self, pairs: np.ndarray) -> np.ndarray:
        """Return lower bounds (m,) of the lengths of paths that lead through pairs (m, 2) of nodes."""
        ends = self.starts, self.goals
        before, after = (np.sqrt(self.space.between(end, self.q).min(axis=1)) for end in ends)
        i, j = pairs.T
        result: np.ndarray = np.minimum(before[i] + after[j], before[j] + after[i]) + self._straight_lengths(pairs)
        return result

    def check_promising(self) -> bool:
        """Check the edges of the most promising paths; return False if no path can be shorter than the best.

        A path is promising if it is shorter than the best path, along edges that are not known to be blocked. After the
        call, ``candidate_edges`` has the edges of the shortest such path.
        """
        count = len(self.q)
        lengths = np.where(self.state == BLOCKED, np.inf, self.lengths)
        begin, end = np.full(count, np.inf), np.full(count, np.inf)
        first, last = self.ends
        begin[:first], end[first : first + last] = 0.0, 0.0
        if self.shortest is None:
            self.shortest = ShortestLengths(count, self.edges)
        before = self.shortest.distances(begin, lengths)
        goal = first + int(before[first : first + last].argmin())
        if not before[goal] < self.cost * (1.0 - _SAME):
            return False
        last_edges = self.shortest.last_edges(begin, before, lengths)
        self.nodes, candidate_edges = [goal], []
        while last_edges[self.nodes[-1]] >= 0:
            edge = int(last_edges[self.nodes[-1]])
            candidate_edges.append(edge)
            i, j = self.edges[edge].tolist()
            self.nodes.append(j if i == self.nodes[-1] else i)
        self.candidate_edges = np.array(candidate_edges, dtype=int)
        unknown = self.candidate_edges[self.state[self.candidate_edges] == UNKNOWN]
        if len(unknown):
            after = self.shortest.distances(end, lengths)
            i, j = self.edges.T
            bounds = np.minimum(before[i] + after[j], before[j] + after[i]) + lengths
            unknown_edges = np.flatnonzero((self.state == UNKNOWN) & (bounds < self.cost))
            unknown_edges = unknown_edges[np.argsort(bounds[unknown_edges], kind="stable")[:_EDGES]]
            self._check_edges(np.union1d(unknown, unknown_edges))
        return True

    def _check_edges(self, edges: np.ndarray) -> None:
        pairs = self.edges[edges]
        free = self.space.edges_are_free(self.q[pairs[:, 0]], self.q[pairs[:, 1]])
        self.state[edges] = np.where(free, FREE, BLOCKED)
        self.lengths[edges[free]] = self._checked_lengths(pairs[free])

    def better(self) -> np.ndarray | None:
        """Return the path (k, nq) that `check_promising` found if all its edges are known to be free, else None."""
        if not (self.state[self.candidate_edges] == FREE).all():
            return None
        return self.q[self.nodes[::-1]]


_NEAR, _FAR = -4.0, -0.5  # decimal exponents of the distance of samples from a path, relative to its length
_ROUNDS = 30  # attempts to replace rejected samples


def length_bounds(space: PlanningSpace, q: np.ndarray, starts: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """Return lower bounds (n,) of the lengths of paths from a start through q (n, nq) to a goal."""
    before, after = (np.sqrt(space.between(ends, q).min(axis=1)) for ends in (starts, goals))
    result: np.ndarray = before + after
    return result


class InformedSamples:
    """Samples of configurations through which a path shorter than the best one may lead.

    They are reproducible by the seed and the sequence of lengths of best paths.
    """

    def __init__(self, space: PlanningSpace, starts: np.ndarray, goals: np.ndarray, seed: int) -> None:
        self.space, self.starts, self.goals = space, starts, goals
        self._samples: Any = space.samples(seed)
        self._rng = np.random.default_rng([seed, 3])
        self._box = math.inf
        self._free = space.upper > space.lower  # coordinates that are not locked
        if space.is_flat:
            self._box = float(np.log((space.upper - space.lower)[self._free] * space.weights[self._free]).sum())

    def take(self, count: int, cost: float) -> np.ndarray:
        """Return up to ``count`` configurations (k, nq) through which a path shorter than ``cost`` may lead.

        They are not checked for collisions.
        """
        result: list[np.ndarray] = []
        remaining = count
        for _ in range(_ROUNDS):
            q = self._draw(count, cost)
            q = q[self.space.within(q)] if len(q) else q
            if len(q):
                q = q[length_bounds(self.space, q, self.starts, self.goals) < cost][:remaining]
            result.append(q)
            remaining -= len(q)
            if not remaining:
                break
        return np.concatenate(result)

    def near(self, path: np.ndarray, count: int, cost: float) -> np.ndarray:
        """Return up to ``count`` configurations (k, nq) near a path, at a wide range of distances from it.

        ``path`` (points, nq) has the path's corners, between which it is straight. Half of the samples are drawn near
        inner corners, if there are any. Only samples within limits through which a path shorter than ``cost`` may lead
        are returned. They are not checked for collisions.
        """
        space, rng = self.space, self._rng
        lengths = space.length(space.difference(path[:-1], path[1:]))
        at = np.concatenate([[0.0], np.cumsum(lengths)])
        s = rng.uniform(0.0, at[-1], count)
        corners = rng.integers(1, max(len(path) - 1, 2), count)
        s = np.where((np.arange(count) % 2 == 0) & (len(path) > 2), at[np.minimum(corners, len(path) - 1)], s)
        segment = np.clip(np.searchsorted(at, s, side="right") - 1, 0, len(lengths) - 1)
        t = (s - at[segment]) / np.maximum(lengths[segment], 1e-300)
        phi = t[:, None] * space.difference(path[segment], path[segment + 1])
        offset = rng.normal(size=phi.shape) / space.weights / math.sqrt(phi.shape[1])
        phi += offset * (at[-1] * 10.0 ** rng.uniform(_NEAR, _FAR, count))[:, None]
        q = space.integrate(path[segment], phi)
        q[:, ~self._free] = space.lower[~self._free]
        q = q[space.within(q)]
        result: np.ndarray = q[length_bounds(space, q, self.starts, self.goals) < cost] if len(q) else q
        return result

    def _draw(self, count: int, cost: float) -> np.ndarray:
        space = self.space
        if not space.is_flat or not math.isfinite(cost):
            return np.asarray(self._samples.take(count))
        free, weights = self._free, space.weights[self._free]
        q_start = self.starts[self._rng.integers(len(self.starts))]
        s = q_start[free] * weights
        g = self.goals[self._rng.integers(len(self.goals))][free] * weights
        along, d = g - s, len(s)
        min_length = float(np.linalg.norm(along))
        if min_length >= cost or not d:
            return np.empty((0, len(q_start)))
        across = 0.5 * math.sqrt(cost * cost - min_length * min_length)
        volume = 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1.0) + math.log(0.5 * cost)
        if volume + (d - 1) * math.log(across) > self._box:
            return np.asarray(self._samples.take(count))
        x = self._rng.normal(size=(count, d))
        x *= (self._rng.uniform(size=count) ** (1.0 / d) / np.linalg.norm(x, axis=1))[:, None]
        x *= np.array([0.5 * cost] + [across] * (d - 1))
        result = np.tile(q_start, (count, 1))
        result[:, free] = (0.5 * (s + g) + _mirrored(x, along)) / weights
        return result


def _mirrored(x: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return the points ``x`` (n, d) reflected so that the first axis is mapped to the direction ``along``.

    The reflection is a Householder transformation.
    """
    length = float(np.linalg.norm(along))
    if length <= 1e-12:
        return x
    u = -along / length
    u[0] += 1.0
    square = float(u @ u)
    result: np.ndarray = x if square < 1e-24 else x - np.outer(x @ u, 2.0 * u / square)
    return result
