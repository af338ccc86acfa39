"""Polynomials in local coordinates between two configurations, with given motion at both.

On a piece of length h, q(u) = q_0 ⊕ p(u) with p(0) = 0 and p(h) = φ = q_1 ⊖ q_0.  Where a motion leaves q_0, ⊕ is the
identity to second order: ṗ(0) = v_0 and p̈(0) = a_0 (but for floating joints that turn and go straight apart: there
p̈(0) is the rate that follows).  Where it arrives, ṗ(h) and p̈(h) are the rates of q ⊖ q_0 at
(q_1, v_1, a_1).  So v, and a of degree five, are met exactly on every manifold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.motion.algorithms.curves import CurveSpace

__all__ = ["cubic_between", "quintic_between", "straight_between"]

Scalars = Sequence[Any]


def straight_between(space: CurveSpace, h: Any, q0: Scalars, q1: Scalars) -> list[list[Any]]:
    """Coefficients (nv, 2) of the way at constant velocity: a straight line, a great circle, a screw."""
    return [[0.0, phi / h] for phi in space.local(q0, q1)]


def cubic_between(space: CurveSpace, h: Any, q0: Scalars, q1: Scalars, v0: Scalars, v1: Scalars) -> list[list[Any]]:
    """Coefficients (nv, 4) of the cubic that leaves with v_0 and arrives with v_1."""
    phi = space.local(q0, q1)
    w1, _ = space.local_rates(q0, q1, v1, [0.0] * space.nv)
    return [_cubic(h, *numbers) for numbers in zip(phi, v0, w1, strict=True)]


def quintic_between(
    space: CurveSpace, h: Any, q0: Scalars, q1: Scalars, v0: Scalars, v1: Scalars, a0: Scalars, a1: Scalars
) -> list[list[Any]]:
    """Coefficients (nv, 6) of the polynomial of degree five that leaves with v_0, a_0 and arrives with v_1, a_1."""
    phi = space.local(q0, q1)
    w1, b1 = space.local_rates(q0, q1, v1, a1)
    w0, b0 = space.local_rates(q0, q0, v0, a0) if space.apart else (v0, a0)
    return [_quintic(h, *numbers) for numbers in zip(phi, w0, w1, b0, b1, strict=True)]


def _cubic(h: Any, phi: Any, v0: Any, v1: Any) -> list[Any]:
    mean = phi / h
    return [0.0, v0, (3.0 * mean - 2.0 * v0 - v1) / h, (v0 + v1 - 2.0 * mean) / (h * h)]


def _quintic(h: Any, phi: Any, v0: Any, v1: Any, a0: Any, a1: Any) -> list[Any]:
    far = (phi / h - v0 - 0.5 * h * a0) / h  # what is left of the position, over h², of the velocity, over h, ...
    fast = (v1 - v0 - h * a0) / h
    more = a1 - a0
    return [
        0.0,
        v0,
        0.5 * a0,
        (10.0 * far - 4.0 * fast + 0.5 * more) / h,
        (-15.0 * far + 7.0 * fast - more) / (h * h),
        (6.0 * far - 3.0 * fast + 0.5 * more) / (h * h * h),
    ]
