"""A simulation that is stepped from Python: loops of one's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from linkwork._util.argument_errors import ABOUT_ARGUMENTS
from linkwork._util.checked_arguments import public, quick, raise_named
from linkwork._util.validation import integer
from linkwork.errors import Status
from linkwork.expr.arrays.pytree import tree_map
from linkwork.kernels.compiler_api import single_call
from linkwork.kernels.robot_base import RobotBase
from linkwork.motion.arguments import finite_number
from linkwork.simulation.arguments import (
    check_step,
    chosen_of,
    cores_of,
    given_numbers,
    given_parameters,
    given_state,
    leading_of,
    over,
    replaced_parameters,
)
from linkwork.simulation.contacts.contact_materials import is_of_contacts
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.events import Event, EventRecord, checked_events, occurrences
from linkwork.simulation.initial_state_check import check_start
from linkwork.simulation.joint_limits import JointStops, given_limits
from linkwork.simulation.result import sentence_of, status_of_codes, within_step
from linkwork.simulation.rollout.kernels import stepper
from linkwork.simulation.rollout.rollout import RUNNING
from linkwork.simulation.rollout.spring_steps import warn_of_implicit_springs
from linkwork.simulation.rollout.step_stability import look_at_step
from linkwork.simulation.sensors.sensor_readings import noticed
from linkwork.simulation.sensors.sensor_suite import SensorSuite, first_numbers
from linkwork.simulation.simulation_spec import OWN, SENSORS, SimulationSetup
from linkwork.simulation.simulator_state import SimulatorState, copied_state, leaves, locked, not_plain, paired

__all__ = ["Simulator"]


class _Pushed:
    """The controller of simulations that have none: joint forces as they are given."""

    _is_open = True  # answers to no state

    def __call__(self, t: Any, q: Any, v: Any, tau: Any, **readings: Any) -> Any:
        return tau


_PUSHED = _Pushed()
_FOREVER = 2.0**52  # steps: as many as are counted exactly
_GOING = np.array(RUNNING)
_GOING.setflags(write=False)
_NEW = tuple.__new__  # of named tuples whose numbers are known to be there


@public
class Simulator:
    """A robot, or a batch of it, that moves when it is told to.

    ``controller``, ``method``, ``passive``, ``step``, ``parameters``, ``contacts``, ``contact_model``, ``limits``,
    ``events``, ``sensors`` and ``seed`` are those of `Robot.simulate`; whether joints pass limits that nothing holds is
    not looked at.  Without a controller each `step` takes joint forces.  Its ``state`` is a value: `restore` goes back
    to it, to the bit, in this process or in another.

    >>> import linkwork as lw
    >>> robot = lw.load("arm7")
    >>> simulator = lw.Simulator(robot, batch=3)
    >>> state = simulator.reset(robot.neutral())
    >>> later = simulator.step(robot.gravity_force(state.q), count=10)
    >>> simulator.time.tolist(), later.q.shape
    ([0.01, 0.01, 0.01], (3, 7))

    Raises what `Robot.simulate` raises for what is no robot, time, controller or method.
    """

    __slots__ = (
        "_calls",
        "_checked",
        "_clock",
        "_events",
        "_first_seed",
        "_h",
        "_held",
        "_how",
        "_kernels",
        "_leading",
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
        passive: bool | str = True,
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
        self._h = finite_number("Simulator: step", dt)
        if not self._h > 0.0:
            raise ValueError(f"Simulator: dt: expected a time above 0 [s], got {dt!r}")
        check_step("Simulator", controller, self._h)
        made: Any = robot
        self._robot = made
        sizes = batch if isinstance(batch, (tuple, list)) else (batch,)
        what = "a number of environments, or a shape,"
        sizes = self._leading = tuple(integer("Simulator", "batch", n, least=0, what=what) for n in sizes)
        contacts = ContactSet.of(contacts, contact_model)
        self._sizes, self._parameters = given_parameters(made, parameters or {}, contacts)
        suite = SensorSuite.of(sensors, robot, self._h, contacts is not None)
        if suite is not None:
            first_numbers(seed, sizes)  # raises for what is no seed
        self._first_seed = seed
        controlled = _PUSHED if controller is None else controller
        watched = checked_events(events)
        self._how = (
            method,
            passive,
            controlled,
            contacts,
            tuple(parameters or ()),
            suite,
            watched,
            given_limits(joint_limit_mode),
        )
        self._events: list[EventRecord] = []
        self._kernels: dict[Any, Any] = {}
        self._quick: dict[Any, Any] = {}  # of one environment: calls that take plain arrays of the right shapes alone
        self._plain: tuple[Any, ...] = ()
        self._calls: dict[Any, Any] = {}  # of these, by the shapes of inputs: counts of steps have one
        self._clock = np.array(self._h), np.array(_FOREVER)
        self._held = list(self._parameters.values())
        told = None if callable(controller) else controller
        asked = tuple(parameters or ())
        SimulationSetup(  # looks at names
            robot, method, passive, told, (), 1, contacts=contacts, asked=asked, limits=self._how[7]
        )
        self._state = self._begun(made.neutral(), None, None, seed)
        self._checked = not made.constraints  # whether the constraints hold where it is

    def _setup(self, inputs: tuple[tuple[str, tuple[int, ...]], ...], count: int, controller: Any) -> SimulationSetup:
        method, passive, _, contacts, asked, sensors, events, limits = self._how
        sizes = tuple(self._sizes.items())
        return SimulationSetup(
            self._robot,
            method,
            passive,
            controller,
            (),
            count,
            inputs,
            (),
            sizes,
            contacts,
            asked,
            events,
            sensors,
            limits,
        )

    def __repr__(self) -> str:
        many, leading = int(np.prod(self._leading)), self._leading
        of = f"{many} environment{'s' * (many != 1)}, " if leading else ""
        stopped = int(np.count_nonzero(self._state.status != RUNNING))
        time = f"{np.max(self.time, initial=0.0):g} s" + (f", {stopped} of {many} stopped" if stopped else "")
        return f"<Simulator of {self._robot.name!r}: {of}steps of {self._h:g} s, at {time}>"

    @property
    def state(self) -> SimulatorState:
        """Where it is."""
        return self._state

    @property
    def time(self) -> np.ndarray:
        """How long each environment has run (...) [s]."""
        result: np.ndarray = self._h * self._state.steps + self._state.within
        return result

    @property
    def events(self) -> list[EventRecord]:
        """What happened in the last `step`, by environment and time."""
        return list(self._events)

    @property
    def readings(self) -> dict[str, np.ndarray]:
        """What sensors say now (..., n), by name."""
        suite = self._how[5]
        return {} if suite is None else suite.told(self._robot, self._state.controller[SENSORS])

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The robot's numbers that it was made with, or that `reset` gave, by name: they are no part of the state."""
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
        """From the start: at q and v, at rest where v is left out; only the environments ``where`` says so.

        q and v broadcast to the batch, ``where`` (...) is an array of truth values.  ``parameters`` of these
        environments come in the place of theirs: any of those that the simulator was made with, so no code is made for
        them.  With a ``seed`` noise of sensors begins anew; without, it goes on, but before the first step it begins
        with the seed that the simulator was made with wherever all environments are reset: so noise is that of
        `Robot.simulate` with that seed.

        Raises ValueError for other shapes, and for numbers that are not finite; UnknownNameError for parameters that
        the simulator was made without, and where the robot's constraints do not hold.  Warns of bodies that overlap in
        the environments that are reset.
        """
        if seed is not None:
            first_numbers(seed, self._leading)  # raises for what is no seed
        own, first = self._parameters, self._first_seed if seed is None and where is None else seed
        before: Any = self._state, self._plain, self._events
        given, contacts = parameters or {}, self._how[3]
        self._parameters = replaced_parameters(self._robot, own, self._how[4], given, where, self._leading, contacts)
        try:
            begun = self._begun(q, v, where, first)
            self._check_start(begun, where)
        except BaseException:
            self._parameters = own
            self._state, self._plain, self._events = before
            raise
        self._checked = self._checked or where is None
        self._held = list(self._parameters.values())
        if contacts is not None:
            numbers = {name: x for name, x in zip(self._how[4], self._held, strict=True) if is_of_contacts(name)}
            q = begun.q if where is None else begun.q[chosen_of(where, self._leading)]
            contacts.varied(numbers).warn_of_overlaps(self._robot, q)
        return begun

    def _check_start(self, state: SimulatorState, where: Any) -> None:
        """Raises ValueError where constraints do not hold in the environments that ``where`` says."""
        if not self._robot.constraints:
            return
        chosen = ... if where is None else chosen_of(where, self._leading)
        varied = {
            name: np.broadcast_to(x, (*self._leading, *self._sizes[name]))[chosen]
            for name, x in self._parameters.items()
        }
        check_start("Simulator", self._robot, state.q[chosen], state.v[chosen], self._how[4], self._sizes, varied)

    def _begun(self, q: Any, v: Any, where: Any, seed: Any = None) -> SimulatorState:
        q, v = given_state(self._robot, q, v)
        own = {name: (x, self._sizes[name]) for name, x in self._parameters.items()}
        result = leading_of(q, v, own)
        try:
            fits = np.broadcast_shapes(result, self._leading) == self._leading
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"Simulator: expected a batch of {self._leading}, got q, v and parameters of {result}")
        controller, sensors = self._how[2], self._how[5]
        q, v = self._spread(q, np.zeros(self._robot.nq)), self._spread(v, np.zeros(self._robot.nv))
        start = getattr(controller, "start", None)
        carried = () if start is None else tree_map(lambda x: self._spread(np.asarray(x, float), x), start)
        if sensors is not None:
            setup = self._setup((), 1, None)
            noise = np.zeros((*self._leading, sensors.count(self._robot)))
            noise[..., :2] = (
                self._state.controller[SENSORS][..., :2] if seed is None else first_numbers(seed, self._leading)
            )
            begun = {SENSORS: np.array(noticed(setup, q, v, self._parameters, noise))}
            carried = begun if start is None else {OWN: carried, **begun}
        none = np.zeros(self._leading)
        fresh = SimulatorState(none, q, v, carried, none, none)
        if where is not None:
            chosen = chosen_of(where, self._leading)

            def either(new: Any, old: Any) -> Any:
                return np.where(over(chosen, new), new, old)

            fresh = paired(either, fresh, self._state)
        self._events = []
        return self._set(*tree_map(np.array, fresh))

    def _spread(self, x: Any, core: Any) -> np.ndarray:
        return np.array(np.broadcast_to(x, (*self._leading, *np.shape(core))))

    @quick
    def step(self, tau: Any = None, *, count: int = 1, **inputs: Any) -> SimulatorState:
        """So many steps on, under joint forces τ (..., nv), or what the controller makes of its ``inputs``.

        Raises ValueError for other shapes and for numbers that are not finite, TypeError where forces are given to a
        controller, or none where there is none.
        """
        try:
            quick = self._quick.get((count, tau is None, *inputs))
        except TypeError:  # a count that does not hash
            quick = None
        self._first_seed = None  # from now on noise goes on
        if quick is not None:
            call, data = quick
            result = call(*self._plain, *data, *(inputs.values() if tau is None else (tau,)), *self._held)
            if result is not None:
                return self._stepped(*result)
        try:
            return self._any_step(tau, count, inputs)
        except ABOUT_ARGUMENTS as error:
            raise_named(error, Simulator.step, (self, tau), {"count": count, **inputs})
            raise

    def _stepped(self, steps: Any, q: Any, v: Any, status: Any, *carried: Any) -> SimulatorState:
        """Where one environment is after a quick call, whose results are new arrays, and numbers: in little time."""
        done = np.asarray(steps)
        for x in (done, q, v):
            x.setflags(False)  # type: ignore[call-arg]  # write=: the keyword takes twice the time
        stopped = _GOING if status == RUNNING else locked(status)
        z: Any = ()
        if carried:
            carried = tuple(map(locked, carried))
            rest = iter(carried)
            z = tree_map(lambda _: next(rest), self._state.controller)
        self._plain = (done, q, v, *carried, stopped, *self._clock)
        self._state = state = _NEW(SimulatorState, (done, q, v, z, stopped, self._state.within))
        return state

    def _any_step(self, tau: Any, count: int, given: Mapping[str, Any]) -> SimulatorState:
        """With inputs of any kind, which are looked at."""
        count = integer("Simulator.step", "count", count, least=1, what="a number of steps")
        inputs = self._given(tau, given)
        if not self._checked:
            self._check_start(self._state, None)
            self._checked = True
        pushed = self._how[2] is _PUSHED
        if pushed:
            shapes: Any = tuple((name, (self._robot.nv,)) for name in inputs)
        else:
            shapes = cores_of("Simulator.step", self._robot, self._how[2], inputs, self._leading)
        key = (shapes, count)
        kernel = self._kernels.get(key)
        fresh = kernel is None
        if kernel is None:
            kernel = self._kernels[key] = stepper(self._setup(shapes, count, self._how[2]))
        watched = self._how[6]
        if not self._leading and not watched and (tau is not None or not pushed):
            call = self._calls.get(shapes)
            if call is None:
                call = self._calls[shapes] = single_call(kernel.kernel, not_plain)
            self._quick[count, tau is None, *given] = call, tuple(kernel.data.values())
        state, (h, last) = self._state, self._clock
        asked: dict[str, Any] = {"steps": state.steps, "q": state.q, "v": state.v}
        if leaves(state.controller):
            asked["z"] = state.controller
        groups = {name: x for name, x in (("inputs", inputs), ("parameters", self._parameters)) if x}
        asked |= groups
        if fresh:
            begun = {**asked, "status": np.zeros(self._leading)}
            own = {name: x for name, x in begun.items() if name not in groups}
            setup = self._setup(shapes, count, self._how[2])
            look_at_step(setup, self._h, kernel, own, groups, {}, self._leading, math.inf)
            if setup.is_implicit_in_joints:
                warn_of_implicit_springs(self._robot, self._h)
        result = kernel(**asked, status=state.status, h=h, last=last)
        end, within = result["end"], state.within
        if watched:
            slots = result["events"]
            self._events = occurrences(self._robot, watched, slots.table, slots.count)
            within = np.where(state.status == RUNNING, within_step(end["status"], slots.ended[..., 0]), within)
        return self._set(end["steps"], end["q"], end["v"], end.get("z", ()), end["status"], within)

    def _set(self, steps: Any, q: Any, v: Any, controller: Any, status: Any, within: Any) -> SimulatorState:
        """Where it is, of arrays that nobody else has, and nobody writes to from now on."""
        carried = [locked(x) for x in leaves(controller)]
        steps, q, v, status, within = map(locked, (steps, q, v, status, within))
        self._plain = (steps, q, v, *carried, status, *self._clock)
        self._state = SimulatorState(steps, q, v, controller, status, within)
        return self._state

    def _given(self, tau: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        if self._how[2] is not _PUSHED:
            if tau is not None:
                raise TypeError("Simulator.step: expected no joint forces: there is a controller")
            return given_numbers("constants", inputs)
        if inputs:
            raise TypeError(f"Simulator.step: expected no inputs without a controller, got {', '.join(inputs)}")
        result = given_numbers("constants", {"tau": np.zeros(self._robot.nv) if tau is None else tau})
        if result["tau"].shape[-1:] != (self._robot.nv,):
            raise ValueError(
                f"Simulator.step: tau: expected joint forces (..., {self._robot.nv}), got shape {result['tau'].shape}"
            )
        return result

    def restore(self, state: SimulatorState) -> None:
        """Back to a state that it was in, to the bit.  Raises ValueError for one of another batch or robot."""
        copied = copied_state(state, self._state)
        self._events = []
        self._checked = True
        self._set(*copied)

    @property
    def status(self) -> Any:
        """The `linkwork.errors.Status` of one environment, an array (...) of words of a batch: "running", or why it
        stopped, as of `linkwork.simulation.Simulation`.
        """
        return status_of_codes(self._state.status, Status.RUNNING)

    def messages(self) -> list[str]:
        """Return what happened to each environment that stopped, with its index, status and time."""
        last = {event.environment: event.name for event in self._events}
        codes, time, names = self._state.status, self.time, [event.name for event in self._how[6]]
        words, result = np.asarray(self.status), []
        for place in (tuple(map(int, place)) for place in np.argwhere(codes != RUNNING)):
            name = f"environment {', '.join(map(str, place))}: " if place else ""
            result.append(f"{name}{words[place]}: {sentence_of(place, codes, float(time[place]), last, names)}")
        return result
