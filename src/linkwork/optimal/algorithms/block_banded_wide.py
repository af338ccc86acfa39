"""The equations of `banded`, of steps with many unknowns: fronts are eliminated in loops, not written out.

What is written out grows as the third power of a step's columns, and each number of a window's rows would be multiplied
with each other by an instruction of its own.  Here a front stands in memory, from the oldest step on, and so do rows of
least squares that windows add to it (`expr/linalg/frontal_elimination.py`).

Source: Duff, Erisman and Reid, Direct Methods for Sparse Matrices, 2nd ed., 2017, chapter 11 (frontal methods).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.control.table_access import put
from linkwork.expr.linalg.frontal_elimination import AddedRow, eliminate_front
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import lt
from linkwork.optimal.algorithms.block_banded import LEAST, Eliminated, WindowShare

__all__ = ["eliminated_wide", "substituted_wide"]


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
    taken out, and this apart."""
    block = depth * width  # what is carried besides the border
    size, whole = block + many, block + width + many
    # the front: the oldest step first, then the following, the newest, the border, and the right side
    place = [(depth - back) * width + k for back in range(depth + 1) for k in range(width)]
    place += range(block + width, whole)
    kept = [*range(block), *range(block + width, whole + 1)]  # of what is carried on
    started = (array([0.0] * (size * (size + 3) // 2)), 1.0, 0.0)

    def step(state: Any, given: Any) -> tuple[Any, Any]:
        carried, positive, drop = state
        row, there, real = given
        front: list[list[Any]] = [[0.0] * (whole + 1) for _ in range(whole)]
        numbers = iter(list(carried))
        for a, i in enumerate(kept[:-1]):
            for j in kept[a:]:
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
        found = eliminate_front(upper, width, added=rows, stretch=share.stretch, counts=real, least=LEAST)
        U = found.eliminated
        y = [line[-1] for line in U]
        diagonal = [line[0] for line in U]
        padded = [[0.0] * (i + 1) + line[1:] for i, line in enumerate(U)]
        state = (
            array([x for line in found.rest for x in line]),
            positive * (found.positive * real + (1.0 - real)),
            drop + dot(y, y),
        )
        return state, (array(padded), array(diagonal))

    flags = [1.0] * windows + [0.0] * depth
    real = [0.0] * depth + [1.0] * windows
    (left, positive, drop), found = scan(step, started, (inputs, array(flags), array(real)))
    numbers = iter(list(left))
    upper = [[next(numbers) for _ in range(size + 1 - i)] for i in range(size)]
    border = [[upper[block + j][i - j] for j in range(i + 1)] for i in range(many)]
    return Eliminated(found, border, [line[-1] for line in upper[block:]], lt(0.5, positive), drop)


def substituted_wide(width: int, depth: int, found: Eliminated, border: Any) -> Any:
    """Backward substitution: the unknowns of all steps (T, width), of those of the border."""
    block = depth * width
    places = np.arange(width, dtype=float)

    def step(later: Any, given: Any) -> tuple[Any, Any]:
        U, diagonal = given
        known = array([*[0.0] * width, *list(later), *border])

        def solved(x: Any, line: Any) -> tuple[Any, None]:
            row, inverse, k = line
            numbers = list(row)
            return put(x, k, (numbers[-1] - dot(numbers[:-1], list(x))) * inverse), None

        x, _ = scan(solved, known, (U, diagonal, places), backward=True)
        own = list(x)[:width]
        return array([*own, *list(later)[: block - width]] if depth else []), array(own)

    _, x = scan(step, array([0.0] * block), found.steps, backward=True)
    return x[depth:]
