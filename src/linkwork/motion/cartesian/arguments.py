"""What is asked of joints along a path: a frame, what of its pose counts, limits; solved and measured in batches."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from linkwork.ik.arguments import read_limits
from linkwork.ik.ik_problem import IKProblem
from linkwork.ik.tasks.frame_tasks import PoseTask
from linkwork.kinematics.poses import pose_difference
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.cartesian.cartesian_path import CartesianPath

__all__ = ["FREE_ROWS", "HABITS", "PathRequest"]

FREE_ROWS = {"fixed": (), "free": (0, 1, 2), "x": (0,), "y": (1,), "z": (2,)}
"""By word: which rotations about the frame's own axes are free."""

HABITS = 3
"""How many ways there are to take a choice that a robot has: see `PathRequest.pushed`."""

_EXACT = 1e-8  # [m, rad]: what inverse kinematics leaves
_FEW = np.array(30.0)  # steps from a neighbour
_MANY = np.array(200.0)  # steps of each of other starts
_STARTS = np.arange(1.0, 33.0)
_ROOM = 1e-3  # [rad, m]: kept from limits, so that curves between way points stay within them
_DAMPED = 1e-10  # of squares of singular values: where directions are lost
_PUSH = 0.1  # of a joint's range at its limits: where one that has a choice turns back


