"""The kernel that searches as a whole: loops whose steps look at eight configurations side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.collision.algorithms import in_collision
from linkwork.collision.kernels import AskedDistances
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import fmax
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import Once
from linkwork.planning.algorithms.multi_start_search import SearchWanted, searched
from linkwork.planning.algorithms.rrt_connect import Sampling, Trees
from linkwork.planning.algorithms.straight_segments import Ways, touching

__all__ = ["BEST", "NODES", "NUMBERS", "PAIRS", "PLACES", "ROOTS", "searching_kernel"]

NODES = 512  # rows for both trees
ROOTS = 64  # starts and goals
PAIRS = 64  # of them
PLACES = 256  # rows for a path and its shortcuts
BEST = 128  # rows for the best one: half of them, as paths are cut short only where there is room for that
_ROUNDS = 100_000  # at most in a call: how many there are comes with it
_KERNELS: Once[Kernel] = Once(64)

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
    "at_most",
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
    blocks: tuple[AskedDistances, ...], deep: tuple[bool, ...], turning: tuple[bool, ...], *, each: bool
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
            at["at_most"],
            [*places],
            at["trials"],
            at["hope"],
        )

        def touches(q: list[Any], margin: Any) -> Any:
            found: Any = 0.0
            for k, (asked, depths) in enumerate(zip(blocks, deep, strict=True)):
                of_block = {name: given[_name(name, k)] for name in (*(asked.margins if each else ()), *asked.rows)}
                scene, margins = asked.scene(of_block), asked.pair_margins(of_block) if each else None
                about = asked.tree, q, asked.pairs, asked.shapes, scene
                hit = in_collision(*about, margin, depths=depths, margins=margins, alone=each)
                found = hit if k == 0 else fmax(found, hit)
            return found

        looking = touching(touches)

        trees = Trees(nodes, links, at["total"], (at["count0"], at["count1"]))
        found = searched(
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
            at_most=_ROUNDS,
        )
        grown = found.trees
        told = [found.best.count, found.best.length, grown.total, *grown.counts, *found[2:]]
        return grown.nodes, grown.links, found.best.path, array(told)

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
        found: Kernel = compile(searching, **shapes)
        found(*(np.zeros(shape, dtype=np.float32) for shape in shapes.values()))
        return found

    return _KERNELS.get((blocks, deep, turning, each), made)


def _name(name: str, block: int) -> str:
    """Return the name of an input of a block."""
    return f"{name}_{block}" if block else name
