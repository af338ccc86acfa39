"""Lyapunov's equations X = Aᵀ X A + C and AᵀX + X A + C = 0, by doubling; matrices are lists of rows.

Of the first X = Σ (Aᵀ)ᵏ C Aᵏ: with X₀ = C and A₀ = A, X ← X + Aᵀ X A and A ← A² have twice as many of its terms after
each step.  The second is one of the first kind with (A + γ)(A − γ)⁻¹, for any γ > 0.

Source: Smith, Matrix equation XA + BX = C, SIAM J. Appl. Math. 16 (1), 1968.
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.control.loops import while_loop
from linkwork.expr.equations.matmul_lists import (
    Matrix,
    products,
    shifted,
    solved_columns,
    squares,
    symmetric_products,
)
from linkwork.expr.linalg.sparse_dot import added, identity, transposed
from linkwork.expr.scalar.functions import and_, fmax, lt, sqrt

__all__ = ["at_rest", "lyapunov"]

_MOST = 60  # doublings: with a spectral radius of 1 − 2⁻⁵³ no term is left
_LEFT = 1e-32  # of X: squares of terms that do not count
_LARGE = 1e300


def lyapunov(A: Matrix, C: Matrix, *, continuous: bool, gamma: Any = None, left: float = _LEFT) -> Matrix:
    """X, for a symmetric C; where A is not stable, something large or no number.

    Doublings end where a change is so small, ``left``, a part of X: squares of both.
    """
    if continuous:
        A, C = at_rest(A, C, gamma)

    def more(state: Any) -> Any:
        X, _, change = state
        return and_(lt(left * squares(X), change), lt(change, _LARGE))

    def step(state: Any) -> Any:
        X, A, _ = state
        moved = symmetric_products(A, X)
        return added(X, moved), products(A, A), squares(moved)

    found = while_loop(more, step, (C, A, fmax(1.0, squares(C))), at_most=_MOST)
    return [list(row) for row in found.state[0]]


def at_rest(A: Matrix, C: Matrix, gamma: Any = None) -> tuple[Matrix, Matrix]:
    """The A and C of the first equation that has the second one's X, for a γ near the motions' |λ|."""
    n = len(A)
    gamma = 1e-3 + sqrt(squares(A) / n) if gamma is None else gamma
    turned = transposed(solved_columns(transposed(shifted(A, -gamma)), identity(n)))
    moved = shifted([[2.0 * gamma * x for x in row] for row in turned], 1.0)
    scaled = symmetric_products(turned, C)
    return moved, [[2.0 * gamma * x for x in row] for row in scaled]
