"""Grids of segments on a path: of about equal lengths, or of equal weights in the time of a motion."""

from __future__ import annotations

import numpy as np

__all__ = ["apportioned", "coarse_count", "grid", "halved", "redistributed", "segment_count"]

_LEAST = 2  # segments between knots: a motion cannot pass a segment at both of whose ends it rests
_FIRST, _PER_CURVE = 100, 8  # minimum segments of passes before the last: in all, and between two knots
_COUNTS = (50, 100, 200, 400, 800, 1600, 3200, 6400)  # few numbers of segments, so that few kernels are compiled


def grid(knots: np.ndarray, points: int) -> np.ndarray:
    """Return the ends of at least ``points`` segments, among them all knots.

    Segments at the path's ends, where a motion is slow, are shorter.
    """
    count = segment_count(points, len(knots) - 1)
    shares = np.diff(knots) / (knots[-1] - knots[0])
    counts = apportioned(shares, count, _LEAST)
    result = [knots[:1]]
    for k, n in enumerate(counts):
        t = np.arange(1, n + 1) / n
        if k == 0:
            t = 0.5 * (t + t * t)
        if k == len(counts) - 1:
            t = 1.0 - (0.5 * ((1.0 - t) + (1.0 - t) ** 2))
        new = knots[k] + t * (knots[k + 1] - knots[k])
        new[-1] = knots[k + 1]
        result.append(new)
    whole: np.ndarray = np.concatenate(result)
    return whole


def segment_count(points: int, curves: int) -> int:
    """Return the number of segments for a request of at least ``points``, on a path with a number of curves.

    It is one of few values, so that few kernels are compiled.
    """
    least = max(points, _LEAST * curves)
    return next((n for n in _COUNTS if n >= least), least)


def coarse_count(count: int, curves: int) -> int:
    """Return the number of segments in passes before the last pass: about a quarter of its ``count``."""
    least = max(count / 4, _FIRST, _PER_CURVE * curves)
    return min(count, next((n for n in _COUNTS if n >= least), count))


def redistributed(
    knots: np.ndarray, s: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray, count: int | None = None
) -> np.ndarray:
    """Return the ends of new segments, from a motion that has ṡ² = x at s and times t, and s̈ = u between.

    There are ``count`` segments, by default as many as before. The sum of relative time and relative change of speed
    is about equal on all of them.
    """
    count = len(s) - 1 if count is None else count
    changes = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(np.sqrt(x))))])
    weight = t / t[-1] + changes / max(changes[-1], 1e-300)
    at = np.interp(knots, s, weight)
    counts = apportioned(np.diff(at) / weight[-1], count, _LEAST)
    ends = np.cumsum(counts)
    curve = np.repeat(np.arange(len(counts)), counts)
    fraction = (np.arange(ends[-1]) - np.append(0, ends[:-1])[curve] + 1) / counts[curve]
    times = np.interp(at[curve] + fraction * (at[curve + 1] - at[curve]), weight, t)
    segment = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(u) - 1)
    d = times - t[segment]  # on a segment the speed, and so the weight, is linear in time
    result: np.ndarray = np.append(knots[0], s[segment] + d * (np.sqrt(x[segment]) + 0.5 * u[segment] * d))
    result[ends] = knots[1:]
    return result if (np.diff(result) > 0.0).all() else grid(knots, count)


def halved(s: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
    """Return the grid with all segments halved, or those ``chosen`` (n,)."""
    k = np.arange(len(s) - 1) if chosen is None else np.flatnonzero(chosen)
    return np.insert(s, k + 1, 0.5 * (s[k] + s[k + 1]))


def apportioned(shares: np.ndarray, count: int, least: int = 1) -> np.ndarray:
    """Return the number of segments of each interval, in proportion to shares, with the sum ``count``.

    Each interval has at least ``least``.
    """
    count = max(count, least * len(shares))
    counts: np.ndarray = np.maximum(np.round(shares * count).astype(int), least)
    while counts.sum() > count:
        counts[(counts / np.maximum(shares, 1e-300) * (counts > least)).argmax()] -= 1
    while counts.sum() < count:
        counts[(shares / counts).argmax()] += 1
    return counts
