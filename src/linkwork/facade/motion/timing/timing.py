"""The fastest motion along a path within limits, as people ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...._arguments import public
from ...._printing import number
from ....algorithms.motion.curves import Clock
from ..clocks import clocked
from ..section import frozen
from ..trajectory import Trajectory
from .asked import MotionAsked, count_of, part_of, speed_of_end
from .beneath import Beneath, beneath, evened, stands_still
from .grid import again, beside, grid, jumps
from .jerk import with_jerk
from .limits import MotionLimit
from .picture import plot_phase_plane
from .quick import QuickMotion, is_quick, quick
from .sweeps import Blocked, Grid, times_of

if TYPE_CHECKING:
    from ...robot.robot import Robot

__all__ = ["TimedPath", "time_optimal"]

_BEND = 1e-6  # of the path's second derivative: a jump of it
_LONG = 2.0  # times the time without limits of jerk
_RESTS = 1e-9  # [rad/s, m/s] of q': what is slower has no direction
_FINEST = 6400  # segments


@public
class TimedPath(NamedTuple):
    """A path in the least time, and how it is run through.

    ``s`` (n + 1,) are places on the path, its own times, or those of the curve beneath where it is one that was run
    through otherwise already; ``t`` when they are passed [s], ``speed`` ṡ there, and ``acceleration`` s̈: (n,) that of
    segments, or within limits of jerk (n + 1,) that at s, which is linear in time between, or nearly so.
    """

    trajectory: Trajectory
    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray

    def __repr__(self) -> str:
        return f"<TimedPath: {number(self.duration)} s in {len(self.t) - 1} segments>"

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

        With limits, any of those that `time_optimal` made it with, it shows the greatest speed that they allow at
        each place, whatever the acceleration is, and by colour which of them holds the motion back.
        """
        asked = None
        of_second_order = acceleration is not None or not (torque is None or torque is False) or len(limits) > 0
        if of_second_order or velocity is not None or speed:
            robot = self.trajectory.robot if robot is None else robot
            acceleration = acceleration if of_second_order else np.inf
            asked = MotionAsked.read("plot", self.trajectory, robot, velocity, acceleration, torque, speed, limits)
        return plot_phase_plane(self, asked, axes)


