"""Of a line o + t d: the part that is within something convex, over any scalar."""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, or_, sqrt, where

__all__ = ["ALONG", "FAR", "LinePart", "quadric", "slab"]

FAR = 1e30  # [m]: where nothing is met
ALONG = 1e-300  # what is not divided by


class LinePart(NamedTuple):
    """Where it begins and ends, and whether there is such a part."""

    begin: Any
    end: Any
    there: Any

    def within(self, other: LinePart) -> LinePart:
        """What both have."""
        return LinePart(fmax(self.begin, other.begin), fmin(self.end, other.end), and_(self.there, other.there))

    @property
    def ahead(self) -> Any:
        """Whether some of it is where t is not negative."""
        return and_(self.there, and_(le(self.begin, self.end), le(0.0, self.end)))

    @property
    def met(self) -> Any:
        """How far a ray goes to it: 0 inside."""
        return where(self.ahead, fmax(self.begin, 0.0), FAR)


def slab(x: Any, rate: Any, low: Any, high: Any) -> LinePart:
    """Where low ≤ x + rate t ≤ high."""
    along = lt(ALONG, fabs(rate))
    scale = 1.0 / where(along, rate, 1.0)
    one, other = (low - x) * scale, (high - x) * scale
    begin, end = where(along, fmin(one, other), -FAR), where(along, fmax(one, other), FAR)
    return LinePart(begin, end, or_(along, and_(le(low, x), le(x, high))))


def quadric(a: Any, b: Any, c: Any) -> LinePart:
    """Where a t² + 2 b t + c ≤ 0, for a from 0: by the sum of two numbers of one sign."""
    inner = b * b - a * c
    crosses = and_(lt(ALONG, a), le(0.0, inner))
    root = sqrt(where(crosses, inner, 1.0))
    sum_ = where(lt(b, 0.0), root - b, -root - b)
    far, near = sum_ / where(crosses, a, 1.0), c / where(lt(ALONG, fabs(sum_)), sum_, 1.0)
    begin, end = where(crosses, fmin(far, near), -FAR), where(crosses, fmax(far, near), FAR)
    return LinePart(begin, end, or_(crosses, and_(le(a, ALONG), le(c, 0.0))))
