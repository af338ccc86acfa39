"""Motions averaged over a moving window, so that accelerations that jump become continuous."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.motion.timing.path_grid import apportioned

__all__ = ["AveragedMotion"]

_BRACKETS = 400  # intervals in which crossing times of knots are bracketed
_NEWTON = 8  # Newton steps to the crossing time of a knot


class AveragedMotion(NamedTuple):
    """A motion s(t) with s̈ constant on each interval, to be averaged over a moving window so that s̈ has no jumps.

    ``s`` and ``speed`` (n + 1,) are s and ṡ at times ``t``, and ``sums`` are ∫ s dt there. ``resting`` is a pair of
    flags for the beginning and the end: True where the motion rests.
    """

    t: np.ndarray
    s: np.ndarray
    speed: np.ndarray
    sums: np.ndarray  # ∫ s dt
    resting: tuple[bool, bool]

    @property
    def duration(self) -> float:
        return float(self.t[-1])

    @staticmethod
    def of(s: np.ndarray, x: np.ndarray, u: np.ndarray, resting: tuple[bool, bool]) -> AveragedMotion:
        w = np.sqrt(x)
        h = 2.0 * np.diff(s) / (w[1:] + w[:-1])
        t = np.concatenate([[0.0], np.cumsum(h)])
        areas = s[:-1] * h + w[:-1] * h * h / 2.0 + u * h**3 / 6.0
        return AveragedMotion(t, s, w, np.concatenate([[0.0], np.cumsum(areas)]), resting)

    def at(self, width: float, points: int, knots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return t, s, ṡ and s̈ at the ends of about ``points`` segments, averaged over a window of ``width`` [s].

        The segments take about equal times.  The positions ``knots`` are among their ends.
        """
        begin = -0.5 * width if self.resting[0] else 0.0
        end = self.t[-1] + (0.5 * width if self.resting[1] else 0.0)
        passed = self._crossing_times(knots, width, begin, end) if len(knots) else knots
        cuts = np.concatenate([[begin], passed, [end]])
        counts = apportioned(np.diff(cuts) / (end - begin), points)
        intervals = zip(cuts[:-1], cuts[1:], counts, strict=True)
        t = np.concatenate([[begin], *(b + (e - b) * np.arange(1, n + 1) / n for b, e, n in intervals)])
        s, w, u = self._averaged(t, width)
        s[np.cumsum(counts)[:-1]] = knots
        s[0], s[-1] = self.s[0], self.s[-1]
        w[0], w[-1] = self.speed[0], self.speed[-1]
        for k, rests in ((0, self.resting[0]), (-1, self.resting[1])):
            if rests:
                w[k], u[k] = 0.0, 0.0
        return t, s, np.maximum(w, 0.0), u

    def _crossing_times(self, knots: np.ndarray, width: float, begin: float, end: float) -> np.ndarray:
        """Return the times at which the averaged motion passes the positions ``knots``.

        The times are searched from ``begin`` to ``end``; ``width`` [s] is the width of the averaging window.
        """
        times = np.linspace(begin, end, _BRACKETS + 1)
        after = np.clip(np.searchsorted(self._averaged(times, width)[0], knots), 1, _BRACKETS)
        low, high = times[after - 1], times[after]
        result = 0.5 * (low + high)
        for _ in range(_NEWTON):
            s, w, _ = self._averaged(result, width)
            before = s < knots
            low, high = np.where(before, result, low), np.where(before, high, result)
            following = result + (knots - s) / np.maximum(w, 1e-300)
            result = np.where((following > low) & (following < high), following, 0.5 * (low + high))
        return result

    def _end_acceleration(self, at: int) -> float:
        """Return s̈ on the first parabola (``at`` 0) or the last one (−1)."""
        k = 0 if at == 0 else -2
        return float((self.speed[k + 1] - self.speed[k]) / (self.t[k + 1] - self.t[k]))

    def _averaged(self, t: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        (s0, w0, m0), (s1, w1, m1) = self._extended(t - 0.5 * width), self._extended(t + 0.5 * width)
        return (m1 - m0) / width, (s1 - s0) / width, (w1 - w0) / width

    def _extended(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return s, ṡ and ∫ s dt of the motion before averaging, at times t within or outside of the motion.

        There s is constant if the motion rests at that end, and otherwise continues with constant s̈.
        """
        before, after = t < 0.0, t > self.t[-1]
        inner = np.clip(t, 0.0, self.t[-1])
        k = np.clip(np.searchsorted(self.t, inner, side="right") - 1, 0, len(self.t) - 2)
        d, h = inner - self.t[k], np.maximum(self.t[k + 1] - self.t[k], 1e-300)
        u = (self.speed[k + 1] - self.speed[k]) / h
        s = self.s[k] + d * (self.speed[k] + 0.5 * u * d)
        w = self.speed[k] + u * d
        total = self.sums[k] + d * (self.s[k] + d * (self.speed[k] / 2.0 + u * d / 6.0))
        for out, at, rests, side, u in (
            (before, 0, self.resting[0], 0.0, self._end_acceleration(0)),
            (after, -1, self.resting[1], self.t[-1], self._end_acceleration(-1)),
        ):
            d = t - side
            speed, gain = (0.0, 0.0) if rests else (self.speed[at], u)
            s = np.where(out, self.s[at] + d * (speed + 0.5 * gain * d), s)
            w = np.where(out, speed + gain * d, w)
            more = d * (self.s[at] + d * (speed / 2.0 + gain * d / 6.0))
            total = np.where(out, self.sums[at] + more, total)
        return s, w, total
