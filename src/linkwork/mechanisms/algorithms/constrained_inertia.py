"""Delassus matrix, constrained mass matrix and its inverse, and impacts with constraints.

    Λ = G M⁻¹ Gᵀ,      (∂a/∂τ) = M⁻¹ − M⁻¹Gᵀ Λ⁺ G M⁻¹ = P M⁻¹,      Pᵀ M P = M − Gᵀ Λ⁺ G,

with the projection P = 1 − M⁻¹Gᵀ Λ⁺ G onto the velocities that satisfy G v = 0, orthogonal in the kinetic-energy
metric.  The two matrices are pseudo-inverses in this metric, (P M⁻¹)(Pᵀ M P) = P, which does not mix units of length
and angle.  Rows may be redundant.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 3 and 8.

Impact with constraints and external impulses p:

    M (v⁺ − v) = GᵀΛ + Σ Jᵀ p,      G v⁺ + σ = −e (G v + σ).

Rows with G v + σ = 0 remain satisfied for any coefficient of restitution e; the velocities of other rows are reversed
and multiplied by e.  Without impulses and drift σ, the kinetic energy changes by
−½ (1 − e²) (G v)ᵀ (G M⁻¹ Gᵀ)⁺ (G v), which is not positive for 0 ≤ e ≤ 1.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 11.7; Moreau, Unilateral contact and dry friction
in finite freedom dynamics, 1988 (one coefficient for all simultaneous impacts).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix, propagated_inverse
from linkwork.expr.linalg.sparse_dot import dot, negated, transposed
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import ConstrainedFactorization, acceleration_by_force
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.model.function_spec import PASSIVE, FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = [
    "ROWS",
    "at_rest",
    "constrained_mass_matrix",
    "constrained_mass_matrix_inverse",
    "delassus_matrix",
    "impact_of_constrained",
]


Scalars = Sequence[Any]
Matrix = list[list[Any]]


def at_rest(tree: Tree, q: Scalars, time: Scalars | None = None, armature: bool = False) -> ConstrainedFactorization:
    """Return the factors of mass matrix and Delassus matrix for v = 0, for functions that do not depend on v."""
    rates = rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0])
    return ConstrainedFactorization(inverse_mass_matrix(tree, q, armature), rates)


def delassus_matrix(tree: Tree, q: Scalars, time: Scalars | None = None, passive: bool = False) -> Matrix:
    """Return the Delassus matrix Λ = G M⁻¹ Gᵀ (nc × nc), symmetric.

    G is the constraint Jacobian and M the mass matrix; with ``passive`` M includes armature.
    """
    return at_rest(tree, q, time, passive).delassus


def constrained_mass_matrix_inverse(
    tree: Tree, q: Scalars, time: Scalars | None = None, passive: bool = False
) -> Matrix:
    """Return P M⁻¹ = ∂a/∂τ (nv × nv), symmetric, for constrained accelerations a under joint forces τ.

    M is the mass matrix, and P projects accelerations onto those that the constraints allow.
    """
    return acceleration_by_force(at_rest(tree, q, time, passive), of_forces=False)[: tree.nv]


def constrained_mass_matrix(tree: Tree, q: Scalars, time: Scalars | None = None, passive: bool = False) -> Matrix:
    """Return Pᵀ M P (nv × nv), symmetric: the mass matrix for velocities that satisfy the constraints, G v = 0.

    M is the mass matrix, G the constraint Jacobian, and P projects onto these velocities.
    """
    system, M = at_rest(tree, q, time, passive), mass_matrix(tree, q, passive)
    columns = transposed(system.rates.rows)
    for k, forces in enumerate(map(system.factors.solved, negated(columns))):
        for j in range(k + 1):
            M[k][j] = M[j][k] = M[k][j] + dot(columns[j], forces)
    return M


def _row(compute: Any, outputs: Output, doc: str) -> FunctionSpec:
    more = {"optional": ("time",), "options": (PASSIVE,), "joint_space": True, "requires_regular_coordinates": True}
    return FunctionSpec.of(compute, "q", outputs, doc, **more)


def constrained_impact(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    impulses: Wrenches = (),
    time: Scalars | None = None,
    restitution: Scalars | None = None,
    passive: bool = False,
) -> tuple[list[Any], list[Any]]:
    """Return the velocity v⁺ (nv) after an impact and the constraint impulses Λ (nc).

    If rows of the constraint Jacobian are redundant, Λ has minimum norm.  With ``passive`` the mass matrix includes
    armature.
    """
    at_rest_v = [0.0] * tree.nv
    rates = rates_of(tree, q, at_rest_v, 0.0 if time is None else time[0])
    system, e = (
        ConstrainedFactorization(propagated_inverse(tree, q, passive), rates),
        0.0 if restitution is None else restitution[0],
    )
    impulse = bias_force(tree.with_gravity(Vec3.zero()), q, at_rest_v, impulses)
    y = system.inverse.inward([-x for x in impulse])
    closing = [dot(row, v) + drift for row, drift in zip(rates.rows, rates.drift, strict=True)]
    result = system.forces(y, [-(x + x * e) for x in closing])
    steps = system.moved(y, result)
    return [x + step for x, step in zip(v, steps, strict=True)], system.factors.least(result)


def impact_of_constrained(
    tree: Tree, q: Scalars, v: Scalars, impulses: Wrenches = (), passive: bool = False
) -> list[Any]:
    """Return the velocity v⁺ (nv) after an impact of a robot with constraints, for `impact`."""
    return constrained_impact(tree, q, v, impulses, passive=passive)[0]


ROWS = (
    _row(
        delassus_matrix,
        Output(("nc", "nc"), "1/(kg·m²), 1/(kg·m), 1/kg"),
        "Delassus matrix, the inverse inertia of the constraint rows.",
    ),
    _row(
        constrained_mass_matrix_inverse,
        Output(("nv", "nv"), "1/(kg·m²), 1/(kg·m), 1/kg"),
        "Derivative of constrained accelerations by joint forces.",
    ),
    _row(
        constrained_mass_matrix,
        Output(("nv", "nv"), "kg·m², kg·m, kg"),
        "Mass matrix on the velocities that satisfy the constraints.",
    ),
    FunctionSpec.of(
        constrained_impact,
        "q v",
        (Output(("nv",), "rad/s, m/s", "v"), Output(("nc",), "N·s, N·m·s", "constraint_impulses")),
        "Velocities after an impact with constraints and impulses, and the constraint impulses.",
        optional=("time", "restitution"),
        options=(PASSIVE,),
        takes_wrenches=True,
        wrench_argument="impulses",
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)
