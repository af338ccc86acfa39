"""Forward dynamics of a robot with constraints: the accelerations, and what the constraints exert.

    M a + h = τ + Gᵀλ,      G a + γ = 0.

With the factors of M = LᵀDL from articulated bodies, U = L⁻ᵀGᵀ and y = L⁻ᵀ(τ − h), the constraints' forces solve

    Λ λ = −(Uᵀ D⁻¹ y + γ),      Λ = Uᵀ D⁻¹ U = G M⁻¹ Gᵀ,

Λ being the inverse inertia that the constraints feel (Delassus), and a = L⁻¹ D⁻¹ (y + U λ).  Where rows depend on each
other λ is the one of least size, and a is what it is without them: see `linkwork.expr.linalg.semidefinite_solve`.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 8; Carpentier, Budhiraja and Mansard, Proximal and
sparse resolution of constrained dynamic equations, RSS 2021; Baumgarte, Stabilization of constraints and integrals of
motion in dynamical systems, Comput. Methods Appl. Mech. Eng. 1, 1972 (errors that fade).

Derivatives of forward dynamics of a robot with constraints, by the implicit function theorem.

What holds for all q, v and τ,

    M a + h − Gᵀλ = τ,      G a + γ = 0,

is varied, the derivatives of inverse dynamics and of the rows taken at the a and λ that there are:

    M ∂a − Gᵀ∂λ = ∂τ − ∂ID + ∂(Gᵀλ),      G ∂a = −∂(G a + γ),

so each derivative is the answer to a column of numbers, of the same factors that gave a and λ.  Where rows depend on
each other in a whole neighbourhood ∂a is exact all the same, and so is what ∂λ does to the robot, Gᵀ∂λ; a part of ∂λ
that does nothing is left out.

Source: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018 (without
constraints); Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15 (implicit functions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers, joint_force_of_wrench
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.dynamics.algorithms.derivatives.linearize import INTEGRATOR, System, linear_system
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix_inverse import (
    ArticulatedInverse,
    FactoredInverse,
    inverse_mass_matrix,
    propagated_inverse,
)
from linkwork.expr.control.loops import each
from linkwork.expr.linalg.semidefinite_solve import MORE, Semidefinite
from linkwork.expr.linalg.sparse_dot import added, dot, is_zero, mirrored, negated, transposed
from linkwork.mechanisms.algorithms.constraint_jacobian_derivative import varied_rows
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, constraint_error, rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import loop_force_derivatives, loops_of, with_loop_forces
from linkwork.model.friction_laws import DEFAULT, FrictionLaw, read_smooth_friction
from linkwork.model.function_spec import PASSIVE, SMOOTH_FRICTION, FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = [
    "NOISE",
    "ROWS",
    "Held",
    "constrained_acceleration_derivatives",
    "constrained_accelerations",
    "constrained_forward_dynamics",
    "constrained_forward_dynamics_derivatives",
    "constrained_linearize",
]


Scalars = Sequence[Any]
Matrix = list[list[Any]]
NOISE = 1e-18  # part of its size below which a row is rounding


@dataclass(frozen=True)
class Held:
    """A robot's mass matrix and its constraints' rows in one state, factored together."""

    inverse: FactoredInverse | ArticulatedInverse
    rates: AllRates
    noise: Any = NOISE  # part of its size, squared, below which a row is nothing

    @staticmethod
    def at(tree: Tree, q: Scalars, v: Scalars, time: Any = 0.0, armature: bool = False) -> Held:
        return Held(propagated_inverse(tree, q, armature), rates_of(tree, q, v, time))

    @cached_property
    def U(self) -> Matrix:
        """The rows of L⁻ᵀGᵀ, a constraint's each."""
        return [self.inverse.inward(row) for row in self.rates.rows]

    @cached_property
    def UD(self) -> Matrix:
        """The same, times D⁻¹."""
        return [self.inverse.weighed(row) for row in self.U]

    @cached_property
    def delassus(self) -> Matrix:
        """Λ = G M⁻¹ Gᵀ, symmetric."""
        lower = [[dot(self.UD[i], self.U[j]) for j in range(i + 1)] for i in range(len(self.U))]
        return mirrored(lower)

    @cached_property
    def factors(self) -> Semidefinite:
        """Of Λ, rows that are but rounding left out."""
        return self.damped()

    def damped(self, more: Any = MORE) -> Semidefinite:
        """The same of Λ with so much of its diagonal more."""
        floors = [
            dot(self.inverse.weighed(self._placed(sizes)), [self.noise] * len(sizes)) for sizes in self.rates.sizes
        ]
        return Semidefinite.of(self.delassus, floors, more)

    @property
    def sizes(self) -> list[Any]:
        """Λ_kk of each row as it would be without cancellation."""
        rows = self.rates.sizes
        return [dot(self.inverse.weighed(self._placed(sizes)), [1.0] * len(sizes)) for sizes in rows]

    def _placed(self, sizes: Scalars) -> list[Any]:
        """Numbers by velocity, in the order of the factors."""
        return [sizes[k] for k in self.inverse.order] if isinstance(self.inverse, FactoredInverse) else list(sizes)

    def forces(self, y: Scalars, wanted: Scalars) -> list[Any]:
        """λ with which G a = wanted, where a without it is L⁻¹ D⁻¹ y."""
        return self.factors.solved([w - dot(UD, y) for w, UD in zip(wanted, self.UD, strict=True)])

    def forces_nearly(self, y: Scalars, wanted: Scalars) -> list[Any]:
        """λ with which G a is as near to ``wanted`` as rows allow that contradict each other there."""
        return self.factors.solved_nearly([w - dot(UD, y) for w, UD in zip(wanted, self.UD, strict=True)])

    def moved(self, y: Scalars, forces: Scalars) -> list[Any]:
        """L⁻¹ D⁻¹ (y + U λ)."""
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
    """a (nv) and λ (nc), what each row of the constraints exerts: M a + h = τ + Gᵀλ.

    Forces of the joints that close loops, given ones and with ``passive`` their own, are part of τ.  With a time
    constant T of ``stabilization`` G a + γ + 2/T (G v + σ) + φ/T² = 0, φ where rows have an error: what is left of φ
    fades as e^(−t/T).
    """
    tau = with_loop_forces(tree, q, v, tau, loop_forces, passive, friction)
    held = Held.at(tree, q, v, 0.0 if time is None else time[0], passive)
    h = bias_force(tree, q, v, wrenches, passive, friction)
    y = held.inverse.inward([x - b for x, b in zip(tau, h, strict=True)])
    wanted = [-x for x in held.rates.bias]
    if stabilization is not None:
        wanted = _fading(tree, q, v, time, held.rates, wanted, stabilization[0])
    forces = held.forces(y, wanted)
    return held.moved(y, forces), held.factors.least(forces)


