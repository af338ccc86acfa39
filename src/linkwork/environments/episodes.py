"""Episodes of a batch of environments: initial states, goals, random values, delayed actions and states, and noise."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork import Simulator
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import finite_array
from linkwork.environments.control_task import ControlTask, optional_arguments
from linkwork.environments.environment_kernels import noisy_sensors, observed_sensors
from linkwork.environments.randomization import EpisodeValues, RandomizedTask
from linkwork.errors import SimulationWarning, UnknownNameError
from linkwork.kernels import read_configuration, real_array, stacked_by_joint

__all__ = ["EpisodeMemory", "EpisodeStarts", "masked_values", "warn_of_divergence"]

_NOISY = 64  # observations whose noise is drawn at once


def _generators(sequences: list[list[int]], key: int) -> list[np.random.Generator]:
    return [np.random.default_rng(np.random.SeedSequence(x, spawn_key=(key,))) for x in sequences]


class EpisodeMemory:
    """State of n environments that lasts longer than one action: random values, delayed actions and states.

    ``parameters`` are the parameters of the present episodes, (n, ...) by name.
    """

    def __init__(self, task: ControlTask, randomized: RandomizedTask, n: int, size: int) -> None:
        randomized.fit_observations(size)
        robot: Any = task.robot
        m = int(task.action_size or 0)
        self._task, self._randomized = task, randomized
        self.parameters = {name: np.zeros((n, *shape)) for name, shape in randomized.shapes.items()}
        self.acted = np.zeros((n, m))  # action that acted last
        self._issued = np.zeros((n, randomized.action_delay[1] + 1, m))  # newest first
        self._action_delay, self._observation_delay = np.zeros(n, int), np.zeros(n, int)
        self._bias = np.zeros((n, *randomized.noise.shape))
        self._constant = randomized.draw(np.random.default_rng(0)) if randomized.is_constant else None
        self._values: list[EpisodeValues | None] = [None] * n
        self._groups: dict[str, list[int]] = {}  # indices of pushes by frame
        for k, push in enumerate(randomized.pushes):
            self._groups.setdefault(push.frame, []).append(k)
        period = task.dt * task.steps_per_action
        self._sizes = observed_sensors(task)
        self._late = {name: round(task.sensors[name].delay / period) for name in self._sizes}
        latest = randomized.observation_delay[1] + max(self._late.values(), default=0)
        width = robot.nq + robot.nv + sum(self._sizes.values())
        self._states = np.zeros((n, latest + 1, width))  # states and exact readings, newest first
        self._now: tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]
        self._noisy = noisy_sensors(task)
        self._is_noisy = bool(randomized.noise.any())
        self._count = (size if self._is_noisy else 0) + sum(self._noisy.values())
        self._random: list[np.random.Generator] = []
        self._samples, self._used = np.zeros((n, 0, self._count)), 0

    @property
    def is_immediate(self) -> bool:
        """True if an observation depends only on the current state and the last action that took effect."""
        return self._states.shape[1] == 1 == self._issued.shape[1] and not self._sizes

    def seed(self, sequences: list[list[int]]) -> None:
        """Seed the random generators of all environments, each with a list of integers."""
        self._draws = [] if self._constant is not None else _generators(sequences, 1)
        self._random = _generators(sequences, 2) if self._count else []
        self._samples, self._used = self._samples[:, :0], 0

    @property
    def pushed(self) -> dict[str, str]:
        """Frames with pushes, each with the name of the frame in whose axes the wrench is."""
        return {frame: self._randomized.pushes[k[0]].expressed_in for frame, k in self._groups.items()}

    def begin(self, which: np.ndarray) -> None:
        """Draw the random values of new episodes in the environments with indices ``which`` (m,)."""
        for k in which.tolist():
            values = self._constant or self._randomized.draw(self._draws[k])
            if values is self._values[k]:
                continue
            self._values[k] = values
            for name, x in values.parameters.items():
                self.parameters[name][k] = x
            self._action_delay[k], self._observation_delay[k] = values.action_delay, values.observation_delay
            self._bias[k] = values.bias
        self._issued[which], self.acted[which] = 0.0, 0.0

    def issue(self, actions: np.ndarray) -> np.ndarray:
        """Store actions (n, m) between −1 and 1, and return the actions that take effect now, after the delay."""
        if self._issued.shape[1] == 1:
            self._issued[:, 0] = actions
            return actions
        self._issued[:, 1:] = self._issued[:, :-1].copy()
        self._issued[:, 0] = actions
        return np.asarray(self._issued[np.arange(len(actions)), self._action_delay])

    @property
    def last_action(self) -> np.ndarray:
        """Last actions (n, m) of the policy, without delay."""
        return self._issued[:, 0].copy()

    def wrenches(self, count: np.ndarray) -> dict[str, np.ndarray]:
        """Return the external wrenches (n, steps, 6) during the next action, by input name.

        ``count`` (n,) is the number of actions before it in each episode.
        """
        steps = count[:, None] * self._task.steps_per_action + np.arange(self._task.steps_per_action)
        result = {}
        for k, indices in enumerate(self._groups.values()):
            total = np.zeros((*steps.shape, 6))
            for index in indices:
                pushes = [values.pushes[index] for values in self._values if values is not None]
                begin, end, wrench = (np.stack([x[part] for x in pushes]) for part in range(3))
                acts = (steps[..., None] >= begin[:, None]) & (steps[..., None] < end[:, None])
                total += acts.astype(float) @ wrench
            result[f"push_{k}"] = total
        return result

    def see(self, q: np.ndarray, v: np.ndarray, readings: dict[str, np.ndarray], first: np.ndarray) -> None:
        """Store states and exact sensor readings after an action; ``first`` (n,) is True where an episode begins."""
        self._now = q, v, {name: readings[name] for name in self._sizes}
        if self._states.shape[1] > 1:
            now = np.concatenate([q, v, *(readings[name] for name in self._sizes)], axis=-1)
            self._states[:, 1:] = self._states[:, :-1].copy()
            self._states[first] = now[first, None]
            self._states[:, 0] = now

    def see_starts(self, q: np.ndarray, v: np.ndarray, readings: dict[str, np.ndarray], first: np.ndarray) -> None:
        """Store the first states and exact sensor readings of the episodes that begin, where ``first`` (n,) is True."""
        mixed = self._now[2] | {name: np.where(first[:, None], x, self._now[2][name]) for name, x in readings.items()}
        self._now = q, v, {name: mixed[name] for name in self._sizes}
        if self._states.shape[1] > 1:
            now = np.concatenate([q, v, *(self._now[2][name] for name in self._sizes)], axis=-1)
            self._states[first] = now[first, None]

    def observed(self) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Return q, v and exact sensor readings by name, each delayed by the delay of observations."""
        if self._states.shape[1] == 1:
            return self._now
        robot: Any = self._task.robot
        n, delay = np.arange(len(self._states)), self._observation_delay
        state, at = self._states[n, delay], robot.nq + robot.nv
        readings = {}
        for name, size in self._sizes.items():
            readings[name] = self._states[n, delay + self._late[name], at : at + size]
            at += size
        return state[:, : robot.nq], state[:, robot.nq : robot.nq + robot.nv], readings

    def samples(self) -> tuple[np.ndarray | None, dict[str, np.ndarray]]:
        """Return samples of the standard normal distribution, for observations (n, k) and for sensors by name."""
        if not self._count:
            return None, {}
        if self._used == self._samples.shape[1]:
            self._samples = np.stack([rng.standard_normal((_NOISY, self._count)) for rng in self._random])
            self._used = 0
        now, at, result = self._samples[:, self._used], 0, {}
        self._used += 1
        for name, size in self._noisy.items():
            result[name], at = now[:, at : at + size], at + size
        return (now[:, at:] if self._is_noisy else None), result

    def disturbed(self, observations: np.ndarray, samples: np.ndarray | None) -> np.ndarray:
        """Return observations (n, k) with noise and bias added."""
        if samples is not None:
            observations = observations + self._randomized.noise * samples
        return observations + self._bias if self._randomized.is_biased else observations

    def shown(self, which: np.ndarray) -> dict[str, Any]:
        """Return ``info`` with the random values (n, ...) of episodes that begin, by name, and masks (n,).

        The form is that of gymnasium's vector environments.
        """
        values = [x.shown(self._task.dt) for x in self._values if x is not None]
        result: dict[str, Any] = {}
        for name in values[0]:
            result[name], result[f"_{name}"] = np.stack([x[name] for x in values]), which.copy()
        return {"randomization": result, "_randomization": which.copy()}


