"""Event location by bisection: zero crossings of functions of time and state within a step, and substeps.

The first crossing in a segment is located, by halving an interval in which some function crosses zero.  The located
state is the last one before any crossing.  An event that only watches does not change the motion; after a jump the
motion continues from the new state.

Segments give a method's state at any time within a step.  Methods with fixed stages take shorter steps, so the state
within a step has the method's own order; the adaptive method has its continuous extension.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.pytree import tree_map
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond, put, while_loop
from linkwork.expr.scalar.functions import and_, eq, fmin, le, lt, or_, where
from linkwork.simulation.algorithms.adaptive_runge_kutta import PARTS, TOLERANCE, begun, state_at, tried
from linkwork.simulation.algorithms.ode_system import MotionSystem

__all__ = ["LocatedStep", "StepSegments", "WatchedFunction", "adaptive_segments", "located_step", "shorter_steps"]


_HALVINGS = 60
_NEAR = 2.0**-52  # relative distance of times that are equal
_END = 1e-12  # distance from a step's end that counts as its end, relative to the step


@dataclass(frozen=True, slots=True)
class WatchedFunction:
    """Watched ``guard(t, q, v)`` that passes zero upward (1), downward (−1) or in both directions (0).

    ``stop`` ends the motion there; ``jump(t, q, v)`` returns the q and v from which it continues.
    """

    guard: Callable[[Any, Any, Any], Any]
    direction: int
    stop: bool
    jump: Callable[[Any, Any, Any], tuple[Any, Any]] | None


class LocatedStep(NamedTuple):
    """Progress of event location in a step: time [s] up to which it was searched, with q, v and guards there.

    A row of the ``table`` is an event: the sum of 2^k over the guards k that crossed zero, its time, q and v before
    it, and q and v after it.  ``count`` is the number of events, larger than the number of rows if there are too many.
    ``stopped`` is 1 after an event that stops, and ``lost`` is k + 1 if guard k was NaN.
    """

    segment: StepSegment
    time: Any
    q: Any
    v: Any
    guards: Any
    stopped: Any
    table: Any
    count: Any
    lost: Any


def located_step(
    segments: StepSegments, watched: Sequence[WatchedFunction], t: Any, h: Any, q: Any, v: Any, table: Any, count: Any
) -> LocatedStep:
    """Return the events in a step of h [s] from q and v at t.

    The search ends at the end of the step, at an event that stops, or if there are more events than rows of the table.
    """
    rows = len(table)

    def guards(time: Any, q: Any, v: Any) -> Any:
        return array([w.guard(t + time, q, v) for w in watched])

    def passed(before: Any, after: Any) -> list[Any]:
        result = []
        for w, a, b in zip(watched, before, after, strict=True):
            up, down = and_(le(a, 0.0), lt(0.0, b)), and_(le(0.0, a), lt(b, 0.0))
            result.append(up if w.direction > 0 else down if w.direction < 0 else or_(up, down))
        return result

    def going(s: LocatedStep) -> Any:
        within = and_(lt(s.time, h * (1.0 - _END)), lt(s.lost, 0.5))
        return and_(and_(within, lt(s.stopped, 0.5)), lt(s.count, rows + 0.5))

    def further(s: LocatedStep) -> LocatedStep:
        segment = cond(lt(s.time, s.segment.end), lambda p: p, segments.further, s.segment)
        after = guards(segment.end, segment.q, segment.v)
        empty_row = array([0.0] * len(table[0]))
        quiet = _LocatedEvent(segment.end, segment.q, segment.v, after, False, False, empty_row)
        hit = _any(passed(s.guards, after))
        result = cond(hit, lambda: happened(s, segment, after), lambda: quiet)
        again = segments.begun(result.time, result.q, result.v)
        return LocatedStep(
            _either(result.jumps, again, segment),
            result.time,
            result.q,
            result.v,
            result.guards,
            where(result.stops, 1.0, 0.0),
            put(s.table, where(hit, s.count, -1.0), result.row),
            s.count + where(hit, 1.0, 0.0),
            _lost(result.guards),
        )

    def happened(s: LocatedStep, segment: StepSegment, after: Any) -> _LocatedEvent:
        """Return the first event in a segment, after the time up to which it was searched."""

        def halved(x: _EventInterval) -> _EventInterval:
            middle = 0.5 * (x.low + x.high)
            q, v = segments.at(segment, middle)
            g = guards(middle, q, v)
            beyond = _any(passed(s.guards, g))
            lower = _EventInterval(x.low, middle, x.q, x.v, q, v, g)
            return _either(beyond, lower, x._replace(low=middle, q=q, v=v))  # type: ignore[no-any-return]

        between = _EventInterval(s.time, segment.end, s.q, s.v, segment.q, segment.v, after)
        apart = _NEAR * (t + h)
        x = while_loop(lambda x: lt(apart, x.high - x.low), halved, between, max_iterations=_HALVINGS).state
        which = passed(s.guards, x.guards)
        state = (x.q, x.v)
        for w, occurs in zip(watched, which, strict=True):
            if w.jump is not None:
                state = _either(occurs, w.jump(t + x.low, *state), state)
        bits = sum((where(occurs, 2.0**k, 0.0) for k, occurs in enumerate(which)), 0.0)
        row = array([bits, t + x.low, *x.q, *x.v, *state[0], *state[1]])
        stops = _any([occurs for w, occurs in zip(watched, which, strict=True) if w.stop])
        jumps = _any([occurs for w, occurs in zip(watched, which, strict=True) if w.jump is not None])
        # a guard that is zero after a jump is still on the side that it came from
        sides = guards(x.low, *state)
        sides = [where(and_(occurs, eq(a, 0.0)), b, a) for occurs, a, b in zip(which, sides, s.guards, strict=True)]
        at_event = _LocatedEvent(x.low, *state, array(sides), stops, jumps, row)
        on = _LocatedEvent(x.high, x.q_high, x.v_high, x.guards, stops, jumps, row)
        return _either(_any([stops, jumps]), at_event, on)  # type: ignore[no-any-return]

    first = guards(0.0, q, v)
    start = LocatedStep(segments.begun(0.0, q, v), 0.0, q, v, first, 0.0, table, count, _lost(first))
    return while_loop(going, further, start, max_iterations=_MOST).state  # type: ignore[no-any-return]


_MOST = 2000  # maximum number of segments and events


class _LocatedEvent(NamedTuple):
    """State at which the search in a segment ended, with flags of a stopping or jumping event and its table row."""

    time: Any
    q: Any
    v: Any
    guards: Any
    stops: Any
    jumps: Any
    row: Any


class _EventInterval(NamedTuple):
    """Interval of time that contains an event: q and v before it, and q, v and guards after it."""

    low: Any
    high: Any
    q: Any
    v: Any
    q_high: Any
    v_high: Any
    guards: Any


def _lost(guards: Any) -> Any:
    """Return k + 1 for the first guard k that is NaN, 0 if none is."""
    result: Any = 0.0
    for k, x in reversed([*enumerate(guards)]):
        result = where(le(x, math.inf), result, k + 1.0)
    return result


def _any(truths: Sequence[Any]) -> Any:
    result: Any = False
    for x in truths:
        result = x if result is False else result if x is False else or_(result, x)
    return result


def _either(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return the nested value ``if_true`` where the condition holds, else ``if_false``, of the same nesting."""
    if condition is False:
        return if_false
    return tree_map(lambda a, b: _chosen(condition, a, b), if_true, if_false)


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    if not isinstance(a, np.ndarray):
        return where(condition, a, b)
    return array([where(condition, x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True)]).reshape(a.shape)


