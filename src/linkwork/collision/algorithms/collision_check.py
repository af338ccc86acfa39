"""Collision check of a configuration: True or False, at a fraction of the cost of distances.

Nearly all pairs are far apart, so axis-aligned boxes about the shapes and obstacles are compared first. They fit flat
and long shapes better than bounding spheres. These tests are unrolled for several pairs, and one branch skips the
pairs if no sample of a SIMD vector is near. The few pairs left are checked exactly. Loops iterate over very many own
pairs (`pair_loops`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.collision.algorithms.pair_loops import FEW, are_many, listed, over_many_pairs
from linkwork.collision.algorithms.shape_placement import PlacedShape, by_kinds, placed_shapes
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond, scan, take
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, where
from linkwork.geometry.cores import EXTENTS, FieldCore, HalfSpaceCore, Solid
from linkwork.geometry.pairs import distance_once, within_called
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["PairMargins", "in_collision", "spheres_are_near"]

Scalars = Sequence[Any]

_BLOCK = 8  # own pairs that are skipped together


def in_collision(
    tree: Tree,
    q: Scalars,
    pairs: Sequence[tuple[int, int]],
    shapes: Sequence[int],
    scene: Mapping[SolidKind, Any],
    margin: Any = 0.0,
    *,
    depths: bool = False,
    margins: PairMargins | None = None,
    alone: bool = False,
) -> Any:
    """Return 1 if the distance of a pair is at most the margin [m], else 0.

    Evaluation stops at the first such pair.

    The margin of a pair is the common ``margin`` plus its element of ``margins``. With ``alone``, a negative element
    of ``margins`` replaces the sum. Negative margins need ``depths=True``, which computes the depths of overlapping
    pairs.
    """
    placed = placed_shapes(tree, q, hull_tables=True)
    distal_first = [placed[k] for k in reversed(shapes)]  # they are near obstacles more often

    def total(specific: Any) -> Any:
        """Return the margin of a pair, computed from its ``specific`` margin and the common margin."""
        return where(lt(specific, 0.0), specific, specific + margin) if alone else specific + margin

    def touch(a: Solid, b: Solid, margin: Any) -> Any:
        if depths and margins is not None:  # few of the pairs may overlap
            return cond(
                lt(margin, 0.0),
                lambda: where(le(distance_once(a, b), margin), 1.0, 0.0),
                lambda: where(within_called(a, b, margin), 1.0, 0.0),
            )
        result = le(distance_once(a, b), margin) if depths else within_called(a, b, margin)
        return where(result, 1.0, 0.0)

    def with_obstacle(state: Any, kind: SolidKind, row: Any, gap: Any = None) -> Any:
        b = kind.solid(listed(row))
        limits = [margin] * len(shapes) if gap is None else [total(x) for x in listed(gap)[::-1]]
        candidates = [
            _Candidate(shape, None, x, _boxes_are_near(shape.row, b, x, depths=depths))
            for shape, x in zip(distal_first, limits, strict=True)
        ]
        return _any_of(state, candidates, lambda a, _, gap: touch(a, b.solid, gap), b.exists, each=margins is not None)

    state: Any = 0.0
    for kind, rows in scene.items() if distal_first else ():
        tables = () if margins is None else (margins.scene[kind],)
        if not kind.in_loops:
            for row in zip(rows, *tables, strict=True):
                state = with_obstacle(state, kind, *row)
            continue

        def step(state: Any, row: Any, kind: SolidKind = kind) -> tuple[Any, None]:
            return with_obstacle(state, kind, *row), None

        state, _ = scan(step, state, (rows, *tables))
    if are_many(pairs):
        table = None if margins is None else array([*margins.self_pairs])

        def of_pair(index: Any) -> Any:
            return margin if table is None else total(take(table, index))

        def near(state: Any, a: SolidRow, b: SolidRow, index: Any) -> Any:
            return and_(lt(state, 0.5), _boxes_are_near(a, b, of_pair(index)))

        def check(state: Any, a: SolidRow, b: SolidRow, index: Any) -> tuple[Any, list[Any]]:
            is_near = near(state, a, b, index)
            return cond(is_near, lambda: touch(a.solid, b.solid, of_pair(index)), lambda: state), []

        return over_many_pairs(check, near, state, placed, pairs, going=lambda state: lt(state, 0.5))
    for members in by_kinds(placed, pairs).values():
        for first in range(0, len(members), _BLOCK):
            block = []
            for index, a, b in members[first : first + _BLOCK]:
                x = margin if margins is None else total(margins.self_pairs[index])
                block.append(_Candidate(a, b, x, _boxes_are_near(a.row, b.row, x)))
            state = _any_of(state, block, touch, each=margins is not None)
    return state


class PairMargins(NamedTuple):
    """Margins of single pairs [m]: the robot's own (pairs,), and by kind of obstacle (capacity, shapes)."""

    self_pairs: Sequence[Any]
    scene: Mapping[SolidKind, Any]


