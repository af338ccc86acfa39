"""The inertia of a robot with constraints: what constraints feel, and what moves that obeys them.

    Λ = G M⁻¹ Gᵀ,      (∂a/∂τ) = M⁻¹ − M⁻¹Gᵀ Λ⁺ G M⁻¹ = P M⁻¹,      Pᵀ M P = M − Gᵀ Λ⁺ G,

P = 1 − M⁻¹Gᵀ Λ⁺ G being the projection that takes velocities to those nearest by kinetic energy that constraints leave.
The two matrices are each other's pseudo-inverse with respect to that energy: (P M⁻¹)(Pᵀ M P) = P, and no unit of length
counts as one of angle.  Rows may depend on each other.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 3 and 8.

Impact of a robot with constraints: what they, and impulses, do to velocities in an instant.

    M (v⁺ − v) = GᵀΛ + Σ Jᵀ p,      G v⁺ + σ = −e (G v + σ).

The rows that hold already, G v + σ = 0, go on to hold whatever e is; the velocities at which others are met are what e,
the coefficient of restitution, turns round.  Without impulses and drift σ kinetic energy changes by
−½ (1 − e²) (G v)ᵀ (G M⁻¹ Gᵀ)⁺ (G v), which is no gain for 0 ≤ e ≤ 1.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 11.7; Moreau, Unilateral contact and dry friction
in finite freedom dynamics, 1988 (one coefficient for all that is met at once).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix, propagated_inverse
from linkwork.expr.linalg.sparse_dot import dot, negated, transposed
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import Held, by_forces
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


def at_rest(tree: Tree, q: Scalars, time: Scalars | None = None, armature: bool = False) -> Held:
    """A robot and its rows, where velocities do not count."""
    rates = rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0])
    return Held(inverse_mass_matrix(tree, q, armature), rates)


def delassus_matrix(tree: Tree, q: Scalars, time: Scalars | None = None, passive: bool = False) -> Matrix:
    """Λ = G M⁻¹ Gᵀ (nc × nc), symmetric: how constraints' rates change with what they exert."""
    return at_rest(tree, q, time, passive).delassus


def constrained_mass_matrix_inverse(
    tree: Tree, q: Scalars, time: Scalars | None = None, passive: bool = False
) -> Matrix:
    """P M⁻¹ (nv × nv), symmetric: how accelerations change with joint forces."""
    return by_forces(at_rest(tree, q, time, passive))[: tree.nv]


def constrained_mass_matrix(tree: Tree, q: Scalars, time: Scalars | None = None, passive: bool = False) -> Matrix:
    """Pᵀ M P (nv × nv), symmetric: the mass matrix of what moves as constraints have it."""
    held, M = at_rest(tree, q, time, passive), mass_matrix(tree, q, passive)
    columns = transposed(held.rates.rows)
    for k, exerted in enumerate(map(held.factors.solved, negated(columns))):
        for j in range(k + 1):
            M[k][j] = M[j][k] = M[k][j] + dot(columns[j], exerted)
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
    """v⁺ (nv) and Λ (nc), the impulse of each row of the constraints.

    Rows that depend on each other share in it with least norm.  With ``passive`` armature is part of M.
    """
    still = [0.0] * tree.nv
    rates = rates_of(tree, q, still, 0.0 if time is None else time[0])
    held, e = Held(propagated_inverse(tree, q, passive), rates), 0.0 if restitution is None else restitution[0]
    pushed = bias_force(tree.with_gravity(Vec3.zero()), q, still, impulses)
    y = held.inverse.inward([-x for x in pushed])
    closing = [dot(row, v) + drift for row, drift in zip(rates.rows, rates.drift, strict=True)]
    result = held.forces(y, [-(x + x * e) for x in closing])
    steps = held.moved(y, result)
    return [x + step for x, step in zip(v, steps, strict=True)], held.factors.least(result)


def impact_of_constrained(
    tree: Tree, q: Scalars, v: Scalars, impulses: Wrenches = (), passive: bool = False
) -> list[Any]:
    """v⁺ alone, as `impact` is asked for it."""
    return constrained_impact(tree, q, v, impulses, passive=passive)[0]


ROWS = (
    _row(
        delassus_matrix,
        Output(("nc", "nc"), "1/(kg·m²), 1/(kg·m), 1/kg"),
        "The inverse inertia that constraints feel.",
    ),
    _row(
        constrained_mass_matrix_inverse,
        Output(("nv", "nv"), "1/(kg·m²), 1/(kg·m), 1/kg"),
        "How accelerations that obey constraints vary with joint forces.",
    ),
    _row(
        constrained_mass_matrix,
        Output(("nv", "nv"), "kg·m², kg·m, kg"),
        "The mass matrix of velocities that constraints leave.",
    ),
    FunctionSpec.of(
        constrained_impact,
        "q v",
        (Output(("nv",), "rad/s, m/s", "v"), Output(("nc",), "N·s, N·m·s", "constraint_impulses")),
        "Velocities after constraints are met, and after impulses; and what the constraints exert.",
        optional=("time", "restitution"),
        options=(PASSIVE,),
        takes_wrenches=True,
        wrench_argument="impulses",
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)
