"""The kernel that searches as a whole: loops whose steps look at eight configurations side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algorithms.distances import in_collision
from ...algorithms.planning.growing import Sampling, Trees
from ...algorithms.planning.searching import SearchWanted, searched
from ...algorithms.planning.ways import Ways, touching
from ...bridge.machine import Kernel, compile
from ...bridge.once import Once
from ...expr.arrays import array
from ...expr.functions import fmax
from ...geometry.rows import SolidKind
from ..distances.kernels import AskedDistances

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


def searching_kernel(blocks: tuple[AskedDistances, ...], deep: tuple[bool, ...], turning: tuple[bool, ...]) -> Kernel:
    """Of nodes and links of trees, tables for a path and the best one, roots, pairs, what samples and places of
    shortcuts are shifted by, spans, limits, weights and `NUMBERS`.  Gives nodes, links, the best path, and what
    `PathsSearched` tells besides: how many rows the path has and its length, rows of trees and how many each has, the
    last sample's number, searches, rounds, nodes, whether trees grow on, and whether they are full.

    Of several ``blocks`` of pairs it takes the margins after the numbers, and the margin among these is 0.  Pairs of
    ``deep`` blocks may overlap: these keep their margin alone.
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
        margins: Any = None,
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
                scene = {kind: given[_row_name(kind, k)] for kind, _ in asked.capacities}
                own = margin if margins is None else margins[k] if depths else margin + margins[k]
                hit = in_collision(asked.tree, q, asked.pairs, asked.shapes, scene, own, depths=depths)
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
            **({"margins": (len(blocks),)} if len(blocks) > 1 else {}),
            **{
                _row_name(kind, k): (capacity, kind.size)
                for k, asked in enumerate(blocks)
                for kind, capacity in asked.capacities
            },
        }
        found: Kernel = compile(searching, **shapes)
        found(*(np.zeros(shape, dtype=np.float32) for shape in shapes.values()))
        return found

    return _KERNELS.get((blocks, deep, turning), made)


def _row_name(kind: SolidKind, block: int) -> str:
    """Return the name of the input of a scene's rows of a kind."""
    return f"{kind.name}_{block}" if block else kind.name