class _Candidate(NamedTuple):
    """Pair that may touch, with its margin, and True if its bounding volumes are near.

    b is None if the caller knows the second solid.
    """

    a: PlacedShape
    b: PlacedShape | None
    margin: Any
    near: Any


def _any_of(
    state: Any,
    candidates: Sequence[_Candidate],
    touch: Callable[[Solid, Any, Any], Any],
    exists: Any = 1.0,
    *,
    each: bool = False,
) -> Any:
    """Return 1 if ``state`` is 1 or if one of the candidates that are near touches, else 0.

    ``each`` means that each candidate has its own margin.  ``exists`` is 0 if the obstacle does not exist.
    """
    # masks are stored as numbers; comparisons would be evaluated again
    marks = [where(c.near, 1.0, 0.0) for c in candidates]
    first = 2 if each else 1  # index of the first value of a solid

    def closely() -> Any:
        result = state
        by_kind: dict[tuple[SolidKind, ...], list[list[Any]]] = {}
        for pair, mark in zip(candidates, marks, strict=True):
            both = [pair.a] if pair.b is None else [pair.a, pair.b]
            values = [x for shape in both for x in shape.values]
            margins = [pair.margin] if each else []
            by_kind.setdefault(tuple(shape.kind for shape in both), []).append([mark, *margins, *values])
        for kinds, rows in by_kind.items():

            def step(result: Any, row: Any, kinds: tuple[SolidKind, ...] = kinds) -> tuple[Any, None]:
                every = listed(row)
                mark, margin, values = every[0], every[1] if each else candidates[0].margin, every[first:]
                a = kinds[0].solid(values[: kinds[0].size]).solid
                b = kinds[1].solid(values[kinds[0].size :]).solid if len(kinds) > 1 else None
                return cond(lt(result + 0.5, mark), lambda: touch(a, b, margin), lambda: result), None

            if len(rows) > FEW and all(kind.in_loops for kind in kinds):
                result, _ = scan(step, result, np.array(rows, dtype=object))
                continue
            for row in rows:
                result, _ = step(result, row)
        return result

    check = and_(lt(state, 0.5), lt(0.5, sum(marks, start=0.0)))
    return cond(check if isinstance(exists, float) else and_(lt(0.0, exists), check), closely, lambda: state)


def spheres_are_near(a: SolidRow, b: SolidRow, distance: Any) -> Any:
    """Return True if two solids may be nearer than a distance, by their bounding spheres."""
    between, far = b.anchor - a.anchor, distance + a.reach + b.reach
    return and_(le(0.0, far), le(between.dot(between), far * far))


def _boxes_are_near(a: SolidRow, b: SolidRow, distance: Any, *, depths: bool = False) -> Any:
    """Return True if two solids may be nearer than a distance, by their bounding boxes or spheres."""
    half_a, half_b = _half_sides(a), _half_sides(b)
    if half_a is None or half_b is None:
        return spheres_are_near(a, b, distance)
    result: Any = True
    for x, side_a, side_b in zip(b.anchor - a.anchor, half_a, half_b, strict=True):
        within = (side_b + distance) + side_a
        result = and_(result, le(fabs(x), fmax(within, 0.0) if depths else within))
    return result


def _half_sides(a: SolidRow) -> Vec3 | None:
    """Return the half sides of an axis-aligned box about a solid's anchor; None for an unbounded solid or a field."""
    core = a.solid.core
    extents = EXTENTS.get(type(core))
    if extents is not None:
        return extents(core) + Vec3(*[a.solid.radius] * 3)
    return None if type(core) in (HalfSpaceCore, FieldCore) else Vec3(*[a.reach] * 3)
