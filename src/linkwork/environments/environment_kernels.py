"""Kernels of environments: the steps, reward and failure of an action, observations, and first sensor readings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork import Kernel
from linkwork.environments.control_task import ControlTask, optional_arguments
from linkwork.expr import and_, array, fabs, fmax, fmin, lt, not_, or_, where
from linkwork.kernels import compile
from linkwork.simulation import Sensor

__all__ = [
    "EnvironmentKernel",
    "achieved_kernel",
    "action_kernel",
    "goal_reward_kernel",
    "logged_names",
    "noisy_sensors",
    "observation_kernel",
    "observed_sensors",
    "reading_kernel",
]


class EnvironmentKernel(NamedTuple):
    """Compiled kernel with the names of its inputs; some inputs are dicts of arrays."""

    kernel: Kernel
    names: tuple[str, ...]

    @staticmethod
    def of(function: Callable[..., Any], name: str, shapes: Mapping[str, Any]) -> EnvironmentKernel:
        """Compile ``function`` for inputs of these shapes, and return the kernel."""
        return EnvironmentKernel(compile(function, name=name, **shapes), tuple(shapes))


class _ExactSensor(Sensor):
    """Sensor with the readings of another sensor, but without noise, bias, delay and resolution."""

    def __init__(self, sensor: Sensor) -> None:
        super().__init__()
        object.__setattr__(self, "sensor", sensor)

    def size(self, robot: Any) -> int:
        return self.sensor.size(robot)  # type: ignore[attr-defined, no-any-return]

    def readings(self, state: Any) -> Any:
        return self.sensor.readings(state)  # type: ignore[attr-defined]


class _InEpisode:
    """Controller of a task, called with the time of the episode and the controller state after the previous action."""

    def __init__(self, law: Any, begin: Any, inputs: Mapping[str, Any], start: Any) -> None:
        self.law, self._begin, self._start = law, begin, start
        self.input_shapes = {name: np.shape(x) for name, x in inputs.items()}
        self.effort_limits = getattr(law, "effort_limits", None)

    def __getattr__(self, name: str) -> Any:
        if name == "start" and self._start is not None:
            return self._start
        raise AttributeError(name)

    def _with_step(self, h: float, inner: int) -> _InEpisode:
        law = self.law._with_step(h, inner) if hasattr(self.law, "_with_step") else self.law
        return _InEpisode(law, self._begin, dict.fromkeys(self.input_shapes), self._start)._with(self.input_shapes)

    def _with(self, shapes: Mapping[str, Any]) -> _InEpisode:
        self.input_shapes = dict(shapes)
        return self

    def __call__(self, t: Any, q: Any, v: Any, *state: Any, **inputs: Any) -> Any:
        return self.law(self._begin + t, q, v, *state, **inputs)


def observed_sensors(task: ControlTask) -> dict[str, int]:
    """Return the number of readings of each sensor that observations contain, by name."""
    taken = _observed(task)
    return {name: sensor.size(task.robot) for name, sensor in task.sensors.items() if name in taken}


def noisy_sensors(task: ControlTask) -> dict[str, int]:
    """Return the number of readings of each sensor in `observed_sensors` that has noise, by name."""
    return {name: n for name, n in observed_sensors(task).items() if any(task.sensors[name].each("noise", n))}


def _observed(task: ControlTask) -> tuple[str, ...]:
    return optional_arguments("observe", task.observe, ("q", "v", "goal"), ("last_action", *task.sensors, "robot"))


def observation_kernel(task: ControlTask, goal_size: int, parameters: Mapping[str, Any]) -> EnvironmentKernel:
    """Return the kernel that computes the observation from q, v, goal, last action, exact readings and noise samples.

    Noise samples are normal with variance 1. ``parameters`` are the shapes of the robot's parameters that vary, by
    name.
    """

    def observation(q: Any, v: Any, goal: Any, **inputs: Any) -> Any:
        return _observation(task, q, v, goal, inputs)

    sizes, noisy, taken = observed_sensors(task), noisy_sensors(task), _observed(task)
    shapes = _shapes(task, goal_size)
    if "last_action" in taken:
        shapes["last_action"] = (task.action_size,)
    shapes |= {"readings": {name: (size,) for name, size in sizes.items()}} if sizes else {}
    shapes |= {"samples": {name: (size,) for name, size in noisy.items()}} if noisy else {}
    shapes |= {"parameters": dict(parameters)} if parameters and "robot" in taken else {}
    return EnvironmentKernel.of(observation, "observe", shapes)


def _observation(task: ControlTask, q: Any, v: Any, goal: Any, inputs: Mapping[str, Any]) -> Any:
    taken = _observed(task)
    more = {} if "last_action" not in taken else {"last_action": inputs["last_action"]}
    for name in observed_sensors(task):
        more[name] = _measured(task.sensors[name], inputs["readings"][name], inputs.get("samples", {}).get(name))
    if "robot" in taken:
        more["robot"] = _moved(task.robot, inputs.get("parameters"))
    result = task.observe(q, v, goal, **more)
    if isinstance(result, Mapping):
        raise TypeError(
            "ControlTask: observe: expected a flat list of numbers, such as [*q, *v], got a dict"
            f"{_line_of(task.observe)}"
        )
    try:
        entries = array(list(result))
    except (TypeError, ValueError):  # one number, or entries of several shapes
        entries = None
    if entries is None or entries.ndim != 1:
        kind = "entries of several shapes" if isinstance(result, Sequence) else "a number"
        got = kind if entries is None else f"an array {entries.shape}"
        expected = "ControlTask: observe: expected a flat list of numbers, such as [*q, *v]"
        raise TypeError(f"{expected}, got {got}{_line_of(task.observe)}")
    return entries


def _line_of(function: Any) -> str:
    """Return the file and line of a task's function, as in error messages of tracing."""
    code = getattr(function, "__code__", None)
    return "" if code is None else f"\n    at {code.co_filename}:{code.co_firstlineno}, in {code.co_name}"


