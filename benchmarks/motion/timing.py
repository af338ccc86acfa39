"""Time scaling along paths compared with toppra in one run: computation time, durations, and violations of limits."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.motion.splines import interleaved
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import MOTION
from linkwork.motion import Trajectory, time_optimal
from linkwork.motion.algorithms.timing.segment_constraints import NODES, PathLimits, PathValues
from linkwork.motion.algorithms.timing.toppra_sweeps import fastest_resting

__all__ = ["timing_rows"]

JOINTS, SEGMENTS, PATHS, BATCH = 7, 100, 1024, 64
HARSHEST = 40.0  # [rad/s³]
FASTEST, HARDEST = 2.0, 4.0  # [rad/s], [rad/s²]
_KNOTS = np.linspace(0.0, 1.0, 6)
_BY_DEFAULT = "time_optimal, velocity and acceleration, 400 segments in two passes"


def timing_rows(quick: bool) -> list[MotionRow]:
    """Measure time scaling of random cubic paths.  Raises AssertionError if a trajectory differs from toppra's."""
    from scipy.interpolate import CubicSpline

    rng, result = np.random.default_rng(0), []
    paths = [CubicSpline(_KNOTS, rng.uniform(-2.0, 2.0, (len(_KNOTS), JOINTS))) for _ in range(3 if quick else 20)]
    ours = [Trajectory.polynomial(_KNOTS, np.moveaxis(x.c[::-1], (0, 1, 2), (2, 0, 1))) for x in paths]
    result += _alone(paths[0], ours[0])
    result += _as_short(paths, ours)
    result += _through_many(quick)
    return result


def _through_many(quick: bool) -> list[MotionRow]:
    """Compare durations through many random waypoints, with the default grid, with toppra's (60 segments each)."""
    from scipy.interpolate import CubicSpline

    results = []
    for many in (100,) if quick else (100, 1000):
        knots = np.linspace(0.0, 1.0, many)
        path = CubicSpline(knots, np.random.default_rng(1).uniform(-2.0, 2.0, (many, JOINTS)))
        ours = Trajectory.polynomial(knots, np.moveaxis(path.c[::-1], (0, 1, 2), (2, 0, 1)))
        timed = time_optimal(ours, velocity=FASTEST, acceleration=HARDEST)
        estimate = 100.0 * timed.optimality_gap / timed.duration
        results.append(MotionRow(f"estimate of what the grid leaves, {many} way points", estimate, "%"))
        peer = _toppra(path, 60 * (many - 1), knots)
        if peer is not None:
            longer = 100.0 * (timed.duration / peer() - 1.0)
            results.append(MotionRow(f"longer than toppra's at 60 segments a piece, {many} way points", longer, "%"))
    return results


def _alone(path: Any, ours: Trajectory) -> list[MotionRow]:
    limits = {"velocity": FASTEST, "acceleration": HARDEST, "num_points": SEGMENTS, "num_passes": 1}
    robot = lw.load("arm7")
    of_robot = Trajectory.polynomial(_KNOTS, 0.3 * np.moveaxis(path.c[::-1], (0, 1, 2), (2, 0, 1)), robot=robot)
    q = of_robot(np.linspace(0.0, 1.0, 100)).q
    torque = 1.2 * np.abs(robot.inverse_dynamics(q, 0.0 * q, 0.0 * q)).max(0) + 2.0
    calls = {
        "time_optimal, velocity and acceleration": lambda: time_optimal(ours, **limits),
        "time_optimal, torque too": lambda: time_optimal(of_robot, torque=torque, passive=False, **limits),
        "time_optimal, torque with losses": lambda: time_optimal(of_robot, torque=torque, **limits),
        "time_optimal, a path of a batch": lambda: time_optimal([ours] * BATCH, **limits),
        _BY_DEFAULT: lambda: time_optimal(ours, velocity=FASTEST, acceleration=HARDEST),
        "time_optimal, jerk too": lambda: time_optimal(ours, **limits, jerk=HARSHEST),
        "the two sweeps, one path": lambda call=_kernel_call(ours, 1): call(),
        "the two sweeps, a path of a batch": lambda many=_kernel_call(ours, PATHS): many(),
    }
    peer = _toppra(path, SEGMENTS)
    if peer is not None:
        calls["toppra"] = peer
    seconds = interleaved(calls, 9)
    seconds["the two sweeps, a path of a batch"] /= PATHS
    seconds["time_optimal, a path of a batch"] /= BATCH
    theirs = seconds.pop("toppra", None)
    targets = {
        "time_optimal, velocity and acceleration": MOTION["timing", "one call"],
        "time_optimal, torque too": MOTION["timing", "one call, torque"],
        "the two sweeps, a path of a batch": MOTION["timing", "batch"],
    }
    return [
        MotionRow(
            title if title is _BY_DEFAULT else f"{title}, {SEGMENTS} segments",
            x,
            "s",
            targets.get(title),
            theirs,
            "toppra",
        )
        for title, x in seconds.items()
    ]


