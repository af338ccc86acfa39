"""What a step of differential inverse kinematics found: a velocity, and sentences about it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from linkwork.ik.tasks.task import Task

__all__ = ["TOLD", "VelocityResult"]

TOLD = ("off", "met", "least", "rounds")  # then sides by velocity, errors by row before, and after


class StepRequest(Protocol):
    """What a velocity knows of the step that it is of."""

    robot: Any
    tasks: tuple[Task, ...]


class VelocityResult:
    """A velocity towards tasks within limits; of a batch, an entry a state.

    ``v`` (..., nv) is always within limits of velocity [rad/s, m/s]; ``errors`` (..., rows) are those of the tasks
    before the step, beyond their ranges, and ``after`` what is left of them to the first order [rad, m].
    """

    __slots__ = ("_told", "problem", "v")

    def __init__(self, problem: StepRequest, v: np.ndarray, told: np.ndarray) -> None:
        self.problem, self.v, self._told = problem, v, told

    @property
    def success(self) -> Any:
        """Whether hard tasks are met by the step, to the first order, as far as their gains say: (...)."""
        return self._flag("met") & self._flag("least")

    @property
    def errors(self) -> np.ndarray:
        """By row of all tasks, before the step (..., rows)."""
        return self._part(1)

    @property
    def after(self) -> np.ndarray:
        """By row of all tasks, to the first order after it (..., rows)."""
        return self._part(2)

    @property
    def active(self) -> np.ndarray:
        """By velocity, 1 where the greatest that limits allow holds it, −1 where the least does, else 0 (..., nv)."""
        return self._part(0)

    @property
    def at_limits(self) -> Any:
        """Names of the joints whose limits hold the velocity: a list, or an array (...) of lists."""
        robot, active = self.problem.robot, self.active
        if active.ndim > 1:
            found = np.empty(active.shape[:-1], dtype=object)
            for place in np.ndindex(found.shape):
                found[place] = self._names(active[place])
            return found
        return self._names(active) if robot.nv else []

    @property
    def status(self) -> Any:
        """ "solved", or why not: a text, or an array (...) of them.

        "constraints not met": limits do not let the robot obey its own constraints; "hard tasks not met": these, limits
        or hard tasks themselves do not let all hard tasks be met; "out of iterations".
        """
        own = [task.own for task in self.problem.tasks for _ in task.component_names]
        allowed = np.array([x for task in self.problem.tasks for x in task.tolerances])
        broken = (np.abs(self.after[..., own]) > allowed[own]).any(axis=-1)
        words = np.where(broken, "constraints not met", "hard tasks not met")
        words = np.where(self._flag("least"), words, "out of iterations")
        found = np.where(self.success, "solved", words)
        return str(found) if found.ndim == 0 else found

    @property
    def iterations(self) -> Any:
        """Rounds of the quadratic program (...)."""
        found = self._told[..., TOLD.index("rounds")].astype(int)
        return int(found) if found.ndim == 0 else found

    def _names(self, active: np.ndarray) -> list[str]:
        tree = self.problem.robot.tree
        return [body.joint_name for k, body in tree.stacked() if np.any(active[tree.v_slices[k]] != 0.0)]

    def _flag(self, name: str) -> Any:
        found = self._told[..., TOLD.index(name)] == 1.0
        return bool(found) if np.ndim(found) == 0 else found

    def _part(self, which: int) -> np.ndarray:
        nv = self.problem.robot.nv
        rows = (self._told.shape[-1] - len(TOLD) - nv) // 2
        starts = np.cumsum([len(TOLD), nv, rows, rows])
        return self._told[..., starts[which] : starts[which + 1]]

    def __repr__(self) -> str:
        if self.v.ndim == 1:
            return f"<VelocityResult: {self.status}; at limits: {', '.join(self.at_limits) or 'nothing'}>"
        return f"<VelocityResult: {int(np.sum(self.success))} of {np.size(self.success)} solved>"
