"""Segments of a path: where it is smooth inside, of about the same length, or of the same weight in time."""

from __future__ import annotations

import numpy as np

__all__ = ["again", "first_of", "grid", "halved", "segments_of", "shared"]

_LEAST = 2  # segments of a piece: a motion that rests at both ends of a segment does not pass it
_FIRST, _TELLING = 100, 8  # segments of passes before the last at least, and those of a piece
_COUNTS = (50, 100, 200, 400, 800, 1600, 3200, 6400)  # so that few kernels serve all


def grid(knots: np.ndarray, points: int) -> np.ndarray:
    """About so many segments, the knots among their ends; closer together at the path's ends, where it is slow."""
    many = segments_of(points, len(knots) - 1)
    shares = np.diff(knots) / (knots[-1] - knots[0])
    counts = shared(shares, many, _LEAST)
    result = [knots[:1]]
    for k, count in enumerate(counts):
        t = np.arange(1, count + 1) / count
        if k == 0:
            t = 0.5 * (t + t * t)
        if k == len(counts) - 1:
            t = 1.0 - (0.5 * ((1.0 - t) + (1.0 - t) ** 2))
        new = knots[k] + t * (knots[k + 1] - knots[k])
        new[-1] = knots[k + 1]
        result.append(new)
    made: np.ndarray = np.concatenate(result)
    return made


def segments_of(points: int, pieces: int) -> int:
    """How many segments there are where so many are asked for at least."""
    least = max(points, _LEAST * pieces)
    return next((n for n in _COUNTS if n >= least), least)


def first_of(many: int, pieces: int) -> int:
    """How many segments of polynomials passes before the last have: where to lay the last a quarter of them tells."""
    least = max(many / 4, _FIRST, _TELLING * pieces)
    return min(many, next((n for n in _COUNTS if n >= least), many))


def again(
    knots: np.ndarray, s: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray, many: int | None = None
) -> np.ndarray:
    """So many segments, or as many, of a motion with ṡ² = x at s, passed at t, and s̈ = u: of the same time and change
    of speed.
    """
    many = len(s) - 1 if many is None else many
    changes = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(np.sqrt(x))))])
    weight = t / t[-1] + changes / max(changes[-1], 1e-300)
    at = np.interp(knots, s, weight)
    counts = shared(np.diff(at) / weight[-1], many, _LEAST)
    ends = np.cumsum(counts)
    piece = np.repeat(np.arange(len(counts)), counts)
    part = (np.arange(ends[-1]) - np.append(0, ends[:-1])[piece] + 1) / counts[piece]
    times = np.interp(at[piece] + part * (at[piece + 1] - at[piece]), weight, t)
    place = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(u) - 1)
    d = times - t[place]  # on a segment the speed, and so the weight, is linear in time
    made: np.ndarray = np.append(knots[0], s[place] + d * (np.sqrt(x[place]) + 0.5 * u[place] * d))
    made[ends] = knots[1:]
    return made if (np.diff(made) > 0.0).all() else grid(knots, many)


def halved(s: np.ndarray) -> np.ndarray:
    """Twice as many segments."""
    return np.insert(s, np.arange(1, len(s)), 0.5 * (s[1:] + s[:-1]))


def shared(shares: np.ndarray, many: int, least: int = 1) -> np.ndarray:
    """So many segments by part, in each at least one, or so many as that."""
    many = max(many, least * len(shares))
    counts: np.ndarray = np.maximum(np.round(shares * many).astype(int), least)
    while counts.sum() > many:
        counts[(counts / np.maximum(shares, 1e-300) * (counts > least)).argmax()] -= 1
    while counts.sum() < many:
        counts[(shares / counts).argmax()] += 1
    return counts
