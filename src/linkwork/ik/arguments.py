"""What problems of inverse kinematics are asked with, looked at before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.validation import floats, number
from linkwork._util.validation import names as names_of
from linkwork.constraints import Constraint, LoopJoint
from linkwork.expr.scalar.symbol import Graph
from linkwork.ik.algorithms.task_stack import TaskState
from linkwork.ik.tasks.modifiers import ConstraintTask, LoopRange, as_task
from linkwork.ik.tasks.task import Task
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.kinematics.algorithms.relative_kinematics import fork
from linkwork.model.tree_attachments import check_references
from linkwork.spatial.arguments import checked_pose

__all__ = [
    "check_tasks",
    "freed",
    "mid_range",
    "read_limits",
    "read_locked",
    "read_rows",
    "read_target",
    "read_time_limit",
    "refuse_held_beyond",
]

OWN = 1e-8  # what may be left of a robot's own constraints [m, rad]


def check_tasks(caller: str, robot: Any, tasks: Any, *, velocities: bool = False) -> tuple[Task, ...]:
    """Tasks whose names are there and differ, and after them those that the robot has of itself.

    With ``velocities`` tasks of velocities are allowed, and the robot's own constraints of velocities are among them.
    Raises TypeError, ValueError and UnknownNameError.
    """
    given = (tasks,) if isinstance(tasks, (Task, Constraint)) else tasks
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, dict)):
        raise TypeError(f"{caller}: tasks: expected tasks, as in [linkwork.ik.PoseTask('hand')], got {tasks!r}")
    result = [as_task(task, caller) for task in given]
    if not result:
        raise ValueError(f"{caller}: tasks: expected a task at least, got none")
    names = [task.name for task in result]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{caller}: tasks: two tasks are called {name!r}: give one of them another name=")
    for task in result:
        if task.of_velocity and not velocities:
            raise ValueError(
                f"{caller}: tasks: expected tasks of configurations, got {task.name!r}, one of velocities, which no "
                f"configuration fails; velocity_for and DifferentialIK take it"
            )
    state = TaskState(robot.tree, Graph(caller).inputs("q", (robot.nq,)))
    settled = [_checked(caller, robot, task, state) for task in result]
    return (*settled, *(_implied(robot, settled, velocities)))


def _checked(caller: str, robot: Any, task: Task, state: TaskState) -> Task:
    """A task as it is of a robot, on symbols here.  Raises ValueError and UnknownNameError."""
    check_references(robot.tree, task.references)
    for wrong in task.checked(robot.tree):
        raise ValueError(f"{caller}: task {task.name!r}: {wrong}")
    _refuse_fixed_together(caller, robot, task)
    return task.settled(robot, state)


def _implied(robot: Any, given: Sequence[Task], velocities: bool) -> list[Task]:
    """What a robot's own constraints ask for, but for those that are among the tasks."""
    ranged = [task.loop for task in given if isinstance(task, LoopRange)]
    said = [task.constraint for task in given if isinstance(task, ConstraintTask) and task.hard]
    result: list[ConstraintTask | LoopRange] = []
    for constraint in robot.tree.constraints:
        if (constraint.holonomic or velocities) and constraint not in said:
            result.append(
                ConstraintTask(constraint, tolerance=OWN, own=True, target=0.0 if constraint.time_dependent else None)
            )
        if isinstance(constraint, LoopJoint) and (constraint.lower or constraint.upper) and constraint not in ranged:
            result.append(LoopRange(constraint, tolerance=OWN, own=True))
    names = [task.name for task in given]
    return [replace(task, name=f"{task.name} of {robot.name}") if task.name in names else task for task in result]


def _refuse_fixed_together(caller: str, robot: Any, task: Task) -> None:
    """Raises ValueError for a task of frames between which nothing moves."""
    if task.between is None:
        return
    tree = robot.tree
    one, other = (tree.frame(tree.point(name).frame) for name in task.between)
    _, to_one, to_other = fork(tree, one.body, other.body)
    if not any(tree.bodies[i].joint.nv for i in (*to_one, *to_other)):
        raise ValueError(
            f"{caller}: task {task.name!r}: no joint is between {task.between[0]!r} and "
            f"{task.between[1]!r}, so nothing "
            f"moves one relative to the other: name a frame that joints carry, or relative_to= another one"
        )


def freed(tasks: tuple[Task, ...], tolerances: np.ndarray) -> tuple[Task, ...]:
    """The tasks, of which some rows may be free by the tolerances of all."""
    free = np.isinf(tolerances)
    if not free.any():
        return tasks
    ends = np.cumsum([len(task.component_names) for task in tasks])
    rows = np.split(free, ends[:-1])
    return tuple(task.freed() if some.any() else task for task, some in zip(tasks, rows, strict=True))


