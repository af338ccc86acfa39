"""TOPP-RA: time-optimal path timing within limits of second order, by two sweeps over the segments of a path.

Along a path q(s), q̇ = q' ṡ and q̈ = q' s̈ + q'' ṡ².  With x = ṡ² and u = s̈, which is constant on a segment, x is
linear in s there.  All limits are lines that bound u as functions of x_i, the x at the segment's beginning
(`segment_constraints.py`).

Backward sweep from the end: the x_i from which the remaining path is feasible form an interval, whose ends are
corners of a polygon in the plane of x and u.  Forward sweep: the largest u for which x stays within the intervals gives
the fastest motion.

Source: Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis, 2018.  Here
limits hold on whole segments, and Newton's method on lines solves the linear programs.

If resting is within the limits (`fastest_resting`), x = 0 is feasible everywhere, so the interval is 0 ≤ x_i ≤ K_i. On
each segment there is a largest x at which the upper lines of u are not below the lower ones.  The lower lines, u ≥ c +
k x, together with x + 2 Δ u ≤ K, bound x by lines p + r K.  The upper lines bound the next x by lines a + b x.  So the
sequential work is a minimum of a few lines for each segment: backward for K, and forward for x.  All other work is
done for all segments in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan
from linkwork.expr.control.stored_scans import scan_stored, scan_storing
from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, not_, where
from linkwork.motion.algorithms.timing.segment_constraints import Lines, PathLimits, PathValues, corner, segment_lines

__all__ = ["PathTiming", "Reachable", "fastest_resting", "sweep_backward", "sweep_forward"]


class PathTiming(NamedTuple):
    """The timing of a path with n segments: x = ṡ² at the ends of segments (n + 1,), and u = s̈ on segments (n,).

    ``blocked`` is the index of the last infeasible segment, or −1.
    """

    x: Any
    u: Any
    blocked: Any


class Reachable(NamedTuple):
    """Interval of x = ṡ² at a point of a path from which a feasible motion to the path's end exists.

    ``blocked`` is the index of the last infeasible segment, or −1.
    """

    low: Any
    high: Any
    blocked: Any


def sweep_backward(
    along: PathValues,
    limits: PathLimits,
    steps: Any,
    caps: Any,
    indices: Any,
    following: Reachable,
    *,
    may_rest: bool,
) -> tuple[Reachable, Any, Any, Any]:
    """Return the interval of feasible x = ṡ² at the beginning of n segments, from that at their end (``following``).

    Three arrays by segment are also returned: the lines that bound u = s̈ from above, for `sweep_forward`, and the
    lower and upper end of the interval of x at the segment's beginning.

    The segments have lengths ``steps`` (n,), and x is at most ``caps`` (n,) at their beginnings. ``indices`` (n,)
    number the segments; a negative index marks padding, which leaves the interval unchanged. ``may_rest`` is True if
    resting is within all limits everywhere, which simplifies the sweep.
    """
    path_values = [x for x in along if x is not None]
    by_segment = {name: x for name, x in limits._asdict().items() if np.ndim(x) == 2}

    def back(state: tuple[Any, Any, Any], row: Any) -> tuple[tuple[Any, Any, Any], Any]:
        low, high, blocked = state
        *values, box, step, cap, k = row
        upper, lower, largest, last = segment_lines([(_along(values, along), limits._replace(**box))], step, may_rest)
        lines = _with_next_interval(Lines(upper, lower), low, fmin(high, last), step)
        if may_rest:
            x1 = corner(lines, _passable(upper, lower, fmin(largest, cap), step), falling=True)
            is_feasible, x0 = and_(not_(lines.are_crossed(x1)), le(0.0, x1)), 0.0 * x1
        else:
            x1 = corner(lines, fmin(largest, cap), falling=True)
            x0 = corner(lines, 0.0 * cap, falling=False)
            is_feasible = and_(not_(lines.are_crossed(x1)), le(x0, x1))
            x1 = fmax(fmin(x1, _passable(upper, lower, x1, step)), x0)
        is_finite = le(0.0, k)
        blocked = where(and_(and_(le(blocked, -1.0), not_(is_feasible)), is_finite), k, blocked)
        x1, x0 = (
            where(is_finite, where(is_feasible, x1, largest), high),
            where(is_finite, where(is_feasible, x0, 0.0), low),
        )
        return (x0, x1, blocked), (array(upper), x0, x1)

    rows = (*path_values, by_segment, steps, caps, indices)
    state, (upper, low, high) = scan(back, tuple(following), rows, reverse=True)
    return Reachable(*state), upper, low, high


def sweep_forward(upper: Any, low: Any, high: Any, steps: Any, indices: Any, x: Any) -> tuple[Any, Any]:
    """Return the greatest feasible x = ṡ² at the end of each of n segments (n,), and the last of these values again.

    The argument x is ṡ² at the beginning of the first segment. ``upper`` are the lines that `sweep_backward` returns.
    ``low`` and ``high`` (n,) bound x at the ends of the segments. Segments with negative ``indices`` are padding.
    """

    def forth(x: Any, row: Any) -> tuple[Any, Any]:
        above, low, high, step, k = row
        lines = _with_next_interval(Lines([(c, slope) for c, slope in above], []), low, high, step)
        greatest = fmin(fmax(x + 2.0 * step * lines.least(x).u, low), high)
        greatest = where(le(0.0, k), greatest, x)
        return greatest, greatest

    final, after = scan(forth, x, (upper, low, high, steps, indices))
    return after, final


def _along(values: Sequence[Any], like: PathValues) -> PathValues:
    """Return the values of one segment as `PathValues`; fields that are None in ``like`` are None."""
    left = iter(values)
    return PathValues(*(None if x is None else next(left) for x in like))


def _with_next_interval(lines: Lines, low: Any, high: Any, step: Any) -> Lines:
    """Return the bounds of u = s̈ with two more lines, which keep x = ṡ² at the segment's end in [low, high].

    The lines express low ≤ x + 2 step u ≤ high, with x at the segment's beginning.
    """
    k = 0.5 / step
    return Lines([*lines.upper, (high * k, -k)], [*lines.lower, (low * k, -k)])


def _passable(upper: Sequence[Line], lower: Sequence[Line], x: Any, step: Any) -> Any:
    """Return the largest x = ṡ² up to ``x`` at a segment's beginning from which the motion need not almost stop.

    The ratio of x at the segment's end to x at its beginning is then at least `_MIN_SHARE`. Where q'' is large, limits
    may force a motion to slow down along the segment. A motion that stopped at the segment's end would never reach the
    path's end.
    """
    return corner(Lines(upper, [*lower, (0.0 * step, -(1.0 - _MIN_SHARE) * 0.5 / step)]), x, falling=True)


Line = tuple[Any, Any]
_MIN_SHARE = 0.25  # of x: limits do not force it to fall further along one segment
_FAR = 1e30
_STEEP = 1e-12  # relative slope: a line nearly along x_1 = K does not bound x
_ROUNDING = 1e-13
Parts = Sequence[tuple[PathValues, PathLimits]]


def fastest_resting(
    along: Callable[[Any], tuple[Parts, Any]],
    rows: Any,
    steps: Any,
    caps: Any,
    start: Any,
    end: Any,
    stored: Any = None,
) -> tuple[PathTiming, Any]:
    """Return the fastest timing of n path segments of lengths ``steps``, and stored results of their constraints.

    Resting must be feasible everywhere. x = ṡ² is at most ``caps`` (n + 1,), and is ``start`` and ``end`` at the path's
    ends. So only the first or the last segment can be infeasible.

    ``along(row)`` maps a segment's row of ``rows`` to a pair: its limits, in the form of the arguments of
    `segment_lines`, and further values. With ``stored`` rows of an earlier call, ``along`` gets a pair: the stored row,
    and the row of ``rows``. The second result has such rows for `scan_stored`; the last entry of a row has the further
    values of a segment.
    """

    def one(state: Any, row: Any) -> tuple[Any, Any]:
        segment, step, cap = row
        parts, more = along(segment)
        upper, lower, top, last = segment_lines(parts, step, may_rest=True)
        k = 0.5 / step
        top = _passable(upper, lower, fmin(top, cap), step)
        back, forth = [], []
        for c, slope in lower:
            sum_ = slope + k
            binds = lt(_STEEP * k, sum_)
            inverse = where(binds, 1.0 / where(binds, sum_, 1.0), 0.0)
            back.append((where(binds, -c * inverse, _FAR), k * inverse))
        for c, slope in upper:
            forth.append((2.0 * step * c, 1.0 + 2.0 * step * slope))
        return state, ((fmax(top, 0.0), last, array(back), array(forth), more), ())

    if stored is None:
        _, (segments, _) = scan_storing(one, (), (rows, steps, caps[:-1]))
    else:

        def both(state: Any, row: Any) -> tuple[Any, Any]:
            known, (segment, step, cap) = row
            return one(state, ((known, segment), step, cap))

        _, (segments, _) = scan_stored(both, (), stored, (rows, steps, caps[:-1]), stores=True)

    def backward(following: Any, row: Any) -> tuple[Any, tuple[Any, Any]]:
        (top, last, lines, *_), _ = row
        high = _less(following, last)
        x = _less(top, _smallest([p + r * high for p, r in lines]))
        return x, (x, high)

    at_end = fmin(end, caps[len(steps)])
    _, (x, high) = scan_stored(backward, at_end, segments, reverse=True)
    blocked = where(lt(at_end, end), float(len(steps) - 1), -1.0)
    blocked = where(and_(le(blocked, -1.0), not_(le(start, x[0] * (1.0 + _ROUNDING)))), 0.0, blocked)

    def forward(x: Any, row: Any) -> tuple[Any, Any]:
        (_, _, _, lines, _), high = row
        following = fmax(_less(high, _smallest([a + b * x for a, b in lines])), 0.0)
        return following, following

    _, after = scan_stored(forward, start, segments, high)
    x = np.concatenate([array([start]), after])

    def of_segment(state: Any, row: Any) -> tuple[Any, Any]:
        before, after, step = row
        return state, (after - before) * (0.5 / step)

    _, u = scan(of_segment, (), (x[:-1], after, steps))
    return PathTiming(x, u, blocked), segments


def _less(a: Any, b: Any) -> Any:
    return where(lt(a, b), a, b)


def _smallest(values: list[Any]) -> Any:
    """Return the smallest of the values, compared in pairs."""
    while len(values) > 1:
        left = values[len(values) & ~1 :]
        values = [_less(a, b) for a, b in zip(values[::2], values[1::2], strict=False)] + left
    return values[0]
