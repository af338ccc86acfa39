"""Robots with constraints: how they move, and what that takes.

`INSTEAD` has what is computed of a robot with constraints in the place of functions of free robots; nothing where a
function is of robots without constraints alone.  `TREES_OWN` are functions that know what the tree's joints exert by
themselves, and not what those that close loops do; `OF_JOINTS_ALONE` do not know what force elements exert.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from linkwork.dynamics.algorithms.derivatives.forward_dynamics_derivatives import (
    forward_dynamics_derivatives,
    forward_dynamics_hessian,
    forward_dynamics_second_derivatives,
)
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import (
    inverse_dynamics_derivatives,
    inverse_dynamics_hessian,
    inverse_dynamics_second_derivatives,
)
from linkwork.dynamics.algorithms.derivatives.linearize import linearize
from linkwork.dynamics.algorithms.derivatives.momentum_and_energy_derivatives import (
    potential_energy_derivatives,
)
from linkwork.dynamics.algorithms.forward_dynamics import forward_dynamics
from linkwork.dynamics.algorithms.hybrid_dynamics import hybrid_dynamics
from linkwork.dynamics.algorithms.impact import impact
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force, gravity_force, inverse_dynamics
from linkwork.dynamics.algorithms.joint_wrenches import joint_wrench_split, joint_wrenches
from linkwork.dynamics.algorithms.momentum.energy_and_power import lagrangian, potential_energy, power
from linkwork.dynamics.algorithms.passive_joint_forces import passive_force
from linkwork.dynamics.algorithms.regressors.inertial_regressors import (
    inverse_dynamics_regressor,
    kinetic_energy_regressor,
    potential_energy_regressor,
)
from linkwork.mechanisms.algorithms.assembly_solver import ROWS as _ASSEMBLE
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import ROWS as _FORWARD
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import (
    constrained_acceleration_derivatives,
    constrained_accelerations,
    constrained_linearize,
)
from linkwork.mechanisms.algorithms.constrained_inertia import ROWS as _INERTIA
from linkwork.mechanisms.algorithms.constrained_inertia import impact_of_constrained
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import ROWS as _INVERSE
from linkwork.mechanisms.algorithms.constraint_forces import ROWS as _AMBIGUITY
from linkwork.mechanisms.algorithms.constraint_forces import (
    constrained_joint_wrench_split,
    constrained_joint_wrenches,
)
from linkwork.mechanisms.algorithms.constraint_projection import ROWS as _PROJECT
from linkwork.mechanisms.algorithms.dependent_coordinates import ROWS as _CLOSING
from linkwork.mechanisms.algorithms.loop_joint_functions import ROWS as _LOOP_JOINTS
from linkwork.mechanisms.algorithms.reduced_dynamics import ROWS as _MINIMAL
from linkwork.mechanisms.algorithms.velocity_embedding import ROWS as _EXPLICIT

__all__ = ["INSTEAD", "OF_JOINTS_ALONE", "ROWS", "TREES_OWN"]

_ALL = (
    *_FORWARD,
    *_LOOP_JOINTS,
    *_INVERSE,
    *_INERTIA,
    *_AMBIGUITY,
    *_PROJECT,
    *_ASSEMBLE,
    *_EXPLICIT,
    *_CLOSING,
    *_MINIMAL,
)
ROWS = tuple(replace(row, in_double=True) for row in _ALL)  # as what of constraints depends on others is decided there

INSTEAD: Mapping[Callable[..., Any], Callable[..., Any] | None] = {
    forward_dynamics: constrained_accelerations,
    forward_dynamics_derivatives: constrained_acceleration_derivatives,
    linearize: constrained_linearize,
    impact: impact_of_constrained,
    hybrid_dynamics: None,
    joint_wrenches: constrained_joint_wrenches,
    joint_wrench_split: constrained_joint_wrench_split,
    forward_dynamics_hessian: None,
    forward_dynamics_second_derivatives: None,
}

OF_JOINTS_ALONE: frozenset[Callable[..., Any]] = frozenset(
    (inverse_dynamics_regressor, kinetic_energy_regressor, potential_energy_regressor)
)

TREES_OWN: frozenset[Callable[..., Any]] = frozenset(
    (
        inverse_dynamics,
        inverse_dynamics_derivatives,
        inverse_dynamics_hessian,
        inverse_dynamics_second_derivatives,
        bias_force,
        gravity_force,
        passive_force,
        potential_energy,
        potential_energy_derivatives,
        lagrangian,
        power,
    )
)
