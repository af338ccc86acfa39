"""Short paths by one kernel: straight ways to goals first, then several searches, each for less than the best path so
far (`searching`).  The shortest path is taken if its edges are free; else it is searched again, looking closer.

It is searched in float32, of which vectors hold twice as many numbers: what comes of it is looked at in float64, and
ends at the very configurations that were given.

The kernel that searches as a whole: loops whose steps look at eight configurations side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from linkwork.collision.algorithms import in_collision
from linkwork.collision.kernels import DistanceSpec
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import fmax
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.planning.algorithms.multi_start_search import SearchWanted, searched
from linkwork.planning.algorithms.path_shortcuts import Ways, touching
from linkwork.planning.algorithms.rrt_connect import Sampling, Trees
from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace
from linkwork.planning.search.halton_samples import within_a_turn
from linkwork.planning.search.path_smoothing import corners
from linkwork.planning.search.search_tree import GrownTree, PlanningTree, TreeRows

__all__ = ["QuickOptions", "QuickSearch", "is_quick"]


_MOST_COORDINATES = 32  # of q: all tables of the loop grow with it, and beyond its kernel takes minutes to compile
_NEARER = 3.0  # samples lie e³ times as often about the way to one goal than to another that is twice as far


class QuickOptions(NamedTuple):
    """Lengths are those of the space, in its units."""

    more: int = 4  # times that it is searched again, each looking twice as closely
    spacing: float = 0.25  # how far apart configurations are that searches look at
    fine: float = 0.07  # and those of paths
    clear: float = 0.005  # [m] how much more than the margin shortcuts keep
    trials: int = 160  # shortcuts
    hope: float = 1.0  # by which part paths may be longer than the best one before shortcuts; after the last, by 0
    rounds: int = 120  # of a search after the first
    piece: int = 1000  # of all, between looks at the clock
    wide: float = 0.8  # boxes about ways, by the way's length and √nv
    doubling: float = 20.0  # samples after which they are twice as wide
    anywhere: float = 0.1  # the share of samples that are within limits anywhere
    worth: float = 1.03  # by how much the best path is longer than a way to a goal that is searched for


def is_quick(space: PlanningSpace, roots: int) -> bool:
    """Return True where one kernel can search the space, and has room for so many starts and goals."""
    return type(space) is PlanningSpace and space.is_plain and space.robot.nq <= _MOST_COORDINATES and roots <= ROOTS


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
        self.space = space
        self.how, self.simplify = QuickOptions() if options is None else options, simplify
        self.searches = searches if simplify else 1
        turning = tuple(space.turning.tolist())
        shift, places = _shifts(seed, len(turning))
        limits = np.array([space.lower, space.upper])
        box = np.array(within_a_turn(*limits)) if space.turns else limits
        self.margin = space.blocks[0].margin  # that of all blocks
        self.number, self.rounds, self.nodes = 0.0, 0, 0
        self.ends = starts, goals
        self.grown: tuple[GrownTree, GrownTree] | None = None
        self.kernel, rows = space.loop("searching", searching_kernel, turning)
        roots, pairs, many = _asked(space, starts, goals)
        self.numbers = {"many": many, "begun": len(starts) + len(goals)}
        self.given = _single(roots, pairs, shift, places, box, limits, space.weights)
        self.rows = _single(*rows)

    @property
    def trees(self) -> tuple[GrownTree, GrownTree]:
        """What was explored last, from starts and from goals."""
        first, second = self.ends
        return self.grown or (PlanningTree(first), PlanningTree(second))

    def path(self, going: Callable[[int], bool]) -> np.ndarray | None:
        """A path (k, nq) all edges of which are free, or nothing where none was found soon enough.

        ``going`` is asked before each piece of the search, with how many nodes there were.
        """
        space, spacing = self.space, self.how.spacing
        for _ in range(1 + self.how.more):
            path = self._searched(spacing, going)
            if path is None:
                return None
            path = corners(space, self._exact(path))
            try:
                free = space.edges_are_free(path[:-1], path[1:])
            except OutOfTimeError:
                return None
            if free.all():
                return path
            spacing *= 0.5
        return None

    def _searched(self, spacing: float, going: Callable[[int], bool]) -> np.ndarray | None:
        """The shortest path that seems free."""
        how, space = self.how, self.space
        n = len(space.weights)
        empty = _empty(n)
        trees, growing, sizes, total = empty[:2], 0.0, (0.0, 0.0, 0.0), 0
        result = empty[-1][:0]
        while going(self.nodes):
            numbers = {
                **self.numbers,
                "wide": how.wide / math.sqrt(n),
                "first": self.number,
                "anywhere": how.anywhere,
                "doubling": how.doubling,
                "worth": how.worth,
                "spacing": spacing * space.unit,
                "fine": how.fine * space.unit * spacing / how.spacing,
                "searches": self.searches,
                "rounds": how.rounds,
                "max_iterations": how.piece,
                "trials": how.trials if self.simplify else 0,
                "hope": how.hope,
                "margin": self.margin,
                "clear": how.clear if self.margin >= 0.0 else 0.0,
                "growing": growing,
            }
            values = np.array([*(numbers[name] for name in NUMBERS[: len(numbers)]), *sizes], dtype=np.float32)
            nodes, links, best, told = self.kernel(*trees, *empty[2:], *self.given, values, *self.rows)
            count, _, *sizes, self.number, _, rounds, ended, growing, full = told.tolist()
            self.rounds += int(rounds)
            self.nodes += int(ended)
            trees, total = (nodes, links), int(sizes[0])
            result = best[: int(count)]
            if count > 0.0 or full or not growing:
                break
        if total:
            rows = trees[0][:total], trees[1][:total]
            self.grown = TreeRows(*rows, 0, int(sizes[1])), TreeRows(*rows, 1, int(sizes[2]))
        return result if len(result) else None

    def _exact(self, path: np.ndarray) -> np.ndarray:
        """From the nearest start to the nearest goal, and within limits."""
        result: np.ndarray = np.clip(path.astype(float), self.space.lower, self.space.upper)
        for end, ends in zip((0, -1), self.ends, strict=True):
            far = self.space.length(self.space.difference(ends, result[end])) if len(ends) > 1 else np.zeros(1)
            result[end] = ends[far.argmin()]
        return result


def _asked(space: PlanningSpace, starts: np.ndarray, goals: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Roots, pairs of them, the nearest first, and how many of these there are."""
    n = starts.shape[1]
    along = space.difference(starts[:, None], goals[None])  # (starts, goals, nq)
    lengths = space.length(along)
    roots = np.zeros((ROOTS, n + 2))
    begun, count = len(starts), len(starts) + len(goals)
    roots[:begun, :n], roots[begun:count, :n] = starts, goals
    roots[begun:count, n] = 1.0
    roots[:begun, n + 1], roots[begun:count, n + 1] = lengths.min(axis=1), lengths.min(axis=0)
    order = np.argsort(lengths, axis=None, kind="stable")[:PAIRS]
    many = len(order)
    length = lengths.ravel()[order]
    pairs = np.full((PAIRS, 2 * n + 2), 1e30)
    pairs[:many, :n], pairs[:many, n : 2 * n] = starts[order // len(goals)], along.reshape(-1, n)[order]
    pairs[:many, 2 * n] = length
    least = length[0]
    pairs[:many, -1] = np.exp((least - length) * (_NEARER / max(least, 0.5 * space.unit))).cumsum()
    return roots, pairs, many


@lru_cache(16)
def _empty(n: int) -> tuple[np.ndarray, ...]:
    """Nodes, links, tables for a path, its links and the best one."""
    return _single(
        np.zeros((NODES, n)),
        np.zeros((NODES, 2)),
        np.zeros((PLACES, n)),
        np.full((PLACES, 2), -1.0),
        np.zeros((BEST, n)),
    )


def _single(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """In float32."""
    return tuple([x.astype(np.float32) for x in arrays])


@lru_cache(256)
def _shifts(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Of samples (n + 3,), and of shortcuts (2,)."""
    u = np.random.default_rng([seed, 4]).uniform(size=n + 5)
    return u[:-2], u[-2:]


NODES = 512  # rows for both trees
ROOTS = 64  # starts and goals
PAIRS = 64  # of them
PLACES = 256  # rows for a path and its shortcuts
BEST = 128  # rows for the best one: half of them, as paths are cut short only where there is room for that
_ROUNDS = 100_000  # at most in a call: how many there are comes with it
_KERNELS: LazyCache[Kernel] = LazyCache(64)
NUMBERS = (
    "many",
    "begun",
    "wide",
    "first",
    "anywhere",
    "doubling",
    "worth",
    "spacing",
    "fine",
    "searches",
    "rounds",
    "max_iterations",
    "trials",
    "hope",
    "margin",
    "clear",
    "growing",
    "total",
    "count0",
    "count1",
)
"""The numbers that it takes, in their order."""


def searching_kernel(
    blocks: tuple[DistanceSpec, ...], deep: tuple[bool, ...], turning: tuple[bool, ...], *, each: bool
) -> Kernel:
    """Of nodes and links of trees, tables for a path and the best one, roots, pairs, what samples and places of
    shortcuts are shifted by, spans, limits, weights and `NUMBERS`.  Gives nodes, links, the best path, and what
    `PathsSearched` tells besides: how many rows the path has and its length, rows of trees and how many each has, the
    last sample's number, searches, rounds, nodes, whether trees grow on, and whether they are full.

    By block of pairs it takes margins where ``each`` has its own, and a scene's rows.  Pairs of ``deep`` blocks may
    overlap: those that may keep their margin alone.
    """
    n = len(turning)

    def searching(
        nodes: Any,
        links: Any,
        path: Any,
        after: Any,
        best: Any,
        roots: Any,
        pairs: Any,
        shift: Any,
        places: Any,
        spans: Any,
        limits: Any,
        weights: Any,
        numbers: Any,
        **given: Any,
    ) -> Any:
        at = dict(zip(NUMBERS, numbers, strict=True))
        sampling = Sampling(
            pairs,
            at["many"],
            at["wide"],
            0.0,
            [*shift],
            at["first"],
            spans,
            limits,
            at["anywhere"],
            at["doubling"],
        )
        wanted = SearchWanted(
            roots,
            at["begun"],
            at["worth"],
            at["spacing"],
            at["fine"],
            at["searches"],
            at["rounds"],
            at["max_iterations"],
            [*places],
            at["trials"],
            at["hope"],
        )

        def touches(q: list[Any], margin: Any) -> Any:
            result: Any = 0.0
            for k, (asked, depths) in enumerate(zip(blocks, deep, strict=True)):
                of_block = {name: given[_name(name, k)] for name in (*(asked.margins if each else ()), *asked.rows)}
                scene, margins = asked.scene(of_block), asked.pair_margins(of_block) if each else None
                about = asked.tree, q, asked.pairs, asked.shapes, scene
                hit = in_collision(*about, margin, depths=depths, margins=margins, alone=each)
                result = hit if k == 0 else fmax(result, hit)
            return result

        looking = touching(touches)

        trees = Trees(nodes, links, at["total"], (at["count0"], at["count1"]))
        result = searched(
            Ways([*weights], turning),
            looking(at["margin"]),
            looking(at["margin"] + at["clear"]),
            trees,
            path,
            after,
            best,
            sampling,
            wanted,
            at["growing"],
            max_iterations=_ROUNDS,
        )
        grown = result.trees
        told = [result.best.count, result.best.length, grown.total, *grown.counts, *result[2:]]
        return grown.nodes, grown.links, result.best.path, array(told)

    def made() -> Kernel:
        """It has been called once, for no rounds, in float32: code of a single call is made then."""
        shapes: dict[str, Any] = {
            "nodes": (NODES, n),
            "links": (NODES, 2),
            "path": (PLACES, n),
            "after": (PLACES, 2),
            "best": (BEST, n),
            "roots": (ROOTS, n + 2),
            "pairs": (PAIRS, 2 * n + 2),
            "shift": (n + 3,),
            "places": (2,),
            "spans": (2, n),
            "limits": (2, n),
            "weights": (n,),
            "numbers": (len(NUMBERS),),
            **{
                _name(name, k): shape
                for k, asked in enumerate(blocks)
                for name, shape in {**(asked.margins if each else {}), **asked.rows}.items()
            },
        }
        result: Kernel = compile(searching, **shapes)
        result(*(np.zeros(shape, dtype=np.float32) for shape in shapes.values()))
        return result

    return _KERNELS.get((blocks, deep, turning, each), made)


def _name(name: str, block: int) -> str:
    """Return the name of an input of a block."""
    return f"{name}_{block}" if block else name
