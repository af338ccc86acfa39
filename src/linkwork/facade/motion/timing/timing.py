"""The fastest motion along a path within limits, as people ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ....algorithms.motion.curves import Clock
from ....algorithms.motion.timing import NODES
from ....bridge.arguments import real_array
from ....errors import UnknownNameError
from ..clocks import clocked
from ..trajectory import Trajectory
from .grid import again, grid
from .kernels import solved
from .limits import MotionLimit, PathNumbers, PathRows, rows_of, sides
from .picture import plot_phase_plane

if TYPE_CHECKING:
    from ...robot.robot import Robot

__all__ = ["TimedPath", "time_optimal"]

_PLACES = 3  # places of a segment that are looked at, of pieces of third degree; 5 of others
_CORNER = 1e-7  # of the path's rate: a jump of it is a corner


class TimedPath(NamedTuple):
    """A path in the least time, and how it is run through.

    ``s`` (n + 1,) are places on the path, its own times; ``t`` when they are passed [s], ``speed`` ṡ there, and
    ``acceleration`` (n,) s̈ between.
    """

    trajectory: Trajectory
    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.t[-1])

    def plot(
        self,
        axes: Any = None,
        *,
        velocity: Any = None,
        acceleration: Any = None,
        torque: Any = None,
        speed: Mapping[str, float] | None = None,
        limits: Sequence[MotionLimit] = (),
        robot: Robot | None = None,
    ) -> Any:
        """The phase plane, speed by place on the path, drawn with matplotlib; its axes.

        With the limits that it was made with, those of `time_optimal`, it shows the greatest speed that they allow at
        each place, whatever the acceleration is, and by colour which of them holds the motion back.
        """
        asked = None
        if acceleration is not None or torque or limits:
            robot = self.trajectory.robot if robot is None else robot
            asked = _Asked.read("plot", self.trajectory, robot, velocity, acceleration, torque, speed, limits)
        return plot_phase_plane(self, asked, axes)


def time_optimal(
    path: Trajectory,
    *,
    velocity: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    acceleration: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    torque: bool | ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    speed: Mapping[str, float] | None = None,
    limits: Sequence[MotionLimit] = (),
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    robot: Robot | None = None,
    points: int = 400,
    passes: int = 2,
) -> TimedPath:
    """The way of a path in the least time within limits: how fast it was run through before does not matter.

    ``velocity`` [rad/s, m/s] are limits of v: a number, numbers (nv,), a pair (lower, upper), or a dict of these by
    joint; the robot's if they are left out.  ``acceleration`` [rad/s², m/s²] are limits of a, and ``torque`` those of
    the robot's joint forces [N·m, N], True for the robot's own; one of them has to be given.  ``speed`` says by frame
    how fast its origin may move [m/s].  ``limits`` are one's own, of second order.  ``robot`` is the one whose dynamics
    and frames count, the path's if it is left out: the same with a payload, for example.  ``start_speed`` and
    ``end_speed`` are ṡ at the path's ends, 1 being as fast as the path itself.

    Limits of v and a hold at all times between, by control points of the polynomials that they are along a path of
    polynomial pieces; on other paths, and for torques, speeds and limits of one's own, those of the polynomials that
    agree with them at places of each of at least ``points`` segments.  After the first of ``passes`` segments are made
    anew, of equal times.  At corners of the path the motion stops.

    Raises ValueError where a limit is not one, where a joint that may not move does, and where no speed obeys them all.

    Source: Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis, 2018.
    """
    who = "time_optimal"
    if not isinstance(path, Trajectory):
        raise TypeError(f"{who}: path: expected a trajectory, got {path!r}")
    robot = path.robot if robot is None else robot
    asked = _Asked.read(who, path, robot, velocity, acceleration, torque, speed, limits)
    ends = [_speed(who, name, x) for name, x in (("start_speed", start_speed), ("end_speed", end_speed))]
    for name, count in (("points", points), ("passes", passes)):
        if isinstance(count, bool) or int(count) != count or count < 1:
            raise ValueError(f"{who}: {name}: expected a whole number from 1 on, got {count!r}")
    knots = path.knots
    corners = _corners(path, knots)
    s = grid(knots, int(points))
    x, u = _swept(who, path, asked, s, knots[corners], ends)
    t = _times(s, x)
    for _ in range(int(passes) - 1):
        s = again(knots, s, t, x, u)
        x, u = _swept(who, path, asked, s, knots[corners], ends)
        t = _times(s, x)
    return TimedPath(_with_clock(path, s, t, x, u), s, t, np.sqrt(x), u)


class _Asked(NamedTuple):
    """What limits a motion."""

    velocity: tuple[np.ndarray, np.ndarray]
    acceleration: tuple[np.ndarray, np.ndarray] | None
    own: tuple[MotionLimit, ...]
    robot: Robot | None
    speed: Mapping[str, float]
    names: tuple[str, ...]

    @staticmethod
    def read(
        who: str,
        path: Trajectory,
        robot: Robot | None,
        velocity: Any,
        acceleration: Any,
        torque: Any,
        speed: Any,
        limits: Sequence[MotionLimit],
    ) -> _Asked:
        names = tuple(map(str, range(path.nv))) if path.robot is None else tuple(path.robot.v_names)
        if robot is not None and (robot.nq, robot.nv) != (path.nq, path.nv):
            raise ValueError(
                f"{who}: robot: expected one with q of {path.nq} and v of {path.nv} numbers, as the path has, got "
                f"{robot.nq} and {robot.nv}"
            )
        if velocity is None:
            velocity = np.inf if path.robot is None else path.robot.velocity_limits
        own = []
        for limit in limits:
            if not isinstance(limit, MotionLimit):
                raise TypeError(f"{who}: limits: expected MotionLimit(function, lower, upper), got {limit!r}")
            own.append(limit)
        if torque is not None and torque is not False:
            if robot is None:
                raise ValueError(f"{who}: torque: expected a path of a robot, or robot=")
            low, high = sides(who, "torque", robot.effort_limits if torque is True else torque, names, path.robot)
            own.append(MotionLimit(robot.inverse_dynamics, low, high, "torque"))
        if acceleration is None and not own:
            raise ValueError(
                f"{who}: expected limits of acceleration= or torque=: within those of velocity alone a motion may "
                f"start at any speed at once"
            )
        speed = {} if speed is None else speed
        if speed and robot is None:
            raise ValueError(f"{who}: speed: expected a path of a robot, or robot=")
        for frame, most in speed.items():
            if robot is not None and frame not in robot.frames:
                raise UnknownNameError("frame", frame, robot.frames)
            if not most > 0.0:
                raise ValueError(f"{who}: speed: {frame!r}: expected metres a second above 0, got {most!r}")
        return _Asked(
            sides(who, "velocity", velocity, names, path.robot),
            None if acceleration is None else sides(who, "acceleration", acceleration, names, path.robot),
            tuple(own),
            robot,
            speed,
            names,
        )

    def rows(self, who: str, path: PathNumbers) -> PathRows:
        """Along a path."""
        return rows_of(who, path, self.acceleration, self.own, self.robot, self.speed)


def _speed(who: str, name: str, given: Any) -> float:
    found = real_array(f"{who}: {name}: expected a number from 0 on", given)
    if found.ndim or not (np.isfinite(found) and found >= 0.0):
        raise ValueError(f"{who}: {name}: expected a number from 0 on, got {given!r}")
    return float(found)


def _corners(path: Trajectory, knots: np.ndarray) -> np.ndarray:
    """The inner knots (as places among them) at which the path's direction jumps."""
    inner = np.arange(1, len(knots) - 1)
    if not len(inner):
        return inner
    room = 1e-9 * np.minimum(knots[inner] - knots[inner - 1], knots[inner + 1] - knots[inner])
    before, after = path(knots[inner] - room).v, path(knots[inner] + room).v
    size = np.maximum(np.abs(before).max(-1), np.abs(after).max(-1))
    found: np.ndarray = inner[np.abs(after - before).max(-1) > _CORNER * np.maximum(size, 1e-300) + 1e-12]
    return found