def _fading(
    tree: Tree, q: Scalars, v: Scalars, time: Scalars | None, rates: AllRates, wanted: Scalars, T: Any
) -> list[Any]:
    """What G a is to be for errors to fade, and velocities that do not obey the constraints."""
    errors = iter(constraint_error(tree, q, time))
    rate, stiffness = 2.0 / T, 1.0 / (T * T)
    holonomic = [constraint.holonomic for constraint in tree.constraints for _ in constraint.component_names]
    result = []
    for x, row, drift, has_error in zip(wanted, rates.rows, rates.drift, holonomic, strict=True):
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
    """a alone, as forward dynamics is asked for it.

    Raises ValueError for a law of friction that sticks, and for another method than articulated bodies.
    """
    if passive:
        read_smooth_friction("forward_dynamics of a robot with constraints", friction)
    if method != "articulated_bodies":
        raise ValueError(f"forward_dynamics: method {method!r} is of robots without constraints")
    return constrained_forward_dynamics(tree, q, v, tau, wrenches, passive=passive, friction=friction)[0]


_LONG = 10_000  # products and sums of all columns, from which on they are computed in a loop
_PER_VELOCITY = 24  # products and sums of a column for each velocity, without those of constraints


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
    """∂a/∂q (tangent space), ∂a/∂v, ∂a/∂τ: nv × nv; ∂λ/∂q, ∂λ/∂v, ∂λ/∂τ: nc × nv; ∂a by each wrench: nv × 6."""
    now = 0.0 if time is None else time[0]
    _, by_a, by_forces = _derivatives(tree, q, v, tau, wrenches, now, passive, friction)
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
    """∂a/∂q, ∂a/∂v and ∂a/∂τ alone, and by each wrench, as `forward_dynamics_derivatives` is asked for them."""
    return tuple(_derivatives(tree, q, v, tau, wrenches, 0.0, passive, friction)[1])


def constrained_linearize(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    dt: Scalars | None = None,
    integrator: str = INTEGRATOR.default,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, Matrix]:
    """A and B of a robot with constraints, by all of its velocities, as `linearize` is asked for them."""

    def accelerations(
        tree: Tree,
        q: Scalars,
        v: Scalars,
        tau: Scalars,
        wrenches: Wrenches,
        passive: bool,
        friction: str | FrictionLaw,
    ) -> tuple[list[Any], list[Matrix]]:
        return _derivatives(tree, q, v, tau, wrenches, 0.0, passive, friction)[:2]

    system = System(tree, list(tau), wrenches, passive, accelerations, friction)
    return linear_system(system, q, v, dt, integrator)


