"""What lies on a curve at a time: configuration, velocity, acceleration and jerk, over any scalar.

The parameter of the curve, s(t), and the curve, q(s), are computed with dual numbers of time, one in another as often
as derivatives are asked for; then v is that of q̇, and its derivatives follow.  So they are those of q(t) to rounding,
on every manifold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.dual_numbers import Dual, parts, seeded
from linkwork.expr.scalar.functions import lt, or_, where
from linkwork.motion.algorithms.curves.curve_kinds import Arrays, CurveKind, piece_at, polynomial, row
from linkwork.motion.algorithms.curves.curve_space import CurveSpace

__all__ = ["Clock", "curve_motion", "motion_of"]


@dataclass(frozen=True, slots=True)
class Clock:
    """The parameter s of a curve by time t: polynomials of pieces, s = Σ c_k (t − t_i)^k.

    ``starts`` (pieces,) are the t_i, ``coefficients`` (pieces, terms) lowest first.
    """

    starts: Any
    coefficients: Any


def curve_motion(
    space: CurveSpace,
    kind: CurveKind,
    arrays: Arrays,
    clock: Clock | None,
    ends: tuple[Any, Any] | None,
    t: Any,
    order: int = 2,
) -> list[list[Any]]:
    """q (nq), and so many derivatives (nv): v, a and the jerk, the derivative of a.

    Without a clock s is t.  Before the first of the ``ends`` [s] and after the second the curve stands still there;
    without ends it goes on.
    """
    if ends is None:
        return _motion_on(space, kind, arrays, clock, t, order)
    before, after = lt(t, ends[0]), lt(ends[1], t)
    at = where(before, ends[0], where(after, ends[1], t))
    first, *rest = _motion_on(space, kind, arrays, clock, at, order)
    still = or_(before, after)
    return [first, *([where(still, 0.0, x) for x in one] for one in rest)]


def _motion_on(
    space: CurveSpace, kind: CurveKind, arrays: Arrays, clock: Clock | None, at: Any, order: int
) -> list[list[Any]]:
    """At a time that is on the curve."""

    def q(now: Any, levels: Sequence[int]) -> list[Any]:
        s = now
        if clock is not None:
            place, start = piece_at(clock.starts, at)
            s = polynomial([*row(clock.coefficients, place)], now - start)
        return kind.q(space, arrays, s, _without(s, levels))

    return motion_of(space, q, at, order)


def motion_of(
    space: CurveSpace, q: Callable[[Any, Sequence[int]], list[Any]], at: Any, order: int = 2
) -> list[list[Any]]:
    """q(t), v and so many derivatives in all, of a configuration that is a function of time over any scalar.

    The function is also told of which levels its argument's dual numbers are.
    """
    levels = [seeded([0.0], [0.0])[0].level for _ in range(order)]
    now: Any = at
    for level in levels:
        now = Dual(now, 1.0, level)
    there = q(now, levels)
    found = [[_without(x, levels) for x in there]]
    if not order:
        return found
    moving = [parts(x, levels[-1]) for x in there]
    v = space.velocity_from_rate([x for x, _ in moving], [x for _, x in moving])
    for k in range(order):
        rest = levels[: order - 1 - k]
        found.append([_without(x, rest) for x in v])
        if rest:
            v = [parts(x, rest[-1])[1] for x in v]
    return found


def _without(x: Any, levels: Sequence[int]) -> Any:
    """A number without its derivatives at these levels."""
    for level in reversed(levels):
        x = parts(x, level)[0]
    return x
