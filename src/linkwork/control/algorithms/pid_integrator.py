"""PID control of single numbers whose force is bounded, the integral kept from winding up.

    u = k_p e + k_d ė + I + u_0,     τ = u within its bounds,     İ = k_i e + (what saturation takes from the integral).

While τ is at a bound the integral has no effect, and what it sums up then has to be taken back later, as overshoot.
*Clamping* leaves out what would lead farther beyond the bound; *back-calculation* lets the integral follow what the
force is, İ = k_i e + (τ − u)/T_t, with a tracking time T_t.

Source: Åström and Hägglund, Advanced PID Control, ISA 2006, section 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import and_, lt, or_, where

__all__ = ["AntiWindup", "bounded", "integrated"]

Scalars = Sequence[Any]
AntiWindup = Literal["clamping", "back_calculation", "none"]

_INF = float("inf")


def bounded(tau: Scalars, limits: Scalars) -> list[Any]:
    """|τ| ≤ limits, where these are finite; what is no number stays so."""
    return [x if b == _INF else where(lt(b, x), b, where(lt(x, -b), -b, x)) for x, b in zip(tau, limits, strict=True)]


def integrated(
    integral: Scalars,
    error: Scalars,
    u: Scalars,
    tau: Scalars,
    k_i: Scalars,
    h: float,
    anti_windup: AntiWindup,
    tracking_time: Scalars,
) -> list[Any]:
    """I after a step h [s] in which u was asked for and τ exerted."""
    result = []
    for total, e, wanted, force, gain, time in zip(integral, error, u, tau, k_i, tracking_time, strict=True):
        change = gain * e
        if anti_windup == "clamping":
            outward = or_(and_(lt(force, wanted), lt(0.0, change)), and_(lt(wanted, force), lt(change, 0.0)))
            change = where(outward, 0.0, change)
        elif anti_windup == "back_calculation" and not is_zero(gain):
            # by no more than what is beyond, however short the tracking time is
            change = change + (force - wanted) / max(time, h)
        result.append(total + h * change)
    return result
