"""Simulator: simulation in steps that the caller's own loop asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from operator import is_
from typing import Any

import numpy as np

from linkwork._util.argument_errors import ABOUT_ARGUMENTS
from linkwork._util.checked_arguments import public, quick, raise_named
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.validation import integer, positive
from linkwork.errors import Status
from linkwork.expr.arrays.pytree import tree_map
from linkwork.kernels.compiler_api import single_call
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.friction_laws import Friction
from linkwork.simulation.arguments import (
    chosen_of,
    cores_of,
    for_step,
    leading_of,
    over,
    read_arrays,
    read_joint_forces,
    read_robot_parameters,
    read_state,
    replaced_parameters,
)
from linkwork.simulation.contacts.contact_materials import is_of_contacts
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.events import Event, EventRecord, checked_events, occurrences
from linkwork.simulation.initial_state_check import check_start
from linkwork.simulation.joint_limits import JointStops, read_limit_mode
from linkwork.simulation.result import sentence_of, status_of_codes, within_step
from linkwork.simulation.rollout.kernels import bounds_with, check_springs, stepper
from linkwork.simulation.rollout.rollout import RUNNING
from linkwork.simulation.rollout.step_stability import CheckedValues, check_step_stability
from linkwork.simulation.sensors.contact_sensor import ContactSensor
from linkwork.simulation.sensors.sensor_suite import SensorSuite, generator_states
from linkwork.simulation.simulation_spec import SENSORS, SimulationSetup
from linkwork.simulation.simulator_state import (
    JOINT_FORCES,
    SimulatorOptions,
    SimulatorState,
    copied_state,
    first_state,
    leaves,
    locked,
    not_plain,
    paired,
)

__all__ = ["Simulator"]


_RECHECKED = 1024  # calls with other constants between two checks of stability, after the first ones
_FOREVER = 2.0**52  # number of steps up to which a float counts exactly
_GOING = np.array(RUNNING)
_GOING.setflags(write=False)
_NEW = tuple.__new__  # makes a named tuple without a check of the number of fields


@public
class Simulator(metaclass=WithForeignNames):
    """Robot, or batch of a robot, that is simulated one call of `step` at a time.

    ``dt``, ``method``, ``passive``, ``friction``, ``parameters``, ``contacts``, ``contact_model``,
    ``joint_limit_mode``, ``events``, ``sensors`` and ``seed`` are those of `Robot.simulate`; ``batch`` is a number of
    environments, or the shape of the batch. Joints that pass limits are not reported.  Without a controller each `step`
    takes joint forces.  The ``state`` is a value: `restore` sets it again, to the bit, in this process or in another.

    >>> import linkwork as lw
    >>> robot = lw.load("arm7")
    >>> simulator = lw.Simulator(robot, batch=3)
    >>> state = simulator.reset(robot.neutral())
    >>> later = simulator.step(robot.gravity_force(state.q), count=10)
    >>> simulator.time.tolist(), later.q.shape
    ([0.01, 0.01, 0.01], (3, 7))

    Raises TypeError and ValueError for arguments of other types or values, as `Robot.simulate` does.
    """

    __slots__ = (
        "_bounds",
        "_box",
        "_calls",
        "_changes",
        "_checked",
        "_clock",
        "_events",
        "_first_seed",
        "_h",
        "_held_inputs",
        "_kernels",
        "_last",
        "_leading",
        "_options",
        "_parameters",
        "_plain",
        "_quick",
        "_robot",
        "_sizes",
        "_state",
    )

    def __init__(
        self,
        robot: RobotBase,
        *,
        controller: Callable[..., Any] | None = None,
        dt: float = 1e-3,
        method: str = "semi_implicit_euler",
        passive: bool = True,
        friction: Friction = "smooth",
        batch: int | tuple[int, ...] = (),
        parameters: Mapping[str, Any] | None = None,
        contacts: Any = None,
        contact_model: str = "convex",
        joint_limit_mode: str | JointStops | None = None,
        events: Event | Iterable[Event] = (),
        sensors: Mapping[str, Any] | None = None,
        seed: Any = 0,
    ) -> None:
        if not isinstance(robot, RobotBase):
            raise TypeError(f"Simulator: robot: expected a robot, got {robot!r}")
        self._h = positive("Simulator", "dt", dt, unit="s", symbols=False)
        controller = for_step("Simulator", controller, self._h, int(method == "semi_implicit_euler"))
        model: Any = robot
        self._robot = model
        sizes = batch if isinstance(batch, (tuple, list)) else (batch,)
        description = "a number of environments, or a shape,"
        sizes = self._leading = tuple(integer("Simulator", "batch", n, least=0, description=description) for n in sizes)
        contacts = ContactSet.of(contacts, contact_model)
        names, self._sizes, self._parameters = read_robot_parameters(model, parameters or {}, contacts)
        suite = SensorSuite.of(sensors, robot, self._h, contacts)
        if suite is not None:
            generator_states(seed, sizes)  # raises for a wrong seed
        self._first_seed = seed
        self._options = SimulatorOptions(
            method,
            passive,
            friction,
            JOINT_FORCES if controller is None else controller,
            contacts,
            names,
            suite,
            checked_events(events),
            read_limit_mode(joint_limit_mode),
        )
        self._events: list[EventRecord] = []
        self._box, self._last, self._changes = CheckedValues(), (), 0  # of constants, for checks of stability
        self._kernels: dict[Any, Any] = {}
        self._quick: dict[Any, Any] = {}  # calls for one environment that take plain arrays of the right shapes only
        self._plain: tuple[Any, ...] = ()  # arrays of the state, as these calls take them
        self._calls: dict[Any, Any] = {}  # these calls by shapes of inputs: all counts of steps share one
        self._clock = np.array(self._h), np.array(_FOREVER)
        self._held_inputs = list(self._parameters.values())
        self._bounds: dict[str, Any] | None = None  # inputs that follow from the parameters, None before a step
        unusual = None if callable(controller) else controller
        unwatched = self._options._replace(controller=unusual, sensors=None, events=())
        unwatched.setup(robot, {}, (), 1, unusual)  # checks names
        self._state = self._begun(model.neutral(), None, None, seed)
        self._checked = not model.constraints  # True once the constraints are known to hold in the state

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return the attributes without kernels and calls, which another process rebuilds."""
        attributes = {name: getattr(self, name) for name in self.__slots__}
        return None, {**attributes, "_kernels": {}, "_quick": {}, "_calls": {}}

    def _setup(self, inputs: tuple[tuple[str, tuple[int, ...]], ...], count: int, controller: Any) -> SimulationSetup:
        return self._options.setup(self._robot, self._sizes, inputs, count, controller)

    def __repr__(self) -> str:
        many, leading = int(np.prod(self._leading)), self._leading
        count_text = f"{many} environment{'s' * (many != 1)}, " if leading else ""
        stopped = int(np.count_nonzero(self._state.status != RUNNING))
        time = f"{np.max(self.time, initial=0.0):g} s" + (f", {stopped} of {many} stopped" if stopped else "")
        return f"<Simulator of {self._robot.name!r}: {count_text}steps of {self._h:g} s, at {time}>"

    @property
    def state(self) -> SimulatorState:
        """Current state."""
        return self._state

    @property
    def time(self) -> np.ndarray:
        """Simulated time of each environment (...) [s]."""
        return np.asarray(self._h * self._state.steps + self._state.within)

    @property
    def events(self) -> list[EventRecord]:
        """Events of the last `step`, by environment and time."""
        return list(self._events)

    @property
    def readings(self) -> dict[str, np.ndarray]:
        """Current readings of the sensors (..., n), by name."""
        suite = self._options.sensors
        return {} if suite is None else suite.outputs(self._robot, self._state.controller[SENSORS])

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Parameters of the constructor or of `reset`, by name.  They are not part of the state."""
        return {name: x.copy() for name, x in self._parameters.items()}

    def reset(
        self,
        q: Any,
        v: Any = None,
        *,
        where: Any = None,
        seed: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> SimulatorState:
        """Restart at q and v, at time 0, in the environments of ``where``, or in all.

        q (..., nq) and v (..., nv) broadcast to the batch; v is zero by default.  ``where`` (...) is a bool array.
        ``parameters`` are new values in these environments, only of parameters that the constructor got, so nothing is
        compiled.
        A ``seed`` restarts the noise of sensors.  Without one the noise continues.  Before the first step, if all
        environments are reset, it starts with the constructor's seed, as `Robot.simulate` with that seed does.

        Raises ValueError for other shapes, for values that are not finite, and for a state that violates the robot's
        constraints; UnknownNameError for parameters that the constructor did not get.  Warns of bodies that overlap in
        the environments that are reset.
        """
        if seed is not None:
            generator_states(seed, self._leading)  # raises for a wrong seed
        changed, first = self._parameters, self._first_seed if seed is None and where is None else seed
        before: Any = self._state, self._plain, self._events
        replacing, names, contacts = parameters or {}, self._options.parameters, self._options.contacts
        self._parameters = replaced_parameters(self._robot, changed, names, replacing, where, self._leading, contacts)
        try:
            begun = self._begun(q, v, where, first)
            self._check_start(begun, where)
        except BaseException:
            self._parameters = changed
            self._state, self._plain, self._events = before
            raise
        self._checked = self._checked or where is None
        self._changes = 0
        if replacing:
            if self._bounds is not None:
                self._hold_bounds(where)
            if not self._box.holds_parameters(self._parameters, self._leading):
                self._quick.clear()  # the next step checks whether it is stable with these values
        if contacts is not None:
            chosen = (...,) if where is None else chosen_of(where, self._leading)
            each = zip(names, self._parameters.items(), strict=True)
            changed = {name: x if where is None else self._spread(key, x)[chosen] for name, (key, x) in each}
            touching = contacts.varied({name: x for name, x in changed.items() if is_of_contacts(name)})
            moving = {name: x for name, x in changed.items() if not is_of_contacts(name)}
            touching.warn_of_overlaps(self._robot, begun.q[chosen], self._h, moving)
        return begun

    def _hold_bounds(self, where: Any = None) -> None:
        """Set the inputs of steps that follow from the parameters, in the environments of ``where``, or in all."""
        setup, leading, parameters = self._setup((), 1, None), self._leading, self._parameters
        if self._bounds is None or where is None or not leading:
            self._bounds = bounds_with(setup, parameters, leading)
        else:
            chosen = chosen_of(where, leading)
            parameters = {name: self._spread(name, x)[chosen] for name, x in parameters.items()}

            def placed(x: Any, old: Any) -> np.ndarray:
                result: np.ndarray = np.array(old)
                result[chosen] = x
                return result

            self._bounds = paired(placed, bounds_with(setup, parameters, chosen[chosen].shape), self._bounds)
        self._held_inputs = [*self._parameters.values(), *leaves(self._bounds)]

    def _spread(self, name: str, x: Any) -> np.ndarray:
        """Return the values of a parameter in each environment."""
        return np.broadcast_to(x, (*self._leading, *self._sizes[name]))

    def _check_start(self, state: SimulatorState, where: Any) -> None:
        """Raise ValueError if constraints are violated in the environments of ``where``."""
        if not self._robot.constraints:
            return
        chosen = ... if where is None else chosen_of(where, self._leading)
        varied = {name: self._spread(name, x)[chosen] for name, x in self._parameters.items()}
        names, q, v = self._options.parameters, state.q[chosen], state.v[chosen]
        check_start("Simulator", self._robot, q, v, self._h, names, self._sizes, varied)

    def _begun(self, q: Any, v: Any, where: Any, seed: Any = None) -> SimulatorState:
        q, v = read_state("Simulator.reset", self._robot, q, v)
        values = {name: (x, self._sizes[name]) for name, x in self._parameters.items()}
        result = leading_of(q, v, values)
        try:
            fits = np.broadcast_shapes(result, self._leading) == self._leading
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"Simulator: q, v and parameters: expected shapes that broadcast to the batch {self._leading}, got "
                f"{result}"
            )
        noise: Any = ()
        if self._options.sensors is not None:
            noise = self._state.controller[SENSORS][..., :2] if seed is None else generator_states(seed, self._leading)
        start = getattr(self._options.controller, "start", None)
        fresh = first_state(self._setup((), 1, None), self._leading, q, v, start, noise, self._parameters)
        if where is not None:
            chosen = chosen_of(where, self._leading)

            def either(new: Any, old: Any) -> Any:
                return np.where(over(chosen, new), new, old)

            fresh = paired(either, fresh, self._state)
        self._events = []
        return self._set(*tree_map(np.array, fresh))

    @quick
    def step(self, tau: Any = None, *, count: int = 1, **inputs: Any) -> SimulatorState:
        """Advance ``count`` steps under joint forces ``tau`` (..., nv), or with the controller and its ``inputs``.

        Raises ValueError for other shapes and for values that are not finite, TypeError for forces where there is a
        controller, and for inputs where there is none.
        """
        try:
            quick = self._quick.get((count, tau is None, *inputs))
        except TypeError:  # a count that cannot be hashed
            quick = None
        self._first_seed = None  # from now on the noise continues after a reset
        if quick is not None and (not inputs or self._are_known(inputs, quick[-1])):
            call, data, _ = quick
            result = call(*self._plain, *data, *(inputs.values() if tau is None else (tau,)), *self._held_inputs)
            if result is not None:
                return self._stepped(*result)
        try:
            return self._any_step(tau, count, inputs)
        except ABOUT_ARGUMENTS as error:
            raise_named(error, Simulator.step, (self, tau), {"count": count, **inputs})
            raise

    def _are_known(self, inputs: Mapping[str, Any], shapes: Any) -> bool:
        """Return False if the call has new input arrays and must check whether the step is stable for them.

        The 1st, 2nd, 4th, 8th, ... call with new arrays after a reset checks, and later each 1024th.
        """
        last, self._last = self._last, tuple(inputs.values())
        if len(last) == len(self._last) and all(map(is_, last, self._last)):
            return True
        self._changes += 1
        if self._changes & (self._changes - 1) and self._changes % _RECHECKED:
            return True
        if not all(x.__class__ is np.ndarray and x.dtype == float for x in inputs.values()):
            return False  # a slow call converts them, or raises
        return self._box.holds({"inputs": inputs, "parameters": self._parameters}, shapes, self._leading)

    def _stepped(self, steps: Any, q: Any, v: Any, status: Any, *carried: Any) -> SimulatorState:
        """Set and return the state after a quick call for one environment; its results are new arrays."""
        done = np.asarray(steps)
        for x in (done, q, v):
            x.setflags(False)  # type: ignore[call-arg]  # the keyword write= takes twice the time
        stopped = _GOING if status == RUNNING else locked(status)
        z: Any = ()
        if carried:
            carried = tuple(map(locked, carried))
            elements = iter(carried)
            z = tree_map(lambda _: next(elements), self._state.controller)
        self._plain = (done, q, v, *carried, stopped, *self._clock)
        self._state = state = _NEW(SimulatorState, (done, q, v, z, stopped, self._state.within))
        return state

    def _any_step(self, tau: Any, count: int, constants: Mapping[str, Any]) -> SimulatorState:
        """Step with unvalidated inputs: convert, broadcast and check them, and compile where needed."""
        count = integer("Simulator.step", "count", count, least=1, description="a number of steps")
        inputs = self._inputs(tau, constants)
        if not self._checked:
            self._check_start(self._state, None)
            self._checked = True
        pushed = self._options.controller is JOINT_FORCES
        if pushed:
            shapes: Any = tuple((name, (self._robot.nv,)) for name in inputs)
        else:
            shapes = cores_of("Simulator.step", self._robot, self._options.controller, inputs, self._leading)
        key = (shapes, count)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = stepper(self._setup(shapes, count, self._options.controller))
        if self._bounds is None:
            self._hold_bounds()
        watched = self._options.events
        if not self._leading and not watched and (tau is not None or not pushed):
            call = self._calls.get(shapes)
            if call is None:
                call = self._calls[shapes] = single_call(kernel.kernel, not_plain)
            self._quick[count, tau is None, *constants] = call, tuple(kernel.data.values()), shapes
        state, (h, last) = self._state, self._clock
        arguments: dict[str, Any] = {"steps": state.steps, "q": state.q, "v": state.v, **(self._bounds or {})}
        if leaves(state.controller):
            arguments["z"] = state.controller
        groups = {name: x for name, x in (("inputs", inputs), ("parameters", self._parameters)) if x}
        arguments |= groups
        watched_values = {"parameters": self._parameters} if pushed else groups  # forces do not change the stability
        if self._box.grows(watched_values, shapes, self._leading):
            begun = {**arguments, "status": np.zeros(self._leading)}
            per_environment = {name: x for name, x in begun.items() if name not in groups}
            setup = self._setup(shapes, count, self._options.controller)
            check_step_stability(setup, self._h, kernel, per_environment, groups, {}, self._leading, math.inf)
            check_springs(setup, self._h, self._parameters, self._bounds or {}, self._leading)
        result = kernel(**arguments, status=state.status, h=h, last=last)
        end, within = result["end"], state.within
        if watched:
            slots = result["events"]
            self._events = occurrences(self._robot, watched, slots.table, slots.count)
            within = np.where(state.status == RUNNING, within_step(end["status"], slots.ended[..., 0]), within)
        return self._set(end["steps"], end["q"], end["v"], end.get("z", ()), end["status"], within)

    def _set(self, steps: Any, q: Any, v: Any, controller: Any, status: Any, within: Any) -> SimulatorState:
        """Set and return the state with these arrays, which become read-only and must not be used elsewhere."""
        carried = [locked(x) for x in leaves(controller)]
        steps, q, v, status, within = map(locked, (steps, q, v, status, within))
        self._plain = (steps, q, v, *carried, status, *self._clock)
        self._state = SimulatorState(steps, q, v, controller, status, within)
        return self._state

    def _inputs(self, tau: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        if self._options.controller is not JOINT_FORCES:
            if tau is not None:
                raise TypeError("Simulator.step: tau: expected None, as there is a controller; leave it out")
            return read_arrays("constants", inputs)
        if inputs:
            raise TypeError(f"Simulator.step: expected no inputs without a controller, got {', '.join(inputs)}")
        return read_joint_forces("Simulator.step", self._robot, tau)

    def restore(self, state: SimulatorState) -> None:
        """Return to an earlier `state`, to the bit.  Raises ValueError for the state of another batch or robot."""
        copied = copied_state(state, self._state)
        self._events = []
        self._checked = True
        self._set(*copied)

    @property
    def status(self) -> Any:
        """`linkwork.errors.Status` of one environment, or an array (...) of its words for a batch.

        "running", or why it stopped, as in `linkwork.simulation.Simulation`.
        """
        return status_of_codes(self._state.status, Status.RUNNING)

    def _view_state(self) -> tuple[np.ndarray, float, np.ndarray | None]:
        """Return the content of a `linkwork.viewer.View`: q, the largest time [s], and readings of a `ContactSensor`.

        q is (nq,), or (n, nq) for a batch.  The readings (n, points, 6) are positions [m] and forces [N], or None
        without such a sensor.
        """
        suite, q = self._options.sensors, self._state.q
        q = q.reshape(-1, q.shape[-1]) if self._leading else q
        sensors = () if suite is None else suite.sensors
        names = [name for name, sensor, _ in sensors if isinstance(sensor, ContactSensor)]
        count = int(np.prod(self._leading))
        contacts = [self.readings[name].reshape(count, -1, 6) for name in names]
        pushed = np.concatenate(contacts, axis=1) if contacts else None
        return q, float(np.max(self.time, initial=0.0)), pushed

    def messages(self) -> list[str]:
        """Return a message for each environment that stopped, with its index, status and time [s]."""
        last = {event.environment: event.name for event in self._events}
        codes, time, names = self._state.status, self.time, [event.name for event in self._options.events]
        words, result = np.asarray(self.status), []
        for at in (tuple(map(int, index)) for index in np.argwhere(codes != RUNNING)):
            name = f"environment {', '.join(map(str, at))}: " if at else ""
            result.append(f"{name}{words[at]}: {sentence_of(at, codes, float(time[at]), last, names)}")
        return result


add_foreign_names(Simulator, "Simulator")
