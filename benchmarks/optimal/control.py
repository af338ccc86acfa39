"""Linear regulators for an arm of seven joints (14 states) compared with SciPy, and model-predictive control."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.motion.splines import interleaved
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import OPTIMAL

__all__ = ["lqr_rows", "mpc_rows"]

STEP, PERIOD = 0.01, 1e-3  # [s]
_AGREED = 1e-6  # of X: how far two solutions may be apart


def lqr_rows(quick: bool) -> list[MotionRow]:
    """Without end of time.  Raises AssertionError where gains are not SciPy's."""
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    many = 64 if quick else 512
    arm = lw.load("arm7")
    q = arm.random_configuration(seed=0, size=many)
    v = np.zeros_like(q)
    Q, R = np.eye(2 * arm.nv), 0.1 * np.eye(arm.nv)
    results: list[MotionRow] = []
    for name, step, solver in (("continuous", None, solve_continuous_are), ("discrete", STEP, solve_discrete_are)):
        A, B = arm.linearize(q, v, arm.inverse_dynamics(q, v, v), dt=step)
        discrete = step is not None
        together = lw.control.lqr(A, B, Q, R, discrete=discrete)
        for k in range(0, many, max(many // 16, 1)):
            known = solver(A[k], B[k], Q, R)
            assert np.abs(together.X[k] - known).max() < _AGREED * np.abs(known).max(), (name, k)
        seconds = interleaved(_calls(A, B, Q, R, discrete, solver), 5 if quick else 15)
        left = float(np.max(together.residual))
        bounds: dict[str, Any] = {} if discrete else {x: OPTIMAL["lqr", x] for x in ("one", "batch", "residual")}
        peer = seconds["peer"]
        results += [
            MotionRow(f"{name}, one call", seconds["one"], "s", bounds.get("one"), peer, "SciPy"),
            MotionRow(
                f"{name}, one of a batch of {many}", seconds["many"] / many, "s", bounds.get("batch"), peer, "SciPy"
            ),
            MotionRow(f"{name}, what is left of the equation, of X", left, "", bounds.get("residual")),
        ]
    return results


def mpc_rows(quick: bool) -> list[MotionRow]:
    """An arm of seven joints, 20 steps ahead in a second, that follows a target at 1 kHz within its limits, with gains.

    Raises AssertionError where it does not follow.
    """
    arm = lw.load("arm7")
    problem = lw.TrajectoryProblem(arm, num_steps=20, duration=1.0)
    problem = problem.add(lw.ik.PoseTask("hand"), "least_squares", scale=10.0, name="target")
    problem = problem.add("velocity", "least_squares", scale=0.3).add("acceleration", "least_squares", scale=0.03)
    problem = problem.add_limits()
    start = np.array([0.5, 0.5, 0.1, -1.7, 0.3, 1.4, 0.4])
    results = []
    for iterations in (1, 3):
        controller = problem.controller(period=PERIOD, max_iterations=iterations)
        q, v, seconds = start, np.zeros(arm.nv), []
        for k in range(300 if quick else 2000):
            aim = arm.pose(start + 0.2 * np.sin(PERIOD * k), "hand")
            command = controller.step((q, v), {"target": aim})
            seconds.append(command.seconds)
            v = v + PERIOD * arm.forward_dynamics(q, v, command.torque)
            q = arm.integrate(q, PERIOD * v)
        assert np.abs(arm.pose(q, "hand") - aim).max() < 0.1, iterations
        times = np.array(seconds[1:])
        bounds: dict[str, Any] = {x: OPTIMAL["mpc", x] for x in ("step", "99 %")} if iterations == 3 else {}
        name = f"a step of {iterations} iteration{'s' if iterations > 1 else ''}"
        results += [
            MotionRow(f"{name}, median", float(np.median(times)), "s", bounds.get("step")),
            MotionRow(f"{name}, 99 %", float(np.percentile(times, 99)), "s", bounds.get("99 %")),
        ]
    return results


def _calls(A: Any, B: Any, Q: Any, R: Any, discrete: bool, solver: Any) -> dict[str, Any]:
    return {
        "one": lambda: lw.control.lqr(A[0], B[0], Q, R, discrete=discrete),
        "many": lambda: lw.control.lqr(A, B, Q, R, discrete=discrete),
        "peer": lambda: solver(A[0], B[0], Q, R),
    }