def _number(name: str, function: Callable[..., Any], graph: Any, *arguments: Any, **more: Any) -> Any:
    """Return the result of a task's function as a number; True is 1, False is 0.

    ``graph`` is the graph of the trace. Raises TypeError for arrays, and for arithmetic with truth values.
    """
    before = len(graph.nodes)
    return _as_number(name, function, graph, before, function(*arguments, **more))


def _as_number(name: str, function: Callable[..., Any], graph: Any, before: int, result: Any) -> Any:
    """Convert the result of a task's ``function`` to a number; its nodes in the ``graph`` begin at ``before``."""
    if isinstance(result, np.ndarray) and not result.ndim:
        result = result.item()
    remedy = ""
    if np.ndim(result):
        remedy = "expected a number or a truth value, got an array; np.any, np.all and np.sum return one"
    for node in graph.nodes[before:]:
        if any(kind == "n" and x.op.logical for kind, x in zip(node.op.kinds, node.args, strict=False)):
            remedy = "expected no arithmetic with truth values: np.where(condition, 1.0, 0.0) converts one to a number"
    if remedy:
        raise TypeError(f"ControlTask: {name}: {remedy}{_line_of(function)}")
    is_truth = isinstance(result, (bool, np.bool_)) or getattr(getattr(result, "op", None), "logical", False)
    return where(result, 1.0, 0.0) if is_truth else result


_TAKEN = ("randomization", "final_obs", "final_info", "episode")  # names of other information


def _logged(function: Any, graph: Any, *arguments: Any, **more: Any) -> dict[str, Any]:
    """Return the values of a task's function ``info`` by name, as numbers. Raises TypeError and ValueError."""
    before, line = len(graph.nodes), _line_of(function)
    result = function(*arguments, **more)
    if not isinstance(result, Mapping):
        raise TypeError(f"ControlTask: info: expected a dict of numbers by name, got {type(result).__name__}{line}")
    for name in result:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_") or name in _TAKEN:
            raise ValueError(
                f"ControlTask: info: expected identifiers besides {', '.join(_TAKEN)} as names, got {name!r}{line}"
            )
    return {name: _as_number(f"info: {name!r}", function, graph, before, x) for name, x in result.items()}


def logged_names(called: EnvironmentKernel) -> tuple[str, ...]:
    """Return the names of the values of ``info`` that an action kernel returns."""
    names = (port.name for port in called.kernel.outputs)
    return tuple(name.removeprefix("info_") for name in names if name.startswith("info_"))


