"""The dynamics of a mechanism in independent velocities u: as many equations as there are degrees of freedom.

With v = K u + k and a = K u̇ + g of `explicit`, the equations of motion M a + h = τ + Gᵀλ, times Kᵀ, lose what the
constraints exert, since G K = 0:

    H u̇ + c = Kᵀ τ,      H = Kᵀ M K,      c = Kᵀ (h + M g).

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 3.5; Garcia de Jalon and Bayo, Kinematic and
Dynamic Simulation of Multibody Systems, 1994, chapter 5 (velocity transformations).

How small changes of a mechanism's state grow, in independent coordinates and velocities.

The state is (q, u): a change of q that obeys the constraints is δ = K_q δ_I, K_q being what independent coordinates
make of all (of the constraints that have an error alone: there may be more independent coordinates than velocities).
Equations are differentiated where they stand, and never through their solution:

    G Δv + Δ[G v + σ] = 0,      G Δa + Δ[G a + γ] = 0,      Δτ_ID = ∂τ/∂q δ + ∂τ/∂v Δv + M Δa,

Δ[·] of what depends on q, and γ on v, while v and a stay.  In time, with B the bracket of `tangent_autodiff` and λ
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
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import bracket, tangent_rates
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import added, dot, mirrored, negated, transposed
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import asked_for
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import loop_force_derivatives, loops_of
from linkwork.mechanisms.algorithms.velocity_embedding import INDEPENDENT, Explicit, Names, places_of
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import PASSIVE, SMOOTH_FRICTION, FunctionSpec, Option, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "reduced_forward_dynamics"]


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
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """H u̇ + c (ni), u̇ being the independent ones of a: the forces on u under which it accelerates so."""
    t = 0.0 if time is None else time[0]
    explicit = Explicit.at(tree, q, independent, t)
    rates = explicit.whole([a[k] for k in explicit.independent], rates_of(tree, q, v, t).bias)
    return explicit.reduced(asked_for(tree, q, v, rates, wrenches, passive, friction=friction))


def reduced_bias_force(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    independent: Names,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """c (ni): the forces on u at which it does not accelerate."""
    return reduced_inverse_dynamics(tree, q, v, [0.0] * tree.nv, independent, wrenches, time, passive, friction)


def reduced_forward_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    independent: Names,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """u̇ (ni) under joint forces τ (nv)."""
    t = 0.0 if time is None else time[0]
    explicit = Explicit.at(tree, q, independent, t)
    H = reduced_inertia(explicit.K, mass_matrix(tree, q, passive))
    still = explicit.whole([0.0] * len(explicit.independent), rates_of(tree, q, v, t).bias)
    needed = asked_for(tree, q, v, still, wrenches, passive, friction=friction)
    return Semidefinite.of(H, more=0.0).once(explicit.reduced([x - y for x, y in zip(tau, needed, strict=True)]))


_OF_FORCES: dict[str, Any] = {
    "optional": ("gravity", "time"),
    "options": (INDEPENDENT, PASSIVE, SMOOTH_FRICTION),
    "takes_wrenches": True,
    "joint_space": True,
}


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
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
    """The blocks of A by (coordinates, velocities), and ∂u̇/∂τ (ni × nv)."""
    t = 0.0 if time is None else time[0]
    moved, places = Explicit.at(tree, q, coordinates, t, holonomic=True).K, places_of(tree, coordinates)
    explicit = Explicit.at(tree, q, independent, t)
    n, m = len(places), len(explicit.independent)
    u_dot = reduced_forward_dynamics(tree, q, v, tau, independent, wrenches, time, passive, friction)

    a = explicit.whole(u_dot, rates_of(tree, q, v, t).bias)
    by_q, by_v, M = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive, friction)
    if passive and any(loop.resists for loop in loops_of(tree)):
        loops_by_q, loops_by_v = loop_force_derivatives(tree, q, v, friction)
        by_q, by_v = added(by_q, negated(loops_by_q)), added(by_v, negated(loops_by_v))
    needed = asked_for(tree, q, v, a, wrenches, passive, friction=friction)
    forces = explicit.forces([x - y for x, y in zip(needed, tau, strict=True)])

    still, free = [0.0] * m, transposed(explicit.K) if m else []
    there, level = _varied(q, [_combined(row, moved) for row in tangent_rates(tree, q)])
    rates = rates_of(tree, there, [0.0] * tree.nv, t)
    missed = [_tangent(dot(row, v) + x, level) for row, x in zip(rates.rows, rates.drift, strict=True)]
    pulled = [_tangent(dot(column, forces), level) for column in transposed(rates.rows)]
    changes = [explicit.whole(still, [x.get(k) for x in missed]) for k in range(n)] + free

    by_all = [SparseTangent({k: change[i] for k, change in enumerate(changes)}) for i in range(tree.nv)]
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


def _varied(values: Scalars, rates: Sequence[SparseTangent]) -> tuple[list[Any], int]:
    """Numbers with how they vary, and the level at which they do."""
    result = seeded(values, rates)
    return list(result), result[0].level if result else 1


def _combined(rates: dict[Any, Any], moved: Matrix) -> SparseTangent:
    """How fast a number changes by independent coordinates, of how fast it does by velocities."""
    total = SparseTangent({})
    for k, rate in rates.items():
        total = total + SparseTangent(dict(enumerate(moved[k]))) * rate
    return total


def _tangent(x: Any, level: int) -> SparseTangent:
    tangent = parts(x, level)[1]
    return tangent if isinstance(tangent, SparseTangent) else SparseTangent({})


def _transposed(columns: Matrix, rows: int) -> Matrix:
    return transposed(columns) if columns else [[] for _ in range(rows)]


COORDINATES = Option("coordinates", required=True, names="velocity", counted="nk")


ROWS = (
    FunctionSpec.of(
        reduced_mass_matrix,
        "q",
        Output(("ni", "ni"), "kg·m², kg·m, kg"),
        "Inertia that independent velocities feel, where constraints hold.",
        optional=("time",),
        options=(INDEPENDENT, PASSIVE),
        joint_space=True,
    ),
    FunctionSpec.of(
        reduced_bias_force,
        "q v",
        Output(("ni",), "N·m, N"),
        "Forces on independent velocities at which they do not accelerate.",
        **_OF_FORCES,
    ),
    FunctionSpec.of(
        reduced_inverse_dynamics,
        "q v a",
        Output(("ni",), "N·m, N"),
        "Forces on independent velocities under which they accelerate as asked.",
        **_OF_FORCES,
    ),
    FunctionSpec.of(
        reduced_forward_dynamics,
        "q v tau",
        Output(("ni",), "rad/s², m/s²"),
        "Accelerations of independent velocities under joint forces.",
        requires_regular_coordinates=True,
        **_OF_FORCES,
    ),
    FunctionSpec.of(
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
        options=(INDEPENDENT, COORDINATES, PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)
