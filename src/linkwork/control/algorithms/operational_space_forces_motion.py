"""How tasks move: their errors e, the rows J of their rates, and J̇ v, what they accelerate by themselves.

J̇ v is the derivative of J(q) v along q̇(v), v held: by dual numbers, in one direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import Directions
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.algorithms.task_stack_state import TaskState
from linkwork.kinematics.algorithms.configuration_manifold_rates import velocity_to_configuration_derivative
from linkwork.model.tree import Tree

__all__ = ["TaskMotion", "drift_along", "task_motion"]

Scalars = Sequence[Any]


class TaskMotion(NamedTuple):
    """e, J by rows, and J̇ v; J v, of which tasks may tell more than J has rows."""

    errors: list[Any]
    rows: list[list[Any]]
    drifts: list[Any]
    rates: list[list[Any]]  # by task


def task_motion(stack: Stack, q: Scalars, v: Scalars) -> TaskMotion:
    """Of all tasks, one row after the other, by the rows with which controllers move them."""
    q_dot = velocity_to_configuration_derivative(stack.tree, q, v)
    moving = seeded(list(q), [Directions({0: x}) for x in q_dot])
    level = moving[0].level
    k = TaskState(stack.tree, moving)

    def split(x: Any) -> tuple[Any, Any]:
        value, tangent = parts(x, level)
        return value, tangent.get(0) if isinstance(tangent, Directions) else 0.0

    found = TaskMotion([], [], [], [])
    for task, target in zip(stack.tasks, stack.targets, strict=True):
        at = task.moving_rows(k, target)
        both = [[split(x) for x in row] for row in at.rows]
        rows = [[x for x, _ in row] for row in both]
        m = len(at.errors)
        found.errors.extend(split(x)[0] for x in at.errors)
        found.rows.extend(rows[:m])
        found.drifts.extend(dot([x for _, x in row], v) for row in both[:m])
        found.rates.append([dot(row, v) for row in rows])
    return found


def drift_along(tree: Tree, rows: Callable[[Scalars], list[list[Any]]], q: Scalars, v: Scalars) -> list[Any]:
    """J̇ v of rows that are a function of q."""
    moving = seeded(list(q), [Directions({0: x}) for x in velocity_to_configuration_derivative(tree, q, v)])
    level = moving[0].level

    def rate(x: Any) -> Any:
        tangent = parts(x, level)[1]
        return tangent.get(0) if isinstance(tangent, Directions) else 0.0

    return [dot([rate(x) for x in row], v) for row in rows(moving)]