def _derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches,
    time: Any,
    passive: bool,
    friction: str | FrictionLaw,
) -> tuple[list[Any], list[Matrix], list[Matrix]]:
    """a; derivatives of a, and of λ, by q, v, τ and each wrench."""
    n, held = tree.nv, Held(inverse_mass_matrix(tree, q, passive), rates_of(tree, q, v, time))
    tau = with_loop_forces(tree, q, v, tau, None, passive, friction)
    h = bias_force(tree, q, v, wrenches, passive, friction)
    y = held.inverse.inward([x - b for x, b in zip(tau, h, strict=True)])
    forces = held.forces(y, [-x for x in held.rates.bias])
    a = held.moved(y, forces)
    rows = varied_rows(tree, q, v, a, forces, time)
    by_q, by_v, _ = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive, friction)
    if passive and any(loop.resists for loop in loops_of(tree)):
        loops_by_q, loops_by_v = loop_force_derivatives(tree, q, v, friction)
        by_q, by_v = added(by_q, negated(loops_by_q)), added(by_v, negated(loops_by_v))
    varied = [[*added(rows.pulled_by_q, negated(by_q)), *negated(rows.by_q)], negated([*by_v, *rows.by_v])]
    if wrenches:
        split = tree.split_q(q), tree.split_v(v), tree.split_v(a)
        at = carriers(tree, *split)
        still = [[0.0] * 6 for _ in forces]
        varied += [[*joint_force_of_wrench(tree, split[0], at, name, axes), *still] for name, axes, _ in wrenches]
    answers = iter(answered(held, [column for matrix in varied for column in transposed(matrix)]))
    result = [transposed([next(answers) for _ in matrix[0]]) for matrix in varied] if n else [[] for _ in varied]
    result.insert(2, by_forces(held))
    return a, [matrix[:n] for matrix in result], [matrix[n:] for matrix in result]


def answered(held: Held, columns: Sequence[Scalars]) -> Matrix:
    """a and λ of many columns, each of joint forces and of what G a is to be, one after the other in a row."""
    n = len(columns[0]) - len(held.rates.rows) if columns else 0

    def answer(column: Scalars) -> list[Any]:
        y = held.inverse.inward(column[:n])
        forces = held.forces_nearly(y, column[n:])  # velocities and configurations may change as no row allows
        return [*held.moved(y, forces), *forces]

    return each(answer, columns, in_loops=_is_long(held, len(columns)))


def _is_long(held: Held, columns: int) -> bool:
    """Whether so many columns take a loop."""
    n = len(held.inverse.D_inv) if isinstance(held.inverse, FactoredInverse) else held.inverse.count
    return _PER_VELOCITY * n * columns > _LONG


def by_forces(held: Held) -> Matrix:
    """∂a/∂τ = M⁻¹ − M⁻¹Gᵀ Λ⁺ G M⁻¹, symmetric, and below it ∂λ/∂τ = −Λ⁺ G M⁻¹."""
    M_inv, moved = held.inverse.matrix, [held.inverse.outward(row) for row in held.UD]
    long = _is_long(held, len(M_inv))
    exerted = each(held.factors.solved, negated(transposed(moved)), in_loops=long) if moved else [[] for _ in M_inv]

    def less_moved(row: Scalars) -> list[Any]:
        forces = row[: len(moved)]
        return [x + dot([of[k] for of in moved], forces) for k, x in enumerate(row[len(moved) :])]

    result = each(less_moved, [[*x, *y] for x, y in zip(exerted, M_inv, strict=True)], in_loops=long)
    M_inv = mirrored(result)
    return [*M_inv, *([forces[i] for forces in exerted] for i in range(len(moved)))]


_BY_Q, _BY_V = "1/s², m/(rad·s²)", "1/s"
_BY_TAU = "1/(kg·m²), 1/(kg·m), 1/kg"


ROWS = (
    FunctionSpec.of(
        constrained_forward_dynamics,
        "q v tau",
        (Output(("nv",), "rad/s², m/s²", "a"), Output(("nc",), "N, N·m", "constraint_forces")),
        "Accelerations under joint forces, and what the constraints exert.",
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
        "How accelerations under joint forces, and what the constraints exert, vary with q, v and tau.",
        optional=("gravity", "time"),
        options=(PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        per_wrench_output=Output(("nv", 6), _BY_TAU, "da_d"),
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)
