"""Sensitivity of optimal paths: exact derivatives compared with finite differences, and their time.

The cases are a path by its target position and start, and a motion by forward dynamics by its load (a runtime parameter
of the robot).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import OPTIMAL

__all__ = ["derivative_rows"]

STEPS, DURATION, FRAME = 32, 2.0, "hand"
SPEED = 0.5  # [rad/s], which holds the path at some steps
LOAD = np.array([1.0, 0.0, 0.0, 0.05, 4e-3, 0.0, 0.0, 4e-3, 0.0, 2e-3])  # of a kilogramme in the hand
STEP = 3e-4  # of differences, of the fourth order [rad, m]
TIGHT: dict[str, Any] = {"tolerance": 1e-11, "step_tolerance": 1e-11}


def derivative_rows(quick: bool) -> list[MotionRow]:
    """Measure derivatives of a path by its target position and start, and of a motion by its load."""
    return [*_of_a_path(quick), *_of_a_motion(quick)]


def _of_a_path(quick: bool) -> list[MotionRow]:
    """Measure an arm of seven joints with velocity limits."""
    arm = lw.load("arm7")
    problem = lw.TrajectoryProblem(arm, num_steps=STEPS, duration=DURATION).add("acceleration", "least_squares")
    problem = problem.add(lw.ik.PositionTask(FRAME), "equality", steps=-1, name="reach")
    problem = problem.add("velocity", "inequality", lower=-SPEED, upper=SPEED, name="speed")
    start = np.array([0.0, 0.5, 0.0, -1.6, 0.0, 2.0, 0.0])
    position = arm.pose(start + np.array([0.9, 0.3, 0.6, 0.7, 0.2, -0.5, 0.4]), FRAME)[:3, 3]
    solution = problem.solve(start, targets={"reach": position}, **TIGHT)
    assert solution.success and np.abs(solution.multipliers["speed"]).max() > 1e-3, solution

    def path(by: str, points: np.ndarray) -> np.ndarray:
        q, x = (arm.integrate(start, points), position) if by == "start" else (start, position + points)
        moved = problem.solve(q, targets={"reach": x}, warm_start=solution, **TIGHT)
        assert moved.success, moved
        return np.asarray(moved.q)

    def difference(by: str, k: int, size: int) -> np.ndarray:
        points = np.eye(size)[k]
        return _difference(lambda x: path(by, x * points), STEP)

    rows = []
    for by, name in (("reach", "by the place at the end"), ("start", "by the start")):
        exact = solution.derivative(by).q
        worst = 0.0
        for k in range(exact.shape[-1])[:: 3 if quick else 1]:
            off = exact[..., k] - difference(by, k, exact.shape[-1])
            worst = max(worst, float(np.abs(off).max() / max(1.0, np.abs(exact[..., k]).max())))
        rows += _rows(name, worst, exact, _seconds(solution, by, quick))
    return rows


def _of_a_motion(quick: bool) -> list[MotionRow]:
    """Measure an arm of six joints by forward dynamics, from rest to rest with a load in its hand."""
    arm = lw.load("arm6").with_payload("payload", "tool", 0.0)
    problem = lw.TrajectoryProblem(arm, num_steps=STEPS, duration=1.0).add("torque", "least_squares", scale=0.03)
    problem = problem.add("velocity", "least_squares", scale=0.3).add("velocity", "equality", steps=-1, name="rest")
    start = np.array([0.0, -1.0, 1.2, 0.1, 0.4, 0.2])
    problem = problem.add("configuration", "equality", steps=-1, target=start + 0.4, name="reach")
    name = "inertia:payload"

    def motion(mass: float, **more: Any) -> Any:
        tight = TIGHT | {"step_tolerance": 1e-10, "max_iterations": 400}
        result = problem.solve(
            start, solver="ilqr", control_limits=False, parameters={name: mass * LOAD}, **tight | more
        )
        assert result.success, result
        return result

    result = motion(1.0)
    exact = result.derivative(name).q
    off = exact @ LOAD - _difference(lambda x: np.asarray(motion(1.0 + x, warm_start=result).q), 2e-2)
    return _rows("a motion by its load", float(np.abs(off).max()), exact, _seconds(result, name, quick))


def _difference(of: Callable[[float], np.ndarray], step: float) -> np.ndarray:
    """Return the derivative with respect to a scalar at zero by fourth-order central differences."""
    near, far = (of(s * step) - of(-s * step) for s in (1.0, 2.0))
    return np.asarray((8.0 * near - far) / (12.0 * step))


def _seconds(result: Any, by: str, quick: bool) -> float:
    """Return the time for a derivative with compiled kernels [s]."""
    seconds = []
    for _ in range(5 if quick else 25):
        begin = time.perf_counter()
        result.derivative(by)
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds))


def _rows(name: str, worst: float, exact: np.ndarray, seconds: float) -> list[MotionRow]:
    title = f"{name}, {exact[..., 0].size} numbers by {exact.shape[-1]}"
    target = OPTIMAL["derivative", "beside differences"]
    return [MotionRow(f"{name}, beside differences", worst, "", target), MotionRow(title, seconds, "s")]
