"""Where searches for paths begin, and when they need not go on as another has found one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algorithms.optimal.augmented import RUNNING, SOLVED, STOPPED
from .solving import TOLD

__all__ = ["TOGETHER", "guesses", "needless"]

TOGETHER = 4  # iterations of all seeds until they are compared
_LONGER = 2.0  # how often as many iterations as the first that is solved others may take
_ALIKE = 1e-3  # of a merit
_STATUS, _ITERATIONS, _COST, _MERIT = (TOLD.index(name) for name in ("status", "iterations", "cost", "merit"))


def guesses(problem: Any, first: np.ndarray, ends: np.ndarray, started: bool) -> np.ndarray:
    """Paths (..., 1 + others, T, nq): the first one, and others that lead smoothly to ends (others, nq)."""
    robot, T, count = problem.robot, problem.steps, 1 + len(ends)
    found = np.repeat(first[..., None, :, :], count, axis=-3)
    lead = first.shape[:-2]
    begin = first[..., None, :1, :]
    way = robot.difference(np.broadcast_to(begin, (*lead, count - 1, 1, robot.nq)), ends[:, None, :])
    u = np.linspace(1.0 / T if started else 0.0, 1.0, T)[:, None]
    share = u * u * (3.0 - 2.0 * u) if T > 1 else np.ones((1, 1))
    found[..., 1:, :, :] = robot.integrate(np.broadcast_to(begin, (*lead, count - 1, T, robot.nq)), share * way)
    return found


def needless(told: np.ndarray, iterations: int) -> np.ndarray:
    """What seeds (..., seeds, told) tell, with those stopped that need not go on.

    Once a seed of a problem is solved, others go on while their merit is lower than that of the best, and until they
    have taken twice as many iterations as the first that was solved.  So it hangs on nothing but the problem itself.
    """
    status = told[..., _STATUS]
    solved = status == SOLVED
    some = solved.any(axis=-1, keepdims=True)
    if not some.any():
        return told
    cost = np.where(solved, told[..., _COST], np.inf)
    best = np.take_along_axis(told[..., _MERIT], cost.argmin(axis=-1)[..., None], axis=-1)
    first = np.where(solved, told[..., _ITERATIONS], np.inf).min(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        better = (told[..., _MERIT] < best - _ALIKE * np.abs(best)) & (iterations < _LONGER * first)
    found = told.copy()
    found[..., _STATUS] = np.where(some & (status == RUNNING) & ~better, STOPPED, status)
    return found
