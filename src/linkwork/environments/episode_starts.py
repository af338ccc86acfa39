"""Initial states and goals of the episodes that begin, drawn one by one and checked together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.validation import finite_array
from linkwork.environments.control_task import ControlTask, optional_arguments
from linkwork.kernels import real_array
from linkwork.simulation.initial_state_check import check_start

__all__ = ["EpisodeStarts"]

_Start = tuple[Any, Any, Any]  # q, v and goal


class EpisodeStarts:
    """Initial states and goals of a task's episodes."""

    def __init__(self, task: ControlTask) -> None:
        self._task = task
        self._takes_robot = "robot" in optional_arguments("start", task.start, ("rng",), ("robot",))

    def draw(
        self, generators: Sequence[np.random.Generator], parameters: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (n, nq), v (n, nv) and goals (n, k) of n new episodes, each drawn with its own generator.

        ``parameters`` (n, ...) are those of the robot by name.  Raises ValueError for an invalid state of the robot.
        """
        starts = [self._drawn(rng, {name: x[k] for name, x in parameters.items()}) for k, rng in enumerate(generators)]
        robot: Any = self._task.robot
        together = [_stacked([start[i] for start in starts], size) for i, size in enumerate((robot.nq, robot.nv, None))]
        q, v, goals = together
        if q is not None and v is not None and goals is not None:
            try:
                self._check(q, v, parameters, {name: x.shape[1:] for name, x in parameters.items()})
            except ValueError:
                pass  # the check of the single state names no index among the episodes that begin
            else:
                return q, v, goals
        single = [
            self._checked(start, {name: x[k] for name, x in parameters.items()}) for k, start in enumerate(starts)
        ]
        q, v, goals = (np.stack([start[i] for start in single]) for i in range(3))
        return q, v, goals

    def _drawn(self, rng: np.random.Generator, parameters: Mapping[str, np.ndarray]) -> _Start:
        more = {}
        if self._takes_robot:
            robot: Any = self._task.robot
            moving = {name: x for name, x in parameters.items() if not name.startswith("contact_")}
            more = {"robot": robot.with_parameters(moving) if moving else robot}
        state = self._task.start(rng, **more)
        if not isinstance(state, tuple | list) or len(state) != 2:
            raise ValueError(f"ControlTask: start: expected a pair (q, v), got {state!r}")
        return state[0], state[1], self._task.goal(rng)

    def _checked(self, start: _Start, parameters: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        robot: Any = self._task.robot
        q = finite_array("ControlTask", "start: q", start[0], shape=("...", robot.nq))
        v = finite_array("ControlTask", "start: v", start[1], shape=("...", robot.nv))
        self._check(q, v, parameters, {name: x.shape for name, x in parameters.items()})
        goal = np.asarray(real_array("ControlTask: goal: expected finite numbers (k,)", start[2]), float)
        if goal.ndim != 1 or not np.isfinite(goal).all():
            raise ValueError(f"ControlTask: goal: expected finite numbers (k,), got {goal!r}")
        return q.reshape(robot.nq), v.reshape(robot.nv), goal

    def _check(
        self, q: np.ndarray, v: np.ndarray, parameters: Mapping[str, np.ndarray], sizes: dict[str, tuple[int, ...]]
    ) -> None:
        check_start("ControlTask: start", self._task.robot, q, v, self._task.dt, tuple(sizes), sizes, parameters)


def _stacked(values: Sequence[Any], size: int | None) -> np.ndarray | None:
    """Return vectors (n, k) of plain lists or arrays; None unless all are finite vectors of one size."""
    if not {type(value) for value in values} <= {np.ndarray, list, tuple}:
        return None
    try:
        result = np.array(values)
    except (TypeError, ValueError):  # of several sizes
        return None
    if result.dtype.kind not in "iuf" or result.ndim != 2 or size not in (None, result.shape[1]):
        return None
    result = result.astype(float, copy=False)
    return result if np.isfinite(result).all() else None
