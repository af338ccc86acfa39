"""Limits of a motion along a path: what people give, read and checked, and what they are at places of the path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import bounds, instance
from linkwork.errors import UnknownNameError
from linkwork.kernels.array_arguments import real_array
from linkwork.motion.arguments import places_of, read_limit
from linkwork.motion.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from linkwork.kernels.robot_base import RobotBase

__all__ = [
    "MotionAsked",
    "MotionLimit",
    "PathNumbers",
    "PathRows",
    "never_zero",
    "part_of",
    "speed_of_end",
]

Sides = tuple[np.ndarray, np.ndarray]

_SMALLEST = 1e-12  # in the place of a limit of 0: where that is nothing moves, and any number says so
_ENDLESS = 1e30  # what stands for no limit: finite, so that products with it are


@public
@dataclass(frozen=True)
class MotionLimit:
    """A limit of one's own on what moves along a path: lower ≤ f(q, v, a) ≤ upper, (m,) each.

    ``function`` takes q (..., nq), v and a (..., nv) and gives (..., m), which has to be of second order: linear in a,
    and of degree two in v, as `Robot.inverse_dynamics` is, or the acceleration of a point.
    """

    function: Callable[[np.ndarray, np.ndarray, np.ndarray], ArrayLike]
    lower: ArrayLike
    upper: ArrayLike
    name: str = "limit of one's own"

    def __post_init__(self) -> None:
        bounds(type(self).__name__, self.lower, self.upper)


@dataclass(frozen=True)
class PathNumbers:
    """A path at k places of each of n segments: q (n, k, nq), its first and second derivatives (n, k, nv)."""

    q: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class PathRows:
    """What has limits of second order, A u + B x + C, and their sides; speeds of points, and theirs."""

    first: np.ndarray
    second: np.ndarray
    rest: np.ndarray | None
    lower: np.ndarray
    upper: np.ndarray
    speeds: np.ndarray | None
    fastest: np.ndarray | None


@dataclass(frozen=True)
class MotionAsked:
    """Limits by coordinate, of velocity, and of acceleration and jerk where there are such; one's own; of frames."""

    velocity: Sides
    acceleration: Sides | None
    jerk: Sides | None
    own: tuple[MotionLimit, ...]
    robot: Any
    speed: Mapping[str, float]
    names: Sequence[str]
    torque: MotionLimit | None = None  # the one of one's own limits that is of joint forces

    @staticmethod
    def read(
        caller: str,
        path: Trajectory,
        robot: Any,
        velocity: Any,
        acceleration: Any,
        torque: Any,
        speed: Any,
        limits: Sequence[MotionLimit],
        jerk: Any = None,
    ) -> MotionAsked:
        """Raises ValueError for what is no limit, and where none is of second order."""
        names = _Names(path)
        if robot is not None and (robot.nq, robot.nv) != (path.nq, path.nv):
            raise ValueError(
                f"{caller}: robot: expected one with q of {path.nq} and v of {path.nv} numbers, as the path has, got "
                f"{robot.nq} and {robot.nv}"
            )
        if velocity is None:
            velocity = np.inf if path.robot is None else path.robot.velocity_limits
        own, forces = [], None
        for limit in limits:
            if not isinstance(limit, MotionLimit):
                raise TypeError(f"{caller}: motion_limits: expected MotionLimit(function, lower, upper), got {limit!r}")
            own.append(limit)
        if torque is not None and torque is not False:
            if robot is None:
                raise ValueError(f"{caller}: torque: expected a path of a robot, or robot=")
            low, high = _sides(caller, "torque", robot.effort_limits if torque is True else torque, names, path.robot)
            forces = MotionLimit(robot.inverse_dynamics, low, high, "torque")
            own.append(forces)
        if acceleration is None and not own:
            raise ValueError(
                f"{caller}: expected limits of acceleration= or torque=: within those of velocity alone a motion may "
                f"start at any speed at once"
            )
        speed = {} if speed is None else instance(caller, "speed", speed, Mapping, what="a dict of speeds by frame")
        if speed and robot is None:
            raise ValueError(f"{caller}: speed: expected a path of a robot, or robot=")
        for frame, most in speed.items():
            if robot is not None and frame not in robot.frames:
                raise UnknownNameError("frame", frame, robot.frames)
            if not most > 0.0:
                raise ValueError(f"{caller}: speed: {frame!r}: expected metres a second above 0, got {most!r}")
        return MotionAsked(
            _sides(caller, "velocity", velocity, names, path.robot),
            None if acceleration is None else _sides(caller, "acceleration", acceleration, names, path.robot),
            None if jerk is None else _sides(caller, "jerk", jerk, names, path.robot),
            tuple(own),
            robot,
            speed,
            names,
            forces,
        )

    def rows(self, caller: str, path: PathNumbers) -> PathRows:
        """All that has limits, along a path.

        Raises ValueError for functions that give other shapes than their limits, NaN, or are not of second order.
        """
        first, second, rest, lower, upper = [], [], [], [], []
        if self.acceleration is not None:
            first.append(path.first)
            second.append(path.second)
            rest.append(np.zeros_like(path.first))
            lower.append(self.acceleration[0])
            upper.append(self.acceleration[1])
        for limit in self.own:
            a, b, c = _of_second_order(caller, path, limit)
            first.append(a)
            second.append(b)
            rest.append(c)
            for result, given in ((lower, limit.lower), (upper, limit.upper)):
                expected = f"{caller}: {limit.name}: expected limits ({a.shape[-1]},)"
                x = np.asarray(real_array(expected, given), dtype=float)
                if x.shape not in ((), (a.shape[-1],)):
                    raise ValueError(f"{expected}, got shape {x.shape}")
                result.append(np.clip(np.broadcast_to(x, (a.shape[-1],)), -_ENDLESS, _ENDLESS))
            if not (lower[-1] <= upper[-1]).all():
                raise ValueError(f"{caller}: {limit.name}: expected lower limits below upper ones")
        speeds = None
        if self.speed:
            assert self.robot is not None
            speeds = np.stack([self.robot.twist(path.q, path.first, frame)[..., 3:] for frame in self.speed], axis=-2)
        c = np.concatenate(rest, axis=-1)
        return PathRows(
            first[0] if len(first) == 1 else np.concatenate(first, axis=-1),
            second[0] if len(second) == 1 else np.concatenate(second, axis=-1),
            c if c.any() else None,
            np.concatenate(lower),
            np.concatenate(upper),
            speeds,
            np.array([*self.speed.values()], dtype=float) if self.speed else None,
        )

    @property
    def stands(self) -> bool:
        """Whether a limit is 0, so that a joint stands still."""
        given = [limits for limits in (self.velocity, self.acceleration, self.jerk) if limits is not None]
        return any(0.0 in x.tolist() for limits in given for x in limits)

    def standing(self, caller: str, first: np.ndarray) -> None:
        """Raises ValueError where what moves, by q' (..., nv), has a limit of 0."""
        for what, limits in (("velocity", self.velocity), ("acceleration", self.acceleration), ("jerk", self.jerk)):
            low, high = limits if limits is not None else (np.array([]), np.array([]))
            for k in np.flatnonzero((low == 0.0) | (high == 0.0)).tolist():
                moves = first[..., k]
                if what == "velocity":
                    bad = (moves.max() > _SMALLEST and high[k] == 0.0) or (moves.min() < -_SMALLEST and low[k] == 0.0)
                else:
                    bad = bool(np.abs(moves).max() > _SMALLEST)
                if bad:
                    raise ValueError(f"{caller}: {what}: {self.names[k]!r} moves along the path, and its limit is 0")