def _measured(sensor: Sensor, exact: Any, samples: Any) -> Any:
    """Return the output of a sensor for exact readings; ``samples`` are standard normal, or None without noise."""
    result, count = list(exact), len(exact)
    if samples is not None:
        noise = sensor.each("noise", count)
        result = [x + s * z for x, s, z in zip(result, noise, samples, strict=True)]
    result = [x + b for x, b in zip(result, sensor.each("bias", count), strict=True)]
    return array(list(sensor.digitized(result)))


def _moved(robot: Any, parameters: Mapping[str, Any] | None) -> Any:
    moving = {name: x for name, x in (parameters or {}).items() if not name.startswith("contact_")}
    return robot.with_parameters(moving) if moving else robot


def action_kernel(
    task: ControlTask, goal_size: int, parameters: Mapping[str, Any], pushed: Mapping[str, str], observed: bool
) -> EnvironmentKernel:
    """Return the kernel of an action: next q and v, exact readings, controller state, reward, failure, divergence.

    With ``observed`` it also returns the observation of the next state, without sensors and delays.

    ``parameters`` are the shapes of the parameters that vary, by name, and ``pushed`` maps frames with external
    wrenches to the frame of the wrench's axes. Further inputs are the previous action, the controller's state and the
    episode's time, if the task needs them.
    """
    robot: Any = task.robot
    exact = {name: _ExactSensor(sensor) for name, sensor in task.sensors.items()}
    positional = ("q", "v", "action", "goal")
    rewarding: tuple[str, ...] = ()
    if task.achieved is None:
        rewarding = optional_arguments("reward", task.reward, positional, ("previous_action", *exact, "robot"))
    failing = optional_arguments("failed", task.failed, ("q", "v", "goal"), (*exact, "robot"))
    logging = (
        ()
        if task.info is None
        else optional_arguments("info", task.info, positional, ("previous_action", *exact, "robot"))
    )
    start = getattr(task.controller, "start", None)

    def act(q: Any, v: Any, goal: Any, action: Any, **inputs: Any) -> Any:
        action = array([fmin(fmax(u, -1.0), 1.0) for u in action])  # the reward, too, counts what acts
        controlled = _controlled(task, q, v, goal, action, inputs)
        varied = inputs.get("parameters")
        pushes = inputs.get("pushes") or {}
        result = robot.simulate(
            q,
            v,
            **controlled,
            duration=task.dt * task.steps_per_action,
            dt=task.dt,
            record_every=task.steps_per_action,
            contacts=task.contacts,
            sensors=exact or None,
            parameters=varied,
            wrenches={frame: pushes[f"push_{k}"] for k, frame in enumerate(pushed)} or None,
            expressed_in=dict(pushed) or "world",
        )
        q, v = array(result.q[-1]), array(result.v[-1])
        lost = lt(0.5, result.status)
        moved = _moved(robot, varied)
        known = {"previous_action": inputs.get("previous_action"), "robot": moved}
        known |= {name: array(result.records[name][-1]) for name in exact}
        graph = action[0].graph
        failed = _number("failed", task.failed, graph, q, v, goal, **{name: known[name] for name in failing})
        over = or_(lost, lt(0.0, where(lost, 1.0, failed)))
        reward: Any = 0.0
        if task.achieved is None:
            taken = {name: known[name] for name in rewarding}
            reward = _number("reward", task.reward, graph, q, v, action, goal, **taken)
        outputs = {"q": q, "v": v, "reward": _if_finite(lost, reward), "over": where(over, 1.0, 0.0)}
        outputs["lost"] = where(lost, 1.0, 0.0)
        if observed:
            outputs["observation"] = _observation(task, q, v, goal, {**inputs, "last_action": action})
        if exact:
            outputs["readings"] = {name: known[name] for name in exact}
        if task.info is not None:
            taken = {name: known[name] for name in logging}
            logged = _logged(task.info, graph, q, v, action, goal, **taken)
            outputs["info"] = {name: _if_finite(lost, x) for name, x in logged.items()}
        if start is not None:
            outputs["z"] = result.controller_state
        return outputs

    shapes = {**_shapes(task, goal_size), "action": (task.action_size,)}
    if "previous_action" in (*rewarding, *logging):
        shapes["previous_action"] = (task.action_size,)
    if task.controller is not None:
        shapes["time"] = ()
    if start is not None:
        shapes["z"] = np.shape(start)
    shapes |= {"parameters": dict(parameters)} if parameters else {}
    shapes |= {"pushes": {f"push_{k}": (task.steps_per_action, 6) for k in range(len(pushed))}} if pushed else {}
    return EnvironmentKernel.of(act, "act", shapes)


