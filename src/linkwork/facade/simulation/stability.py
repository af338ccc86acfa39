"""Steps too long to be stable, told by the eigenvalues of a step.

A step maps deviations of (q, v) linearly, to first order: what it multiplies by more than 1.5, or by less than −1, is
no motion that the step resolves.  All is in it: stiffness and damping of joints, feedback of controllers, the method.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II, 2nd ed. 1996, section IV.2.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._user import levels_up
from ...errors import SimulationWarning

__all__ = ["EXPLICIT", "warn_of_long_step"]

EXPLICIT = ("semi_implicit_euler", "rk4")

_MOST, _BACK = 1.5, 1e-3  # what a step may multiply by; and how much more than −1
_DEVIATION = 1e-5
_HALVINGS = 12

Step = Callable[[Any, Any, float], tuple[Any, Any]]


def warn_of_long_step(robot: Any, step: Step, q: np.ndarray, v: np.ndarray, h: float) -> None:
    """Warn where a step of h from q (nq,) and v (nv,) is not stable, with the eigenvalue, and with a step that is.

    ``step(q, v, h)`` takes states (n, nq), (n, nv).
    """
    worst = _worst(robot, step, q, v, h)
    if worst is None:
        return
    shorter = h
    for _ in range(_HALVINGS):
        shorter *= 0.5
        if _worst(robot, step, q, v, shorter) is None:
            advice = f"{shorter:.2g} s would do"
            break
    else:
        advice = f"{shorter:.2g} s is too long, too"
    factor = f"{worst.real:.3g}" if abs(worst.imag) < 1e-9 * abs(worst) else f"{worst:.3g}"
    warnings.warn(
        f"simulate: step: {h:g} s is too long to be stable: at the start each step multiplies some deviation by the "
        f"eigenvalue {factor}; {advice}, or an implicit method",
        SimulationWarning,
        stacklevel=levels_up(),
    )


def _worst(robot: Any, step: Step, q: np.ndarray, v: np.ndarray, h: float) -> complex | None:
    """The largest eigenvalue of a step that is not stable, if there is one."""
    n = robot.nv
    size = _DEVIATION * np.concatenate([np.ones(n), np.full(n, 1.0 + float(np.abs(v).max(initial=0.0)))])
    moved = np.concatenate([np.diag(size), -np.diag(size)])
    qs = robot.integrate(np.broadcast_to(q, (4 * n, robot.nq)), moved[:, :n])
    ends, rates = step(qs, v + moved[:, n:], h)
    way = np.concatenate([robot.difference(ends[2 * n :], ends[: 2 * n]), rates[: 2 * n] - rates[2 * n :]], axis=1)
    A = (way / (2.0 * size[:, None])).T
    if not np.isfinite(A).all():
        return None
    found = np.linalg.eigvals(A)
    unstable = (np.abs(found) > _MOST) | ((np.abs(found) > 1.0 + _BACK) & (found.real < 0.0))
    return complex(max(found[unstable], key=abs)) if unstable.any() else None
