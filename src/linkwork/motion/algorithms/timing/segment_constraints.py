"""The lines that bound u by x on a segment of a path, and how large x may be at its ends: see `rows`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import fabs, fmax, fmin, lt, where
from linkwork.motion.algorithms.timing.segment_constraints_rows import NODES, control_points, product

__all__ = ["PathLimits", "PathValues", "SegmentLines", "segment_lines"]

_FLAT = 1e-9  # of what a limit spans: what u changes less than that is not bound by it
_TINY, _ENDLESS, _UNLIMITED = 1e-300, 1e30, 1e20
_AT_ONCE = 1e-9  # [s] segments along which nothing moves are passed in that time


class PathValues(NamedTuple):
    """What a path is at k places of each of its n segments, `NODES`, or without n of one of them.

    ``rates`` (n, k, r): what has limits of velocity, by s; ``first`` and ``second`` (n, k, m): A and B of what has
    limits of second order, A u + B x + C, and ``rest`` (n, k, m) C, or nothing if it is zero; ``speeds`` (n, k, w, 3):
    velocities by s whose lengths have limits.
    """

    rates: Any
    first: Any
    second: Any
    rest: Any = None
    speeds: Any = None


class PathLimits(NamedTuple):
    """Of rates (r,), of what is of second order (m,), and of speeds (w,); or with a row for each segment."""

    slowest: Any
    fastest: Any
    lower: Any
    upper: Any
    speeds: Any = None


class SegmentLines(NamedTuple):
    """u ≤ c + k x for all upper lines (c, k), u ≥ c + k x for all lower ones; the largest x at both ends."""

    upper: list[tuple[Any, Any]]
    lower: list[tuple[Any, Any]]
    top: Any
    last: Any


def segment_lines(parts: Sequence[tuple[PathValues, PathLimits]], step: Any, may_rest: bool) -> SegmentLines:
    """Of a segment, what is on it looked at in parts, each at places of its own; the first has rates.

    ``may_rest``: standing still is within all limits.
    """
    weights = [w for along, limits in parts for w in _slowness(along, limits)]
    slowest = (_AT_ONCE * _AT_ONCE) / (step * step)
    before, after = (_greatest([slowest, *(w[end] for w in weights)]) for end in (0, -1))
    largest, last = 1.0 / before, 1.0 / after
    upper, lower, top = [], [], largest
    for along, limits in parts:
        if along.first is None:
            continue
        nodes = NODES[len(along.first)]
        for j, (low, high) in enumerate(zip(limits.lower, limits.upper, strict=True)):
            second = [row[j] for row in along.second]
            first = [row[j] + (2.0 * t * step) * b for t, row, b in zip(nodes, along.first, second, strict=True)]
            a, b = control_points(first), control_points(second)
            c = [0.0] * len(a) if along.rest is None else control_points([row[j] for row in along.rest])
            width = where(lt(high - low, _UNLIMITED), high - low, fmax(fmin(fabs(high), fabs(low)), _FLAT))
            flat = _FLAT * width * step * before
            for ai, bi, ci in zip(a, b, c, strict=True):
                bound = lt(fabs(ai), flat)
                if may_rest:  # a line that is nearly upright bounds x, and would spoil the others by rounding
                    inverse = 1.0 / where(bound, fmax(fabs(bi), _TINY), ai)
                    most = fmax(where(lt(0.0, bi), high - ci, ci - low), 0.0) * inverse
                    top = where(bound, fmin(top, most), top)
                else:
                    inverse = 1.0 / where(bound, flat, ai)
                up, k = lt(0.0, inverse), -bi * inverse
                one, other = (low - ci) * inverse, (high - ci) * inverse
                one, other = where(up, one, other), where(up, other, one)
                if may_rest:
                    one, other, k = where(bound, -_ENDLESS, one), where(bound, _ENDLESS, other), where(bound, 0.0, k)
                upper.append((other, k))
                lower.append((one, k))
    for w in weights:  # W(t) x(t) ≤ 1
        degree = len(w)
        for k in range(1, degree):
            slope = (2.0 * k / degree) * step * w[k - 1]
            inverse = 1.0 / fmax(slope, _FLAT * step * before)
            both = ((degree - k) / degree) * w[k] + (k / degree) * w[k - 1]
            upper.append((inverse, -both * inverse))
    return SegmentLines(upper, lower, top, last)


def _slowness(along: PathValues, limits: PathLimits) -> list[list[Any]]:
    """Control points of a polynomial that is nowhere less than 1/x of the largest x; none where speed has no limits."""
    found: list[Any] | None = None
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
            found = _larger(found, product(scaled, scaled))
    if along.speeds is not None:
        for j, limit in enumerate(limits.speeds):
            scale = 1.0 / limit
            total: list[Any] | None = None
            for axis in range(3):
                own = [r * scale for r in control_points([row[j][axis] for row in along.speeds])]
                square = product(own, own)
                total = square if total is None else [a + b for a, b in zip(total, square, strict=True)]
            found = _larger(found, total)
    return [] if found is None else [[fmax(w, 0.0) for w in found]]


def _larger(found: list[Any] | None, other: Any) -> list[Any]:
    return list(other) if found is None else [fmax(a, b) for a, b in zip(found, other, strict=True)]


def _greatest(numbers: Sequence[Any]) -> Any:
    found, *others = numbers
    for x in others:
        found = fmax(found, x)
    return found
