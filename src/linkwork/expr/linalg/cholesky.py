"""Cholesky's factorization, over any scalar."""

from __future__ import annotations

from typing import Any

from .arrays import Found, applied, square
from .pivots import Pivots
from .sums import less

__all__ = ["cholesky"]


def cholesky(A: Any, *, status: bool = False) -> Any:
    """L of A = L Lᵀ, a lower triangle, where A is symmetric and positive definite: its lower triangle is read.

    With ``status`` also 0, or one more than the place of the first pivot that is not positive.  Without, floats raise
    SingularMatrixError.
    """
    matrices = square("cholesky", A)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], told: bool) -> Found:
        pivots = Pivots("cholesky", positive=True, told=told)
        lower: list[list[Any]] = []
        inverse: list[Any] = []
        for i in range(n):
            row: list[Any] = []
            for j in range(i):
                row.append(less(rows[i][j], row, lower[j][:j]) * inverse[j])
            root, reciprocal = pivots.root(less(rows[i][i], row, row), i)
            inverse.append(reciprocal)
            lower.append([*row, root])
        return [[x for i, row in enumerate(lower) for x in [*row, *[0.0] * (n - 1 - i)]]], pivots.status

    found = applied("cholesky", compute, [(matrices, 2)], [(n, n)], status, positive=True)
    return found if status else found[0]
