"""`linkwork bench-ik`: measure the success rate and time of inverse kinematics of a frame on this machine.

Configurations are drawn within limits, and their poses are the targets; every result is verified by forward kinematics,
whatever its status.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork import Robot, __version__
from linkwork._util.progress import ProgressBar
from linkwork.cli.arguments import BAD_MODEL, FAILED, USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.function_timings import threads
from linkwork.cli.output import Terminal, columns_of, escaped, folded, label, number, quantity, table
from linkwork.cli.values import from_zero, number_from, positive
from linkwork.errors import UnknownNameError

__all__ = ["add_arguments", "middle", "pose_errors", "run"]

_ROUNDING = 1e-12  # [m, rad] largest rounding difference between two computations of one pose
_MIN_TOLERANCE = 1e-10  # [m, rad] smallest --tolerance: a hundred times the rounding error
_CHUNK = 100  # calls between two updates of progress
_SHOWN = 10  # misses in the text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument("--frame", metavar="FRAME", required=True, help="the frame that has to reach the poses")
    parser.add_argument(
        "--relative-to", metavar="FRAME", help="the frame that poses are relative to (default: the world)"
    )
    parser.add_argument("--poses", metavar="N", type=positive, default=1000, help="number of poses (default: 1000)")
    parser.add_argument("--seed", metavar="N", type=from_zero, default=0, help="seed of random numbers (default: 0)")
    parser.add_argument(
        "--tolerance",
        metavar="X",
        type=number_from(_MIN_TOLERANCE, ", which exceeds rounding"),
        default=1e-5,
        help=f"tolerance of each axis [m, rad], at least {_MIN_TOLERANCE:g} (default: 1e-5)",
    )
    add_json(parser)


@dataclass(frozen=True, slots=True)
class Reached:
    """Results of inverse kinematics for many target poses: arrays with one value for each pose, times in s."""

    q: np.ndarray
    reached: np.ndarray  # True if the pose is reached by forward kinematics, within limits
    reported: np.ndarray  # `success` of each result
    within: np.ndarray  # True if within limits, without a tolerance
    statuses: list[str]
    errors: np.ndarray  # (poses, 6)
    iterations: np.ndarray
    restarts: np.ndarray
    seconds: np.ndarray
    batch: float  # [s] for each pose, one thread
    first: float  # [s] first call, with compilation

    @property
    def wrong(self) -> np.ndarray:
        """True (poses,) for results with status solved that miss the target pose or exceed joint limits."""
        result: np.ndarray = (self.reported & ~self.reached) | ~self.within
        return result


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    if not robot.nv:
        raise CommandError(BAD_MODEL, f"{label(robot.name)}: the robot has no degrees of freedom")
    try:
        targets = _targets(robot, arguments)
        result = _answers(robot, targets, arguments, terminal)
    except (UnknownNameError, ValueError) as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    if arguments.json:
        terminal.out.json(_data(robot, result, arguments))
    else:
        terminal.out.lines(_text(robot, result, arguments, columns_of(terminal.out)))
    wrong = int(result.wrong.sum())
    if wrong:
        terminal.error(f"{quantity(wrong, 'result')} wrongly reported as solved or within limits")
    return FAILED if wrong else 0


def middle(robot: Robot) -> np.ndarray:
    """Return the configuration in the middle of each joint's limits; zero for joints without limits."""
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    q = robot.neutral()
    single = np.array([joint.nq == joint.nv == 1 for joint in robot.joints for _ in range(joint.nq)], dtype=bool)
    chosen = bounded & single
    q[chosen] = 0.5 * (robot.lower[chosen] + robot.upper[chosen])
    return q


