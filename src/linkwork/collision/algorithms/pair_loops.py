"""Loops over pairs of shapes: of the robot's own shapes, and of its shapes with a scene's obstacles.

Each step of a loop receives two table rows and the carried values.  Few pairs are unrolled.  Otherwise there is one
loop over rows for each pair of shape kinds, so the code grows with the number of kinds and not with the number of
obstacles.  A pair that cannot change the result is skipped when all samples of a SIMD vector agree: inside the step,
and, where `near` can tell, for several pairs at a time, so that no pair waits for the result of the one before.

Very many pairs of a robot's own shapes (`over_many_pairs`) are stored as runs: a shape and the shapes that stand side
by side in the table of the other kind.  A loop goes over runs, an inner one over rows, so a robot of n links needs n
rows and about n runs for its n²/2 pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.collision.algorithms.shape_placement import PlacedShape, by_kind, by_kinds
from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.expr.control import cond, scan, take, while_loop
from linkwork.expr.scalar.functions import fmin, lt, or_
from linkwork.geometry.pairs.pair_dispatch import is_closed_form
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree

__all__ = ["FEW", "BodyRows", "are_many", "forks_from", "listed", "over_many_pairs", "over_own_pairs", "over_scene"]


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
        following, result = step(carried, a, b, place, *more)
        return following, _stacked(result)

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


_MANY = 1000  # own pairs beyond which code is not written out for each
_MANY_TOGETHER = 8  # pairs that are left out at a time


class BodyRows(NamedTuple):
    """Numbers that come with shapes and bodies, and what they say of a pair.

    ``of_shape``: by shape; ``of_body``: by body, the world's last.  ``between`` makes the numbers that a step takes of
    those of both shapes and those of the last body that carries both.
    """

    tree: Tree
    of_shape: Sequence[Scalars]
    of_body: Sequence[Scalars]
    between: Callable[[Scalars, Scalars, Scalars], Scalars]


def are_many(pairs: Sequence[tuple[int, int]]) -> bool:
    """Return True for so many own pairs that loops go over them."""
    return len(pairs) > _MANY


class _Run(NamedTuple):
    """Pairs of one shape with the rows from ``first`` to before ``stop`` of a table; the first pair's ``place``."""

    row: int
    first: int
    stop: int
    place: int
    shared: int  # body

    @property
    def numbers(self) -> list[float]:
        return [float(x) for x in self]


def over_many_pairs(
    step: Callable[..., tuple[Any, list[Any]]],
    near: Callable[..., Any],
    state: Any,
    shapes: Sequence[PlacedShape],
    pairs: Sequence[tuple[int, int]],
    rows: BodyRows | None = None,
    *,
    going: Callable[[Any], Any] | None = None,
) -> Any:
    """Return the state after a step (state, a, b, place, *numbers between) for each pair.

    Steps give no numbers.  ``near`` (state, a, b, place, *numbers between): whether a step may change the state; some
    pairs are asked at a time.  ``going``: whether any step may; where none may, runs are left out.
    """
    alike = {kind: members for kind, members in by_kind(shapes).items() if kind.in_loops}
    tables = {kind: _Table.of(members, rows) for kind, members in alike.items()}
    bodies = None if rows is None else _standing(rows.of_body)
    where = {one.index: (kind, k) for kind, members in alike.items() for k, one in enumerate(members)}
    shared = [] if rows is None else _shared_bodies(rows.tree, shapes, pairs)
    for place, (i, j) in enumerate(pairs):
        if i not in where or j not in where:
            more = (
                [] if rows is None else [rows.between(rows.of_shape[i], rows.of_shape[j], rows.of_body[shared[place]])]
            )
            state = step(state, shapes[i].padded, shapes[j].padded, float(place), *more)[0]
    for (kind_a, kind_b), members in _by_tables(pairs, where).items():
        runs = _runs(members, shared)
        a_table, b_table = tables[kind_a], tables[kind_b]
        longest = max(run.stop - run.first for run in runs)

        def run_through(
            state: Any,
            run: Any,
            a_table: _Table = a_table,
            b_table: _Table = b_table,
            longest: int = longest,
        ) -> tuple[Any, None]:
            row, first, stop, place, shared = (run[k] for k in range(5))
            a, of_a = a_table.row(row)
            of_shared = [] if bodies is None else [*take(bodies, shared)]

            def between(k: Any) -> tuple[Any, ...]:
                b, of_b = b_table.row(k)
                return (a, b) if rows is None else (a, b, rows.between(of_a, of_b, of_shared))

            def block(at: tuple[Any, Any]) -> tuple[Any, Any]:
                begin, inner = at
                close: Any = False
                for k in range(_MANY_TOGETHER):
                    at = fmin(begin + float(k), stop - 1.0)
                    a, b, *more = between(at)
                    close = or_(close, near(inner, a, b, place + (at - first), *more))
                end = fmin(begin + float(_MANY_TOGETHER), stop)

                def pair(at: tuple[Any, Any]) -> tuple[Any, Any]:
                    k, inner = at
                    a, b, *more = between(k)
                    return k + 1.0, step(inner, a, b, place + (k - first), *more)[0]

                def closely() -> Any:
                    return while_loop(
                        lambda at: lt(at[0], end), pair, (begin, inner), max_iterations=_MANY_TOGETHER
                    ).state[1]

                return end, cond(close, closely, lambda: inner)

            def through() -> Any:
                return while_loop(lambda at: lt(at[0], stop), block, (first, state), max_iterations=longest).state[1]

            return (through() if going is None else cond(going(state), through, lambda: state)), None

        state, _ = scan(run_through, state, np.array([run.numbers for run in runs]))
    return state


