"""Looking for what is nearest among many in a tree of boxes, for lanes: loops and tables, no recursion.

The tree is complete and binary, its nodes are in preorder: behind a node stands its first child, and a table says which
node comes after all that is in it.  So a walk needs no stack: it goes to the next node where something may be nearer,
else past it.  Boxes are data of the call; the order of nodes is a constant of their number.

Source: Smits, Efficiency issues for ray tracing, Journal of Graphics Tools 3 (2), 1998 (links that skip).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control import fori_loop, take, while_loop
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, sqrt, where
from linkwork.spatial import Vec3

__all__ = ["FAR", "NOWHERE", "NearestPlace", "depth_of", "nearer", "nearest", "to_box", "walk_table"]

FAR = 1e18  # [m] nothing is as far away; its square is a number in float32 too
NOWHERE = 1e19  # [m] where boxes are that nothing is in
_TIE = 1e-12  # [m] distances that are as good as equal
_APART = 1e-9  # [m] places that are two


@dataclass(frozen=True)
class NearestPlace:
    """The least distance so far [m], the place where, which it is, and whether another place is as near (1 or 0)."""

    distance: Any
    place: Vec3
    which: Any
    tie: Any


class _Sought(NamedTuple):
    node: Any
    found: Any  # whether it is a leaf that something nearer may be in


def nearer(best: NearestPlace, distance: Any, place: Vec3, which: Any) -> NearestPlace:
    """The nearer one of what was found and what is here."""
    gap = place - best.place
    another = and_(le(fabs(distance - best.distance), _TIE), lt(_APART * _APART, gap.dot(gap)))
    better = lt(distance, best.distance)
    tie = where(another, 1.0, where(lt(distance, best.distance - _TIE), 0.0, best.tie))
    chosen = (where(better, x, y) for x, y in zip(place, best.place, strict=True))
    return NearestPlace(where(better, distance, best.distance), Vec3(*chosen), where(better, which, best.which), tie)


def to_box(p: Vec3, low: Any, high: Any) -> Any:
    """The distance of a point from a box along the axes, zero inside."""
    gaps = [fmax(fmax(a - x, x - b), 0.0) for x, a, b in zip(p, low, high, strict=True)]
    return sqrt(gaps[0] * gaps[0] + gaps[1] * gaps[1] + gaps[2] * gaps[2])


def nearest(
    depth: int, bound: Callable[[Any], Any], leaf: Callable[[Any, NearestPlace], NearestPlace], start: NearestPlace
) -> NearestPlace:
    """Walk a tree of 2^depth leaves.

    ``bound(node)`` is never above the distances in a node, ``leaf(number, best)`` looks at a leaf.  First comes a leaf
    to which the nearer child leads each time, so that much can be skipped after.
    """
    table = walk_table(depth)
    count = float(len(table))

    def seek(node: Any, best: NearestPlace) -> Any:
        def step(s: _Sought) -> _Sought:
            skip, number = take(table, s.node)
            near = le(bound(s.node), best.distance)
            result = and_(near, le(0.0, number))
            on = where(near, s.node + 1.0, skip)
            return _Sought(where(result, s.node, on), where(result, 1.0, 0.0))

        going = lambda s: and_(lt(s.node, count), lt(s.found, 0.5))  # noqa: E731
        return while_loop(going, step, _Sought(node, 0.0), max_iterations=len(table) + 1).state

    def step(s: tuple[Any, Any, NearestPlace]) -> tuple[Any, Any, NearestPlace]:
        node, dived, best = s
        sought = seek(node, best)
        looked = leaf(fmax(take(table, sought.node)[1], 0.0), best)
        there = lt(0.5, sought.found)
        pairs = zip(_numbers(looked), _numbers(best), strict=True)
        following = where(lt(0.5, dived), 0.0, sought.node + 1.0)
        return following, 0.0, _nearest([where(there, new, old) for new, old in pairs])

    begin = (_dive(depth, bound), 1.0, start)
    result: NearestPlace = while_loop(lambda s: lt(s[0], count), step, begin, max_iterations=2**depth + 2).state[2]
    return result


def _dive(depth: int, bound: Callable[[Any], Any]) -> Any:
    """The node of a leaf that is near."""

    def step(_: Any, s: Any) -> Any:
        node, size = s
        half = 0.5 * (size - 1.0)
        left, right = node + 1.0, node + 1.0 + half
        return where(le(bound(left), bound(right)), left, right), half

    return fori_loop(0, depth, step, (0.0, float(2 ** (depth + 1) - 1)))[0]


def _numbers(best: NearestPlace) -> list[Any]:
    return [best.distance, *best.place, best.which, best.tie]


def _nearest(numbers: list[Any]) -> NearestPlace:
    distance, x, y, z, which, tie = numbers
    return NearestPlace(distance, Vec3(x, y, z), which, tie)


def depth_of(nodes: int) -> int:
    """The depth of a tree of so many nodes."""
    return (nodes + 1).bit_length() - 2


@cache
def walk_table(depth: int) -> np.ndarray:
    """By node (2^(depth+1) − 1, 2): the node after all that is in it, and the leaf's number or −1."""
    rows: list[tuple[float, float]] = []
    waiting = [(0, 0)]  # level, and the number on the level
    while waiting:
        level, number = waiting.pop()
        rows.append((len(rows) + 2.0 ** (depth - level + 1) - 1.0, float(number) if level == depth else -1.0))
        if level < depth:
            waiting += [(level + 1, 2 * number + 1), (level + 1, 2 * number)]
    table = np.array(rows)
    table.setflags(write=False)
    return table
