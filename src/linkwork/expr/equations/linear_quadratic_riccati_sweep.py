"""Riccati's recursion over a horizon, over any scalar: from the end, a step of time after the other.

    K_t = (R + BᵀX₊B)⁻¹(AᵀX₊B + N)ᵀ,   X_t = Q + AᵀX₊A − (AᵀX₊B + N) K_t,   X_T = Q_end,

with X₊ = X_{t+1} and the A, B, Q, R, N of step t.

Source: Bertsekas, Dynamic Programming and Optimal Control, vol. 1, section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.expr.control.loops import scan
from linkwork.expr.equations.linear_quadratic import LinearQuadratic
from linkwork.expr.equations.matmul_lists import Matrix, products, solved_columns
from linkwork.expr.linalg.sparse_dot import added, mirrored, negated, transposed

__all__ = ["riccati_step", "riccati_sweep"]


def riccati_step(of: LinearQuadratic, X: Matrix) -> tuple[Matrix, Matrix]:
    """X of this step, by that of the next, and the gains."""
    XA, XB = products(X, of.A), products(X, of.B)
    T = added(products(transposed(of.B), XA), transposed(of.N))
    S = mirrored(added(of.R, products(transposed(of.B), XB)))
    K = solved_columns(S, T, "pos")
    return mirrored(added(of.Q, products(transposed(of.A), XA), negated(products(transposed(T), K)))), K


def riccati_sweep(matrices: Sequence[Any], end: Any) -> tuple[Any, Any]:
    """X (T + 1, n, n) and K (T, m, n), of A (T, n, n), B, Q, R and N, a row a step; ``end`` (n, n), whose lower
    triangle is read."""

    def step(X: Any, given: Any) -> tuple[Any, Any]:
        now, K = riccati_step(LinearQuadratic.of(*given), [list(row) for row in X])
        return np.array(now), (np.array(now), np.array(K))

    end = np.array(mirrored([list(row) for row in end]))
    _, (X, K) = scan(step, end, tuple(matrices), backward=True)
    return np.concatenate([X, [end]]), K
