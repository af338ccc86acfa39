"""Constrained dynamics over any scalar: assembly, projection, constraint forces and reduced coordinates.

`ROWS` are the specifications of its functions.  `for_constrained_robots` adds the implementations for robots with
constraints to the specifications of all functions.
"""

from collections.abc import Callable, Iterable, Mapping
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
from linkwork.dynamics.algorithms.forward_dynamics import forward_dynamics, impact
from linkwork.dynamics.algorithms.hybrid_dynamics import hybrid_dynamics
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force, gravity_force, inverse_dynamics
from linkwork.dynamics.algorithms.joint_wrenches import joint_wrench_components, joint_wrenches
from linkwork.dynamics.algorithms.momentum.energy_and_power import lagrangian, potential_energy, power
from linkwork.dynamics.algorithms.passive_joint_forces import passive_force
from linkwork.dynamics.algorithms.regressors import (
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
from linkwork.mechanisms.algorithms.constraint_rows import ROWS as _CONSTRAINTS
from linkwork.mechanisms.algorithms.dependent_coordinates import ROWS as _CLOSING
from linkwork.mechanisms.algorithms.loop_joint_functions import ROWS as _LOOP_JOINTS
from linkwork.mechanisms.algorithms.reduced_dynamics import ROWS as _MINIMAL
from linkwork.mechanisms.algorithms.velocity_embedding import ROWS as _EXPLICIT
from linkwork.model.function_spec import FunctionSpec

__all__ = ["ROWS", "for_constrained_robots"]

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
# the rank of constraint Jacobians is decided in float64
ROWS = (*_CONSTRAINTS, *(replace(row, float64_only=True) for row in _ALL))

# implementation of a function for robots with constraints; None: not available for them
_INSTEAD: Mapping[Callable[..., Any], Callable[..., Any] | None] = {
    forward_dynamics: constrained_accelerations,
    forward_dynamics_derivatives: constrained_acceleration_derivatives,
    linearize: constrained_linearize,
    impact: impact_of_constrained,
    hybrid_dynamics: None,
    joint_wrenches: constrained_joint_wrenches,
    joint_wrench_components: constrained_joint_wrench_split,
    forward_dynamics_hessian: None,
    forward_dynamics_second_derivatives: None,
}

# functions without force elements
_JOINT_FORCES_ONLY: frozenset[Callable[..., Any]] = frozenset(
    (inverse_dynamics_regressor, kinetic_energy_regressor, potential_energy_regressor)
)

# functions without the forces of joints that close loops
_TREE_FORCES_ONLY: frozenset[Callable[..., Any]] = frozenset(
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


def for_constrained_robots(rows: Iterable[FunctionSpec]) -> tuple[FunctionSpec, ...]:
    """Return the specifications of functions, with the treatment of constrained robots filled in.

    A function has a variant for such robots, is refused for them, or computes the same. Marked are also the functions
    that leave out the forces of loop joints or of force elements.
    """
    return tuple(
        replace(
            row,
            constrained=_INSTEAD.get(row.compute),
            unconstrained_only=row.compute in _INSTEAD and _INSTEAD[row.compute] is None,
            tree_forces_only=row.compute in _TREE_FORCES_ONLY,
            joint_forces_only=row.compute in _JOINT_FORCES_ONLY,
        )
        for row in rows
    )
