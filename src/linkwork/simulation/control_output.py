"""Outputs of controllers: servos and wrenches in addition to joint forces; and sampled controllers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NoReturn, cast

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import instance
from linkwork.expr.arrays.pytree import flatten, tree_map
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond
from linkwork.expr.scalar.functions import and_, fabs, fmin, le, lt, where
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.kernels import stacked_by_joint
from linkwork.kernels.array_arguments import missing_joints
from linkwork.model.body import WORLD
from linkwork.simulation.actuators import ServoActuators, ServoForces

__all__ = [
    "ControlOutput",
    "OutputForm",
    "SampledCommand",
    "command_form",
    "is_saturated",
    "reached_limits",
    "refuse_forces",
    "sampled_command",
    "split_command",
    "taken_readings",
    "wrench_frames",
]

Scalars = Sequence[Any]
Wrenches = tuple[tuple[str, str, Scalars], ...]  # (frame, expressed_in, (moment; force))


@public_constructor
@dataclass(frozen=True, eq=False)
class ControlOutput:
    """Output of a controller: joint forces or servos, and external wrenches that act over the step.

    ``tau`` (nv), or a dict by joint, are joint forces [N·m, N], or `ServoActuators`.  ``wrenches`` are (moment; force)
    (6,) [N·m, N] by the frame that they act on, at its origin, in the axes of ``expressed_in``: one frame for all
    wrenches, or a dict with a frame for each.

    >>> import linkwork as lw
    >>> from linkwork.simulation import ControlOutput
    >>> robot = lw.load("arm7")
    >>> def controller(t, q, v):
    ...     return ControlOutput(robot.gravity_force(q), wrenches={"hand": [0, 0, 0, 0, 0, 5.0]})
    >>> found = robot.simulate(robot.neutral(), controller=controller, duration=0.1)
    >>> found.success
    True
    """

    tau: Any
    wrenches: Mapping[str, Any] | None = None
    expressed_in: str | Mapping[str, str] = "world"

    def __post_init__(self) -> None:
        if self.wrenches is not None:
            instance(
                "ControlOutput", "wrenches", self.wrenches, Mapping, description="a dict of wrenches (6,) by frame"
            )
        instance(
            "ControlOutput", "expressed_in", self.expressed_in, str, Mapping, description="a frame, or a dict of them"
        )

    def checked_wrenches(self, robot: Any) -> Wrenches:
        """Return (frame, axes, six scalars) of each wrench on ``robot``.

        Raises TypeError and ValueError for wrong wrenches, UnknownNameError for an unknown frame.
        """
        result = []
        for frame, axes in wrench_frames("controller: ControlOutput", robot, self.wrenches, self.expressed_in):
            w, _ = flatten(array((self.wrenches or {})[frame]), f"controller: wrenches[{frame!r}]")
            if len(w) != 6:
                raise ValueError(
                    f"controller: wrenches[{frame!r}]: expected (moment; force) (6,) [N·m, N], got {len(w)} values"
                )
            result.append((frame, axes, w))
        return tuple(result)


def refuse_forces(robot: Any, count: int) -> NoReturn:
    """Raise ValueError for a controller that returned ``count`` joint forces instead of nv."""
    raise ValueError(
        f"controller: expected joint forces ({robot.nv},) [N·m, N], got {count} values"
        f"{missing_joints(robot._subject, 'tau', count)}"
    )


def wrench_frames(caller: str, robot: Any, wrenches: Any, expressed_in: Any) -> list[tuple[str, str]]:
    """Return the frames on which wrenches act, sorted, each with the frame whose axes it is expressed in.

    Raises TypeError for anything but a dict by frame, UnknownNameError for unknown frames, and ValueError for a frame
    that is fixed to the world.
    """
    if wrenches is None:
        return []
    if not isinstance(wrenches, Mapping) or not all(isinstance(name, str) for name in wrenches):
        raise TypeError(f'{caller}: wrenches: expected a dict by frame, as in {{"hand": w}}, got {wrenches!r}')
    axes = expressed_in if isinstance(expressed_in, Mapping) else dict.fromkeys(wrenches, expressed_in)
    result = []
    for frame in sorted(wrenches):
        if robot.tree.frame(frame).body == WORLD:
            raise ValueError(f"{caller}: wrenches: frame {frame!r} is fixed to the world; name one of a moving body")
        result.append((frame, robot.tree.frame(axes.get(frame, "world")).name))
    for frame in axes:
        if frame not in wrenches:
            raise ValueError(f"{caller}: expressed_in: expected frames of wrenches, got {frame!r}")
    return result


def split_command(robot: Any, command: Any) -> tuple[Any, Wrenches]:
    """Return the joint forces, or servos, that a controller returned, and its external wrenches.

    Joint forces are a dict by joint, in which missing joints have no force, or the array (nv,) that the controller
    returned.
    """
    tau, wrenches = command, cast(Wrenches, ())
    if isinstance(command, ControlOutput):
        tau, wrenches = command.tau, command.checked_wrenches(robot)
    return stacked_by_joint(robot, "controller", "tau", tau, "tau"), wrenches


@dataclass(frozen=True)
class OutputForm:
    """Structure of a controller's output: servos or joint forces, frames of wrenches, and constant elements."""

    servos: bool
    wrenches: tuple[tuple[str, str], ...]
    constants: tuple[float | None, ...]  # by element of a command: None where it varies

    def varying(self, robot: Any, command: Any) -> list[Any]:
        """Return the elements of a controller's output that are not constant."""
        return [x for x, constant in zip(_flat(robot, command)[0], self.constants, strict=True) if constant is None]

    def command(self, robot: Any, varying: Scalars) -> ControlOutput:
        """Return the controller's output with the elements ``varying``; the other elements are its constants."""
        elements = iter(varying)
        every = [next(elements) if constant is None else constant for constant in self.constants]
        wrenches = {}
        for frame, _ in reversed(self.wrenches):
            wrenches[frame], every = array(every[-6:]), every[:-6]
        tau: Any = array(every)
        if self.servos:
            sizes = {f.name: robot.nq if f.name == "position" else robot.nv for f in fields(ServoForces)}
            parts = {}
            for name, size in sizes.items():
                parts[name], every = array(every[:size]), every[size:]
            tau = ServoActuators(**parts)
        return ControlOutput(tau, wrenches or None, dict(self.wrenches) or "world")


