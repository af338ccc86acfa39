"""Limits along a segment of a path, as lines that bound u = s̈ by x = ṡ², and the largest x at both ends.

Second-order limits bound quantities A u + B x + C, and speed limits bound W x, with coefficients that vary along the
path.  With s = s_i + Δ t, t in [0, 1], constant u and x(t) = x_i + 2 Δ t u,

    A(t) u + B(t) x(t) + C(t) = (A + 2 Δ t B) u + B x_i + C,     W(t) x(t) = W x_i + 2 Δ t W u

are polynomials in t whose coefficients are linear in u and x_i.  Control points are a polynomial's coefficients in the
Bernstein basis; the polynomial lies between the smallest and the largest of them.  So limits on control points hold on
the whole segment, not only at single points.

Source: Farouki, The Bernstein polynomial basis: a centennial retrospective, 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from math import comb
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, where

__all__ = [
    "NODES",
    "Lines",
    "PathLimits",
    "PathValues",
    "SegmentLines",
    "control_points",
    "corner",
    "polynomial_at",
    "segment_lines",
    "to_control_points",
]


_FLAT = 1e-9  # of a limit's range: smaller effects of u do not bound it
_TINY, _ENDLESS, _UNLIMITED = 1e-300, 1e30, 1e20
_SHORT_TIME = 1e-9  # [s] to pass segments along which nothing moves


class PathValues(NamedTuple):
    """A path's derivatives at k nodes (`NODES`) of each of its n segments, or of one segment without the axis n.

    ``rates`` (n, k, r) are derivatives with respect to s of quantities with velocity limits.

    Second-order limits bound m quantities A u + B x + C of a motion with x = ṡ² and u = s̈. A is ``first``, B
    ``second`` and C ``at_rest``, all (n, k, m); ``at_rest`` is None if C is zero.

    ``speeds`` (n, k, w, 3) are velocities per unit of ṡ whose magnitudes are limited.
    """

    rates: Any
    first: Any
    second: Any
    at_rest: Any = None
    speeds: Any = None


class PathLimits(NamedTuple):
    """Limits of a motion along a path; arrays have an additional first axis (n) if they differ by segment.

    ``slowest`` and ``fastest`` (r,) bound velocities; ``lower`` and ``upper`` (m,) bound second-order quantities such
    as accelerations or torques. ``speeds`` (w,) are the largest magnitudes of velocity vectors.
    """

    slowest: Any
    fastest: Any
    lower: Any
    upper: Any
    speeds: Any = None


class SegmentLines(NamedTuple):
    """Bounds on a segment: lines that bound u = s̈ by x = ṡ², and the largest x at both ends.

    u ≤ c + k x for all ``upper`` lines (c, k), and u ≥ c + k x for all ``lower`` lines, with x at the segment's
    beginning. ``top`` is the largest x at the beginning, and ``last`` the largest x at the end.
    """

    upper: list[tuple[Any, Any]]
    lower: list[tuple[Any, Any]]
    top: Any
    last: Any


def segment_lines(groups: Sequence[tuple[PathValues, PathLimits]], step: Any, may_rest: bool) -> SegmentLines:
    """Return lines that bound u = s̈ by x = ṡ², and the largest x, on a path segment of length ``step``.

    Each of the ``groups`` has derivatives of the path at the nodes of the segment, and limits; the first group has the
    limits of velocity. ``may_rest`` is True if resting is within all limits.
    """
    weights = [w for along, limits in groups for w in _slowness(along, limits)]
    slowest = (_SHORT_TIME * _SHORT_TIME) / (step * step)
    before, after = (reduce(fmax, [slowest, *(w[end] for w in weights)]) for end in (0, -1))
    largest, last = 1.0 / before, 1.0 / after
    upper, lower, top = [], [], largest
    for along, limits in groups:
        if along.first is None:
            continue
        nodes = NODES[len(along.first)]
        for j, (low, high) in enumerate(zip(limits.lower, limits.upper, strict=True)):
            second = [row[j] for row in along.second]
            first = [row[j] + (2.0 * t * step) * b for t, row, b in zip(nodes, along.first, second, strict=True)]
            a, b = control_points(first), control_points(second)
            c = [0.0] * len(a) if along.at_rest is None else control_points([row[j] for row in along.at_rest])
            width = where(lt(high - low, _UNLIMITED), high - low, fmax(fmin(fabs(high), fabs(low)), _FLAT))
            flat = _FLAT * width * step * before
            for ai, bi, ci in zip(a, b, c, strict=True):
                bound = lt(fabs(ai), flat)
                if may_rest:  # a nearly vertical line bounds x; as a bound of u it would cause rounding errors
                    inverse = 1.0 / where(bound, fmax(fabs(bi), _TINY), ai)
                    most = fmax(where(lt(0.0, bi), high - ci, ci - low), 0.0) * inverse
                    top = where(bound, fmin(top, most), top)
                else:
                    inverse = 1.0 / where(bound, flat, ai)
                up, k = lt(0.0, inverse), -bi * inverse
                c0, c1 = (low - ci) * inverse, (high - ci) * inverse
                c0, c1 = where(up, c0, c1), where(up, c1, c0)
                if may_rest:
                    c0, c1, k = where(bound, -_ENDLESS, c0), where(bound, _ENDLESS, c1), where(bound, 0.0, k)
                upper.append((c1, k))
                lower.append((c0, k))
    for w in weights:  # W(t) x(t) ≤ 1
        degree = len(w)
        for k in range(1, degree):
            slope = (2.0 * k / degree) * step * w[k - 1]
            inverse = 1.0 / fmax(slope, _FLAT * step * before)
            both = ((degree - k) / degree) * w[k] + (k / degree) * w[k - 1]
            upper.append((inverse, -both * inverse))
    return SegmentLines(upper, lower, top, last)


def _slowness(along: PathValues, limits: PathLimits) -> list[list[Any]]:
    """Return the control points of a polynomial that is at least 1/x for the largest permitted x = ṡ².

    The list is empty without limits of velocity and speed.
    """
    result: list[Any] | None = None
    if along.rates is not None:
        for j, (low, high) in enumerate(zip(limits.slowest, limits.fastest, strict=True)):
            rate = control_points([row[j] for row in along.rates])
            backwards, forwards = -1.0 / low, 1.0 / high
            least, most = rate[0], rate[0]
            for r in rate[1:]:
                least, most = fmin(least, r), fmax(most, r)
            both = where(lt(0.0, most), fmax(forwards, backwards), backwards)
            scale = where(lt(least, 0.0), both, forwards)
            scaled = [r * scale for r in rate]
            result = _elementwise_maximum(result, product(scaled, scaled))
    if along.speeds is not None:
        for j, limit in enumerate(limits.speeds):
            scale = 1.0 / limit
            total: list[Any] | None = None
            for axis in range(3):
                speed = [r * scale for r in control_points([row[j][axis] for row in along.speeds])]
                square = product(speed, speed)
                total = square if total is None else [a + b for a, b in zip(total, square, strict=True)]
            result = _elementwise_maximum(result, total)
    return [] if result is None else [[fmax(w, 0.0) for w in result]]


def _elementwise_maximum(result: list[Any] | None, values: Any) -> list[Any]:
    return list(values) if result is None else [fmax(a, b) for a, b in zip(result, values, strict=True)]


_STEPS = 40  # Newton steps to a corner at most
_ROUNDING = 1e-13
_LARGE = 1e300


@dataclass(frozen=True, slots=True)
class Lines:
    """Bounds of u = s̈ by lines in x = ṡ².

    u ≤ c + k x for all ``upper`` lines (c, k), and u ≥ c + k x for all ``lower`` lines.
    """

    upper: Sequence[tuple[Any, Any]]
    lower: Sequence[tuple[Any, Any]]

    def least(self, x: Any) -> Bound:
        """Return the upper bound of u at x, the minimum of the upper lines, with the line that attains it."""
        return _first(self.upper, x, lt)

    def greatest(self, x: Any) -> Bound:
        """Return the lower bound of u at x, the maximum of the lower lines, with the line that attains it."""
        return _first(self.lower, x, lambda value, best: lt(best, value))

    def are_crossed(self, x: Any) -> Any:
        """Return True if the upper bound of u at x is below the lower bound by more than rounding errors."""
        return _is_short(self.least(x), self.greatest(x), x)


class Bound(NamedTuple):
    """Bound of u at an x, and the line c + slope x on which it lies."""

    u: Any
    c: Any
    slope: Any


def _is_short(upper: Bound, lower: Bound, x: Any) -> Any:
    """Return True if the upper bound of u at x is below the lower bound by more than rounding errors."""
    size = fmin(fabs(upper.u) + fabs(lower.u) + x * (fabs(upper.slope) + fabs(lower.slope)), _LARGE)
    return lt(upper.u - lower.u, -_ROUNDING * size)


def _first(lines: Sequence[tuple[Any, Any]], x: Any, before: Callable[[Any, Any], Any]) -> Bound:
    """Return the smallest or largest value of the lines c + k x at x, and its line.

    ``before(a, b)`` is True if a is preferred to b.
    """
    (constant, slope), *further = lines
    best = constant + slope * x
    for c, k in further:
        value = c + k * x
        better = before(value, best)
        best, constant, slope = (
            where(better, a, b) for a, b in zip((value, c, k), (best, constant, slope), strict=True)
        )
    return Bound(best, constant, slope)


def corner(lines: Lines, x: Any, *, falling: bool) -> Any:
    """Return the x nearest to the given x at which the bounds of u are consistent: lower bound ≤ upper bound.

    The search goes to smaller x if ``falling``, otherwise to larger x. The result is arbitrary if there is no such x.
    Newton's method never passes the solution: the upper minus the lower bound is concave and piecewise linear. A step
    ends where the current upper and lower line intersect, which is accurate also for distant intersections.
    """

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        x = state[0]
        upper, lower = lines.least(x), lines.greatest(x)
        slope = upper.slope - lower.slope
        more = and_(_is_short(upper, lower, x), lt(slope, 0.0) if falling else lt(0.0, slope))
        following = (lower.c - upper.c) / where(more, slope, 1.0)
        return where(more, following, x), and_(more, not_(le(x, following) if falling else le(following, x)))

    return while_loop(lambda state: state[1], step, (x, le(0.0, x)), max_iterations=_STEPS).state[0]


@cache
def to_control_points(count: int) -> tuple[tuple[float, ...], ...]:
    """Return the matrix (count, count) that maps values of a polynomial at `NODES` to its Bernstein coefficients."""
    nodes = NODES[count]
    degree = count - 1
    values = [[comb(degree, k) * t**k * (1.0 - t) ** (degree - k) for k in range(count)] for t in nodes]
    return tuple(tuple(row) for row in np.linalg.inv(np.array(values)).tolist())


NODES: dict[int, tuple[float, ...]] = {
    count: tuple((0.5 - 0.5 * np.cos(np.pi * (np.arange(count) + 0.5) / count)).tolist()) for count in (2, 3, 5, 9)
}
"""Chebyshev nodes t in (0, 1) of a segment, by their number."""


def control_points(values: Sequence[Any]) -> list[Any]:
    """Return the Bernstein coefficients of the polynomial with these values at `NODES`."""
    return [
        sum((weight * value for weight, value in zip(row[1:], values[1:], strict=True)), row[0] * values[0])
        for row in to_control_points(len(values))
    ]


def product(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """Return the Bernstein coefficients of the product of two polynomials with Bernstein coefficients a and b."""
    m, n = len(a) - 1, len(b) - 1
    result = []
    for k in range(m + n + 1):
        total: Any = 0.0
        for i in range(max(0, k - n), min(m, k) + 1):
            total = total + (comb(m, i) * comb(n, k - i) / comb(m + n, k)) * a[i] * b[k - i]
        result.append(total)
    return result


def polynomial_at(t: float, values: Sequence[Any]) -> Any:
    """Return the value at t of the polynomial with these values at `NODES`."""
    nodes = NODES[len(values)]
    result: Any = 0.0
    for k, (node, value) in enumerate(zip(nodes, values, strict=True)):
        zeros = [x for j, x in enumerate(nodes) if j != k]
        result = result + float(np.prod([(t - x) / (node - x) for x in zeros])) * value
    return result
