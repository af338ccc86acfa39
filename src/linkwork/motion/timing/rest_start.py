"""How s begins where q' vanishes: with a power of t, so that it is polynomials by time."""

from __future__ import annotations

import numpy as np

__all__ = ["PHASES", "RAMP", "ramped", "through"]

RAMP = 0.01  # of the first segment: how long s is a power of t
PHASES = (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)  # of it: σ⃛ changes between

Both = tuple[np.ndarray, np.ndarray]


def through(h: np.ndarray, places: Both, speeds: Both, rates: Both) -> np.ndarray:
    """Of degree five (n, 6) over times h, with places, speeds and their rates at both ends."""
    (p, p1), (v, v1), (a, a1) = places, speeds, rates
    d, e, f = p1 - p - h * (v + 0.5 * h * a), (v1 - v - h * a) * h, (a1 - a) * h * h
    more = (10.0 * d - 4.0 * e + 0.5 * f) / h**3, (7.0 * e - 15.0 * d - f) / h**4, (6.0 * d - 3.0 * e + 0.5 * f) / h**5
    return np.stack([p, v, 0.5 * a, *more], axis=-1)


def ramped(t: np.ndarray, power: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """σ and its first two derivatives at times of [0, 1], from rest to where σ = t³/6 leads: first σ grows with a power
    of t, then σ⃛ is the same on each of three parts.
    """
    found = np.array([_by_jerk(t, k, power) for k in range(len(PHASES) - 1)])
    last = np.array([_by_jerk(np.array([1.0]), k, power)[:, 0] for k in range(len(PHASES) - 1)])
    sizes = np.linalg.solve(last.T, [1.0 / 6.0, 0.5, 1.0])
    sigma, speed, rate = np.tensordot(sizes, found, 1)
    return sigma, speed, rate


def _by_jerk(t: np.ndarray, k: int, power: int) -> np.ndarray:
    """σ and its derivatives (3, n) of a jerk of 1 in one of the parts, of the first after it has grown."""
    begin, end = PHASES[k], PHASES[k + 1]
    found = np.zeros((3, len(t)))
    state = np.zeros(3)
    if k == 0:
        begin = RAMP
        u = np.minimum(t, begin) / begin
        n = float(power)
        shares = begin**3 / (n * (n - 1.0) * (n - 2.0)), begin**2 / ((n - 1.0) * (n - 2.0)), begin / (n - 2.0)
        found = np.array([share * u ** (n - m) for m, share in enumerate(shares)])
        state = np.array(shares)
    for low, high, jerk in ((begin, end, 1.0), (end, np.inf, 0.0)):
        u = np.clip(t - low, 0.0, high - low)
        here = t > low
        moved = _moved(state, u, jerk)
        found = np.where(here, moved, found)
        if np.isfinite(high):
            state = _moved(state, np.array([high - low]), jerk)[:, 0]
    return found


def _moved(state: np.ndarray, u: np.ndarray, jerk: float) -> np.ndarray:
    p, v, a = state
    return np.array([p + u * (v + u * (a / 2.0 + u * jerk / 6.0)), v + u * (a + u * jerk / 2.0), a + u * jerk])