class _Table(NamedTuple):
    """The shapes of a kind, with the numbers that come with each."""

    kind: SolidKind
    numbers: Any

    @staticmethod
    def of(members: Sequence[PlacedShape], rows: BodyRows | None) -> _Table:
        more: Callable[[int], Scalars] = (lambda _: []) if rows is None else rows.of_shape.__getitem__
        return _Table(members[0].kind, _standing([[*one.numbers, *more(one.index)] for one in members]))

    def row(self, k: Any) -> tuple[SolidRow, list[Any]]:
        result = [*take(self.numbers, k)]
        return self.kind.solid(result[: self.kind.size]), result[self.kind.size :]


def _standing(rows: Sequence[Scalars]) -> Any:
    """The rows (n, k) as what a loop gives, which stands in memory row by row: loops read it there."""
    return scan(lambda nothing, row: (nothing, row), (), array([list(row) for row in rows]))[1]


def _by_tables(
    pairs: Iterable[tuple[int, int]], where: dict[int, tuple[SolidKind, int]]
) -> dict[tuple[SolidKind, SolidKind], list[tuple[int, int, int]]]:
    """By kinds: each pair's place and the rows of both."""
    result: dict[tuple[SolidKind, SolidKind], list[tuple[int, int, int]]] = {}
    for place, (i, j) in enumerate(pairs):
        if i in where and j in where:
            (kind_a, a), (kind_b, b) = where[i], where[j]
            result.setdefault((kind_a, kind_b), []).append((place, a, b))
    return result


def _runs(members: Sequence[tuple[int, int, int]], shared: Sequence[int]) -> list[_Run]:
    """Pairs in their order, put together where rows, places and shared bodies go on as they do."""
    result: list[_Run] = []
    for place, a, b in members:
        body = shared[place] if shared else 0
        if result:
            last = result[-1]
            on = last.place + last.stop - last.first
            if (a, b, body, place) == (last.row, last.stop, last.shared, on):
                result[-1] = last._replace(stop=b + 1)
                continue
        result.append(_Run(a, b, b + 1, place, body))
    return result


def _shared_bodies(tree: Tree, shapes: Sequence[PlacedShape], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """By pair the last body that carries both shapes, as a row of a table in which the world is the last."""
    known: dict[int, list[int]] = {}
    result = []
    for i, j in pairs:
        one, other = shapes[i].body, shapes[j].body
        if one not in known:
            known[one] = forks_from(tree, one)
        shared = WORLD if other == WORLD else known[one][other]
        result.append(len(tree.bodies) if shared == WORLD else shared)
    return result


def forks_from(tree: Tree, body: int) -> list[int]:
    """By body the last one that carries both it and this body, or WORLD."""
    path = set()
    at = body
    while at != WORLD:
        path.add(at)
        at = tree.bodies[at].parent
    result = [WORLD] * len(tree.bodies)
    for i, parent, _ in tree.outward():
        result[i] = i if i in path else (WORLD if parent == WORLD else result[parent])
    return result
