"""The fastest way along a path within limits of second order, by what can be reached: two sweeps over its segments.

Along a path q(s), q̇ = q' ṡ and q̈ = q' s̈ + q'' ṡ².  With x = ṡ² and u = s̈, which is held on a segment, x is linear in
s there, and all limits are lines that bound u by x_i, the x at its beginning (`rows.py`).

Backward, from the end: the x_i from which the rest can be passed are an interval, whose ends are corners of a plane
polygon (`lines.py`).  Forward: the largest u that stays within the intervals, which is the fastest everywhere.

Source: Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis, 2018; with
limits that hold on whole segments, and Newton's method on lines for linear programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....expr.arrays import array
from ....expr.control import scan
from ....expr.functions import and_, fabs, fmax, fmin, le, lt, not_, where
from .lines import Lines, corner
from .rows import NODES, control_points, product

__all__ = ["PathLimits", "PathTiming", "PathValues", "fastest"]

_FLAT = 1e-9  # of what a limit spans: what u changes less than that is not bound by it
_ROUNDING = 1e-13
_TINY, _ENDLESS, _UNLIMITED = 1e-300, 1e30, 1e20
_AT_ONCE = 1e-9  # [s] segments along which nothing moves are passed in that time


class PathValues(NamedTuple):
    """What a path is at k places of each of its n segments: `NODES`.

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


class PathTiming(NamedTuple):
    """x = ṡ² at the ends of segments (n + 1,), u = s̈ on them (n,), and the last segment that cannot be passed at any
    speed, or −1."""

    x: Any
    u: Any
    blocked: Any


def fastest(
    along: PathValues, limits: PathLimits, steps: Any, caps: Any, start: Any, end: Any, *, may_rest: bool
) -> PathTiming:
    """The fastest x and u along n segments of lengths ``steps``, x being at most ``caps`` (n + 1,), and given at ends.

    ``may_rest``: standing still is within all limits, wherever it is; then less has to be looked for.  Where a segment
    cannot be passed, x and u mean nothing, and ``blocked`` tells it.
    """
    many = len(steps)
    given = [x for x in along if x is not None]
    by_segment = {name: x for name, x in limits._asdict().items() if np.ndim(x) == 2}

    def back(state: tuple[Any, Any, Any], row: Any) -> tuple[tuple[Any, Any, Any], Any]:
        low, high, blocked = state
        *values, own, step, cap, k = row
        upper, lower, largest, last = _bounds(_along(values, along), limits._replace(**own), step, may_rest)
        following = _joined(Lines(upper, lower), low, fmin(high, last), step)
        x1 = corner(following, fmin(largest, cap), falling=True)
        fine = not_(following.gap(x1)[2])
        if may_rest:
            fine, x0 = and_(fine, le(0.0, x1)), 0.0 * x1
        else:
            x0 = corner(following, 0.0 * cap, falling=False)
            fine = and_(fine, le(x0, x1))
        blocked = where(and_(le(blocked, -1.0), not_(fine)), k, blocked)
        x1, x0 = where(fine, x1, largest), where(fine, x0, 0.0)
        return (x0, x1, blocked), (array(upper), x0, x1)

    rows = (*given, by_segment, steps, caps[:-1], np.arange(float(many)))
    at_end = fmin(end, caps[many])
    first = (at_end, at_end, where(lt(at_end, end), float(many - 1), -1.0))
    (_, _, blocked), (upper, low, high) = scan(back, first, rows, backward=True)
    fine = and_(le(low[0] * (1.0 - _ROUNDING), start), le(start, high[0] * (1.0 + _ROUNDING)))
    blocked = where(and_(le(blocked, -1.0), not_(fine)), 0.0, blocked)

    def forth(x: Any, row: Any) -> tuple[Any, tuple[Any, Any]]:
        above, low, high, step = row
        lines = _joined(Lines([(c, k) for c, k in above], []), low, high, step)
        following = fmin(fmax(x + 2.0 * step * lines.least(x)[0], low), high)
        return following, (x, (following - x) * (0.5 / step))

    after = [np.concatenate([x[1:], array([at_end])]) for x in (low, high)]
    final, (x, u) = scan(forth, start, (upper, *after, steps))
    return PathTiming(np.concatenate([x, array([final])]), u, blocked)


