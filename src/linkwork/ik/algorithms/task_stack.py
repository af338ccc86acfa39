"""All tasks of a problem in one state: errors and their Jacobian, one row after the other, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import derivatives
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.scalar.functions import and_, eq, fabs, le, lt, where
from linkwork.ik.algorithms.joint_bounds_ranges import nearest
from linkwork.ik.algorithms.task_stack_state import TaskState
from linkwork.ik.tasks.task import Task
from linkwork.mechanisms.algorithms.weighted_projection import characteristic_length
from linkwork.model.tree import Tree

__all__ = ["Stack", "Stacked"]

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Stacked:
    """e and J in one state."""

    errors: list[Any]
    rows: list[list[Any]]


@dataclass(frozen=True)
class Stack:
    """Tasks of a robot, what they aim at, and what their errors may be."""

    tree: Tree
    tasks: tuple[Task, ...]
    targets: tuple[Scalars, ...]  # by task; nothing where there is nothing to aim at
    tolerances: Scalars  # by row
    weights: Scalars  # by row, of soft ones
    still: frozenset[int] = frozenset()  # velocities that are held
    dt: Any = None  # [s] of a step of velocity: errors then count what they change by themselves in that time

    @property
    def units(self) -> list[str]:
        return [unit for task in self.tasks for unit in task.row_units]

    @property
    def hard(self) -> list[bool]:
        return [task.hard for task in self.tasks for _ in task.row_names]

    @property
    def own(self) -> list[int]:
        """Rows of the equations that the robot obeys of itself."""
        each = [(task, pair) for task in self.tasks for pair in task.ranges]
        return [row for row, (task, pair) in enumerate(each) if task.own and pair == (0.0, 0.0)]

    @property
    def owners(self) -> list[int]:
        """By row: the number of its task."""
        return [k for k, task in enumerate(self.tasks) for _ in task.row_names]

    @property
    def ranges(self) -> list[tuple[float, float]]:
        return [pair for task in self.tasks for pair in task.ranges]

    @property
    def scales(self) -> list[float]:
        """What makes errors comparable, 1 for angles and 1/(half a characteristic length) for lengths."""
        length = 0.5 * characteristic_length(self.tree)
        return [1.0 / length if unit == "m" else 1.0 for unit in self.units]

    def at(self, q: Scalars, *, exact: bool = False, curved: bool = False) -> Stacked:
        """e and J, of which the columns of what is held are zero; what is beyond a range is its error there.

        Rows that are not the derivative of errors away from what is aimed at are, where they are to be ``exact``;
        ``curved`` ones are those to differentiate again.
        """
        k = TaskState(self.tree, q)
        errors: list[Any] = []
        rows: list[list[Any]] = []
        for task, target in zip(self.tasks, self.targets, strict=True):
            asked = task.curved_rows if curved else task.exact_rows if exact else task.rows
            found = asked(k, target)
            drift = None if self.dt is None else task.drift(k, target)
            moved = (
                found.errors if drift is None else [e + self.dt * d for e, d in zip(found.errors, drift, strict=True)]
            )
            errors += moved
            rows += [[0.0 if j in self.still else x for j, x in enumerate(row)] for row in found.rows]
        return Stacked(errors, rows)

    def bent(self, q: Scalars, pulls: Scalars) -> list[Any]:
        """The second derivatives of the errors' sum, each times its pull, along velocities: the lower triangle."""

        def pulled(q: Scalars) -> list[Any]:
            rows = self.at(q, curved=True).rows
            return [dot(column, pulls) for column in transposed(rows)]

        H = derivatives(self.tree, pulled, q)[0]
        moved = [[0.0 if {i, j} & self.still else H[i][j] for j in range(len(H))] for i in range(len(H))]
        return [0.5 * (moved[i][j] + moved[j][i]) for i in range(len(H)) for j in range(i + 1)]

    def only(self, *, hard: bool) -> Stack:
        """The hard tasks, or the soft ones."""
        return self.some([k for k, task in enumerate(self.tasks) if task.hard is hard])

    def some(self, kept: Sequence[int]) -> Stack:
        """Some of the tasks."""
        rows = [row for row, k in enumerate(self.owners) if k in kept]
        return Stack(
            self.tree,
            tuple(self.tasks[k] for k in kept),
            tuple(self.targets[k] for k in kept),
            [self.tolerances[k] for k in rows],
            [self.weights[k] for k in rows],
            self.still,
            self.dt,
        )

    def beyond(self, errors: Scalars) -> list[Any]:
        """By how much each error is out of its range."""
        return [
            x if is_zero(low) and is_zero(high) else x - nearest(x, low, high)
            for x, (low, high) in zip(errors, self.ranges, strict=True)
        ]

    def resisting(self, rows: Sequence[Scalars], beyond: Scalars) -> list[list[Any]]:
        """The rows of errors that are out of their ranges, or have none: the others hold nothing in place."""
        return [
            list(row) if low == high else [x if is_zero(x) else where(eq(out, 0.0), 0.0, x) for x in row]
            for row, out, (low, high) in zip(rows, beyond, self.ranges, strict=True)
        ]

    def weighed(self, rows: Sequence[Scalars], beyond: Scalars, weights: Scalars) -> tuple[list[Any], list[list[Any]]]:
        """What is out of ranges and the rows that resist it, by these weights."""
        resisting = self.resisting(rows, beyond)
        weighed = [[x if is_zero(x) else x * w for x in row] for row, w in zip(resisting, weights, strict=True)]
        return [x * w for x, w in zip(beyond, weights, strict=True)], weighed

    def done(self, beyond: Scalars) -> Any:
        """Whether all hard errors are within tolerance."""
        found: Any = True
        for x, tolerance, hard in zip(beyond, self.tolerances, self.hard, strict=True):
            if hard and not is_zero(x):
                fine = le(fabs(x), tolerance)
                found = fine if found is True else and_(found, fine)
        return found

    def counted(self) -> list[Any]:
        """The weights of a problem in which all has to be done: none of what is free."""
        return [
            where(lt(tolerance, 1e300), scale, 0.0) if hard else weight
            for tolerance, scale, hard, weight in zip(
                self.tolerances, self.scales, self.hard, self.weights, strict=True
            )
        ]
