"""Clocks that run through trajectories at other times."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from linkwork.motion.algorithms.curves import Clock
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["clocked", "cubic_pieces", "monotone_clock"]


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
    return Clock(new[:-1], cubic_pieces(h, old, slope))


def cubic_pieces(h: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Cubics (n, ..., 4), lowest first, over lengths h (n,), with values and slopes (n + 1, ...) at their ends."""
    found = np.empty((*slopes[1:].shape, 4))
    each = (1.0 / h).reshape(-1, *(1,) * (values.ndim - 1))
    rate, a, b = (values[1:] - values[:-1]) * each, slopes[:-1], slopes[1:]
    bend = (a + b - 2.0 * rate) * each
    found[..., 0], found[..., 1] = values[:-1], a
    found[..., 2], found[..., 3] = (rate - a) * each - bend, bend * each
    return found


def clocked(sections: Iterable[Section], clock: Clock, new: np.ndarray, old: np.ndarray) -> list[Section]:
    """Sections with a clock that gives their times by others: ``new`` ones for ``old`` ones, their ends among them."""
    found: list[Section] = []
    for section in sections:
        first, last = (float(new[np.argmin(np.abs(old - end))]) for end in (section.start, section.end))
        if first == last < new[-1] or (first == last and found):  # it is left out
            continue
        found.append(section.timed(clock, first, last))
    return found
