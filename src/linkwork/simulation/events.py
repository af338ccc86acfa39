"""Events: functions of time and state that pass zero while a robot moves, and what happens then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import boolean
from linkwork.expr.arrays.pytree import flatten
from linkwork.expr.arrays.symbol_array import array
from linkwork.simulation.algorithms import WatchedFunction

__all__ = ["SLOTS", "Event", "EventRecord", "EventSlots", "checked_events", "no_slots", "occurrences", "watched"]

SLOTS = 8  # events from one record to the next


@public_constructor
@dataclass(frozen=True)
class Event:
    """Something that happens where ``guard(t, q, v)``, a number, passes zero: upward (``direction`` 1), downward (−1)
    or either way (0).

    It is found within the step, at its time.  With ``stop`` the environment ends there.  ``jump(t, q, v)`` gives the
    q (nq,) and v (nv,) that the motion goes on from: a bounce, say.  Both are traced, as controllers are.
    A guard that is NaN stops the environment; infinite ones are on a side as others are.

    >>> import linkwork as lw
    >>> ball = lw.Robot.build("ball", lw.Link("body", lw.shapes.Sphere(0.1), mass=1.0), floating_base=True)
    >>> landed = lw.simulation.Event("landed", lambda t, q, v: q[6] - 0.1, direction=-1, stop=True)
    >>> high = ball.neutral()
    >>> high[6] = 0.1 + 0.5 * 9.81 * 0.3**2
    >>> found = ball.simulate(high, duration=1.0, dt=0.01, method="rk4", events=[landed])
    >>> found.explain(), round(found.events[0].time, 9)
    ("ended_by_event: ended by the event 'landed' at 0.3 s", 0.3)

    Raises ValueError and TypeError for what is no name, function or direction.
    """

    name: str
    guard: Callable[..., Any]
    direction: int = 0
    stop: bool = False
    jump: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"Event: name: expected a name, got {self.name!r}")
        if not callable(self.guard) or not (self.jump is None or callable(self.jump)):
            wrong = self.guard if not callable(self.guard) else self.jump
            raise TypeError(f"Event {self.name!r}: expected functions of t, q and v as guard and jump, got {wrong!r}")
        if isinstance(self.direction, bool) or self.direction not in (-1, 0, 1):
            raise ValueError(f"Event {self.name!r}: direction: expected -1, 0 or 1, got {self.direction!r}")
        object.__setattr__(self, "stop", boolean(f"Event {self.name!r}", "stop", self.stop))


class EventRecord(NamedTuple):
    """An event that happened: in which environment, when [s], at which q (nq,) and v (nv,), and where it went on from.

    ``next_q`` and ``next_v`` are q and v where the event has no jump.
    """

    name: str
    environment: tuple[int, ...]
    time: float
    q: np.ndarray
    v: np.ndarray
    next_q: np.ndarray
    next_v: np.ndarray


class EventSlots(NamedTuple):
    """Events since the last record (SLOTS rows), how many were found, and when in its step an environment ended [s]."""

    table: Any
    count: Any
    ended: Any


def no_slots(robot: Any) -> EventSlots:
    """Before the first."""
    return EventSlots(np.zeros((SLOTS, 2 * (1 + robot.nq + robot.nv))), 0.0, 0.0)


def checked_events(value: Any) -> tuple[Event, ...]:
    """Events of different names.  Raises TypeError and ValueError."""
    result = (value,) if isinstance(value, Event) else tuple(value)
    for event in result:
        if not isinstance(event, Event):
            raise TypeError(f"simulate: events: expected linkwork.simulation.Event, got {event!r}")
    names = [event.name for event in result]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"simulate: events: expected different names, got {name!r} more than once")
    if len(result) > 50:
        raise ValueError(f"simulate: events: expected 50 at most, got {len(result)}")
    return result


def watched(robot: Any, events: tuple[Event, ...]) -> list[WatchedFunction]:
    """The events as steps look at them, and at what their functions return."""
    return [
        WatchedFunction(_guard(e), e.direction, e.stop, None if e.jump is None else _jump(robot, e)) for e in events
    ]


def _guard(event: Event) -> Callable[..., Any]:
    def guard(t: Any, q: Any, v: Any) -> Any:
        numbers, _ = flatten(array(event.guard(t, q, v)), f"event {event.name!r}: what its guard returns")
        if len(numbers) != 1:
            raise ValueError(f"event {event.name!r}: expected one number of its guard, got {len(numbers)}")
        return numbers[0]

    return guard


def _jump(robot: Any, event: Event) -> Callable[..., Any]:
    def jump(t: Any, q: Any, v: Any) -> Any:
        assert event.jump is not None
        result = event.jump(t, q, v)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise ValueError(f"event {event.name!r}: expected (q, v) of its jump, got {result!r}")
        parts = []
        for name, x, n in (("q", result[0], robot.nq), ("v", result[1], robot.nv)):
            numbers, _ = flatten(array(x), f"event {event.name!r}: the {name} that its jump returns")
            if len(numbers) != n:
                raise ValueError(
                    f"event {event.name!r}: expected {n} numbers of {name} of its jump, got {len(numbers)}"
                )
            parts.append(array(numbers))
        return tuple(parts)

    return jump


def occurrences(robot: Any, events: tuple[Event, ...], table: np.ndarray, count: np.ndarray) -> list[EventRecord]:
    """All of them, by environment and time, of tables (..., records, SLOTS, ·) and counts (..., records)."""
    held = np.arange(SLOTS) < count[..., None]
    nq, nv = robot.nq, robot.nv
    result = []
    for place in np.argwhere(held):
        bits, time, *numbers = table[tuple(place)]
        q, v, next_q, next_v = np.split(np.array(numbers), np.cumsum([nq, nv, nq]))
        for k, event in enumerate(events):
            if int(bits) >> k & 1:
                result.append(EventRecord(event.name, tuple(map(int, place[:-2])), float(time), q, v, next_q, next_v))
    return result
