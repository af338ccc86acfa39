"""Kinds of curves on a manifold (`KINDS`), and the motion along a curve at a time, over any scalar.

A kind defines its arrays, and the configuration q at a parameter s, over any scalar.  u = s − s_i is the parameter
within segment i.

    polynomial:      q(s) = Σ c_k u^k, with the same segments for all coordinates
    retracted:       q(s) = q_i ⊕ Σ c_k u^k, from a configuration along the manifold
    by_coordinate:   q(s) = q_0 ⊕ x(s), with separate segments for each coordinate x_j
    cumulative:      q(s) = q_i ⊕ w_1(u) φ_1 ⊕ ... ⊕ w_k(u) φ_k, w_j polynomials
    squad:           a(u) = q_i ⊕ u φ_i,   b(u) = s_i ⊕ u ψ_i,   q(u) = a(u) ⊕ 2 u (1 − u) (b(u) ⊖ a(u)),   u in [0, 1]

B-splines on a manifold are cumulative curves: φ_j leads from one control configuration to the next, and the weights
are sums of basis functions.  In a space whose joints rotate and translate separately, the displacements of origins are
added in fixed axes (`CurveSpace.cumulative`).

Configuration, velocity, acceleration and jerk at a time (`curve_motion`): the parameter of the curve, s(t), and the
curve, q(s), are computed with nested dual numbers of time, one level for each derivative.  v follows from q̇, and a
and the jerk are the derivatives of v.  So v, a and the jerk equal the derivatives of q(t) up to rounding, on every
manifold.

Sources: Kim, Kim and Shin, A general construction scheme for unit quaternion curves with simple high order derivatives,
SIGGRAPH 1995; Shoemake, Quaternion calculus and fast animation, SIGGRAPH course notes, 1987 (squads).
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
    "CurveKind",
    "TimeScaling",
    "curve_motion",
    "motion_of",
    "polynomial",
    "row",
    "segment_index",
]


Arrays = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CurveKind:
    """A kind of curve, such as a piecewise polynomial: the arrays that define the curve, and its evaluation.

    ``arrays`` has the name of each array and its shape. Shapes are written with names of sizes: "pieces" is the number
    of segments, and "nq" and "nv" are the sizes of the space. Other names are sizes that the arrays determine.

    Every kind has an array ``starts``: the increasing values of the curve's parameter s at which segments begin.

    ``q(space, arrays, s, segment)`` returns the configuration at s. ``segment`` is the pair (index, start) of the
    segment that contains s, or a list of such pairs, one for each coordinate.

    ``powers`` is the name of the array with the coefficients of powers of u = s − start.
    """

    name: str
    arrays: tuple[tuple[str, tuple[str, ...]], ...]
    q: Callable[[CurveSpace, Arrays, Any, Any], list[Any]]
    powers: str | None = "coefficients"

    def segment_at(self, arrays: Arrays, at: Any) -> Any:
        """Return the pair (index, start) of the segment that contains the curve's parameter ``at``.

        Return a list of pairs, one for each coordinate, if the coordinates have separate segments.
        """
        starts = arrays["starts"]
        return [segment_index(x, at) for x in starts] if np.ndim(starts) > 1 else segment_index(starts, at)

    def segment_of(self, arrays: Arrays, index: Any) -> Any:
        """Return the pair (index, start) of the segment with this index; ``start`` is the parameter at which it begins.

        If the coordinates have separate segments, ``index`` has an index for each coordinate, and the result is a list
        of pairs.
        """
        starts = arrays["starts"]
        if np.ndim(starts) > 1:
            return [(k, row(x, k)) for x, k in zip(starts, index, strict=True)]
        return index, row(starts, index)


def _cumulative(space: CurveSpace, arrays: Arrays, s: Any, segment: Any) -> list[Any]:
    index, start = segment
    weights = [polynomial(weight, s - start) for weight in row(arrays["weights"], index)]
    return space.cumulative(row(arrays["base"], index), row(arrays["steps"], index), weights)


CUMULATIVE = CurveKind(
    "cumulative",
    (
        ("starts", ("pieces",)),
        ("base", ("pieces", "nq")),
        ("steps", ("pieces", "degree", "nv")),
        ("weights", ("pieces", "degree", "terms")),
    ),
    _cumulative,
    "weights",
)
FAR = 1e300  # beginning of unused segments in padded tables


def segment_index(starts: Any, at: Any) -> tuple[Any, Any]:
    """Return the index of the segment that contains a parameter, and the parameter at which it begins.

    The segment is the last one that begins at or before ``at``, or else the first. The method is bisection over a table
    of 2^k entries, padded with `FAR`: all lanes take the same steps.
    """
    index: Any = 0.0
    start: Any = starts[0]
    step = len(starts) // 2
    while step:
        knot = take(starts, index + float(step))
        later = le(knot, at)
        index, start = where(later, index + float(step), index), where(later, knot, start)
        step //= 2
    return index, start


def row(table: Any, index: Any) -> Any:
    """Return the row of a table at an index as an array; the axes of a batch are last."""
    result = np.asarray(table)[0] if len(table) == 1 else take(table, index)
    rank = np.ndim(table) - 1
    more = np.ndim(result) - rank
    return np.moveaxis(result, range(more, more + rank), range(rank)) if more else result


def polynomial(coefficients: Sequence[Any], u: Any) -> Any:
    """Return the polynomial Σ c_k u^k at u, by Horner's scheme; the coefficients c_k begin with k = 0."""
    result: Any = coefficients[-1]
    for k in range(len(coefficients) - 2, -1, -1):
        result = result * u + coefficients[k]
    return result


