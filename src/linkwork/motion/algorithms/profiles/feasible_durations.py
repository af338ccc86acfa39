"""Feasible durations of a jerk-limited motion of one joint, over any scalar.

A motion from velocity and acceleration (v0, a0) to (v1, a1) takes at least T_v, for any displacement.  The durations
between T_x and T_y are infeasible if a0 and a1 have the same sign and there is no time to change from a0 to a1 through
zero.
A duration is feasible for a displacement d if d lies between the smallest and the largest displacement of that duration
(`jerk_limited_profile`).  At each boundary of the feasible durations, d equals the smallest or the largest
displacement.  Newton's method computes these roots.  The derivative of the displacement with respect to the duration is
known (`displacement_and_rate`); it first decreases with the duration and then increases, so steps from the left do not
skip a root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import while_loop
from linkwork.expr.scalar.functions import and_, exp, fabs, fmax, fmin, log, not_, or_, sqrt, where
from linkwork.motion.algorithms.profiles.jerk_limited_profile import (
    UNLIMITED,
    Ends,
    Family,
    Inverses,
    JointBounds,
    Phases,
    displacement_and_rate,
    family_of,
    mirrored,
    phases,
    rate_derivative,
)

__all__ = [
    "NEVER",
    "ROUNDS",
    "ExtremeMotions",
    "beginning",
    "estimate",
    "first_fitting",
    "first_reaching",
    "fits_with_rest",
    "has_advanced",
    "least_duration",
    "shared",
]

Scalar = Any

ROUNDING = 4e-16
TOLERANCE = 1e-9  # relative: after such a step the next one would be rounding
SMALL_CHANGE = 0.2  # share of the rate that changes on a step
STEPS = 100  # Newton steps at most
NEVER = 1e30
ROUNDS = 8  # times that a joint may have to advance to a later duration


class DurationGap(NamedTuple):
    """An interval of durations, from T_x to T_y, for which no motion exists within the limits.

    T_x and T_y are −1 if there is no such interval.
    """

    T_x: Scalar
    T_y: Scalar


class ExtremeMotions(NamedTuple):
    """Motions of one duration: that with the largest displacement (``far``), and that with the smallest (``near``).

    ``near`` and ``near_displacement`` are stored for the mirrored joint, whose position has the opposite sign. For the
    mirrored joint, ``near`` has the largest displacement.
    """

    far: Phases
    near: Phases
    far_displacement: Scalar
    near_displacement: Scalar


def oriented(up: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar) -> tuple[Ends, JointBounds]:
    """Return the end states and the limits of a joint if ``up`` holds, else those of the mirrored joint.

    The mirrored joint has a position of opposite sign.  ``lowest`` is the magnitude of the lower limit of velocity.
    """
    sense = where(up, 1.0, -1.0)
    mirrored = JointBounds(lowest, limits.B, limits.A, limits.down, limits.up)
    return Ends(*(sense * x for x in ends)), _select(up, limits, mirrored)


def oriented_family(up: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses) -> Family:
    """Return the motions of largest displacement for each duration, of a joint if ``up``, else of the mirrored joint.

    The position of the mirrored joint has the opposite sign. ``lowest`` is the magnitude of the lower velocity limit.
    """
    return family_of(*oriented(up, ends, limits, lowest), _select(up, inverses, inverses.mirrored()))


class Beginning(NamedTuple):
    """Initial values of the search for the minimum duration of a joint's motion between two states.

    T is the minimum duration between the two velocities and accelerations, for any displacement. ``family`` has the
    motions of largest displacement for each duration, and ``displacement`` is the required displacement. If the motion
    of duration T moves too far, both are those of the mirrored joint, whose position has the opposite sign. ``gap`` is
    the interval of infeasible durations.
    """

    T: Scalar
    family: Family
    displacement: Scalar
    gap: DurationGap


def beginning(displacement: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses) -> Beginning:
    """Return the initial values of the search for the minimum duration of a motion with the given ``displacement``.

    They contain the minimum duration for any displacement, and the motions of extreme displacement, largest or
    smallest, in the direction of the required displacement. ``lowest`` is the magnitude of the lower velocity limit.
    """
    gains = _gains(ends, limits)
    own_ends, own_limits = oriented(gains, ends, limits, lowest)
    own_inverses = _select(gains, inverses, inverses.mirrored())
    T, reach = _fastest(own_ends, own_limits, own_inverses)
    forth = where(gains, displacement, -displacement) >= reach
    up = where(gains, where(forth, 1.0, 0.0), where(forth, 0.0, 1.0)) > 0.5
    family = oriented_family(up, ends, limits, lowest, inverses)
    return Beginning(T, family, where(up, displacement, -displacement), _gap(own_ends, own_limits, own_inverses))


def _gains(ends: Ends, limits: JointBounds) -> Scalar:
    """Return True if v1 − v0 is at least the velocity change of the fastest change of acceleration from a0 to a1.

    The fastest change is at the limit of jerk.
    """
    a0, a1 = ends.a0, ends.a1
    turned = 0.5 * where(a1 >= a0, limits.up, -limits.down) * (a1 * a1 - a0 * a0)
    return ends.v1 - ends.v0 >= turned


def estimate(result: Beginning) -> Scalar:
    """Return an estimate of the minimum duration of a motion, at least the minimum for a free displacement.

    The estimate is exact if the velocity reaches its limit. From rest to rest, it is also exact if the acceleration
    reaches both of its limits A and B, or neither.

    A farthest motion begins on the parabola v = c0 + a²/(2 Jp) and ends on the parabola v = c1 + a²/(2 Jp), with
    velocity v and acceleration a. Let T be its duration between the points with a = 0 on both parabolas. In this time
    its displacement exceeds T (c0 + c1)/2. With m = (1/Jp + 1/Jn)/2, the excess is estimated as T³/(32 m) if the
    acceleration is within its limits everywhere. Otherwise the estimate is for a velocity that rises with acceleration
    A and falls with −B. The limited jerk makes the rise longer by the time m A, and the fall longer by m B.
    """
    f, most = result.family, result.T
    _, A, B, up, _ = f.limits
    m, _, _, by_A, by_B = f.inverses
    displacement, mean = result.displacement - f.base, 0.5 * (f.c0 + f.c1)
    p, q = (32.0 / 3.0) * m * mean, 16.0 * m * displacement  # T³ + 3 p T = 2 q: Cardano's formula
    inside = q * q + p * p * p
    root = sqrt(where(inside < 0.0, -p, inside))
    cube = exp(log(fmax(q + root, 1e-200)) * (1.0 / 3.0))
    free = where(inside < 0.0, 2.0 * root, cube - p / cube)
    delay, slow = 0.5 * m * (A + B), 0.5 * (by_A + by_B)
    b = delay + 2.0 * mean * slow
    plateau = delay - 2.0 * mean * slow + sqrt(fmax(b * b + 4.0 * slow * (displacement - 2.0 * delay * mean), 0.0))
    T = up * (f.ends.a1 - f.ends.a0) + where(free <= 4.0 * m * fmin(A, B), free, plateau)
    cruising = f.T_flat + (result.displacement - f.d_flat) / fmax(f.limits.V, 1e-200)
    limit = fmax(f.T_flat, most)
    T = where(result.displacement >= f.d_flat, cruising, fmin(fmax(T, most), limit))
    return where(and_(result.gap.T_x >= most, result.gap.T_x < T), fmax(result.gap.T_y, most), T)


def least_duration(displacement: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses) -> Scalar:
    """Return the minimum duration of a motion with a given displacement between two states.

    If this duration lies in a gap of durations, the end of the gap is returned; the displacement may be infeasible
    there.
    """
    result = beginning(displacement, ends, limits, lowest, inverses)
    return _search_result(_search(result.family, result.displacement, result.T), result.gap, result.T)


def _fastest(ends: Ends, limits: JointBounds, inverses: Inverses) -> tuple[Scalar, Scalar]:
    """Return the minimum duration between two states for any displacement, and the displacement of that motion.

    The joint must satisfy `_gains`: its velocity increases at least as much as by the fastest change of acceleration.
    """
    (v0, a0, v1, a1), (_, A, _, up, down) = ends, limits
    c0, c1 = v0 - 0.5 * up * a0 * a0, v1 + 0.5 * down * a1 * a1
    rise = fmax(c1 - c0, 0.0)  # from the start's parabola up to the end's parabola down
    peak = fmax(fmin(sqrt(rise * inverses.inverse), A), fmax(a0, a1))
    hold = fmax(rise * inverses.by_A - inverses.m * A, 0.0)
    T = up * (peak - a0) + down * (peak - a1) + hold
    cube = peak * peak * peak
    displacement = up * (c0 * (peak - a0) + up * (cube - a0 * a0 * a0) * (1.0 / 6.0))
    displacement = displacement + hold * (c0 + 0.5 * (up * peak * peak + A * hold))
    displacement = displacement + down * (c1 * (peak - a1) - down * (cube - a1 * a1 * a1) * (1.0 / 6.0))
    return T, displacement


def _gap(ends: Ends, limits: JointBounds, inverses: Inverses) -> DurationGap:
    """Return the interval of durations for which no motion exists between two states.

    The joint must satisfy `_gains`: its velocity increases at least as much as by the fastest change of acceleration.
    """
    (v0, a0, v1, a1), (_, _, B, up, down) = ends, limits
    dip = v0 + 0.5 * down * a0 * a0 - (v1 - 0.5 * up * a1 * a1)  # from the start's parabola down to the end's up
    lowest = sqrt(fmax(dip, 0.0) * inverses.inverse)
    few = fmin(lowest, B)
    T_x = down * (a0 - lowest) + up * (a1 - lowest)
    T_y = down * (a0 + few) + up * (a1 + few) + fmax(dip * inverses.by_B - inverses.m * B, 0.0)
    has_gap = and_(dip > 0.0, lowest < fmin(a0, a1))
    return DurationGap(where(has_gap, T_x, -1.0), where(has_gap, T_y, -1.0))


def first_reaching(
    displacement: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses, T: Scalar
) -> tuple[Scalar, ExtremeMotions]:
    """Return the first duration from T on that may be feasible for a displacement, and the extreme motions of T.

    The duration is T if the displacement is feasible in time T. Otherwise it is a later duration before which none is
    feasible. If T lies in a gap of durations, the end of the gap replaces T. T must be at least the minimum duration.
    """
    gains = _gains(ends, limits)
    gap = _gap(*oriented(gains, ends, limits, lowest), _select(gains, inverses, inverses.mirrored()))
    inside = and_(gap.T_x * (1.0 + ROUNDING) < T, gap.T_y * (1.0 - ROUNDING) > T)
    T = where(inside, gap.T_y, T)
    farthest = family_of(ends, limits, inverses)
    least = family_of(*mirrored(ends, limits, lowest), inverses.mirrored())
    far, near = phases(farthest, T), phases(least, T)
    (far_displacement, _), (near_displacement, _) = (
        displacement_and_rate(farthest, far),
        displacement_and_rate(least, near),
    )
    result = ExtremeMotions(far, near, far_displacement, near_displacement)
    short, long = displacement - far_displacement, -near_displacement - displacement
    up = short >= long
    fits = where(up, short, long) <= where(up, _noise(farthest, displacement, T), _noise(least, displacement, T))

    def later() -> Scalar:
        family = _select(up, farthest, least)
        return _search_result(_search(family, where(up, displacement, -displacement), T), gap, T)

    return cond(fits, lambda: 1.0 * T, later), result


def fits_with_rest(
    up: Scalar, displacement: Scalar, ends: Ends, limits: JointBounds, lowest: Scalar, inverses: Inverses, T: Scalar
) -> tuple[Scalar, Phases, Scalar]:
    """Return (feasible, motion, its displacement), for a motion of duration T with a phase at rest.

    ``feasible`` is True if the required ``displacement`` can be reached in time T. ``up`` is True if it exceeds the
    displacement of the motion that rests longest. Then the result is the motion of largest displacement. Otherwise it
    is the same for the mirrored joint, whose position has the opposite sign.
    """
    family = oriented_family(up, ends, limits, lowest, inverses)
    result = phases(family, T)
    far_displacement, _ = displacement_and_rate(family, result)
    target = where(up, displacement, -displacement)
    return target - far_displacement <= _noise(family, target, T), result, far_displacement


def shared(T: Sequence[Scalar]) -> list[Scalar]:
    """Return a list in which the duration of every joint is replaced by the longest."""
    return [reduce(fmax, T)] * len(T)


def has_advanced(T: Sequence[Scalar], following: Sequence[Scalar]) -> Scalar:
    """Return True if any joint's duration in ``following`` is longer than in T."""
    return reduce(or_, (new > t * (1.0 + ROUNDING) for new, t in zip(following, T, strict=True)))


