"""The graph of a roadmap: configurations and ways between them, made once for a scene and asked often.

Nodes are free configurations spread over the limits, each joined to its k nearest, k = e (1 + 1/d) log n, with which
shortest ways along edges tend to shortest ways.  A query joins its start and its goals to the nodes near them, and
takes the shortest way in between.

Sources: Kavraki, Svestka, Latombe and Overmars, Probabilistic roadmaps for path planning in high-dimensional
configuration spaces, 1996; Karaman and Frazzoli, Sampling-based algorithms for optimal motion planning, 2011 (PRM*);
Bohlin and Kavraki, Path planning using lazy PRM, 2000.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple, Self

import numpy as np

from linkwork._util.progress import Reporter, read_progress
from linkwork.planning.collision_space import base_inside
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.search.neighbor_graph import (
    BLOCKED,
    FREE,
    UNKNOWN,
    Adjacency,
    components,
    near_pairs,
    nearest_nodes,
    needed_neighbours,
)

__all__ = ["Roadway", "WayGraph"]

_BATCH = 256  # samples that are looked at together
_EDGES = 2048  # edges that are
_HARDLY = 200  # samples for each node, from which on it is said that hardly any configuration is free
_FURTHER = (1, 4, 16)  # times k: nodes that a configuration is joined to, where the nearer ones are not in sight


class Roadway(NamedTuple):
    """What a graph answers: the way, or why there is none."""

    path: np.ndarray | None
    message: str
    edges: int  # looked at for this query


class WayGraph:
    """Nodes and edges of a roadmap in a space.  Edges are looked at when it is made, or ``lazy``, when a way would
    use them; answers are the same whichever thread asks first, but for the figures.
    """

    def __init__(self, space: PlanningSpace, *, seed: int, neighbours: int | None, lazy: bool) -> None:
        self.space, self.seed, self.neighbours, self.lazy = space, seed, neighbours, lazy
        self._dimension = space.dimension()
        self.q = np.empty((0, space.robot.nq))
        self.edges = np.empty((0, 2), dtype=int)
        self.lengths = np.empty(0)
        self.state = np.empty(0, dtype=np.int8)
        self.batches = 0  # of samples that were drawn
        self._lock = threading.Lock()
        self._settle()

    def _settle(self) -> None:
        self._adjacency = Adjacency(len(self.q), self.edges, self.lengths)
        self._open: list[bool] = (self.state != BLOCKED).tolist()
        self._label: np.ndarray | None = None

    # -- growing

    def grown(self, nodes: int, progress: Any) -> Self:
        """The same with so many nodes more."""
        read_progress("Roadmap", progress)
        other = type(self)(self.space, seed=self.seed, neighbours=self.neighbours, lazy=self.lazy)
        fresh, other.batches = self._fresh(nodes)
        other.q = np.concatenate([self.q, fresh])
        k = self.k(len(other.q))
        pairs = near_pairs(self.space, other.q, k, first=len(self.q))
        lengths = self.space.length(self.space.difference(other.q[pairs[:, 0]], other.q[pairs[:, 1]]))
        state = np.full(len(pairs), UNKNOWN, dtype=np.int8)
        if not self.lazy:
            state = self._looked_at(other.q, pairs, progress)
            pairs, lengths, state = pairs[state == FREE], lengths[state == FREE], state[state == FREE]
        other.edges = np.concatenate([self.edges, pairs])
        other.lengths = np.concatenate([self.lengths, lengths])
        other.state = np.concatenate([self.state, state])
        other._settle()
        return other

    def filled(self, arrays: dict[str, np.ndarray], batches: int) -> None:
        """What a file has of it.  Raises ValueError for what is no graph in the space."""
        q, edges, lengths, state = (arrays[name] for name in ("q", "edges", "lengths", "state"))
        n, m = len(q), len(edges)
        fine = q.shape == (n, self.q.shape[1]) and edges.shape == (m, 2) and lengths.shape == state.shape == (m,)
        if not fine or not np.isfinite(q).all() or (m and not 0 <= edges.min() <= edges.max() < n):
            raise ValueError(f"Roadmap.load: expected nodes (n, {self.q.shape[1]}) and pairs of them, got other arrays")
        self.q, self.edges, self.lengths, self.state, self.batches = q, edges, lengths, state, batches
        self._settle()

    def k(self, count: int) -> int:
        """How many neighbours a node among so many is joined to."""
        if self.neighbours is not None:
            return self.neighbours
        return needed_neighbours(count, self._dimension)

    def _fresh(self, nodes: int) -> tuple[np.ndarray, int]:
        samples = self.space.samples(self.seed)
        for _ in range(self.batches):
            samples.take(_BATCH)
        result: list[np.ndarray] = []
        count, batches = 0, self.batches
        while count < nodes:
            q = samples.take(_BATCH)
            q = q[self.space.free(q)] if len(q) else q
            result.append(q)
            count, batches = count + len(q), batches + 1
            if (batches - self.batches) * _BATCH > max(_HARDLY * (count + 1), 10 * _BATCH):
                base = base_inside(self.space.robot, self.space.scene)
                tried = (batches - self.batches) * _BATCH
                raise ValueError(
                    f"Roadmap: robot, scene and margin: hardly any configuration is free: {count} of {tried}"
                    + (f"; {base}" if base else "")
                )
        return np.concatenate(result)[:nodes] if result else np.empty((0, self.q.shape[1])), batches

    def _looked_at(self, q: np.ndarray, pairs: np.ndarray, progress: Any) -> np.ndarray:
        state = np.full(len(pairs), BLOCKED, dtype=np.int8)
        with Reporter("Roadmap", progress if len(pairs) else False, "edges", len(pairs)).hide_notices() as report:
            for i in range(0, len(pairs), _EDGES):
                some = pairs[i : i + _EDGES]
                state[i : i + _EDGES][self.space.edges_are_free(q[some[:, 0]], q[some[:, 1]])] = FREE
                report.advance(len(some))
        return state

    # -- asking

    @property
    def joined(self) -> np.ndarray:
        """Pairs (m, 2) of nodes with edges that are not known to be blocked."""
        result: np.ndarray = self.edges[self.state != BLOCKED]
        return result

    @property
    def components(self) -> np.ndarray:
        """By node, the least place of those that it is joined with by edges that are not known to be blocked."""
        label = self._label
        if label is None:
            label = self._label = components(len(self.q), self.joined)
        return label

    def way(self, starts: np.ndarray, goals: np.ndarray) -> Roadway:
        """The shortest way (k, nq) from one of several configurations (m, nq) to one of others (n, nq), all free."""
        space = self.space
        i, j = (k.ravel() for k in np.indices((len(starts), len(goals))))
        straight = space.edges_are_free(starts[i], goals[j])
        if straight.any():
            lengths = np.where(straight, space.length(space.difference(starts[i], goals[j])), np.inf)
            best = int(lengths.argmin())
            return Roadway(np.stack([starts[i[best]], goals[j[best]]]), "", len(i))
        first, count = self._all_joined(starts)
        looked = len(i) + count
        if not first:
            return Roadway(None, self._alone(starts, "start", count), looked)
        last, count = self._all_joined(goals)
        looked += count
        if not last:
            return Roadway(None, self._alone(goals, "goal", count), looked)
        ahead = (np.sqrt(space.between(goals, self.q).min(axis=1)) * (1.0 - 1e-12)).tolist()
        begin, end = ({node: length for node, (length, _) in ends.items()} for ends in (first, last))
        while True:
            nodes = self._adjacency.shortest(begin, end, ahead, self._open)
            if nodes is None:
                return Roadway(None, self._apart(begin, end), looked)
            looked += self._made_sure(nodes)
            if (self.state[self._numbers(nodes)] == FREE).all():
                break
        ends = starts[first[nodes[0]][1]], goals[last[nodes[-1]][1]]
        path = np.concatenate([ends[0][None], self.q[nodes], ends[1][None]])
        return Roadway(path[np.concatenate([[True], (path[1:] != path[:-1]).any(axis=1)])], "", looked)

    def _all_joined(self, ends: np.ndarray) -> tuple[dict[int, tuple[float, int]], int]:
        """By node that is joined to any of them, the length to the nearest, and which that is."""
        result: dict[int, tuple[float, int]] = {}
        looked = 0
        for number, q in enumerate(ends):
            near, count = self._joined(q)
            looked += count
            for node, length in near.items():
                if length < result.get(node, (np.inf, 0))[0]:
                    result[node] = length, number
        return result, looked

    def _numbers(self, nodes: list[int]) -> np.ndarray:
        """The edges of a way."""
        return self._adjacency.numbers(nodes)

    def _made_sure(self, nodes: list[int]) -> int:
        """Looks at those edges of a way that nobody has looked at, all at once; how many there were."""
        numbers = self._numbers(nodes)
        unknown = numbers[self.state[numbers] == UNKNOWN]
        if len(unknown):
            pairs = self.edges[unknown]
            free = self.space.edges_are_free(self.q[pairs[:, 0]], self.q[pairs[:, 1]])
            with self._lock:
                self.state[unknown] = np.where(free, FREE, BLOCKED)
                self._label = None
                for number, good in zip(unknown.tolist(), free.tolist(), strict=True):
                    self._open[number] = good
        return len(unknown)

    def _joined(self, q: np.ndarray) -> tuple[dict[int, float], int]:
        """The nodes near a configuration that a free edge leads to, and how far they are; how many edges were looked
        at.
        """
        space, before, k = self.space, 0, self.k(len(self.q))
        for times in _FURTHER:
            near = nearest_nodes(space, q[None], self.q, times * k)[0][before:]
            if not len(near):
                break
            before += len(near)
            free = space.edges_are_free(np.repeat(q[None], len(near), 0), self.q[near])
            if free.any():
                near = near[free]
                lengths = space.length(space.difference(q, self.q[near]))
                return dict(zip(near.tolist(), lengths.tolist(), strict=True)), before
        return {}, before

    def _alone(self, ends: np.ndarray, what: str, count: int) -> str:
        which = f"the {what}" if len(ends) == 1 else f"any of {len(ends)} {what}s"
        return (
            f"no free edge leads from {which} to any of {count // len(ends)} nodes of the roadmap's {len(self.q)}, the "
            f"nearest ones: more nodes may help"
        )

    def _apart(self, begin: dict[int, float], last: dict[int, float]) -> str:
        label = self.components
        sizes = np.bincount(label, minlength=len(label))
        here, there = ({int(label[node]) for node in ends} for ends in (begin, last))
        a, b = (max(int(sizes[k]) for k in ends) for ends in (here, there))
        return (
            f"start and goal are in parts of the roadmap that no edge joins, of {a} and {b} of its {len(self.q)} "
            f"nodes: more may help"
        )

    # -- as a value

    def __getstate__(self) -> dict[str, Any]:
        names = ("space", "_dimension", "seed", "neighbours", "lazy", "q", "edges", "lengths", "state", "batches")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._settle()
