"""PID integrator with anti-windup, for scalar loops with bounded force.

    u = k_p e + k_d ė + I + u_0,     τ = u clipped to its bounds,     İ = k_i e + (anti-windup term).

While τ is at a bound, the integral has no effect, but its growth causes overshoot later.  *Clamping* stops integration
that would drive u further beyond the bound.  *Back-calculation* lets the integral follow the applied force,
İ = k_i e + (τ − u)/T_t, with a tracking time T_t.

Source: Åström and Hägglund, Advanced PID Control, ISA 2006, section 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import and_, lt, or_, where

__all__ = ["AntiWindup", "bounded", "integrate_error"]

Scalars = Sequence[Any]
AntiWindup = Literal["clamping", "back_calculation", "none"]

_INF = float("inf")


def bounded(tau: Scalars, limits: Scalars) -> list[Any]:
    """Return τ clipped to ±limits where these are finite; NaN stays NaN."""
    return [x if b == _INF else where(lt(b, x), b, where(lt(x, -b), -b, x)) for x, b in zip(tau, limits, strict=True)]


def integrate_error(
    integral: Scalars,
    error: Scalars,
    u: Scalars,
    tau: Scalars,
    k_i: Scalars,
    h: float,
    anti_windup: AntiWindup,
    tracking_time: Scalars,
) -> list[Any]:
    """Return the integral terms I (n) of PID controllers after a time step h [s], with anti-windup.

    ``u`` are the forces that the controller commands, and ``tau`` those that are applied within limits.
    """
    result = []
    for total, e, command, force, gain, time in zip(integral, error, u, tau, k_i, tracking_time, strict=True):
        change = gain * e
        if anti_windup == "clamping":
            outward = or_(and_(lt(force, command), lt(0.0, change)), and_(lt(command, force), lt(change, 0.0)))
            change = where(outward, 0.0, change)
        elif anti_windup == "back_calculation" and not is_zero(gain):
            # the correction of a step is at most the excess, also for a tracking time shorter than h
            change = change + (force - command) / max(time, h)
        result.append(total + h * change)
    return result
