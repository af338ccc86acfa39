"""Time-optimal timing of a path within limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import boolean, integer
from linkwork.motion.algorithms.curves import TimeScaling
from linkwork.motion.arguments import Limit
from linkwork.motion.timing.jerk_limited import JerkLimitedMotion, jerk_limited_motion
from linkwork.motion.timing.limit_violations import motion_polynomials, passing_times
from linkwork.motion.timing.limits import LimitSet, MotionLimit, optional_positive, speed_of_end
from linkwork.motion.timing.path_geometry import (
    GeometricPath,
    corners,
    geometric_path,
    is_stationary,
    may_have_lines,
    uniform_on_lines,
    with_continuous_rate,
)
from linkwork.motion.timing.timed_path import TimedPath
from linkwork.motion.timing.toppra import (
    MIN_SEGMENTS,
    InfeasibleSegment,
    TimingQuery,
    grid_optimality_gap,
    solve_on_grid,
    solve_refined,
)
from linkwork.motion.timing.toppra_kernels import KernelMotion, fits_single_kernel, motions_by_single_kernel
from linkwork.motion.trajectory.time_scaling import clocked
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_segment import frozen

if TYPE_CHECKING:
    from linkwork.kernels.robot_base import RobotBase

__all__ = ["TimedPath", "time_optimal"]

_SLOW_FACTOR = 2.0  # times the duration without limits of jerk: then a motion with more stops is tried
_RESTING = 400  # points of a path at which forces at rest are compared with their limits
_FINEST = 6400  # segments at most
_JERK_PER_CURVE = 16  # segments between knots of the motion from which limits of jerk start
_BARRIER = 5e-4  # of the duration: about the loss by the barrier at the limits
_MOST_CUBICS = 20  # of the single kernel
_PER_CUBIC = 64  # segments of the single kernel: random cubics then take 0.2 % more than the minimum time


@public
def time_optimal(
    path: Trajectory | Sequence[Trajectory],
    *,
    velocity: Limit | None = None,
    acceleration: Limit | None = None,
    jerk: Limit | None = None,
    torque: bool | Limit | None = None,
    passive: bool = True,
    actuators: str | Sequence[str] | None = None,
    speed: Mapping[str, float] | None = None,
    motion_limits: Sequence[MotionLimit] = (),
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    robot: RobotBase | None = None,
    num_points: int | None = None,
    num_passes: int = 2,
    tolerance: float | None = 1e-6,
) -> Any:
    """Return the time-optimal motion along a path within limits; the path's own timing does not matter.

    ``velocity`` [rad/s, m/s] limits v.  A limit is a number, an array (nv,), a pair (lower, upper), or a dict with
    such a value for each joint name.  ``acceleration`` [rad/s², m/s²] limits a, and ``torque`` limits the robot's
    joint forces [N·m, N]; ``torque=True`` means the robot's own limits.  ``acceleration`` or ``torque`` is required.
    Joint forces include the armature, springs, damping and dry friction of the joints, like `Robot.inverse_dynamics`
    with ``passive=True``; ``passive=False`` leaves these terms out.  ``jerk`` [rad/s³, m/s³] limits the derivative of
    a, so a has no jumps: s̈ is 0 where the motion rests, and free at an end with a speed.  Limits of v, a and jerk
    default to the robot's own limits, if it has any; ``jerk=inf`` means no limit.  Joints that a dict leaves out keep
    the robot's limits; if the robot has no limits of the quantity, the dict must contain every joint.

    Constraints of the robot bear part of the forces.  ``actuators`` names the joints with motors.  Their forces, as
    `Robot.constrained_inverse_dynamics` computes them, have the limits of ``torque``; if several forces are possible,
    the forces of least Σ τ² are used.  For a robot with constraints the default is the joints that a dict ``torque``
    names. Without a dict it is all joints of fewer than six degrees of freedom whose limits are not 0.

    ``speed`` is a dict from frame names to the greatest speed of the frame's origin [m/s].  ``motion_limits`` are
    custom limits of second order.  ``robot`` is the robot whose dynamics and frames are used, by default the path's
    robot; it may be the same robot with a payload.  ``start_speed`` and ``end_speed`` are ṡ at the path's ends; 1 is
    the speed of the path itself.

    All limits hold at all times, not only at grid points.  Limits of v and a along polynomial paths hold by the
    control points of the polynomials.  Other limits, including limits of jerk, hold up to a fraction ``tolerance`` of
    their size; they are checked by the control points of polynomials through nine times of each segment.  Limits that
    are exceeded are tightened, and the motion is computed again.  ``tolerance=None`` skips this check, except with
    limits of jerk.

    The path is divided into at least 400 segments.  Their number grows with the number of the path's curves between
    knots, and is doubled while that saves more than 0.25 % of the duration.  ``num_points`` requests a number of
    segments. With limits of jerk there are at least 200 segments between two stops, and segments on which limits would
    be exceeded are halved.  `TimedPath.optimality_gap` estimates the loss by finite segments.  After the first of
    ``num_passes``, the grid is redistributed to equal times; passes before the last may use fewer segments.  The
    motion stops at corners of the path, and with limits of jerk also where its curvature jumps.  It need not stop
    where the path rests inside a straight segment.

    Returns a `TimedPath`.  For a sequence of paths, which must have the same coordinates, it returns a list with
    the same results as for each path alone.  Paths of cubics with limits of v and a only are computed together in one
    kernel.

    Raises ValueError for an invalid limit, where a joint with a limit of 0 moves, and where no motion is found that
    satisfies all limits.  The search covers motions with constant s̈ on each segment, so the error does not prove that
    no motion exists.

    Sources: Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis, 2018;
    Debrouwere and others, Time-optimal path following for robots with convex-concave constraints using sequential
    convex programming, 2013.
    """
    caller = "time_optimal"
    paths = [path] if isinstance(path, Trajectory) else _checked_paths(caller, path)
    if not paths:
        return []
    first = paths[0]
    robot = first.robot if robot is None else robot
    tolerance = optional_positive(caller, "tolerance", tolerance)
    limits = velocity, acceleration, torque, speed, motion_limits, jerk
    options = boolean(caller, "passive", passive), tolerance, actuators
    limit_set = LimitSet.read(caller, first, robot, *limits, *options)
    ends = [speed_of_end(caller, name, x) for name, x in (("start_speed", start_speed), ("end_speed", end_speed))]
    num_points = None if num_points is None else integer(caller, "num_points", num_points, least=1)
    num_passes = integer(caller, "num_passes", num_passes, least=1)
    names = [caller] if len(paths) == 1 else [f"{caller}: path {k}" for k in range(len(paths))]
    result: list[Any] = [None] * len(paths)
    together: list[tuple[int, GeometricPath]] = []
    for k, curve in enumerate(paths):
        geometry = geometric_path(curve)
        if not limit_set.custom and is_stationary(geometry.path):
            result[k] = _resting_motion(geometry.path)
            continue
        of_one_kernel = fits_single_kernel(geometry.path, limit_set) and _has_enough_segments(geometry.path, num_points)
        if not of_one_kernel or may_have_lines(geometry.path):
            geometry = with_continuous_rate(uniform_on_lines(geometry, smooth=limit_set.jerk is not None))
            of_one_kernel = of_one_kernel and _has_enough_segments(geometry.path, num_points)
        if of_one_kernel and [x * rate for x, rate in zip(ends, geometry.rates, strict=True)] == ends:
            together.append((k, geometry))
        else:
            result[k] = _time_path(names[k], geometry, limit_set, ends, num_points, num_passes, tolerance)
    if together:
        counts = [num_points or _segment_count(geometry.path) for _, geometry in together]
        motions = motions_by_single_kernel(
            [geometry.path for _, geometry in together], limit_set, ends, counts, num_passes, tolerance
        )
        for (k, geometry), motion in zip(together, motions, strict=True):
            # without a result the general method gives the reason; with rests inside it checks if they are needed
            uniform = geometry
            if geometry.knots is None and (motion.blocked >= 0 or motion.speed[1:-1].min() <= 0.0):
                uniform = with_continuous_rate(geometry)
            if motion.blocked >= 0 or uniform is not geometry:
                result[k] = _time_path(names[k], uniform, limit_set, ends, num_points, num_passes, tolerance)
            else:
                result[k] = _from_kernel(geometry, motion, limit_set, ends)
    assert all(np.isfinite(motion.duration) for motion in result)
    return result[0] if isinstance(path, Trajectory) else result


def _checked_paths(caller: str, value: Any) -> list[Trajectory]:
    """Return the paths, which must have the same coordinates.  Raises TypeError and ValueError."""
    paths = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    for k, path in enumerate(paths):
        if not isinstance(path, Trajectory):
            where = f" {k}" if len(paths) > 1 else ""
            remedy = "; Robot.spline([0.0, 1.0], [q0, q1]) is a path through configurations"
            remedy = remedy if isinstance(path, (np.ndarray, float, int)) else ""
            raise TypeError(f"{caller}: path{where}: expected a trajectory, got {path!r}{remedy}")
        if path.robot != paths[0].robot or (path.nq, path.nv) != (paths[0].nq, paths[0].nv):
            raise ValueError(
                f"{caller}: path {k}: expected the robot and coordinates of path 0, {paths[0]!r}, got {path!r}"
            )
    return paths


def _resting_motion(path: Trajectory) -> TimedPath:
    """Return the motion of zero duration along a path without motion."""
    s, zeros = np.array([path.start_time, path.end_time]), np.zeros(2)
    timed = Trajectory([path.sections[0].timed(TimeScaling(zeros[:1], s[:1, None]), 0.0, 0.0)], path.robot)
    return TimedPath.estimated((timed, s, zeros, zeros, zeros[:1]), lambda: 0.0)


def _has_enough_segments(path: Trajectory, points: int | None) -> bool:
    """Return True if the single kernel for paths of cubics has enough segments for this path and request."""
    curves = len(path.sections[0].arrays["starts"])
    return curves <= _MOST_CUBICS if points is None else max(points, 2 * curves) <= MIN_SEGMENTS


def _segment_count(path: Trajectory) -> int:
    """Return the number of segments that the single kernel for paths of cubics uses for this path."""
    return max(MIN_SEGMENTS, _PER_CUBIC * len(path.sections[0].arrays["starts"]))


def _from_kernel(
    geometry: GeometricPath, motion: KernelMotion, limit_set: LimitSet, ends: Sequence[float]
) -> TimedPath:
    path, duration = geometry.path, float(motion.t[-1])
    clock = TimeScaling(frozen(motion.t[:-1]), frozen(motion.clock), motion.curves())
    section = path.sections[0].with_time_scaling(clock, 0.0, duration)

    def gap() -> float:
        query = TimingQuery("", path, limit_set, path.knots[corners(path, path.knots, bends=False)], ends, 1, None)
        return grid_optimality_gap(query, motion.s, duration)

    s, speed, acceleration = geometry.reported_motion(motion.s, motion.speed, motion.acceleration)
    return TimedPath.estimated((Trajectory([section], path.robot), s, motion.t, speed, acceleration), gap)


def _time_path(
    caller: str,
    geometry: GeometricPath,
    limit_set: LimitSet,
    ends: Sequence[float],
    points: int | None,
    passes: int,
    tolerance: float | None,
) -> TimedPath:
    """Return the motion along one path, with ṡ at both ends.  Raises ValueError."""
    path, reported_ends = geometry.path, ends
    ends = [x * rate for x, rate in zip(ends, geometry.rates, strict=True)]
    knots = path.knots
    stops = knots[corners(path, knots, bends=limit_set.jerk is not None)]
    query = TimingQuery(caller, path, limit_set, stops, ends, passes, tolerance)
    search, requested = solve_refined if points is None and limit_set.jerk is None else solve_on_grid, points
    points = MIN_SEGMENTS if points is None else points
    if requested is None and limit_set.jerk is not None:
        points = max(points, _JERK_PER_CURVE * (len(knots) - 1))
    while True:
        try:
            s, x, u = search(query, points)
            break
        except InfeasibleSegment as error:
            if points < _FINEST and tolerance is not None and error.refined:
                points *= 2
                continue
            heavy = _heavy_joint(limit_set, path)
            raise ValueError(f"{error.message(caller, reported_ends[0])}; {heavy or _remedy(limit_set)}") from None
    if limit_set.jerk is not None:
        motion = jerk_limited_motion(query, (s, x, u), requested)
        all_corners = knots[corners(path, knots, bends=True, along=True)]
        if motion.t[-1] > _SLOW_FACTOR * passing_times(s, x)[-1] and len(all_corners) > len(stops):
            # near a reversal of the path, stopping at a jump along it may be faster than passing it
            query = query._replace(stops=all_corners)
            on_grid = jerk_limited_motion(query, solve_on_grid(query, points), requested)
            motion = min(motion, on_grid, key=lambda result: float(result.t[-1]))
        clock = TimeScaling(motion.t[:-1], motion.coefficients)
        sections = clocked(path.sections, clock, motion.t, motion.s)
        reported = geometry.reported_motion(motion.s, motion.speed, motion.acceleration)
        times = Trajectory(sections, path.robot), reported[0], motion.t, *reported[1:]
        gap: Callable[[], float] = lambda: _gap_of_jerk(geometry, limit_set, reported_ends, passes, tolerance, motion)  # noqa: E731
        return TimedPath.estimated(times, gap)
    t = passing_times(s, x)
    clock = TimeScaling(t[:-1], motion_polynomials(s, x, u).coefficients)
    trajectory = Trajectory(clocked(path.sections, clock, t, s), path.robot)
    reported = geometry.reported_motion(s, np.sqrt(x), u)
    times = trajectory, reported[0], t, *reported[1:]
    return TimedPath.estimated(times, lambda: grid_optimality_gap(query, s, float(t[-1])))


def _heavy_joint(limit_set: LimitSet, path: Any) -> str:
    """Return a text that names the joint whose limit is farthest below its force at rest on a path, or ""."""
    limit, model = limit_set.torque, limit_set.forces
    if limit is None or model is None:
        return ""
    s = np.linspace(path.start_time, path.end_time, _RESTING)
    q = path(s).q
    zero = np.zeros((_RESTING, model.robot.nv))
    tau = np.asarray(limit.function(q, zero, zero))
    excess = np.maximum(np.asarray(limit.lower) - tau, tau - np.asarray(limit.upper))
    k, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
    if not excess[k, j] > 0.0:
        return ""
    name, bound = model.robot.v_names[model.indices[j]], np.asarray(limit.upper if tau[k, j] > 0.0 else limit.lower)[j]
    force = f"{tau[k, j]:.5g} at {name!r}, whose limit is {bound:.5g}"
    return f"at s = {s[k]:.6g} the robot needs {force}, only to stay at rest; widen torque, or carry a smaller load"


def _remedy(limit_set: LimitSet) -> str:
    """Return a text that names the arguments of `time_optimal` to change if no motion satisfies all limits."""
    custom = tuple(limit for limit in limit_set.custom if limit is not limit_set.torque)
    limits = {
        "acceleration": limit_set.acceleration,
        "jerk": limit_set.jerk,
        "torque": limit_set.torque,
        "motion_limits": custom,
    }
    names = ["velocity", *(name for name, limit in limits.items() if limit not in (None, ()))]
    return f"widen {', '.join(names)}, or lower start_speed and end_speed"


def _gap_of_jerk(
    geometry: GeometricPath,
    limit_set: LimitSet,
    ends: Sequence[float],
    passes: int,
    tolerance: float | None,
    motion: JerkLimitedMotion,
) -> float:
    """Estimate by how much a motion within limits of jerk is slower than the optimum [s].

    The estimate is twice the gain of doubling the segments, plus the loss by the barrier.  It is at most the time by
    which the motion is longer than without limits of jerk.  It is inf if neither value is known.
    """
    duration, result = float(motion.t[-1]), []
    try:
        finer = _time_path("optimality_gap", geometry, limit_set, ends, 2 * motion.segments, passes, tolerance)
        result.append(2.0 * max(duration - finer.duration, 0.0) + _BARRIER * duration)
    except ValueError:
        pass
    try:
        free = _time_path("optimality_gap", geometry, replace(limit_set, jerk=None), ends, None, passes, tolerance)
        result.append(max(duration - free.duration + free.optimality_gap, 0.0))
    except ValueError:
        pass
    return min(result, default=inf)
