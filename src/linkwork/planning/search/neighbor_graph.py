"""Graphs of configurations: which are near each other, and the shortest ways along edges.

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

UNKNOWN, FREE, BLOCKED = 0, 1, 2  # what is known of an edge
_AT_ONCE = 1 << 21  # distances in one table


def needed_neighbours(count: int, dimension: int) -> int:
    """k = e (1 + 1/d) log n, with which shortest ways along edges tend to shortest ways."""
    return max(1, math.ceil(math.e * (1.0 + 1.0 / max(dimension, 1)) * math.log(max(count, 2))))


def nearest_nodes(space: PlanningSpace, q: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """The places (b, k) of the rows (n, nq) nearest to each of q (b, nq), the nearest first."""
    k = min(k, len(rows))
    result = np.empty((len(q), k), dtype=int)
    chunk = max(1, _AT_ONCE // max(len(rows), 1))
    for i in range(0, len(q), chunk):
        square = space.between(rows, q[i : i + chunk])
        near = (
            np.argpartition(square, k - 1, axis=1)[:, :k] if k < len(rows) else np.tile(np.arange(k), (len(square), 1))
        )
        order = np.take_along_axis(square, near, 1).argsort(axis=1, kind="stable")
        result[i : i + chunk] = np.take_along_axis(near, order, 1)
    return result


def near_pairs(space: PlanningSpace, q: np.ndarray, k: int, first: int = 0) -> np.ndarray:
    """Pairs (m, 2) of places, i < j: each of the rows from the first on, and its k nearest of all."""
    if len(q) < 2 or first >= len(q):
        return np.empty((0, 2), dtype=int)
    near = nearest_nodes(space, q[first:], q, k + 1)
    own = np.repeat(np.arange(first, len(q)), near.shape[1])
    pairs = np.sort(np.stack([own, near.ravel()], axis=1), axis=1)
    result: np.ndarray = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return result


def components(count: int, edges: np.ndarray) -> np.ndarray:
    """By node, the least place of those that edges (m, 2) join it with."""
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
    """Lengths of shortest ways from many nodes at once along edges (m, 2): all edges again and again, until nothing is
    shorter.
    """

    def __init__(self, count: int, edges: np.ndarray) -> None:
        head = np.concatenate([edges[:, 1], edges[:, 0]])
        order = np.argsort(head, kind="stable")
        self._tail, self._head = np.concatenate([edges[:, 0], edges[:, 1]])[order], head[order]
        self._number = np.tile(np.arange(len(edges)), 2)[order]
        self._heads, self._starts = np.unique(self._head, return_index=True)
        self._most = count

    def found(self, begin: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The lengths (n,) of shortest ways from where it begins, with the lengths (n,) that are before it, infinite
        elsewhere; edges of infinite length are none.
        """
        result, step = begin.copy(), lengths[self._number]
        for _ in range(self._most if len(self._heads) else 0):
            best = np.minimum.reduceat(result[self._tail] + step, self._starts)
            shorter = best < result[self._heads]
            if not shorter.any():
                break
            result[self._heads[shorter]] = best[shorter]
        return result

    def by(self, begin: np.ndarray, result: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """By node, the edge that its shortest way comes by; −1 where it begins."""
        by = np.full(self._most, -1)
        if len(self._heads):
            with np.errstate(invalid="ignore"):
                exact = result[self._tail] + lengths[self._number] == result[self._head]
            least = np.flatnonzero(exact & (result[self._head] < begin[self._head]))
            by[self._head[least[::-1]]] = self._number[least[::-1]]
        return by


class Adjacency:
    """Edges (m, 2) by node, for searches from node to node."""

    def __init__(self, count: int, edges: np.ndarray, lengths: np.ndarray) -> None:
        tail = np.concatenate([edges[:, 0], edges[:, 1]])
        order = np.argsort(tail, kind="stable")
        self.count = count
        self._bounds = np.searchsorted(tail[order], np.arange(count + 1)).tolist()
        self._heads = np.concatenate([edges[:, 1], edges[:, 0]])[order].tolist()
        self._numbers = np.tile(np.arange(len(edges)), 2)[order].tolist()
        self._lengths = np.tile(lengths, 2)[order].tolist()

    def numbers(self, nodes: Sequence[int]) -> np.ndarray:
        """The edges between neighbours on a way of nodes."""
        result = []
        for tail, head in itertools.pairwise(nodes):
            low, high = self._bounds[tail], self._bounds[tail + 1]
            result.append(self._numbers[low + self._heads[low:high].index(head)])
        return np.array(result, dtype=int)

    def shortest(
        self, begin: dict[int, float], end: dict[int, float], ahead: Sequence[float], open_: Sequence[bool]
    ) -> list[int] | None:
        """The nodes of the shortest way from where it may begin to where it may end, each with the length that is
        before or after it, along edges that are open; ``ahead`` is never more than what is left from a node (A*).
        """
        best = dict(begin)
        before: dict[int, int] = {}
        heap = [(length + ahead[node], node) for node, length in begin.items()]
        heapq.heapify(heap)
        closed: set[int] = set()
        least, last = math.inf, -1
        while heap:
            promised, node = heapq.heappop(heap)
            if promised >= least:
                break
            if node in closed:
                continue
            closed.add(node)
            here = best[node]
            if node in end and here + end[node] < least:
                least, last = here + end[node], node
            for k in range(self._bounds[node], self._bounds[node + 1]):
                if not open_[self._numbers[k]]:
                    continue
                head, through = self._heads[k], here + self._lengths[k]
                if through < best.get(head, math.inf):
                    best[head], before[head] = through, node
                    closed.discard(head)
                    heapq.heappush(heap, (through + ahead[head], head))
        if last < 0:
            return None
        way = [last]
        while way[-1] in before:
            way.append(before[way[-1]])
        return way[::-1]
