"""How small changes of a mechanism's state grow, in independent coordinates and velocities.

The state is (q, u): a change of q that obeys the constraints is δ = K_q δ_I, K_q being what independent coordinates
make of all (of the constraints that have an error alone: there may be more independent coordinates than velocities),
and v is K u + k.  In time, with B the bracket of `manifold_derivatives`,

    δ̇_I = (B δ + Δv)_I,      Δu̇ = H⁻¹ (Kᵀ Δτ − Δ[Kᵀ (inverse dynamics(q, v, K u̇ + g) − τ)]),      u̇ fixed within Δ[·].

All Δ are exact: the equations run on numbers with directions, by each independent coordinate and velocity.

Sources: Basu-Mandal, Chatterjee and Papadopoulos, Hands-free circular motions of a benchmark bicycle, Proc. R. Soc. A
463, 2007; Peterson, Gede and Hubbard, Symbolic linearization of equations of motion of constrained multibody systems,
Multibody System Dynamics 33, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...expr.directions import Directions
from ...expr.dual import parts, seeded
from ...expr.linalg.semidefinite import Semidefinite
from ...expr.linalg.sums import dot, transposed
from ...model.tree import Tree
from ..constraints.rows import rates_of
from ..derivatives.manifold_derivatives import bracket
from ..derivatives.tangents import tangent_rates
from ..dynamics.external import Wrenches
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..dynamics.mass_matrix import mass_matrix
from ..row import PASSIVE, Option, Output, Row
from .explicit import INDEPENDENT, Explicit, Names, places_of
from .minimal import reduced_forward_dynamics, reduced_inertia

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

    by_q = [_combined(row, moved) for row in tangent_rates(tree, q)]
    by_u = [Directions({n + k: 1.0}) for k in range(m)]
    varied = seeded([*q, *(v[k] for k in explicit.independent)], [*by_q, *by_u])
    level = varied[0].level if varied else 1
    there, u = varied[: len(q)], varied[len(q) :]

    at = Explicit.at(tree, there, independent, t)
    velocity = at.whole(u, rates_of(tree, there, [0.0] * tree.nv, t).drift)
    acceleration = at.whole(u_dot, rates_of(tree, there, velocity, t).bias)
    needed = inverse_dynamics(tree, there, velocity, acceleration, wrenches, passive)
    left = [_tangent(x, level) for x in at.reduced([x - y for x, y in zip(needed, tau, strict=True)])]
    going = [_tangent(x, level) for x in velocity]

    factors = Semidefinite.of(reduced_inertia(explicit.K, mass_matrix(tree, q, passive)), more=0.0)
    columns = [factors.once([-row.get(k) for row in left]) for k in range(n + m)]
    turned = bracket(tree, q, v)
    yy = [[dot(turned[i], [row[k] for row in moved]) + going[i].get(k) for k in range(n)] for i in places]
    yu = [[going[i].get(n + k) for k in range(m)] for i in places]
    by_tau = [factors.once(row) for row in explicit.K]
    return yy, yu, _transposed(columns[:n], m), _transposed(columns[n:], m), _transposed(by_tau, m)


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
