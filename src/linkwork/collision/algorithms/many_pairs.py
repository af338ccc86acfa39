"""Loops over very many pairs of a robot's own shapes: code and data grow with the shapes, not with the pairs.

The shapes of a kind are a table with a row for each.  Pairs are runs: a shape with those that stand side by side in the
table of the other kind.  A loop goes over runs, and within a run over rows, so a robot of n links needs n rows and some
n runs for its n²/2 pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.collision.algorithms.shape_placement import PlacedShape, by_kind
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond, scan, take, while_loop
from linkwork.expr.scalar.functions import fmin, lt, or_
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree

__all__ = ["BodyRows", "are_many", "forks_from", "over_many_pairs"]

Scalars = Sequence[Any]

_MANY = 1000  # own pairs beyond which code is not written out for each
_TOGETHER = 8  # pairs that are left out at a time


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
                for k in range(_TOGETHER):
                    at = fmin(begin + float(k), stop - 1.0)
                    a, b, *more = between(at)
                    close = or_(close, near(inner, a, b, place + (at - first), *more))
                end = fmin(begin + float(_TOGETHER), stop)

                def pair(at: tuple[Any, Any]) -> tuple[Any, Any]:
                    k, inner = at
                    a, b, *more = between(k)
                    return k + 1.0, step(inner, a, b, place + (k - first), *more)[0]

                def closely() -> Any:
                    return while_loop(lambda at: lt(at[0], end), pair, (begin, inner), max_iterations=_TOGETHER).state[
                        1
                    ]

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
        found = [*take(self.numbers, k)]
        return self.kind.solid(found[: self.kind.size]), found[self.kind.size :]


def _standing(rows: Sequence[Scalars]) -> Any:
    """The rows (n, k) as what a loop gives, which stands in memory row by row: loops read it there."""
    return scan(lambda nothing, row: (nothing, row), (), array([list(row) for row in rows]))[1]


def _by_tables(
    pairs: Iterable[tuple[int, int]], where: dict[int, tuple[SolidKind, int]]
) -> dict[tuple[SolidKind, SolidKind], list[tuple[int, int, int]]]:
    """By kinds: each pair's place and the rows of both."""
    found: dict[tuple[SolidKind, SolidKind], list[tuple[int, int, int]]] = {}
    for place, (i, j) in enumerate(pairs):
        if i in where and j in where:
            (kind_a, a), (kind_b, b) = where[i], where[j]
            found.setdefault((kind_a, kind_b), []).append((place, a, b))
    return found


def _runs(members: Sequence[tuple[int, int, int]], shared: Sequence[int]) -> list[_Run]:
    """Pairs in their order, put together where rows, places and shared bodies go on as they do."""
    found: list[_Run] = []
    for place, a, b in members:
        body = shared[place] if shared else 0
        if found:
            last = found[-1]
            on = last.place + last.stop - last.first
            if (a, b, body, place) == (last.row, last.stop, last.shared, on):
                found[-1] = last._replace(stop=b + 1)
                continue
        found.append(_Run(a, b, b + 1, place, body))
    return found


def _shared_bodies(tree: Tree, shapes: Sequence[PlacedShape], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """By pair the last body that carries both shapes, as a row of a table in which the world is the last."""
    known: dict[int, list[int]] = {}
    found = []
    for i, j in pairs:
        one, other = shapes[i].body, shapes[j].body
        if one not in known:
            known[one] = forks_from(tree, one)
        shared = WORLD if other == WORLD else known[one][other]
        found.append(len(tree.bodies) if shared == WORLD else shared)
    return found


def forks_from(tree: Tree, body: int) -> list[int]:
    """By body the last one that carries both it and this body, or WORLD."""
    path = set()
    at = body
    while at != WORLD:
        path.add(at)
        at = tree.bodies[at].parent
    found = [WORLD] * len(tree.bodies)
    for i, parent, _ in tree.outward():
        found[i] = i if i in path else (WORLD if parent == WORLD else found[parent])
    return found
