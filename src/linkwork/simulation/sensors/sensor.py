"""Contract of a sensor: readings of a state, with noise, bias and delay."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.validation import floats, non_negative
from linkwork.expr.autodiff.dual_numbers import value_of
from linkwork.expr.scalar.functions import cos, sin
from linkwork.expr.scalar.symbol import Symbol
from linkwork.kinematics.algorithms.coordinates import coordinate_indices
from linkwork.model.friction_laws import FrictionLaw
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.reaction_records import in_world_axes

__all__ = ["Sensor", "SensorInput"]

PerReading = float | Sequence[float]


@dataclass(frozen=True)
class SensorInput:
    """Symbolic state of a simulation from which sensors compute their readings.

    It has the ``robot`` with its parameters, and t [s], q and v at the end of the last step.  The acceleration a (nv)
    is the mean of that step, and ``tau`` (nv) are the joint forces in that step.  ``start`` is t, q and v at its start,
    None before the first step.  ``contacts`` are pairs of a contact candidate and its force in the world's axes.
    ``wrenches`` are external: frame, axes and components of each.  ``friction`` is the law of dry friction. ``passive``
    is True if passive joint forces act.  ``constrained`` are the forces of the rows of constraints (nc), or a function
    that computes them.
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
    wrenches: Sequence[tuple[str, str, Sequence[Any]]] = ()  # external wrenches of the step: frame, axes, components
    friction: str | FrictionLaw = "smooth"  # law of dry friction in joints that close loops
    start: tuple[Any, Any, Any] | None = None

    @cached_property
    def midway(self) -> SensorInput:
        """State at the middle of the last step; its acceleration is the step's mean acceleration to second order."""
        if self.start is None:
            return self
        t, first, v = self.start
        q = self.robot.integrate(first, 0.5 * self.robot.difference(first, self.q))
        for n in coordinate_indices(self.robot.tree).values():
            _extrapolate_sines(first[n], q[n], self.q[n])
        return replace(self, t=0.5 * (t + self.t), q=q, v=0.5 * (v + self.v), start=None)

    @cached_property
    def constraint_forces(self) -> list[Any]:
        """Force λ of each row of the constraints (nc) [N, N·m], as `constrained_forward_dynamics` returns them."""
        return list(self.constrained(self) if callable(self.constrained) else self.constrained)

    @cached_property
    def external_wrenches(self) -> dict[str, Any]:
        """Wrench (moment; force) [N·m, N] of contacts and external wrenches by frame, at its origin, in world axes."""
        contacts = [(link, "world", w) for link, w in self.contact_wrenches.items()]
        return in_world_axes(self.robot, self.q, [*contacts, *self.wrenches])

    @cached_property
    def contact_wrenches(self) -> dict[str, list[Any]]:
        """Wrench (moment; force) [N·m, N] of all contacts by link, at its origin, in the world's axes."""
        result: dict[str, list[Any]] = {}
        for candidate, force in self.contacts:
            for link, w in candidate.wrenches(force):
                result[link] = [a + b for a, b in zip(result.get(link, [0.0] * 6), w, strict=True)]
        return result


