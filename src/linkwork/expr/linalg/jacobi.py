"""Jacobi's rotations, over any scalar: always the same number of sweeps, and results sorted by choices.

Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, sections 8.5 and 8.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..functions import copysign, eq, fabs, lt, sqrt, where
from .sums import chosen, is_zero

__all__ = ["gap_inverse", "pairs", "rotate", "rotation", "sort"]


def pairs(n: int, sweeps: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The pairs of all sweeps, row by row; how many sweeps there are stands in the table, by n."""
    for _ in range(sweeps[min(n, len(sweeps) - 1)]):
        for p in range(n - 1):
            for q in range(p + 1, n):
                yield p, q


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
    none = eq(x, 0.0)
    return where(none, 0.0, 1.0 / where(none, 1.0, x))
