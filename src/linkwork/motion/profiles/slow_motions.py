"""Profiles that take far longer than their minimum time, in which rounding errors of phases accumulate.

Where the error at the goal is too large, a coordinate that rests at both ends moves with all phases slowed in
proportion.  From and to velocities it stops, moves slowly, and starts again, with a profile for each of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from linkwork.motion.profiles.profile_kinds import ProfileArrays

__all__ = ["with_slow_motions"]

_TOLERANCE = 1e-9  # of the displacement, or of 1: permitted error at the goal

State = tuple[float, ...]
SingleProfile = Callable[[int, State], ProfileArrays]


class _Motion(NamedTuple):
    """The motion of one coordinate: times (m + 1,) and coefficients (m, terms) of its segments."""

    times: np.ndarray
    coefficients: np.ndarray


def with_slow_motions(
    profiles: ProfileArrays, states: tuple[np.ndarray, ...], single_profile: SingleProfile, names: Sequence[str]
) -> ProfileArrays:
    """Return the profiles with a slower, more accurate motion for each coordinate that misses its goal by rounding.

    Durations do not change. ``single_profile`` returns the minimum-time profile of one coordinate between states q0,
    q1, v0, v1, a0, a1. Raises ValueError if a coordinate still misses its goal.
    """
    durations, times, coefficients, status = profiles
    motions = [_Motion(t, c) for t, c in zip(times, coefficients, strict=True)]
    error = _goal_errors(motions, states[1])
    bad = np.flatnonzero(error > _TOLERANCE * np.maximum(np.abs(states[1] - states[0]), 1.0))
    if not len(bad):
        return profiles
    for k in bad.tolist():
        result = _slow_motion(float(durations[k]), tuple(float(x[k]) for x in states), partial(single_profile, k))
        left = np.inf if result is None else float(_goal_errors([result], states[1][k : k + 1])[0])
        if result is not None and left < error[k]:
            motions[k], error[k] = result, left
        scale = abs(states[1][k] - states[0][k]) + durations[k] * (abs(states[2][k]) + abs(states[3][k]))
        if error[k] > _TOLERANCE * (1.0 + scale):
            raise ValueError(
                f"{names[k]} misses its goal by {error[k]:.3g} in {durations[k]:.6g} s, since its limits and "
                f"states differ too much in size for 16 digits"
            )
    segments = max(len(motion.coefficients) for motion in motions)
    rows = [_padded(motion, segments) for motion in motions]
    return ProfileArrays(
        durations, np.array([row.times for row in rows]), np.array([row.coefficients for row in rows]), status
    )


def _goal_errors(motions: list[_Motion], goals: np.ndarray) -> np.ndarray:
    result = []
    for motion in motions:
        u = motion.times[-1] - motion.times[-2]
        result.append(np.polynomial.polynomial.polyval(u, motion.coefficients[-1]))
    error: np.ndarray = np.abs(np.array(result) - goals)
    return error


def _slow_motion(duration: float, state: State, single_profile: Callable[[State], ProfileArrays]) -> _Motion | None:
    """Return a motion that stops, moves slowly from q0 to q1, and accelerates again; None without time for it."""
    q0, q1, v0, v1, a0, a1 = state
    rests = (v0 == 0.0 and a0 == 0.0), (v1 == 0.0 and a1 == 0.0)
    before = None if rests[0] else _motion_of(single_profile((q0, q0, v0, 0.0, a0, 0.0)))
    after = None if rests[1] else _motion_of(single_profile((q1, q1, 0.0, v1, 0.0, a1)))
    stop_and_start = sum(float(motion.times[-1]) for motion in (before, after) if motion is not None)
    middle = _motion_of(single_profile((q0, q1, 0.0, 0.0, 0.0, 0.0)))
    least = float(middle.times[-1])
    if not duration - stop_and_start >= least:
        return None
    if least > 0.0:
        scale = (duration - stop_and_start) / least
        middle = _Motion(
            scale * middle.times, middle.coefficients * scale ** -np.arange(float(middle.coefficients.shape[1]))
        )
    else:
        middle = _Motion(
            np.array([0.0, duration - stop_and_start]),
            middle.coefficients[:1] * (np.arange(middle.coefficients.shape[1]) < 1),
        )
    motions = [motion for motion in (before, middle, after) if motion is not None]
    times, at = [motions[0].times], float(motions[0].times[-1])
    for motion in motions[1:]:
        times.append(at + motion.times)
        at += float(motion.times[-1])
    joined = np.concatenate([x[:-1] for x in times] + [[duration]])
    return _Motion(joined, np.concatenate([motion.coefficients for motion in motions]))


def _motion_of(profiles: ProfileArrays) -> _Motion:
    return _Motion(np.asarray(profiles.times)[0], np.asarray(profiles.coefficients)[0])


def _padded(motion: _Motion, segments: int) -> _Motion:
    """Return the motion padded to a number of segments with segments of zero duration."""
    more = segments - len(motion.coefficients)
    if not more:
        return motion
    return _Motion(
        np.concatenate([motion.times, np.full(more, motion.times[-1])]),
        np.concatenate([motion.coefficients, np.repeat(motion.coefficients[-1:], more, axis=0)]),
    )
