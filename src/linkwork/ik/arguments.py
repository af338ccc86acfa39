"""Checks of the arguments of IK problems, before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Protocol

import numpy as np

from linkwork._util.validation import floats
from linkwork._util.validation import names as names_of
from linkwork.constraints import Constraint
from linkwork.errors import UnknownNameError
from linkwork.expr.scalar.symbol import Graph
from linkwork.ik.algorithms.task_stack import TaskState, WideRows
from linkwork.ik.kernels import AIMED
from linkwork.ik.tasks.arguments import WIDE, WIDE_LENGTH
from linkwork.ik.tasks.modifiers import ConstraintTask, LimitRange, as_task
from linkwork.ik.tasks.task import Task
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.kinematics.algorithms.forward_kinematics import fork
from linkwork.model.limited_coordinates import limited_coordinates
from linkwork.model.tree import Tree
from linkwork.model.tree_attachments import check_references
from linkwork.spatial.arguments import checked_pose

__all__ = [
    "check_tasks",
    "flat_states",
    "freed",
    "mid_range",
    "own_constraint_task",
    "raise_for_inputs",
    "read_locked",
    "read_target",
    "read_targets",
    "read_tolerances",
    "refuse_locked_beyond_limits",
    "unknown_target",
    "wide_rows",
    "wide_tolerances",
]

_CONSTRAINT_TOLERANCE = 1e-8  # [rad, characteristic lengths] tolerance of a robot's own constraints
LIMIT = 5e-10  # [m, rad, 1] tolerance of limits, within that of planners


def check_tasks(
    caller: str,
    robot: Any,
    tasks: Any,
    limits: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    velocities: bool = False,
) -> tuple[Task, ...]:
    """Return the user's tasks, checked, followed by the robot's own constraints and limits as tasks.

    ``limits`` are the lower and the upper position limits (nq,); None ignores limits, also those of joints that close
    loops. ``velocities`` permits velocity tasks, and includes the robot's own velocity constraints. Raises TypeError,
    ValueError and UnknownNameError, also for names that are not distinct.
    """
    user_tasks = (tasks,) if isinstance(tasks, (Task, Constraint)) else tasks
    if not isinstance(user_tasks, Iterable) or isinstance(user_tasks, (str, bytes, dict)):
        raise TypeError(f"{caller}: tasks: expected tasks such as [linkwork.ik.PoseTask('hand')], got {tasks!r}")
    result = [task for task in (as_task(x, caller) for x in user_tasks) if not isinstance(task, LimitRange)]
    if not result:
        raise ValueError(f"{caller}: tasks: expected at least one task, got none")
    names = [task.name for task in result]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{caller}: tasks: expected distinct names, got {name!r} twice; set name=")
    for task in result:
        if task.of_velocity and not velocities:
            raise ValueError(
                f"{caller}: tasks: expected configuration tasks, got velocity task {task.name!r}; "
                f"use velocity_for or DifferentialIK"
            )
    state = TaskState(robot.tree, Graph(caller).inputs("q", (robot.nq,)))
    complete = [_complete(caller, robot, task, state) for task in result]
    return (*complete, *_constraint_tasks(robot, complete, velocities), *_limit_tasks(robot, limits))


def _complete(caller: str, robot: Any, task: Task, state: TaskState) -> Task:
    """Return a task with the fields set that depend on the robot; ``state`` has the robot's kinematics on symbols.

    Raises ValueError and UnknownNameError.
    """
    check_references(robot.tree, task.references)
    for wrong in task.checked(robot.tree):
        raise ValueError(f"{caller}: task {task.name!r}: {wrong}")
    _refuse_rigid_pair(caller, robot, task)
    return task.settled(robot, state)


def _constraint_tasks(robot: Any, user_tasks: Sequence[Task], velocities: bool) -> list[Task]:
    """Return tasks for the robot's own constraints that are not among the user's tasks."""
    stated = [task.constraint for task in user_tasks if isinstance(task, ConstraintTask) and task.hard]
    result = []
    for constraint in robot.tree.constraints:
        if (constraint.holonomic or velocities) and constraint not in stated:
            result.append(own_constraint_task(robot.tree, constraint, 0.0 if constraint.time_dependent else None))
    names = [task.name for task in user_tasks]
    return [replace(task, name=f"{task.name} of {robot.name}") if task.name in names else task for task in result]


def own_constraint_task(tree: Tree, constraint: Constraint, target: float | None = None) -> ConstraintTask:
    """Return a hard task for a constraint of the robot itself, with the tolerance that all such constraints have."""
    length = _CONSTRAINT_TOLERANCE * characteristic_length(tree)
    tolerance = tuple(length if unit == "m" else _CONSTRAINT_TOLERANCE for unit in constraint.row_units)
    return ConstraintTask(constraint, tolerance=tolerance, own=True, target=target)


def _limit_tasks(robot: Any, limits: tuple[np.ndarray, np.ndarray] | None) -> list[Task]:
    """Return tasks for limited coordinates of q that depend on several velocities, or close loops: one for each joint.

    Solvers bound all other coordinates directly.
    """
    by_joint: dict[str, list[Any]] = {}
    for coordinate in () if limits is None else limited_coordinates(robot.tree, limits):
        if coordinate.v is None:
            by_joint.setdefault(coordinate.joint, []).append(coordinate)
    return [LimitRange(tuple(coordinates), tolerance=LIMIT, own=True) for coordinates in by_joint.values()]


def _refuse_rigid_pair(caller: str, robot: Any, task: Task) -> None:
    """Raise ValueError for a task of two frames without a moving joint between them."""
    if task.between is None:
        return
    tree = robot.tree
    frame_a, frame_b = (tree.frame(tree.point(name).frame) for name in task.between)
    _, to_one, to_other = fork(tree, frame_a.body, frame_b.body)
    if not any(tree.bodies[i].joint.nv for i in (*to_one, *to_other)):
        raise ValueError(
            f"{caller}: task {task.name!r}: {task.between[0]!r} is rigidly fixed to "
            f"{task.between[1]!r} (no joint in between); choose another frame or relative_to="
        )


def wide_rows(tasks: tuple[Task, ...], tolerances: np.ndarray, wide: np.ndarray, value: Any) -> WideRows:
    """Return the errors whose finite tolerances are so large that they widen the set of solutions, in groups.

    A group has the indices of errors whose norm is bounded by one tolerance. ``tolerances`` are the tolerances of all
    errors, and ``wide`` is the result of `wide_tolerances`. ``value`` is the argument from which tolerances are read;
    None means the tasks' own tolerances.
    """
    tolerances = tolerances / wide
    if not (np.isfinite(tolerances) & (tolerances > 1.0 / math.sqrt(3.0))).any():
        return ()
    groups: list[tuple[int, ...]] = []
    start = 0
    for task in tasks:
        rows = range(start, start + len(task.row_units))
        start = rows.stop
        bounded = [k for k in rows if task.hard and not task.own and tolerances[k] < np.inf]
        norms = getattr(task.tolerance if value is None else value, "whole", None)
        if norms is None:
            norms = () if np.ndim(task.tolerance if value is None else value) else ("m", "rad")
        for unit in dict.fromkeys(task.row_units):
            of_unit = tuple(k for k in bounded if task.row_units[k - rows.start] == unit)
            groups += [of_unit] if unit in norms and of_unit else [(k,) for k in of_unit]
    return tuple(group for group in groups if np.linalg.norm(tolerances[[*group]]) > 1.0)


def wide_tolerances(tree: Tree, tasks: Iterable[Task]) -> np.ndarray:
    """Return, for each error, the tolerance above which it counts as a wider set of solutions, not as accuracy."""
    length = WIDE_LENGTH * characteristic_length(tree)
    return np.array([length if unit == "m" else WIDE for task in tasks for unit in task.row_units])


def freed(tasks: tuple[Task, ...], tolerances: np.ndarray, wide: WideRows, solver: str) -> tuple[Task, ...]:
    """Return the tasks, in which `Task.freed` replaces tasks with free errors: its Jacobian is exact everywhere.

    An error is free if its tolerance is infinite, or if it is the only error in a group of ``wide``. For solvers that
    treat wide tolerances as ranges, all errors in ``wide`` are free. ``tolerances`` has an entry for each error of all
    tasks.
    """
    free = np.isinf(tolerances)
    free[[k for group in wide if len(group) == 1 or solver not in AIMED for k in group]] = True
    if not free.any():
        return tasks
    ends = np.cumsum([len(task.component_names) for task in tasks])
    rows = np.split(free, ends[:-1])
    return tuple(task.freed() if is_free.any() else task for task, is_free in zip(tasks, rows, strict=True))


def read_locked(caller: str, robot: Any, locked: Any) -> tuple[str, ...]:
    """Return the names of joints that stay at their positions in ``q_init``."""
    value = tuple(locked) if isinstance(locked, Mapping) else locked
    names = names_of(caller, "locked", value, description="names of joints")
    tree = robot.tree
    for name in names:
        body = tree.bodies[tree.joint_index(name)]
        if body.coupling is not None:
            raise ValueError(
                f"{caller}: locked: joint {name!r} is coupled to joint {body.coupling.joint!r}; name that joint"
            )
    return names


def refuse_locked_beyond_limits(
    caller: str, robot: Any, locked: Sequence[str], limits: tuple[np.ndarray, np.ndarray], q_init: np.ndarray
) -> None:
    """Raise ValueError if a locked joint is outside its limits."""
    tree = robot.tree
    for name in locked:
        index = tree.q_slices[tree.joint_index(name)]
        position, lower, upper = q_init[..., index], limits[0][index], limits[1][index]
        wrong = (position < lower) | (position > upper)
        if wrong.any():
            raise ValueError(
                f"{caller}: locked: expected q_init of joint {name!r} within {lower.tolist()} to {upper.tolist()}, "
                f"got {position[wrong].flat[0]:.6g}; position_limits=False ignores limits"
            )


def mid_range(robot: Any, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the configuration (nq) in the middle of the position limits ``lower`` and ``upper`` (nq).

    Coordinates with one finite limit are 0 or, if 0 is outside, at the limit. Coordinates without limits and unit
    quaternions are neutral.
    """
    q = np.array(robot.neutral(), dtype=float)
    both = np.isfinite(lower) & np.isfinite(upper)
    result: np.ndarray = q.copy()
    result[both] = 0.5 * (lower[both] + upper[both])
    result = np.minimum(np.maximum(result, lower), upper)
    for i, body in robot.tree.stacked():
        units = robot.tree.q_slices[i].start + np.array([n for unit in body.joint.unit_length for n in unit], dtype=int)
        result[units] = q[units]
    return result


