"""`check_task` checks that a task meets the requirements of `Task`, on a robot.

The task is evaluated on floats at random configurations.  The references are finite differences on the configuration
manifold, and the compiled kernel of `Robot.ik_problem`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.contract_report import (
    ContractReport,
    Requirement,
    central_differences,
    check_requirements,
    relative_error,
    require_value,
    vanishing_point,
)
from linkwork.ik.algorithms.task_stack import TaskState
from linkwork.ik.arguments import check_tasks, read_target
from linkwork.ik.kernels import target_shapes
from linkwork.ik.tasks.task import Task, TaskRows

__all__ = ["REQUIREMENTS", "check_task"]

_UNITS = ("m", "rad", "1", "m/s", "rad/s")
_DIFFERENCES = 1e-5
_ROUNDING = 1e-8
_STATES = 4


@public
def check_task(task: Task, robot: Any, *, target: Any = None, seed: int | np.random.Generator = 0) -> ContractReport:
    """Check that a task, for example a user-defined one, meets the requirements of `linkwork.ik.Task`.

    The task is evaluated at random configurations.  ``target`` is its target; default: the task's own, or a random one
    of its kind.  ``seed`` seeds the random numbers.  The report prints as a table;
    ``check_task(task, robot).raise_if_failed()`` is a test.

    >>> import linkwork as lw
    >>> robot = lw.load("arm7")
    >>> lw.ik.check_task(lw.ik.PositionTask("hand"), robot).success
    True
    """
    if not isinstance(task, Task):
        raise TypeError(f"check_task: task: expected a linkwork.ik.Task, got {task!r}")
    trial = _Trial(task, robot, target, np.random.default_rng(seed))
    return check_requirements(f"task {type(task).__name__}", REQUIREMENTS, trial, type(task), Task)


class _Trial:
    """A task, a robot, a target, and the configurations at which the task is evaluated."""

    def __init__(self, task: Task, robot: Any, target: Any, rng: np.random.Generator) -> None:
        self.task_given, self.robot, self.rng = task, robot, rng
        self.target_given = target
        self.q = robot.random_configuration(rng, size=_STATES)
        self._differences: dict[bytes, np.ndarray] = {}

    @cached_property
    def problem(self) -> Any:
        return self.robot.ik_problem([self.task_given])

    @cached_property
    def task(self) -> Task:
        """The task with its robot-dependent fields set."""
        return check_tasks("check_task", self.robot, [self.task_given], velocities=True)[0]

    @cached_property
    def target(self) -> np.ndarray | None:
        shapes = target_shapes(self.robot.tree, (self.task,))
        if self.task.name not in shapes:
            return None
        shape = shapes[self.task.name]
        value = self.target_given if self.target_given is not None else self.task.target
        value = self._random(shape) if value is None else value
        return read_target("check_task", self.robot, self.task, shape, value, check_values=True)

    def _random(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return a random target of the task's kind."""
        target_of = self.task.target_of
        assert target_of is not None
        if target_of.kind == "configuration":
            return np.asarray(self.robot.random_configuration(self.rng))
        if target_of.kind in ("pose", "rotation"):
            R, _ = np.linalg.qr(self.rng.normal(size=(3, 3)))
            R = R * np.linalg.det(R)
            return (
                R
                if target_of.kind == "rotation"
                else np.block([[R, self.rng.normal(size=(3, 1))], [0.0, 0.0, 0.0, 1.0]])
            )
        if target_of.kind in ("size", "length"):
            return self.rng.uniform(0.1, 1.0, size=shape)
        return self.rng.normal(size=shape)

    @property
    def target_values(self) -> list[float]:
        """The target as a flat list, as `errors` takes it."""
        return [] if self.target is None else [float(x) for x in self.target.ravel()]

    def state(self, q: np.ndarray, time: float = 0.0) -> TaskState:
        return TaskState(self.robot.tree, q.tolist(), time)

    def errors(self, q: np.ndarray) -> np.ndarray:
        return _floats(self.task.errors(self.state(q), self.target_values))

    def rows(self, q: np.ndarray, method: str = "rows") -> tuple[np.ndarray, np.ndarray]:
        result: TaskRows = getattr(self.task, method)(self.state(q), self.target_values)
        J = np.array([_floats(row) for row in result.rows]).reshape(len(result.rows), -1)
        return _floats(result.errors), J

    def differences(self, q: np.ndarray) -> np.ndarray:
        """Return the Jacobian (rows, nv) of the errors at q by central differences."""
        key = q.tobytes()
        if key not in self._differences:
            self._differences[key] = central_differences(self.errors, self.robot.integrate, q, self.robot.nv)
        return self._differences[key]

    @cached_property
    def solved(self) -> np.ndarray | None:
        """Return a configuration where the errors vanish; None if the search fails."""
        tried = (vanishing_point(self.errors, self.robot.integrate, q, self.robot.nv) for q in self.q)
        return next((q for q in tried if q is not None), None)


def _floats(values: Any) -> np.ndarray:
    return np.array([float(x) for x in values])


def _value(t: _Trial) -> list[float]:
    require_value(t.task_given, "tasks")
    return []


