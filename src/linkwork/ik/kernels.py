"""Compiled kernels of inverse kinematics: the search loop of a solver for one robot and its tasks.

`ProblemView` is the protocol of a problem as kernels, solvers and results see it.

Inputs: initial guess, targets, tolerances and weights (one per residual component), limits, maximum number of
iterations, and the index of the first start.  Outputs: q, errors and diagnostics.  The diagnostics are: all tasks done,
iterations, starts, largest position and orientation errors, hard tasks done, and the deviation of targets from
rotations.  A solver for soft tasks also returns the multipliers of the hard residual components.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import fabs, floor, fmax, lt, sqrt, where
from linkwork.ik.algorithms import augmented_lagrangian as augmented
from linkwork.ik.algorithms import levenberg_marquardt as levenberg
from linkwork.ik.algorithms import task_priorities as levels
from linkwork.ik.algorithms.levenberg_marquardt import SearchResult, damped, projection
from linkwork.ik.algorithms.sqp import nearest
from linkwork.ik.algorithms.task_stack import Stack, WideRows
from linkwork.ik.reach_bounds import Chain
from linkwork.ik.tasks.modifiers import counted_joints
from linkwork.ik.tasks.task import Task
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kinematics.algorithms.coordinates import LimitBox
from linkwork.model.limited_coordinates import LimitedCoordinate
from linkwork.model.periodic_coordinates import double_covers, periodic_coordinates
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = [
    "AIMED",
    "DIAGNOSTICS",
    "NEAR",
    "RESTARTED",
    "SOLVERS",
    "ProblemView",
    "Solver",
    "choose_solver",
    "residual_kernel",
    "solver_kernel",
    "target_scalars",
    "target_shapes",
]

Scalars = Sequence[Any]
Solver = Callable[..., SearchResult]

DIAGNOSTICS = ("done", "iterations", "restarts", "position_error", "orientation_error", "reached", "off")

SOLVERS: dict[str, Solver] = {
    "levenberg": levenberg.search,
    "augmented": augmented.search,
    "levels": levels.search,
    "nearest": nearest,
    "damped": damped,
    "projection": projection,
}
"""Solvers by name: functions of ``(stack, q_init, box, budget, first)``; those in `NEAR` also take q₀."""

NEAR = frozenset({"nearest"})
"""Solvers that search for the configuration nearest to a reference q₀, an argument of each call."""

AIMED = frozenset({"levenberg", "damped"})
"""Solvers that aim at the target; the others treat wide tolerances as ranges."""

RESTARTED = frozenset({"augmented", "levels"})
"""Solvers that end in a local minimum of the soft cost near one start."""


def choose_solver(caller: str, solver: str, tasks: Sequence[Task]) -> str:
    """Return the name of a solver; "auto" chooses by the tasks' levels and weights.

    Raises ValueError for unknown names.
    """
    if solver == "auto":
        if len({task.level for task in tasks}) > 1:
            return "levels"
        return "levenberg" if all(task.hard for task in tasks) else "augmented"
    if solver not in SOLVERS:
        known = ", ".join(map(repr, ("auto", *SOLVERS)))
        raise ValueError(f"{caller}: solver: expected one of {known}, got {solver!r}")
    return solver


def target_shapes(tree: Tree, tasks: Sequence[Task]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each task's target, by task name, for the tasks that have one."""
    sizes = {"nq": tree.nq, "nv": tree.nv}
    return {
        task.name: tuple(sizes[n] if isinstance(n, str) else n for n in task.target_of.shape)
        for task in tasks
        if task.target_of is not None
    }


