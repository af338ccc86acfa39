"""QR by Householder's reflections, over any scalar.

Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, section 5.2; signs are LAPACK's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork._util.checked_arguments import public
from linkwork.expr.linalg.array_conversion import Found, applied, matrix
from linkwork.expr.linalg.sparse_dot import dot, identity, is_zero, less, transposed
from linkwork.expr.scalar.functions import copysign, eq, sqrt, where

__all__ = ["Reflections", "qr"]


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: Any
    R: Any


@public
def qr(A: Any) -> QRResult:
    """Q and R of A = Q R, as numpy.linalg.qr has them: k = min(m, n) orthonormal columns, and an upper triangle.

    Where R has a zero on its diagonal, the column of Q is some one that is orthogonal to the others.  Sums of squares
    are not scaled: what is below 1e-150 or above 1e150 is lost.
    """
    matrices = matrix("qr", "A", A)
    m, n = matrices.shape[-2:]
    k = min(m, n)

    def compute(rows: list[list[Any]], told: bool) -> Found:
        made = Reflections(rows, n)
        q = made.orthonormal(k)
        return [[q[j][i] for i in range(m) for j in range(k)], [x for row in made.upper(k) for x in row]], 0.0

    return QRResult(*applied("qr", compute, [(matrices, 2)], [(m, k), (k, n)]))


class Reflections:
    """The reflections that make an upper triangle of a matrix of n columns, and the triangle."""

    def __init__(self, rows: Sequence[Sequence[Any]], n: int) -> None:
        self.m, self.n = len(rows), n
        self._columns = transposed(rows) if rows else [[] for _ in range(n)]
        self._steps: list[tuple[list[Any], Any]] = []  # what is below the 1 of each vector, and its factor
        for k in range(min(self.m, n)):
            column = self._columns[k]
            vector, factor, column[k] = _reflection(column[k], column[k + 1 :])
            column[k + 1 :] = [0.0] * (self.m - k - 1)
            self._steps.append((vector, factor))
            for other in self._columns[k + 1 :]:
                self._reflect(k, other)

    def upper(self, rows: int) -> list[list[Any]]:
        """The first rows of R."""
        return [[column[i] for column in self._columns] for i in range(rows)]

    def turned(self, column: Sequence[Any]) -> list[Any]:
        """Qᵀ times a column."""
        found = list(column)
        for k in range(len(self._steps)):
            self._reflect(k, found)
        return found

    def turned_back(self, column: Sequence[Any]) -> list[Any]:
        """Q times a column, which may be shorter than Q is wide: it ends with zeros then."""
        found = [*column, *[0.0] * (self.m - len(column))]
        for k in range(len(self._steps) - 1, -1, -1):
            self._reflect(k, found)
        return found

    def orthonormal(self, count: int) -> list[list[Any]]:
        """The first columns of Q."""
        return [self.turned_back(column[:count]) for column in identity(self.m)[:count]]

    def _reflect(self, k: int, column: list[Any]) -> None:
        vector, factor = self._steps[k]
        if is_zero(factor):
            return
        share = factor * (column[k] + dot(vector, column[k + 1 :]))
        column[k] = column[k] - share
        for i, x in enumerate(vector, k + 1):
            column[i] = less(column[i], (x,), (share,))


def _reflection(top: Any, below: Sequence[Any]) -> tuple[list[Any], Any, Any]:
    """The reflection that leaves the first number of a column alone: its vector, its factor, and that number.

    A column that has nothing below is left as it is.
    """
    square = dot(below, below)
    if is_zero(square):
        return [0.0] * len(below), 0.0, top
    flat = eq(square, 0.0)
    length = where(flat, 1.0, -copysign(sqrt(top * top + square), top))
    scale = where(flat, 0.0, 1.0 / where(flat, 1.0, top - length))
    return [x * scale for x in below], where(flat, 0.0, (length - top) / length), where(flat, top, length)