def _polynomial(space: CurveSpace, arrays: Arrays, s: Any, segment: Any) -> list[Any]:
    index, start = segment
    return [polynomial(c, s - start) for c in row(arrays["coefficients"], index)]


def _retracted(space: CurveSpace, arrays: Arrays, s: Any, segment: Any) -> list[Any]:
    index, start = segment
    phi = [polynomial(c, s - start) for c in row(arrays["coefficients"], index)]
    return space.integrate([*row(arrays["base"], index)], phi)


def _by_coordinate(space: CurveSpace, arrays: Arrays, s: Any, segment: Any) -> list[Any]:
    x = []
    for (index, start), coefficients in zip(segment, arrays["coefficients"], strict=True):
        x.append(polynomial([*row(coefficients, index)], s - start))
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


def _squad(space: CurveSpace, arrays: Arrays, s: Any, segment: Any) -> list[Any]:
    index, start = segment
    u = (s - start) * row(arrays["rates"], index)
    a = space.integrate([*row(arrays["base"], index)], [u * x for x in row(arrays["steps"], index)])
    b = space.integrate([*row(arrays["inner"], index)], [u * x for x in row(arrays["inner_steps"], index)])
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
    None,
)
KINDS = {kind.name: kind for kind in (POLYNOMIAL, RETRACTED, BY_COORDINATE, CUMULATIVE, SQUAD)}


@dataclass(frozen=True, slots=True)
class TimeScaling:
    """A time scaling s(t) of a curve with parameter s, a polynomial s = Σ c_k (t − t_i)^k on each interval of time.

    ``starts`` (n,) are the t_i, and ``coefficients`` (n, terms) the c_k, lowest power first.  From t_i to t_{i+1} the
    motion is on the curve's segment with index ``segments[i]``, even if rounding moves s out of this segment.
    ``segments`` is (n,), or (n, nv) for curves whose coordinates have separate segments; None if s is the time of a
    trajectory.
    """

    starts: Any
    coefficients: Any
    segments: Any = None


def curve_motion(
    space: CurveSpace,
    kind: CurveKind,
    arrays: Arrays,
    clock: TimeScaling | None,
    ends: tuple[Any, Any] | None,
    t: Any,
    order: int = 2,
) -> list[list[Any]]:
    """Return q (nq) and its first ``order`` derivatives (nv), which are v, a and the jerk, at time t along a curve.

    Without a ``clock``, the curve's parameter s is t.  Before the first of the ``ends`` [s] and after the second, the
    curve is at rest; without ``ends`` its first and last segments are extrapolated.
    """
    if ends is None:
        return _motion_on(space, kind, arrays, clock, t, order)
    before, after = lt(t, ends[0]), lt(ends[1], t)
    at = where(before, ends[0], where(after, ends[1], t))
    first, *rates = _motion_on(space, kind, arrays, clock, at, order)
    resting = or_(before, after)
    return [first, *([where(resting, 0.0, x) for x in rate] for rate in rates)]


def _motion_on(
    space: CurveSpace, kind: CurveKind, arrays: Arrays, clock: TimeScaling | None, at: Any, order: int
) -> list[list[Any]]:
    """Return q (nq) and its first ``order`` derivatives (nv) at time ``at``; a curve continues beyond its ends.

    The first and the last segment of the curve are extrapolated. ``clock`` is the time scaling s(t); None for s = t.
    """

    def q(now: Any) -> list[Any]:
        if clock is None:
            return kind.q(space, arrays, now, kind.segment_at(arrays, at))
        index, start = segment_index(clock.starts, at)
        s = polynomial([*row(clock.coefficients, index)], now - start)
        return kind.q(space, arrays, s, kind.segment_of(arrays, row(clock.segments, index)))

    return motion_of(space, q, at, order)


def motion_of(space: CurveSpace, q: Callable[[Any], list[Any]], at: Any, order: int = 2) -> list[list[Any]]:
    """Return q and its first ``order`` derivatives, v first, of a function q of time, over any scalar, at a time."""
    levels = [seeded([0.0], [0.0])[0].level for _ in range(order)]
    now: Any = at
    for level in levels:
        now = Dual(now, 1.0, level)
    q_moving = q(now)
    result = [[_without(x, levels) for x in q_moving]]
    if not order:
        return result
    moving = [parts(x, levels[-1]) for x in q_moving]
    v = space.velocity_from_rate([x for x, _ in moving], [x for _, x in moving])
    for k in range(order):
        outer = levels[: order - 1 - k]
        result.append([_without(x, outer) for x in v])
        if outer:
            v = [parts(x, outer[-1])[1] for x in v]
    return result


def _without(x: Any, levels: Sequence[int]) -> Any:
    """Return the real part of a dual number x: its value without the dual parts of these nesting ``levels``."""
    for level in reversed(levels):
        x = parts(x, level)[0]
    return x
