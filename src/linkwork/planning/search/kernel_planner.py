"""Single-kernel planner: straight motions to goals first, then several bounded RRT-Connect searches.

Each search looks for a path shorter than the best so far (`multi_start_search`).  The shortest path is accepted if its
edges are free; otherwise it is searched again with a finer spacing.

The kernel uses float32, of which vectors hold twice as many values.  Its result is checked in float64, and ends exactly
at the given configurations.  Its loops check eight configurations together.
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
from linkwork.planning.algorithms.multi_start_search import SearchRequest, search_paths
from linkwork.planning.algorithms.path_shortcuts import PathMetric, segment_check
from linkwork.planning.algorithms.rrt_connect import Sampling, Trees
from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace
from linkwork.planning.search.halton_samples import within_a_revolution
from linkwork.planning.search.path_smoothing import remove_straight_nodes
from linkwork.planning.search.search_tree import GrownTree, PlanningTree, TableTree

__all__ = ["KernelSearch", "KernelSearchOptions", "is_supported"]


_MAX_COORDINATES = 32  # of q; tables grow with it, and compilation of larger kernels takes minutes
_PREFERENCE = 3.0  # samples are e³ times as frequent near a goal as near one at twice the distance


class KernelSearchOptions(NamedTuple):
    """Options of the search; lengths are in the units of the space."""

    more: int = 4  # repetitions, each with half the spacing
    spacing: float = 0.25  # spacing of checks while trees grow
    fine: float = 0.07  # spacing of checks of paths
    clear: float = 0.005  # [m] additional margin of shortcuts
    trials: int = 160  # shortcuts
    hope: float = 1.0  # relative excess length of a path over the best one before shortcuts; 0 after the last
    rounds: int = 120  # rounds of each search after the first
    piece: int = 1000  # rounds between readings of the clock
    wide: float = 0.8  # width of boxes about motions, relative to length / √nv
    doubling: float = 20.0  # samples after which boxes are twice as wide
    anywhere: float = 0.1  # share of samples anywhere within limits
    worth: float = 1.03  # minimum ratio of the best path's length to that of a motion to a goal


def is_supported(space: PlanningSpace, roots: int) -> bool:
    """Return True if one kernel can search the space and has room for this number of starts and goals."""
    return type(space) is PlanningSpace and space.is_plain and space.robot.nq <= _MAX_COORDINATES and roots <= ROOTS


class KernelSearch:
    """Search of a path from starts to goals by one kernel: straight motions, then several RRT-Connect searches."""

    def __init__(
        self,
        space: PlanningSpace,
        starts: np.ndarray,
        goals: np.ndarray,
        *,
        seed: int,
        searches: int = 1,
        simplify: bool = True,
        options: KernelSearchOptions | None = None,
    ) -> None:
        self.space = space
        self.options, self.simplify = KernelSearchOptions() if options is None else options, simplify
        self.searches = searches if simplify else 1
        turning = tuple(space.turning.tolist())
        shift, shortcut_shift = _shifts(seed, len(turning))
        limits = np.array([space.lower, space.upper])
        box = np.array(within_a_revolution(*limits)) if space.turns else limits
        self.margin = space.blocks[0].margin  # of all blocks
        self.number, self.iterations, self.nodes = 0.0, 0, 0
        self.ends = starts, goals
        self._last_trees: tuple[GrownTree, GrownTree] | None = None
        self.kernel, rows = space.loop("searching", search_kernel, turning)
        roots, pairs, num_pairs = _roots_and_pairs(space, starts, goals)
        self.values = {"many": num_pairs, "begun": len(starts) + len(goals)}
        self.inputs = _float32(roots, pairs, shift, shortcut_shift, box, limits, space.weights)
        self.rows = _float32(*rows)

    @property
    def trees(self) -> tuple[GrownTree, GrownTree]:
        """Trees of the last search, from the starts and from the goals; only the roots before a search."""
        first, second = self.ends
        return self._last_trees or (PlanningTree(first), PlanningTree(second))

    def path(self, continues: Callable[[int], bool]) -> np.ndarray | None:
        """Return a path (k, nq) with free edges, or None if the time ends before.

        ``continues`` is called before each part of the search with the number of nodes, and ends the search by False.
        """
        space, spacing = self.space, self.options.spacing
        for _ in range(1 + self.options.more):
            path = self._search(spacing, continues)
            if path is None:
                return None
            path = remove_straight_nodes(space, self._with_exact_ends(path))
            try:
                free = space.edges_are_free(path[:-1], path[1:])
            except OutOfTimeError:
                return None
            if free.all():
                return path
            spacing *= 0.5
        return None

    def _search(self, spacing: float, continues: Callable[[int], bool]) -> np.ndarray | None:
        """Return the shortest path (k, nq) that is free where it is checked, or None."""
        options, space = self.options, self.space
        n = len(space.weights)
        empty = _empty(n)
        trees, growing, sizes, total = empty[:2], 0.0, (0.0, 0.0, 0.0), 0
        result = empty[-1][:0]
        while continues(self.nodes):
            named_values = {
                **self.values,
                "wide": options.wide / math.sqrt(n),
                "first": self.number,
                "anywhere": options.anywhere,
                "doubling": options.doubling,
                "worth": options.worth,
                "spacing": spacing * space.unit,
                "fine": options.fine * space.unit * spacing / options.spacing,
                "searches": self.searches,
                "rounds": options.rounds,
                "max_iterations": options.piece,
                "trials": options.trials if self.simplify else 0,
                "hope": options.hope,
                "margin": self.margin,
                "clear": options.clear if self.margin >= 0.0 else 0.0,
                "growing": growing,
            }
            values = np.array([*(named_values[name] for name in VALUES[: len(named_values)]), *sizes], dtype=np.float32)
            nodes, links, best, diagnostics = self.kernel(*trees, *empty[2:], *self.inputs, values, *self.rows)
            count, _, *sizes, self.number, _, rounds, ended, growing, full = diagnostics.tolist()
            self.iterations += int(rounds)
            self.nodes += int(ended)
            trees, total = (nodes, links), int(sizes[0])
            result = best[: int(count)]
            if count > 0.0 or full or not growing:
                break
        if total:
            rows = trees[0][:total], trees[1][:total]
            self._last_trees = TableTree(*rows, 0, int(sizes[1])), TableTree(*rows, 1, int(sizes[2]))
        return result if len(result) else None

    def _with_exact_ends(self, path: np.ndarray) -> np.ndarray:
        """Return the path in float64 and clipped to the limits, from exactly a start to exactly a goal."""
        result: np.ndarray = np.clip(path.astype(float), self.space.lower, self.space.upper)
        for end, ends in zip((0, -1), self.ends, strict=True):
            distances = self.space.length(self.space.difference(ends, result[end])) if len(ends) > 1 else np.zeros(1)
            result[end] = ends[distances.argmin()]
        return result


def _roots_and_pairs(space: PlanningSpace, starts: np.ndarray, goals: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the tables of roots and of pairs of start and goal, and the number of pairs.

    They are ``roots`` of `SearchRequest` and ``pairs`` of `Sampling`, the nearest pair first.
    """
    n = starts.shape[1]
    along = space.difference(starts[:, None], goals[None])  # (starts, goals, nq)
    lengths = space.length(along)
    roots = np.zeros((ROOTS, n + 2))
    num_starts, count = len(starts), len(starts) + len(goals)
    roots[:num_starts, :n], roots[num_starts:count, :n] = starts, goals
    roots[num_starts:count, n] = 1.0
    roots[:num_starts, n + 1], roots[num_starts:count, n + 1] = lengths.min(axis=1), lengths.min(axis=0)
    order = np.argsort(lengths, axis=None, kind="stable")[:PAIRS]
    num_pairs = len(order)
    length = lengths.ravel()[order]
    pairs = np.full((PAIRS, 2 * n + 2), 1e30)
    pairs[:num_pairs, :n], pairs[:num_pairs, n : 2 * n] = starts[order // len(goals)], along.reshape(-1, n)[order]
    pairs[:num_pairs, 2 * n] = length
    least = length[0]
    pairs[:num_pairs, -1] = np.exp((least - length) * (_PREFERENCE / max(least, 0.5 * space.unit))).cumsum()
    return roots, pairs, num_pairs


@lru_cache(16)
def _empty(n: int) -> tuple[np.ndarray, ...]:
    """Return empty tables: nodes, links, a path, its links and the best path."""
    return _float32(
        np.zeros((TREE_ROWS, n)),
        np.zeros((TREE_ROWS, 2)),
        np.zeros((PATH_ROWS, n)),
        np.full((PATH_ROWS, 2), -1.0),
        np.zeros((BEST_ROWS, n)),
    )


def _float32(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays converted to float32."""
    return tuple([x.astype(np.float32) for x in arrays])


@lru_cache(256)
def _shifts(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random shifts of the sequences of samples (n + 3,) and of shortcuts (2,)."""
    u = np.random.default_rng([seed, 4]).uniform(size=n + 5)
    return u[:-2], u[-2:]


TREE_ROWS = 512  # rows of both trees
ROOTS = 64  # starts and goals
PAIRS = 64  # pairs of a start and a goal
PATH_ROWS = 256  # rows of a path and its shortcuts
BEST_ROWS = 128  # rows of the best path: half, since longer paths are not shortened
_MAX_ROUNDS = 100_000  # maximum rounds of a call
_KERNELS: LazyCache[Kernel] = LazyCache(64)
VALUES = (
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
"""Names of the scalar inputs, in order."""


def search_kernel(
    blocks: tuple[DistanceSpec, ...], deep: tuple[bool, ...], turning: tuple[bool, ...], *, each: bool
) -> Kernel:
    """Return the compiled loop of repeated searches.

    Inputs: nodes and links of trees, tables for a path and the best one, roots, pairs, shifts of samples and of
    shortcuts, spans, limits, weights, the values named in `VALUES`, and for each block of pairs individual margins (if
    ``each``) and the scene's arrays. Outputs: nodes, links, the best path, and the remaining fields of `SearchResult`:
    rows and length of the path, rows of the table and of each tree, index of the last sample, searches, rounds, nodes,
    whether trees continue to grow, and whether they are full.

    Pairs of ``deep`` blocks have negative margins, so they may overlap by these.
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
        shortcut_shift: Any,
        spans: Any,
        limits: Any,
        weights: Any,
        values: Any,
        **inputs: Any,
    ) -> Any:
        at = dict(zip(VALUES, values, strict=True))
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
        request = SearchRequest(
            roots,
            at["begun"],
            at["worth"],
            at["spacing"],
            at["fine"],
            at["searches"],
            at["rounds"],
            at["max_iterations"],
            [*shortcut_shift],
            at["trials"],
            at["hope"],
        )

        def in_collision_at(q: list[Any], margin: Any) -> Any:
            result: Any = 0.0
            for k, (block, depths) in enumerate(zip(blocks, deep, strict=True)):
                of_block = {name: inputs[_name(name, k)] for name in (*(block.margins if each else ()), *block.rows)}
                scene, margins = block.scene(of_block), block.pair_margins(of_block) if each else None
                arguments = block.tree, q, block.pairs, block.shapes, scene
                hit = in_collision(*arguments, margin, depths=depths, margins=margins, alone=each)
                result = hit if k == 0 else fmax(result, hit)
            return result

        check_with_margin = segment_check(in_collision_at)

        trees = Trees(nodes, links, at["total"], (at["count0"], at["count1"]))
        result = search_paths(
            PathMetric([*weights], turning),
            check_with_margin(at["margin"]),
            check_with_margin(at["margin"] + at["clear"]),
            trees,
            path,
            after,
            best,
            sampling,
            request,
            at["growing"],
            max_iterations=_MAX_ROUNDS,
        )
        final = result.trees
        diagnostics = [result.best.count, result.best.length, final.total, *final.counts, *result[2:]]
        return final.nodes, final.links, result.best.path, array(diagnostics)

    def build() -> Kernel:
        """Return the compiled kernel of the search.

        It is called once with zero rounds in float32, which compiles the code for calls without a batch.
        """
        shapes: dict[str, Any] = {
            "nodes": (TREE_ROWS, n),
            "links": (TREE_ROWS, 2),
            "path": (PATH_ROWS, n),
            "after": (PATH_ROWS, 2),
            "best": (BEST_ROWS, n),
            "roots": (ROOTS, n + 2),
            "pairs": (PAIRS, 2 * n + 2),
            "shift": (n + 3,),
            "shortcut_shift": (2,),
            "spans": (2, n),
            "limits": (2, n),
            "weights": (n,),
            "values": (len(VALUES),),
            **{
                _name(name, k): shape
                for k, block in enumerate(blocks)
                for name, shape in {**(block.margins if each else {}), **block.rows}.items()
            },
        }
        result: Kernel = compile(searching, **shapes)
        result(*(np.zeros(shape, dtype=np.float32) for shape in shapes.values()))
        return result

    return _KERNELS.get((blocks, deep, turning, each), build)


def _name(name: str, block: int) -> str:
    """Return the kernel's name for an input of the block of pairs with index ``block``."""
    return f"{name}_{block}" if block else name