def solver_kernel(
    tree: Tree,
    tasks: tuple[Task, ...],
    solver: str,
    bounded: frozenset[int],
    locked_dofs: frozenset[int],
    wide: WideRows,
) -> Kernel:
    """Compile a solver for tasks; ``bounded`` are indices in q with limits, ``locked_dofs`` indices in v.

    ``wide`` are groups of indices of errors with wide tolerances; the norm of each group is bounded.
    """
    shapes = target_shapes(tree, tasks)
    count = sum(len(task.component_names) for task in tasks)
    with_targets = [task for task in tasks if task.name in shapes]
    solve = SOLVERS[solver]

    def solved(
        *, q_init: Any, tolerances: Any, weights: Any, lower: Any, upper: Any, steps: Any, first: Any, **targets: Any
    ) -> Any:
        values = target_scalars(tasks, with_targets, targets)
        stack = Stack(tree, tasks, values, [*tolerances], [*weights], locked_dofs, wide=wide)
        box = LimitBox.of(tree, [*lower], [*upper], bounded, locked_dofs)
        near = [[*targets["near"]]] if solver in NEAR else []
        result = solve(stack if solver in AIMED else stack.with_ranges(), [*q_init], box, steps, first, *near)
        if solver not in NEAR:
            result = result._replace(q=_wound_as(tree, tasks, bounded, [*q_init], result.q))
        beyond = stack.beyond(stack.at(result.q).errors)
        defect: Any = 0.0
        for task, target in zip(tasks, values, strict=True):
            defect = defect + rotation_defect(task, target)  # a sum propagates NaN, fmax does not
        for x in (*q_init, *(x for q in near for x in q)):
            defect = defect + where(lt(fabs(x), math.inf), 0.0, 1.0)
        reached = result.done if result.reached is None else result.reached
        diagnostics = [result.done, result.iterations, result.starts, *_largest(stack, beyond), reached, defect]
        arrays = {"q": array(result.q), "errors": array(beyond), "diagnostics": array(diagnostics)}
        return arrays if result.multipliers is None else arrays | {"multipliers": array(result.multipliers)}

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
        **{f"target{k}": shapes[task.name] for k, task in enumerate(with_targets)},
    )


def _wound_as(tree: Tree, tasks: Sequence[Task], bounded: frozenset[int], q_init: Scalars, q: Scalars) -> list[Any]:
    """Return the configuration equivalent to q whose angles and quaternions are nearest to ``q_init``.

    Full revolutions are removed from angles without limits, and each quaternion has the sign that is nearer to
    ``q_init``. Joints whose revolutions change errors of the tasks are unchanged.
    """
    result, counted = list(q), counted_joints(tree, tasks)
    for n in np.flatnonzero(periodic_coordinates(tree, counted).in_q).tolist():
        if n not in bounded:
            result[n] = q[n] - math.tau * floor((q[n] - q_init[n]) * (1.0 / math.tau) + 0.5)
    for i, body in tree.stacked():
        start = tree.q_slices[i].start
        for group in double_covers(body.joint) if body.joint_name not in counted else ():
            coordinates = [start + k for k in group]
            away = lt(dot([q[n] for n in coordinates], [q_init[n] for n in coordinates]), 0.0)
            for n in coordinates:
                result[n] = where(away, -q[n], q[n])
    return result


def target_scalars(
    tasks: Sequence[Task], with_targets: Sequence[Task], targets: Mapping[str, Any]
) -> tuple[list[Any], ...]:
    """Return each task's target as a flat list (empty without target) from kernel inputs target0, target1, ..."""
    result = {task.name: scalars(targets[f"target{k}"]).ravel().tolist() for k, task in enumerate(with_targets)}
    return tuple(result.get(task.name, []) for task in tasks)


def residual_kernel(tree: Tree, tasks: tuple[Task, ...], locked_dofs: frozenset[int]) -> Kernel:
    """Compile the function of q and targets that returns all errors outside their ranges, and their Jacobian."""
    shapes = target_shapes(tree, tasks)
    with_targets = [task for task in tasks if task.name in shapes]

    def residual(*, q: Any, **targets: Any) -> Any:
        stack = Stack(tree, tasks, target_scalars(tasks, with_targets, targets), (), (), locked_dofs)
        at = stack.at([*q])
        return {"errors": array(stack.beyond(at.errors)), "rows": array(at.rows)}

    return compile(
        residual,
        name="inverse_kinematics_rows",
        q=(tree.nq,),
        **{f"target{k}": shapes[task.name] for k, task in enumerate(with_targets)},
    )


