"""Compliant forces: Hunt-Crossley contacts with regularised Coulomb friction, and stops of joints.

    f_n = k δ^(3/2) (1 + 3/2 c δ̇) ≥ 0,    f_t = −μ f_n v_t/√(v_t² + v_s²)

δ is the overlap of two surfaces, with the exponent of Hertz's spheres, and v_t the sliding velocity.  After an impact
with speed u a body rises with about (1 − c u) u.  This friction does not stick: a body that Coulomb friction would hold
creeps, slower than v_s under a load below 0.7 μ f_n.

Source: Hunt and Crossley, Coefficient of restitution interpreted as damping in vibroimpact, Journal of Applied
Mechanics 42, 1975.

Compliant stops at joint limits: beyond a limit by a depth d > 0, with rate ḋ,

    f = max(0, k d + b s(d/w) ḋ),     s(x) = x² (3 − 2 x) for 0 ≤ x ≤ 1,

a spring and a damper that never pull.  The damper grows over the first w of depth, so the force has no jump at the
limit, and its slope is continuous for methods of high order.

Source: MSC Software, Adams documentation, the IMPACT function; Todorov, Erez and Tassa, MuJoCo: A physics engine for
model-based control, IROS 2012 (a spring and a damper by a time and a ratio of damping).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import fmax, fmin, lt, sqrt, where

__all__ = ["SLIDING", "compliant_force", "stop_force"]


SLIDING = 1e-2  # [m/s] v_s, a property of the material, as the stiffness is


def compliant_force(c: Sequence[Any], gap: Any, friction: Any, stiffness: Any, dissipation: Any) -> list[Any]:
    """Return the force (3) [N] of a compliant contact along two tangents and the normal.

    c (3) is the contact's velocity along these axes [m/s], and ``gap`` [m] is negative inside.
    """
    within = lt(gap, 0.0)
    deep = where(within, -gap, 1.0)  # without overlap the root of 1, whose slope is finite
    push = where(within, stiffness * deep * sqrt(deep) * fmax(1.0 - 1.5 * dissipation * c[2], 0.0), 0.0)
    drag = friction * push / sqrt(c[0] * c[0] + c[1] * c[1] + SLIDING * SLIDING)
    return [-drag * c[0], -drag * c[1], push]


def stop_force(depth: Any, rate: Any, stiffness: Any, damping: Any, transition: float) -> Any:
    """Return the force f ≥ 0 of a compliant stop at a ``depth`` beyond the limit, which is negative before it.

    The damper grows over the depth ``transition``.
    """
    within = lt(0.0, depth)
    d = where(within, depth, 0.0)
    x = fmin(d / transition, 1.0)
    return where(within, fmax(stiffness * d + damping * (x * x * (3.0 - 2.0 * x)) * rate, 0.0), 0.0)