def first_fitting(
    later: Callable[[list[Scalar]], list[Scalar]], start: Sequence[Scalar], *, together: bool
) -> tuple[list[Scalar], Scalar]:
    """Return for each joint the first duration from ``start`` on that is feasible, and True if a joint has none.

    With ``together`` the duration is the same for all joints. ``later(T)`` returns T for joints whose duration is
    feasible. For each other joint it returns a later duration before which none is feasible.
    """
    count = len(start)
    values_of = shared if together else list

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        T = list(state[:count])
        following = later(T)
        return (*values_of(following), has_advanced(T, following))

    result = while_loop(lambda s: s[-1], step, (*values_of(start), start[0] < UNLIMITED), max_iterations=ROUNDS * count)
    last = list(result.state[:count])
    return last, reduce(or_, (not_(t < NEVER) for t in last), result.status > 0.0)


class _Search(NamedTuple):
    """Search by Newton's method for the first duration in which a joint can move by a given displacement.

    The displacement is the largest that is possible in this duration. ``start`` is the initial guess of the duration,
    and ``low`` and ``high`` are its bounds. ``waits`` is False if the duration T from which the search begins is
    already feasible.
    """

    displacement: Scalar
    family: Family
    start: Scalar
    low: Scalar
    high: Scalar
    jump: Scalar
    waits: Scalar


