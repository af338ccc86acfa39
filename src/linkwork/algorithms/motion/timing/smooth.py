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
from .smooth_segment import TINY, least_of_second_order, least_room, of_second_order, segment_of, stage

__all__ = ["SmoothLimits", "SmoothTiming", "SmoothValues", "smoothest"]

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

        def of_segment(state: Any, row: Any) -> tuple[Any, Any]:
            x0, u0, x1, u1, step, cap, slowest, *values = row
            own = segment_of(x0, u0, x1, u1, step)
            h, g = stage(x0, u0, x1, u1, step, (cap, slowest), own, values, mu)
            return state, (h, g, own.follows, own.off)

        def back(state: tuple[Any, ...], row: Any) -> tuple[tuple[Any, ...], Any]:
            h, g, follows, off = row
            state, gains = _swept(state, h, g, follows, off)
            return state, (*gains, *follows, off)

        n = len(steps)
        (p_xu, p_uu), (_, p_u) = of_second_order(
            x[n], u[n], along.first[n], along.second[n], rest, limits.lower[n], limits.upper[n], mu, also_x=False
        )
        free = moving[1]
        first = (0.0 * mu, p_xu, p_uu, 0.0 * mu, p_u)
        gamma = (1.0 + 0.0 * mu, 0.0 * mu, 0.0 * mu, 1.0 - free)  # of ν: rows x, u
        dual = (0.0 * mu, 0.0 * mu, -free - 0.0 * mu, 0.0 * mu, 0.0 * mu)
        _, stages = scan(of_segment, (), rows(x, u))  # side by side, what follows is one after the other
        (value, gamma, dual), gains = scan(back, (first, gamma, dual), stages, backward=True)
        _, _, p_uu, _, p_u = value
        g_x, g_y = gamma[2], gamma[3]
        s_xx, s_xy, s_yy, t_x, t_y = dual
        by = moving[0] / where(lt(0.0, p_uu), p_uu, 1.0)
        s_xx, s_xy, s_yy = s_xx - by * g_x * g_x, s_xy - by * g_x * g_y, s_yy - by * g_y * g_y
        t_x, t_y = t_x - by * g_x * p_u, t_y - by * g_y * p_u
        whole = s_xx * s_yy - s_xy * s_xy
        whole = where(lt(TINY, fabs(whole)), whole, 1.0)
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

        def one(state: Any, row: Any) -> tuple[Any, Any]:
            (x0, u0, x1, u1, step, cap, slowest, *values), (dx0, du0, dx1, du1) = row
            given = le(x0, 0.0)  # an end that does not change
            now = x0, u0, x1, u1
            then = x0 + part * dx0, u0 + part * du0, x1 + part * dx1, u1 + part * du1
            least = least_room(1.0 + 0.0 * part, (now, then), step, (cap, slowest), values, given)
            return state, where(lt(fabs(dx1) + fabs(du1), _FAR), least, -1.0)  # no numbers are no step

        n = len(steps)
        ends = (x[n], u[n]), (x[n] + part * dx[n], u[n] + part * du[n])
        own = along.first[n], along.second[n], limits.lower[n], limits.upper[n], *(() if rest is None else (rest,))
        least = least_of_second_order(1.0 + 0.0 * part, ends, own)
        both = rows(x, u), (dx[:-1], du[:-1], dx[1:], du[1:])
        _, shares = scan(one, (), both)
        return scan(lambda least, share: (fmin(least, share), None), least, shares)[0]

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
            lambda most, row: (fmax(most, fabs(row[1]) / (row[0] + TINY)), None), 0.0 * mu, (x[1:-1], dx[1:-1])
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
    inverse = 1.0 / fmax(h_dd, TINY)
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
