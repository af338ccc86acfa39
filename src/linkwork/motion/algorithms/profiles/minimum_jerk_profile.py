"""Minimum-jerk motion: polynomials of degree five from state to state, over any scalar.

Among all motions of duration T between two states, ∫ jerk² dt is minimal for the one with x⁽⁶⁾ = 0, the quintic; from
rest to rest it is q0 + d (10 s³ − 15 s⁴ + 6 s⁵), s = t/T.  The extremes of velocity, acceleration and jerk are at roots
of their derivatives, which have closed forms.

Source: Flash and Hogan, The coordination of arm movements, J. Neuroscience 5 (7), 1985.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from linkwork.expr.control.loops import fori_loop, while_loop
from linkwork.expr.scalar.functions import (
    acos,
    and_,
    cos,
    exp,
    fabs,
    fmax,
    fmin,
    log,
    not_,
    or_,
    sqrt,
    where,
)
from linkwork.motion.algorithms.profiles.jerk_limited_profile import Profile
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest

__all__ = ["minimum_jerk"]

Scalar = Any

_SLACK = 1e-9  # relative: a state at an end that exceeds a limit by less is at it
_ROUNDING = 1e-14
_GROWTH = 1.01  # ratio of successive durations that are tried
_TRIALS = 1400
_BELOW = 1.0 - 1e-12  # share of a lower bound that is below it in spite of rounding
_HALVINGS = 45


def minimum_jerk(
    joints: Sequence[JointRequest],
    *,
    together: bool = True,
    shortest: Sequence[Scalar] | None = None,
    fixed: bool = False,
) -> Profile:
    """Return the minimum-jerk motion of joints: for each joint its duration, times (2) and coefficients (1, 6).

    Durations are at least ``shortest``, and equal for all joints if ``together``. They are tried in a sequence with
    steps of 1 %. Bisection refines the duration between the last that violates the limits and the first that satisfies
    them. If ``fixed``, the durations are ``shortest``.

    The status is 0 for a motion, 1 if a state at an end is outside the limits, and 2 if no tried duration satisfies the
    limits.
    """
    most = list(shortest or [0.0] * len(joints))
    if together:
        most = [reduce(fmax, most)] * len(joints)
    possible = reduce(and_, map(_at_ends, joints))
    if fixed:
        T, satisfied = most, [fits(joint, t) for joint, t in zip(joints, most, strict=True)]
    elif together:
        least = reduce(fmax, map(_least, joints), most[0])

        def all_fit(t: Scalar) -> Scalar:
            return reduce(and_, (fits(joint, t) for joint in joints))

        t, fits_limits = _first(all_fit, least)
        T, satisfied = [t] * len(joints), [fits_limits]
    else:
        T, satisfied = [], []
        for joint, t in zip(joints, most, strict=True):
            result, fits_limits = _first(partial(fits, joint), fmax(_least(joint), t))
            T.append(result)
            satisfied.append(fits_limits)
    status = where(possible, where(reduce(and_, satisfied), 0.0, 2.0), 1.0)
    segments = [[quintic(joint, t)] for joint, t in zip(joints, T, strict=True)]
    return Profile(T, [[0.0, t] for t in T], segments, status)


def _first(fit: Callable[[Scalar], Scalar], least: Scalar) -> tuple[Scalar, Scalar]:
    """Return a duration of at least ``least`` for which ``fit`` holds, and True if it holds.

    The duration is the first of a sequence with steps of 1 % for which ``fit`` holds, refined by bisection.
    """
    result = while_loop(lambda t: not_(fit(t)), lambda t: t * _GROWTH, least, max_iterations=_TRIALS)
    high = result.state
    low = fmax(high / _GROWTH, least)

    def halve(_: Any, state: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
        low, high = state
        middle = 0.5 * (low + high)
        is_fitting = fit(middle)
        return where(is_fitting, low, middle), where(is_fitting, middle, high)

    _, high = fori_loop(0, _HALVINGS, halve, (low, high))
    return high, fit(high)


def _least(joint: JointRequest) -> Scalar:
    """Return a lower bound of the duration, from the required mean velocity, acceleration and jerk.

    With |a| ≤ A, |Δq| ≤ |v0| T + A T²/2, so one of the two terms is at least half of |Δq|.  With |jerk| ≤ J there are
    three terms for Δq, the last of which is J T³/6, and two for Δv.
    """
    (v0, a0, v1, a1), (V, A, B, up, down) = joint.ends, joint.limits
    displacement, gain, turn = joint.q1 - joint.q0, v1 - v0, a1 - a0
    fastest = fmax(fmax(fabs(v0), fabs(v1)) / fmax(A, B), fmax(fabs(a0), fabs(a1)) * fmin(up, down))
    least = fmax(_at_most(displacement, V, joint.V_down), fmax(_at_most(gain, A, B), fmax(turn * up, -turn * down)))
    d, g = fabs(displacement), fabs(gain)
    slow, easy = fmax(fmin(fabs(v0), fabs(v1)), 1e-200), fmax(fmin(fabs(a0), fabs(a1)), 1e-200)
    inverse = fmin(up, down)  # of the greatest jerk
    by_acceleration = fmin(0.5 * d / slow, sqrt(d / fmax(A, B)))
    tiny = 1e-200
    by_acceleration = fmin(0.5 * d / slow, sqrt(fmax(d / fmax(A, B), tiny)))
    by_bend = sqrt(fmax(2.0 * d / (3.0 * easy), tiny))
    by_jerk = fmin(fmin(d / (3.0 * slow), by_bend), exp(log(fmax(2.0 * d * inverse, tiny)) / 3.0))
    by_gain = fmin(0.5 * g / easy, sqrt(fmax(g * inverse, tiny)))
    bounds = fmax(by_acceleration, fmax(by_jerk, by_gain))
    return fmax(fmax(least, where(bounds > 1e-60, _BELOW * bounds, 0.0)), 1e-3 * fastest)


def _at_most(x: Scalar, up: Scalar, down: Scalar) -> Scalar:
    return where(x > 0.0, x / fmax(up, 1e-200), -x / fmax(down, 1e-200))


def _at_ends(joint: JointRequest) -> Scalar:
    (v0, a0, v1, a1), (V, A, B, _, _) = joint.ends, joint.limits
    displacement = joint.q1 - joint.q0
    valid = or_(displacement < 1.0, displacement >= 1.0)  # False for NaN
    for x, most, least in ((v0, V, joint.V_down), (v1, V, joint.V_down), (a0, A, B), (a1, A, B)):
        valid = and_(valid, and_(x <= most * (1.0 + _SLACK), x >= -least * (1.0 + _SLACK)))
    return valid


def quintic(joint: JointRequest, T: Scalar) -> list[Scalar]:
    """Return the coefficients (6) of a joint's quintic of duration T in powers of time, lowest first."""
    c = _normal(joint, T)
    inverse = 1.0 / fmax(T, 1e-60)
    scale: Any = 1.0
    result = []
    for x in c:
        result.append(x * scale)
        scale = scale * inverse
    return result


