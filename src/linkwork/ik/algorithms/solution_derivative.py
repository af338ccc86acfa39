"""The derivative of an answer of inverse kinematics, whatever the way to it was: the implicit-function theorem.

An answer q with e(q, p) = 0 moves with p by the least step that keeps it so,

    δq = −J⁺ e_p δp,

exact where J is square and regular; of a redundant robot one of many, as the search promises none.  The nearest one to
q₀ keeps its conditions ∇½‖q ⊖ q₀‖² + Jᵀλ = 0, e = 0:

    ( K  Jᵀ ) ( δq )       ( ∇_p δp )
    ( J  0  ) ( δλ )  =  − ( e_p δp ),      K = ∂/∂q (∇½‖q ⊖ q₀‖² + Jᵀλ),

which is exact where the minimum is strict.  What is held or at its limit stays there: so it is where it is pressed
against it, and from one side where it only touches.  Where the equations are singular the least of all solutions is
given, of squares where there is none; that is finite, and no derivative.

A Newton step of these equations, from the answer as a number without derivatives, is zero and has this derivative.

Source: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, 1983.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.autodiff.custom_derivative import moved_as, still
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, product, transposed
from linkwork.expr.scalar.functions import le, or_, where
from linkwork.expr.scalar.symbol import Symbol
from linkwork.ik.algorithms.joint_bounds import times
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox

__all__ = ["answer_step", "answered"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_STEPS = 10  # of squares, whose singular numbers are squares too


def _still(numbers: Scalars) -> list[Any]:
    return still(numbers) if any(x.__class__ is Symbol for x in numbers) else list(numbers)


def answered(stack: Stack, q: Scalars, box: LimitBox, near: Scalars | None = None) -> list[Any]:
    """q, which knows how it is differentiated by targets, by what it is near to, and by the robot's numbers."""
    if not all(x.__class__ in (Symbol, float) for x in q) or all(x.__class__ is float for x in q):
        return list(q)
    resting = _still(q)
    return moved_as(resting, integrate(stack.tree, resting, answer_step(stack, resting, box, near)))


def answer_step(stack: Stack, q: Scalars, box: LimitBox, near: Scalars | None = None) -> list[Any]:
    """A Newton step (nv) at an answer q, whose derivative is that of the answer."""
    q = _still(q)
    weights = stack.counted()
    hard = [i for i, hard in enumerate(stack.hard) if hard]
    at = stack.at(q)
    free = _free(stack, box, q)
    J = [[times(x, times(a, weights[i])) for x, a in zip(at.rows[i], free, strict=True)] for i in hard]
    beyond = stack.beyond(at.errors)
    errors = [times(beyond[i], weights[i]) for i in hard]
    if near is None:
        rows = [_still(row) for row in J]
        A = Semidefinite.of([_still(row) for row in product(rows, transposed(rows))])
        forces = A.solved([-e for e in errors])
        return [dot(column, forces) for column in transposed(rows)]
    n, m = stack.tree.nv, len(hard)
    pull = _pull(stack, q, near, free)
    normal = Semidefinite.of([_still(row) for row in product(J, transposed(J))])
    forces = _still(normal.solved([-x for x in _still([dot(row, pull) for row in J])]))
    slopes = [x + dot(column, forces) for x, column in zip(pull, transposed(J), strict=True)]
    K = _curvature(stack, q, near, forces, hard, weights, free)
    M = [[*(K[i]), *(row[i] for row in J)] for i in range(n)] + [[*row, *([0.0] * m)] for row in J]
    M = [_still(row) for row in M]
    b = [*slopes, *errors]
    squares = Semidefinite.of([_still(row) for row in product(transposed(M), M)])
    result = squares.solved([-dot(column, b) for column in transposed(M)], steps=_STEPS)
    return [times(x, a) for x, a in zip(result[:n], free, strict=True)]


def _free(stack: Stack, box: LimitBox, q: Scalars) -> list[Any]:
    """By velocity: 0 of what is held or at a limit, else 1."""
    free: list[Any] = [0.0 if k in stack.locked_dofs else 1.0 for k in range(stack.tree.nv)]
    for k, n in box.numbers.items():
        free[k] = where(or_(le(q[n], box.lower[n]), le(box.upper[n], q[n])), 0.0, 1.0)
    return [x if x.__class__ is float else _still([x])[0] for x in free]


def _pull(stack: Stack, q: Scalars, near: Scalars, free: Scalars) -> list[Any]:
    """∇½‖q ⊖ q₀‖² of what is free."""
    return [times(-x, a) for x, a in zip(difference(stack.tree, q, near), free, strict=True)]


def _curvature(
    stack: Stack, q: Scalars, near: Scalars, forces: Scalars, hard: Sequence[int], weights: Scalars, free: Scalars
) -> list[list[Any]]:
    """K (nv × nv), 1 on the diagonal of what is not free."""
    n = stack.tree.nv
    columns = []
    for k in range(n):
        way = seeded([0.0] * n, [1.0 if j == k else 0.0 for j in range(n)])
        moved, level = integrate(stack.tree, q, way), way[0].level
        at = stack.at(moved)
        pull = _pull(stack, moved, near, free)
        column = []
        for j in range(n):
            slope = pull[j]
            for i, force in zip(hard, forces, strict=True):
                slope = slope + times(at.rows[i][j], times(free[j], weights[i])) * force
            change = parts(slope, level)[1]
            column.append(times(change, free[k]) + (times(1.0, 1.0 - free[k]) if j == k else 0.0))
        columns.append(column)
    return transposed(columns)
