"""Which durations a jerk-limited motion of one joint can have, over any scalar.

From (v0, a0) to (v1, a1) it takes at least T_v, whatever the way; longer ones there are up to T_x and from T_y on,
where both accelerations have the same sense and the way back from one to the other through zero does not fit in
between.  Of those, a duration fits a way d if d lies between the least and the farthest way of that duration
(`third_order`).  Each boundary of the durations that fit is a root of one of the two, which Newton's method finds: the
rate of the way is known (`way_and_rate`), decreases with the duration and then increases, so that steps from the left
do not leave out a root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....expr.control.loops import while_loop
from ....expr.functions import and_, exp, fabs, fmax, fmin, log, not_, or_, sqrt, where
from .third_order import ENDLESS, Ends, Family, JointBounds, family_of, mirrored, phases, way_and_rate

__all__ = ["DurationSpan", "first_fitting", "later_duration", "span_of"]

Scalar = Any

ROUNDING = 4e-16
CLOSE = 1e-10  # relative: after a step so short, the next one would be rounding
STEPS = 100  # of Newton's method
NEVER = 1e30
ROUNDS = 8  # times that a joint may have to go on to a later duration


class DurationSpan(NamedTuple):
    """The durations of one joint's motions."""

    way: Scalar
    farthest: Family
    least: Family  # of the mirrored joint
    T_v: Scalar
    T_x: Scalar  # between T_x and T_y there is none
    T_y: Scalar


def span_of(way: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar) -> DurationSpan:
    """The durations of motions between two states that are a way apart."""
    other_ends, other_limits = mirrored(ends, limits, lowest)
    farthest, least = family_of(ends, limits), family_of(other_ends, other_limits)
    a0, a1 = ends.a0, ends.a1
    turned = 0.5 * where(a1 >= a0, limits.up, -limits.down) * (a1 * a1 - a0 * a0)  # gained by the change of a alone
    gains = ends.v1 - ends.v0 >= turned
    T_up, x_up, y_up = _fastest(farthest, least)
    T_down, x_down, y_down = _fastest(least, farthest)
    return DurationSpan(
        way, farthest, least, where(gains, T_up, T_down), where(gains, x_up, x_down), where(gains, y_up, y_down)
    )


def _fastest(f: Family, g: Family) -> tuple[Scalar, Scalar, Scalar]:
    """The least duration where the velocity gains, and between which ones there are none; g is the mirrored f."""
    a0, a1, (_, A, B, up, down), m = f.ends.a0, f.ends.a1, f.limits, f.m
    rise = fmax(-g.c1 - f.c0, 0.0)  # from the start's parabola up to the end's parabola down
    most = fmax(a0, a1)
    peak = fmax(fmin(sqrt(rise * f.inverse), A), most)
    T_v = up * (peak - a0) + down * (peak - a1) + fmax(rise - m * A * A, 0.0) / A
    dip = -g.c0 - f.c1  # from the start's parabola down to the end's parabola up
    lowest = sqrt(fmax(dip, 0.0) * f.inverse)
    few = fmin(lowest, B)
    T_x = down * (a0 - lowest) + up * (a1 - lowest)
    T_y = down * (a0 + few) + up * (a1 + few) + fmax(dip - m * B * B, 0.0) / B
    gap = and_(dip > 0.0, lowest < fmin(a0, a1))
    return T_v, where(gap, T_x, -1.0), where(gap, T_y, -1.0)


def first_fitting(
    later: Callable[[list[Scalar]], list[Scalar]], start: Sequence[Scalar], *, together: bool
) -> tuple[list[Scalar], Scalar]:
    """The first durations that fit: one for each joint, or one for all ``together``; and whether there is none.

    ``later`` gives of each joint's duration the same one if it fits, and else a later one before which none fits.
    """
    count = len(start)

    def shared(T: Sequence[Scalar]) -> list[Scalar]:
        if not together:
            return list(T)
        most = T[0]
        for t in T[1:]:
            most = fmax(most, t)
        return [most] * count

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        T = list(state[:count])
        following = later(T)
        moved = following[0] > T[0] * (1.0 + ROUNDING)
        for new, t in zip(following[1:], T[1:], strict=True):
            moved = or_(moved, new > t * (1.0 + ROUNDING))
        return (*shared(following), moved)

    found = while_loop(lambda s: s[-1], step, (*shared(start), start[0] < ENDLESS), at_most=ROUNDS * count)
    last = list(found.state[:count])
    missed = found.status > 0.0
    for t in last:
        missed = or_(missed, not_(t < NEVER))
    return last, missed


