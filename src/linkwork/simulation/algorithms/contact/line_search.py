"""Exact line search of Newton's method for a step's convex program: the root of its slope along a direction.

The slope grows with the length, so that its root is bracketed.  The first estimate is the root of the secant from 0 to
1; then Newton's method follows, with bisection where it leaves the bracket.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.control import while_loop
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, fmin, lt, not_, where
from linkwork.simulation.algorithms.contact.contact_terms import ContactAt, ContactTerms, Interval, impulse_of, push_of

__all__ = ["MovedContact", "MovedInterval", "step_length"]

Scalars = Sequence[Any]

_SEARCHED = 12  # maximum number of iterations
_SHORT = 1e-8  # slope at which the search ends, relative to that at 0
_LONGEST = 1e3  # length beyond which the search bisects


class MovedContact(NamedTuple):
    """Contact with its velocity c (3) at length 0, and the change of c (3) at length 1."""

    contact: ContactAt
    term: ContactTerms
    c: Scalars
    change: Scalars


class MovedInterval(NamedTuple):
    """Interval with the velocity c of its row at length 0, and the change of c at length 1."""

    interval: Interval
    c: Any
    change: Any


class _Search(NamedTuple):
    x: Any
    low: Any
    high: Any
    value: Any
    bend: Any


def step_length(
    begin: Any, masses: tuple[Any, Any], contacts: Sequence[MovedContact], intervals: Sequence[MovedInterval]
) -> Any:
    """Return the length that minimises the function of a program along a direction.

    The slope at length 0 is ``begin``.  ``masses`` are the inertial part of this slope, and its increase per length.
    """
    first, second = masses

    def slope(x: Any) -> tuple[Any, Any]:
        value, bend = first + x * second, second
        for contact, term, c, d in contacts:
            gamma, G = impulse_of(contact, term, [a + x * b for a, b in zip(c, d, strict=True)])
            value = value - dot(gamma, d)
            bend = bend + dot(d, [dot(row, d) for row in G])
        for interval, c, d in intervals:
            push, stiff = push_of(interval, c + x * d)
            value, bend = value - push * d, bend + stiff * d * d
        return value, bend

    value, _ = slope(1.0)
    small = _SHORT * fabs(begin) + 1e-300

    def going(s: _Search) -> Any:
        return lt(small, fabs(s.value))

    kinks = [(interval.target - c) / where(eq(d, 0.0), 1e-300, d) for interval, c, d in intervals if interval.is_firm]

    def closer(s: _Search) -> _Search:
        low, high = where(lt(s.value, 0.0), s.x, s.low), where(lt(s.value, 0.0), s.high, s.x)
        newton = s.x - s.value / s.bend
        end = fmin(high, _LONGEST)
        inside = and_(lt(low, newton), not_(lt(end, newton)))
        x = middle = 0.5 * (low + fmin(high, fmax(2.0 * low, 2.0)))
        if kinks:  # Newton's steps may oscillate between the sides of a kink
            margin = 1e-6 * (end - low)
            inside = and_(inside, lt(margin, where(lt(s.value, 0.0), high - newton, newton - low)))
            nearest: Any = math.inf
            for kink in kinks:
                far = fabs(kink - middle)
                nearer = and_(and_(lt(low, kink), lt(kink, high)), lt(far, nearest))
                x, nearest = where(nearer, kink, x), where(nearer, far, nearest)
        x = where(inside, newton, x)
        value, bend = slope(x)
        return _Search(x, low, high, value, bend)

    most = _SEARCHED + 2 * len(kinks)
    secant = _Search(1.0, 0.0, 1e300, value, value - begin)
    return while_loop(going, closer, secant, max_iterations=most).state.x