def _swept(
    who: str, path: Trajectory, asked: _Asked, s: np.ndarray, corners: np.ndarray, ends: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """x and u of the fastest motion on these segments."""
    steps = np.diff(s)
    places = _PLACES if _is_of_third_degree(path) else 5
    at = s[:-1, None] + steps[:, None] * np.array(NODES[places])
    numbers = PathNumbers(*path(at))
    rows = asked.rows(who, numbers)
    low, high = asked.velocity
    for k in np.flatnonzero((low == 0.0) | (high == 0.0)):
        moves = numbers.first[..., k]
        if (moves.max() > 1e-12 and high[k] == 0.0) or (moves.min() < -1e-12 and low[k] == 0.0):
            raise ValueError(f"{who}: velocity: {asked.names[k]!r} moves along the path, and its limit is 0")
    smallest = 1e-12  # where a limit is 0 nothing moves: any number says so
    velocity = np.where(low == 0.0, -smallest, low), np.where(high == 0.0, smallest, high)
    caps = np.full(len(s), 1e30)
    caps[np.isin(s, corners)] = 0.0
    rates = numbers.first
    x, u, blocked = solved(rates, velocity, rows, steps, caps, ends[0] ** 2, ends[1] ** 2)
    if blocked >= 0:
        where = f"between s = {s[blocked]:.6g} and {s[blocked + 1]:.6g}"
        if blocked == 0 and ends[0] > 0.0:
            raise ValueError(f"{who}: start_speed: no motion within the limits begins with {ends[0]:g}")
        raise ValueError(f"{who}: no speed along the path obeys all limits {where}")
    return x, u


def _times(s: np.ndarray, x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / (np.sqrt(x[1:]) + np.sqrt(x[:-1])))])
    return found


def _is_of_third_degree(path: Trajectory) -> bool:
    return all(
        section.clock is None and section.kind.name == "polynomial" and section.arrays["coefficients"].shape[-1] <= 4
        for section in path.sections
    )


def _with_clock(path: Trajectory, s: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> Trajectory:
    """The path run through so."""
    clock = Clock(t[:-1], np.stack([s[:-1], np.sqrt(x[:-1]), 0.5 * u], axis=-1))
    return Trajectory(clocked(path.sections, clock, t, s), path.robot)
