"""Inverse dynamics of a robot with constraints: forces of chosen actuators for given accelerations.

    M a + h = S τ + Gᵀ λ.

The accelerations are taken as they are: constraints bear the remaining forces.

Split between actuators and constraints (`Actuation`), with S the columns of actuated velocities:

    r = S τ + Gᵀ λ,      ½ Σ w_k τ_k² least.

Of the other velocities, r_u = G_uᵀ λ, the forces λ₀ of least norm follow; the remaining freedom of λ, the null space
of G_uᵀ, makes the actuators' τ = r_a − G_aᵀ λ least.  Where no λ balances the unactuated velocities, r_u is met as
nearly as it can be.  λ is counted by the size of its rows, N_ii = Σ G_ik² / M_kk, so no unit of length counts as one
of angle; in the end it is the one of least Σ N_ii λ_i² of those with the same effect.

Least squares give multipliers y, which are velocities that obey the constraints: w τ = y on actuators, G y = 0.

Derivatives follow by the implicit function theorem.  For all q, v and a,

    S τ + Gᵀλ = ID,      w τ = Sᵀ y,      G y = 0,

of which each variation is a split of its own: with a part y_p of ∂y that has G y_p = −(∂G) y,

    S ∂τ' + Gᵀ∂λ = ∂ID − ∂(Gᵀ)λ − S w⁻¹ Sᵀ y_p,      ∂τ = ∂τ' + w⁻¹ Sᵀ y_p.

Sources: Aghili, A unified approach for inverse and direct dynamics of constrained multibody systems, IEEE Trans.
Robotics 21, 2005; Nakamura and Ghodoussi, Dynamics computation of closed-link robot mechanisms with nonredundant and
redundant actuators, IEEE Trans. Robotics and Automation 5, 1989; Griewank and Walther, Evaluating Derivatives, 2nd
ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import added, dot, is_zero, negated, reciprocal_or_zero, transposed
from linkwork.expr.scalar.functions import eq
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import NOISE
from linkwork.mechanisms.algorithms.constraint_jacobian_derivative import varied_rows
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import loop_force_derivatives, loops_of, with_loop_forces
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import ACTUATORS, PASSIVE, SMOOTH_FRICTION, FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "Actuation", "asked_for", "constrained_inverse_dynamics"]


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
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], list[Any], list[Any]]:
    """τ (nv, 0 where nothing is actuated), λ (nc), and what nothing exerts (nv): 0 where actuators can do it."""
    rates = rates_of(tree, q, v, 0.0 if time is None else time[0])
    wanted = asked_for(tree, q, v, a, wrenches, passive, loop_forces, friction)
    return Actuation.at(tree, q, rates, actuators, weights).split(wanted)


def asked_for(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches,
    passive: bool,
    loop_forces: Scalars | None = None,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """M a + h, less what the joints that close loops exert: given forces, and with ``passive`` their own."""
    wanted = inverse_dynamics(tree, q, v, a, wrenches, passive, friction)
    by_loops = with_loop_forces(tree, q, v, [0.0] * tree.nv, loop_forces, passive, friction)
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
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, ...]:
    """∂τ/∂q (tangent space), ∂τ/∂v, ∂τ/∂a: nv × nv; ∂λ/∂q, ∂λ/∂v, ∂λ/∂a: nc × nv."""
    n, still, now = tree.nv, [0.0] * tree.nv, 0.0 if time is None else time[0]
    rates = rates_of(tree, q, v, now)
    acting = Actuation.at(tree, q, rates, actuators, weights)
    tau, forces, _ = acting.split(asked_for(tree, q, v, a, wrenches, passive, friction=friction))
    y = acting.multipliers(tau)
    pulled = varied_rows(tree, q, v, a, forces, now).pulled_by_q
    turned = transposed(varied_rows(tree, q, still, y, [0.0] * len(forces), now).by_q) or [[] for _ in range(n)]
    by_q, by_v, by_a = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive, friction)
    if passive and any(loop.resists for loop in loops_of(tree)):
        loops_by_q, loops_by_v = loop_force_derivatives(tree, q, v, friction)
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
    result = [(transposed(by_tau), transposed(by_forces) or [[] for _ in forces])]
    for matrix in by_state[1:]:
        splits = [acting.split(column) for column in transposed(matrix)]
        result.append((transposed([s[0] for s in splits]), transposed([s[1] for s in splits]) or [[] for _ in forces]))
    return (*(of_tau for of_tau, _ in result), *(of_forces for _, of_forces in result))


Names = str | Sequence[str] | None
_STEPS = 4  # of solutions of normal equations, whose eigenvalues are squares
_ROUNDING = 1e-12  # part of its size below which what actuators may choose is none


def actuated(tree: Tree, actuators: Names) -> list[int]:
    """Where the velocities of actuated joints are in v: of those named, or of all that carry no floating body."""
    if actuators is None:
        named = [i for i, body in enumerate(tree.bodies) if body.joint.nv < 6]
    else:
        named = [tree.joint_index(name) for name in ((actuators,) if isinstance(actuators, str) else actuators)]
    return sorted({k for i in named for k in range(tree.nv)[tree.v_slices[i]]})


@dataclass(frozen=True)
class Actuation:
    """The rows of constraints in one state, and which velocities are actuated."""

    rows: Matrix  # G
    sizes: Matrix  # squares of its numbers as they would be without cancellation
    noise: list[Any]  # by row, what of N_ii is rounding
    inertia: list[Any]  # M_kk
    places: list[int]  # of actuated velocities
    weights: list[Any]  # w_k, of these

    @staticmethod
    def at(tree: Tree, q: Scalars, rates: AllRates, actuators: Names, weights: Scalars | None) -> Actuation:
        """Weights are by velocity; 1 where none are given."""
        places, M = actuated(tree, actuators), mass_matrix(tree, q)
        inertia = [M[k][k] for k in range(tree.nv)]
        noise = [dot([x / m for x, m in zip(row, inertia, strict=True)], [NOISE] * tree.nv) for row in rates.sizes]
        return Actuation(
            rates.rows, rates.sizes, noise, inertia, places, [1.0 if weights is None else weights[k] for k in places]
        )

    @cached_property
    def others(self) -> list[int]:
        return [k for k in range(len(self.inertia)) if k not in self.places]

    @cached_property
    def _gram(self) -> Matrix:
        """N = G diag(M)⁻¹ Gᵀ."""
        light = [[x / m for x, m in zip(row, self.inertia, strict=True)] for row in self.rows]
        return [[dot(one, other) for other in self.rows] for one in light]

    @cached_property
    def _least(self) -> Semidefinite:
        return Semidefinite.of(self._gram, self.noise)

    @cached_property
    def _scales(self) -> list[Any]:
        """1 / N_ii, and 0 where a row is none."""
        sizes = [row[i] + noise for i, (row, noise) in enumerate(zip(self._gram, self.noise, strict=True))]
        return [0.0 if is_zero(x) else reciprocal_or_zero(x, eq(x, 0.0)) for x in sizes]

    def _columns(self, places: Sequence[int]) -> Matrix:
        return [[row[k] for row in self.rows] for k in places]

    @cached_property
    def _normal(self) -> Semidefinite:
        """K = G_uᵀ N_ii⁻¹ G_u, of what is not actuated."""
        columns = self._columns(self.others)
        scaled = [[x * s for x, s in zip(column, self._scales, strict=True)] for column in columns]
        whole = [0.0 if is_zero(x) else reciprocal_or_zero(x, eq(x, 0.0)) * NOISE for x in self.noise]  # by rows' sizes
        sizes = [[row[k] for row in self.sizes] for k in self.others]
        floors = [dot(column, whole) * NOISE for column in sizes]  # columns that are but rounding stay out
        return Semidefinite.of([[dot(one, other) for other in columns] for one in scaled], floors)

    def _pushing(self, rest: Scalars) -> list[Any]:
        """λ of least norm with G_uᵀ λ = rest."""
        pulled = self._spread(self._normal.solved(rest, _STEPS))
        return [x * s for x, s in zip(pulled, self._scales, strict=True)]

    def _spread(self, numbers: Scalars) -> list[Any]:
        """G_u x."""
        return [dot([row[k] for k in self.others], numbers) for row in self.rows]

    def _on(self, places: Sequence[int], forces: Scalars) -> list[Any]:
        """Gᵀ λ, at some velocities."""
        return [dot(column, forces) for column in self._columns(places)]

    def _free(self, forces: Scalars) -> list[Any]:
        """The part of λ that does nothing to what is not actuated."""
        taken = self._pushing(self._on(self.others, forces))
        return [x - y for x, y in zip(forces, taken, strict=True)]

    @cached_property
    def _choices(self) -> tuple[Matrix, Semidefinite]:
        """By actuator, what λ that are free do to it; and, of λ free, how much of the actuators' squares they are."""
        columns = self._columns(self.places)
        free = []
        for column in columns:
            scaled = [x * s for x, s in zip(column, self._scales, strict=True)]
            taken = self._spread(self._normal.solved(self._on(self.others, scaled), _STEPS))
            free.append([x - y for x, y in zip(column, taken, strict=True)])
        weighed = [[x * w for x in part] for part, w in zip(free, self.weights, strict=True)]
        square = [[dot(one, other) for other in transposed(free)] for one in transposed(weighed)]
        whole = [[x * w for x in column] for column, w in zip(columns, self.weights, strict=True)]
        sizes = zip(transposed(whole), transposed(columns), strict=True)
        floors = [_ROUNDING * dot(one, other) for one, other in sizes]
        return free, Semidefinite.of(square, floors)

    def split(self, wanted: Scalars) -> tuple[list[Any], list[Any], list[Any]]:
        """τ (nv, 0 where nothing is actuated), λ, and what is left of r: 0 but where no actuator can do it."""
        n, acted = len(self.inertia), [wanted[k] for k in self.places]
        if self.rows:
            forces = self._pushing([wanted[k] for k in self.others])
            if self.places:
                free, square = self._choices
                rest = [x - y for x, y in zip(acted, self._on(self.places, forces), strict=True)]
                weighed = [x * w for x, w in zip(rest, self.weights, strict=True)]
                chosen = square.solved([dot(column, weighed) for column in transposed(free)], _STEPS)
                forces = [x + y for x, y in zip(forces, self._free(chosen), strict=True)]
            short = [wanted[k] - x for k, x in zip(self.others, self._on(self.others, forces), strict=True)]
            forces = [x + y for x, y in zip(forces, self._pushing(short), strict=True)]
            forces = self._least.solved([dot(row, forces) for row in self._gram])
        else:
            forces = []
        pulled = self._on(range(n), forces) if forces else [0.0] * n
        left = [x - y for x, y in zip(wanted, pulled, strict=True)]
        acting = set(self.places)
        tau = [x if k in acting else 0.0 for k, x in enumerate(left)]
        return tau, forces, [0.0 if k in acting else x for k, x in enumerate(left)]

    def multipliers(self, tau: Scalars) -> list[Any]:
        """y: w τ on actuators, and elsewhere what makes it obey the constraints."""
        result: list[Any] = [0.0] * len(self.inertia)
        for k, w in zip(self.places, self.weights, strict=True):
            result[k] = tau[k] * w
        if self.rows and self.others:
            needed = [-dot(row, result) * s for row, s in zip(self.rows, self._scales, strict=True)]
            for k, x in zip(self.others, self._normal.solved(self._on(self.others, needed), _STEPS), strict=True):
                result[k] = x
        return result

    def obeying(self, wanted: Scalars) -> list[Any]:
        """y of least Σ M_kk y_k² with G y = wanted."""
        pulled = self._on(range(len(self.inertia)), self._least.solved(wanted))
        return [x / m for x, m in zip(pulled, self.inertia, strict=True)]


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
        options=(ACTUATORS, PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
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
        options=(ACTUATORS, PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        joint_space=True,
    ),
)