def _flat(robot: Any, command: Any) -> tuple[list[Any], bool, Wrenches]:
    """Return the elements of a controller's output as a list, True if it is made of servos, and its wrenches."""
    tau, wrenches = split_command(robot, command)
    servos = isinstance(tau, ServoActuators)
    if servos:
        forces = tau.of(robot)
        elements = [x for f in fields(ServoForces) for x in getattr(forces, f.name)]
    else:
        elements = list(flatten(array(tau), "controller: its result")[0])
        if len(elements) != robot.nv:
            refuse_forces(robot, len(elements))
    return [*elements, *(x for _, _, w in wrenches for x in w)], servos, wrenches


def command_form(setup: Any) -> OutputForm:
    """Trace a simulation's controller once on symbols, and return the structure of its output."""
    graph, robot = Graph("controller"), setup.robot

    def symbols(name: str, shape: tuple[int, ...]) -> Any:
        result = np.array([*graph.inputs(name, shape), None], dtype=object)[:-1]
        return array(result.reshape(shape)) if shape else result[0]

    inputs = {name: symbols(name, shape) for name, shape in (*setup.inputs, *setup.signals) if name not in setup.hidden}
    if setup.sensors is not None:
        readings = setup.sensors.outputs(robot, symbols("readings", (setup.sensors.count(robot),)))
        inputs |= taken_readings(setup.controller, readings)
    state = graph.input("t"), symbols("q", (robot.nq,)), symbols("v", (robot.nv,))
    if setup.begins is None:
        command = setup.controller(*state, **inputs)
    else:
        z = tree_map(lambda x: symbols("z", np.shape(x)), setup.begins)
        result = setup.controller(*state, z, **inputs)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise ValueError(
                "controller: expected a pair (τ, z) of joint forces and the next state, as it has a `start`, "
                f"got {result!r}"
            )
        command = result[0]
    elements, servos, wrenches = _flat(robot, command)
    constants = tuple(None if isinstance(x, Symbol) else float(x) for x in elements)
    return OutputForm(servos, tuple((frame, axes) for frame, axes, _ in wrenches), constants)


