"""Limits of a motion along a path: checks of the arguments, and constraints at points of the path."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import bounds, instance
from linkwork.kernels.array_arguments import real_array
from linkwork.mechanisms.algorithms.constraint_rows import error_scales
from linkwork.model.limited_coordinates import LoopSpeed, loop_speed_values, loop_speeds
from linkwork.motion.arguments import own_limits, read_limit
from linkwork.motion.timing.torque_model import TorqueModel
from linkwork.motion.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from linkwork.kernels.robot_base import RobotBase

__all__ = [
    "LimitSet",
    "MotionLimit",
    "PathConstraints",
    "PathSamples",
    "never_zero",
    "optional_positive",
    "speed_of_end",
]

Sides = tuple[np.ndarray, np.ndarray]

_SMALLEST = 1e-12  # replaces a limit of 0, so that quotients are finite; the coordinate does not move there
_UNLIMITED = 1e30  # replaces an infinite limit, so that products are finite
_CHECKED = 50  # positions of a path at which its constraints are checked
_OPEN = 1e-3  # [rad, characteristic lengths] largest constraint error of a path


@public
@dataclass(frozen=True)
class MotionLimit:
    """A custom limit of a motion along a path: lower ≤ f(q, v, a) ≤ upper, (m,) each.

    ``function`` maps q (..., nq), v and a (..., nv) to (..., m).  It must be of second order: linear in a, and
    quadratic in v without linear terms, like `Robot.inverse_dynamics` or the acceleration of a point.

    ``name`` names the limit in results and messages.
    """

    function: Callable[[np.ndarray, np.ndarray, np.ndarray], ArrayLike]
    lower: ArrayLike
    upper: ArrayLike
    name: str = "custom limit"

    def __post_init__(self) -> None:
        bounds(type(self).__name__, self.lower, self.upper)
        if not callable(self.function):
            return  # an error of the constructor
        try:
            inspect.signature(self.function).bind("q", "v", "a")
        except TypeError as error:
            raise TypeError(f"MotionLimit: function: expected a function called as (q, v, a): {error}") from None
        except ValueError:
            return  # of a function in C, whose parameters are unknown


@dataclass(frozen=True)
class PathSamples:
    """A path at k points of each of n segments: q (n, k, nq), and its first two derivatives in s (n, k, nv)."""

    q: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class PathConstraints:
    """Constraints lower ≤ A s̈ + B ṡ² + C ≤ upper at points of a path, and limits of the speeds of frames.

    A, B and C (..., m) are ``first``, ``second`` and ``at_rest``; ``at_rest`` is None if C is zero. ``speeds`` (..., w,
    3) are velocities of w frame origins for ṡ = 1, and ``fastest`` (w,) their limits.
    """

    first: np.ndarray
    second: np.ndarray
    at_rest: np.ndarray | None
    lower: np.ndarray
    upper: np.ndarray
    speeds: np.ndarray | None
    fastest: np.ndarray | None


@dataclass(frozen=True)
class LimitSet:
    """All limits of a motion: velocity, acceleration, jerk, joint forces, custom limits, speeds.

    Speeds are speeds of frames, and of joints that close loops.
    """

    velocity: Sides
    acceleration: Sides | None
    jerk: Sides | None
    custom: tuple[MotionLimit, ...]
    robot: Any
    speed: Mapping[str, float]
    names: Sequence[str]
    torque: MotionLimit | None = None  # the last entry of ``custom`` if joint forces have limits
    forces: TorqueModel | None = None  # the model of these joint forces
    loops: tuple[LoopSpeed, ...] = ()  # speed limits of joints that close loops

    @property
    def fastest(self) -> np.ndarray:
        """Limits (w,) of the speeds of frames [m/s], then of joints that close loops [rad/s, m/s]."""
        return np.array([*self.speed.values(), *(max(limit.bound, _SMALLEST) for limit in self.loops)], dtype=float)

    @property
    def speed_names(self) -> list[str]:
        """Names of the frames and velocities with the limits `fastest`."""
        return [*self.speed, *(limit.name for limit in self.loops)]

    def speeds(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the velocities (..., w, 3) whose norms are limited: of frames [m/s], and of joints that close loops.

        Their limits are `fastest`. The velocity of a joint [rad/s, m/s] is the first of three values; the others are 0.
        """
        parts = [self.robot.twist(q, v, frame)[..., 3:] for frame in self.speed]
        if self.loops:
            values = loop_speed_values(self.robot, self.loops, q, v)
            zero = np.zeros_like(values[..., 0])
            parts += [np.stack([values[..., k], zero, zero], axis=-1) for k in range(len(self.loops))]
        return np.stack(parts, axis=-2)

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
        passive: bool = True,
        tolerance: float | None = None,
        actuators: str | Sequence[str] | None = None,
    ) -> LimitSet:
        """Return the limits from the arguments of a timing function.

        Limits of torque are narrowed by the fraction ``tolerance`` of their size, since a motion may exceed narrowed
        limits by this fraction.  Limits of torque apply to the ``actuators``; None means the joints that `_motors`
        returns.

        Raises ValueError for an invalid limit, and where none is of second order; TypeError for an entry of ``limits``
        that is not a `MotionLimit`; UnknownNameError for an unknown frame.
        """
        names = _Names(path)
        if robot is not None and (robot.nq, robot.nv) != (path.nq, path.nv):
            raise ValueError(
                f"{caller}: robot: expected a robot with nq = {path.nq} and nv = {path.nv}, as the path has, got "
                f"nq = {robot.nq} and nv = {robot.nv}"
            )
        named = robot if path.robot is None else path.robot
        fastest: np.ndarray | None = None
        loops: tuple[LoopSpeed, ...] = ()
        if named is not None and (velocity is None or isinstance(velocity, Mapping)):
            fastest = named.velocity_limits
            loops = loop_speeds(named.tree) if path.robot is not None and robot is not None else ()
        if velocity is None:
            velocity = np.inf if path.robot is None else fastest
        accelerations, jerks = (
            own_limits(named, quantity) if limit is None or isinstance(limit, Mapping) else None
            for quantity, limit in (("acceleration", acceleration), ("jerk", jerk))
        )
        if path.robot is not None:
            acceleration = accelerations if acceleration is None else acceleration
            jerk = jerks if jerk is None else jerk
        custom, forces, model = [], None, None
        for limit in limits:
            if not isinstance(limit, MotionLimit):
                raise TypeError(f"{caller}: motion_limits: expected MotionLimit(function, lower, upper), got {limit!r}")
            custom.append(limit)
        if torque is not None and torque is not False:
            if robot is None:
                raise ValueError(
                    f"{caller}: torque: expected a path of a robot, or robot=, got a path of plain coordinates alone"
                )
            most = robot.effort_limits
            low, high = _sides(caller, "torque", most if torque is True else torque, names, named, most)
            model = TorqueModel.of(robot, passive, _motors(robot, torque, low, high, actuators))
            if robot.constraints:
                _check_constraints(caller, path, robot)
            low, high = low[model.indices], high[model.indices]
            if tolerance is not None:
                low, high = _narrowed(low, high, tolerance)
            forces = MotionLimit(model.second_order, low, high, "torque")
            custom.append(forces)
        if acceleration is None and not custom:
            known = robot is not None and bool(np.isfinite(robot.effort_limits).all())
            remedy = "; torque=True are the effort limits of the robot" if known else ""
            raise ValueError(
                f"{caller}: expected limits acceleration= or torque=: with limits of velocity alone the motion could "
                f"start at any speed immediately{remedy}"
            )
        frames = () if robot is None else robot.tree.frames
        moving = [frame.name for frame in frames if frame.body == len(robot.tree.bodies) - 1]
        expected = f'a dict of speeds [m/s] by frame, as in {{"{(moving or ["tool"])[-1]}": 0.25}}'
        speed = {} if speed is None else instance(caller, "speed", speed, Mapping, description=expected)
        if speed and robot is None:
            raise ValueError(
                f"{caller}: speed: expected a path of a robot, or robot=, got a path of plain coordinates alone"
            )
        for frame, maximum in speed.items():
            if robot is not None and frame not in robot.frames:
                raise robot.tree.unknown_frame(frame)
            if not maximum > 0.0:
                raise ValueError(f"{caller}: speed: {frame!r}: expected a positive speed [m/s], got {maximum!r}")
        return LimitSet(
            _sides(caller, "velocity", velocity, names, named, fastest),
            None if acceleration is None else _sides(caller, "acceleration", acceleration, names, named, accelerations),
            None if jerk is None or _is_infinite(jerk) else _sides(caller, "jerk", jerk, names, named, jerks),
            tuple(custom),
            robot,
            speed,
            names,
            forces,
            model,
            loops,
        )

    @property
    def resistance(self) -> TorqueModel | None:
        """The model of joint forces if they are limited and include damping or friction; otherwise None."""
        return self.forces if self.forces is not None and self.forces.resists else None

    def resisted(
        self, constraints: PathConstraints, least: np.ndarray, most: np.ndarray, slope: np.ndarray | None = None
    ) -> PathConstraints:
        """Return constraints in which the limits of torque include a resistance of joints, damping and friction.

        The resistance is between ``least`` and ``most`` (n, nv), on n segments or at n points. ``slope`` (n, nv) is its
        derivative with respect to ṡ², which is added to the coefficients of ṡ².
        """
        columns = slice(constraints.first.shape[-1] - least.shape[-1], None)
        shape = len(least), constraints.first.shape[-1]
        lower, upper = (np.broadcast_to(x, shape).copy() for x in (constraints.lower, constraints.upper))
        lower[:, columns] -= least
        upper[:, columns] -= most
        second = constraints.second
        if slope is not None:
            second = second.copy()
            second[..., columns] += slope if second.ndim == 2 else slope[:, None]
        return replace(constraints, second=second, lower=lower, upper=upper)

    def constraints(self, caller: str, path: PathSamples) -> PathConstraints:
        """Return the limits at points of a path as constraints lower ≤ A s̈ + B ṡ² + C ≤ upper.

        The constraints contain the limits of acceleration and the custom limits; the limits of speeds are separate
        fields. Error messages name the ``caller``.

        Raises ValueError for a custom limit whose function returns a shape other than that of its limits, returns a
        value that is not finite, or is not of second order.
        """
        first, second, at_rest, lower, upper = [], [], [], [], []
        if self.acceleration is not None:
            first.append(path.first)
            second.append(path.second)
            at_rest.append(np.zeros_like(path.first))
            lower.append(self.acceleration[0])
            upper.append(self.acceleration[1])
        for limit in self.custom:
            a, b, c = _second_order_terms(caller, path, limit)
            first.append(a)
            second.append(b)
            at_rest.append(c)
            for result, bound in ((lower, limit.lower), (upper, limit.upper)):
                expected = f"{caller}: {limit.name}: expected limits of shape ({a.shape[-1]},)"
                x = np.asarray(real_array(expected, bound), dtype=float)
                if x.shape not in ((), (a.shape[-1],)):
                    raise ValueError(f"{expected}, got shape {x.shape}")
                result.append(np.clip(np.broadcast_to(x, (a.shape[-1],)), -_UNLIMITED, _UNLIMITED))
            if not (lower[-1] <= upper[-1]).all():
                raise ValueError(f"{caller}: {limit.name}: expected lower limits below upper ones")
        limited = bool(self.speed or self.loops)
        c = np.concatenate(at_rest, axis=-1)
        return PathConstraints(
            first[0] if len(first) == 1 else np.concatenate(first, axis=-1),
            second[0] if len(second) == 1 else np.concatenate(second, axis=-1),
            c if c.any() else None,
            np.concatenate(lower),
            np.concatenate(upper),
            self.speeds(path.q, path.first) if limited else None,
            self.fastest if limited else None,
        )

    @property
    def has_zero_limit(self) -> bool:
        """Return True if a limit is 0, so that a coordinate must not move."""
        pairs = [limits for limits in (self.velocity, self.acceleration, self.jerk) if limits is not None]
        return any(0.0 in x.tolist() for limits in pairs for x in limits)

    def check_zero_limits(self, caller: str, first: np.ndarray) -> None:
        """Raise ValueError if a coordinate with a limit of 0 moves, according to q' (..., nv)."""
        for name, limits in (("velocity", self.velocity), ("acceleration", self.acceleration), ("jerk", self.jerk)):
            low, high = limits if limits is not None else (np.array([]), np.array([]))
            for k in np.flatnonzero((low == 0.0) | (high == 0.0)).tolist():
                moves = first[..., k]
                if name == "velocity":
                    bad = (moves.max() > _SMALLEST and high[k] == 0.0) or (moves.min() < -_SMALLEST and low[k] == 0.0)
                else:
                    bad = bool(np.abs(moves).max() > _SMALLEST)
                if bad:
                    raise ValueError(f"{caller}: {name}: {self.names[k]!r} moves along the path, and its limit is 0")