def _largest(stack: Stack, errors: Scalars) -> list[Any]:
    """Return the largest position and orientation error of the hard tasks."""
    sizes: dict[str, Any] = {"m": 0.0, "rad": 0.0}
    start = 0
    for task in stack.tasks:
        units = task.row_units
        task_errors = errors[start : start + len(units)]
        start += len(units)
        if task.hard:
            for unit in sizes:
                components = [x for x, u in zip(task_errors, units, strict=True) if u == unit]
                if components:
                    sizes[unit] = fmax(sizes[unit], sqrt(dot(components, components)))
    return [sizes["m"], sizes["rad"]]


def rotation_defect(task: Task, target: Scalars) -> Any:
    """Return the deviation of a target from a valid pose or rotation; infinite for values that are not finite.

    It is the sum of the magnitudes of RᵀR − 1, det R − 1 and the last row's deviation; 0 for other targets.
    """
    kind = task.target_of.kind if task.target_of is not None else ""
    defect: Any = 0.0
    for number in target:
        defect = defect + where(lt(fabs(number), math.inf), 0.0, math.inf)
    if kind not in ("pose", "rotation"):
        return defect
    width = 4 if kind == "pose" else 3
    rows = [target[width * i : width * i + 3] for i in range(3)]
    for i in range(3):
        for j in range(i + 1):
            defect = defect + fabs(dot(rows[i], rows[j]) - (1.0 if i == j else 0.0))
    x, y, z = (Vec3(*row) for row in rows)
    defect = defect + fabs(x.dot(y.cross(z)) - 1.0)
    if kind == "pose":
        for number, expected in zip(target[12:], (0.0, 0.0, 0.0, 1.0), strict=True):
            defect = defect + fabs(number - expected)
    return defect


class ProblemView(Protocol):
    """Protocol of an IK problem, as solvers and results see it: robot, tasks, tolerances, limits and kernels."""

    robot: Any
    caller: str
    tasks: tuple[Task, ...]
    solver: str
    max_iterations: int
    locked: tuple[str, ...]
    shapes: dict[str, tuple[int, ...]]
    lower: np.ndarray
    upper: np.ndarray
    position_limits: tuple[np.ndarray, np.ndarray] | None
    midrange: np.ndarray
    tolerances: np.ndarray
    wide: WideRows
    weights: np.ndarray
    finite_bounds: tuple[np.ndarray, np.ndarray]

    @property
    def kernel(self) -> Kernel:
        """Compiled solver of the problem."""

    @property
    def soft(self) -> Any:
        """Cost and completion of the soft tasks (`soft_restarts.SoftResiduals`)."""

    @property
    def locked_dofs(self) -> frozenset[int]:
        """Indices in v of the locked joints."""

    @property
    def feasibility_kernel(self) -> Kernel:
        """Compiled search for any configuration that satisfies the hard tasks."""

    @property
    def residual_kernel(self) -> Kernel:
        """Compiled residual and Jacobian of all tasks as a function of q and the targets."""

    @property
    def bounded(self) -> dict[int, int]:
        """Dict from index in v to index in q for coordinates that have limits and depend on a single velocity."""

    @property
    def limited(self) -> tuple[LimitedCoordinate, ...]:
        """Coordinates with position limits, also those of joints that close loops."""

    @property
    def scales(self) -> list[float]:
        """Weights (one per residual component) that make errors comparable."""

    @property
    def form(self) -> Any:
        """Closed form of the problem (`ClosedForm`), or None."""

    def chain(self, task: Task, *, position_limits: bool) -> Chain | None:
        """Return the kinematic chain that bounds the reach of a task's frame, or None."""

    def solve(self, q_init: Any = None, **targets: Any) -> Any:
        """Solve for targets given by task name."""

    def refuse_unless_poses(
        self, result: Any, q_init: np.ndarray, targets: Mapping[str, np.ndarray], near: Sequence[np.ndarray] = ()
    ) -> None:
        """Raise ValueError if the kernel reports an input that is not finite or a target that is not a rotation."""
