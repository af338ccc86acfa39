"""Impulses of contacts from the velocities there: projections onto friction cones and intervals, and how these vary.

A contact's velocity c asks for the impulse y = −(c − ĉ)/R, and gets the γ nearest to it, as R measures, of those that
friction allows: with a component along the normal that pushes, and ‖γ_t‖ ≤ μ γ_n.  γ is minus the gradient of a convex
function of c, whose Hessian is G = (∂γ/∂y)/R.

Source: Castro, Permenter and Han, An unconstrained convex formulation of compliant contact, IEEE Transactions on
Robotics 39(2), 2023, sections V and VI.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, sqrt, where

__all__ = ["cone_impulse", "interval_impulse"]

Scalars = Sequence[Any]

_LEAST = 1e-30  # of a tangential impulse: what it is divided by is never zero


def cone_impulse(y: Scalars, friction: Any, across: Any, along: Any) -> tuple[list[Any], list[list[Any]]]:
    """γ (3) of y, in axes of which the third is the normal, and ∂γ/∂y by rows.

    ``across`` and ``along`` are R of tangential impulses, and of the normal one.
    """
    x, z, n = y
    size = sqrt(x * x + z * z + _LEAST)
    per = 1.0 / size
    s, t = x * per, z * per
    hat = friction * across * (1.0 / along)
    share = 1.0 / (1.0 + friction * hat)
    sticks = le(size, friction * n)
    slides = lt(-hat * size, n)
    normal = (n + hat * size) * share
    pull = friction * normal * per
    slope = friction * hat * share
    first = [where(sticks, x, where(slides, friction * normal * s, 0.0))]
    first.append(where(sticks, z, where(slides, friction * normal * t, 0.0)))
    first.append(where(sticks, n, where(slides, normal, 0.0)))

    def chosen(stuck: float, moving: Any) -> Any:
        return where(sticks, stuck, where(slides, moving, 0.0))

    xx = chosen(1.0, pull * t * t + slope * s * s)
    zz = chosen(1.0, pull * s * s + slope * t * t)
    xz = chosen(0.0, (slope - pull) * s * t)
    xn = chosen(0.0, friction * share * s)
    zn = chosen(0.0, friction * share * t)
    nx = chosen(0.0, hat * share * s)
    nz = chosen(0.0, hat * share * t)
    return first, [[xx, xz, xn], [xz, zz, zn], [nx, nz, chosen(1.0, share)]]


def interval_impulse(y: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """γ within bounds nearest to y, and dγ/dy."""
    if low.__class__ is float and high.__class__ is float and -low == high == math.inf:
        return y, 1.0
    if high.__class__ is float and high == math.inf:
        return fmax(y, low), where(le(low, y), 1.0, 0.0)
    if low.__class__ is float and low == -math.inf:
        return fmin(y, high), where(le(y, high), 1.0, 0.0)
    inside = and_(le(low, y), le(y, high))
    return fmin(fmax(y, low), high), where(inside, 1.0, 0.0)
