"""Interior-point method for time-optimal motion along a path within limits of jerk, by Riccati sweeps.

s̈ is continuous, and linear in time on each segment.  Along a path q(s), a = q' s̈ + q'' ṡ², and the jerk is q' s⃛ + 3
q'' ṡ s̈ + q''' ṡ³.  Let x = ṡ² and u = s̈ at the ends of segments.  On a segment of length Δ, δ is the increase of u, m
the mean of ṡ at both ends, and w the mean speed:

    w² − w m + δ Δ/12 = 0,     x_1 = x_0 + Δ (2 u_0 + δ) m/w,     s⃛ = δ w/Δ

so that limits of jerk are lower/w ≤ (ṡ/w) (q''' x + 3 q'' u) + q' δ/Δ ≤ upper/w.  1/w is convex in x; with tangents to
1/w instead of 1/w, the limits are narrower, and linear.  Each Newton step solves for the change of x and u with the
barrier μ Σ −log(distance) to all limits.  The step consists of a backward and a forward sweep (Riccati), with
multipliers for the two conditions at the end.  All iterates are feasible.

The functions here are parts of that step, for one segment or a block of segments.  Each sweep returns its state at the
end of a block for the next block, so a path may have any number of segments.

Sources: Debrouwere, Van Loock, Pipeleers, Tran Dinh, Diehl, De Schutter and Swevers, Time-optimal path following for
robots with convex-concave constraints using sequential convex programming, 2013; Verscheure, Demeulenaere, Swevers, De
Schutter and Diehl, Time-optimal path tracking for robots: a convex optimization approach, 2009; Rao, Wright and
Rawlings, Application of interior-point methods to model predictive control, 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, or_, sqrt, where

__all__ = [
    "CARRIED",
    "STAGE",
    "SmoothLimits",
    "SmoothValues",
    "last_stage",
    "remaining_shares",
    "remaining_shares_at_end",
    "stage_of",
    "sweep_gains",
    "sweep_steps",
]

CARRIED = 14  # values carried by the backward sweep: value function (5), end conditions (4) and multipliers (5)
STAGE = 13  # values of a segment: second derivatives (6), first (3), transition of x (3) and its defect (1)
_FAR, _TINY = 1e300, 1e-300


class SmoothValues(NamedTuple):
    """Derivatives of a path at the ends of its n segments, in limits of a motion with x = ṡ² and u = s̈.

    Second-order limits bound the m quantities A u + B x + C at the ends of segments. A is ``first``, B ``second`` and C
    ``at_rest``, all (n + 1, m); ``at_rest`` is None if C is zero.

    ``rates``, ``bends`` and ``thirds`` (n, 2, r) are q', q'' and q''' at both ends of each segment, as one-sided limits
    from inside the segment.
    """

    first: Any
    second: Any
    rates: Any
    bends: Any
    thirds: Any
    at_rest: Any = None


class SmoothLimits(NamedTuple):
    """Limits of a motion along a path with n segments.

    ``lower`` and ``upper`` (n + 1, m) bound second-order quantities, such as accelerations, at the ends of segments.
    ``least_jerk`` and ``most_jerk`` (n, r) bound the jerk on segments.
    """

    lower: Any
    upper: Any
    least_jerk: Any
    most_jerk: Any


def stage_of(
    motion: Sequence[Any], along: SmoothValues, limits: SmoothLimits, segment_values: Sequence[Any], mu: Any
) -> Any:
    """Return the terms of one segment in Newton's step, as a flat list of `STAGE` values.

    The terms are derivatives with respect to x = ṡ², u = s̈ and δ, the increase of u on the segment. They are the
    second and first derivatives of the segment's time and barriers, and the derivatives of x at the segment's end.

    ``motion`` is (x, u, x, u) at both ends. ``segment_values`` are four numbers: the length Δ, the largest x at the
    beginning, the reciprocal of the largest mean speed, and the largest ratio of δ Δ/3 to the squared mean of the end
    speeds.
    """
    x0, u0, x1, u1 = motion
    step, cap, slowest, steepest = segment_values
    segment = _segment(x0, u0, x1, u1, step)
    (xx, xu, uu), (gx, gu) = _second_order_barrier(x0, u0, along, limits, mu)
    # barriers x > 0 and x < cap; fixed ends have none
    moves = lt(0.0, x0)
    above, below = 1.0 / where(lt(x0, cap), cap - x0, 1.0), where(moves, 1.0 / where(moves, x0, 1.0), 0.0)
    gx, xx = gx + mu * (above - below), xx + mu * (above * above + below * below)
    # derivatives of 1/w by x_0, x_1 and δ
    slow = 1.0 / segment.mean
    (w0, w1), (i0, i1) = segment.speeds, segment.inverses
    w = fmax(w0 + w1, _TINY)
    alpha, double, beta = segment.transition
    by = -0.25 * slow * slow * segment.by_half
    q0, q1 = by * i0, by * i1
    cx, cu, cd = q0 + q1 * alpha, q1 * double, q1 * beta - slow * slow * segment.by_gain
    # the time, Δ/w
    q00 = step * slow / w * i0 * i0 * (0.5 / w + 0.25 * i0)
    q11 = step * slow / w * i1 * i1 * (0.5 / w + 0.25 * i1)
    q01 = step * slow / w * i0 * i1 * (0.5 / w)
    across = q01 + q11 * alpha
    defect = segment.defect  # a full step adds it to x_1: slopes are those with this addition
    gx, gu = gx + step * cx + across * defect, gu + step * cu + q11 * double * defect
    gd = step * cd + q11 * beta * defect
    xx, xu, xd = xx + q00 + alpha * (q01 + across), xu + across * double, across * beta
    uu, ud, dd = uu + q11 * double * double, q11 * double * beta, q11 * beta * beta
    # barrier against a speed that falls to zero and rises again within the segment
    room, (a0, a1, ad), (a00, a01, a11) = _dip((w0, w1), (i0, i1), u1 - u0, step, steepest)
    falls = and_(lt(0.0, i0), lt(0.0, i1))  # only where it moves at both ends
    scale = where(falls, 1.0 / where(falls, room, 1.0), 0.0)
    a_x, a_u, a_d = (a0 + a1 * alpha) * scale, a1 * double * scale, (a1 * beta + ad) * scale
    b_xx, b_x1, b_11 = a00 * scale, a01 * scale, a11 * scale
    mixed, along_defect = b_x1 + b_11 * alpha, 1.0 - a1 * scale * defect
    gx = gx - mu * (a_x * along_defect + mixed * defect)
    gu = gu - mu * (a_u * along_defect + b_11 * double * defect)
    gd = gd - mu * (a_d * along_defect + b_11 * beta * defect)
    xx = xx + mu * (a_x * a_x - (b_xx + alpha * (b_x1 + mixed)))
    xu, xd = xu + mu * (a_x * a_u - mixed * double), xd + mu * (a_x * a_d - mixed * beta)
    uu, ud = uu + mu * (a_u * a_u - b_11 * double * double), ud + mu * (a_u * a_d - b_11 * double * beta)
    dd = dd + mu * (a_d * a_d - b_11 * beta * beta)
    # jerk, at both ends
    per = 1.0 / step
    d = u1 - u0
    # the mean speed is below the cap too: otherwise oscillation between grid points would gain time
    inside = 1.0 / (slow - slowest)
    c_defect = q1 * defect
    gc, cc = -mu * inside * (1.0 - inside * c_defect), mu * inside * inside
    zero = 0.0 * mu
    state = gx, gu, gd, gc, xx, xu, xd, uu, ud, dd, zero, zero, zero, cc
    for end, (speed, i, x, u) in enumerate(((w0, i0, x0, u0), (w1, i1, x1, u1))):
        r = speed * slow

        def of_joint(
            state: tuple[Any, ...],
            row: Any,
            end: int = end,
            r: Any = r,
            i: Any = i,
            speed: Any = speed,
            x: Any = x,
            u: Any = u,
        ) -> tuple[tuple[Any, ...], None]:
            gx, gu, gd, gc, xx, xu, xd, uu, ud, dd, ax, au, ad, cc = state
            rate, bend, third, least, most = row
            p = rate * per
            bent = third * x + 3.0 * bend * u
            b, c = r * third + 0.5 * slow * bent * i, 3.0 * r * bend
            jx, ju, jd = (b, c, p) if not end else (b * alpha, b * double + c, b * beta + c + p)
            j_defect = b * defect if end else 0.0
            # distances to both limits: up/w − p δ and p δ − down/w
            up, down, value = most - speed * bent, least - speed * bent, p * d
            above, below = 1.0 / (up * slow - value), 1.0 / (value - down * slow)
            g, gq = mu * (above - below), mu * (down * below - up * above)
            above, below = mu * above * above, mu * below * below
            h, hq, m = above + below, up * above + down * below, up * up * above + down * down * below
            g, gq = g + h * j_defect - hq * c_defect, gq + m * c_defect - hq * j_defect
            hx, hu = h * jx, h * ju
            first = gx + g * jx, gu + g * ju, gd + g * jd, gc + gq
            second = xx + hx * jx, xu + hx * ju, xd + hx * jd, uu + hu * ju, ud + hu * jd, dd + h * jd * jd
            return (*first, *second, ax + hq * jx, au + hq * ju, ad + hq * jd, cc + m), None

        state = scan(
            of_joint,
            state,
            (along.rates[end], along.bends[end], along.thirds[end], limits.least_jerk, limits.most_jerk),
        )[0]
    gx, gu, gd, gc, xx, xu, xd, uu, ud, dd, ax, au, ad, cc = state
    gx, gu, gd = gx + gc * cx, gu + gc * cu, gd + gc * cd
    xx, xu, xd = (
        xx + (cc * cx - 2.0 * ax) * cx,
        xu + cc * cx * cu - ax * cu - au * cx,
        xd + cc * cx * cd - ax * cd - ad * cx,
    )
    uu, ud, dd = (
        uu + (cc * cu - 2.0 * au) * cu,
        ud + cc * cu * cd - au * cd - ad * cu,
        dd + (cc * cd - 2.0 * ad) * cd,
    )
    return array([xx, xu, xd, uu, ud, dd, gx, gu, gd, *segment.transition, segment.defect])


def last_stage(x: Any, u: Any, along: SmoothValues, limits: SmoothLimits, mu: Any) -> Any:
    """Return derivatives (xx, xu, uu, u) of the barrier of second-order limits at the end of the last segment.

    x is fixed at this end, so xx does not change Newton's step.  Without xx the second derivatives would be indefinite,
    and the backward sweep could divide by a curvature that is zero or negative.
    """
    (xx, xu, uu), (_, u) = _second_order_barrier(x, u, along, limits, mu)
    return array([xx, xu, uu, u])


def sweep_gains(stages: Any, carried: Any) -> tuple[Any, Any]:
    """Return the state of a backward Riccati sweep at the beginning of n segments, and feedback gains (n, 5).

    ``carried`` is the state at the end of the last segment. A state has `CARRIED` entries: coefficients of the value
    function and of the conditions at the path's end. ``stages`` (n, `STAGE`) are the results of `stage_of`. The gains
    give the change of δ, the increase of s̈ on a segment.
    """

    def back(state: tuple[Any, ...], row: Any) -> tuple[tuple[Any, ...], Any]:
        h, g, transition = row[:6], row[6:9], row[9:12]
        result, gains = _riccati_step((state[:5], state[5:9], state[9:]), [*h], [*g], [*transition], row[12])
        value, gamma, dual = result
        return (*value, *gamma, *dual), array(list(gains))

    state, gains = scan(back, tuple(carried), stages, reverse=True)
    return array(list(state)), gains


def sweep_steps(gains: Any, stages: Any, multipliers: Any, change: Any) -> tuple[Any, Any]:
    """Return the changes of x = ṡ² and u = s̈ at the ends of n segments (n, 2), and those at the last end again.

    The forward sweep applies the ``gains`` (n, 5) of `sweep_gains`. ``change`` is the change of x and u at the
    beginning of the first segment. ``multipliers`` are the Lagrange multipliers of the two conditions at the path's
    end.
    """
    ν_x, ν_y = multipliers

    def forth(state: tuple[Any, Any], row: Any) -> tuple[tuple[Any, Any], Any]:
        dx, du = state
        (k_x, k_u, k, k_a, k_b), stage = row
        alpha, double, beta, defect = stage[9], stage[10], stage[11], stage[12]
        d = k_x * dx + k_u * du + k + k_a * ν_x + k_b * ν_y
        following = alpha * dx + double * du + beta * d + defect, du + d
        return following, array(list(following))

    last, changes = scan(forth, (change[0], change[1]), (gains, stages))
    return changes, array(list(last))


def remaining_shares(
    motion: Sequence[Any],
    change: Sequence[Any],
    part: Any,
    along: SmoothValues,
    limits: SmoothLimits,
    segment_values: Sequence[Any],
) -> Any:
    """Return the smallest ratio after/before of the distances to the limits of a segment, for a step of the motion.

    The step is the fraction ``part`` of a change of x = ṡ² and u = s̈ at both ends of the segment. ``motion`` and
    ``change`` are (x, u, x, u).
    """
    step, cap, slowest, steepest = segment_values
    then = [x + part * dx for x, dx in zip(motion, change, strict=True)]
    both = (tuple(motion), tuple(then))
    is_fixed = le(motion[0], 0.0)  # a fixed end
    segments = [_segment(x0, u0, x1, u1, step) for x0, u0, x1, u1 in both]
    x0, x = motion[0], then[0]
    shares = (
        where(is_fixed, 1.0, x / where(is_fixed, 1.0, x0)),
        where(is_fixed, 1.0, (cap - x) / where(is_fixed, 1.0, cap - x0)),
        (1.0 / segments[1].mean - slowest) / (1.0 / segments[0].mean - slowest),
    )
    least = reduce(fmin, shares, 1.0 + 0.0 * part)
    dips = [_dip(s.speeds, s.inverses, at[3] - at[1], step, steepest)[0] for s, at in zip(segments, both, strict=True)]
    falls = and_(lt(0.0, segments[0].inverses[0]), lt(0.0, segments[0].inverses[1]))
    least = fmin(least, where(falls, dips[1] / where(falls, dips[0], 1.0), 1.0))
    least = _smallest_second_order_share(least, both, along, limits)
    per = 1.0 / step

    def one(least: Any, row: Any) -> tuple[Any, None]:
        rates, bends, thirds, low, high = row
        for end in range(2):
            result = []
            for (x0, u0, x1, u1), segment in zip(both, segments, strict=True):
                slow, (x, u) = 1.0 / segment.mean, ((x0, u0), (x1, u1))[end]
                bent = segment.speeds[end] * slow * (thirds[end] * x + 3.0 * bends[end] * u)
                value = bent + rates[end] * per * (u1 - u0)
                result.append((high * slow - value, value - low * slow))
            for before, after in zip(*result, strict=True):
                least = fmin(least, after / before)
        return least, None

    def columns(x: Any) -> Any:
        return np.stack([x[0], x[1]], axis=-1)

    rows = (columns(along.rates), columns(along.bends), columns(along.thirds), limits.least_jerk, limits.most_jerk)
    least = scan(one, least, rows)[0]
    return where(lt(fabs(change[2]) + fabs(change[3]), _FAR), least, -1.0)  # NaN rejects the step


def remaining_shares_at_end(ends: Sequence[Any], along: SmoothValues, limits: SmoothLimits) -> Any:
    """Return the smallest ratio after/before of the distances to second-order limits at the path's end, for a step.

    ``ends`` are x = ṡ² and u = s̈ before the step, and x and u after it.
    """
    x, u, then_x, then_u = ends
    return _smallest_second_order_share(1.0 + 0.0 * x, ((x, u), (then_x, then_u)), along, limits)


class _Segment(NamedTuple):
    """Mean speed w of a segment and its derivatives, and the equation for x = ṡ² at the segment's end.

    ``speeds`` are ṡ at both ends, and ``inverses`` their reciprocals, 0 at rest. ``by_half`` is the derivative of w
    with respect to the mean of ``speeds``, and ``by_gain`` with respect to δ, the increase of s̈ on the segment.
    ``transition`` has the derivatives of x at the end with respect to x and s̈ at the beginning, and to δ. ``defect``
    is the residual of the equation for x at the end.
    """

    mean: Any
    speeds: tuple[Any, Any]
    inverses: tuple[Any, Any]
    by_half: Any
    by_gain: Any
    transition: tuple[Any, Any, Any]
    defect: Any


def _segment(x0: Any, u0: Any, x1: Any, u1: Any, step: Any) -> _Segment:
    w0, w1 = sqrt(fmax(x0, 0.0)), sqrt(fmax(x1, 0.0))
    half = fmax(0.5 * (w0 + w1), _TINY)
    d = u1 - u0
    root = sqrt(fmax(half * half - d * step * (1.0 / 3.0), half * half * 0.0625))
    rests = or_(le(w0, 0.0), le(w1, 0.0))  # exact at constant jerk
    mean = where(rests, (2.0 / 3.0) * half, 0.5 * (half + root))
    by_half = where(rests, 2.0 / 3.0, 0.5 + 0.5 * half / root)
    by_gain = where(rests, 0.0, step * (-1.0 / 12.0) / root)
    i0, i1 = _inverse(w0), _inverse(w1)
    ratio, gain = half / mean, step * (u0 + u1)
    by_m, by_d = (1.0 - ratio * by_half) / mean, -ratio * by_gain / mean
    ratio_m = 1.0 / (1.0 - 0.25 * gain * by_m * i1)
    transition = (
        (1.0 + 0.25 * gain * by_m * i0) * ratio_m,
        2.0 * step * ratio * ratio_m,
        (step * ratio + gain * by_d) * ratio_m,
    )
    return _Segment(mean, (w0, w1), (i0, i1), by_half, by_gain, transition, (x0 + gain * ratio - x1) * ratio_m)


def _inverse(speed: Any) -> Any:
    moves = lt(0.0, speed)
    return where(moves, 1.0 / where(moves, speed, 1.0), 0.0)


def _second_order_barrier(
    x: Any, u: Any, along: SmoothValues, limits: SmoothLimits, mu: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return derivatives (xx, xu, uu) and (x, u) of the logarithmic barrier of second-order limits.

    They are the second and first derivatives with respect to x = ṡ² and u = s̈ at the beginning of a segment; ``mu`` is
    the barrier's weight.
    """

    def one(state: tuple[Any, ...], row: Any) -> tuple[tuple[Any, ...], None]:
        xx, xu, uu, gx, gu = state
        a, b, low, high, *c = row
        value = a * u + b * x + (c[0] if c else 0.0)
        above, below = 1.0 / (high - value), 1.0 / (value - low)
        g = mu * (above - below)
        h = mu * (above * above + below * below)
        hb = h * b
        return (xx + hb * b, xu + hb * a, uu + h * a * a, gx + g * b, gu + g * a), None

    zero = 0.0 * mu
    xx, xu, uu, gx, gu = scan(one, (zero,) * 5, _second_order_rows(along, limits))[0]
    return (xx, xu, uu), (gx, gu)