_CONTROLLER, _COMMAND, _LEFT = "own", "held", "left"


@dataclass(frozen=True)
class SampledCommand:
    """Controller that is evaluated every ``every`` steps, with a constant command in between (zero-order hold)."""

    controller: Any
    every: int
    form: OutputForm
    robot: Any

    @property
    def effort_limits(self) -> Any:
        """Effort limits of the wrapped controller; None if it has none."""
        return getattr(self.controller, "effort_limits", None)

    @property
    def _is_open(self) -> bool:
        return bool(getattr(self.controller, "_is_open", False))

    @cached_property
    def start(self) -> dict[str, Any]:
        """Initial state: the controller's state, the current command, and the number of steps until the next."""
        controller_start = getattr(self.controller, "start", None)
        count = sum(constant is None for constant in self.form.constants)
        begun = {_COMMAND: np.zeros(count), _LEFT: np.zeros(())}
        return begun if controller_start is None else {_CONTROLLER: controller_start, **begun}

    def own(self, z: Any) -> Any:
        """Return the state of the wrapped controller, which is a part of the state ``z``; None if it has none."""
        return z.get(_CONTROLLER)

    def __call__(self, t: Any, q: Any, v: Any, z: Any, **inputs: Any) -> tuple[ControlOutput, Any]:
        def evaluated(before: Any) -> Any:
            if _CONTROLLER in before:
                command, own_state = self.controller(t, q, v, before[_CONTROLLER], **inputs)
                more = {_CONTROLLER: own_state}
            else:
                command, more = self.controller(t, q, v, **inputs), {}
            varying = self.form.varying(self.robot, command)
            return {**more, _COMMAND: array(varying), _LEFT: 0.0 * before[_LEFT] + float(self.every - 1)}

        def unchanged(before: Any) -> Any:
            return {**before, _LEFT: before[_LEFT] - 1.0}

        after = cond(lt(z[_LEFT], 0.5), evaluated, unchanged, z)
        return self.form.command(self.robot, list(after[_COMMAND])), after


def taken_readings(controller: Any, readings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sensors' readings, by name, that are inputs of a controller; the other readings are only recorded.

    A controller has the inputs of its ``input_shapes``, or else the arguments of its signature.
    """
    if isinstance(controller, SampledCommand):
        controller = controller.controller
    known = getattr(controller, "input_shapes", None)
    if not isinstance(known, Mapping):
        try:
            known = inspect.signature(controller).parameters
        except (TypeError, ValueError):  # a built-in function may have no signature
            return dict(readings)
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
            return dict(readings)
    return {name: x for name, x in readings.items() if name in known}


_NEAR = 1e-4  # part of an effort limit by which a force may be smaller and counts as at the limit


def reached_limits(robot: Any, controller: Any) -> dict[int, float]:
    """Return the forces [N·m, N] from which an actuator counts as saturated, by index of v; infinite without a limit.

    They are just below a controller's ``effort_limits`` (nv), or the robot's for a controller without that attribute.
    Servos report their own limits with each command.
    """
    if controller is None:
        return {}
    limits: Any = getattr(controller, "effort_limits", None)
    if limits is None or np.shape(limits) != (robot.nv,):
        limits = robot.effort_limits
    return {k: (1.0 - _NEAR) * float(x) for k, x in enumerate(limits) if x > 0.0}


def is_saturated(force: Any, most: float, servo: Any) -> Any:
    """Return 1 if a force reaches one of `reached_limits` or the limit of a servo, else 0."""
    servo_limit = (1.0 - _NEAR) * servo
    least = min(servo_limit, most) if servo_limit.__class__ is float else fmin(servo_limit, most)
    if least.__class__ is float and not 0.0 < least < np.inf:
        return 0.0
    return where(and_(lt(0.0, least), le(least, fabs(force))), 1.0, 0.0)


def sampled_command(setup: Any, every: int) -> SampledCommand:
    """Return the controller of a simulation, evaluated every ``every`` steps."""
    return SampledCommand(setup.controller, every, command_form(setup), setup.robot)
