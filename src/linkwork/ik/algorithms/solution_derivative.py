"""Derivative of an IK solution by the implicit-function theorem, independent of how it was computed.

A solution q with e(q, p) = 0 moves with p by the smallest step that preserves it,

    δq = −J⁺ e_p δp,

exact where J is square and regular.  For a redundant robot it is one of many, as is the solution itself.  The nearest
configuration to q₀ satisfies ∇½‖q ⊖ q₀‖² + Jᵀλ = 0 and e = 0:

    ( K  Jᵀ ) ( δq )       ( ∇_p δp )
    ( J  0  ) ( δλ )  =  − ( e_p δp ),      K = ∂/∂q (∇½‖q ⊖ q₀‖² + Jᵀλ),

exact at a strict minimum.  An error with a range is an equation at an end of the range, and none inside.  Locked
coordinates and those at their limits stay fixed: this is correct where a limit is strictly active, and one-sided where
it is only touched.  Singular equations are solved in the least-squares sense with minimum norm; the result is finite
but not a derivative.

A Newton step of these equations, from the solution as a constant, is zero and has this derivative.

Source: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, 1983.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.autodiff.custom_derivative import stop_gradient, with_derivative_of
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, product, transposed
from linkwork.expr.scalar.functions import le, lt, or_, where
from linkwork.expr.scalar.symbol import Symbol
from linkwork.ik.algorithms.joint_bounds import nearest, times
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox

__all__ = ["differentiable_solution", "newton_step_at_solution"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_AT_END = 1e-6  # [m, rad] distance from an end of a range at which the end is active
_STEPS = 10  # refinement steps of the normal equations, whose singular values are squared


def _constant(values: Scalars) -> list[Any]:
    return stop_gradient(values) if any(x.__class__ is Symbol for x in values) else list(values)


def differentiable_solution(stack: Stack, q: Scalars, box: LimitBox, near: Scalars | None = None) -> list[Any]:
    """Return the solution q unchanged, with derivatives by the implicit-function theorem attached.

    They are derivatives with respect to the targets, the reference configuration ``near`` and the robot's parameters.
    """
    if not all(x.__class__ in (Symbol, float) for x in q) or all(x.__class__ is float for x in q):
        return list(q)
    constant_q = _constant(q)
    return with_derivative_of(
        constant_q, integrate(stack.tree, constant_q, newton_step_at_solution(stack, constant_q, box, near))
    )


def newton_step_at_solution(stack: Stack, q: Scalars, box: LimitBox, near: Scalars | None = None) -> list[Any]:
    """Return the Newton step (nv) at a solution q: it is zero, and its derivative is that of the solution."""
    q = _constant(q)
    weights = stack.all_weights()
    hard = [i for i, hard in enumerate(stack.hard) if hard]
    at = stack.at(q)
    free = _free(stack, box, q)
    beyond, weights = _at_ends(stack, at.errors, weights)
    J = [[times(x, times(a, weights[i])) for x, a in zip(at.rows[i], free, strict=True)] for i in hard]
    errors = [times(beyond[i], weights[i]) for i in hard]
    if near is None:
        rows = [_constant(row) for row in J]
        A = Semidefinite.of([_constant(row) for row in product(rows, transposed(rows))])
        multipliers = A.solved([-e for e in errors])
        return [dot(column, multipliers) for column in transposed(rows)]
    n, m = stack.tree.nv, len(hard)
    gradient = _distance_gradient(stack, q, near, free)
    normal = Semidefinite.of([_constant(row) for row in product(J, transposed(J))])
    multipliers = _constant(normal.solved([-x for x in _constant([dot(row, gradient) for row in J])]))
    lagrangian_gradient = [x + dot(column, multipliers) for x, column in zip(gradient, transposed(J), strict=True)]
    K = _curvature(stack, q, near, multipliers, hard, weights, free)
    M = [[*(K[i]), *(row[i] for row in J)] for i in range(n)] + [[*row, *([0.0] * m)] for row in J]
    M = [_constant(row) for row in M]
    b = [*lagrangian_gradient, *errors]
    squares = Semidefinite.of([_constant(row) for row in product(transposed(M), M)])
    result = squares.solved([-dot(column, b) for column in transposed(M)], steps=_STEPS)
    return [times(x, a) for x, a in zip(result[:n], free, strict=True)]


def _at_ends(stack: Stack, errors: Scalars, weights: Scalars) -> tuple[list[Any], list[Any]]:
    """Return the errors relative to the ends of their ranges, and the weights, which are 0 inside of the ranges."""
    beyond, result = stack.beyond(errors), list(weights)
    for i, ((low, high), ranged) in enumerate(zip(stack.ranges, stack.ranged, strict=True)):
        if ranged:
            (x,) = _constant([errors[i]])
            beyond[i] = errors[i] - nearest(x, low, high)
            result[i] = where(or_(lt(x, low + _AT_END), lt(high - _AT_END, x)), weights[i], 0.0)
    return beyond, result


def _free(stack: Stack, box: LimitBox, q: Scalars) -> list[Any]:
    """Return for each coordinate of v 0 if it is locked or at a limit, else 1."""
    free: list[Any] = [0.0 if k in stack.locked_dofs else 1.0 for k in range(stack.tree.nv)]
    for k, n in box.indices.items():
        free[k] = where(or_(le(q[n], box.lower[n]), le(box.upper[n], q[n])), 0.0, 1.0)
    return [x if x.__class__ is float else _constant([x])[0] for x in free]


def _distance_gradient(stack: Stack, q: Scalars, near: Scalars, free: Scalars) -> list[Any]:
    """Return ∇½‖q ⊖ q₀‖² of the free coordinates."""
    return [times(-x, a) for x, a in zip(difference(stack.tree, q, near), free, strict=True)]


def _curvature(
    stack: Stack, q: Scalars, near: Scalars, multipliers: Scalars, hard: Sequence[int], weights: Scalars, free: Scalars
) -> list[list[Any]]:
    """Return the derivative (nv, nv) of ∇½‖q ⊖ q₀‖² + Jᵀλ by q, with 1 on the diagonal of fixed coordinates."""
    n = stack.tree.nv
    columns = []
    for k in range(n):
        displacement = seeded([0.0] * n, [1.0 if j == k else 0.0 for j in range(n)])
        moved, level = integrate(stack.tree, q, displacement), displacement[0].level
        at = stack.at(moved)
        gradient = _distance_gradient(stack, moved, near, free)
        column = []
        for j in range(n):
            entry = gradient[j]
            for i, multiplier in zip(hard, multipliers, strict=True):
                entry = entry + times(at.rows[i][j], times(free[j], weights[i])) * multiplier
            change = parts(entry, level)[1]
            column.append(times(change, free[k]) + (times(1.0, 1.0 - free[k]) if j == k else 0.0))
        columns.append(column)
    return transposed(columns)
