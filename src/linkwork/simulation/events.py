"""Events: zero crossings of functions of time and state in a simulation, stops and jumps, and derivatives of steps.

An event was found at the time T, a number.  T gets the derivative of the root of its guard, g(T, θ) = 0,

    dT/dθ = −(∂g/∂θ) / (∂g/∂T).

The step up to T, the jump there and the rest of the step are then repeated with T, and their derivatives follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import boolean
from linkwork.expr.arrays.pytree import flatten, tree_map
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.autodiff.custom_derivative import stop_gradient, with_derivative_of
from linkwork.expr.autodiff.graph_derivative import tangent
from linkwork.expr.control import cond, scan
from linkwork.expr.scalar.functions import and_, eq, floor, lt, or_, where
from linkwork.expr.scalar.symbol import Symbol
from linkwork.simulation.algorithms import WatchedFunction

__all__ = [
    "SLOTS",
    "Event",
    "EventRecord",
    "EventSlots",
    "checked_events",
    "no_slots",
    "occurrences",
    "replayed",
    "watched",
]

SLOTS = 8  # maximum number of events between two records


@public_constructor
@dataclass(frozen=True)
class Event:
    """Event where ``guard(t, q, v)``, a number, passes zero: upward (``direction`` 1), downward (−1) or both (0).

    It is located within the step.  With ``stop`` the environment ends there.  ``jump(t, q, v)`` returns the q (nq,) and
    v (nv,) from which the motion continues, as after a bounce.  Both are traced, like controllers.  A guard that is NaN
    stops the environment; an infinite guard has the sign of its infinity.

    >>> import linkwork as lw
    >>> ball = lw.Robot.build("ball", lw.Link("body", lw.shapes.Sphere(0.1), mass=1.0), floating_base=True)
    >>> landed = lw.simulation.Event("landed", lambda t, q, v: q[6] - 0.1, direction=-1, stop=True)
    >>> high = ball.neutral()
    >>> high[6] = 0.1 + 0.5 * 9.81 * 0.3**2
    >>> found = ball.simulate(high, duration=1.0, dt=0.01, method="rk4", events=[landed])
    >>> found.explain(), round(found.events[0].time, 9)
    ("ended_by_event: ended by the event 'landed' at 0.3 s", 0.3)

    Raises ValueError and TypeError for a wrong name, function or direction.
    """

    name: str
    guard: Callable[..., Any]
    direction: int = 0
    stop: bool = False
    jump: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"Event: name: expected a non-empty string, got {self.name!r}")
        if not callable(self.guard) or not (self.jump is None or callable(self.jump)):
            name, wrong = ("jump", self.jump) if callable(self.guard) else ("guard", self.guard)
            raise TypeError(f"Event {self.name!r}: {name}: expected a function of t, q and v, got {wrong!r}")
        if isinstance(self.direction, bool) or self.direction not in (-1, 0, 1):
            raise ValueError(f"Event {self.name!r}: direction: expected -1, 0 or 1, got {self.direction!r}")
        object.__setattr__(self, "stop", boolean(f"Event {self.name!r}", "stop", self.stop))


class EventRecord(NamedTuple):
    """An event that happened: its environment, time [s], q (nq,) and v (nv,), and the state after it.

    ``next_q`` and ``next_v`` are q and v if the event has no jump.
    """

    name: str
    environment: tuple[int, ...]
    time: float
    q: np.ndarray
    v: np.ndarray
    next_q: np.ndarray
    next_v: np.ndarray


class EventSlots(NamedTuple):
    """Events since the last record: a ``table`` of at most SLOTS rows, their ``count``, and ``ended``.

    ``ended`` is the time in the step [s] at which an event ended the environment.
    """

    table: Any
    count: Any
    ended: Any


def no_slots(robot: Any) -> EventSlots:
    """Return the empty table of events before the first event."""
    return EventSlots(np.zeros((SLOTS, 2 * (1 + robot.nq + robot.nv))), 0.0, 0.0)


def checked_events(value: Any) -> tuple[Event, ...]:
    """Return events with distinct names.  Raises TypeError and ValueError."""
    result = (value,) if isinstance(value, Event) else tuple(value)
    for event in result:
        if not isinstance(event, Event):
            raise TypeError(f"simulate: events: expected linkwork.simulation.Event, got {event!r}")
    names = [event.name for event in result]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"simulate: events: expected distinct names, got {name!r} more than once")
    if len(result) > 50:
        raise ValueError(f"simulate: events: expected at most 50, got {len(result)}")
    return result


def watched(robot: Any, events: tuple[Event, ...]) -> list[WatchedFunction]:
    """Return the events as functions for event location, which check the results of guards and jumps."""
    return [
        WatchedFunction(_guard(e), e.direction, e.stop, None if e.jump is None else _jump(robot, e)) for e in events
    ]


def _guard(event: Event) -> Callable[..., Any]:
    def guard(t: Any, q: Any, v: Any) -> Any:
        values, _ = flatten(array(event.guard(t, q, v)), f"event {event.name!r}: what its guard returns")
        if len(values) != 1:
            raise ValueError(f"event {event.name!r}: guard: expected one value, got {len(values)}")
        return values[0]

    return guard


def _jump(robot: Any, event: Event) -> Callable[..., Any]:
    def jump(t: Any, q: Any, v: Any) -> Any:
        assert event.jump is not None
        result = event.jump(t, q, v)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise ValueError(f"event {event.name!r}: jump: expected (q, v), got {result!r}")
        parts = []
        for name, x, n in (("q", result[0], robot.nq), ("v", result[1], robot.nv)):
            values, _ = flatten(array(x), f"event {event.name!r}: the {name} that its jump returns")
            if len(values) != n:
                raise ValueError(f"event {event.name!r}: jump: expected {name} ({n},), got {len(values)} values")
            parts.append(array(values))
        return tuple(parts)

    return jump


def occurrences(robot: Any, events: tuple[Event, ...], table: np.ndarray, count: np.ndarray) -> list[EventRecord]:
    """Return a record for each event that happened, sorted by environment and time.

    ``table`` (..., records, SLOTS, ·) contains the events between records, and ``count`` (..., records) their number.
    """
    used = np.arange(SLOTS) < count[..., None]
    nq, nv = robot.nq, robot.nv
    result = []
    for index in np.argwhere(used):
        bits, time, *values = table[tuple(index)]
        q, v, next_q, next_v = np.split(np.array(values), np.cumsum([nq, nv, nq]))
        for k, event in enumerate(events):
            if int(bits) >> k & 1:
                result.append(EventRecord(event.name, tuple(map(int, index[:-2])), float(time), q, v, next_q, next_v))
    return result


class ReplayedStep(NamedTuple):
    """Part of a step that was repeated up to an event: time in the step [s], q and v then, and its other results."""

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
