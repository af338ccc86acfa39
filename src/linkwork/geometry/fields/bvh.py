"""Bounding volume hierarchy: nearest item in a tree of boxes by loops and tables, without recursion or a stack.

The tree is a complete binary tree with nodes in preorder.  A node is followed by its first child, and a table has the
node after each subtree.  A traversal descends to the next node if the subtree may contain a nearer item, else it skips
the subtree.  Boxes are inputs of the call; the order of nodes depends on their number only.

Source: Smits, Efficiency issues for ray tracing, Journal of Graphics Tools 3 (2), 1998 (skip links).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control import fori_loop, take, while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, sqrt, where
from linkwork.spatial import Vec3

__all__ = ["FAR", "NOWHERE", "NearestItem", "depth_of", "distance_to_box", "nearer", "nearest", "row_at", "skip_table"]

FAR = 1e18  # [m] beyond all distances; its square is finite in float32
NOWHERE = 1e19  # [m] position of empty boxes
_TIE = by_type(1e-12)  # [m] difference of equal distances
_APART = by_type(1e-18)  # [m²] minimum squared distance of distinct points


@dataclass(frozen=True)
class NearestItem:
    """Nearest item so far: distance [m], point, index, and tie (1 if another point is equally near, else 0)."""

    distance: Any
    point: Vec3
    index: Any
    tie: Any


class _Visit(NamedTuple):
    node: Any
    is_leaf: Any  # 1 if the node is a leaf that may contain a nearer item


def nearer(best: NearestItem, distance: Any, point: Vec3, index: Any) -> NearestItem:
    """Return the nearer of the best item so far and another item."""
    gap = point - best.point
    another = and_(le(fabs(distance - best.distance), _TIE), lt(_APART, gap.dot(gap)))
    better = lt(distance, best.distance)
    tie = where(another, 1.0, where(lt(distance, best.distance - _TIE), 0.0, best.tie))
    chosen = (where(better, x, y) for x, y in zip(point, best.point, strict=True))
    return NearestItem(where(better, distance, best.distance), Vec3(*chosen), where(better, index, best.index), tie)


def distance_to_box(p: Vec3, low: Any, high: Any) -> Any:
    """Return the distance of a point from an axis-aligned box; zero inside."""
    gaps = [fmax(fmax(a - x, x - b), 0.0) for x, a, b in zip(p, low, high, strict=True)]
    return sqrt(gaps[0] * gaps[0] + gaps[1] * gaps[1] + gaps[2] * gaps[2])


def nearest(
    depth: int, bound: Callable[[Any], Any], leaf: Callable[[Any, NearestItem], NearestItem], start: NearestItem
) -> NearestItem:
    """Return the item nearest to a query, in a tree of boxes with 2^depth leaves.

    ``bound(node)`` is a lower bound on the distances of the items in a node. ``leaf(index, best)`` returns the nearer
    of ``best`` and the items of a leaf. The search first descends to a leaf by the nearer child at each node, so that
    most other nodes can be skipped.
    """
    table = skip_table(depth)
    count = float(len(table))

    def next_leaf(node: Any, best: NearestItem) -> Any:
        def step(s: _Visit) -> _Visit:
            skip, index = row_at(table, s.node)
            near = le(bound(s.node), best.distance)
            result = and_(near, le(0.0, index))
            following = where(near, s.node + 1.0, skip)
            return _Visit(where(result, s.node, following), where(result, 1.0, 0.0))

        going = lambda s: and_(lt(s.node, count), lt(s.is_leaf, 0.5))  # noqa: E731
        return while_loop(going, step, _Visit(node, 0.0), max_iterations=len(table) + 1).state

    def step(s: tuple[Any, Any, NearestItem]) -> tuple[Any, Any, NearestItem]:
        node, descended, best = s
        visit = next_leaf(node, best)
        evaluated = leaf(fmax(row_at(table, visit.node)[1], 0.0), best)
        is_leaf = lt(0.5, visit.is_leaf)
        pairs = zip(_values(evaluated), _values(best), strict=True)
        following = where(lt(0.5, descended), 0.0, visit.node + 1.0)
        return following, 0.0, _item([where(is_leaf, new, old) for new, old in pairs])

    begin = (_descent(depth, bound), 1.0, start)
    result: NearestItem = while_loop(lambda s: lt(s[0], count), step, begin, max_iterations=2**depth + 2).state[2]
    return result


def _descent(depth: int, bound: Callable[[Any], Any]) -> Any:
    """Return the number of the leaf that is reached from the root by the nearer child at each node."""

    def step(_: Any, s: Any) -> Any:
        node, size = s
        half = 0.5 * (size - 1.0)
        left, right = node + 1.0, node + 1.0 + half
        return where(le(bound(left), bound(right)), left, right), half

    return fori_loop(0, depth, step, (0.0, float(2 ** (depth + 1) - 1)))[0]


def _values(item: NearestItem) -> list[Any]:
    return [item.distance, *item.point, item.index, item.tie]


def _item(values: list[Any]) -> NearestItem:
    distance, x, y, z, index, tie = values
    return NearestItem(distance, Vec3(x, y, z), index, tie)


def row_at(table: Any, index: Any) -> Any:
    """Return the entries of a table's row at an index; for a batch of indices, each entry is a batch."""
    row = take(table, index)
    return [*np.moveaxis(row, -1, 0)] if isinstance(index, np.ndarray) else row


def depth_of(nodes: int) -> int:
    """Return the depth of a tree with this number of nodes."""
    return (nodes + 1).bit_length() - 2


@cache
def skip_table(depth: int) -> np.ndarray:
    """Return a table for the traversal of a tree whose nodes are numbered in preorder: (2^(depth+1) − 1, 2).

    The table has one row for each node. Its first entry is the number of the next node outside the node's subtree. Its
    second entry is the index of a leaf, or −1 for inner nodes.
    """
    rows: list[tuple[float, float]] = []
    stack = [(0, 0)]  # level, and index on the level
    while stack:
        level, index = stack.pop()
        rows.append((len(rows) + 2.0 ** (depth - level + 1) - 1.0, float(index) if level == depth else -1.0))
        if level < depth:
            stack += [(level + 1, 2 * index + 1), (level + 1, 2 * index)]
    table = np.array(rows)
    table.setflags(write=False)
    return table
