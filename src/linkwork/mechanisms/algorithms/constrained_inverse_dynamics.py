"""Inverse dynamics of a robot with constraints: what chosen actuators exert for it to move with given accelerations.

    M a + h = S τ + Gᵀ λ.

The accelerations are taken as they are: constraints bear what they ask for beside them.  See `actuation` for how joint
forces are split between actuators and constraints, and what becomes of what no actuator can do.

Sources: Aghili, A unified approach for inverse and direct dynamics of constrained multibody systems, IEEE Trans.
Robotics 21, 2005; Nakamura and Ghodoussi, Dynamics computation of closed-link robot mechanisms with nonredundant and
redundant actuators, IEEE Trans. Robotics and Automation 5, 1989.

Derivatives of inverse dynamics of a robot with constraints, by the implicit function theorem.

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
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.expr.linalg.sparse_dot import added, negated, transposed
from linkwork.mechanisms.algorithms.actuation import Actuation, Names
from linkwork.mechanisms.algorithms.constraint_jacobian_derivative import varied_rows
from linkwork.mechanisms.algorithms.constraints.constraint_rows import rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import loop_force_derivatives, loops_of, with_loop_forces
from linkwork.model.function_spec import ACTUATORS, PASSIVE, FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "asked_for", "constrained_inverse_dynamics"]


Scalars = Sequence[Any]


def constrained_inverse_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    weights: Scalars | None = None,
    loop_forces: Scalars | None = None,
    actuators: Names = None,
    passive: bool = False,
) -> tuple[list[Any], list[Any], list[Any]]:
    """τ (nv, 0 where nothing is actuated), λ (nc), and what nothing exerts (nv): 0 where actuators can do it."""
    rates = rates_of(tree, q, v, 0.0 if time is None else time[0])
    wanted = asked_for(tree, q, v, a, wrenches, passive, loop_forces)
    return Actuation.at(tree, q, rates, actuators, weights).split(wanted)


def asked_for(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches,
    passive: bool,
    loop_forces: Scalars | None = None,
) -> list[Any]:
    """M a + h, less what the joints that close loops exert: given forces, and with ``passive`` their own."""
    wanted = inverse_dynamics(tree, q, v, a, wrenches, passive)
    by_loops = with_loop_forces(tree, q, v, [0.0] * tree.nv, loop_forces, passive)
    return [x - y for x, y in zip(wanted, by_loops, strict=True)]


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
    FunctionSpec.of(
        constrained_inverse_dynamics,
        "q v a",
        (
            Output(("nv",), "N·m, N", "tau"),
            Output(("nc",), "N, N·m", "constraint_forces"),
            Output(("nv",), "N·m, N", "missing"),
        ),
        "Forces of actuators, and of constraints, that accelerate the robot.",
        optional=("gravity", "time", "weights", "loop_forces"),
        options=(ACTUATORS, PASSIVE),
        wrenched=True,
        joint_space=True,
    ),
    FunctionSpec.of(
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
