"""The fastest way along a path within limits of jerk too: s̈ is continuous, and linear in time on each segment.

Along a path q(s), a = q' s̈ + q'' ṡ² and the jerk is q' s⃛ + 3 q'' ṡ s̈ + q''' ṡ³.  With x = ṡ² and u = s̈ at the ends of
segments, and on one of length Δ δ what u gains, m the mean of ṡ at its ends and w the mean speed,

    w² − w m + δ Δ/12 = 0,     x_1 = x_0 + Δ (2 u_0 + δ) m/w,     s⃛ = δ w/Δ

so that limits of jerk are lower/w ≤ (ṡ/w) (q''' x + 3 q'' u) + q' δ/Δ ≤ upper/w.  1/w is convex in x: where tangents
stand in its place limits are narrower, and linear.  Each of Newton's steps solves for the change of x and u that the
barrier μ Σ −log(room) to all limits asks for, by a sweep backward and one forward (Riccati's), its two conditions at
the end by multipliers; every motion on the way is within the limits.

Sources: Debrouwere, Van Loock, Pipeleers, Tran Dinh, Diehl, De Schutter and Swevers, Time-optimal path following for
robots with convex-concave constraints using sequential convex programming, 2013; Verscheure, Demeulenaere, Swevers, De
Schutter and Diehl, Time-optimal path tracking for robots: a convex optimization approach, 2009; Rao, Wright and
Rawlings, Application of interior-point methods to model predictive control, 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....expr.arrays import array
from ....expr.control import scan, while_loop
from ....expr.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where

__all__ = ["SmoothLimits", "SmoothTiming", "SmoothValues", "smoothest"]

_TINY = 1e-300
_STEPS = 80  # of Newton's method at most
_POLISH = 10  # of them with the last barrier at most
_HALVINGS = 30
_TOWARDS = 0.9  # of the way to a limit
_LESS = 0.2  # of the barrier, from step to step
_FAR = 1e300
_CLOSE = 1e-5  # of x: a step that changes less is the last


class SmoothValues(NamedTuple):
    """What a path is at the ends of its n segments.

    ``first``, ``second`` (n + 1, m) and ``rest`` (n + 1, m), or nothing: A, B and C of what has limits of second order,
    A u + B x + C; ``rates``, ``bends`` and ``thirds`` (n, 2, r): q', q'' and q''' at both ends of each segment, inside.
    """

    first: Any
    second: Any
    rates: Any
    bends: Any
    thirds: Any
    rest: Any = None


class SmoothLimits(NamedTuple):
    """Of what is of second order (n + 1, m), and of jerk on segments (n, r)."""

    lower: Any
    upper: Any
    least_jerk: Any
    most_jerk: Any


class SmoothTiming(NamedTuple):
    """x = ṡ² and u = s̈ at the ends of segments (n + 1,), and the steps that were taken."""

    x: Any
    u: Any
    steps: Any


class _Segment(NamedTuple):
    """A segment's mean speed w, the speeds at its ends and one over them (0 where it rests), how w varies with their
    mean and with δ; how x_1 follows x, u and δ, and by how much it does not.
    """

    mean: Any
    speeds: tuple[Any, Any]
    inverses: tuple[Any, Any]
    by_half: Any
    by_gain: Any
    follows: tuple[Any, Any, Any]
    off: Any


def _segment(x0: Any, u0: Any, x1: Any, u1: Any, step: Any) -> _Segment:
    """Of x and u at its ends."""
    w0, w1 = sqrt(fmax(x0, 0.0)), sqrt(fmax(x1, 0.0))
    half = fmax(0.5 * (w0 + w1), _TINY)
    d = u1 - u0
    root = sqrt(fmax(half * half - d * step * (1.0 / 3.0), half * half * 0.0625))
    rests = or_(le(w0, 0.0), le(w1, 0.0))  # at constant jerk, exactly
    mean = where(rests, (2.0 / 3.0) * half, 0.5 * (half + root))
    by_half = where(rests, 2.0 / 3.0, 0.5 + 0.5 * half / root)
    by_gain = where(rests, 0.0, step * (-1.0 / 12.0) / root)
    i0, i1 = _inverse(w0), _inverse(w1)
    ratio, gain = half / mean, step * (u0 + u1)
    by_m, by_d = (1.0 - ratio * by_half) / mean, -ratio * by_gain / mean
    one = 1.0 / (1.0 - 0.25 * gain * by_m * i1)
    follows = (
        (1.0 + 0.25 * gain * by_m * i0) * one,
        2.0 * step * ratio * one,
        (step * ratio + gain * by_d) * one,
    )
    return _Segment(mean, (w0, w1), (i0, i1), by_half, by_gain, follows, (x0 + gain * ratio - x1) * one)


def _inverse(speed: Any) -> Any:
    moves = lt(0.0, speed)
    return where(moves, 1.0 / where(moves, speed, 1.0), 0.0)


def smoothest(
    along: SmoothValues,
    limits: SmoothLimits,
    steps: Any,
    caps: Any,
    start: tuple[Any, Any],
    barrier: tuple[Any, Any],
    moving: tuple[Any, Any],
) -> SmoothTiming:
    """The fastest x and u along segments of lengths ``steps`` (n,), x being below ``caps`` (n + 1,), from x and u
    (n + 1,) within the limits, whose ends x keeps.

    ``barrier``: the weight μ [s] of the logarithms at first and at last.  ``moving``: 1 for an end at which u is free,
    0 for one where it stays as it is, as at rest.
    """
    first_of, last_of = barrier
    _, slowest = scan(lambda state, row: (state, 1.0 / sqrt(fmin(row[0], row[1]))), (), (caps[:-1], caps[1:]))
    given = [along.first[:-1], along.second[:-1], along.rates, along.bends, along.thirds]
    given += [SmoothLimits(limits.lower[:-1], limits.upper[:-1], limits.least_jerk, limits.most_jerk)]
    if along.rest is not None:
        given.append(along.rest[:-1])

    rest = None if along.rest is None else along.rest[len(steps)]

    def rows(x: Any, u: Any) -> tuple[Any, ...]:
        return (x[:-1], u[:-1], x[1:], u[1:], steps, caps[:-1], slowest, *given)

    def newton(x: Any, u: Any, mu: Any) -> tuple[Any, Any]:
        """The change of x and u."""

        def back(state: tuple[Any, ...], row: Any) -> tuple[tuple[Any, ...], Any]:
            x0, u0, x1, u1, step, cap, slowest, *values = row
            own = _segment(x0, u0, x1, u1, step)
            h, g = _stage(x0, u0, x1, u1, step, (cap, slowest), own, values, mu)
            state, gains = _swept(state, h, g, own.follows, own.off)
            return state, (*gains, *own.follows, own.off)

        n = len(steps)
        (p_xu, p_uu), (_, p_u) = _of_second_order(
            x[n], u[n], along.first[n], along.second[n], rest, limits.lower[n], limits.upper[n], mu, also_x=False
        )
        free = moving[1]
        first = (0.0 * mu, p_xu, p_uu, 0.0 * mu, p_u)
        gamma = (1.0 + 0.0 * mu, 0.0 * mu, 0.0 * mu, 1.0 - free)  # of ν: rows x, u
        dual = (0.0 * mu, 0.0 * mu, -free - 0.0 * mu, 0.0 * mu, 0.0 * mu)
        (value, gamma, dual), gains = scan(back, (first, gamma, dual), rows(x, u), backward=True)
        _, _, p_uu, _, p_u = value
        g_x, g_y = gamma[2], gamma[3]
        s_xx, s_xy, s_yy, t_x, t_y = dual
        by = moving[0] / where(lt(0.0, p_uu), p_uu, 1.0)
        s_xx, s_xy, s_yy = s_xx - by * g_x * g_x, s_xy - by * g_x * g_y, s_yy - by * g_y * g_y
        t_x, t_y = t_x - by * g_x * p_u, t_y - by * g_y * p_u
        whole = s_xx * s_yy - s_xy * s_xy
        whole = where(lt(_TINY, fabs(whole)), whole, 1.0)
        ν_x, ν_y = (s_xy * t_y - s_yy * t_x) / whole, (s_xy * t_x - s_xx * t_y) / whole
        du = -by * (p_u + g_x * ν_x + g_y * ν_y)

        def forth(state: tuple[Any, Any], row: Any) -> tuple[tuple[Any, Any], Any]:
            dx, du = state
            k_x, k_u, k, k_a, k_b, one, double, beta, off = row
            d = k_x * dx + k_u * du + k + k_a * ν_x + k_b * ν_y
            following = one * dx + double * du + beta * d + off, du + d
            return following, following

        _, (dx, after) = scan(forth, (0.0 * mu, du), gains)
        nothing = array([0.0 * mu])  # at the ends that is exact, where the sweeps leave what rounding leaves
        last = array([moving[1] * after[-1]])
        return np.concatenate([nothing, dx[:-1], nothing]), np.concatenate([array([du]), after[:-1], last])

    def room(x: Any, u: Any, dx: Any, du: Any, part: Any) -> Any:
        """The least share that is left of the room to a limit, after part of a step."""

        def one(least: Any, row: Any) -> tuple[Any, None]:
            (x0, u0, x1, u1, step, cap, slowest, *values), (dx0, du0, dx1, du1) = row
            given = le(x0, 0.0)  # an end that does not change
            now = x0, u0, x1, u1
            then = x0 + part * dx0, u0 + part * du0, x1 + part * dx1, u1 + part * du1
            least = _least_room(least, (now, then), step, (cap, slowest), values, given)
            return where(lt(fabs(dx1) + fabs(du1), _FAR), least, -1.0), None  # no numbers are no step

        n = len(steps)
        ends = (x[n], u[n]), (x[n] + part * dx[n], u[n] + part * du[n])
        own = along.first[n], along.second[n], limits.lower[n], limits.upper[n], *(() if rest is None else (rest,))
        least = _least_of_second_order(1.0 + 0.0 * part, ends, own)
        both = rows(x, u), (dx[:-1], du[:-1], dx[1:], du[1:])
        return scan(one, least, both)[0]

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, u, mu, _, steps, at_last = state
        dx, du = newton(x, u, mu)

        def shorter(state: tuple[Any, Any]) -> tuple[Any, Any]:
            part, left = state
            part = part * fmin(fmax(_TOWARDS / fmax(1.0 - left, 1e-3), 0.3), 0.9)
            return part, room(x, u, dx, du, part)

        part = 1.0 + 0.0 * mu
        part, left = while_loop(
            lambda s: not_(le(1.0 - _TOWARDS, s[1])), shorter, (part, room(x, u, dx, du, part)), at_most=_HALVINGS
        ).state
        part = where(le(1.0 - _TOWARDS, left), part, 0.0)  # of a step that rounding spoilt, too
        biggest = scan(
            lambda most, row: (fmax(most, fabs(row[1]) / (row[0] + _TINY)), None), 0.0 * mu, (x[1:-1], dx[1:-1])
        )[0]
        last = le(mu, last_of * (1.0 + 1e-9))
        at_last = where(last, at_last + 1.0, 0.0)
        done = or_(and_(last, or_(lt(biggest, _CLOSE), le(float(_POLISH), at_last))), le(part, 0.0))
        following = where(lt(0.5, part), fmax(mu * _LESS, last_of), mu)
        x, u = _moved(x, dx, part), _moved(u, du, part)
        return x, u, following, where(done, 1.0, 0.0), steps + 1.0, at_last

    zero = 0.0 * first_of
    found = while_loop(lambda s: lt(s[3], 0.5), step, (*start, first_of, zero, zero, zero), at_most=_STEPS).state
    return SmoothTiming(found[0], found[1], found[4])


def _moved(x: Any, dx: Any, part: Any) -> Any:
    return scan(lambda state, row: (state, where(lt(0.0, part), row[0] + part * row[1], row[0])), (), (x, dx))[1]


def _swept(
    state: tuple[Any, ...], h: Sequence[Any], g: Sequence[Any], follows: Sequence[Any], off: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """From what follows on a segment's end, as a function of x and u there, to its beginning, and the gains of δ.

    x_1 = one x + double u + beta δ + off, u_1 = u + δ.
    """
    (p_xx, p_xu, p_uu, p_x, p_u), (a_x, a_u, b_x, b_u), (s_aa, s_ab, s_bb, t_a, t_b) = state
    one, double, beta = follows
    h_xx, h_xu, h_xd, h_uu, h_ud, h_dd = h
    g_x, g_u, g_d = g
    p_x, p_u = p_x + p_xx * off, p_u + p_xu * off
    t_a, t_b = t_a + a_x * off, t_b + b_x * off
    xu, xd = p_xx * double + p_xu, p_xx * beta + p_xu
    uu, ud = p_xu * double + p_uu, p_xu * beta + p_uu
    h_xx, h_xu, h_xd = h_xx + one * one * p_xx, h_xu + one * xu, h_xd + one * xd
    h_uu, h_ud, h_dd = h_uu + double * xu + uu, h_ud + double * xd + ud, h_dd + beta * xd + ud
    g_x, g_u, g_d = g_x + one * p_x, g_u + double * p_x + p_u, g_d + beta * p_x + p_u
    a_d, b_d = beta * a_x + a_u, beta * b_x + b_u
    a_x, a_u, b_x, b_u = one * a_x, double * a_x + a_u, one * b_x, double * b_x + b_u
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


def _of_second_order(
    x: Any, u: Any, first: Any, second: Any, rest: Any, lower: Any, upper: Any, mu: Any, *, also_x: bool = True
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Second and first derivatives of the barrier to limits of second order, by x and u."""

    def one(state: tuple[Any, ...], row: Any) -> tuple[tuple[Any, ...], None]:
        xx, xu, uu, gx, gu = state
        a, b, low, high, *c = row
        value = a * u + b * x + (c[0] if c else 0.0)
        above, below = 1.0 / (high - value), 1.0 / (value - low)
        g = mu * (above - below)
        h = mu * (above * above + below * below)
        hb = h * b
        return (xx + hb * b, xu + hb * a, uu + h * a * a, gx + g * b, gu + g * a), None

    nothing = 0.0 * mu
    rows = (first, second, lower, upper, *(() if rest is None else (rest,)))
    xx, xu, uu, gx, gu = scan(one, (nothing,) * 5, rows)[0]
    return ((xx, xu, uu), (gx, gu)) if also_x else ((xu, uu), (gx, gu))


