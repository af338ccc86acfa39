"""Lines that bound u by x: the least of some, the greatest of others, and where the first fall below the second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import and_, fabs, fmin, le, lt, not_, where

__all__ = ["Lines", "corner"]

_STEPS = 40  # corners that are passed at most
_ROUNDING = 1e-13
_LARGE = 1e300


@dataclass(frozen=True, slots=True)
class Lines:
    """u ≤ c + k x for all upper ones (c, k), and u ≥ c + k x for all lower ones."""

    upper: Sequence[tuple[Any, Any]]
    lower: Sequence[tuple[Any, Any]]

    def least(self, x: Any) -> tuple[Any, Any]:
        """U(x), the least of the upper ones at x, and its slope: concave in x."""
        return _first(self.upper, x, lt)

    def greatest(self, x: Any) -> tuple[Any, Any]:
        """L(x), the greatest of the lower ones at x, and its slope: convex in x."""
        return _first(self.lower, x, lambda value, best: lt(best, value))

    def gap(self, x: Any) -> tuple[Any, Any, Any]:
        """U(x) − L(x), its slope, and whether it is less than 0 by more than rounding."""
        (high, up), (low, down) = self.least(x), self.greatest(x)
        size = fmin(fabs(high) + fabs(low) + x * (fabs(up) + fabs(down)), _LARGE)
        return high - low, up - down, lt(high - low, -_ROUNDING * size)


def _first(lines: Sequence[tuple[Any, Any]], x: Any, before: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """The line that comes before all others at x, and its slope."""
    (c, slope), *others = lines
    best = c + slope * x
    for c, k in others:
        value = c + k * x
        better = before(value, best)
        best, slope = where(better, value, best), where(better, k, slope)
    return best, slope


def corner(lines: Lines, x: Any, *, falling: bool) -> Any:
    """From x outside, the first x at which U is not below L, going down (falling) or up; where there is none, some x.

    Newton's method: U − L is concave and piecewise linear, so that each step ends at a line that is nearer, and none
    goes past the corner.
    """

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        x = state[0]
        gap, slope, short = lines.gap(x)
        more = and_(short, lt(slope, 0.0) if falling else lt(0.0, slope))
        following = x - gap / where(more, slope, 1.0)
        return where(more, following, x), and_(more, not_(le(x, following) if falling else le(following, x)))

    return while_loop(lambda state: state[1], step, (x, le(0.0, x)), at_most=_STEPS).state[0]
