"""Paths of robots with constraints of velocities: steps of differential inverse kinematics from target to target."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwork.ik.differential import DifferentialIK
from linkwork.ik.problem_protocol import ProblemView

__all__ = ["RollingSteps", "rolls"]

_PART = 0.05  # of the largest jump: how far a number of velocity goes in one step, which is straight
_STEPS = 400  # from target to target
_STILL = 1e-9  # [rad, m] a step that is none
_SETTLED = 1e-7  # [rad, m] a step at which soft tasks are at their minimum


def rolls(problem: ProblemView) -> bool:
    """True where the robot has constraints of velocities, which single configurations cannot obey."""
    return any(not constraint.holonomic for constraint in problem.robot.tree.constraints)


class _PathStep(DifferentialIK):
    """A step along a path that has no clock."""

    _clocked = False


class RollingSteps:
    """Walks from a configuration towards targets by steps δ with G(q) δ = 0."""

    def __init__(self, problem: ProblemView, jump: np.ndarray) -> None:
        self.problem, self.most = problem, _PART * jump
        limits = {"position": (problem.lower, problem.upper), "velocity": False}
        self.ik = _PathStep(
            problem.robot, problem.tasks, 1.0, motion_limits=limits, locked=problem.locked, caller=problem.caller
        )
        self.hard = np.array([task.hard for task in problem.tasks for _ in task.component_names])

    def walked(self, before: np.ndarray, targets: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Configurations (N, nq) that steps from others lead to, and whether tasks are done there (N,)."""
        robot, q, size = self.problem.robot, before, np.full(len(before), np.inf)
        for _ in range(_STEPS):
            going = ~self._done(q, targets, size) & (size > _STILL)
            if not going.any():
                break
            step = self.ik.velocity(q, **targets).v
            step = step / np.maximum((np.abs(step) / self.most).max(axis=-1, keepdims=True), 1.0)
            size = np.where(going, np.abs(step).max(axis=-1), size)
            q = np.where(going[:, None], robot.integrate(q, step), q)
        return q, self._done(q, targets, size)

    def _done(self, q: np.ndarray, targets: Mapping[str, np.ndarray], size: np.ndarray) -> np.ndarray:
        errors = self.problem.looking(q, *targets.values()).errors
        left = np.abs(errors[..., self.hard]) <= np.broadcast_to(self.problem.tolerances, errors.shape)[..., self.hard]
        done: np.ndarray = left.all(axis=-1)
        return done if self.hard.all() else done & (size <= _SETTLED)
