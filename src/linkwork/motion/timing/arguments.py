"""What limits a motion along a path, as people ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.validation import instance, integer
from linkwork.errors import UnknownNameError
from linkwork.kernels.array_arguments import real_array
from linkwork.motion.timing.limits import MotionLimit, PathNumbers, PathRows, rows_of, sides
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["MotionAsked", "count_of", "never_zero", "part_of", "speed_of_end"]

Sides = tuple[np.ndarray, np.ndarray]

SMALLEST = 1e-12  # in the place of a limit of 0: where that is nothing moves, and any number says so


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
            low, high = sides(caller, "torque", robot.effort_limits if torque is True else torque, names, path.robot)
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
            sides(caller, "velocity", velocity, names, path.robot),
            None if acceleration is None else sides(caller, "acceleration", acceleration, names, path.robot),
            None if jerk is None else sides(caller, "jerk", jerk, names, path.robot),
            tuple(own),
            robot,
            speed,
            names,
            forces,
        )

    def rows(self, caller: str, path: PathNumbers) -> PathRows:
        """Along a path."""
        return rows_of(caller, path, self.acceleration, self.own, self.robot, self.speed)

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
                    bad = (moves.max() > SMALLEST and high[k] == 0.0) or (moves.min() < -SMALLEST and low[k] == 0.0)
                else:
                    bad = bool(np.abs(moves).max() > SMALLEST)
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
    return np.where(low == 0.0, -SMALLEST, low), np.where(high == 0.0, SMALLEST, high)


def speed_of_end(caller: str, name: str, given: Any) -> float:
    """ṡ at an end of a path.  Raises ValueError."""
    if given.__class__ is float and 0.0 <= given < np.inf:
        return float(given)
    found = real_array(f"{caller}: {name}: expected a number from 0 on", given)
    if found.ndim or not (np.isfinite(found) and found >= 0.0):
        raise ValueError(f"{caller}: {name}: expected a number from 0 on, got {given!r}")
    return float(found)


def count_of(caller: str, name: str, given: Any) -> int:
    """A whole number from 1 on.  Raises ValueError."""
    return integer(caller, name, given, least=1, what="a whole number")


def part_of(caller: str, name: str, given: Any) -> float | None:
    """A number above 0, or None.  Raises ValueError."""
    if given is None or (given.__class__ is float and 0.0 < given < np.inf):
        return None if given is None else float(given)
    found = real_array(f"{caller}: {name}: expected a number above 0, or None", given)
    if found.ndim or not (np.isfinite(found) and found > 0.0):
        raise ValueError(f"{caller}: {name}: expected a number above 0, or None, got {given!r}")
    return float(found)