_Start = tuple[Any, ...]  # q, v and goal
_VALUES = ("q", "v", "goal")


class EpisodeStarts:
    """Initial states and goals of a task's episodes."""

    def __init__(self, task: ControlTask) -> None:
        self._task = task
        self._takes_robot = "robot" in optional_arguments("start", task.start, ("rng",), ("robot",))

    def read_options(self, caller: str, options: Any, n: int, goal_size: int) -> dict[str, np.ndarray]:
        """Return the options of a reset of n environments: q (n, nq), v (n, nv), goal (n, k) and reset_mask (n,)."""
        if options is None:
            return {}
        robot: Any = self._task.robot
        if not isinstance(options, Mapping):
            raise TypeError(f"{caller}: options: expected a dict, got {options!r}")
        sizes = {"q": robot.nq, "v": robot.nv, "goal": goal_size}
        result = {}
        for name, value in options.items():
            where = f"{caller}: options: {name}"
            if name == "reset_mask":
                mask = np.asarray(value)
                if mask.dtype != bool or mask.shape != (n,) or not mask.any():
                    raise ValueError(f"{where}: expected bools ({n},), at least one True, got {value!r}")
                result[name] = mask.copy()
            elif name in sizes:
                x = stacked_by_joint(robot, f"{caller}: options", name, value, name) if name != "goal" else value
                if name == "q":
                    x = read_configuration(robot, f"{caller}: options", name, x)
                x = finite_array(caller, f"options: {name}", x, shape=("...", sizes[name]))
                if x.shape[:-1] not in ((), (n,)):
                    raise ValueError(f"{where}: expected ({sizes[name]},) or ({n}, {sizes[name]}), got {x.shape}")
                result[name] = np.broadcast_to(x, (n, sizes[name])).copy()
            else:
                raise UnknownNameError("option", name, (*sizes, "reset_mask"), where=f"{caller}: options")
        if "q" in result and "v" not in result:
            result["v"] = np.zeros((n, robot.nv))
        return result

    def draw(
        self,
        generators: Sequence[np.random.Generator],
        parameters: Mapping[str, np.ndarray],
        stated: Mapping[str, np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (n, nq), v (n, nv) and goals (n, k) of n new episodes, each drawn by its own generator.

        ``parameters`` (n, ...) are the robot's parameters by name. ``stated`` has values of q, v and goal to use
        instead of drawn values. Raises ValueError for an invalid state of the robot.
        """
        drawn = [self._drawn(rng, {name: x[k] for name, x in parameters.items()}) for k, rng in enumerate(generators)]
        replaced = stated or {}
        where = "VectorEnvironment.reset: options" if "q" in replaced else "ControlTask: start"
        starts = [
            tuple(replaced[name][k] if name in replaced else x for name, x in zip(_VALUES, start, strict=True))
            for k, start in enumerate(drawn)
        ]
        robot: Any = self._task.robot
        together = [_stacked([start[i] for start in starts], size) for i, size in enumerate((robot.nq, robot.nv, None))]
        q, v, goals = together
        if q is not None and v is not None and goals is not None:
            try:
                self._check(where, q, v, parameters)
            except ValueError:
                pass  # the check of the single state names no index among the episodes that begin
            else:
                return q, v, goals
        single = [
            self._checked(where, start, {name: x[k] for name, x in parameters.items()})
            for k, start in enumerate(starts)
        ]
        q, v, goals = (np.stack([start[i] for start in single]) for i in range(3))
        return q, v, goals

    def _drawn(self, rng: np.random.Generator, parameters: Mapping[str, np.ndarray]) -> _Start:
        more = {}
        if self._takes_robot:
            robot: Any = self._task.robot
            moving = _of_robot(parameters)
            more = {"robot": robot.with_parameters(moving) if moving else robot}
        state = self._task.start(rng, **more)
        if not isinstance(state, tuple | list) or len(state) != 2:
            raise ValueError(f"ControlTask: start: expected a pair (q, v), got {state!r}")
        return state[0], state[1], self._task.goal(rng)

    def _checked(self, where: str, start: _Start, parameters: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        robot: Any = self._task.robot
        q, v = (
            _state_vector(robot, name, x, n) for name, x, n in zip("qv", start[:2], (robot.nq, robot.nv), strict=True)
        )
        self._check(where, q, v, parameters)
        goal = np.asarray(real_array("ControlTask: goal: expected finite numbers (k,)", start[2]), float)
        if goal.ndim != 1 or not np.isfinite(goal).all():
            raise ValueError(f"ControlTask: goal: expected finite numbers (k,), got {goal!r}")
        return q, v, goal

    def _check(self, where: str, q: np.ndarray, v: np.ndarray, parameters: Mapping[str, np.ndarray]) -> None:
        """Raise ValueError for states q (..., nq) and v (..., nv) that violate the robot's constraints."""
        robot: Any = self._task.robot
        if not robot.constraints:
            return
        simulator = Simulator(robot, dt=self._task.dt, batch=q.shape[:-1], parameters=_of_robot(parameters))
        try:
            simulator.reset(q, v)
        except ValueError as error:
            raise ValueError(f"{where}: {str(error).removeprefix('Simulator: ')}") from None


def _of_robot(parameters: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the parameters of the robot, without parameters of contacts."""
    return {name: x for name, x in parameters.items() if not name.startswith("contact_")}


def _state_vector(robot: Any, name: str, value: Any, size: int) -> np.ndarray:
    """Return q or v (size,) of an initial state, an array or a dict by joint.  Raises ValueError for a batch."""
    x = stacked_by_joint(robot, "ControlTask", f"start: {name}", value, name)
    x = finite_array("ControlTask", f"start: {name}", x, shape=("...", size))
    if x.size != size:
        raise ValueError(f"ControlTask: start: {name}: expected one state ({size},), got an array of shape {x.shape}")
    return np.asarray(x).reshape(size)


def _stacked(values: Sequence[Any], size: int | None) -> np.ndarray | None:
    """Return vectors of one size as an array (n, k); None unless all are finite vectors of that size."""
    if not {type(value) for value in values} <= {np.ndarray, list, tuple}:
        return None
    try:
        result = np.array(values)
    except (TypeError, ValueError):  # of several sizes
        return None
    if result.dtype.kind not in "iuf" or result.ndim != 2 or size not in (None, result.shape[1]):
        return None
    result = result.astype(float, copy=False)
    return result if np.isfinite(result).all() else None


def masked_values(values: Mapping[str, np.ndarray], which: np.ndarray) -> dict[str, np.ndarray]:
    """Return values (n, ...) by name, zero where ``which`` is False, each with the mask ``which`` (n,).

    This is the form of gymnasium's vector environments.
    """
    result = {}
    for name, x in values.items():
        result[name] = np.where(which.reshape(-1, *(1,) * (x.ndim - 1)), x, np.zeros_like(x))
        result[f"_{name}"] = which.copy()
    return result


def warn_of_divergence(index: int) -> bool:
    """Warn that the simulation of an environment has diverged, and return True."""
    warnings.warn(
        f"VectorEnvironment.step: the simulation of environment {index} diverged, which ended its episode; "
        "info['diverged'] marks such environments. Use a shorter dt, lower gains of a controller, or smaller "
        "efforts; this warning comes once",
        SimulationWarning,
        stacklevel=levels_up(),
    )
    return True
