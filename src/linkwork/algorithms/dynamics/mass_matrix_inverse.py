"""The inverse of the mass matrix, and products with it.

M = LᵀDL is factored from the last joint to the first.  L then has the zeros that M has between joints of which neither
carries the other, and so has L⁻¹; so with the rows l_i of L⁻¹

    M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ,      (M⁻¹)_ij = Σ l_ik l_jk / D_k,      summed over what carries both i and j.

An element and the one across the diagonal are one number.  A product M⁻¹ x needs no matrix: it is the acceleration
under the joint forces x, at rest without gravity, by articulated bodies.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.5 (LᵀDL and its sparsity) and chapter 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import SingularInertiaError
from ...expr.linalg.sums import dot, is_zero
from ...model.tree import Tree
from ...spatial import Vec3
from ..row import PASSIVE, Output, Row
from .forward_dynamics import articulated_bodies
from .mass_matrix import mass_matrix

__all__ = ["ROWS", "mass_matrix_inverse", "mass_matrix_solve"]

Scalars = Sequence[Any]
SparseRows = list[dict[int, Any]]  # by column, in their order, what is not zero


def mass_matrix_inverse(tree: Tree, q: Scalars, passive: bool = False) -> list[list[Any]]:
    """M(q)⁻¹, nv × nv, symmetric; with ``passive`` M has the joints' armature on its diagonal.

    Raises SingularInertiaError naming the joint where a joint moves no inertia at all.
    """
    M = mass_matrix(tree, q, passive)
    joints = _outward(tree)
    order = [*joints]
    L, D_inv = _factors([[M[k][h] for h in order] for k in order], [*joints.values()])
    rows = _inverse_rows(L)
    scaled = [{k: x * D_inv[k] for k, x in row.items()} for row in rows]
    inverse: list[list[Any]] = [[0.0] * tree.nv for _ in range(tree.nv)]
    for i, row in enumerate(rows):
        for j in range(i + 1):
            value = dot([*scaled[j].values()], [row.get(k, 0.0) for k in scaled[j]])
            inverse[order[i]][order[j]] = inverse[order[j]][order[i]] = value
    return inverse


def mass_matrix_solve(tree: Tree, q: Scalars, x: Scalars, passive: bool = False) -> list[Any]:
    """M(q)⁻¹ x (nv), without M: the accelerations under joint forces x, at rest without gravity."""
    return articulated_bodies(tree.under(Vec3.zero()), q, [0.0] * tree.nv, x, armature=passive)


def _outward(tree: Tree) -> dict[int, str]:
    """The numbers of velocities in the order of the first bodies that move with them, with these bodies' joints."""
    found: dict[int, str] = {}
    for i, _, body in tree.outward():
        for k in range(tree.nv)[tree.v_slices[i]]:
            found.setdefault(k, body.joint_name)
    return found


def _factors(A: list[list[Any]], joints: Sequence[str]) -> tuple[SparseRows, list[Any]]:
    """L below its diagonal and 1/D, of LᵀDL = A: the lower triangle of A, which is used up."""
    L: SparseRows = [{} for _ in A]
    D_inv: list[Any] = [0.0] * len(A)
    whole = [row[i] for i, row in enumerate(A)]
    for i in range(len(A) - 1, -1, -1):
        if joints[i + 1 : i + 2] != [joints[i]]:
            alone = [row[k] for k, row in enumerate(A)]  # what resists each motion while later joints are free
        D_inv[i] = _inverse(A[i][i], whole[i], alone[i], joints[i])
        L[i] = {j: A[i][j] * D_inv[i] for j in range(i) if not is_zero(A[i][j])}
        for j, factor in L[i].items():
            for k in L[i]:
                if k <= j:
                    A[j][k] -= factor * A[i][k]
    return L, D_inv


def _inverse_rows(L: SparseRows) -> SparseRows:
    """The rows of L⁻¹, diagonal included: l_i = e_i − Σ L_ij l_j."""
    rows: SparseRows = []
    for i, row in enumerate(L):
        columns = sorted({k for j in row for k in rows[j]})
        rows.append({k: -dot([*row.values()], [rows[j].get(k, 0.0) for j in row]) for k in columns} | {i: 1.0})
    return rows


def _inverse(D: Any, whole: Any, alone: Any, joint: str) -> Any:
    """1/D.  Raises SingularInertiaError where D is known to be nothing beside what resists the motion in ``whole``."""
    if isinstance(D, float) and 1e-15 * whole >= D:
        raise SingularInertiaError(joint, motions=isinstance(alone, float) and alone > 1e-15 * whole)
    return 1.0 / D


ROWS = (
    Row.of(
        mass_matrix_inverse,
        "q",
        Output(("nv", "nv"), "1/(kg·m²), 1/(kg·m), 1/kg"),
        "Inverse of the joint-space mass matrix.",
        options=(PASSIVE,),
        joint_space=True,
        regular=True,
    ),
    Row.of(
        mass_matrix_solve,
        "q x",
        Output(("nv",), "rad/s², m/s²"),
        "Product of the inverse mass matrix with joint forces.",
        options=(PASSIVE,),
        joint_space=True,
        regular=True,
    ),
)
