"""Path optimization as CasADi's users formulate it by hand, the reference for `linkwork.TrajectoryProblem`.

Variables are the configurations; accelerations are their second differences.  The hand's pose at the end is six
equations, and distances are inequalities at every step.  CasADi computes exact, sparse derivatives, and IPOPT solves
the problem with the linear solver of its wheel.  Fatrop, which requires stages, has velocities as states and
accelerations as controls.  SciPy uses the functions and derivatives of the first form, dense.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.ik.peers import module

__all__ = ["MARGIN", "CasadiPath", "FatropPath", "ForeignPath", "PathCase", "SciPyPath", "outer_pairs"]

MARGIN = 0.01  # [m]


@dataclass(frozen=True)
class PathCase:
    """A path of a robot from rest at q0 to a pose of a frame, past a scene."""

    robot: lw.Robot
    frame: str
    steps: int
    step: float  # [s]
    scene: lw.Scene | None = None


@dataclass(frozen=True)
class ForeignPath:
    """Result of another library."""

    q: np.ndarray  # (T, nq)
    cost: float
    violation: float  # the most, of any equation or inequality
    iterations: int
    seconds: float
    solved: bool


class CasadiPath:
    """The path as a nonlinear program in CasADi, built once and solved for many starts and poses."""

    def __init__(self, case: PathCase, solver: str = "ipopt") -> None:
        ca = module("casadi")
        n, steps = case.robot.nq, case.steps
        Q, q0, X = ca.SX.sym("Q", n, steps), ca.SX.sym("q0", n), ca.SX.sym("X", 4, 4)
        around = ca.horzcat(q0, Q)
        v = [(around[:, t + 1] - around[:, t]) / (case.step * (1.0 if t + 1 < steps else 0.5)) for t in range(steps)]
        rates = ca.horzcat(ca.SX.zeros(n), *v)
        a = (rates[:, 1:] - rates[:, :-1]) / case.step
        rows = [_error_of(case)(Q[:, -1], X)]
        low, high = [np.zeros(6)], [np.zeros(6)]
        self._clearance = None if case.scene is None else _distances_of(case)
        if self._clearance is not None:
            rows += [MARGIN - self._clearance(Q[:, t]) for t in range(steps)]
            low.append(np.full(steps * self._clearance.numel_out(0), -np.inf))
            high.append(np.zeros(len(low[-1])))
        g, parameters = ca.vertcat(*rows), ca.vertcat(q0, ca.vec(X))
        program = {"x": ca.vec(Q), "f": 0.5 * ca.sumsqr(a), "g": g, "p": parameters}
        options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-8}}
        self._case, self._low, self._high = case, np.concatenate(low), np.concatenate(high)
        self._solve = ca.nlpsol("path", solver, program, options)
        self._lower, self._upper = np.tile(case.robot.lower, steps), np.tile(case.robot.upper, steps)

    def solve(self, start: np.ndarray, X: np.ndarray, guess: np.ndarray | None = None) -> ForeignPath:
        """Solve for a path from rest at the start; the default initial guess (T, nq) is to stay there."""
        steps = self._case.steps
        x0 = np.tile(start, steps) if guess is None else np.asarray(guess).ravel()
        bounds = {"lbx": self._lower, "ubx": self._upper, "lbg": self._low, "ubg": self._high}
        begin = time.perf_counter()
        result = self._solve(x0=x0, p=np.concatenate([start, X.T.ravel()]), **bounds)
        seconds = time.perf_counter() - begin
        g, stats = np.array(result["g"]).ravel(), self._solve.stats()
        missed = np.maximum(np.maximum(g - self._high, self._low - g), 0.0)
        return ForeignPath(
            np.array(result["x"]).reshape(steps, -1), float(result["f"]), float(missed.max()),
            int(stats["iter_count"]), seconds, bool(stats["success"]),
        )  # fmt: skip


class FatropPath:
    """The path in stages for Fatrop: a state of q and v, a control a, and the dynamics between stages."""

    def __init__(self, case: PathCase) -> None:
        ca = module("casadi")
        n, steps, tau = case.robot.nq, case.steps, case.step
        q0, X = ca.SX.sym("q0", n), ca.SX.sym("X", 4, 4)
        xs = [ca.SX.sym(f"x{t}", 2 * n) for t in range(steps + 1)]
        us = [ca.SX.sym(f"u{t}", n) for t in range(steps)]
        rows: list[Any] = []
        equality: list[bool] = []
        for t in range(steps):
            v = xs[t][n:] + tau * us[t]
            gap = tau if t + 1 < steps else 0.5 * tau  # to the next configuration
            rows.append(xs[t + 1] - ca.vertcat(xs[t][:n] + gap * v, v))
            equality += [True] * (2 * n)
            if t == 0:
                rows.append(xs[0] - ca.vertcat(q0, ca.SX.zeros(n)))
                equality += [True] * (2 * n)
        rows.append(_error_of(case)(xs[-1][:n], X))
        equality += [True] * 6
        x = ca.vertcat(*(part for pair in zip(xs, us, strict=False) for part in pair), xs[-1])
        program = {
            "x": x, "f": 0.5 * sum(ca.sumsqr(u) for u in us), "g": ca.vertcat(*rows),
            "p": ca.vertcat(q0, ca.vec(X)),
        }  # fmt: skip
        options = {
            "print_time": False, "structure_detection": "auto", "equality": equality, "fatrop": {"print_level": 0},
        }  # fmt: skip
        self._case, self._solve = case, ca.nlpsol("path", "fatrop", program, options)

    def solve(self, start: np.ndarray, X: np.ndarray) -> ForeignPath:
        """Solve for a path from rest at the start; the initial guess is to stay there."""
        n, steps = self._case.robot.nq, self._case.steps
        start_state = np.concatenate([start, np.zeros(n)])
        x0 = np.concatenate([np.tile(np.concatenate([start_state, np.zeros(n)]), steps), start_state])
        begin = time.perf_counter()
        result = self._solve(x0=x0, p=np.concatenate([start, X.T.ravel()]), lbg=0.0, ubg=0.0)
        seconds = time.perf_counter() - begin
        x, stats = np.array(result["x"]).ravel(), self._solve.stats()
        q = [x[3 * n * t : 3 * n * t + n] for t in range(1, steps + 1)]
        worst = float(np.abs(np.array(result["g"])).max())
        return ForeignPath(np.array(q), float(result["f"]), worst, int(stats["iter_count"]), seconds, stats["success"])


class SciPyPath:
    """Without obstacles, by a method of `scipy.optimize.minimize`; the Jacobian of the pose is linkwork's."""

    def __init__(self, case: PathCase, method: str = "SLSQP") -> None:
        self._case, self._method, self._minimize = case, method, module("scipy.optimize").minimize
        n, steps = case.robot.nq, case.steps
        D = np.eye(steps) - np.eye(steps, k=-1)
        rates = np.diag([*np.ones(steps - 1), 2.0]) @ D  # the last configuration is half a step after the one before
        self._A = np.kron(D @ rates, np.eye(n)) / case.step**2

    def solve(self, start: np.ndarray, X: np.ndarray) -> ForeignPath:
        """Solve for a path from rest at the start; the initial guess is to stay there."""
        case = self._case
        n, steps = case.robot.nq, case.steps
        b = -self._A @ np.tile(start, steps)
        H = self._A.T @ self._A

        def error(x: np.ndarray) -> np.ndarray:
            pose = case.robot.pose(x[-n:], case.frame)
            return np.array(_missed(pose, X))

        def rows(x: np.ndarray) -> np.ndarray:
            pose = case.robot.pose(x[-n:], case.frame)
            twist = case.robot.jacobian(x[-n:], case.frame, expressed_in="world")
            R = pose[:3, :3] @ X[:3, :3].T
            turn = 0.5 * (np.trace(R) * np.eye(3) - R.T)
            result = np.zeros((6, len(x)))
            result[:3, -n:], result[3:, -n:] = turn @ twist[:3], twist[3:]
            return result

        rule = {"type": "eq", "fun": error, "jac": rows}
        options = {"maxiter": 500, **({"ftol": 1e-12} if self._method == "SLSQP" else {"gtol": 1e-8})}
        begin = time.perf_counter()
        result = self._minimize(
            lambda x: 0.5 * float((self._A @ x + b) @ (self._A @ x + b)), np.tile(start, steps),
            jac=lambda x: H @ x + self._A.T @ b, method=self._method, constraints=[rule], options=options,
            **({} if self._method == "SLSQP" else {"hess": lambda x: H}),
        )  # fmt: skip
        seconds = time.perf_counter() - begin
        worst = float(np.abs(error(result.x)).max())
        return ForeignPath(result.x.reshape(steps, n), float(result.fun), worst, result.nit, seconds, worst < 1e-6)


