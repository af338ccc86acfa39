"""Linear equations with a banded matrix of floats, and right-hand sides of any scalars.

Gaussian elimination without pivoting, which is stable where the matrix is diagonally dominant (cubic splines) or
totally positive (values of B-splines): de Boor and Pinkus, Backward error analysis for totally positive linear systems,
Numerische Mathematik 27, 1977.  The work is proportional to the number of equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.expr.control.loops import scan

__all__ = ["solve_band", "solve_banded", "solve_cyclic"]


def solve_banded(rows: Sequence[Mapping[int, float]], right: Sequence[Any]) -> list[Any]:
    """Return the solution x of A x = right for a banded matrix A of floats.

    ``rows[i]`` has the nonzero entries of row i of A, by column.  Entries of ``right`` and x are of any vector type.
    """
    left = [dict(row) for row in rows]
    x = list(right)
    count = len(left)
    below: list[list[int]] = [[] for _ in range(count)]
    for i, row in enumerate(left):
        for k in row:
            if k < i:
                below[k].append(i)
    for k in range(count):
        pivot = left[k][k]
        for i in sorted(set(below[k])):
            factor = left[i].pop(k) / pivot
            for j, entry in left[k].items():
                if j > k:
                    if j not in left[i] and j < i:
                        below[j].append(i)
                    left[i][j] = left[i].get(j, 0.0) - factor * entry
            x[i] = x[i] - x[k] * factor
    for k in range(count - 1, -1, -1):
        for j, entry in left[k].items():
            if j > k:
                x[k] = x[k] - x[j] * entry
        x[k] = x[k] * (1.0 / left[k][k])
    return x


def solve_band(band: Any, right: Any) -> Any:
    """Return the solution x of A x = right, with A given as a band (n, 2 w + 1), by two loops.

    Row i of the band has the entries of A in columns i − w to i + w; those outside the matrix are 0. A step of the
    first loop eliminates the entries left of the diagonal with the w rows before, which are the state of the loop, and
    divides by the pivot. The second loop is the back substitution.
    """
    w = (len(band[0]) - 1) // 2

    def eliminate(state: Any, row: Any) -> Any:
        before, (entries, x) = state, row
        left = list(entries)
        for j, (upper, y) in enumerate(before):  # the farthest first
            factor = left[j]
            for k in range(w):
                left[j + 1 + k] = left[j + 1 + k] - factor * upper[k]
            x = x - factor * y
        each = 1.0 / left[w]
        upper, x = tuple(u * each for u in left[w + 1 :]), x * each
        return (*before[1:], (upper, x)), (upper, x)

    def back(after: Any, row: Any) -> Any:
        upper, x = row
        for u, y in zip(upper, after, strict=True):
            x = x - u * y
        return (x, *after[:-1]), x

    zeros = (0.0,) * w
    _, rows = scan(eliminate, tuple((zeros, 0.0) for _ in range(w)), (band, right))
    return scan(back, zeros, rows, reverse=True)[1]


def solve_cyclic(
    lower: Sequence[float], diagonal: Sequence[float], upper: Sequence[float], right: Sequence[Any]
) -> list[Any]:
    """Return the solution x of lower_k x_{k−1} + diagonal_k x_k + upper_k x_{k+1} = right_k, with cyclic indices.

    The last unknown is eliminated by solving for the others with two right-hand sides.
    """
    count = len(right)
    if count == 1:
        return [right[0] * (1.0 / (lower[0] + diagonal[0] + upper[0]))]
    last = count - 1
    rows: list[dict[int, float]] = [{} for _ in range(last)]
    border = [0.0] * last
    for k in range(last):
        for j, entry in ((k - 1, lower[k]), (k, diagonal[k]), (k + 1, upper[k])):
            if j % count == last:
                border[k] += entry
            else:
                rows[k][j] = rows[k].get(j, 0.0) + entry
    x, y = solve_banded(rows, right[:last]), solve_banded(rows, border)
    after, before = upper[last], lower[last]
    pivot = diagonal[last] - after * y[0] - before * y[-1]
    end = (right[last] - x[0] * after - x[-1] * before) * (1.0 / pivot)
    return [*(a - end * b for a, b in zip(x, y, strict=True)), end]
