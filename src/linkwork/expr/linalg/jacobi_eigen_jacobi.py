"""Jacobi's rotations, over any scalar: always the same number of sweeps, and results sorted by choices.

Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, sections 8.5 and 8.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.expr.arrays.symbol_array import filled
from linkwork.expr.control import fori
from linkwork.expr.linalg.sparse_dot import chosen, is_zero, reciprocal_or_zero
from linkwork.expr.scalar.functions import copysign, eq, fabs, lt, sqrt, where
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["Matrices", "gap_inverse", "rotate", "rotation", "sort", "swept"]


_UNROLLED = 5  # rows: of more, a loop is as fast as all sweeps one after the other, and compiled in a third of the time

Matrices = tuple[list[list[Any]], ...]


def swept(turn: Callable[[Matrices, int, int], None], state: Matrices, n: int, sweeps: Sequence[int]) -> Matrices:
    """Lists of rows after all sweeps, each of which turns the rows p and q for every pair.

    By n, the table has how many sweeps there are; ``turn`` changes the rows in place.  On symbols, of many rows, sweeps
    are a loop: the code is that of one.
    """

    def sweep(inside: Matrices) -> Matrices:
        for p in range(n - 1):
            for q in range(p + 1, n):
                turn(inside, p, q)
        return inside

    count = sweeps[min(n, len(sweeps) - 1)]
    flat = [x for rows in state for row in rows for x in row]
    if n > _UNROLLED and any(x.__class__ is Symbol for x in flat):
        form = [(len(rows), len(rows[0])) for rows in state]

        def step(numbers: Any, k: Any) -> Any:
            inside = iter(numbers.tolist())
            rows = tuple([[next(inside) for _ in range(width)] for _ in range(height)] for height, width in form)
            return filled((len(flat),), [x for part in sweep(rows) for row in part for x in row])

        last = iter(fori(step, filled((len(flat),), flat), count).tolist())
        return tuple([[next(last) for _ in range(width)] for _ in range(height)] for height, width in form)
    for _ in range(count):
        state = sweep(state)
    return state


def rotation(difference: Any, off: Any) -> tuple[Any, Any, Any]:
    """Cosine and sine of the rotation that makes [[a, off], [off, a + difference]] diagonal, the smaller value first.

    Also by how much the second value grows, and the first shrinks, before they change places where the difference is
    negative.  Keeping values in order is what makes sweeps converge fast where some are equal.
    """
    none = eq(off, 0.0)
    ratio = difference / where(none, 1.0, 2.0 * off)
    t = where(none, 0.0, copysign(1.0, ratio) / (fabs(ratio) + sqrt(1.0 + ratio * ratio)))
    c = 1.0 / sqrt(1.0 + t * t)
    s = t * c
    swap = lt(difference, 0.0)
    return chosen(swap, s, c), chosen(swap, -c, s), t * off


def rotate(c: Any, s: Any, x: list[Any], y: list[Any]) -> None:
    """x, y become c x − s y, s x + c y, number by number."""
    for k in range(len(x)):
        x[k], y[k] = c * x[k] - s * y[k], s * x[k] + c * y[k]


def sort(keys: list[Any], *rows: list[list[Any]]) -> None:
    """Sort numbers in ascending order, and lists of rows along with them: neighbours change places, n times over."""
    n = len(keys)
    for start in range(n):
        for i in range(start % 2, n - 1, 2):
            swap = lt(keys[i + 1], keys[i])
            keys[i], keys[i + 1] = chosen(swap, keys[i + 1], keys[i]), chosen(swap, keys[i], keys[i + 1])
            for found in rows:
                found[i], found[i + 1] = (
                    [chosen(swap, y, x) for x, y in zip(found[i], found[i + 1], strict=True)],
                    [chosen(swap, x, y) for x, y in zip(found[i], found[i + 1], strict=True)],
                )


def gap_inverse(x: Any) -> Any:
    """1/x, and 0 where x is zero: what equal eigenvalues have of each other's derivatives."""
    if is_zero(x):
        return 0.0
    return reciprocal_or_zero(x, eq(x, 0.0))
