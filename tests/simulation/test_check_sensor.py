"""`check_sensor` on the library's sensors, and on sensors that break one line of the contract."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.contracts import assert_sharp
from linkwork import simulation
from linkwork.errors import ContractError
from linkwork.simulation import ContactGround, SensorInput, check_sensor

ARM = lw.load("double_pendulum")
LOW = ContactGround(("tip",), height=-3.0)
SCENE = lw.Scene().with_half_space("floor", (0.0, 0.0, -3.0))
LIBRARY_SENSORS: tuple[tuple[simulation.Sensor, lw.Robot, dict[str, Any]], ...] = (
    (simulation.IMU("tip", noise=(0.01,) * 3 + (0.1,) * 3, delay=0.002), ARM, {}),
    (simulation.Encoder(), ARM, {}),
    (simulation.Encoder(("elbow",), of="velocity", bias=0.5), ARM, {}),
    (simulation.Encoder(of="force"), lw.load("fourbar"), {}),
    (simulation.ForceTorqueSensor("elbow"), ARM, {}),
    (simulation.ForceTorqueSensor("coupler_hinge"), lw.load("fourbar"), {}),
    (simulation.RangeSensor("tip", [(0, 0, -1), (1, 0, -1)], scene=SCENE), ARM, {}),
    (simulation.TouchSensor(("tip",)), ARM, {"contacts": ContactGround(("tip",), height=-3.0)}),
    (simulation.ContactSensor(LOW), ARM, {"contacts": LOW}),
)


@pytest.mark.costly
@pytest.mark.parametrize(("sensor", "robot", "how"), LIBRARY_SENSORS, ids=lambda x: type(x).__name__)
def test_all_sensors_of_the_library_fulfil_the_sensor_contract(
    sensor: simulation.Sensor, robot: lw.Robot, how: Any
) -> None:
    check_sensor(sensor, robot, **how).raise_if_failed()


def test_contract_tests_cover_every_sensor_of_the_library() -> None:
    kinds = {x for x in vars(simulation).values() if isinstance(x, type) and issubclass(x, simulation.Sensor)}
    assert kinds - {simulation.Sensor} == {type(sensor) for sensor, _, _ in LIBRARY_SENSORS}


@dataclass(frozen=True)
class Height(simulation.Sensor):
    """The height of a frame [m]."""

    frame: str = "tip"

    def size(self, robot: Any) -> int:
        return 1

    def readings(self, state: SensorInput) -> Sequence[Any]:
        return [state.robot.pose(state.q, self.frame)[2, 3]]


class Unequal(Height):
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = Height.__hash__


class TwoOfOne(Height):
    def readings(self, state: SensorInput) -> Sequence[Any]:
        return [*Height.readings(self, state), state.t]


class Infinite(Height):
    def readings(self, state: SensorInput) -> Sequence[Any]:
        return [state.t / (0.05 - state.t) ** 0.5]


_calls = itertools.count()


class OfPython(Height):
    """A sensor with a Python value beside its state, which is fixed when it is traced."""

    def readings(self, state: SensorInput) -> Sequence[Any]:
        return [Height.readings(self, state)[0] + next(_calls)]


class Slight(Height):
    """Heights with a deviation by a factor, or by a part of a unit."""

    by = 0.0


class CountedByBool(Slight):
    def size(self, robot: Any) -> int:
        return True if self.by else 1


class Traced(Slight):
    def readings(self, state: SensorInput) -> Sequence[Any]:
        return [z if isinstance(z, float) else z * (1.0 + self.by) for z in Height.readings(self, state)]


class Late(Slight):
    def readings(self, state: SensorInput) -> Sequence[Any]:
        return [z + self.by * (self.delay > 0.0) for z in Height.readings(self, state)]


class Biased(Slight):
    scaled, shifted = "bias", 0.0

    def each(self, name: str, count: int) -> list[float]:
        shift = self.by * self.shifted * (name == "bias") * np.array(self.noise)
        return [x * (1.0 + self.by * (name == self.scaled)) + float(shift) for x in Height.each(self, name, count)]


class Noisy(Biased):
    scaled = "noise"


class Shifted(Biased):
    scaled, shifted = "", 1.0


def test_sensor_class_of_a_user_fulfils_the_sensor_contract() -> None:
    report = check_sensor(Height(noise=0.01), ARM)
    report.raise_if_failed()
    assert str(report).startswith("sensor Height keeps the contract\nok    value")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "line", "noticed", "allowed"),
    [
        (CountedByBool, "size", 1.0, None),
        (Traced, "traced", 1e-6, 3e-8),
        (Biased, "bias", 2e-8, 2e-9),
        (Noisy, "noise", 0.5, 0.15),
        (Shifted, "noise", 0.8, 0.2),
        (Late, "delay", 1e-8, 5e-10),
    ],
)
def test_check_sensor_reports_small_errors_of_sensors(
    kind: type[Slight], line: str, noticed: float, allowed: float | None
) -> None:
    assert_sharp(lambda variant: check_sensor(variant(), ARM), kind, line, noticed, allowed)


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (Unequal, {"value"}),
        (TwoOfOne, {"size"}),
        (Infinite, {"finite"}),
        (OfPython, {"traced"}),
    ],
)
def test_check_sensor_reports_broken_sensors(kind: type[Height], lines: set[str]) -> None:
    report = check_sensor(kind(), ARM)
    assert lines <= {failure.name for failure in report.failures}, str(report)
    with pytest.raises(ContractError, match=f"sensor {kind.__name__} breaks the contract"):
        report.raise_if_failed()


def test_objects_that_are_not_sensors_are_refused_by_check_sensor() -> None:
    with pytest.raises(TypeError, match="check_sensor: sensor: expected"):
        check_sensor("imu", ARM)  # type: ignore[arg-type]
