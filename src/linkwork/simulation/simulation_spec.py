"""Specification of a simulation: all that its kernel depends on, as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.foreign_names import RECORDS
from linkwork._util.messages import letters
from linkwork._util.unknown_names import foreign_hint
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.friction_laws import DEFAULT, FrictionLaw, friction_law, read_friction
from linkwork.simulation.algorithms import METHODS
from linkwork.simulation.contacts.contact_materials import is_of_contacts
from linkwork.simulation.contacts.contact_set import DIAGNOSTICS, ContactDiagnostics, ContactSet
from linkwork.simulation.control_output import taken_readings
from linkwork.simulation.events import Event
from linkwork.simulation.joint_limits import JointStops
from linkwork.simulation.reaction_records import REACTIONS, RecordedReaction
from linkwork.simulation.sensors.sensor_suite import SensorSuite

__all__ = ["CONTROLLER_STATE", "SENSORS", "RecordedFunction", "SimulationSetup", "moving_robot", "records_of"]

Recorded = tuple[str, Callable[..., Any]]

_TAKEN = ("t", "q", "v", "contact_forces", "events")

CONTROLLER_STATE, SENSORS = "controller", "sensors"  # keys of the state from step to step, if there are sensors


@dataclass(frozen=True)
class SimulationSetup:
    """Specification of a simulation: the robot, the method, everything that acts on the robot, and the records.

    ``inputs``, ``signals`` and ``parameters`` are pairs of name and shape; ``every`` is the number of steps from
    record to record.
    """

    robot: RobotBase
    method: str
    passive: bool
    controller: Callable[..., Any] | None
    records: tuple[Recorded, ...]
    every: int
    inputs: tuple[tuple[str, tuple[int, ...]], ...] = ()
    signals: tuple[tuple[str, tuple[int, ...]], ...] = ()
    parameters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    contacts: ContactSet | None = None
    parameter_names: tuple[str, ...] = ()  # the robot's names of the parameters
    events: tuple[Event, ...] = ()
    sensors: SensorSuite | None = None
    limits: str | JointStops | None = None
    wrenches: tuple[tuple[str, str, str], ...] = ()  # (frame, axes, name of the input) of external wrenches
    friction: str | FrictionLaw = DEFAULT.name  # law of dry friction in joints, where ``passive``
    bounds: Any = None  # arrays of `sampled_bounds` by name, where they are inputs of the kernel
    stated_method: str = ""  # name of the method in messages, where ``method`` stands for a solver of SciPy

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("method of simulation", str(self.method), METHODS)
        object.__setattr__(self, "passive", bool(self.passive))
        law = read_friction("simulate", self.friction)
        object.__setattr__(self, "friction", law if self.passive else DEFAULT.name)
        if self.sticks:
            name = friction_law(law).name
            self.bounded(f"friction={name!r}", ", or a law that does not stick, as friction='stribeck'")
        if METHODS[self.method].as_mujoco and (self.has_constraints or self.robot.tree.has_couplings):
            feature = "constraints" if self.has_constraints else "joints that follow others"
            raise ValueError(
                f"simulate: method: {self.method!r} is for robots without {feature}; use 'semi_implicit_euler'"
            )
        if self.limits == "held":
            self.bounded("joint_limit_mode='held'", ", or joint_limit_mode='soft'")
        if self.contacts is not None:
            if not self.is_compliant:
                self.bounded("contacts", ", or contact_model='compliant'")
            named = {name: 1.0 for name in self.parameter_names if is_of_contacts(name)}
            self.contacts.varied(named).checked(self.robot)
        elif any(isinstance(record, ContactDiagnostics) for _, record in self.records):
            raise ValueError("simulate: record: expected contacts for these records, got none; pass contacts=")
        readings = () if self.sensors is None else self.sensors.names
        further_names = {name for name, _ in (*self.inputs, *self.signals, *self.records)}
        for name in readings:
            if name in further_names or name in _TAKEN:
                raise ValueError(f"simulate: sensors: {name!r} is also the name of an input or a record; rename one")
        if self.controller is None:
            return
        if not callable(self.controller):
            expected = f"expected a function of t, q and v, got {self.controller!r}"
            if isinstance(self.controller, str):
                expected += "; controllers are objects, such as linkwork.control.PD(robot, kp=..., kd=...)"
            if hasattr(self.controller, "step"):
                expected += (
                    "; call controller.step((q, v)) in a loop, with lw.Simulator.step(command.torque, count=...)"
                )
            raise TypeError(f"simulate: controller: {expected}")
        arrays = [name for name, _ in (*self.inputs, *self.signals) if name not in self.hidden]
        keywords = dict.fromkeys([*arrays, *taken_readings(self.controller, dict.fromkeys(readings))])
        arguments = [None] * (3 if self.begins is None else 4)
        try:
            signature = inspect.signature(self.controller)
        except (TypeError, ValueError):  # a built-in function may have no signature
            return
        try:
            signature.bind(*arguments, **keywords)
        except TypeError as error:
            takes = ", ".join(["t", "q", "v", *(["z"] if len(arguments) > 3 else []), *keywords])
            raise TypeError(f"simulate: controller: expected a function called as ({takes}): {error}") from None

    def bounded(self, option: str, otherwise: str = "") -> None:
        """Raise ValueError unless the method and the robot support an ``option``, which the error names.

        They support it with the default method and contacts that are not compliant. ``otherwise`` is a hint at the
        end of the message.
        """
        if self.method != "semi_implicit_euler":
            got = f"got method={self.stated_method or self.method!r}"
        elif self.is_compliant:
            got = "got contact_model='compliant'"
        else:
            return
        raise ValueError(f"simulate: {option}: expected the method 'semi_implicit_euler'{otherwise}; {got}")

    @property
    def hidden(self) -> frozenset[str]:
        """Names of inputs that are external wrenches, not arguments of the controller."""
        return frozenset(name for _, _, name in self.wrenches)

    @property
    def records_reactions(self) -> bool:
        """True if forces of constraints or wrenches across joints are recorded."""
        return any(isinstance(record, RecordedReaction) for _, record in self.records)

    @property
    def is_fed_back(self) -> bool:
        """True if there is a controller that depends on the state."""
        return self.controller is not None and not getattr(self.controller, "_is_open", False)

    @property
    def sticks(self) -> bool:
        """True if joints with dry friction stick.

        Each step's program then solves for this friction, together with contacts.
        """
        return self.passive and friction_law(self.friction).sticks

    @property
    def smooth_friction(self) -> str | FrictionLaw:
        """Law of dry friction for records and sensors, whose functions accept no law by which joints stick.

        It is the default law if joints stick by the simulation's own law.
        """
        return DEFAULT.name if self.sticks else self.friction

    @property
    def first_order_method(self) -> str:
        """Name of the method if it is of first order and nothing but resistance of joints changes the energy, else "".

        Inputs, contacts, joint limits, elements of force and constraints that depend on time change the energy.
        """
        tree = self.robot.tree
        acting: list[Any] = [self.controller, self.wrenches, self.contacts, self.limits, self.signals, self.parameters]
        acting += [self.events, tree.force_elements]
        timed = any(constraint.time_dependent for constraint in tree.constraints)
        return "" if METHODS[self.method].order > 1 or timed or any(acting) else self.method

    @property
    def is_bounded(self) -> bool:
        """True if each step solves a program with contacts, limits or sticking friction, for any controller."""
        touching = self.contacts is not None and not self.is_compliant
        return touching or self.sticks or self.limits == "held"

    @property
    def has_constraints(self) -> bool:
        """True where the robot has constraints."""
        robot: Any = self.robot
        return bool(robot.constraints)

    @property
    def is_implicit_in_joints(self) -> bool:
        """True if springs that are too stiff for the step are treated implicitly."""
        method = METHODS[self.method]
        settles = (method.damped_within or method.by_action) and not method.as_mujoco
        return settles and bool(self.passive)

    @property
    def is_compliant(self) -> bool:
        """True if there are compliant contacts, whose forces depend on the state."""
        return self.contacts is not None and self.contacts.model == "compliant"

    @property
    def watches_depth(self) -> bool:
        """True if any contact may be rigid; the depths of contacts are then measured in every step."""
        return self.contacts is not None and not self.is_compliant

    @property
    def no_forces(self) -> Any:
        """Zero contact forces (points, 3) before the first step; () if contacts are compliant or missing."""
        if self.contacts is None or self.is_compliant:
            return ()
        return array([[0.0] * 3] * len(self.contacts.names(self.robot)))

    @property
    def no_constraint_forces(self) -> Any:
        """Zero forces of the robot's constraints (nc), before the first step; () if it has none."""
        robot: Any = self.robot
        count = sum(len(constraint.component_names) for constraint in robot.constraints)
        return array([0.0] * count) if count else ()

    @property
    def begins(self) -> Any:
        """Initial state of the controller, None if it has no state."""
        return getattr(self.controller, "start", None)

    @property
    def start(self) -> Any:
        """Initial state of the controller and the sensors, with zeros for the sensors; None if neither has a state."""
        if self.sensors is None:
            return self.begins
        carried = {SENSORS: np.zeros(self.sensors.count(self.robot))}
        return carried if self.begins is None else {CONTROLLER_STATE: self.begins, **carried}

    def carried(self, z: Any) -> Any:
        """Return the controller's part of the state z of controller and sensors, None if it has none."""
        return z if self.sensors is None else z.get(CONTROLLER_STATE)

    def own(self, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the values of the robot's parameters, without those of contacts, by the names of `Robot.parameters`.

        ``parameters`` are the values of all parameters by the names of the kernel's inputs, in the order of the
        inputs.
        """
        every = zip(self.parameter_names, (parameters or {}).values(), strict=True)
        return {name: x for name, x in every if not is_of_contacts(name)}

    def touched(self, parameters: Mapping[str, Any] | None) -> ContactSet | None:
        """Return the contacts with parameters replaced by ``parameters``, by input name; None without contacts."""
        if self.contacts is None:
            return None
        every = zip(self.parameter_names, (parameters or {}).values(), strict=True)
        contact_values = {name: x for name, x in every if is_of_contacts(name)}
        return self.contacts.varied(
            {name: x[()] if isinstance(x, np.ndarray) else x for name, x in contact_values.items()}
        )


def moving_robot(robot: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the robot with its parameters replaced by ``parameters``, by name."""
    return robot.with_parameters(dict(parameters)) if parameters else robot


def records_of(robot: Any, record: Any) -> tuple[Recorded, ...]:
    """Read the records in addition to q and v: functions of the robot by name, or the caller's functions."""
    if isinstance(record, str) or not isinstance(record, Iterable):
        raise TypeError(f"simulate: record: expected a list of names, or a dict of functions, got {record!r}")
    requested: dict[str, Any] = dict(record) if isinstance(record, Mapping) else {}
    for request in () if isinstance(record, Mapping) else record:
        name = _called(request)
        if requested.setdefault(name, request) != request:
            raise ValueError(
                f"simulate: record: {requested[name]!r} and {request!r} are both called {name!r}; name them, as in "
                f"{{'first': {requested[name]!r}, ...}}"
            )
    result: list[Recorded] = []
    for name, request in requested.items():
        if not isinstance(name, str) or not name.isidentifier() or name in _TAKEN:
            remedy = f"; every simulation has {name}" if name in ("t", "q", "v") else ""
            raise ValueError(
                f"simulate: record: expected identifiers except {', '.join(_TAKEN)} as names, got {name!r}{remedy}"
            )
        if isinstance(request, str) and request in DIAGNOSTICS:
            result.append((name, ContactDiagnostics(request)))
            continue
        if isinstance(request, str) and request in REACTIONS:
            reaction = RecordedReaction(request)
            reaction.checked(robot)
            result.append((name, reaction))
            continue
        result.append((name, request if callable(request) else RecordedFunction(robot, request)))
    return tuple(result)


def _called(record: Any) -> str:
    """Return the name of a record; characters that identifiers cannot have become underscores."""
    if isinstance(record, str):
        return record
    if isinstance(record, Sequence) and record and all(isinstance(x, str) for x in record):
        return letters("_".join(record))
    raise TypeError(
        f"simulate: record: expected a robot's function, as 'kinetic_energy' or ('pose', 'hand'), got {record!r}"
    )


@dataclass(frozen=True)
class RecordedFunction:
    """Recorded function of the robot, which is called with its arguments among q, v and τ.

    It has the passive forces and armature of the simulation.
    """

    robot: Any
    request: Any

    def __post_init__(self) -> None:
        if self.request == "tau":
            return
        remedy = foreign_hint(self.request, (RECORDS,), ("tau",))
        if remedy:
            raise UnknownNameError(
                "function", self.request, ("tau",), f"{remedy}, the joint forces", "simulate: record"
            )
        self.robot.compile(self._compiled_name)  # raises for an unknown function

    @property
    def _compiled_name(self) -> Any:
        return self.request if isinstance(self.request, str) else tuple(self.request)

    def __call__(self, robot: Any, setup: SimulationSetup, t: Any, q: Any, v: Any, tau: Any) -> Any:
        if self.request == "tau":
            return tau
        name, *frames = [self.request] if isinstance(self.request, str) else self.request
        method = getattr(robot, name)
        state = {"q": q, "v": v, "tau": tau}
        parameters = inspect.signature(method).parameters
        acting = {"passive": setup.passive, "friction": setup.smooth_friction}
        options = {key: x for key, x in acting.items() if key in parameters}
        return method(*[state[x] for x in parameters if x in state], *frames, **options)
