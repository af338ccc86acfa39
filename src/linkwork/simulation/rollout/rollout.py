"""Roll-out: the steps of a simulation one after the other, on symbols or any other scalars.

A sample that stops retains its state; its neighbours continue.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.pytree import flatten, tree_map, unflatten
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.control import cond, scan
from linkwork.expr.control.loops import watching_while_loop
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, lt, not_, or_, where
from linkwork.simulation.actuators import ServoActuators, ServoForces
from linkwork.simulation.algorithms import (
    METHODS,
    StepSegments,
    adaptive_segments,
    located_step,
    shorter_steps,
)
from linkwork.simulation.contacts.contact_set import ContactDiagnostics
from linkwork.simulation.contacts.penetration_depth import deepened
from linkwork.simulation.control_output import (
    command_form,
    is_saturated,
    reached_limits,
    refuse_forces,
    split_command,
    taken_readings,
)
from linkwork.simulation.events import SLOTS, EventSlots, no_slots, replayed, watched
from linkwork.simulation.reaction_records import RecordedReaction
from linkwork.simulation.rollout.simulated_dynamics import SimulatedDynamics
from linkwork.simulation.rollout.step_division import PartOfStep, PlausibleValues, divided, is_solved, total
from linkwork.simulation.rollout.step_program import program_step
from linkwork.simulation.sensors.sensor_readings import sensed
from linkwork.simulation.simulation_spec import (
    CONTROLLER_STATE,
    SENSORS,
    RecordedFunction,
    SimulationSetup,
    moving_robot,
)

__all__ = [
    "CONTROLLER",
    "ENDED",
    "EVENTS",
    "FORCES",
    "GUARD",
    "PILED",
    "RUNNING",
    "STATE",
    "UNSOLVED",
    "SimulationState",
    "commanded",
    "recorded",
    "rolled",
]


RUNNING, CONTROLLER, STATE, ENDED, PILED, UNSOLVED = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0  # codes of a sample's status
GUARD = 6.0  # GUARD + k: the guard of event k is NaN
_MOVED = 1e-6  # part of a step below which an end counts as that at the step's start
_STORED = 1000  # number of steps, or rows, up to which a gradient stores all states
_FOREVER = 2**31 - 1  # maximum number of steps of a row
FORCES, EVENTS = "contact_forces", "events"
Named = Mapping[str, Any]


class SimulationState(NamedTuple):
    """State of a simulation: number of steps, q, v, state z of controller and sensors, and status code.

    In addition it has the last forces of joints and of contacts, the residual of the program that solves for these, the
    events since the last record, and the values of the last step that records of reactions need.
    """

    steps: Any
    q: Any
    v: Any
    z: Any
    status: Any
    tau: Any = ()
    forces: Any = ()
    residual: Any = 0.0
    events: Any = ()
    wrenches: Any = ()  # external wrenches of the last step, (frame, axes, components), if reactions are recorded
    motion: Any = ()  # acceleration and constraint forces of the last step, if a program solves for them
    depths: Any = ()  # state of `penetration_depth.deepened`, if depths are watched
    saturated: Any = ()  # number of steps in which each force of `reached_limits` was reached, if these are counted
    tried: Any = ()  # part of the step that is tried next, if the loop over steps runs over their parts
    is_far: Any = ()  # 1 if the next step may gain energy, so that it is divided, where other steps are not


def rolled(
    setup: SimulationSetup,
    start: SimulationState,
    h: Any,
    last: Any,
    rows: int,
    inputs: Named,
    signals: Named,
    parameters: Named,
    *,
    skipping: bool = False,
    closely: bool = False,
    segments: int | None = None,
    every: Any = None,
) -> tuple[SimulationState, tuple[Any, Any, Any]]:
    """Return the final state, and q, v and the other records after each record interval.

    A *row* is the group of steps between two records; ``rows`` is their number.  A row has the setup's number of
    steps, or ``every`` (a symbol) if there are no signals.

    - ``signals`` (rows, every, ...) have an entry for each step.
    - ``last`` is the index of the step at which the simulation ends: later steps do not change the state; with
      ``skipping``, rows of later steps are not computed.
    - ``closely`` solves steps to rounding, for derivatives.  A gradient then stores the states between ``segments`` of
      rows, or between segments of the steps if there is a single row.
    - The depths of rigid contacts, and the steps at effort limits, are recorded if the start has a state for them.
    """
    contacts = setup.touched(parameters)
    dynamics = SimulatedDynamics.of(setup, parameters, h, closely)
    method, watching, plausible = METHODS[setup.method], len(start.depths) > 0, PlausibleValues.of(setup.robot.tree)
    solves = method.solves or (method.damped_within and setup.has_constraints)  # its steps may not be solved
    reached = reached_limits(setup.robot, setup.controller) if len(start.saturated) else {}

    def rows_of(function: Any, state: Any, value: Any, length: int, cuts: int | None = None) -> Any:
        if not closely or length != 1:
            if closely and cuts is None and length > _STORED:
                cuts = math.isqrt(length)
            return scan(function, state, value, length=length, segments=None if cuts is None else min(cuts, length))
        # the derivative of a loop is by all of its state: a single step is differentiated directly
        state, result = function(state, tree_map(lambda x: x[0], value))
        return state, tree_map(lambda x: np.asarray(x)[None], result)

    def advanced(
        acting: SimulatedDynamics, t: Any, q: Any, v: Any, tau: Any, width: Any, diagnostics: Any, whole: bool = False
    ) -> Any:
        """Return q, v and diagnostics (forces of joints, contacts and constraints) after a step of ``width`` [s].

        A ``whole`` step is not divided.
        """
        if not setup.robot.nv:  # the robot cannot move
            return q, v, diagnostics
        bounded, part_of = isinstance(tau, ServoForces) or setup.is_bounded, parts_of(acting, tau, width)
        if closely or whole or not (solves or may_gain(acting, bounded)):
            q, v, forces = part_of(t, q, v, width)
        else:
            q, v, forces = divided(part_of, t, q, v, width, diagnostics if bounded else ())
        return q, v, forces if bounded else diagnostics

    def may_gain(acting: SimulatedDynamics, bounded: bool) -> bool:
        """Return True if steps in which springs may add energy are divided; never if a contact program is solved."""
        return not bounded and acting.may_gain

    def parts_of(acting: SimulatedDynamics, tau: Any, width: Any) -> Any:
        """Return the function that computes q, v and forces after a part of a step of ``width`` [s]."""
        bounded = isinstance(tau, ServoForces) or setup.is_bounded
        gains = may_gain(acting, bounded)

        def part_of(t: Any, q: Any, v: Any, part: Any, passes: Any = True) -> tuple[Any, Any, Any]:
            moving = replace(acting, h=part, span=width, passes=passes)
            if bounded:
                q, v, pushed, pressed, residual, limit_forces, gaps = program_step(
                    moving, contacts, t, list(q), list(v), tau
                )
                return q, v, (array(pushed), pressed, residual, limit_forces, array(gaps) if watching else ())
            end, rates = method.step(moving.system(tau), t, list(q), list(v), part)
            if gains and passes is not True:
                lost = and_(moving.gains(tau, (q, v), (end, rates)), not_(passes))
                rates = [where(lost, math.inf, x) for x in rates]
            return *moving.projected(t + part, end, rates), ()

        return part_of

    def happening(
        acting: SimulatedDynamics, state: SimulationState, t: Any, tau: Any, diagnostics: Any, whole: bool
    ) -> Any:
        """Return q, v, diagnostics, status code and events of a step in which events are located."""
        known = state.events

        def shorter(begin: Any, q: Any, v: Any, width: Any) -> tuple[Any, Any, Any]:
            q, v, more = advanced(acting, t + begin, q, v, tau, width, diagnostics, whole)
            return array(list(q)), array(list(v)), more

        parts: StepSegments
        adaptive = method.adaptive and not closely and setup.robot.nv > 0
        if adaptive:
            parts = adaptive_segments(acting.system(tau), t, h, lambda x: array(list(x)))
        else:
            parts = shorter_steps(shorter, h, diagnostics)
        guards, table, count = watched(setup.robot, setup.events), known.table, known.count
        begun = state.q, state.v
        if closely:  # events are located without derivatives; the step is then repeated with them
            table, count = no_slots(setup.robot).table, 0.0
            values = stop_gradient([*state.q, *state.v])
            begun = array(values[: len(state.q)]), array(values[len(state.q) :])
        result = located_step(parts, guards, t, h, *begun, table, count)
        ended = where(lt(0.5, result.stopped), ENDED, where(lt(SLOTS + 0.5, result.count), PILED, RUNNING))
        ended = where(lt(0.5, result.lost), GUARD - 1.0 + result.lost, ended)
        if closely:
            rows = array(stop_gradient([x for row in result.table for x in row])).reshape(np.shape(result.table))
            again = replayed(shorter, guards, t, h, state.q, state.v, diagnostics, rows, result.count, result.stopped)
            return list(again.q), list(again.v), again.more, ended, EventSlots((), result.count, again.time)
        q, v = dynamics.projected(t + h, result.q, result.v) if adaptive else (result.q, result.v)
        more = diagnostics if adaptive else result.segment.more
        return list(q), list(v), more, ended, EventSlots(result.table, result.count, result.time)

    def noted(
        state: SimulationState,
        t: Any,
        q: Any,
        v: Any,
        diagnostics: Any,
        before: Any,
        ended: Any,
        events: Any,
        wrenches: Any,
    ) -> Any:
        """Return the state of sensors after a step, or its part up to an event."""
        width = where(lt(ended, 0.5), h, events.ended) if setup.events else h
        duration = fmax(width, _MOVED * h) if setup.events else h
        a = [(x - y) / duration for x, y in zip(v, state.v, strict=True)]
        pushed, forces, _, limit_forces, _ = diagnostics
        begun = t, state.q, state.v
        after = sensed(
            setup, parameters, t + width, q, v, a, list(pushed), forces, before, limit_forces, wrenches, start=begun
        )
        return _either(lt(_MOVED * h, width), after, before) if setup.events else after

    def step(state: SimulationState, now: Named | None, whole: bool = False) -> SimulationState:
        t = h * state.steps
        tau, z, wrenches = commanded(setup, t, state, {**inputs, **(now or {})})
        acting = replace(dynamics, wrenches=wrenches) if wrenches else dynamics
        is_constant = isinstance(tau, ServoForces) or len(wrenches) > len(setup.wrenches) or not setup.robot.nv
        parted = len(state.tried) > 0 and not is_constant
        if parted and setup.controller is not None:  # later parts have the command of the first one
            first = eq(state.tried.done, 0.0)
            tau = [where(first, a, b) for a, b in zip(tau, state.tau, strict=True)]
            z = _either(first, z, state.z)
        carries = setup.carried(z)
        carried, _ = flatten(() if carries is None else carries, "controller: its state")
        ended, events = RUNNING, state.events
        servos = tau.limit if isinstance(tau, ServoForces) else [math.inf] * setup.robot.nv
        if isinstance(tau, ServoForces) and method.as_mujoco:
            acting, tau = acting.driven_by(tau, list(state.q), list(state.v))
        stepped = isinstance(tau, ServoForces) or setup.is_bounded  # the step's program solves for constraint forces
        pulled = setup.no_constraint_forces if stepped else ()
        forces_at_first = state.tau if isinstance(tau, ServoForces) else array(list(tau))
        gaps = array([0.0] * len(state.forces)) if watching else ()
        diagnostics = (forces_at_first, state.forces, state.residual, pulled, gaps)
        solved: Any = True
        if setup.events:
            q, v, diagnostics, ended, events = happening(acting, state, t, tau, diagnostics, whole)
        elif parted:
            done, part = state.tried
            q, v, _ = parts_of(acting, tau, h)(t + done * h, state.q, state.v, part * h, state.tried.is_last)
            solved = is_solved(q, v)
        else:
            q, v, diagnostics = advanced(acting, t, state.q, state.v, tau, h, diagnostics, whole)
        if setup.sensors is not None:
            z = {**z, SENSORS: noted(state, t, q, v, diagnostics, z[SENSORS], ended, events, wrenches)}
        pushed, forces, residual, borne, gaps = diagnostics
        if method.solves or method.adaptive or (method.damped_within and (setup.has_constraints or dynamics.spins)):
            known = solved if parted else lt(fabs(v[0]), math.inf) if len(v) else True
            residual = residual if known is True else where(known, residual, math.inf)  # from 1 on: not solved
        tau, pressed, motion = list(pushed), state.wrenches, state.motion
        if setup.records_reactions:
            pressed = tuple(array(list(w)) for _, _, w in wrenches)
            motion = (array([(x - y) / h for x, y in zip(v, state.v, strict=True)]), borne) if stepped else ()
        valid, moved = plausible.allow_forces(tau, h), plausible.allow_state(q, v, h)
        valid = and_(valid, lt(total(carried), math.inf)) if carried else valid
        # gaps, and so depths, of a stopped sample do not change
        depths = deepened(contacts, setup.robot, state.depths, gaps, state.steps) if watching else ()
        going, is_far = and_(lt(state.status, 0.5), lt(state.steps, last)), state.is_far
        if whole and may_gain(acting, stepped):  # a step that may gain energy changes nothing here
            far = and_(going, acting.moves_far(state.v, v, h))
            going, is_far = and_(going, not_(far)), array([where(far, 1.0, 0.0)])
        elif len(is_far):
            is_far = array([0.0])
        goes = and_(and_(going, lt(ended, GUARD - 0.5)), and_(valid, moved))
        lost = where(lt(residual, 1.0), STATE, UNSOLVED)
        allowed, full, tried = moved, and_(goes, lt(ended, 0.5)), state.tried  # the step of an event does not count
        if parted:
            allowed, tried = or_(moved, not_(or_(solved, tried.is_last))), tried.following(solved)
            left = lt(tried.done, 1.0)
            full, tried = and_(full, not_(left)), PartOfStep(where(left, tried.done, 0.0), where(left, tried.part, 1.0))
        why = where(valid, where(allowed, ended, lost), CONTROLLER)
        full_step = where(full, 1.0, 0.0)
        counts = zip(state.saturated, reached.items(), strict=True)
        saturated = [x + full_step * is_saturated(tau[k], most, servos[k]) for x, (k, most) in counts]
        return SimulationState(
            where(full, state.steps + 1.0, state.steps),
            _either(goes, q, state.q),
            _either(goes, v, state.v),
            _either(goes, z, state.z),
            where(going, why, state.status),
            _either(goes, array(list(tau)), state.tau),
            _either(goes, forces, state.forces),
            where(goes, residual, state.residual),
            _either(goes, events, state.events),
            _either(goes, pressed, state.wrenches),
            _either(goes, motion, state.motion),
            depths,
            array(saturated) if reached else (),
            tried,
            is_far,
        )

    start = start._replace(tau=array([0.0] * setup.robot.nv), forces=setup.no_forces)
    if solves and every is not None and not (closely or setup.events or setup.sensors or setup.is_bounded):
        start = start._replace(tried=PartOfStep())
    elif may_gain(dynamics, setup.is_bounded) and not closely:
        start = start._replace(is_far=array([0.0]))
    frames: tuple[tuple[str, str], ...] = ()
    if setup.records_reactions:
        form = None if setup.controller is None else command_form(setup)
        frames = tuple((frame, axes) for frame, axes, _ in setup.wrenches) + (() if form is None else form.wrenches)
        start = start._replace(wrenches=tuple(array([0.0] * 6) for _ in frames))
        if setup.is_bounded or (form is not None and form.servos and not method.as_mujoco):
            no_forces = setup.no_constraint_forces
            start = start._replace(motion=(array([0.0] * setup.robot.nv), no_forces))
    if setup.events:
        start = start._replace(events=EventSlots((), 0.0, 0.0) if closely else no_slots(setup.robot))

    def row(state: SimulationState, now: Named | None) -> tuple[SimulationState, Any]:
        def run(state: SimulationState) -> SimulationState:
            if every is not None:

                def counted(pair: tuple[Any, SimulationState], whole: bool = False) -> tuple[Any, SimulationState]:
                    after = step(pair[1], None, whole)
                    parts_of_step = after.steps - pair[1].steps if len(after.tried) else 1.0
                    return pair[0] + (parts_of_step - after.is_far[0] if whole else parts_of_step), after

                def going(pair: tuple[Any, SimulationState]) -> Any:
                    now = pair[1]
                    return and_(and_(lt(pair[0], every), lt(now.steps, last)), lt(now.status, 0.5))

                def until_far(pair: Any) -> Any:
                    """Advance the state by whole steps, then by the step with substeps that ends their series."""

                    def whole(x: Any) -> Any:
                        return and_(going(x), lt(x[1].is_far[0], 0.5))

                    pair = while_loop(whole, lambda x: counted(x, True), pair, length).state
                    return cond(lt(0.5, pair[1].is_far[0]), counted, lambda x: x, pair)

                length = len(flatten(state, "simulate: state")[0])

                def while_loop(more: Any, function: Any, pair: Any, length: int) -> Any:
                    return watching_while_loop(more, function, pair, _FOREVER, length)

                result = while_loop(going, until_far if len(state.is_far) else counted, (0.0, state), length)
                return result.state[1]  # type: ignore[no-any-return]
            cuts = segments if rows == 1 else None

            def one_step(state: SimulationState, now: Named | None) -> tuple[SimulationState, None]:
                if not len(state.is_far):
                    return step(state, now), None
                after = step(state, now, True)
                return cond(lt(0.5, after.is_far[0]), lambda _: step(state, now), lambda x: x, after), None

            result, _ = rows_of(one_step, state, now, setup.every, cuts)
            return result  # type: ignore[no-any-return]

        if setup.events and not closely:
            state = state._replace(events=state.events._replace(table=no_slots(setup.robot).table, count=0.0))
        state = cond(lt(state.steps, last), run, lambda state: state, state) if skipping else run(state)
        pressed = tuple((*frame, w) for frame, w in zip(frames, state.wrenches, strict=True))
        result = recorded(setup, h, state._replace(wrenches=pressed), parameters)
        return state, (state.q, state.v, {**result, EVENTS: state.events} if setup.events and not closely else result)

    return rows_of(row, start, dict(signals) or None, rows, segments)  # type: ignore[no-any-return]


def recorded(setup: SimulationSetup, h: Any, state: SimulationState, parameters: Named | None) -> Any:
    """Return the records of a state by name, with the forces of the step before it.

    ``parameters`` are parameters of the robot and its contacts.
    """
    robot: Any = setup.robot
    moving, contacts = moving_robot(robot, setup.own(parameters)), setup.touched(parameters)
    arguments = (h * state.steps, state.q, state.v, array(list(state.tau)))
    result = {}
    for name, record in setup.records:
        if isinstance(record, ContactDiagnostics):
            result[name] = array(record(contacts, moving, state))  # type: ignore[arg-type]
        elif isinstance(record, RecordedReaction):
            result[name] = array(record(setup, moving, contacts, h * state.steps, state))
        else:
            is_function = isinstance(record, RecordedFunction)
            result[name] = array(record(moving, setup, *arguments) if is_function else record(*arguments))
    if setup.sensors is not None:
        result |= setup.sensors.outputs(robot, state.z[SENSORS])
    if contacts is not None:
        if setup.is_compliant:
            result[FORCES] = contacts.compliant(moving, state.q, list(state.v))[1]
        else:
            result[FORCES] = state.forces
    return result


def commanded(
    setup: SimulationSetup, t: Any, state: SimulationState, value: Named, *, now: bool = False
) -> tuple[Any, Any, tuple[tuple[str, str, Any], ...]]:
    """Return the command in a state: τ (nv) or servos, the next state of the controller, and external wrenches.

    With ``now`` servos are replaced by their forces in this state.  Wrenches (frame, axes, components) are those of the
    simulation and of the controller.  Raises ValueError for a controller that returns another number of forces, and for
    servos with another method than the default.
    """
    n = setup.robot.nv
    acting = [(frame, axes, list(value[name])) for frame, axes, name in setup.wrenches]
    wrenches: tuple[tuple[str, str, Any], ...] = tuple(acting)
    if setup.controller is None:
        return [0.0] * n, state.z, wrenches
    value = {name: x for name, x in value.items() if name not in setup.hidden}
    if setup.sensors is not None:
        value = {**value, **taken_readings(setup.controller, setup.sensors.outputs(setup.robot, state.z[SENSORS]))}
    if setup.begins is None:
        command, z = setup.controller(t, state.q, state.v, **value), state.z
    else:
        result = setup.controller(t, state.q, state.v, setup.carried(state.z), **value)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise ValueError(
                "controller: expected a pair (τ, z) of joint forces and the next state, as it has a `start`, "
                f"got {result!r}"
            )
        command, z = result
        z = z if setup.sensors is None else {**state.z, CONTROLLER_STATE: z}
    tau, more = split_command(setup.robot, command)
    wrenches += more
    if isinstance(tau, ServoActuators):
        if not METHODS[setup.method].as_mujoco:
            setup.bounded("a controller that returns ServoActuators")
        servos = tau.of(setup.robot)
        return (servos.now(setup.robot, state.q, state.v) if now else servos), z, wrenches
    scalars, _ = flatten(array(tau), "controller: its result")
    if len(scalars) != n:
        refuse_forces(setup.robot, len(scalars))
    return scalars, z, wrenches


def _either(first: Any, new: Any, old: Any) -> Any:
    """Return the nested value ``new`` where ``first`` is True, and ``old`` elsewhere.

    Raises ValueError if they have different numbers of elements.
    """
    before, form = flatten(old, "controller: its state")
    after, old_form = flatten(array(new) if isinstance(new, list) else new, "controller: its state")
    if len(after) != len(before):
        raise ValueError(f"controller: expected a state of the form of its start, {form}, got {old_form}")
    return unflatten(form, [where(first, a, b) for a, b in zip(after, before, strict=True)])