@public
def time_optimal(
    path: Trajectory | Sequence[Trajectory],
    *,
    velocity: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    acceleration: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    jerk: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    torque: bool | ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    speed: Mapping[str, float] | None = None,
    limits: Sequence[MotionLimit] = (),
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    robot: Robot | None = None,
    points: int = 400,
    passes: int = 2,
    tolerance: float | None = 1e-6,
) -> Any:
    """The way of a path in the least time within limits: how fast it was run through before does not matter.

    ``velocity`` [rad/s, m/s] are limits of v: a number, numbers (nv,), a pair (lower, upper), or a dict of these by
    joint; the robot's if they are left out.  ``acceleration`` [rad/s², m/s²] are limits of a, and ``torque`` those of
    the robot's joint forces [N·m, N], True for the robot's own; one of them has to be given.  ``jerk`` [rad/s³, m/s³]
    are limits of the derivative of a, which then has no jumps: s̈ is 0 where the motion rests, and as it may at an end
    with a speed.  ``speed`` says by frame how fast its origin may move [m/s].  ``limits`` are one's own, of second
    order.  ``robot`` is the one whose dynamics and frames count, the path's if it is left out: the same with a payload,
    for example.  ``start_speed`` and ``end_speed`` are ṡ at the path's ends, 1 being as fast as the path itself.

    All limits hold at all times, not at points of the path: those of v and a along a path of polynomial pieces by
    control points of the polynomials that they are; others, those of jerk among them, to a part ``tolerance`` of
    theirs, by the control points of polynomials that agree with them at nine times of each segment.  Where they are
    passed they are made narrower and the motion made anew; None leaves that away, but for jerk.  The grid has at least
    ``points`` segments; after the first of ``passes`` they are made anew, of equal times; along polynomials of degree
    three, without jerk, passes before the last have a quarter of them where that tells enough.  At corners of the path
    the motion stops, and within limits of jerk where its curvature jumps.

    It is a `TimedPath`; of several paths, of the same robot or as many numbers, a list of them, each as it would be
    alone: those of polynomials of degree three within limits of v and a alone are found side by side in one kernel.

    Raises ValueError where a limit is not one, where a joint that may not move does, and where no speed obeys them all.

    Sources: Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis, 2018;
    Debrouwere and others, Time-optimal path following for robots with convex-concave constraints using sequential
    convex programming, 2013.
    """
    who = "time_optimal"
    paths = [path] if isinstance(path, Trajectory) else _several(who, path)
    if not paths:
        return []
    first = paths[0]
    robot = first.robot if robot is None else robot
    asked = MotionAsked.read(who, first, robot, velocity, acceleration, torque, speed, limits, jerk)
    ends = [speed_of_end(who, name, x) for name, x in (("start_speed", start_speed), ("end_speed", end_speed))]
    points, passes = count_of(who, "points", points), count_of(who, "passes", passes)
    tolerance = part_of(who, "tolerance", tolerance)
    names = [who] if len(paths) == 1 else [f"{who}: path {k}" for k in range(len(paths))]
    found: list[Any] = [None] * len(paths)
    together: list[tuple[int, Beneath]] = []
    for k, one in enumerate(paths):
        under = beneath(one)
        if not asked.own and stands_still(under.path):
            found[k] = _still(under.path)
        elif [x * rate for x, rate in zip(ends, under.rates, strict=True)] == ends and is_quick(under.path, asked):
            together.append((k, under))
        else:
            found[k] = _timed(names[k], evened(under), asked, ends, points, passes, tolerance)
    if together:
        made = quick([under.path for _, under in together], asked, ends, points, passes, tolerance)
        for (k, under), motion in zip(together, made, strict=True):
            # where there is none, the long way says why; where it rests inside, whether it has to
            even = under
            if motion.blocked >= 0 or motion.speed[1:-1].min() <= 0.0:
                even = evened(under)
            if motion.blocked >= 0 or even is not under:
                found[k] = _timed(names[k], even, asked, ends, points, passes, tolerance)
            else:
                found[k] = _of(under.path, motion)
    return found[0] if isinstance(path, Trajectory) else found


def _several(who: str, given: Any) -> list[Trajectory]:
    """Paths of the same coordinates.  Raises TypeError and ValueError."""
    paths = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    for k, path in enumerate(paths):
        if not isinstance(path, Trajectory):
            where = f" {k}" if len(paths) > 1 else ""
            raise TypeError(f"{who}: path{where}: expected a trajectory, got {path!r}")
        if path.robot != paths[0].robot or (path.nq, path.nv) != (paths[0].nq, paths[0].nv):
            raise ValueError(f"{who}: path {k}: expected one of the same as path 0, {paths[0]!r}, got {path!r}")
    return paths


def _still(path: Trajectory) -> TimedPath:
    """Where nothing moves: it takes no time."""
    s, nothing = np.array([path.start_time, path.end_time]), np.zeros(2)
    clock = Clock(frozen(nothing[:1]), frozen(s[:1, None]))
    made = Trajectory([path.sections[0].run_by(clock, 0.0, 0.0)], path.robot)
    return TimedPath(made, s, nothing, nothing, nothing[:1])


def _of(path: Trajectory, motion: QuickMotion) -> TimedPath:
    made = path.sections[0].run_by(Clock(frozen(motion.t[:-1]), frozen(motion.clock)), 0.0, float(motion.t[-1]))
    return TimedPath(Trajectory([made], path.robot), motion.s, motion.t, motion.speed, motion.acceleration)