def later_duration(span: DurationSpan, T: Scalar) -> Scalar:
    """The duration if it fits, or a later one that may, before which none fits."""
    T = fmax(T, span.T_v)
    gap = and_(span.T_x * (1.0 + ROUNDING) < T, span.T_y * (1.0 - ROUNDING) > T)
    T = where(gap, span.T_y, T)
    search = _search(span, T)
    start = (search.start, search.low, search.high, search.waits)
    found = while_loop(lambda s: s[3], lambda s: _newton(search, *s), start, at_most=STEPS).state[0]
    beyond = and_(span.T_x >= T, found > span.T_x)
    return where(search.waits, where(beyond, fmax(span.T_y, T), found), T)


class _Search(NamedTuple):
    """The search for the first duration at which a family comes far enough."""

    way: Scalar
    family: Family
    start: Scalar
    low: Scalar
    high: Scalar
    jump: Scalar
    waits: Scalar


def _search(span: DurationSpan, T: Scalar) -> _Search:
    far, rate_far = way_and_rate(span.farthest, phases(span.farthest, T))
    near, rate_near = way_and_rate(span.least, phases(span.least, T))
    short, long = span.way - far, -near - span.way
    up = short >= long
    missing = where(up, short, long)
    rate = where(up, rate_far, rate_near)
    one = _select(up, span.farthest, span.least)
    way = where(up, span.way, -span.way)
    waits = missing > _noise(one, way, T)
    guess = _guess(one, fmax(missing, 0.0), rate)
    return _Search(way, one, *_begin(one, way, T, missing, rate, guess), guess, waits)


def _select(up: Scalar, f: Any, g: Any) -> Any:
    if isinstance(f, tuple):
        return type(f)(*(_select(up, x, y) for x, y in zip(f, g, strict=True)))
    return where(up, f, g)


def _noise(f: Family, way: Scalar, T: Scalar) -> Scalar:
    """What rounding does to the way of the duration T."""
    return 1e-100 + ROUNDING * (fabs(way) + T * (fabs(f.c0) + fabs(f.c1) + fabs(f.ends.v0) + fabs(f.ends.v1)))


def _guess(f: Family, missing: Scalar, rate: Scalar) -> Scalar:
    """About how much longer it takes."""
    _, A, B, _, _ = f.limits
    m = f.m
    cube = exp(log(fmax(32.0 * m * missing, 1e-200)) * (1.0 / 3.0))
    pull = 2.0 * A * B * f.each
    delay = m * pull
    plateau = delay + sqrt(delay * delay + 4.0 * missing / pull)
    free = where(cube <= 4.0 * delay, cube, plateau)
    free = free + sqrt(fmax(-rate, 0.0) * 16.0 * m) + fmax(-rate, 0.0) / pull
    return where(rate > 0.0, fmin(free, missing / fmax(rate, 1e-200)), free)


def _begin(
    f: Family, way: Scalar, T: Scalar, missing: Scalar, rate: Scalar, guess: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Where to begin, and bounds."""
    found = phases(f, T)
    cruising = way >= f.d_flat
    limit = fmax(f.T_flat, T)
    speed = fmax(f.limits.V, 1e-200)
    flat = f.T_flat + (way - f.d_flat) / speed
    early = found.peak * found.trough > 0.0
    step = where(rate > 0.0, missing / fmax(rate, 1e-200), guess)
    start = where(early, T + fmin(step, guess), where(cruising, fmax(flat, T), T + guess))
    high = where(cruising, ENDLESS, fmax(limit, T))
    return fmin(start, where(cruising, ENDLESS, limit)), T, high


def _newton(s: _Search, T: Scalar, low: Scalar, high: Scalar, active: Scalar) -> tuple[Scalar, ...]:
    """One step, if the search goes on."""
    way, rate = way_and_rate(s.family, phases(s.family, T))
    missing = s.way - way
    left = missing > 0.0
    low, high = where(left, T, low), where(left, high, T)
    step = T + missing / where(rate > 0.0, rate, 1e-200)
    inside = and_(rate > 0.0, and_(step >= low, step <= high))
    between = where(high < ENDLESS, 0.5 * (low + high), low + s.jump + fabs(T - low))
    following = where(inside, step, between)
    exact = fabs(missing) <= 0.25 * _noise(s.family, s.way, T)
    last = or_(exact, and_(inside, fabs(following - T) <= CLOSE * T))
    return where(and_(active, not_(exact)), following, T), low, high, and_(active, not_(last))
