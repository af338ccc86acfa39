"""The backward sweep: what is left to pay from a state on, as a quadratic function, and the control that pays least.

With the Hessian and the gradient of a step's cost by (x, u), and V, v of the state that it leads to,

    Q = L + FᵀV F,   q = l + Fᵀ(v + V d),      du = k + K dx,   k = −Q_uu⁻¹ q_u,   K = −Q_uu⁻¹ Q_ux,
    V ← Q_xx + Q_xu K,      v ← q_x + Q_xu k,

d being the gap between where a step leads and where the next begins.  Damping, μ on the diagonal of Q_uu as a part of
it, makes steps short.  Within limits, k is the best in its box, and what is at a bound has no gain.

Sources: Mayne, A second-order gradient method for determining optimal trajectories, Int. J. Control 3, 1966; Tassa,
Mansard and Todorov, ICRA 2014; Mastalli et al., Crocoddyl, ICRA 2020 (gaps).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control.loops import scan
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fabs, fmax, fmin
from linkwork.optimal.algorithms.shooting.riccati_backward_pass_box import BoxAnswer, free_answer, within_box
from linkwork.optimal.algorithms.shooting.step_dynamics_linear import LinearStep

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
        found: BoxAnswer = (
            free_answer(Q_uu, q[n:], columns) if limits is None else within_box(Q_uu, q[n:], columns, *limits(row))
        )
        new = [[Q[i][j] + dot(columns[i], [g[j] for g in found.gains]) for j in range(i + 1)] for i in range(n)]
        v = [q[i] + dot(columns[i], found.d) for i in range(n)]
        for x in found.d:
            size = fmax(size, fabs(x))
        state = (np.array(lower_of(new)), np.array(v), slope + dot(q[n:], found.d), fmin(regular, found.regular), size)
        return state, (np.array(found.d), np.array(found.gains))

    start = (np.zeros(n * (n + 1) // 2), np.zeros(n), 0.0, 1.0, 0.0)
    (_, _, slope, regular, size), (k, K) = scan(step, start, rows, backward=True)
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
