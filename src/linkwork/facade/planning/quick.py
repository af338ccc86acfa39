"""Short paths by several searches, each a loop in a kernel, and each for less than the best path so far.

Straight ways to goals are looked at first.  Then two trees grow until they meet, and the path is cut short; then again,
towards the goals that are nearer than the best path is long, with samples about straight ways to them, no farther off
than a shorter path may be.  Of the paths that this gives, the shortest whose edges are free is taken.

Sources: Kuffner and LaValle, RRT-Connect, 2000; bounds from the best path as in Gammell, Srinivasa and Barfoot,
Informed RRT*, 2014, and searches begun again within them as in Wilson, Thomason, Kingston and Gammell, AORRTC, 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...algorithms.planning.growing import LINES
from .loops import NODES, PLACES, growing_kernel, shortening_kernel
from .samples import within_a_turn
from .shorten import corners, seem_free
from .space import PlanningSpace
from .trees import PlanningTree

__all__ = ["QuickOptions", "QuickSearch", "is_quick"]

_NEARER = 3.0  # samples lie e³ times as often about the way to one goal than to another that is twice as far
_QUANTILES = (np.arange(LINES) + 0.5) / LINES


class QuickOptions(NamedTuple):
    """Lengths are those of the space, in its units."""

    more: int = 4  # searches, where none of the paths is free
    spacing: float = 0.25  # how far apart configurations are that searches look at
    fine: float = 0.07  # and those of shortcuts
    clear: float = 0.005  # [m] how much more than the margin those keep
    trials: int = 80  # shortcuts
    hope: float = 1.0  # by which part paths may be longer than the best one before shortcuts; after the last, by 0
    rounds: int = 120  # of a search after the first
    piece: int = 1000  # of the first one, between looks at the clock
    wide: float = 0.8  # boxes about ways, by the way's length and √nv
    doubling: float = 20.0  # samples after which they are twice as wide
    anywhere: float = 0.1  # the share of samples that are within limits anywhere
    worth: float = 1.03  # by how much the best path is longer than a way to a goal that is searched for


def is_quick(space: PlanningSpace, roots: int) -> bool:
    """Whether kernels know the space, and have room for so many starts and goals."""
    return type(space) is PlanningSpace and space.is_plain and space.margin >= 0.0 and roots <= NODES // 4


class _Candidate(NamedTuple):
    """A path that seems free, and the trees that it is of: nodes and links, if there are any."""

    length: float
    path: np.ndarray
    trees: tuple[np.ndarray, np.ndarray] | None


class QuickSearch:
    """Of a query."""

    def __init__(
        self,
        space: PlanningSpace,
        starts: np.ndarray,
        goals: np.ndarray,
        *,
        seed: int,
        searches: int = 1,
        simplify: bool = True,
        options: QuickOptions | None = None,
    ) -> None:
        self.space, self.starts, self.goals = space, starts, goals
        self.how, self.simplify = QuickOptions() if options is None else options, simplify
        self.searches = searches
        self.turning = tuple(space.turning.tolist())
        self.shift, self.places = _shifts(seed, len(self.turning))
        self.number = 0.0
        self.rounds = 0
        self.along = space.difference(starts[:, None], goals[None])  # (starts, goals, nq)
        self.lengths = space.length(self.along)
        self.nodes = 0
        self.trees = PlanningTree(starts), PlanningTree(goals)
        self.limits = np.array([space.lower, space.upper])
        self.box = np.array(within_a_turn(*self.limits)) if space.turns else self.limits
        self.growing, self.rows = space.loop("growing", growing_kernel, self.turning)
        if simplify:
            self.shortening, _ = space.loop("shortening", shortening_kernel, self.turning)

    def path(self, going: Callable[[int], bool]) -> np.ndarray | None:
        """A path (k, nq) all edges of which are free, or nothing where none was found soon enough; ``trees`` are its.

        ``going`` is asked before each search, with how many nodes there were.
        """
        self.going = going
        how, found = self.how, self._straight()
        if found and not self.simplify:
            return self._taken(found)
        spacing = how.spacing
        for k in range(self.searches + how.more):
            best = min((one.length for one in found), default=np.inf)
            enough = k >= self.searches or not self.simplify
            if found and (enough or not self._worth(best).any()):
                path = self._taken(found)
                if path is not None:
                    return path
                spacing, best = 0.5 * spacing, np.inf
            one = self._searched(best, spacing)
            if one is not None:
                found.append(one)
            elif best == np.inf:
                break
        return self._taken(found)

    def _worth(self, best: float) -> np.ndarray:
        found: np.ndarray = self.lengths * self.how.worth < best
        return found

    def _taken(self, found: list[_Candidate]) -> np.ndarray | None:
        """The shortest that is free; others are left out."""
        found.sort(key=lambda one: one.length)
        while found:
            one = found[0]
            path = corners(self.space, one.path)
            if self.space.edges_are_free(path[:-1], path[1:]).all():
                if one.trees is not None:
                    self.trees = _trees(*one.trees)
                return path
            found.pop(0)
        return None

    def _straight(self) -> list[_Candidate]:
        """Ways without corners, that seem free: the shortest that is."""
        space, lengths = self.space, self.lengths.ravel()
        i, j = np.divmod(np.arange(len(lengths)), len(self.goals))
        seen = seem_free(space, self.starts[i], self.along.reshape(len(i), -1), self.how.spacing * space.unit)
        for k in sorted(np.flatnonzero(seen).tolist(), key=lambda k: lengths[k]):
            path = np.stack([self.starts[i[k]], self.goals[j[k]]])
            if space.edges_are_free(path[:1], path[1:]).all():
                return [_Candidate(float(lengths[k]), path, None)]
        return []

    def _searched(self, best: float, spacing: float) -> _Candidate | None:
        """A path from one search, cut short."""
        how, space = self.how, self.space
        worth = self._worth(best)
        first, second = self.starts[worth.any(axis=1)], self.goals[worth.any(axis=0)]
        begun, roots = len(first), len(first) + len(second)
        nodes, links = np.zeros((NODES, len(self.turning))), np.zeros((NODES, 2))
        nodes[:begun], nodes[begun:roots] = first, second
        links[begun:roots, 0], links[:roots, 1] = 1.0, -1.0
        counts = np.array([begun, roots - begun], dtype=float)
        lines = self._lines(worth, best)
        bounded = best < np.inf
        left = how.rounds if bounded else math.inf
        while left > 0 and self.going(self.nodes):
            rounds = min(left, how.piece)
            numbers = np.array([self.number, how.anywhere, how.doubling, spacing * space.unit, rounds, space.margin])
            given = (nodes, links, counts, lines, self.shift, self.box, self.limits, space.weights, numbers)
            nodes, links, told = self.growing(*given, *self.rows)
            *both, here, there, self.number, spent = told.tolist()
            counts, count = told[:2], int(sum(both))
            self.rounds += int(spent)
            left -= spent
            if here < 0.0 and count > NODES - 3:
                break
            if here < 0.0:
                continue
            way, ahead = _way(links[:count], int(here), int(there))
            path = nodes[way]
            free = self._clear(path, how.fine * space.unit * spacing / how.spacing)
            if not free.all():
                blocked = np.where(np.arange(len(free)) < ahead, way[1:], way[:-1])[~free]
                nodes, links, counts = _without(nodes, links, count, blocked)
                continue
            self.nodes += count
            if self.simplify and len(path) > 2:
                path, length = self._shorter(path, spacing, best)
            else:
                length = space.cost(path)
            return _Candidate(length, path, (nodes[:count], links[:count]))
        self.nodes += int(counts.sum())
        return None

    def _clear(self, path: np.ndarray, spacing: float) -> np.ndarray:
        """Whether short edges of a path seem free at configurations some spacing apart."""
        phi = self.space.difference(path[:-1], path[1:])
        pieces = max(math.ceil(float(self.space.length(phi).max()) / spacing), 2)
        t = np.arange(1, pieces)[:, None] / pieces
        q = path[:-1, None] + t * phi[:, None]
        free = self.space.free(q.reshape(-1, path.shape[1]))
        return np.asarray(free.reshape(len(phi), -1).all(axis=1))

    def _shorter(self, path: np.ndarray, spacing: float, best: float) -> tuple[np.ndarray, float]:
        """A path, and its length."""
        how, space = self.how, self.space
        count = len(path)
        lengths = space.length(space.difference(path[:-1], path[1:]))
        if count > PLACES // 2:
            return path, float(lengths.sum())
        nodes, links = np.zeros((PLACES, path.shape[1])), np.full((PLACES, 2), -1.0)
        nodes[:count] = path
        links[: count - 1, 0], links[: count - 1, 1] = np.arange(1.0, count), lengths
        fine = how.fine * space.unit * spacing / how.spacing
        most = min(best, 1e30)
        numbers = np.array([count, lengths.sum(), fine, how.trials, most, how.hope, space.margin + how.clear])
        nodes, links, told = self.shortening(nodes, links, self.places, space.weights, numbers, *self.rows)
        after, way = links[:, 0].tolist(), [0]
        while after[way[-1]] >= 0.0:
            way.append(int(after[way[-1]]))
        return nodes[way], float(told[0])

    def _lines(self, worth: np.ndarray, best: float) -> np.ndarray:
        """What samples lie about: ways to goals that are near more often."""
        starts, goals = np.nonzero(worth)
        lengths = self.lengths[starts, goals]
        least = float(lengths.min())
        share = np.exp((least - lengths) * (_NEARER / max(least, 0.5 * self.space.unit))).cumsum()
        at = share.searchsorted(share[-1] * _QUANTILES)
        starts, goals, length = starts[at], goals[at], lengths[at]
        n = len(self.turning)
        found = np.empty((LINES, 2 * n + 2))
        found[:, :n], found[:, n : 2 * n] = self.starts[starts], self.along[starts, goals]
        found[:, -2] = length * (self.how.wide / math.sqrt(n))
        found[:, -1] = 0.5 * np.sqrt(best * best - length * length)
        return found


def _way(links: np.ndarray, here: int, there: int) -> tuple[list[int], int]:
    """From the start to the goal, over two nodes that met, and how many of its edges are of the first tree."""
    side, parent = (x.astype(int).tolist() for x in links.T)
    if side[here]:
        here, there = there, here
    ahead, behind = [here], []
    while parent[ahead[-1]] >= 0:
        ahead.append(parent[ahead[-1]])
    while parent[there] >= 0:
        there = parent[there]
        behind.append(there)
    return ahead[::-1] + behind, len(ahead) - 1


def _without(
    nodes: np.ndarray, links: np.ndarray, count: int, blocked: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Trees without some nodes, none of them a root, and what grew on them."""
    parent = links[:count, 1].astype(int).tolist()
    gone = np.zeros(count + 1, dtype=bool)  # the last one is that of roots' parents
    gone[blocked] = True
    for k in range(int(blocked.min()), count):
        if gone[parent[k]]:
            gone[k] = True
    kept = np.flatnonzero(~gone[:count])
    place = np.cumsum(~gone) - 1
    fresh, told = np.zeros_like(nodes), np.zeros_like(links)
    fresh[: len(kept)], told[: len(kept)] = nodes[kept], links[kept]
    above = links[kept, 1].astype(int)
    told[: len(kept), 1] = np.where(above < 0, -1, place[above])
    side = links[kept, 0]
    return fresh, told, np.array([float((side < 0.5).sum()), float((side > 0.5).sum())])


def _trees(nodes: np.ndarray, links: np.ndarray) -> tuple[PlanningTree, PlanningTree]:
    side, parent = links.astype(int).T
    place = np.where(side == 0, np.cumsum(side == 0), np.cumsum(side == 1)) - 1
    parent = np.where(parent < 0, -1, place[parent])
    first, second = (PlanningTree.of(nodes[side == k], parent[side == k]) for k in (0, 1))
    return first, second


@lru_cache(256)
def _shifts(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Of samples (n + 3,), and of shortcuts (2,)."""
    u = np.random.default_rng([seed, 4]).uniform(size=n + 5)
    return u[:-2], u[-2:]
