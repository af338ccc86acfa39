"""Controllers of tasks: those of inverse kinematics, with gains, and targets that move."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from linkwork.control.algorithms.operational_space_forces_motion import TaskMotion, task_motion
from linkwork.control.controller_base import ControlLaw, Shapes
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import scalars
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.arguments import check_tasks
from linkwork.ik.kernels import target_shapes
from linkwork.ik.tasks.task import Task

__all__ = ["TaskLaw"]


class TaskLaw(ControlLaw):
    """A controller of tasks: each is to accelerate such that ë + k_d ė + k_p e = 0.

    A task called "hand" takes its target as ``hand``, where that is a configuration as ``hand_q``, and how the target
    moves as ``hand_v`` and ``hand_a``: what J v and its rate are to be, in the axes of its errors; 0 if left out.  In a
    frame's own axes J v is its twist.
    """

    def __init__(self, robot: Any, tasks: Any, stiffness: Any, damping: Any, actuators: Any, limits: Any) -> None:
        super().__init__(robot, actuators, limits)
        self.tasks: tuple[Task, ...] = tuple(x for x in check_tasks(self.who, robot, tasks) if not x.own)
        for task in self.tasks:
            if any(pair != (0.0, 0.0) for pair in task.ranges):
                raise ValueError(f"{self.who}: task {task.name!r}: expected one whose errors are to vanish, not ranges")
        self.stiffness = self._by_task("stiffness", stiffness, None)
        self.damping = self._by_task("damping", damping, {k: 2.0 * math.sqrt(x) for k, x in self.stiffness.items()})
        self.shapes = target_shapes(robot.tree, self.tasks)

    def _by_task(self, what: str, given: Any, default: Mapping[str, float] | None) -> dict[str, float]:
        names = [task.name for task in self.tasks]
        if isinstance(given, Mapping):
            for name in given:
                if name not in names:
                    raise UnknownNameError("task", name, names)
        found = {}
        for name in names:
            x = given.get(name) if isinstance(given, Mapping) else given
            x = default[name] if x is None and default is not None else x
            if isinstance(x, (bool, str)) or not isinstance(x, (int, float, np.number)) or not 0.0 <= x < math.inf:
                raise ValueError(f"{self.who}: {what} of task {name!r}: expected a number from 0, got {x!r}")
            found[name] = float(x)
        return found

    def _called(self, task: Task) -> str:
        kind = task.target_of.kind if task.target_of is not None else ""
        return f"{task.name}_q" if kind == "configuration" else task.name

    @property
    def takes(self) -> Shapes:
        found: dict[str, tuple[int, ...]] = {}
        for task in self.tasks:
            if task.name in self.shapes:
                found[self._called(task)] = self.shapes[task.name]
            rows = (len(task.row_names),)
            found |= {f"{task.name}_v": rows, f"{task.name}_a": rows}
        return found

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self._called(x) for x in self.tasks if x.name in self.shapes and x.target is None)

    @property
    def poses(self) -> tuple[str, ...]:
        every = ((x, x.target_of) for x in self.tasks)
        return tuple(self._called(x) for x, aim in every if aim is not None and aim.kind == "pose")

    def any_targets(self, tasks: Iterable[Task], q: np.ndarray) -> dict[str, np.ndarray]:
        """Something for each of the tasks to aim at, where only how they move counts."""
        found = {}
        for task in tasks:
            if task.name in self.shapes:
                kind, shape = task.target_of.kind if task.target_of is not None else "", self.shapes[task.name]
                some = {"configuration": q, "pose": np.eye(4), "rotation": np.eye(3), "direction": np.eye(3)[0]}
                found[self._called(task)] = some.get(kind, np.full(shape, 1.0 if kind in ("size", "length") else 0.0))
        return found

    def motions(
        self, q: Any, v: Any, tasks: Iterable[Task], given: Mapping[str, Any]
    ) -> tuple[Stack, TaskMotion, list[Any]]:
        """Some of the tasks, how they move, and their a* by row."""
        stack, moving, wanted, _ = self.pulled(q, v, tasks, given)
        return stack, moving, wanted

    def pulled(
        self, q: Any, v: Any, tasks: Iterable[Task], given: Mapping[str, Any]
    ) -> tuple[Stack, TaskMotion, list[Any], list[Any]]:
        """The same, and what of a* is damping alone: where errors and accelerations of targets are none."""
        chosen = tuple(tasks)
        targets = [
            scalars(given.get(self._called(x), x.target)).ravel().tolist() if x.name in self.shapes else []
            for x in chosen
        ]
        stack = Stack(
            self.robot.tree,
            chosen,
            tuple(targets),
            [t for x in chosen for t in x.tolerances],
            [w for x in chosen for w in x.weights],
        )
        moving = task_motion(stack, list(q), list(v))
        wanted: list[Any] = []
        damped: list[Any] = []
        for task, rates in zip(chosen, moving.rates, strict=True):
            own = slice(len(wanted), len(wanted) + len(task.row_names))
            still = [0.0] * len(task.row_names)
            led, ahead = (list(given.get(f"{task.name}_{x}", still)) for x in ("v", "a"))
            gains = self.stiffness[task.name], self.damping[task.name]
            wanted += task.settling(moving.errors[own], rates, led, ahead, gains)
            damped += task.settling(still, rates, led, still, gains)
        return stack, moving, wanted, damped