@dataclass(frozen=True, kw_only=True)
class Sensor(ABC):
    """Sensor with readings once a step, of the state at the step's end; the controller gets them in the next step.

    A step that an event stops ends at the event.  Readings of accelerations and of forces between bodies are means over
    the step, and therefore values at its middle.

    A constant ``bias`` is added to each reading, and normal noise, new in each step, with standard deviation ``noise``:
    a number, or one for each reading, in the reading's unit.  Then readings are ``digitized``.  They are output after
    ``delay`` [s], rounded to whole steps; until then the output is the first reading.

    A sensor of your own is a subclass with two methods, ``size`` and ``readings``.
    """

    noise: PerReading = field(default=0.0)
    bias: PerReading = field(default=0.0)
    delay: float = 0.0

    def __post_init__(self) -> None:
        caller = type(self).__name__
        for name in ("noise", "bias"):
            object.__setattr__(self, name, _values(f"{caller}: {name}", getattr(self, name)))
        if np.min(self.noise, initial=0.0) < 0.0:
            raise ValueError(f"{caller}: noise: expected standard deviations >= 0, got {self.noise}")
        non_negative(caller, "delay", self.delay, symbols=False, unit="s")

    def checked(self, robot: Any, has_contacts: bool) -> None:
        """Raise ValueError and UnknownNameError for a sensor that does not fit ``robot``.

        ``has_contacts`` is True for a simulation with contacts.
        """
        count = self.size(robot)
        for name in ("noise", "bias"):
            value = getattr(self, name)
            if not isinstance(value, float) and len(value) != count:
                raise ValueError(
                    f"{type(self).__name__}: {name}: expected a number or ({count},), got {len(value)} values"
                )

    def _check_fit(self, robot: Any, contacts: Any) -> None:
        """Raise the errors of `checked`, and ValueError for a sensor of links that have no contact points.

        ``contacts`` are those of the simulation, as `ContactSet.of` reads them.
        """
        self.checked(robot, contacts is not None)
        present = ContactSet.of(contacts, "convex") if self._touched else None
        touching = () if present is None else present.touching(robot)
        for link in self._touched:
            if link not in touching:
                body = robot.tree.frame(link).body
                near = [name for name in touching if robot.tree.frame(name).body == body]
                remedy = f"; {', '.join(map(repr, near))} moves with {link!r}" if near else ""
                raise ValueError(
                    f"{type(self).__name__}: links: expected links or frames with contact points, which are "
                    f"{', '.join(map(repr, touching))}, got {link!r}, which would always read 0{remedy}"
                )

    @property
    def _touched(self) -> tuple[str, ...]:
        """Links and frames whose contacts the sensor reads, by name."""
        return ()

    @abstractmethod
    def size(self, robot: Any) -> int:
        """Return the number of readings on ``robot``."""

    @property
    def _reads_middle(self) -> bool:
        """True if some readings are those of the middle of the last step."""
        return False

    @abstractmethod
    def readings(self, state: SensorInput) -> Sequence[Any]:
        """Return the readings in a state, on symbols, without noise, bias and delay."""

    def digitized(self, readings: Sequence[Any]) -> Sequence[Any]:
        """Return the outputs of readings with noise and bias.  Default: the readings themselves."""
        return readings

    def each(self, name: str, count: int) -> list[float]:
        """Return the values of ``noise`` or ``bias``, whichever ``name`` names, one for each of ``count`` readings."""
        value = getattr(self, name)
        return [value] * count if isinstance(value, float) else list(value)


def _extrapolate_sines(first: Any, middle: Any, last: Any) -> None:
    """Make sine and cosine of ``last`` in a trace follow from those of ``first`` and ``middle``, if these are angles.

    ``middle`` is the mean m of the others, so exp(i last) = exp(i m)² exp(−i first), up to the rounding of m.
    """
    first, middle, last = map(value_of, (first, middle, last))
    known = last.graph.sines(first) if last.__class__ is Symbol else None
    if known is None:
        return
    (s0, c0), s, c = known, sin(middle), cos(middle)
    s2, c2 = 2.0 * (s * c), c * c - s * s
    last.graph.set_sines(last, s2 * c0 - c2 * s0, c2 * c0 + s2 * s0)


def _values(caller: str, value: Any) -> float | tuple[float, ...]:
    if isinstance(value, Mapping):
        raise TypeError(f"{caller}: expected a number, or one for each reading, got {value!r}")
    try:
        result = floats(value)
    except (TypeError, ValueError):
        result = np.array(math.nan)
    if result.ndim > 1 or not np.isfinite(result).all():
        raise ValueError(f"{caller}: expected a finite number, or one for each reading, got {value!r}")
    return tuple(result.tolist()) if result.ndim else float(result)