def _normal(joint: JointRequest, T: Scalar) -> list[Scalar]:
    """Return the coefficients (6) of a joint's quintic of duration T in powers of s = t/T, lowest first."""
    v0, a0, v1, a1 = joint.ends
    V0, V1, A0, A1 = v0 * T, v1 * T, a0 * T * T, a1 * T * T
    displacement = joint.q1 - joint.q0 - V0 - 0.5 * A0
    gain, turn = V1 - V0 - A0, A1 - A0
    return [
        joint.q0,
        V0,
        0.5 * A0,
        10.0 * displacement - 4.0 * gain + 0.5 * turn,
        -15.0 * displacement + 7.0 * gain - turn,
        6.0 * displacement - 3.0 * gain + 0.5 * turn,
    ]


def fits(joint: JointRequest, T: Scalar) -> Scalar:
    """Return True if velocity, acceleration and jerk of the quintic of duration T are within limits throughout."""
    V, A, B, up, down = joint.limits
    c = _normal(joint, T)
    velocity = [c[1], 2.0 * c[2], 3.0 * c[3], 4.0 * c[4], 5.0 * c[5]]
    acceleration = [velocity[1], 2.0 * velocity[2], 3.0 * velocity[3], 4.0 * velocity[4]]
    jerk = [acceleration[1], 2.0 * acceleration[2], 3.0 * acceleration[3]]
    middle = _clipped(-jerk[1] / _guarded(2.0 * jerk[2]))
    valid = _within(jerk, [middle], T * T * T / up, T * T * T / down)
    valid = and_(valid, _within(acceleration, _quadratic_roots(*jerk), T * T * A, T * T * B))
    return and_(valid, _within(velocity, _cubic_roots(*acceleration), T * V, T * joint.V_down))


