"""How an optimal path moves with its problem: exact derivatives beside differences of paths, and what they take."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import linkwork as lw

from .motion_rows import MotionRow
from .targets import OPTIMAL

__all__ = ["derivative_rows"]

STEPS, DURATION, FRAME = 32, 2.0, "hand"
SPEED = 0.5  # [rad/s], which holds the path at some steps
STEP = 3e-4  # of differences, of the fourth order [rad, m]
TIGHT: dict[str, Any] = {"tolerance": 1e-11, "step_tolerance": 1e-11}


def derivative_rows(quick: bool) -> list[MotionRow]:
    """By the place that is to be reached and by the start, of an arm of seven joints within limits of velocity."""
    arm = lw.load("arm7")
    problem = lw.Problem(arm, steps=STEPS, duration=DURATION).add("acceleration", "squares")
    problem.add(lw.ik.PositionTask(FRAME), "equality", at=-1, name="reach")
    problem.add("velocity", "inequality", lower=-SPEED, upper=SPEED, name="speed")
    start = np.array([0.0, 0.5, 0.0, -1.6, 0.0, 2.0, 0.0])
    place = arm.pose(start + np.array([0.9, 0.3, 0.6, 0.7, 0.2, -0.5, 0.4]), FRAME)[:3, 3]
    found = problem.solve(start, targets={"reach": place}, **TIGHT)
    assert found.success and np.abs(found.multipliers["speed"]).max() > 1e-3, found

    def path(by: str, way: np.ndarray) -> np.ndarray:
        q, x = (arm.integrate(start, way), place) if by == "start" else (start, place + way)
        moved = problem.solve(q, targets={"reach": x}, warm=found, **TIGHT)
        assert moved.success, moved
        return np.asarray(moved.q)

    def difference(by: str, k: int, size: int) -> np.ndarray:
        """Of the fourth order."""
        way = STEP * np.eye(size)[k]
        near, far = (path(by, s * way) - path(by, -s * way) for s in (1.0, 2.0))
        return np.asarray((8.0 * near - far) / (12.0 * STEP))

    rows = []
    for by, name in (("reach", "by the place at the end"), ("start", "by the start")):
        exact = found.derivative(by).q
        worst = 0.0
        for k in range(exact.shape[-1])[:: 3 if quick else 1]:
            off = exact[..., k] - difference(by, k, exact.shape[-1])
            worst = max(worst, float(np.abs(off).max() / max(1.0, np.abs(exact[..., k]).max())))
        seconds = []
        for _ in range(5 if quick else 25):
            begin = time.perf_counter()
            found.derivative(by)
            seconds.append(time.perf_counter() - begin)
        rows.append(MotionRow(f"{name}, beside differences", worst, "", OPTIMAL["derivative", "beside differences"]))
        what = f"{name}, {exact[..., 0].size} numbers by {exact.shape[-1]}"
        rows.append(MotionRow(what, float(np.median(seconds)), "s"))
    return rows
