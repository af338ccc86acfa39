"""Forces of compliant contacts: Hunt and Crossley's along the normal, and Coulomb's friction without a jump.

    f_n = k δ^(3/2) (1 + 3/2 c δ̇)  where that pushes,    f_t = −μ f_n v_t/√(v_t² + v_s²)

δ is how deep two surfaces overlap, as spheres of Hertz's do, and v_t how fast they slide.  What falls at a speed u
rises at about (1 − c u) u.  Friction as it is here does not stick: what Coulomb's would hold creeps, slower than v_s
while it takes less than 0.7 of what holds at most.

Source: Hunt and Crossley, Coefficient of restitution interpreted as damping in vibroimpact, Journal of Applied
Mechanics 42, 1975.

Compliant stops: what limits of joints exert where forces follow from the state.

Beyond a limit by a depth d > 0, at a rate ḋ,

    f = max(0, k d + b s(d/w) ḋ),     s(x) = x² (3 − 2 x) within 0 ≤ x ≤ 1,

a spring and a damper that never pull; the damper grows over the first w of depth, so that nothing is struck with a jump
of force, and methods of any order see a continuous slope of it.

Source: MSC Software, Adams documentation, the IMPACT function; Todorov, Erez and Tassa, MuJoCo: A physics engine for
model-based control, IROS 2012 (a spring and a damper by a time and a ratio of damping).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import fmax, fmin, lt, sqrt, where

__all__ = ["SLIDING", "compliant_force", "stop_force"]


SLIDING = 1e-2  # [m/s] v_s


def compliant_force(c: Sequence[Any], gap: Any, friction: Any, stiffness: Any, dissipation: Any) -> list[Any]:
    """The force (3) on what moves at c (3), by two tangents and the normal, at a ``gap`` (negative inside)."""
    within = lt(gap, 0.0)
    deep = where(within, -gap, 1.0)  # of what is apart the root of another number, whose slope is finite
    push = where(within, stiffness * deep * sqrt(deep) * fmax(1.0 - 1.5 * dissipation * c[2], 0.0), 0.0)
    drag = friction * push / sqrt(c[0] * c[0] + c[1] * c[1] + SLIDING * SLIDING)
    return [-drag * c[0], -drag * c[1], push]


def stop_force(depth: Any, rate: Any, stiffness: Any, damping: Any, transition: float) -> Any:
    """f ≥ 0, against the depth (negative: before the limit)."""
    within = lt(0.0, depth)
    d = where(within, depth, 0.0)
    x = fmin(d / transition, 1.0)
    return where(within, fmax(stiffness * d + damping * (x * x * (3.0 - 2.0 * x)) * rate, 0.0), 0.0)
