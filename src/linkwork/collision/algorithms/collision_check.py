"""Whether anything of a robot touches: yes or no, for a small part of what distances take.

Nearly all pairs are far apart, so what is asked first of each is little: whether the spheres about two of the robot's
shapes meet, and whether the sphere about a shape meets an obstacle as it is, since a table fills little of a sphere of
its own.  These questions are written out for many pairs, and one choice skips all of them where all samples side by
side agree that none is near; what is left, a pair or two, is looked at closely.  Very many own pairs are gone over by
loops (`pair_loops`).
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
from linkwork.geometry.cores import FieldCore, HalfSpaceCore, Solid
from linkwork.geometry.pairs import distance_once, within_called
from linkwork.geometry.separation_bounds import EXTENTS
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["PairMargins", "in_collision", "spheres_are_near"]

Scalars = Sequence[Any]

_TOGETHER = 8  # own pairs that are left out at a time


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
    """1 where some pair is no farther apart than a margin [m], else 0: nothing more is measured once that is known.

    A margin below 0 needs ``depths``.  ``margins`` are of each pair, and added to the one of all; ``alone``: those that
    are below 0 stand for themselves.
    """
    placed = placed_shapes(tree, q)
    hands_first = [placed[k] for k in reversed(shapes)]  # they meet more

    def whole(own: Any) -> Any:
        """A pair's margin."""
        return where(lt(own, 0.0), own, own + margin) if alone else own + margin

    def touch(a: Solid, b: Solid, margin: Any) -> Any:
        if depths and margins is not None:  # few of the pairs may overlap
            return cond(
                lt(margin, 0.0),
                lambda: where(le(distance_once(a, b), margin), 1.0, 0.0),
                lambda: where(within_called(a, b, margin), 1.0, 0.0),
            )
        result = le(distance_once(a, b), margin) if depths else within_called(a, b, margin)
        return where(result, 1.0, 0.0)

    def with_obstacle(state: Any, kind: SolidKind, row: Any, own: Any = None) -> Any:
        b = kind.solid(listed(row))
        of = [margin] * len(shapes) if own is None else [whole(x) for x in listed(own)[::-1]]
        asked = [
            _Near(one, None, x, _near_to(b, x, depths=depths)(one.row)) for one, x in zip(hands_first, of, strict=True)
        ]
        return _any_of(state, asked, lambda a, _, own: touch(a, b.solid, own), b.there, each=margins is not None)

    state: Any = 0.0
    for kind, rows in scene.items() if hands_first else ():
        own = () if margins is None else (margins.scene[kind],)
        if not kind.in_loops:
            for row in zip(rows, *own, strict=True):
                state = with_obstacle(state, kind, *row)
            continue

        def step(state: Any, row: Any, kind: SolidKind = kind) -> tuple[Any, None]:
            return with_obstacle(state, kind, *row), None

        state, _ = scan(step, state, (rows, *own))
    if are_many(pairs):
        table = None if margins is None else array([*margins.own])

        def of_pair(place: Any) -> Any:
            return margin if table is None else whole(take(table, place))

        def near(state: Any, a: SolidRow, b: SolidRow, place: Any) -> Any:
            return and_(lt(state, 0.5), _boxes_are_near(a, b, of_pair(place)))

        def look(state: Any, a: SolidRow, b: SolidRow, place: Any) -> tuple[Any, list[Any]]:
            touching = near(state, a, b, place)
            return cond(touching, lambda: touch(a.solid, b.solid, of_pair(place)), lambda: state), []

        return over_many_pairs(look, near, state, placed, pairs, going=lambda state: lt(state, 0.5))
    for members in by_kinds(placed, pairs).values():
        for first in range(0, len(members), _TOGETHER):
            some = []
            for place, a, b in members[first : first + _TOGETHER]:
                x = margin if margins is None else whole(margins.own[place])
                some.append(_Near(a, b, x, _boxes_are_near(a.row, b.row, x)))
            state = _any_of(state, some, touch, each=margins is not None)
    return state


