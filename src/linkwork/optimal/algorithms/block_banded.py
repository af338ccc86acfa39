"""Frontal elimination: block-banded symmetric equations with a border, one time step after the other.

The unknowns are those of T time steps, and the border: unknowns of the whole path.  A window is a step with the m steps
before it.  It adds a dense matrix in the columns of its steps and of the border.  So only a *front* is stored: the
matrix of the newest steps and the border.  The matrix of window t is added to the front.  Then step t − m, to which no
later window adds, is eliminated from the front,

    F = (F₁₁ Wᵀ; W F₂₂),    F₁₁ = L Lᵀ,    Y = L⁻¹ Wᵀ,    F₂₂ − Yᵀ Y is the next front.

After the last window, m more steps are eliminated.  Then the border is solved, and the steps by back substitution.

For steps with many unknowns, fronts are eliminated in loops instead of unrolled code, whose size grows as the cube of a
step's columns.  The front is then in memory, oldest step first, with the least-squares rows that windows add to it
(`expr/linalg/frontal_elimination.py`).

Source: Duff, Erisman and Reid, Direct Methods for Sparse Matrices, 2nd ed., 2017, chapter 11 (frontal methods).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.control.stored_scans import scan_stored, scan_storing
from linkwork.expr.control.table_access import put
from linkwork.expr.linalg.frontal_elimination import AddedRow, eliminate_front
from linkwork.expr.linalg.sparse_dot import dot, is_zero, subtract_dot
from linkwork.expr.scalar.functions import and_, lt, sqrt, where

__all__ = [
    "Eliminated",
    "WindowShare",
    "eliminate",
    "eliminate_wide",
    "solve_border",
    "substitute",
    "substitute_wide",
]


Scalars = Sequence[Any]
MIN_PIVOT = 1e-15  # relative to the pivot before elimination


class WindowShare(NamedTuple):
    """Coefficients and right-hand sides that a window, a step t with the steps before it, adds to the linear equations.

    The columns are the unknowns of step t, of step t − 1, ..., then those of the border, the unknowns of the whole
    path.
    """

    blocks: Mapping[tuple[int, int], Any]  # of the lower triangle
    sides: Mapping[int, Any]
    rows: Sequence[tuple[Mapping[int, Any], Any, Any]] = ()  # j, c and f, which add c j jᵀ and f j
    stretch: Any = 1.0  # factor of the diagonal of c j jᵀ


class Eliminated(NamedTuple):
    """Result of an elimination: the factors of each step, for back substitution, and the equations of the border.

    The border are the unknowns of the whole path, in contrast to those of a step. The unknowns of all steps are
    eliminated, so the remaining equations contain only those of the border.
    """

    steps: Any  # a tuple of arrays (T + m, ...): L (1/diagonal) (triangle), Y (width, m·width + border), y (width)
    border: list[list[Any]]  # lower triangle, of rows
    border_side: list[Any]  # its right-hand side
    positive: Any  # True if all pivots are positive
    drop: Any  # the sum of the squares of y


def eliminate(
    width: int,
    depth: int,
    border_size: int,
    windows: int,
    added: Callable[..., WindowShare],
    inputs: Any,
    floors: Scalars,
    stored: Any = None,
) -> Eliminated:
    """Return the factors of all steps' equations and the reduced border, by eliminating one step after the other.

    The code of a step is unrolled. The border are the unknowns of the whole path; a window is a step with the ``depth``
    steps before it.

    ``width`` is the number of unknowns of a step, and ``border_size`` that of the border. ``added(input)`` returns the
    contribution of a window, with empty ``rows``. ``inputs`` have an entry for each of the ``windows``, then ``depth``
    copies of the last entry, which add zero. ``stored`` are further inputs of the windows, from `scan_storing`; with
    them ``added(input, row)`` is called. ``floors`` (width) are added to the diagonal elements of a step. In a trace,
    the factors are stored for `substitute`.
    """
    block, size = depth * width, depth * width + border_size  # columns of the front, without and with the border
    triangle = [(i, j) for i in range(size) for j in range(i + 1)]
    # the state has the steps before, newest first, then the border
    started = (array([0.0] * len(triangle)), array([0.0] * size), 1.0, 0.0)

    def step(state: Any, window: Any) -> tuple[Any, Any]:
        carried, right, positive, drop = state
        row, (window_inputs, share_on, real) = window
        front = [[0.0] * (i + 1) for i in range(width + size)]
        side: list[Any] = [*[0.0] * width, *right]
        for (i, j), x in zip(triangle, list(carried), strict=True):
            front[width + i][width + j] = x
        for k in range(width):
            front[k][k] = floors[k]
        share = added(window_inputs) if stored is None else added(window_inputs, row)
        for (i, j), x in share.blocks.items():
            front[i][j] = front[i][j] + share_on * x
        for i, x in share.sides.items():
            side[i] = side[i] + share_on * x
        # the oldest step: columns depth·width ... + width
        pivots = range(block, block + width)
        remaining = [*range(block), *range(block + width, width + size)]

        def at(i: int, j: int) -> Any:
            return front[i][j] if i >= j else front[j][i]

        L, is_regular = _cholesky([[at(i, j) for j in pivots[: a + 1]] for a, i in enumerate(pivots)], MIN_PIVOT)
        columns = []
        for i in remaining:
            columns.append(_forward_substitution(L, [at(i, j) for j in pivots]))
        y = _forward_substitution(L, [side[j] for j in pivots])
        # steps before the first are skipped
        columns = [[x if is_zero(x) else real * x for x in column] for column in columns]
        y = [real * x for x in y]
        new = [
            [subtract_dot(at(remaining[i], remaining[j]), columns[i], columns[j]) for j in range(i + 1)]
            for i in range(len(remaining))
        ]
        reduced = [subtract_dot(side[i], column, y) for i, column in zip(remaining, columns, strict=True)]
        # the newest step becomes the first of the older ones: the order stays
        state = (
            array([x for line in new for x in line]),
            array(reduced),
            positive * where(is_regular, 1.0, 1.0 - real),
            drop + dot(y, y),
        )
        outputs = (array([x for line in L for x in line]), array([list(c) for c in columns] or [[]]), array(y))
        return state, outputs

    flags = [1.0] * windows + [0.0] * depth
    real = [0.0] * depth + [1.0] * windows
    last, steps = _swept(step, started, stored, (inputs, array(flags), array(real)))
    front, right, positive, drop = last
    # the columns of the dummy steps after the last are empty; the border follows them
    full: list[list[Any]] = [[0.0] * (i + 1) for i in range(size)]
    for (i, j), x in zip(triangle, list(front), strict=True):
        full[i][j] = x
    border = [full[block + i][block : block + i + 1] for i in range(border_size)]
    return Eliminated(steps, border, list(right)[block:], lt(0.5, positive), drop)


def _swept(step: Callable[[Any, Any], Any], started: Any, stored: Any, inputs: Any) -> tuple[Any, Any]:
    """Scan ``step`` over ``inputs``, and over rows of ``stored`` if any; return the last state and the stored outputs.

    ``started`` is the initial state.
    """

    def swept(state: Any, row: Any) -> tuple[Any, Any]:
        state, outputs = step(state, (None, row) if stored is None else row)
        return state, (outputs, ())

    if stored is None:
        last, (rows, _) = scan_storing(swept, started, inputs)
    else:
        last, (rows, _) = scan_stored(swept, started, stored, inputs, stores=True)
    return last, rows


def _cholesky(rows: Sequence[Scalars], min_pivot: float) -> tuple[list[list[Any]], Any]:
    """Return the Cholesky factor L of a symmetric matrix, and True if all pivots exceed a minimum.

    ``rows`` is the lower triangle by row. L's diagonal contains 1/Lₖₖ. The minimum of pivot k is ``min_pivot`` times
    the k-th diagonal element. A pivot that does not exceed it is replaced by 1.
    """
    L: list[list[Any]] = []
    are_regular: Any = None
    for i, row in enumerate(rows):
        line: list[Any] = []
        for j in range(i):
            line.append(subtract_dot(row[j], line, L[j][:j]) * L[j][j])
        pivot = subtract_dot(row[i], line, line)
        is_regular = lt(min_pivot * row[i] if min_pivot else 0.0, pivot)
        are_regular = is_regular if are_regular is None else and_(are_regular, is_regular)
        line.append(1.0 / sqrt(where(is_regular, pivot, 1.0)))
        L.append(line)
    return L, are_regular


def _forward_substitution(L: Sequence[Scalars], b: Scalars) -> list[Any]:
    """Return L⁻¹ b, for a lower triangular L whose diagonal contains 1/Lₖₖ."""
    rows: list[Any] = []
    for i, x in enumerate(b):
        total = subtract_dot(x, L[i][:i], rows)
        rows.append(0.0 if is_zero(total) else total * L[i][i])
    return rows


def solve_border(border: Sequence[Scalars], b: Scalars) -> tuple[list[Any], Any]:
    """Return the solution x of a symmetric system for the border, and True if its matrix is positive definite.

    The border are the unknowns of the whole path. ``border`` is the lower triangle by row, ``b`` the right-hand side.
    """
    L, is_regular = _cholesky(border, 0.0)
    x = _forward_substitution(L, b)
    for i in reversed(range(len(x))):
        x[i] = subtract_dot(x[i], [L[k][i] for k in range(i + 1, len(x))], x[i + 1 :]) * L[i][i]
    return x, is_regular


def substitute(width: int, depth: int, factors: Eliminated, border: Scalars) -> Any:
    """Return the unknowns of all T steps (T, width), by back substitution with the factors of `eliminate`.

    ``border`` are the known values of the border, the unknowns of the whole path.
    """
    block = depth * width

    def step(later: Any, window: Any) -> tuple[Any, Any]:
        (triangle, Y, y), _ = window
        L = [list(triangle[i * (i + 1) // 2 :][: i + 1]) for i in range(width)]
        known = [*later, *border]
        rows = [list(column) for column in Y] if known else []
        x = [y[i] - dot([row[i] for row in rows], known) if rows else y[i] for i in range(width)]
        for i in reversed(range(width)):
            x[i] = subtract_dot(x[i], [L[k][i] for k in range(i + 1, width)], x[i + 1 :]) * L[i][i]
        return array([*list(later)[width:], *x] if depth else []), array(x)

    start = array([0.0] * block)
    _, x = scan_stored(step, start, factors.steps, reverse=True)
    return x[depth:]


def eliminate_wide(
    width: int,
    depth: int,
    border_size: int,
    windows: int,
    added: Callable[..., WindowShare],
    inputs: Any,
    floors: Scalars,
    stored: Any = None,
) -> Eliminated:
    """Return the same as `eliminate` for steps with many unknowns: each front is eliminated in loops, not unrolled.

    The factors of each step are two arrays: U (width, columns) without its diagonal, and the reciprocals (width,) of
    the diagonal.
    """
    block = depth * width  # columns of the front without the border
    size, whole = block + border_size, block + width + border_size
    # the front: oldest step first, then the following ones, the newest, the border, and the right side
    column_of = [(depth - back) * width + k for back in range(depth + 1) for k in range(width)]
    column_of += range(block + width, whole)
    kept_columns = [*range(block), *range(block + width, whole + 1)]  # columns of the next front
    started = (array([0.0] * (size * (size + 3) // 2)), 1.0, 0.0)

    def step(state: Any, window: Any) -> tuple[Any, Any]:
        carried, positive, drop = state
        row, (window_inputs, share_on, real) = window
        front: list[list[Any]] = [[0.0] * (whole + 1) for _ in range(whole)]
        elements = iter(list(carried))
        for a, i in enumerate(kept_columns[:-1]):
            for j in kept_columns[a:]:
                front[i][j] = next(elements)
        for k, floor in enumerate(floors):
            front[block + k][block + k] = floor
        share = added(window_inputs) if stored is None else added(window_inputs, row)
        for (a, b), x in share.blocks.items():
            i, j = sorted((column_of[a], column_of[b]))
            front[i][j] = front[i][j] + share_on * x
        for a, x in share.sides.items():
            front[column_of[a]][whole] = front[column_of[a]][whole] + share_on * x
        rows = []
        for line, weight, side in share.rows:
            expanded: list[Any] = [0.0] * whole
            for a, x in line.items():
                expanded[column_of[a]] = x
            rows.append(AddedRow(share_on * weight, share_on * side, expanded))
        upper = [line[i:] for i, line in enumerate(front)]
        reduced = eliminate_front(upper, width, added=rows, stretch=share.stretch, counts=real, least=MIN_PIVOT)
        U = reduced.eliminated
        y = [line[-1] for line in U]
        diagonal = [line[0] for line in U]
        padded = [[0.0] * (i + 1) + line[1:] for i, line in enumerate(U)]
        state = (
            array([x for line in reduced.remainder for x in line]),
            positive * (reduced.positive * real + (1.0 - real)),
            drop + dot(y, y),
        )
        return state, (array(padded), array(diagonal))

    flags = [1.0] * windows + [0.0] * depth
    real = [0.0] * depth + [1.0] * windows
    (rest_values, positive, drop), front = _swept(step, started, stored, (inputs, array(flags), array(real)))
    elements = iter(list(rest_values))
    upper = [[next(elements) for _ in range(size + 1 - i)] for i in range(size)]
    border = [[upper[block + j][i - j] for j in range(i + 1)] for i in range(border_size)]
    return Eliminated(front, border, [line[-1] for line in upper[block:]], lt(0.5, positive), drop)


def substitute_wide(width: int, depth: int, factors: Eliminated, border: Any) -> Any:
    """Return the unknowns of all T steps (T, width), by back substitution with the factors of `eliminate_wide`.

    ``border`` are the known values of the border, the unknowns of the whole path.
    """
    block = depth * width
    indices = np.arange(width, dtype=float)

    def step(later: Any, window: Any) -> tuple[Any, Any]:
        (U, diagonal), _ = window
        known = array([*[0.0] * width, *list(later), *border])

        def solved(x: Any, line: Any) -> tuple[Any, None]:
            row, inverse, k = line
            elements = list(row)
            return put(x, k, (elements[-1] - dot(elements[:-1], list(x))) * inverse), None

        x, _ = scan(solved, known, (U, diagonal, indices), reverse=True)
        solution = list(x)[:width]
        return array([*solution, *list(later)[: block - width]] if depth else []), array(solution)

    _, x = scan_stored(step, array([0.0] * block), factors.steps, reverse=True)
    return x[depth:]