def _stage(
    x0: Any,
    u0: Any,
    x1: Any,
    u1: Any,
    step: Any,
    caps: tuple[Any, Any],
    own: _Segment,
    values: Sequence[Any],
    mu: Any,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Second and first derivatives of a segment's time and its barriers, by x, u and δ."""
    first, second, rates, bends, thirds, limits, *rest = values
    (xx, xu, uu), (gx, gu) = _of_second_order(
        x0, u0, first, second, rest[0] if rest else None, limits.lower, limits.upper, mu
    )
    cap, slowest = caps
    # x above 0 and below its cap; ends that are given do not change, and have none
    moves = lt(0.0, x0)
    above, below = 1.0 / where(lt(x0, cap), cap - x0, 1.0), where(moves, 1.0 / where(moves, x0, 1.0), 0.0)
    gx, xx = gx + mu * (above - below), xx + mu * (above * above + below * below)
    # 1/w of x_0, x_1 and δ
    slow = 1.0 / own.mean
    (w0, w1), (i0, i1) = own.speeds, own.inverses
    w = fmax(w0 + w1, _TINY)
    one, double, along = own.follows
    by = -0.25 * slow * slow * own.by_half
    q0, q1 = by * i0, by * i1
    cx, cu, cd = q0 + q1 * one, q1 * double, q1 * along - slow * slow * own.by_gain
    # the time, Δ/w
    q00 = step * slow / w * i0 * i0 * (0.5 / w + 0.25 * i0)
    q11 = step * slow / w * i1 * i1 * (0.5 / w + 0.25 * i1)
    q01 = step * slow / w * i0 * i1 * (0.5 / w)
    across = q01 + q11 * one
    gx, gu, gd = gx + step * cx, gu + step * cu, step * cd
    xx, xu, xd = xx + q00 + one * (q01 + across), xu + across * double, across * along
    uu, ud, dd = uu + q11 * double * double, q11 * double * along, q11 * along * along
    # jerk, at both ends
    per = 1.0 / step
    d = u1 - u0
    # the mean speed is below the cap, too, so that nothing is gained by swinging between the ends of segments
    inside = 1.0 / (slow - slowest)
    gc, cc = -mu * inside, mu * inside * inside
    nothing = 0.0 * mu
    state = gx, gu, gd, gc, xx, xu, xd, uu, ud, dd, nothing, nothing, nothing, cc
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
            jx, ju, jd = (b, c, p) if not end else (b * one, b * double + c, b * along + c + p)
            # room to both sides: up and down times 1/w, less and more p δ
            up, down, value = most - speed * bent, least - speed * bent, p * d
            above, below = 1.0 / (up * slow - value), 1.0 / (value - down * slow)
            g, gq = mu * (above - below), mu * (down * below - up * above)
            above, below = mu * above * above, mu * below * below
            h, hq, m = above + below, up * above + down * below, up * up * above + down * down * below
            hx, hu = h * jx, h * ju
            first = gx + g * jx, gu + g * ju, gd + g * jd, gc + gq
            own = xx + hx * jx, xu + hx * ju, xd + hx * jd, uu + hu * ju, ud + hu * jd, dd + h * jd * jd
            return (*first, *own, ax + hq * jx, au + hq * ju, ad + hq * jd, cc + m), None

        state = scan(of_joint, state, (rates[end], bends[end], thirds[end], limits.least_jerk, limits.most_jerk))[0]
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
    return (xx, xu, xd, uu, ud, dd), (gx, gu, gd)


def _least_room(
    least: Any, both: Sequence[tuple[Any, ...]], step: Any, caps: tuple[Any, Any], values: Sequence[Any], given: Any
) -> Any:
    """The least share of the rooms to all limits on a segment that is left from one motion to another."""
    first, second, rates, bends, thirds, limits, *rest = values
    own = [_segment(x0, u0, x1, u1, step) for x0, u0, x1, u1 in both]
    x0, x = both[0][0], both[1][0]
    shares = (
        where(given, 1.0, x / where(given, 1.0, x0)),
        where(given, 1.0, (caps[0] - x) / where(given, 1.0, caps[0] - x0)),
        (1.0 / own[1].mean - caps[1]) / (1.0 / own[0].mean - caps[1]),
    )
    for share in shares:
        least = fmin(least, share)
    least = _least_of_second_order(least, both, (first, second, limits.lower, limits.upper, *rest))
    per = 1.0 / step

    def one(least: Any, row: Any) -> tuple[Any, None]:
        rates, bends, thirds, low, high = row
        for end in range(2):
            found = []
            for (x0, u0, x1, u1), segment in zip(both, own, strict=True):
                slow, (x, u) = 1.0 / segment.mean, ((x0, u0), (x1, u1))[end]
                bent = segment.speeds[end] * slow * (thirds[end] * x + 3.0 * bends[end] * u)
                value = bent + rates[end] * per * (u1 - u0)
                found.append((high * slow - value, value - low * slow))
            for before, after in zip(*found, strict=True):
                least = fmin(least, after / before)
        return least, None

    def columns(x: Any) -> Any:
        return np.stack([x[0], x[1]], axis=-1)

    rows = (columns(rates), columns(bends), columns(thirds), limits.least_jerk, limits.most_jerk)
    return scan(one, least, rows)[0]


def _least_of_second_order(least: Any, both: Sequence[tuple[Any, ...]], rows: Any) -> Any:
    """Of limits of second order, from x and u to others."""

    def one(least: Any, row: Any) -> tuple[Any, None]:
        a, b, low, high, *c = row
        found = []
        for x, u, *_ in both:
            value = a * u + b * x + (c[0] if c else 0.0)
            found.append((high - value, value - low))
        for before, after in zip(*found, strict=True):
            least = fmin(least, after / before)
        return least, None

    return scan(one, least, rows)[0]
