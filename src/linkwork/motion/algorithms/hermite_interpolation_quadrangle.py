"""Inner points of spherical quadrangles.

At a point q with neighbours h_0 before and h_1 after it, the inner point s makes the velocities on both sides the same:

    s ⊖ q = −(φ_0 / h_0 + φ_1 / h_1) / (2/h_0 + 2/h_1),

φ_0 and φ_1 the local coordinates of the neighbours; for equal steps that is Shoemake's −(φ_0 + φ_1)/4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.motion.algorithms.curves import CurveSpace

__all__ = ["inner_point"]

Scalars = Sequence[Any]


def inner_point(space: CurveSpace, h0: Any, h1: Any, before: Scalars, q: Scalars, after: Scalars) -> list[Any]:
    """s (nq)."""
    scale = -0.5 / (1.0 / h0 + 1.0 / h1)
    both = zip(space.local(q, before), space.local(q, after), strict=True)
    return space.retract(q, [scale * (x / h0 + y / h1) for x, y in both])
