"""Profiles of plain numbers: `profile` gives a trajectory, `ProfileFunction` the numbers of one or many.

Profiles of a robot's configurations: joints whose configurations add up by their numbers, others along one line.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public, quick
from linkwork._util.validation import finite_array, integer
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.kernels.array_arguments import real_array, stacked
from linkwork.model.function_spec import quantity_of
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.arguments import velocity_slices
from linkwork.motion.profiles.arguments import AskedProfile, in_lines, read_limits, read_options, solved, still_joints
from linkwork.motion.profiles.profile_kinds import STATES, ProfileNumbers, profile_kernel
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
    """The motion of n numbers from one state to another, within limits, as a trajectory.

    q0, q1 (n,) or numbers; v0, v1 and a0, a1 (n,) are the velocities and accelerations at both ends.  Kinds:

    - ``"jerk"``: in the least time within limits of velocity, acceleration and jerk;
    - ``"trapezoid"``: in the least time within limits of velocity and acceleration; a0 and a1 do not count;
    - ``"minimum_jerk"``, ``"quintic"``: the polynomial of degree five, of which ∫ jerk² is least in its duration: the
      given one, or the first that keeps the limits.

    ``velocity``, ``acceleration``, ``jerk`` are limits: a number or (n,) both ways, or a pair (lower, upper); those
    that are left out, or infinite, are none.  ``synchronize="time"`` lets all end together, in the least time in which
    all can; ``"phase"`` keeps them on the straight line from q0 to q1; with None each takes its own least time, and
    waits.  With a ``duration`` [s] they take exactly so long.

    >>> import linkwork as lw
    >>> way = lw.motion.profile([0.0, 0.0], [1.0, -0.2], velocity=1.0, acceleration=2.0, jerk=8.0)
    >>> round(way.duration, 12), way(way.duration).q.round(12).tolist()
    (1.75, [1.0, -0.2])

    Raises ValueError, with the reason, where there is no such motion; UnknownNameError for another kind.
    """
    caller = "profile"
    result, order, seconds = read_options(caller, kind, synchronize, duration)
    states = read_states(caller, (q0, q1, v0, v1, a0, a1))
    names = [f"coordinate {k}" for k in range(len(states[0]))]
    given = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    limits = read_limits(caller, result, names, given, None)
    if not result.accelerations:
        states = (*states[:4], np.zeros(len(names)), np.zeros(len(names)))
    return trajectory_of(solved(AskedProfile(caller, names, result, states, limits, order, seconds)))


def read_states(caller: str, value: Any) -> tuple[np.ndarray, ...]:
    """q0, q1, v0, v1, a0, a1 as arrays (n,).  Raises ValueError for what is none, or not finite."""
    arrays = []
    for name, x in zip(STATES, value, strict=True):
        refuse_symbols(caller, name, x)
        result = np.asarray(
            real_array(f"{caller}: {name}: expected a number or an array of shape (n,)", x), dtype=float
        )
        if result.ndim > 1:
            raise ValueError(
                f"{caller}: {name}: expected a number or an array of shape (n,), got shape {result.shape}; "
                f"linkwork.motion.ProfileFunction takes many at once"
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
    """Raises TypeError, in a function that is being compiled."""
    if is_traced(x):
        raise TypeError(
            f"{caller}: {name}: expected numbers, got symbols: a profile's pieces follow from its "
            f"numbers; in a function "
            f"that is compiled take linkwork.motion.ProfileFunction, whose results are symbols, too"
        )


def trajectory_of(numbers: ProfileNumbers, robot: Any = None, base: np.ndarray | None = None) -> Trajectory:
    """The trajectory of one profile; coordinates that end early stand still."""
    durations, times, coefficients, _ = numbers
    last = float(durations.max())
    breaks, rows = [], []
    for T, t, c in zip(durations, times, coefficients, strict=True):
        h = np.diff(t)
        if last <= 0.0:
            t, c, h = np.array([0.0, 1.0]), c[-1:], np.array([1.0])
        long = h > 1e-14 * last
        kept = np.flatnonzero(long)
        if last - T > 1e-14 * last:
            u = h[kept[-1]] if len(kept) else 0.0
            end = np.zeros(c.shape[1])
            end[0] = np.polynomial.polynomial.polyval(u, c[kept[-1]]) if len(kept) else c[0, 0]
            breaks.append(np.array([*t[kept], T if len(kept) else 0.0, last]))
            rows.append(np.array([*c[kept], end]))
            continue
        breaks.append(np.array([*t[kept], last if last > 0.0 else 1.0]))
        rows.append(c[kept])
    return Trajectory.by_coordinate(breaks, rows, robot=robot, base=base, start=0.0, end=max(last, 0.0))


@public
class ProfileFunction:
    """Profiles of n numbers with the same limits and options, as numbers: one call for one or many.

    Limits and options are those of `linkwork.motion.profile`; ``synchronize`` is "time" or None.

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
            raise ValueError(f'{caller}: synchronize: expected "time" or None, got "phase": profile() takes that')
        n = integer(caller, "n", n, least=1, what="how many coordinates there are, a whole number")
        names = [f"coordinate {k}" for k in range(n)]
        given = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        limits = read_limits(caller, result, names, given, None)
        zeros = np.zeros(n)
        still = still_joints(caller, names, [zeros] * 6, limits)
        if still.any():
            at = names[int(np.argmax(still))]
            raise ValueError(f"{caller}: velocity, acceleration and jerk: {at}: expected limits above 0, got 0")
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
    ) -> ProfileNumbers:
        """The profiles from q0 to q1 (..., n), with velocities and accelerations (..., n) at both ends, 0 if left out.

        Nothing is raised where there is no profile: its ``status`` says so.
        """
        zeros = self._zeros
        given = (q0, q1, *(zeros if x is None else x for x in (v0, v1, a0, a1)))
        try:
            result: ProfileNumbers = self._kernel(*given, *self._limits)
        except (TypeError, ValueError, OverflowError):
            for name, x in zip(STATES, given, strict=True):
                finite_array("ProfileFunction", name, x, infinite=True)
                if np.shape(x)[-1:] != (self.n,):
                    raise ValueError(
                        f"ProfileFunction: {name}: expected an array of shape (..., {self.n}), got shape {np.shape(x)}"
                    ) from None
            result = self._kernel(*map(np.asarray, given), *self._limits)
        return result

    def __repr__(self) -> str:
        return f"<ProfileFunction of {self.n} numbers: {self.kind}, synchronize={self.synchronize!r}>"


