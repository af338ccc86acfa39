"""Curves of polynomial pieces: in plain numbers, and in the local coordinates of a configuration.

polynomial:    q(s) = Σ c_k u^k, all coordinates on the same pieces, u = s − s_i;
retracted:     q(s) = q_i ⊕ Σ c_k u^k: from a configuration on, along the manifold;
by_coordinate: q(s) = q_0 ⊕ x(s), each coordinate x_j on pieces of its own.
"""

from __future__ import annotations

from typing import Any

from linkwork.motion.algorithms.curves.curve_kinds_kind import Arrays, CurveKind
from linkwork.motion.algorithms.curves.curve_kinds_pieces import piece_at, polynomial, row
from linkwork.motion.algorithms.curves.curve_space import CurveSpace

__all__ = ["BY_COORDINATE", "POLYNOMIAL", "RETRACTED"]


def _polynomial(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = piece_at(arrays["starts"], at)
    return [polynomial(c, s - start) for c in row(arrays["coefficients"], place)]


def _retracted(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = piece_at(arrays["starts"], at)
    phi = [polynomial(c, s - start) for c in row(arrays["coefficients"], place)]
    return space.retract([*row(arrays["base"], place)], phi)


def _by_coordinate(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    x = []
    for starts, coefficients in zip(arrays["starts"], arrays["coefficients"], strict=True):
        place, start = piece_at(starts, at)
        x.append(polynomial([*row(coefficients, place)], s - start))
    return space.retract([*arrays["base"]], x)


POLYNOMIAL = CurveKind(
    "polynomial", (("starts", ("pieces",)), ("coefficients", ("pieces", "nv", "terms"))), _polynomial
)
RETRACTED = CurveKind(
    "retracted",
    (("starts", ("pieces",)), ("base", ("pieces", "nq")), ("coefficients", ("pieces", "nv", "terms"))),
    _retracted,
)
BY_COORDINATE = CurveKind(
    "by_coordinate",
    (("starts", ("nv", "pieces")), ("base", ("nq",)), ("coefficients", ("nv", "pieces", "terms"))),
    _by_coordinate,
)
