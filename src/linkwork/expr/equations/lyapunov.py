"""Lyapunov equations over any scalar, by doubling; matrices are lists of rows.

The Lyapunov equation X = AᵀXA + C has the solution X = Σ (Aᵀ)ᵏ C Aᵏ.  With X₀ = C and A₀ = A, X ← X + AᵀXA and A ← A²
double the number of terms in each step.  The equation AᵀX + XA + C = 0 is one of the first kind with (A + γ)(A − γ)⁻¹,
for any γ > 0.

The derivative of X is the solution of another Lyapunov equation, independent of the number of doublings.

Source: Smith, Matrix equation XA + BX = C, SIAM J. Appl. Math. 16 (1), 1968.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.custom_derivative import apply_rule
from linkwork.expr.autodiff.implicit_derivative import ImplicitDerivative, Solution
from linkwork.expr.control.loops import while_loop
from linkwork.expr.equations.matmul_lists import (
    Matrix,
    add_to_diagonal,
    congruence,
    matmul,
    scaled,
    solve_columns,
    squared_norm,
    symmetric_part,
)
from linkwork.expr.linalg.sparse_dot import add_matrices, flat, identity, rows_of, transposed
from linkwork.expr.scalar.functions import and_, fmax, lt, sqrt

__all__ = ["lyapunov", "solve_lyapunov"]

_MAX_DOUBLINGS = 60  # with a spectral radius of 1 − 2⁻⁵³ no term is left
_CONVERGED = 1e-32  # relative to X, both squared: terms that do not count
_DIVERGED = 1e300


@dataclass(frozen=True)
class _Lyapunov(ImplicitDerivative):
    """Rule for the X of AᵀX + X A + C = 0 or X = AᵀX A + C; the inputs are the elements of A and of a symmetric C."""

    n: int
    continuous: bool

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        A, C = self._split(inputs)
        return flat(lyapunov(A, C, continuous=self.continuous)), ()

    @property
    def size(self) -> int:
        return self.n * self.n

    def residual_jvp(self, at: Solution, direction: Sequence[Any]) -> Sequence[Any]:
        dA, dC = self._split(direction)
        pulled = matmul(transposed(dA), self._next(at))
        return flat(add_matrices(dC, pulled, transposed(pulled)))

    def residual_vjp(self, at: Solution, multipliers: Sequence[Any]) -> Sequence[Any]:
        by_A = matmul(self._next(at), rows_of(multipliers, self.n))
        return [*flat(scaled(2.0, by_A)), *multipliers]

    def solve_jacobian(self, at: Solution, right: Sequence[Any], transpose: bool) -> Sequence[Any]:
        A, _ = self._split(at.inputs)
        C = symmetric_part(rows_of(right, self.n))
        return flat(solve_lyapunov(transposed(A) if transpose else A, C, self.continuous))

    def _split(self, values: Sequence[Any]) -> tuple[Matrix, Matrix]:
        return rows_of(values, self.n), rows_of(values[self.size :], self.n)

    def _next(self, at: Solution) -> Matrix:
        """Return X, or X A in discrete time."""
        X = rows_of(at.results, self.n)
        return X if self.continuous else matmul(X, self._split(at.inputs)[0])


def solve_lyapunov(A: Matrix, C: Matrix, continuous: bool) -> Matrix:
    """Return the X of AᵀX + X A + C = 0 with ``continuous``, else of X = AᵀX A + C, with the derivatives of a rule."""
    return rows_of(apply_rule(_Lyapunov(len(A), continuous), [*flat(A), *flat(C)]), len(A))


def lyapunov(A: Matrix, C: Matrix, *, continuous: bool, gamma: Any = None, tolerance: float = _CONVERGED) -> Matrix:
    """Return the X of AᵀX + X A + C = 0 with ``continuous``, else of X = AᵀX A + C, for a symmetric C.

    If A is not stable, the result is huge or NaN.  Doublings end when the squared norm of a change is below
    ``tolerance`` times that of X.
    """
    if continuous:
        A, C = _discrete_equation(A, C, gamma)

    def more(state: Any) -> Any:
        X, _, change = state
        return and_(lt(tolerance * squared_norm(X), change), lt(change, _DIVERGED))

    def step(state: Any) -> Any:
        X, A, _ = state
        added = congruence(A, X)
        return add_matrices(X, added), matmul(A, A), squared_norm(added)

    result = while_loop(more, step, (C, A, fmax(1.0, squared_norm(C))), max_iterations=_MAX_DOUBLINGS)
    return [list(row) for row in result.state[0]]


def _discrete_equation(A: Matrix, C: Matrix, gamma: Any = None) -> tuple[Matrix, Matrix]:
    """Return A and C of the discrete Lyapunov equation that has the same X as the continuous one.

    ``gamma`` is the γ of the Cayley transform, and should be near the absolute eigenvalues of A.  Its default is the
    Frobenius norm of A divided by √n.
    """
    n = len(A)
    gamma = fmax(sqrt(squared_norm(A) / n), 1e-60) if gamma is None else gamma
    inverse = transposed(solve_columns(transposed(add_to_diagonal(A, -gamma)), identity(n)))
    A_discrete = add_to_diagonal(scaled(2.0 * gamma, inverse), 1.0)
    return A_discrete, scaled(2.0 * gamma, congruence(inverse, C))
