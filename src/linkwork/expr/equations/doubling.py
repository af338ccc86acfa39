"""Riccati and Lyapunov equations by doubling, over any scalar; matrices are lists of rows.

**Riccati equation.** One time step (A, G, H), with G and H symmetric positive semidefinite, becomes two:

    A ← A (1 + G H)⁻¹ A,   G ← G + A (1 + G H)⁻¹ G Aᵀ,   H ← H + Aᵀ H (1 + G H)⁻¹ A.

With H = C Cᵀ and S = 1 + CᵀG C = L Lᵀ, (1 + G H)⁻¹ = 1 − G C S⁻¹ Cᵀ.  With Y = L⁻¹CᵀA and Z = L⁻¹CᵀG then

    A ← A (A − ZᵀY),   G ← G + A (G − ZᵀZ) Aᵀ,   H ← H + YᵀY.

This needs two Cholesky factors and no row exchanges.  Pivots of C have a lower bound, a fraction of the diagonal of H,
so that none is a rounding error.

A Cayley transform, λ → (λ + γ)/(λ − γ), maps continuous time to time steps.  The slowest and the fastest eigenvalue,
relative to γ, determine the number of doublings.  So γ is chosen between the geometric mean of all |λ|, which is a
determinant, and the largest.

**Lyapunov equation.** X = AᵀXA + C has the solution X = Σ (Aᵀ)ᵏ C Aᵏ.  With X₀ = C and A₀ = A, X ← X + AᵀXA and A ← A²
double the number of terms in each step.  The equation AᵀX + XA + C = 0 is transformed to X = AᵀXA + C with the matrix
(A + γ)(A − γ)⁻¹ and a new C, for any γ > 0.  The derivative of X is the solution of another Lyapunov equation,
independent of the number of doublings.

Sources: Chu, Fan and Lin, A structure-preserving doubling algorithm for continuous-time algebraic Riccati equations,
Linear Algebra Appl. 396, 2005; Golub and Van Loan, Matrix Computations, section 4.2.8 (semidefinite factors); Smith,
Matrix equation XA + BX = C, SIAM J. Appl. Math. 16 (1), 1968.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.custom_derivative import ImplicitDerivative, Solution, apply_rule
from linkwork.expr.control.loops import while_loop
from linkwork.expr.equations.linear_quadratic import TINY, BoundedCholesky
from linkwork.expr.equations.matmul_lists import (
    Matrix,
    add_to_diagonal,
    congruence,
    gram,
    map_matrix_rows,
    matmul,
    scaled,
    solve_columns,
    squared_norm,
    symmetric_part,
)
from linkwork.expr.linalg.sparse_dot import add_matrices, dot, flat, identity, mirrored, negated, rows_of, transposed
from linkwork.expr.scalar.functions import and_, exp, fmax, le, log, lt, not_, or_, sqrt, where

__all__ = ["cayley_transform", "lyapunov", "solve_by_doubling", "solve_lyapunov"]

_MAX_DOUBLINGS = 44  # a system that needs more has a motion that does not decay, up to rounding
_CONVERGED = 1e-15  # relative to H: changes that are rounding errors
_DIVERGED = 1e200
_NOISE = 1e-13  # relative to a diagonal element: may be a rounding error
_MAX_INVERSE = 1e6  # relative to 1/γ: if (A − γ)⁻¹ is larger, γ is nearly an eigenvalue
_MAX_SHIFTS = 8  # attempts for γ
_REGULARIZATION = 1e-6  # of matrices whose determinants are estimated
_MIN_MEAN = 1e-8  # relative to the largest |λ|: bound of the mean for γ
_POWER_ITERATIONS = 6
_MIN_GAMMA = 1e-60  # [1/s] a slower system does not move


@dataclass(frozen=True, slots=True)
class _Step:
    """Factors of one doubling of a time step (A, G, H) of a Riccati equation, with H = C Cᵀ.

    ``Y`` has the rows of Yᵀ for Y = L⁻¹CᵀA, ``GC`` is G C, and ``S`` the Cholesky factor L of 1 + CᵀG C.
    """

    Y: Matrix
    GC: Matrix
    S: BoundedCholesky

    @staticmethod
    def of(A: Matrix, G: Matrix, H: Matrix) -> _Step:
        n = len(A)
        C = BoundedCholesky.of(H, [fmax(_NOISE * H[i][i], TINY) for i in range(n)])
        for i, row in enumerate(C.rows):
            row[i] = where(lt(0.0, H[i][i]), row[i], 0.0)  # the bound is no cost of a state that has none
        GC = map_matrix_rows(C.left_multiply, G, n * n)
        lower = [
            [dot([C.rows[k][i] for k in range(i, n)], [GC[k][j] for k in range(i, n)]) for j in range(i + 1)]
            for i in range(n)
        ]
        for i in range(n):
            lower[i][i] = lower[i][i] + 1.0
        S = BoundedCholesky.of(lower, [1.0] * n)
        return _Step(map_matrix_rows(lambda column: S.solve(C.left_multiply(column)), transposed(A), n * n), GC, S)

    @property
    def Z(self) -> Matrix:
        return map_matrix_rows(self.S.solve, self.GC, len(self.GC) ** 2)


def solve_by_doubling(A: Matrix, G: Matrix, H: Matrix) -> tuple[Matrix, Any, Any]:
    """Return the solution X of a discrete-time Riccati equation, True if it converged, and the number of doublings.

    X is the limit of H, and the doublings have converged if A is zero.  The arguments describe one time step: the state
    matrix A, G = B R⁻¹Bᵀ and the cost H of the states.
    """

    def more(state: Any) -> Any:
        *_, H, decay = state  # |A|² before this step bounds the last change of H, its square the next
        return and_(lt(_CONVERGED, decay * decay), lt(decay + squared_norm(H), _DIVERGED))

    def step(state: Any) -> Any:
        A, G, H = ([list(row) for row in M] for M in state[:3])
        result = _Step.of(A, G, H)
        Z = result.Z
        after = matmul(A, add_matrices(A, negated(matmul(Z, transposed(result.Y)))))
        AG = matmul(A, add_matrices(G, negated(gram(Z))))
        return after, add_matrices(G, gram(AG, A)), add_matrices(H, gram(result.Y)), squared_norm(A)

    result = while_loop(more, step, (A, G, H, 1.0), max_iterations=_MAX_DOUBLINGS)
    *_, H, decay = result.state
    return [list(row) for row in H], le(decay * decay, _CONVERGED), result.iterations


def cayley_transform(A: Matrix, G: Matrix, H: Matrix) -> tuple[Matrix, Matrix, Matrix, Any]:
    """Return A, G and H of the discrete-time Riccati equation with the continuous equation's solution X, and γ.

    The arguments are A, G = B R⁻¹Bᵀ and H, the cost of the states, in continuous time.
    """
    n = len(A)

    def resolvent(gamma: Any) -> tuple[Matrix, Matrix]:  # (A − γ)⁻¹ G, (A − γ)⁻¹
        both = solve_columns(add_to_diagonal(A, -gamma), [[*g, *e] for g, e in zip(G, identity(n), strict=True)])
        return [row[:n] for row in both], [row[n:] for row in both]

    def is_singular(state: Any) -> Any:
        gamma, _, inverse = state
        size = squared_norm(inverse)
        return or_(not_(lt(size * gamma * gamma, _MAX_INVERSE * _MAX_INVERSE)), le(size, 0.0))

    def increase(state: Any) -> Any:
        gamma = 1.5 * state[0]
        return (gamma, *resolvent(gamma))

    zeros = [[0.0] * n for _ in range(n)]
    result = while_loop(is_singular, increase, (_gamma(A, G, H) / 1.5, zeros, zeros), max_iterations=_MAX_SHIFTS)
    gamma, LG, inverse = result.state
    LG, inverse = ([list(row) for row in M] for M in (LG, inverse))
    W = add_matrices(transposed(add_to_diagonal(A, -gamma)), matmul(H, LG))
    both = solve_columns(W, [[*e, *h] for e, h in zip(identity(n), matmul(H, inverse), strict=True)])
    W_inverse, WH = [row[:n] for row in both], [row[n:] for row in both]
    twice = 2.0 * gamma
    return (
        add_to_diagonal([[twice * x for x in row] for row in transposed(W_inverse)], 1.0),
        mirrored([[twice * x for x in row] for row in matmul(LG, W_inverse)]),
        mirrored([[twice * x for x in row] for row in WH]),
        gamma,
    )


def _gamma(A: Matrix, G: Matrix, H: Matrix) -> Any:
    """Return an estimate of the best parameter γ = g^¾ l^¼ of the Cayley transform, for few doublings.

    g is the geometric mean of all |λ|, and l the largest, for the eigenvalues λ of [[A, −G], [−H, −Aᵀ]], the
    Hamiltonian matrix.
    """
    n = len(A)
    G_size, H_size = (fmax(sum(M[i][i] for i in range(n)), TINY) for M in (G, H))
    # |det| of [[A, −G], [−H, −Aᵀ]] is that of H times that of G + A H⁻¹Aᵀ
    C = BoundedCholesky.of(
        [[x + _REGULARIZATION * H_size if i == j else x for j, x in enumerate(r)] for i, r in enumerate(H)], [TINY] * n
    )
    V = map_matrix_rows(C.solve, A, n * n)
    S = add_matrices(G, gram(V))
    L = BoundedCholesky.of(
        [[x * (1.0 + _REGULARIZATION) if i == j else x for j, x in enumerate(r)] for i, r in enumerate(S)], [TINY] * n
    )
    mean = exp(-sum(log(x) for x in (*C.inverses, *L.inverses)) / n)
    # power method, with states and multipliers scaled so that G and H have the same size
    unit = sqrt(H_size / G_size)
    x, y, largest = [1.0] * n, [1.0 * unit] * n, mean
    At = transposed(A)
    for _ in range(_POWER_ITERATIONS):
        up = [dot(a, x) - dot(g, y) for a, g in zip(A, G, strict=True)]
        down = [-dot(h, x) - dot(a, y) for h, a in zip(H, At, strict=True)]
        before, largest = (
            largest,
            sqrt((dot(up, up) * unit * unit + dot(down, down)) / fmax(dot(x, x) * unit * unit + dot(y, y), TINY)),
        )
        scale = 1.0 / fmax(largest, TINY)
        x, y = [scale * a for a in up], [scale * b for b in down]
    largest = sqrt(largest * before)
    mean = fmax(mean, _MIN_MEAN * largest)
    gamma = sqrt(mean * sqrt(mean * largest))
    return where(lt(_MIN_GAMMA, gamma), gamma, 1.0)


_MAX_LYAPUNOV_DOUBLINGS = 60  # with a spectral radius of 1 − 2⁻⁵³ no term is left
_LYAPUNOV_CONVERGED = 1e-32  # relative to X, both squared: terms that do not count
_LYAPUNOV_DIVERGED = 1e300


@dataclass(frozen=True)
class _Lyapunov(ImplicitDerivative):
    """Derivative rule of the solution X of a Lyapunov equation, AᵀX + X A + C = 0 or X = AᵀX A + C.

    The inputs are the elements of A and of a symmetric C.
    """

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
        """Return the matrix by which dAᵀ is multiplied in the derivative of the Lyapunov equation.

        It is X in continuous time and X A in discrete time.
        """
        X = rows_of(at.results, self.n)
        return X if self.continuous else matmul(X, self._split(at.inputs)[0])


def solve_lyapunov(A: Matrix, C: Matrix, continuous: bool) -> Matrix:
    """Return the X of AᵀX + X A + C = 0 with ``continuous``, else of X = AᵀX A + C, with the derivatives of a rule."""
    return rows_of(apply_rule(_Lyapunov(len(A), continuous), [*flat(A), *flat(C)]), len(A))


def lyapunov(
    A: Matrix, C: Matrix, *, continuous: bool, gamma: Any = None, tolerance: float = _LYAPUNOV_CONVERGED
) -> Matrix:
    """Return the X of AᵀX + X A + C = 0 with ``continuous``, else of X = AᵀX A + C, for a symmetric C.

    If A is not stable, the result is huge or NaN.  Doublings end when the squared norm of a change is below
    ``tolerance`` times that of X.
    """
    if continuous:
        A, C = _discrete_equation(A, C, gamma)

    def more(state: Any) -> Any:
        X, _, change = state
        return and_(lt(tolerance * squared_norm(X), change), lt(change, _LYAPUNOV_DIVERGED))

    def step(state: Any) -> Any:
        X, A, _ = state
        added = congruence(A, X)
        return add_matrices(X, added), matmul(A, A), squared_norm(added)

    result = while_loop(more, step, (C, A, fmax(1.0, squared_norm(C))), max_iterations=_MAX_LYAPUNOV_DOUBLINGS)
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
