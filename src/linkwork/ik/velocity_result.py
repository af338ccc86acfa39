"""Results of differential inverse kinematics."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from linkwork._util.result import Result
from linkwork._util.status import statuses
from linkwork.errors import Status
from linkwork.ik.tasks.modifiers import LimitRange
from linkwork.ik.tasks.task import Task

__all__ = ["DIAGNOSTICS", "VelocityResult"]

DIAGNOSTICS = ("off", "met", "least", "rounds")  # then active limits (nv,), errors before and after (rows,)


class StepRequest(Protocol):
    """Protocol of a differential IK step, with the attributes that its results read."""

    robot: Any
    tasks: tuple[Task, ...]


_STATUSES = (Status.SOLVED, Status.TASKS_NOT_MET, Status.CONSTRAINTS_NOT_MET, Status.MAX_ITERATIONS)


class VelocityResult(Result):
    """Result of differential inverse kinematics: a velocity within limits, for one state or a batch.

    ``v`` (..., nv) is within the velocity limits [rad/s, m/s].  ``errors`` (..., rows) are the tasks' errors outside
    their ranges before the step, and ``after`` the errors that remain to first order after it [rad, m].
    """

    __slots__ = ("_diagnostics", "problem", "v")

    problem: StepRequest
    v: np.ndarray
    _diagnostics: np.ndarray

    @classmethod
    def _make(cls, problem: StepRequest, v: np.ndarray, diagnostics: np.ndarray) -> Self:
        result = object.__new__(cls)
        result.problem, result.v, result._diagnostics = problem, v, diagnostics
        return result

    @property
    def success(self) -> Any:
        """True where the step satisfies the hard tasks to first order, as far as their gains require (...)."""
        return self._is_set("met") & self._is_set("least")

    @property
    def errors(self) -> np.ndarray:
        """Errors of all tasks before the step (..., rows) [rad, m]."""
        return self._section(1)

    @property
    def after(self) -> np.ndarray:
        """Errors of all tasks after the step, to first order (..., rows) [rad, m]."""
        return self._section(2)

    @property
    def active(self) -> np.ndarray:
        """Active limit of each coordinate of v (..., nv): 1 at the upper, −1 at the lower, 0 at none."""
        return self._section(0)[..., : self.problem.robot.nv]

    @property
    def at_limits(self) -> Any:
        """Names of the joints at active limits: a list, or an array (...) of lists."""
        sides = self._section(0)
        if sides.ndim > 1:
            result = np.empty(sides.shape[:-1], dtype=object)
            for index in np.ndindex(result.shape):
                result[index] = self._names(sides[index])
            return result
        return self._names(sides)

    @property
    def status(self) -> Any:
        """Status of each state: a `linkwork.errors.Status`, or an array (...) of its words.

        - "solved".
        - "constraints_not_met": limits prevent the robot from satisfying its own constraints.
        - "tasks_not_met": constraints, limits or other hard tasks prevent some hard tasks from being satisfied.
        - "max_iterations".
        """
        of_robot = [task.own for task in self.problem.tasks for _ in task.component_names]
        allowed = np.array([x for task in self.problem.tasks for x in task.tolerances])
        broken = (np.abs(self.after[..., of_robot]) > allowed[of_robot]).any(axis=-1)
        codes = np.where(self._is_set("least"), np.where(broken, 2, 1), 3)
        return statuses(np.where(self.success, 0, codes), _STATUSES)

    def _sentence(self, index: tuple[int, ...]) -> str:
        names = self.at_limits[index] if self.active.ndim > 1 else self.at_limits
        limited = ", ".join(map(repr, names)) or "no joint"
        left = float(np.abs(self.after[index]).max(initial=0.0))
        return f"joints at limits: {limited}; largest remaining error {left:.3g} [rad, m]"

    @property
    def iterations(self) -> Any:
        """Number of iterations of the quadratic program (...)."""
        result = self._diagnostics[..., DIAGNOSTICS.index("rounds")].astype(int)
        return int(result) if result.ndim == 0 else result

    def _names(self, sides: np.ndarray) -> list[str]:
        tree = self.problem.robot.tree
        result = [body.joint_name for k, body in tree.stacked() if np.any(sides[tree.v_slices[k]] != 0.0)]
        ranged_sides = zip(self._ranged, sides[tree.nv :], strict=True)
        return [*dict.fromkeys([*result, *(name for name, side in ranged_sides if side != 0.0)])]

    @property
    def _ranged(self) -> list[str]:
        """Name of the joint for each limited coordinate that has a `LimitRange` task.

        Such coordinates depend on several velocities, or close loops.
        """
        tasks = [task for task in self.problem.tasks if isinstance(task, LimitRange)]
        return [coordinate.joint for task in tasks for coordinate in task.coordinates]

    def _is_set(self, name: str) -> Any:
        result = self._diagnostics[..., DIAGNOSTICS.index(name)] == 1.0
        return bool(result) if np.ndim(result) == 0 else result

    def _section(self, which: int) -> np.ndarray:
        sides = self.problem.robot.nv + len(self._ranged)
        rows = (self._diagnostics.shape[-1] - len(DIAGNOSTICS) - sides) // 2
        starts = np.cumsum([len(DIAGNOSTICS), sides, rows, rows])
        return self._diagnostics[..., starts[which] : starts[which + 1]]

    def __repr__(self) -> str:
        if self.v.ndim == 1:
            return f"<VelocityResult: {self.status}; at limits: {', '.join(self.at_limits) or 'none'}>"
        return f"<VelocityResult: {int(np.sum(self.success))} of {np.size(self.success)} solved>"