def read_tolerances(caller: str, tasks: Sequence[Task], value: Any) -> np.ndarray:
    """Return the tolerances of all errors.

    ``value`` is one number that bounds each task's remaining angle and distance, or an array with a number for each
    error.  Tolerances of the robot's own constraints may be omitted.
    """
    own_excluded = [task for task in tasks if not task.own]
    count, total = (sum(len(task.component_names) for task in counted) for counted in (own_excluded, tasks))
    expected = f"{caller}: tolerance: expected a positive number [m, rad], or one for each of {count} errors"
    try:
        result = floats(value)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {value!r}") from None
    if result.shape not in ((), (count,), (total,)) or not (result > 0.0).all():
        raise ValueError(f"{expected}, infinite if free, got {value!r}")
    if result.shape == (total,):
        return result
    first = result.tolist() if result.ndim else [x for task in own_excluded for x in task.tolerances_of(float(result))]
    return np.array([*first, *(x for task in tasks if task.own for x in task.tolerances)])


def read_target(
    caller: str, robot: Any, task: Task, shape: tuple[int, ...], value: Any, *, check_values: bool = False
) -> np.ndarray:
    """Return a task's target (..., *shape); ``check_values`` checks every pose and rotation for validity."""
    if value is None:
        value = task.target
    if value is None:
        doc = task.target_of.doc.removeprefix("the ") if task.target_of is not None else "target"
        raise ValueError(
            f"{caller}: task {task.name!r} has no target; pass {task.name}=<array of shape {shape}>, the {doc}"
        )
    kind = task.target_of.kind if task.target_of is not None else ""
    name = f"{caller}: {task.name}: expected {_WORDS.get(kind, 'numbers')} of shape (..., {', '.join(map(str, shape))})"
    if kind == "configuration":
        return read_configuration(robot, caller, task.name, value)
    try:
        result = floats(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}, got {value!r}") from None
    if result.shape[result.ndim - len(shape) :] != shape or result.ndim < len(shape):
        raise ValueError(f"{name}, got shape {result.shape}")
    if check_values or kind not in ("pose", "rotation"):
        if not np.isfinite(result).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
            raise ValueError(f"{name}, got {result[index]} at {list(index)}")
        if kind == "direction" and not result.any(axis=-1).all():
            raise ValueError(f"{name}, got a zero vector")
        if kind == "size" and not (result > 0.0).all():
            raise ValueError(f"{name}, got {result[result <= 0.0].flat[0]}")
        if kind == "length" and not (result >= 0.0).all():
            raise ValueError(f"{name}, got {result[result < 0.0].flat[0]}")
        for index in np.ndindex(result.shape[: result.ndim - len(shape)]) if kind in ("pose", "rotation") else ():
            where = f"[{', '.join(map(str, index))}]" if index else ""
            _check_rotation(f"{caller}: {task.name}{where}", result[index])
    return result