def _along(values: Sequence[Any], like: PathValues) -> PathValues:
    """A segment's rows by name."""
    left = iter(values)
    return PathValues(*(None if x is None else next(left) for x in like))


def _joined(lines: Lines, low: Any, high: Any, step: Any) -> Lines:
    """With low ≤ x + 2 step u ≤ high."""
    k = 0.5 / step
    return Lines([*lines.upper, (high * k, -k)], [*lines.lower, (low * k, -k)])


def _bounds(along: PathValues, limits: PathLimits, step: Any, may_rest: bool) -> tuple[list[Any], list[Any], Any, Any]:
    """Upper and lower lines of a segment, and the largest x at its beginning and at its end."""
    weights = _slowness(along, limits)
    degree = len(weights)
    slowest = (_AT_ONCE * _AT_ONCE) / (step * step)
    largest, last = 1.0 / fmax(weights[0], slowest), 1.0 / fmax(weights[-1], slowest)
    upper, lower, top = [], [], largest
    nodes = NODES[len(along.first)]
    for j, (low, high) in enumerate(zip(limits.lower, limits.upper, strict=True)):
        second = [row[j] for row in along.second]
        first = [row[j] + (2.0 * t * step) * b for t, row, b in zip(nodes, along.first, second, strict=True)]
        a, b = control_points(first), control_points(second)
        c = [0.0] * len(a) if along.rest is None else control_points([row[j] for row in along.rest])
        width = where(lt(high - low, _UNLIMITED), high - low, fmax(fmin(fabs(high), fabs(low)), _FLAT))
        flat = _FLAT * width * step / largest
        for ai, bi, ci in zip(a, b, c, strict=True):
            bound = lt(fabs(ai), flat)
            inverse = 1.0 / where(bound, flat, ai)
            up, k = lt(0.0, inverse), -bi * inverse
            one, other = (low - ci) * inverse, (high - ci) * inverse
            one, other = where(up, one, other), where(up, other, one)
            if may_rest:  # a line that is nearly upright bounds x, and would spoil the others by rounding
                most = fmax(where(lt(0.0, bi), high - ci, ci - low), 0.0) / fmax(fabs(bi), _TINY)
                top = where(bound, fmin(top, most), top)
                one, other, k = where(bound, -_ENDLESS, one), where(bound, _ENDLESS, other), where(bound, 0.0, k)
            upper.append((other, k))
            lower.append((one, k))
    for k in range(1, degree):
        slope = (2.0 * k / degree) * step * weights[k - 1]
        inverse = 1.0 / fmax(slope, _FLAT * step / largest)
        both = ((degree - k) / degree) * weights[k] + (k / degree) * weights[k - 1]
        upper.append((inverse, -both * inverse))
    return upper, lower, top, last


def _slowness(along: PathValues, limits: PathLimits) -> list[Any]:
    """Control points of a polynomial that is nowhere less than 1/x of the largest x."""
    found: list[Any] | None = None
    for j, (low, high) in enumerate(zip(limits.slowest, limits.fastest, strict=True)):
        rate = control_points([row[j] for row in along.rates])
        least, most = rate[0], rate[0]
        for r in rate[1:]:
            least, most = fmin(least, r), fmax(most, r)
        limit = where(lt(least, 0.0), where(lt(0.0, most), fmin(high, -low), -low), high)
        scale = 1.0 / limit
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
    assert found is not None
    return [fmax(w, 0.0) for w in found]


def _larger(found: list[Any] | None, other: Any) -> list[Any]:
    return list(other) if found is None else [fmax(a, b) for a, b in zip(found, other, strict=True)]
