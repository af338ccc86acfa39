"""Mixtures of two motions as polynomial pieces, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import fabs, fmax, fmin, where
from linkwork.motion.algorithms.profiles.compensated_time import Instant

__all__ = ["Profile", "merged", "pieces_of", "share_of"]

Scalar = Any

_CANCELLED = 1e-15  # of the largest acceleration so far
_WHOLE = 1e-14  # a mixture that is so near to one of the two is that one


class Profile(NamedTuple):
    """A motion of n joints: ``durations`` (n) [s]; ``times`` (n, pieces + 1) between the pieces of each joint;
    ``coefficients`` (n, pieces, terms) of q by the time since a piece began, lowest first; and a ``status``, 0 where
    there is a motion."""

    durations: list[Scalar]
    times: list[list[Scalar]]
    coefficients: list[list[list[Scalar]]]
    status: Scalar


def share_of(way: Scalar, one: Scalar, other: Scalar) -> Scalar:
    """How much of the first motion is in the mixture that has the way; they have these."""
    width = one - other
    some = fabs(width) > 0.0
    part = fmin(fmax(where(some, (way - other) / where(some, width, 1.0), 1.0), 0.0), 1.0)
    return where(part > 1.0 - _WHOLE, 1.0, where(part < _WHOLE, 0.0, part))


def pieces_of(
    q: Scalar, v: Scalar, a: Scalar, times: Sequence[Instant], jerks: Sequence[Scalar], most: tuple[Scalar, Scalar]
) -> list[list[Scalar]]:
    """The coefficients of pieces of constant jerk, from a state on.

    Jerks are told as no more than ``most`` up and down: pieces of no length, where several change at once, in whatever
    order, may have more.  Accelerations that cancel to rounding are 0: over a long cruise what is left would count.
    """
    up, down = (x * (1.0 / 6.0) for x in most)
    found, peak = [], fabs(a)
    for start, end, jerk in zip(times[:-1], times[1:], jerks, strict=True):
        h = start.until(end)
        half, sixth = 0.5 * a, jerk * (1.0 / 6.0)
        found.append([q, v, half, fmin(fmax(sixth, -down), up)])
        q = q + h * (v + h * (half + h * sixth))
        v = v + h * (a + 0.5 * h * jerk)
        a = a + h * jerk
        size = fabs(a)
        a = where(size <= _CANCELLED * peak, 0.0, a)
        peak = fmax(peak, size)
    return found


def merged(one: list[Any], other: list[Any]) -> list[Any]:
    """Two lists of instants with numbers, each sorted by time, as one.

    Source: Batcher, Sorting networks and their applications, AFIPS 1968: odd-even merging.
    """
    if not one or not other:
        return one or other
    if len(one) == len(other) == 1:
        return _sorted(one[0], other[0])
    even, odd = merged(one[::2], other[::2]), merged(one[1::2], other[1::2])
    found = [even[0]]
    for k in range(max(len(even) - 1, len(odd))):
        if k + 1 < len(even) and k < len(odd):
            found += _sorted(odd[k], even[k + 1])
        else:
            found.append(odd[k] if k < len(odd) else even[k + 1])
    return found


def _sorted(x: tuple[Instant, Any], y: tuple[Instant, Any]) -> list[tuple[Instant, Any]]:
    (one, a), (other, b) = x, y
    before = one.high <= other.high
    return [
        (Instant(fmin(one.high, other.high), where(before, one.low, other.low)), where(before, a, b)),
        (Instant(fmax(one.high, other.high), where(before, other.low, one.low)), where(before, b, a)),
    ]
