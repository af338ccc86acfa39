"""Derivatives of a step with events: the step is repeated with event times that depend on its inputs.

An event was found at the time T, a number.  T gets the derivative of the root of its guard, g(T, θ) = 0,

    dT/dθ = −(∂g/∂θ) / (∂g/∂T).

The step up to T, the jump there and the rest of the step are then repeated with T, and their derivatives follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.pytree import tree_map
from linkwork.expr.autodiff.custom_derivative import stop_gradient, with_derivative_of
from linkwork.expr.autodiff.graph_derivative import tangent
from linkwork.expr.control import cond, scan
from linkwork.expr.scalar.functions import and_, eq, floor, lt, or_, where
from linkwork.expr.scalar.symbol import Symbol
from linkwork.simulation.algorithms import WatchedFunction

__all__ = ["replayed"]


class ReplayedStep(NamedTuple):
    """Time in the step up to which it was repeated [s], q and v at that time, and the step's other results."""

    time: Any
    q: Any
    v: Any
    more: Any


def _has_happened(bits: Any, k: int) -> Any:
    """Return True if the sum of 2ⁱ over the events i that happened contains event k."""
    return lt(0.5, floor(bits * 0.5**k) - 2.0 * floor(bits * 0.5 ** (k + 1)))


def replayed(
    advance: Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]],
    events: Sequence[WatchedFunction],
    t: Any,
    h: Any,
    q: Any,
    v: Any,
    more: Any,
    table: Any,
    count: Any,
    stopped: Any,
) -> ReplayedStep:
    """Repeat the step of h from q and v at t through its events, with derivatives of the event times.

    The events are ``count`` rows of a ``table``; the last one may have ``stopped`` the step.  ``advance(begin, q, v,
    width)`` returns q, v and other results of a step of ``width`` [s].
    """
    changing = [(k, event) for k, event in enumerate(events) if event.stop or event.jump is not None]

    def through(s: ReplayedStep, row: Any) -> ReplayedStep:
        happened = [_has_happened(row[0], k) for k, _ in changing]
        (at,) = stop_gradient([row[1] - t])
        end, rates, _ = advance(s.time, s.q, s.v, at - s.time)
        guard: Any = 0.0
        for (_, event), happens in zip(reversed(changing), reversed(happened), strict=True):
            guard = where(happens, event.guard(t + at, end, rates), guard)
        slope = tangent([guard], [at], [1.0])[0] if at.__class__ is Symbol else 0.0
        flat = eq(slope, 0.0)  # as of a guard that only touches zero: its time has no derivative
        (steep,) = stop_gradient([where(flat, 1.0, slope)])
        (time,) = with_derivative_of([at], [where(flat, at, -guard / steep)])
        end, rates, results = advance(s.time, s.q, s.v, time - s.time)
        for (_, event), happens in zip(changing, happened, strict=True):
            if event.jump is not None:
                jumped = event.jump(t + time, end, rates)
                end, rates = tree_map(lambda a, b, happens=happens: where(happens, a, b), jumped, (end, rates))
        return ReplayedStep(time, end, rates, results)

    def row(s: ReplayedStep, result: tuple[Any, Any]) -> tuple[ReplayedStep, None]:
        index, values = result
        any_happened: Any = False
        for k, _ in changing:
            happens = _has_happened(values[0], k)
            any_happened = happens if any_happened is False else or_(any_happened, happens)
        is_event = and_(lt(index, count), any_happened)
        return cond(is_event, lambda s: through(s, values), lambda s: s, s), None

    start = ReplayedStep(0.0 * h, q, v, more)
    if changing:
        start, _ = scan(row, start, (np.arange(float(len(table))), table))

    def finished(s: ReplayedStep) -> ReplayedStep:
        return ReplayedStep(h + 0.0 * s.time, *advance(s.time, s.q, s.v, h - s.time))

    return cond(lt(0.5, stopped), lambda s: s, finished, start)  # type: ignore[no-any-return]
