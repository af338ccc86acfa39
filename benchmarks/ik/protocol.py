"""The protocol of TRAC-IK: targets that are reached within limits, a seed in the middle, 1e-5 m and 1e-5 rad.

Configurations are drawn evenly within limits (continuous joints: one turn), targets are their poses by Pinocchio, the
seed is the middle of the limits.  An answer counts where Pinocchio's pose of it is within tolerance on each of six
axes of the target, and every joint is within its limits, exactly.  Failures count in the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.ik.robots import Arm
from linkwork.cli.commands.bench_ik import pose_errors as errors

__all__ = [
    "TOLERANCE",
    "Measured",
    "Stopwatch",
    "brought_in",
    "configurations",
    "errors",
    "near_limits",
    "path",
    "reached",
    "solve_all",
    "within",
]

TOLERANCE = 1e-5
_ROUNDING = 1e-12  # m, rad: two libraries' poses of one configuration differ by as much
_SINGLE = 1e-6  # rad: what limits kept in single precision are off by

_ROUNDS = 3
_SLOW = 1e-3  # s

Solver = Callable[[np.ndarray, np.ndarray], np.ndarray | None]


@dataclass
class Measured:
    """Results of one solver on one set of targets; times in seconds, one per call."""

    robot: str
    solver: str
    version: str = ""
    settings: str = ""
    reached: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    statuses: dict[str, int] = field(default_factory=dict)  # of those that were not reached, where the solver tells
    misses: list[dict[str, object]] = field(default_factory=list)
    batch: float | None = None  # seconds a pose in a batch, one thread

    @property
    def success(self) -> float:
        return float(self.reached.mean())

    def percentiles(self) -> tuple[float, float, float, float]:
        """Return mean, median, 99th percentile and maximum, in seconds."""
        return float(self.seconds.mean()), *(float(x) for x in np.percentile(self.seconds, (50, 99, 100)))


def configurations(arm: Arm, count: int, seed: int = 0) -> np.ndarray:
    """(count, n), evenly within limits."""
    return np.random.default_rng(seed).uniform(*arm.ranges, (count, arm.n))


def near_limits(arm: Arm, count: int, seed: int = 1, share: float = 0.02) -> np.ndarray:
    """(count, n): every joint that has limits within a share of its range from one of them."""
    rng, (low, high) = np.random.default_rng(seed), arm.ranges
    depth = share * (high - low) * rng.uniform(size=(count, arm.n))
    edge = np.where(rng.uniform(size=(count, arm.n)) < 0.5, low + depth, high - depth)
    return np.where(np.isfinite(arm.limits[0]), edge, rng.uniform(low, high, (count, arm.n)))


def path(arm: Arm, count: int, seed: int = 2, length: float = 1e-3, angle: float = np.pi / 180.0) -> np.ndarray:
    """(count, n): a way within limits on which poses are a millimetre or a degree apart, whichever is reached first.

    Rates are slow waves in time; at a limit a joint turns back.
    """
    rng, (low, high) = np.random.default_rng(seed), arm.ranges
    q = np.empty((count, arm.n))
    q[0] = low + (high - low) * rng.uniform(0.3, 0.7, arm.n)
    pace, phase, sign = rng.uniform(0.002, 0.01, arm.n), rng.uniform(0.0, 2 * np.pi, arm.n), np.ones(arm.n)
    for k in range(1, count):
        rate = sign * np.sin(pace * k + phase)
        J = arm.robot.jacobian(q[k - 1], arm.tip) @ rate  # ω, then the velocity of the frame's origin
        step = rate / max(np.linalg.norm(J[3:]) / length, np.linalg.norm(J[:3]) / angle, 1e-9)
        beyond = (q[k - 1] + step < low) | (q[k - 1] + step > high)
        sign = np.where(beyond, -sign, sign)
        q[k] = np.where(beyond, q[k - 1], q[k - 1] + step)
    return q


def within(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Return True for configurations (..., n) exactly within limits."""
    lower, upper = arm.limits
    return np.all(np.isfinite(q) & (q >= lower) & (q <= upper), axis=-1)


def reached(arm: Arm, q: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return True for configurations (..., n) that reach their targets within limits."""
    fine = np.nan_to_num(q)
    close = np.all(np.abs(errors(arm.reference.pose(fine), target)) <= TOLERANCE + _ROUNDING, axis=-1)
    return close & within(arm, q)


def brought_in(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Shift revolute joints by full revolutions into limits if possible; clip violations of single-precision size.

    For peers without limits, or with limits in single precision.
    """
    lower, upper = arm.limits
    turning = np.array([joint.type_name != "prismatic" for joint in arm.robot.joints])
    inside = np.clip(q, lower, upper)
    q = np.where(np.abs(inside - q) <= _SINGLE, inside, q)
    turns = np.where(q < lower, np.ceil((lower - q) / (2 * np.pi)), 0.0)
    turns = np.where(q > upper, -np.ceil((q - upper) / (2 * np.pi)), turns)
    return np.where(turning & (turns != 0.0), q + 2 * np.pi * turns, q)


class Stopwatch:
    """Time of a call [s]: the minimum of elapsed and processor time.

    Both are upper bounds of the time on an idle machine: elapsed time includes other processes, and processor time
    includes the cost of reading the clock.
    """

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._worked, self._passed = time.process_time(), time.perf_counter()

    def stop(self) -> float:
        passed = time.perf_counter() - self._passed
        return min(passed, time.process_time() - self._worked)


def solve_all(arm: Arm, solve: Solver, X: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return solutions (count, n), NaN for failures, and the time of each call [s].  All arrays are new.

    Calls shorter than a millisecond are made three times, and each pose's median counts, since other processes
    interrupt some calls.
    """
    q, seconds = np.full((len(X), arm.n), np.nan), np.empty((_ROUNDS, len(X)))
    watch = Stopwatch()
    for again in range(_ROUNDS):
        for k in range(len(X)):
            target, seed = X[k].copy(), seeds[k].copy()
            watch.start()
            result = solve(target, seed)
            seconds[again, k] = watch.stop()
            if result is not None and again == 0:
                q[k] = result
        if again == 0 and seconds[0].mean() > _SLOW:
            return q, seconds[0]
    return q, np.median(seconds, axis=0)


def microseconds(values: Sequence[float]) -> list[str]:
    return [f"{1e6 * x:.3g}" if x < 1e-3 else f"{1e6 * x:.0f}" for x in values]
