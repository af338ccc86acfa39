"""Configuration in which pictures, pages and commands start if the user states none."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["start_configuration"]

_CLOSED = 1e-6  # [m, rad] errors of constraints below which an assembled configuration is used
_SLACK = 1e-9  # by which a value may exceed its limit [rad, m]


def start_configuration(robot: Any) -> np.ndarray:
    """Return the neutral configuration (nq,) if it is within the limits, else a configuration within the limits.

    This is the first named configuration within the limits. Without one, the joints whose zero is outside are in the
    middle of their limits, or at the limit if there is only one; the others stay at zero. Loops are closed near the
    result if that succeeds.
    """
    q = _within_limits(robot)
    if robot.tree.constraints:
        result = robot.assemble(q, check=False)
        if float(np.abs(result.residual).max(initial=0.0)) <= _CLOSED:
            q = np.asarray(result.q)
    return q


def _within_limits(robot: Any) -> np.ndarray:
    q = np.array(robot.neutral(), dtype=float)
    try:
        lower, upper = robot.position_limits
    except ValueError:  # followers whose limits no configuration satisfies
        return q

    def is_outside(x: np.ndarray) -> np.ndarray:
        outside: np.ndarray = (x < lower - _SLACK) | (x > upper + _SLACK)
        return outside

    outside = is_outside(q)
    if not outside.any():
        return q
    for named in robot.named_configurations:
        if not is_outside(np.asarray(named.q)).any():
            return np.array(named.q, dtype=float)
    low, high = lower[outside], upper[outside]
    ends = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    q[outside] = 0.5 * ends[0] + 0.5 * ends[1]
    return q