def _kernel_call(path: Trajectory, count: int) -> Any:
    """Measure the kernel with existing arrays, for one path or many."""
    s = np.linspace(0.0, 1.0, SEGMENTS + 1)
    at = s[:-1, None] + np.diff(s)[:, None] * np.array(NODES[3])
    _, rates, second = path(at)
    if count > 1:
        rates, second = (np.repeat(x[None], count, 0) for x in (rates, second))
    v, a = np.full(JOINTS, FASTEST), np.full(JOINTS, HARDEST)
    steps, caps = np.diff(s), np.full(SEGMENTS + 1, 1e30)

    def traced(p: Any, c: Any, v: Any, a: Any, steps: Any, caps: Any) -> Any:
        def along(row: Any) -> Any:
            return [(PathValues(row[0], row[0], row[1]), PathLimits(-v, v, -a, a))], ()

        return tuple(fastest_resting(along, (p, c), steps, caps, 0.0, 0.0)[0])

    shape = (SEGMENTS, 3, JOINTS)
    kernel = lw.compile(traced, p=shape, c=shape, v=JOINTS, a=JOINTS, steps=SEGMENTS, caps=SEGMENTS + 1)
    return lambda: kernel(rates, second, v, a, steps, caps)


def _toppra(path: Any, segments: int, knots: np.ndarray = _KNOTS) -> Any:
    """Return a function that computes the duration with toppra's seidel solver; None if it is not installed."""
    try:
        import toppra
        from toppra import algorithm, constraint
    except ImportError:
        return None
    toppra.setup_logging("ERROR")
    interpolator = toppra.SplineInterpolator(knots, path(knots))
    v = constraint.JointVelocityConstraint(FASTEST * np.outer(np.ones(JOINTS), [-1.0, 1.0]))
    a = constraint.JointAccelerationConstraint(HARDEST * np.outer(np.ones(JOINTS), [-1.0, 1.0]))
    s = np.linspace(0.0, 1.0, segments + 1)

    def timed() -> float:
        result = algorithm.TOPPRA([v, a], interpolator, gridpoints=s, parametrizer="ParametrizeConstAccel")
        speed = result.compute_parameterization(0, 0)[1]
        return float((2.0 * np.diff(s) / (speed[1:] + speed[:-1])).sum())

    return timed


def _as_short(paths: list[Any], ours: list[Trajectory]) -> list[MotionRow]:
    """Return durations relative to toppra's with 1000 segments, and the violations of limits."""
    longer: dict[str, list[float]] = {}
    passed = 0.0
    for path, own_duration in zip(paths, ours, strict=True):
        results = {
            f"{points} segments, {passes} passes": time_optimal(
                own_duration, velocity=FASTEST, acceleration=HARDEST, num_points=points, num_passes=passes
            )
            for points, passes in ((100, 1), (200, 2), (400, 2))
        }
        for timed in results.values():
            _, v, a = timed.trajectory(np.linspace(0.0, timed.trajectory.end_time, 20_001))
            passed = max(passed, float(np.abs(v).max() / FASTEST - 1.0), float(np.abs(a).max() / HARDEST - 1.0))
        durations = {name: timed.duration for name, timed in results.items()}
        peers = {n: _toppra(path, n) for n in (100, 1000)}
        if peers[1000] is not None:
            reference = peers[1000]()
            durations["toppra, 100 segments"] = peers[100]()
            for name, duration in durations.items():
                longer.setdefault(name, []).append(duration / reference - 1.0)
                assert abs(duration / reference - 1.0) < 0.05, "a motion is far from toppra's"
    theirs = longer.pop("toppra, 100 segments", None)
    rows = [
        MotionRow(
            f"longer than toppra's at 1000 segments at most: {name}",
            100.0 * max(x),
            "%",
            MOTION["timing", "longer"],
            None if theirs is None else 100.0 * max(theirs),
            "toppra, 100 segments",
        )
        for name, x in longer.items()
    ]
    target = MOTION["timing", "limits passed"]
    return [*rows, MotionRow(f"limits passed between, {len(paths)} paths", max(passed, 0.0), "", target)]