class PathRequest:
    """A path for a frame of a robot: inverse kinematics from neighbours, tangents, and what is left of the path."""

    def __init__(
        self,
        robot: Any,
        path: CartesianPath,
        frame: str,
        relative_to: str,
        orientation: str,
        limits: Any,
        locked: Any,
        start: np.ndarray | None,
        finest: float,
        caller: str,
    ) -> None:
        self.robot, self.path, self.frame, self.relative_to, self.caller = robot, path, frame, relative_to, caller
        self.finest = finest
        self.orientation, self.free = orientation, FREE_ROWS[orientation]
        self.kept = [k for k in range(6) if k not in self.free]
        task = PoseTask(frame, relative_to=relative_to, name="X_path")
        tolerance = np.full(6, _EXACT)
        tolerance[list(self.free)] = np.inf
        self.lower, self.upper = read_limits(caller, robot, limits)
        room = np.full(robot.nq, _ROOM)
        with np.errstate(invalid="ignore"):
            room = np.minimum(room, 0.25 * (self.upper - self.lower))
        if start is not None:
            room = np.clip(np.minimum(start - self.lower, self.upper - start), 0.0, room)
        self.problem = IKProblem(
            robot,
            task,
            position_limits=(self.lower + room, self.upper - room),
            locked=locked,
            tolerance=tolerance,
            caller=caller,
        )
        self.spare = robot.nv - len(self.problem.locked_dofs) > len(self.kept)
        self.plain = robot.nq == robot.nv and self.problem.plain and bool(_adds_up(robot))
        self.looped = any(constraint.holonomic for constraint in robot.tree.constraints)
        wide = self.upper - self.lower
        self._wide = np.where(np.isfinite(wide), wide, np.inf)

    @cached_property
    def unlimited(self) -> IKProblem:
        """The same without limits: it tells what is in the way."""
        p = self.problem
        options: dict[str, Any] = {
            "position_limits": False,
            "locked": p.locked,
            "tolerance": p.tolerances,
            "caller": self.caller,
        }
        return IKProblem(self.robot, PoseTask(self.frame, relative_to=self.relative_to, name="X_path"), **options)

    # -- configurations for poses

    def solved(self, q: np.ndarray, X: np.ndarray, *, limits: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """From neighbours (n, nq) to poses (n, 4, 4): configurations, and whether they are answers."""
        p = self.problem if limits else self.unlimited
        result = p.kernel(q, p.tolerances, p.weights, *p.finite_bounds, _FEW, np.array(0.0), X)
        return np.array(result.q), np.asarray(result.diagnostics[..., 0] == 1.0)

    def others(self, q: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Other answers (n, nq) for one pose, wherever searches lead, the nearest to q first."""
        p, many = self.problem, len(_STARTS)
        result = p.kernel(
            np.repeat(q[None], many, axis=0),
            p.tolerances,
            p.weights,
            *p.finite_bounds,
            _MANY,
            _STARTS,
            np.repeat(X[None], many, 0),
        )
        answers = np.array(result.q)[np.asarray(result.diagnostics[..., 0] == 1.0)]
        nearest: np.ndarray = answers[np.argsort(self.far(q[None], answers), kind="stable")]
        return nearest

    def pushed(self, q: np.ndarray, way: float, habits: np.ndarray) -> np.ndarray:
        """Where to look next from q (n, nq), by how far the way is, where there is a choice: by habit (n,) of `HABITS`,
        away from limits that joints are near; from where they are; or towards the middle of limits.
        """
        if not self.spare or not self.plain:
            return q
        with np.errstate(invalid="ignore"):
            low = np.clip(1.0 - (q - self.lower) / (_PUSH * self._wide), 0.0, 1.0)
            high = np.clip(1.0 - (self.upper - q) / (_PUSH * self._wide), 0.0, 1.0)
        away = np.nan_to_num(low - high) * min(2.0 * way, 0.1)
        inward = (self.problem.midrange - q) * min(2.0 * way, 0.1)
        habits = habits[:, None]
        result: np.ndarray = q + np.where(habits == 0, away, np.where(habits == 2, inward, 0.0))
        return result

    def difference(self, q: np.ndarray, other: np.ndarray) -> np.ndarray:
        """other ⊖ q (..., nv)."""
        return other - q if self.plain else np.asarray(self.robot.difference(q, other))

    def far(self, q: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The most that any joint moves (...)."""
        result: np.ndarray = np.abs(self.difference(q, other)).max(axis=-1)
        return result

    # -- on the way

    def rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Jacobian's rows that count (n, rows, nv), in the frame's axes, and what turns the path's axes to them."""
        X = np.asarray(self.robot.pose(q, self.frame, relative_to=self.relative_to))
        J = np.asarray(self.robot.jacobian(q, self.frame, relative_to=self.relative_to, expressed_in=self.frame))
        return J[..., self.kept, :], np.swapaxes(X[..., :3, :3], -1, -2)

    def tangents(self, q: np.ndarray, V: np.ndarray, rough: np.ndarray) -> np.ndarray:
        """Velocities by s (n, nv) that move the frame by twists V (n, 6): near rough ones, where there is a choice."""
        J, R = self.rows(q)
        turned = np.concatenate([(R @ V[:, :3, None])[..., 0], (R @ V[:, 3:, None])[..., 0]], axis=-1)[:, self.kept]
        left = turned - (J @ rough[..., None])[..., 0]
        square = J @ np.swapaxes(J, -1, -2) + _DAMPED * np.eye(J.shape[-2])
        result: np.ndarray = rough + (np.swapaxes(J, -1, -2) @ np.linalg.solve(square, left[..., None]))[..., 0]
        if self.problem.locked_dofs:
            result[:, list(self.problem.locked_dofs)] = 0.0
        return result

    def off(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        """How far the frame is from the path at s: (n, 2), metres and radians of what counts."""
        X = np.asarray(self.robot.pose(q, self.frame, relative_to=self.relative_to))
        target = self.path(s)
        left = pose_difference(X, target)
        way = np.linalg.norm(left[..., 3:], axis=-1)
        if self.looped:
            way = np.maximum(way, np.abs(np.asarray(self.robot.constraint_error(q))).max(axis=-1))
        if self.orientation == "fixed":
            turn = np.linalg.norm(left[..., :3], axis=-1)
        elif self.orientation == "free":
            turn = np.zeros(len(q))
        else:
            axis = "xyz".index(self.orientation)
            a, b = X[..., :3, axis], target[..., :3, axis]
            turn = np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1))
        return np.stack([way, turn], axis=-1)

    def singular(self, q: np.ndarray) -> float:
        """The least singular value of the rows that count [1, m]: 0 where a direction is lost."""
        J, _ = self.rows(q[None])
        free = [k for k in range(self.robot.nv) if k not in self.problem.locked_dofs]
        return float(np.linalg.svd(J[0][:, free], compute_uv=False)[-1])


def _adds_up(robot: Any) -> bool:
    """Whether configurations are numbers with v for their rates."""
    return CurveSpace.of(robot.tree).is_plain
