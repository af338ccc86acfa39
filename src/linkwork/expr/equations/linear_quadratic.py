"""Linear-quadratic regulators over a horizon by the Riccati recursion, over any scalar.

From the end, one time step after the other, with X₊ = X_{t+1} and the A, B, Q, R, N of step t:

    K_t = (R + BᵀX₊B)⁻¹(AᵀX₊B + N)ᵀ,   X_t = Q + AᵀX₊A − (AᵀX₊B + N) K_t,   X_T = Q_end.

`BoundedCholesky` factors symmetric matrices that are positive semidefinite up to rounding.  Without lower bounds on its
pivots, it would divide by pivots that are rounding errors.  Bounds of that size change the matrix by no more than its
rounding errors.

Sources: Bertsekas, Dynamic Programming and Optimal Control, vol. 1, section 4.1; Golub and Van Loan, Matrix
Computations, section 4.2.8 (Cholesky factors of semidefinite matrices).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from linkwork.expr.control.loops import scan
from linkwork.expr.equations.matmul_lists import add_to_diagonal, gram, map_matrix_rows, matmul, solve_columns
from linkwork.expr.linalg.frontal_elimination import eliminate_front
from linkwork.expr.linalg.sparse_dot import (
    Matrix,
    add_matrices,
    dot,
    mirrored,
    negated,
    rows_of,
    subtract_dot,
    transposed,
)
from linkwork.expr.scalar.float_limits import FLOAT64
from linkwork.expr.scalar.functions import fmax, fmin, lt, sqrt
from linkwork.expr.scalar.precision import require_float64

__all__ = ["TINY", "BoundedCholesky", "LinearQuadratic", "riccati_step", "riccati_step_of_hessian", "riccati_sweep"]


@dataclass(frozen=True, slots=True)
class LinearQuadratic:
    """Linear system A, B with a quadratic cost Q, R, N, for n states x and m inputs u, as lists of rows.

    The system is x⁺ = A x + B u or ẋ = A x + B u, with A (n, n) and B (n, m).  The cost of a step is xᵀQ x + 2 xᵀN u +
    uᵀR u, with Q (n, n), R (m, m) and N (n, m).
    """

    A: Matrix
    B: Matrix
    Q: Matrix
    R: Matrix
    N: Matrix

    @staticmethod
    def of(A: Any, B: Any, Q: Any, R: Any, N: Any) -> LinearQuadratic:
        """Return the linear system and cost with these matrices; only the lower triangles of Q and R are read."""
        A, B, Q, R, N = ([list(row) for row in M] for M in (A, B, Q, R, N))
        return LinearQuadratic(A, B, mirrored(Q), mirrored(R), N)

    @staticmethod
    def of_values(values: Sequence[Any], n: int, m: int) -> LinearQuadratic:
        """Create from the flat list that `values` returns."""
        result, start = [], 0
        for rows, columns in ((n, n), (n, m), (n, n), (m, m), (n, m)):
            result.append(rows_of(values[start:], columns, rows))
            start += rows * columns
        return LinearQuadratic(*result)

    def values(self) -> list[Any]:
        """Return all elements of A, B, Q, R, N in one list, row by row."""
        return [x for M in (self.A, self.B, self.Q, self.R, self.N) for row in M for x in row]

    def is_convex(self, tolerance: float) -> Any:
        """Return True if R is positive definite and Q − N R⁻¹Nᵀ has no eigenvalue below −tolerance · |Q|.

        False is inconclusive, also for elements that are not finite: an eigenvalue decomposition must decide then.
        """
        require_float64(self.values())  # an eigenvalue is compared with rounding errors
        n, m = len(self.A), len(self.R)
        R_factor = BoundedCholesky.of(self.R, [TINY] * m)
        half = map_matrix_rows(R_factor.solve, self.N, m * m)
        shift = 0.5 * tolerance * reduce(fmax, (abs(x) for row in self.Q for x in row)) + TINY
        Q_factor = BoundedCholesky.of(add_to_diagonal(add_matrices(self.Q, negated(gram(half))), shift), [TINY] * n)
        pivots = (row[-1] for factor in (R_factor, Q_factor) for row in factor.rows)
        return lt(2.0 * TINY**0.5, reduce(fmin, pivots))


TINY = FLOAT64.smallest_divisor


@dataclass(frozen=True, slots=True)
class BoundedCholesky:
    """Cholesky factor L of a symmetric matrix M = L Lᵀ, with a lower bound on its pivots.

    ``rows`` are the rows of L up to the diagonal, and ``inverses`` the reciprocals of its diagonal elements.
    """

    rows: Matrix
    inverses: list[Any]

    @staticmethod
    def of(M: Matrix, min_pivots: Sequence[Any]) -> BoundedCholesky:
        """Return the Cholesky factor of a symmetric matrix, with lower bounds ``min_pivots`` on its squared pivots.

        Only the matrix's lower triangle is read.  A squared pivot below its bound is replaced by the bound.
        """
        rows: Matrix = []
        inverses: list[Any] = []
        for i in range(len(M)):
            row: list[Any] = []
            for j in range(i):
                row.append(subtract_dot(M[i][j], row, rows[j][:j]) * inverses[j])
            pivot = sqrt(fmax(subtract_dot(M[i][i], row, row), min_pivots[i]))
            rows.append([*row, pivot])
            inverses.append(1.0 / pivot)
        return BoundedCholesky(rows, inverses)

    def solve(self, column: Sequence[Any]) -> list[Any]:
        """Return L⁻¹ times a column, where L is this Cholesky factor."""
        result: list[Any] = []
        for row, inverse, x in zip(self.rows, self.inverses, column, strict=True):
            result.append(subtract_dot(x, row[:-1], result) * inverse)
        return result

    def left_multiply(self, row: Sequence[Any]) -> list[Any]:
        """Return a row times L, where L is this Cholesky factor."""
        n = len(row)
        return [dot(row[j:], [self.rows[i][j] for i in range(j, n)]) for j in range(n)]


def riccati_step(problem: LinearQuadratic, X: Matrix) -> tuple[Matrix, Matrix]:
    """Return X and the gains K of a time step, one backward step of the Riccati recursion.

    The argument X belongs to the next time step.  xᵀX x is the remaining cost from state x, and u = −K x the optimal
    input.
    """
    XA, XB = matmul(X, problem.A), matmul(X, problem.B)
    T = add_matrices(matmul(transposed(problem.B), XA), transposed(problem.N))
    S = mirrored(add_matrices(problem.R, matmul(transposed(problem.B), XB)))
    K = solve_columns(S, T, "pos")
    return mirrored(add_matrices(problem.Q, matmul(transposed(problem.A), XA), negated(matmul(transposed(T), K)))), K


def riccati_step_of_hessian(H: Sequence[Sequence[Any]], Q: Any, R: Any) -> tuple[Matrix, Matrix]:
    """Return X and the gains K of a time step, as `riccati_step` does, from the Hessian H of the cost after the step.

    H is the Hessian of the cost after the step by (x, u), which is FᵀX F for x⁺ = F (x; u); only its lower triangle is
    read.  The inputs are eliminated from the sum of costs.
    """
    n, m = len(Q), len(R)
    rows = [[*(H[n + j][n + i] + R[j][i] for j in range(i, m)), *H[n + i][:n], 0.0] for i in range(m)]
    rows += [[*(H[j][i] + Q[j][i] for j in range(i, n)), 0.0] for i in range(n)]
    front = eliminate_front(rows, m)
    X = [[front.remainder[min(i, j)][abs(i - j)] for j in range(n)] for i in range(n)]

    def solved(column: Sequence[Any]) -> list[Any]:
        result: list[Any] = [0.0] * m
        for i in range(m - 1, -1, -1):
            inverse, *row = front.eliminated[i][: m - i]
            result[i] = subtract_dot(column[i], row, result[i + 1 :]) * inverse
        return result

    return X, transposed(
        map_matrix_rows(solved, transposed([row[m - i : -1] for i, row in enumerate(front.eliminated)]), m * m)
    )


def riccati_sweep(matrices: Sequence[Any], end: Any) -> tuple[Any, Any]:
    """Return X (T + 1, n, n) and K (T, m, n) of all steps, by the Riccati recursion backward from the last.

    xᵀX x is the remaining cost from state x, and u = −K x the optimal input.  ``matrices`` are A (T, n, n), B, Q, R
    and N of the T steps.  ``end`` (n, n) is the last X, of which only the lower triangle is read.
    """

    def step(X: Any, value: Any) -> tuple[Any, Any]:
        now, K = riccati_step(LinearQuadratic.of(*value), [list(row) for row in X])
        return np.array(now), (np.array(now), np.array(K))

    end = np.array(mirrored([list(row) for row in end]))
    _, (X, K) = scan(step, end, tuple(matrices), reverse=True)
    return np.concatenate([X, [end]]), K
