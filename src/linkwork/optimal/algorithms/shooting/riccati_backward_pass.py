"""The backward sweep: what is left to pay from a state on, as a quadratic function, and the control that pays least.

With the Hessian and the gradient of a step's cost by (x, u), and V, v of the state that it leads to,

    Q = L + FᵀV F,   q = l + Fᵀ(v + V d),      du = k + K dx,   k = −Q_uu⁻¹ q_u,   K = −Q_uu⁻¹ Q_ux,
    V ← Q_xx + Q_xu K,      v ← q_x + Q_xu k,

d being the gap between where a step leads and where the next begins.  Damping, μ on the diagonal of Q_uu as a part of
it, makes steps short.  Within limits, k is the best in its box, and what is at a bound has no gain.

Sources: Mayne, A second-order gradient method for determining optimal trajectories, Int. J. Control 3, 1966; Tassa,
Mansard and Todorov, ICRA 2014; Mastalli et al., Crocoddyl, ICRA 2020 (gaps).

The control of least ½ dᵀQ d + qᵀd within a box, and how it goes along with what moves q.

Which numbers are at a bound follows by a primal–dual active-set method: those are held that are beyond it, or would be
pressed there; others solve what is left; until the sets do not change.

Sources: Tassa, Mansard and Todorov, Control-limited differential dynamic programming, ICRA 2014; Hintermüller, Ito and
Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIAM J. Optim. 13, 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control.loops import scan, while_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.linalg.triangular_factors import SymmetricFactors
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, where
from linkwork.optimal.algorithms.shooting.step_dynamics import LinearStep

__all__ = ["Policy", "StepModel", "lower_of", "mirrored_of", "swept"]


Scalars = Sequence[Any]
Matrix = list[list[Any]]
_FLOOR = 1e-12  # of the damping, beside the diagonal


class StepModel(NamedTuple):
    """A step to second order: of (x, u) and of the state that it leads to."""

    linear: LinearStep
    gradient: list[Any]  # by (x, u)
    hessian: Matrix
    reached_gradient: list[Any]
    reached_hessian: Matrix
    gap: list[Any]  # empty where steps lead to the next state
    curvature: Matrix  # of the dynamics, by multipliers; empty where it is left out


class Policy(NamedTuple):
    """du = k + K dx of each step: k (T, m), K (T, m, n); the slope of the cost along k, and whether all is regular."""

    k: Any
    K: Any
    slope: Any
    regular: Any
    size: Any  # of the largest number of k


def swept(
    model: Callable[[Any], StepModel],
    rows: Any,
    n: int,
    m: int,
    damping: Any,
    limits: Callable[[Any], tuple[list[Any], list[Any]]] | None,
) -> Policy:
    """The policy; ``model`` makes a step's of what the rows hold for it, ``limits`` the bounds of du."""

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        lower, v, slope, regular, size = state
        at = model(row)
        V = mirrored_of(list(lower), n)
        V = [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(V, at.reached_hessian, strict=True)]
        v = [a + b for a, b in zip(v, at.reached_gradient, strict=True)]
        if at.gap:
            v = [x + dot(row, at.gap) for x, row in zip(v, V, strict=True)]
        Q = _added(at.hessian, at.linear.hessian(V))
        q = [a + b for a, b in zip(at.gradient, at.linear.gradient(v), strict=True)]
        if at.curvature:
            Q = _added(Q, at.curvature)
        Q_uu = [row[n:] for row in Q[n:]]
        for k in range(m):
            Q_uu[k][k] = Q_uu[k][k] + damping * (fabs(Q_uu[k][k]) + _FLOOR)
        columns = [[Q[n + i][j] for i in range(m)] for j in range(n)]
        answer: BoxAnswer = (
            free_answer(Q_uu, q[n:], columns) if limits is None else within_box(Q_uu, q[n:], columns, *limits(row))
        )
        new = [[Q[i][j] + dot(columns[i], [g[j] for g in answer.gains]) for j in range(i + 1)] for i in range(n)]
        v = [q[i] + dot(columns[i], answer.d) for i in range(n)]
        for x in answer.d:
            size = fmax(size, fabs(x))
        state = (
            np.array(lower_of(new)),
            np.array(v),
            slope + dot(q[n:], answer.d),
            fmin(regular, answer.regular),
            size,
        )
        return state, (np.array(answer.d), np.array(answer.gains))

    start = (np.zeros(n * (n + 1) // 2), np.zeros(n), 0.0, 1.0, 0.0)
    (_, _, slope, regular, size), (k, K) = scan(step, start, rows, reverse=True)
    return Policy(k, K, slope, regular, size)


def lower_of(M: Sequence[Scalars]) -> list[Any]:
    """The lower triangle, row by row."""
    return [x for i, row in enumerate(M) for x in row[: i + 1]]


def mirrored_of(lower: Scalars, n: int) -> Matrix:
    """The symmetric matrix of its lower triangle, row by row."""
    return [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(n)] for i in range(n)]


def _added(A: Matrix, B: Matrix) -> Matrix:
    return [
        [y if is_zero(x) else x if is_zero(y) else x + y for x, y in zip(*rows, strict=True)]
        for rows in zip(A, B, strict=True)
    ]


RowsOfScalars = Sequence[Scalars]
_ROUNDS = 12
_LEAST = 1e-13  # of the diagonal: a smaller pivot is none


class BoxAnswer(NamedTuple):
    """d, how it goes along with columns of q (a row each number of d), and whether Q is positive definite."""

    d: list[Any]
    gains: list[list[Any]]
    regular: Any


def _factored(Q: RowsOfScalars) -> tuple[SymmetricFactors, Any]:
    """LDLᵀ of Q, and whether it is positive definite; numbers with a pivot that is not positive stay 0."""
    regular: Any = 1.0

    def inverse(k: int, pivot: Any) -> Any:
        nonlocal regular
        fine = lt(_LEAST * fabs(Q[k][k]), pivot)
        regular = where(fine, regular, 0.0)
        return where(fine, 1.0 / where(fine, pivot, 1.0), 0.0)

    factors = SymmetricFactors(Q, inverse)
    return factors, regular


def free_answer(Q: RowsOfScalars, q: Scalars, columns: RowsOfScalars) -> BoxAnswer:
    """Without bounds: d = −Q⁻¹ q, gains −Q⁻¹ C, of the columns of C."""
    factors, regular = _factored(Q)
    d = [-x for x in factors.solved(q)]
    result = [[-x for x in factors.solved(column)] for column in columns]
    return BoxAnswer(d, [list(row) for row in zip(*result, strict=True)], regular)


def within_box(Q: RowsOfScalars, q: Scalars, columns: RowsOfScalars, lower: Scalars, upper: Scalars) -> BoxAnswer:
    """With lower ≤ d ≤ upper.  Numbers at a bound do not go along with anything."""
    count = len(q)

    def split(at: Scalars) -> tuple[list[Any], list[Any]]:
        """By number: 1 where it is free, and where it is held."""
        return [where(lt(fabs(x), 0.5), 1.0, 0.0) for x in at], [
            where(lt(0.5, x), u, where(lt(x, -0.5), low, 0.0)) for x, low, u in zip(at, lower, upper, strict=True)
        ]

    def masked(free: Scalars) -> tuple[SymmetricFactors, Any]:
        rows = [
            [Q[i][j] * (free[i] * free[j]) if j < i else where(lt(0.5, free[i]), Q[i][i], 1.0) for j in range(i + 1)]
            for i in range(count)
        ]
        return _factored(rows)

    def solved(at: Scalars) -> list[Any]:
        free, held = split(at)
        b = [-(x + dot(row, held)) * f for x, row, f in zip(q, Q, free, strict=True)]
        return [x + h for x, h in zip(masked(free)[0].solved(b), held, strict=True)]

    def step(state: Any) -> Any:
        at, _, tried = state
        d = solved(at)
        new, moved = [], 0.0
        for k, old in enumerate(at):
            slope = q[k] + dot(Q[k], d)
            over = _either(lt(0.5, old), lt(slope, 0.0), lt(upper[k], d[k]))
            under = _either(lt(old, -0.5), lt(0.0, slope), lt(d[k], lower[k]))
            side = where(over, 1.0, where(under, -1.0, 0.0))
            moved = fmax(moved, fabs(side - old))
            new.append(side)
        return tuple(new), moved, tried + 1.0

    start = tuple(
        where(and_(le(u, 0.0), lt(x, 0.0)), 1.0, where(and_(le(0.0, low), lt(0.0, x)), -1.0, 0.0))
        for x, low, u in zip(q, lower, upper, strict=True)
    )
    end = while_loop(lambda s: lt(0.5, s[1]), step, (start, 1.0, 0.0), max_iterations=_ROUNDS).state
    at = list(end[0])
    free, _ = split(at)
    d = [fmin(fmax(x, low), u) for x, low, u in zip(solved(at), lower, upper, strict=True)]
    factors, regular = masked(free)
    gains = [[-x for x in factors.solved([c * f for c, f in zip(column, free, strict=True)])] for column in columns]
    return BoxAnswer(d, [list(row) for row in zip(*gains, strict=True)], regular)


def _either(condition: Any, yes: Any, no: Any) -> Any:
    """One truth value or the other."""
    return or_(and_(condition, yes), and_(not_(condition), no))
