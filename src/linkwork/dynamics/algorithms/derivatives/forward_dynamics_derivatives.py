"""First and second derivatives of forward dynamics, from those of inverse dynamics.

Since τ = ID(q, v, FD(q, v, τ)) for all q and v,

    ∂a/∂τ = M⁻¹,      ∂a/∂q = −M⁻¹ ∂τ/∂q,      ∂a/∂v = −M⁻¹ ∂τ/∂v,      ∂a/∂w = M⁻¹ Jᵀ,

with the derivatives of inverse dynamics at that acceleration.  M⁻¹ is applied in factors (`mass_matrix_inverse`).

Rotations and translations of the world under a floating body need no solution: all bodies are accelerated equally, by
Ψ̈, and only the floating body's own acceleration changes, by −Ψ̈.

Second derivatives: with λ = M⁻¹ w and H the second derivatives of λ · ID at that acceleration, λ fixed, those of w · a
are

    qq:  −(H_qq + H_qa a_q + (H_qa a_q)ᵀ),      qv:  −(H_qv + H_qa a_v),      vv:  −H_vv,      qτ:  −H_qa M⁻¹

and the others are zero: accelerations are affine in τ, and their derivative with respect to τ does not depend on v.

`ImplicitDynamics` is the derivative rule of traced accelerations: it differentiates the equation that they solve, not
the operations of the solution.  Forward, ȧ = M⁻¹ (τ̇ − dID), where dID is the rate of the joint forces at constant a.
In reverse, with M λ = w, the gradient of w·a is λ by τ, and that of −λ·ID(q, v, a) by q and v.  A trace reuses the
factors of M from the acceleration.

Sources: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018 (section IV for the
rule); Singh, Russell and Wensing, On second-order derivatives of rigid-body dynamics: theory and implementation, IEEE
Transactions on Robotics 40, 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import Carrier, carriers, joint_force_of_wrench
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import (
    Tensor,
    inverse_dynamics_derivatives,
    inverse_dynamics_hessian,
    inverse_dynamics_second_derivatives,
)
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.forward_dynamics import articulated_bodies
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force, inverse_dynamics
from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix
from linkwork.expr.autodiff.custom_derivative import ImplicitDerivative, Solution
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint
from linkwork.expr.autodiff.graph_derivative import is_zero as stays
from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.model.body import WORLD
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import PASSIVE, SMOOTH_FRICTION, FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3

__all__ = [
    "ROWS",
    "along_accelerations",
    "forward_dynamics_derivatives",
    "forward_dynamics_hessian",
    "forward_dynamics_second_derivatives",
    "implicit_hessian",
]


Scalars = Sequence[Any]
Matrix = list[list[Any]]


def forward_dynamics_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, ...]:
    """Return ∂a/∂q (in the tangent space of q), ∂a/∂v and ∂a/∂τ = M(q)⁻¹, nv × nv each, and ∂a/∂w, nv × 6.

    There is one ∂a/∂w for each of the ``wrenches`` w, which are constant in the axes that they are expressed in.

    Raises SingularInertiaError naming the joint where a joint moves no inertia at all.
    """
    n, inverse = tree.nv, inverse_mass_matrix(tree, q, passive)
    h = bias_force(tree, q, v, wrenches, passive, friction)
    a = inverse.applied([x - y for x, y in zip(tau, h, strict=True)])
    dq, dv, _ = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive, friction)
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    at = carriers(tree, q, v, a)
    varied = [*_columns(_negative(dq)), *_columns(_negative(dv))]
    for frame, axes, _ in wrenches:
        varied += _columns(joint_force_of_wrench(tree, q, at, frame, axes))
    known = {} if wrenches or passive else dict(_accelerated_alike(tree, at))
    solved = iter(inverse.applied_to([column for k, column in enumerate(varied) if k not in known]))
    result = [known[k] if k in known else next(solved) for k in range(len(varied))]
    by_wrench = [_columns(result[2 * n + 6 * k :][:6]) for k in range(len(wrenches))]
    return _columns(result[:n]), _columns(result[n : 2 * n]), inverse.matrix, *by_wrench


def _accelerated_alike(tree: Tree, at: dict[int, Carrier]) -> Iterator[tuple[int, list[Any]]]:
    """Yield (k, column) for those columns k of (∂a/∂q, ∂a/∂v) that need no solution of equations.

    Changes along them accelerate all bodies of a floating base's branch equally. So only the base's own acceleration
    changes.
    """
    for i, p, _ in tree.outward():
        if p != WORLD or not _floats([c.J for c in at[i].columns]):
            continue
        for c in at[i].columns:
            for k, turning, speeding in ((c.number, c.turning, c.speeding), (tree.nv + c.number, c.J, c.swinging)):
                if all(map(is_zero, (*turning.angular, *_all(c.local_rates)))):
                    column = [0.0] * tree.nv
                    for row, x in zip(at[i].columns, speeding.elements(), strict=True):
                        column[row.number] = -x
                    yield k, column


def _floats(columns: Sequence[Motion]) -> bool:
    """Return True if a joint's columns are the six unit motions, in order."""
    pairs = zip(_all(columns), [x for unit in unit_vectors(6) for x in unit], strict=False)
    return len(columns) == 6 and all(isinstance(x, float) and x == y for x, y in pairs)


