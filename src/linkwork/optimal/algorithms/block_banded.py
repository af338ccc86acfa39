"""Block-banded symmetric equations with a border, by elimination of one step after the other.

A window adds a dense matrix over the columns of its own steps and of the border.  So a *front*, the matrix over the
newest steps alone, is all that has to be carried: window t is added, and step t − m, to which no later window adds, is
eliminated from it,

    F = (F₁₁ Wᵀ; W F₂₂),    F₁₁ = L Lᵀ,    Y = L⁻¹ Wᵀ,    F₂₂ − Yᵀ Y goes on.

After the last window m more steps are eliminated without one.  Then the border is solved, and steps follow backward.

Source: Duff, Erisman and Reid, Direct Methods for Sparse Matrices, 2nd ed., 2017, chapter 11 (frontal methods).

The equations of `banded`, of steps with many unknowns: fronts are eliminated in loops, not written out.

What is written out grows as the third power of a step's columns, and each number of a window's rows would be multiplied
with each other by an instruction of its own.  Here a front stands in memory, from the oldest step on, and so do rows of
least squares that windows add to it (`expr/linalg/frontal_elimination.py`).

Source: Duff, Erisman and Reid, Direct Methods for Sparse Matrices, 2nd ed., 2017, chapter 11 (frontal methods).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.control.table_access import put
from linkwork.expr.linalg.frontal_elimination import AddedRow, eliminate_front
from linkwork.expr.linalg.sparse_dot import dot, is_zero, subtract_dot
from linkwork.expr.scalar.functions import and_, lt, sqrt, where

__all__ = [
    "Eliminated",
    "WindowShare",
    "border_solved",
    "eliminated",
    "eliminated_wide",
    "substituted",
    "substituted_wide",
]


Scalars = Sequence[Any]
LEAST = 1e-15  # of what a pivot was before: below it there is none


class WindowShare(NamedTuple):
    """What a window adds to the equations: by column, those of step t, of t − 1, ... and of the border."""

    blocks: Mapping[tuple[int, int], Any]  # of the lower triangle
    sides: Mapping[int, Any]
    rows: Sequence[tuple[Mapping[int, Any], Any, Any]] = ()  # j, c and f, which add c j jᵀ and f j
    stretch: Any = 1.0  # the diagonal of c j jᵀ is times this


class Eliminated(NamedTuple):
    """All steps eliminated: what substitution needs of each, and what is left of the border."""

    steps: tuple[Any, ...]  # (T + m, ...) each: L (1/diagonal) (triangle), Y (width, m·width + border), y (width)
    border: list[list[Any]]  # lower triangle, of rows
    rest: list[Any]  # its right-hand side
    positive: Any
    drop: Any  # the sum of the squares of y


def eliminated(
    width: int,
    depth: int,
    many: int,
    windows: int,
    added: Callable[[Any], WindowShare],
    inputs: Any,
    least: Any,
) -> Eliminated:
    """Forward elimination.

    ``added(input)`` is what a window adds, without rows.  ``inputs`` have a row for each of the windows, and ``depth``
    more which add nothing are made here of the last.  ``least`` is added to every diagonal.
    """
    block, size = depth * width, depth * width + many  # what is carried, and with the border
    triangle = [(i, j) for i in range(size) for j in range(i + 1)]
    # the state is of the steps before, newest first, then of the border
    started = (array([0.0] * len(triangle)), array([0.0] * size), 1.0, 0.0)

    def step(state: Any, window: Any) -> tuple[Any, Any]:
        carried, right, positive, drop = state
        row, there, real = window
        front = [[0.0] * (i + 1) for i in range(width + size)]
        side: list[Any] = [*[0.0] * width, *right]
        for (i, j), x in zip(triangle, list(carried), strict=True):
            front[width + i][width + j] = x
        for k in range(width):
            front[k][k] = least
        share = added(row)
        for (i, j), x in share.blocks.items():
            front[i][j] = front[i][j] + there * x
        for i, x in share.sides.items():
            side[i] = side[i] + there * x
        # the oldest step: columns depth·width ... + width
        own = range(block, block + width)
        others = [*range(block), *range(block + width, width + size)]

        def at(i: int, j: int) -> Any:
            return front[i][j] if i >= j else front[j][i]

        L, good = _cholesky([[at(i, j) for j in own[: a + 1]] for a, i in enumerate(own)], LEAST)
        columns = []
        for i in others:
            columns.append(_lowered(L, [at(i, j) for j in own]))
        y = _lowered(L, [side[j] for j in own])
        # a step that is none, before the first, is left out
        columns = [[x if is_zero(x) else real * x for x in column] for column in columns]
        y = [real * x for x in y]
        new = [
            [subtract_dot(at(others[i], others[j]), columns[i], columns[j]) for j in range(i + 1)]
            for i in range(len(others))
        ]
        rest = [subtract_dot(side[i], column, y) for i, column in zip(others, columns, strict=True)]
        # what was the newest is now the first of the older: the order is kept
        state = (
            array([x for line in new for x in line]),
            array(rest),
            positive * where(good, 1.0, 1.0 - real),
            drop + dot(y, y),
        )
        outputs = (array([x for line in L for x in line]), array([list(c) for c in columns] or [[]]), array(y))
        return state, outputs

    flags = [1.0] * windows + [0.0] * depth
    real = [0.0] * depth + [1.0] * windows
    last, (L, Y, y) = scan(step, started, (inputs, array(flags), array(real)))
    left, right, positive, drop = last
    # columns of the dummies after the last step are those of nothing: the border is what follows
    full: list[list[Any]] = [[0.0] * (i + 1) for i in range(size)]
    for (i, j), x in zip(triangle, list(left), strict=True):
        full[i][j] = x
    border = [full[block + i][block : block + i + 1] for i in range(many)]
    return Eliminated((L, Y, y), border, list(right)[block:], lt(0.5, positive), drop)


def _cholesky(rows: Sequence[Scalars], least: float) -> tuple[list[list[Any]], Any]:
    """L of L Lᵀ with the inverse of its diagonal on it, and whether all pivots are more than a part of what they were;
    a pivot that is not counts as 1.
    """
    L: list[list[Any]] = []
    good: Any = None
    for i, row in enumerate(rows):
        line: list[Any] = []
        for j in range(i):
            line.append(subtract_dot(row[j], line, L[j][:j]) * L[j][j])
        pivot = subtract_dot(row[i], line, line)
        fine = lt(least * row[i] if least else 0.0, pivot)
        good = fine if good is None else and_(good, fine)
        line.append(1.0 / sqrt(where(fine, pivot, 1.0)))
        L.append(line)
    return L, good


def _lowered(L: Sequence[Scalars], b: Scalars) -> list[Any]:
    """L⁻¹ b, with the inverse of its diagonal on it."""
    rows: list[Any] = []
    for i, x in enumerate(b):
        total = subtract_dot(x, L[i][:i], rows)
        rows.append(0.0 if is_zero(total) else total * L[i][i])
    return rows


def border_solved(border: Sequence[Scalars], rest: Scalars) -> tuple[list[Any], Any]:
    """The border's unknowns, and whether its matrix is positive."""
    L, good = _cholesky(border, 0.0)
    x = _lowered(L, rest)
    for i in reversed(range(len(x))):
        x[i] = subtract_dot(x[i], [L[k][i] for k in range(i + 1, len(x))], x[i + 1 :]) * L[i][i]
    return x, good