def flat_states(x: np.ndarray, rank: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array broadcast to the batch ``shape`` and flattened to one batch axis: (n, ...).

    The last ``rank`` axes of x belong to one state.
    """
    state_shape = x.shape[x.ndim - rank :]
    result: np.ndarray = np.broadcast_to(x, (*shape, *state_shape)).reshape(-1, *state_shape)
    return result


class TargetOwner(Protocol):
    """Protocol of an object with tasks that take targets: its robot, tasks and shapes of targets."""

    robot: Any
    caller: str
    tasks: tuple[Task, ...]
    shapes: dict[str, tuple[int, ...]]


def unknown_target(problem: Any, kind: str, name: str) -> UnknownNameError:
    """Return the error for a target that no task has, with the advice for an option of the problem itself."""
    is_option = name in getattr(problem, "_options", ())
    remedy = f"it is an option of Robot.ik_problem: robot.ik_problem(tasks, {name}=...)" if is_option else ""
    return UnknownNameError(kind, name, problem.shapes, remedy)


def read_targets(problem: TargetOwner, targets: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the target of each task that takes one, as arrays by task name; a task's own target is the default.

    An argument ``targets``, a dict by task name, means its entries, unless a task is named "targets".  Raises
    UnknownNameError for names that no task has, and ValueError for missing targets and wrong shapes, and for a target
    passed twice.
    """
    several = targets.get("targets")
    if isinstance(several, Mapping) and "targets" not in problem.shapes:
        single = {name: x for name, x in targets.items() if name != "targets"}
        twice = [name for name in several if name in single]
        if twice:
            raise ValueError(
                f"{problem.caller}: {twice[0]}: expected one target, got one by name and another in targets="
            )
        targets = {**several, **single}
    for name in targets:
        if name not in problem.shapes:
            raise unknown_target(problem, "target", name)
    tasks = {task.name: task for task in problem.tasks}
    return {
        name: read_target(problem.caller, problem.robot, tasks[name], shape, targets.get(name))
        for name, shape in problem.shapes.items()
    }


def raise_for_inputs(
    problem: TargetOwner, states: Sequence[tuple[str, np.ndarray]], targets: Mapping[str, np.ndarray]
) -> NoReturn:
    """Raise ValueError that names the first state or target that is not finite or, for a rotation, not orthonormal.

    If all are valid, the error says that the computation overflowed.
    """
    for name, x in states:
        if not np.isfinite(x).all():
            raise ValueError(f"{problem.caller}: {name}: expected finite numbers, got {x[~np.isfinite(x)][0]}")
    tasks = {task.name: task for task in problem.tasks}
    for name, x in targets.items():
        read_target(problem.caller, problem.robot, tasks[name], problem.shapes[name], x, check_values=True)
    raise ValueError(f"{problem.caller}: the computation overflowed: a value became NaN or infinite")


_WORDS = {
    "pose": "poses",
    "rotation": "rotation matrices",
    "place": "positions",
    "direction": "directions",
    "size": "positive numbers",
    "length": "lengths >= 0 [m]",
}


def _check_rotation(name: str, matrix: np.ndarray) -> None:
    X = np.eye(4)
    X[: len(matrix), : len(matrix)] = matrix
    checked_pose(X, name)
    R = X[:3, :3]
    deviation = max(float(np.abs(R.T @ R - np.eye(3)).max()), abs(float(np.linalg.det(R)) - 1.0))
    if not (deviation <= 1e-6 and math.isfinite(deviation)):
        raise ValueError(f"{name}: expected a rotation matrix, got one with deviation {deviation:.2g}: {R.tolist()}")
