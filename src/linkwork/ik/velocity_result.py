"""Results of differential inverse kinematics."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from linkwork._util.result import Result
from linkwork._util.status import statuses
from linkwork.errors import Status
from linkwork.ik.tasks.task import Task

__all__ = ["TOLD", "VelocityResult"]

TOLD = ("off", "met", "least", "rounds")  # then sides by velocity, errors by row before, and after


class StepRequest(Protocol):
    """What a velocity knows of the step that it is of."""

    robot: Any
    tasks: tuple[Task, ...]


_STATUSES = (Status.SOLVED, Status.TASKS_NOT_MET, Status.CONSTRAINTS_NOT_MET, Status.MAX_ITERATIONS)


class VelocityResult(Result):
    """A velocity towards tasks within limits; of a batch, an entry a state.

    ``v`` (..., nv) is always within limits of velocity [rad/s, m/s]; ``errors`` (..., rows) are those of the tasks
    before the step, beyond their ranges, and ``after`` what is left of them to the first order [rad, m].
    """

    __slots__ = ("_told", "problem", "v")

    problem: StepRequest
    v: np.ndarray
    _told: np.ndarray

    @classmethod
    def _make(cls, problem: StepRequest, v: np.ndarray, told: np.ndarray) -> Self:
        made = object.__new__(cls)
        made.problem, made.v, made._told = problem, v, told
        return made

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
            result = np.empty(active.shape[:-1], dtype=object)
            for place in np.ndindex(result.shape):
                result[place] = self._names(active[place])
            return result
        return self._names(active) if robot.nv else []

    @property
    def status(self) -> Any:
        """A `linkwork.errors.Status`, or an array (...) of its words.

        "solved"; "constraints_not_met": limits do not let the robot obey its own constraints; "tasks_not_met":
        constraints, limits or hard tasks themselves do not let all hard tasks be met; "max_iterations".
        """
        own = [task.own for task in self.problem.tasks for _ in task.component_names]
        allowed = np.array([x for task in self.problem.tasks for x in task.tolerances])
        broken = (np.abs(self.after[..., own]) > allowed[own]).any(axis=-1)
        codes = np.where(self._flag("least"), np.where(broken, 2, 1), 3)
        return statuses(np.where(self.success, 0, codes), _STATUSES)

    def _sentence(self, place: tuple[int, ...]) -> str:
        names = self.at_limits[place] if self.active.ndim > 1 else self.at_limits
        held = ", ".join(map(repr, names)) or "no joint"
        left = float(np.abs(self.after[place]).max(initial=0.0))
        return f"limits hold {held}; errors of at most {left:.3g} [rad, m] are left"

    @property
    def iterations(self) -> Any:
        """Iterations of the quadratic program (...)."""
        result = self._told[..., TOLD.index("rounds")].astype(int)
        return int(result) if result.ndim == 0 else result

    def _names(self, active: np.ndarray) -> list[str]:
        tree = self.problem.robot.tree
        return [body.joint_name for k, body in tree.stacked() if np.any(active[tree.v_slices[k]] != 0.0)]

    def _flag(self, name: str) -> Any:
        result = self._told[..., TOLD.index(name)] == 1.0
        return bool(result) if np.ndim(result) == 0 else result

    def _part(self, which: int) -> np.ndarray:
        nv = self.problem.robot.nv
        rows = (self._told.shape[-1] - len(TOLD) - nv) // 2
        starts = np.cumsum([len(TOLD), nv, rows, rows])
        return self._told[..., starts[which] : starts[which + 1]]

    def __repr__(self) -> str:
        if self.v.ndim == 1:
            return f"<VelocityResult: {self.status}; at limits: {', '.join(self.at_limits) or 'nothing'}>"
        return f"<VelocityResult: {int(np.sum(self.success))} of {np.size(self.success)} solved>"
