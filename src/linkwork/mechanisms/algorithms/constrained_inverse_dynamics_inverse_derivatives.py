"""Derivatives of inverse dynamics of a robot with constraints, by the implicit function theorem.

With the multipliers y of `actuation`, what holds for all q, v and a is

    S τ + Gᵀλ = ID,      w τ = Sᵀ y,      G y = 0,

of which each variation is a split of its own: with a part y_p of ∂y that has G y_p = −(∂G) y,

    S ∂τ' + Gᵀ∂λ = ∂ID − ∂(Gᵀ)λ − S w⁻¹ Sᵀ y_p,      ∂τ = ∂τ' + w⁻¹ Sᵀ y_p.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.expr.linalg.sparse_dot import added, negated, transposed
from linkwork.mechanisms.algorithms.actuation import Actuation, Names
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import asked_for
from linkwork.mechanisms.algorithms.constraint_jacobian_derivative import varied_rows
from linkwork.mechanisms.algorithms.constraints.constraint_rows import rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import loop_force_derivatives, loops_of
from linkwork.model.function_spec import ACTUATORS, PASSIVE, Output, Row
from linkwork.model.tree import Tree

__all__ = ["ROWS", "constrained_inverse_dynamics_derivatives"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def constrained_inverse_dynamics_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    weights: Scalars | None = None,
    actuators: Names = None,
    passive: bool = False,
) -> tuple[Matrix, ...]:
    """∂τ/∂q (tangent space), ∂τ/∂v, ∂τ/∂a: nv × nv; ∂λ/∂q, ∂λ/∂v, ∂λ/∂a: nc × nv."""
    n, still, now = tree.nv, [0.0] * tree.nv, 0.0 if time is None else time[0]
    rates = rates_of(tree, q, v, now)
    acting = Actuation.at(tree, q, rates, actuators, weights)
    tau, forces, _ = acting.split(asked_for(tree, q, v, a, wrenches, passive))
    y = acting.multipliers(tau)
    pulled = varied_rows(tree, q, v, a, forces, now).pulled_by_q
    turned = transposed(varied_rows(tree, q, still, y, [0.0] * len(forces), now).by_q) or [[] for _ in range(n)]
    by_q, by_v, by_a = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive)
    if passive and any(loop.resists for loop in loops_of(tree)):
        loops_by_q, loops_by_v = loop_force_derivatives(tree, q, v)
        by_q, by_v = added(by_q, negated(loops_by_q)), added(by_v, negated(loops_by_v))
    by_state = by_q, by_v, by_a

    by_tau, by_forces = [], []
    for k in range(n):
        more = acting.obeying([-x for x in turned[k]])
        moved = [0.0] * n
        for place, w in zip(acting.places, acting.weights, strict=True):
            moved[place] = more[place] / w
        varied = [row[k] - held[k] - x for row, held, x in zip(by_state[0], pulled, moved, strict=True)]
        tau_k, forces_k, _ = acting.split(varied)
        by_tau.append([x + y for x, y in zip(tau_k, moved, strict=True)])
        by_forces.append(forces_k)
    found = [(transposed(by_tau), transposed(by_forces) or [[] for _ in forces])]
    for matrix in by_state[1:]:
        splits = [acting.split(column) for column in transposed(matrix)]
        found.append((transposed([s[0] for s in splits]), transposed([s[1] for s in splits]) or [[] for _ in forces]))
    return (*(of_tau for of_tau, _ in found), *(of_forces for _, of_forces in found))


ROWS = (
    Row.of(
        constrained_inverse_dynamics_derivatives,
        "q v a",
        (
            Output(("nv", "nv"), "N·m/rad, N/m", "dtau_dq"),
            Output(("nv", "nv"), "N·m·s/rad, N·s/m", "dtau_dv"),
            Output(("nv", "nv"), "kg·m², kg", "dtau_da"),
            Output(("nc", "nv"), "N·m, N, N/m", "dforces_dq"),
            Output(("nc", "nv"), "N·m·s, N·s, N·s/m", "dforces_dv"),
            Output(("nc", "nv"), "kg·m, kg", "dforces_da"),
        ),
        "How forces of actuators, and of constraints, vary with q, v and a.",
        optional=("gravity", "time", "weights"),
        options=(ACTUATORS, PASSIVE),
        wrenched=True,
        joint_space=True,
    ),
)
