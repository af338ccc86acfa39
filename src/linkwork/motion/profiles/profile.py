"""Profiles of plain coordinates and of robots.

`profile` returns a trajectory, and `ProfileFunction` returns arrays for one profile or a batch.  A robot's joints with
plain coordinates have a profile for each coordinate; other joints move along one direction of velocity.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public, quick
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import finite_array, integer
from linkwork.errors import LimitWarning
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_arguments import stacked_by_joint
from linkwork.model.limited_coordinates import limited_coordinates, limited_values, loop_speed_values, loop_speeds
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.arguments import normalized
from linkwork.motion.closed_motion import closed_profile, is_closed
from linkwork.motion.profiles.arguments import (
    ProfileRequest,
    along_lines,
    locked_coordinates,
    read_limits,
    read_options,
    solve,
)
from linkwork.motion.profiles.profile_kinds import STATES, ProfileArrays, profile_kernel
from linkwork.motion.splines.spline import nearer_turns
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["Kind", "ProfileFunction", "Synchronize", "profile", "read_states", "robot_profile"]


Kind = Literal["jerk", "trapezoid", "minimum_jerk", "quintic"]
Synchronize = Literal["time", "phase"] | None


@public
def profile(
    q0: ArrayLike,
    q1: ArrayLike,
    *,
    v0: ArrayLike = 0.0,
    v1: ArrayLike = 0.0,
    a0: ArrayLike = 0.0,
    a1: ArrayLike = 0.0,
    kind: Kind = "jerk",
    synchronize: Synchronize = "time",
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    duration: float | None = None,
) -> Trajectory:
    """Return a trajectory of n plain coordinates from one state to another, within limits.

    q0, q1 (n,) or numbers; v0, v1 and a0, a1 (n,) are the velocities and accelerations at both ends.  ``kind`` is

    - ``"jerk"``: minimum time within limits of velocity, acceleration and jerk;
    - ``"trapezoid"``: minimum time within limits of velocity and acceleration; a0 and a1 are ignored;
    - ``"minimum_jerk"``, ``"quintic"``: the quintic, which minimises ∫ jerk² dt for its duration; without a
      ``duration`` it is the shortest quintic within the limits.

    ``velocity``, ``acceleration``, ``jerk`` are limits: a number or (n,) for both directions, or a pair (lower, upper);
    infinite by default.  ``synchronize="time"`` ends all coordinates together, in the minimum time feasible for all;
    ``"phase"`` keeps coordinates on the straight line from q0 to q1; with None each coordinate moves in its own minimum
    time, and then rests.  With a ``duration`` [s] the motion takes exactly that time.

    >>> import linkwork as lw
    >>> motion = lw.motion.profile([0.0, 0.0], [1.0, -0.2], velocity=1.0, acceleration=2.0, jerk=8.0)
    >>> round(motion.duration, 12), motion(motion.duration).q.round(12).tolist()
    (1.75, [1.0, -0.2])

    Raises ValueError, with the reason, where no such motion exists; UnknownNameError for an unknown kind.
    """
    caller = "profile"
    result, order, seconds = read_options(caller, kind, synchronize, duration)
    states = read_states(caller, (q0, q1, v0, v1, a0, a1))
    names = [f"coordinate {k}" for k in range(len(states[0]))]
    values = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    limits = read_limits(caller, result, names, values)
    if not result.accelerations:
        states = (*states[:4], np.zeros(len(names)), np.zeros(len(names)))
    return trajectory_of(solve(ProfileRequest(caller, names, result, states, limits, order, seconds)))


def read_states(caller: str, value: Any) -> tuple[np.ndarray, ...]:
    """Return q0, q1, v0, v1, a0 and a1 as arrays (n,).  Raises ValueError."""
    arrays = []
    for name, x in zip(STATES, value, strict=True):
        refuse_symbols(caller, name, x)
        result = np.asarray(
            real_array(f"{caller}: {name}: expected a number or an array of shape (n,)", x), dtype=float
        )
        if result.ndim > 1:
            raise ValueError(
                f"{caller}: {name}: expected a number or an array of shape (n,), got shape {result.shape}; "
                f"linkwork.motion.ProfileFunction takes batches"
            )
        if not np.isfinite(result).all():
            at = "" if not result.ndim else f" at {int(np.argmin(np.isfinite(result)))}"
            raise ValueError(f"{caller}: {name}: expected finite numbers, got {result[~np.isfinite(result)][0]}{at}")
        arrays.append(np.atleast_1d(result))
    n = max(len(arrays[0]), len(arrays[1]))
    if not n:
        raise ValueError(f"{caller}: q0: expected a number or an array of shape (n,) with n >= 1, got an empty array")
    for name, result in zip(STATES, arrays, strict=True):
        if len(result) not in (1, n):
            expected = f"{caller}: {name}: expected a number or an array of shape ({n},), the longest of q0 and q1"
            raise ValueError(f"{expected}, got shape {result.shape}")
    return tuple(np.broadcast_to(result, (n,)).copy() for result in arrays)


def refuse_symbols(caller: str, name: str, x: Any) -> None:
    """Raise TypeError for symbols of a function that is being compiled."""
    if is_traced(x):
        raise TypeError(
            f"{caller}: {name}: expected numbers, got symbols, which do not determine a profile's segments; in a "
            f"compiled function use linkwork.motion.ProfileFunction, whose results are symbols"
        )


def trajectory_of(profiles: ProfileArrays, robot: Any = None, base: np.ndarray | None = None) -> Trajectory:
    """Return the trajectory of one profile, whose arrays are not a batch; coordinates that end early rest.

    With ``base`` (nq,), the configuration is ``base`` ⊕ x, where x (nv,) are the coordinates of the profile.
    """
    durations, times, coefficients, _ = profiles
    last = float(durations.max())
    breaks, rows = [], []
    for T, t, c in zip(durations, times, coefficients, strict=True):
        h = np.diff(t)
        if last <= 0.0:
            t, c, h = np.array([0.0, 1.0]), c[-1:], np.array([1.0])
        long = h > 1e-14 * last
        segments = np.flatnonzero(long)
        if last - T > 1e-14 * last:
            u = h[segments[-1]] if len(segments) else 0.0
            end = np.zeros(c.shape[1])
            end[0] = np.polynomial.polynomial.polyval(u, c[segments[-1]]) if len(segments) else c[0, 0]
            breaks.append(np.array([*t[segments], T if len(segments) else 0.0, last]))
            rows.append(np.array([*c[segments], end]))
            continue
        breaks.append(np.array([*t[segments], last if last > 0.0 else 1.0]))
        rows.append(c[segments])
    return Trajectory.by_coordinate(breaks, rows, robot=robot, base=base, start=0.0, end=max(last, 0.0))


@public
class ProfileFunction:
    """Function of n coordinates that returns motion profiles between states, one or a batch, as arrays.

    Limits and options are fixed. They and ``kind`` are those of `linkwork.motion.profile`; ``synchronize`` is "time" or
    None.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> fast = lw.motion.ProfileFunction(2, velocity=1.0, acceleration=2.0, jerk=8.0)
    >>> goals = np.array([[1.0, -0.2], [0.1, 0.5]])
    >>> fast(np.zeros(2), goals).durations[:, 0].round(6).tolist()
    [1.75, 1.280776]
    """

    def __init__(
        self,
        n: int,
        *,
        kind: Kind = "jerk",
        synchronize: Literal["time"] | None = "time",
        velocity: Any = None,
        acceleration: Any = None,
        jerk: Any = None,
    ) -> None:
        caller = "ProfileFunction"
        result, order, _ = read_options(caller, kind, synchronize, None)
        if order == "phase":
            raise ValueError(f'{caller}: synchronize: expected "time" or None, got "phase"; use profile()')
        n = integer(caller, "n", n, least=1)
        names = [f"coordinate {k}" for k in range(n)]
        values = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        limits = read_limits(caller, result, names, values)
        zeros = np.zeros(n)
        locked = locked_coordinates(caller, names, [zeros] * 6, limits)
        if locked.any():
            at = names[int(np.argmax(locked))]
            raise ValueError(f"{caller}: velocity, acceleration and jerk: {at}: expected positive limits, got 0")
        self.kind: str = result.name
        self.synchronize: str | None = order
        self.n = n
        self._zeros = zeros
        self._limits = (*limits.finite(), zeros)
        self._kernel = profile_kernel(result, n, order is not None, False)

    @quick
    def __call__(
        self,
        q0: ArrayLike,
        q1: ArrayLike,
        v0: ArrayLike | None = None,
        v1: ArrayLike | None = None,
        a0: ArrayLike | None = None,
        a1: ArrayLike | None = None,
    ) -> ProfileArrays:
        """Return the profiles from q0 to q1 (..., n), with velocities v0, v1 and accelerations a0, a1 (..., n).

        Velocities and accelerations are 0 by default.  Where there is no profile, ``status`` reports it; no error is
        raised.
        """
        zeros = self._zeros
        values = (q0, q1, *(zeros if x is None else x for x in (v0, v1, a0, a1)))
        try:
            result: ProfileArrays = self._kernel(*values, *self._limits)
        except (TypeError, ValueError, OverflowError):
            for name, x in zip(STATES, values, strict=True):
                finite_array("ProfileFunction", name, x, infinite=True)
                if np.shape(x)[-1:] != (self.n,):
                    raise ValueError(
                        f"ProfileFunction: {name}: expected an array of shape (..., {self.n}), got shape {np.shape(x)}"
                    ) from None
            result = self._kernel(*map(np.asarray, values), *self._limits)
        return result

    def __repr__(self) -> str:
        return f"<ProfileFunction of {self.n} coordinates: {self.kind}, synchronize={self.synchronize!r}>"


_CALLER = "profile"
_ROUNDING = 1e-9  # by which a configuration may exceed its limits
_CHECKED = 129  # times of a profile at which limits are checked that it does not hold
_CURVED = (
    "a joint whose configurations are not plain coordinates moves along one direction of velocity, from q0 to q1, "
    "and velocities and accelerations at its ends must have that direction"
)


def robot_profile(
    robot: Any,
    states: tuple[Any, ...],
    options: tuple[Any, Any, Any],
    values: dict[str, Any],
    independent: Any,
) -> Trajectory:
    """Return the trajectory of a robot from q0, v0, a0 to q1, v1, a1, with the arguments of `Robot.profile`."""
    kind, synchronize, duration = read_options(_CALLER, *options)
    if not robot.nv:
        raise ValueError(
            f"{_CALLER}: robot: expected at least one degree of freedom, got {robot.name!r}, which has none"
        )
    for name, x in zip(STATES, states, strict=True):
        refuse_symbols(_CALLER, name, x)
    has_loops = is_closed(_CALLER, robot, independent)
    q0, q1 = (_configuration(robot, name, x) for name, x in zip(("q0", "q1"), states[:2], strict=True))
    rates = [_rates(robot, name, x) for name, x in zip(("v0", "v1", "a0", "a1"), states[2:], strict=True)]
    space = CurveSpace.of(robot.tree)
    displacement = np.asarray(robot.difference(q0, nearer_turns(robot, q0, q1)), dtype=float)
    names = list(robot.v_names)
    limits = read_limits(_CALLER, kind, names, values, robot)
    if not kind.accelerations:
        rates[2:] = [np.zeros(robot.nv)] * 2
    plain = {coordinates.v for coordinates in space.joints if coordinates.is_plain}
    along = (np.zeros(robot.nv), displacement, *rates)
    if space.is_plain:
        along = (q0, q0 + displacement, *rates)
    request = ProfileRequest(_CALLER, names, kind, along, limits, synchronize, duration)
    if space.is_plain or synchronize == "phase":
        profiles = solve(request)
    else:
        groups: list[np.ndarray] = []
        for coordinates in space.joints:
            dofs = np.arange(robot.nv)[coordinates.in_v]
            groups += [np.array([k]) for k in dofs] if coordinates.v in plain else [dofs] if len(dofs) else []
        profiles = along_lines(request, groups, _CURVED)
    result = trajectory_of(profiles, robot, np.zeros(robot.nq) if space.is_plain else q0)
    if has_loops:
        is_free = kind.polynomial and duration is not None
        ends, moving = (q0, robot.integrate(q0, displacement)), (rates[0], rates[1])
        result = closed_profile(
            _CALLER, result, ends, moving, None if is_free else limits, duration is not None, independent
        )
    _warn_of_limits(robot, result, has_loops or any(x.any() for x in rates))
    return result


def _warn_of_limits(robot: Any, trajectory: Trajectory, turning: bool) -> None:
    """Warn if a profile exceeds a position or speed limit between its ends; the warning names the first such joint.

    With ``turning``, joints with one coordinate are checked too. They may exceed limits if the robot is a mechanism, or
    if velocities at the ends are not zero.
    """
    coordinates = [coordinate for coordinate in limited_coordinates(robot.tree) if turning or coordinate.v is None]
    speeds = loop_speeds(robot.tree)
    if not coordinates and not speeds:
        return
    t = np.linspace(trajectory.start_time, trajectory.end_time, _CHECKED)
    q, v, _ = trajectory(t)
    x = limited_values(robot, coordinates, q)
    each = [(coordinate.name, x[:, k], coordinate.lower, coordinate.upper) for k, coordinate in enumerate(coordinates)]
    if speeds:
        w = loop_speed_values(robot, speeds, q, v)
        each += [(coordinate.name, w[:, k], -coordinate.bound, coordinate.bound) for k, coordinate in enumerate(speeds)]
    for name, values, low, high in each:
        worst = values[int(np.argmax(np.maximum(low - values, values - high)))]
        if not low - 1e-6 * (1.0 + abs(low)) <= worst <= high + 1e-6 * (1.0 + abs(high)):
            warnings.warn(
                f"{_CALLER}: {name!r} reaches {worst:.6g} between the ends, outside its limits [{low:.6g}, "
                f"{high:.6g}], which profiles do not hold; plan paths for limits of positions, and time_optimal for "
                "those of speeds",
                LimitWarning,
                stacklevel=levels_up(),
            )
            return


def _configuration(robot: Any, name: str, x: Any) -> np.ndarray:
    """Return a configuration (nq,), on its manifold and within limits.  Raises ValueError."""
    x = stacked_by_joint(robot, _CALLER, name, x, "q", real_array)
    expected = f"{_CALLER}: {name}: expected a configuration of shape ({robot.nq},)"
    result = np.asarray(real_array(expected, x), dtype=float)
    if result.shape != (robot.nq,):
        raise ValueError(f"{expected}, got shape {result.shape}")
    if not np.isfinite(result).all():
        k = int(np.argmin(np.isfinite(result)))
        raise ValueError(f"{expected} of finite numbers, got {result[k]} for {robot.q_names[k]}")
    result = normalized(robot, result)
    coordinates = limited_coordinates(robot.tree)
    for limit, x in zip(coordinates, limited_values(robot, coordinates, result).tolist(), strict=True):
        tolerance = _ROUNDING * (1.0 + abs(x))
        if x < limit.lower - tolerance or x > limit.upper + tolerance:
            raise ValueError(
                f"{_CALLER}: {name}: {limit.name} is {x:.6g}, outside its limits [{limit.lower:.6g}, {limit.upper:.6g}]"
            )
    return result


def _rates(robot: Any, name: str, x: Any) -> np.ndarray:
    """Return a velocity or acceleration (nv,); zeros for None.  Raises ValueError."""
    if x is None:
        return np.zeros(robot.nv)
    x = stacked_by_joint(robot, _CALLER, name, x, "v", real_array)
    expected = f"{_CALLER}: {name}: expected an array of shape ({robot.nv},)"
    result = np.asarray(real_array(expected, x), dtype=float)
    if result.shape not in ((robot.nv,), ()):
        raise ValueError(f"{expected}, got shape {result.shape}")
    if not np.isfinite(result).all():
        raise ValueError(f"{expected} of finite numbers, got a value that is not finite")
    return np.broadcast_to(result, (robot.nv,)).copy()
