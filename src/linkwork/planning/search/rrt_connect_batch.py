"""Bidirectional search by two trees that grow towards each other, many ways at a time.

While it searches, ways are looked at in configurations that are `spacing` apart, all of a round in one call; what joins
start and goal is then asked of `edges_are_free`.  An edge that is not free after all is cut off with what grew on it,
and the search goes on, looking closer.

Sources: Kuffner and LaValle, RRT-Connect, 2000; Yershova, Jaillet, Siméon and LaValle, Dynamic-domain RRTs, 2005; trees
are kept of about the same size (balanced), as in LaValle, Planning algorithms, 2006, section 5.5.3; proof is put off
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

__all__ = ["SearchOptions", "connected", "seen_ways"]

_LENGTHS = ("step", "node", "begin", "spacing", "domain", "least_domain")  # of options
_SHRINK, _GROW = 0.9, 1.5
_LEAST_SPACING = 0.02


class SearchOptions(NamedTuple):
    """Lengths are those of the space, in its units."""

    step: float = 2.0  # how far a tree grows towards a sample
    node: float = 0.8  # how far apart nodes are on a way
    begin: float = 1.0  # how much of a way to the other tree is looked at first
    spacing: float = 0.2  # how far apart configurations are that are looked at
    domain: float = 4.0  # how far from a node that led nowhere samples count
    least_domain: float = 2.0
    local: float = 0.2  # the share of samples that are drawn next to nodes
    near: float = 0.4  # how far from them, by number of v
    first: int = 16  # samples of the first round
    most: int = 32  # and of a later one


def connected(
    space: PlanningSpace,
    starts: np.ndarray,
    goals: np.ndarray,
    *,
    seed: int,
    going: Callable[[int], bool],
    options: SearchOptions | None = None,
) -> tuple[np.ndarray | None, tuple[PlanningTree, PlanningTree]]:
    """A path (k, nq) from one of the starts to one of the goals, and both trees.

    ``going`` is asked before each round, with how many nodes there are.
    """
    how = SearchOptions() if options is None else options
    trees = PlanningTree(starts), PlanningTree(goals)
    search = _Search(space, trees, how, seed)
    path = None
    with suppress(OutOfTimeError):
        path = search.joined(0, np.arange(len(starts)))
        while path is None and going(trees[0].count + trees[1].count):
            side = int(trees[0].count > trees[1].count)
            added = search.grown(side)
            if len(added):
                path = search.joined(side, added)
    return path, trees


class _Search:
    def __init__(
        self, space: PlanningSpace, trees: tuple[PlanningTree, PlanningTree], how: SearchOptions, seed: int
    ) -> None:
        how = how._replace(**{name: space.unit * getattr(how, name) for name in _LENGTHS})
        self.space, self.trees, self.how = space, trees, how
        self.samples, self.rng = space.samples(seed), np.random.default_rng([seed, 2])
        self.spacing, self.many = how.spacing, how.first

    def grown(self, side: int) -> np.ndarray:
        """A tree grows from its nodes that are nearest to samples: the ends of what grew, by place."""
        tree, how, space = self.trees[side], self.how, self.space
        samples = self._drawn(tree)
        square = space.between(tree.q, samples)
        near: np.ndarray = square.argmin(axis=1)
        far = np.sqrt(square[np.arange(len(samples)), near])
        counts = np.flatnonzero((far <= tree.domain[near]) & (far > 0.0))[: self.many]
        self.many = min(2 * self.many, how.most)
        near, far = near[counts], far[counts]
        if not len(near):
            return near
        phi = space.difference(tree.q[near], samples[counts]) * np.minimum(how.step / far, 1.0)[:, None]
        ends, _ = self._along(tree, near, phi, None)
        went = ends != near
        domain = tree.domain
        stuck = near[~went]
        domain[stuck] = np.where(
            np.isinf(domain[stuck]), how.domain, np.maximum(domain[stuck] * _SHRINK, how.least_domain)
        )
        domain[near[went]] *= _GROW
        result: np.ndarray = ends[went]
        return result

    def joined(self, side: int, added: np.ndarray) -> np.ndarray | None:
        """The other tree grows to these nodes of one: a path, where it gets there and all of it is free."""
        space, a, b = self.space, self.trees[side], self.trees[1 - side]
        targets = a.q[added]
        near = space.between(b.q, targets).argmin(axis=1)
        ends, there = self._towards(b, near, targets)
        for k in np.flatnonzero(there):
            path = self._proved(side, int(added[k]), int(ends[k]))
            if path is not None:
                return path
            break  # places of nodes are others now
        return None

    def _towards(self, tree: PlanningTree, near: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `_along`, to targets: a first part of each way, and the rest of those whose first part is free."""
        phi = self.space.difference(tree.q[near], targets)
        far = self.space.length(phi)
        short = far <= 1.5 * self.how.begin
        if short.all():
            return self._along(tree, near, phi, targets)
        part = np.where(short, 1.0, self.how.begin / np.maximum(far, 1e-300))
        begun = np.where(short[:, None], targets, self.space.integrate(tree.q[near], phi * part[:, None]))
        ends, whole = self._along(tree, near, phi * part[:, None], begun)
        there, more = whole & short, np.flatnonzero(whole & ~short)
        if len(more):
            rest = self.space.difference(tree.q[ends[more]], targets[more])
            ends[more], there[more] = self._along(tree, ends[more], rest, targets[more])
        return ends, there

    def _drawn(self, tree: PlanningTree) -> np.ndarray:
        samples = self.samples.take(3 * self.many)
        local = int(self.how.local * self.many)
        if local:
            about = tree.q[self.rng.integers(tree.count, size=local)]
            moved = self.space.integrate(about, self.rng.normal(size=(local, len(self.space.weights))) * self.how.near)
            samples = np.concatenate([moved[self.space.within(moved)], samples])
        return samples

    def _along(
        self, tree: PlanningTree, near: np.ndarray, phi: np.ndarray, targets: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """From nodes along φ as far as it seems free: where each ends, and whether it is whole."""
        points, which, at, counts, good = seen_ways(self.space, tree.q[near], phi, self.spacing, targets)
        every = max(int(self.how.node / self.spacing), 1)
        kept = (at < good[which]) & (((at + 1) % every == 0) | (at == good[which] - 1))
        of = which[kept]
        parent = np.arange(len(of)) + tree.count - 1
        first = np.ones(len(of), dtype=bool)
        first[1:] = of[1:] != of[:-1]
        parent[first] = near[of[first]]
        places = tree.extend(points[kept], parent)
        ends = near.copy()
        ends[of] = places  # the last one of each stays
        return ends, good == counts

    def _proved(self, side: int, first: int, second: int) -> np.ndarray | None:
        """The path over two nodes that are one, or nothing, without the edges that are not free."""
        a, b = self.trees[side], self.trees[1 - side]
        here, there = a.nodes_to(first), b.nodes_to(second)
        up = [(a, child, parent) for child, parent in pairwise(here)]
        down = [(b, child, parent) for child, parent in pairwise(there)]
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
        path = np.concatenate([a.q[here[::-1]], b.q[there[1:]]])
        return path if side == 0 else path[::-1].copy()


def seen_ways(
    space: PlanningSpace, q0: np.ndarray, phi: np.ndarray, spacing: float, targets: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Configurations along q0 ⊕ t φ, 0 < t ≤ 1, all of them looked at in one call.

    They, whose they are, which one of those, how many each way has, and how many of them are free before the first
    that is not.  The last is the ``target``, to the bit.
    """
    counts = space.looks(phi, spacing)
    which = np.repeat(np.arange(len(counts)), counts)
    begin = np.cumsum(counts) - counts
    at = np.arange(len(which)) - begin[which]
    points = space.integrate(q0[which], phi[which] * ((at + 1) / counts[which])[:, None])
    if targets is not None:
        points[begin + counts - 1] = targets
    good = np.minimum.reduceat(np.where(space.free(points), counts[which], at), begin)
    return points, which, at, counts, good
