"""`check_controller` on every controller, and on controllers that break the contract in one line each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.contracts import assert_sharp
from linkwork.control import ControlLaw, check_controller
from linkwork.errors import ContractError, UnknownNameError
from linkwork.expr import array, fabs, sqrt
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.expr.autodiff.custom_derivative import with_derivative_of

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


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.filterwarnings("ignore:simulate. dt")  # random states that are stiff
def test_every_controller_of_the_library_satisfies_the_controller_contract(name: str) -> None:
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


class Slight(Sound):
    """Springs with a deviation by a factor, or by a part of a unit."""

    by = 0.0


class OtherOnFloats(Slight):
    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> tuple[Any, Any]:
        tau, z = super().forces(t, q, v, z, inputs)
        return [x if isinstance(x, float) else x * (1.0 + self.by) for x in tau], z


class OtherTraced(Slight):
    def __call__(self, t: Any, q: Any, v: Any, *carried: Any, **inputs: Any) -> Any:
        tau, z = super().__call__(t, q, v, *carried, **inputs)
        return (array([x * (1.0 + self.by) for x in tau]) if is_traced(v) else tau), z


class OtherInBatches(Slight):
    def __call__(self, t: Any, q: Any, v: Any, *carried: Any, **inputs: Any) -> Any:
        tau, z = super().__call__(t, q, v, *carried, **inputs)
        return (tau * (1.0 + self.by) if np.ndim(tau) == 2 else tau), z


class Strong(Slight):
    def __init__(self) -> None:
        super().__init__()
        self.effort_limits = np.full(2, 0.1)

    def _outputs(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> Any:
        tau, z = super()._outputs(t, q, v, z, inputs)
        return array([x * (1.0 + self.by) for x in tau]), z


class Idle(Slight):
    """A force, however small, of a joint without an actuator."""

    def __init__(self) -> None:
        ControlLaw.__init__(self, TWO, TWO.v_names[1], None)
        self.start = np.zeros(1)

    def _outputs(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> Any:
        tau, z = super()._outputs(t, q, v, z, inputs)
        return array([self.by, tau[1]]), z


class OtherSlope(Slight):
    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> tuple[Any, Any]:
        tau, z = super().forces(t, q, v, z, inputs)
        return with_derivative_of(tau, [x * (1.0 + self.by) for x in tau]), z


class Diverging(Slight):
    """Finite at each state that is tried, and no number after three steps."""

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> tuple[Any, Any]:
        tau, z = super().forces(t, q, v, z, inputs)
        return [x * sqrt(1.0 + self.by * (2.5 - z[0])) for x in tau], z


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


class HidesNaN(Sound):
    def __call__(self, t: Any, q: Any, v: Any, *carried: Any, **inputs: Any) -> Any:
        if isinstance(v, np.ndarray) and v.dtype == float:
            v = np.nan_to_num(v)
        return super().__call__(t, q, v, *carried, **inputs)


class Rough(Sound):
    """Without a derivative at its target."""

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> tuple[Any, Any]:
        return [sqrt(fabs(x)) for x in v], z


BROKEN = {
    MissingName: "input_shapes",
    TakesAnything: "inputs",
    OtherState: "forces",
    NeedsAnOptionalInput: "forces",
    HidesNaN: "nan",
    Rough: "derivative",
}


def test_controller_class_of_a_user_satisfies_the_controller_contract() -> None:
    report = check_controller(Sound(), samples=3, inputs={"gain": lambda rng: rng.uniform(1.0, 2.0)})
    assert report.success, str(report)
    assert str(report).startswith("controller Sound keeps the contract\nok")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "line", "noticed", "allowed"),
    [
        (OtherOnFloats, "over any scalar", 3e-9, 3e-10),
        (OtherTraced, "traced", 3e-9, 3e-10),
        (OtherInBatches, "batch", 1e-15, None),
        (Strong, "effort limits", 1e-15, None),
        (Idle, "effort limits", 1e-300, None),
        (OtherSlope, "derivative", 3e-5, 3e-6),
        (Diverging, "simulate", 3.0, 1e-3),
    ],
)
@pytest.mark.filterwarnings("ignore:simulate. dt")
def test_check_controller_names_a_requirement_broken_by_a_small_error(
    kind: type[Slight], line: str, noticed: float, allowed: float | None
) -> None:
    gain = {"gain": lambda rng: rng.uniform(50.0, 60.0)}
    assert_sharp(lambda make: check_controller(make(), samples=3, inputs=gain), kind, line, noticed, allowed)


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore:simulate. dt")
def test_check_controller_names_the_broken_requirement_of_a_controller(kind: type[Sound]) -> None:
    report = check_controller(kind(), samples=3)
    assert not report.success
    assert BROKEN[kind] in [line.name for line in report.failures], str(report)
    with pytest.raises(ContractError, match=rf"controller {kind.__name__} breaks the contract: \d+ of 11 requirements"):
        report.raise_if_failed()


def test_check_controller_rejects_values_that_are_not_controllers() -> None:
    with pytest.raises(TypeError, match=r"controller: expected a linkwork\.control\.ControlLaw, got"):
        check_controller(lambda t, q, v: q)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="gian"):
        check_controller(Sound(), inputs={"gian": 1.0})
    with pytest.raises(ValueError, match="check_controller: samples: expected"):
        check_controller(Sound(), samples=1)
