"""Forward dynamics of a robot with constraints: the accelerations, and what the constraints exert.

    M a + h = τ + Gᵀλ,      G a + γ = 0.

With the factors of M = LᵀDL from articulated bodies, U = L⁻ᵀGᵀ and y = L⁻ᵀ(τ − h), the constraints' forces solve

    Λ λ = −(Uᵀ D⁻¹ y + γ),      Λ = Uᵀ D⁻¹ U = G M⁻¹ Gᵀ,

Λ being the inverse inertia that the constraints feel (Delassus), and a = L⁻¹ D⁻¹ (y + U λ).  Where rows depend on each
other λ is the one of least size, and a is what it is without them: see `linkwork.expr.linalg.semidefinite_solve`.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 8; Carpentier, Budhiraja and Mansard, Proximal and
sparse resolution of constrained dynamic equations, RSS 2021; Baumgarte, Stabilization of constraints and integrals of
motion in dynamical systems, Comput. Methods Appl. Mech. Eng. 1, 1972 (errors that fade).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix_inverse import ArticulatedInverse, FactoredInverse, handed_on
from linkwork.expr.linalg.semidefinite_solve import MORE, Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, mirrored
from linkwork.mechanisms.algorithms.constraints.constraint_rows import AllRates, constraint_error, rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import with_loop_forces
from linkwork.model.function_spec import PASSIVE, Output, Row
from linkwork.model.tree import Tree

__all__ = ["NOISE", "ROWS", "Held", "constrained_accelerations", "constrained_forward_dynamics"]

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
        return Held(handed_on(tree, q, armature), rates_of(tree, q, v, time))

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
) -> tuple[list[Any], list[Any]]:
    """a (nv) and λ (nc), what each row of the constraints exerts: M a + h = τ + Gᵀλ.

    Forces of the joints that close loops, given ones and with ``passive`` their own, are part of τ.  With a time
    constant T of ``stabilization`` G a + γ + 2/T (G v + σ) + φ/T² = 0, φ where rows have an error: what is left of φ
    fades as e^(−t/T).
    """
    tau = with_loop_forces(tree, q, v, tau, loop_forces, passive)
    held = Held.at(tree, q, v, 0.0 if time is None else time[0], passive)
    h = bias_force(tree, q, v, wrenches, passive)
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
    holonomic = [constraint.holonomic for constraint in tree.constraints for _ in constraint.row_names]
    found = []
    for x, row, drift, has_error in zip(wanted, rates.rows, rates.drift, holonomic, strict=True):
        found.append(x - (dot(row, v) + drift) * rate - (next(errors) * stiffness if has_error else 0.0))
    return found


def constrained_accelerations(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str = "smooth",
    method: str = "articulated_bodies",
) -> list[Any]:
    """a alone, as forward dynamics is asked for it.

    Raises ValueError for exact dry friction, and for another method than that of articulated bodies.
    """
    if passive and friction == "coulomb":
        raise ValueError('forward_dynamics: exact dry friction is of robots without constraints: friction="smooth"')
    if method != "articulated_bodies":
        raise ValueError(f"forward_dynamics: method {method!r} is of robots without constraints")
    return constrained_forward_dynamics(tree, q, v, tau, wrenches, passive=passive)[0]


ROWS = (
    Row.of(
        constrained_forward_dynamics,
        "q v tau",
        (Output(("nv",), "rad/s², m/s²", "a"), Output(("nc",), "N, N·m", "constraint_forces")),
        "Accelerations under joint forces, and what the constraints exert.",
        optional=("gravity", "time", "loop_forces", "stabilization"),
        options=(PASSIVE,),
        wrenched=True,
        joint_space=True,
        regular=True,
    ),
)