def _search_result(search: _Search, gap: DurationGap, T: Scalar) -> Scalar:
    """Return the first duration from T on at which a joint's motion reaches the required displacement.

    If an interval of infeasible durations (``gap``) begins between T and this duration, the result is its end.
    """
    start = (search.start, search.low, search.high, search.waits)
    result = while_loop(lambda s: s[3], lambda s: _newton(search, *s), start, max_iterations=STEPS).state[0]
    beyond = and_(gap.T_x >= T, result > gap.T_x)
    return where(search.waits, where(beyond, fmax(gap.T_y, T), result), T)


def _search(family: Family, displacement: Scalar, T: Scalar) -> _Search:
    """Return the search for the first duration from T on whose largest possible displacement is ``displacement``.

    ``family`` has the motions of largest displacement for each duration.
    """
    at_T = phases(family, T)
    far, rate = displacement_and_rate(family, at_T)
    missing = displacement - far
    guess = _guess(family, fmax(missing, 0.0), rate)
    waits = missing > _noise(family, displacement, T)
    return _Search(
        displacement, family, *_start_and_bounds(family, displacement, T, missing, rate, guess, at_T), guess, waits
    )


def _select(up: Scalar, f: Any, g: Any) -> Any:
    if isinstance(f, tuple):
        return type(f)(*(_select(up, x, y) for x, y in zip(f, g, strict=True)))
    return where(up, f, g)


