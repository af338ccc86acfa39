"""Derivatives of forward dynamics, by those of inverse dynamics: as τ = ID(q, v, FD(q, v, τ)) for all q and v,

    ∂a/∂τ = M⁻¹,      ∂a/∂q = −M⁻¹ ∂τ/∂q,      ∂a/∂v = −M⁻¹ ∂τ/∂v,      ∂a/∂w = M⁻¹ Jᵀ,

the derivatives of inverse dynamics taken at that acceleration.  M⁻¹ is applied in factors (`factored_inverse`).

A body that floats needs none of it where the world turns under it, or goes by: all is accelerated alike then, by Ψ̈, and
only this body's own acceleration has to change, by −Ψ̈.

Source: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import Carrier, carriers, joint_force_of_wrench
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.joints.base.from_transform import units
from linkwork.model.body import WORLD
from linkwork.model.function_spec import PASSIVE, Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Motion

__all__ = ["ROWS", "forward_dynamics_derivatives"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def forward_dynamics_derivatives(
    tree: Tree, q: Scalars, v: Scalars, tau: Scalars, wrenches: Wrenches = (), passive: bool = False
) -> tuple[Matrix, ...]:
    """∂a/∂q, in the tangent space of q, ∂a/∂v, and ∂a/∂τ = M(q)⁻¹: nv × nv each; and nv × 6 by each wrench.

    Wrenches keep to the axes that they are expressed in.  With ``passive`` friction has its smooth law.
    Raises SingularInertiaError naming the joint where a joint moves no inertia at all.
    """
    n, inverse = tree.nv, inverse_mass_matrix(tree, q, passive)
    h = bias_force(tree, q, v, wrenches, passive)
    a = inverse.applied([x - y for x, y in zip(tau, h, strict=True)])
    dq, dv, _ = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive)
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    at = carriers(tree, q, v, a)
    varied = [*_columns(_negative(dq)), *_columns(_negative(dv))]
    for frame, axes, _ in wrenches:
        varied += _columns(joint_force_of_wrench(tree, q, at, frame, axes))
    known = {} if wrenches or passive else dict(_accelerated_alike(tree, at))
    solved = iter(inverse.applied_to([column for k, column in enumerate(varied) if k not in known]))
    found = [known[k] if k in known else next(solved) for k in range(len(varied))]
    by_wrench = [_columns(found[2 * n + 6 * k :][:6]) for k in range(len(wrenches))]
    return _columns(found[:n]), _columns(found[n : 2 * n]), inverse.matrix, *by_wrench


def _accelerated_alike(tree: Tree, at: dict[int, Carrier]) -> Iterator[tuple[int, list[Any]]]:
    """The columns of ∂a/∂q, and after them ∂a/∂v, along which a floating body's whole branch is accelerated alike."""
    for i, p, _ in tree.outward():
        if p != WORLD or not _floats([c.J for c in at[i].columns]):
            continue
        for c in at[i].columns:
            for k, turning, speeding in ((c.number, c.turning, c.speeding), (tree.nv + c.number, c.J, c.swinging)):
                if all(map(is_zero, (*turning.angular, *_all(c.own)))):
                    column = [0.0] * tree.nv
                    for row, x in zip(at[i].columns, speeding.elements(), strict=True):
                        column[row.number] = -x
                    yield k, column


def _floats(columns: Sequence[Motion]) -> bool:
    """Whether a joint's columns are the six unit motions, in their order."""
    pairs = zip(_all(columns), [x for unit in units(6) for x in unit], strict=False)
    return len(columns) == 6 and all(isinstance(x, float) and x == y for x, y in pairs)


def _all(motions: Sequence[Motion]) -> list[Any]:
    return [x for motion in motions for x in motion.elements()]


def _columns(rows: Sequence[Scalars]) -> Matrix:
    """The transpose."""
    return [list(column) for column in zip(*rows, strict=True)]


def _negative(matrix: Matrix) -> Matrix:
    return [[-x for x in row] for row in matrix]


ROWS = (
    Row.of(
        forward_dynamics_derivatives,
        "q v tau",
        (
            Output(("nv", "nv"), "1/s², m/(rad·s²)", "da_dq"),
            Output(("nv", "nv"), "1/s", "da_dv"),
            Output(("nv", "nv"), "1/(kg·m²), 1/(kg·m), 1/kg", "da_dtau"),
        ),
        "How the accelerations of forward dynamics vary with q, v and tau.",
        optional=("gravity",),
        options=(PASSIVE,),
        wrenched=True,
        by_wrench=Output(("nv", 6), "1/(kg·m²), 1/(kg·m), 1/kg", "da_d"),
        joint_space=True,
        regular=True,
    ),
)
