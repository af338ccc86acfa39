"""Random parameters, noise, delays and pushes of environments, and their values in one episode.

Each environment has its own random generators, seeded with the seed of `reset` and the environment's index. So its
values depend neither on other environments nor on the initial states, which come from another generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import finite_array, instance, integer, is_real, name, sequence_of
from linkwork.errors import UnknownNameError
from linkwork.kernels import real_array

__all__ = ["EpisodeValues", "Push", "PushTimes", "Randomization", "RandomizedTask"]

_MOST_PUSHES = 1000  # in an episode
_ARGUMENT = "VectorEnvironment: randomization"  # in errors about unknown names
_COMPONENTS = {  # kinds of parameters whose components differ in meaning: their number, and what they are
    "gravity": (3, "gravity in the world [m/s²]"),
    "inertia": (10, "mass, first and second moments [kg, kg·m, kg·m²]"),
    "placement": (6, "rotation vector and translation [rad, m]"),
    "frame": (6, "rotation vector and translation [rad, m]"),
    "point": (3, "position [m]"),
    "direction": (3, "unit vector"),
}
_OF_CONTACTS = "contact_"  # first letters of the names of contact parameters

Random = np.random.Generator


class _Range(NamedTuple):
    """Distribution of a random value: uniform between bounds, or defined by a function of a random generator."""

    low: np.ndarray
    high: np.ndarray
    function: Callable[[Random], Any] | None

    @property
    def is_constant(self) -> bool:
        return self.function is None and np.array_equal(self.low, self.high)

    def is_always(self, value: Any) -> bool:
        """Return True if the distribution has ``value`` as its only value."""
        return self.is_constant and bool(np.all(self.low == value))

    def draw(self, caller: str, argument: str, rng: Random) -> np.ndarray:
        """Draw an array of the shape of the bounds, with independent elements.

        Raises ValueError for a function whose values have another shape or are not finite.
        """
        if self.function is None:
            if self.is_constant:
                return self.low
            return np.asarray(self.low + (self.high - self.low) * rng.random(self.low.shape))
        expected = f"{caller}: {argument}: expected a function that returns finite numbers"
        result = np.asarray(real_array(expected, self.function(rng)), float)
        if not np.isfinite(result).all():
            raise ValueError(f"{expected}, got {result!r:.80}")
        return result


def _read_range(caller: str, argument: str, value: Any, shape: tuple[int, ...] | None = None) -> _Range:
    """Read a number, a pair (low, high), an array of the ``shape`` (if it has one), or a function of a generator.

    Without ``shape`` an array may have any length.  Raises TypeError and ValueError for other values.
    """
    if callable(value):
        return _Range(np.zeros(()), np.zeros(()), value)
    sizes = "" if not shape else f", an array of shape ({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
    expected = f"{caller}: {argument}: expected a number{sizes}, a pair (low, high) or a function of a random generator"
    if isinstance(value, (tuple, list)) and len(value) == 2:
        pair = value
    elif is_real(value) or (np.ndim(value) == 1 if shape is None else shape and np.shape(value) == shape):
        pair = (value, value)
    else:
        raise TypeError(f"{expected}, got {value!r:.80}")
    low, high = (np.asarray(real_array(expected, x), float) for x in pair)
    try:
        low, high = (np.array(x) for x in np.broadcast_arrays(low, high))
        if shape is not None:
            np.broadcast_to(low, shape)
    except ValueError:
        raise ValueError(f"{expected}, got {value!r:.80}") from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
        raise ValueError(f"{caller}: {argument}: expected finite bounds with low <= high, got {value!r:.80}")
    return _Range(low, high, None)


def _read_seconds(caller: str, argument: str, value: Any) -> _Range:
    result = _read_range(caller, argument, value, ())
    if result.low.min() < 0.0:
        raise ValueError(f"{caller}: {argument}: expected durations >= 0 [s], got {value!r:.80}")
    return result


@public
@dataclass(frozen=True)
class Push:
    """External wrench on a frame that begins at random times in an episode.

    ``wrench`` (6,) is the moment and force [N·m, N] at the origin of ``frame``, in the axes of ``expressed_in``. It is
    constant during a push and drawn again for the next one. ``interval`` [s] is the time before the first push, and
    from the end of a push to the next push; ``duration`` [s] is the duration of a push. Times are rounded to steps of
    the simulation, durations to at least one.

    Each value is a number, an array, a pair (low, high) of a uniform distribution, or a function of a random generator.

    >>> import numpy as np
    >>> from linkwork.environments import Push
    >>> side = np.array([0.0, 0.0, 0.0, 20.0, 0.0, 0.0])
    >>> Push("cart", (-side, side), interval=(1.0, 3.0), duration=0.1).frame
    'cart'

    Raises TypeError and ValueError for other values.
    """

    frame: str
    wrench: Any
    interval: Any = (1.0, 2.0)
    duration: Any = 0.1
    expressed_in: str = "world"

    def __post_init__(self) -> None:
        name("Push", "frame", self.frame)
        name("Push", "expressed_in", self.expressed_in)
        _read_range("Push", "wrench", self.wrench, (6,))
        least = [_read_seconds("Push", each, getattr(self, each)) for each in ("interval", "duration")]
        for each, result in zip(("interval", "duration"), least, strict=True):
            if result.function is not None:
                raise TypeError(f"Push: {each}: expected a number or a pair (low, high) [s], got a function")
        if float(least[0].low) + float(least[1].low) <= 0.0:
            raise ValueError("Push: interval, duration: expected at least one lower bound > 0 [s], got 0 for both")


@public
@dataclass(frozen=True)
class Randomization:
    """Random values of environments, drawn again for each environment and episode.

    ``parameters`` are values of robot parameters by name, as in `Robot.parameters`, and ``scales`` are factors of the
    task's own values; a name with ``*`` draws each parameter that matches. ``parameters`` may also name parameters of
    contacts:
    ``"contact_friction"`` is the coefficient of friction of the ground, and ``"friction"`` the dry friction of joints
    [N·m, N]. Each is a number, a pair (low, high) of a uniform distribution, or a function of a random generator. The
    elements of arrays ``low`` and ``high`` are drawn independently.

    ``noise`` is the standard deviation of normal noise, new in each observation, and ``bias`` a random value, constant
    in an episode: numbers for all elements of an observation or arrays (k,). ``action_delay`` and
    ``observation_delay`` are whole numbers of actions, or pairs (low, high) that include both ends. Until the first
    delayed action takes effect, the action is zero. A delay of observations applies to q, v and sensors, not to the
    goal and the last action; until the delay has passed, the first state is observed. ``pushes`` are `Push` values.

    >>> from linkwork.environments import Randomization, VectorEnvironment
    >>> varied = Randomization(scales={"inertia:pole": (0.5, 2.0)}, noise=0.01, action_delay=(0, 2))
    >>> envs = VectorEnvironment("cart_pole", 3, randomization=varied)
    >>> observations, info = envs.reset(seed=[1, 2, 1])
    >>> info["randomization"]["action_delay"].shape, bool((observations[0] == observations[2]).all())
    ((3,), True)

    Raises TypeError and ValueError for other values.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    scales: Mapping[str, Any] = field(default_factory=dict)
    noise: Any = 0.0
    bias: Any = 0.0
    action_delay: int | tuple[int, int] = 0
    observation_delay: int | tuple[int, int] = 0
    pushes: Push | tuple[Push, ...] = ()

    def __post_init__(self) -> None:
        caller = "Randomization"
        for argument in ("parameters", "scales"):
            values = getattr(self, argument)
            if not isinstance(values, Mapping):
                raise TypeError(f"{caller}: {argument}: expected a dict of ranges by name, got {values!r:.80}")
            for key, value in values.items():
                if isinstance(value, (tuple, list)) and len(value) == 2:
                    _read_range(caller, f"{argument}[{key!r}]", value)
        noise = finite_array(caller, "noise", self.noise)
        if noise.ndim > 1 or noise.min(initial=0.0) < 0.0:
            raise ValueError(f"{caller}: noise: expected standard deviations >= 0, got {self.noise!r:.80}")
        _read_range(caller, "bias", self.bias)
        for argument in ("action_delay", "observation_delay"):
            low, high = _delays(argument, getattr(self, argument))
            if low > high:
                raise ValueError(f"{caller}: {argument}: expected low <= high, got {(low, high)}")
        pushes = (self.pushes,) if isinstance(self.pushes, Push) else self.pushes
        read = partial(instance, description="a Push")
        object.__setattr__(
            self,
            "pushes",
            sequence_of(caller, "pushes", pushes, lambda where, part, value: read(where, part, value, Push)),
        )