def substituted(width: int, depth: int, factors: Eliminated, border: Scalars) -> Any:
    """Backward substitution: the unknowns of all steps (T, width), of those of the border."""
    block = depth * width

    def step(later: Any, window: Any) -> tuple[Any, Any]:
        triangle, Y, y = window
        L = [list(triangle[i * (i + 1) // 2 :][: i + 1]) for i in range(width)]
        known = [*later, *border]
        rows = [list(column) for column in Y] if known else []
        x = [y[i] - dot([row[i] for row in rows], known) if rows else y[i] for i in range(width)]
        for i in reversed(range(width)):
            x[i] = subtract_dot(x[i], [L[k][i] for k in range(i + 1, width)], x[i + 1 :]) * L[i][i]
        return array([*list(later)[width:], *x] if depth else []), array(x)

    start = array([0.0] * block)
    _, x = scan(step, start, factors.steps, reverse=True)
    return x[depth:]


def eliminated_wide(
    width: int,
    depth: int,
    many: int,
    windows: int,
    added: Callable[[Any], WindowShare],
    inputs: Any,
    least: Any,
) -> Eliminated:
    """Forward elimination, as `banded.eliminated` has it; of each step U (width, columns), from which 1/diagonal is
    taken out, and this apart.
    """
    block = depth * width  # what is carried besides the border
    size, whole = block + many, block + width + many
    # the front: the oldest step first, then the following, the newest, the border, and the right side
    place = [(depth - back) * width + k for back in range(depth + 1) for k in range(width)]
    place += range(block + width, whole)
    rest = [*range(block), *range(block + width, whole + 1)]  # of what is carried on
    started = (array([0.0] * (size * (size + 3) // 2)), 1.0, 0.0)

    def step(state: Any, window: Any) -> tuple[Any, Any]:
        carried, positive, drop = state
        row, there, real = window
        front: list[list[Any]] = [[0.0] * (whole + 1) for _ in range(whole)]
        numbers = iter(list(carried))
        for a, i in enumerate(rest[:-1]):
            for j in rest[a:]:
                front[i][j] = next(numbers)
        for k in range(block, block + width):
            front[k][k] = least
        share = added(row)
        for (a, b), x in share.blocks.items():
            i, j = sorted((place[a], place[b]))
            front[i][j] = front[i][j] + there * x
        for a, x in share.sides.items():
            front[place[a]][whole] = front[place[a]][whole] + there * x
        rows = []
        for line, weight, side in share.rows:
            own: list[Any] = [0.0] * whole
            for a, x in line.items():
                own[place[a]] = x
            rows.append(AddedRow(there * weight, there * side, own))
        upper = [line[i:] for i, line in enumerate(front)]
        reduced = eliminate_front(upper, width, added=rows, stretch=share.stretch, counts=real, least=LEAST)
        U = reduced.eliminated
        y = [line[-1] for line in U]
        diagonal = [line[0] for line in U]
        padded = [[0.0] * (i + 1) + line[1:] for i, line in enumerate(U)]
        state = (
            array([x for line in reduced.rest for x in line]),
            positive * (reduced.positive * real + (1.0 - real)),
            drop + dot(y, y),
        )
        return state, (array(padded), array(diagonal))

    flags = [1.0] * windows + [0.0] * depth
    real = [0.0] * depth + [1.0] * windows
    (left, positive, drop), front = scan(step, started, (inputs, array(flags), array(real)))
    numbers = iter(list(left))
    upper = [[next(numbers) for _ in range(size + 1 - i)] for i in range(size)]
    border = [[upper[block + j][i - j] for j in range(i + 1)] for i in range(many)]
    return Eliminated(front, border, [line[-1] for line in upper[block:]], lt(0.5, positive), drop)


def substituted_wide(width: int, depth: int, factors: Eliminated, border: Any) -> Any:
    """Backward substitution: the unknowns of all steps (T, width), of those of the border."""
    block = depth * width
    places = np.arange(width, dtype=float)

    def step(later: Any, window: Any) -> tuple[Any, Any]:
        U, diagonal = window
        known = array([*[0.0] * width, *list(later), *border])

        def solved(x: Any, line: Any) -> tuple[Any, None]:
            row, inverse, k = line
            numbers = list(row)
            return put(x, k, (numbers[-1] - dot(numbers[:-1], list(x))) * inverse), None

        x, _ = scan(solved, known, (U, diagonal, places), reverse=True)
        own = list(x)[:width]
        return array([*own, *list(later)[: block - width]] if depth else []), array(own)

    _, x = scan(step, array([0.0] * block), factors.steps, reverse=True)
    return x[depth:]