def read_limits(caller: str, robot: Any, position_limits: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds of q, the robot's if nothing is said; False says that there are none.

    Given ones are two arrays (nq,), and count besides the robot's.  Raises ValueError where they leave nothing.
    """
    lower, upper = np.array(robot.lower, dtype=float), np.array(robot.upper, dtype=float)
    if position_limits is False:
        return np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
    if position_limits is not None and position_limits is not True:
        try:
            low, high = (floats(x) for x in position_limits)
            low, high = np.broadcast_to(low, (robot.nq,)), np.broadcast_to(high, (robot.nq,))
        except (TypeError, ValueError):
            raise ValueError(
                f"{caller}: position_limits: expected (lower, upper), two arrays of shape ({robot.nq},), or "
                f"False, got {position_limits!r}"
            ) from None
        if np.isnan(low).any() or np.isnan(high).any():
            raise ValueError(f"{caller}: position_limits: expected no NaN, got {position_limits!r}")
        lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    tree = robot.tree
    for k, body in tree.stacked():
        place = tree.q_slices[k]
        if (lower[place] > upper[place]).any():
            raise ValueError(
                f"{caller}: position_limits leave nothing of joint {body.joint_name!r}: it would have to be at "
                f"least {lower[place].tolist()} and at most {upper[place].tolist()}"
            )
    return lower, upper


def read_locked(caller: str, robot: Any, locked: Any) -> tuple[str, ...]:
    """Names of joints that stay where the seed has them."""
    given = tuple(locked) if isinstance(locked, Mapping) else locked
    names = names_of(caller, "locked", given, what="names of joints")
    tree = robot.tree
    for name in names:
        body = tree.bodies[tree.joint_index(name)]
        if body.coupling is not None:
            raise ValueError(f"{caller}: locked: joint {name!r} follows joint {body.coupling.joint!r}: name that one")
    return names


def refuse_held_beyond(
    caller: str, robot: Any, locked: Sequence[str], limits: tuple[np.ndarray, np.ndarray], q_init: np.ndarray
) -> None:
    """Raises ValueError where joints are held beyond their limits."""
    tree = robot.tree
    for name in locked:
        place = tree.q_slices[tree.joint_index(name)]
        own, lower, upper = q_init[..., place], limits[0][place], limits[1][place]
        wrong = (own < lower) | (own > upper)
        if wrong.any():
            raise ValueError(
                f"{caller}: locked: the seed holds joint {name!r} at {own[wrong].flat[0]:.6g}, beyond its limits "
                f"{lower.tolist()} to {upper.tolist()}; position_limits=False does not look at them"
            )


def read_time_limit(caller: str, value: Any) -> float:
    """A time [s].  Raises ValueError for what is none."""
    try:
        result = number(value)
    except (TypeError, ValueError):
        result = math.nan
    if not result >= 0.0:
        raise ValueError(f"{caller}: time_limit: expected a time from 0 [s], got {value!r}")
    return result


def mid_range(robot: Any, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The middle of limits; where there is none on one side 0, as near as the other allows, and the zero of others."""
    q = np.array(robot.neutral(), dtype=float)
    both = np.isfinite(lower) & np.isfinite(upper)
    q[both] = 0.5 * (lower[both] + upper[both])
    result: np.ndarray = np.minimum(np.maximum(q, lower), upper)
    return result


def read_rows(caller: str, tasks: Sequence[Task], value: Any) -> np.ndarray:
    """Tolerances by row of all tasks: one for the angle and the way that each task may leave, or one a row.

    Those of tasks that the robot has of itself need not be given.
    """
    asked = [task for task in tasks if not task.own]
    count, whole = (sum(len(task.component_names) for task in some) for some in (asked, tasks))
    expected = f"{caller}: tolerance: expected a positive number [m, rad], or one for each of {count} rows"
    try:
        result = floats(value)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {value!r}") from None
    if result.shape not in ((), (count,), (whole,)) or not (result > 0.0).all():
        raise ValueError(f"{expected}, infinite where it is free, got {value!r}")
    if result.shape == (whole,):
        return result
    first = result.tolist() if result.ndim else [x for task in asked for x in task.tolerances_of(float(result))]
    return np.array([*first, *(x for task in tasks if task.own for x in task.tolerances)])


def read_target(
    caller: str, robot: Any, task: Task, shape: tuple[int, ...], value: Any, *, look: bool = False
) -> np.ndarray:
    """What a task aims at, (..., *shape).  With ``look`` each of them is looked at, and one is wrong."""
    if value is None:
        value = task.target
    if value is None:
        doc = task.target_of.doc if task.target_of is not None else ""
        raise ValueError(f"{caller}: task {task.name!r} aims at nothing: give {task.name}= an array {shape}: {doc}")
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
    if look or kind not in ("pose", "rotation"):
        if not np.isfinite(result).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
            raise ValueError(f"{name}, got {result[place]} at {list(place)}")
        if kind == "direction" and not result.any(axis=-1).all():
            raise ValueError(f"{name}, got one of no length")
        if kind == "size" and not (result > 0.0).all():
            raise ValueError(f"{name}, got {result[result <= 0.0].flat[0]}")
        if kind == "length" and not (result >= 0.0).all():
            raise ValueError(f"{name}, got {result[result < 0.0].flat[0]}")
        for place in np.ndindex(result.shape[: result.ndim - len(shape)]) if kind in ("pose", "rotation") else ():
            _look_at(
                f"{caller}: {task.name}" + (f"[{', '.join(map(str, place))}]" if place else ""), kind, result[place]
            )
    return result


_WORDS = {
    "pose": "poses",
    "rotation": "rotation matrices",
    "place": "places",
    "direction": "directions",
    "size": "numbers above 0",
    "length": "lengths [m], from 0,",
}


def _look_at(name: str, kind: str, matrix: np.ndarray) -> None:
    X = np.eye(4)
    X[: len(matrix), : len(matrix)] = matrix
    checked_pose(X, name)
    R = X[:3, :3]
    off = max(float(np.abs(R.T @ R - np.eye(3)).max()), abs(float(np.linalg.det(R)) - 1.0))
    if not (off <= 1e-6 and math.isfinite(off)):
        raise ValueError(
            f"{name}: expected a rotation, right-handed unit axes, got one that is {off:.2g} off: {R.tolist()}"
        )