def _check_components(where: str, kind: str, spread: _Range, value: Any) -> None:
    """Raise ValueError for one number in place of components of different meaning, such as the axes of gravity."""
    size, doc = _COMPONENTS.get(kind, (0, ""))
    if size and spread.function is None and not spread.low.ndim and not spread.is_always(0.0):
        raise ValueError(
            f"{where}: expected arrays ({size},): {doc}; got {value!r:.80}, one number for all components: pass a pair "
            "(low, high) of arrays, or scales={name: (0.9, 1.1)} for factors"
        )


def _delays(argument: str, value: Any) -> tuple[int, int]:
    pair = value if isinstance(value, (tuple, list)) and len(value) == 2 else (value, value)
    description = "a number of actions, or a pair of them,"
    low, high = (integer("Randomization", argument, x, least=0, description=description) for x in pair)
    return low, high


class PushTimes(NamedTuple):
    """Pushes in an episode: first step and end step (p,), and wrenches (p, 6)."""

    begin: np.ndarray
    end: np.ndarray
    wrench: np.ndarray


class EpisodeValues(NamedTuple):
    """Random values of an episode of one environment: parameters, bias, delays and pushes."""

    parameters: dict[str, np.ndarray]
    action_delay: int
    observation_delay: int
    bias: np.ndarray
    pushes: tuple[PushTimes, ...]

    def shown(self, dt: float) -> dict[str, Any]:
        """Return the random values by name for ``info``, with times (p, 2) [s] and wrenches (p, 6) of all pushes."""
        result: dict[str, Any] = {**self.parameters, "action_delay": self.action_delay}
        result |= {"observation_delay": self.observation_delay, "bias": self.bias}
        if self.pushes:
            times = [np.stack([x.begin, x.end], axis=-1) * dt for x in self.pushes]
            result |= {"push_times": np.concatenate(times)}
            result |= {"push_wrenches": np.concatenate([x.wrench for x in self.pushes])}
        return result


