"""`check_sensor`: check of a sensor of a robot against the contract of `Sensor`.

The sensor is read in a simulation, as it is and with other noise, bias and delay.  The references are its own
``readings`` on NumPy arrays in the recorded states, and the other variants.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.contract_report import (
    ContractReport,
    Requirement,
    check_requirements,
    relative_error,
    require_value,
)
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.simulation.sensors.joint_sensors import Encoder
from linkwork.simulation.sensors.sensor import Sensor, SensorInput

__all__ = ["REQUIREMENTS", "check_sensor"]

_STEPS, _STEP = 100, 1e-3  # [1], [s] of the simulation
_LATE = 3  # delay of the delayed variant, in steps
_SIGMA, _BIAS = 0.01, 0.25  # noise and bias of the variants, in units of the readings
_TOLERANCE = 1e-9  # accepted relative difference
_DEVIATIONS = 5.0  # accepted error of an estimated mean or deviation, in its standard deviations


@public
def check_sensor(
    sensor: Sensor, robot: Any, *, q: Any = None, contacts: Any = None, seed: int | np.random.Generator = 0
) -> ContractReport:
    """Check a sensor of a robot, for example one of your own, against the contract of `linkwork.simulation.Sensor`.

    The robot moves for 0.1 s from ``q``, by default a random configuration that satisfies its constraints, with a
    random velocity.  ``contacts`` are those of `Robot.simulate`, for sensors of contacts; readings are then not
    compared with those on arrays.  ``seed`` draws the random state.  The report prints as a table;
    ``check_sensor(sensor, robot).raise_if_failed()`` is a test.

    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> lw.simulation.check_sensor(lw.simulation.Encoder(noise=1e-3), robot).success
    True
    """
    if not isinstance(sensor, Sensor):
        raise TypeError(f"check_sensor: sensor: expected a linkwork.simulation.Sensor, got {sensor!r}")
    kind = type(sensor)
    trial = _Trial(sensor, robot, q, contacts, np.random.default_rng(seed))
    return check_requirements(f"sensor {kind.__name__}", REQUIREMENTS, trial, kind, Sensor)


class _Trial:
    """A sensor, a robot, and the simulation in which the sensor is checked."""

    def __init__(self, sensor: Sensor, robot: Any, q: Any, contacts: Any, rng: np.random.Generator) -> None:
        self.sensor, self.robot, self.contacts = sensor, robot, contacts
        q = robot.random_configuration(rng) if q is None else read_configuration(robot, "check_sensor", "q", q)
        v = 0.3 * rng.normal(size=robot.nv)
        self.start = robot.project(q, v) if robot.constraints else (q, v)

    @cached_property
    def size(self) -> int:
        return self.sensor.size(self.robot)

    @cached_property
    def variants(self) -> dict[str, Sensor]:
        plain: dict[str, Any] = {"noise": 0.0, "bias": 0.0, "delay": 0.0}
        if isinstance(self.sensor, Encoder):
            plain["resolution"] = 0.0  # rounding hides the others
        return {
            "plain": _with(self.sensor, **plain),
            "biased": _with(self.sensor, **plain | {"bias": _BIAS}),
            "noisy": _with(self.sensor, **plain | {"noise": _SIGMA}),
            "late": _with(self.sensor, **plain | {"delay": _LATE * _STEP}),
            "own": self.sensor,
        }

    def simulated(self, seed: int = 0, batch: bool = False) -> Any:
        """Simulate one environment, or two from the same state."""
        q, v = (np.stack([x, x]) if batch else x for x in self.start)
        how = {} if self.contacts is None else {"contacts": self.contacts}
        return self.robot.simulate(
            q, v, duration=_STEPS * _STEP, dt=_STEP, sensors=self.variants, seed=seed, passive=False, **how
        )

    @cached_property
    def result(self) -> Any:
        return self.simulated()

    def records(self, name: str) -> np.ndarray:
        return np.asarray(self.result.records[name])

    def read(self, k: int) -> np.ndarray:
        """Return the readings in the state of record k, computed on arrays instead of symbols."""
        result, robot = self.result, self.robot
        a = (result.v[k] - result.v[k - 1]) / _STEP if k else np.zeros(robot.nv)
        at_rest = [0.0] * sum(
            len(constraint.component_names) for constraint in robot.constraints
        )  # λ before the first step
        state = SensorInput(robot, result.t[k], result.q[k], result.v[k], a, np.zeros(robot.nv), (), False, at_rest)
        if k:
            state = replace(state, start=(result.t[k - 1], result.q[k - 1], result.v[k - 1]))
        return np.array([float(x) for x in self.variants["plain"].readings(state)])


def _with(sensor: Sensor, **changes: Any) -> Sensor:
    changed = copy(sensor)
    for name, value in changes.items():
        object.__setattr__(changed, name, value)
    return changed


def _value(t: _Trial) -> list[float]:
    require_value(t.sensor, "sensors")
    return []


def _size(t: _Trial) -> list[float]:
    if isinstance(t.size, bool) or not isinstance(t.size, int) or t.size < 0:
        raise ValueError(f"size: expected an integer >= 0, got {t.size!r}")
    t.sensor._check_fit(t.robot, t.contacts)
    for name in ("noise", "bias"):
        if len(t.sensor.each(name, t.size)) != t.size:
            raise ValueError(f"{name}: expected one value for each of {t.size} readings")
    if t.contacts is None and (count := len(t.read(0))) != t.size:
        raise ValueError(f"readings: expected {t.size} readings, as size says, got {count}")
    return []


def _finite(t: _Trial) -> list[float]:
    bad = np.argwhere(~np.isfinite(t.records("plain")))
    if len(bad):
        raise ValueError(f"reading {bad[0][1]} is not finite at t = {t.result.t[bad[0][0]]:.3g} s")
    return []


def _traced(t: _Trial) -> list[float]:
    if t.contacts is not None:
        return []
    rows = t.records("plain")
    steps = range(0, _STEPS + 1, 7) if not t.robot.constraints else (0,)  # λ of a later record is that of its step
    return [relative_error(rows[k], t.read(k)) for k in steps]


def _batches(t: _Trial) -> list[float]:
    both = t.simulated(batch=True).records["plain"]
    return [relative_error(environment.ravel(), t.records("plain").ravel()) for environment in both]


def _bias(t: _Trial) -> list[float]:
    return [relative_error(t.records("biased").ravel(), (t.records("plain") + _BIAS).ravel())]


def _noise(t: _Trial) -> list[float]:
    """Check mean and standard deviation of the noise, and that no two readings have the same noise."""
    drawn = (t.records("noisy") - t.records("plain")) / _SIGMA
    count = drawn.size
    if not count:
        return []
    mean, deviation = float(drawn.mean()), float(drawn.std())
    if abs(mean) > _DEVIATIONS / math.sqrt(count) or abs(deviation - 1.0) > _DEVIATIONS / math.sqrt(2.0 * count):
        raise ValueError(
            f"noise: expected mean 0 and standard deviation 1 in units of noise, got {mean:.2g}, {deviation:.2g}"
        )
    if len(np.unique(drawn.round(9))) < count:
        raise ValueError("noise: some readings have the same noise")
    return []


def _delay(t: _Trial) -> list[float]:
    rows = t.records("plain")
    expected = rows[np.maximum(np.arange(len(rows)) - _LATE, 0)]
    return [relative_error(t.records("late").ravel(), expected.ravel())]


def _seed(t: _Trial) -> list[float]:
    again, other_seed = t.simulated().records, t.simulated(seed=1).records
    for name in t.variants:
        if not np.array_equal(again[name], t.records(name)):
            raise ValueError(f"{name}: the same seed gives other readings in a second simulation")
    if t.size and np.array_equal(other_seed["noisy"], t.records("noisy")):
        raise ValueError("noisy: another seed gives the same noise")
    if not np.array_equal(other_seed["plain"], t.records("plain")):
        raise ValueError("plain: readings without noise depend on the seed")
    return []


REQUIREMENTS: tuple[Requirement[_Trial], ...] = (
    Requirement("value", "sensors of the same fields are equal and hash", 0.0, _value),
    Requirement("size", "there are as many readings as size says", 0.0, _size),
    Requirement("finite", "readings are finite in all states", 0.0, _finite),
    Requirement("traced", "compiled readings are those on NumPy arrays", 1e-7, _traced),
    Requirement("batches", "readings are the same alone and in a batch", _TOLERANCE, _batches),
    Requirement("bias", "is added to each reading", _TOLERANCE, _bias),
    Requirement("noise", "is normal, with the given deviation, and independent in each step", 0.0, _noise),
    Requirement("delay", "readings are delayed by as many steps", _TOLERANCE, _delay),
    Requirement("seed", "the same seed gives the same readings, another seed other noise", 0.0, _seed),
)
