"""All sensors of a simulation as one value, their state from step to step, and their random numbers.

Each environment has its own generator, whose state are two integers.  Its arithmetic is exact in float64, so random
numbers are the same on every machine and in every lane.

Sources: L'Ecuyer, Efficient and portable combined random number generators, Communications of the ACM 31, 1988; Box
and Muller, A note on the generation of random normal deviates, Annals of Mathematical Statistics 29, 1958.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import cos, floor, log, lt, sin, sqrt, where
from linkwork.simulation.sensors.sensor import Sensor, SensorInput

__all__ = ["SensorSuite", "generator_states"]


class _Placed(NamedTuple):
    """Sensor with the position of its readings in the state of all sensors.

    The current readings are followed by those of the next ``late`` steps.
    """

    name: str
    sensor: Sensor
    size: int
    late: int  # delay in steps
    at: int  # index of its first reading in the state

    @property
    def row(self) -> slice:
        """Slice of the current readings in the state."""
        return slice(self.at, self.at + self.size)


@dataclass(frozen=True)
class SensorSuite:
    """Sensors by name, each with its delay in steps.

    Their state is one array.  It begins with the two values of the random generator.  Then come, for each sensor, the
    readings that it outputs now, after one step, after two, and so on up to its delay.
    """

    sensors: tuple[tuple[str, Sensor, int], ...]

    @staticmethod
    def of(value: Any, robot: Any, h: float, contacts: Any) -> SensorSuite | None:
        """Return the sensors of a simulation from a dict by name, with delays in steps of h [s]; None without sensors.

        ``contacts`` are those of the simulation, as `ContactSet.of` reads them.
        Raises TypeError for a value that is not a dict of sensors, ValueError for an invalid name, and the errors of
        `Sensor.checked`.
        """
        if not value:
            return None
        if not isinstance(value, Mapping):
            raise TypeError(f"sensors: expected a dict of sensors by name, got {value!r}")
        for name, sensor in value.items():
            if not isinstance(name, str) or not name.isidentifier() or name in ("t", "q", "v", "z"):
                raise ValueError(f"sensors: expected identifiers besides t, q, v and z as names, got {name!r}")
            if not isinstance(sensor, Sensor):
                raise TypeError(f"sensors[{name!r}]: expected a sensor of linkwork.simulation, got {sensor!r}")
            sensor._check_fit(robot, contacts)
        return SensorSuite(tuple((name, sensor, round(sensor.delay / h)) for name, sensor in value.items()))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.sensors)

    def count(self, robot: Any) -> int:
        """Return the number of elements in the state of all sensors."""
        return 2 + sum((placed.late + 1) * placed.size for placed in self._placed(robot))

    def outputs(self, robot: Any, carried: Any) -> dict[str, Any]:
        """Return the current output (..., readings) of each sensor by name.

        ``carried`` is the state of all sensors at the current step. A sensor's output is the reading of an earlier
        step, by the sensor's delay.
        """
        return {placed.name: carried[..., placed.row] for placed in self._placed(robot)}

    def sensed(self, inputs: SensorInput, carried: Any, first: bool = False) -> Any:
        """Return the state of the sensors after a step, from their state ``carried`` before it.

        At the start of a simulation (``first``), the readings are output without delay.
        """
        state = [*carried]
        generator: Any = (state[0], state[1])
        after: list[Any] = []
        if any(sensor._reads_middle for _, sensor, _ in self.sensors):
            _ = inputs.midway  # before others compute sines of the end, which follow from those of the middle
        for placed in self._placed(inputs.robot):
            result = list(placed.sensor.readings(inputs))
            if len(result) != placed.size:
                kind = type(placed.sensor).__name__
                raise ValueError(f"{kind}: readings: expected {placed.size}, as size says, got {len(result)}")
            noise = placed.sensor.each("noise", placed.size)
            if any(noise):
                generator, drawn = normal_samples(generator, placed.size)
                result = [x + s * z for x, s, z in zip(result, noise, drawn, strict=True)]
            result = [x + b for x, b in zip(result, placed.sensor.each("bias", placed.size), strict=True)]
            result = list(placed.sensor.digitized(result))
            waiting = state[placed.at + placed.size : placed.at + (placed.late + 1) * placed.size]
            after += result * (placed.late + 1) if first else [*waiting, *result]
        return array([*generator, *after])

    def _placed(self, robot: Any) -> Iterator[_Placed]:
        at = 2
        for name, sensor, late in self.sensors:
            size = sensor.size(robot)
            yield _Placed(name, sensor, size, late, at)
            at += (late + 1) * size


def generator_states(seed: Any, leading: tuple[int, ...] | None) -> np.ndarray:
    """Return the initial states (..., 2) of the random generators of all environments.

    An integer ``seed`` gives the environments the seeds ``seed``, ``seed`` + 1 and so on; an array (...) has one for
    each.  ``leading`` is the shape of the batch, or None if only the seed is checked.  Raises ValueError for seeds
    that are not integers >= 0.
    """
    seeds = np.asarray(seed)
    fits = not seeds.ndim or leading is None or seeds.shape == leading
    if seeds.dtype.kind not in "iu" or isinstance(seed, np.matrix) or not fits or np.min(seeds, initial=0) < 0:
        raise ValueError(f"simulate: seed: expected an integer >= 0, or one for each environment, got {seed!r}")
    if leading is None:
        return np.empty(0)
    if not seeds.ndim:
        seeds = int(seeds) + np.arange(int(np.prod(leading)), dtype=np.int64).reshape(leading)
    states = [np.random.SeedSequence(int(s)).generate_state(2, np.uint64) for s in seeds.ravel()]
    whole = [[float(1 + int(x) % int(m - 1.0)) for x, m in zip(state, MODULI, strict=True)] for state in states]
    return np.array(whole).reshape(*leading, 2)


MODULI = (2147483563.0, 2147483399.0)
"""Upper bounds of the two integers of a state, which are at least 1 and less than these."""
_FACTORS = (40014.0, 40692.0)
State = tuple[Any, Any]


def normal_samples(state: State, count: int) -> tuple[State, list[Any]]:
    """Return the next state of the generator, and ``count`` independent normal numbers of mean 0 and variance 1."""
    result: list[Any] = []
    while len(result) < count:
        state, u = _uniform(state)
        state, w = _uniform(state)
        length, angle = sqrt(-2.0 * log(u)), 2.0 * math.pi * w
        result += [length * cos(angle), length * sin(angle)]
    return state, result[:count]


def _uniform(state: State) -> tuple[State, Any]:
    """Return the next state of the generator, and a uniform random number in (0, 1)."""
    first, second = (_rest(a * x, m) for a, x, m in zip(_FACTORS, state, MODULI, strict=True))
    z = first - second
    z = where(lt(z, 1.0), z + (MODULI[0] - 1.0), z)
    return (first, second), z / MODULI[0]


def _rest(product: Any, modulus: float) -> Any:
    """Return the remainder of ``product`` / ``modulus``; it is exact, since products are less than 2⁵³."""
    return product - modulus * floor(product / modulus)
