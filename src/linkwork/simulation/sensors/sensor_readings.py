"""Sensors of a simulation: what they are told of a state, and what a controller is told by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.simulation.contacts.contact_set import contact_data, with_data
from linkwork.simulation.joint_limits import JointStops
from linkwork.simulation.sensors.sensor import SensorInput
from linkwork.simulation.simulation_spec import SimulationSetup, moving_robot

__all__ = ["begun", "noticed", "sensed"]

Scalars = Sequence[Any]

_KERNELS: LazyCache[Kernel] = LazyCache(64)


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
    held: Any = (),
    wrenches: Sequence[tuple[str, str, Scalars]] = (),
    *,
    first: bool = False,
) -> Any:
    """What sensors carry on from a state that a step ended in: of the robot with these ``parameters``, which
    accelerated by a (nv) under τ (nv) and the ``forces`` of contacts (points, 3), and what constraints exerted (nc),
    where the step ``held`` them by itself.  Elsewhere it is what they exert in the state.  External ``wrenches`` are
    those of the step.
    """
    assert setup.sensors is not None
    robot: Any = setup.robot
    moving, contacts = moving_robot(robot, setup.own(parameters)), setup.touched(parameters)
    q, v = array(list(q)), array(list(v))
    pressed: list[tuple[Any, Scalars]] = []
    if contacts is not None:
        result = contacts.compliant(moving, q, list(v))[1] if setup.is_compliant else forces
        pressed = [(place, list(force)) for place, force in zip(contacts.places(moving, q), result, strict=True)]
    constrained = held if len(held) else partial(_constraint_forces, setup)
    given = moving, t, q, v, array(list(a)), array(list(tau)), pressed, setup.passive, constrained, wrenches
    seen = SensorInput(*given, friction=setup.smooth_friction)
    return setup.sensors.sensed(seen, carried, first)


def begun(setup: SimulationSetup, parameters: Mapping[str, Any] | None, q: Any, v: Any, carried: Any) -> Any:
    """What sensors carry at first, before anything has moved."""
    none, held = [0.0] * setup.robot.nv, setup.no_constraint_forces
    return sensed(setup, parameters, 0.0, q, v, none, none, setup.no_forces, carried, held, first=True)


def _constraint_forces(setup: SimulationSetup, seen: SensorInput) -> list[Any]:
    """λ (nc) under the forces of joints, of their stops and of compliant contacts."""
    robot, q, v, tau = seen.robot, list(seen.q), list(seen.v), list(seen.tau)
    if not robot.constraints:
        return []
    if isinstance(setup.limits, JointStops):
        stops = setup.limits.forces(setup.robot, setup.passive, q, v)
        tau = [a + b for a, b in zip(tau, stops, strict=True)]
    pushed = seen.external_wrenches
    timed = {"time": seen.t} if any(one.time_dependent for one in robot.constraints) else {}
    how = {"wrenches": pushed or None, "passive": seen.passive, "friction": seen.friction, **timed}
    return list(robot.constrained_forward_dynamics(seen.q, seen.v, array(tau), **how)[1])


def noticed(setup: SimulationSetup, q: Any, v: Any, parameters: Mapping[str, Any], carried: Any) -> Any:
    """The same of numbers (..., nq), (..., nv), (..., n)."""
    contacts, data = (None, {}) if setup.contacts is None else contact_data(setup.contacts, setup.robot)
    bare = setup if contacts is None else replace(setup, contacts=contacts)

    def traced(q: Any, v: Any, carried: Any, **given: Any) -> Any:
        full = bare if contacts is None else replace(bare, contacts=with_data(contacts, given))
        return begun(full, given.get("parameters"), q, v, carried)

    def made() -> Kernel:
        robot: Any = setup.robot
        shapes: dict[str, Any] = {"q": robot.configuration_space, "v": (robot.nv,), "carried": carried.shape[-1:]}
        if setup.parameters:
            shapes["parameters"] = dict(setup.parameters)
        shapes |= {name: x.shape for name, x in data.items()}
        return compile(traced, name="sense", **shapes)

    acting = setup.passive, setup.smooth_friction
    kernel = _KERNELS.get((setup.robot, setup.sensors, contacts, setup.parameters, setup.asked, *acting), made)
    more = {"parameters": parameters} if parameters else {}
    return kernel(q=q, v=v, carried=carried, **more, **data)
