"""Kernels of inverse kinematics: a solver's loop, made for a robot and its tasks.

A kernel takes the seed, the targets, tolerances and weights by row, limits, how many steps it may take, and the number
of the first start; it gives q, errors by row, and what there is to tell: whether all is done, steps, starts, the
largest position and orientation errors, whether hard tasks are done, and by how much targets are no rotations.  A
solver that knows soft tasks gives the multipliers of hard rows, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import fabs, fmax, lt, sqrt, where
from linkwork.ik.algorithms import augmented_lagrangian as augmented
from linkwork.ik.algorithms import levenberg_marquardt as levenberg
from linkwork.ik.algorithms import task_priorities as levels
from linkwork.ik.algorithms.levenberg_marquardt import SearchFound
from linkwork.ik.algorithms.newton_projection import damped, projection
from linkwork.ik.algorithms.sqp import nearest
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.tasks.task import Task
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kinematics.algorithms.coordinates import LimitBox
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = [
    "NEAR",
    "RESTARTED",
    "SOLVERS",
    "TOLD",
    "Solver",
    "aims_of",
    "looking_kernel",
    "solver_kernel",
    "target_shapes",
]

Scalars = Sequence[Any]
Solver = Callable[..., SearchFound]

TOLD = ("done", "iterations", "restarts", "position_error", "orientation_error", "reached", "off")

SOLVERS: dict[str, Solver] = {
    "levenberg": levenberg.search,
    "augmented": augmented.search,
    "levels": levels.search,
    "nearest": nearest,
    "damped": damped,
    "projection": projection,
}
"""By name: ``(stack, seed, box, budget, first)`` to what was found; those that are `NEAR` also take q₀."""

NEAR = frozenset({"nearest"})
"""Solvers that look for what is near a configuration, which comes with each call."""


RESTARTED = frozenset({"augmented", "levels"})
"""Solvers that end in a minimum of what soft tasks cost near one start."""


def target_shapes(tree: Tree, tasks: Sequence[Task]) -> dict[str, tuple[int, ...]]:
    """By task that aims at something: the shape of that."""
    sizes = {"nq": tree.nq, "nv": tree.nv}
    return {
        task.name: tuple(sizes[n] if isinstance(n, str) else n for n in task.target_of.shape)
        for task in tasks
        if task.target_of is not None
    }


def solver_kernel(
    tree: Tree, tasks: tuple[Task, ...], solver: str, bounded: frozenset[int], still: frozenset[int]
) -> Kernel:
    """The kernel of a solver for tasks, with bounds on these numbers of q, and these velocities held."""
    shapes = target_shapes(tree, tasks)
    count = sum(len(task.component_names) for task in tasks)
    aimed = [task for task in tasks if task.name in shapes]
    solve = SOLVERS[solver]

    def solved(
        *, q_init: Any, tolerances: Any, weights: Any, lower: Any, upper: Any, steps: Any, first: Any, **targets: Any
    ) -> Any:
        numbers = aims_of(tasks, aimed, targets)
        stack = Stack(tree, tasks, numbers, [*tolerances], [*weights], still)
        box = LimitBox.of(tree, [*lower], [*upper], bounded, still)
        near = [[*targets["near"]]] if solver in NEAR else []
        result = solve(stack, [*q_init], box, steps, first, *near)
        beyond = stack.beyond(stack.at(result.q).errors)
        off: Any = 0.0
        for task, target in zip(tasks, numbers, strict=True):
            off = off + off_by(task, target)  # which NaN goes through, as it does not through fmax
        for x in (*q_init, *(x for q in near for x in q)):
            off = off + where(lt(fabs(x), math.inf), 0.0, 1.0)
        reached = result.done if result.reached is None else result.reached
        told = [result.done, result.iterations, result.starts, *_largest(stack, beyond), reached, off]
        given = {"q": array(result.q), "errors": array(beyond), "told": array(told)}
        return given if result.multipliers is None else given | {"multipliers": array(result.multipliers)}

    return compile(
        solved,
        name=f"inverse_kinematics_{solver}",
        q_init=(tree.nq,),
        tolerances=(count,),
        weights=(count,),
        lower=(tree.nq,),
        upper=(tree.nq,),
        steps=(),
        first=(),
        **({"near": (tree.nq,)} if solver in NEAR else {}),
        **{f"target{k}": shapes[task.name] for k, task in enumerate(aimed)},
    )


def aims_of(tasks: Sequence[Task], aimed: Sequence[Task], targets: Mapping[str, Any]) -> tuple[list[Any], ...]:
    """By task: the numbers of what it aims at, none where that is nothing, of a kernel's inputs target0, target1 ..."""
    result = {task.name: scalars(targets[f"target{k}"]).ravel().tolist() for k, task in enumerate(aimed)}
    return tuple(result.get(task.name, []) for task in tasks)


def looking_kernel(tree: Tree, tasks: tuple[Task, ...], still: frozenset[int]) -> Kernel:
    """Errors of all tasks, beyond their ranges, and rows, by q and targets."""
    shapes = target_shapes(tree, tasks)
    aimed = [task for task in tasks if task.name in shapes]

    def looked(*, q: Any, **targets: Any) -> Any:
        stack = Stack(tree, tasks, aims_of(tasks, aimed, targets), (), (), still)
        at = stack.at([*q])
        return {"errors": array(stack.beyond(at.errors)), "rows": array(at.rows)}

    return compile(
        looked,
        name="inverse_kinematics_rows",
        q=(tree.nq,),
        **{f"target{k}": shapes[task.name] for k, task in enumerate(aimed)},
    )


def _largest(stack: Stack, errors: Scalars) -> list[Any]:
    """The longest position error and the largest orientation error of the hard tasks, of a task's rows together."""
    sizes: dict[str, Any] = {"m": 0.0, "rad": 0.0}
    start = 0
    for task in stack.tasks:
        units = task.row_units
        own = errors[start : start + len(units)]
        start += len(units)
        if task.hard:
            for unit in sizes:
                part = [x for x, u in zip(own, units, strict=True) if u == unit]
                if part:
                    sizes[unit] = fmax(sizes[unit], sqrt(dot(part, part)))
    return [sizes["m"], sizes["rad"]]


def off_by(task: Task, target: Scalars) -> Any:
    """By how much a target is no pose or rotation: what RᵀR − 1, det R − 1 and the last row add up to; infinite where a
    number is not finite.
    """
    kind = task.target_of.kind if task.target_of is not None else ""
    off: Any = 0.0
    for number in target:
        off = off + where(lt(fabs(number), math.inf), 0.0, math.inf)
    if kind not in ("pose", "rotation"):
        return off
    width = 4 if kind == "pose" else 3
    rows = [target[width * i : width * i + 3] for i in range(3)]
    for i in range(3):
        for j in range(i + 1):
            off = off + fabs(dot(rows[i], rows[j]) - (1.0 if i == j else 0.0))
    x, y, z = (Vec3(*row) for row in rows)
    off = off + fabs(x.dot(y.cross(z)) - 1.0)
    if kind == "pose":
        for number, one in zip(target[12:], (0.0, 0.0, 0.0, 1.0), strict=True):
            off = off + fabs(number - one)
    return off
