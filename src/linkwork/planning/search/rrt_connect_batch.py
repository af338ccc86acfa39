"""RRT-Connect in batches: two trees that grow towards each other, many segments at a time.

During the search, segments are checked at configurations `spacing` apart, all of a round in one call.  A connection of
start and goal is then checked by `edges_are_free`.  An edge that is not free is removed with its descendants, and the
search continues with a finer spacing.

Sources: Kuffner and LaValle, RRT-Connect, 2000; Yershova, Jaillet, Siméon and LaValle, Dynamic-domain RRTs, 2005; trees
grow to about the same size (balanced), as in LaValle, Planning algorithms, 2006, section 5.5.3; proof is postponed
until it is needed as in Bohlin and Kavraki, Path planning using lazy PRM, 2000.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace
from linkwork.planning.search.search_tree import PlanningTree

__all__ = ["SearchOptions", "check_segments", "rrt_connect"]

_LENGTHS = ("step", "node", "begin", "spacing", "domain", "least_domain")  # names of options that are lengths
_SHRINK, _GROW = 0.9, 1.5
_LEAST_SPACING = 0.02


class SearchOptions(NamedTuple):
    """Options of the search; lengths are in the units of the space."""

    step: float = 2.0  # maximum extension towards a sample
    node: float = 0.8  # distance of nodes on a segment
    begin: float = 1.0  # length of a segment to the other tree that is checked first
    spacing: float = 0.2  # distance of checked configurations
    domain: float = 4.0  # radius within which samples extend a node whose extension failed
    least_domain: float = 2.0
    local: float = 0.2  # share of samples near nodes
    near: float = 0.4  # standard deviation of these, for each coordinate of v
    first: int = 16  # samples in the first round
    most: int = 32  # maximum samples in later rounds


def rrt_connect(
    space: PlanningSpace,
    starts: np.ndarray,
    goals: np.ndarray,
    *,
    seed: int,
    continues: Callable[[int], bool],
) -> tuple[np.ndarray | None, tuple[PlanningTree, PlanningTree]]:
    """Return a path (k, nq) from one of the starts to one of the goals (or None), and both trees.

    ``continues`` is called before each round with the number of nodes, and ends the search by False.
    """
    trees = PlanningTree(starts), PlanningTree(goals)
    search = _Search(space, trees, seed)
    path = None
    with suppress(OutOfTimeError):
        path = search.connect(0, np.arange(len(starts)))
        while path is None and continues(trees[0].count + trees[1].count):
            side = int(trees[0].count > trees[1].count)
            added = search.grow(side)
            if len(added):
                path = search.connect(side, added)
    return path, trees


class _Search:
    def __init__(self, space: PlanningSpace, trees: tuple[PlanningTree, PlanningTree], seed: int) -> None:
        options = SearchOptions()
        options = options._replace(**{name: space.unit * getattr(options, name) for name in _LENGTHS})
        self.space, self.trees, self.options = space, trees, options
        self.samples, self.rng = space.samples(seed), np.random.default_rng([seed, 2])
        self.spacing, self.num_samples = options.spacing, options.first

    def grow(self, side: int) -> np.ndarray:
        """Extend the tree ``side`` towards random samples near to its nodes; return the indices of new nodes."""
        tree, options, space = self.trees[side], self.options, self.space
        samples = self._draw(tree)
        squared = space.between(tree.q, samples)
        near: np.ndarray = squared.argmin(axis=1)
        distances = np.sqrt(squared[np.arange(len(samples)), near])
        counts = np.flatnonzero((distances <= tree.domain[near]) & (distances > 0.0))[: self.num_samples]
        self.num_samples = min(2 * self.num_samples, options.most)
        near, distances = near[counts], distances[counts]
        if not len(near):
            return near
        phi = space.difference(tree.q[near], samples[counts]) * np.minimum(options.step / distances, 1.0)[:, None]
        ends, _ = self._extend_along(tree, near, phi, None)
        moved = ends != near
        domain = tree.domain
        stuck = near[~moved]
        domain[stuck] = np.where(
            np.isinf(domain[stuck]), options.domain, np.maximum(domain[stuck] * _SHRINK, options.least_domain)
        )
        domain[near[moved]] *= _GROW
        result: np.ndarray = ends[moved]
        return result

    def connect(self, side: int, added: np.ndarray) -> np.ndarray | None:
        """Extend the other tree towards the nodes ``added`` to tree ``side``; return a path if it arrives, else None.

        All edges of the path are free.
        """
        space, a, b = self.space, self.trees[side], self.trees[1 - side]
        targets = a.q[added]
        near = space.between(b.q, targets).argmin(axis=1)
        ends, reached = self._extend_towards(b, near, targets)
        for k in np.flatnonzero(reached):
            path = self._checked_path(side, int(added[k]), int(ends[k]))
            if path is not None:
                return path
            break  # indices of nodes have changed
        return None

    def _extend_towards(
        self, tree: PlanningTree, near: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Extend nodes towards targets; return the end nodes and a mask of the targets that are reached.

        A first part of each segment is checked, then the rest of those segments whose first part is free.
        """
        phi = self.space.difference(tree.q[near], targets)
        distances = self.space.length(phi)
        short = distances <= 1.5 * self.options.begin
        if short.all():
            return self._extend_along(tree, near, phi, targets)
        part = np.where(short, 1.0, self.options.begin / np.maximum(distances, 1e-300))
        begun = np.where(short[:, None], targets, self.space.integrate(tree.q[near], phi * part[:, None]))
        ends, whole = self._extend_along(tree, near, phi * part[:, None], begun)
        reached, more = whole & short, np.flatnonzero(whole & ~short)
        if len(more):
            remaining_motion = self.space.difference(tree.q[ends[more]], targets[more])
            ends[more], reached[more] = self._extend_along(tree, ends[more], remaining_motion, targets[more])
        return ends, reached

    def _draw(self, tree: PlanningTree) -> np.ndarray:
        samples = self.samples.take(3 * self.num_samples)
        local = int(self.options.local * self.num_samples)
        if local:
            about = tree.q[self.rng.integers(tree.count, size=local)]
            perturbed = self.space.integrate(
                about, self.rng.normal(size=(local, len(self.space.weights))) * self.options.near
            )
            samples = np.concatenate([perturbed[self.space.within(perturbed)], samples])
        return samples

    def _extend_along(
        self, tree: PlanningTree, near: np.ndarray, phi: np.ndarray, targets: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Extend nodes along φ while configurations are free; return the end nodes and a mask of complete segments."""
        points, segment, index, counts, num_free = check_segments(self.space, tree.q[near], phi, self.spacing, targets)
        node_interval = max(int(self.options.node / self.spacing), 1)
        keep = (index < num_free[segment]) & (((index + 1) % node_interval == 0) | (index == num_free[segment] - 1))
        segment_of_node = segment[keep]
        parent = np.arange(len(segment_of_node)) + tree.count - 1
        first = np.ones(len(segment_of_node), dtype=bool)
        first[1:] = segment_of_node[1:] != segment_of_node[:-1]
        parent[first] = near[segment_of_node[first]]
        new_nodes = tree.extend(points[keep], parent)
        ends = near.copy()
        ends[segment_of_node] = new_nodes  # the last node of each segment remains
        return ends, num_free == counts

    def _checked_path(self, side: int, first: int, second: int) -> np.ndarray | None:
        """Return the path through two nodes with the same configuration, one of each tree; None if an edge is not free.

        In the latter case these edges are removed with their descendants, and the spacing of checks is halved.
        """
        a, b = self.trees[side], self.trees[1 - side]
        nodes, reached = a.nodes_to(first), b.nodes_to(second)
        up = [(a, child, parent) for child, parent in pairwise(nodes)]
        down = [(b, child, parent) for child, parent in pairwise(reached)]
        edges = up + down
        if edges:
            q0 = np.array([tree.q[parent] for tree, _, parent in edges])
            q1 = np.array([tree.q[child] for tree, child, _ in edges])
            free = self.space.edges_are_free(q0, q1)
            if not free.all():
                for tree in (a, b):
                    broken = [edges[k][1] for k in np.flatnonzero(~free) if edges[k][0] is tree]
                    if broken:
                        tree.cut(broken)
                self.spacing = max(0.5 * self.spacing, _LEAST_SPACING * self.space.unit)
                return None
        path = np.concatenate([a.q[nodes[::-1]], b.q[reached[1:]]])
        return path if side == 0 else path[::-1].copy()


def check_segments(
    space: PlanningSpace, q0: np.ndarray, phi: np.ndarray, spacing: float, targets: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return configurations along segments q0 ⊕ t φ, 0 < t ≤ 1, and how many are free before a collision.

    The results are the configurations, the segment of each, its index on the segment, and for each segment the number
    of configurations and the number of free ones before the first collision. All are checked in one call. The last
    configuration is exactly the target, if there are ``targets``.
    """
    counts = space.looks(phi, spacing)
    segment = np.repeat(np.arange(len(counts)), counts)
    begin = np.cumsum(counts) - counts
    index = np.arange(len(segment)) - begin[segment]
    points = space.integrate(q0[segment], phi[segment] * ((index + 1) / counts[segment])[:, None])
    if targets is not None:
        points[begin + counts - 1] = targets
    num_free = np.minimum.reduceat(np.where(space.free(points), counts[segment], index), begin)
    return points, segment, index, counts, num_free