def _check_constraints(caller: str, path: Trajectory, robot: Any) -> None:
    """Raise ValueError if constraints depend on time, or the path does not satisfy them."""
    timed = [constraint.name for constraint in robot.constraints if constraint.time_dependent]
    if timed:
        raise ValueError(f"{caller}: torque: expected constraints that do not depend on time, got {timed[0]!r}")
    s = np.linspace(path.start_time, path.end_time, _CHECKED)
    error = np.abs(robot.constraint_error(path(s).q) * error_scales(robot.tree)).max(axis=-1, initial=0.0)
    k = int(error.argmax())
    if error[k] > _OPEN:
        raise ValueError(
            f"{caller}: path: expected a path that satisfies the robot's constraints, got an error of {error[k]:.3g} "
            f"characteristic lengths or radians at s = {s[k]:.6g}; Robot.drive_mechanism and track_cartesian_path "
            f"return such paths"
        )


def _motors(robot: Any, torque: Any, low: np.ndarray, high: np.ndarray, actuators: Any) -> tuple[str, ...] | None:
    """Return the names of the joints whose forces are limited: the joints with motors.

    They are the ``actuators``, if passed. For a robot with constraints, the default is the joints that the dict
    ``torque`` names. Without a dict, it is all joints of fewer than six degrees of freedom whose limits are not zero.
    For an open tree the result is None: all joint forces are limited.
    """
    tree = robot.tree
    if actuators is not None:
        return (actuators,) if isinstance(actuators, str) else tuple(actuators)
    if not tree.constraints:
        return None
    if isinstance(torque, Mapping):
        return tuple(torque)
    acts = (low != 0.0) | (high != 0.0)
    names = (body.joint_name for i, body in tree.stacked() if acts[tree.v_slices[i]].any() and body.joint.nv < 6)
    return tuple(names)