def _all(motions: Sequence[Motion]) -> list[Any]:
    return [x for motion in motions for x in motion.elements()]


def _columns(rows: Sequence[Scalars]) -> Matrix:
    """Return the transpose of a matrix."""
    return [list(column) for column in zip(*rows, strict=True)]


def _negative(matrix: Matrix) -> Matrix:
    return [[-x for x in row] for row in matrix]


_LONG = 10_000  # operations of a matrix product from which on it is computed in a loop


def forward_dynamics_hessian(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    weights: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, ...]:
    """Return the second derivatives of Σ w_i a_i, the sum of accelerations with ``weights`` w (nv × nv each).

    They are ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂q∂τ; ∂²/∂v∂τ and ∂²/∂τ∂τ are zero.
    """
    _, H = implicit_hessian(tree, q, v, tau, weights, wrenches, passive, friction)
    first = forward_dynamics_derivatives(tree, q, v, tau, wrenches, passive, friction)[:3]
    return tuple([[-x for x in row] for row in part] for part in along_accelerations(H, first))


def implicit_hessian(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    weights: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], tuple[Matrix, ...]]:
    """Return the accelerations a, and second derivatives of the inverse dynamics at a, weighted by λ = M⁻¹ w.

    The second derivatives of λ · τ(q, v, a) are H_qq, H_qv, H_vv and H_qa (nv × nv each). ``weights`` are w.
    """
    inverse = inverse_mass_matrix(tree, q, passive)
    at = _accelerations(tree, q, v, tau, wrenches, passive, friction)
    H = inverse_dynamics_hessian(tree, q, v, at, inverse.applied(weights), wrenches, passive, friction)
    return at, H


def forward_dynamics_second_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Tensor, ...]:
    """Return ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂q∂τ of every acceleration (nv × nv × nv each).

    Element [i, j, k] of ∂²/∂x∂y is ∂²a_i/∂x_j∂y_k.
    """
    at = _accelerations(tree, q, v, tau, wrenches, passive, friction)
    second = inverse_dynamics_second_derivatives(tree, q, v, at, wrenches, passive, friction)
    first = forward_dynamics_derivatives(tree, q, v, tau, wrenches, passive, friction)[:3]
    felt = [along_accelerations([part[i] for part in second], first) for i in range(tree.nv)]
    pairs = [
        (part, j, k)
        for part, is_symmetric in enumerate((True, False, True, False))
        for j in range(tree.nv)
        for k in range(j if is_symmetric else 0, tree.nv)
    ]
    forces = [[-of_one[part][j][k] for of_one in felt] for part, j, k in pairs]
    result: tuple[Tensor, ...] = tuple([[[0.0] * tree.nv for _ in felt] for _ in felt] for _ in range(4))
    for (part, j, k), a in zip(pairs, inverse_mass_matrix(tree, q, passive).applied_to(forces), strict=True):
        for i, x in enumerate(a):
            result[part][i][j][k] = x
            if part in (0, 2):
                result[part][i][k][j] = x
    return result


def _accelerations(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches,
    passive: bool,
    friction: str | FrictionLaw,
) -> list[Any]:
    h = bias_force(tree, q, v, wrenches, passive, friction)
    return inverse_mass_matrix(tree, q, passive).applied([x - y for x, y in zip(tau, h, strict=True)])


def along_accelerations(H: Sequence[Matrix], first: Sequence[Matrix]) -> tuple[Matrix, ...]:
    """Return the second derivatives of weighted joint forces by q, v and τ, with accelerations that depend on these.

    ``H`` are the second derivatives with respect to q, v and a, ``first`` the derivatives of a with respect to q, v and
    τ.
    """
    H_qq, H_qv, H_vv, H_qa = H
    by_q, by_v, by_tau = (_product(H_qa, matrix) for matrix in first)
    n = range(len(H_qq))
    return (
        [[H_qq[j][k] + (by_q[j][k] + by_q[k][j]) for k in n] for j in n],
        [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(H_qv, by_v, strict=True)],
        H_vv,
        by_tau,
    )


