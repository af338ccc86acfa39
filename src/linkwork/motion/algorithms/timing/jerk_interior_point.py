"""The fastest way along a path within limits of jerk too: s̈ is continuous, and linear in time on each segment.

Along a path q(s), a = q' s̈ + q'' ṡ² and the jerk is q' s⃛ + 3 q'' ṡ s̈ + q''' ṡ³.  With x = ṡ² and u = s̈ at the ends of
segments, and on one of length Δ δ what u gains, m the mean of ṡ at its ends and w the mean speed,

    w² − w m + δ Δ/12 = 0,     x_1 = x_0 + Δ (2 u_0 + δ) m/w,     s⃛ = δ w/Δ

so that limits of jerk are lower/w ≤ (ṡ/w) (q''' x + 3 q'' u) + q' δ/Δ ≤ upper/w.  1/w is convex in x: where tangents
stand in its place limits are narrower, and linear.  Each of Newton's steps solves for the change of x and u that the
barrier μ Σ −log(room) to all limits asks for, by a sweep backward and one forward (Riccati's), its two conditions at
the end by multipliers; every motion on the way is within the limits.

The functions here are parts of that step, of one segment or of some of them, so that a path may have any number of
segments: sweeps hand on what they carry.

Sources: Debrouwere, Van Loock, Pipeleers, Tran Dinh, Diehl, De Schutter and Swevers, Time-optimal path following for
robots with convex-concave constraints using sequential convex programming, 2013; Verscheure, Demeulenaere, Swevers, De
Schutter and Diehl, Time-optimal path tracking for robots: a convex optimization approach, 2009; Rao, Wright and
Rawlings, Application of interior-point methods to model predictive control, 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan
from linkwork.expr.scalar.functions import fabs, fmax, le, lt, where
from linkwork.motion.algorithms.timing.jerk_segment import (
    TINY,
    least_of_second_order,
    least_room,
    of_second_order,
    segment_of,
    stage,
)

__all__ = [
    "CARRIED",
    "STAGE",
    "SmoothLimits",
    "SmoothValues",
    "last_stage",
    "rooms_left",
    "rooms_left_at_end",
    "stage_of",
    "sweep_gains",
    "sweep_steps",
]

CARRIED = 14  # numbers that a sweep backward hands on: value (5), what conditions at the end make of it (4) and (5)
STAGE = 13  # numbers of a segment: second derivatives (6), first (3), how x follows (3), and by how much it does not
_FAR = 1e300


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


def stage_of(motion: Sequence[Any], along: SmoothValues, limits: SmoothLimits, numbers: Sequence[Any], mu: Any) -> Any:
    """Return what Newton's step needs of one segment: `STAGE` numbers.

    ``motion`` is x and u at its beginning, x and u at its end; ``numbers`` are its length, the largest x at its
    beginning, one over the largest mean speed, and by how much δ Δ/3 may be larger than the square of the mean of the
    speeds at its ends.
    """
    x0, u0, x1, u1 = motion
    step, *caps = numbers
    own = segment_of(x0, u0, x1, u1, step)
    rest = () if along.rest is None else (along.rest,)
    values = [*along[:5], limits, *rest]
    h, g = stage(x0, u0, x1, u1, step, (caps[0], caps[1], caps[2]), own, values, mu)
    return array([*h, *g, *own.follows, own.off])


def last_stage(x: Any, u: Any, along: SmoothValues, limits: SmoothLimits, mu: Any) -> Any:
    """Return (p_xu, p_uu, p_u) of the limits of second order at the end of the last segment."""
    (xu, uu), (_, u) = of_second_order(
        x, u, along.first, along.second, along.rest, limits.lower, limits.upper, mu, also_x=False
    )
    return array([xu, uu, u])


def sweep_gains(stages: Any, carried: Any) -> tuple[Any, Any]:
    """Return what the segments hand on backward (`CARRIED`), from what comes after them, and the gains (n, 5) of δ."""

    def back(state: tuple[Any, ...], row: Any) -> tuple[tuple[Any, ...], Any]:
        h, g, follows = row[:6], row[6:9], row[9:12]
        found, gains = _swept((state[:5], state[5:9], state[9:]), [*h], [*g], [*follows], row[12])
        value, gamma, dual = found
        return (*value, *gamma, *dual), array(list(gains))

    state, gains = scan(back, tuple(carried), stages, reverse=True)
    return array(list(state)), gains


def sweep_steps(gains: Any, stages: Any, multipliers: Any, change: Any) -> tuple[Any, Any]:
    """Return how x and u change at the ends of segments (n, 2), from how they change at their beginning, and the last
    of these."""
    ν_x, ν_y = multipliers

    def forth(state: tuple[Any, Any], row: Any) -> tuple[tuple[Any, Any], Any]:
        dx, du = state
        (k_x, k_u, k, k_a, k_b), stage = row
        one, double, beta, off = stage[9], stage[10], stage[11], stage[12]
        d = k_x * dx + k_u * du + k + k_a * ν_x + k_b * ν_y
        following = one * dx + double * du + beta * d + off, du + d
        return following, array(list(following))

    last, changes = scan(forth, (change[0], change[1]), (gains, stages))
    return changes, array(list(last))


def rooms_left(
    motion: Sequence[Any],
    change: Sequence[Any],
    part: Any,
    along: SmoothValues,
    limits: SmoothLimits,
    numbers: Sequence[Any],
) -> Any:
    """Return the least share of the rooms to all limits of one segment that is left after part of a change of x and u
    at both of its ends."""
    step, *caps = numbers
    then = [x + part * dx for x, dx in zip(motion, change, strict=True)]
    rest = () if along.rest is None else (along.rest,)
    values = [*along[:5], limits, *rest]
    given = le(motion[0], 0.0)  # an end that does not change
    least = least_room(1.0 + 0.0 * part, (tuple(motion), tuple(then)), step, (caps[0], caps[1], caps[2]), values, given)
    return where(lt(fabs(change[2]) + fabs(change[3]), _FAR), least, -1.0)  # no numbers are no step


def rooms_left_at_end(ends: Sequence[Any], along: SmoothValues, limits: SmoothLimits) -> Any:
    """The same of limits of second order at the end of the last segment: from x and u to others."""
    x, u, then_x, then_u = ends
    rest = () if along.rest is None else (along.rest,)
    own = along.first, along.second, limits.lower, limits.upper, *rest
    return least_of_second_order(1.0 + 0.0 * x, ((x, u), (then_x, then_u)), own)


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