class _Names(Sequence[str]):
    """Of the numbers of a path's v: found when they are asked for, which is seldom and takes long."""

    __slots__ = ("path",)

    def __init__(self, path: Trajectory) -> None:
        self.path = path

    def __len__(self) -> int:
        return self.path.nv

    def __getitem__(self, place: Any) -> Any:
        robot = self.path.robot
        return (tuple(map(str, range(self.path.nv))) if robot is None else tuple(robot.v_names))[place]


def never_zero(limits: Sides) -> Sides:
    """Limits of 0 as very small ones."""
    low, high = limits
    return np.where(low == 0.0, -_SMALLEST, low), np.where(high == 0.0, _SMALLEST, high)


def speed_of_end(caller: str, name: str, value: Any) -> float:
    """ṡ at an end of a path.  Raises ValueError."""
    return _number(f"{caller}: {name}: expected a number >= 0", value, 0.0)


def part_of(caller: str, name: str, value: Any) -> float | None:
    """A number above 0, or None.  Raises ValueError."""
    least = float(np.nextafter(0.0, 1.0))
    return None if value is None else _number(f"{caller}: {name}: expected a number above 0, or None", value, least)


def _number(expected: str, value: Any, least: float) -> float:
    if value.__class__ is float and least <= value < np.inf:
        return float(value)
    result = real_array(expected, value)
    if result.ndim or not (np.isfinite(result) and result >= least):
        raise ValueError(f"{expected}, got {value!r}")
    return float(result)


def _sides(
    caller: str, what: str, value: Any, names: Sequence[str], robot: RobotBase | None
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits (n,) by coordinate, as `read_limit` takes them.  Raises ValueError."""
    if value.__class__ is float and value >= 0.0:
        return _alike(len(names), min(value, _ENDLESS))
    up, down = read_limit(caller, what, value, names, None if robot is None else places_of(robot))
    return -np.minimum(down, _ENDLESS), np.minimum(up, _ENDLESS)


@lru_cache(64)
def _alike(many: int, most: float) -> tuple[np.ndarray, np.ndarray]:
    """The same for all: arrays that nobody can write to."""
    upper, lower = np.full(many, most), np.full(many, -most)
    for x in (lower, upper):
        x.setflags(write=False)
    return lower, upper


def _of_second_order(caller: str, path: PathNumbers, limit: MotionLimit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f(q, q' ṡ, q' s̈ + q'' ṡ²) = A s̈ + B ṡ² + C."""
    nothing = np.zeros_like(path.first)

    def f(v: np.ndarray, a: np.ndarray) -> np.ndarray:
        result = np.asarray(limit.function(path.q, v, a), dtype=float)
        if result.ndim != path.q.ndim or result.shape[:-1] != path.q.shape[:-1]:
            raise ValueError(
                f"{caller}: {limit.name}: expected numbers (..., m) for q of shape {path.q.shape}, got "
                f"shape {result.shape}"
            )
        if not np.isfinite(result).all():
            raise ValueError(f"{caller}: {limit.name}: its function gives a number that is not finite")
        return result

    c = f(nothing, nothing)
    a = f(nothing, path.first) - c
    b = f(path.first, path.second) - c
    size = 1.0 + np.abs(a).max(initial=0.0) + np.abs(b).max(initial=0.0) + np.abs(c).max(initial=0.0)
    twice = f(2.0 * path.first, 3.0 * path.first + 4.0 * path.second) - (3.0 * a + 4.0 * b + c)
    if np.abs(twice).max(initial=0.0) > 1e-6 * size:
        raise ValueError(
            f"{caller}: {limit.name}: expected a function that is linear in a and of degree two in v; "
            f"with v doubled and "
            f"a changed it is off by {np.abs(twice).max():.3g}: leave out what is linear in v, as damping is"
        )
    return a, b, c
