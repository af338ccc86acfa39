"""Sensors of a simulation: what they are told of a state, and what a controller is told by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...bridge.machine import Kernel, compile
from ...bridge.once import Once
from ...expr.arrays import array
from .sensors.contract import SensedState
from .setup import SimulationSetup, moving_robot

__all__ = ["begun", "noticed", "sensed"]

Scalars = Sequence[Any]

_KERNELS: Once[Kernel] = Once(64)


def sensed(
    setup: SimulationSetup,
    parameters: Mapping[str, Any] | None,
    t: Any,
    q: Any,
    v: Any,
    a: Scalars,
    tau: Scalars,
    forces: Any,
    carried: Any,
    *,
    first: bool = False,
) -> Any:
    """What sensors carry on from a state that a step ended in: of the robot with these ``parameters``, which
    accelerated by a (nv) under τ (nv) and the ``forces`` of contacts (points, 3)."""
    assert setup.sensors is not None
    robot: Any = setup.robot
    moving, contacts = moving_robot(robot, setup.own(parameters)), setup.touched(parameters)
    q, v = array(list(q)), array(list(v))
    pressed: list[tuple[Any, Scalars]] = []
    if contacts is not None:
        found = contacts.compliant(moving, q, list(v))[1] if setup.is_compliant else forces
        pressed = [(place, list(force)) for place, force in zip(contacts.places(moving, q), found, strict=True)]
    seen = SensedState(moving, t, q, v, array(list(a)), array(list(tau)), pressed)
    return setup.sensors.sensed(seen, carried, first)


def begun(setup: SimulationSetup, parameters: Mapping[str, Any] | None, q: Any, v: Any, carried: Any) -> Any:
    """What sensors carry at first, before anything has moved."""
    none = [0.0] * setup.robot.nv
    return sensed(setup, parameters, 0.0, q, v, none, none, setup.no_forces, carried, first=True)


def noticed(setup: SimulationSetup, q: Any, v: Any, parameters: Mapping[str, Any], carried: Any) -> Any:
    """The same of numbers (..., nq), (..., nv), (..., n)."""

    def traced(q: Any, v: Any, carried: Any, **given: Any) -> Any:
        return begun(setup, given.get("parameters"), q, v, carried)

    def made() -> Kernel:
        robot: Any = setup.robot
        shapes: dict[str, Any] = {"q": robot.configuration_space, "v": (robot.nv,), "carried": carried.shape[-1:]}
        if setup.parameters:
            shapes["parameters"] = dict(setup.parameters)
        return compile(traced, name="sense", **shapes)

    kernel = _KERNELS.get((setup.robot, setup.sensors, setup.contacts, setup.parameters, setup.asked), made)
    more = {"parameters": parameters} if parameters else {}
    return kernel(q=q, v=v, carried=carried, **more)
