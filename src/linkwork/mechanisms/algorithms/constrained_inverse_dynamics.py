"""Constrained inverse dynamics: actuator forces and constraint forces for given accelerations.

    M a + h = S τ + Gᵀ λ.

The accelerations are not projected: constraints carry the remaining forces.

Split of r = M a + h between actuators and constraints (`Actuation`); S are the columns of actuated velocities:

    r = S τ + Gᵀ λ,      ½ Σ w_k τ_k² → min.

The unactuated velocities, r_u = G_uᵀ λ, determine the minimum-norm forces λ₀.  The null space of G_uᵀ is used to
minimise the actuator forces τ = r_a − G_aᵀ λ.  If no λ balances the unactuated velocities, r_u is approximated by least
squares.  The norm of λ is weighted by N_ii = Σ G_ik² / M_kk, so that units of length and angle are not mixed; of all λ
with equal effect the result minimises Σ N_ii λ_i².

The least-squares problem has multipliers y, which are velocities that satisfy the constraints: w τ = y for actuated
velocities, and G y = 0.

Derivatives follow from the implicit function theorem.  For all q, v and a,

    S τ + Gᵀλ = ID,      w τ = Sᵀ y,      G y = 0,

and each variation is a split of the same form: with a part y_p of ∂y that has G y_p = −(∂G) y,

    S ∂τ' + Gᵀ∂λ = ∂ID − ∂(Gᵀ)λ − S w⁻¹ Sᵀ y_p,      ∂τ = ∂τ' + w⁻¹ Sᵀ y_p.

Sources: Aghili, A unified approach for inverse and direct dynamics of constrained multibody systems, IEEE Trans.
Robotics 21, 2005; Nakamura and Ghodoussi, Dynamics computation of closed-link robot mechanisms with nonredundant and
redundant actuators, IEEE Trans. Robotics and Automation 5, 1989; Griewank and Walther, Evaluating Derivatives, 2nd
ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork._util.cached_properties import cached_property
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.expr.control.conditional import SharedStructure
from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.matrix_product import large_product
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import (
    dot,
    is_zero,
    lower_of,
    mirrored,
    reciprocal_or_zero,
    transposed,
)
from linkwork.expr.scalar.functions import eq
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import NOISE
from linkwork.mechanisms.algorithms.constraint_jacobian_derivative import constraint_derivatives
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import required_force_derivatives, with_loop_forces
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import ACTUATORS, PASSIVE, SMOOTH_FRICTION, FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "Actuation", "constrained_inverse_dynamics", "required_forces"]


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
    """Return actuator forces τ (nv), constraint forces λ (nc), and missing forces (nv).

    τ is 0 for unactuated velocities. The missing forces are those that neither actuators nor constraints can exert: 0
    if a is feasible.
    """
    rates = rates_of(tree, q, v, 0.0 if time is None else time[0])
    total = required_forces(tree, q, v, a, wrenches, passive, loop_forces, friction)
    return Actuation.at(tree, q, rates, actuators, weights).split(total)


def required_forces(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches,
    passive: bool,
    loop_forces: Scalars | None = None,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """Return the joint forces M a + h minus those of loop joints: ``loop_forces``, with ``passive`` passive ones."""
    total = inverse_dynamics(tree, q, v, a, wrenches, passive, friction)
    by_loops = with_loop_forces(tree, q, v, [0.0] * tree.nv, loop_forces, passive, friction)
    return [x - y for x, y in zip(total, by_loops, strict=True)]


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
    """Return the derivatives of actuator forces τ and constraint forces λ with respect to q (tangent space), v and a.

    With q varied in its tangent space, they are ∂τ/∂q, ∂τ/∂v, ∂τ/∂a (nv × nv), and ∂λ/∂q, ∂λ/∂v, ∂λ/∂a (nc × nv).
    """
    n, zeros, now = tree.nv, [0.0] * tree.nv, 0.0 if time is None else time[0]
    rates = rates_of(tree, q, v, now)
    in_loops = n * n * len(rates.rows) > _LONG
    acting = Actuation.at(tree, q, rates, actuators, weights, in_loops)
    tau, forces, _ = acting.split(required_forces(tree, q, v, a, wrenches, passive, friction=friction), once=True)
    y = acting.multipliers(tau)
    pulled = constraint_derivatives(tree, q, v, a, forces, now, of=("pulled_by_q",)).pulled_by_q
    turned = constraint_derivatives(tree, q, zeros, y, [0.0] * len(forces), now, of=("by_q",)).by_q
    turns = transposed(turned) or [[] for _ in range(n)]
    by_q, by_v, by_a = required_force_derivatives(tree, q, v, a, wrenches, passive, friction)

    def split(varied: Scalars) -> list[Any]:
        tau, forces, _ = acting.split(varied)
        return [*tau, *forces]

    def moved(turn: Scalars) -> list[Any]:
        """Return the change of the actuator forces (nv) if the constraint Jacobian changes by ``turn``."""
        more, result = acting.satisfying(turn), [0.0] * n
        for k, w in zip(acting.actuated, acting.weights, strict=True):
            result[k] = more[k] / w
        return result

    by_turns = map_rows(moved, [[-x for x in column] for column in turns], in_loops=in_loops, alike=True)
    varied_by_q = [
        [row[k] - pull[k] - x for row, pull, x in zip(by_q, pulled, by_turn, strict=True)]
        for k, by_turn in enumerate(by_turns)
    ]
    varied = [*varied_by_q, *transposed(by_v), *transposed(by_a)]
    columns = map_rows(split, varied, in_loops=in_loops, alike=True)
    for column, by_turn in zip(columns, by_turns, strict=False):
        column[:n] = [x + y for x, y in zip(column[:n], by_turn, strict=True)]
    blocks = [columns[k * n : (k + 1) * n] for k in range(3)]
    no_columns: Matrix = [[] for _ in forces]
    by_tau = [transposed([column[:n] for column in block]) for block in blocks]
    by_forces = [transposed([column[n:] for column in block]) or no_columns for block in blocks]
    return (*by_tau, *by_forces)


_LONG = 1000  # of joints squared times constraint rows, from which on columns are split in a loop
Names = str | Sequence[str] | None
_STEPS = 4  # refinement steps of normal equations, whose condition number is squared
_ROUNDING = 1e-12  # squared relative size below which a free constraint force has no effect on the actuators


def actuated_velocities(tree: Tree, actuators: Names) -> list[int]:
    """Return the indices in v of the actuated joints: the named ones, or all joints with fewer than six velocities."""
    if actuators is None:
        named = [i for i, body in enumerate(tree.bodies) if body.joint.nv < 6]
    else:
        named = [tree.joint_index(name) for name in ((actuators,) if isinstance(actuators, str) else actuators)]
    return sorted({k for i in named for k in range(tree.nv)[tree.v_slices[i]]})


@dataclass(frozen=True)
class Actuation:
    """Split of the forces that a motion requires between the actuators and the constraints, in one state."""

    rows: Matrix  # G
    sizes: Matrix  # squared elements of G without cancellation
    noise: list[Any]  # rounding of N_ii, by row
    inertia: list[Any]  # M_kk, or that of 1 kg for a velocity that moves no inertia
    units: list[float]  # of velocities: 1 rad/s, or a characteristic length per second
    actuated: list[int]  # indices of actuated velocities
    weights: list[Any]  # w_k of the actuated velocities
    in_loops: bool = False  # many splits follow: code that runs once before them is loops where this makes it shorter

    @staticmethod
    def at(
        tree: Tree, q: Scalars, rates: AllRates, actuators: Names, weights: Scalars | None, in_loops: bool = False
    ) -> Actuation:
        """Return the split of forces between actuators and constraints in a state.

        ``rates`` has the constraint Jacobian G. ``weights`` (nv) weight the squared actuator forces, one for each
        velocity, 1 by default.
        """
        indices, M = actuated_velocities(tree, actuators), mass_matrix(tree, q)
        units = unit_steps(tree)
        inertia = [units[k] ** 2 if is_zero(M[k][k]) else M[k][k] for k in range(tree.nv)]
        noise = [dot([x / m for x, m in zip(row, inertia, strict=True)], [NOISE] * tree.nv) for row in rates.sizes]
        weighed = [1.0 if weights is None else weights[k] for k in indices]
        return Actuation(rates.rows, rates.sizes, noise, inertia, units, indices, weighed, in_loops)

    @cached_property
    def others(self) -> list[int]:
        return [k for k in range(len(self.inertia)) if k not in self.actuated]

    @cached_property
    def _gram(self) -> Matrix:
        """Matrix N = G diag(M)⁻¹ Gᵀ of the constraint rows G, with only the diagonal of the mass matrix M."""
        light = [[x / m for x, m in zip(row, self.inertia, strict=True)] for row in self.rows]
        return mirrored(_lower_products(light, self.rows))

    @cached_property
    def _least(self) -> Semidefinite:
        return self._factored(self._gram, self.noise)

    @cached_property
    def _scales(self) -> list[Any]:
        """The values 1/N_ii by row of the constraint Jacobian G, with N = G diag(M)⁻¹ Gᵀ; 0 for rows that are zero."""
        sizes = [row[i] + noise for i, (row, noise) in enumerate(zip(self._gram, self.noise, strict=True))]
        return [0.0 if is_zero(x) else reciprocal_or_zero(x, eq(x, 0.0)) for x in sizes]

    @cached_property
    def _factored(self) -> Callable[[Matrix, list[Any]], Semidefinite]:
        """Function that factors a symmetric matrix (nc × nc); with ``in_loops``, all calls share its code."""
        n = len(self.rows)

        def factored(lower: list[Any], floors: list[Any]) -> Semidefinite:
            rows = [lower[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] for i in range(n)]
            return Semidefinite.of(rows, floors)

        shared = SharedStructure(factored) if self.in_loops else factored

        def of(A: Matrix, floors: list[Any]) -> Semidefinite:
            lower = lower_of(A)
            is_full = not any(map(is_zero, (*lower, *floors)))
            return replace((shared if is_full else factored)(lower, floors), A=A)

        return of

    def _columns(self, indices: Sequence[int]) -> Matrix:
        return [[row[k] for row in self.rows] for k in indices]

    @cached_property
    def _normal(self) -> Semidefinite:
        """Factors of G_uᵀ diag(1/N_ii) G_u, with the unactuated columns G_u of G, and 1/N_ii of `_scales`."""
        columns = self._columns(self.others)
        scaled = [[x * s for x, s in zip(column, self._scales, strict=True)] for column in columns]
        whole = [
            0.0 if is_zero(x) else reciprocal_or_zero(x, eq(x, 0.0)) * NOISE for x in self.noise
        ]  # by the sizes of rows
        squares = [1.0 / unit**2 for unit in self.units]
        rows = [dot(row, squares) for row in self.sizes]  # rounding of an element has the size of its row
        floors = []  # columns that are rounding are excluded
        for k in self.others:
            sizes = [0.0 if is_zero(row[k]) else size for row, size in zip(self.sizes, rows, strict=True)]
            floors.append(dot(sizes, whole) * (NOISE * self.units[k] ** 2))
        return Semidefinite.of(_lower_products(scaled, columns), floors)

    def _balancing(self, residual: Scalars) -> list[Any]:
        """Return the minimum-norm constraint forces λ with G_uᵀ λ = residual; G_u has the unactuated columns of G."""
        pulled = self._spread(self._normal.solved(residual, _STEPS))
        return [x * s for x, s in zip(pulled, self._scales, strict=True)]

    def _spread(self, x: Scalars) -> list[Any]:
        """Return G_u x, where G_u are the columns of the constraint Jacobian that belong to unactuated velocities."""
        return [dot([row[k] for k in self.others], x) for row in self.rows]

    def _on(self, indices: Sequence[int], forces: Scalars) -> list[Any]:
        """Return the components of Gᵀ λ at the velocity indices, with the constraint Jacobian G."""
        return [dot(column, forces) for column in self._columns(indices)]

    def _free(self, forces: Scalars) -> list[Any]:
        """Return the part of constraint forces λ that has no effect on the unactuated velocities."""
        taken = self._balancing(self._on(self.others, forces))
        return [x - y for x, y in zip(forces, taken, strict=True)]

    @cached_property
    def _choices(self) -> tuple[Matrix, Semidefinite]:
        """Matrix E of the actuator forces that constraint forces can replace, and the factors of Eᵀ W E.

        Its columns are the effects of constraint forces without power on unactuated velocities; W are the weights.
        """
        columns = self._columns(self.actuated)

        def freed(column: Scalars) -> list[Any]:
            """Return a column of G minus its part in the span of unactuated columns, then that part's coefficients."""
            scaled = [x * s for x, s in zip(column, self._scales, strict=True)]
            moved = self._normal.solved(self._on(self.others, scaled), _STEPS)
            return [*(x - y for x, y in zip(column, self._spread(moved), strict=True)), *moved]

        rows = map_rows(freed, columns, in_loops=self.in_loops, alike=True)
        free = [row[: len(self.rows)] for row in rows]
        squares = dict(zip(self.actuated, self.weights, strict=True))
        for k, moved in zip(self.others, transposed([row[len(self.rows) :] for row in rows]), strict=True):
            squares[k] = dot([x * x for x in moved], self.weights)
        weighed = [[x * w for x in part] for part, w in zip(free, self.weights, strict=True)]
        square = (
            large_product(transposed(weighed), free)
            if self.in_loops
            else _lower_products(transposed(weighed), transposed(free))
        )
        floors = [_ROUNDING * dot(size, [squares[k] for k in range(len(size))]) for size in self.sizes]
        return free, self._factored(square, floors)

    def split(self, total: Scalars, *, once: bool = False) -> tuple[list[Any], list[Any], list[Any]]:
        """Split the required forces r (nv) into actuator forces τ, constraint forces λ (nc) and missing forces (nv).

        τ (nv) is 0 for unactuated velocities. A split that runs ``once`` has shorter code.
        """
        in_loop = once and self.in_loops
        n, acted = len(self.inertia), [total[k] for k in self.actuated]
        if self.rows:
            forces = self._balancing([total[k] for k in self.others])
            if self.actuated:
                free, square = self._choices
                remainder = [x - y for x, y in zip(acted, self._on(self.actuated, forces), strict=True)]
                weighed = [x * w for x, w in zip(remainder, self.weights, strict=True)]
                chosen = square.solved([dot(column, weighed) for column in transposed(free)], _STEPS, in_loop=in_loop)
                chosen = self._free(square.least(chosen))  # effects that are rounding are not magnified
                forces = [x + y for x, y in zip(forces, chosen, strict=True)]
            short = [total[k] - x for k, x in zip(self.others, self._on(self.others, forces), strict=True)]
            forces = [x + y for x, y in zip(forces, self._balancing(short), strict=True)]
            forces = self._least.solved([dot(row, forces) for row in self._gram], in_loop=in_loop)
            forces = self._least.least(forces)
        else:
            forces = []
        pulled = self._on(range(n), forces) if forces else [0.0] * n
        left = [x - y for x, y in zip(total, pulled, strict=True)]
        acting = set(self.actuated)
        tau = [x if k in acting else 0.0 for k, x in enumerate(left)]
        return tau, forces, [0.0 if k in acting else x for k, x in enumerate(left)]

    def multipliers(self, tau: Scalars) -> list[Any]:
        """Return the multipliers y (nv) of the split of forces, which satisfy G y = 0 with the constraint Jacobian G.

        At actuated velocities y = w τ, with the weights w and the actuator forces τ.
        """
        result: list[Any] = [0.0] * len(self.inertia)
        for k, w in zip(self.actuated, self.weights, strict=True):
            result[k] = tau[k] * w
        if self.rows and self.others:
            needed = [-dot(row, result) * s for row, s in zip(self.rows, self._scales, strict=True)]
            for k, x in zip(self.others, self._normal.solved(self._on(self.others, needed), _STEPS), strict=True):
                result[k] = x
        return result

    def satisfying(self, target: Scalars) -> list[Any]:
        """Return the y (nv) with least Σ M_kk y_k² of all for which G y is closest to ``target``."""
        pulled = self._on(range(len(self.inertia)), self._least.solved_nearly(target))
        return [x / m for x, m in zip(pulled, self.inertia, strict=True)]


def _lower_products(left: Matrix, right: Matrix) -> Matrix:
    """Return the lower triangle of the matrix of products of rows of two matrices; that matrix is symmetric."""
    return [[dot(left_row, right_row) for right_row in right[: i + 1]] for i, left_row in enumerate(left)]


ROWS = (
    FunctionSpec.of(
        constrained_inverse_dynamics,
        "q v a",
        (
            Output(("nv",), "N·m, N", "tau"),
            Output(("nc",), "N, N·m", "constraint_forces"),
            Output(("nv",), "N·m, N", "missing"),
        ),
        "Actuator forces and constraint forces for given accelerations.",
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
        "Derivatives of actuator forces and constraint forces by q, v and a.",
        optional=("gravity", "time", "weights"),
        options=(ACTUATORS, PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        joint_space=True,
    ),
)
