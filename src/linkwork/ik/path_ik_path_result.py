"""What following a path found: configurations, where they jump, and sentences about that."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linkwork.ik.problem_protocol import AskedProblem

__all__ = ["JointJump", "PathResult"]


class JointJump(NamedTuple):
    """How far a joint goes from one target to the next [rad, m], which joint, and to which target (its number)."""

    size: float
    joint: str
    step: int


class PathResult:
    """Configurations along a path of T targets; of a batch of paths, an entry a path.

    ``q`` (..., T, nq) are within limits; ``success`` (..., T) says which of them do what was asked; and
    ``reconfigured`` (..., T) where the robot had to jump from one family of answers to another.
    """

    def __init__(self, problem: AskedProblem, q: np.ndarray, success: np.ndarray, reconfigured: np.ndarray) -> None:
        self.problem, self.q, self.success, self.reconfigured = problem, q, success, reconfigured

    @cached_property
    def steps(self) -> np.ndarray:
        """By how much each number of velocity goes from target to target (..., T − 1, nv) [rad, m]."""
        found: np.ndarray = self.problem.robot.difference(self.q[..., :-1, :], self.q[..., 1:, :])
        return found

    @property
    def reconfigurations(self) -> Any:
        """How many there are: a whole number, or an array (...)."""
        found = self.reconfigured.sum(axis=-1)
        return int(found) if found.ndim == 0 else found

    @property
    def largest_jump(self) -> JointJump:
        """The farthest that any joint goes from one target to the next, of all paths."""
        sizes = np.abs(self.steps)
        if sizes.size == 0:
            return JointJump(0.0, "", 0)
        place = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        return JointJump(float(sizes[place]), self._joint(int(place[-1])), int(place[-2]) + 1)

    def explain(self, path: int | tuple[int, ...] = ()) -> str:
        """What became of a path, in a sentence or several; of a batch, of the one of this place."""
        success, changed, steps = self.success[path], self.reconfigured[path], np.abs(self.steps[path])
        if success.ndim != 1:
            raise ValueError(f"explain: expected which path of {self.success.shape[:-1]}, got {path!r}")
        count = len(success)
        told = [f"{int(success.sum())} of {count} targets are reached"]
        if not success.all():
            told[0] += f", target {int(np.flatnonzero(~success)[0])} is the first that is not"
        if steps.size:
            t, k = np.unravel_index(int(np.argmax(steps)), steps.shape)
            told.append(f"the largest jump is {steps[t, k]:.3g} of {self._joint(int(k))!r}, to target {int(t) + 1}")
        for t in np.flatnonzero(changed):
            moved = {self._joint(int(k)): None for k in np.argsort(-steps[t - 1])[:3]}
            told.append(f"the robot is reconfigured on the way to target {int(t)}: {', '.join(moved)} move most")
        return "; ".join(told) + "."

    def _joint(self, k: int) -> str:
        tree = self.problem.robot.tree
        for i, body in tree.stacked():
            if k in range(tree.nv)[tree.v_slices[i]]:
                return str(body.joint_name)
        raise AssertionError(k)

    def __repr__(self) -> str:
        jump = self.largest_jump
        return (
            f"<PathResult: {int(self.success.sum())} of {self.success.size} reached; "
            f"{int(self.reconfigured.sum())} reconfigurations; largest jump {jump.size:.3g} of {jump.joint!r}>"
        )
