"""Cases beyond the protocol for linkwork alone: paths, targets near limits and out of reach."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.ik.peers import Peer, quiet, version
from benchmarks.ik.protocol import (
    TOLERANCE,
    Measured,
    Stopwatch,
    brought_in,
    configurations,
    errors,
    path,
    reached,
    solve_all,
    within,
)
from benchmarks.ik.robots import Arm
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.verdicts import Verdict
from linkwork.cli.function_timings import threads
from linkwork.errors import Status
from linkwork.kinematics.algorithms.coordinates import characteristic_length

__all__ = ["Far", "Linkwork", "Own", "Size", "measured", "out_of_reach", "status_of", "warm"]

POSES, QUICK_POSES = 10_000, 200


class Linkwork(Peer):
    """`robot.inverse_kinematics`: one call, with a seed."""

    name, package, settings, count = "linkwork", "linkwork", "robot.inverse_kinematics(X, frame, q_init=)", POSES

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        self.robot: Any = arm.robot
        if not hasattr(self.robot, "inverse_kinematics"):
            raise CannotCompare("this linkwork has no inverse_kinematics")

    def result(self, X: np.ndarray, seed: np.ndarray) -> Any:
        """Solve for one pose, or for a batch."""
        return self.robot.inverse_kinematics(
            X, self.arm.tip, q_init=seed, position_tolerance=TOLERANCE, orientation_tolerance=TOLERANCE
        )

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        return np.asarray(self.result(X, q_init).q)

    def nearest(self, X: np.ndarray, near: np.ndarray) -> Any:
        """The nearest configuration at a pose."""
        return self.robot.inverse_kinematics(
            X, self.arm.tip, nearest_to=near, position_tolerance=TOLERANCE, orientation_tolerance=TOLERANCE
        )


@dataclass(frozen=True)
class Size:
    """Numbers of targets, steps and restarts."""

    poses: int = POSES
    peers: int = 100  # of those that are slow
    steps: int = 2000  # of a path
    far: int = 4  # targets out of reach
    restarts: int = 100  # of SciPy's solver for each
    near: int = 1000  # nearest configurations
    ipopt: int = 60  # of these by IPOPT
    whole: int = 2000  # targets of a humanoid

    @classmethod
    def quick(cls) -> Size:
        return cls(QUICK_POSES, 20, 200, 3, 20, 40, 4, 20)


def measured(arm: Arm, solver: Peer, Q: np.ndarray, seeds: np.ndarray | None = None) -> Measured:
    """One library on the poses of configurations, one call a pose."""
    X = arm.reference.pose(Q)
    seeds = np.tile(arm.middle, (len(Q), 1)) if seeds is None else seeds
    with quiet():
        solver.solve(X[0], seeds[0])  # whatever is made once
        q, seconds = solve_all(arm, solver.solve, X, seeds)
    ours = isinstance(solver, Linkwork)
    got = reached(arm, q if ours else brought_in(arm, q), X)
    result = Measured(arm.name, solver.name, version(solver.package), solver.settings, got, seconds)
    if isinstance(solver, Linkwork):
        _append_misses(solver, result, X, seeds, q)
        result.batch = _batch(solver, X, seeds, q)
    return result


def _append_misses(solver: Linkwork, outcome: Measured, X: np.ndarray, seeds: np.ndarray, q: np.ndarray) -> None:
    """Append the reported status and the true errors of each missed target to `found.misses`."""
    arm = solver.arm
    for k in np.flatnonzero(~outcome.reached):
        result = solver.result(X[k], seeds[k])
        status = status_of(result.status)
        off = np.abs(errors(arm.reference.pose(q[k]), X[k]))
        outcome.misses.append(
            {
                "pose": int(k),
                "status": status,
                "said solved": bool(np.all(result.success)),
                "position error": float(off[:3].max()),
                "orientation error": float(off[3:].max()),
                "within limits": bool(within(arm, q[k])),
                "iterations": int(np.max(result.iterations)),
                "restarts": int(np.max(result.restarts)),
            }
        )
    outcome.statuses = dict(Counter(str(miss["status"]) for miss in outcome.misses))


def status_of(status: Any) -> Status:
    """Return the status of one pose.  Raises ValueError for a word that is none."""
    return Status(str(np.asarray(status).ravel()[0]))


def _batch(solver: Linkwork, X: np.ndarray, seeds: np.ndarray, q: np.ndarray) -> float:
    """Seconds a pose on one core, median of five.  Raises AssertionError where a batch answers otherwise."""
    with threads(1):
        answers = np.asarray(solver.result(X, seeds).q)
        assert np.array_equal(answers, q), f"{solver.arm.name}: the batch's answers are not those of single calls"
        seconds = []
        for _ in range(5):
            watch = Stopwatch()
            solver.result(X, seeds)
            seconds.append(watch.stop())
    return float(np.median(seconds)) / len(X)


def warm(arm: Arm, solver: Linkwork, size: Size) -> tuple[Measured, float]:
    """Along a path, seeded by the answer before; and the largest step of a joint between two answers."""
    Q = path(arm, size.steps)
    X, q = arm.reference.pose(Q), np.empty_like(Q)
    seconds, watch = np.empty((3, len(Q))), Stopwatch()
    solver.solve(X[0], Q[0])
    for again in range(3):
        seed = Q[0]
        for k in range(len(Q)):
            target = X[k].copy()
            watch.start()
            answer = solver.solve(target, seed)
            seconds[again, k] = watch.stop()
            assert answer is not None
            q[k] = seed = answer
    result = Measured(arm.name, solver.name, "", "", reached(arm, q, X), np.median(seconds, axis=0))
    _append_misses(solver, result, X, np.concatenate([Q[:1], q[:-1]]), q)
    return result, float(np.abs(np.diff(q, axis=0)).max())


@dataclass
class Far:
    """Targets out of reach, by the best of many restarts of SciPy's solver on Pinocchio's kinematics."""

    robot: str
    total: int
    far: int  # of those that were asked, by SciPy
    claimed: int  # of those, by the status: within limits, or without too
    near: int  # of those, whose nearest pose is within 1 % of SciPy's best
    worst: float  # times SciPy's best
    statuses: dict[str, int]


def out_of_reach(arm: Arm, solver: Linkwork, size: Size) -> Far:
    """Reached poses with positions scaled by 1.5, as far as they are out of reach then."""
    at, rng = arm.reference, np.random.default_rng(3)
    X = at.pose(configurations(arm, 10 * size.far, 4))
    X[:, :3, 3] *= 1.5
    scale = np.repeat([1.0 / (0.5 * characteristic_length(arm.robot.tree)), 1.0], 3)  # as the solver weighs errors

    statuses: Counter[str] = Counter()
    visited = far = claimed = near = 0
    worst = 0.0
    for target in X:
        if far == size.far:
            break
        visited += 1
        best = _best(arm, scale, at.pin.SE3(target), rng.uniform(*arm.ranges, (size.restarts, arm.n)))
        if best < TOLERANCE:
            continue
        result = solver.result(target, arm.middle)
        status = status_of(result.status)
        left = float(np.linalg.norm(scale * errors(at.pose(np.asarray(result.q)), target)))
        statuses[str(status)] += 1
        far, claimed, near = (
            far + 1,
            claimed + (status in (Status.OUT_OF_REACH, Status.NOT_FOUND, Status.AT_LIMITS)),
            near + (left <= 1.01 * best),
        )
        worst = max(worst, left / best)
    return Far(arm.name, visited, far, claimed, near, worst, dict(statuses))


def _best(arm: Arm, scale: np.ndarray, goal: Any, starts: np.ndarray) -> float:
    """Return the minimum residual norm by SciPy: L-BFGS-B from all starts, then least_squares from the best."""
    from scipy.optimize import Bounds, least_squares, minimize

    at = arm.reference

    def cost(q: np.ndarray) -> tuple[float, np.ndarray]:
        r, J = at.residual_and_jacobian(q, goal)
        return 0.5 * float((scale * r) @ (scale * r)), J.T @ (scale**2 * r)

    def polished(q: np.ndarray) -> float:
        got = least_squares(
            lambda q: scale * at.residual(q, goal),
            np.clip(q, *arm.limits),
            lambda q: scale[:, None] * at.residual_jacobian(q, goal),
            arm.limits,
            **dict.fromkeys(("xtol", "ftol", "gtol"), 1e-12),
        )
        return float(np.sqrt(2.0 * got.cost))

    least, nearest, bounds = np.inf, starts[0], Bounds(*arm.limits)
    for start in starts:
        got = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
        if got.fun < least:
            least, nearest = float(got.fun), got.x
            if least < 1e-8 and polished(nearest) < TOLERANCE:
                return 0.0
    return min(polished(nearest), float(np.sqrt(2.0 * least)))


@dataclass
class Own:
    """Results of the cases beyond the protocol."""

    rows: list[Verdict] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __iadd__(self, counterpart: Own) -> Own:
        self.rows += counterpart.rows
        self.measured += counterpart.measured
        self.notes += counterpart.notes
        return self
