"""What a segment of a motion within limits of jerk costs, and how near it comes to limits: see `smooth`.

Its time and the barrier μ Σ −log(room) to all limits, with first and second derivatives by x = ṡ² and u = s̈ where it
begins and δ, what u gains on it; and the least share that is left of rooms from one motion to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control import scan
from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, or_, sqrt, where

__all__ = ["TINY", "SmoothSegment", "least_of_second_order", "least_room", "of_second_order", "segment_of", "stage"]

TINY = 1e-300


class SmoothSegment(NamedTuple):
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


def segment_of(x0: Any, u0: Any, x1: Any, u1: Any, step: Any) -> SmoothSegment:
    """Of x and u at its ends."""
    w0, w1 = sqrt(fmax(x0, 0.0)), sqrt(fmax(x1, 0.0))
    half = fmax(0.5 * (w0 + w1), TINY)
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
    return SmoothSegment(mean, (w0, w1), (i0, i1), by_half, by_gain, follows, (x0 + gain * ratio - x1) * one)


def _inverse(speed: Any) -> Any:
    moves = lt(0.0, speed)
    return where(moves, 1.0 / where(moves, speed, 1.0), 0.0)


def of_second_order(
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


def stage(
    x0: Any,
    u0: Any,
    x1: Any,
    u1: Any,
    step: Any,
    caps: tuple[Any, Any, Any],
    own: SmoothSegment,
    values: Sequence[Any],
    mu: Any,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Second and first derivatives of a segment's time and its barriers, by x, u and δ."""
    first, second, rates, bends, thirds, limits, *rest = values
    (xx, xu, uu), (gx, gu) = of_second_order(
        x0, u0, first, second, rest[0] if rest else None, limits.lower, limits.upper, mu
    )
    cap, slowest, steepest = caps
    # x above 0 and below its cap; ends that are given do not change, and have none
    moves = lt(0.0, x0)
    above, below = 1.0 / where(lt(x0, cap), cap - x0, 1.0), where(moves, 1.0 / where(moves, x0, 1.0), 0.0)
    gx, xx = gx + mu * (above - below), xx + mu * (above * above + below * below)
    # 1/w of x_0, x_1 and δ
    slow = 1.0 / own.mean
    (w0, w1), (i0, i1) = own.speeds, own.inverses
    w = fmax(w0 + w1, TINY)
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
    # the speed does not fall to nothing and rise again in between
    room, (a0, a1, ad), (a00, a01, a11) = _dip_of((w0, w1), (i0, i1), u1 - u0, step, steepest)
    falls = and_(lt(0.0, i0), lt(0.0, i1))  # where it does not rest at an end
    scale = where(falls, 1.0 / where(falls, room, 1.0), 0.0)
    a_x, a_u, a_d = (a0 + a1 * one) * scale, a1 * double * scale, (a1 * along + ad) * scale
    b_xx, b_x1, b_11 = a00 * scale, a01 * scale, a11 * scale
    gx, gu, gd = gx - mu * a_x, gu - mu * a_u, gd - mu * a_d
    mixed = b_x1 + b_11 * one
    xx = xx + mu * (a_x * a_x - (b_xx + one * (b_x1 + mixed)))
    xu, xd = xu + mu * (a_x * a_u - mixed * double), xd + mu * (a_x * a_d - mixed * along)
    uu, ud = uu + mu * (a_u * a_u - b_11 * double * double), ud + mu * (a_u * a_d - b_11 * double * along)
    dd = dd + mu * (a_d * a_d - b_11 * along * along)
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


def _dip_of(
    speeds: tuple[Any, Any], inverses: tuple[Any, Any], gain: Any, step: Any, steepest: Any
) -> tuple[Any, tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """Return c m² − δ Δ/3, m the mean of the speeds at both ends, which is above 0 where a motion at constant jerk is
    between them; its derivatives by x at both ends and δ; and the second ones by x."""
    (w0, w1), (i0, i1) = speeds, inverses
    half = 0.5 * (w0 + w1)
    third = step * (1.0 / 3.0)
    room = steepest * half * half - third * gain
    first = 0.5 * steepest * half * i0, 0.5 * steepest * half * i1, -third
    across = 0.125 * steepest * i0 * i1
    return room, first, (-across * w1 * w1 * i0 * i0 * (w0 * i0), across, -across * w0 * w0 * i1 * i1 * (w1 * i1))


def least_room(
    least: Any,
    both: Sequence[tuple[Any, ...]],
    step: Any,
    caps: tuple[Any, Any, Any],
    values: Sequence[Any],
    given: Any,
) -> Any:
    """The least share of the rooms to all limits on a segment that is left from one motion to another."""
    first, second, rates, bends, thirds, limits, *rest = values
    own = [segment_of(x0, u0, x1, u1, step) for x0, u0, x1, u1 in both]
    x0, x = both[0][0], both[1][0]
    shares = (
        where(given, 1.0, x / where(given, 1.0, x0)),
        where(given, 1.0, (caps[0] - x) / where(given, 1.0, caps[0] - x0)),
        (1.0 / own[1].mean - caps[1]) / (1.0 / own[0].mean - caps[1]),
    )
    for share in shares:
        least = fmin(least, share)
    dips = [
        _dip_of(one.speeds, one.inverses, at[3] - at[1], step, caps[2])[0] for one, at in zip(own, both, strict=True)
    ]
    falls = and_(lt(0.0, own[0].inverses[0]), lt(0.0, own[0].inverses[1]))
    least = fmin(least, where(falls, dips[1] / where(falls, dips[0], 1.0), 1.0))
    least = least_of_second_order(least, both, (first, second, limits.lower, limits.upper, *rest))
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


def least_of_second_order(least: Any, both: Sequence[tuple[Any, ...]], rows: Any) -> Any:
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
