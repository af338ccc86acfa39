"""Run of a simulation: its arguments are read, its kernel runs segment by segment, and the result is assembled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.progress import Reporter, read_progress
from linkwork._util.validation import finite_number, integer, positive
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.scalar.functions import and_, lt, where
from linkwork.model.friction_laws import Friction
from linkwork.simulation.arguments import (
    cores_of,
    for_step,
    leading_of,
    read_arrays,
    read_robot_parameters,
    read_signals,
    read_state,
    read_wrenches,
    refuse_too_many,
    whole_steps,
)
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.contacts.penetration_depth import depth_state, warn_of_depth
from linkwork.simulation.control_output import SampledCommand, command_form, reached_limits, sampled_command
from linkwork.simulation.events import checked_events, occurrences
from linkwork.simulation.initial_state_check import check_start
from linkwork.simulation.joint_limits import read_limit_mode, warn_of_limits
from linkwork.simulation.result import Simulation, within_step
from linkwork.simulation.rollout.dense_output import DenseOutput, recorded_forces
from linkwork.simulation.rollout.fast_turns import warn_of_fast_turns
from linkwork.simulation.rollout.kernels import (
    BOUNDS,
    SATURATED,
    SimulationKernel,
    bounds_with,
    check_springs,
    observer,
    rows_of,
    segment,
    values_of,
)
from linkwork.simulation.rollout.rollout import (
    ENDED,
    EVENTS,
    FORCES,
    PILED,
    RUNNING,
    SimulationState,
    commanded,
    recorded,
    rolled,
)
from linkwork.simulation.rollout.scipy_integrators import scipy_solver, solved_by_scipy
from linkwork.simulation.rollout.spring_steps import warn_of_jumping_springs
from linkwork.simulation.rollout.step_stability import check_step_stability
from linkwork.simulation.sensors.sensor_readings import first_readings, initial_sensor_state
from linkwork.simulation.sensors.sensor_suite import SensorSuite, generator_states
from linkwork.simulation.simulation_spec import SENSORS, SimulationSetup, records_of

__all__ = ["simulated"]


def simulated(
    robot: Any,
    q: Any,
    v: Any,
    *,
    controller: Any,
    duration: Any,
    dt: Any,
    method: str,
    passive: bool,
    friction: Friction,
    record: Any,
    record_every: int,
    constants: Mapping[str, Any] | None,
    time_inputs: Mapping[str, Any] | None,
    parameters: Mapping[str, Any] | None,
    contacts: Any,
    contact_model: str,
    joint_limit_mode: Any,
    events: Any,
    sensors: Any,
    seed: Any,
    wrenches: Mapping[str, Any] | None,
    expressed_in: Any,
    control_every: int,
    segments: int | None,
    progress: Any,
) -> Simulation:
    """Simulate a robot and return the result; the arguments are those of `Robot.simulate`."""
    read_progress("simulate", progress)
    h = positive("simulate", "dt", dt, unit="s", symbols=False)
    control_every = integer("simulate", "control_every", control_every, least=1, description="a number of steps")
    inner = control_every if method == "semi_implicit_euler" else 0
    controller = for_step("simulate", controller, h * control_every, inner)
    steps = whole_steps(finite_number("simulate", "duration", duration, least=0.0, symbols=False, unit="s"), h)
    record_every = integer("simulate", "record_every", record_every, least=1, description="a number of steps")
    if steps % record_every:
        longer = (steps // record_every + 1) * record_every * h
        raise ValueError(
            f"simulate: record_every: expected a divisor of the number of steps, {steps} of {h:g} s, got "
            f"{record_every}; change it, or use duration={longer:.10g}"
        )
    if segments is not None:
        segments = integer("simulate", "segments", segments, least=1, description="None or an integer")
    generator_states(seed, None)  # raises for a wrong seed
    q, v = read_state("simulate", robot, q, v)
    touching = ContactSet.of(contacts, contact_model)
    named, sizes, varied = read_robot_parameters(robot, parameters or {}, touching)
    leading = leading_of(q, v, {name: (x, sizes[name]) for name, x in varied.items()})
    constant = read_arrays("constants", constants or {})
    rows, axes = read_signals(time_inputs or {}, steps, h, leading, robot, controller)
    if controller is None and (constant or rows):
        argument = "constants" if constant else "time_inputs"
        names = ", ".join(constant or rows)
        raise ValueError(f"simulate: {argument}: expected a controller that takes {names}, got none; pass controller=")
    refuse_too_many(steps // record_every + 1, leading, robot)
    pushes = read_wrenches(robot, wrenches, expressed_in, steps, leading, {*constant, *rows})
    for name in [name for name in constant if name in rows]:
        raise ValueError(f"simulate: {name!r} is in constants and in time_inputs; rename one of them")
    cores = cores_of("simulate", robot, controller, constant, leading)
    cores += tuple((name, (6,)) for name in pushes.constant)
    constant, rows, axes = constant | pushes.constant, rows | pushes.rows, axes | pushes.axes
    solver = scipy_solver(method)
    setup = SimulationSetup(
        robot,
        "rk4" if solver else method,  # its accelerations are those of a state
        passive,
        controller,
        records_of(robot, record) + _own_record(method, record_every),
        record_every,
        cores,
        tuple((name, x.shape[axes[name] + 1 :]) for name, x in rows.items()),
        tuple(sizes.items()),
        touching,
        named,
        checked_events(events),
        SensorSuite.of(sensors, robot, h, contacts),
        read_limit_mode(joint_limit_mode),
        pushes.names,
        friction,
        stated_method=method if solver else "",
    )
    if control_every > 1 and controller is not None:
        setup = replace(setup, controller=sampled_command(setup, control_every))
    run = SimulationRun(setup, h, steps, leading, constant, rows, axes, varied, seed)
    if any(map(is_traced, (q, v, *constant.values(), *rows.values(), *varied.values()))):
        if solver:
            raise ValueError("simulate: method: expected a method of linkwork in compiled functions, got one of SciPy")
        return run.on_symbols(q, v, segments)
    overlapping = setup.touched(varied)
    if overlapping is not None:
        overlapping.warn_of_overlaps(robot, q, h, setup.own(varied))
    q, v = np.broadcast_to(q, (*leading, robot.nq)), np.broadcast_to(v, (*leading, robot.nv))
    check_start("simulate", robot, q, v, h, named, sizes, varied)
    result, depths = (
        (solved_by_scipy(run, solver, q, v, progress), None) if solver else run.run_compiled(q, v, progress)
    )
    warn_of_fast_turns(robot, setup.method, h, result.t, result.q, result.v)
    if passive:
        springs = values_of(setup, ("stiffness", "rest"), varied, leading)
        warn_of_jumping_springs(robot, springs, result.t, result.q)
    if joint_limit_mode is None:
        warn_of_limits(robot, result.t, result.q)
    if overlapping is not None and depths is not None and steps:
        warn_of_depth(overlapping, robot, depths, h)
    return result


_FORCE_RECORD = "_held"  # record of the joint forces, for the method's dense output


def _own_record(method: str, every: int) -> tuple[Any, ...]:
    return ((_FORCE_RECORD, recorded_forces),) if method == "dormand_prince" and every == 1 else ()


def first_carried(setup: SimulationSetup, leading: tuple[int, ...], seed: Any) -> Any:
    """Return the initial state of the controller, the sensors, and the sensors' random generators."""
    if setup.sensors is None:
        return setup.start
    carried = np.zeros((*leading, setup.sensors.count(setup.robot)))
    carried[..., :2] = generator_states(seed, leading)
    return {**setup.start, SENSORS: carried}


