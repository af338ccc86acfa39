"""Kernels of simulations: segments of a fixed number of records, for any duration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import tree_map
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.simulation.contacts.contact_materials import is_of_contacts
from linkwork.simulation.contacts.contact_set import contact_data, over_environments, with_data
from linkwork.simulation.contacts.penetration_depth import deepened, depth_state, rigid_gaps
from linkwork.simulation.control_output import reached_limits
from linkwork.simulation.rollout.rollout import EVENTS, RUNNING, SimulationState, commanded, recorded, rolled
from linkwork.simulation.rollout.simulated_dynamics import sampled_bounds
from linkwork.simulation.rollout.spring_steps import WEIGHTS, SpringRates, warn_of_implicit_springs
from linkwork.simulation.simulation_spec import SimulationSetup, moving_robot

__all__ = [
    "BOUNDS",
    "SATURATED",
    "SimulationKernel",
    "bounds_with",
    "check_springs",
    "observer",
    "rows_of",
    "segment",
    "stepper",
    "values_of",
]

_LEAST_ROWS, _MOST_ROWS = 32, 128  # records of a segment: steps after the last change nothing

_KERNELS: LazyCache[Kernel] = LazyCache(64)


def rows_of(records: int) -> int:
    """Return the number of records of a simulation that a kernel computes in one call: 32, 64 or 128.

    It is the smallest of these that is at least ``records``, or 128. Simulations with nearly equal numbers of records
    so use the same kernel.
    """
    rows = _LEAST_ROWS
    while rows < min(records, _MOST_ROWS):
        rows *= 2
    return rows


class SimulationKernel:
    """Kernel of simulations that is called with the inputs ``data`` of its setup, and those of the call.

    The same code serves setups that differ only in these values: the number of steps between records (without time
    inputs) and the parameters of contacts.
    """

    def __init__(self, kernel: Kernel, data: Mapping[str, Any]) -> None:
        self.kernel, self.data = kernel, data

    def __call__(self, **inputs: Any) -> Any:
        return self.kernel(**self.data, **inputs)


def segment(setup: SimulationSetup, rows: int) -> SimulationKernel:
    """Return the kernel that computes ``rows`` records, from one state of a simulation to a later one."""
    bare, data = _split(setup)

    def traced(**inputs: Any) -> Any:
        full, groups, every = _joined(bare, inputs)
        begun = _begun(inputs)._replace(depths=inputs.get(_DEPTHS, ()), saturated=inputs.get(SATURATED, ()))
        end, (q, v, records) = rolled(
            full, begun, inputs["h"], inputs["last"], rows, *groups, skipping=True, every=every
        )
        state = {"steps": end.steps, "q": end.q, "v": end.v, "status": end.status}
        if setup.start is not None:
            state["z"] = end.z
        if setup.watches_depth:
            state["depths"] = _ended_depths(full, end, inputs.get("parameters", {}))
        if SATURATED in inputs:
            state[SATURATED] = end.saturated
        if setup.events:
            state["ended"] = end.events.ended
        return {"end": state, "rows": {"q": q, "v": v, **records}}

    return _kernel("simulate", bare, data, rows, traced)


def _ended_depths(setup: SimulationSetup, end: SimulationState, parameters: Mapping[str, Any]) -> Any:
    """Return the record of contact depths, updated by the depths in the final state."""
    contacts: Any = setup.touched(parameters)
    candidates = contacts.candidates(moving_robot(setup.robot, setup.own(parameters)), array(list(end.q)))
    return deepened(contacts, setup.robot, end.depths, rigid_gaps(candidates), end.steps)


def stepper(setup: SimulationSetup) -> SimulationKernel:
    """Return the kernel that advances a `Simulator` by the setup's number of steps between two records.

    The kernel returns the state after these steps, and the events.
    """
    bare, data = _split(setup)

    def traced(**inputs: Any) -> Any:
        full, groups, every = _joined(bare, inputs)
        end, (_, _, records) = rolled(full, _begun(inputs), inputs["h"], inputs["last"], 1, *groups, every=every)
        state = {"steps": end.steps, "q": end.q, "v": end.v, "status": end.status}
        happened = {EVENTS: records[EVENTS]} if setup.events else {}
        return {"end": state if setup.start is None else {**state, "z": end.z}, **happened}

    return _kernel("step", bare, data, 1, traced)


def observer(setup: SimulationSetup) -> SimulationKernel:
    """Return the kernel that computes the recorded quantities in one state, without a step."""
    bare, data = _split(setup)

    def traced(**inputs: Any) -> Any:
        full, _, _ = _joined(bare, inputs)
        state = SimulationState(inputs["steps"], inputs["q"], inputs["v"], inputs.get("z", ()), RUNNING)
        state = state._replace(forces=full.no_forces)
        t = inputs["h"] * inputs["steps"]
        acting = {**inputs.get("inputs", {}), **inputs.get("signals", {})}
        tau, _, wrenches = commanded(full, t, state, acting, now=True)
        result = recorded(
            full, inputs["h"], state._replace(tau=array(tau), wrenches=wrenches), inputs.get("parameters")
        )
        return {"records": result}

    return _kernel("observe", bare, {name: x for name, x in data.items() if name not in _OF_SEGMENTS}, None, traced)


def bounds_with(setup: SimulationSetup, parameters: Mapping[str, Any], leading: tuple[int, ...]) -> dict[str, Any]:
    """Return the rates of springs and inertias of joints for these parameters, as input of the kernels of steps.

    A kernel of its own computes them, once for all steps of a batch of shape ``leading``. The dict is empty if no
    parameter changes them.
    """
    kinds = {name.partition(":")[0] for name in setup.parameter_names}
    if not setup.is_implicit_in_joints or kinds.isdisjoint(_BOUNDING):
        return {}

    def traced(parameters: Mapping[str, Any]) -> Any:
        return {BOUNDS: sampled_bounds(setup, parameters), "other": array([0.0])}  # a kernel has an output

    key = setup.robot, setup.parameters, setup.parameter_names, setup.friction, setup.passive, setup.method
    compiled = _KERNELS.get((key, BOUNDS), lambda: compile(traced, name=BOUNDS, parameters=dict(setup.parameters)))
    bounds = compiled(parameters=parameters)[BOUNDS]
    if leading:
        bounds = tree_map(lambda x: np.broadcast_to(x, (*leading, x.shape[-1])), bounds)
    return {BOUNDS: bounds} if bounds else {}


def check_springs(
    setup: SimulationSetup, h: float, parameters: Mapping[str, Any], bounds: Mapping[str, Any], leading: tuple[int, ...]
) -> None:
    """Warn of springs that a step of h [s] treats implicitly, with the parameters of all environments.

    ``bounds`` are those of `bounds_with`.
    """
    if not setup.is_implicit_in_joints or 0 in leading:
        return

    robot = setup.robot
    spring_values = values_of(setup, ("stiffness", "damping"), parameters, leading)
    rates = bounds.get(BOUNDS, {}).get("rates")
    known = None  # rates of all springs that parameters may make stiff, also of those that are 0
    if rates is not None:
        sizes = zip(setup.parameter_names, setup.parameters, strict=True)
        stiff = {
            parameter: np.ones(size) for parameter, (_, size) in sizes if parameter.partition(":")[0] == "stiffness"
        }
        known = SpringRates.of(moving_robot(robot, stiff), [*over_environments(rates, rates.shape[-1:], leading)])
    warn_of_implicit_springs(robot, h, spring_values, known, leading)


def values_of(
    setup: SimulationSetup, kinds: Collection[str], parameters: Mapping[str, Any], leading: tuple[int, ...]
) -> dict[str, Any]:
    """Return the robot's parameters of the listed kinds, by name; their elements are arrays over all environments."""
    named = zip(setup.parameter_names, setup.parameters, parameters.values(), strict=True)
    return {
        parameter: over_environments(values, size, leading)
        for parameter, (_, size), values in named
        if not is_of_contacts(parameter) and parameter.partition(":")[0] in kinds
    }


