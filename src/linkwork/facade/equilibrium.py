"""Where a robot stays at rest: Newton's method on the acceleration that it has there, along what constraints allow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Equilibrium", "equilibrium_near"]

_STILL = 1e-11  # how fast, as a part of what gravity and forces would do, is no acceleration
_OPEN = 1e-9  # how far constraints may be open [m, rad]
_FLAT = 1e-9  # part of the largest stiffness below which one is none


@dataclass(frozen=True)
class Equilibrium:
    """A configuration in which a robot stays at rest, or how far the search for one came."""

    q: np.ndarray  # (nq,)
    constraint_forces: np.ndarray  # (nc,) what constraints exert there
    residual: float  # the largest acceleration at rest [rad/s², m/s²]
    stiffness: np.ndarray = field(repr=False)  # eigenvalues of −∂a/∂q along free motions [1/s²], the least first
    status: str  # "found", "constraints are open", "no equilibrium nearby", "too many steps"
    steps: int

    @property
    def found(self) -> bool:
        """Whether it is one."""
        return self.status == "found"

    @property
    def stable(self) -> bool:
        """Whether each small free motion is driven back: a minimum of the energy, where there is one."""
        return self.found and bool(np.all(self.stiffness > _FLAT * np.abs(self.stiffness).max(initial=0.0)))

    def __bool__(self) -> bool:
        return self.found

    def __str__(self) -> str:
        what = f"{'stable' if self.stable else 'not stable'}, " if self.found else ""
        least = f", least stiffness {self.stiffness[0]:.3g} 1/s²" if self.stiffness.size else ""
        return f"equilibrium: {self.status}, {what}{self.steps} steps, residual {self.residual:.2g}{least}"


def equilibrium_near(robot: Any, q0: Any, tau: Any, gravity: Any, time: Any, passive: bool, most: int) -> Equilibrium:
    """Steps δ with ∂a/∂q δ = −a along G δ = 0, shortened until kinetic energy's norm of a falls, and projected back."""
    n = robot.nv
    tau = np.zeros(n) if tau is None else tau
    given = {key: value for key, value in (("gravity", gravity), ("time", time)) if value is not None}
    at = {} if time is None else {"time": time}
    still = np.zeros(n)

    def look(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        a, forces = robot.constrained_forward_dynamics(q, still, tau, passive=passive, **given)
        return a, forces, float(a @ robot.mass_matrix(q) @ a)

    def closed(q: Any) -> tuple[np.ndarray, float]:
        q, error, *_ = robot.project_configuration(q, **at)
        return q, float(np.abs(error).max(initial=0.0))

    q, left = closed(q0)
    a, forces, merit = look(q)
    free = robot.without_constraints() if len(robot.constraints) else robot
    falling = free.forward_dynamics(q, still, tau, passive=passive, **_only(given))
    scale = max(1e-9, float(np.abs(falling).max(initial=0.0)))
    status, values, taken = "too many steps", np.zeros(0), 0
    while True:
        by_q, *_ = robot.constrained_forward_dynamics_derivatives(q, still, tau, passive=passive, **given)
        motions = _free_motions(robot.constraint_jacobian(q, **at), n)
        slopes = motions.T @ by_q @ motions
        values = np.sort(np.linalg.eigvals(-slopes).real)
        if left > _OPEN:
            status = "constraints are open"
            break
        if np.abs(a).max(initial=0.0) <= _STILL * scale:
            status = "found"
            break
        if taken == most:
            break
        step = motions @ np.linalg.lstsq(slopes, -(motions.T @ a), rcond=1e-12)[0]
        step *= min(1.0, 0.5 / max(1e-300, float(np.abs(step).max())))
        for _ in range(30):
            there, open_there = closed(robot.integrate(q, step))
            a_there, forces_there, merit_there = look(there)
            if open_there <= _OPEN and merit_there < merit:
                break
            step *= 0.5
        else:
            status = "found" if np.abs(a).max(initial=0.0) <= 1e3 * _STILL * scale else "no equilibrium nearby"
            break
        q, a, forces, merit, left = there, a_there, forces_there, merit_there, open_there
        taken += 1
    return Equilibrium(q, forces, float(np.abs(a).max(initial=0.0)), values, status, taken)


def _only(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key == "gravity"}


def _free_motions(rows: np.ndarray, n: int) -> np.ndarray:
    """An orthonormal basis of G δ = 0, a motion each column."""
    if not len(rows):
        return np.eye(n)
    _, values, motions = np.linalg.svd(rows)
    return np.asarray(motions[int(np.sum(values > 1e-9 * max(values[0], 1e-300))) :].T)
