"""Jerk-limited motion of several joints from state to state, over any scalar.

Each joint moves in the least time that fits it, or all of them in the least that fits all.  In a duration T that fits,
a joint's motion is a mixture λ·x + (1 − λ)·y of two motions of T: limits are convex, so the mixture keeps them, and its
way is linear in λ, so that λ follows without a search.  One of the two comes farthest or least far (`third_order`); the
other is the one that stops, rests and starts again, where there is time for it, so that a joint with time moves no more
than it has to, and else the opposite extreme.  The joint that takes longest is at an extreme: λ = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....expr.control.choices import cond
from ....expr.control.each import each
from ....expr.control.loops import while_loop
from ....expr.functions import and_, fabs, fmax, fmin, not_, or_, sqrt, where
from .durations import NEVER, ROUNDS, least_duration, reached, shared, went_on
from .mixture import Profile, merged, pieces_of, share_of
from .third_order import Ends, JointBounds, Phases

__all__ = ["PIECES", "JointRequest", "jerk_limited"]

Scalar = Any

PIECES = 13
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


def jerk_limited(
    joints: Sequence[JointRequest], *, together: bool = True, shortest: Sequence[Scalar] | None = None
) -> Profile:
    """Durations, times (14) and coefficients (13, 4) of pieces, by joint, and a status: 0 where there is a motion.

    Coefficients are those of q by the time since the piece began, lowest first.

    Durations are no shorter than ``shortest``.  The status is 1 where a state at an end is outside of the limits or
    leads there whatever comes before or after it, and 2 where no duration fits all joints.
    """
    count = len(joints)
    rows = [[x.q0, x.q1, *x.ends, *x.limits, x.V_down] for x in joints]
    first = [t for (t,) in each(_least, rows, in_loops=True, alike=True)]
    start = [fmax(t, x) for t, x in zip(first, shortest or [0.0] * count, strict=True)]
    T, states, missed = _fitting(rows, start, together=together)
    given = [[*row, t, *state] for row, t, state in zip(rows, T, states, strict=True)]
    found = each(_motion, given, in_loops=True, alike=True)
    possible = found[0][-1] > 0.5
    for row in found[1:]:
        possible = and_(possible, row[-1] > 0.5)
    status = where(possible, where(missed, 2.0, 0.0), 1.0)
    times = [row[: PIECES + 1] for row in found]
    pieces = [[row[k : k + 4] for k in range(PIECES + 1, len(row) - 1, 4)] for row in found]
    return Profile([*T], times, pieces, status)


_Tried = tuple[tuple[Scalar, ...], tuple[tuple[Scalar, ...], ...], Scalar]


def _fitting(rows: list[list[Scalar]], start: Sequence[Scalar], *, together: bool) -> _Tried:
    """The first durations that fit, the extreme motions then as numbers, and whether there are none.

    As a rule those at the start do, and all else is left out.
    """

    def tried(T: Sequence[Scalar]) -> _Tried:
        T = shared(T) if together else T
        found = each(_extremes, [[*row, t] for row, t in zip(rows, T, strict=True)], in_loops=True, alike=True)
        later = [row[0] for row in found]
        moved = went_on(T, later)
        return (
            tuple(where(moved, new, t) for new, t in zip(later, T, strict=True)),
            tuple(tuple(row[1:]) for row in found),
            moved,
        )

    def on(found: _Tried) -> _Tried:
        last = while_loop(lambda s: s[2], lambda s: tried(s[0]), found, at_most=ROUNDS * len(rows))
        return last.state[0], last.state[1], last.status > 0.0

    def done(found: _Tried) -> _Tried:
        return found

    T, states, missed = cond((found := tried(start))[2], on, done, found)
    for t in T:
        missed = or_(missed, not_(t < NEVER))
    return T, states, missed


def _least(row: Sequence[Scalar]) -> list[Scalar]:
    joint = _request(row)
    return [least_duration(joint.q1 - joint.q0, joint.ends, joint.limits, joint.V_down)]


def _request(row: Sequence[Scalar]) -> JointRequest:
    return JointRequest(row[0], row[1], Ends(*row[2:6]), JointBounds(*row[6:11]), row[11])


def _extremes(row: Sequence[Scalar]) -> list[Scalar]:
    """A later duration, if the one that is asked for does not fit, and the extreme motions of that."""
    joint = _request(row)
    T, found = reached(joint.q1 - joint.q0, joint.ends, joint.limits, joint.V_down, row[12])
    return [T, found.far_way, *found.far[:5], found.near_way, *found.near[:5]]


def _motion(row: Sequence[Scalar]) -> list[Scalar]:
    """Times and coefficients, and 1 where both states are possible."""
    joint, T = _request(row), row[12]
    far, near = (_Extreme(x[0], Phases(x[1], x[2], x[3], x[4], x[5], 0.0)) for x in (row[13:19], row[19:25]))
    times, jerks = _mixed(joint, T, far, near)
    pieces = pieces_of(joint.q0, joint.ends.v0, joint.ends.a0, times, jerks)
    return [*times, *(x for piece in pieces for x in piece), where(_possible(joint), 1.0, 0.0)]


class _Extreme(NamedTuple):
    """The farthest motion, or the least far one as that of the mirrored joint, and its way."""

    way: Scalar
    phases: Phases


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


class _Steps(NamedTuple):
    """A motion as steps of jerk: when the phases end but for the last (6), by how much the jerk changes there, the jerk
    before, and the way."""

    breaks: list[Scalar]
    jumps: list[Scalar]
    first: Scalar
    way: Scalar


def _mixed(joint: JointRequest, T: Scalar, farthest: _Extreme, least: _Extreme) -> tuple[list[Scalar], list[Scalar]]:
    """Times and jerks of the motion of the duration T: a mixture of two."""
    ends, limits = joint.ends, joint.limits
    up, down = 1.0 / limits.up, 1.0 / limits.down
    far = _extreme(farthest, ends.a0, limits.up, limits.down, up, down, 1.0)
    near = _extreme(least, -ends.a0, limits.down, limits.up, down, up, -1.0)
    rest, takes = _rest(joint, T)
    way = joint.q1 - joint.q0
    rests = takes <= T
    one = _either(and_(rests, way < rest.way), near, far)
    other = _either(rests, rest, near)
    part = share_of(way, one.way, other.way)
    left = 1.0 - part
    pairs = merged(
        [(t, part * jump) for t, jump in zip(one.breaks, one.jumps, strict=True)],
        [(t, left * jump) for t, jump in zip(other.breaks, other.jumps, strict=True)],
    )
    jerk = part * one.first + left * other.first
    times, jerks = [0.0], [jerk]
    for time, jump in pairs:
        times.append(fmin(time, T))
        jerk = jerk + jump
        jerks.append(fmin(fmax(jerk, -down), up))  # where several change at once, in whatever order
    return [*times, T], jerks


def _either(condition: Scalar, x: _Steps, y: _Steps) -> _Steps:
    breaks, jumps = ([where(condition, a, b) for a, b in zip(x[k], y[k], strict=True)] for k in (0, 1))
    return _Steps(breaks, jumps, where(condition, x.first, y.first), where(condition, x.way, y.way))


def _extreme(found: _Extreme, a0: Scalar, up: Scalar, down: Scalar, rise: Scalar, fall: Scalar, sense: float) -> _Steps:
    """The farthest motion of a joint: jerk up, 0, −down, 0, −down, 0, up; of the mirrored one in its own sense."""
    breaks = _breaks(found.phases, a0, up, down)
    rise, fall = sense * rise, sense * fall
    return _Steps(breaks, [-rise, -fall, fall, -fall, fall, rise], rise, sense * found.way)


def _rest(joint: JointRequest, T: Scalar) -> tuple[_Steps, Scalar]:
    """The motion that stops as soon as it can, rests, and starts as late as it can; and how long it takes at least."""
    v0, a0, v1, a1 = joint.ends
    limits = joint.limits
    stop = _stopped(v0, a0, limits)
    start = _stopped(v1, -a1, limits._replace(A=limits.B, B=limits.A))  # backwards in time, and mirrored
    before, after = stop.first + stop.hold + stop.last, start.first + start.hold + start.last
    breaks = [stop.first, stop.first + stop.hold, before]
    breaks += [T - after, T - start.first - start.hold, T - start.first]
    jumps = [-stop.jerk, stop.back, -stop.back, start.back, -start.back, start.jerk]
    return _Steps(breaks, jumps, stop.jerk, stop.way + start.way), before + after


class _Stop(NamedTuple):
    """How a joint comes to rest: three phases, the jerk of the first and of the last, and the way."""

    first: Scalar
    hold: Scalar
    last: Scalar
    jerk: Scalar
    back: Scalar
    way: Scalar


def _stopped(v: Scalar, a: Scalar, limits: JointBounds) -> _Stop:
    """In the least time."""
    _, A, B, up, down = limits
    m = 0.5 * (up + down)
    gains = v + 0.5 * where(a > 0.0, down, -up) * a * a <= 0.0  # what is left of v when a is taken to 0
    sense = where(gains, 1.0, -1.0)
    v, a, most = sense * v, sense * a, where(gains, A, B)
    up, down = where(gains, up, down), where(gains, down, up)
    c = v - 0.5 * up * a * a
    peak = fmax(fmin(sqrt(fmax(-c, 0.0) / m), most), a)
    hold = fmax(-c / most - m * most, 0.0)
    way = up * (c * (peak - a) + up * (peak * peak * peak - a * a * a) / 6.0)
    way = way + hold * (c + 0.5 * (up * peak * peak + most * hold)) - down * down * peak * peak * peak / 6.0
    return _Stop(up * (peak - a), hold, down * peak, sense / up, -sense / down, sense * way)


def _breaks(found: Phases, a0: Scalar, up: Scalar, down: Scalar) -> list[Scalar]:
    """When the phases end, but for the last."""
    cruises = found.at_speed > 0.0
    high = where(cruises, found.peak, found.peak - found.trough)
    times, now = [], 0.0
    for phase in (
        up * (found.peak - a0),
        found.at_peak,
        down * high,
        found.at_speed,
        where(cruises, -down * found.trough, 0.0),
        found.at_trough,
    ):
        now = now + fmax(phase, 0.0)
        times.append(now)
    return times
