"""How small changes of a mechanism's state grow, in independent coordinates and velocities.

The state is (q, u): a change of q that obeys the constraints is δ = K_q δ_I, K_q being what independent coordinates
make of all (of the constraints that have an error alone: there may be more independent coordinates than velocities).
Equations are differentiated where they stand, and never through their solution:

    G Δv + Δ[G v + σ] = 0,      G Δa + Δ[G a + γ] = 0,      Δτ_ID = ∂τ/∂q δ + ∂τ/∂v Δv + M Δa,

Δ[·] of what depends on q, and γ on v, while v and a stay.  In time, with B the bracket of `manifold_derivatives` and λ
what the constraints exert, τ_ID − τ = Gᵀ λ,

    δ̇_I = (B δ + Δv)_I,      H Δu̇ = Kᵀ (Δτ − Δτ_ID + Δ[Gᵀ λ]),      u̇ fixed within Δa and λ within Δ[·];

the last term is what K does not stay the same by: ΔKᵀ Gᵀ λ = −Kᵀ ΔGᵀ λ, since G K = 0 remains.

Sources: Basu-Mandal, Chatterjee and Papadopoulos, Hands-free circular motions of a benchmark bicycle, Proc. R. Soc. A
463, 2007; Peterson, Gede and Hubbard, Symbolic linearization of equations of motion of constrained multibody systems,
Multibody System Dynamics 33, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.dynamics.algorithms.derivatives.manifold_derivatives import bracket
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import tangent_rates
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import Directions
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import added, dot, negated, transposed
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import asked_for
from linkwork.mechanisms.algorithms.constraints.constraint_rows import rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import loop_force_derivatives, loops_of
from linkwork.mechanisms.algorithms.reduced_dynamics import reduced_forward_dynamics, reduced_inertia
from linkwork.mechanisms.algorithms.velocity_embedding import INDEPENDENT, Explicit, Names, places_of
from linkwork.model.function_spec import PASSIVE, Option, Output, Row
from linkwork.model.tree import Tree

__all__ = ["ROWS", "reduced_linearize"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def reduced_linearize(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    independent: Names,
    coordinates: Names,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
    """The blocks of A by (coordinates, velocities), and ∂u̇/∂τ (ni × nv)."""
    t = 0.0 if time is None else time[0]
    moved, places = Explicit.at(tree, q, coordinates, t, holonomic=True).K, places_of(tree, coordinates)
    explicit = Explicit.at(tree, q, independent, t)
    n, m = len(places), len(explicit.independent)
    u_dot = reduced_forward_dynamics(tree, q, v, tau, independent, wrenches, time, passive)

    a = explicit.whole(u_dot, rates_of(tree, q, v, t).bias)
    by_q, by_v, M = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive)
    if passive and any(loop.resists for loop in loops_of(tree)):
        loops_by_q, loops_by_v = loop_force_derivatives(tree, q, v)
        by_q, by_v = added(by_q, negated(loops_by_q)), added(by_v, negated(loops_by_v))
    needed = asked_for(tree, q, v, a, wrenches, passive)
    forces = explicit.forces([x - y for x, y in zip(needed, tau, strict=True)])

    still, free = [0.0] * m, transposed(explicit.K) if m else []
    there, level = _varied(q, [_combined(row, moved) for row in tangent_rates(tree, q)])
    rates = rates_of(tree, there, [0.0] * tree.nv, t)
    missed = [_tangent(dot(row, v) + x, level) for row, x in zip(rates.rows, rates.drift, strict=True)]
    pulled = [_tangent(dot(column, forces), level) for column in transposed(rates.rows)]
    changes = [explicit.whole(still, [x.get(k) for x in missed]) for k in range(n)] + free

    by_all = [Directions({k: change[i] for k, change in enumerate(changes)}) for i in range(tree.nv)]
    states, level = _varied([*q, *v], [*(_combined(row, moved) for row in tangent_rates(tree, q)), *by_all])
    rates = rates_of(tree, states[: len(q)], states[len(q) :], t)
    missed = [_tangent(dot(row, a) + x, level) for row, x in zip(rates.rows, rates.bias, strict=True)]
    faster = [explicit.whole(still, [x.get(k) for x in missed]) for k in range(n + m)]

    factors = Semidefinite.of(reduced_inertia(explicit.K, M), more=0.0)
    columns = []
    for k, (change, rate) in enumerate(zip(changes, faster, strict=True)):
        along = [row[k] for row in moved] if k < n else [0.0] * tree.nv
        held = [x.get(k) if k < n else 0.0 for x in pulled] if pulled else [0.0] * tree.nv
        left = [h - (dot(by_q[i], along) + dot(by_v[i], change) + dot(M[i], rate)) for i, h in enumerate(held)]
        columns.append(factors.once(explicit.reduced(left)))
    turned = bracket(tree, q, v)
    yy = [[dot(turned[i], [row[k] for row in moved]) + changes[k][i] for k in range(n)] for i in places]
    yu = [[column[i] for column in free] for i in places]
    by_tau = [factors.once(row) for row in explicit.K]
    return yy, yu, _transposed(columns[:n], m), _transposed(columns[n:], m), _transposed(by_tau, m)


def _varied(values: Scalars, rates: Sequence[Directions]) -> tuple[list[Any], int]:
    """Numbers with how they vary, and the level at which they do."""
    found = seeded(values, rates)
    return list(found), found[0].level if found else 1


def _combined(rates: dict[Any, Any], moved: Matrix) -> Directions:
    """How fast a number changes by independent coordinates, of how fast it does by velocities."""
    total = Directions({})
    for k, rate in rates.items():
        total = total + Directions(dict(enumerate(moved[k]))) * rate
    return total


def _tangent(x: Any, level: int) -> Directions:
    tangent = parts(x, level)[1]
    return tangent if isinstance(tangent, Directions) else Directions({})


def _transposed(columns: Matrix, rows: int) -> Matrix:
    return transposed(columns) if columns else [[] for _ in range(rows)]


COORDINATES = Option("coordinates", required=True, names="velocity", counted="nk")

ROWS = (
    Row.of(
        reduced_linearize,
        "q v tau",
        (
            Output(("nk", "nk"), "1/s", "dy_dy"),
            Output(("nk", "ni"), "1", "dy_du"),
            Output(("ni", "nk"), "1/s²", "du_dy"),
            Output(("ni", "ni"), "1/s", "du_du"),
            Output(("ni", "nv"), "1/(kg·m²), 1/kg", "du_dtau"),
        ),
        "The linear system of small changes of a mechanism's independent coordinates and velocities, and joint forces.",
        optional=("gravity", "time"),
        options=(INDEPENDENT, COORDINATES, PASSIVE),
        wrenched=True,
        joint_space=True,
        regular=True,
    ),
)