def _product(A: Matrix, B: Matrix) -> Matrix:
    columns = [*zip(*B, strict=True)]

    def row_of(row: Scalars) -> list[Any]:
        return [sum((x * y for x, y in zip(row, column, strict=True)), 0.0) for column in columns]

    return map_rows(row_of, A, in_loops=2 * len(A) ** 3 > _LONG)


_UNITS = ("1/s²", "1/s", "1", "1/(kg·m²), 1/(kg·m)")
_NAMES = ("dq_dq", "dq_dv", "dv_dv", "dq_dtau")
_COMMON: dict[str, Any] = {
    "optional": ("gravity",),
    "options": (PASSIVE, SMOOTH_FRICTION),
    "takes_wrenches": True,
    "joint_space": True,
    "requires_regular_coordinates": True,
}


Watched = Callable[[Tree, Graph], Tree]


@dataclass(frozen=True, eq=False, slots=True)
class ImplicitDynamics(ImplicitDerivative):
    """Forward dynamics a = FD(q, v, τ) as an implicit function, whose derivatives follow from inverse dynamics.

    The tree's own parameters are numbers, not symbols.
    """

    tree: Tree
    watched: Watched  # the tree with marks for the trace of a graph

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return articulated_bodies(self._walked(inputs), *self._apart(inputs)), ()

    @property
    def size(self) -> int:
        return self.tree.nv

    def residual_jvp(self, at: Solution, direction: Scalars) -> Scalars:
        q, v, _ = self._apart(at.inputs)
        q_rate, v_rate, tau_rate = self._apart(direction)
        rates = [*q_rate, *v_rate, *[0.0] * len(at.results)]
        if all(map(stays, rates)):
            return tau_rate
        moving = seeded([*q, *v, *at.results], rates)
        tau = inverse_dynamics(self._walked(at.inputs), *self._apart(moving))
        torque_rates = [parts(x, moving[0].level)[1] for x in tau]
        return [x - y for x, y in zip(tau_rate, torque_rates, strict=True)]

    def residual_vjp(self, at: Solution, multipliers: Scalars) -> Scalars:
        q, v, _ = self._apart(at.inputs)
        tau = inverse_dynamics(self._walked(at.inputs), q, v, at.results)
        moved = [x for x in (*q, *v, *at.results) if isinstance(x, Symbol)]
        result = dict(zip(moved, adjoint(tau, moved, [-x for x in multipliers]), strict=True))
        return [*(result.get(x, 0.0) if isinstance(x, Symbol) else 0.0 for x in (*q, *v)), *multipliers]

    def solve_jacobian(self, at: Solution, right: Scalars, transpose: bool) -> list[Any]:
        """Return M(q)⁻¹ x for x = ``right``: the acceleration under joint forces x at rest without gravity."""
        q, _, _ = self._apart(at.inputs)
        tree = self._walked([*q, *right]).with_gravity(Vec3.zero())
        return articulated_bodies(tree, q, [0.0] * self.tree.nv, right)

    def _walked(self, inputs: Scalars) -> Tree:
        symbol = next((x for x in inputs if isinstance(x, Symbol)), None)
        return self.tree if symbol is None else self.watched(self.tree, symbol.graph)

    def _apart(self, values: Scalars) -> tuple[Scalars, Scalars, Scalars]:
        nq, nv = self.tree.nq, self.tree.nv
        return values[:nq], values[nq : nq + nv], values[nq + nv :]


ROWS = (
    FunctionSpec.of(
        forward_dynamics_derivatives,
        "q v tau",
        (
            Output(("nv", "nv"), "1/s², m/(rad·s²)", "da_dq"),
            Output(("nv", "nv"), "1/s", "da_dv"),
            Output(("nv", "nv"), "1/(kg·m²), 1/(kg·m), 1/kg", "da_dtau"),
        ),
        "Derivatives of the accelerations of forward dynamics by q, v and tau.",
        optional=("gravity",),
        options=(PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        per_wrench_output=Output(("nv", 6), "1/(kg·m²), 1/(kg·m), 1/kg", "da_d"),
        joint_space=True,
        requires_regular_coordinates=True,
    ),
    FunctionSpec.of(
        forward_dynamics_hessian,
        "q v tau weights",
        [Output(("nv", "nv"), units, f"d2_{name}") for name, units in zip(_NAMES, _UNITS, strict=True)],
        "Second derivatives of a weighted sum of the accelerations of forward dynamics.",
        **_COMMON,
    ),
    FunctionSpec.of(
        forward_dynamics_second_derivatives,
        "q v tau",
        [Output(("nv", "nv", "nv"), units, f"d2a_{name}") for name, units in zip(_NAMES, _UNITS, strict=True)],
        "Second derivatives of every acceleration of forward dynamics.",
        **_COMMON,
    ),
)