class SimulationRun:
    """Simulation of ``steps`` of h [s] with all of its inputs, ready to run."""

    def __init__(
        self,
        setup: SimulationSetup,
        h: float,
        steps: int,
        leading: tuple[int, ...],
        constants: Mapping[str, Any],
        time_inputs: Mapping[str, Any],
        axes: Mapping[str, int],
        parameters: Mapping[str, Any],
        seed: Any,
    ) -> None:
        self.begins = first_carried(setup, leading, seed)
        self.setup, self.h, self.steps, self.leading = setup, h, steps, leading
        self.inputs, self.signals, self.parameters = constants, time_inputs, parameters
        self.axes = axes  # axis of the steps, by name of signals

    def on_symbols(self, q: Any, v: Any, segments: int | None) -> Simulation:
        """Return the result of a simulation on symbols, by adding all of its steps to their graph."""
        setup, total = self.setup, self.steps // self.setup.every
        rows = {name: x.reshape(total, setup.every, *x.shape[1:]) for name, x in self.signals.items()}
        now = {name: x[0] for name, x in self.signals.items()}
        z = self.begins
        if setup.sensors is not None:
            z = {**z, SENSORS: first_readings(setup, self.parameters, q, v, z[SENSORS])}
        start = SimulationState(0.0, q, v, () if z is None else z, RUNNING)
        tau, _, wrenches = commanded(setup, 0.0, start, {**self.inputs, **now}, now=True)
        begun_by = start._replace(tau=array(tau), forces=setup.no_forces, wrenches=wrenches)
        first = recorded(setup, self.h, begun_by, self.parameters)
        arguments = (float(self.steps), total, self.inputs, rows, self.parameters)
        end, (qs, vs, records) = rolled(setup, start, self.h, *arguments, closely=True, segments=segments)
        qs, vs = np.concatenate([q[None], qs]), np.concatenate([v[None], vs])
        record_values = {
            name: np.concatenate([np.asarray(x)[None], records[name]])
            for name, x in first.items()
            if name != _FORCE_RECORD
        }
        t = self.h * setup.every * np.arange(total + 1)
        ended = self.h * end.steps
        if setup.events:
            within = and_(lt(ENDED - 0.5, end.status), lt(end.status, PILED + 0.5))
            ended = ended + where(within, end.events.ended, 0.0)
        stopped = where(lt(end.status, 0.5), math.nan, ended)
        return Simulation._make(
            setup.robot,
            t,
            qs,
            vs,
            record_values,
            end.status,
            stopped,
            self._carried(end.z),
            self._contact_names,
            contacts=setup.contacts,
            passive=setup.passive,
        )

    def run_compiled(self, q: Any, v: Any, progress: Any) -> tuple[Simulation, np.ndarray | None]:
        """Run the simulation by compiled kernels, a segment of records at a time.

        Returns the result, and the record of contact depths (None without rigid contacts).
        """
        setup, n = self.setup, len(self.leading)
        total = self.steps // setup.every
        rows = rows_of(total)
        state: dict[str, Any] = {"steps": np.zeros(self.leading), "q": q, "v": v, "status": np.zeros(self.leading)}
        if setup.start is not None:
            state["z"] = self.begins
        if setup.watches_depth:
            state["depths"] = depth_state(setup.contacts, setup.robot, self.leading)
        limited = reached_limits(setup.robot, setup.controller)
        if limited:
            state[SATURATED] = np.zeros((*self.leading, len(limited)))
        if setup.sensors is not None:
            carried = initial_sensor_state(setup, q, v, self.parameters, self.begins[SENSORS])
            state["z"] = {**self.begins, SENSORS: carried}
        groups = {"inputs": self.inputs, "parameters": self.parameters}
        arguments: dict[str, Any] = {name: x for name, x in groups.items() if x}
        kernel: Any = segment(setup, rows) if total else None
        if total:
            bounds = bounds_with(setup, self.parameters, self.leading)
            check_springs(setup, self.h, self.parameters, bounds, self.leading)
            state |= bounds
            warned = self._warn(kernel, state, arguments, rows, 0)
        parts = [self._first(state, arguments)]
        happened: list[tuple[Any, Any]] = []
        ended: Any = 0.0
        with Reporter("simulate", progress, "simulating: steps", self.steps) as report:
            for begin in range(0, total, max(rows, 1)):
                now = {name: self._rows(name, begin, rows) for name in self.signals}
                more = {"signals": now} if now else {}
                result = kernel(**state, **arguments, **more, h=self.h, last=float(self.steps))
                count, rolled_rows = min(rows, total - begin), result["rows"]
                going = state["status"] == RUNNING
                state |= result["end"]
                ended = np.where(going, state.pop("ended", 0.0), ended)
                cut = (slice(None),) * n + (slice(count),)
                recorded = {name: x[cut] for name, x in rolled_rows.items() if name not in ("q", "v", EVENTS)}
                if setup.events:
                    happened.append((rolled_rows[EVENTS].table[cut], rolled_rows[EVENTS].count[cut]))
                parts.append((rolled_rows["q"][cut], rolled_rows["v"][cut], recorded))
                report.advance(count * setup.every)
        qs, vs = (np.concatenate([part[k] for part in parts], axis=n) for k in (0, 1))
        if total and not warned and [*np.ravel(state["status"])[:1]] == [RUNNING]:
            self._warn(kernel, state, arguments, rows, total - 1, np.abs(vs[(0,) * n]).max(axis=0))
        records = {name: np.concatenate([part[2][name] for part in parts], axis=n) for name in parts[0][2]}
        status = np.asarray(state["status"])
        stopped = np.where(status == RUNNING, np.nan, self.h * state["steps"] + within_step(status, ended))
        t = self.h * setup.every * np.arange(total + 1)
        events = []
        if happened:
            tables, counts = (np.concatenate([part[k] for part in happened], axis=n) for k in (0, 1))
            events = occurrences(setup.robot, setup.events, tables, counts)
        held_by = records.pop(_FORCE_RECORD, None)
        robot: Any = setup.robot
        timed = any(constraint.time_dependent for constraint in robot.tree.constraints)
        dense_output = None
        if held_by is not None and not (timed or self._is_pushed):  # the dense output has no other forces
            dense_output = DenseOutput(setup, held_by, self.parameters, self.leading)
        z, names = self._carried(state.get("z")), self._contact_names
        simulation = Simulation._make(
            setup.robot,
            t,
            qs,
            vs,
            records,
            status,
            stopped,
            z,
            names,
            events,
            dense_output,
            self.whole_parameters(),
            [event.name for event in setup.events],
            setup.contacts,
            setup.passive,
            self._saturation(limited, state),
            setup.first_order_method,
        )
        return simulation, state.get("depths")

    def _saturation(self, limited: Mapping[int, float], state: Mapping[str, Any]) -> np.ndarray:
        """Return the fraction of steps (..., nv) in which each force reached its limit."""
        result: np.ndarray = np.zeros((*self.leading, self.setup.robot.nv))
        if limited:
            result[..., [*limited]] = state[SATURATED] / np.maximum(state["steps"], 1.0)[..., None]
        return result

    def _warn(
        self,
        kernel: SimulationKernel,
        state: Mapping[str, Any],
        arguments: Mapping[str, Any],
        rows: int,
        begin: int,
        speeds: np.ndarray | None = None,
    ) -> bool:
        """Warn if the step is too long for the first environment to be stable, once for a setup; True if it warned.

        The state is that of record ``begin``: at the start, or at the end, with the largest speeds (nv) before.
        """
        each = {name: self._rows(name, begin, rows) for name in self.signals}
        signals = {name: x[(0,) * self.axes[name]] for name, x in each.items()}
        duration = self.h * self.steps
        values = kernel, state, arguments, signals, self.leading, duration, speeds
        return check_step_stability(self.setup, self.h, *values)

    def whole_parameters(self) -> dict[str, Any]:
        """Return the parameters by the robot's names, each with a value for every environment."""
        every = zip(self.setup.parameter_names, self.parameters.values(), self.setup.parameters, strict=True)
        return {name: np.broadcast_to(x, (*self.leading, *shape)) for name, x, (_, shape) in every}

    def _carried(self, z: Any) -> Any:
        """Return the controller's own state from the state z of a simulation.

        It is without the sensors' state, and without the command that a sampled controller holds.
        """
        state = self.setup.carried(z)
        return self.setup.controller.own(state) if isinstance(self.setup.controller, SampledCommand) else state

    @property
    def _is_pushed(self) -> bool:
        """True if external wrenches act."""
        setup = self.setup
        return bool(setup.wrenches) or (setup.controller is not None and bool(command_form(setup).wrenches))

    @property
    def _contact_names(self) -> tuple[str, ...]:
        return () if self.setup.contacts is None else self.setup.contacts.names(self.setup.robot)

    def _first(self, state: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        """Return q, v and the other recorded quantities of the initial state, as a single record."""
        n = len(self.leading)
        q, v = (np.expand_dims(state[x], n) for x in ("q", "v"))
        if not (self.setup.records or self.setup.sensors) and self.setup.contacts is None:
            return q, v, {}
        if not (self.setup.records or self.setup.sensors) and not self.setup.is_compliant:
            no_forces = self.setup.no_forces
            return q, v, {FORCES: np.zeros((*self.leading, 1, *no_forces.shape))}
        inputs = {name: x for name, x in state.items() if name not in ("status", "depths", SATURATED, BOUNDS)}
        inputs |= arguments
        if self.signals:
            inputs["signals"] = {name: np.take(x, 0, axis=self.axes[name]) for name, x in self.signals.items()}
        result = observer(self.setup)(**inputs, h=self.h)["records"]
        return q, v, {name: np.expand_dims(x, n) for name, x in result.items()}

    def _rows(self, name: str, begin: int, rows: int) -> Any:
        """Return the values of a time input in a segment, with an axis of ``rows`` records and one of steps.

        Beyond the end of the simulation its last value is repeated.
        """
        every, axis = self.setup.every, self.axes[name]
        at = np.minimum(np.arange(begin * every, (begin + rows) * every), self.steps - 1)
        taken = np.take(self.signals[name], at, axis=axis)
        return taken.reshape(*taken.shape[:axis], rows, every, *taken.shape[axis + 1 :])
