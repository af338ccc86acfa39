"""Configurations for what a robot is asked to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ...tasks.contract import Task
from ...tasks.frames import Axes, PoseTask
from ..ik.problem import STEPS, IKProblem
from ..ik.result import IKResult
from .base import Array, RobotBase

__all__ = ["InverseKinematicsMethods"]

_NUMBERS = (type(None), float)  # tolerances that calls are known by


class InverseKinematicsMethods(RobotBase):
    """Inverse kinematics: configurations within limits that do tasks (see the page on inverse kinematics)."""

    __slots__ = ()

    def inverse_kinematics(
        self,
        X_target: ArrayLike,
        frame: str,
        *,
        seed: Array | None = None,
        tolerance: ArrayLike | None = None,
        relative_to: str = "world",
        axes: Axes = "frame",
        limits: Any = None,
        locked: Sequence[str] = (),
        deadline: float | None = None,
        at_most: int = STEPS,
    ) -> IKResult:
        """Configurations at which a frame has a pose, within limits: one, or a batch.

        X_target (..., 4, 4) is the pose of ``frame`` in ``relative_to``.  ``seed`` (..., nq) is where to start, the
        middle of limits if it is left out; where it leads to no answer other starts follow, the same ones always.
        ``tolerance`` is a number for the angle and the way that may be left [rad, m], 1e-6 if it is left out, or one
        for each of (rotation x y z, position x y z), infinite where that is free, in the axes of the frame itself, of
        its ``"target"`` or of the ``"reference"`` that it is relative to.  ``limits`` are the joints', (lower, upper)
        besides them, or none (False); joints that are ``locked`` stay where the seed has them.  ``deadline`` [s] is
        for one state; ``at_most`` bounds the steps.

        The result has ``q`` (..., nq), ``success``, ``status``, ``position_error``, ``orientation_error``,
        ``iterations``, ``restarts``.  Raises ValueError for poses that are none, for frames between which no joint is,
        and for limits that leave nothing; UnknownNameError for names that the robot does not have.
        """
        plain = limits is None and not locked and at_most == STEPS and tolerance.__class__ in _NUMBERS
        if plain and deadline is None:
            known: Any = self._calls.get(("inverse_kinematics", frame, relative_to, axes, tolerance))
            if known is not None and X_target.__class__ is np.ndarray and X_target.shape == (4, 4):
                if seed is None:
                    return cast(IKResult, known.single(known.middle, X_target))
                if seed.__class__ is np.ndarray and seed.shape == (self.nq,):
                    return cast(IKResult, known.single(seed, X_target))
        task = PoseTask(frame, relative_to=relative_to, axes=axes, name="X_target")
        problem = IKProblem(
            self, task, limits=limits, locked=locked, at_most=at_most, tolerance=tolerance, who="inverse_kinematics"
        )
        if plain and len(problem.shapes) == 1:
            self._calls["inverse_kinematics", frame, relative_to, axes, tolerance] = cast(Any, problem)
        return problem.solve(seed, deadline=deadline, X_target=X_target)

    def ik_problem(
        self,
        tasks: Task | Iterable[Task],
        *,
        solver: str = "auto",
        limits: Any = None,
        locked: Sequence[str] = (),
        at_most: int = STEPS,
    ) -> IKProblem:
        """A problem of inverse kinematics: tasks and constraints, hard and soft ones, made once and asked often.

        ``problem.solve(seed, hand=X, ...)`` takes targets by the tasks' names.
        """
        return IKProblem(self, tasks, solver=solver, limits=limits, locked=locked, at_most=at_most)
