"""Inverse kinematics along a Cartesian path, as batches of IK problems for a frame and a part of its pose."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.ik.failure_analysis import proofs
from linkwork.ik.ik_problem import IKProblem
from linkwork.ik.reach_bounds import UnreachableCertificate
from linkwork.ik.tasks.frame_tasks import PoseTask
from linkwork.kernels.robot_arguments import read_limits
from linkwork.kinematics.algorithms.forward_kinematics import fork
from linkwork.kinematics.poses import pose_difference
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.cartesian.cartesian_path import CartesianPath

__all__ = ["FREE_ROTATIONS", "NUM_STRATEGIES", "PathRequest"]

FREE_ROTATIONS = {"fixed": (), "free": (0, 1, 2), "x": (0,), "y": (1,), "z": (2,)}
"""Free rotations about the frame's axes, by the value of ``orientation``."""

NUM_STRATEGIES = 3
"""Number of strategies of a redundant robot: see `PathRequest.initial_guesses`."""

_EXACT = 1e-8  # [m, rad] residual of inverse kinematics
_NEAR_STEPS = np.array(30.0)  # iterations from a neighbour
_FAR_STEPS = np.array(200.0)  # iterations from each of other starts
_STARTS = np.arange(1.0, 33.0)
_LIMIT_MARGIN = 1e-3  # [rad, m] distance from limits, so that curves between waypoints satisfy them
_DAMPED = 1e-10  # of squared singular values: damping near singularities
_DEPENDENT = 1e-9  # relative singular value below which constraints are redundant
_PUSH = 0.1  # of a joint's range near its limits: there a redundant robot moves away from them


