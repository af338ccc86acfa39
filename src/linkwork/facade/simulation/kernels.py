"""Kernels of simulations: pieces of so many records, whatever the duration."""

from __future__ import annotations

from typing import Any

from ...bridge.machine import Kernel, compile
from ...bridge.once import Once
from ...expr.arrays import array
from ...expr.structure import mapped
from .rolling import EVENTS, RUNNING, SimulationState, commanded, rolled, seen
from .setup import SimulationSetup

__all__ = ["observer", "piece", "rows_of", "stepper"]

_LEAST_ROWS, _MOST_ROWS = 32, 128  # records of a piece: steps after the last change nothing

_KERNELS: Once[Kernel] = Once(64)


def rows_of(records: int) -> int:
    """How many records a piece has, so that simulations of other durations find their kernel made."""
    rows = _LEAST_ROWS
    while rows < min(records, _MOST_ROWS):
        rows *= 2
    return rows


def piece(setup: SimulationSetup, rows: int) -> Kernel:
    """The kernel of so many records: from where a simulation is to where it is then."""

    def traced(**given: Any) -> Any:
        start = SimulationState(given["steps"], given["q"], given["v"], given.get("z", ()), given["status"])
        groups = [given.get(name, {}) for name in ("inputs", "signals", "parameters")]
        end, (q, v, records) = rolled(setup, start, given["h"], given["last"], rows, *groups, skipping=True)
        state = {"steps": end.steps, "q": end.q, "v": end.v, "status": end.status}
        if setup.start is not None:
            state["z"] = end.z
        if setup.events:
            state["ended"] = end.events.ended
        return {"end": state, "rows": {"q": q, "v": v, **records}}

    return _KERNELS.get((setup, rows), lambda: compile(traced, name="simulate", **_shapes(setup, rows)))


def stepper(setup: SimulationSetup) -> Kernel:
    """The kernel of one record's steps, which says where a simulation is then, and what events there were."""

    def traced(**given: Any) -> Any:
        start = SimulationState(given["steps"], given["q"], given["v"], given.get("z", ()), given["status"])
        groups = [given.get(name, {}) for name in ("inputs", "signals", "parameters")]
        end, (_, _, told) = rolled(setup, start, given["h"], given["last"], 1, *groups)
        state = {"steps": end.steps, "q": end.q, "v": end.v, "status": end.status}
        happened = {EVENTS: told[EVENTS]} if setup.events else {}
        return {"end": state if setup.start is None else {**state, "z": end.z}, **happened}

    return _KERNELS.get((setup, "stepper"), lambda: compile(traced, name="step", **_shapes(setup, 1)))


def observer(setup: SimulationSetup) -> Kernel:
    """The kernel of what is recorded of one state."""

    def traced(**given: Any) -> Any:
        state = SimulationState(given["steps"], given["q"], given["v"], given.get("z", ()), RUNNING)
        state = state._replace(forces=setup.no_forces)
        t = given["h"] * given["steps"]
        acting = {**given.get("inputs", {}), **given.get("signals", {})}
        tau, _, wrenches = commanded(setup, t, state, acting, now=True)
        found = seen(setup, given["h"], state._replace(tau=array(tau), wrenches=wrenches), given.get("parameters"))
        return {"records": found}

    def made() -> Kernel:
        shapes = _shapes(setup, None)
        return compile(traced, name="observe", **{k: x for k, x in shapes.items() if k not in _OF_PIECES})

    return _KERNELS.get((setup, "observer"), made)


_OF_PIECES = ("last", "status")


def _shapes(setup: SimulationSetup, rows: int | None) -> dict[str, Any]:
    robot: Any = setup.robot
    found: dict[str, Any] = {"steps": (), "q": robot.configuration_space, "v": (robot.nv,)}
    if setup.start is not None:
        found["z"] = mapped(lambda x: getattr(x, "shape", ()), setup.start)
    found |= {"status": (), "h": (), "last": ()}
    if setup.inputs:
        found["inputs"] = dict(setup.inputs)
    if setup.signals:
        over = () if rows is None else (rows, setup.every)
        found["signals"] = {name: (*over, *shape) for name, shape in setup.signals}
    if setup.parameters:
        found["parameters"] = dict(setup.parameters)
    return found
