"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkwork.simulation.algorithms.adaptive_runge_kutta import dormand_prince
from linkwork.simulation.algorithms.fixed_step_integrators import (
    implicit_euler,
    implicit_midpoint,
    runge_kutta,
    semi_implicit_euler,
    variational,
)
from linkwork.simulation.algorithms.ode_system import State

__all__ = ["METHODS", "StepMethod"]


@dataclass(frozen=True, slots=True)
class StepMethod:
    """A step (system, t, q, v, h) → (q, v), and its order."""

    step: Callable[..., State]
    order: int
    by_action: bool = False  # whether it asks for energies instead of accelerations
    by_forces: bool = False  # whether it asks for what is left of forces
    damped_within: bool = False  # whether joints' own forces are those of the step's end, to first order
    adaptive: bool = False  # whether it makes steps of its own

    @property
    def solves(self) -> bool:
        """Whether a step is the solution of equations; what it gives is not finite where that is not found."""
        return self.by_action or self.by_forces


METHODS = {
    "semi_implicit_euler": StepMethod(semi_implicit_euler, 1, damped_within=True),
    "rk4": StepMethod(runge_kutta, 4),
    "dormand_prince": StepMethod(dormand_prince, 5, adaptive=True),
    "implicit_midpoint": StepMethod(implicit_midpoint, 2, by_forces=True),
    "implicit_euler": StepMethod(implicit_euler, 1, by_forces=True),
    "variational": StepMethod(variational, 2, by_action=True),
}
