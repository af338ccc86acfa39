"""Protocol of an IK problem as its results and solvers see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from linkwork.ik.algorithms.task_stack import WideRows
from linkwork.ik.reach_bounds import Chain
from linkwork.ik.tasks.task import Task
from linkwork.kernels.compiler_api import Kernel
from linkwork.model.limited_coordinates import LimitedCoordinate

__all__ = ["ProblemView"]


class ProblemView(Protocol):
    """Tasks of a robot with their tolerances, weights, limits and kernels."""

    robot: Any
    caller: str
    tasks: tuple[Task, ...]
    solver: str
    max_iterations: int
    locked: tuple[str, ...]
    shapes: dict[str, tuple[int, ...]]
    lower: np.ndarray
    upper: np.ndarray
    position_limits: tuple[np.ndarray, np.ndarray] | None
    midrange: np.ndarray
    tolerances: np.ndarray
    wide: WideRows
    weights: np.ndarray
    finite_bounds: tuple[np.ndarray, np.ndarray]

    @property
    def kernel(self) -> Kernel:
        """Compiled solver of the problem."""

    @property
    def soft(self) -> Any:
        """Cost and completion of the soft tasks (`soft_restarts.SoftResiduals`)."""

    @property
    def locked_dofs(self) -> frozenset[int]:
        """Indices in v of the locked joints."""

    @property
    def feasibility_kernel(self) -> Kernel:
        """Compiled search for any configuration that satisfies the hard tasks."""

    @property
    def residual_kernel(self) -> Kernel:
        """Compiled residual and Jacobian of all tasks as a function of q and the targets."""

    @property
    def bounded(self) -> dict[int, int]:
        """Map from each velocity that is the only one to move a limited coordinate to that coordinate's index in q."""

    @property
    def limited(self) -> tuple[LimitedCoordinate, ...]:
        """Coordinates with position limits, also those of joints that close loops."""

    @property
    def scales(self) -> list[float]:
        """Weights (one per residual component) that make errors comparable."""

    @property
    def form(self) -> Any:
        """Closed form of the problem (`ClosedForm`), or None."""

    def chain(self, task: Task, *, position_limits: bool) -> Chain | None:
        """Return the kinematic chain that bounds the reach of a task's frame, or None."""

    def solve(self, q_init: Any = None, **targets: Any) -> Any:
        """Solve for targets given by task name."""

    def refuse_unless_poses(
        self, result: Any, q_init: np.ndarray, targets: Mapping[str, np.ndarray], near: Sequence[np.ndarray] = ()
    ) -> None:
        """Raise ValueError if the kernel reports an input that is not finite or a target that is not a rotation."""
