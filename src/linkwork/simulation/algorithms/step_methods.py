"""Table of time stepping methods by name."""

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

__all__ = ["METHODS", "STEP_METHODS", "StepMethod"]


@dataclass(frozen=True, slots=True)
class StepMethod:
    """A method's step (system, t, q, v, h) → (q, v), its order and properties."""

    step: Callable[..., State]
    order: int
    by_action: bool = False  # True if it uses momenta and energies in place of accelerations
    by_forces: bool = False  # True if it uses the imbalance of forces
    damped_within: bool = False  # True if passive joint forces are those of the step's end, to first order
    adaptive: bool = False  # True if it chooses its own substeps
    as_mujoco: bool = False  # True if only damping is that of the step's end, and the robot is a tree
    servos_within: bool = False  # True if the damping of servos is that of the step's end, in such a method

    @property
    def solves(self) -> bool:
        """True if a step solves equations; its result is not finite where they are not solved."""
        return self.by_action or self.by_forces


METHODS = {
    "semi_implicit_euler": StepMethod(semi_implicit_euler, 1, damped_within=True),
    "mujoco_euler": StepMethod(semi_implicit_euler, 1, damped_within=True, as_mujoco=True),
    "mujoco_implicitfast": StepMethod(semi_implicit_euler, 1, damped_within=True, as_mujoco=True, servos_within=True),
    "rk4": StepMethod(runge_kutta, 4),
    "dormand_prince": StepMethod(dormand_prince, 5, adaptive=True),
    "implicit_midpoint": StepMethod(implicit_midpoint, 2, by_forces=True),
    "implicit_euler": StepMethod(implicit_euler, 1, by_forces=True),
    "variational": StepMethod(variational, 2, by_action=True),
}

STEP_METHODS = (*METHODS,)
"""Names of the methods of `Robot.simulate` and `linkwork.Simulator`, besides those of SciPy."""
