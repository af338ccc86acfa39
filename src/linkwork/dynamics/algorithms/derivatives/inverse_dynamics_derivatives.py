"""Derivatives of inverse dynamics, body by body with what it carries, and pair by pair with those that carry it.

Where bodies' twists vary by Ψ̇ and accelerations by Ψ̇ × V + Ψ̈ in axes that go along (`variations`), the force on all
that a joint carries varies by I Ψ̈ + B Ψ̇, with the sum of their inertias, and turns along.  A mass at r that moves by
ṙ is accelerated by 2 Ψ̇_ω × ṙ more, so

    B Ψ̇ = 2 (∫ρ r × (Ψ̇_ω × ṙ); ∫ρ Ψ̇_ω × ṙ)

takes the twelve numbers ∫ρ ṙ rᵀ and ∫ρ ṙ.  A joint on the way to the world feels all of the variation, one farther out
only that of its own load, without the turning:

    ∂τ_d/∂q_c = J_d · (I_C Ψ̈_c + B_C Ψ̇_c + J_c ×* F_C)   d before c,  of what c carries
    ∂τ_d/∂q_c = J_d · (I_C Ψ̈_c + B_C Ψ̇_c)                d after c,   of what d carries

Sources: Singh, Russell and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, IEEE Robotics and Automation Letters 7, 2022; Legnani et al., Mech. Mach. Theory 31, 1996 (∫ρ ṙ rᵀ).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers, turned_wrenches
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives_passive_derivatives import (
    element_force_derivatives,
    passive_force_derivatives,
)
from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.passive_joint_forces import armature
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.model.body import WORLD
from linkwork.model.function_spec import PASSIVE, Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Force, cross_star
from linkwork.spatial.moving_inertia import MovingInertia

__all__ = ["ROWS", "inverse_dynamics_derivatives"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def inverse_dynamics_derivatives(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, wrenches: Wrenches = (), passive: bool = False
) -> tuple[Matrix, Matrix, Matrix]:
    """∂τ/∂q, in the tangent space of q, ∂τ/∂v, and ∂τ/∂a = M(q): nv × nv each.

    Wrenches keep to the axes that they are expressed in.  With ``passive`` friction has its smooth law.
    """
    dq, dv, da = passive_part(tree, q, v) if passive else (zeros(tree.nv), zeros(tree.nv), zeros(tree.nv))
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    at = carriers(tree, q, v, a)
    for row, column, value in turned_wrenches(tree, q, at, wrenches):
        dq[row][column] = dq[row][column] + value

    outside = external_forces(tree, q, wrenches)
    load: dict[int, MovingInertia] = {}
    F: dict[int, Force] = {}
    for i, _, body in tree.outward():
        inertia, V = at[i].Y @ body.inertia, at[i].V
        load[i] = MovingInertia.moving(inertia, V)
        F[i] = inertia @ at[i].A + cross_star(V, inertia @ V)
        if i in outside:
            F[i] -= at[i].Y @ outside[i]

    for i, p, _ in tree.inward():
        I_C, B_C = load[i].inertia, load[i]
        for c in at[i].columns:
            k = c.number
            force_q = I_C @ c.speeding + B_C.turned(c.turning.angular) * 2.0
            force_v = I_C @ c.swinging + B_C.turned(c.J.angular) * 2.0
            force_a, swept = I_C @ c.J, B_C.swept(c.J) * 2.0
            for d, J_rate in zip(at[i].columns, c.own, strict=True):
                dq[d.number][k] = dq[d.number][k] + d.J.dot(force_q) + J_rate.dot(F[i])
                dv[d.number][k] = dv[d.number][k] + d.J.dot(force_v)
                da[d.number][k] = da[d.number][k] + d.J.dot(force_a)
            force_q += cross_star(c.J, F[i])
            j = p
            while j != WORLD:
                for d in at[j].columns:
                    dq[d.number][k] = dq[d.number][k] + d.J.dot(force_q)
                    dv[d.number][k] = dv[d.number][k] + d.J.dot(force_v)
                    dq[k][d.number] = dq[k][d.number] + d.speeding.dot(force_a) + d.turning.angular.dot(swept)
                    dv[k][d.number] = dv[k][d.number] + d.swinging.dot(force_a) + d.J.angular.dot(swept)
                    m = d.J.dot(force_a)
                    da[d.number][k] = da[d.number][k] + m
                    da[k][d.number] = da[k][d.number] + m
                j = tree.bodies[j].parent
        if p != WORLD:
            load[p] += load[i]
            F[p] += F[i]
    return dq, dv, da


def passive_part(tree: Tree, q: Scalars, v: Scalars) -> tuple[Matrix, Matrix, Matrix]:
    """What joints add by themselves: −∂τ_p/∂q, −∂τ_p/∂v and the armature."""
    dq, dv, da = zeros(tree.nv), zeros(tree.nv), zeros(tree.nv)
    for matrix, entries in zip((dq, dv), passive_force_derivatives(tree, q, v), strict=True):
        for row, column, value in entries:
            matrix[row][column] = matrix[row][column] - value
    for k, rotor in enumerate(armature(tree)):
        da[k][k] = da[k][k] + rotor
    if tree.force_elements:
        for matrix, by in zip((dq, dv), element_force_derivatives(tree, q, v), strict=True):
            for numbers, more in zip(matrix, by, strict=True):
                numbers[:] = [x if is_zero(y) else x - y for x, y in zip(numbers, more, strict=True)]
    return dq, dv, da


def zeros(n: int) -> Matrix:
    return [[0.0] * n for _ in range(n)]


ROWS = (
    Row.of(
        inverse_dynamics_derivatives,
        "q v a",
        (
            Output(("nv", "nv"), "N·m/rad, N/m", "dtau_dq"),
            Output(("nv", "nv"), "N·m·s/rad, N·s/m", "dtau_dv"),
            Output(("nv", "nv"), "kg·m², kg", "dtau_da"),
        ),
        "How the joint forces of inverse dynamics vary with q, v and a.",
        optional=("gravity",),
        options=(PASSIVE,),
        wrenched=True,
        joint_space=True,
    ),
)
