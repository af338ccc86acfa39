"""Nearest configuration at a pose, compared with IPOPT: min ‖q − q₀‖² subject to the pose and limits.

The peer is CasADi's IPOPT with kinematics expanded in CasADi from Pinocchio's model.  It starts from q₀ and nine random
configurations within limits; the best result that reaches the pose counts.  Six equations constrain the pose: the
position error and (R − Rᵀ)/(1 + tr R) of the rotation error, which are regular except at half revolutions.
"""

from __future__ import annotations

import importlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.ik.peers import quiet
from benchmarks.ik.protocol import TOLERANCE, Stopwatch, configurations, reached
from benchmarks.ik.robots import Arm
from benchmarks.peers.pinocchio_peer import CannotCompare

__all__ = ["Ipopt", "Nearest", "nearest"]

STARTS = 10


class Ipopt:
    """A nonlinear program for an arm; its parameters are a pose, a reference configuration and a start."""

    def __init__(self, arm: Arm) -> None:
        try:
            ca: Any = importlib.import_module("casadi")
        except ImportError as error:
            raise CannotCompare(f"not installed: {error}") from None
        self.arm = arm
        if not np.isfinite(arm.limits[0]).all():
            raise CannotCompare("continuous joints have no one number")
        q, near, target = ca.SX.sym("q", arm.n), ca.SX.sym("near", arm.n), ca.SX.sym("target", 4, 4)
        X = self._pose(ca, q)
        self.pose = ca.Function("pose", [q], [X])
        turned = target[:3, :3].T
        R = turned @ X[:3, :3]
        p = turned @ (X[:3, 3] - target[:3, 3])
        axial = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
        rows = ca.vertcat(p, 2.0 * axial / (1.0 + ca.trace(R)))
        program = {"x": q, "f": 0.5 * ca.sumsqr(q - near), "g": rows, "p": ca.vertcat(near, ca.vec(target))}
        options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10, "max_iter": 300}}
        self.solver = ca.nlpsol("nearest", "ipopt", program, options)

    def _pose(self, ca: Any, q: Any) -> Any:
        """Along Pinocchio's chain: each joint's placement, then its motion."""
        at = self.arm.reference
        X = ca.SX(np.eye(4))
        for k in range(1, at.model.njoints):
            joint, kind = at.model.joints[k], at.model.joints[k].shortname()
            X = X @ ca.SX(at.model.jointPlacements[k].homogeneous)
            S = np.asarray(joint.createData().S, dtype=float).reshape(6)
            x, motion = q[joint.idx_q], ca.SX(np.eye(4))
            if kind.startswith("JointModelP"):
                motion[:3, 3] = ca.SX(S[:3]) * x
            else:
                K = ca.skew(ca.SX(S[3:]))
                motion[:3, :3] = ca.SX(np.eye(3)) + ca.sin(x) * K + (1.0 - ca.cos(x)) * (K @ K)
            X = X @ motion
        return X @ ca.SX(at.model.frames[at.frame].placement.homogeneous)

    def solve(self, X: np.ndarray, near: np.ndarray, start: np.ndarray) -> np.ndarray:
        lower, upper = self.arm.limits
        parameters = np.concatenate([near, X.ravel(order="F")])
        result = self.solver(x0=start, p=parameters, lbx=lower, ubx=upper, lbg=0.0, ubg=0.0)
        q: np.ndarray = np.asarray(result["x"]).ravel()
        return np.clip(q, lower, upper)  # its bounds are relaxed by 1e-8

    def best(self, X: np.ndarray, near: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
        """The distance of the best of ten starts, infinite where none reaches the pose; and whether the first did."""
        first = best = np.inf
        for k, start in enumerate([near, *rng.uniform(*self.arm.ranges, (STARTS - 1, self.arm.n))]):
            q = self.solve(X, near, start)
            if reached(self.arm, q, X):
                best = min(best, float(np.linalg.norm(q - near)))
                first = best if k == 0 else first
        return best, first


@dataclass
class Nearest:
    """Results for nearest configurations, one entry per pose."""

    robot: str
    feasible: np.ndarray
    distances: np.ndarray
    seconds: np.ndarray
    statuses: dict[str, int]
    theirs: np.ndarray  # best of ten starts; NaN where it was not asked
    first: np.ndarray  # of the start at q₀ alone
    their_seconds: float  # of ten starts

    @property
    def as_near(self) -> float:
        """The share of poses both reached in which ours is as near as theirs, to a millionth."""
        both = self.feasible & np.isfinite(self.theirs)
        return float(np.mean(self.distances[both] <= self.theirs[both] * (1.0 + 1e-6) + 1e-9)) if both.any() else np.nan


def nearest(arm: Arm, solver: Any, poses: int, beside: int) -> Nearest:
    """Solve for random reachable poses and reference configurations; the first ``beside`` also with IPOPT."""
    Q, near = configurations(arm, poses, 5), configurations(arm, poses, 6)
    X, q, seconds = arm.reference.pose(Q), np.empty_like(Q), np.empty(poses)
    statuses: Counter[str] = Counter()
    solver.nearest(X[0], near[0])
    for k in range(poses):
        target, to = X[k].copy(), near[k].copy()
        watch = Stopwatch()
        result = solver.nearest(target, to)
        seconds[k] = watch.stop()
        q[k] = result.q
        statuses[str(result.status)] += 1
    theirs, first, taken = np.full(poses, np.nan), np.full(poses, np.nan), 0.0
    if beside:
        with quiet():
            peer, rng = Ipopt(arm), np.random.default_rng(7)
            watch = Stopwatch()
            for k in range(beside):
                theirs[k], first[k] = peer.best(X[k], near[k], rng)
            taken = watch.stop() / beside
    return Nearest(
        arm.name,
        reached(arm, q, X),
        np.linalg.norm(q - near, axis=1),
        seconds,
        dict(statuses),
        theirs,
        first,
        taken,
    )


assert TOLERANCE == 1e-5  # what IPOPT's 1e-10 is well within
