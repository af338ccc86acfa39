"""Time-optimal timing of a path within limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import integer
from linkwork.motion.algorithms.curves import Clock
from linkwork.motion.timing.jerk_limited import SmoothMotion, with_jerk
from linkwork.motion.timing.limits import MotionAsked, MotionLimit, part_of, speed_of_end
from linkwork.motion.timing.path_geometry import (
    GeometricPath,
    beneath,
    corners,
    evened,
    may_rest_inside,
    stands_still,
    straightened,
)
from linkwork.motion.timing.timed_path import TimedPath
from linkwork.motion.timing.toppra import (
    POINTS,
    Blocked,
    TimingQuery,
    gap_of_grid,
    pieces_of,
    swept,
    swept_finely,
    times_of,
)
from linkwork.motion.timing.toppra_single_kernel import KernelMotion, fits_single_kernel, motions_by_single_kernel
from linkwork.motion.trajectory.time_scaling import clocked
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_segment import frozen

if TYPE_CHECKING:
    from linkwork.kernels.robot_base import RobotBase

__all__ = ["TimedPath", "time_optimal"]

_LONG = 2.0  # times the time without limits of jerk
_FINEST = 6400  # segments
_BEGUN = 16  # segments of a piece of the motion that those within limits of jerk begin with
_BARRIER = 5e-4  # of the duration: what the barrier to limits leaves of it, about
_QUICK, _OF_A_PIECE = 400, 20  # segments of one kernel at most, and those of a cubic by which it is looked at well


@public
def time_optimal(
    path: Trajectory | Sequence[Trajectory],
    *,
    velocity: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    acceleration: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    jerk: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    torque: bool | ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    speed: Mapping[str, float] | None = None,
    motion_limits: Sequence[MotionLimit] = (),
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    robot: RobotBase | None = None,
    num_points: int | None = None,
    num_passes: int = 2,
    tolerance: float | None = 1e-6,
) -> Any:
    """The way of a path in the least time within limits: how fast it was run through before does not matter.

    ``velocity`` [rad/s, m/s] are limits of v: a number, numbers (nv,), a pair (lower, upper), or a dict of these by
    joint; the robot's if they are left out.  ``acceleration`` [rad/s², m/s²] are limits of a, and ``torque`` those of
    the robot's joint forces [N·m, N], True for the robot's own; one of them has to be given.  ``jerk`` [rad/s³, m/s³]
    are limits of the derivative of a, which then has no jumps: s̈ is 0 where the motion rests, and as it may at an end
    with a speed.  ``speed`` says by frame how fast its origin may move [m/s].  ``motion_limits`` are one's own, of
    second order.  ``robot`` is the one whose dynamics and frames count, the path's if it is left out: the same with a
    payload, for example.  ``start_speed`` and ``end_speed`` are ṡ at the path's ends, 1 being as fast as the path
    itself.

    All limits hold at all times, not at points of the path: those of v and a along a path of polynomial pieces by
    control points of the polynomials that they are; others, those of jerk among them, to a part ``tolerance`` of
    theirs, by the control points of polynomials that agree with them at nine times of each segment.  Where they are
    passed they are made narrower and the motion made anew; None leaves that away, but for jerk.  The motion is made on
    segments of the path.  Their number follows the path, 400 at least: it grows with the number of the path's pieces,
    and doubles while that gains more than 1 % of the time.  With ``num_points`` there are about so many.  Within
    limits of jerk there are 200 at least between two stops, and those on which limits would be passed between their
    ends are halved besides.  `TimedPath.optimality_gap` estimates what they leave.  After the first of
    ``num_passes`` segments are made anew, of equal times; those of passes before the last may be fewer.  At corners of
    the path the motion stops, and within limits of jerk where its curvature jumps.  Where the path rests inside of a
    straight piece the motion does not have to.

    It is a `TimedPath`; of several paths, of the same robot or as many numbers, a list of them, each as it would be
    alone: those of polynomials of degree three within limits of v and a alone are found side by side in one kernel.

    Raises ValueError where a limit is not one, where a joint that may not move does, and where no speed obeys them all.

    Sources: Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis, 2018;
    Debrouwere and others, Time-optimal path following for robots with convex-concave constraints using sequential
    convex programming, 2013.
    """
    caller = "time_optimal"
    paths = [path] if isinstance(path, Trajectory) else _several(caller, path)
    if not paths:
        return []
    first = paths[0]
    robot = first.robot if robot is None else robot
    asked = MotionAsked.read(caller, first, robot, velocity, acceleration, torque, speed, motion_limits, jerk)
    ends = [speed_of_end(caller, name, x) for name, x in (("start_speed", start_speed), ("end_speed", end_speed))]
    num_points = None if num_points is None else integer(caller, "num_points", num_points, least=1, what="an integer")
    num_passes = integer(caller, "num_passes", num_passes, least=1, what="an integer")
    tolerance = part_of(caller, "tolerance", tolerance)
    names = [caller] if len(paths) == 1 else [f"{caller}: path {k}" for k in range(len(paths))]
    result: list[Any] = [None] * len(paths)
    together: list[tuple[int, GeometricPath]] = []
    for k, one in enumerate(paths):
        under = beneath(one)
        if not asked.own and stands_still(under.path):
            result[k] = _still(under.path)
            continue
        of_one_kernel = fits_single_kernel(under.path, asked) and _is_short(under.path, num_points)
        if of_one_kernel and may_rest_inside(under.path):
            under = straightened(under)
        if of_one_kernel and [x * rate for x, rate in zip(ends, under.rates, strict=True)] == ends:
            together.append((k, under))
        else:
            result[k] = _timed(names[k], evened(straightened(under)), asked, ends, num_points, num_passes, tolerance)
    if together:
        many = POINTS if num_points is None else num_points
        made = motions_by_single_kernel([under.path for _, under in together], asked, ends, many, num_passes, tolerance)
        for (k, under), motion in zip(together, made, strict=True):
            # where there is none, the long way says why; where it rests inside, whether it has to
            even = under
            if motion.blocked >= 0 or motion.speed[1:-1].min() <= 0.0:
                even = evened(straightened(under))
            if motion.blocked >= 0 or even is not under:
                result[k] = _timed(names[k], even, asked, ends, num_points, num_passes, tolerance)
            else:
                result[k] = _of(under.path, motion, asked, ends)
    return result[0] if isinstance(path, Trajectory) else result


def _several(caller: str, value: Any) -> list[Trajectory]:
    """Paths of the same coordinates.  Raises TypeError and ValueError."""
    paths = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    for k, path in enumerate(paths):
        if not isinstance(path, Trajectory):
            where = f" {k}" if len(paths) > 1 else ""
            raise TypeError(f"{caller}: path{where}: expected a trajectory, got {path!r}")
        if path.robot != paths[0].robot or (path.nq, path.nv) != (paths[0].nq, paths[0].nv):
            raise ValueError(f"{caller}: path {k}: expected one of the same as path 0, {paths[0]!r}, got {path!r}")
    return paths


def _still(path: Trajectory) -> TimedPath:
    """Where nothing moves: it takes no time."""
    s, nothing = np.array([path.start_time, path.end_time]), np.zeros(2)
    clock = Clock(frozen(nothing[:1]), frozen(s[:1, None]))
    made = Trajectory([path.sections[0].run_by(clock, 0.0, 0.0)], path.robot)
    return TimedPath.estimated((made, s, nothing, nothing, nothing[:1]), lambda: 0.0)


def _is_short(path: Trajectory, points: int | None) -> bool:
    """Whether the one kernel has segments enough for a path of cubics."""
    pieces = len(path.sections[0].arrays["starts"])
    return max(points or POINTS, (_OF_A_PIECE if points is None else 2) * pieces) <= _QUICK


def _of(path: Trajectory, motion: KernelMotion, asked: MotionAsked, ends: Sequence[float]) -> TimedPath:
    duration = float(motion.t[-1])
    made = path.sections[0].run_by(Clock(frozen(motion.t[:-1]), frozen(motion.clock)), 0.0, duration)

    def gap() -> float:
        query = TimingQuery("", path, asked, path.knots[corners(path, path.knots, bends=False)], ends, 1, None)
        return gap_of_grid(query, motion.s, duration)

    times = Trajectory([made], path.robot), motion.s, motion.t, motion.speed, motion.acceleration
    return TimedPath.estimated(times, gap)


def _timed(
    caller: str,
    under: GeometricPath,
    asked: MotionAsked,
    ends: Sequence[float],
    points: int | None,
    passes: int,
    tolerance: float | None,
) -> TimedPath:
    """Of one path, whose ṡ at both ends is given.  Raises ValueError."""
    path, given = under.path, ends
    ends = [x * rate for x, rate in zip(ends, under.rates, strict=True)]
    knots = path.knots
    stops = knots[corners(path, knots, bends=asked.jerk is not None)]
    query = TimingQuery(caller, path, asked, stops, ends, passes, tolerance)
    search, wanted = swept_finely if points is None and asked.jerk is None else swept, points
    points = POINTS if points is None else points
    if wanted is None and asked.jerk is not None:
        points = max(points, _BEGUN * (len(knots) - 1))
    while True:
        try:
            s, x, u = search(query, points)
            break
        except Blocked as error:
            if points < _FINEST and tolerance is not None and error.refined:
                points *= 2
                continue
            raise ValueError(f"{error.told(caller, given[0])}; {_remedy(asked)}") from None
    if asked.jerk is not None:
        motion = with_jerk(query, (s, x, u), wanted)
        every = knots[corners(path, knots, bends=True, along=True)]
        if motion.t[-1] > _LONG * times_of(s, x)[-1] and len(every) > len(stops):
            # near where the path turns back a jump along it may be harder to pass than to rest at
            query = query._replace(stops=every)
            other = with_jerk(query, swept(query, points), wanted)
            motion = min(motion, other, key=lambda result: float(result.t[-1]))
        clock = Clock(motion.t[:-1], motion.pieces)
        sections = clocked(path.sections, clock, motion.t, motion.s)
        places = under.places(motion.s, motion.speed, motion.acceleration)
        times = Trajectory(sections, path.robot), places[0], motion.t, *places[1:]
        gap: Callable[[], float] = lambda: _gap_of_jerk(under, asked, given, passes, tolerance, motion)  # noqa: E731
        return TimedPath.estimated(times, gap)
    t = times_of(s, x)
    clock = Clock(t[:-1], pieces_of(s, x, u).coefficients)
    made = Trajectory(clocked(path.sections, clock, t, s), path.robot)
    places = under.places(s, np.sqrt(x), u)
    times = made, places[0], t, *places[1:]
    return TimedPath.estimated(times, lambda: gap_of_grid(query, s, float(t[-1])))


def _remedy(asked: MotionAsked) -> str:
    """Return how the arguments of `time_optimal` can be changed where no motion obeys them all."""
    own = tuple(limit for limit in asked.own if limit is not asked.torque)
    given = {"acceleration": asked.acceleration, "jerk": asked.jerk, "torque": asked.torque, "limits": own}
    names = ["velocity", *(name for name, limit in given.items() if limit not in (None, ()))]
    return f"widen {', '.join(names)}, or lower start_speed and end_speed"


def _gap_of_jerk(
    under: GeometricPath,
    asked: MotionAsked,
    ends: Sequence[float],
    passes: int,
    tolerance: float | None,
    motion: SmoothMotion,
) -> float:
    """Return how much longer a motion within limits of jerk is than the least time, as that is estimated [s]: twice
    what twice the segments gain, and what the barrier leaves.  It is no more than the time by which it is longer than
    without these limits; inf where neither is known.
    """
    duration, result = float(motion.t[-1]), []
    try:
        finer = _timed("optimality_gap", under, asked, ends, 2 * motion.segments, passes, tolerance)
        result.append(2.0 * max(duration - finer.duration, 0.0) + _BARRIER * duration)
    except ValueError:
        pass
    try:
        free = _timed("optimality_gap", under, replace(asked, jerk=None), ends, None, passes, tolerance)
        result.append(max(duration - free.duration + free.optimality_gap, 0.0))
    except ValueError:
        pass
    return min(result, default=inf)