def _noise(f: Family, displacement: Scalar, T: Scalar) -> Scalar:
    """Return the rounding error of the displacement of a motion with duration T and the end states of ``f``."""
    return 1e-100 + ROUNDING * (fabs(displacement) + T * (fabs(f.c0) + fabs(f.c1) + fabs(f.ends.v0) + fabs(f.ends.v1)))


def _guess(f: Family, missing: Scalar, rate: Scalar) -> Scalar:
    """Return an estimate of the time by which a motion must be longer to gain the missing displacement.

    ``rate`` is the derivative of the displacement with respect to the duration.
    """
    _, A, B, _, _ = f.limits
    m = f.inverses.m
    cube = exp(log(fmax(32.0 * m * missing, 1e-200)) * (1.0 / 3.0))
    pull = 2.0 * A * B * f.inverses.each
    delay = m * fmin(0.5 * (A + B), 2.0 * pull)
    plateau = delay + sqrt(delay * delay + 4.0 * missing / pull)
    free = where(cube <= 4.0 * m * fmin(A, B), cube, plateau)
    free = free + sqrt(fmax(-rate, 0.0) * 16.0 * m) + fmax(-rate, 0.0) / pull
    return where(rate > 0.0, fmin(free, missing / fmax(rate, 1e-200)), free)


