"""Inputs of sensors in a simulation, and the state of sensors from step to step."""

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

__all__ = ["first_readings", "initial_sensor_state", "sensed"]

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
    constrained: Any = (),
    wrenches: Sequence[tuple[str, str, Scalars]] = (),
    *,
    start: tuple[Any, Scalars, Scalars] | None = None,
) -> Any:
    """Return the state of the sensors after a step that ends at q and v; ``carried`` is their state before it.

    ``parameters`` are the robot's.  In the step it had the acceleration a (nv) under joint forces τ (nv), external
    ``wrenches``, and the ``forces`` of contacts (points, 3).  ``constrained`` are the forces of constraints (nc) if
    the step solved for them; by default they are computed at q and v.  ``start`` is t, q and v at the start of the
    step, None at the start of the simulation.
    """
    assert setup.sensors is not None
    robot: Any = setup.robot
    moving, contacts = moving_robot(robot, setup.own(parameters)), setup.touched(parameters)
    q, v = array(list(q)), array(list(v))
    pressed: list[tuple[Any, Scalars]] = []
    if contacts is not None:
        result = contacts.compliant(moving, q, list(v))[1] if setup.is_compliant else forces
        pressed = [
            (candidate, list(force)) for candidate, force in zip(contacts.candidates(moving, q), result, strict=True)
        ]
    exerted = constrained if len(constrained) else partial(_constraint_forces, setup, setup.own(parameters))
    values = moving, t, q, v, array(list(a)), array(list(tau)), pressed, setup.passive, exerted, wrenches
    begun = None if start is None else (start[0], array(list(start[1])), array(list(start[2])))
    state = SensorInput(*values, friction=setup.smooth_friction, start=begun)
    return setup.sensors.sensed(state, carried, start is None)


def first_readings(setup: SimulationSetup, parameters: Mapping[str, Any] | None, q: Any, v: Any, carried: Any) -> Any:
    """Return the state of the sensors at the start q and v of a simulation; ``carried`` has the generators' states."""
    zeros, constrained = [0.0] * setup.robot.nv, setup.no_constraint_forces
    return sensed(setup, parameters, 0.0, q, v, zeros, zeros, setup.no_forces, carried, constrained)


def _constraint_forces(setup: SimulationSetup, parameters: Mapping[str, Any], state: SensorInput) -> list[Any]:
    """Return the constraint forces λ (nc) in a state, under all forces except those of constraints.

    ``parameters`` are those of the robot.
    """
    robot, q, v, tau = state.robot, list(state.q), list(state.v), list(state.tau)
    if not robot.constraints:
        return []
    if isinstance(setup.limits, JointStops):
        stops = setup.limits.forces(setup.robot, setup.passive, q, v, parameters)
        tau = [a + b for a, b in zip(tau, stops, strict=True)]
    pushed = state.external_wrenches
    timed = {"time": state.t} if any(constraint.time_dependent for constraint in robot.constraints) else {}
    how = {"wrenches": pushed or None, "passive": state.passive, "friction": state.friction, **timed}
    return list(robot.constrained_forward_dynamics(state.q, state.v, array(tau), **how)[1])


def initial_sensor_state(setup: SimulationSetup, q: Any, v: Any, parameters: Mapping[str, Any], carried: Any) -> Any:
    """Return the state of the sensors at the start q (..., nq) and v (..., nv) of a simulation of a batch.

    ``carried`` (..., n) has the generators' states.  It is computed by a kernel.
    """
    contacts, data = (None, {}) if setup.contacts is None else contact_data(setup.contacts, setup.robot)
    bare = setup if contacts is None else replace(setup, contacts=contacts)

    def traced(q: Any, v: Any, carried: Any, **inputs: Any) -> Any:
        full = bare if contacts is None else replace(bare, contacts=with_data(contacts, inputs))
        return first_readings(full, inputs.get("parameters"), q, v, carried)

    def compiled() -> Kernel:
        robot: Any = setup.robot
        shapes: dict[str, Any] = {"q": robot.configuration_space, "v": (robot.nv,), "carried": carried.shape[-1:]}
        if setup.parameters:
            shapes["parameters"] = dict(setup.parameters)
        shapes |= {name: x.shape for name, x in data.items()}
        return compile(traced, name="sense", **shapes)

    acting = setup.passive, setup.smooth_friction
    kernel = _KERNELS.get(
        (setup.robot, setup.sensors, contacts, setup.parameters, setup.parameter_names, *acting), compiled
    )
    more = {"parameters": parameters} if parameters else {}
    return kernel(q=q, v=v, carried=carried, **more, **data)