class _Names(Sequence[str]):
    """Names of the coordinates of a path's v, computed on access, since only messages use them."""

    __slots__ = ("path",)

    def __init__(self, path: Trajectory) -> None:
        self.path = path

    def __len__(self) -> int:
        return self.path.nv

    def __getitem__(self, index: Any) -> Any:
        robot = self.path.robot
        return (tuple(map(str, range(self.path.nv))) if robot is None else tuple(robot.v_names))[index]


def never_zero(limits: Sides) -> Sides:
    """Return lower and upper limits in which tiny numbers replace zeros, so that divisions by limits are possible."""
    low, high = limits
    return np.where(low == 0.0, -_SMALLEST, low), np.where(high == 0.0, _SMALLEST, high)


def speed_of_end(caller: str, name: str, value: Any) -> float:
    """Return a valid ṡ at an end of a path.  Raises ValueError."""
    return _number(f"{caller}: {name}: expected a number >= 0", value, 0.0)


def optional_positive(caller: str, name: str, value: Any) -> float | None:
    """Return a valid positive number, or None.  Raises ValueError."""
    least = float(np.nextafter(0.0, 1.0))
    return None if value is None else _number(f"{caller}: {name}: expected a positive number or None", value, least)


def _number(expected: str, value: Any, least: float) -> float:
    if value.__class__ is float and least <= value < np.inf:
        return float(value)
    result = real_array(expected, value)
    if result.ndim or not (np.isfinite(result) and result >= least):
        raise ValueError(f"{expected}, got {value!r}")
    return float(result)