def _missed(pose: Any, X: Any) -> list[Any]:
    """Return the error between poses: sin(angle) · axis, and the displacement, both in the world frame."""
    R, S = pose[:3, :3], X[:3, :3]
    W = R @ S.T
    turned = [0.5 * (W[2, 1] - W[1, 2]), 0.5 * (W[0, 2] - W[2, 0]), 0.5 * (W[1, 0] - W[0, 1])]
    return [*turned, *(pose[k, 3] - X[k, 3] for k in range(3))]


def _error_of(case: PathCase) -> Any:
    """Return the rotation vector and displacement from a pose to the frame's pose."""
    robot, frame = case.robot, case.frame

    @lw.compile(q=(robot.nq,), X=(4, 4))
    def missed(q, X):
        return lw.pose_difference(X, robot.pose(q, frame))

    return missed.to_casadi()


def _distances_of(case: PathCase) -> Any:
    """Return the distances between all moving bodies of the robot and all obstacles."""
    robot, scene = case.robot, case.scene
    pairs = outer_pairs(robot, scene)

    @lw.compile(q=(robot.nq,))
    def clearances(q):
        return robot.distances(q, scene, pairs=pairs).distance

    return clearances.to_casadi()


def outer_pairs(robot: lw.Robot, scene: lw.Scene | None) -> list[tuple[str, str]]:
    """Pairs of the robot's shapes with obstacles."""
    inner = robot.distances(robot.neutral()).pairs
    return [pair for pair in robot.distances(robot.neutral(), scene).pairs if pair not in inner]
