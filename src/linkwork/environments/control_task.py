"""Control task for reinforcement learning: robot, actions, sensors, initial states, observations and rewards."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.lazy_imports import imported
from linkwork._util.validation import (
    bounds,
    finite_number,
    function,
    instance,
    integer,
    is_real,
    names,
    positive,
    sequence_of,
)
from linkwork.expr import array, fmax, fmin
from linkwork.kernels import RobotBase
from linkwork.simulation import ContactGround, ContactPair, ContactScene, Sensor

__all__ = ["ControlTask", "optional_arguments"]

_TAKEN = ("q", "v", "goal", "action", "last_action", "previous_action", "robot")  # not names of sensors


def _no_goal(rng: np.random.Generator) -> np.ndarray:
    return np.zeros(0)


def _never_fails(q: Any, v: Any, goal: Any) -> Any:
    return 0.0


@public
@dataclass(frozen=True)
class ControlTask:
    """Control task of a robot for reinforcement learning: actions, initial states, observations, rewards and failure.

    ``start(rng)`` returns the initial q (nq,) and v (nv,), arrays or dicts by joint; ``goal(rng)`` returns values (k,)
    that are constant in an episode. The other functions are traced, so their arguments are symbols. An action (m,),
    limited to −1 and 1, scales the ``efforts`` (m,) [N·m, N] of the ``joints``, each of one degree of freedom. A name
    is one joint, and a number is the effort of each joint. Without ``efforts`` they are the robot's effort limits.
    ``observe(q, v, goal)`` returns the observation and ``reward(q, v, action, goal)`` the reward of the state after an
    action. ``failed(q, v, goal)`` is nonzero where the episode fails. An action is constant for ``steps_per_action``
    steps of ``dt`` [s]; an episode is truncated after ``horizon`` actions. ``contacts`` are as in `Robot.simulate`.

    A ``controller`` replaces ``joints`` and ``efforts``. It is a controller as in `Robot.simulate`, evaluated once in
    each step at the time of the episode. A function gets the action (``action_size``,) as its argument ``action``. A
    controller of `linkwork.control` gets the inputs by name that ``command(q, v, action, goal)`` returns for the state
    in which an action begins.

    ``sensors`` is a dict as in `Robot.simulate`; sensors are read once for each observation. Their delay is a whole
    number of actions. ``observation_bounds`` are the lower and upper bounds (k,) of observations, infinite by default.

    ``info(q, v, action, goal)`` returns a dict of numbers by name for the state after an action, such as the terms of
    the reward, which environments return as the info of `step`.

    With ``achieved(q, v)``, the goal (k,) that a state achieves, the task is goal-conditioned. Then ``reward(achieved,
    goal)`` is a function of only the achieved and the desired goal, and observations are dicts like those of
    gymnasium-robotics' ``GoalEnv``: ``"observation"``, ``"achieved_goal"`` and ``"desired_goal"``.

    ``marker(goal)`` is the position (3,) of the goal in the world [m], which pictures show.

    Functions may have further arguments, which get values by name. ``observe`` gets ``last_action`` (m,) and the
    readings of each sensor by its name. ``reward`` and ``info`` get ``previous_action`` and exact readings, and
    ``failed`` gets exact readings. All these functions, ``achieved`` and ``start`` get ``robot``, with the parameters
    of the episode.

    Raises ValueError and UnknownNameError for joints and efforts that do not fit the robot.
    """

    robot: RobotBase
    start: Callable[..., tuple[Any, Any]]
    observe: Callable[..., Any]
    reward: Callable[..., Any]
    joints: str | tuple[str, ...] = ()
    efforts: Any = ()
    failed: Callable[..., Any] = _never_fails
    goal: Callable[[np.random.Generator], Any] = _no_goal
    dt: float = 2e-3
    steps_per_action: int = 10
    horizon: int = 500
    contacts: Any = None
    controller: Callable[..., Any] | None = None
    command: Callable[[Any, Any, Any, Any], Mapping[str, Any]] | None = None
    action_size: int | None = None
    sensors: Mapping[str, Sensor] = field(default_factory=dict)
    observation_bounds: tuple[Any, Any] | None = None
    marker: Callable[[Any], Any] | None = None
    info: Callable[..., Mapping[str, Any]] | None = None
    achieved: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        robot: Any = self.robot
        timed = [x.name for x in robot.constraints if x.time_dependent]
        if timed:
            raise ValueError(
                f"ControlTask: robot: expected constraints that do not depend on time, got {timed[0]!r}; use "
                f"robot.without_constraints({timed[0]!r}) and a controller"
            )
        joints = (self.joints,) if isinstance(self.joints, str) else self.joints
        object.__setattr__(self, "joints", names("ControlTask", "joints", joints, description="names of joints"))
        if self.controller is None:
            self._check_joints()
        else:
            self._check_controller()
        positive("ControlTask", "dt", self.dt, unit="s", symbols=False)
        for name in ("steps_per_action", "horizon"):
            object.__setattr__(self, name, integer("ControlTask", name, getattr(self, name), least=1))
        parts = self.contacts if isinstance(self.contacts, (tuple, list)) else (self.contacts,)
        for part in () if self.contacts is None else parts or (self.contacts,):
            instance("ControlTask", "contacts", part, ContactGround, ContactScene, ContactPair)
        self._check_sensors()
        if self.observation_bounds is not None:
            low, high = sequence_of("ControlTask", "observation_bounds", self.observation_bounds, _unchecked, least=2)
            bounds("ControlTask: observation_bounds", low, high, shape=("k",))
        self._check_functions()

    def _check_joints(self) -> None:
        robot: Any = self.robot
        masters = {body.joint_name: body.coupling.joint for body in robot.tree.bodies if body.coupling is not None}
        driven = {actuator.name: ", ".join(joint for joint, _ in actuator.joints) for actuator in robot.actuators}
        for name in self.joints:
            if driven.get(name) and name not in robot.joints:
                raise ValueError(f"ControlTask: joints: {name!r} is an actuator: name its joint {driven[name]!r}")
            if name in masters:
                raise ValueError(f"ControlTask: joints: {name!r} follows joint {masters[name]!r}: name that joint")
            if robot.joint(name).nv != 1:
                raise ValueError(
                    f"ControlTask: joints: {name!r} has {robot.joint(name).nv} degrees of freedom, expected 1"
                )
        efforts = (self.efforts,) * len(self.joints) if is_real(self.efforts) else self.efforts
        if not np.size(efforts):
            efforts = tuple(float(robot.joint(name).effort[0]) for name in self.joints)
            for name, effort in zip(self.joints, efforts, strict=True):
                if not math.isfinite(effort):
                    raise ValueError(
                        f"ControlTask: efforts: expected one for each of {len(self.joints)} joints [N·m, N], since "
                        f"joint {name!r} of the robot has no effort limit; got none"
                    )
        sequence_of("ControlTask", "efforts", efforts, partial(finite_number, symbols=False))
        if len(efforts) != len(self.joints):
            raise ValueError(
                f"ControlTask: efforts: expected one for each of {len(self.joints)} joints, got {len(efforts)}"
            )
        object.__setattr__(self, "efforts", tuple(efforts))
        if not self.joints:
            raise ValueError("ControlTask: joints: expected at least one joint, or a controller=, got none")
        if self.command is not None:
            raise ValueError("ControlTask: command: expected controller= as well, since the command returns its inputs")
        if self.action_size not in (None, len(self.joints)):
            raise ValueError(
                f"ControlTask: action_size: expected None or {len(self.joints)}, the number of joints, got "
                f"{self.action_size!r}"
            )
        object.__setattr__(self, "action_size", len(self.joints))

    def _check_controller(self) -> None:
        function("ControlTask", "controller", self.controller, description="a controller, called as (t, q, v, action)")
        if self.joints or np.size(self.efforts):
            raise ValueError("ControlTask: joints, efforts: expected None with controller=, which maps the actions")
        if self.action_size is None:
            raise ValueError("ControlTask: action_size: expected the number of elements of an action, got None")
        object.__setattr__(self, "action_size", integer("ControlTask", "action_size", self.action_size, least=1))
        takes = getattr(self.controller, "input_shapes", None)
        if self.command is None and isinstance(takes, Mapping) and "action" not in takes:
            raise ValueError(
                f"ControlTask: command: expected a function (q, v, action, goal) that returns the inputs of "
                f"{type(self.controller).__name__} by name: {', '.join(takes)}; got None"
            )

    def _check_sensors(self) -> None:
        if not isinstance(self.sensors, Mapping):
            raise TypeError(f"ControlTask: sensors: expected a dict of sensors by name, got {self.sensors!r}")
        period = self.dt * self.steps_per_action
        for name, sensor in self.sensors.items():
            if not isinstance(name, str) or not name.isidentifier() or name in _TAKEN:
                raise ValueError(
                    f"ControlTask: sensors: expected identifiers besides {', '.join(_TAKEN)} as names, got {name!r}"
                )
            instance("ControlTask", f"sensors[{name!r}]", sensor, Sensor)
            sensor._check_fit(self.robot, self.contacts)
            if abs(sensor.delay / period - round(sensor.delay / period)) > 1e-6:
                raise ValueError(
                    f"ControlTask: sensors[{name!r}]: expected a delay that is a multiple of dt · steps_per_action = "
                    f"{period:g} s, got {sensor.delay:g} s"
                )

    def _check_functions(self) -> None:
        """Raise ValueError for functions with arguments that they cannot get."""
        optional_arguments("start", self.start, ("rng",), ("robot",))
        optional_arguments("observe", self.observe, ("q", "v", "goal"), self._optional("last_action"))
        if self.achieved is None:
            optional_arguments("reward", self.reward, ("q", "v", "action", "goal"), self._optional("previous_action"))
        else:
            optional_arguments("achieved", self.achieved, ("q", "v"), ("robot",))
            optional_arguments("reward", self.reward, ("achieved", "goal"), ())
            if self.goal is _no_goal:
                raise ValueError("ControlTask: goal: expected a function (rng) with achieved=, got none")
        optional_arguments("failed", self.failed, ("q", "v", "goal"), self._optional())
        if self.info is not None:
            optional_arguments("info", self.info, ("q", "v", "action", "goal"), self._optional("previous_action"))

    def _optional(self, *more: str) -> tuple[str, ...]:
        return (*more, *self.sensors, "robot")

    def __reduce__(self) -> tuple[Any, ...]:
        tasks = imported("linkwork.environments.example_tasks.TASKS")
        name = next((name for name, make in tasks.items() if make() is self), None)
        if name is not None:  # its functions are local
            return imported("linkwork.environments.example_tasks.task_named"), (name,)
        return ControlTask, tuple([getattr(self, field.name) for field in fields(self)])

    def forces(self, action: Any) -> Any:
        """Return the joint forces τ (nv) for an action (m), which is clipped to −1 and 1.

        Raises TypeError for a task with a controller, whose forces depend on the state.
        """
        if self.controller is not None:
            raise TypeError("ControlTask.forces: expected a task with joints and efforts, got one with a controller")
        robot: Any = self.robot
        tau: list[Any] = [0.0] * robot.nv
        for name, effort, u in zip(self.joints, self.efforts, [*action], strict=True):
            tau[robot.joint(name).v_slice.start] = effort * fmin(fmax(u, -1.0), 1.0)
        return array(tau)


_READINGS = (
    "; readings of sensors={...} are arguments by name, such as those of linkwork.simulation.ContactSensor(contacts)"
)


def _unchecked(caller: str, argument: str, value: Any) -> Any:
    return value


def optional_arguments(
    argument: str, called: Callable[..., Any], positional: Iterable[str], optional: Iterable[str]
) -> tuple[str, ...]:
    """Return those names in ``optional`` that a function accepts as arguments after its positional arguments.

    ``argument`` is the name of the function in `ControlTask`. Raises TypeError for a function that cannot be called
    with these arguments.
    """
    function("ControlTask", argument, called)
    try:
        parameters = inspect.signature(called).parameters
    except (TypeError, ValueError):  # a built-in function may have no signature
        return ()
    positional, optional = tuple(positional), tuple(optional)
    taken = tuple(name for name in optional if name in [*parameters][len(positional) :])
    if any(x.kind is x.VAR_KEYWORD for x in parameters.values()):
        taken = optional
    try:
        inspect.signature(called).bind(*positional, **dict.fromkeys(taken))
    except TypeError as error:
        no_goal = "; the goal of a task without goal= is an array (0,)" if "goal" in positional else ""
        if positional[:1] == ("achieved",):
            no_goal = "; with achieved= a reward depends on the achieved and the desired goal alone"
        readings = _READINGS if optional and "goal" in positional else ""
        by_name = f", and by name with any of {', '.join(optional)}" if optional else ""
        raise TypeError(
            f"ControlTask: {argument}: expected a function called as ({', '.join(positional)}){by_name}: "
            f"{error}{no_goal}{readings}"
        ) from None
    return taken
