"""Constrained forward dynamics by factorization of the mass matrix and the Delassus matrix, and its derivatives.

    M a + h = τ + Gᵀλ,      G a + γ = 0.

With the factors of M = LᵀDL from articulated bodies, U = L⁻ᵀGᵀ and y = L⁻ᵀ(τ − h), the constraint forces solve

    Λ λ = −(Uᵀ D⁻¹ y + γ),      Λ = Uᵀ D⁻¹ U = G M⁻¹ Gᵀ,

with the Delassus matrix Λ, and a = L⁻¹ D⁻¹ (y + U λ).  If rows are redundant, λ has minimum norm, and a is not
affected: see `linkwork.expr.linalg.semidefinite_solve`.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 8; Carpentier, Budhiraja and Mansard, Proximal and
sparse resolution of constrained dynamic equations, RSS 2021; Baumgarte, Stabilization of constraints and integrals of
motion in dynamical systems, Comput. Methods Appl. Mech. Eng. 1, 1972 (stabilization).

Derivatives follow from the implicit function theorem.  The equations

    M a + h − Gᵀλ = τ,      G a + γ = 0,

hold for all q, v and τ.  Their variation, with the derivatives of inverse dynamics and of G at the solution a and λ, is

    M ∂a − Gᵀ∂λ = ∂τ − ∂ID + ∂(Gᵀλ),      G ∂a = −∂(G a + γ),

so each column of the derivatives is a solution with the same factors as a and λ.  If rows are redundant in a whole
neighbourhood, ∂a and Gᵀ∂λ are still exact; the part of ∂λ in the null space of Gᵀ is omitted.

Source: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018 (without
constraints); Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15 (implicit functions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.cached_properties import cached_property
from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers, joint_force_of_wrench
from linkwork.dynamics.algorithms.derivatives.linearize import INTEGRATOR, System, linear_system
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix_inverse import (
    ArticulatedInverse,
    FactoredInverse,
    inverse_mass_matrix,
    propagated_inverse,
)
from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.semidefinite_solve import MORE, Semidefinite
from linkwork.expr.linalg.sparse_dot import add_matrices, dot, is_zero, mirrored, negated, transposed
from linkwork.mechanisms.algorithms.constraint_jacobian_derivative import constraint_derivatives
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, constraint_error, rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import required_force_derivatives, with_loop_forces
from linkwork.model.friction_laws import DEFAULT, FrictionLaw, read_smooth_friction
from linkwork.model.function_spec import PASSIVE, SMOOTH_FRICTION, FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = [
    "FLAT",
    "NOISE",
    "ROWS",
    "ConstrainedFactorization",
    "constrained_acceleration_derivatives",
    "constrained_accelerations",
    "constrained_forward_dynamics",
    "constrained_forward_dynamics_derivatives",
    "constrained_linearize",
    "solution_derivatives",
]


Scalars = Sequence[Any]
Matrix = list[list[Any]]
NOISE = 1e-18  # squared size of a row, relative to that without cancellation, below which it is rounding
FLAT = 1e-8  # the same for velocities, which may be amplified by the inverse of the row's size


@dataclass(frozen=True)
class ConstrainedFactorization:
    """Factors of the mass matrix and of the Delassus matrix in one state."""

    inverse: FactoredInverse | ArticulatedInverse
    rates: AllRates
    noise: Any = NOISE  # relative squared size below which a row counts as zero

    @staticmethod
    def at(tree: Tree, q: Scalars, v: Scalars, time: Any = 0.0, armature: bool = False) -> ConstrainedFactorization:
        return ConstrainedFactorization(propagated_inverse(tree, q, armature), rates_of(tree, q, v, time))

    @cached_property
    def U(self) -> Matrix:
        """The columns of L⁻ᵀGᵀ, one for each row of the constraint Jacobian G; the mass matrix is M = Lᵀ D L."""
        return [self.inverse.inward(row) for row in self.rates.rows]

    @cached_property
    def UD(self) -> Matrix:
        """The columns of D⁻¹L⁻ᵀGᵀ, one for each row of the constraint Jacobian G; the mass matrix is M = Lᵀ D L."""
        return [self.inverse.weighed(row) for row in self.U]

    @cached_property
    def delassus(self) -> Matrix:
        """The Delassus matrix Λ = G M⁻¹ Gᵀ, symmetric, with the constraint Jacobian G and the mass matrix M."""
        lower = [[dot(self.UD[i], self.U[j]) for j in range(i + 1)] for i in range(len(self.U))]
        return mirrored(lower)

    @cached_property
    def factors(self) -> Semidefinite:
        """Factors of the Delassus matrix Λ, without constraint rows that depend on other rows up to rounding."""
        return self.damped()

    def damped(self, more: Any = MORE) -> Semidefinite:
        """Return the factors of the Delassus matrix with its diagonal increased by the relative amount ``more``."""
        floors = [
            dot(self.inverse.weighed(self._ordered(sizes)), [self.noise] * len(sizes)) for sizes in self.rates.sizes
        ]
        return Semidefinite.of(self.delassus, floors, more)

    @property
    def sizes(self) -> list[Any]:
        """Scale of each diagonal element of the Delassus matrix, to which its rounding error is relative."""
        rows = self.rates.sizes
        return [dot(self.inverse.weighed(self._ordered(sizes)), [1.0] * len(sizes)) for sizes in rows]

    def _ordered(self, sizes: Scalars) -> list[Any]:
        """Return one value for each velocity, reordered as the factors of the mass matrix are."""
        return [sizes[k] for k in self.inverse.order] if isinstance(self.inverse, FactoredInverse) else list(sizes)

    def forces(self, y: Scalars, target: Scalars, removals: int = 2, *, least: bool = False) -> list[Any]:
        """Return the constraint forces λ with which the acceleration a has G a closest to ``target``.

        G is the constraint Jacobian, and M = Lᵀ D L is the mass matrix. y = L⁻ᵀ f describes the sum f of all other
        generalized forces. G a = ``target`` need not have a solution, since rows may contradict each other. Dependent
        rows do so in configurations that violate the constraints. ``removals`` and ``least`` are as in
        `Semidefinite.solved_nearly`.
        """
        missing = [w - dot(UD, y) for w, UD in zip(target, self.UD, strict=True)]
        return self.factors.solved_nearly(missing, removals, least=least)

    def moved(self, y: Scalars, forces: Scalars) -> list[Any]:
        """Return the acceleration M⁻¹ (f + Gᵀ λ) under constraint forces λ, with y = L⁻ᵀ f and M = Lᵀ D L."""
        total = list(y)
        for row, force in zip(self.U, forces, strict=True):
            if not is_zero(force):
                total = [a if is_zero(u) else a + u * force for a, u in zip(total, row, strict=True)]
        return self.inverse.outward(self.inverse.weighed(total))


def constrained_forward_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    loop_forces: Scalars | None = None,
    stabilization: Scalars | None = None,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], list[Any]]:
    """Return accelerations a (nv) and constraint forces λ (nc): M a + h = τ + Gᵀλ.

    ``loop_forces`` of the joints that close loops, and with ``passive`` their springs, damping and friction, are added
    to τ. With a time constant T = ``stabilization``, G a + γ + 2/T (G v + σ) + φ/T² = 0, without φ for velocity
    constraints, so that errors decay as e^(−t/T) (Baumgarte); without it G a + γ = 0. φ are the errors of the
    constraints, and G v + σ = 0 are the constraints on velocity level.
    """
    tau = with_loop_forces(tree, q, v, tau, loop_forces, passive, friction)
    system = ConstrainedFactorization.at(tree, q, v, 0.0 if time is None else time[0], passive)
    h = bias_force(tree, q, v, wrenches, passive, friction)
    y = system.inverse.inward([x - b for x, b in zip(tau, h, strict=True)])
    target = [-x for x in system.rates.bias]
    if stabilization is not None:
        target = _stabilized(tree, q, v, time, system.rates, target, stabilization[0])
    forces = system.forces(y, target)
    return system.moved(y, forces), system.factors.least(forces)


def _stabilized(
    tree: Tree, q: Scalars, v: Scalars, time: Scalars | None, rates: AllRates, target: Scalars, T: Any
) -> list[Any]:
    """Return the value that G a must have so that constraint errors decay (Baumgarte stabilization).

    G is the constraint Jacobian and a the acceleration. ``target`` is the value that G a has without errors of
    position and velocity, and T is the time constant [s] of their decay.
    """
    errors = iter(constraint_error(tree, q, time))
    rate, stiffness = 2.0 / T, 1.0 / (T * T)
    holonomic = [constraint.holonomic for constraint in tree.constraints for _ in constraint.component_names]
    result = []
    for x, row, drift, has_error in zip(target, rates.rows, rates.drift, holonomic, strict=True):
        result.append(x - (dot(row, v) + drift) * rate - (next(errors) * stiffness if has_error else 0.0))
    return result


def constrained_accelerations(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
    method: str = "articulated_bodies",
) -> list[Any]:
    """Return the accelerations a (nv) of a robot with constraints, as `forward_dynamics` needs them.

    Raises ValueError for a friction law that sticks, and for a method other than articulated bodies.
    """
    if passive:
        read_smooth_friction("forward_dynamics of a robot with constraints", friction)
    if method != "articulated_bodies":
        raise ValueError(f"forward_dynamics: method: {method!r} is only for robots without constraints; leave it out")
    return constrained_forward_dynamics(tree, q, v, tau, wrenches, passive=passive, friction=friction)[0]


_LONG = 10_000  # operations of all columns above which they are computed in a loop
_PER_VELOCITY = 24  # operations per velocity and column, without those of constraints


def constrained_forward_dynamics_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, ...]:
    """Return the derivatives of accelerations a and constraint forces λ with respect to q, v, τ and wrenches.

    With q varied in its tangent space, they are ∂a/∂q, ∂a/∂v, ∂a/∂τ (nv × nv), ∂λ/∂q, ∂λ/∂v, ∂λ/∂τ (nc × nv), and ∂a/∂w
    (nv × 6) for each wrench w of ``wrenches``.
    """
    now = 0.0 if time is None else time[0]
    _, _, by_a, by_forces = solution_derivatives(tree, q, v, tau, wrenches, now, passive, friction)
    return (*by_a[:3], *by_forces[:3], *by_a[3:])


def constrained_acceleration_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, ...]:
    """Return the derivatives of a robot's constrained accelerations a: ∂a/∂q, ∂a/∂v, ∂a/∂τ, and one by each wrench.

    `forward_dynamics_derivatives` uses them.
    """
    return tuple(solution_derivatives(tree, q, v, tau, wrenches, 0.0, passive, friction, of_forces=False)[2])


def constrained_linearize(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    dt: Scalars | None = None,
    integrator: str = INTEGRATOR.default,
    passive: bool = True,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, Matrix]:
    """Return the matrices A and B of a linearised robot with constraints, in all velocities.

    `linearize` uses them.
    """

    def accelerations(
        tree: Tree,
        q: Scalars,
        v: Scalars,
        tau: Scalars,
        wrenches: Wrenches,
        passive: bool,
        friction: str | FrictionLaw,
    ) -> tuple[list[Any], list[Matrix]]:
        a, _, by_a, _ = solution_derivatives(tree, q, v, tau, wrenches, 0.0, passive, friction, of_forces=False)
        return a, by_a

    system = System(tree, list(tau), wrenches, passive, accelerations, friction)
    return linear_system(system, q, v, dt, integrator)


def solution_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches,
    time: Any,
    passive: bool,
    friction: str | FrictionLaw,
    of_forces: bool = True,
) -> tuple[list[Any], list[Any], list[Matrix], list[Matrix]]:
    """Return accelerations a and constraint forces λ, and the derivatives of both by q, v, τ and each wrench.

    Without ``of_forces`` the derivatives of λ are not of least norm; the derivatives of a do not need it.
    """
    n, system = tree.nv, ConstrainedFactorization(inverse_mass_matrix(tree, q, passive), rates_of(tree, q, v, time))
    tau = with_loop_forces(tree, q, v, tau, None, passive, friction)
    h = bias_force(tree, q, v, wrenches, passive, friction)
    y = system.inverse.inward([x - b for x, b in zip(tau, h, strict=True)])
    forces = system.forces(y, [-x for x in system.rates.bias], least=True)
    a = system.moved(y, forces)
    rows = constraint_derivatives(tree, q, v, a, forces, time)
    by_q, by_v, _ = required_force_derivatives(tree, q, v, a, wrenches, passive, friction)
    varied = [[*add_matrices(rows.pulled_by_q, negated(by_q)), *negated(rows.by_q)], negated([*by_v, *rows.by_v])]
    if wrenches:
        split = tree.split_q(q), tree.split_v(v), tree.split_v(a)
        at = carriers(tree, *split)
        no_bias = [[0.0] * 6 for _ in forces]
        varied += [[*joint_force_of_wrench(tree, split[0], at, name, axes), *no_bias] for name, axes, _ in wrenches]
    columns = [column for matrix in varied for column in transposed(matrix)]
    solutions = iter(solve_columns(system, columns, of_forces))
    result = [transposed([next(solutions) for _ in matrix[0]]) for matrix in varied] if n else [[] for _ in varied]
    result.insert(2, acceleration_by_force(system, of_forces))
    return a, forces, [matrix[:n] for matrix in result], [matrix[n:] for matrix in result]


def solve_columns(system: ConstrainedFactorization, columns: Sequence[Scalars], of_forces: bool = True) -> Matrix:
    """Return (a; λ) for each right-hand side (joint forces; value of G a), one row for each.

    a are accelerations, λ constraint forces and G is the constraint Jacobian. Without ``of_forces``, λ need not have
    least norm.
    """
    n = len(columns[0]) - len(system.rates.rows) if columns else 0

    def solve(column: Scalars) -> list[Any]:
        y = system.inverse.inward(column[:n])
        forces = system.forces(y, column[n:], 2 if of_forces else 1, least=of_forces)
        return [*system.moved(y, forces), *forces]

    return map_rows(solve, columns, in_loops=_is_long(system, len(columns)))


def _is_long(system: ConstrainedFactorization, columns: int) -> bool:
    """Return True if this number of right-hand sides is solved in a loop instead of unrolled code."""
    n = len(system.inverse.D_inv) if isinstance(system.inverse, FactoredInverse) else system.inverse.count
    return _PER_VELOCITY * n * columns > _LONG


def acceleration_by_force(system: ConstrainedFactorization, of_forces: bool = True) -> Matrix:
    """Return the rows of ∂a/∂τ, symmetric, followed by the rows of ∂λ/∂τ, for constraint forces λ.

    ∂a/∂τ = M⁻¹ − M⁻¹Gᵀ Λ⁺ G M⁻¹ and ∂λ/∂τ = −Λ⁺ G M⁻¹, with the constraint Jacobian G and Λ = G M⁻¹ Gᵀ. With
    ``of_forces=False``, ∂λ/∂τ need not have least norm.
    """
    M_inv, moved = system.inverse.matrix, [system.inverse.outward(row) for row in system.UD]
    long = _is_long(system, len(M_inv))

    def by_tau(column: Scalars) -> list[Any]:
        return system.factors.solved_nearly(column, 0, least=of_forces)  # G M⁻¹ is in the range of Λ

    forces_by_tau = map_rows(by_tau, negated(transposed(moved)), in_loops=long) if moved else [[] for _ in M_inv]

    def less_moved(row: Scalars) -> list[Any]:
        forces = row[: len(moved)]
        return [x + dot([column[k] for column in moved], forces) for k, x in enumerate(row[len(moved) :])]

    result = map_rows(less_moved, [[*x, *y] for x, y in zip(forces_by_tau, M_inv, strict=True)], in_loops=long)
    return [*mirrored(result), *([forces[i] for forces in forces_by_tau] for i in range(len(moved)))]


_BY_Q, _BY_V = "1/s², m/(rad·s²)", "1/s"
_BY_TAU = "1/(kg·m²), 1/(kg·m), 1/kg"


ROWS = (
    FunctionSpec.of(
        constrained_forward_dynamics,
        "q v tau",
        (Output(("nv",), "rad/s², m/s²", "a"), Output(("nc",), "N, N·m", "constraint_forces")),
        "Accelerations and constraint forces under joint forces.",
        optional=("gravity", "time", "loop_forces", "stabilization"),
        options=(PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        joint_space=True,
        requires_regular_coordinates=True,
    ),
    FunctionSpec.of(
        constrained_forward_dynamics_derivatives,
        "q v tau",
        (
            Output(("nv", "nv"), _BY_Q, "da_dq"),
            Output(("nv", "nv"), _BY_V, "da_dv"),
            Output(("nv", "nv"), _BY_TAU, "da_dtau"),
            Output(("nc", "nv"), "N·m, N, N/m", "dforces_dq"),
            Output(("nc", "nv"), "N·m·s, N·s, N·s/m", "dforces_dv"),
            Output(("nc", "nv"), "1, m, 1/m", "dforces_dtau"),
        ),
        "Derivatives of accelerations and constraint forces by q, v and tau.",
        optional=("gravity", "time"),
        options=(PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        per_wrench_output=Output(("nv", 6), _BY_TAU, "da_d"),
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)
