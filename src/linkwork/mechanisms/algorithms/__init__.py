"""Constrained dynamics over any scalar: assembly, projection, constraint forces and reduced coordinates.

`for_constrained_robots` adds the implementations for robots with constraints to the specifications of functions.
"""

from dataclasses import replace

from linkwork._util.lazy_imports import ImportedFunction
from linkwork.model.function_spec import FunctionSpec

__all__ = ["MODULES", "for_constrained_robots"]

# the modules with specifications of functions, `ROWS`
MODULES = """
constraint_rows constrained_forward_dynamics loop_joint_functions constrained_inverse_dynamics constrained_inertia
constraint_forces constraint_projection assembly_solver velocity_embedding dependent_coordinates reduced_dynamics
"""

# the rank of constraint Jacobians is decided in float64
_FLOAT64_ONLY = frozenset(f"{__name__}.{module}" for module in MODULES.split() if module != "constraint_rows")

# implementation of a function for robots with constraints
_INSTEAD = {
    "forward_dynamics": "constrained_forward_dynamics.constrained_accelerations",
    "forward_dynamics_derivatives": "constrained_forward_dynamics.constrained_acceleration_derivatives",
    "linearize": "constrained_forward_dynamics.constrained_linearize",
    "impact": "constrained_inertia.impact_of_constrained",
    "manipulability": "constrained_manipulability.constrained_manipulability",
    "manipulability_gradient": "constrained_manipulability.constrained_manipulability_gradient",
    "hybrid_dynamics": "constrained_hybrid_dynamics.constrained_hybrid_dynamics",
    "joint_wrenches": "constraint_forces.constrained_joint_wrenches",
    "joint_wrench_components": "constraint_forces.constrained_joint_wrench_split",
    "forward_dynamics_hessian": "constrained_second_derivatives.constrained_hessian",
    "forward_dynamics_second_derivatives": "constrained_second_derivatives.constrained_second_derivatives",
}

# functions that others, which begin with constrained_, compute at a given time
_WITH_TIME = ("forward_dynamics", "forward_dynamics_derivatives", "impact")

# functions without force elements
_JOINT_FORCES_ONLY = ("inverse_dynamics_regressor", "kinetic_energy_regressor", "potential_energy_regressor")

# functions without the forces of joints that close loops
_TREE_FORCES_ONLY = (
    *("inverse_dynamics", "inverse_dynamics_derivatives", "inverse_dynamics_hessian"),
    *("inverse_dynamics_second_derivatives", "bias_force", "gravity_force", "passive_force"),
)


def for_constrained_robots(row: FunctionSpec) -> FunctionSpec:
    """Return the specification of a function, completed by its implementation for robots with constraints.

    Functions that do not depend on constraints need no such implementation. Flags mark functions that leave out the
    forces of loop joints or of force elements.
    """
    name = row.name
    instead = _INSTEAD.get(name)
    return replace(
        row,
        constrained=None if instead is None else ImportedFunction(f"{__name__}.{instead}"),
        with_time=f"constrained_{name}" if name in _WITH_TIME else "",
        tree_forces_only=name in _TREE_FORCES_ONLY,
        joint_forces_only=name in _JOINT_FORCES_ONLY,
        float64_only=row.compute.__module__ in _FLOAT64_ONLY,
    )
