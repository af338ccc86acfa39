"""Trapezoidal velocity profiles of several joints, over any scalar.

Velocity and acceleration are limited.  As for jerk-limited motion (`jerk_limited`), the displacements of motions of
duration T form an interval.  The farthest motion's velocity rises to a peak (or to a plateau at its limit) and falls;
the nearest motion's velocity falls and rises.  With the peak p, without a plateau,

    T = (p − v0)/A + (p − v1)/B,    displacement = (p² − v0²)/(2A) + (p² − v1²)/(2B)

so the displacement for T and the T for a displacement follow from square roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import and_, fmax, fmin, or_, sqrt, where
from linkwork.motion.algorithms.profiles.compensated_time import Instant, backward, forward, rising, selected
from linkwork.motion.algorithms.profiles.feasible_durations import first_fitting
from linkwork.motion.algorithms.profiles.jerk_limited_profile import Profile, merged, mixture_share
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest

__all__ = ["trapezoid"]

Scalar = Any

_SLACK = 1e-9


class _Family(NamedTuple):
    """Motions from velocity v0 to v1 with the largest displacement, one for each duration."""

    v0: Scalar
    v1: Scalar
    V: Scalar
    rise: Scalar  # 1/A
    fall: Scalar  # 1/B

    def peak(self, T: Scalar) -> Scalar:
        """Return the peak velocity that a motion of duration T would have without a limit of velocity."""
        return (T + self.v0 * self.rise + self.v1 * self.fall) / (self.rise + self.fall)

    def displacement(self, T: Scalar) -> Scalar:
        """Return the largest possible displacement in time T."""
        p = self.peak(T)
        low = fmin(p, self.V)
        cruise = (p - low) * (self.rise + self.fall)
        return self._slopes(low) + low * cruise

    def later(self, displacement: Scalar) -> Scalar:
        """Return the longest duration for which ``displacement`` is the largest possible displacement."""
        square = 2.0 * (displacement - self._slopes(0.0)) / (self.rise + self.fall)
        p = sqrt(fmax(square, 0.0))
        low = fmin(p, self.V)
        cruise = (displacement - self._slopes(low)) / fmax(low, 1e-200)
        return (low - self.v0) * self.rise + (low - self.v1) * self.fall + where(p > self.V, cruise, 0.0)

    def _slopes(self, p: Scalar) -> Scalar:
        return 0.5 * ((p - self.v0) * (p + self.v0) * self.rise + (p - self.v1) * (p + self.v1) * self.fall)

    def breaks(self, T: Scalar) -> list[Instant]:
        """Return the times at which the plateau of velocity begins and ends, in a motion of duration T.

        The first time is summed from the beginning of the motion, and the second from its end.
        """
        low = fmin(self.peak(T), self.V)
        up, down = fmax((low - self.v0) * self.rise, 0.0), fmax((low - self.v1) * self.fall, 0.0)
        return forward([up]) + backward([down], T)


def trapezoid(
    joints: Sequence[JointRequest], *, together: bool = True, shortest: Sequence[Scalar] | None = None
) -> Profile:
    """Return a trapezoidal motion of joints: durations, times (6) and coefficients (5, 3) of each, and a status.

    Accelerations at the ends are ignored.  The status is 0 for a motion, 1 if a velocity at an end is outside its
    limits, 2 if no duration fits all joints.
    """
    families = [(_far(joint), _near(joint)) for joint in joints]
    displacements = [joint.q1 - joint.q0 for joint in joints]
    start = []
    for joint, least in zip(joints, shortest or [0.0] * len(joints), strict=True):
        gain = joint.ends.v1 - joint.ends.v0
        start.append(fmax(where(gain > 0.0, gain / joint.limits.A, -gain / joint.limits.B), least))

    def later(T: list[Scalar]) -> list[Scalar]:
        result = []
        for (far, near), displacement, t in zip(families, displacements, T, strict=True):
            beyond, before = far.displacement(t) < displacement, displacement < -near.displacement(t)
            result.append(fmax(t, where(beyond, far.later(displacement), where(before, near.later(-displacement), t))))
        return result

    T, missed = first_fitting(later, start, together=together)
    possible = reduce(and_, map(_possible, joints))
    times, segments = [], []
    for joint, (far, near), displacement, t in zip(joints, families, displacements, T, strict=True):
        breaks, accelerations = _mixed(joint, far, near, displacement, t)
        times.append(rising(breaks, t))
        segments.append(_segments(joint, breaks, accelerations))
    return Profile(T, times, segments, where(possible, where(missed, 2.0, 0.0), 1.0))


def _far(joint: JointRequest) -> _Family:
    return _Family(joint.ends.v0, joint.ends.v1, joint.limits.V, 1.0 / joint.limits.A, 1.0 / joint.limits.B)


def _near(joint: JointRequest) -> _Family:
    return _Family(-joint.ends.v0, -joint.ends.v1, joint.V_down, 1.0 / joint.limits.B, 1.0 / joint.limits.A)


def _possible(joint: JointRequest) -> Scalar:
    displacement = joint.q1 - joint.q0
    valid = or_(displacement < 1.0, displacement >= 1.0)  # False for NaN
    for v in (joint.ends.v0, joint.ends.v1):
        valid = and_(valid, and_(v <= joint.limits.V * (1.0 + _SLACK), v >= -joint.V_down * (1.0 + _SLACK)))
    return valid


def _mixed(
    joint: JointRequest, far: _Family, near: _Family, displacement: Scalar, T: Scalar
) -> tuple[list[Instant], list[Scalar]]:
    """Return the times and accelerations of a joint's motion of duration T with the required displacement.

    The motion is a mixture of the farthest and the nearest motion of duration T.
    """
    A, B = joint.limits.A, joint.limits.B
    (v0, _, v1, _) = joint.ends
    slows, speeds = where(v0 > 0.0, -B, A), where(v1 > 0.0, A, -B)
    stop, start = -v0 / slows, v1 / speeds  # durations of stopping and starting
    rests = stop + start <= T
    d_rest = 0.5 * (v0 * stop + v1 * start)
    d_far, d_near = far.displacement(T), -near.displacement(T)
    lower = and_(rests, displacement < d_rest)
    first = _either(lower, _steps(near.breaks(T), (-B, 0.0, A)), _steps(far.breaks(T), (A, 0.0, -B)))
    second = _either(
        rests,
        _steps(forward([stop]) + backward([start], T), (slows, 0.0, speeds)),
        _steps(near.breaks(T), (-B, 0.0, A)),
    )
    part = mixture_share(displacement, where(lower, d_near, d_far), where(rests, d_rest, d_near))
    left = 1.0 - part
    pairs = merged([(t, part * x) for t, x in first[1]], [(t, left * x) for t, x in second[1]])
    a = part * first[0] + left * second[0]
    times, result = [Instant(0.0, 0.0)], [a]
    for time, jump in pairs:
        times.append(time)
        a = a + jump
        result.append(fmin(fmax(a, -B), A))
    return [*times, Instant(T, 0.0)], result


_Steps = tuple[Any, list[tuple[Instant, Any]]]  # the first acceleration, and the times and sizes of its jumps


def _steps(breaks: Sequence[Instant], accelerations: Sequence[Scalar]) -> _Steps:
    first, middle, last = accelerations
    return first, [(breaks[0], middle - first), (breaks[1], last - middle)]


def _either(condition: Scalar, x: _Steps, y: _Steps) -> _Steps:
    pairs = [(selected(condition, s, t), where(condition, a, b)) for (s, a), (t, b) in zip(x[1], y[1], strict=True)]
    return where(condition, x[0], y[0]), pairs


def _segments(joint: JointRequest, times: Sequence[Instant], accelerations: Sequence[Scalar]) -> list[list[Scalar]]:
    q, v = joint.q0, joint.ends.v0
    result = []
    for start, end, a in zip(times[:-1], times[1:], accelerations, strict=True):
        h = start.until(end)
        result.append([q, v, 0.5 * a])
        q, v = q + h * (v + 0.5 * h * a), v + h * a
    return result
