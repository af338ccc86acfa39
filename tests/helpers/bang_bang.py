"""Shortest motions of one degree of freedom, by integration of the equation of motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

Acceleration = Callable[[float, float, float], float]


def shortest_time(
    acceleration: Callable[[float, float, float], float], limit: float, begin: float, end: float
) -> float:
    """Return the least time from rest at ``begin`` to rest at ``end`` [s]: full force forwards, then backwards.

    ``acceleration`` is a function of position, speed and force, and ``end`` is greater than ``begin``.
    """

    def forwards(_: float, y: np.ndarray) -> list[float]:
        return [y[1], acceleration(y[0], y[1], limit)]

    def back(_: float, y: np.ndarray) -> list[float]:  # backwards in time from rest at the end
        return [-y[1], -acceleration(y[0], y[1], -limit)]

    def past_end(_: float, y: np.ndarray) -> float:
        return y[0] - end - 1e-6

    def before_start(_: float, y: np.ndarray) -> float:
        return y[0] - begin + 1e-6

    past_end.terminal = before_start.terminal = True  # type: ignore[attr-defined]
    tight = {"rtol": 1e-10, "atol": 1e-12, "dense_output": True, "max_step": 0.01}
    first = solve_ivp(forwards, (0.0, 20.0), [begin, 0.0], events=past_end, **tight)
    last = solve_ivp(back, (0.0, 20.0), [end, 0.0], events=before_start, **tight)

    def time_at(solution: object, s: float, sign: float) -> float:
        return brentq(lambda t: sign * (solution.sol(t)[0] - s), 0.0, solution.t[-1])  # type: ignore[attr-defined]

    def gap(s: float) -> float:
        t, r = time_at(first, s, 1.0), time_at(last, s, -1.0)
        return float(first.sol(t)[1] - last.sol(r)[1])

    s = brentq(gap, begin + 1e-3, end - 1e-3)
    return time_at(first, s, 1.0) + time_at(last, s, -1.0)
