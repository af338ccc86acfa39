"""Time-optimal motion along a path, as `time_optimal` returns it, with its plot in the phase plane (s, ṡ).

At a point of the path, limits of second order are l ≤ A s̈ + B ṡ² + C ≤ h, half planes of (s̈, ṡ²).  At the greatest ṡ
for which some s̈ satisfies all limits, an upper bound of s̈ crosses a lower bound of s̈.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.messages import number
from linkwork._util.pictures import Shown
from linkwork._util.plotting import GREY, add_legend, line_style, new_axes, plot_text
from linkwork.motion.timing.limits import LimitSet, MotionLimit, PathConstraints, PathSamples
from linkwork.motion.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from linkwork.kernels.robot_base import RobotBase

__all__ = ["TimedPath", "fastest_speeds"]

_ACTIVE = 0.98  # of a limit: it counts as active
_REST_SHARE = 1e-6  # of the greatest speed: where the motion is slower, the path's derivatives are unknown
_UNLIMITED = 1e29


class _Times(NamedTuple):
    trajectory: Trajectory
    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray


class TimedPath(Shown, _Times, metaclass=WithForeignNames):
    """A path with its time-optimal motion.

    ``s`` (n + 1,) are positions on the path, as times of the path.  If the path is a curve with a time scaling, s is
    the parameter of the curve.  A straight segment inside of which the path rests counts as one of uniform rate. ``t``
    (n + 1,) are the times at these positions [s], and ``speed`` (n + 1,) is ṡ there.  ``acceleration`` is s̈: (n,),
    constant on each segment.  With limits of jerk it is (n + 1,), at positions ``s``, and (nearly) linear in time
    between them.
    """

    _estimate: Callable[[], float] | None = None

    @classmethod
    def estimated(cls, times: Sequence[Any], estimate: Callable[[], float]) -> TimedPath:
        """Return a motion through ``times`` [s]; ``estimate`` computes its `optimality_gap` at the first access."""
        result = cls(*times)
        result._estimate = estimate
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (tuple(self), self.__dict__.get("optimality_gap", nan))

    def __repr__(self) -> str:
        return f"<TimedPath: {number(self.duration)} s in {len(self.t) - 1} segments>"

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return float(self.t[-1])

    @cached_property
    def optimality_gap(self) -> float:
        """Estimate of the time by which the motion is slower than the optimum, because of its finite segments [s].

        It is an estimate, not a bound.  All segments are halved up to three times, until that gains less than 0.1 % of
        the duration; the estimate is the sum of the gains plus the last gain again.  It is exact if the loss is
        proportional to the segments' lengths; mostly the loss falls faster, and the estimate is too large.  With
        limits of jerk the estimate is twice the gain of doubling the segments, plus 5e-4 of the duration for the
        interior-point barrier.  It does not cover that this search is a local one.  It is at most the time by which
        the motion is longer than without limits of jerk.

        The first access plans further motions.  The estimate is inf if no motion is found on shorter segments, and NaN
        for a copied or pickled motion whose estimate was not read before.
        """
        return nan if self._estimate is None else self._estimate()

    @public
    def show(self, **options: Any) -> Any:
        """Show the robot along the motion; see `Trajectory.show` for the arguments and the result."""
        return self.trajectory.show(**options)

    @public
    def plot(
        self,
        axes: Any = None,
        *,
        velocity: Any = None,
        acceleration: Any = None,
        torque: Any = None,
        passive: bool = True,
        actuators: str | Sequence[str] | None = None,
        speed: Mapping[str, float] | None = None,
        limits: Sequence[MotionLimit] = (),
        robot: RobotBase | None = None,
    ) -> Any:
        """Plot ṡ as a function of the position on the path with matplotlib, and return the axes.

        ``robot``, ``velocity``, ``torque``, ``passive`` and ``actuators`` are as in `time_optimal`. If limits of
        `time_optimal` are passed, the plot also shows the greatest speed that they allow at each position for any
        acceleration; colours show the active limit.  Damping and friction are computed at the motion's own speed.
        """
        limit_set = None
        has_second_order = acceleration is not None or not (torque is None or torque is False) or len(limits) > 0
        if has_second_order or velocity is not None or speed:
            robot = self.trajectory.robot if robot is None else robot
            acceleration = acceleration if has_second_order else np.inf
            bounds = velocity, acceleration, torque, speed, limits
            limit_set = LimitSet.read("plot", self.trajectory, robot, *bounds, passive=passive, actuators=actuators)
        return _plot_phase_plane(self, limit_set, axes)


add_foreign_names(TimedPath, "motion.TimedPath")


def _restored(times: Sequence[Any], gap: float) -> TimedPath:
    return TimedPath.estimated(times, lambda: gap)


# -- the phase plane


def _plot_phase_plane(timed: Any, limit_set: Any, axes: Any) -> Any:
    """Plot speed against position, and with limits the greatest speed that they allow and the active limit."""
    axes = new_axes(1, (8.0, 4.0)) if axes is None else axes
    axes.plot(timed.s, timed.speed, color=GREY, linewidth=1.5)
    top = 1.15 * float(timed.speed.max())
    if limit_set is not None:
        s, speed, rate, path = _midpoint_states(timed)
        constraints = limit_set.constraints("plot", path)
        if limit_set.resistance is not None:
            resistance = limit_set.resistance.resistance(path.q, path.first * speed[:, None, None])[:, 0]
            constraints = limit_set.resisted(constraints, resistance, resistance)
        fastest = fastest_speeds(path, constraints, limit_set.velocity)
        finite = np.where(fastest < _UNLIMITED, fastest, np.nan)
        axes.plot(s, finite, color="0.2", linewidth=0.8, linestyle="--", label="speed limit")
        axes.fill_between(s, finite, 1e3 * top, color=GREY, alpha=0.12, linewidth=0.0)
        shares, names = _shares(path, constraints, limit_set, speed, rate)
        active = np.where(shares.max(axis=-1) >= _ACTIVE, shares.argmax(axis=-1), -1)
        for index, k in enumerate(np.unique(active[active >= 0])):
            limited = np.where(active == k, speed, np.nan)
            axes.plot(s, limited, label=plot_text(names[k]), **(line_style(index) | {"linewidth": 2.5}))
        if np.isfinite(finite).any():
            top = max(top, min(1.15 * float(np.nanmax(finite)), 2.0 * top))
        add_legend(axes, columns=3)
    axes.set_xlabel("path position s")
    axes.set_ylabel("ds/dt [1/s]")
    axes.set_ylim(0.0, top)
    return axes


def _midpoint_states(timed: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, PathSamples]:
    """Return s (n,), ṡ, s̈ and the path's samples (n, 1, ...) in the middle of segments.

    Segments on which the motion rests are left out.
    """
    h = np.diff(timed.t)
    u = timed.acceleration
    first, last = (u, u) if len(u) == len(h) else (u[:-1], u[1:])
    rate = 0.5 * (first + last)
    speed = timed.speed[:-1] + h * (0.5 * first + 0.125 * (last - first))
    s = timed.s[:-1] + h * (0.5 * timed.speed[:-1] + h * (0.125 * first + (last - first) / 48.0))
    moving = speed > _REST_SHARE * timed.speed.max()
    s, speed, rate = s[moving], speed[moving], rate[moving]
    q, v, a = timed.trajectory(timed.t[:-1][moving] + 0.5 * h[moving])
    once = v / speed[:, None]
    twice = (a - once * rate[:, None]) / speed[:, None] ** 2
    return s, speed, rate, PathSamples(q[:, None], once[:, None], twice[:, None])


def fastest_speeds(path: PathSamples, constraints: PathConstraints, velocity: Any) -> np.ndarray:
    """Return the greatest ṡ (n,) at each of n positions for which some s̈ satisfies all constraints.

    ``velocity`` are the lower and upper limits of v.
    """
    once = path.first[:, 0]
    low, high = velocity
    with np.errstate(divide="ignore"):
        fastest = np.where(once > 0.0, high / once, np.where(once < 0.0, low / once, np.inf)).min(
            axis=-1, initial=np.inf
        )
        if constraints.speeds is not None:
            lengths = np.linalg.norm(constraints.speeds[:, 0], axis=-1)
            fastest = np.minimum(fastest, (constraints.fastest / lengths).min(axis=-1))
    A, B = constraints.first[:, 0], constraints.second[:, 0]
    C = np.zeros_like(A) if constraints.at_rest is None else constraints.at_rest[:, 0]
    # constraints a s̈ + b ṡ² <= c
    a, b = np.concatenate([A, -A], axis=-1), np.concatenate([B, -B], axis=-1)
    c = np.concatenate([constraints.upper - C, C - constraints.lower], axis=-1)
    c = np.where(c < _UNLIMITED, c, np.inf)
    small = np.abs(a) <= 1e-12 * np.maximum(np.abs(a).max(axis=-1, keepdims=True), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.where(small & (b > 0.0), c / b, np.inf).min(axis=-1)
        slope, side = np.where(small, 0.0, b / a), c / a
        up, down = ~small & (a > 0.0), ~small & (a < 0.0)
        steep = slope[:, :, None] - slope[:, None, :]
        room = side[:, :, None] - side[:, None, :]
        crossing = np.where(up[:, :, None] & down[:, None, :] & (steep > 0.0), room / steep, np.inf)
    square = np.minimum(square, crossing.min(axis=(1, 2)))
    result: np.ndarray = np.minimum(fastest, np.sqrt(np.maximum(square, 0.0)))
    return result


def _shares(
    path: PathSamples, constraints: PathConstraints, limit_set: Any, speed: np.ndarray, rate: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Return the fraction of each limit that a motion uses (n, limits), and the names of the limits.

    The motion has ṡ ``speed`` (n,) and s̈ ``rate`` (n,).
    """
    v = path.first[:, 0] * speed[:, None]
    parts, names = [_share(v, *limit_set.velocity)], [f"velocity of {name}" for name in limit_set.names]
    value = constraints.first[:, 0] * rate[:, None] + constraints.second[:, 0] * speed[:, None] ** 2
    if constraints.at_rest is not None:
        value = value + constraints.at_rest[:, 0]
    parts.append(_share(value, constraints.lower, constraints.upper))
    if limit_set.acceleration is not None:
        names += [f"acceleration of {name}" for name in limit_set.names]
    left = value.shape[-1] - (len(limit_set.names) if limit_set.acceleration is not None else 0)
    forces = [] if limit_set.forces is None else [limit_set.names[k] for k in limit_set.forces.indices]
    for limit in limit_set.custom:
        limited = forces if limit is limit_set.torque else None
        count = np.size(limit.upper) if len(limit_set.custom) > 1 else left
        names += [f"{limit.name} of {name}" for name in limited] if limited is not None else [limit.name] * int(count)
    count = sum(part.shape[-1] for part in parts)
    names = [*names, *["limit"] * (count - len(names))][:count]
    if constraints.speeds is not None:
        parts.append(np.linalg.norm(constraints.speeds[:, 0], axis=-1) * speed[:, None] / constraints.fastest)
        names += [f"speed of {name}" for name in limit_set.speed_names]
    return np.concatenate(parts, axis=-1), names


def _share(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(high > 0.0, x / np.where(high > 0.0, high, 1.0), 0.0)
        down = np.where(low < 0.0, x / np.where(low < 0.0, low, -1.0), 0.0)
    result: np.ndarray = np.maximum(up, down)
    return result
