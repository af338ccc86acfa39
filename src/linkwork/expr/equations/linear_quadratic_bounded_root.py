"""Cholesky's root of a symmetric matrix whose pivots are kept above bounds, over any scalar.

Of a matrix that is nowhere negative but for rounding, pivots that are rounding would be divided by: bounds of that
size change it by no more.

Source: Golub and Van Loan, Matrix Computations, section 4.2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, less
from linkwork.expr.scalar.functions import fmax, sqrt

__all__ = ["TINY", "BoundedRoot"]

Matrix = list[list[Any]]

TINY = 1e-300


@dataclass(frozen=True, slots=True)
class BoundedRoot:
    """A lower triangle L with L Lᵀ = M, its rows without what is zero, and 1/L[i][i]."""

    rows: Matrix
    inverses: list[Any]

    @staticmethod
    def of(M: Matrix, least: Sequence[Any]) -> BoundedRoot:
        """Of a symmetric M, of which the lower triangle is read, with pivots that are at least so large."""
        rows: Matrix = []
        inverses: list[Any] = []
        for i in range(len(M)):
            row: list[Any] = []
            for j in range(i):
                row.append(less(M[i][j], row, rows[j][:j]) * inverses[j])
            pivot = sqrt(fmax(less(M[i][i], row, row), least[i]))
            rows.append([*row, pivot])
            inverses.append(1.0 / pivot)
        return BoundedRoot(rows, inverses)

    def solved(self, column: Sequence[Any]) -> list[Any]:
        """L⁻¹ times a column."""
        found: list[Any] = []
        for row, inverse, x in zip(self.rows, self.inverses, column, strict=True):
            found.append(less(x, row[:-1], found) * inverse)
        return found

    def from_left(self, row: Sequence[Any]) -> list[Any]:
        """A row times L."""
        n = len(row)
        return [dot(row[j:], [self.rows[i][j] for i in range(j, n)]) for j in range(n)]
