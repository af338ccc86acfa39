"""Graphs of configurations: nearest neighbours, components, and shortest paths (A*).

Sources: Karaman and Frazzoli, Sampling-based algorithms for optimal motion planning, 2011 (how many neighbours
suffice); Hart, Nilsson and Raphael, A formal basis for the heuristic determination of minimum
cost paths, 1968.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence

import numpy as np

from linkwork.planning.planning_space import PlanningSpace

__all__ = [
    "BLOCKED",
    "FREE",
    "UNKNOWN",
    "Adjacency",
    "ShortestLengths",
    "components",
    "near_pairs",
    "nearest_nodes",
    "needed_neighbours",
]

UNKNOWN, FREE, BLOCKED = 0, 1, 2  # states of an edge
_MAX_DISTANCES = 1 << 21  # maximum size of a distance table


def needed_neighbours(count: int, dimension: int) -> int:
    """Return k = e (1 + 1/d) log n: with k neighbours per node, paths in a growing graph converge to the optimum.

    n is ``count`` and d is ``dimension``.
    """
    return max(1, math.ceil(math.e * (1.0 + 1.0 / max(dimension, 1)) * math.log(max(count, 2))))


def nearest_nodes(space: PlanningSpace, q: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """Return the indices (b, k) of the rows (n, nq) nearest to each of q (b, nq), nearest first."""
    k = min(k, len(rows))
    result = np.empty((len(q), k), dtype=int)
    chunk = max(1, _MAX_DISTANCES // max(len(rows), 1))
    for i in range(0, len(q), chunk):
        square = space.between(rows, q[i : i + chunk])
        near = (
            np.argpartition(square, k - 1, axis=1)[:, :k] if k < len(rows) else np.tile(np.arange(k), (len(square), 1))
        )
        order = np.take_along_axis(square, near, 1).argsort(axis=1, kind="stable")
        result[i : i + chunk] = np.take_along_axis(near, order, 1)
    return result


def near_pairs(space: PlanningSpace, q: np.ndarray, k: int, first: int = 0) -> np.ndarray:
    """Return index pairs (m, 2) with i < j that connect each configuration from index ``first`` on to its k nearest.

    ``q`` (n, nq) are all configurations.
    """
    if len(q) < 2 or first >= len(q):
        return np.empty((0, 2), dtype=int)
    near = nearest_nodes(space, q[first:], q, k + 1)
    rows = np.repeat(np.arange(first, len(q)), near.shape[1])
    pairs = np.sort(np.stack([rows, near.ravel()], axis=1), axis=1)
    result: np.ndarray = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return result


def components(count: int, edges: np.ndarray) -> np.ndarray:
    """Return the connected component of each node of a graph (count,): the smallest index of a node in it.

    ``edges`` are (m, 2).
    """
    label = np.arange(count)
    while len(edges):
        low = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        new = label.copy()
        np.minimum.at(new, edges[:, 0], low)
        np.minimum.at(new, edges[:, 1], low)
        np.minimum.at(new, label[edges[:, 0]], low)
        np.minimum.at(new, label[edges[:, 1]], low)
        new = new[new]
        if np.array_equal(new, label):
            break
        label = new
    return label


class ShortestLengths:
    """Lengths of shortest paths along edges (m, 2) to all nodes of a graph, by relaxation (Bellman–Ford)."""

    def __init__(self, count: int, edges: np.ndarray) -> None:
        head = np.concatenate([edges[:, 1], edges[:, 0]])
        order = np.argsort(head, kind="stable")
        self._tail, self._head = np.concatenate([edges[:, 0], edges[:, 1]])[order], head[order]
        self._edge_index = np.tile(np.arange(len(edges)), 2)[order]
        self._heads, self._starts = np.unique(self._head, return_index=True)
        self._count = count

    def distances(self, begin: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the length (n,) of the shortest path to each node, from any node at which a path may begin.

        ``begin`` (n,) are the initial lengths of paths that begin at each node, infinite where none may begin.
        ``lengths`` (m,) are those of edges; edges of infinite length are ignored.
        """
        result, step = begin.copy(), lengths[self._edge_index]
        for _ in range(self._count if len(self._heads) else 0):
            best = np.minimum.reduceat(result[self._tail] + step, self._starts)
            shorter = best < result[self._heads]
            if not shorter.any():
                break
            result[self._heads[shorter]] = best[shorter]
        return result

    def last_edges(self, begin: np.ndarray, result: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the index (n,) of the last edge of the shortest path to each node; −1 where no edge leads to it.

        ``result`` are the lengths that `distances` returned for ``begin`` and ``lengths``.
        """
        last_edges = np.full(self._count, -1)
        if len(self._heads):
            with np.errstate(invalid="ignore"):
                exact = result[self._tail] + lengths[self._edge_index] == result[self._head]
            best_length = np.flatnonzero(exact & (result[self._head] < begin[self._head]))
            last_edges[self._head[best_length[::-1]]] = self._edge_index[best_length[::-1]]
        return last_edges


class Adjacency:
    """Adjacency lists of edges (m, 2) for searches."""

    def __init__(self, count: int, edges: np.ndarray, lengths: np.ndarray) -> None:
        tail = np.concatenate([edges[:, 0], edges[:, 1]])
        order = np.argsort(tail, kind="stable")
        self.count = count
        self._bounds = np.searchsorted(tail[order], np.arange(count + 1)).tolist()
        self._heads = np.concatenate([edges[:, 1], edges[:, 0]])[order].tolist()
        self._edge_indices = np.tile(np.arange(len(edges)), 2)[order].tolist()
        self._lengths = np.tile(lengths, 2)[order].tolist()

    def edge_indices(self, nodes: Sequence[int]) -> np.ndarray:
        """Return the indices of the edges between consecutive nodes of a path."""
        result = []
        for tail, head in itertools.pairwise(nodes):
            low, high = self._bounds[tail], self._bounds[tail + 1]
            result.append(self._edge_indices[low + self._heads[low:high].index(head)])
        return np.array(result, dtype=int)

    def shortest(
        self, begin: dict[int, float], end: dict[int, float], ahead: Sequence[float], open_: Sequence[bool]
    ) -> list[int] | None:
        """Return the nodes of the shortest path along open edges from any start to any end node; None if there is none.

        The method is A*. ``begin`` and ``end`` map start and end nodes to lengths that are added before and after them.
        ``ahead`` is a lower bound of the remaining length from each node. ``open_`` is True for open edges.
        """
        best = dict(begin)
        before: dict[int, int] = {}
        heap = [(length + ahead[node], node) for node, length in begin.items()]
        heapq.heapify(heap)
        closed: set[int] = set()
        best_length, last = math.inf, -1
        while heap:
            lower_bound, node = heapq.heappop(heap)
            if lower_bound >= best_length:
                break
            if node in closed:
                continue
            closed.add(node)
            length_here = best[node]
            if node in end and length_here + end[node] < best_length:
                best_length, last = length_here + end[node], node
            for k in range(self._bounds[node], self._bounds[node + 1]):
                if not open_[self._edge_indices[k]]:
                    continue
                head, length_through = self._heads[k], length_here + self._lengths[k]
                if length_through < best.get(head, math.inf):
                    best[head], before[head] = length_through, node
                    closed.discard(head)
                    heapq.heappush(heap, (length_through + ahead[head], head))
        if last < 0:
            return None
        path = [last]
        while path[-1] in before:
            path.append(before[path[-1]])
        return path[::-1]
