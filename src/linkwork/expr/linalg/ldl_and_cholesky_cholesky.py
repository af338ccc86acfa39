"""Cholesky's factorization, over any scalar: L D Lᵀ first, whose pivots only wait for a division each."""

from __future__ import annotations

from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.expr.linalg.array_conversion import Found, applied, square
from linkwork.expr.linalg.pivots import Pivots
from linkwork.expr.linalg.sparse_dot import less
from linkwork.expr.scalar.functions import sqrt

__all__ = ["cholesky"]


@public
def cholesky(A: Any, *, status: bool = False) -> Any:
    """L of A = L Lᵀ, a lower triangle, where A is symmetric and positive definite: its lower triangle is read.

    With ``status`` also 0, or one more than the place of the first pivot that is not positive.  Without, floats raise
    SingularMatrixError.
    """
    matrices = square("cholesky", A)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], told: bool) -> Found:
        pivots = Pivots("cholesky", positive=True, told=told)
        scaled: list[list[Any]] = []  # rows of the triangle of L D Lᵀ, times D
        inverse: list[Any] = []
        for i in range(n):
            row: list[Any] = []
            unit: list[Any] = []
            for j in range(i):
                row.append(less(rows[i][j], unit, scaled[j][:j]))
                unit.append(row[j] * inverse[j])
            row.append(less(rows[i][i], unit, row))
            inverse.append(pivots.inverse(row[i], i))
            scaled.append(row)
        roots = [sqrt(row[-1]) for row in scaled]  # none waits for another, as they would if rows were divided by them
        factors = [root * x for root, x in zip(roots, inverse, strict=True)]
        lower = [[x * f for x, f in zip(row[:-1], factors, strict=False)] for row in scaled]
        return [[x for i in range(n) for x in [*lower[i], roots[i], *[0.0] * (n - 1 - i)]]], pivots.status

    found = applied("cholesky", compute, [(matrices, 2)], [(n, n)], status, positive=True)
    return found if status else found[0]
