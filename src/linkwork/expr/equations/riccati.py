"""Algebraic Riccati equations over any scalar, by doubling; matrices are lists of rows.

In steps of time     X = AᵀXA − (AᵀXB + N)(R + BᵀXB)⁻¹(AᵀXB + N)ᵀ + Q,
in continuous time   0 = AᵀX + XA − (XB + N) R⁻¹ (XB + N)ᵀ + Q;

of their solutions the one that stabilises, with the gains K = (R + BᵀXB)⁻¹(AᵀXB + N)ᵀ or R⁻¹(XB + N)ᵀ.  Without N,
which goes into A − B R⁻¹Nᵀ and Q − N R⁻¹Nᵀ, and with G = B R⁻¹Bᵀ, H = Q, doublings (`riccati_doubling.py`) lead from
one step of time to twice as many, and H to X.  In continuous time a Cayley transform with a γ > 0 comes first.  Where
rounding has left more than it must, steps of Newton's method follow, each a Lyapunov equation.  Where a system that
grows fast costs little or nothing, so little of Q is left beside what grows that there is no X, and in steps of time R
may be singular where R + BᵀXB is not: then all states, and in steps of time all inputs, cost something besides, and
Newton's method leads from that X, which stabilises too, to the one of Q and R.

The derivative of X is the solution of a Lyapunov equation with A − B K, whatever the way to X was.

Sources: Chu, Fan, Lin and Wang, Structure-preserving algorithms for periodic discrete-time algebraic Riccati equations,
Int. J. Control 77 (8), 2004; Chu, Fan and Lin, A structure-preserving doubling algorithm for continuous-time algebraic
Riccati equations, Linear Algebra Appl. 396, 2005; Lancaster and Rodman, Algebraic Riccati Equations, 1995;
Kleinman, On an iterative technique for Riccati equation computations, IEEE Trans. Automatic Control 13 (1), 1968.

Lyapunov's equations X = Aᵀ X A + C and AᵀX + X A + C = 0, by doubling; matrices are lists of rows.

Of the first X = Σ (Aᵀ)ᵏ C Aᵏ: with X₀ = C and A₀ = A, X ← X + Aᵀ X A and A ← A² have twice as many of its terms after
each step.  The second is one of the first kind with (A + γ)(A − γ)⁻¹, for any γ > 0.

Source: Smith, Matrix equation XA + BX = C, SIAM J. Appl. Math. 16 (1), 1968.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.control.loops import while_loop
from linkwork.expr.equations.linear_quadratic import LinearQuadratic
from linkwork.expr.equations.matmul_lists import (
    Matrix,
    products,
    shifted,
    solved_columns,
    squares,
    symmetric_products,
)
from linkwork.expr.equations.riccati_doubling import cayley, doubled
from linkwork.expr.linalg.sparse_dot import add_matrices, identity, mirrored, negated, rows_of, transposed
from linkwork.expr.scalar.functions import and_, fmax, lt, not_, or_, sqrt, where

__all__ = ["RiccatiSolution", "riccati"]


_FINE = 5e-11  # of X: what may be left of the equation
_ROUGH = 1e-8  # of a correction: squares of what it may lack
_REFINED, _FAR = 3, 14  # steps of Newton's method: near X, and from where the cost was another
_SOLVED = 1e-8  # of X: what is left of an equation that is solved
_SHARE = 1e-2  # of Q's mean diagonal: what states and inputs cost besides, where doublings do not come to an X
_ENDLESS = 1e300
_GONE, _SQUARINGS = 1e-30, 16


class RiccatiSolution(NamedTuple):
    """X and the gains K, how large what is left of the equation is beside X (infinite where motions do
    not end), and how many doublings there were.
    """

    X: Matrix
    K: Matrix
    residual: Any
    iterations: Any


def riccati(of: LinearQuadratic, *, continuous: bool) -> RiccatiSolution:
    """The solution that stabilises."""
    n, m = len(of.A), len(of.R)
    rule = _Riccati(n, m, continuous)
    result = apply_rule(rule, of.values())
    X = mirrored(rows_of(result, n, n))
    return RiccatiSolution(X, rows_of(result[n * n :], n, m), result[-2], result[-1])


@dataclass(frozen=True)
class _Riccati(CustomDerivative):
    """X, K, what is left and the number of steps, by A, B, Q, R and N."""

    n: int
    m: int
    continuous: bool

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        given = LinearQuadratic.of_values(inputs, self.n, self.m)

        def failing(state: Any) -> Any:
            return and_(not_(lt(state[2], _SOLVED)), lt(state[4], 1.5))

        def tried(state: Any) -> Any:
            old_X, old_K, before, _, turn = state
            again = lt(0.5, turn)
            X, stable, iterations, gamma = _doubled(given, self.continuous, where(again, _SHARE, 0.0))
            X, K, residual = self._refined(given, X, gamma, again)
            stable = and_(stable, or_(not_(again), self._ends(_closed(given, K), again)))
            better = and_(stable, lt(residual, before))  # not NaN
            new = [
                [[where(better, x, y) for x, y in zip(*rows, strict=True)] for rows in zip(M, old, strict=True)]
                for M, old in ((X, old_X), (K, old_K))
            ]
            return *new, where(better, residual, before), iterations, turn + 1.0

        none = [[0.0] * self.n for _ in range(self.n)], [[0.0] * self.n for _ in range(self.m)]
        X, K, residual, iterations, _ = while_loop(failing, tried, (*none, _ENDLESS, 0.0, 0.0), max_iterations=2).state
        X, K = ([list(row) for row in M] for M in (X, K))
        residual = where(lt(residual, _ENDLESS), residual, math.inf)
        return [*_flat(X), *_flat(K), residual, iterations], _flat(_closed(given, K))

    def _ends(self, closed: Matrix, asked: Any) -> Any:
        """Where it is ``asked``: whether a motion ends well before rounding says so, in 2¹⁶ steps, or in as many parts
        of its fastest.
        """

        def more(state: Any) -> Any:
            M, turn = state
            size = squares(M)
            return and_(and_(asked, lt(turn, _SQUARINGS - 0.5)), and_(lt(_GONE, size), lt(size, 1.0 / _GONE)))

        def squared(state: Any) -> Any:
            M, turn = state
            return products(M, M), turn + 1.0

        def stepped(state: Any) -> Any:  # by Cayley's transform, at the size of the motion
            M, _ = state
            size = sqrt(squares(M)) + 1e-300
            inverse = solved_columns(shifted(M, -size), identity(self.n))
            return shifted([[2.0 * size * x for x in row] for row in inverse], 1.0), 0.0

        state: Any = closed, -1.0
        if self.continuous:
            state = while_loop(lambda state: and_(asked, lt(state[1], -0.5)), stepped, state, max_iterations=1).state
        result = while_loop(more, squared, state, max_iterations=_SQUARINGS + 1).state
        return lt(squares([list(row) for row in result[0]]), _GONE)

    def _refined(self, value: LinearQuadratic, X: Matrix, gamma: Any, again: Any) -> tuple[Matrix, Matrix, Any]:
        """Steps of Newton's method, where rounding has left more than it must, or ``again`` from another X that
        stabilises; K, and what is left beside X.
        """

        def looked_at(X: Matrix) -> tuple[Matrix, Matrix, Any]:
            left, K = self._left(value, X)
            return left, K, sqrt(squares(left) / fmax(squares(X), 1e-300))

        def more(state: Any) -> Any:
            *_, residual, before, turn = state
            falls = lt(residual, 0.5 * before)
            return and_(lt(_FINE, residual), or_(and_(falls, lt(turn, _REFINED - 0.5)), again))

        def step(state: Any) -> Any:
            X, left, K, residual, _, turn = state
            closed = _closed(value, K)
            X = add_matrices(X, lyapunov(closed, left, continuous=self.continuous, gamma=gamma, left=_ROUGH))
            left, K, now = looked_at(X)
            return X, left, K, now, residual, turn + 1.0

        left, K, residual = looked_at(X)
        result = while_loop(more, step, (X, left, K, residual, 1e300, 0.0), max_iterations=_FAR)
        X, _, K, residual, *_ = result.state
        return [list(row) for row in X], [list(row) for row in K], residual

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        n, m = self.n, self.m
        given, d = LinearQuadratic.of_values(inputs, n, m), LinearQuadratic.of_values(direction, n, m)
        X, K, closed = rows_of(results, n, n), rows_of(results[n * n :], n, m), rows_of(extra, n, n)
        # of the cost x'Q x + 2 x'N u + u'R u with u = -K x, and of where the motion leads
        crossed = products(transposed(K), transposed(d.N))
        force = add_matrices(d.Q, negated(add_matrices(crossed, transposed(crossed))), symmetric_products(K, d.R))
        after = add_matrices(d.A, negated(products(d.B, K)))
        reached = X if self.continuous else products(X, closed)  # X symmetric
        pulled = products(transposed(after), reached)
        dX = lyapunov(closed, add_matrices(force, pulled, transposed(pulled)), continuous=self.continuous)
        # K = S⁻¹ T:  dK = S⁻¹ (dT − dS K)
        if self.continuous:
            S, dS = given.R, d.R
            dT = add_matrices(products(transposed(d.B), X), products(transposed(given.B), dX), transposed(d.N))
        else:
            XB, dXB = products(X, given.B), add_matrices(products(dX, given.B), products(X, d.B))
            S = add_matrices(given.R, products(transposed(given.B), XB))
            dS = add_matrices(d.R, products(transposed(d.B), XB), products(transposed(given.B), dXB))
            dT = add_matrices(
                products(transposed(d.B), products(X, given.A)),
                products(transposed(given.B), add_matrices(products(dX, given.A), products(X, d.A))),
                transposed(d.N),
            )
        dK = solved_columns(S, add_matrices(dT, negated(products(dS, K))), "pos")
        return [*_flat(dX), *_flat(dK), 0.0, 0.0]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        n, m = self.n, self.m
        given = LinearQuadratic.of_values(inputs, n, m)
        X, K, closed = rows_of(results, n, n), rows_of(results[n * n :], n, m), rows_of(extra, n, n)
        by_X, by_K = rows_of(weights, n, n), rows_of(weights[n * n :], n, m)
        # K = S⁻¹ T: Y is the gradient by T, and U that by S
        XB = products(X, given.B)
        S = given.R if self.continuous else add_matrices(given.R, products(transposed(given.B), XB))
        Y = solved_columns(S, by_K, "pos")
        U = _symmetric(negated(products(Y, transposed(K))))
        if self.continuous:
            by_X, by_B = add_matrices(by_X, products(given.B, Y)), transposed(products(Y, X))
        else:
            pulled = products(given.B, add_matrices(products(Y, transposed(given.A)), products(U, transposed(given.B))))
            by_X, by_B = add_matrices(by_X, pulled), products(X, transposed(products(Y, transposed(given.A))))
            by_B = add_matrices(by_B, _times(2.0, products(XB, U)))
        P = lyapunov(transposed(closed), _symmetric(by_X), continuous=self.continuous)
        KP = products(K, P)
        by_A = _times(2.0, products(X if self.continuous else products(X, closed), P))
        by_B = add_matrices(by_B, negated(products(by_A, transposed(K))))
        if not self.continuous:
            by_A = add_matrices(by_A, products(XB, Y))
        by_R = add_matrices(U, products(KP, transposed(K)))
        by_N = add_matrices(transposed(Y), _times(-2.0, transposed(KP)))
        return LinearQuadratic(by_A, by_B, P, by_R, by_N).values()

    def _left(self, value: LinearQuadratic, X: Matrix) -> tuple[Matrix, Matrix]:
        """What is left of the equation, and the gains."""
        XB = products(X, value.B)
        if self.continuous:
            T = add_matrices(transposed(XB), transposed(value.N))
            K = solved_columns(value.R, T, "pos")
            AX = products(transposed(value.A), X)
            left = add_matrices(AX, transposed(AX), value.Q)
        else:
            XA = products(X, value.A)
            T = add_matrices(products(transposed(value.B), XA), transposed(value.N))
            S = add_matrices(value.R, products(transposed(value.B), XB))
            K = solved_columns(S, T, "pos")
            left = add_matrices(products(transposed(value.A), XA), negated(X), value.Q)
        return mirrored(add_matrices(left, negated(products(transposed(T), K)))), K


def _closed(value: LinearQuadratic, K: Matrix) -> Matrix:
    """A − B K."""
    return add_matrices(value.A, negated(products(value.B, K)))


def _times(factor: Any, M: Matrix) -> Matrix:
    return [[factor * x for x in row] for row in M]


def _symmetric(M: Matrix) -> Matrix:
    """The part of M that is symmetric."""
    return [
        [0.5 * (a + b) for a, b in zip(row, column, strict=True)] for row, column in zip(M, transposed(M), strict=True)
    ]


def _flat(M: Sequence[Sequence[Any]]) -> list[Any]:
    return [x for row in M for x in row]


def _doubled(value: LinearQuadratic, continuous: bool, share: Any) -> tuple[Matrix, Any, Any, Any]:
    """X but for rounding, whether motions end, as (A − B K)ᵏ says, how many doublings it took, and γ; with a share of
    Q's mean diagonal more on it, and in steps of time with what inputs do to states as part of R.
    """
    n, R = len(value.A), value.R
    if not continuous:  # where inputs cost nothing, what they do to states does
        paid, moved = (sum((M[i][i] for i in range(len(M))), 0.0) for M in (value.Q, R))
        pushed = fmax(squares(value.B), 1e-300)
        natural = where(lt(0.0, paid), paid * (1.0 / n), where(lt(0.0, moved), moved / pushed, 1.0))
        R = shifted(R, where(lt(0.0, share), share * natural * pushed * (1.0 / len(R)), 0.0))
    both = solved_columns(R, [[*b, *c] for b, c in zip(transposed(value.B), transposed(value.N), strict=True)], "pos")
    by_B, by_N = [row[:n] for row in both], [row[n:] for row in both]
    A = add_matrices(value.A, negated(products(value.B, by_N)))
    G = mirrored(products(value.B, by_B))
    H = mirrored(add_matrices(value.Q, negated(products(value.N, by_N))))
    paid, pushed = (sum((M[i][i] for i in range(n)), 0.0) for M in (H, G))
    grown = squares(A) if continuous else 1.0  # what states cost in units of inputs, where none costs anything itself
    H = shifted(H, share * where(lt(0.0, paid), paid * (1.0 / n), grown / fmax(pushed, 1e-300)))
    gamma = 1.0
    if continuous:
        A, G, H, gamma = cayley(A, G, H)
    return (*doubled(A, G, H), gamma)


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
        return add_matrices(X, moved), products(A, A), squares(moved)

    result = while_loop(more, step, (C, A, fmax(1.0, squares(C))), max_iterations=_MOST)
    return [list(row) for row in result.state[0]]


def at_rest(A: Matrix, C: Matrix, gamma: Any = None) -> tuple[Matrix, Matrix]:
    """The A and C of the first equation that has the second one's X, for a γ near the motions' |λ|."""
    n = len(A)
    gamma = 1e-3 + sqrt(squares(A) / n) if gamma is None else gamma
    turned = transposed(solved_columns(transposed(shifted(A, -gamma)), identity(n)))
    moved = shifted([[2.0 * gamma * x for x in row] for row in turned], 1.0)
    scaled = symmetric_products(turned, C)
    return moved, [[2.0 * gamma * x for x in row] for row in scaled]
