"""Going over all pairs: of the robot's shapes with each other, and of its shapes with a scene's obstacles.

A step gets two rows, and what is carried along.  Few pairs are written out; of many there is a loop over rows, one for
each pair of kinds, so that code stays as small as there are kinds, however many obstacles there are.  A pair that
nothing can come of is left out where all samples side by side agree: by steps themselves, and, where `near` tells,
some at a time, so that not every pair waits for what came of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.collision.algorithms.shape_placement import PlacedShape, by_kind, by_kinds
from linkwork.expr.arrays.symbol_array import scalars
from linkwork.expr.control import cond, scan
from linkwork.expr.scalar.functions import or_
from linkwork.geometry.pairs.pair_dispatch import is_closed_form
from linkwork.geometry.solids import SolidKind

__all__ = ["FEW", "listed", "over_own_pairs", "over_scene"]

Scalars = Sequence[Any]
SceneRows = Mapping[SolidKind, Any]
"""By kind: rows (capacity, size) of obstacles."""

Step = Callable[..., tuple[Any, list[Any]]]
"""(state, a, b, place, *extra) to the next state and a pair's numbers; its place is among pairs, or in the scene."""

Near = Callable[..., Any]
"""(state, a, b, *extra) to whether a step with them may change the state: then it may be done twice, too."""

_TOGETHER = (6, 4)  # pairs that are left out at a time, where that divides how many there are
FEW = 3  # up to so many pairs of two kinds are written out, where that takes no loop


def over_own_pairs(
    step: Step,
    state: Any,
    shapes: Sequence[PlacedShape],
    pairs: Sequence[tuple[int, int]],
    extra: Sequence[Scalars] | None = None,
) -> tuple[Any, list[list[Any]]]:
    """A step for each pair of the robot's own shapes: the last state, and numbers by pair.

    Each pair's ``extra`` numbers come to the step as one more argument.
    """
    found: list[list[Any]] = [[] for _ in pairs]
    for (kind_a, kind_b), members in by_kinds(shapes, pairs).items():
        looped = kind_a.in_loops and kind_b.in_loops
        if not looped or len(members) <= (FEW if is_closed_form(kind_a.core, kind_b.core) else 1):
            for place, a, b in members:
                more = [] if extra is None else [list(extra[place])]
                state, found[place] = step(state, a.padded, b.padded, float(place), *more)
            continue

        def read(row: Any, kind_a: SolidKind = kind_a, kind_b: SolidKind = kind_b) -> tuple[Any, ...]:
            numbers, both = listed(row), kind_a.size + kind_b.size
            a, b = kind_a.solid(numbers[: kind_a.size]), kind_b.solid(numbers[kind_a.size : both])
            return (a, b) if extra is None else (a, b, numbers[both:])

        rows = np.array(
            [[*a.numbers, *b.numbers, *(extra[place] if extra is not None else [])] for place, a, b in members],
            dtype=object,
        )
        places = np.array([float(place) for place, _, _ in members])
        state, results = _scanned(step, None, state, read, rows, places)
        if results is not None:
            for (place, _, _), result in zip(members, results, strict=True):
                found[place] = listed(result)
    return state, found


