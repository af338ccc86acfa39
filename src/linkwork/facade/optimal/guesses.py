"""Where searches for paths begin."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["guesses"]


def guesses(problem: Any, first: np.ndarray, count: int, seed: int, started: bool) -> np.ndarray:
    """Paths (..., count, T, nq): the first one, and others that lead smoothly to configurations within limits."""
    robot, T = problem.robot, problem.steps
    rng = np.random.default_rng(seed)
    found = np.repeat(first[..., None, :, :], count, axis=-3)
    lead = first.shape[:-2]
    ends = robot.random_configuration(rng, size=(count - 1,))
    begin = first[..., None, :1, :]
    way = robot.difference(np.broadcast_to(begin, (*lead, count - 1, 1, robot.nq)), ends[:, None, :])
    u = np.linspace(1.0 / T if started else 0.0, 1.0, T)[:, None]
    share = u * u * (3.0 - 2.0 * u) if T > 1 else np.ones((1, 1))
    found[..., 1:, :, :] = robot.integrate(np.broadcast_to(begin, (*lead, count - 1, T, robot.nq)), share * way)
    return found
