"""Which kinds of curves there are: an entry each.

Curves of cumulative weights: q(s) = q_i ⊕ w_1(u) φ_1 ⊕ ... ⊕ w_k(u) φ_k, u = s − s_i, w_j polynomials.

So B-splines run along a manifold: φ_j leads from one control configuration to the next, and the weights are sums of
basis functions.

Source: Kim, Kim and Shin, A general construction scheme for unit quaternion curves with simple high order derivatives,
SIGGRAPH 1995.

What a kind of curve states: its arrays, and q at a place on it, over any scalar.

Pieces of a curve: which one a parameter is in, and polynomials, over any scalar.

Curves of polynomial pieces: in plain numbers, and in the local coordinates of a configuration.

polynomial:    q(s) = Σ c_k u^k, all coordinates on the same pieces, u = s − s_i;
retracted:     q(s) = q_i ⊕ Σ c_k u^k: from a configuration on, along the manifold;
by_coordinate: q(s) = q_0 ⊕ x(s), each coordinate x_j on pieces of its own.

Curves of spherical quadrangles: two geodesics of a piece, and what lies between them.

    a(u) = q_i ⊕ u φ_i,   b(u) = s_i ⊕ u ψ_i,   q(u) = a(u) ⊕ 2 u (1 − u) (b(u) ⊖ a(u)),   u in [0, 1]

Source: Shoemake, Quaternion calculus and fast animation, SIGGRAPH course notes, 1987.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.control import take
from linkwork.expr.scalar.functions import le, where
from linkwork.motion.algorithms.curves.curve_space import CurveSpace

__all__ = ["FAR", "KINDS", "Arrays", "CurveKind", "piece_at", "polynomial", "row"]


Arrays = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CurveKind:
    """A kind of curve, an entry of the table.

    ``arrays`` says the shape of each by words: "pieces" is how many pieces there are, "nq" and "nv" what the space
    has, and other words are sizes that the arrays themselves tell.  ``starts`` are parameters s where pieces begin,
    in their order; every kind has them.  ``q(space, arrays, s, at)`` is the configuration at s, ``at`` being s
    without derivatives, by which pieces are chosen.
    """

    name: str
    arrays: tuple[tuple[str, tuple[str, ...]], ...]
    q: Callable[[CurveSpace, Arrays, Any, Any], list[Any]]


def _cumulative(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = piece_at(arrays["starts"], at)
    q = [*row(arrays["base"], place)]
    for phi, weight in zip(row(arrays["steps"], place), row(arrays["weights"], place), strict=True):
        part = polynomial(weight, s - start)
        q = space.integrate(q, [part * x for x in phi])
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


FAR = 1e300  # where pieces begin that are not there


def piece_at(starts: Any, at: Any) -> tuple[Any, Any]:
    """Which piece a parameter is in, and where that one begins: the last that begins no later, or else the first.

    By bisection over a table of 2^k entries, those beyond the last piece being `FAR`: all lanes take the same steps.
    """
    place: Any = 0.0
    start: Any = starts[0]
    step = len(starts) // 2
    while step:
        there = take(starts, place + float(step))
        later = le(there, at)
        place, start = where(later, place + float(step), place), where(later, there, start)
        step //= 2
    return place, start


def row(table: Any, place: Any) -> Any:
    """The row of a table at a place, as an array of its numbers; samples of a batch stand behind."""
    found = np.asarray(table)[0] if len(table) == 1 else take(table, place)
    own = np.ndim(table) - 1
    more = np.ndim(found) - own
    return np.moveaxis(found, range(more, more + own), range(own)) if more else found


def polynomial(coefficients: Sequence[Any], u: Any) -> Any:
    """Σ c_k u^k, lowest first, by Horner's scheme."""
    found: Any = coefficients[-1]
    for k in range(len(coefficients) - 2, -1, -1):
        found = found * u + coefficients[k]
    return found


def _polynomial(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = piece_at(arrays["starts"], at)
    return [polynomial(c, s - start) for c in row(arrays["coefficients"], place)]


def _retracted(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = piece_at(arrays["starts"], at)
    phi = [polynomial(c, s - start) for c in row(arrays["coefficients"], place)]
    return space.integrate([*row(arrays["base"], place)], phi)


def _by_coordinate(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    x = []
    for starts, coefficients in zip(arrays["starts"], arrays["coefficients"], strict=True):
        place, start = piece_at(starts, at)
        x.append(polynomial([*row(coefficients, place)], s - start))
    return space.integrate([*arrays["base"]], x)


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


def _squad(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = piece_at(arrays["starts"], at)
    u = (s - start) * row(arrays["rates"], place)
    a = space.integrate([*row(arrays["base"], place)], [u * x for x in row(arrays["steps"], place)])
    b = space.integrate([*row(arrays["inner"], place)], [u * x for x in row(arrays["inner_steps"], place)])
    part = 2.0 * u * (1.0 - u)
    return space.integrate(a, [part * x for x in space.difference(a, b)])


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


KINDS = {kind.name: kind for kind in (POLYNOMIAL, RETRACTED, BY_COORDINATE, CUMULATIVE, SQUAD)}
