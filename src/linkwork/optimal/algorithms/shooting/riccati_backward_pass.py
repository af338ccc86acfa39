"""Riccati backward pass of DDP/iLQR: quadratic cost to go and feedback policy, with box limits of controls.

With the Hessian L and gradient l of a step's cost with respect to (x, u), its Jacobian F, and the Hessian V and
gradient v of the cost to go at the next state,

    Q = L + FᵀV F,   q = l + Fᵀ(v + V d),      du = k + K dx,   k = −Q_uu⁻¹ q_u,   K = −Q_uu⁻¹ Q_ux,
    V ← Q_xx + Q_xu K,      v ← q_x + Q_xu k,

where d is the gap between the end of a step and the beginning of the next.  Damping multiplies the diagonal of Q_uu by
1 + μ and shortens steps.  Within limits, k is the optimum in its box, and controls at a bound have zero gains.

Sources: Mayne, A second-order gradient method for determining optimal trajectories, Int. J. Control 3, 1966; Tassa,
Mansard and Todorov, ICRA 2014; Mastalli et al., Crocoddyl, ICRA 2020 (gaps).

The box-constrained minimum of ½ dᵀQ d + qᵀd, and its derivative with respect to q, are computed by a primal–dual
active-set method.  Components beyond a bound, or pushed against a bound, are fixed at this bound; the other components
solve the remaining equations.  This is repeated until the set of fixed components does not change.

Sources: Tassa, Mansard and Todorov, Control-limited differential dynamic programming, ICRA 2014; Hintermüller, Ito and
Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIAM J. Optim. 13, 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control.loops import map_rows, while_loop
from linkwork.expr.control.stored_scans import scan_stored
from linkwork.expr.linalg.matrix_product import large_product
from linkwork.expr.linalg.sparse_dot import dot, is_zero, mirrored_of, negated, transposed
from linkwork.expr.linalg.triangular_factors import SymmetricFactors
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, where
from linkwork.optimal.algorithms.shooting.step_dynamics import LinearStep

__all__ = ["Policy", "StepModel", "backward_pass"]


Scalars = Sequence[Any]
Matrix = list[list[Any]]
_FLOOR = 1e-12  # of the largest entry of the diagonal: added to it for damping, as controls may have no effect
_LARGE = 5000  # multiplications from which on products with gains, and their solution, are loops


class StepModel(NamedTuple):
    """Quadratic model of a step: its cost in state and control, its linear dynamics, and its cost in the next state.

    ``reached_gradient`` and ``reached_hessian`` belong to the next state. ``gap`` is the difference between the end of
    the step and the beginning of the next.
    """

    linear: LinearStep
    gradient: list[Any]  # by (x, u)
    hessian: Matrix
    reached_gradient: list[Any]
    reached_hessian: Matrix
    gap: list[Any]  # empty without gaps
    curvature: Sequence[Matrix]  # of the dynamics, weighted with costates, in parts; empty if omitted


class Policy(NamedTuple):
    """Feedback policy du = k + K dx of all T steps, with k (T, m) and K (T, m, n).

    ``slope`` is Σ q_uᵀ k over all steps, the derivative of the cost along k, where q_u is the gradient in the controls.
    ``regular`` is 1 if the damped Hessian Q_uu of every step, without the controls at a limit, is positive definite,
    else 0. ``size`` is the largest absolute value of k.
    """

    k: Any
    K: Any
    slope: Any
    regular: Any
    size: Any  # largest absolute value of k


def backward_pass(
    model: Callable[[Any], StepModel],
    stored: tuple[Any, ...],
    u: Any,
    n: int,
    m: int,
    damping: Any,
    limits: Callable[[Any], tuple[list[Any], list[Any]]] | None,
) -> Policy:
    """Return the feedback policy of all steps, by the Riccati backward pass from the last step to the first.

    ``model(row)`` returns the quadratic model of a step from its row of ``stored``, which `scan_storing` has stored.
    ``limits(u)`` returns the lower and upper bounds of du from a step's controls. ``u`` (T, m) are the controls of all
    steps, and ``n`` and ``m`` the sizes of dx and u.
    """

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        lower, v, slope, regular, size = state
        row, u = row
        at = model(row)
        V = mirrored_of(list(lower), n)
        V = [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(V, at.reached_hessian, strict=True)]
        v = [a + b for a, b in zip(v, at.reached_gradient, strict=True)]
        if at.gap:
            v = [x + dot(row, at.gap) for x, row in zip(v, V, strict=True)]
        Q = _added(at.hessian, at.linear.hessian(V, at.curvature))
        q = [a + b for a, b in zip(at.gradient, at.linear.gradient(v), strict=True)]
        Q_uu = [row[n:] for row in Q[n:]]
        largest: Any = reduce(fmax, (fabs(Q_uu[k][k]) for k in range(m)), 0.0)
        floor = _FLOOR * where(lt(0.0, largest), largest, 1.0)
        for k in range(m):
            Q_uu[k][k] = Q_uu[k][k] + damping * (fabs(Q_uu[k][k]) + floor)
        columns = [[Q[n + i][j] for i in range(m)] for j in range(n)]
        solution: BoxSolution = (
            unconstrained_solution(Q_uu, q[n:], columns)
            if limits is None
            else box_solution(Q_uu, q[n:], columns, *limits(u))
        )
        new = _lower_sum(Q, columns, solution.gains)
        v = [q[i] + dot(columns[i], solution.d) for i in range(n)]
        size = reduce(fmax, map(fabs, solution.d), size)
        state = (
            np.array([x for row in new for x in row]),
            np.array(v),
            slope + dot(q[n:], solution.d),
            fmin(regular, solution.regular),
            size,
        )
        return state, (np.array(solution.d), np.array(solution.gains))

    start = (np.zeros(n * (n + 1) // 2), np.zeros(n), 0.0, 1.0, 0.0)
    (_, _, slope, regular, size), (k, K) = scan_stored(step, start, stored, u, reverse=True)
    return Policy(k, K, slope, regular, size)


def _lower_sum(Q: Matrix, columns: Matrix, gains: Matrix) -> Matrix:
    """Return the rows of the lower triangle of Q_xx + Q_xu K, the Hessian of the cost to go.

    Q is the Hessian of a step's cost in state and control. ``columns`` are those of its block Q_ux, and ``gains`` are
    K.
    """
    n = len(columns)
    if n * n * len(gains) > _LARGE:
        changes = large_product(columns, gains)
        return [[Q[i][j] + changes[i][j] for j in range(i + 1)] for i in range(n)]
    return [[Q[i][j] + dot(columns[i], [g[j] for g in gains]) for j in range(i + 1)] for i in range(n)]


def _added(A: Matrix, B: Matrix) -> Matrix:
    return [
        [y if is_zero(x) else x if is_zero(y) else x + y for x, y in zip(*rows, strict=True)]
        for rows in zip(A, B, strict=True)
    ]


RowsOfScalars = Sequence[Scalars]
_MAX_ITERATIONS = 12  # of the active-set method
_MIN_PIVOT = 1e-13  # relative to the diagonal


class BoxSolution(NamedTuple):
    """Minimum d of ½ dᵀQ d + qᵀd, within bounds if there are any, and its derivatives.

    ``gains`` are the derivatives of d if q changes by the columns of a matrix C, with a row for each component of d.
    ``regular`` is 1 if Q, without the components at a bound, is positive definite, else 0.
    """

    d: list[Any]
    gains: list[list[Any]]
    regular: Any


def _factored(Q: RowsOfScalars) -> tuple[SymmetricFactors, Any]:
    """Return the factors LDLᵀ of Q, and 1 if Q is positive definite, else 0.

    The inverse of a pivot that is not positive is replaced by 0.
    """
    regular: Any = 1.0

    def inverse(k: int, pivot: Any) -> Any:
        nonlocal regular
        is_regular = lt(_MIN_PIVOT * fabs(Q[k][k]), pivot)
        regular = where(is_regular, regular, 0.0)
        return where(is_regular, 1.0 / where(is_regular, pivot, 1.0), 0.0)

    factors = SymmetricFactors(Q, inverse)
    return factors, regular


def unconstrained_solution(Q: RowsOfScalars, q: Scalars, columns: RowsOfScalars) -> BoxSolution:
    """Return the minimum d = −Q⁻¹ q of ½ dᵀQ d + qᵀd, and its derivatives −Q⁻¹ C if q changes by the columns of C."""
    factors, regular = _factored(Q)
    d = [-x for x in factors.solved(q)]
    return BoxSolution(d, _solved_columns(factors, negated(columns)), regular)


def _solved_columns(factors: SymmetricFactors, columns: RowsOfScalars) -> Matrix:
    """Return the solution X of Q X = C, row by row, from the ``columns`` of C."""
    is_large = len(columns) * len(columns[0]) ** 2 > _LARGE
    return transposed(map_rows(factors.solved, columns, in_loops=is_large, alike=True))


def box_solution(Q: RowsOfScalars, q: Scalars, columns: RowsOfScalars, lower: Scalars, upper: Scalars) -> BoxSolution:
    """Return the minimum d of ½ dᵀQ d + qᵀd with lower ≤ d ≤ upper, and its derivatives if q changes by ``columns``.

    Components at a bound have zero derivatives.
    """
    count = len(q)

    def split(at: Scalars) -> tuple[list[Any], list[Any]]:
        """Return a mask with 1 for free components, and the bounds of the fixed components (0 for free ones).

        ``at`` has 1 for a component at its upper bound, −1 at its lower bound, else 0.
        """
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
        free, fixed = split(at)
        b = [-(x + dot(row, fixed)) * f for x, row, f in zip(q, Q, free, strict=True)]
        return [x + h for x, h in zip(masked(free)[0].solved(b), fixed, strict=True)]

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
    end = while_loop(lambda s: lt(0.5, s[1]), step, (start, 1.0, 0.0), max_iterations=_MAX_ITERATIONS).state
    at = list(end[0])
    free, _ = split(at)
    d = [fmin(fmax(x, low), u) for x, low, u in zip(solved(at), lower, upper, strict=True)]
    factors, regular = masked(free)
    sides = [[-(c * f) for c, f in zip(column, free, strict=True)] for column in columns]
    return BoxSolution(d, _solved_columns(factors, sides), regular)


def _either(condition: Any, yes: Any, no: Any) -> Any:
    """Return the condition "``yes`` if ``condition`` is true, else ``no``"; all three are conditions."""
    return or_(and_(condition, yes), and_(not_(condition), no))
