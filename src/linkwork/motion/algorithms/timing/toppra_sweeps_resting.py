"""The fastest way along a path within limits of second order, where standing still is within them: by lines alone.

As in `reachability`, with x = ṡ² and u = s̈ held on each segment.  x = 0 can be kept up everywhere, so that the rest can
be passed from all of 0 ≤ x_i ≤ K_i.  Of each segment for itself is the largest x at which its upper lines are not below
its lower ones.  The lower ones, u ≥ c + k x, together with x + 2 Δ u ≤ K, bound x by lines p + r K, and the upper ones
bound what follows by lines a + b x.  So all that has to be done segment after segment is to take the least of some
lines, backward for K and forward for x; the rest is done of segments side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan
from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, not_, where
from linkwork.motion.algorithms.timing.segment_constraints import PathLimits, PathValues, segment_lines
from linkwork.motion.algorithms.timing.segment_constraints_lines import Lines, corner
from linkwork.motion.algorithms.timing.toppra_sweeps import PathTiming

__all__ = ["fastest_resting"]

_FAR = 1e30
_STEEP = 1e-12  # of a line that follows x_1 = K nearly: it does not bound x
_ROUNDING = 1e-13

Parts = Sequence[tuple[PathValues, PathLimits]]


def fastest_resting(
    along: Callable[[Any], tuple[Parts, Any]], rows: Any, steps: Any, caps: Any, start: Any, end: Any
) -> tuple[PathTiming, Any]:
    """The fastest x and u along n segments of lengths ``steps``, x being at most ``caps`` (n + 1,), and given at ends.

    ``along(row)`` gives the parts of a segment, as `segment_lines` takes them, of its row among ``rows``, and what else
    is wanted of it, which is given back for all.  Only an end can be blocked.
    """

    def one(state: Any, row: Any) -> tuple[Any, Any]:
        own, step, cap = row
        parts, more = along(own)
        upper, lower, top, last = segment_lines(parts, step, may_rest=True)
        k = 0.5 / step
        top = corner(Lines(upper, [*lower, (0.0 * step, -k)]), fmin(top, cap), falling=True)
        back, forth = [], []
        for c, slope in lower:
            sum_ = slope + k
            binds = lt(_STEEP * k, sum_)
            inverse = where(binds, 1.0 / where(binds, sum_, 1.0), 0.0)
            back.append((where(binds, -c * inverse, _FAR), k * inverse))
        for c, slope in upper:
            forth.append((2.0 * step * c, 1.0 + 2.0 * step * slope))
        return state, (fmax(top, 0.0), last, array(back), array(forth), more)

    _, (top, last, back, forth, more) = scan(one, (), (rows, steps, caps[:-1]))

    def backward(following: Any, row: Any) -> tuple[Any, tuple[Any, Any]]:
        top, last, lines = row
        high = _less(following, last)
        x = _less(top, _least([p + r * high for p, r in lines]))
        return x, (x, high)

    at_end = fmin(end, caps[len(steps)])
    _, (x, high) = scan(backward, at_end, (top, last, back), backward=True)
    blocked = where(lt(at_end, end), float(len(steps) - 1), -1.0)
    blocked = where(and_(le(blocked, -1.0), not_(le(start, x[0] * (1.0 + _ROUNDING)))), 0.0, blocked)

    def forward(x: Any, row: Any) -> tuple[Any, Any]:
        high, lines = row
        following = fmax(_less(high, _least([a + b * x for a, b in lines])), 0.0)
        return following, following

    _, after = scan(forward, start, (high, forth))
    x = np.concatenate([array([start]), after])

    def of_segment(state: Any, row: Any) -> tuple[Any, Any]:
        before, after, step = row
        return state, (after - before) * (0.5 / step)

    _, u = scan(of_segment, (), (x[:-1], after, steps))
    return PathTiming(x, u, blocked), more


def _less(a: Any, b: Any) -> Any:
    return where(lt(a, b), a, b)


def _least(numbers: list[Any]) -> Any:
    """The least, by pairs."""
    while len(numbers) > 1:
        left = numbers[len(numbers) & ~1 :]
        numbers = [_less(a, b) for a, b in zip(numbers[::2], numbers[1::2], strict=False)] + left
    return numbers[0]
