"""`check_controller` on every controller there is, and on controllers that break the contract, each in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import ControlLaw, check_controller
from linkwork.control.controller_contract import REQUIREMENTS
from linkwork.errors import ContractError, UnknownNameError
from linkwork.expr import array, fabs, sqrt

TWO = lw.load("double_pendulum")
HAND = lw.ik.PoseTask("hand")
CONTROLLERS = {
    "PD": lambda: lw.control.PD(TWO, 50.0, 5.0),
    "PD of a mechanism": lambda: lw.control.PD(
        lw.load("fourbar"), 5.0, 1.0, feedforward="gravity", actuators="crank_hinge"
    ),
    "PID": lambda: lw.control.PID(TWO, 50.0, 10.0, 5.0, dt=1e-3),
    "GravityCompensation": lambda: lw.control.GravityCompensation(TWO, 1.0),
    "ComputedTorque": lambda: lw.control.ComputedTorque(TWO, 25.0, actuators=TWO.v_names[1]),
    "JointImpedance": lambda: lw.control.JointImpedance(TWO, 50.0, 5.0, inertia=(2.0, 0.5)),
    "Impedance": lambda: lw.control.Impedance(lw.load("arm6"), "tool", stiffness=100.0, damping=20.0),
    "HybridForcePosition": lambda: lw.control.HybridForcePosition(lw.load("arm6"), "tool", "z"),
    "Admittance": lambda: lw.control.Admittance(
        lw.control.ComputedTorque(TWO, 400.0), inertia=1.0, damping=20.0, stiffness=50.0, dt=1e-3
    ),
    "OperationalSpace": lambda: lw.control.OperationalSpace(TWO, lw.ik.PostureTask(), 100.0),
    "WholeBody": lambda: lw.control.WholeBody(TWO, lw.ik.PostureTask(), 25.0),
}


@pytest.mark.slow(every=7)
@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.filterwarnings("ignore:simulate. dt")  # random states that are stiff
def test_every_controller_keeps_the_contract(name: str) -> None:
    report = check_controller(CONTROLLERS[name](), samples=3)
    assert report.success, str(report)
    report.raise_if_failed()


class Sound(ControlLaw):
    """Springs, and a state that counts calls."""

    def __init__(self, robot: Any = TWO) -> None:
        super().__init__(robot, None, None)
        self.start: np.ndarray = np.zeros(1)

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"target_q": (self.robot.nq,), "gain": ()}

    @property
    def required_inputs(self) -> tuple[str, ...]:
        return ("target_q",)

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> tuple[Any, Any]:
        error = self.robot.difference(q, inputs["target_q"])
        return [inputs.get("gain", 1.0) * x for x in error], array([z[0] + 1.0])


class MissingName(Sound):
    @property
    def required_inputs(self) -> tuple[str, ...]:
        return ("target_q", "aim")


class TakesAnything(Sound):
    def __call__(self, t: Any, q: Any, v: Any, *carried: Any, **inputs: Any) -> Any:
        known = {name: inputs[name] for name in self.input_shapes if name in inputs}
        return super().__call__(t, q, v, *carried, **known)


class OtherState(Sound):
    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> tuple[Any, Any]:
        return super().forces(t, q, v, z, inputs)[0], array([0.0, 0.0])


class NeedsAnOptionalInput(Sound):
    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> tuple[Any, Any]:
        return [inputs["gain"] * x for x in v], z


class KeepsState(Sound):
    """It reads what it was called with before."""

    calls = 0

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> tuple[Any, Any]:
        self.calls += 1
        return [self.calls * x for x in v], z


class SwapsEntries(Sound):
    """Of a batch each gets what another would."""

    def __call__(self, t: Any, q: Any, v: Any, *carried: Any, **inputs: Any) -> Any:
        result = super().__call__(t, q, v, *carried, **inputs)
        return result if np.ndim(v) < 2 else (result[0][::-1], result[1])


class HidesNaN(Sound):
    def __call__(self, t: Any, q: Any, v: Any, *carried: Any, **inputs: Any) -> Any:
        if isinstance(v, np.ndarray) and v.dtype == float:
            v = np.nan_to_num(v)
        return super().__call__(t, q, v, *carried, **inputs)


class Strong(Sound):
    """Forces beyond all limits, after the base class has cut them."""

    def _outputs(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> Any:
        tau, z = super()._outputs(t, q, v, z, inputs)
        return array([x + 1e3 * y for x, y in zip(tau, v, strict=True)]), z


class Rough(Sound):
    """Without a derivative at its target."""

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> tuple[Any, Any]:
        return [sqrt(fabs(x)) for x in v], z


BROKEN = {
    MissingName: "input_shapes",
    TakesAnything: "inputs",
    OtherState: "forces",
    NeedsAnOptionalInput: "forces",
    KeepsState: "traced",
    SwapsEntries: "batch",
    HidesNaN: "nan",
    Strong: "effort limits",
    Rough: "derivative",
}


def test_a_controller_of_ones_own_keeps_the_contract() -> None:
    report = check_controller(Sound(), samples=3, inputs={"gain": lambda rng: rng.uniform(1.0, 2.0)})
    assert report.success, str(report)
    assert str(report).startswith("controller Sound keeps the contract\nok")


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore:simulate. dt")
def test_a_broken_requirement_is_named(kind: type[Sound]) -> None:
    report = check_controller(kind(), samples=3)
    assert not report.success
    assert BROKEN[kind] in [line.name for line in report.failures], str(report)
    with pytest.raises(ContractError, match=rf"controller {kind.__name__} breaks the contract: \d+ of 11 requirements"):
        report.raise_if_failed()


def test_every_requirement_can_fail() -> None:
    """Those that hold whenever others do are named."""
    assert {one.name for one in REQUIREMENTS} - {*BROKEN.values()} == {"over any scalar", "simulate"}


def test_what_is_no_controller_is_refused() -> None:
    with pytest.raises(TypeError, match=r"controller: expected a linkwork\.control\.ControlLaw, got"):
        check_controller(lambda t, q, v: q)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="gian"):
        check_controller(Sound(), inputs={"gian": 1.0})
    with pytest.raises(ValueError, match="check_controller: samples: expected"):
        check_controller(Sound(), samples=1)
