"""Kernels that search and shorten as a whole: loops whose steps look at eight configurations side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...algorithms.distances import in_collision
from ...algorithms.planning.growing import LINES, Samplings, grown
from ...algorithms.planning.shortcuts import cut_short
from ...algorithms.planning.ways import Touches, Ways
from ...bridge.machine import Kernel, compile
from ...bridge.once import Once
from ...expr.arrays import array
from ..distances.kernels import AskedDistances

__all__ = ["NODES", "PLACES", "growing_kernel", "shortening_kernel"]

NODES = 768  # rows for both trees
PLACES = 384  # rows for a path and its shortcuts
_ROUNDS = 100_000  # at most in a call: how many there are comes with it
_KERNELS: Once[Kernel] = Once(64)


def growing_kernel(asked: AskedDistances, turning: tuple[bool, ...]) -> Kernel:
    """Of nodes and links of trees, how many each has, what samples are drawn of, weights, and numbers: the first
    sample's, the share of those that are anywhere, after how many boxes are twice as wide, the spacing, rounds, the
    margin.  Gives nodes, links, and counts, the nodes that met, the last sample's number and how many rounds."""
    n = len(turning)

    def growing(
        nodes: Any,
        links: Any,
        counts: Any,
        lines: Any,
        shift: Any,
        spans: Any,
        limits: Any,
        weights: Any,
        numbers: Any,
        **given: Any,
    ) -> Any:
        first, anywhere, doubling, spacing, rounds, margin = list(numbers)
        samplings = Samplings(lines, [*shift], first, spans, limits, anywhere, doubling)
        touches = _touches(asked, given, margin)
        ways = Ways([*weights], turning)
        both = (counts[0], counts[1])
        found = grown(ways, touches, nodes, links, both, samplings, spacing, rounds, at_most=_ROUNDS)
        return found.nodes, found.links, array([*found.counts, *found.met, found.number, found.rounds])

    def made() -> Kernel:
        return _made(
            growing,
            asked,
            nodes=(NODES, n),
            links=(NODES, 2),
            counts=(2,),
            lines=(LINES, 2 * n + 2),
            shift=(n + 3,),
            spans=(2, n),
            limits=(2, n),
            weights=(n,),
            numbers=(6,),
        )

    return _KERNELS.get(("growing", asked, turning), made)


def shortening_kernel(asked: AskedDistances, turning: tuple[bool, ...]) -> Kernel:
    """Of nodes and links of a path, a shift of places, weights, and numbers: how many nodes, how long, the spacing,
    trials, the best path's length and by how much it may be longer at first, the margin.  Gives nodes, links, and the
    length, how many ways were tried, and how many looks that took."""
    n = len(turning)

    def shortening(nodes: Any, links: Any, shift: Any, weights: Any, numbers: Any, **given: Any) -> Any:
        count, length, spacing, trials, best, hope, margin = list(numbers)
        touches = _touches(asked, given, margin)
        ways = Ways([*weights], turning)
        found = cut_short(
            ways, touches, nodes, links, count, length, [*shift], spacing, trials, (best, hope), at_most=_ROUNDS
        )
        return found.nodes, found.links, array([found.length, found.tried, found.looks])

    def made() -> Kernel:
        return _made(
            shortening,
            asked,
            nodes=(PLACES, n),
            links=(PLACES, 2),
            shift=(2,),
            weights=(n,),
            numbers=(7,),
        )

    return _KERNELS.get(("shortening", asked, turning), made)


def _made(function: Callable[..., Any], asked: AskedDistances, **shapes: Any) -> Kernel:
    """A kernel that has been called once, for no rounds: code of a single call is made then."""
    shapes |= asked.rows
    found: Kernel = compile(function, **shapes)
    found(*(np.zeros(shape) for shape in shapes.values()))
    return found


def _touches(asked: AskedDistances, given: dict[str, Any], margin: Any) -> Touches:
    scene = asked.scene(given)
    return lambda q: in_collision(asked.tree, q, asked.pairs, asked.shapes, scene, margin)