def _timed(
    who: str,
    under: Beneath,
    asked: MotionAsked,
    ends: Sequence[float],
    points: int,
    passes: int,
    tolerance: float | None,
) -> TimedPath:
    """Of one path, whose ṡ at both ends is given.  Raises ValueError."""
    path, given = under.path, ends
    ends = [x * rate for x, rate in zip(ends, under.rates, strict=True)]
    knots = path.knots
    stops = knots[_corners(path, knots, bends=asked.jerk is not None)]
    while True:
        try:
            s, x, u = _swept(who, path, asked, knots, stops, ends, points, passes, tolerance)
            break
        except Blocked as error:
            if points < _FINEST and tolerance is not None and error.refined:
                points *= 2
                continue
            raise ValueError(error.told(who, given[0])) from None
    if asked.jerk is not None:
        part = 1e-6 if tolerance is None else tolerance
        motion = with_jerk(who, path, asked, (s, x, u), stops, points, passes, ends, part)
        every = knots[_corners(path, knots, bends=True, along=True)]
        if motion.t[-1] > _LONG * times_of(s, x)[-1] and len(every) > len(stops):
            # near where the path turns back a jump along it may be harder to pass than to rest at
            again_from = _swept(who, path, asked, knots, every, ends, points, passes, tolerance)
            other = with_jerk(who, path, asked, again_from, every, points, passes, ends, part)
            motion = min(motion, other, key=lambda found: float(found.t[-1]))
        clock = Clock(motion.t[:-1], motion.pieces)
        sections = clocked(path.sections, clock, motion.t, motion.s)
        places = under.places(motion.s, motion.speed, motion.acceleration)
        return TimedPath(Trajectory(sections, path.robot), places[0], motion.t, *places[1:])
    t = times_of(s, x)
    clock = Clock(t[:-1], np.stack([s[:-1], np.sqrt(x[:-1]), 0.5 * u], axis=-1))
    made = Trajectory(clocked(path.sections, clock, t, s), path.robot)
    places = under.places(s, np.sqrt(x), u)
    return TimedPath(made, places[0], t, *places[1:])


def _swept(
    who: str,
    path: Trajectory,
    asked: MotionAsked,
    knots: np.ndarray,
    stops: np.ndarray,
    ends: Sequence[float],
    points: int,
    passes: int,
    tolerance: float | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """s, x and u of the fastest motion, within all limits but those of jerk."""
    s = grid(knots, points)
    for left in range(passes - 1, -1, -1):
        made = Grid(who, path, asked, s, stops)
        x, u = made.swept(ends, tolerance if not left else None)
        if left:
            s = again(knots, s, times_of(s, x), x, u)
    return s, x, u


def _corners(path: Trajectory, knots: np.ndarray, *, bends: bool, along: bool = False) -> np.ndarray:
    """The inner knots (as places among them) at which the path's direction jumps, or with ``bends`` its curvature: what
    jumps along the path alone is no corner of it, unless that counts as well."""
    inner, before, after = beside(path, knots)
    if not len(inner):
        return inner
    corners = jumps(before.v, after.v)
    if bends:
        a, b = (state.a if along else _across(state.v, state.a) for state in (before, after))
        inside = np.abs(path(0.5 * (knots[1:] + knots[:-1])).a).max(-1)  # where it may be 0 at knots alone
        size = np.max([np.abs(before.a).max(-1), np.abs(after.a).max(-1), inside[:-1], inside[1:]], axis=0)
        corners |= jumps(a, b, _BEND, size)
    found: np.ndarray = inner[corners]
    return found


def _across(v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The part of accelerations (..., nv) that is not along the velocities; all of those where nothing moves."""
    square = (v * v).sum(axis=-1, keepdims=True)
    found: np.ndarray = a - v * (v * a).sum(axis=-1, keepdims=True) / np.where(square > _RESTS**2, square, np.inf)
    return found