def _sides(
    caller: str, name: str, value: Any, names: Sequence[str], robot: RobotBase | None, default: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper limits (n,) of a quantity, from a number, an array, a pair or a dict by joint.

    Joints that a dict leaves out have the robot's ``default`` limits (n,).  Raises ValueError.
    """
    if value.__class__ is float and value >= 0.0:
        return _symmetric_limits(len(names), min(value, _UNLIMITED))
    up, down = read_limit(caller, name, value, names, robot, default)
    return -np.minimum(down, _UNLIMITED), np.minimum(up, _UNLIMITED)


def _is_infinite(value: Any) -> bool:
    """Return True for the number inf, which means no limit."""
    return isinstance(value, (int, float)) and value == np.inf


def _narrowed(low: np.ndarray, high: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return limits narrowed by the fraction ``share`` of the greater finite value among |low| and |high|."""
    middle = 0.5 * (low + high)
    if not middle.any():
        return (1.0 - share) * low, (1.0 - share) * high
    by = share * np.maximum(*(np.where(np.abs(x) < _UNLIMITED, np.abs(x), 0.0) for x in (low, high)))
    return np.minimum(low + by, middle), np.maximum(high - by, middle)


@lru_cache(64)
def _symmetric_limits(count: int, maximum: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits −maximum and maximum for all coordinates, as read-only arrays."""
    upper, lower = np.full(count, maximum), np.full(count, -maximum)
    for x in (lower, upper):
        x.setflags(write=False)
    return lower, upper


def _second_order_terms(
    caller: str, path: PathSamples, limit: MotionLimit
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, B and C of a custom limit f(q, q' ṡ, q' s̈ + q'' ṡ²) = A s̈ + B ṡ² + C, at points of a path.

    Raises ValueError for a function that is not of second order.
    """
    zero = np.zeros_like(path.first)

    def f(v: np.ndarray, a: np.ndarray) -> np.ndarray:
        result = np.asarray(limit.function(path.q, v, a), dtype=float)
        if result.ndim != path.q.ndim or result.shape[:-1] != path.q.shape[:-1]:
            raise ValueError(
                f"{caller}: {limit.name}: expected a result of shape (..., m) for q of shape {path.q.shape}, got "
                f"shape {result.shape}"
            )
        if not np.isfinite(result).all():
            raise ValueError(f"{caller}: {limit.name}: its function returns a value that is not finite")
        return result

    c = f(zero, zero)
    a = f(zero, path.first) - c
    b = f(path.first, path.second) - c
    size = 1.0 + np.abs(a).max(initial=0.0) + np.abs(b).max(initial=0.0) + np.abs(c).max(initial=0.0)
    twice = f(2.0 * path.first, 3.0 * path.first + 4.0 * path.second) - (3.0 * a + 4.0 * b + c)
    if np.abs(twice).max(initial=0.0) > 1e-6 * size:
        raise ValueError(
            f"{caller}: {limit.name}: expected a function that is linear in a and quadratic in v; with v doubled "
            f"and a changed it is off by {np.abs(twice).max():.3g}; leave out terms linear in v, such as damping"
        )
    return a, b, c
