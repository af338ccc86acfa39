"""Reduced dynamics in the independent velocities u of a mechanism, and their linearization.

With v = K u + k and a = K u̇ + g of `velocity_embedding`, the equations of motion M a + h = τ + Gᵀλ are multiplied by
Kᵀ.  This eliminates the constraint forces, since G K = 0:

    H u̇ + c = Kᵀ τ,      H = Kᵀ M K,      c = Kᵀ (h + M g).

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 3.5; Garcia de Jalon and Bayo, Kinematic and
Dynamic Simulation of Multibody Systems, 1994, chapter 5 (velocity transformations).

Linearization: the state is (q, u).  A variation of q that satisfies the constraints is δ = K_q δ_I, with the
independent coordinates I.  K_q is of the holonomic constraints only, so there may be more independent coordinates than
velocities.  The equations are differentiated implicitly, not through their solution:

    G Δv + Δ[G v + σ] = 0,      G Δa + Δ[G a + γ] = 0,      Δτ_ID = ∂τ/∂q δ + ∂τ/∂v Δv + M Δa,

with Δ[·] the variation by q, and of γ by v, for constant v and a.  With the bracket B of `tangent_autodiff` and the
constraint forces λ, τ_ID − τ = Gᵀ λ,

    δ̇_I = (B δ + Δv)_I,      H Δu̇ = Kᵀ (Δτ − Δτ_ID + Δ[Gᵀ λ]),      u̇ fixed within Δa and λ within Δ[·];

where the last term is due to the variation of K: ΔKᵀ Gᵀ λ = −Kᵀ ΔGᵀ λ, since G K = 0.

Sources: Basu-Mandal, Chatterjee and Papadopoulos, Hands-free circular motions of a benchmark bicycle, Proc. R. Soc. A
463, 2007; Peterson, Gede and Hubbard, Symbolic linearization of equations of motion of constrained multibody systems,
Multibody System Dynamics 33, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import bracket, tangent_rates
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, mirrored, transposed
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import required_forces
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import required_force_derivatives
from linkwork.mechanisms.algorithms.velocity_embedding import INDEPENDENT, Names, VelocityEmbedding, velocity_indices
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import (
    PASSIVE,
    PASSIVE_BY_DEFAULT,
    SMOOTH_FRICTION,
    FunctionSpec,
    Option,
    Output,
)
from linkwork.model.tree import Tree

__all__ = ["ROWS", "reduced_forward_dynamics"]


Scalars = Sequence[Any]
Matrix = list[list[Any]]


def reduced_inertia(K: Matrix, M: Matrix) -> Matrix:
    """Return the mass matrix Kᵀ M K of the independent velocities u, symmetric; all velocities are v = K u + k."""
    columns = transposed(K)
    moved = [[dot(row, column) for row in M] for column in columns]
    lower = [[dot(columns[i], moved[j]) for j in range(i + 1)] for i in range(len(columns))]
    return mirrored(lower)


def reduced_mass_matrix(
    tree: Tree, q: Scalars, independent: Names, time: Scalars | None = None, passive: bool = False
) -> Matrix:
    """Return the mass matrix H = Kᵀ M K (ni × ni) of the independent velocities u; all velocities are v = K u + k.

    For time-independent constraints the kinetic energy is ½ uᵀ H u.
    """
    embedding = VelocityEmbedding.at(tree, q, independent, 0.0 if time is None else time[0])
    return reduced_inertia(embedding.K, mass_matrix(tree, q, passive))


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
    """Return the generalized forces H u̇ + c (ni) on the independent velocities u.

    u̇ are the independent components of a, H is the reduced mass matrix and c the reduced bias force.
    """
    t = 0.0 if time is None else time[0]
    embedding = VelocityEmbedding.at(tree, q, independent, t)
    rates = embedding.whole([a[k] for k in embedding.independent], rates_of(tree, q, v, t).bias)
    return embedding.reduced(required_forces(tree, q, v, rates, wrenches, passive, friction=friction))


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
    """Return the bias force c (ni), the generalized force on the independent velocities u for u̇ = 0."""
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
    """Return the independent accelerations u̇ (ni) under joint forces τ (nv)."""
    t = 0.0 if time is None else time[0]
    embedding = VelocityEmbedding.at(tree, q, independent, t)
    H = reduced_inertia(embedding.K, mass_matrix(tree, q, passive))
    zero = embedding.whole([0.0] * len(embedding.independent), rates_of(tree, q, v, t).bias)
    required = required_forces(tree, q, v, zero, wrenches, passive, friction=friction)
    return Semidefinite.of(H, more=0.0).once(embedding.reduced([x - y for x, y in zip(tau, required, strict=True)]))


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
    passive: bool = True,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
    """Return the linearized dynamics: derivatives of ẏ and u̇ by coordinates y and velocities u, and ∂u̇/∂τ.

    They are ∂ẏ/∂y, ∂ẏ/∂u, ∂u̇/∂y, ∂u̇/∂u, and ∂u̇/∂τ (ni × nv). y are the ``coordinates`` of the holonomic
    constraints, and u the ``independent`` velocities (ni).
    """
    t = 0.0 if time is None else time[0]
    moved, indices = (
        VelocityEmbedding.at(tree, q, coordinates, t, holonomic=True).K,
        velocity_indices(tree, coordinates),
    )
    embedding = VelocityEmbedding.at(tree, q, independent, t)
    n, m = len(indices), len(embedding.independent)
    u_dot = reduced_forward_dynamics(tree, q, v, tau, independent, wrenches, time, passive, friction)

    a = embedding.whole(u_dot, rates_of(tree, q, v, t).bias)
    by_q, by_v, M = required_force_derivatives(tree, q, v, a, wrenches, passive, friction)
    required = required_forces(tree, q, v, a, wrenches, passive, friction=friction)
    forces = embedding.forces([x - y for x, y in zip(required, tau, strict=True)])

    zero, free = [0.0] * m, transposed(embedding.K) if m else []
    varied_q, level = _varied(q, [_combined(row, moved) for row in tangent_rates(tree, q)])
    rates = rates_of(tree, varied_q, [0.0] * tree.nv, t)
    residuals = [_tangent(dot(row, v) + x, level) for row, x in zip(rates.rows, rates.drift, strict=True)]
    pulled = [_tangent(dot(column, forces), level) for column in transposed(rates.rows)]
    changes = [embedding.whole(zero, [x.get(k) for x in residuals]) for k in range(n)] + free

    by_all = [SparseTangent({k: change[i] for k, change in enumerate(changes)}) for i in range(tree.nv)]
    states, level = _varied([*q, *v], [*(_combined(row, moved) for row in tangent_rates(tree, q)), *by_all])
    rates = rates_of(tree, states[: len(q)], states[len(q) :], t)
    residuals = [_tangent(dot(row, a) + x, level) for row, x in zip(rates.rows, rates.bias, strict=True)]
    changes_of_a = [embedding.whole(zero, [x.get(k) for x in residuals]) for k in range(n + m)]

    factors = Semidefinite.of(reduced_inertia(embedding.K, M), more=0.0)
    columns = []
    for k, (change, rate) in enumerate(zip(changes, changes_of_a, strict=True)):
        along = [row[k] for row in moved] if k < n else [0.0] * tree.nv
        pull = [x.get(k) if k < n else 0.0 for x in pulled] if pulled else [0.0] * tree.nv
        left = [h - (dot(by_q[i], along) + dot(by_v[i], change) + dot(M[i], rate)) for i, h in enumerate(pull)]
        columns.append(factors.once(embedding.reduced(left)))
    bracket_matrix = bracket(tree, q, v)
    yy = [[dot(bracket_matrix[i], [row[k] for row in moved]) + changes[k][i] for k in range(n)] for i in indices]
    yu = [[column[i] for column in free] for i in indices]
    by_tau = [factors.once(row) for row in embedding.K]
    return yy, yu, _transposed(columns[:n], m), _transposed(columns[n:], m), _transposed(by_tau, m)


def _varied(values: Scalars, rates: Sequence[SparseTangent]) -> tuple[list[Any], int]:
    """Return the values as dual numbers with these tangents, and the level that tells these duals from others."""
    result = seeded(values, rates)
    return list(result), result[0].level if result else 1


def _combined(rates: dict[Any, Any], moved: Matrix) -> SparseTangent:
    """Return the derivative of a scalar by the independent coordinates, from its derivatives by all velocities.

    ``moved`` is the matrix that maps independent velocities to all velocities.
    """
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
        "Reduced mass matrix of the independent velocities.",
        optional=("time",),
        options=(INDEPENDENT, PASSIVE),
        joint_space=True,
    ),
    FunctionSpec.of(
        reduced_bias_force,
        "q v",
        Output(("ni",), "N·m, N"),
        "Reduced bias force on the independent velocities.",
        **_OF_FORCES,
    ),
    FunctionSpec.of(
        reduced_inverse_dynamics,
        "q v a",
        Output(("ni",), "N·m, N"),
        "Generalised forces on the independent velocities for their accelerations.",
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
        "Linearised dynamics in independent coordinates and velocities, and joint forces.",
        optional=("gravity", "time"),
        options=(INDEPENDENT, COORDINATES, PASSIVE_BY_DEFAULT, SMOOTH_FRICTION),
        takes_wrenches=True,
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)
