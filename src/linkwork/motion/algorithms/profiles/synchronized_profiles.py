"""Jerk-limited motion of several joints from state to state, over any scalar.

Each joint moves in its own minimum time, or all joints move in the minimum time feasible for all.  For a feasible
duration T, a joint's motion is a weighted mean λ·x + (1 − λ)·y of two motions x and y of duration T.  Limits are
convex, so the mean satisfies them.  Its displacement is linear in λ, so λ follows without a search.  Motion x has the
largest or the smallest displacement (`jerk_limited_profile`).  Motion y stops, rests and starts again if T is long
enough, so that a joint does not move more than necessary.  Otherwise y is the opposite extreme of x.  For the joint
that takes longest, λ = 1.

If all joints move in one duration, the search begins with the joint that is estimated to take longest, and its minimum
duration.  Each other joint accepts this duration, or the search continues with the next duration feasible for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import call, cond
from linkwork.expr.control.loops import map_rows, while_loop
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, not_, or_, sqrt, where
from linkwork.motion.algorithms.profiles.compensated_time import Instant, backward, forward, rising, selected
from linkwork.motion.algorithms.profiles.feasible_durations import (
    NEVER,
    ROUNDS,
    beginning,
    estimate,
    first_reaching,
    fits_with_rest,
    has_advanced,
    least_duration,
    shared,
)
from linkwork.motion.algorithms.profiles.jerk_limited_profile import (
    Ends,
    Inverses,
    JointBounds,
    Phases,
    Profile,
    merged,
    mixture_share,
    segments_of,
)

__all__ = ["SEGMENTS", "JointRequest", "jerk_limited", "resting_displacement"]

Scalar = Any

SEGMENTS = 13
_STEP_VALUES = 14  # values of a motion to be mixed
_SLACK = 1e-9  # relative: a state that exceeds a limit by less is at it


class JointRequest(NamedTuple):
    """Required motion of one joint: positions q0 and q1 [rad, m], velocities and accelerations there, and limits.

    Limits are magnitudes. V in ``limits`` is the limit of positive velocity, and ``V_down`` of negative velocity.
    ``limits`` also has the limits of acceleration, and the reciprocals of the limits of jerk.
    """

    q0: Scalar
    q1: Scalar
    ends: Ends
    limits: JointBounds
    V_down: Scalar

    @property
    def displacement(self) -> Scalar:
        """Displacement q1 − q0 [rad, m]."""
        return self.q1 - self.q0


def jerk_limited(
    joints: Sequence[JointRequest], *, together: bool = True, shortest: Sequence[Scalar] | None = None
) -> Profile:
    """Return a jerk-limited motion of joints: durations, times (14) and coefficients (13, 4) of each, and a status.

    Coefficients are those of q as a polynomial of the time since the segment began, lowest power first. Durations are
    at least ``shortest``. The status is 0 for a motion, 1 if a state at an end is outside the limits or inevitably
    leaves them, and 2 if no duration fits all joints.
    """
    rows = [[x.q0, x.q1, *x.ends, *x.limits, x.V_down] for x in joints]
    begun = map_rows(_initial_values, rows, in_loops=True, alike=True)
    rows = [[*row, *result[:4]] for row, result in zip(rows, begun, strict=True)]
    if together:
        start = [fmax(t, result[4]) for t, result in zip(_least_of_all(rows, begun), begun, strict=True)]
    else:
        start = [t for (t,) in map_rows(_least, rows, in_loops=True, alike=True)]
    if shortest is not None:
        start = [fmax(t, x) for t, x in zip(start, shortest, strict=True)]
    T, motions, missed = _fitting(rows, start, together=together)
    result = map_rows(
        _motion, [[*row, t, *both] for row, t, both in zip(rows, T, motions, strict=True)], in_loops=True, alike=True
    )
    possible = reduce(and_, (row[-1] > 0.5 for row in result))
    status = where(possible, where(missed, 2.0, 0.0), 1.0)
    times = [row[: SEGMENTS + 1] for row in result]
    segments = [[row[k : k + 4] for k in range(SEGMENTS + 1, len(row) - 1, 4)] for row in result]
    return Profile([*T], times, segments, status)


_Tried = tuple[tuple[Scalar, ...], tuple[tuple[Scalar, ...], ...], Scalar]


def _fitting(rows: list[list[Scalar]], start: Sequence[Scalar], *, together: bool) -> _Tried:
    """Return (durations, motions, failed): the first feasible durations of the joints from ``start`` on.

    ``motions`` has for each joint the two motions whose weighted mean is its motion, as flat lists (`_Steps.values`).
    ``failed`` is True if there are no feasible durations. ``rows`` has a flat list of limits and states for each joint.
    The initial durations are usually feasible; the search for later ones is then skipped.
    """

    def tried(T: Sequence[Scalar]) -> _Tried:
        T = shared(T) if together else T
        result = map_rows(_at_duration, [[*row, t] for row, t in zip(rows, T, strict=True)], in_loops=True, alike=True)
        later = [row[0] for row in result]
        moved = has_advanced(T, later)
        return (
            tuple(where(moved, new, t) for new, t in zip(later, T, strict=True)),
            tuple(tuple(row[1:]) for row in result),
            moved,
        )

    def on(result: _Tried) -> _Tried:
        last = while_loop(lambda s: s[2], lambda s: tried(s[0]), result, max_iterations=ROUNDS * len(rows))
        return last.state[0], last.state[1], last.status > 0.0

    def done(result: _Tried) -> _Tried:
        return result

    T, motions, missed = cond((result := tried(start))[2], on, done, result)
    return T, motions, reduce(or_, (not_(t < NEVER) for t in T), missed)


def _initial_values(row: Sequence[Scalar]) -> list[Scalar]:
    """Return for one joint the reciprocals of its limits, its minimum duration for any displacement, and an estimate.

    The estimate is of the minimum duration for the required displacement. ``row`` is the joint's `JointRequest` as a
    flat list.
    """
    joint = _request(row)
    inverses = Inverses.of(joint.limits)
    result = beginning(joint.displacement, joint.ends, joint.limits, joint.V_down, inverses)
    return [*inverses[1:], result.T, estimate(result)]


def _least_of_all(rows: list[list[Scalar]], begun: list[list[Scalar]]) -> list[Scalar]:
    """Return the minimum duration of the joint that is estimated to take longest, repeated for each joint.

    ``rows`` are the joints' requests as flat lists, and ``begun`` the results of `_initial_values` with the estimates.
    """
    longest, most = rows[0], begun[0][5]
    for row, result in zip(rows[1:], begun[1:], strict=True):
        longer = result[5] > most
        longest = [where(longer, x, y) for x, y in zip(row, longest, strict=True)]
        most = fmax(most, result[5])
    return [call(lambda *row: _least(row)[0], *longest)] * len(rows)


def _least(row: Sequence[Scalar]) -> list[Scalar]:
    joint = _request(row)
    return [least_duration(joint.displacement, joint.ends, joint.limits, joint.V_down, _inverses(joint, row))]


def _request(row: Sequence[Scalar]) -> JointRequest:
    return JointRequest(row[0], row[1], Ends(*row[2:6]), JointBounds(*row[6:11]), row[11])


def _inverses(joint: JointRequest, row: Sequence[Scalar]) -> Inverses:
    return Inverses(0.5 * (joint.limits.up + joint.limits.down), *row[12:16])


class _Steps(NamedTuple):
    """A jerk-limited motion in seven phases, defined by the end times of its phases and the signs of its jerk.

    ``breaks`` are the ends of the first six phases. ``first`` and ``last`` are the signs of the jerk in the first and
    the last phase. The jerk is 0 in the second, fourth and sixth phase; in the third it is opposite to the first, and
    in the fifth opposite to the last. Times are instants, so that phases much shorter than the motion keep their
    lengths.
    """

    first: Scalar
    last: Scalar
    displacement: Scalar
    breaks: list[Instant]

    @staticmethod
    def of(values: Sequence[Scalar]) -> _Steps:
        """Return the motion from the flat list that `values` returns."""
        first, last, displacement = values[:3]
        breaks = [Instant(values[3], 0.0), *(Instant(*values[k : k + 2]) for k in range(4, _STEP_VALUES, 2))]
        return _Steps(first, last, displacement, breaks)

    def values(self) -> list[Scalar]:
        """Return the motion as a flat list of `_STEP_VALUES` scalars, for loops in a kernel."""
        first, *later = self.breaks  # the first phase begins at 0, so its end is one float
        return [*self[:3], first.high, *(x for instant in later for x in instant)]

    def jerks(self, up: Scalar, down: Scalar) -> tuple[Scalar, list[Scalar]]:
        """Return the jerk in the first phase, and the changes (6) of jerk at the ends of the first six phases.

        ``up`` and ``down`` are the magnitudes of positive and negative jerk.
        """
        rises, ends = self.first > 0.0, self.last > 0.0
        first, second = where(rises, up, -down), where(rises, -down, up)
        before, after = where(ends, -down, up), where(ends, up, -down)
        return first, [-first, second, -second, before, -before, after]


def _at_duration(row: Sequence[Scalar]) -> list[Scalar]:
    """Return for one joint its duration, and the two motions whose weighted mean has the required displacement.

    ``row`` is a flat list: the joint's `JointRequest`, reciprocals of limits, and the requested duration. If that is
    infeasible, a later feasible duration is returned. The motions are flat lists (`_Steps.values`).
    """
    joint, T = _request(row), row[16]
    ends, limits = joint.ends, joint.limits
    resting, takes = _rest(joint, _inverses(joint, row), T)
    up = joint.displacement >= resting.displacement
    fits, result, displacement = fits_with_rest(
        up, joint.displacement, ends, limits, joint.V_down, _inverses(joint, row), T
    )
    sense = where(up, 1.0, -1.0)
    first, second = where(up, limits.up, limits.down), where(up, limits.down, limits.up)
    extreme = _Steps(
        sense, sense, sense * displacement, _breaks(result, sense * ends.a0, sense * ends.a1, first, second, T)
    )
    rests = (T, *extreme.values(), *resting.values())
    return [*cond(and_(takes <= T, fits), lambda *row: rests, _between_extremes, *row)]


def _between_extremes(*row: Scalar) -> tuple[Scalar, ...]:
    """Return for one joint a feasible duration, and the motions of largest and smallest displacement in that time.

    ``row`` ends with the requested duration; a later one is returned if it is infeasible. The function is for joints
    that have no time to rest in between, or whose requested duration is infeasible.
    """
    joint, T = _request(row), row[16]
    ends, limits = joint.ends, joint.limits
    later, result = first_reaching(joint.displacement, ends, limits, joint.V_down, _inverses(joint, row), T)
    far = _Steps(1.0, 1.0, result.far_displacement, _breaks(result.far, ends.a0, ends.a1, limits.up, limits.down, T))
    near = _Steps(
        -1.0, -1.0, -result.near_displacement, _breaks(result.near, -ends.a0, -ends.a1, limits.down, limits.up, T)
    )
    return (later, *far.values(), *near.values())


def _motion(row: Sequence[Scalar]) -> list[Scalar]:
    """Return times and coefficients of a joint's motion in a flat list, and 1 if both end states are feasible, else 0.

    ``row`` is a flat list: the joint's `JointRequest`, its duration, and the two motions whose weighted mean is
    returned.
    """
    joint, T = _request(row), row[16]
    times, jerks = _mixed(joint, T, _Steps.of(row[17:]), _Steps.of(row[17 + _STEP_VALUES :]))
    most = 1.0 / joint.limits.up, 1.0 / joint.limits.down
    segments = segments_of(joint.q0, joint.ends.v0, joint.ends.a0, times, jerks, most)
    values = [*rising(times, T), *(x for segment in segments for x in segment)]
    return [*values, where(_possible(joint), 1.0, 0.0)]


def _possible(joint: JointRequest) -> Scalar:
    """Return True if both states are within limits, and velocities stay so while the acceleration is reduced to 0."""
    (v0, a0, v1, a1), (V, A, B, up, down), V_down = joint.ends, joint.limits, joint.V_down
    displacement = joint.q1 - joint.q0
    valid = or_(displacement < 1.0, displacement >= 1.0)  # False for NaN
    for v, a in ((v0, a0), (v1, -a1)):
        after = 0.5 * a * fabs(a)
        turned = fmax(after, 0.0) * down, fmin(after, 0.0) * up
        valid = and_(valid, and_(v + turned[0] <= V * (1.0 + _SLACK), v + turned[1] >= -V_down * (1.0 + _SLACK)))
    for a in (a0, a1):
        valid = and_(valid, and_(a <= A * (1.0 + _SLACK), a >= -B * (1.0 + _SLACK)))
    return valid


def _mixed(joint: JointRequest, T: Scalar, motion_a: _Steps, motion_b: _Steps) -> tuple[list[Instant], list[Scalar]]:
    """Return the times and jerks of the mixture of two motions of duration T that has the required displacement."""
    up, down = 1.0 / joint.limits.up, 1.0 / joint.limits.down
    part = mixture_share(joint.displacement, motion_a.displacement, motion_b.displacement)
    left = 1.0 - part
    first, jumps = motion_a.jerks(part * up, part * down)
    second, later_jumps = motion_b.jerks(left * up, left * down)
    pairs = merged([*zip(motion_a.breaks, jumps, strict=True)], [*zip(motion_b.breaks, later_jumps, strict=True)])
    jerk = first + second
    times, jerks = [Instant(0.0, 0.0)], [jerk]
    for time, jump in pairs:
        times.append(time)
        jerk = jerk + jump
        jerks.append(jerk)
    return [*times, Instant(T, 0.0)], jerks


def _rest(joint: JointRequest, inverses: Inverses, T: Scalar) -> tuple[_Steps, Scalar]:
    """Return the motion of duration T that stops as early and starts as late as possible, and its shortest duration.

    The shortest duration is the time without a rest between.
    """
    v0, a0, v1, a1 = joint.ends
    limits = joint.limits
    stop = _stopped(v0, a0, limits, inverses)
    turned = limits._replace(A=limits.B, B=limits.A)  # backwards in time and mirrored
    start = _stopped(v1, -a1, turned, inverses.mirrored())
    before, after = stop.first + stop.hold + stop.last, start.first + start.hold + start.last
    breaks = forward([stop.first, stop.hold, stop.last]) + backward([start.last, start.hold, start.first], T)
    return _Steps(stop.sense, start.sense, stop.displacement + start.displacement, breaks), before + after


def resting_displacement(joint: JointRequest) -> Scalar:
    """Return the displacement of a motion that stops as early as possible, rests, and starts as late as possible.

    A joint that must not move backwards has no motion with a smaller displacement.
    """
    return _rest(joint, Inverses.of(joint.limits), 0.0)[0].displacement


class _Stop(NamedTuple):
    """A motion to rest: the durations of its three phases, the sign of its first jerk, and its displacement."""

    first: Scalar
    hold: Scalar
    last: Scalar
    sense: Scalar
    displacement: Scalar


def _stopped(v: Scalar, a: Scalar, limits: JointBounds, inverses: Inverses) -> _Stop:
    """Return the motion from velocity v and acceleration a to rest in minimum time."""
    _, A, B, up, down = limits
    gains = v + 0.5 * where(a > 0.0, down, -up) * a * a <= 0.0  # the v that remains when a is reduced to 0
    sense = where(gains, 1.0, -1.0)
    v, a, most, by_most = sense * v, sense * a, where(gains, A, B), where(gains, inverses.by_A, inverses.by_B)
    up, down = where(gains, up, down), where(gains, down, up)
    c = v - 0.5 * up * a * a
    peak = fmax(fmin(sqrt(fmax(-c, 0.0) * inverses.inverse), most), a)
    hold = fmax(-c * by_most - inverses.m * most, 0.0)
    cube = peak * peak * peak * (1.0 / 6.0)
    displacement = up * (c * (peak - a) + up * (cube - a * a * a * (1.0 / 6.0)))
    displacement = displacement + hold * (c + 0.5 * (up * peak * peak + most * hold)) - down * down * cube
    return _Stop(up * (peak - a), hold, down * peak, sense, sense * displacement)


def _breaks(result: Phases, a0: Scalar, a1: Scalar, up: Scalar, down: Scalar, T: Scalar) -> list[Instant]:
    """Return the end times of the first six of the seven phases of a motion with the largest displacement in time T.

    Times before the longest plateau are summed from the beginning, and times after it from the end. So the plateau
    absorbs rounding.
    """
    cruises = result.at_speed > 0.0
    high = where(cruises, result.peak, result.peak - result.trough)
    phases = [
        fmax(x, 0.0)
        for x in (
            up * (result.peak - a0),
            result.at_peak,
            down * high,
            result.at_speed,
            where(cruises, -down * result.trough, 0.0),
            result.at_trough,
            up * (a1 - result.trough),
        )
    ]
    before, after = forward(phases[:5]), backward(phases[2:], T)  # the first and the last five breaks
    at_peak = result.at_peak > fmax(result.at_speed, result.at_trough)
    at_speed = result.at_speed > fmax(result.at_peak, result.at_trough)
    early, late = or_(at_peak, at_speed), at_peak
    return [
        before[0],
        selected(late, after[0], before[1]),
        selected(late, after[1], before[2]),
        selected(early, after[2], before[3]),
        selected(early, after[3], before[4]),
        after[4],
    ]
