"""A task's functions as kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.control.linear_quadratic.arguments import matching
from linkwork.environments.control_tasks_task import ControlTask
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import lt, or_, where
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.compiler_api import Kernel, compile

__all__ = ["begun", "mover", "observer"]


def begun(task: ControlTask, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and the goal of an environment that begins.  Raises ValueError for what is no state of the robot."""
    robot: Any = task.robot
    found = task.start(rng)
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise ValueError(f"ControlTask: start: expected a pair (q, v), got {found!r}")
    q = matching("ControlTask", "start: q", found[0], robot.nq, "nq")
    v = matching("ControlTask", "start: v", found[1], robot.nv, "nv")
    goal = np.asarray(real_array("ControlTask: goal: expected finite numbers (k,)", task.goal(rng)), float)
    if goal.ndim != 1 or not np.isfinite(goal).all():
        raise ValueError(f"ControlTask: goal: expected finite numbers (k,), got {goal!r}")
    return q, v, goal


def observer(task: ControlTask, goals: int) -> Kernel:
    """q, v, goal to what is seen."""

    def seen(q: Any, v: Any, goal: Any) -> Any:
        return array(list(task.observe(q, v, goal)))

    return compile(seen, name="observe", **_shapes(task, goals))


def mover(task: ControlTask, goals: int) -> Kernel:
    """q, v, goal, action to all that an action leads to."""
    robot: Any = task.robot

    def moved(q: Any, v: Any, goal: Any, action: Any) -> Any:
        tau = task.forces(action)
        found = robot.simulate(
            q,
            v,
            controller=lambda t, q, v: tau,
            duration=task.step * task.every,
            step=task.step,
            every=task.every,
            contacts=task.contacts,
        )
        q, v = found.q[-1], found.v[-1]
        lost = lt(0.5, found.status)
        over = or_(lost, lt(0.0, where(lost, 1.0, task.failed(q, v, goal))))
        return {
            "q": q,
            "v": v,
            "observation": array(list(task.observe(q, v, goal))),
            "reward": where(lost, 0.0, task.reward(q, v, action, goal)),
            "over": where(over, 1.0, 0.0),
        }

    return compile(moved, name="act", **_shapes(task, goals), action=(len(task.joints),))


def _shapes(task: ControlTask, goals: int) -> Mapping[str, Any]:
    robot: Any = task.robot
    return {"q": robot.configuration_space, "v": (robot.nv,), "goal": (goals,)}
