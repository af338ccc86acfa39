"""Loops over pairs of shapes: of the robot's own shapes, and of its shapes with a scene's obstacles.

Each step of a loop receives two table rows and the carried values.  Few pairs are unrolled.  Otherwise there is one
loop over rows for each pair of shape kinds, so the code grows with the number of kinds and not with the number of
obstacles.  A pair that cannot change the result is skipped when all samples of a SIMD vector agree: inside the step,
and, with `near`, for several pairs at a time, so that no pair waits for the result of the previous one.

Very many pairs of a robot's own shapes (`over_many_pairs`) are stored as runs: a shape and a range of rows in the table
of the other kind.  An outer loop iterates over runs, an inner one over rows, so a robot of n links needs n rows and
about n runs for its n²/2 pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.collision.algorithms.shape_placement import PlacedShape, by_kind, by_kinds
from linkwork.expr.arrays.symbol_array import array, object_array, scalars
from linkwork.expr.control import cond, scan, take, while_loop
from linkwork.expr.scalar.functions import fmin, lt, or_
from linkwork.geometry.pairs.pair_dispatch import is_closed_form
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree

__all__ = [
    "FEW",
    "BodyRows",
    "are_many",
    "listed",
    "over_many_pairs",
    "over_own_pairs",
    "over_scene",
    "shared_ancestors",
]


Scalars = Sequence[Any]
SceneRows = Mapping[SolidKind, Any]
"""Rows (capacity, size) of obstacles by kind."""
Step = Callable[..., tuple[Any, list[Any]]]
"""Function of (state, a, b, index, *extra) that returns the next state and a pair's values.

