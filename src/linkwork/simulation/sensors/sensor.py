"""What a sensor is: readings of a state, with noise, a bias, and a delay."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from linkwork._util.validation import floats, non_negative
from linkwork.model.friction_laws import FrictionLaw
from linkwork.simulation.reaction_records import in_world_axes

__all__ = ["Sensor", "SensorInput"]

Numbers = float | Sequence[float]


@dataclass(frozen=True)
class SensorInput:
    """What sensors are told, on symbols: the ``robot`` with its parameters, t [s], q, v, the acceleration a of the last
    step (nv), the joint forces τ (nv) that it held, and each contact's force in the world's axes, with its place;
    whether what is in joints acts (``passive``), and what the rows of constraints exert (nc): numbers, or how to find
    them.
    """

    robot: Any
    t: Any
    q: Any
    v: Any
    a: Any
    tau: Any
    contacts: Sequence[tuple[Any, Sequence[Any]]] = ()
    passive: bool = False
    constrained: Sequence[Any] | Callable[[SensorInput], Sequence[Any]] = ()
    wrenches: Sequence[tuple[str, str, Sequence[Any]]] = ()  # external ones of the step: frame, axes, numbers
    friction: str | FrictionLaw = "smooth"  # law of dry friction in joints that close loops

    @cached_property
    def constraint_forces(self) -> list[Any]:
        """λ (nc) [N, N·m]: what each row of constraints exerted, as `constrained_forward_dynamics` has it."""
        return list(self.constrained(self) if callable(self.constrained) else self.constrained)

    @cached_property
    def external_wrenches(self) -> dict[str, Any]:
        """By frame: the wrench (moment; force) [N·m, N] of contacts and of what else acts from outside, at its origin,
        in the world's axes.
        """
        contacts = [(link, "world", w) for link, w in self.contact_wrenches.items()]
        return in_world_axes(self.robot, self.q, [*contacts, *self.wrenches])

    @cached_property
    def contact_wrenches(self) -> dict[str, list[Any]]:
        """By link: the wrench (moment; force) [N·m, N] of all contacts on it, at its origin, in the world's axes."""
        result: dict[str, list[Any]] = {}
        for place, force in self.contacts:
            for link, w in place.wrenches(force):
                result[link] = [a + b for a, b in zip(result.get(link, [0.0] * 6), w, strict=True)]
        return result


@dataclass(frozen=True, kw_only=True)
class Sensor(ABC):
    """Readings once a step, of the state that the step ends in: a controller is told them in the next step.

    A step that an event stops ends there, and what is read of it is of its part.

    To each reading a constant ``bias`` is added, and ``noise``, the standard deviation of a normal distribution, anew
    in each step: a number, or one a reading, in the reading's unit.  What is read comes ``delay`` [s] later, which is
    rounded to whole steps; before, it is the first reading.

    A sensor of one's own is a subclass with two methods, ``size`` and ``readings``.
    """

    noise: Numbers = field(default=0.0)
    bias: Numbers = field(default=0.0)
    delay: float = 0.0

    def __post_init__(self) -> None:
        caller = type(self).__name__
        for name in ("noise", "bias"):
            object.__setattr__(self, name, _numbers(f"{caller}: {name}", getattr(self, name)))
        if np.min(self.noise, initial=0.0) < 0.0:
            raise ValueError(f"{caller}: noise: expected standard deviations, not negative, got {self.noise}")
        non_negative(caller, "delay", self.delay, symbols=False, unit="s")

    def checked(self, robot: Any, has_contacts: bool) -> None:
        """Raises ValueError and UnknownNameError for what does not go with a robot."""
        count = self.size(robot)
        for name in ("noise", "bias"):
            given = getattr(self, name)
            if not isinstance(given, float) and len(given) != count:
                raise ValueError(f"{type(self).__name__}: {name}: expected one number or {count}, got {len(given)}")

    @abstractmethod
    def size(self, robot: Any) -> int:
        """How many readings there are."""

    @abstractmethod
    def readings(self, seen: SensorInput) -> Sequence[Any]:
        """What is read of a state, on symbols, without noise, bias and delay."""

    def each(self, name: str, count: int) -> list[float]:
        """``noise`` or ``bias``, a number a reading."""
        given = getattr(self, name)
        return [given] * count if isinstance(given, float) else list(given)


def _numbers(what: str, value: Any) -> float | tuple[float, ...]:
    if isinstance(value, Mapping):
        raise TypeError(f"{what}: expected a number, or one a reading, got {value!r}")
    try:
        result = floats(value)
    except (TypeError, ValueError):
        result = np.array(math.nan)
    if result.ndim > 1 or not np.isfinite(result).all():
        raise ValueError(f"{what}: expected a finite number, or one a reading, got {value!r}")
    return tuple(result.tolist()) if result.ndim else float(result)