class PathRequest:
    """The task of moving a robot's frame along a Cartesian path.

    The methods solve inverse kinematics for poses of the path, compute joint velocities along it, and measure
    deviations from it.
    """

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
        min_step: float,
        caller: str,
    ) -> None:
        self.robot, self.path, self.frame, self.relative_to, self.caller = robot, path, frame, relative_to, caller
        self.min_step = min_step
        moving = next((constraint.name for constraint in robot.tree.constraints if constraint.time_dependent), None)
        if moving is not None:
            remedy = f"use robot.without_constraints({moving!r})"
            raise ValueError(f"{caller}: expected constraints independent of time, got {moving!r}; {remedy}")
        self.orientation, self.free = orientation, FREE_ROTATIONS[orientation]
        self.matched = [k for k in range(6) if k not in self.free]
        task = PoseTask(frame, relative_to=relative_to, name="X_path")
        tolerance = np.full(6, _EXACT)
        tolerance[list(self.free)] = np.inf
        self.lower, self.upper = read_limits(caller, robot, limits)
        margin = np.full(robot.nq, _LIMIT_MARGIN)
        with np.errstate(invalid="ignore"):
            margin = np.minimum(margin, 0.25 * (self.upper - self.lower))
        if start is not None:
            margin = np.clip(np.minimum(start - self.lower, self.upper - start), 0.0, margin)
        self.problem = IKProblem(
            robot,
            task,
            position_limits=False if limits is False else (self.lower + margin, self.upper - margin),
            locked=locked,
            tolerance=tolerance,
            caller=caller,
        )
        self.has_loops = any(constraint.holonomic for constraint in robot.tree.constraints)
        self.is_plain = robot.nq == robot.nv and self.problem.plain and bool(_is_plain(robot))
        range_ = self.upper - self.lower
        self._range = np.where(np.isfinite(range_), range_, np.inf)

    @cached_property
    def unlimited(self) -> IKProblem:
        """The same IK problem without limits, to determine which limit prevents a solution."""
        p = self.problem
        options: dict[str, Any] = {
            "position_limits": False,
            "locked": p.locked,
            "tolerance": p.tolerances[:6],
            "caller": self.caller,
        }
        return IKProblem(self.robot, PoseTask(self.frame, relative_to=self.relative_to, name="X_path"), **options)

    # -- configurations for poses

    def proofs(self, X: np.ndarray) -> list[UnreachableCertificate | None]:
        """Return for each pose X (n, 4, 4) a proof that no configuration within limits reaches it, or None."""
        tolerances = np.tile(self.problem.tolerances, (len(X), 1))
        return [proof and proof[0] for proof in proofs(self.problem, {"X_path": X}, tolerances)]

    def solve(self, q: np.ndarray, X: np.ndarray, *, limits: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return configurations (n, nq) at which the frame has poses X (n, 4, 4), and a mask (n,) of the successes.

        The searches begin at the neighbouring configurations q (n, nq). Without ``limits`` the joints' limits are
        ignored.
        """
        p = self.problem if limits else self.unlimited
        result = p.kernel(q, p.tolerances, p.weights, *p.finite_bounds, _NEAR_STEPS, np.array(0.0), X)
        return np.array(result.q), np.asarray(result.diagnostics[..., 0] == 1.0)

    def other_solutions(self, q: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return IK solutions (n, nq) for a pose X (4, 4) from scattered initial guesses, the nearest to q first."""
        p, count = self.problem, len(_STARTS)
        result = p.kernel(
            np.repeat(q[None], count, axis=0),
            p.tolerances,
            p.weights,
            *p.finite_bounds,
            _FAR_STEPS,
            _STARTS,
            np.repeat(X[None], count, 0),
        )
        answers = np.array(result.q)[np.asarray(result.diagnostics[..., 0] == 1.0)]
        nearest: np.ndarray = answers[np.argsort(self.joint_distance(q[None], answers), kind="stable")]
        return nearest

    def initial_guesses(self, q: np.ndarray, distance: float, strategies: np.ndarray) -> np.ndarray:
        """Return initial guesses (n, nq) for the inverse kinematics of the next pose, near configurations q (n, nq).

        The guesses differ from q only for a redundant robot. ``distance`` is the path length to the next pose [m].
        ``strategies`` (n,) select the shift from q: 0 for a shift away from limits that joints are near, 1 for no
        shift, 2 for a shift towards the middle of the limits.  Joints that are locked or do not move the frame stay as
        in q.
        """
        if not self.is_plain or not len(q) or not self.is_redundant(q[0]):
            return q
        with np.errstate(invalid="ignore"):
            low = np.clip(1.0 - (q - self.lower) / (_PUSH * self._range), 0.0, 1.0)
            high = np.clip(1.0 - (self.upper - q) / (_PUSH * self._range), 0.0, 1.0)
        away = np.nan_to_num(low - high) * min(2.0 * distance, 0.1)
        inward = (self.problem.midrange - q) * min(2.0 * distance, 0.1)
        strategies = strategies[:, None]
        shift = np.where(strategies == 0, away, np.where(strategies == 2, inward, 0.0))
        shift[:, self._unmoved] = 0.0
        result: np.ndarray = q + shift
        return result

    def difference(self, q: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the tangent vectors (..., nv) from configurations q to ``other`` (..., nq)."""
        return other - q if self.is_plain else np.asarray(self.robot.difference(q, other))

    def joint_distance(self, q: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the largest motion (...) of a joint from q to other (..., nq) [rad, m]."""
        result: np.ndarray = np.abs(self.difference(q, other)).max(axis=-1)
        return result

    # -- on the way

    def task_jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return the frame's Jacobian (n, rows, nv), in its own axes and without the rows of free rotations."""
        J = np.asarray(self.robot.jacobian(q, self.frame, relative_to=self.relative_to, expressed_in=self.frame))
        return J[..., self.matched, :]

    def tangents(self, q: np.ndarray, V: np.ndarray, estimate: np.ndarray) -> np.ndarray:
        """Return dq/ds (n, nv) for which the frame at configurations q (n, nq) has twists V (n, 6) per unit of s.

        V is in the path's axes.  Loops stay closed.  A redundant robot has several solutions; the nearest to
        ``estimate`` (n, nv) is returned.
        """
        J, R = self.task_jacobian(q), np.asarray(self.robot.pose(q, self.frame, relative_to=self.relative_to))
        R = np.swapaxes(R[..., :3, :3], -1, -2)
        turned = np.concatenate([(R @ V[:, :3, None])[..., 0], (R @ V[:, 3:, None])[..., 0]], axis=-1)[:, self.matched]
        if self.has_loops:
            G = np.asarray(self.robot.constraint_jacobian(q))
            J = np.concatenate([J, G], axis=-2)
            turned = np.concatenate([turned, np.zeros(G.shape[:-1])], axis=-1)
        if self.problem.locked_dofs:
            J[..., list(self.problem.locked_dofs)], estimate[:, list(self.problem.locked_dofs)] = 0.0, 0.0
        difference = turned - (J @ estimate[..., None])[..., 0]
        square = J @ np.swapaxes(J, -1, -2) + _DAMPED * np.eye(J.shape[-2])
        result: np.ndarray = (
            estimate + (np.swapaxes(J, -1, -2) @ np.linalg.solve(square, difference[..., None]))[..., 0]
        )
        return result

    def deviations(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the distance [m] and the angle [rad] (n, 2) between the frame at q (n, nq) and the path at s (n,).

        Free rotations are not part of the angle.  For a robot with loops, the distance is at least the largest error
        of a loop's constraint.
        """
        X = np.asarray(self.robot.pose(q, self.frame, relative_to=self.relative_to))
        target = self.path(s)
        difference = pose_difference(X, target)
        distance = np.linalg.norm(difference[..., 3:], axis=-1)
        if self.has_loops:
            distance = np.maximum(
                distance, np.abs(np.asarray(self.robot.constraint_error(q))).max(axis=-1, initial=0.0)
            )
        if self.orientation == "fixed":
            angle = np.linalg.norm(difference[..., :3], axis=-1)
        elif self.orientation == "free":
            angle = np.zeros(len(q))
        else:
            axis = "xyz".index(self.orientation)
            a, b = X[..., :3, axis], target[..., :3, axis]
            angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1))
        return np.stack([distance, angle], axis=-1)

    def smallest_singular_value(self, q: np.ndarray) -> float:
        """Return the smallest singular value [1, m] of the task Jacobian at q (nq,), restricted to permitted motions.

        Permitted motions move unlocked joints only, and keep loops closed. The value is 0 at a singularity.
        """
        J = self.task_jacobian(q) @ self._permitted(q)
        return float(np.linalg.svd(J, compute_uv=False)[-1]) if J.size else 0.0

    def is_redundant(self, q: np.ndarray) -> bool:
        """Return True if, at q (nq,), unlocked joints have more degrees of freedom than the task has rows.

        Loops stay closed, which removes degrees of freedom.
        """
        return len(self._permitted(q)[0]) > len(self.matched)

    @cached_property
    def _unmoved(self) -> list[int]:
        """Indices in v of joints that are locked or do not move the frame relative to ``relative_to``.

        For a robot with loops only locked joints are returned, since each joint of a loop may move the others.
        """
        tree, locked = self.robot.tree, set(self.problem.locked_dofs)
        if self.has_loops:
            return sorted(locked)
        _, *chains = fork(tree, *(tree.frame(name).body for name in (self.frame, self.relative_to)))
        moving = {k for chain in chains for i in chain for k in range(tree.nv)[tree.v_slices[i]]}
        return sorted(set(range(tree.nv)) - moving | locked)

    def _permitted(self, q: np.ndarray) -> np.ndarray:
        """Return a basis (nv, n) of the permitted joint velocities: of unlocked joints, with loops closed."""
        basis: np.ndarray = np.delete(np.eye(self.robot.nv), self._unmoved, axis=1)
        if self.has_loops:
            _, sizes, V = np.linalg.svd(np.asarray(self.robot.constraint_jacobian(q)) @ basis)
            basis = basis @ V[int((sizes > _DEPENDENT * sizes.max(initial=0.0)).sum()) :].T
        return basis


def _is_plain(robot: Any) -> bool:
    """Return True if v is the time derivative of q for all joints, so that configurations may be added."""
    return CurveSpace.of(robot.tree).is_plain
