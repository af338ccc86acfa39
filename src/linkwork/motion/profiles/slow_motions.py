"""Profiles that take far longer than they need: times of their phases round, and what an acceleration is off grows.

Where that is noticed, at the goal, a coordinate goes at rest in as long a time, slower and slower in all its phases
alike; from and to velocities it stops, goes, and starts again, each as its own profile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from linkwork.motion.profiles.profile_kinds import ProfileNumbers

__all__ = ["slowed"]

_OFF = 1e-9  # of its way, or of 1: what a coordinate may be off its goal

State = tuple[float, ...]
Alone = Callable[[int, State], ProfileNumbers]


class _Part(NamedTuple):
    """Pieces of one coordinate: times (m + 1,) and coefficients (m, terms)."""

    times: np.ndarray
    coefficients: np.ndarray


def slowed(
    numbers: ProfileNumbers, states: tuple[np.ndarray, ...], alone: Alone, names: Sequence[str]
) -> ProfileNumbers:
    """The same durations, with other motions of coordinates that come off their goals.  Raises ValueError where there
    are none.

    ``alone``: the profile of one coordinate between states q0, q1, v0, v1, a0, a1, in the least time.
    """
    durations, times, coefficients, status = numbers
    parts = [_Part(t, c) for t, c in zip(times, coefficients, strict=True)]
    off = _off(parts, states[1])
    bad = np.flatnonzero(off > _OFF * np.maximum(np.abs(states[1] - states[0]), 1.0))
    if not len(bad):
        return numbers
    for k in bad.tolist():
        result = _slow(float(durations[k]), tuple(float(x[k]) for x in states), partial(alone, k))
        left = np.inf if result is None else float(_off([result], states[1][k : k + 1])[0])
        if result is not None and left < off[k]:
            parts[k], off[k] = result, left
        way = abs(states[1][k] - states[0][k]) + durations[k] * (abs(states[2][k]) + abs(states[3][k]))
        if off[k] > _OFF * (1.0 + way):
            raise ValueError(
                f"{names[k]} comes {off[k]:.3g} off its goal in {durations[k]:.6g} s: its limits and states are too "
                f"far apart for 16 digits"
            )
    pieces = max(len(part.coefficients) for part in parts)
    rows = [_padded(part, pieces) for part in parts]
    return ProfileNumbers(
        durations, np.array([row.times for row in rows]), np.array([row.coefficients for row in rows]), status
    )


def _off(parts: list[_Part], goals: np.ndarray) -> np.ndarray:
    result = []
    for part in parts:
        u = part.times[-1] - part.times[-2]
        result.append(np.polynomial.polynomial.polyval(u, part.coefficients[-1]))
    off: np.ndarray = np.abs(np.array(result) - goals)
    return off


def _slow(duration: float, state: State, alone: Callable[[State], ProfileNumbers]) -> _Part | None:
    """Of one coordinate; None where there is no time for that."""
    q0, q1, v0, v1, a0, a1 = state
    rests = (v0 == 0.0 and a0 == 0.0), (v1 == 0.0 and a1 == 0.0)
    before = None if rests[0] else _of(alone((q0, q0, v0, 0.0, a0, 0.0)))
    after = None if rests[1] else _of(alone((q1, q1, 0.0, v1, 0.0, a1)))
    taken = sum(float(part.times[-1]) for part in (before, after) if part is not None)
    way = _of(alone((q0, q1, 0.0, 0.0, 0.0, 0.0)))
    least = float(way.times[-1])
    if not duration - taken >= least:
        return None
    if least > 0.0:
        scale = (duration - taken) / least
        way = _Part(scale * way.times, way.coefficients * scale ** -np.arange(float(way.coefficients.shape[1])))
    else:
        way = _Part(
            np.array([0.0, duration - taken]), way.coefficients[:1] * (np.arange(way.coefficients.shape[1]) < 1)
        )
    parts = [part for part in (before, way, after) if part is not None]
    times, at = [parts[0].times], float(parts[0].times[-1])
    for part in parts[1:]:
        times.append(at + part.times)
        at += float(part.times[-1])
    joined = np.concatenate([x[:-1] for x in times] + [[duration]])
    return _Part(joined, np.concatenate([part.coefficients for part in parts]))


def _of(numbers: ProfileNumbers) -> _Part:
    return _Part(np.asarray(numbers.times)[0], np.asarray(numbers.coefficients)[0])


def _padded(part: _Part, pieces: int) -> _Part:
    """With so many pieces: those that are not there take no time."""
    more = pieces - len(part.coefficients)
    if not more:
        return part
    return _Part(
        np.concatenate([part.times, np.full(more, part.times[-1])]),
        np.concatenate([part.coefficients, np.repeat(part.coefficients[-1:], more, axis=0)]),
    )
