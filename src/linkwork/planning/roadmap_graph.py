"""Probabilistic roadmap (PRM*): a graph of configurations and edges, built once per scene.

Nodes are collision-free configurations that cover the limits, each connected to its k nearest, k = e (1 + 1/d) log n.
With this k, shortest paths in the graph converge to shortest paths.  A query connects its start and its goals to nearby
nodes and takes the shortest path between them.

Sources: Kavraki, Svestka, Latombe and Overmars, Probabilistic roadmaps for path planning in high-dimensional
configuration spaces, 1996; Karaman and Frazzoli, Sampling-based algorithms for optimal motion planning, 2011 (PRM*);
Bohlin and Kavraki, Path planning using lazy PRM, 2000.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple, Self

import numpy as np

from linkwork._util.progress import Reporter, read_progress
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.rejected_configurations import base_inside
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

__all__ = ["RoadmapGraph", "RoadmapPath"]

_BATCH = 256  # samples checked together
_EDGES = 2048  # edges checked together
_MAX_SAMPLES_PER_NODE = 200  # samples per node above which sampling is aborted
_NEIGHBOUR_FACTORS = (
    1,
    4,
    16,
)  # multiples of k tried in turn to connect a configuration


class RoadmapPath(NamedTuple):
    """Result of a roadmap query: the path, or the reason why there is none, and the number of edges checked."""

    path: np.ndarray | None
    message: str
    edges: int  # edges checked for this query


class RoadmapGraph:
    """Graph of a roadmap: collision-free configurations and the edges between them, in a planning space.

    Edges are checked when the graph is built, or, if ``lazy``, when a path would use them.  Results do not depend on
    which thread queries first, except for the counts.
    """

    def __init__(self, space: PlanningSpace, *, seed: int, neighbours: int | None, lazy: bool) -> None:
        self.space, self.seed, self.neighbours, self.lazy = space, seed, neighbours, lazy
        self._dimension = space.dimension()
        self.q = np.empty((0, space.robot.nq))
        self.edges = np.empty((0, 2), dtype=int)
        self.lengths = np.empty(0)
        self.state = np.empty(0, dtype=np.int8)
        self.batches = 0  # number of batches of samples drawn
        self._lock = threading.Lock()
        self._index()

    def _index(self) -> None:
        self._adjacency = Adjacency(len(self.q), self.edges, self.lengths)
        self._open: list[bool] = (self.state != BLOCKED).tolist()
        self._label: np.ndarray | None = None

    # -- construction

    def grown(self, nodes: int, progress: Any) -> Self:
        """Return the graph with additional nodes, ``nodes`` in number, and edges to their neighbours."""
        read_progress("Roadmap", progress)
        grown = type(self)(self.space, seed=self.seed, neighbours=self.neighbours, lazy=self.lazy)
        fresh, grown.batches = self._sample_nodes(nodes)
        grown.q = np.concatenate([self.q, fresh])
        k = self.k(len(grown.q))
        pairs = near_pairs(self.space, grown.q, k, first=len(self.q))
        lengths = self.space.length(self.space.difference(grown.q[pairs[:, 0]], grown.q[pairs[:, 1]]))
        state = np.full(len(pairs), UNKNOWN, dtype=np.int8)
        if not self.lazy:
            state = self._check_edges(grown.q, pairs, progress)
            pairs, lengths, state = pairs[state == FREE], lengths[state == FREE], state[state == FREE]
        grown.edges = np.concatenate([self.edges, pairs])
        grown.lengths = np.concatenate([self.lengths, lengths])
        grown.state = np.concatenate([self.state, state])
        grown._index()
        return grown

    def restored(self, arrays: dict[str, np.ndarray], batches: int) -> None:
        """Replace the nodes and edges of this graph by ``arrays`` that were read from a file.

        ``batches`` is the number of batches of samples drawn so far.

        Raises ValueError for arrays that are not a graph in the space.
        """
        q, edges, lengths, state = (arrays[name] for name in ("q", "edges", "lengths", "state"))
        n, m = len(q), len(edges)
        valid = q.shape == (n, self.q.shape[1]) and edges.shape == (m, 2) and lengths.shape == state.shape == (m,)
        if not valid or not np.isfinite(q).all() or (m and not 0 <= edges.min() <= edges.max() < n):
            raise ValueError(
                f"Roadmap.load: expected arrays of a graph: nodes (n, {self.q.shape[1]}), edges (m, 2), got others"
            )
        self.q, self.edges, self.lengths, self.state, self.batches = q, edges, lengths, state, batches
        self._index()

    def k(self, count: int) -> int:
        """Return the number of neighbours to which a node is connected in a graph of ``count`` nodes."""
        if self.neighbours is not None:
            return self.neighbours
        return needed_neighbours(count, self._dimension)

    def _sample_nodes(self, nodes: int) -> tuple[np.ndarray, int]:
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
            if (batches - self.batches) * _BATCH > max(_MAX_SAMPLES_PER_NODE * (count + 1), 10 * _BATCH):
                base = base_inside(self.space.robot, self.space.scene)
                tried = (batches - self.batches) * _BATCH
                raise ValueError(
                    f"Roadmap: robot, scene and margin: hardly any configuration is free: {count} of {tried} samples"
                    + (f"; {base}" if base else "")
                )
        return np.concatenate(result)[:nodes] if result else np.empty((0, self.q.shape[1])), batches

    def _check_edges(self, q: np.ndarray, pairs: np.ndarray, progress: Any) -> np.ndarray:
        state = np.full(len(pairs), BLOCKED, dtype=np.int8)
        with Reporter("Roadmap", progress if len(pairs) else False, "edges", len(pairs)).hide_notices() as report:
            for i in range(0, len(pairs), _EDGES):
                batch = pairs[i : i + _EDGES]
                state[i : i + _EDGES][self.space.edges_are_free(q[batch[:, 0]], q[batch[:, 1]])] = FREE
                report.advance(len(batch))
        return state

    # -- queries

    @property
    def joined(self) -> np.ndarray:
        """Pairs (m, 2) of nodes with edges that are not known to be blocked."""
        result: np.ndarray = self.edges[self.state != BLOCKED]
        return result

    @property
    def components(self) -> np.ndarray:
        """Connected component of each node (n,): the smallest index of a node that is connected with it.

        Edges that are known to be blocked do not connect.
        """
        label = self._label
        if label is None:
            label = self._label = components(len(self.q), self.joined)
        return label

    def shortest_path(self, starts: np.ndarray, goals: np.ndarray) -> RoadmapPath:
        """Return the shortest path (k, nq) from any of the starts (m, nq) to any of the goals (n, nq), with counts.

        Starts and goals must be collision-free.
        """
        space = self.space
        i, j = (k.ravel() for k in np.indices((len(starts), len(goals))))
        straight = space.edges_are_free(starts[i], goals[j])
        if straight.any():
            lengths = np.where(straight, space.length(space.difference(starts[i], goals[j])), np.inf)
            best = int(lengths.argmin())
            return RoadmapPath(np.stack([starts[i[best]], goals[j[best]]]), "", len(i))
        first, count = self._connect_all(starts)
        checked = len(i) + count
        if not first:
            return RoadmapPath(None, self._unconnected_message(starts, "start", count), checked)
        last, count = self._connect_all(goals)
        checked += count
        if not last:
            return RoadmapPath(None, self._unconnected_message(goals, "goal", count), checked)
        ahead = (np.sqrt(space.between(goals, self.q).min(axis=1)) * (1.0 - 1e-12)).tolist()
        begin, end = ({node: length for node, (length, _) in ends.items()} for ends in (first, last))
        while True:
            nodes = self._adjacency.shortest(begin, end, ahead, self._open)
            if nodes is None:
                return RoadmapPath(None, self._disconnected_message(begin, end), checked)
            checked += self._check_path(nodes)
            if (self.state[self._edge_indices(nodes)] == FREE).all():
                break
        ends = starts[first[nodes[0]][1]], goals[last[nodes[-1]][1]]
        path = np.concatenate([ends[0][None], self.q[nodes], ends[1][None]])
        return RoadmapPath(path[np.concatenate([[True], (path[1:] != path[:-1]).any(axis=1)])], "", checked)

    def _connect_all(self, ends: np.ndarray) -> tuple[dict[int, tuple[float, int]], int]:
        """Return the nodes to which free edges lead from configurations ``ends``, and the number of edges checked.

        The first result maps each node to (length of its shortest edge, index in ``ends`` at which this edge begins).
        """
        result: dict[int, tuple[float, int]] = {}
        checked = 0
        for index, q in enumerate(ends):
            near, count = self._connect(q)
            checked += count
            for node, length in near.items():
                if length < result.get(node, (np.inf, 0))[0]:
                    result[node] = length, index
        return result, checked

    def _edge_indices(self, nodes: list[int]) -> np.ndarray:
        """Return the indices of the edges along a path of nodes."""
        return self._adjacency.edge_indices(nodes)

    def _check_path(self, nodes: list[int]) -> int:
        """Check those edges of a path that are not yet checked, all together, and return their number."""
        edges = self._edge_indices(nodes)
        unknown = edges[self.state[edges] == UNKNOWN]
        if len(unknown):
            pairs = self.edges[unknown]
            free = self.space.edges_are_free(self.q[pairs[:, 0]], self.q[pairs[:, 1]])
            with self._lock:
                self.state[unknown] = np.where(free, FREE, BLOCKED)
                self._label = None
                for index, is_free in zip(unknown.tolist(), free.tolist(), strict=True):
                    self._open[index] = is_free
        return len(unknown)

    def _connect(self, q: np.ndarray) -> tuple[dict[int, float], int]:
        """Return the nearby nodes to which a free edge leads from q, and the number of edges checked.

        The first result maps each node to its distance from q. If no edge to the nearest nodes is free, more distant
        nodes are tried.
        """
        space, before, k = self.space, 0, self.k(len(self.q))
        for times in _NEIGHBOUR_FACTORS:
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

    def _unconnected_message(self, ends: np.ndarray, end_name: str, count: int) -> str:
        which = f"the {end_name}" if len(ends) == 1 else f"any of {len(ends)} {end_name}s"
        return (
            f"no free edge leads from {which} to any of {count // len(ends)} nearest nodes of the "
            f"roadmap's {len(self.q)}; extend it"
        )

    def _disconnected_message(self, begin: dict[int, float], last: dict[int, float]) -> str:
        label = self.components
        sizes = np.bincount(label, minlength=len(label))
        start_components, goal_components = ({int(label[node]) for node in ends} for ends in (begin, last))
        a, b = (max(int(sizes[k]) for k in ends) for ends in (start_components, goal_components))
        return (
            f"start and goal are in different components of the roadmap, with {a} and {b} of its {len(self.q)} "
            f"nodes; extend it"
        )

    # -- pickling

    def __getstate__(self) -> dict[str, Any]:
        names = ("space", "_dimension", "seed", "neighbours", "lazy", "q", "edges", "lengths", "state", "batches")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._index()
