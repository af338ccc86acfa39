"""Jerk-limited motion of several joints from state to state, over any scalar.

Each joint moves in the least time that fits it, or all of them in the least that fits all.  In a duration T that fits,
a joint's motion is a mixture λ·x + (1 − λ)·y of two motions of T: limits are convex, so the mixture keeps them, and its
way is linear in λ, so that λ follows without a search.  One of the two comes farthest or least far
(`jerk_limited_profile`); the other is the one that stops, rests and starts again, where there is time for it, so that a
joint with time moves no more than it has to, and else the opposite extreme.  The joint that takes longest is at an
extreme: λ = 1.

Together, the joint that seems to take longest is searched for its least duration; the others show that it fits them, or
go on to a later one.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    fitting_one_way,
    least_duration,
    reached,
    shared,
    went_on,
)
from linkwork.motion.algorithms.profiles.jerk_limited_profile import (
    Ends,
    Inverses,
    JointBounds,
    Phases,
    Profile,
    merged,
    pieces_of,
    share_of,
)

__all__ = ["PIECES", "JointRequest", "jerk_limited", "resting_way"]

Scalar = Any

PIECES = 13
_NUMBERS = 14  # of a motion that is to be mixed
_SLACK = 1e-9  # relative: a state that is beyond a limit by no more is at it


class JointRequest(NamedTuple):
    """What one joint is asked for: q at both ends [rad, m], its derivatives there, and limits, as magnitudes.

    ``V`` and ``V_down`` of velocity, ``A`` and ``B`` of acceleration, upwards and down; of jerk their inverses.
    """

    q0: Scalar
    q1: Scalar
    ends: Ends
    limits: JointBounds
    V_down: Scalar

    @property
    def way(self) -> Scalar:
        """From q0 to q1."""
        return self.q1 - self.q0


def jerk_limited(
    joints: Sequence[JointRequest], *, together: bool = True, shortest: Sequence[Scalar] | None = None
) -> Profile:
    """Durations, times (14) and coefficients (13, 4) of pieces, by joint, and a status: 0 where there is a motion.

    Coefficients are those of q by the time since the piece began, lowest first.

    Durations are no shorter than ``shortest``.  The status is 1 where a state at an end is outside of the limits or
    leads there whatever comes before or after it, and 2 where no duration fits all joints.
    """
    rows = [[x.q0, x.q1, *x.ends, *x.limits, x.V_down] for x in joints]
    begun = map_rows(_begun, rows, in_loops=True, alike=True)
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
    possible = result[0][-1] > 0.5
    for row in result[1:]:
        possible = and_(possible, row[-1] > 0.5)
    status = where(possible, where(missed, 2.0, 0.0), 1.0)
    times = [row[: PIECES + 1] for row in result]
    pieces = [[row[k : k + 4] for k in range(PIECES + 1, len(row) - 1, 4)] for row in result]
    return Profile([*T], times, pieces, status)


_Tried = tuple[tuple[Scalar, ...], tuple[tuple[Scalar, ...], ...], Scalar]


def _fitting(rows: list[list[Scalar]], start: Sequence[Scalar], *, together: bool) -> _Tried:
    """The first durations that fit, the motions to mix then as numbers, and whether there are none.

    As a rule those at the start do, and all else is left out.
    """

    def tried(T: Sequence[Scalar]) -> _Tried:
        T = shared(T) if together else T
        result = map_rows(_at_duration, [[*row, t] for row, t in zip(rows, T, strict=True)], in_loops=True, alike=True)
        later = [row[0] for row in result]
        moved = went_on(T, later)
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
    for t in T:
        missed = or_(missed, not_(t < NEVER))
    return T, motions, missed


def _begun(row: Sequence[Scalar]) -> list[Scalar]:
    """Inverses, the least duration of the velocity alone, and about the least one."""
    joint = _request(row)
    inverses = Inverses.of(joint.limits)
    result = beginning(joint.way, joint.ends, joint.limits, joint.V_down, inverses)
    return [*inverses[1:], result.T, estimate(result)]


def _least_of_all(rows: list[list[Scalar]], begun: list[list[Scalar]]) -> list[Scalar]:
    """The least duration of the joint that seems to take longest, for all."""
    longest, most = rows[0], begun[0][5]
    for row, result in zip(rows[1:], begun[1:], strict=True):
        longer = result[5] > most
        longest = [where(longer, x, y) for x, y in zip(row, longest, strict=True)]
        most = fmax(most, result[5])
    return [call(lambda *row: _least(row)[0], *longest)] * len(rows)


def _least(row: Sequence[Scalar]) -> list[Scalar]:
    joint = _request(row)
    return [least_duration(joint.way, joint.ends, joint.limits, joint.V_down, _inverses(joint, row))]


def _request(row: Sequence[Scalar]) -> JointRequest:
    return JointRequest(row[0], row[1], Ends(*row[2:6]), JointBounds(*row[6:11]), row[11])


def _inverses(joint: JointRequest, row: Sequence[Scalar]) -> Inverses:
    return Inverses(0.5 * (joint.limits.up + joint.limits.down), *row[12:16])


class _Steps(NamedTuple):
    """A motion: when its phases end but for the last (6), the way, and the senses of the jerk in the first phase and in
    the last: it is 0 in the second and fourth and sixth of the seven, and in the third and fifth the opposite.

    Times are instants, so that phases keep their lengths however short they are beside the whole.
    """

    first: Scalar
    last: Scalar
    way: Scalar
    breaks: list[Instant]

    @staticmethod
    def of(numbers: Sequence[Scalar]) -> _Steps:
        """From where `numbers` put them."""
        first, last, way = numbers[:3]
        breaks = [Instant(numbers[3], 0.0), *(Instant(*numbers[k : k + 2]) for k in range(4, _NUMBERS, 2))]
        return _Steps(first, last, way, breaks)

    def numbers(self) -> list[Scalar]:
        """So many as `_NUMBERS` says."""
        first, *others = self.breaks  # the first phase begins at 0, so its end is one number
        return [*self[:3], first.high, *(x for one in others for x in one)]

    def jerks(self, up: Scalar, down: Scalar) -> tuple[Scalar, list[Scalar]]:
        """The jerk of the first phase, and by how much it changes after each."""
        rises, ends = self.first > 0.0, self.last > 0.0
        one, other = where(rises, up, -down), where(rises, -down, up)
        before, after = where(ends, -down, up), where(ends, up, -down)
        return one, [-one, other, -other, before, -before, after]


def _at_duration(row: Sequence[Scalar]) -> list[Scalar]:
    """A later duration, if the one that is asked for does not fit, and the two motions of it that are to be mixed."""
    joint, T = _request(row), row[16]
    ends, limits = joint.ends, joint.limits
    rest, takes = _rest(joint, _inverses(joint, row), T)
    up = joint.way >= rest.way
    fits, result, way = fitting_one_way(up, joint.way, ends, limits, joint.V_down, _inverses(joint, row), T)
    sense = where(up, 1.0, -1.0)
    first, second = where(up, limits.up, limits.down), where(up, limits.down, limits.up)
    one = _Steps(sense, sense, sense * way, _breaks(result, sense * ends.a0, sense * ends.a1, first, second, T))
    rests = (T, *one.numbers(), *rest.numbers())
    return [*cond(and_(takes <= T, fits), lambda *row: rests, _between_extremes, *row)]


def _between_extremes(*row: Scalar) -> tuple[Scalar, ...]:
    """The same where there is no time to rest, or the duration does not fit."""
    joint, T = _request(row), row[16]
    ends, limits = joint.ends, joint.limits
    later, result = reached(joint.way, ends, limits, joint.V_down, _inverses(joint, row), T)
    one = _Steps(1.0, 1.0, result.far_way, _breaks(result.far, ends.a0, ends.a1, limits.up, limits.down, T))
    other = _Steps(-1.0, -1.0, -result.near_way, _breaks(result.near, -ends.a0, -ends.a1, limits.down, limits.up, T))
    return (later, *one.numbers(), *other.numbers())


def _motion(row: Sequence[Scalar]) -> list[Scalar]:
    """Times and coefficients, and 1 where both states are possible."""
    joint, T = _request(row), row[16]
    times, jerks = _mixed(joint, T, _Steps.of(row[17:]), _Steps.of(row[17 + _NUMBERS :]))
    most = 1.0 / joint.limits.up, 1.0 / joint.limits.down
    pieces = pieces_of(joint.q0, joint.ends.v0, joint.ends.a0, times, jerks, most)
    numbers = [*rising(times, T), *(x for piece in pieces for x in piece)]
    return [*numbers, where(_possible(joint), 1.0, 0.0)]


def _possible(joint: JointRequest) -> Scalar:
    """Whether both states are within limits, and so is the velocity after the first and before the second."""
    (v0, a0, v1, a1), (V, A, B, up, down), V_down = joint.ends, joint.limits, joint.V_down
    way = joint.q1 - joint.q0
    fine = or_(way < 1.0, way >= 1.0)  # which NaN is not
    for v, a in ((v0, a0), (v1, -a1)):
        after = 0.5 * a * fabs(a)
        turned = fmax(after, 0.0) * down, fmin(after, 0.0) * up
        fine = and_(fine, and_(v + turned[0] <= V * (1.0 + _SLACK), v + turned[1] >= -V_down * (1.0 + _SLACK)))
    for a in (a0, a1):
        fine = and_(fine, and_(a <= A * (1.0 + _SLACK), a >= -B * (1.0 + _SLACK)))
    return fine


def _mixed(joint: JointRequest, T: Scalar, one: _Steps, other: _Steps) -> tuple[list[Instant], list[Scalar]]:
    """Times and jerks of the motion of the duration T: a mixture of two."""
    up, down = 1.0 / joint.limits.up, 1.0 / joint.limits.down
    part = share_of(joint.way, one.way, other.way)
    left = 1.0 - part
    first, jumps = one.jerks(part * up, part * down)
    second, others = other.jerks(left * up, left * down)
    pairs = merged([*zip(one.breaks, jumps, strict=True)], [*zip(other.breaks, others, strict=True)])
    jerk = first + second
    times, jerks = [Instant(0.0, 0.0)], [jerk]
    for time, jump in pairs:
        times.append(time)
        jerk = jerk + jump
        jerks.append(jerk)
    return [*times, Instant(T, 0.0)], jerks


def _rest(joint: JointRequest, inverses: Inverses, T: Scalar) -> tuple[_Steps, Scalar]:
    """The motion that stops as soon as it can, rests, and starts as late as it can; and how long it takes at least."""
    v0, a0, v1, a1 = joint.ends
    limits = joint.limits
    stop = _stopped(v0, a0, limits, inverses)
    turned = limits._replace(A=limits.B, B=limits.A)  # backwards in time, and mirrored
    start = _stopped(v1, -a1, turned, inverses.mirrored())
    before, after = stop.first + stop.hold + stop.last, start.first + start.hold + start.last
    breaks = forward([stop.first, stop.hold, stop.last]) + backward([start.last, start.hold, start.first], T)
    return _Steps(stop.sense, start.sense, stop.way + start.way, breaks), before + after


def resting_way(joint: JointRequest) -> Scalar:
    """Return the way of the motion that stops as soon as it can and starts as late as it can: of a joint that cannot
    turn back there is none that is less far.
    """
    return _rest(joint, Inverses.of(joint.limits), 0.0)[0].way


class _Stop(NamedTuple):
    """How a joint comes to rest: three phases, the sense of the jerk of the first, and the way."""

    first: Scalar
    hold: Scalar
    last: Scalar
    sense: Scalar
    way: Scalar


def _stopped(v: Scalar, a: Scalar, limits: JointBounds, inverses: Inverses) -> _Stop:
    """In the least time."""
    _, A, B, up, down = limits
    gains = v + 0.5 * where(a > 0.0, down, -up) * a * a <= 0.0  # what is left of v when a is taken to 0
    sense = where(gains, 1.0, -1.0)
    v, a, most, by_most = sense * v, sense * a, where(gains, A, B), where(gains, inverses.by_A, inverses.by_B)
    up, down = where(gains, up, down), where(gains, down, up)
    c = v - 0.5 * up * a * a
    peak = fmax(fmin(sqrt(fmax(-c, 0.0) * inverses.inverse), most), a)
    hold = fmax(-c * by_most - inverses.m * most, 0.0)
    cube = peak * peak * peak * (1.0 / 6.0)
    way = up * (c * (peak - a) + up * (cube - a * a * a * (1.0 / 6.0)))
    way = way + hold * (c + 0.5 * (up * peak * peak + most * hold)) - down * down * cube
    return _Stop(up * (peak - a), hold, down * peak, sense, sense * way)


def _breaks(result: Phases, a0: Scalar, a1: Scalar, up: Scalar, down: Scalar, T: Scalar) -> list[Instant]:
    """When the phases end, but for the last: those before the longest hold from the beginning on, those after it from
    the end, so that the hold takes what rounds.
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
    before, after = forward(phases[:5]), backward(phases[2:], T)  # of five breaks, the first and the last ones
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