class _Varied(NamedTuple):
    """Parameter that varies: its nominal value (None for a parameter of contacts) and its distribution."""

    argument: str
    range: _Range
    nominal: np.ndarray | None
    shape: tuple[int, ...]

    def draw(self, rng: Random) -> np.ndarray:
        value = self.range.draw("Randomization", self.argument, rng)
        try:
            value = np.broadcast_to(value, self.shape)
        except ValueError:
            raise ValueError(
                f"Randomization: {self.argument}: expected values of shape {self.shape}, got {value.shape}"
            ) from None
        return value if self.nominal is None else self.nominal * value


class RandomizedTask:
    """Distributions of the random values of a task; ranges that contain only the nominal value are left out.

    Raises UnknownNameError and ValueError for values that do not fit the task.
    """

    def __init__(self, task: Any, randomization: Randomization) -> None:
        self.task, self._randomization = task, randomization
        self.parameters: dict[str, _Varied] = {}
        for argument in ("scales", "parameters"):
            for pattern, value in getattr(randomization, argument).items():
                self._read_parameters(f"{argument}[{pattern!r}]", pattern, value, argument == "scales")
        self._check_extremes()
        self.action_delay = _delays("action_delay", randomization.action_delay)
        self.observation_delay = _delays("observation_delay", randomization.observation_delay)
        pushes: Any = randomization.pushes
        self.pushes = [x for x in pushes if not _read_range("Push", "wrench", x.wrench, (6,)).is_always(0.0)]
        self._check_pushes(pushes)
        self._push_ranges = [
            (
                self._count(push, task.horizon * task.steps_per_action * task.dt),
                _read_seconds("Push", "interval", push.interval),
                _read_seconds("Push", "duration", push.duration),
                _read_range("Push", "wrench", push.wrench, (6,)),
            )
            for push in self.pushes
        ]

    def fit_observations(self, size: int) -> None:
        """Set noise and bias for observations of ``size`` elements. Raises ValueError for values of another shape."""
        noise = self._randomization.noise
        try:
            self.noise = np.broadcast_to(np.asarray(noise, float), (size,))
        except ValueError:
            raise ValueError(
                f"Randomization: noise: expected a number or shape ({size},), as observations have, got shape "
                f"{np.shape(noise)}"
            ) from None
        self.bias = _read_range("Randomization", "bias", self._randomization.bias, (size,))
        self.is_biased = not self.bias.is_always(0.0)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (k,) of observations with noise and bias."""
        shape, bounds = self.noise.shape, self.task.observation_bounds
        low, high = (np.array(np.broadcast_to(x, shape), float) for x in bounds or (-np.inf, np.inf))
        free = (self.noise > 0.0) | (self.bias.function is not None)
        return np.where(free, -np.inf, low + self.bias.low), np.where(free, np.inf, high + self.bias.high)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the parameters that vary, by name."""
        return {key: varied.shape for key, varied in self.parameters.items()}

    def _read_parameters(self, argument: str, pattern: Any, value: Any, scaled: bool) -> None:
        """Add the parameters that match the name ``pattern``, each with its distribution."""
        caller, robot = "Randomization", self.task.robot
        name(caller, argument.partition("[")[0], pattern, description="names of parameters")
        if pattern.startswith(_OF_CONTACTS):
            if self.task.contacts is None:
                raise ValueError(f"{caller}: {argument}: expected a task with contacts, got one without")
            if scaled:
                raise ValueError(
                    f"{caller}: {argument}: expected a parameter of the robot; use parameters= with values"
                )
            entries: dict[str, Any] = {pattern: None}
        else:
            try:
                entries = robot.parameters(pattern)
            except UnknownNameError as error:
                raise error.at(_ARGUMENT) from None
        for key, nominal in entries.items():
            if key in self.parameters:
                raise ValueError(f"{caller}: {argument}: {key} also has another range; name it once")
            shape = () if nominal is None else nominal.shape
            spread = _read_range(caller, argument, value, shape)
            if nominal is not None and not scaled:
                _check_components(f"{caller}: {argument}", pattern.partition(":")[0], spread, value)
            if spread.function is None and nominal is None and spread.low.min() < 0.0:
                raise ValueError(f"{caller}: {argument}: expected values >= 0, got {value!r:.80}")
            if nominal is not None and spread.is_always(1.0 if scaled else nominal):
                continue
            if scaled and not any(x.any() for x in entries.values()):
                raise ValueError(
                    f"{caller}: {argument}: the values of {robot.name!r} are 0, which factors do not change; use "
                    f"parameters={{{pattern!r}: (low, high)}}"
                )
            self.parameters[key] = _Varied(argument, spread, nominal if scaled else None, shape)

    def _check_extremes(self) -> None:
        """Raise ValueError if a bound, or a value of a user's function, is not valid for the robot."""
        for key, varied in self.parameters.items():
            if key.startswith(_OF_CONTACTS):
                continue
            spread = varied.range
            ends = [spread._replace(high=spread.low), spread._replace(low=spread.high)]
            for end in ends[: 1 if spread.function else 2]:
                value = varied._replace(range=end).draw(np.random.default_rng(0))
                try:
                    self.task.robot.with_parameters({key: value})
                except ValueError as error:
                    raise ValueError(
                        f"Randomization: {varied.argument}: the robot does not accept it: {error}"
                    ) from None

    def _check_pushes(self, pushes: tuple[Push, ...]) -> None:
        task, axes = self.task, dict[str, str]()
        duration = task.horizon * task.steps_per_action * task.dt
        for push in pushes:
            for frame in (push.frame, push.expressed_in):
                if frame != "world" and frame not in task.robot.frames:
                    raise task.robot.tree.unknown_frame(frame).at(_ARGUMENT)
            if axes.setdefault(push.frame, push.expressed_in) != push.expressed_in:
                raise ValueError(
                    f"Push: expressed_in: expected the same axes for all pushes on {push.frame!r}, got "
                    f"{axes[push.frame]!r} and {push.expressed_in!r}"
                )
            if self._count(push, duration) > _MOST_PUSHES:
                raise ValueError(
                    f"Push: interval, duration: expected at most {_MOST_PUSHES} pushes in an episode of {duration:g} s,"
                    f" got up to {self._count(push, duration)}"
                )

    @staticmethod
    def _count(push: Push, duration: float) -> int:
        low = sum(float(_read_seconds("Push", x, getattr(push, x)).low) for x in ("interval", "duration"))
        return 1 + math.floor(duration / low)

    @property
    def is_constant(self) -> bool:
        """True if all episodes have the same values; then no random numbers are drawn."""
        delays = (self.action_delay, self.observation_delay)
        varies = not all(varied.range.is_constant for varied in self.parameters.values())
        return not varies and self.bias.is_constant and not self.pushes and all(low == high for low, high in delays)

    def draw_parameters(self, rng: Random) -> dict[str, np.ndarray]:
        """Draw the values of all parameters that vary, by name."""
        return {key: varied.draw(rng) for key, varied in self.parameters.items()}

    def draw(self, rng: Random) -> EpisodeValues:
        """Draw all random values of a new episode."""
        return EpisodeValues(
            self.draw_parameters(rng),
            int(rng.integers(self.action_delay[0], self.action_delay[1] + 1)),
            int(rng.integers(self.observation_delay[0], self.observation_delay[1] + 1)),
            np.array(np.broadcast_to(self.bias.draw("Randomization", "bias", rng), self.noise.shape)),
            tuple(self._draw_push(ranges, rng) for ranges in self._push_ranges),
        )

    def _draw_push(self, ranges: tuple[int, _Range, _Range, _Range], rng: Random) -> PushTimes:
        count, interval, duration, wrench = ranges
        time, times, wrenches = 0.0, [], []
        for _ in range(count):
            begin = time + float(interval.draw("Push", "interval", rng))
            time = begin + float(duration.draw("Push", "duration", rng))
            times.append((begin, time))
            wrenches.append(np.broadcast_to(wrench.draw("Push", "wrench", rng), (6,)))
        steps = np.round(np.array(times) / self.task.dt).astype(int)
        begin_steps = steps[:, 0]
        return PushTimes(begin_steps, np.maximum(steps[:, 1], begin_steps + 1), np.array(wrenches))
