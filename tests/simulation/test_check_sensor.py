"""`check_sensor` on the library's sensors, and on sensors that break one line of the contract."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.contracts import assert_sharp
from linkwork import simulation
from linkwork.errors import ContractError
from linkwork.simulation import ContactGround, SensorInput, check_sensor
from linkwork.simulation.sensors.check_sensor import REQUIREMENTS

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


class _Records:
    """Records of the variants of a sensor with two readings in 400 steps, some of them changed."""

    size = 2
    variants = ("plain", "noisy", "biased", "late")
    contacts = None

    def __init__(self, **changed: Any) -> None:
        rng = np.random.default_rng(0)
        plain = rng.normal(size=(400, 2))
        noise = rng.normal(size=(400, 2))
        late = plain[np.maximum(np.arange(400) - 3, 0)]
        self._recorded = {"plain": plain, "noisy": plain + 0.01 * noise, "biased": plain + 0.25, "late": late} | changed
        self._of_seed = self._recorded | {"noisy": plain + 0.01 * rng.normal(size=(400, 2))}
        self.result = SimpleNamespace(t=1e-3 * np.arange(400))

    def records(self, name: str) -> np.ndarray:
        return self._recorded[name]

    def simulated(self, seed: int = 0) -> Any:
        return SimpleNamespace(records=self._of_seed if seed else self._recorded)


@pytest.mark.light
@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        (
            "noise",
            lambda t: {"noisy": t["plain"] + 1.3 * (t["noisy"] - t["plain"])},
            r"noise: expected .*, got .*, 1\.3",
        ),
        ("noise", lambda t: {"noisy": t["noisy"] + 0.003}, r"noise: expected mean 0 and .*, got 0\.31, "),
        (
            "noise",
            lambda t: {"noisy": t["plain"] + np.repeat((t["noisy"] - t["plain"])[:, :1], 2, 1)},
            "the same noise",
        ),
        ("bias", lambda t: {"biased": t["plain"] - 0.25}, ""),
        ("delay", lambda t: {"late": np.roll(t["plain"], 2, axis=0)}, ""),
        ("finite", lambda t: {"plain": np.where(np.arange(400)[:, None] == 7, np.nan, t["plain"])}, r"at t = 0\.007 s"),
    ],
)
def test_requirement_of_recorded_readings_fails_alone(name: str, change: Any, text: str) -> None:
    (requirement,) = [line for line in REQUIREMENTS if line.name == name]
    assert max(requirement.errors(_Records()), default=0.0) <= requirement.tolerance  # type: ignore[arg-type]
    broken = _Records(**change(_Records()._recorded))
    if text:
        with pytest.raises(ValueError, match=text):
            requirement.errors(broken)  # type: ignore[arg-type]
    else:
        assert max(requirement.errors(broken)) > 0.1  # type: ignore[arg-type]


def test_readings_of_another_seed_differ_by_noise_alone() -> None:
    (requirement,) = [line for line in REQUIREMENTS if line.name == "seed"]
    assert requirement.errors(_Records()) == []  # type: ignore[arg-type]
    for change, text in (
        ({"plain": np.zeros((400, 2))}, "plain: readings without noise depend on the seed"),
        ({"noisy": _Records()._recorded["noisy"]}, "noisy: another seed gives the same noise"),
    ):
        trial = _Records()
        trial._of_seed = trial._of_seed | change
        with pytest.raises(ValueError, match=text):
            requirement.errors(trial)  # type: ignore[arg-type]
    unsteady = _Records()
    unsteady.simulated = lambda seed=0: SimpleNamespace(records=_Records(late=np.zeros(3))._recorded)  # type: ignore
    with pytest.raises(ValueError, match="late: the same seed gives other readings in a second simulation"):
        requirement.errors(unsteady)  # type: ignore[arg-type]


def test_number_of_readings_equals_the_size_of_the_sensor() -> None:
    (requirement,) = [line for line in REQUIREMENTS if line.name == "size"]

    def trial(size: Any = 2, noise: int = 2, count: int = 2, contacts: Any = None) -> Any:
        sensor = SimpleNamespace(
            _check_fit=lambda *_: None, each=lambda name, _: [0.0] * (noise if name == "noise" else 2)
        )
        return SimpleNamespace(size=size, sensor=sensor, robot=None, contacts=contacts, read=lambda _: [0.0] * count)

    assert requirement.errors(trial()) == requirement.errors(trial(count=9, contacts=())) == []
    for broken, text in (
        (trial(size=True), "size: expected an integer >= 0, got True"),
        (trial(size=-1), "size: expected an integer >= 0, got -1"),
        (trial(noise=3), "noise: expected one value for each of 2 readings"),
        (trial(count=3), "readings: expected 2 readings, as size says, got 3"),
    ):
        with pytest.raises(ValueError, match=text):
            requirement.errors(broken)