def _within(c: Sequence[Scalar], points: Sequence[Scalar], most: Scalar, least: Scalar) -> Scalar:
    valid = or_(c[0] < 1.0, c[0] >= 1.0)
    room = 1.0 + _ROUNDING
    for s in (0.0, 1.0, *points):
        x = c[-1]
        for k in range(len(c) - 2, -1, -1):
            x = x * s + c[k]
        valid = and_(valid, and_(x <= most * room + 1e-300, x >= -least * room - 1e-300))
    return valid


def _clipped(s: Scalar) -> Scalar:
    return fmin(fmax(s, 0.0), 1.0)


def _guarded(x: Scalar) -> Scalar:
    return where(fabs(x) < 1e-200, 1e-200, x)


def _quadratic_roots(c: Scalar, b: Scalar, a: Scalar) -> list[Scalar]:
    """Return the real roots of a s² + b s + c in [0, 1], or arbitrary points in it."""
    root = sqrt(fmax(b * b - 4.0 * a * c, 0.0))
    q = -0.5 * (b + where(b < 0.0, -root, root))
    return [_clipped(q / _guarded(a)), _clipped(c / _guarded(q))]


def _cubic_roots(d: Scalar, c: Scalar, b: Scalar, a: Scalar) -> list[Scalar]:
    """Return the real roots of a s³ + b s² + c s + d in [0, 1], or arbitrary points in it.

    By cosines for three roots and Cardano's formula for one, then a Newton step; if the cubic term is negligible, the
    roots of the quadratic.
    """
    size = fabs(b) + fabs(c) + fabs(d)
    cubic = fabs(a) > 1e-9 * size
    lead = where(cubic, a, 1.0)
    x, y, z = b / lead, c / lead, d / lead
    p, shift = (x * x - 3.0 * y) / 9.0, x / 3.0
    r = (2.0 * x * x * x - 9.0 * x * y + 27.0 * z) / 54.0
    three = r * r < p * p * p
    size_p = sqrt(fmax(p, 0.0))
    angle = acos(fmin(fmax(r / _guarded(size_p * size_p * size_p), -1.0), 1.0)) / 3.0
    result = [-2.0 * size_p * cos(angle + k * 2.0 * math.pi / 3.0) - shift for k in (-1.0, 0.0, 1.0)]
    inner = fabs(r) + sqrt(fmax(r * r - p * p * p, 0.0))
    big = exp(log(fmax(inner, 1e-200)) / 3.0)
    single = where(r < 0.0, 1.0, -1.0) * (big + p / _guarded(big)) - shift
    quadratic = _quadratic_roots(d, c, b)
    roots = []
    for k, s in enumerate(result):
        s = where(three, s, single)
        slope = (3.0 * s + 2.0 * x) * s + y
        s = s - where(fabs(slope) > 1e-6 * (1.0 + fabs(y)), (((s + x) * s + y) * s + z) / _guarded(slope), 0.0)
        roots.append(_clipped(where(cubic, s, quadratic[min(k, 1)])))
    return roots
