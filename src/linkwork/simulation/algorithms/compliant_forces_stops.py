"""Compliant stops: what limits of joints exert where forces follow from the state.

Beyond a limit by a depth d > 0, at a rate ḋ,

    f = max(0, k d + b s(d/w) ḋ),     s(x) = x² (3 − 2 x) within 0 ≤ x ≤ 1,

a spring and a damper that never pull; the damper grows over the first w of depth, so that nothing is struck with a jump
of force, and methods of any order see a continuous slope of it.

Source: MSC Software, Adams documentation, the IMPACT function; Todorov, Erez and Tassa, MuJoCo: A physics engine for
model-based control, IROS 2012 (a spring and a damper by a time and a ratio of damping).
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.scalar.functions import fmax, fmin, lt, where

__all__ = ["stop_force"]


def stop_force(depth: Any, rate: Any, stiffness: Any, damping: Any, transition: float) -> Any:
    """f ≥ 0, against the depth (negative: before the limit)."""
    within = lt(0.0, depth)
    d = where(within, depth, 0.0)
    x = fmin(d / transition, 1.0)
    return where(within, fmax(stiffness * d + damping * (x * x * (3.0 - 2.0 * x)) * rate, 0.0), 0.0)