def _start_and_bounds(
    f: Family, displacement: Scalar, T: Scalar, missing: Scalar, rate: Scalar, guess: Scalar, result: Phases
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the initial guess, and the lower and upper bound of the duration for Newton's method.

    The method searches for the first duration from T on at which the farthest motion in ``f`` has the
    ``displacement``. ``result`` is the farthest motion of duration T. Its displacement is too small by ``missing``,
    and ``rate`` is the derivative of its displacement with respect to the duration. ``guess`` is an estimate of the
    time that must be added to T.
    """
    cruising = displacement >= f.d_flat
    limit = fmax(f.T_flat, T)
    speed = fmax(f.limits.V, 1e-200)
    flat = f.T_flat + (displacement - f.d_flat) / speed
    early = result.peak * result.trough > 0.0
    step = where(rate > 0.0, missing / fmax(rate, 1e-200), guess)
    start = where(early, T + fmin(step, guess), where(cruising, fmax(flat, T), T + guess))
    high = where(cruising, UNLIMITED, fmax(limit, T))
    return fmin(start, where(cruising, UNLIMITED, limit)), T, high


def _newton(s: _Search, T: Scalar, low: Scalar, high: Scalar, active: Scalar) -> tuple[Scalar, ...]:
    """Return (T, low, high, active) after a step of Newton's method for the duration T with a given displacement.

    ``low`` and ``high`` are bounds of the duration. ``active`` is True until the search has converged.
    """
    at_T = phases(s.family, T)
    displacement, rate = displacement_and_rate(s.family, at_T)
    missing = s.displacement - displacement
    left = missing > 0.0
    low, high = where(left, T, low), where(left, high, T)
    step = T + _step(s.family, at_T, missing, rate)
    inside = and_(rate > 0.0, and_(step >= low, step <= high))
    between = fmin(0.5 * (low + high), low + s.jump + fabs(T - low))  # high may be as far as limits are
    following = where(inside, step, between)
    exact = fabs(missing) <= 0.25 * _noise(s.family, s.displacement, T)
    last = or_(exact, and_(inside, fabs(following - T) <= TOLERANCE * T))
    return where(and_(active, not_(exact)), following, T), low, high, and_(active, not_(last))


def _step(f: Family, at_T: Phases, missing: Scalar, rate: Scalar) -> Scalar:
    """Return the change of duration by Newton's method that adds the ``missing`` displacement to a motion ``at_T``.

    ``rate`` is the derivative of the displacement with respect to the duration. A second-order term is added if it is
    small.
    """
    each = 1.0 / fmax(rate, 1e-60)
    straight = missing * each
    bent = 0.5 * straight * each * rate_derivative(f, at_T)
    return straight * where(fabs(bent) < SMALL_CHANGE, 1.0 - bent * (1.0 - 2.0 * bent), 1.0)