def _second_order_rows(along: SmoothValues, limits: SmoothLimits) -> tuple[Any, ...]:
    """Return arrays (A, B, lower, upper) of limits lower ≤ A u + B x + C ≤ upper, and C if it is not zero.

    x = ṡ² and u = s̈ describe the motion along the path.
    """
    return along.first, along.second, limits.lower, limits.upper, *(() if along.at_rest is None else (along.at_rest,))


def _dip(
    speeds: tuple[Any, Any], inverses: tuple[Any, Any], gain: Any, step: Any, steepest: Any
) -> tuple[Any, tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """Return the margin c m² − δ Δ/3 of a segment, and its first and second derivatives.

    A positive margin means that a motion at constant jerk connects the end speeds. m is the mean of the ``speeds`` ṡ_0
    and ṡ_1 at both ends of the segment, and c is ``steepest``. δ is ``gain``, the increase of s̈ on the segment. Δ is
    ``step``, the segment's length.

    The first derivatives are taken with respect to x_0 = ṡ_0², x_1 = ṡ_1² and δ. The second derivatives are taken with
    respect to x_0 twice, x_0 and x_1, and x_1 twice. ``inverses`` are 1/ṡ_0 and 1/ṡ_1, or 0 at rest.
    """
    (w0, w1), (i0, i1) = speeds, inverses
    half = 0.5 * (w0 + w1)
    third = step * (1.0 / 3.0)
    room = steepest * half * half - third * gain
    first = 0.5 * steepest * half * i0, 0.5 * steepest * half * i1, -third
    across = 0.125 * steepest * i0 * i1
    return room, first, (-across * w1 * w1 * i0 * i0 * (w0 * i0), across, -across * w0 * w0 * i1 * i1 * (w1 * i1))


def _smallest_second_order_share(
    least: Any, both: Sequence[tuple[Any, ...]], along: SmoothValues, limits: SmoothLimits
) -> Any:
    """Return the smallest ratio after/before of the distances to second-order limits, for a step of x = ṡ² and u = s̈.

    ``both`` is a pair: x and u before the step, and x and u after it. The result is at most ``least``.
    """

    def one(least: Any, row: Any) -> tuple[Any, None]:
        a, b, low, high, *c = row
        result = []
        for x, u, *_ in both:
            value = a * u + b * x + (c[0] if c else 0.0)
            result.append((high - value, value - low))
        for before, after in zip(*result, strict=True):
            least = fmin(least, after / before)
        return least, None

    return scan(one, least, _second_order_rows(along, limits))[0]


def _riccati_step(
    state: tuple[Any, ...], h: Sequence[Any], g: Sequence[Any], transition: Sequence[Any], defect: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the state of the backward Riccati sweep before a segment, from the state after it, and gains (5) for δ.

    x = ṡ² and u = s̈ follow x_1 = α x + κ u + β δ + defect and u_1 = u + δ, with (α, κ, β) = ``transition``. ``h`` and
    ``g`` are the second and first derivatives of the segment's cost.
    """
    (p_xx, p_xu, p_uu, p_x, p_u), (a_x, a_u, b_x, b_u), (s_aa, s_ab, s_bb, t_a, t_b) = state
    alpha, double, beta = transition
    h_xx, h_xu, h_xd, h_uu, h_ud, h_dd = h
    g_x, g_u, g_d = g
    p_x, p_u = p_x + p_xx * defect, p_u + p_xu * defect
    t_a, t_b = t_a + a_x * defect, t_b + b_x * defect
    xu, xd = p_xx * double + p_xu, p_xx * beta + p_xu
    uu, ud = p_xu * double + p_uu, p_xu * beta + p_uu
    h_xx, h_xu, h_xd = h_xx + alpha * alpha * p_xx, h_xu + alpha * xu, h_xd + alpha * xd
    h_uu, h_ud, h_dd = h_uu + double * xu + uu, h_ud + double * xd + ud, h_dd + beta * xd + ud
    g_x, g_u, g_d = g_x + alpha * p_x, g_u + double * p_x + p_u, g_d + beta * p_x + p_u
    a_d, b_d = beta * a_x + a_u, beta * b_x + b_u
    a_x, a_u, b_x, b_u = alpha * a_x, double * a_x + a_u, alpha * b_x, double * b_x + b_u
    inverse = 1.0 / fmax(h_dd, _TINY)
    k_x, k_u, k, k_a, k_b = -h_xd * inverse, -h_ud * inverse, -g_d * inverse, -a_d * inverse, -b_d * inverse
    value = (
        h_xx + h_xd * k_x,
        h_xu + h_xd * k_u,
        h_uu + h_ud * k_u,
        g_x + h_xd * k,
        g_u + h_ud * k,
    )
    gamma = (a_x + h_xd * k_a, a_u + h_ud * k_a, b_x + h_xd * k_b, b_u + h_ud * k_b)
    dual = (s_aa + a_d * k_a, s_ab + a_d * k_b, s_bb + b_d * k_b, t_a + a_d * k, t_b + b_d * k)
    return (value, gamma, dual), (k_x, k_u, k, k_a, k_b)