def over_scene(
    step: Step,
    state: Any,
    shapes: Sequence[PlacedShape],
    scene: SceneRows,
    extra: Mapping[int, Scalars] | None = None,
    *,
    each: Mapping[SolidKind, Any] | None = None,
    anew: bool = False,
    near: Near | None = None,
) -> tuple[Any, list[Any], list[list[list[Any]]]]:
    """A step for each of the shapes with each row of a scene, rows of all kinds one after the other.

    The last state; what the state is after each shape, and numbers by shape and row.  Each shape's ``extra`` numbers
    come to the step as one more argument, and after them the pair's number of ``each``: by kind of obstacle, a table
    (capacity, shapes).  ``anew``: each shape begins with the ``state`` as it was given.  Steps with ``near`` give no
    numbers.
    """
    start = state
    column = {shape.index: k for k, shape in enumerate(shapes)}
    after: dict[int, Any] = {}
    found: dict[int, list[list[Any]]] = {shape.index: [] for shape in shapes}
    for kind, members in by_kind(shapes).items() if scene else ():

        def of_shape(
            state: Any, row: Any, own: Mapping[SolidKind, Any], kind: SolidKind = kind
        ) -> tuple[Any, list[Any]]:
            """``own``: the shape's numbers of ``each``, by kind of obstacle (capacity,)."""
            numbers = listed(row)
            a, more = kind.solid(numbers[: kind.size]), [numbers[kind.size :]] if extra is not None else []
            results, first = [], 0
            for kind_b, rows in scene.items():
                pairs_own = own.get(kind_b)

                def read(row: Any, *pair: Any, kind_b: SolidKind = kind_b) -> tuple[Any, ...]:
                    return a, kind_b.solid(listed(row)), *(_with(more, pair) if pair else more)

                places = np.arange(float(first), float(first + len(rows)))
                first += len(rows)
                if not kind_b.in_loops:
                    for k, (place, one_row) in enumerate(zip(places, rows, strict=True)):
                        args = more if pairs_own is None else _with(more, [pairs_own[k]])
                        state, single = step(state, a, kind_b.solid(listed(one_row)), float(place), *args)
                        results += [np.array([single], dtype=object)] if single else []
                    continue
                state, numbers = _scanned(step, near, state, read, rows, places, pairs_own)
                results += [] if numbers is None else [numbers]
            return state, results

        rows = [[*shape.numbers, *(extra[shape.index] if extra is not None else [])] for shape in members]
        tables = {} if each is None else each
        if len(members) == 1 or not kind.in_loops:
            for shape, row in zip(members, rows, strict=True):
                own = {kind_b: table[:, column[shape.index]] for kind_b, table in tables.items()}
                state, results = of_shape(start if anew else state, row, own)
                after[shape.index] = state
                found[shape.index] = [listed(x) for result in results for x in result]
            continue

        kinds = tuple(tables)

        def outer(carried: Any, row: Any, kinds: tuple[SolidKind, ...] = kinds) -> tuple[Any, Any]:
            numbers, *own = row if kinds else (row,)
            following, results = of_shape(start if anew else carried, numbers, dict(zip(kinds, own, strict=True)))
            return () if anew else following, (following, *results)

        rows_of: Any = np.array(rows, dtype=object)
        if kinds:
            columns = [column[shape.index] for shape in members]
            rows_of = (rows_of, *(np.stack([table[:, k] for k in columns]) for table in tables.values()))
        state, (owns, *stacks) = scan(outer, () if anew else state, rows_of)
        for k, shape in enumerate(members):
            after[shape.index] = tuple(part[k] for part in owns)
            found[shape.index] = [listed(x) for stack in stacks for x in stack[k]]
    return state, [after.get(shape.index, start) for shape in shapes], [found[shape.index] for shape in shapes]


def listed(row: Any) -> list[Any]:
    """The numbers of an array of one dimension."""
    return row if isinstance(row, list) else scalars(row).ravel().tolist()


def _together(count: int) -> int:
    """How many of so many pairs are left out at a time."""
    if count <= 2 * _TOGETHER[-1]:
        return _TOGETHER[-1] // 2
    return next((some for some in _TOGETHER if count % some == 0), _TOGETHER[-1])


def _with(more: list[Any], pair: Sequence[Any]) -> list[Any]:
    """Extra numbers of a shape, if there are any, and one of its pair after them."""
    return [[*more[0], *pair] if more else [*pair]]


def _scanned(
    step: Step,
    near: Near | None,
    state: Any,
    read: Callable[..., tuple[Any, ...]],
    rows: Any,
    places: Any,
    each: Any = None,
) -> tuple[Any, Any]:
    """A step for each row, which ``read`` makes two solids of, and what comes with them; of ``each`` it gets one."""
    own = () if each is None else (each,)

    def one(carried: Any, row: Any) -> tuple[Any, Any]:
        numbers, place, *pair = row
        a, b, *more = read(numbers, *pair)
        following, found = step(carried, a, b, place, *more)
        return following, _stacked(found)

    count, size = np.shape(rows)
    some = _together(count)
    if near is None or count % some:
        return scan(one, state, (rows, places, *own))

    def block(carried: Any, part: Any) -> tuple[Any, Any]:
        close: Any = False
        for row, *pair in zip(part[0], *part[2:], strict=True):
            a, b, *more = read(row, *pair)
            close = or_(close, near(carried, a, b, *more))
        return cond(close, lambda: scan(one, carried, part)[0], lambda: carried), None

    blocks = [np.reshape(x, (-1, some)) for x in (places, *own)]
    return scan(block, state, (np.reshape(rows, (-1, some, size)), *blocks))


def _stacked(numbers: list[Any]) -> Any:
    return np.array(numbers, dtype=object) if numbers else None
