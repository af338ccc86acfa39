"""Motions of robots under joint forces that are constant in each step, by Runge-Kutta steps of fourth order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["constant_force_motion", "constant_force_step"]


def constant_force_step(
    robot: Any, q: Any, v: Any, tau: Any, step: float, substeps: int = 8
) -> tuple[np.ndarray, np.ndarray]:
    """Return the state after ``step`` seconds with constant joint forces; the robot's coordinates are a vector."""
    h, x = step / substeps, (np.asarray(q, dtype=float), np.asarray(v, dtype=float))

    def rate(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return v, robot.forward_dynamics(q, v, tau)

    for _ in range(substeps):
        slopes = [rate(*x)]
        for share in (0.5, 0.5, 1.0):
            slopes.append(rate(*(a + share * h * b for a, b in zip(x, slopes[-1], strict=True))))
        a, b, c, d = slopes
        x = tuple(y + h / 6.0 * (k + 2.0 * (m + n) + p) for y, k, m, n, p in zip(x, a, b, c, d, strict=True))
    return x


def constant_force_motion(
    robot: Any, q: Any, v: Any, forces: Iterable[Any], step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states at the ends of all steps, q and v (T, n), with the joint forces of each step."""
    states = []
    for tau in forces:
        q, v = constant_force_step(robot, q, v, tau, step)
        states.append((q, v))
    return np.array([q for q, _ in states]), np.array([v for _, v in states])
