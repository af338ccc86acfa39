"""Kernel of the planner's search: its inputs, its tables, and its compilation for a robot and the kinds of a scene.

The time to compile the kernel grows with the number of rows of its tables.  Most searches fit into `SMALL` tables.
The kernel reports searches that do not; these are repeated with `LARGE` tables, with the same result as without the
first attempt.
"""

from __future__ import annotations

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

__all__ = ["LARGE", "SMALL", "VALUES", "SearchTables", "search_kernel"]


class SearchTables(NamedTuple):
    """Numbers of rows of the search's tables."""

    tree: int  # of both trees
    path: int  # of a path and its shortcuts
    best: int  # of the best path
    roots: int  # starts and goals
    pairs: int  # of a start and a goal


SMALL = SearchTables(tree=128, path=80, best=32, roots=16, pairs=16)
LARGE = SearchTables(tree=512, path=256, best=128, roots=64, pairs=64)
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
    blocks: tuple[DistanceSpec, ...],
    deep: tuple[bool, ...],
    turning: tuple[bool, ...],
    *,
    each: bool,
    tables: SearchTables,
) -> Kernel:
    """Return the compiled loop of repeated searches.

    Pairs of ``deep`` blocks have negative margins, so they may overlap by these.

    Inputs: nodes and links of trees, whose first nodes are the starts and goals; roots; pairs; shifts of samples and of
    shortcuts; spans, limits and weights; the values named in `VALUES`. For each block of pairs the inputs include
    individual margins (if ``each``) and the scene's arrays.

    Outputs: nodes, links, the best path, and the remaining fields of `SearchResult`. These are rows and length of the
    path, rows of the table and of each tree, the index of the last sample, and the numbers of searches, rounds and
    nodes. The flags are 1 for trees that continue to grow, trees that are full, and a crowded table.
    """
    n = len(turning)

    def searching(
        nodes: Any,
        links: Any,
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
            np.zeros((tables.path, n)),
            np.full((tables.path, 2), -1.0),
            np.zeros((tables.best, n)),
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
            "nodes": (tables.tree, n),
            "links": (tables.tree, 2),
            "roots": (tables.roots, 2),
            "pairs": (tables.pairs, 2 * n + 2),
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

    return _KERNELS.get((blocks, deep, turning, each, tables), build)


def _name(name: str, block: int) -> str:
    """Return the name of a kernel input ``name`` that belongs to the block of pairs with index ``block``."""
    return f"{name}_{block}" if block else name
