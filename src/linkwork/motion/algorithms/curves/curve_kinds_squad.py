"""Curves of spherical quadrangles: two geodesics of a piece, and what lies between them.

    a(u) = q_i ⊕ u φ_i,   b(u) = s_i ⊕ u ψ_i,   q(u) = a(u) ⊕ 2 u (1 − u) (b(u) ⊖ a(u)),   u in [0, 1]

Source: Shoemake, Quaternion calculus and fast animation, SIGGRAPH course notes, 1987.
"""

from __future__ import annotations

from typing import Any

from linkwork.motion.algorithms.curves.curve_kinds_kind import Arrays, CurveKind
from linkwork.motion.algorithms.curves.curve_kinds_pieces import piece_at, row
from linkwork.motion.algorithms.curves.curve_space import CurveSpace

__all__ = ["SQUAD"]


def _squad(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = piece_at(arrays["starts"], at)
    u = (s - start) * row(arrays["rates"], place)
    a = space.retract([*row(arrays["base"], place)], [u * x for x in row(arrays["steps"], place)])
    b = space.retract([*row(arrays["inner"], place)], [u * x for x in row(arrays["inner_steps"], place)])
    part = 2.0 * u * (1.0 - u)
    return space.retract(a, [part * x for x in space.local(a, b)])


SQUAD = CurveKind(
    "squad",
    (
        ("starts", ("pieces",)),
        ("rates", ("pieces",)),
        ("base", ("pieces", "nq")),
        ("steps", ("pieces", "nv")),
        ("inner", ("pieces", "nq")),
        ("inner_steps", ("pieces", "nv")),
    ),
    _squad,
)