The index is that of the pair, or of the scene's row.
"""
Near = Callable[..., Any]
"""Function of (state, a, b, *extra) that returns True if a step may change the state; steps must be idempotent."""
_BLOCK_SIZES = (6, 4)  # pairs that are skipped together, if that divides their number
FEW = 3  # maximum number of pairs of two kinds with closed forms that are unrolled


def over_own_pairs(
    step: Step,
    state: Any,
    shapes: Sequence[PlacedShape],
    pairs: Sequence[tuple[int, int]],
    extra: Sequence[Scalars] | None = None,
) -> tuple[Any, list[list[Any]]]:
    """Run a step for each pair of the robot's own shapes and return the last state and the values of each pair.

    The step receives the pair's ``extra`` values as one more argument.
    """
    values: list[list[Any]] = [[] for _ in pairs]
    for (kind_a, kind_b), members in by_kinds(shapes, pairs).items():
        looped = kind_a.in_loops and kind_b.in_loops
        if not looped or len(members) <= (FEW if is_closed_form(kind_a.core, kind_b.core) else 1):
            for index, a, b in members:
                more = [] if extra is None else [list(extra[index])]
                state, values[index] = step(state, a.padded, b.padded, float(index), *more)
            continue

        def read(row: Any, kind_a: SolidKind = kind_a, kind_b: SolidKind = kind_b) -> tuple[Any, ...]:
            elements, both = listed(row), kind_a.size + kind_b.size
            a, b = kind_a.solid(elements[: kind_a.size]), kind_b.solid(elements[kind_a.size : both])
            return (a, b) if extra is None else (a, b, elements[both:])

        rows = np.array(
            [[*a.values, *b.values, *(extra[index] if extra is not None else [])] for index, a, b in members],
            dtype=object,
        )
        indices = np.array([float(index) for index, _, _ in members])
        state, results = _scan_rows(step, None, state, read, rows, indices)
        if results is not None:
            for (index, _, _), result in zip(members, results, strict=True):
                values[index] = listed(result)
    return state, values


def over_scene(
    step: Step,
    state: Any,
    shapes: Sequence[PlacedShape],
    scene: SceneRows,
    extra: Mapping[int, Scalars] | None = None,
    *,
    each: Mapping[SolidKind, Any] | None = None,
    restart: bool = False,
    near: Near | None = None,
) -> tuple[Any, list[Any], list[list[list[Any]]]]:
    """Run a step for each pair of a shape and an obstacle, with the obstacles of all kinds one after the other.

    Returns the last state, the state after each shape, and the values by shape and obstacle. The arguments of a step
    end with a list of further values, if there are any: the shape's values in ``extra``, then the pair's value in
    ``each``. ``each`` has a table (capacity, shapes) for each kind of obstacle. With ``restart`` each shape starts
    from the initial ``state``. Steps with ``near`` return no values.
    """
    start = state
    column = {shape.index: k for k, shape in enumerate(shapes)}
    after: dict[int, Any] = {}
    values: dict[int, list[list[Any]]] = {shape.index: [] for shape in shapes}
    for kind, members in by_kind(shapes).items() if scene else ():

        def of_shape(
            state: Any, row: Any, columns: Mapping[SolidKind, Any], kind: SolidKind = kind
        ) -> tuple[Any, list[Any]]:
            """Run the steps of one shape with all obstacles; ``columns`` has its column of each table in ``each``."""
            elements = listed(row)
            a, more = kind.solid(elements[: kind.size]), [elements[kind.size :]] if extra is not None else []
            results, first = [], 0
            for kind_b, rows in scene.items():
                pairs_own = columns.get(kind_b)

                def read(row: Any, *pair: Any, kind_b: SolidKind = kind_b) -> tuple[Any, ...]:
                    return a, kind_b.solid(listed(row)), *(_with(more, pair) if pair else more)

                indices = np.arange(float(first), float(first + len(rows)))
                first += len(rows)
                if not kind_b.in_loops:
                    for k, (index, one_row) in enumerate(zip(indices, rows, strict=True)):
                        args = more if pairs_own is None else _with(more, [pairs_own[k]])
                        state, single = step(state, a, kind_b.solid(listed(one_row)), float(index), *args)
                        results += [np.array([single], dtype=object)] if single else []
                    continue
                state, outputs = _scan_rows(step, near, state, read, rows, indices, pairs_own)
                results += [] if outputs is None else [outputs]
            return state, results

        rows = [[*shape.values, *(extra[shape.index] if extra is not None else [])] for shape in members]
        tables = {} if each is None else each
        if len(members) == 1 or not kind.in_loops:
            for shape, row in zip(members, rows, strict=True):
                shape_columns = {kind_b: table[:, column[shape.index]] for kind_b, table in tables.items()}
                state, results = of_shape(start if restart else state, row, shape_columns)
                after[shape.index] = state
                values[shape.index] = [listed(x) for result in results for x in result]
            continue

        kinds = tuple(tables)

        def outer(carried: Any, row: Any, kinds: tuple[SolidKind, ...] = kinds) -> tuple[Any, Any]:
            elements, *columns = row if kinds else (row,)
            following, results = of_shape(
                start if restart else carried, elements, dict(zip(kinds, columns, strict=True))
            )
            return () if restart else following, (following, *results)

        rows_of: Any = np.array(rows, dtype=object)
        if kinds:
            columns = [column[shape.index] for shape in members]
            rows_of = (rows_of, *(np.stack([table[:, k] for k in columns]) for table in tables.values()))
        state, (owns, *stacks) = scan(outer, () if restart else state, rows_of)
        for k, shape in enumerate(members):
            after[shape.index] = tuple(part[k] for part in owns)
            values[shape.index] = [listed(x) for stack in stacks for x in stack[k]]
    return state, [after.get(shape.index, start) for shape in shapes], [values[shape.index] for shape in shapes]


def listed(row: Any) -> list[Any]:
    """Return the elements of a one-dimensional array as a list."""
    return row if isinstance(row, list) else scalars(row).ravel().tolist()


def _block_size(count: int) -> int:
    """Return the size of the blocks in which a loop over ``count`` pairs skips pairs."""
    if count <= 2 * _BLOCK_SIZES[-1]:
        return _BLOCK_SIZES[-1] // 2
    return next((size for size in _BLOCK_SIZES if count % size == 0), _BLOCK_SIZES[-1])


def _with(more: list[Any], pair: Sequence[Any]) -> list[Any]:
    """Return [values of a shape, followed by ``pair``]: the list that a step receives as its last argument.

    ``more`` is [values of the shape], or []. ``pair`` are values of the shape's pair with an obstacle: [margin].
    """
    return [[*more[0], *pair] if more else [*pair]]


def _scan_rows(
    step: Step,
    near: Near | None,
    state: Any,
    read: Callable[..., tuple[Any, ...]],
    rows: Any,
    indices: Any,
    each: Any = None,
) -> tuple[Any, Any]:
    """Return the state after a step for each row of a table, and the values of all steps.

    ``read`` converts a row and its entry of ``each`` to two solids and extra values.
    """
    tables = () if each is None else (each,)

    def one(carried: Any, row: Any) -> tuple[Any, Any]:
        elements, index, *pair = row
        a, b, *more = read(elements, *pair)
        following, result = step(carried, a, b, index, *more)
        return following, object_array((len(result),), result) if result else None

    count, size = np.shape(rows)
    length = _block_size(count)
    if near is None or count % length:
        return scan(one, state, (rows, indices, *tables))

    def block(carried: Any, members: Any) -> tuple[Any, Any]:
        close: Any = False
        for row, *pair in zip(members[0], *members[2:], strict=True):
            a, b, *more = read(row, *pair)
            close = or_(close, near(carried, a, b, *more))
        return cond(close, lambda: scan(one, carried, members)[0], lambda: carried), None

    blocks = [np.reshape(x, (-1, length)) for x in (indices, *tables)]
    return scan(block, state, (np.reshape(rows, (-1, length, size)), *blocks))


_MANY = 1000  # own pairs above which loops are used
_MANY_TOGETHER = 8  # of very many pairs, that are skipped together


class BodyRows(NamedTuple):
    """Values of each shape and of each body (the world's last), from which a pair's extra values are computed.

    ``between`` computes the extra values of a step from those of both shapes and of the last body that carries both.
    """

    tree: Tree
    of_shape: Sequence[Scalars]
    of_body: Sequence[Scalars]
    between: Callable[[Scalars, Scalars, Scalars], Scalars]


def are_many(pairs: Sequence[tuple[int, int]]) -> bool:
    """Return True if a robot's own pairs are so many that loops iterate over them."""
    return len(pairs) > _MANY


class _Run(NamedTuple):
    """Consecutive pairs of one shape with the rows ``first`` <= k < ``stop`` of a table of shapes.

    ``row`` is the shape's own row, and ``pair`` the index of the first pair.
    """

    row: int
    first: int
    stop: int
    pair: int
    shared: int  # body

    @property
    def elements(self) -> list[float]:
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
    """Return the state after a step for each of very many pairs.

    A step takes (state, a, b, index, *values between) and returns no values.  ``near``, with the same arguments,
    returns True if a step may change the state; it is evaluated for several pairs together.  ``going`` (state) returns
    False if no further step can change it.
    """
    alike = {kind: members for kind, members in by_kind(shapes).items() if kind.in_loops}
    tables = {kind: _Table.of(members, rows) for kind, members in alike.items()}
    bodies = None if rows is None else _materialized(rows.of_body)
    where = {shape.index: (kind, k) for kind, members in alike.items() for k, shape in enumerate(members)}
    shared = [] if rows is None else _shared_bodies(rows.tree, shapes, pairs)
    for index, (i, j) in enumerate(pairs):
        if i not in where or j not in where:
            more = (
                [] if rows is None else [rows.between(rows.of_shape[i], rows.of_shape[j], rows.of_body[shared[index]])]
            )
            state = step(state, shapes[i].padded, shapes[j].padded, float(index), *more)[0]
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
            row, first, stop, index, shared = (run[k] for k in range(5))
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
                    close = or_(close, near(inner, a, b, index + (at - first), *more))
                end = fmin(begin + float(_MANY_TOGETHER), stop)

                def pair(at: tuple[Any, Any]) -> tuple[Any, Any]:
                    k, inner = at
                    a, b, *more = between(k)
                    return k + 1.0, step(inner, a, b, index + (k - first), *more)[0]

                def closely() -> Any:
                    return while_loop(
                        lambda at: lt(at[0], end), pair, (begin, inner), max_iterations=_MANY_TOGETHER
                    ).state[1]

                return end, cond(close, closely, lambda: inner)

            def through() -> Any:
                return while_loop(lambda at: lt(at[0], stop), block, (first, state), max_iterations=longest).state[1]

            return (through() if going is None else cond(going(state), through, lambda: state)), None

        state, _ = scan(run_through, state, np.array([run.elements for run in runs]))
    return state


class _Table(NamedTuple):
    """Table of the shapes of a kind, with the extra values of each."""

    kind: SolidKind
    rows: Any

    @staticmethod
    def of(members: Sequence[PlacedShape], rows: BodyRows | None) -> _Table:
        more: Callable[[int], Scalars] = (lambda _: []) if rows is None else rows.of_shape.__getitem__
        return _Table(members[0].kind, _materialized([[*shape.values, *more(shape.index)] for shape in members]))

    def row(self, k: Any) -> tuple[SolidRow, list[Any]]:
        result = [*take(self.rows, k)]
        return self.kind.solid(result[: self.kind.size]), result[self.kind.size :]


def _materialized(rows: Sequence[Scalars]) -> Any:
    """Return rows (n, k) as an array that is stored in memory, where loops can index its rows."""
    return scan(lambda empty, row: (empty, row), (), array([list(row) for row in rows]))[1]


def _by_tables(
    pairs: Iterable[tuple[int, int]], where: dict[int, tuple[SolidKind, int]]
) -> dict[tuple[SolidKind, SolidKind], list[tuple[int, int, int]]]:
    """Group pairs by the kinds of their shapes; an entry is a pair's index and the table rows of both shapes."""
    result: dict[tuple[SolidKind, SolidKind], list[tuple[int, int, int]]] = {}
    for index, (i, j) in enumerate(pairs):
        if i in where and j in where:
            (kind_a, a), (kind_b, b) = where[i], where[j]
            result.setdefault((kind_a, kind_b), []).append((index, a, b))
    return result


def _runs(members: Sequence[tuple[int, int, int]], shared: Sequence[int]) -> list[_Run]:
    """Return runs of successive pairs of the same first shape and shared body, with consecutive rows and indices."""
    result: list[_Run] = []
    for index, a, b in members:
        body = shared[index] if shared else 0
        if result:
            last = result[-1]
            following = last.pair + last.stop - last.first
            if (a, b, body, index) == (last.row, last.stop, last.shared, following):
                result[-1] = last._replace(stop=b + 1)
                continue
        result.append(_Run(a, b, b + 1, index, body))
    return result


def _shared_bodies(tree: Tree, shapes: Sequence[PlacedShape], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the table row of the last common ancestor of both shapes of each pair; the world is the last row."""
    known: dict[int, list[int]] = {}
    result = []
    for i, j in pairs:
        a, b = shapes[i].body, shapes[j].body
        if a not in known:
            known[a] = shared_ancestors(tree, a)
        shared = WORLD if b == WORLD else known[a][b]
        result.append(len(tree.bodies) if shared == WORLD else shared)
    return result


def shared_ancestors(tree: Tree, body: int) -> list[int]:
    """Return the last common ancestor of ``body`` and each body of the tree; WORLD if they share none."""
    path = set()
    at = body
    while at != WORLD:
        path.add(at)
        at = tree.bodies[at].parent
    result = [WORLD] * len(tree.bodies)
    for i, parent, _ in tree.outward():
        result[i] = i if i in path else (WORLD if parent == WORLD else result[parent])
    return result
