"""The dynamics of a mechanism in independent velocities u: as many equations as there are degrees of freedom.

With v = K u + k and a = K u̇ + g of `explicit`, the equations of motion M a + h = τ + Gᵀλ, times Kᵀ, lose what the
constraints exert, since G K = 0:

    H u̇ + c = Kᵀ τ,      H = Kᵀ M K,      c = Kᵀ (h + M g).

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 3.5; Garcia de Jalon and Bayo, Kinematic and
Dynamic Simulation of Multibody Systems, 1994, chapter 5 (velocity transformations).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, mirrored, transposed
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import asked_for
from linkwork.mechanisms.algorithms.constraints.constraint_rows import rates_of
from linkwork.mechanisms.algorithms.velocity_embedding import INDEPENDENT, Explicit, Names
from linkwork.model.function_spec import PASSIVE, Output, Row
from linkwork.model.tree import Tree

__all__ = ["ROWS", "reduced_forward_dynamics", "reduced_inertia"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def reduced_inertia(K: Matrix, M: Matrix) -> Matrix:
    """Kᵀ M K, symmetric."""
    columns = transposed(K)
    moved = [[dot(row, column) for row in M] for column in columns]
    lower = [[dot(columns[i], moved[j]) for j in range(i + 1)] for i in range(len(columns))]
    return mirrored(lower)


def reduced_mass_matrix(
    tree: Tree, q: Scalars, independent: Names, time: Scalars | None = None, passive: bool = False
) -> Matrix:
    """H (ni × ni): the kinetic energy of u is ½ uᵀ H u, where constraints do not depend on time."""
    explicit = Explicit.at(tree, q, independent, 0.0 if time is None else time[0])
    return reduced_inertia(explicit.K, mass_matrix(tree, q, passive))


def reduced_inverse_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    independent: Names,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
) -> list[Any]:
    """H u̇ + c (ni), u̇ being the independent ones of a: the forces on u under which it accelerates so."""
    t = 0.0 if time is None else time[0]
    explicit = Explicit.at(tree, q, independent, t)
    rates = explicit.whole([a[k] for k in explicit.independent], rates_of(tree, q, v, t).bias)
    return explicit.reduced(asked_for(tree, q, v, rates, wrenches, passive))


def reduced_bias_force(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    independent: Names,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
) -> list[Any]:
    """c (ni): the forces on u at which it does not accelerate."""
    return reduced_inverse_dynamics(tree, q, v, [0.0] * tree.nv, independent, wrenches, time, passive)


def reduced_forward_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    independent: Names,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
) -> list[Any]:
    """u̇ (ni) under joint forces τ (nv)."""
    t = 0.0 if time is None else time[0]
    explicit = Explicit.at(tree, q, independent, t)
    H = reduced_inertia(explicit.K, mass_matrix(tree, q, passive))
    still = explicit.whole([0.0] * len(explicit.independent), rates_of(tree, q, v, t).bias)
    needed = asked_for(tree, q, v, still, wrenches, passive)
    return Semidefinite.of(H, more=0.0).once(explicit.reduced([x - y for x, y in zip(tau, needed, strict=True)]))


_OF_FORCES: dict[str, Any] = {
    "optional": ("gravity", "time"),
    "options": (INDEPENDENT, PASSIVE),
    "wrenched": True,
    "joint_space": True,
}

ROWS = (
    Row.of(
        reduced_mass_matrix,
        "q",
        Output(("ni", "ni"), "kg·m², kg·m, kg"),
        "Inertia that independent velocities feel, where constraints hold.",
        optional=("time",),
        options=(INDEPENDENT, PASSIVE),
        joint_space=True,
    ),
    Row.of(
        reduced_bias_force,
        "q v",
        Output(("ni",), "N·m, N"),
        "Forces on independent velocities at which they do not accelerate.",
        **_OF_FORCES,
    ),
    Row.of(
        reduced_inverse_dynamics,
        "q v a",
        Output(("ni",), "N·m, N"),
        "Forces on independent velocities under which they accelerate as asked.",
        **_OF_FORCES,
    ),
    Row.of(
        reduced_forward_dynamics,
        "q v tau",
        Output(("ni",), "rad/s², m/s²"),
        "Accelerations of independent velocities under joint forces.",
        regular=True,
        **_OF_FORCES,
    ),
)
