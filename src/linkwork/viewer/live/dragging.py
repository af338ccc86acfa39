"""Inverse kinematics under a handle that is dragged: the pose if it is in reach, else the nearest one.

`Robot.inverse_kinematics` starts from the current configuration.  If it finds the pose only from another start, the
robot would jump; then, and out of reach, the Levenberg–Marquardt method approaches the pose from the current
configuration within the joints' limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.viewer.live.slider_motion import assembled, closes_loops

__all__ = ["dragged", "pose_error"]

_STEPS = 30
_LENGTH = 0.3  # [m] error of position that counts as much as one of 1 rad
_SLACK = 1e-10  # decrease of the cost, relative, below which the approach ends


def dragged(
    robot: Any, q: np.ndarray, frame: str, X_target: np.ndarray, *, position_only: bool, jumps: bool
) -> np.ndarray:
    """Return the configuration (nq,) with a frame at ``X_target`` (4, 4) [m], or as near to it as possible.

    ``position_only`` leaves the orientation free.  ``jumps`` permits a solution far from q (nq,).
    """
    target = X_target[:3, 3] if position_only else X_target
    result = robot.inverse_kinematics(target, frame, q_init=q)
    if bool(result.success) and (jumps or int(result.restarts) == 0):
        return np.asarray(result.q)
    return _approach(robot, q, frame, X_target, position_only)


def pose_error(X: np.ndarray, X_target: np.ndarray) -> np.ndarray:
    """Return the rotation vector and the translation (6,) [rad, m] from X to X_target (4, 4), in world axes."""
    R = X_target[:3, :3] @ X[:3, :3].T
    vector = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(vector)), 0.5 * (float(np.trace(R)) - 1.0)
    if sine > 1e-9:
        vector *= np.arctan2(sine, cosine) / sine
    elif cosine < 0.0:  # half a turn: R + 1 = 2 n nᵀ
        column = (R + np.eye(3))[:, int(np.argmax(np.diag(R)))]
        vector = np.pi * column / np.linalg.norm(column)
    return np.concatenate([vector, X_target[:3, 3] - X[:3, 3]])


def _approach(robot: Any, q: np.ndarray, frame: str, X_target: np.ndarray, position_only: bool) -> np.ndarray:
    scale = np.full(6, 1.0 / _LENGTH)
    scale[:3] = 0.0 if position_only else 1.0
    lower, upper, indices = _bounds(robot)
    closed = closes_loops(robot)

    def error_of(configuration: np.ndarray) -> np.ndarray:
        weighted: np.ndarray = scale * pose_error(np.asarray(robot.pose(configuration, frame)), X_target)
        return weighted

    error, damping = error_of(q), 1e-3
    for _ in range(_STEPS):
        cost = float(error @ error)
        J = scale[:, None] * np.asarray(robot.jacobian(q, frame))
        if closed:
            J = J @ _free_motions(np.asarray(robot.constraint_jacobian(q)))
        step = _bounded_step(J, error, damping, q[indices], lower, upper)
        ahead: np.ndarray | None = np.asarray(robot.integrate(q, step))
        limited = np.isfinite(lower) | np.isfinite(upper)
        ahead[indices[limited]] = np.clip(ahead[indices[limited]], lower[limited], upper[limited])  # type: ignore[index]
        if closed:
            ahead = assembled(robot, np.asarray(ahead))
        new = None if ahead is None else error_of(ahead)
        if ahead is None or new is None or float(new @ new) >= cost:
            damping *= 8.0
            if damping > 1e6:
                break
            continue
        q, error, damping = ahead, new, max(damping / 4.0, 1e-9)
        if cost - float(error @ error) <= _SLACK * cost:
            break
    return q


def _bounds(robot: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the lower and upper limits (nv,) by velocity coordinate, and the index in q of each; no limit: ±inf."""
    low, high = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
    indices = np.zeros(robot.nv, dtype=int)
    lower, upper = robot.lower, robot.upper
    for joint in robot.joints:
        if joint.nq == joint.nv and joint.coupling is None:
            low[joint.v_slice], high[joint.v_slice] = lower[joint.q_slice], upper[joint.q_slice]
            indices[joint.v_slice] = range(joint.q_slice.start, joint.q_slice.stop)
    return low, high, indices


def _bounded_step(
    J: np.ndarray, error: np.ndarray, damping: float, at: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Return the damped least-squares step (nv,); joints that it would move beyond a limit move to it at most."""
    step, free = np.zeros(len(at)), np.ones(len(at), dtype=bool)
    for _ in range(len(at)):
        columns = J[:, free]
        normal = columns.T @ columns + damping * np.eye(columns.shape[1])
        step[free] = np.linalg.solve(normal, columns.T @ (error - J[:, ~free] @ step[~free]))
        beyond = free & ((at + step > upper) | (at + step < lower))
        if not beyond.any():
            break
        step[beyond] = np.clip(at + step, lower, upper)[beyond] - at[beyond]
        free &= ~beyond
        if not free.any():
            break
    return step


def _free_motions(G: np.ndarray) -> np.ndarray:
    """Return the projection (nv, nv) onto the velocities that constraints G v = 0 permit."""
    _, values, rows = np.linalg.svd(G)
    rank = int((values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)).sum())
    free = rows[rank:]
    result: np.ndarray = free.T @ free
    return result