class PairMargins(NamedTuple):
    """Margins of pairs [m]: of the robot's own (pairs,), and by kind of obstacle (capacity, shapes)."""

    own: Sequence[Any]
    scene: Mapping[SolidKind, Any]


class _Near(NamedTuple):
    """A pair, whose second solid may be known elsewhere, its margin, and whether it may be near."""

    a: PlacedShape
    b: PlacedShape | None
    margin: Any
    near: Any


def _any_of(
    state: Any,
    asked: Sequence[_Near],
    touch: Callable[[Solid, Any, Any], Any],
    there: Any = 1.0,
    *,
    each: bool = False,
) -> Any:
    """1 where the state is, or where some of the pairs touch of which it is said that they may be near.

    ``each``: they have margins of their own.
    """
    # numbers are kept, where truth values would be found anew
    marks = [where(one.near, 1.0, 0.0) for one in asked]
    first = 2 if each else 1  # of the numbers of solids

    def closely() -> Any:
        result = state
        by_kind: dict[tuple[SolidKind, ...], list[list[Any]]] = {}
        for pair, mark in zip(asked, marks, strict=True):
            both = [pair.a] if pair.b is None else [pair.a, pair.b]
            numbers = [x for one in both for x in one.numbers]
            own = [pair.margin] if each else []
            by_kind.setdefault(tuple(one.kind for one in both), []).append([mark, *own, *numbers])
        for kinds, rows in by_kind.items():

            def step(result: Any, row: Any, kinds: tuple[SolidKind, ...] = kinds) -> tuple[Any, None]:
                every = listed(row)
                mark, margin, numbers = every[0], every[1] if each else asked[0].margin, every[first:]
                a = kinds[0].solid(numbers[: kinds[0].size]).solid
                b = kinds[1].solid(numbers[kinds[0].size :]).solid if len(kinds) > 1 else None
                return cond(lt(result + 0.5, mark), lambda: touch(a, b, margin), lambda: result), None

            if len(rows) > FEW and all(kind.in_loops for kind in kinds):
                result, _ = scan(step, result, np.array(rows, dtype=object))
                continue
            for row in rows:
                result, _ = step(result, row)
        return result

    some = and_(lt(state, 0.5), lt(0.5, sum(marks, start=0.0)))
    return cond(some if isinstance(there, float) else and_(lt(0.0, there), some), closely, lambda: state)


def spheres_are_near(a: SolidRow, b: SolidRow, distance: Any) -> Any:
    """Whether two solids may be nearer than this, by their bounding spheres."""
    between, far = b.anchor - a.anchor, distance + a.reach + b.reach
    return and_(le(0.0, far), le(between.dot(between), far * far))


def _near_to(b: SolidRow, distance: Any, *, depths: bool) -> Callable[[SolidRow], Any]:
    """The same of an obstacle."""
    return lambda a: _boxes_are_near(a, b, distance, depths=depths)


def _boxes_are_near(a: SolidRow, b: SolidRow, distance: Any, *, depths: bool = False) -> Any:
    """Whether two solids may be nearer than this, by boxes about both along the world's axes, where they are known."""
    own, other = _half_sides(a), _half_sides(b)
    if own is None or other is None:
        return spheres_are_near(a, b, distance)
    result: Any = True
    for x, here, there in zip(b.anchor - a.anchor, own, other, strict=True):
        within = (there + distance) + here
        result = and_(result, le(fabs(x), fmax(within, 0.0) if depths else within))
    return result


def _half_sides(a: SolidRow) -> Vec3 | None:
    """Of a box along the world's axes about a solid's anchor; nothing where it has no end."""
    core = a.solid.core
    extents = EXTENTS.get(type(core))
    if extents is not None:
        return extents(core) + Vec3(*[a.solid.radius] * 3)
    return None if type(core) in (HalfSpaceCore, FieldCore) else Vec3(*[a.reach] * 3)
