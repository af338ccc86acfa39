"""Kinds of curves on a manifold, an entry each in `KINDS`, and the motion along a curve at a time, over any scalar.

A kind states its arrays, and q at a parameter s, over any scalar.  u = s − s_i is the parameter within piece i.

    polynomial:      q(s) = Σ c_k u^k, all coordinates on the same pieces
    retracted:       q(s) = q_i ⊕ Σ c_k u^k: from a configuration on, along the manifold
    by_coordinate:   q(s) = q_0 ⊕ x(s), each coordinate x_j on pieces of its own
    cumulative:      q(s) = q_i ⊕ w_1(u) φ_1 ⊕ ... ⊕ w_k(u) φ_k, w_j polynomials
    squad:           a(u) = q_i ⊕ u φ_i,   b(u) = s_i ⊕ u ψ_i,   q(u) = a(u) ⊕ 2 u (1 − u) (b(u) ⊖ a(u)),   u in [0, 1]

B-splines run along a manifold as cumulative curves: φ_j leads from one control configuration to the next, and the
weights are sums of basis functions.

Configuration, velocity, acceleration and jerk at a time (`curve_motion`): the parameter of the curve, s(t), and the
curve, q(s), are computed with nested dual numbers of time, one for each derivative; then v is that of q̇, and its
derivatives follow.  So they are those of q(t) to rounding, on every manifold.

Sources: Kim, Kim and Shin, A general construction scheme for unit quaternion curves with simple high order
derivatives, SIGGRAPH 1995; Shoemake, Quaternion calculus and fast animation, SIGGRAPH course notes, 1987 (squads).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.autodiff.dual_numbers import Dual, parts, seeded
from linkwork.expr.control import take
from linkwork.expr.scalar.functions import le, lt, or_, where
from linkwork.motion.algorithms.curves.curve_space import CurveSpace

__all__ = [
    "FAR",
    "KINDS",
    "Arrays",
    "Clock",
    "CurveKind",
    "curve_motion",
    "motion_of",
    "polynomial",
    "row",
    "segment_index",
]


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
    place, start = segment_index(arrays["starts"], at)
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


def segment_index(starts: Any, at: Any) -> tuple[Any, Any]:
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
    result = np.asarray(table)[0] if len(table) == 1 else take(table, place)
    own = np.ndim(table) - 1
    more = np.ndim(result) - own
    return np.moveaxis(result, range(more, more + own), range(own)) if more else result


def polynomial(coefficients: Sequence[Any], u: Any) -> Any:
    """Σ c_k u^k, lowest first, by Horner's scheme."""
    result: Any = coefficients[-1]
    for k in range(len(coefficients) - 2, -1, -1):
        result = result * u + coefficients[k]
    return result


def _polynomial(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = segment_index(arrays["starts"], at)
    return [polynomial(c, s - start) for c in row(arrays["coefficients"], place)]


def _retracted(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    place, start = segment_index(arrays["starts"], at)
    phi = [polynomial(c, s - start) for c in row(arrays["coefficients"], place)]
    return space.integrate([*row(arrays["base"], place)], phi)


def _by_coordinate(space: CurveSpace, arrays: Arrays, s: Any, at: Any) -> list[Any]:
    x = []
    for starts, coefficients in zip(arrays["starts"], arrays["coefficients"], strict=True):
        place, start = segment_index(starts, at)
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
    place, start = segment_index(arrays["starts"], at)
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


@dataclass(frozen=True, slots=True)
class Clock:
    """The parameter s of a curve by time t: polynomials of pieces, s = Σ c_k (t − t_i)^k.

    ``starts`` (pieces,) are the t_i, ``coefficients`` (pieces, terms) lowest first.
    """

    starts: Any
    coefficients: Any


def curve_motion(
    space: CurveSpace,
    kind: CurveKind,
    arrays: Arrays,
    clock: Clock | None,
    ends: tuple[Any, Any] | None,
    t: Any,
    order: int = 2,
) -> list[list[Any]]:
    """q (nq), and so many derivatives (nv): v, a and the jerk, the derivative of a.

    Without a clock s is t.  Before the first of the ``ends`` [s] and after the second the curve stands still there;
    without ends it goes on.
    """
    if ends is None:
        return _motion_on(space, kind, arrays, clock, t, order)
    before, after = lt(t, ends[0]), lt(ends[1], t)
    at = where(before, ends[0], where(after, ends[1], t))
    first, *rest = _motion_on(space, kind, arrays, clock, at, order)
    still = or_(before, after)
    return [first, *([where(still, 0.0, x) for x in one] for one in rest)]


def _motion_on(
    space: CurveSpace, kind: CurveKind, arrays: Arrays, clock: Clock | None, at: Any, order: int
) -> list[list[Any]]:
    """At a time that is on the curve."""

    def q(now: Any, levels: Sequence[int]) -> list[Any]:
        s = now
        if clock is not None:
            place, start = segment_index(clock.starts, at)
            s = polynomial([*row(clock.coefficients, place)], now - start)
        return kind.q(space, arrays, s, _without(s, levels))

    return motion_of(space, q, at, order)


def motion_of(
    space: CurveSpace, q: Callable[[Any, Sequence[int]], list[Any]], at: Any, order: int = 2
) -> list[list[Any]]:
    """q(t), v and so many derivatives in all, of a configuration that is a function of time over any scalar.

    The function is also told of which levels its argument's dual numbers are.
    """
    levels = [seeded([0.0], [0.0])[0].level for _ in range(order)]
    now: Any = at
    for level in levels:
        now = Dual(now, 1.0, level)
    there = q(now, levels)
    result = [[_without(x, levels) for x in there]]
    if not order:
        return result
    moving = [parts(x, levels[-1]) for x in there]
    v = space.velocity_from_rate([x for x, _ in moving], [x for _, x in moving])
    for k in range(order):
        rest = levels[: order - 1 - k]
        result.append([_without(x, rest) for x in v])
        if rest:
            v = [parts(x, rest[-1])[1] for x in v]
    return result


def _without(x: Any, levels: Sequence[int]) -> Any:
    """A number without its derivatives at these levels."""
    for level in reversed(levels):
        x = parts(x, level)[0]
    return x
