"""Derivatives of forward dynamics, by those of inverse dynamics: as τ = ID(q, v, FD(q, v, τ)) for all q and v,

    ∂a/∂τ = M⁻¹,      ∂a/∂q = −M⁻¹ ∂τ/∂q,      ∂a/∂v = −M⁻¹ ∂τ/∂v,      ∂a/∂w = M⁻¹ Jᵀ,

the derivatives of inverse dynamics taken at that acceleration.  M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ is applied by the rows of L⁻¹, which
has the zeros that M has between joints of which neither carries the other.

Source: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.tree import Tree
from ..dynamics.external import Wrenches
from ..dynamics.factored_inverse import FactoredInverse
from ..dynamics.inverse_dynamics import bias_force
from ..row import PASSIVE, Output, Row
from .inverse_dynamics_derivatives import inverse_dynamics_derivatives
from .variations import carriers, joint_force_of_wrench

__all__ = ["ROWS", "forward_dynamics_derivatives"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def forward_dynamics_derivatives(
    tree: Tree, q: Scalars, v: Scalars, tau: Scalars, wrenches: Wrenches = (), passive: bool = False
) -> tuple[Matrix, ...]:
    """∂a/∂q, in the tangent space of q, ∂a/∂v, and ∂a/∂τ = M(q)⁻¹: nv × nv each; and nv × 6 by each wrench.

    Wrenches keep to the axes that they are expressed in.  With ``passive`` friction has its smooth law.
    Raises SingularInertiaError naming the joint where a joint moves no inertia at all.
    """
    inverse = FactoredInverse.of_bodies(tree, q, passive)
    h = bias_force(tree, q, v, wrenches, passive)
    a = inverse.applied([x - y for x, y in zip(tau, h, strict=True)])
    dq, dv, _ = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive)
    da_dq, da_dv = (inverse.applied_to_columns(_negative(matrix)) for matrix in (dq, dv))
    if not wrenches:
        return da_dq, da_dv, inverse.matrix
    at = carriers(tree, tree.split_q(q), tree.split_v(v), tree.split_v(a))
    by_wrench = [joint_force_of_wrench(tree, tree.split_q(q), at, frame, axes) for frame, axes, _ in wrenches]
    return da_dq, da_dv, inverse.matrix, *map(inverse.applied_to_columns, by_wrench)


def _negative(matrix: Matrix) -> Matrix:
    return [[-x for x in row] for row in matrix]


ROWS = (
    Row.of(
        forward_dynamics_derivatives,
        "q v tau",
        (
            Output(("nv", "nv"), "1/s², m/(rad·s²)", "da_dq"),
            Output(("nv", "nv"), "1/s", "da_dv"),
            Output(("nv", "nv"), "1/(kg·m²), 1/(kg·m), 1/kg", "da_dtau"),
        ),
        "How the accelerations of forward dynamics vary with q, v and tau.",
        optional=("gravity",),
        options=(PASSIVE,),
        wrenched=True,
        by_wrench=Output(("nv", 6), "1/(kg·m²), 1/(kg·m), 1/kg", "da_d"),
        joint_space=True,
        regular=True,
    ),
)