Scalars = Sequence[Any]


class StepSegment(NamedTuple):
    """Segment of a step from ``begin`` to ``end`` [s] after its start, with q and v at its end.

    ``inside`` is the state that evaluation within the segment needs; ``more`` are other results of the step.
    """

    begin: Any
    end: Any
    q: Any
    v: Any
    inside: Any
    more: Any


@dataclass(frozen=True, slots=True)
class StepSegments:
    """Functions that divide a step into segments.

    ``begun(time, q, v)`` starts, ``further(segment)`` returns the next segment, and ``at(segment, time)`` returns q
    and v at a time within a segment.
    """

    begun: Callable[[Any, Any, Any], StepSegment]
    further: Callable[[StepSegment], StepSegment]
    at: Callable[[StepSegment, Any], tuple[Any, Any]]


def shorter_steps(advance: Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]], h: Any, more: Any) -> StepSegments:
    """Return segments that each lead to the step's end, by a method that can take shorter steps.

    ``advance(begin, q, v, width)`` returns q, v and other results of a step of the ``width`` [s].
    """

    def further(segment: StepSegment) -> StepSegment:
        q, v, result = advance(segment.end, segment.q, segment.v, h - segment.end)
        return StepSegment(segment.end, h, q, v, (segment.q, segment.v), result)

    def at(segment: StepSegment, time: Any) -> tuple[Any, Any]:
        start, rates = segment.inside
        q, v, _ = advance(segment.begin, start, rates, time - segment.begin)
        return q, v

    return StepSegments(lambda time, q, v: StepSegment(time, time, q, v, (q, v), more), further, at)


def adaptive_segments(system: MotionSystem, t: Any, h: Any, together: Callable[[Scalars], Any]) -> StepSegments:
    """Return segments that are Dormand-Prince steps with errors of 10⁻⁹; ``together`` makes arrays of scalars."""

    def start(time: Any, q: Any, v: Any) -> StepSegment:
        return StepSegment(time, time, q, v, begun(list(q), list(v), t + time, h - time), ())

    def further(segment: StepSegment) -> StepSegment:
        before = segment.inside

        def behind(state: Any) -> Any:
            return and_(le(state.time, before.time), lt(state.steps, float(PARTS)))

        state = while_loop(behind, lambda s: tried(system, s, TOLERANCE, TOLERANCE), before, max_iterations=PARTS).state
        end = fmin(state.time - t, h)
        q, v = state_at(system, state, t + end)
        v = [where(lt(state.steps, float(PARTS)), x, math.inf) for x in v]  # an unfinished step becomes non-finite
        return StepSegment(before.time - t, end, together(q), together(v), state, ())

    def at(segment: StepSegment, time: Any) -> tuple[Any, Any]:
        q, v = state_at(system, segment.inside, t + time)
        return together(q), together(v)

    return StepSegments(start, further, at)
