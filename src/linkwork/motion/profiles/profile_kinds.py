"""Kinds of profiles: their algorithms, required limits and kernels; slow profiles.

In profiles that take far longer than their minimum time, rounding errors of phases accumulate.  Where the error at the
goal is too large, a coordinate that rests at both ends moves with all phases slowed in proportion.  A coordinate with
a velocity at an end first stops, then moves slowly, and starts again, with a profile for each of these three motions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.messages import short_repr
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.profiles.jerk_limited_profile import Ends, JointBounds, Profile
from linkwork.motion.algorithms.profiles.minimum_jerk_profile import minimum_jerk
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest, jerk_limited
from linkwork.motion.algorithms.profiles.trapezoidal_profile import trapezoid

__all__ = [
    "KINDS",
    "STATES",
    "ProfileArrays",
    "ProfileKind",
    "ProfileLimits",
    "kind_of",
    "profile_kernel",
    "with_slow_motions",
]


@dataclass(frozen=True, slots=True)
class ProfileKind:
    """A kind of profile.

    ``order`` is the highest derivative that needs a limit: 3 for jerk, 2 for acceleration.  ``polynomial`` kinds need
    no limits if their duration is given.
    """

    name: str
    compute: Callable[..., Profile]
    order: int
    polynomial: bool = False
    accelerations: bool = True  # whether accelerations at the ends are used


KINDS = {
    kind.name: kind
    for kind in (
        ProfileKind("jerk", jerk_limited, 3),
        ProfileKind("trapezoid", trapezoid, 2, accelerations=False),
        ProfileKind("minimum_jerk", minimum_jerk, 0, polynomial=True),
        ProfileKind("quintic", minimum_jerk, 0, polynomial=True),
    )
}


def kind_of(name: str) -> ProfileKind:
    """Return the kind of profile with a name.  Raises UnknownNameError."""
    try:
        return KINDS[name]
    except (KeyError, TypeError):
        remedy = "robot.spline(times, points, boundary='clamped') is a cubic" if name == "cubic" else ""
        raise UnknownNameError("kind of profile", name, KINDS, remedy) from None


STATES = ("q0", "q1", "v0", "v1", "a0", "a1")
_KERNELS: LazyCache[Kernel] = LazyCache(64)


class ProfileArrays(NamedTuple):
    """Profiles as arrays, one or a batch.

    ``durations`` (..., n) [s] are equal for synchronized coordinates.  Each coordinate is piecewise polynomial:
    ``times`` (..., n, segments + 1) are the ends of its segments, which may coincide; ``coefficients`` (..., n,
    segments, terms) are those of q as polynomials of the time since the segment began, lowest power first.  ``status``
    (...) is 0 for a profile, 1 if a state at an end is outside the limits or inevitably leaves them, 2 if no duration
    was found that satisfies them.
    """

    durations: Any
    times: Any
    coefficients: Any
    status: Any

    def __repr__(self) -> str:
        return short_repr(self)


def profile_kernel(kind: ProfileKind, n: int, together: bool, fixed: bool) -> Kernel:
    """Return the kernel that computes profiles of n coordinates.

    The kernel's inputs are states, limits and minimum durations (n,); if ``fixed``, the latter are exact durations.
    With ``together`` all coordinates have the same duration.
    """
    return _KERNELS.get((kind.name, n, together, fixed), lambda: _compiled(kind, n, together, fixed))


def _compiled(kind: ProfileKind, n: int, together: bool, fixed: bool) -> Kernel:
    more = {"fixed": fixed} if kind.polynomial else {}

    def function(**arrays: Any) -> Any:
        return profiles_of(
            kind, [arrays[x] for x in (*STATES, *ProfileLimits._fields)], arrays["least"], together, more
        )

    sizes = dict.fromkeys((*STATES, *ProfileLimits._fields, "least"), (n,))
    return compile(function, name=f"{kind.name}_profile", **sizes)


def profiles_of(kind: ProfileKind, arrays: list[Any], least: Any, together: bool, more: dict[str, Any]) -> Any:
    """Return the motion profiles of n coordinates over symbols, from arrays of states and limits.

    ``arrays`` are q0, q1, v0, v1, a0, a1, and the limits of both directions for v, a and jerk. ``least`` (n,) are
    minimum durations, equal for all coordinates if ``together``. ``more`` are further arguments of the algorithm.
    """
    joints = []
    for q0, q1, v0, v1, a0, a1, V, V_down, A, B, up, down in zip(*arrays, strict=True):
        limits = JointBounds(V, A, B, 1.0 / up, 1.0 / down)
        joints.append(JointRequest(q0, q1, Ends(v0, a0, v1, a1), limits, V_down))
    result = kind.compute(joints, together=together, shortest=list(least), **more)
    return ProfileArrays(array(result.durations), array(result.times), array(result.coefficients), result.status)


_UNLIMITED = 1e60  # replaces infinite limits


class ProfileLimits(NamedTuple):
    """Magnitudes (n,) of the upper and lower limits of velocity, acceleration and jerk."""

    velocity_up: np.ndarray
    velocity_down: np.ndarray
    acceleration_up: np.ndarray
    acceleration_down: np.ndarray
    jerk_up: np.ndarray
    jerk_down: np.ndarray

    def finite(self) -> ProfileLimits:
        """Return the limits; infinite limits are replaced by large finite numbers."""
        return ProfileLimits(*(np.minimum(x, _UNLIMITED) for x in self))


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
    """Return the profiles; each coordinate that misses its goal by rounding has a slower, more accurate motion.

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
                f"states differ by too many orders of magnitude for double precision; use values closer in size"
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
    """Return a motion in three parts: it stops at q0, moves slowly from q0 to q1, and starts again from rest at q1.

    ``state`` is (q0, q1, v0, v1, a0, a1). The result is None if the ``duration`` is too short for it.
    """
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
    """Return the motion padded to a number of ``segments`` by segments of zero duration at its end."""
    more = segments - len(motion.coefficients)
    if not more:
        return motion
    return _Motion(
        np.concatenate([motion.times, np.full(more, motion.times[-1])]),
        np.concatenate([motion.coefficients, np.repeat(motion.coefficients[-1:], more, axis=0)]),
    )
