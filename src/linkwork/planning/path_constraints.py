"""What is to hold along a way: tasks, constraints and a robot's own loops, as errors and as a projection.

A configuration is brought to where all holds by steps of least length, q ⊕ −Jᵀ(JJᵀ + μ)⁻¹ e, within limits: inverse
kinematics of the solver "projection".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from linkwork._util.validation import number, shown
from linkwork.constraints import Constraint
from linkwork.ik.arguments import OWN
from linkwork.ik.ik_problem import IKProblem
from linkwork.ik.tasks.modifiers import ConstraintTask
from linkwork.ik.tasks.task import Task

__all__ = ["KeptTasks"]

_STEPS = 40  # of a projection


class KeptTasks:
    """Errors that have to vanish along a way, or stay within ranges, and the nearest configurations where they do.

    ``bound`` [m, rad] is what may be left of them between way points; at way points it is the tasks' own tolerance.
    """

    def __init__(self, robot: Any, keep: Any, *, bound: float, limits: tuple[np.ndarray, np.ndarray], who: str) -> None:
        self.robot, self.who = robot, who
        self.bound = _bound(who, bound)
        tasks = _asked(who, robot, keep)
        self.problem = IKProblem(robot, tasks, solver="projection", at_most=_STEPS, limits=limits, who=who)
        for task in self.problem.tasks:
            _check(who, task)
        self.names = tuple(name for task in self.problem.tasks for name in task.row_names)
        self.units = tuple(unit for task in self.problem.tasks for unit in task.row_units)
        tolerances = np.asarray(self.problem.tolerances, dtype=float)
        rows = np.array([x for task in self.problem.tasks for x in task.tolerances_of(self.bound)])
        self.bounds = np.where(np.isinf(tolerances), np.inf, rows)
        if (tolerances > 0.5 * self.bounds)[np.isfinite(tolerances)].any():
            k = int(np.argmax(np.where(np.isfinite(tolerances), tolerances / self.bounds, 0.0)))
            raise ValueError(
                f"{who}: keep_tolerance: {self.names[k]!r} is held to {tolerances[k]:.3g} at way points: between them "
                f"expected at least {2.0 * tolerances[k]:.3g}, got {self.bounds[k]:.3g}"
            )

    def size(self, q: np.ndarray) -> np.ndarray:
        """The largest error by its bound (...), of configurations (..., nq): up to 1 all is kept."""
        found: np.ndarray = (np.abs(self.problem.errors_and_rows(q)[0]) / self.bounds).max(axis=-1)
        return found

    def projected(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Configurations near those (..., nq) in which all holds, and whether there are such."""
        if not q.size:
            return q, np.ones(q.shape[:-1], dtype=bool)
        found = self.problem.solve(q)
        return found.q, np.asarray(found.success)

    def dimension(self, q: np.ndarray) -> int:
        """How many directions of velocity are left in a configuration (nq,)."""
        rows = self.problem.errors_and_rows(q)[1][self._equalities]
        return int(self.robot.nv - np.linalg.matrix_rank(rows, tol=1e-9)) if len(rows) else int(self.robot.nv)

    @property
    def _equalities(self) -> np.ndarray:
        ranges = [pair for task in self.problem.tasks for pair in task.ranges]
        return np.array([low == high for low, high in ranges]) & np.isfinite(self.bounds)

    def violation(self, q: np.ndarray) -> str | None:
        """What a configuration (nq,) violates most, by how much; nothing where all is kept."""
        errors = np.abs(self.problem.errors_and_rows(q)[0])
        worst = int(np.argmax(errors / self.bounds))
        if errors[worst] <= self.bounds[worst]:
            return None
        unit = "" if self.units[worst] == "1" else f" {self.units[worst]}"
        return f"{self.names[worst]!r} is off by {errors[worst]:.3g}{unit}, and {self.bounds[worst]:.3g} is allowed"


def _bound(who: str, bound: Any) -> float:
    try:
        found = number(bound)
    except (TypeError, ValueError):
        found = float("nan")
    if not 0.0 < found < float("inf"):
        raise ValueError(f"{who}: keep_tolerance: expected a number above zero [m, rad], got {bound!r}")
    return found


def _asked(who: str, robot: Any, keep: Any) -> list[Any]:
    """What to keep, or what the robot obeys of itself, where nothing more is said.  Raises ValueError, TypeError."""
    for constraint in robot.tree.constraints:
        if not constraint.holonomic:
            raise ValueError(
                f"{who}: robot {robot.name!r} obeys {constraint.name!r}, a constraint of velocities, which straight "
                f"ways of configurations do not keep: plan for the robot without_constraints({constraint.name!r})"
            )
        if constraint.timed:
            raise ValueError(f"{who}: constraint {constraint.name!r} depends on time, and a way has none yet")
    if isinstance(keep, (Task, Constraint)):
        keep = (keep,)
    if not isinstance(keep, Iterable) or isinstance(keep, (str, bytes, dict)):
        raise TypeError(f"{who}: keep: expected tasks and constraints, got {keep!r}")
    for task in keep if isinstance(keep, Sequence | np.ndarray) else ():
        if not isinstance(task, (Task, Constraint)):
            raise TypeError(f"{who}: keep: expected tasks and constraints, got {shown(task)}")
    found = [*keep] or [ConstraintTask(one, tolerance=OWN, own=True) for one in robot.tree.constraints]
    if not found:
        raise ValueError(f"{who}: keep: expected a task at least, got none")
    return found


def _check(who: str, task: Task) -> None:
    """Raises ValueError for a task that nothing can hold to."""
    if not task.hard:
        raise ValueError(f"{who}: keep: task {task.name!r} is soft, with a weight: what is kept along the way is hard")
    if task.target_of is not None and task.target is None:
        raise ValueError(
            f"{who}: keep: task {task.name!r} does not say {task.target_of.doc}: give it target=, always the same"
        )
