"""Constraints as tasks, and modifiers of tasks: a weight, or ranges of the errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import shown
from linkwork.constraints.constraint import Constraint, References
from linkwork.ik.tasks.arguments import ranges_of
from linkwork.ik.tasks.task import AimedTask, Scalars, Task, TaskKinematics, TaskRows, TaskTarget, WeighedTask
from linkwork.model.limited_coordinates import LimitedCoordinate
from linkwork.model.tree import Tree

__all__ = ["ConstraintTask", "LimitRange", "Soft", "Within", "as_task", "counted_joints"]


@public_constructor
@dataclass(frozen=True)
class ConstraintTask(AimedTask):
    """Task: the error of a constraint of `linkwork.constraints` is zero.

    A constraint that depends on time takes the time [s] as its target.  A velocity constraint, such as a rolling wheel,
    requires A v + σ = 0 and works only in differential IK (`DifferentialIK`, `Robot.velocity_for`).

    ``weight``, ``level``, ``tolerance`` and ``name`` are those of every `Task`.  ``own`` is True for a constraint of
    the robot itself.
    """

    constraint: Constraint
    _: KW_ONLY
    own: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.constraint, Constraint):
            raise TypeError(
                f"ConstraintTask: constraint: expected a linkwork.constraints.Constraint, got {self.constraint!r}"
            )
        self.settle(self.constraint.name)

    @property
    def references(self) -> References:
        return self.constraint.references

    @property
    def _depends_on(self) -> References | None:
        names = self.references
        if self.constraint.uses_inertia or names == References():
            return None
        return replace(names, frames=("world", *names.frames))  # functions of users have it as the default

    @property
    def known(self) -> bool:
        try:
            return bool(self.constraint.component_names)
        except ValueError:
            return False

    @property
    def target_of(self) -> TaskTarget | None:
        return TaskTarget((), "numbers", "the time [s]") if self.constraint.time_dependent else None

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.constraint.component_names

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.constraint.row_units

    @property
    def exact(self) -> bool:
        return False

    @property
    def of_velocity(self) -> bool:  # type: ignore[override]
        return not self.constraint.holonomic

    def errors(self, state: TaskKinematics, target: Scalars) -> list[Any]:
        if self.of_velocity:
            return [0.0] * len(self.component_names)
        return list(self.constraint.error(self._at_time(state, target)))

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        state = self._at_time(state, target)
        if self.of_velocity:
            return TaskRows([0.0] * len(self.component_names), state.velocity_rows(self.constraint).rows)
        return state.constraint_rows(self.constraint)

    def drift(self, state: TaskKinematics, target: Scalars) -> list[Any] | None:
        if not (self.of_velocity or self.constraint.time_dependent):
            return None
        return self._at_time(state, target).velocity_rows(self.constraint).errors

    def freed(self) -> Task:
        return self if self.of_velocity else Within(self, 0.0, 0.0)

    def _at_time(self, state: TaskKinematics, target: Scalars) -> TaskKinematics:
        return state.at(*target) if self.constraint.time_dependent else state

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        if self.own:
            return self
        unconstrained = robot.without_constraints() if robot.constraints else robot
        result = {c.name: c for c in unconstrained.with_constraints(self.constraint).tree.constraints}
        return replace(self, constraint=result[self.constraint.name])


@dataclass(frozen=True)
class LimitRange(WeighedTask):
    """Task: coordinates of one joint are within their limits; the errors are the coordinates.

    The joint closes a loop, or several velocities move a coordinate; solvers bound all other coordinates by a box.
    """

    coordinates: tuple[LimitedCoordinate, ...]
    _: KW_ONLY
    own: bool = False

    def __post_init__(self) -> None:
        self.settle(f"{self.coordinates[0].joint}: bounds")

    @property
    def references(self) -> References:
        coordinate = self.coordinates[0]
        return References(joints=(coordinate.joint,)) if coordinate.loop is None else coordinate.loop.references

    @property
    def _depends_on(self) -> References:
        return self.references

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(coordinate.name for coordinate in self.coordinates)

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(coordinate.unit for coordinate in self.coordinates)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        return tuple((coordinate.lower, coordinate.upper) for coordinate in self.coordinates)

    @property
    def exact(self) -> bool:
        return all(coordinate.loop is None for coordinate in self.coordinates)

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        rates = [coordinate.rate(state) for coordinate in self.coordinates]
        return TaskRows([x for x, _ in rates], [row for _, row in rates])


def as_task(value: Any, caller: str) -> Task:
    """Return a task, or a constraint as a task.

    Raises TypeError.
    """
    if isinstance(value, Constraint):
        return ConstraintTask(value)
    if not isinstance(value, Task):
        raise TypeError(
            f"{caller}: tasks: expected a task (such as linkwork.ik.PoseTask) or a constraint, got {shown(value)}"
        )
    return value


@dataclass(frozen=True)
class _ModifiedTask(Task):
    """Base class of tasks that change another task, ``task``: its weight or the ranges of its errors."""

    task: Task

    def _settle(self, weight: Any, tolerance: Any) -> None:
        """Set fields that the user left out to the values of the modified task."""
        put = object.__setattr__
        put(self, "weight", self.task.weight if weight is None else weight)
        put(self, "tolerance", self.task.tolerance if tolerance is None else tolerance)
        put(self, "target", self.task.target if self.target is None else self.target)
        put(self, "level", self.task.level if self.level is None else self.level)
        self.settle(self.task.name)

    @property
    def references(self) -> References:
        return self.task.references

    @property
    def _depends_on(self) -> References | None:
        return self.task._depends_on

    @property
    def between(self) -> tuple[str, str] | None:
        return self.task.between

    @property
    def of_velocity(self) -> bool:  # type: ignore[override]
        return self.task.of_velocity

    @property
    def known(self) -> bool:
        return self.task.known

    @property
    def target_of(self) -> TaskTarget | None:
        return self.task.target_of

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.task.component_names

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.task.row_units

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        return self.task.ranges

    @property
    def exact(self) -> bool:
        return self.task.exact

    def errors(self, state: TaskKinematics, target: Scalars) -> list[Any]:
        return self.task.errors(state, target)

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self.task.rows(state, target)

    def drift(self, state: TaskKinematics, target: Scalars) -> list[Any] | None:
        return self.task.drift(state, target)

    def exact_jacobian(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self.task.exact_jacobian(state, target)

    def curved_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self.task.curved_rows(state, target)

    @property
    def moved(self) -> Task | None:
        return self.task.moved

    def rates(self, states: Sequence[TaskKinematics], steps: Sequence[Any], target: Scalars) -> list[Any]:
        return self.task.rates(states, steps, target)

    def moving_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self.task.moving_rows(state, target)

    @property
    def rates_follow_jacobian(self) -> bool:
        return self.task.rates_follow_jacobian

    def settling(
        self, errors: Scalars, moved: Scalars, led: Scalars, ahead: Scalars, gains: tuple[float, float]
    ) -> list[Any]:
        return self.task.settling(errors, moved, led, ahead, gains)

    def freed(self) -> Self:
        return replace(self, task=self.task.freed())

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        return replace(self, task=self.task.settled(robot, state))

    def checked(self, robot: Any) -> Iterable[str]:
        return self.task.checked(robot)


@public_constructor
@dataclass(frozen=True)
class Soft(_ModifiedTask):
    """Soft version of a task or a constraint: it adds ½ Σ (w e)² to the cost and need not be satisfied.

    The weight w has the unit 1/m or 1/rad: a number, or one for each error.

    ``target``, ``level``, ``tolerance`` and ``name`` default to those of the modified task.
    """

    weight: Any = 1.0
    _: KW_ONLY
    target: Any = None
    level: Any = None
    tolerance: Any = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", as_task(self.task, "Soft"))
        if self.weight is None:
            raise ValueError("Soft: weight: expected a number [1/m or 1/rad], got None")
        self._settle(self.weight, self.tolerance)


@public_constructor
@dataclass(frozen=True)
class Within(_ModifiedTask):
    """Range version of a task or a constraint: its errors are within bounds.

        lw.ik.Within(lw.constraints.PointOnPlane("hand", "table.z"), 0.1, np.inf)  # above the table

    Bounds are numbers, or one for each error, and may be infinite.  Only the violation of the range counts as an error.

    The bounds are ``lower`` and ``upper``.  ``target``, ``weight``, ``level``, ``tolerance`` and ``name`` default to
    those of the modified task.
    """

    lower: Any = -math.inf  # [m, rad]
    upper: Any = math.inf
    _: KW_ONLY
    target: Any = None
    weight: Any = None
    level: Any = None
    tolerance: Any = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", as_task(self.task, "Within"))
        lower, upper = ranges_of(f"Within of {self.task.name!r}", self.lower, self.upper)
        if self.task.of_velocity:
            raise ValueError(
                f"Within: task: expected a configuration task, got velocity task {self.task.name!r}; "
                f"bound velocities by motion_limits of velocity_for"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        self._settle(self.weight, self.tolerance)
        if self.known:
            assert len(self.ranges) == len(self.component_names)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        lower, upper = self._by_row(self.lower, "lower"), self._by_row(self.upper, "upper")
        return tuple(zip(lower, upper, strict=True))

    @property
    def exact(self) -> bool:
        return True

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Compute errors for a ``target`` and the exact Jacobian in a state, since errors need not vanish."""
        return self.task.exact_jacobian(state, target)

    def curved_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self.task.exact_jacobian(state, target)


def counted_joints(tree: Tree, tasks: Iterable[Task]) -> frozenset[str]:
    """Return the names of the joints whose angles tasks compare, so that full revolutions may change their errors.

    For a task that names no frame, joint or point of the robot, such as a function or a whole posture, they are all
    joints.
    """
    result: set[str] = set()
    for task in tasks:
        named = task.references
        result.update(named.joints if named != References() else [body.joint_name for body in tree.bodies])
    return frozenset(result)
