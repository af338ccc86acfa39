"""Clocks that run through trajectories at other times."""

from __future__ import annotations

import numpy as np

from ...algorithms.motion.curves import Clock

__all__ = ["monotone_clock"]


def monotone_clock(new: np.ndarray, old: np.ndarray) -> Clock:
    """The clock that takes new times to old: a cubic that increases, between each two.

    Source: Fritsch and Carlson, Monotone piecewise cubic interpolation, SIAM J. Numerical Analysis 17 (2), 1980, with
    the weighted harmonic means of Fritsch and Butland, 1984.
    """
    h, rate = np.diff(new), np.diff(old) / np.diff(new)
    slope = np.empty(len(new))
    slope[0], slope[-1] = rate[0], rate[-1]
    if len(h) > 1:
        w, x = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
        slope[1:-1] = (w + x) / (w / rate[:-1] + x / rate[1:])
    c = np.zeros((len(h), 4))
    c[:, 0], c[:, 1] = old[:-1], slope[:-1]
    c[:, 2] = (3.0 * rate - 2.0 * slope[:-1] - slope[1:]) / h
    c[:, 3] = (slope[:-1] + slope[1:] - 2.0 * rate) / (h * h)
    return Clock(new[:-1], c)
