"""Algebraic Riccati equations over any scalar, by doubling; matrices are lists of rows.

In discrete time     X = AᵀXA − (AᵀXB + N)(R + BᵀXB)⁻¹(AᵀXB + N)ᵀ + Q,
in continuous time   0 = AᵀX + XA − (XB + N) R⁻¹ (XB + N)ᵀ + Q.

The solution returned is the stabilizing one, or X = 0 for A = 0 and Q = 0 in continuous time.  The gains are
K = (R + BᵀXB)⁻¹(AᵀXB + N)ᵀ or R⁻¹(XB + N)ᵀ.

N is eliminated: A − B R⁻¹Nᵀ replaces A, and Q − N R⁻¹Nᵀ replaces Q.  With G = B R⁻¹Bᵀ and H = Q, doublings
(`doubling.py`) lead from one time step to twice as many, and H to X.  In continuous time a Cayley transform
with a γ > 0 comes first.  If the residual exceeds rounding, steps of Newton's method follow, each a Lyapunov equation.

Doubling fails in two cases.  If a fast-growing motion costs little or nothing, Q is lost in rounding beside the growth.
In discrete time, R may be singular although R + BᵀXB is not.  In both cases a second system is solved, with a cost
added to all states, and in discrete time to all inputs.  Its X stabilizes the first system too, and Newton's method
leads from it to the solution.

The derivative of X is the solution of a Lyapunov equation with A − B K, independent of the method that computed X.

Sources: Chu, Fan, Lin and Wang, Structure-preserving algorithms for periodic discrete-time algebraic Riccati equations,
Int. J. Control 77 (8), 2004; Chu, Fan and Lin, A structure-preserving doubling algorithm for continuous-time algebraic
Riccati equations, Linear Algebra Appl. 396, 2005; Lancaster and Rodman, Algebraic Riccati Equations, 1995; Kleinman, On
an iterative technique for Riccati equation computations, IEEE Trans. Automatic Control 13 (1), 1968.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.control.loops import while_loop
from linkwork.expr.equations.doubling import cayley_transform, lyapunov, solve_by_doubling, solve_lyapunov
from linkwork.expr.equations.linear_quadratic import LinearQuadratic
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
from linkwork.expr.linalg.sparse_dot import add_matrices, flat, identity, mirrored, negated, rows_of, transposed
from linkwork.expr.scalar.functions import and_, fmax, le, lt, not_, or_, sqrt, where
from linkwork.expr.scalar.precision import require_float64

__all__ = ["RiccatiSolution", "riccati"]


_MAX_RESIDUAL = 5e-11  # relative to X: above it, Newton's method refines
_CORRECTION_TOLERANCE = 1e-8  # relative: an error of a Newton correction counts only by its square
_REFINEMENT_STEPS, _MAX_NEWTON_STEPS = 3, 14  # near X, and from the X of another cost
_SOLVED = 1e-8  # residual relative to X: the equation is solved
_SHARE = 1e-2  # relative to Q's mean diagonal: cost added to states and inputs if doubling fails
_NO_RESIDUAL = 1e300
_DECAYED, _SQUARINGS = 1e-30, 16


class RiccatiSolution(NamedTuple):
    """Solution of an algebraic Riccati equation: X (n, n) and the gains K (m, n) of u = −K x.

    ``residual`` is the residual of the equation, relative to the norm of γ X, with γ = 1 in discrete time.  It is
    infinite if the closed loop is not stable.  ``iterations`` is the number of doublings.
    """

    X: Matrix
    K: Matrix
    residual: Any
    iterations: Any


def riccati(problem: LinearQuadratic, *, continuous: bool) -> RiccatiSolution:
    """Return the stabilizing solution of the algebraic Riccati equation of a linear-quadratic problem.

    The equation is that of continuous time with ``continuous``, else of discrete time.
    """
    n, m = len(problem.A), len(problem.R)
    rule = _Riccati(n, m, continuous)
    require_float64(problem.values())  # its tolerances are those of float64
    result = apply_rule(rule, problem.values())
    X = mirrored(rows_of(result, n, n))
    return RiccatiSolution(X, rows_of(result[n * n :], n, m), result[-2], result[-1])


@dataclass(frozen=True)
class _Riccati(CustomDerivative):
    """Derivative rule of the solution of an algebraic Riccati equation.

    The inputs are the elements of A, B, Q, R and N.  The results are the elements of X and K, the relative residual and
    the number of doublings.
    """

    n: int
    m: int
    continuous: bool
    separable: ClassVar[bool] = False

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        problem = LinearQuadratic.of_values(inputs, self.n, self.m)

        def is_unsolved(state: Any) -> Any:
            return and_(not_(lt(state[2], _SOLVED)), lt(state[4], 1.5))

        def attempt(state: Any) -> Any:
            old_X, old_K, before, _, turn = state
            again = lt(0.5, turn)
            X, stable, iterations, gamma = _solve_by_doubling(problem, self.continuous, where(again, _SHARE, 0.0))
            X, K, residual = self._refine(problem, X, gamma, again)
            closed = _closed_loop(problem, K)
            stable = and_(stable, or_(not_(again), self._is_stable(closed, again)))
            if self.continuous:  # without motion and cost, no gains are optimal
                stable = or_(stable, le(squared_norm(closed) + squared_norm(X), 0.0))
            better = and_(stable, lt(residual, before))  # not NaN
            new = [
                [[where(better, x, y) for x, y in zip(*rows, strict=True)] for rows in zip(M, old, strict=True)]
                for M, old in ((X, old_X), (K, old_K))
            ]
            return *new, where(better, residual, before), iterations, turn + 1.0

        zeros = [[0.0] * self.n for _ in range(self.n)], [[0.0] * self.n for _ in range(self.m)]
        X, K, residual, iterations, _ = while_loop(
            is_unsolved, attempt, (*zeros, _NO_RESIDUAL, 0.0, 0.0), max_iterations=2
        ).state
        X, K = ([list(row) for row in M] for M in (X, K))
        residual = where(lt(residual, _NO_RESIDUAL), residual, math.inf)
        return [*flat(X), *flat(K), residual, iterations], ()

    def _is_stable(self, closed: Matrix, enabled: Any) -> Any:
        """Return True if the closed loop is stable by a margin: its matrix to the power 2¹⁶ is almost zero.

        A matrix of continuous time is first transformed to time steps, with a γ of the size of its largest eigenvalue.
        If ``enabled`` is false, the powers are not computed, and the result has no meaning.
        """

        def more(state: Any) -> Any:
            M, turn = state
            size = squared_norm(M)
            return and_(and_(enabled, lt(turn, _SQUARINGS - 0.5)), and_(lt(_DECAYED, size), lt(size, 1.0 / _DECAYED)))

        def square(state: Any) -> Any:
            M, turn = state
            return matmul(M, M), turn + 1.0

        def discretize(state: Any) -> Any:  # Cayley transform with γ = |closed|
            M, _ = state
            size = sqrt(squared_norm(M)) + 1e-300
            inverse = solve_columns(add_to_diagonal(M, -size), identity(self.n))
            return add_to_diagonal([[2.0 * size * x for x in row] for row in inverse], 1.0), 0.0

        state: Any = closed, -1.0
        if self.continuous:
            state = while_loop(
                lambda state: and_(enabled, lt(state[1], -0.5)), discretize, state, max_iterations=1
            ).state
        result = while_loop(more, square, state, max_iterations=_SQUARINGS + 1).state
        return lt(squared_norm([list(row) for row in result[0]]), _DECAYED)

    def _refine(self, problem: LinearQuadratic, X: Matrix, gamma: Any, from_other: Any) -> tuple[Matrix, Matrix, Any]:
        """Return X refined by Newton's method, its gains K and its relative residual.

        A residual at the level of rounding needs no step.  If ``from_other`` is true, X is the stabilizing solution for
        another cost, and more steps are allowed.
        """

        def evaluate(X: Matrix) -> tuple[Matrix, Matrix, Any]:
            left, K = self._residual(problem, X)
            return left, K, sqrt(squared_norm(left) / fmax(squared_norm(X) * gamma * gamma, 1e-300))

        def more(state: Any) -> Any:
            *_, residual, before, turn = state
            falls = lt(residual, 0.5 * before)
            return and_(lt(_MAX_RESIDUAL, residual), or_(and_(falls, lt(turn, _REFINEMENT_STEPS - 0.5)), from_other))

        def step(state: Any) -> Any:
            X, left, K, residual, _, turn = state
            closed = _closed_loop(problem, K)
            X = add_matrices(
                X, lyapunov(closed, left, continuous=self.continuous, gamma=gamma, tolerance=_CORRECTION_TOLERANCE)
            )
            left, K, now = evaluate(X)
            return X, left, K, now, residual, turn + 1.0

        left, K, residual = evaluate(X)
        result = while_loop(more, step, (X, left, K, residual, 1e300, 0.0), max_iterations=_MAX_NEWTON_STEPS)
        X, _, K, residual, *_ = result.state
        return [list(row) for row in X], [list(row) for row in K], residual

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        n, m = self.n, self.m
        problem, d = LinearQuadratic.of_values(inputs, n, m), LinearQuadratic.of_values(direction, n, m)
        X, K = rows_of(results, n, n), rows_of(results[n * n :], n, m)
        closed = _closed_loop(problem, K)
        # derivative of the cost x'Q x + 2 x'N u + u'R u with u = -K x, and of the state after a step
        crossed = matmul(transposed(K), transposed(d.N))
        d_cost = add_matrices(d.Q, negated(add_matrices(crossed, transposed(crossed))), congruence(K, d.R))
        d_closed = add_matrices(d.A, negated(matmul(d.B, K)))
        X_next = X if self.continuous else matmul(X, closed)  # X symmetric
        pulled = matmul(transposed(d_closed), X_next)
        dX = solve_lyapunov(closed, add_matrices(d_cost, pulled, transposed(pulled)), self.continuous)
        # K = S⁻¹ T:  dK = S⁻¹ (dT − dS K)
        if self.continuous:
            S, dS = problem.R, d.R
            dT = add_matrices(matmul(transposed(d.B), X), matmul(transposed(problem.B), dX), transposed(d.N))
        else:
            XB, dXB = matmul(X, problem.B), add_matrices(matmul(dX, problem.B), matmul(X, d.B))
            S = add_matrices(problem.R, matmul(transposed(problem.B), XB))
            dS = add_matrices(d.R, matmul(transposed(d.B), XB), matmul(transposed(problem.B), dXB))
            dT = add_matrices(
                matmul(transposed(d.B), matmul(X, problem.A)),
                matmul(transposed(problem.B), add_matrices(matmul(dX, problem.A), matmul(X, d.A))),
                transposed(d.N),
            )
        dK = solve_columns(S, add_matrices(dT, negated(matmul(dS, K))), "pos")
        return [*flat(dX), *flat(dK), 0.0, 0.0]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        n, m = self.n, self.m
        problem = LinearQuadratic.of_values(inputs, n, m)
        X, K = rows_of(results, n, n), rows_of(results[n * n :], n, m)
        closed = _closed_loop(problem, K)
        by_X, by_K = rows_of(weights, n, n), rows_of(weights[n * n :], n, m)
        # K = S⁻¹ T: Y is the gradient by T, and U that by S
        XB = matmul(X, problem.B)
        S = problem.R if self.continuous else add_matrices(problem.R, matmul(transposed(problem.B), XB))
        Y = solve_columns(S, by_K, "pos")
        U = symmetric_part(negated(matmul(Y, transposed(K))))
        if self.continuous:
            by_X, by_B = add_matrices(by_X, matmul(problem.B, Y)), transposed(matmul(Y, X))
        else:
            pulled = matmul(problem.B, add_matrices(matmul(Y, transposed(problem.A)), matmul(U, transposed(problem.B))))
            by_X, by_B = add_matrices(by_X, pulled), matmul(X, transposed(matmul(Y, transposed(problem.A))))
            by_B = add_matrices(by_B, scaled(2.0, matmul(XB, U)))
        P = solve_lyapunov(transposed(closed), symmetric_part(by_X), self.continuous)
        KP = matmul(K, P)
        by_A = scaled(2.0, matmul(X if self.continuous else matmul(X, closed), P))
        by_B = add_matrices(by_B, negated(matmul(by_A, transposed(K))))
        if not self.continuous:
            by_A = add_matrices(by_A, matmul(XB, Y))
        by_R = add_matrices(U, matmul(KP, transposed(K)))
        by_N = add_matrices(transposed(Y), scaled(-2.0, transposed(KP)))
        return LinearQuadratic(by_A, by_B, P, by_R, by_N).values()

    def _residual(self, problem: LinearQuadratic, X: Matrix) -> tuple[Matrix, Matrix]:
        """Return the residual of the Riccati equation at X, and the gains K of X."""
        XB = matmul(X, problem.B)
        if self.continuous:
            T = add_matrices(transposed(XB), transposed(problem.N))
            K = solve_columns(problem.R, T, "pos")
            AX = matmul(transposed(problem.A), X)
            left = add_matrices(AX, transposed(AX), problem.Q)
        else:
            XA = matmul(X, problem.A)
            T = add_matrices(matmul(transposed(problem.B), XA), transposed(problem.N))
            S = add_matrices(problem.R, matmul(transposed(problem.B), XB))
            K = solve_columns(S, T, "pos")
            left = add_matrices(matmul(transposed(problem.A), XA), negated(X), problem.Q)
        return mirrored(add_matrices(left, negated(matmul(transposed(T), K)))), K


def _closed_loop(problem: LinearQuadratic, K: Matrix) -> Matrix:
    """Return the matrix A − B K of the closed loop with the gains K."""
    return add_matrices(problem.A, negated(matmul(problem.B, K)))


def _solve_by_doubling(problem: LinearQuadratic, continuous: bool, share: Any) -> tuple[Matrix, Any, Any, Any]:
    """Return X up to rounding, True if (A − B K)ᵏ decays, the number of doublings, and γ.

    ``share`` is the cost that is added to all states, as a fraction of Q's mean diagonal element.  In discrete time a
    cost is also added to all inputs: the same fraction of the cost of the state changes that the inputs cause.
    """
    n, R = len(problem.A), problem.R
    if not continuous:  # if inputs cost nothing, their effect on states does
        Q_trace, R_trace = (sum((M[i][i] for i in range(len(M))), 0.0) for M in (problem.Q, R))
        B_size = fmax(squared_norm(problem.B), 1e-300)
        natural = where(lt(0.0, Q_trace), Q_trace * (1.0 / n), where(lt(0.0, R_trace), R_trace / B_size, 1.0))
        R = add_to_diagonal(R, where(lt(0.0, share), share * natural * B_size * (1.0 / len(R)), 0.0))
    both = solve_columns(
        R, [[*b, *c] for b, c in zip(transposed(problem.B), transposed(problem.N), strict=True)], "pos"
    )
    by_B, by_N = [row[:n] for row in both], [row[n:] for row in both]
    A = add_matrices(problem.A, negated(matmul(problem.B, by_N)))
    G = mirrored(matmul(problem.B, by_B))
    H = mirrored(add_matrices(problem.Q, negated(matmul(problem.N, by_N))))
    H_trace, G_trace = (sum((M[i][i] for i in range(n)), 0.0) for M in (H, G))
    natural = squared_norm(A) if continuous else 1.0  # cost of states in units of inputs, if neither costs anything
    H = add_to_diagonal(H, share * where(lt(0.0, H_trace), H_trace * (1.0 / n), natural / fmax(G_trace, 1e-300)))
    gamma = 1.0
    if continuous:
        A, G, H, gamma = cayley_transform(A, G, H)
    return (*solve_by_doubling(A, G, H), gamma)