def achieved_kernel(task: ControlTask, goal_size: int, parameters: Mapping[str, Any]) -> EnvironmentKernel:
    """Return the kernel of the achieved goal (k,) from q and v.  Raises TypeError for another size than the goal's."""
    function: Any = task.achieved
    takes_robot = "robot" in optional_arguments("achieved", function, ("q", "v"), ("robot",))

    def achieved(q: Any, v: Any, **inputs: Any) -> Any:
        more = {"robot": _moved(task.robot, inputs.get("parameters"))} if takes_robot else {}
        result = function(q, v, **more)
        entries = array(list(result)) if np.ndim(result) == 1 else None
        if entries is None or entries.shape != (goal_size,):
            got = f"an array {np.shape(result)}" if entries is None else f"{len(entries)} numbers"
            raise TypeError(
                f"ControlTask: achieved: expected {goal_size} numbers, as many as goal= returns, got {got}"
                f"{_line_of(function)}"
            )
        return entries

    shapes: dict[str, Any] = {"q": task.robot.configuration_space, "v": (task.robot.nv,)}
    shapes |= {"parameters": dict(parameters)} if parameters and takes_robot else {}
    return EnvironmentKernel.of(achieved, "achieved_goal", shapes)


def goal_reward_kernel(task: ControlTask, goal_size: int) -> Kernel:
    """Return the kernel of the reward of a goal-conditioned task, from the achieved and the desired goal (k,) each."""

    def rewarded(achieved: Any, goal: Any) -> Any:
        return _number("reward", task.reward, achieved[0].graph, achieved, goal)

    return compile(rewarded, name="goal_reward", achieved=(goal_size,), goal=(goal_size,))


def _if_finite(lost: Any, x: Any) -> Any:
    """Return x, a value of the state in which a simulation ended; 0 if the simulation diverged and x is not finite."""
    return where(and_(lost, not_(lt(fabs(x), math.inf))), 0.0, x)


def _controlled(task: ControlTask, q: Any, v: Any, goal: Any, action: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the controller and its constant inputs, as `Robot.simulate` takes them."""
    if task.controller is None:
        tau = task.forces(action)
        return {"controller": lambda t, q, v: tau}
    constants = {"action": action} if task.command is None else task.command(q, v, action, goal)
    if not isinstance(constants, Mapping):
        raise TypeError(
            f"ControlTask: command: expected a dict of the controller's inputs by name, got {constants!r:.80}"
        )
    constants = {name: array(x) if np.ndim(x) else x for name, x in constants.items()}
    return {
        "controller": _InEpisode(task.controller, inputs["time"], constants, inputs.get("z")),
        "constants": constants,
    }


def reading_kernel(task: ControlTask, parameters: Mapping[str, Any]) -> EnvironmentKernel:
    """Return the kernel of exact sensor readings at the start of an episode, from q and v."""
    robot: Any = task.robot
    exact = {name: _ExactSensor(sensor) for name, sensor in task.sensors.items()}

    def first(q: Any, v: Any, **inputs: Any) -> Any:
        how: dict[str, Any] = {"duration": task.dt, "dt": task.dt, "contacts": task.contacts, "sensors": exact}
        records = robot.simulate(q, v, parameters=inputs.get("parameters"), **how).records
        return {"readings": {name: records[name][0] for name in exact}}

    shapes: dict[str, Any] = {"q": robot.configuration_space, "v": (robot.nv,)}
    shapes |= {"parameters": dict(parameters)} if parameters else {}
    return EnvironmentKernel.of(first, "first_readings", shapes)


def _shapes(task: ControlTask, goal_size: int) -> dict[str, Any]:
    robot: Any = task.robot
    return {"q": robot.configuration_space, "v": (robot.nv,), "goal": (goal_size,)}
