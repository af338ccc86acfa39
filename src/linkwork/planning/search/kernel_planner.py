"""Single-kernel planner: straight motions to goals first, then several bounded RRT-Connect searches.

Each search looks for a path shorter than the best so far (`multi_start_search`).  The shortest path is accepted if its
edges are free; otherwise it is searched again with a finer spacing.

A search begins with small tables, for which the kernel is compiled in less time.  A search that does not fit into them
is repeated with large ones.  The result is the same as with large tables from the beginning.

The kernel uses float32, of which vectors hold twice as many values.  Its result is checked in float64, and ends exactly
at the given configurations.  Its loops check eight configurations together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from linkwork.kernels.compiler_api import batch_call
from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace
from linkwork.planning.search.halton_samples import within_a_revolution
from linkwork.planning.search.path_smoothing import path_with_joints_at_rest, remove_straight_nodes
from linkwork.planning.search.search_kernel import LARGE, SMALL, VALUES, SearchTables, search_kernel
from linkwork.planning.search.search_tree import GrownTree, PlanningTree, TableTree

__all__ = ["KernelSearch", "KernelSearchOptions", "compile_first_search", "compile_searches", "is_supported"]


_MAX_COORDINATES = 32  # of q; tables grow with it, and compilation of larger kernels takes minutes
_MAX_LOCKED_PARTS = 2  # parts of each search of a path with joints at rest
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
    rounds_per_call: int = 1000  # rounds between readings of the clock
    wide: float = 0.8  # width of boxes about motions, relative to length / √nv
    doubling: float = 20.0  # samples after which boxes are twice as wide
    anywhere: float = 0.1  # share of samples anywhere within limits
    worth: float = 1.03  # minimum ratio of the best path's length to that of a motion to a goal


def is_supported(space: PlanningSpace, roots: int) -> bool:
    """Return True if one kernel can search the space with this number of starts and goals."""
    is_plain = type(space) is PlanningSpace and space.is_plain and bool(space.blocks)
    return is_plain and space.robot.nq <= _MAX_COORDINATES and roots <= LARGE.roots


def compile_searches(space: PlanningSpace, q: np.ndarray) -> None:
    """Compile all kernels of searches in the space, with small and with large tables; q (nq,) is any configuration."""
    space.make_ready(q)
    if is_supported(space, 2):
        for tables in (SMALL, LARGE):
            _search_loop(space, tables)


def compile_first_search(space: PlanningSpace, starts: np.ndarray, num_goals: int) -> None:
    """Compile the kernels that a search needs first: checks of edges, and the search with small tables.

    ``num_goals`` is the largest number of goals. The search is not compiled if it may need large tables. Nothing is
    compiled if every start is outside of the limits.
    """
    if not space.within(starts).any():
        return
    space.make_ready(starts[0], edges_only=True)
    is_small = is_supported(space, len(starts) + num_goals) and _are_small(len(starts), num_goals)
    if is_small and not any(space.has_loop(_loop_name(tables)) for tables in (SMALL, LARGE)):
        _search_loop(space, SMALL)


def _are_small(num_starts: int, num_goals: int) -> bool:
    """Return True if small tables suffice for these numbers of starts and goals."""
    return num_starts + num_goals <= SMALL.roots and num_starts * num_goals <= SMALL.pairs


def _search_loop(space: PlanningSpace, tables: SearchTables) -> tuple[Any, list[np.ndarray]]:
    """Return the kernel of the search with these tables, and its inputs for the scene."""
    kernel = partial(search_kernel, tables=tables)
    return space.loop(_loop_name(tables), kernel)


def _loop_name(tables: SearchTables) -> str:
    return f"searching {tables.tree}"


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
        self.searches, self.seed = searches if simplify else 1, seed
        shift, shortcut_shift = _shifts(seed, len(space.turning))
        limits = np.array([space.lower, space.upper])
        box = np.array(within_a_revolution(*limits))
        self.margin = space.blocks[0].margin  # of all blocks
        self.number, self.iterations, self.nodes = 0.0, 0, 0
        self.ends = starts, goals
        self._last_trees: tuple[GrownTree, GrownTree] | None = None
        self.constants = _float32(shift, shortcut_shift, box, limits, space.weights)
        has_room = _are_small(len(starts), len(goals))
        self._use_tables(SMALL if has_room and not space.has_loop(_loop_name(LARGE)) else LARGE)

    def _use_tables(self, tables: SearchTables) -> None:
        """Compile the kernel of the search with these tables, and fill its inputs."""
        kernel, rows = _search_loop(self.space, tables)
        self.call = batch_call(kernel)
        starts, goals = self.ends
        nodes, roots, pairs, num_pairs = _roots_and_pairs(self.space, starts, goals, tables)
        self.tables, self.num_pairs = tables, num_pairs
        self.roots = _float32(nodes, np.zeros((tables.tree, 2)))
        self.inputs = (*_float32(roots, pairs), *self.constants)
        self.rows = _float32(*rows)

    @property
    def trees(self) -> tuple[GrownTree, GrownTree]:
        """Trees of the last search, from the starts and from the goals; only the roots before a search."""
        first, second = self.ends
        return self._last_trees or (PlanningTree(first), PlanningTree(second))

    def path(
        self, continues: Callable[[int], bool], compiling: Callable[[], AbstractContextManager[None]]
    ) -> np.ndarray | None:
        """Return a path (k, nq) whose edges are collision-free, or None if no path is found in time.

        ``continues`` is called before each part of the search with the number of nodes, and ends the search by False. A
        kernel is compiled within the context ``compiling()``.
        """
        space, spacing = self.space, self.options.spacing
        for _ in range(1 + self.options.more):
            path = self._search(spacing, continues, compiling)
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

    def with_joints_at_rest(
        self, path: np.ndarray, continues: Callable[[int], bool], compiling: Callable[[], AbstractContextManager[None]]
    ) -> np.ndarray:
        """Return a path between the ends of ``path`` (k, nq) on which joints with equal positions at both ends rest.

        See `path_with_joints_at_rest`; further searches have a limited number of iterations.
        """
        parts = 0

        def limited(nodes: int) -> bool:
            nonlocal parts
            parts += 1
            return parts <= _MAX_LOCKED_PARTS and continues(nodes)

        def search(locked: PlanningSpace, start: np.ndarray, end: np.ndarray) -> np.ndarray | None:
            nonlocal parts
            parts, options = 0, self.options
            again = KernelSearch(
                locked, start[None], end[None], seed=self.seed, searches=self.searches, options=options
            )
            return again.path(limited, compiling)

        return path_with_joints_at_rest(self.space, path, search)

    def _search(
        self, spacing: float, continues: Callable[[int], bool], compiling: Callable[[], AbstractContextManager[None]]
    ) -> np.ndarray | None:
        """Return the shortest path (k, nq) that is free where it is checked, or None."""
        counts = self.number, self.iterations, self.nodes
        path, parts, crowded = self._search_in_tables(spacing, continues, 0)
        if crowded:
            self.number, self.iterations, self.nodes = counts
            with compiling():
                self._use_tables(LARGE)
            path, _, _ = self._search_in_tables(spacing, continues, parts)
        return path

    def _search_in_tables(
        self, spacing: float, continues: Callable[[int], bool], allowed: int
    ) -> tuple[np.ndarray | None, int, bool]:
        """Return the shortest path (or None), the number of kernel calls, and True if the tables are too small.

        The first ``allowed`` kernel calls are made without a call of ``continues``.
        """
        options, space = self.options, self.space
        n = len(space.weights)
        trees, growing, sizes, total, parts = self.roots, 0.0, (0.0, 0.0, 0.0), 0, 0
        result = trees[0][:0]
        while parts < allowed or continues(self.nodes):
            parts += 1
            named_values = {
                "many": self.num_pairs,
                "begun": sum(map(len, self.ends)),
                "wide": options.wide / math.sqrt(n),
                "first": self.number,
                "anywhere": options.anywhere,
                "doubling": options.doubling,
                "worth": options.worth,
                "spacing": spacing * space.unit,
                "fine": options.fine * space.unit * spacing / options.spacing,
                "searches": self.searches,
                "rounds": options.rounds,
                "max_iterations": options.rounds_per_call,
                "trials": options.trials if self.simplify else 0,
                "hope": options.hope,
                "margin": self.margin,
                "clear": options.clear if self.margin >= 0.0 else 0.0,
                "growing": growing,
            }
            values = np.array([*(named_values[name] for name in VALUES[: len(named_values)]), *sizes], dtype=np.float32)
            nodes, links, best, diagnostics = self.call(*trees, *self.inputs, values, *self.rows)
            count, _, *sizes, self.number, _, rounds, ended, growing, full, crowded = diagnostics.tolist()
            if crowded and self.tables is not LARGE:
                return None, parts, True
            self.iterations += int(rounds)
            self.nodes += int(ended)
            trees, total = (nodes, links), int(sizes[0])
            result = best[: int(count)]
            if count > 0.0 or full or not growing:
                break
        if total:
            rows = trees[0][:total], trees[1][:total]
            self._last_trees = TableTree(*rows, 0, int(sizes[1])), TableTree(*rows, 1, int(sizes[2]))
        return (result if len(result) else None), parts, False

    def _with_exact_ends(self, path: np.ndarray) -> np.ndarray:
        """Return the path in float64 and clipped to the limits, from exactly a start to exactly a goal."""
        result: np.ndarray = np.clip(path.astype(float), self.space.lower, self.space.upper)
        for end, ends in zip((0, -1), self.ends, strict=True):
            distances = self.space.length(self.space.difference(ends, result[end])) if len(ends) > 1 else np.zeros(1)
            result[end] = ends[distances.argmin()]
        return result


def _roots_and_pairs(
    space: PlanningSpace, starts: np.ndarray, goals: np.ndarray, tables: SearchTables
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return the initial tables of a search (nodes, roots, pairs of start and goal), and the number of pairs.

    The tables are ``nodes`` of `Trees`, ``roots`` of `SearchRequest` and ``pairs`` of `Sampling`, the nearest pair
    first.
    """
    n = starts.shape[1]
    along = space.difference(starts[:, None], goals[None])  # (starts, goals, nq)
    lengths = space.length(along)
    nodes, roots = np.zeros((tables.tree, n)), np.zeros((tables.roots, 2))
    num_starts, count = len(starts), len(starts) + len(goals)
    nodes[:num_starts], nodes[num_starts:count] = starts, goals
    roots[num_starts:count, 0] = 1.0
    roots[:num_starts, 1], roots[num_starts:count, 1] = lengths.min(axis=1), lengths.min(axis=0)
    order = np.argsort(lengths, axis=None, kind="stable")[: tables.pairs]
    num_pairs = len(order)
    length = lengths.ravel()[order]
    pairs = np.full((tables.pairs, 2 * n + 2), 1e30)
    pairs[:num_pairs, :n], pairs[:num_pairs, n : 2 * n] = starts[order // len(goals)], along.reshape(-1, n)[order]
    pairs[:num_pairs, 2 * n] = length
    least = length[0]
    pairs[:num_pairs, -1] = np.exp((least - length) * (_PREFERENCE / max(least, 0.5 * space.unit))).cumsum()
    return nodes, roots, pairs, num_pairs


def _float32(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays converted to float32."""
    return tuple([x.astype(np.float32) for x in arrays])


@lru_cache(256)
def _shifts(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random shifts of the sequences of samples (n + 3,) and of shortcuts (2,)."""
    u = np.random.default_rng([seed, 4]).uniform(size=n + 5)
    return u[:-2], u[-2:]
