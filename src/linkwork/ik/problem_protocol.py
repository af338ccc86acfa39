"""What answers, and what makes them, know of the problem that they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from linkwork.ik.reach_bounds import Chain
from linkwork.ik.tasks.task import Task
from linkwork.kernels.compiler_api import Kernel

__all__ = ["ProblemView"]


class ProblemView(Protocol):
    """Tasks of a robot, their numbers by row, limits, and kernels."""

    robot: Any
    caller: str
    tasks: tuple[Task, ...]
    solver: str
    max_iterations: int
    locked: tuple[str, ...]
    shapes: dict[str, tuple[int, ...]]
    lower: np.ndarray
    upper: np.ndarray
    middle: np.ndarray
    tolerances: np.ndarray
    weights: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]

    @property
    def kernel(self) -> Kernel:
        """What solves it."""

    @property
    def soft(self) -> Any:
        """The rows of soft tasks: `restarts.SoftRows`."""

    @property
    def still(self) -> frozenset[int]:
        """Velocities that are held."""

    @property
    def searching(self) -> Kernel:
        """What looks for any configuration that does the hard tasks."""

    @property
    def looking(self) -> Kernel:
        """Errors and rows of all tasks, by q and targets."""

    @property
    def bounded(self) -> dict[int, int]:
        """By velocity: the number of q that limits bound."""

    @property
    def scales(self) -> list[float]:
        """By row what makes errors comparable."""

    def chain(self, task: Task, *, position_limits: bool) -> Chain | None:
        """What bounds the reach of a task's frame."""

    def solve(self, q_init: Any = None, **targets: Any) -> Any:
        """Configurations for targets by the tasks' names."""

    def refuse_unless_poses(
        self, result: Any, q_init: np.ndarray, given: Mapping[str, np.ndarray], near: Sequence[np.ndarray] = ()
    ) -> None:
        """Raises ValueError where a kernel says that what it was given, is none."""