def _names(t: _Trial) -> list[float]:
    task = t.task
    if not isinstance(task.name, str) or not task.name:
        raise ValueError(f"name: expected a string, got {task.name!r}; end __post_init__ with self.settle(default)")
    names, units = task.component_names, task.row_units
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ValueError(f"component_names: expected distinct strings, got {names!r}")
    for field, values in (("row_units", units), ("ranges", task.ranges), ("tolerances", task.tolerances)):
        if len(values) != len(names):
            raise ValueError(f"{field}: expected {len(names)} entries, as component_names has, got {len(values)}")
    for unit in units:
        if unit not in _UNITS:
            raise ValueError(f"row_units: expected one of {', '.join(_UNITS)}, got {unit!r}")
    for low, high in task.ranges:
        if not low <= high:
            raise ValueError(f"ranges: expected lower <= upper, got {(low, high)!r}")
    return []


def _errors(t: _Trial) -> list[float]:
    result = []
    for q in t.q:
        e, J = t.rows(q)
        if J.shape != (len(t.task.component_names), t.robot.nv):
            shape = len(t.task.component_names), t.robot.nv
            raise ValueError(f"rows: expected a Jacobian of shape {shape}, got {J.shape}")
        if not np.isfinite(e).all() or not np.isfinite(J).all():
            raise ValueError(f"errors, rows: expected finite numbers, got {e} at q = {q.tolist()}")
        result.append(relative_error(t.errors(q), e))
    return result


def _jacobian(t: _Trial) -> list[float]:
    """Return the error of the exact Jacobian relative to differences, for each configuration.

    For a velocity task the largest error is returned instead, which must be zero.
    """
    if t.task.of_velocity:
        return [float(np.abs(t.errors(q)).max(initial=0.0)) for q in t.q]
    return [relative_error(t.rows(q, "exact_jacobian")[1].ravel(), t.differences(q).ravel()) for q in t.q]


def _rows(t: _Trial) -> list[float]:
    if t.task.of_velocity:
        return []
    if t.task.exact:
        return [relative_error(t.rows(q)[1].ravel(), t.differences(q).ravel()) for q in t.q]
    q = t.solved
    return [] if q is None else [relative_error(t.rows(q)[1].ravel(), t.differences(q).ravel())]


def _curved(t: _Trial) -> list[float]:
    """Return the relative difference between a task's ``curved_rows`` and its exact Jacobian at a solution, as a list.

    The list is empty for a velocity task, and if no solution is available.
    """
    if t.task.of_velocity:
        return []
    q = t.q[0] if t.task.exact else t.solved
    return (
        []
        if q is None
        else [relative_error(t.rows(q, "curved_rows")[1].ravel(), t.rows(q, "exact_jacobian")[1].ravel())]
    )


def _drift(t: _Trial) -> list[float]:
    if t.task.of_velocity:
        drift = t.task.drift(t.state(t.q[0]), t.target_values)
        if drift is None or len(drift) != len(t.task.component_names):
            raise ValueError(f"drift: expected one value per error for a velocity task, got {drift!r}")
        return []
    errors = []
    for q in t.q:
        h, state = 1e-5, t.state(q, 0.3)
        ahead, behind = (_floats(t.task.errors(state.at(0.3 + sign * h), t.target_values)) for sign in (1.0, -1.0))
        drift = t.task.drift(state, t.target_values)
        # A task that takes time as its target does not depend on the state's time.
        rate = (ahead - behind) / (2.0 * h)
        if drift is None or not rate.any():
            errors.append(float(np.abs(rate).max(initial=0.0)) if drift is None else 0.0)
        else:
            errors.append(relative_error(_floats(drift), rate))
    return errors


def _compiled(t: _Trial) -> list[float]:
    if t.task.of_velocity:  # velocity tasks are not allowed in IK problems
        return []
    errors = []
    for q in t.q:
        e, J = t.rows(q)
        result, rows = t.problem.residual_and_jacobian(q, **_targets(t))
        task_rows = slice(len(e))  # followed by those of the robot's own constraints
        beyond = e - np.clip(e, *np.array(t.task.ranges).reshape(-1, 2).T)
        errors += [relative_error(result[task_rows], beyond), relative_error(rows[task_rows].ravel(), J.ravel())]
    return errors


def _batches(t: _Trial) -> list[float]:
    if t.task.of_velocity:
        return []
    errors = []
    e, J = t.problem.residual_and_jacobian(t.q, **_targets(t))
    for k, q in enumerate(t.q):
        result, rows = t.problem.residual_and_jacobian(q, **_targets(t))
        errors += [relative_error(e[k], result), relative_error(J[k].ravel(), rows.ravel())]
    return errors


def _targets(t: _Trial) -> dict[str, np.ndarray]:
    return {} if t.target is None else {t.task.name: t.target}


REQUIREMENTS: tuple[Requirement[_Trial], ...] = (
    Requirement("value", "tasks of the same fields are equal and hash", 0.0, _value),
    Requirement("names", "each error has a name, a unit and a range", 0.0, _names),
    Requirement("errors", "one value per error, equal from errors and rows", _ROUNDING, _errors),
    Requirement("exact_jacobian", "J v is the rate of the errors everywhere", _DIFFERENCES, _jacobian),
    Requirement("rows", "J v is the rate of the errors where they vanish; everywhere if exact", _DIFFERENCES, _rows),
    Requirement("curved_rows", "at least as accurate as rows", _DIFFERENCES, _curved),
    Requirement("drift", "the rate of the errors of a robot at rest", _DIFFERENCES, _drift),
    Requirement("compiled", "the kernel of an IK problem agrees with evaluation on floats", _ROUNDING, _compiled),
    Requirement("batches", "errors and rows are equal for single states and batches", _ROUNDING, _batches),
)
