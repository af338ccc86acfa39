"""The inverse of the mass matrix in factors that have zeros where joints do not carry each other.

M = LᵀDL is factored from the last joint to the first.  L then has the zeros that M has between joints of which neither
carries the other, and so has L⁻¹; so with the rows l_i of L⁻¹

    M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ,      (M⁻¹)_ij = Σ l_ik l_jk / D_k,      summed over what carries both i and j.

An element and the one across the diagonal are one number.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.5 (LᵀDL and its sparsity) and chapter 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import SingularInertiaError
from ...expr.linalg.sums import dot, is_zero
from ...model.body import WORLD
from ...model.tree import Tree
from ...spatial import ArticulatedInertia, Pose, Subspace
from .forward_dynamics import inverse_resistance
from .mass_matrix import mass_matrix

__all__ = ["FactoredInverse"]

Scalars = Sequence[Any]
SparseRows = list[dict[int, Any]]  # by column, in their order, what is not zero


@dataclass(frozen=True, slots=True)
class FactoredInverse:
    """M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ, its rows and columns those of joints outward from the world."""

    order: list[int]  # where these are in v
    rows: SparseRows  # of L⁻¹
    D_inv: list[Any]

    @staticmethod
    def of(tree: Tree, M: list[list[Any]]) -> FactoredInverse:
        """Of a tree's mass matrix.  Raises SingularInertiaError as `mass_matrix_inverse` does."""
        joints = _outward(tree)
        order = [*joints]
        L, D_inv = _factors([[M[k][h] for h in order] for k in order], [*joints.values()])
        return FactoredInverse(order, _inverse_rows(L), D_inv)

    @staticmethod
    def of_bodies(tree: Tree, q: Scalars, armature: bool = False) -> FactoredInverse:
        """From articulated bodies: D_k is what resists column k while later joints are free, U_k the wrench that this
        takes, and L_kj = J_j · U_k / D_k.  No digits are lost where M is badly conditioned.

        Where joints follow others, M is factored.  Raises SingularInertiaError as `mass_matrix_inverse` does.
        """
        if tree.has_couplings:
            return FactoredInverse.of(tree, mass_matrix(tree, q, armature))
        Y: dict[int, Pose] = {}
        S: dict[int, Subspace] = {}
        X: dict[int, Pose] = {}
        numbers = {i: range(tree.nv)[tree.v_slices[i]] for i, _, _ in tree.outward()}
        for i, p, body in tree.outward():
            X[i], S[i] = body.X(tree.split_q(q)[i]), body.S(tree.split_q(q)[i])
            Y[i] = Pose.identity() if p == WORLD else Y[p] @ X[i]
        J = {i: (Y[i] @ S[i]).columns for i in S}
        I_A = {i: ArticulatedInertia.of(body.inertia) for i, _, body in tree.outward()}
        place = {k: n for n, k in enumerate(_outward(tree))}
        L: SparseRows = [{} for _ in place]
        D_inv: list[Any] = [0.0] * len(place)
        for i, p, body in tree.inward():
            I_a, own = I_A[i], I_A[i]
            rotors = body.armature if armature else [0.0] * len(S[i])
            for n in range(len(S[i]) - 1, -1, -1):
                column, k = S[i].columns[n], place[numbers[i][n]]
                U = I_a @ column
                D_inv[k] = inverse_resistance(column.dot(U) + rotors[n], body, own, column)
                I_a = I_a.freed(column, U, D_inv[k], alone=is_zero(rotors[n]))
                U = U * D_inv[k]
                row = {place[numbers[i][h]]: S[i].columns[h].dot(U) for h in range(n)}
                seen, j = Y[i] @ U, p
                while j != WORLD:
                    row |= {place[h]: J_h.dot(seen) for h, J_h in zip(numbers[j], J[j], strict=True)}
                    j = tree.bodies[j].parent
                L[k] = {h: row[h] for h in sorted(row) if not is_zero(row[h])}
            if p != WORLD:
                I_A[p] += X[i] @ I_a
        return FactoredInverse([*place], _inverse_rows(L), D_inv)

    @property
    def matrix(self) -> list[list[Any]]:
        """M⁻¹, symmetric."""
        order, rows = self.order, self.rows
        scaled = [{k: x * self.D_inv[k] for k, x in row.items()} for row in rows]
        inverse: list[list[Any]] = [[0.0] * len(rows) for _ in rows]
        for i, row in enumerate(rows):
            for j in range(i + 1):
                value = dot([*scaled[j].values()], [row.get(k, 0.0) for k in scaled[j]])
                inverse[order[i]][order[j]] = inverse[order[j]][order[i]] = value
        return inverse

    def applied(self, x: Scalars) -> list[Any]:
        """M⁻¹ x."""
        found: list[Any] = [0.0] * len(self.order)
        half = [[row[k] for row in self.rows if k in row] for k in range(len(self.rows))]
        carried = [[x[self.order[i]] for i, row in enumerate(self.rows) if k in row] for k in range(len(self.rows))]
        y = [dot(column, part) * d for column, part, d in zip(half, carried, self.D_inv, strict=True)]
        for i, row in enumerate(self.rows):
            found[self.order[i]] = dot([*row.values()], [y[k] for k in row])
        return found

    def applied_to_columns(self, B: list[list[Any]]) -> list[list[Any]]:
        """M⁻¹ B, B by its rows."""
        columns = [self.applied(column) for column in zip(*B, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]


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
    if isinstance(D, float) and isinstance(whole, float) and 1e-15 * whole >= D:
        raise SingularInertiaError(joint, motions=isinstance(alone, float) and alone > 1e-15 * whole)
    return 1.0 / D
