"""Kernels of simulations: pieces of so many records, whatever the duration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import tree_map
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.simulation.contacts.contact_set import contact_data, with_data
from linkwork.simulation.contacts.penetration_depth import deepened, depth_state, rigid_gaps
from linkwork.simulation.rollout.rollout import EVENTS, RUNNING, SimulationState, commanded, rolled, seen
from linkwork.simulation.simulation_spec import SimulationSetup, moving_robot

__all__ = ["SimulationKernel", "observer", "piece", "rows_of", "stepper"]

_LEAST_ROWS, _MOST_ROWS = 32, 128  # records of a piece: steps after the last change nothing

_KERNELS: LazyCache[Kernel] = LazyCache(64)


def rows_of(records: int) -> int:
    """How many records a piece has, so that simulations of other durations find their kernel made."""
    rows = _LEAST_ROWS
    while rows < min(records, _MOST_ROWS):
        rows *= 2
    return rows


class SimulationKernel:
    """A kernel of simulations with those of its inputs that a setup says: they are data, and others take the same code.

    They are how many steps a row of records has, where no signal has a shape of so many, and numbers of contacts.
    """

    def __init__(self, kernel: Kernel, data: Mapping[str, Any]) -> None:
        self.kernel, self.data = kernel, data

    def __call__(self, **given: Any) -> Any:
        return self.kernel(**self.data, **given)


def piece(setup: SimulationSetup, rows: int) -> SimulationKernel:
    """The kernel of so many records: from where a simulation is to where it is then."""
    bare, data = _split(setup)

    def traced(**given: Any) -> Any:
        full, groups, every = _joined(bare, given)
        begun = _begun(given)._replace(depths=given.get(_DEPTHS, ()))
        end, (q, v, records) = rolled(full, begun, given["h"], given["last"], rows, *groups, skipping=True, every=every)
        state = {"steps": end.steps, "q": end.q, "v": end.v, "status": end.status}
        if setup.start is not None:
            state["z"] = end.z
        if setup.watches_depth:
            state["depths"] = _ended_depths(full, end, given.get("parameters", {}))
        if setup.events:
            state["ended"] = end.events.ended
        return {"end": state, "rows": {"q": q, "v": v, **records}}

    return _kernel("simulate", bare, data, rows, traced)


def _ended_depths(setup: SimulationSetup, end: SimulationState, parameters: Mapping[str, Any]) -> Any:
    """Depths of rigid contacts with those of the last state, with which no step began."""
    contacts: Any = setup.touched(parameters)
    places = contacts.places(moving_robot(setup.robot, setup.own(parameters)), array(list(end.q)))
    return deepened(contacts, setup.robot, end.depths, rigid_gaps(places), end.steps)


def stepper(setup: SimulationSetup) -> SimulationKernel:
    """The kernel of one record's steps, which says where a simulation is then, and what events there were."""
    bare, data = _split(setup)

    def traced(**given: Any) -> Any:
        full, groups, every = _joined(bare, given)
        end, (_, _, told) = rolled(full, _begun(given), given["h"], given["last"], 1, *groups, every=every)
        state = {"steps": end.steps, "q": end.q, "v": end.v, "status": end.status}
        happened = {EVENTS: told[EVENTS]} if setup.events else {}
        return {"end": state if setup.start is None else {**state, "z": end.z}, **happened}

    return _kernel("step", bare, data, 1, traced)


def observer(setup: SimulationSetup) -> SimulationKernel:
    """The kernel of what is recorded of one state."""
    bare, data = _split(setup)

    def traced(**given: Any) -> Any:
        full, _, _ = _joined(bare, given)
        state = SimulationState(given["steps"], given["q"], given["v"], given.get("z", ()), RUNNING)
        state = state._replace(forces=full.no_forces)
        t = given["h"] * given["steps"]
        acting = {**given.get("inputs", {}), **given.get("signals", {})}
        tau, _, wrenches = commanded(full, t, state, acting, now=True)
        result = seen(full, given["h"], state._replace(tau=array(tau), wrenches=wrenches), given.get("parameters"))
        return {"records": result}

    return _kernel("observe", bare, {name: x for name, x in data.items() if name not in _OF_PIECES}, None, traced)


def _split(setup: SimulationSetup) -> tuple[SimulationSetup, dict[str, Any]]:
    """A setup with other numbers in the place of those that are inputs, and these by name."""
    data: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    if not setup.signals:
        changed["every"], data[_EVERY] = 1, np.array(float(setup.every))
    if setup.contacts is not None:
        changed["contacts"], numbers = contact_data(setup.contacts, setup.robot)
        data |= numbers
    return replace(setup, **changed), data


def _joined(bare: SimulationSetup, given: Mapping[str, Any]) -> tuple[SimulationSetup, list[Any], Any]:
    """The setup with its inputs, the groups of a simulation's own, and how many steps a row has, where that is one."""
    groups = [given.get(name, {}) for name in ("inputs", "signals", "parameters")]
    if bare.contacts is not None:
        bare = replace(bare, contacts=with_data(bare.contacts, given))
    return bare, groups, given.get(_EVERY)


def _begun(given: Mapping[str, Any]) -> SimulationState:
    return SimulationState(given["steps"], given["q"], given["v"], given.get("z", ()), given["status"])


def _kernel(
    name: str, bare: SimulationSetup, data: Mapping[str, Any], rows: int | None, traced: Any
) -> SimulationKernel:
    def made() -> Kernel:
        shapes = _shapes(bare, rows, {key: x.shape for key, x in data.items()})
        if name == "simulate" and bare.watches_depth:
            shapes[_DEPTHS] = depth_state(bare.contacts, bare.robot, ()).shape
        if rows is None:
            shapes = {key: x for key, x in shapes.items() if key not in _OF_PIECES}
        return compile(traced, name=name, **shapes)

    return SimulationKernel(_KERNELS.get((bare, name, rows), made), data)


_EVERY = "every"
_DEPTHS = "depths"
_OF_PIECES = ("last", "status", _EVERY)


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
    return result
