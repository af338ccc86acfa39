"""What a linear-quadratic regulator is asked for, over any scalar.

Cholesky's root of a symmetric matrix whose pivots are kept above bounds, over any scalar.

Of a matrix that is nowhere negative but for rounding, pivots that are rounding would be divided by: bounds of that
size change it by no more.

Source: Golub and Van Loan, Matrix Computations, section 4.2.8.

Riccati's recursion over a horizon, over any scalar: from the end, a step of time after the other.

    K_t = (R + BᵀX₊B)⁻¹(AᵀX₊B + N)ᵀ,   X_t = Q + AᵀX₊A − (AᵀX₊B + N) K_t,   X_T = Q_end,

with X₊ = X_{t+1} and the A, B, Q, R, N of step t.

Source: Bertsekas, Dynamic Programming and Optimal Control, vol. 1, section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from linkwork.expr.control.loops import scan
from linkwork.expr.equations.matmul_lists import by_rows, gram, products, shifted, solved_columns
from linkwork.expr.linalg.sparse_dot import add_matrices, dot, mirrored, negated, rows_of, subtract_dot, transposed
from linkwork.expr.scalar.functions import fmax, fmin, lt, sqrt

__all__ = ["TINY", "BoundedRoot", "LinearQuadratic", "riccati_step", "riccati_sweep"]


@dataclass(frozen=True, slots=True)
class LinearQuadratic:
    """A (n, n) and B (n, m) of a system, and Q, R, N of its cost xᵀQ x + 2 xᵀN u + uᵀR u, as lists of rows."""

    A: Matrix
    B: Matrix
    Q: Matrix
    R: Matrix
    N: Matrix

    @staticmethod
    def of(A: Any, B: Any, Q: Any, R: Any, N: Any) -> LinearQuadratic:
        """Of matrices; of Q and R the lower triangles are read."""
        A, B, Q, R, N = ([list(row) for row in M] for M in (A, B, Q, R, N))
        return LinearQuadratic(A, B, mirrored(Q), mirrored(R), N)

    @staticmethod
    def of_values(values: Sequence[Any], n: int, m: int) -> LinearQuadratic:
        """The one with these ``values``."""
        result, place = [], 0
        for rows, columns in ((n, n), (n, m), (n, n), (m, m), (n, m)):
            result.append(rows_of(values[place:], columns, rows))
            place += rows * columns
        return LinearQuadratic(*result)

    def values(self) -> list[Any]:
        """All elements."""
        return [x for M in (self.A, self.B, self.Q, self.R, self.N) for row in M for x in row]

    def costs(self, slack: float) -> Any:
        """Whether roots show that R is positive definite, and that no cost is less than −slack of the size of Q.

        Where it is false (of numbers that are not finite, too) a closer look is needed.
        """
        n, m = len(self.A), len(self.R)
        R_root = BoundedRoot.of(self.R, [TINY] * m)
        half = by_rows(R_root.solved, self.N, m * m)
        more = 0.5 * slack * reduce(fmax, (abs(x) for row in self.Q for x in row)) + TINY
        rest_root = BoundedRoot.of(shifted(add_matrices(self.Q, negated(gram(half))), more), [TINY] * n)
        pivots = (row[-1] for root in (R_root, rest_root) for row in root.rows)
        return lt(2.0 * TINY**0.5, reduce(fmin, pivots))


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
                row.append(subtract_dot(M[i][j], row, rows[j][:j]) * inverses[j])
            pivot = sqrt(fmax(subtract_dot(M[i][i], row, row), least[i]))
            rows.append([*row, pivot])
            inverses.append(1.0 / pivot)
        return BoundedRoot(rows, inverses)

    def solved(self, column: Sequence[Any]) -> list[Any]:
        """L⁻¹ times a column."""
        result: list[Any] = []
        for row, inverse, x in zip(self.rows, self.inverses, column, strict=True):
            result.append(subtract_dot(x, row[:-1], result) * inverse)
        return result

    def from_left(self, row: Sequence[Any]) -> list[Any]:
        """A row times L."""
        n = len(row)
        return [dot(row[j:], [self.rows[i][j] for i in range(j, n)]) for j in range(n)]


def riccati_step(of: LinearQuadratic, X: Matrix) -> tuple[Matrix, Matrix]:
    """X of this step, by that of the next, and the gains."""
    XA, XB = products(X, of.A), products(X, of.B)
    T = add_matrices(products(transposed(of.B), XA), transposed(of.N))
    S = mirrored(add_matrices(of.R, products(transposed(of.B), XB)))
    K = solved_columns(S, T, "pos")
    return mirrored(add_matrices(of.Q, products(transposed(of.A), XA), negated(products(transposed(T), K)))), K


def riccati_sweep(matrices: Sequence[Any], end: Any) -> tuple[Any, Any]:
    """X (T + 1, n, n) and K (T, m, n), of A (T, n, n), B, Q, R and N, a row a step; ``end`` (n, n), whose lower
    triangle is read.
    """

    def step(X: Any, value: Any) -> tuple[Any, Any]:
        now, K = riccati_step(LinearQuadratic.of(*value), [list(row) for row in X])
        return np.array(now), (np.array(now), np.array(K))

    end = np.array(mirrored([list(row) for row in end]))
    _, (X, K) = scan(step, end, tuple(matrices), reverse=True)
    return np.concatenate([X, [end]]), K