def _split(setup: SimulationSetup) -> tuple[SimulationSetup, dict[str, Any]]:
    """Return a setup with placeholders for the values that are kernel inputs, and these values by name."""
    data: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    if not setup.signals:
        changed["every"], data[_EVERY] = 1, np.array(float(setup.every))
    if setup.contacts is not None:
        changed["contacts"], contact_values = contact_data(setup.contacts, setup.robot)
        data |= contact_values
    return replace(setup, **changed), data


def _joined(bare: SimulationSetup, inputs: Mapping[str, Any]) -> tuple[SimulationSetup, list[Any], Any]:
    """Return the setup with kernel inputs in place of its placeholders, all other inputs, and the steps per record.

    The number of steps between records is None if it is not an input.
    """
    groups = [inputs.get(name, {}) for name in ("inputs", "signals", "parameters")]
    if bare.contacts is not None:
        bare = replace(bare, contacts=with_data(bare.contacts, inputs))
    if BOUNDS in inputs:
        bare = replace(bare, bounds=inputs[BOUNDS])
    return bare, groups, inputs.get(_EVERY)


def _begun(inputs: Mapping[str, Any]) -> SimulationState:
    return SimulationState(inputs["steps"], inputs["q"], inputs["v"], inputs.get("z", ()), inputs["status"])


def _kernel(
    name: str, bare: SimulationSetup, data: Mapping[str, Any], rows: int | None, traced: Any
) -> SimulationKernel:
    def compiled() -> Kernel:
        shapes = _shapes(bare, rows, {key: x.shape for key, x in data.items()})
        if name == "simulate" and bare.watches_depth:
            shapes[_DEPTHS] = depth_state(bare.contacts, bare.robot, ()).shape
        limited = reached_limits(bare.robot, bare.controller)
        if name == "simulate" and limited:
            shapes[SATURATED] = (len(limited),)
        if rows is None:
            shapes = {key: x for key, x in shapes.items() if key not in _OF_SEGMENTS}
        return compile(traced, name=name, **shapes)

    return SimulationKernel(_KERNELS.get((bare, name, rows), compiled), data)


_EVERY = "every"
_DEPTHS, SATURATED = "depths", "saturated"
BOUNDS = "bounds"  # input of the kernels of steps: results of `sampled_bounds`
_BOUNDING = (*WEIGHTS, "point", "direction", "stiffness")  # kinds of parameters that change them
_OF_SEGMENTS = ("last", "status", _EVERY, BOUNDS)


def _shapes(setup: SimulationSetup, rows: int | None, data: Mapping[str, Any]) -> dict[str, Any]:
    robot: Any = setup.robot
    result: dict[str, Any] = {"steps": (), "q": robot.configuration_space, "v": (robot.nv,)}
    if setup.start is not None:
        result["z"] = tree_map(lambda x: getattr(x, "shape", ()), setup.start)
    result |= {"status": (), "h": (), "last": (), **data}
    if setup.inputs:
        result["inputs"] = dict(setup.inputs)
    if setup.signals:
        over = () if rows is None else (rows, setup.every)
        result["signals"] = {name: (*over, *shape) for name, shape in setup.signals}
    if setup.parameters:
        result["parameters"] = dict(setup.parameters)
        bounds = bounds_with(setup, {name: np.ones(shape) for name, shape in setup.parameters}, ())
        result |= {name: tree_map(np.shape, x) for name, x in bounds.items()}
    return result
