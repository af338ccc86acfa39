"""The fastest way along a path within limits of second order, by what can be reached: two sweeps over its segments.

Along a path q(s), q̇ = q' ṡ and q̈ = q' s̈ + q'' ṡ².  With x = ṡ² and u = s̈, which is held on a segment, x is linear in
s there, and all limits are lines that bound u by x_i, the x at its beginning (`segment_lines.py`).

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
from ....expr.functions import and_, fmax, fmin, le, lt, not_, where
from .lines import Lines, corner
from .segment_lines import PathLimits, PathValues, segment_lines

__all__ = ["PathTiming", "fastest"]

_ROUNDING = 1e-13


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
        upper, lower, largest, last = segment_lines([(_along(values, along), limits._replace(**own))], step, may_rest)
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
