"""Which durations a jerk-limited motion of one joint can have, over any scalar.

From (v0, a0) to (v1, a1) it takes at least T_v, whatever the way; longer ones there are up to T_x and from T_y on,
where both accelerations have the same sense and the way back from one to the other through zero does not fit in
between.  Of those, a duration fits a way d if d lies between the least and the farthest way of that duration
(`jerk_limited_profile`).  Each boundary of the durations that fit is a root of one of the two, which Newton's method
finds: the rate of the way is known (`way_and_rate`), decreases with the duration and then increases, so that steps from
the left do not leave out a root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.functions import and_, exp, fabs, fmax, fmin, log, not_, or_, sqrt, where
from linkwork.motion.algorithms.profiles.jerk_limited_profile import (
    ENDLESS,
    Ends,
    Family,
    Inverses,
    JointBounds,
    Phases,
    bend,
    family_of,
    mirrored,
    phases,
    way_and_rate,
)

__all__ = [
    "NEVER",
    "ROUNDS",
    "ExtremeMotions",
    "beginning",
    "estimate",
    "first_fitting",
    "fitting_one_way",
    "least_duration",
    "reached",
    "shared",
    "went_on",
]

Scalar = Any

ROUNDING = 4e-16
CLOSE = 1e-9  # relative: after a step so short, the next one would be rounding
SLIGHT = 0.2  # part of the rate that changes on a step
STEPS = 100  # of Newton's method
NEVER = 1e30
ROUNDS = 8  # times that a joint may have to go on to a later duration


class DurationGap(NamedTuple):
    """Between T_x and T_y a joint has no motion, whatever the way; both are −1 where there is no such gap."""

    T_x: Scalar
    T_y: Scalar


class ExtremeMotions(NamedTuple):
    """The farthest and the least far motion of a duration, the latter of the mirrored joint, and their ways."""

    far: Phases
    near: Phases
    far_way: Scalar
    near_way: Scalar


def oriented(up: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar) -> tuple[Ends, JointBounds]:
    """The joint itself where ``up`` holds, else the mirrored one."""
    sense = where(up, 1.0, -1.0)
    other = JointBounds(lowest, limits.B, limits.A, limits.down, limits.up)
    return Ends(*(sense * x for x in ends)), _select(up, limits, other)


def oriented_family(up: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses) -> Family:
    """The farthest motions of the joint where ``up`` holds, else of the mirrored one."""
    return family_of(*oriented(up, ends, limits, lowest), _select(up, inverses, inverses.mirrored()))


class Beginning(NamedTuple):
    """The least duration of the velocity alone, and of motions that begin there: the family which way to go, the way
    that is asked of it, and durations that there are not.
    """

    T: Scalar
    family: Family
    way: Scalar
    gap: DurationGap


def beginning(way: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses) -> Beginning:
    """Where durations of a joint begin."""
    gains = _gains(ends, limits)
    own_ends, own_limits = oriented(gains, ends, limits, lowest)
    own = _select(gains, inverses, inverses.mirrored())
    T, reach = _fastest(own_ends, own_limits, own)
    forth = where(gains, way, -way) >= reach
    up = where(gains, where(forth, 1.0, 0.0), where(forth, 0.0, 1.0)) > 0.5
    family = oriented_family(up, ends, limits, lowest, inverses)
    return Beginning(T, family, where(up, way, -way), _gap(own_ends, own_limits, own))


def _gains(ends: Ends, limits: JointBounds) -> Scalar:
    """Whether the velocity gains more than by the change of acceleration alone."""
    a0, a1 = ends.a0, ends.a1
    turned = 0.5 * where(a1 >= a0, limits.up, -limits.down) * (a1 * a1 - a0 * a0)
    return ends.v1 - ends.v0 >= turned


def estimate(result: Beginning) -> Scalar:
    """About the least duration of a motion, and no less than that of the velocity alone.

    Exact where the velocity is at its limit, and from rest to rest where accelerations are everywhere at theirs or
    nowhere.  Seen from the accelerations 0 of both parabolas up, which stand at c0 and c1, the way beyond their mean
    velocity is T³/(32 m), or that of a trapezoid, whose ramps take mA and mB longer.
    """
    f, most = result.family, result.T
    _, A, B, up, _ = f.limits
    m, _, _, by_A, by_B = f.inverses
    way, mean = result.way - f.base, 0.5 * (f.c0 + f.c1)
    p, q = (32.0 / 3.0) * m * mean, 16.0 * m * way  # T³ + 3 p T = 2 q: Cardano's formula
    inside = q * q + p * p * p
    root = sqrt(where(inside < 0.0, -p, inside))
    cube = exp(log(fmax(q + root, 1e-200)) * (1.0 / 3.0))
    free = where(inside < 0.0, 2.0 * root, cube - p / cube)
    delay, slow = 0.5 * m * (A + B), 0.5 * (by_A + by_B)
    b = delay + 2.0 * mean * slow
    held = delay - 2.0 * mean * slow + sqrt(fmax(b * b + 4.0 * slow * (way - 2.0 * delay * mean), 0.0))
    T = up * (f.ends.a1 - f.ends.a0) + where(free <= 4.0 * m * fmin(A, B), free, held)
    cruising = f.T_flat + (result.way - f.d_flat) / fmax(f.limits.V, 1e-200)
    limit = fmax(f.T_flat, most)
    T = where(result.way >= f.d_flat, cruising, fmin(fmax(T, most), limit))
    return where(and_(result.gap.T_x >= most, result.gap.T_x < T), fmax(result.gap.T_y, most), T)


def least_duration(way: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses) -> Scalar:
    """The least duration of a motion between two states that are a way apart; where that leads into a gap, its end,
    which may not fit.
    """
    result = beginning(way, ends, limits, lowest, inverses)
    return _searched(_search(result.family, result.way, result.T), result.gap, result.T)


def _fastest(ends: Ends, limits: JointBounds, inverses: Inverses) -> tuple[Scalar, Scalar]:
    """The least duration where the velocity gains, and the way then."""
    (v0, a0, v1, a1), (_, A, _, up, down) = ends, limits
    c0, c1 = v0 - 0.5 * up * a0 * a0, v1 + 0.5 * down * a1 * a1
    rise = fmax(c1 - c0, 0.0)  # from the start's parabola up to the end's parabola down
    peak = fmax(fmin(sqrt(rise * inverses.inverse), A), fmax(a0, a1))
    hold = fmax(rise * inverses.by_A - inverses.m * A, 0.0)
    T = up * (peak - a0) + down * (peak - a1) + hold
    cube = peak * peak * peak
    way = up * (c0 * (peak - a0) + up * (cube - a0 * a0 * a0) * (1.0 / 6.0))
    way = way + hold * (c0 + 0.5 * (up * peak * peak + A * hold))
    way = way + down * (c1 * (peak - a1) - down * (cube - a1 * a1 * a1) * (1.0 / 6.0))
    return T, way


def _gap(ends: Ends, limits: JointBounds, inverses: Inverses) -> DurationGap:
    """Where the velocity gains."""
    (v0, a0, v1, a1), (_, _, B, up, down) = ends, limits
    dip = v0 + 0.5 * down * a0 * a0 - (v1 - 0.5 * up * a1 * a1)  # from the start's parabola down to the end's up
    lowest = sqrt(fmax(dip, 0.0) * inverses.inverse)
    few = fmin(lowest, B)
    T_x = down * (a0 - lowest) + up * (a1 - lowest)
    T_y = down * (a0 + few) + up * (a1 + few) + fmax(dip * inverses.by_B - inverses.m * B, 0.0)
    there = and_(dip > 0.0, lowest < fmin(a0, a1))
    return DurationGap(where(there, T_x, -1.0), where(there, T_y, -1.0))


def reached(
    way: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses, T: Scalar
) -> tuple[Scalar, ExtremeMotions]:
    """A duration that is no less than the least, if it fits, or a later one that may, before which none fits; and the
    extreme motions of the one asked for.
    """
    gains = _gains(ends, limits)
    gap = _gap(*oriented(gains, ends, limits, lowest), _select(gains, inverses, inverses.mirrored()))
    inside = and_(gap.T_x * (1.0 + ROUNDING) < T, gap.T_y * (1.0 - ROUNDING) > T)
    T = where(inside, gap.T_y, T)
    farthest = family_of(ends, limits, inverses)
    least = family_of(*mirrored(ends, limits, lowest), inverses.mirrored())
    far, near = phases(farthest, T), phases(least, T)
    (far_way, _), (near_way, _) = way_and_rate(farthest, far), way_and_rate(least, near)
    result = ExtremeMotions(far, near, far_way, near_way)
    short, long = way - far_way, -near_way - way
    up = short >= long
    fits = where(up, short, long) <= where(up, _noise(farthest, way, T), _noise(least, way, T))

    def later() -> Scalar:
        family = _select(up, farthest, least)
        return _searched(_search(family, where(up, way, -way), T), gap, T)

    return cond(fits, lambda: 1.0 * T, later), result


def fitting_one_way(
    up: Scalar, way: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses, T: Scalar
) -> tuple[Scalar, Phases, Scalar]:
    """Of a duration that leaves time to rest: whether it fits, and the extreme motion on the side that the way is on,
    seen from that of a motion which rests: of the mirrored joint where that is not ``up``; and its way.
    """
    family = oriented_family(up, ends, limits, lowest, inverses)
    result = phases(family, T)
    far_way, _ = way_and_rate(family, result)
    asked = where(up, way, -way)
    return asked - far_way <= _noise(family, asked, T), result, far_way


def shared(T: Sequence[Scalar]) -> list[Scalar]:
    """The latest for all."""
    most = T[0]
    for t in T[1:]:
        most = fmax(most, t)
    return [most] * len(T)


def went_on(T: Sequence[Scalar], following: Sequence[Scalar]) -> Scalar:
    """Whether one of the durations is later than it was."""
    moved = following[0] > T[0] * (1.0 + ROUNDING)
    for new, t in zip(following[1:], T[1:], strict=True):
        moved = or_(moved, new > t * (1.0 + ROUNDING))
    return moved


def first_fitting(
    later: Callable[[list[Scalar]], list[Scalar]], start: Sequence[Scalar], *, together: bool
) -> tuple[list[Scalar], Scalar]:
    """The first durations that fit: one for each joint, or one for all ``together``; and whether there is none.

    ``later`` gives of each joint's duration the same one if it fits, and else a later one before which none fits.
    """
    count = len(start)
    own = shared if together else list

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        T = list(state[:count])
        following = later(T)
        return (*own(following), went_on(T, following))

    result = while_loop(lambda s: s[-1], step, (*own(start), start[0] < ENDLESS), max_iterations=ROUNDS * count)
    last = list(result.state[:count])
    missed = result.status > 0.0
    for t in last:
        missed = or_(missed, not_(t < NEVER))
    return last, missed


class _Search(NamedTuple):
    """The search for the first duration at which a family comes far enough."""

    way: Scalar
    family: Family
    start: Scalar
    low: Scalar
    high: Scalar
    jump: Scalar
    waits: Scalar


def _searched(search: _Search, gap: DurationGap, T: Scalar) -> Scalar:
    """What is found from T on, outside of the gap."""
    start = (search.start, search.low, search.high, search.waits)
    result = while_loop(lambda s: s[3], lambda s: _newton(search, *s), start, max_iterations=STEPS).state[0]
    beyond = and_(gap.T_x >= T, result > gap.T_x)
    return where(search.waits, where(beyond, fmax(gap.T_y, T), result), T)


def _search(family: Family, way: Scalar, T: Scalar) -> _Search:
    """From T on, where it does not come far enough."""
    there = phases(family, T)
    far, rate = way_and_rate(family, there)
    missing = way - far
    guess = _guess(family, fmax(missing, 0.0), rate)
    waits = missing > _noise(family, way, T)
    return _Search(way, family, *_begin(family, way, T, missing, rate, guess, there), guess, waits)


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
    m = f.inverses.m
    cube = exp(log(fmax(32.0 * m * missing, 1e-200)) * (1.0 / 3.0))
    pull = 2.0 * A * B * f.inverses.each
    delay = m * fmin(0.5 * (A + B), 2.0 * pull)
    plateau = delay + sqrt(delay * delay + 4.0 * missing / pull)
    free = where(cube <= 4.0 * m * fmin(A, B), cube, plateau)
    free = free + sqrt(fmax(-rate, 0.0) * 16.0 * m) + fmax(-rate, 0.0) / pull
    return where(rate > 0.0, fmin(free, missing / fmax(rate, 1e-200)), free)


def _begin(
    f: Family, way: Scalar, T: Scalar, missing: Scalar, rate: Scalar, guess: Scalar, result: Phases
) -> tuple[Scalar, Scalar, Scalar]:
    """Where to begin, and bounds."""
    cruising = way >= f.d_flat
    limit = fmax(f.T_flat, T)
    speed = fmax(f.limits.V, 1e-200)
    flat = f.T_flat + (way - f.d_flat) / speed
    early = result.peak * result.trough > 0.0
    step = where(rate > 0.0, missing / fmax(rate, 1e-200), guess)
    start = where(early, T + fmin(step, guess), where(cruising, fmax(flat, T), T + guess))
    high = where(cruising, ENDLESS, fmax(limit, T))
    return fmin(start, where(cruising, ENDLESS, limit)), T, high


def _newton(s: _Search, T: Scalar, low: Scalar, high: Scalar, active: Scalar) -> tuple[Scalar, ...]:
    """One step, if the search goes on."""
    there = phases(s.family, T)
    way, rate = way_and_rate(s.family, there)
    missing = s.way - way
    left = missing > 0.0
    low, high = where(left, T, low), where(left, high, T)
    step = T + _step(s.family, there, missing, rate)
    inside = and_(rate > 0.0, and_(step >= low, step <= high))
    between = fmin(0.5 * (low + high), low + s.jump + fabs(T - low))  # high may be as far as limits are
    following = where(inside, step, between)
    exact = fabs(missing) <= 0.25 * _noise(s.family, s.way, T)
    last = or_(exact, and_(inside, fabs(following - T) <= CLOSE * T))
    return where(and_(active, not_(exact)), following, T), low, high, and_(active, not_(last))


def _step(f: Family, there: Phases, missing: Scalar, rate: Scalar) -> Scalar:
    """Newton's, to where nothing is missing; where the rate changes little on the way, with what the bend adds."""
    each = 1.0 / fmax(rate, 1e-60)
    straight = missing * each
    bent = 0.5 * straight * each * bend(f, there)
    return straight * where(fabs(bent) < SLIGHT, 1.0 - bent * (1.0 - 2.0 * bent), 1.0)
