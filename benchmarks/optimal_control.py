"""Regulators of an arm of seven joints, 14 states, beside SciPy; and steps of model-predictive control."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw

from .motion_rows import MotionRow
from .motion_splines import interleaved
from .targets import OPTIMAL

__all__ = ["lqr_rows"]

STEP = 0.01  # [s]
_AGREED = 1e-6  # of X: how far two solutions may be apart


def lqr_rows(quick: bool) -> list[MotionRow]:
    """Without end of time.  Raises AssertionError where gains are not SciPy's."""
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    many = 64 if quick else 512
    arm = lw.load("arm7")
    q = arm.random_configuration(seed=0, size=many)
    v = np.zeros_like(q)
    Q, R = np.eye(2 * arm.nv), 0.1 * np.eye(arm.nv)
    found: list[MotionRow] = []
    for name, step, solver in (("continuous", None, solve_continuous_are), ("discrete", STEP, solve_discrete_are)):
        A, B = arm.linearize(q, v, arm.inverse_dynamics(q, v, v), step=step)
        discrete = step is not None
        together = lw.control.lqr(A, B, Q, R, discrete=discrete)
        for k in range(0, many, max(many // 16, 1)):
            known = solver(A[k], B[k], Q, R)
            assert np.abs(together.X[k] - known).max() < _AGREED * np.abs(known).max(), (name, k)
        seconds = interleaved(_calls(A, B, Q, R, discrete, solver), 5 if quick else 15)
        left = float(np.max(together.residual))
        bounds: dict[str, Any] = {} if discrete else {x: OPTIMAL["lqr", x] for x in ("one", "batch", "residual")}
        peer = seconds["peer"]
        found += [
            MotionRow(f"{name}, one call", seconds["one"], "s", bounds.get("one"), peer, "SciPy"),
            MotionRow(
                f"{name}, one of a batch of {many}", seconds["many"] / many, "s", bounds.get("batch"), peer, "SciPy"
            ),
            MotionRow(f"{name}, what is left of the equation, of X", left, "", bounds.get("residual")),
        ]
    return found


def _calls(A: Any, B: Any, Q: Any, R: Any, discrete: bool, solver: Any) -> dict[str, Any]:
    return {
        "one": lambda: lw.control.lqr(A[0], B[0], Q, R, discrete=discrete),
        "many": lambda: lw.control.lqr(A, B, Q, R, discrete=discrete),
        "peer": lambda: solver(A[0], B[0], Q, R),
    }
