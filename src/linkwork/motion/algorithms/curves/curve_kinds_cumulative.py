"""Curves of cumulative weights: q(s) = q_i ⊕ w_1(u) φ_1 ⊕ ... ⊕ w_k(u) φ_k, u = s − s_i, w_j polynomials.

So B-splines run along a manifold: φ_j leads from one control configuration to the next, and the weights are sums of
basis functions.

Source: Kim, Kim and Shin, A general construction scheme for unit quaternion curves with simple high order derivatives,
SIGGRAPH 1995.
"""

from __future__ import annotations

from typing import Any

from linkwork.motion.algorithms.curves.curve_kinds_kind import Arrays, CurveKind
from linkwork.motion.algorithms.curves.curve_kinds_pieces import piece_at, polynomial, row
from linkwork.motion.algorithms.curves.curve_space import CurveSpace

__all__ = ["CUMULATIVE"]


def _cumulative(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = piece_at(arrays["starts"], at)
    q = [*row(arrays["base"], place)]
    for phi, weight in zip(row(arrays["steps"], place), row(arrays["weights"], place), strict=True):
        part = polynomial(weight, s - start)
        q = space.retract(q, [part * x for x in phi])
    return q


CUMULATIVE = CurveKind(
    "cumulative",
    (
        ("starts", ("pieces",)),
        ("base", ("pieces", "nq")),
        ("steps", ("pieces", "degree", "nv")),
        ("weights", ("pieces", "degree", "terms")),
    ),
    _cumulative,
)