def pose_errors(X: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the errors of poses relative to targets (..., 4, 4): position [m] and rotation vector [rad] (..., 6).

    Both errors are in the axes of the target.
    """
    inverse = np.swapaxes(target[..., :3, :3], -1, -2)
    p = (inverse @ (X[..., :3, 3] - target[..., :3, 3])[..., None])[..., 0]
    R = inverse @ X[..., :3, :3]
    sines = [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]]
    a = 0.5 * np.stack(sines, axis=-1)
    sine, cosine = np.linalg.norm(a, axis=-1), 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1.0)
    long = sine > 1e-9
    scale = np.where(long, np.arctan2(sine, cosine) / np.where(long, sine, 1.0), 1.0)
    half = ~long & (cosine < 0.0)  # half a revolution, about any axis
    return np.concatenate([p, np.where(half[..., None], math.pi, a * scale[..., None])], axis=-1)


def _targets(robot: Robot, arguments: argparse.Namespace) -> np.ndarray:
    """Return the target poses (poses, 4, 4) of the frame, in the robot's base."""
    rng = np.random.default_rng(arguments.seed)
    q = robot.random_configuration(rng, size=arguments.poses)
    if any(constraint.holonomic for constraint in robot.tree.constraints):
        result = robot.assemble(q, check=False)
        q = result.q[np.asarray(result.success) & _within(robot, result.q)]
        if not len(q):
            raise CommandError(BAD_MODEL, f"{label(robot.name)}: cannot be assembled within its joint limits")
    return _poses(robot, q, arguments)


def _poses(robot: Robot, q: np.ndarray, arguments: argparse.Namespace) -> np.ndarray:
    X = robot.pose(q, arguments.frame)
    return X if arguments.relative_to is None else np.linalg.solve(robot.pose(q, arguments.relative_to), X)


def _within(robot: Robot, q: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.all(np.isfinite(q) & (q >= robot.lower) & (q <= robot.upper), axis=-1)
    return result


def _answers(robot: Robot, X: np.ndarray, arguments: argparse.Namespace, terminal: Terminal) -> Reached:
    seed, count = middle(robot), len(X)
    options: dict[str, Any] = {
        "q_init": seed,
        "position_tolerance": arguments.tolerance,
        "orientation_tolerance": arguments.tolerance,
    }
    if arguments.relative_to is not None:
        options["relative_to"] = arguments.relative_to
    start = time.perf_counter()
    robot.inverse_kinematics(X[0], arguments.frame, **options)
    first = time.perf_counter() - start
    seconds, results = np.empty(count), []
    with ProgressBar(terminal.progress, "poses", count) as progress:
        for k in range(count):
            target = X[k].copy()
            start = time.perf_counter()
            results.append(robot.inverse_kinematics(target, arguments.frame, **options))
            seconds[k] = time.perf_counter() - start
            if (k + 1) % _CHUNK == 0 or k + 1 == count:
                progress.advance(_CHUNK if (k + 1) % _CHUNK == 0 else count % _CHUNK)
    with threads(1):
        robot.inverse_kinematics(X, arguments.frame, **options)
        start = time.perf_counter()
        robot.inverse_kinematics(X, arguments.frame, **options)
        batch = (time.perf_counter() - start) / count
    q = np.array([result.q for result in results])
    off, within = pose_errors(_poses(robot, q, arguments), X), _within(robot, q)
    return Reached(
        q=q,
        reached=np.all(np.abs(off) <= arguments.tolerance + _ROUNDING, axis=-1) & within,
        reported=np.array([bool(result.success) for result in results]),
        within=within,
        statuses=[str(result.status) for result in results],
        errors=off,
        iterations=np.array([int(result.iterations) for result in results]),
        restarts=np.array([int(result.restarts) for result in results]),
        seconds=seconds,
        batch=batch,
        first=first,
    )


# -- for people


def _text(robot: Robot, result: Reached, arguments: argparse.Namespace, columns: int | None) -> list[str]:
    count = len(result.seconds)
    base = "the world" if arguments.relative_to is None else label(arguments.relative_to)
    share = f"{100 * result.reached.mean():.2f} % ({int(result.reached.sum())} of {count})"
    each = [f"{1e6 * x:.3g}" for x in _times(result)]
    counted = [(name, *np.percentile(x, (50, 99, 100))) for name, x in _counts(result)]
    lines = [
        f"{label(robot.name)}: poses of {label(arguments.frame)} relative to {base}",
        "",
        f"reached: {share}, within {number(arguments.tolerance)} m and rad on each axis, and within limits",
        "",
        *table(["status", "poses"], [[escaped(k), str(n)] for k, n in Counter(result.statuses).most_common()]),
        "",
        *folded(["one call [µs]", "mean", "p50", "p90", "p99", "max"], [["", *each]], columns),
        "",
        *table(["of a call", "p50", "p99", "max"], [[k, *(f"{x:g}" for x in values)] for k, *values in counted]),
        "",
        f"a pose in a batch of {count}, one thread: {1e6 * result.batch:.3g} µs",
        f"the first call, with compilation: {result.first:.2f} s",
    ]
    missed = np.flatnonzero(~result.reached)
    if len(missed):
        lines += ["", f"missed (of {len(missed)}):" if len(missed) > _SHOWN else "missed:"]
        lines += [f"  pose {miss['pose']}: {_miss_text(miss)}" for miss in _misses(result)[:_SHOWN]]
    return [
        *lines,
        "",
        f"linkwork {__version__}; float64; initial guess in the middle of limits; seed {arguments.seed}",
    ]


def _miss_text(miss: dict[str, Any]) -> str:
    work = f"{quantity(miss['iterations'], 'iteration')}, {quantity(miss['restarts'], 'restart')}"
    off = f"{miss['position_error']:.2g} m and {miss['orientation_error']:.2g} rad"
    return f"{escaped(str(miss['status']))}, off by {off}, {work}"


def _times(result: Reached) -> list[float]:
    return [float(result.seconds.mean()), *(float(x) for x in np.percentile(result.seconds, (50, 90, 99, 100)))]


def _counts(result: Reached) -> list[tuple[str, np.ndarray]]:
    return [("iterations", result.iterations), ("restarts", result.restarts)]


# -- for programs


def _misses(result: Reached) -> list[dict[str, Any]]:
    return [
        {
            "pose": int(k),
            "status": result.statuses[k],
            "reported_solved": bool(result.reported[k]),
            "within_limits": bool(result.within[k]),
            "position_error": float(np.linalg.norm(result.errors[k, :3])),
            "orientation_error": float(np.linalg.norm(result.errors[k, 3:])),
            "iterations": int(result.iterations[k]),
            "restarts": int(result.restarts[k]),
        }
        for k in np.flatnonzero(~result.reached)
    ]


def _data(robot: Robot, result: Reached, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "linkwork": __version__,
        "robot": robot.name,
        "frame": arguments.frame,
        "relative_to": arguments.relative_to,
        "poses": len(result.seconds),
        "seed": arguments.seed,
        "tolerance": arguments.tolerance,
        "success": float(result.reached.mean()),
        "statuses": dict(Counter(result.statuses)),
        "call_seconds": dict(zip(("mean", "p50", "p90", "p99", "max"), _times(result), strict=True)),
        "batch_seconds_per_pose": result.batch,
        "first_call_seconds": result.first,
        **{
            name: dict(
                zip(("p50", "p99", "max"), (float(x) for x in np.percentile(values, (50, 99, 100))), strict=True)
            )
            for name, values in _counts(result)
        },
        "misses": _misses(result),
    }
