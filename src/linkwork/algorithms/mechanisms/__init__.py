"""Robots with constraints: how they move, and what that takes.

`INSTEAD` has what is computed of a robot with constraints in the place of functions of free robots; nothing where a
function is of robots without constraints alone.  `TREES_OWN` are functions that know what the tree's joints exert by
themselves, and not what those that close loops do; `OF_JOINTS_ALONE` do not know what force elements exert.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..derivatives.energy_derivatives import potential_energy_derivatives
from ..derivatives.forward_dynamics_derivatives import forward_dynamics_derivatives
from ..derivatives.forward_dynamics_hessian import forward_dynamics_hessian, forward_dynamics_second_derivatives
from ..derivatives.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from ..derivatives.inverse_dynamics_hessian import inverse_dynamics_hessian, inverse_dynamics_second_derivatives
from ..derivatives.linearize import linearize
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.hybrid_dynamics import hybrid_dynamics
from ..dynamics.inverse_dynamics import bias_force, gravity_force, inverse_dynamics
from ..dynamics.passive import passive_force
from ..forces.impact import impact
from ..forces.joint_wrenches import joint_wrench_split, joint_wrenches
from ..momentum.energy import lagrangian, potential_energy
from ..momentum.power import power
from ..regressors.energy_regressors import kinetic_energy_regressor, potential_energy_regressor
from ..regressors.inverse_dynamics_regressor import inverse_dynamics_regressor
from .ambiguity import ROWS as _AMBIGUITY
from .assemble import ROWS as _ASSEMBLE
from .closing import ROWS as _CLOSING
from .constrained_impact import ROWS as _IMPACT
from .constrained_impact import impact_of_constrained
from .constrained_inertia import ROWS as _INERTIA
from .constraint_power import ROWS as _POWER
from .explicit import ROWS as _EXPLICIT
from .forward import ROWS as _FORWARD
from .forward import constrained_accelerations
from .forward_derivatives import ROWS as _FORWARD_DERIVATIVES
from .forward_derivatives import constrained_acceleration_derivatives, constrained_linearize
from .inverse import ROWS as _INVERSE
from .inverse_derivatives import ROWS as _INVERSE_DERIVATIVES
from .joint_wrench import ROWS as _JOINT_WRENCH
from .joint_wrench import constrained_joint_wrench_split, constrained_joint_wrenches
from .loop_joints import ROWS as _LOOP_JOINTS
from .minimal import ROWS as _MINIMAL
from .project import ROWS as _PROJECT
from .reduced_linearize import ROWS as _REDUCED_LINEARIZE

__all__ = ["INSTEAD", "OF_JOINTS_ALONE", "ROWS", "TREES_OWN"]

_ALL = (
    *_FORWARD,
    *_FORWARD_DERIVATIVES,
    *_LOOP_JOINTS,
    *_JOINT_WRENCH,
    *_INVERSE,
    *_INVERSE_DERIVATIVES,
    *_IMPACT,
    *_INERTIA,
    *_AMBIGUITY,
    *_POWER,
    *_PROJECT,
    *_ASSEMBLE,
    *_EXPLICIT,
    *_CLOSING,
    *_MINIMAL,
    *_REDUCED_LINEARIZE,
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