_WHO = "profile"
_ROUNDING = 1e-9  # by which a configuration may be beyond its limits
_CURVED = (
    "a motion of a joint whose configurations are no plain numbers goes along the velocity that leads from q0 to q1, "
    "and so do velocities and accelerations at its ends"
)


def robot_profile(
    robot: Any,
    states: tuple[Any, ...],
    options: tuple[Any, Any, Any],
    given: dict[str, Any],
) -> Trajectory:
    """The trajectory from q0, v0, a0 to q1, v1, a1; see `Robot.profile`."""
    kind, synchronize, duration = read_options(_WHO, *options)
    if not robot.nv:
        raise ValueError(f"{_WHO}: robot: expected at least one degree of freedom, got {robot.name!r}, which has none")
    for name, x in zip(STATES, states, strict=True):
        refuse_symbols(_WHO, name, x)
    q0, q1 = (_configuration(robot, name, x) for name, x in zip(("q0", "q1"), states[:2], strict=True))
    rates = [_rates(robot, name, x) for name, x in zip(("v0", "v1", "a0", "a1"), states[2:], strict=True)]
    space = CurveSpace.of(robot.tree)
    way = np.asarray(robot.difference(q0, nearer_turns(robot, q0, q1)), dtype=float)
    names = list(robot.v_names)
    limits = read_limits(_WHO, kind, names, given, velocity_slices(robot))
    if given["velocity"] is None:
        limits = limits._replace(velocity_up=robot.velocity_limits, velocity_down=robot.velocity_limits)
    if not kind.accelerations:
        rates[2:] = [np.zeros(robot.nv)] * 2
    plain = {place.v for place in space.joints if place.is_plain}
    along = (np.zeros(robot.nv), way, *rates)
    if space.is_plain:
        along = (q0, q0 + way, *rates)
    asked = AskedProfile(_WHO, names, kind, along, limits, synchronize, duration)
    if space.is_plain or synchronize == "phase":
        numbers = solved(asked)
    else:
        groups: list[np.ndarray] = []
        for place in space.joints:
            own = np.arange(robot.nv)[place.in_v]
            groups += [np.array([k]) for k in own] if place.v in plain else [own] if len(own) else []
        numbers = in_lines(asked, groups, _CURVED)
    return trajectory_of(numbers, robot, np.zeros(robot.nq) if space.is_plain else q0)


def _configuration(robot: Any, name: str, x: Any) -> np.ndarray:
    """A configuration (nq,) on its manifold and within limits."""
    if isinstance(x, dict):
        x = stacked(robot._subject, quantity_of("q"), x, real_array)
    expected = f"{_WHO}: {name}: expected a configuration of shape ({robot.nq},)"
    result = np.asarray(real_array(expected, x), dtype=float)
    if result.shape != (robot.nq,):
        raise ValueError(f"{expected}, got shape {result.shape}")
    if not np.isfinite(result).all():
        k = int(np.argmin(np.isfinite(result)))
        raise ValueError(f"{expected} of finite numbers, got {result[k]} for {robot.q_names[k]}")
    result = np.asarray(robot.normalize(result))
    lower, upper = robot.lower, robot.upper
    room = _ROUNDING * (1.0 + np.abs(result))
    bad = (result < lower - room) | (result > upper + room)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"{_WHO}: {name}: {robot.q_names[k]} is {result[k]:.6g}, outside of its limits [{lower[k]:.6g}, "
            f"{upper[k]:.6g}]"
        )
    return result


def _rates(robot: Any, name: str, x: Any) -> np.ndarray:
    """A velocity or acceleration (nv,)."""
    if x is None:
        return np.zeros(robot.nv)
    if isinstance(x, dict):
        x = stacked(robot._subject, quantity_of("v"), x, real_array)
    expected = f"{_WHO}: {name}: expected an array of shape ({robot.nv},)"
    result = np.asarray(real_array(expected, x), dtype=float)
    if result.shape not in ((robot.nv,), ()):
        raise ValueError(f"{expected}, got shape {result.shape}")
    if not np.isfinite(result).all():
        raise ValueError(f"{expected} of finite numbers, got one that is not finite")
    return np.broadcast_to(result, (robot.nv,)).copy()
