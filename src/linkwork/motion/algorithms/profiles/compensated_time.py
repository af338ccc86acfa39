"""Times as unevaluated sums of two floats, over any scalar, so that very short phases keep their lengths.

A phase of 1e-12 s that ends after 2 s has no length in a time of one float, whose last digit is 4e-16 s; the sum of
two has all digits.  Times are summed from both ends towards the longest phase, which absorbs rounding.  If two times
are in the wrong order because their first floats are equal, the span between them is negative; integrals over it stay
correct.

Sources: Knuth, The Art of Computer Programming 2, section 4.2.2 (the error of a sum); Dekker, A floating-point
technique for extending the available precision, 1971 (in three operations, if it is known which is larger).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import fmax, fmin, where

__all__ = ["Instant", "backward", "forward", "rising", "selected"]

Scalar = Any


class Instant(NamedTuple):
    """Time high + low [s]; low is the rounding error of high, or the last digits of the sum."""

    high: Scalar
    low: Scalar

    def after(self, span: Scalar) -> Instant:
        """Return the time that is a ``span`` [s] later.

        The rounding error ``low`` is exact if the time is longer than the span. If it is shorter, ``low`` is off by at
        most one last digit of the span, which the phase with this span cannot represent; later phases keep their
        lengths.
        """
        total = self.high + span
        return Instant(total, (span - (total - self.high)) + self.low)

    def before(self, span: Scalar) -> Instant:
        """Return the time that is a ``span`` [s] earlier; the span is at most the time since 0."""
        total = self.high - span
        return Instant(total, ((self.high - total) - span) + self.low)

    def until(self, later: Instant) -> Scalar:
        """Return the span [s] from this time to a ``later`` one."""
        return (later.high - self.high) + (later.low - self.low)


def forward(spans: Sequence[Scalar]) -> list[Instant]:
    """Return the end times of successive phases with durations ``spans`` [s]; the first phase begins at 0."""
    result, now = [], Instant(0.0, 0.0)
    for k, span in enumerate(spans):
        now = now.after(span) if k else Instant(span, 0.0)
        result.append(now)
    return result


def backward(spans: Sequence[Scalar], end: Scalar) -> list[Instant]:
    """Return the begin times of successive phases with durations ``spans`` [s]; the last phase ends at ``end``."""
    result, now = [], Instant(end, 0.0)
    for span in reversed(spans):
        now = now.before(span)
        result.append(now)
    return result[::-1]


def rising(times: Sequence[Instant], end: Scalar) -> list[Scalar]:
    """Return times as single floats, at most ``end``, and non-decreasing despite rounding."""
    result: list[Scalar] = []
    for time in times:
        result.append(fmin(fmax(time.high, result[-1]) if result else time.high, end))
    return result


def selected(condition: Scalar, a: Instant, b: Instant) -> Instant:
    """Return the time ``a`` where the condition is true, else ``b``."""
    return Instant(where(condition, a.high, b.high), where(condition, a.low, b.low))
