"""What inverse kinematics found: arrays, and sentences about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .solving import TOLD

if TYPE_CHECKING:
    from .problem import IKProblem

__all__ = ["IKResult"]

_PLACE = {name: k for k, name in enumerate(TOLD)}


class IKResult:
    """Configurations that inverse kinematics found; of a batch, an entry a state.

    ``success`` alone says whether a configuration does what was asked; where it does not, ``q`` is the best that was
    met, ``status`` says why, and ``explain`` puts it in a sentence.  Every q is within limits.
    """

    __slots__ = ("_given", "_status", "_told", "errors", "problem", "q", "seed", "tolerances")

    def __init__(
        self,
        problem: IKProblem,
        q: np.ndarray,
        errors: np.ndarray,
        told: Any,
        seed: np.ndarray,
        given: Any,
        tolerances: np.ndarray | None = None,
    ) -> None:
        self.problem, self.q, self.errors, self.seed = problem, q, errors, seed
        self.tolerances = tolerances
        self._told, self._given = told, given
        self._status: np.ndarray | None = None

    @property
    def success(self) -> Any:
        """Whether all hard tasks are done within their tolerances, and limits kept: a bool, or an array (...)."""
        told = self._told
        return told[0] == 1.0 if told.__class__ is list else told[..., 0] == 1.0

    @property
    def iterations(self) -> Any:
        """Steps, of all starts together (...)."""
        return self._whole("iterations")

    @property
    def restarts(self) -> Any:
        """Starts after the seed (...)."""
        return self._whole("restarts")

    @property
    def position_error(self) -> Any:
        """The longest way that is left of a hard task (...) [m]."""
        return self._number("position_error")

    @property
    def orientation_error(self) -> Any:
        """The largest angle that is left of a hard task (...) [rad]."""
        return self._number("orientation_error")

    @property
    def cost(self) -> Any:
        """How far from done (...): the sum of the squares of what is beyond, in units of characteristic size."""
        scaled = np.asarray(self.errors) * np.array(_scales(self.problem))
        found = (scaled * scaled).sum(axis=-1)
        return float(found) if found.ndim == 0 else found

    @property
    def targets(self) -> dict[str, np.ndarray]:
        """What each task aimed at."""
        if isinstance(self._given, dict):
            return self._given
        return {next(iter(self.problem.shapes)): self._given}

    @property
    def status(self) -> Any:
        """ "solved", or why not: a text, or an array (...) of them."""
        if self._told.__class__ is list:
            return "solved" if self.success else "not solved"
        return np.where(self.success, "solved", "not solved")

    def after(self, iterations: int, restarts: int) -> IKResult:
        """The same, found after so many steps and starts."""
        told = list(self._told)
        told[_PLACE["iterations"]], told[_PLACE["restarts"]] = float(iterations), float(restarts)
        return IKResult(self.problem, self.q, self.errors, told, self.seed, self._given, self.tolerances)

    def _number(self, name: str) -> Any:
        told = self._told
        return told[_PLACE[name]] if told.__class__ is list else told[..., _PLACE[name]]

    def _whole(self, name: str) -> Any:
        found = self._number(name)
        return int(found) if found.__class__ is float else found.astype(int)

    def __repr__(self) -> str:
        if self._told.__class__ is list:
            return (
                f"<IKResult: {self.status}, {self.position_error:.3g} m and {self.orientation_error:.3g} rad left, "
                f"{self.iterations} iterations>"
            )
        return f"<IKResult: {int(np.sum(self.success))} of {np.size(self.success)} solved>"


def _scales(problem: IKProblem) -> list[float]:
    from ...algorithms.ik.stack import Stack

    tasks = problem.tasks
    stack = Stack(problem.robot.tree, tasks, ((),) * len(tasks), (), ())
    return [scale if hard else 0.0 for scale, hard in zip(stack.scales, stack.hard, strict=True)]
