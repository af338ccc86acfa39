"""Inverse of the mass matrix in factors, from the articulated-body algorithm (ABA), and products with it.

J_k is the motion of the bodies at unit velocity k.  While all joints after k are free, D_k is the inertia along J_k,
and the wrench U_k causes the unit acceleration.  These are the factors of M = LᵀDL, L_kj = J_j · U_k / D_k for the
columns j that carry k.  They are accurate where M is badly conditioned.  M⁻¹ is applied by the cheaper of two methods:

- the rows l_i of L⁻¹, which has the zeros that M has between joints of which neither carries the other,

      M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ,      (M⁻¹)_ij = Σ l_ik l_jk / D_k,      summed over the joints that carry both i and j;

- in long chains, an inward pass of wrenches and an outward pass of accelerations.

M⁻¹ is symmetric to the bit.  A product M⁻¹ x needs no matrix: it is the acceleration under the joint forces x, at rest
without gravity, by articulated bodies.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.5 (LᵀDL and its sparsity) and chapter 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.dynamics.algorithms.forward_dynamics import articulated_bodies, inverse_resistance
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.errors import SingularInertiaError
from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.sparse_dot import dot, is_zero, mirrored
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.model.body import WORLD
from linkwork.model.function_spec import PASSIVE, FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import ArticulatedInertia, Force, Motion, Pose, Subspace, Vec3

__all__ = ["ROWS", "ArticulatedInverse", "FactoredInverse", "inverse_mass_matrix", "propagated_inverse"]


Scalars = Sequence[Any]
SparseRows = list[dict[int, Any]]  # elements that are not zero, by column in ascending order
Matrix = list[list[Any]]
_LONG = 10_000  # operations of all columns of a matrix from which on they are computed in a loop
_PER_VELOCITY = 24  # operations for a column and a velocity in passes of wrenches and accelerations


def inverse_mass_matrix(tree: Tree, q: Scalars, armature: bool = False) -> FactoredInverse | ArticulatedInverse:
    """Return M(q)⁻¹ of a tree, with the joints' ``armature`` on M's diagonal.

    Where joints follow others, M itself is factored.  Raises SingularInertiaError naming the joint where a joint moves
    no inertia at all.
    """
    result = propagated_inverse(tree, q, armature)
    if isinstance(result, FactoredInverse) or 2 * result.products > _PER_VELOCITY * tree.nv:
        return result
    return result.factored


def propagated_inverse(tree: Tree, q: Scalars, armature: bool = False) -> FactoredInverse | ArticulatedInverse:
    """Return M(q)⁻¹ in a form that is cheap for products with few sparse columns.

    For a tree it is a recursion over the bodies, without the matrix L⁻¹.  For a tree with coupled joints M is factored
    and L⁻¹ is computed.
    """
    if tree.has_couplings:
        return FactoredInverse.of(tree, mass_matrix(tree, q, armature))
    return freed_bodies(tree, q, armature)


@dataclass(frozen=True, slots=True)
class FactoredInverse:
    """M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ from the factors of M = LᵀDL, with joints in the order outward from the world."""

    order: list[int]  # indices of the rows in v
    rows: SparseRows  # of L⁻¹
    D_inv: list[Any]

    @property
    def count(self) -> int:
        """Number of velocities."""
        return len(self.order)

    @staticmethod
    def of(tree: Tree, M: Matrix) -> FactoredInverse:
        """Factor a tree's mass matrix.  Raises SingularInertiaError as `inverse_mass_matrix` does."""
        joints = _outward(tree)
        order = [*joints]
        L, D_inv = _factors([[M[k][h] for h in order] for k in order], [*joints.values()])
        return FactoredInverse(order, _inverse_rows(L), D_inv)

    @property
    def matrix(self) -> Matrix:
        """Inverse M⁻¹ of the mass matrix (nv × nv), symmetric."""
        order, rows = self.order, self.rows
        scaled = [{k: x * self.D_inv[k] for k, x in row.items()} for row in rows]
        inverse: Matrix = [[0.0] * len(rows) for _ in rows]
        for i, row in enumerate(rows):
            for j in range(i + 1):
                value = dot([*scaled[j].values()], [row.get(k, 0.0) for k in scaled[j]])
                inverse[order[i]][order[j]] = inverse[order[j]][order[i]] = value
        return inverse

    def applied(self, x: Scalars) -> list[Any]:
        """Return M⁻¹ x (nv), with the mass matrix M."""
        return self.outward(self.weighed(self.inward(x)))

    def inward(self, x: Scalars) -> list[Any]:
        """Return L⁻ᵀ x for a vector of joint forces x (nv), with M = LᵀDL."""
        carried: list[list[int]] = [[] for _ in self.rows]
        for i, row in enumerate(self.rows):
            for k in row:
                carried[k].append(i)
        return [
            dot([self.rows[i][k] for i in indices], [x[self.order[i]] for i in indices])
            for k, indices in enumerate(carried)
        ]

    def weighed(self, y: Scalars) -> list[Any]:
        """Return D⁻¹ y, with the diagonal D of M = LᵀDL."""
        return [0.0 if is_zero(a) else a * d for a, d in zip(y, self.D_inv, strict=True)]

    def outward(self, y: Scalars) -> list[Any]:
        """Return L⁻¹ y, with M = LᵀDL, in the order of velocities in v."""
        result: list[Any] = [0.0] * len(self.order)
        for i, row in enumerate(self.rows):
            result[self.order[i]] = dot([*row.values()], [y[k] for k in row])
        return result

    def applied_to(self, columns: Sequence[Scalars]) -> list[list[Any]]:
        """Return M⁻¹ x for each vector x of ``columns``, with the mass matrix M."""
        long = 2 * sum(map(len, self.rows)) * len(columns) > _LONG
        return map_rows(self.applied, columns, in_loops=long)


@dataclass(frozen=True, slots=True)
class Freed:
    """Factors of M = LᵀDL for one velocity component: its motion J, its wrench U and 1/D.

    U is the wrench that moves the joint along J at unit rate while later joints are free, and D = J · U. J and U are
    in coordinates of the first body of the branch of the tree.
    """

    number: int  # index in v
    J: Motion
    U: Force  # wrench that moves it while later joints are free
    D_inv: Any


@dataclass(frozen=True, slots=True)
class ArticulatedInverse:
    """M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ of a tree, applied by an inward pass of wrenches and an outward pass of accelerations."""

    count: int  # number of velocities
    bodies: list[tuple[int, int, list[Freed]]]  # index, parent's index and joint's velocities, parents first

    @property
    def matrix(self) -> Matrix:
        """Inverse M⁻¹ of the mass matrix (nv × nv), symmetric."""
        many = _PER_VELOCITY * self.count**2 > _LONG
        result = map_rows(self.applied, unit_vectors(self.count), in_loops=many, alike=True)
        return mirrored(result)

    def applied(self, x: Scalars) -> list[Any]:
        """Return M⁻¹ x (nv), with the mass matrix M."""
        return self.outward(self.weighed(self.inward(x)))

    def inward(self, x: Scalars) -> list[Any]:
        """Return L⁻ᵀ x for a vector of joint forces x (nv), with M = LᵀDL, by an inward pass of wrenches."""
        p = {i: Force.zero() for i, _, _ in self.bodies}
        u: list[Any] = [0.0] * self.count
        for i, parent, joint in reversed(self.bodies):
            for c in reversed(joint):
                u[c.number] = x[c.number] - c.J.dot(p[i])
                p[i] += c.U * (0.0 if is_zero(u[c.number]) else u[c.number] * c.D_inv)
            if parent != WORLD:
                p[parent] += p[i]
        return u

    def weighed(self, y: Scalars) -> list[Any]:
        """Return D⁻¹ y, with the diagonal D of M = LᵀDL."""
        D_inv = {c.number: c.D_inv for _, _, joint in self.bodies for c in joint}
        return [0.0 if is_zero(a) else a * D_inv[k] for k, a in enumerate(y)]

    def outward(self, y: Scalars) -> list[Any]:
        """Return L⁻¹ y, with M = LᵀDL, by an outward pass of accelerations."""
        A = {WORLD: Motion.zero()}
        result: list[Any] = [0.0] * self.count
        for i, parent, joint in self.bodies:
            A[i] = A[parent]
            for c in joint:
                result[c.number] = y[c.number] - A[i].dot(c.U) * c.D_inv
                A[i] += c.J * result[c.number]
        return result

    def applied_to(self, columns: Sequence[Scalars]) -> list[list[Any]]:
        """Return M⁻¹ x for each vector x of ``columns``, with the mass matrix M."""
        return map_rows(self.applied, columns, in_loops=_PER_VELOCITY * self.count * len(columns) > _LONG)

    @property
    def factored(self) -> FactoredInverse:
        """The same inverse mass matrix as a `FactoredInverse`, which has the rows of L⁻¹; M = LᵀDL."""
        L: dict[int, dict[int, Any]] = {}
        carriers: dict[int, list[Freed]] = {WORLD: []}
        for i, parent, joint in self.bodies:
            carriers[i] = [*carriers[parent]]
            for c in joint:
                result = {j.number: j.J.dot(c.U) * c.D_inv for j in carriers[i]}
                L[c.number] = {j: value for j, value in result.items() if not is_zero(value)}
                carriers[i].append(c)
        position = {k: n for n, k in enumerate(L)}
        rows = _inverse_rows([{position[j]: value for j, value in row.items()} for row in L.values()])
        D_inv = {c.number: c.D_inv for _, _, joint in self.bodies for c in joint}
        return FactoredInverse([*L], rows, [D_inv[k] for k in L])

    @property
    def products(self) -> int:
        """Maximum number of non-zero elements of L⁻¹."""
        carried = {WORLD: 0}
        total = 0
        for i, parent, joint in self.bodies:
            for _ in joint:
                carried[i] = carried.get(i, carried[parent]) + 1
                total += carried[i]
            carried.setdefault(i, carried[parent])
        return total


def freed_bodies(tree: Tree, q: Scalars, armature: bool = False) -> ArticulatedInverse:
    """Return M(q)⁻¹ in factors, by the inward pass of the articulated-body algorithm.

    Raises SingularInertiaError as `inverse_mass_matrix` does.
    """
    q = tree.split_q(q)
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    Y: dict[int, Pose] = {}
    I_A: dict[int, ArticulatedInertia] = {}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        Y[i] = Pose.identity() if p == WORLD else Y[p] @ X[i]
        I_A[i] = ArticulatedInertia.of(body.inertia)
    joints: dict[int, list[Freed]] = {}
    for i, p, body in tree.inward():
        I_a, unresisted, result = I_A[i], I_A[i], []
        rotors = body.armature if armature else [0.0] * len(S[i])
        velocity_indices = range(tree.nv)[tree.v_slices[i]]
        for number, column, rotor in [*zip(velocity_indices, S[i].columns, rotors, strict=True)][::-1]:
            U = I_a @ column
            D_inv = inverse_resistance(column.dot(U) + rotor, body, unresisted, column)
            I_a = I_a.freed(column, U, D_inv, alone=is_zero(rotor))
            result.append(Freed(number, Y[i] @ column, Y[i] @ U, D_inv))
        joints[i] = result[::-1]
        if p != WORLD:
            I_A[p] += X[i] @ I_a
    return ArticulatedInverse(tree.nv, [(i, p, joints[i]) for i, p, _ in tree.outward()])


def _outward(tree: Tree) -> dict[int, str]:
    """Return the joint's name by index in v, with the indices in the order of bodies outward from the world."""
    result: dict[int, str] = {}
    for i, _, body in tree.outward():
        for k in range(tree.nv)[tree.v_slices[i]]:
            result.setdefault(k, body.joint_name)
    return result


def _factors(A: Matrix, joints: Sequence[str]) -> tuple[SparseRows, list[Any]]:
    """Return the elements of L below its diagonal, and 1/D, of LᵀDL = A; the lower triangle of A is overwritten."""
    L: SparseRows = [{} for _ in A]
    D_inv: list[Any] = [0.0] * len(A)
    whole = [row[i] for i, row in enumerate(A)]
    for i in range(len(A) - 1, -1, -1):
        if joints[i + 1 : i + 2] != [joints[i]]:
            alone = [row[k] for k, row in enumerate(A)]  # inertia of each motion while later joints are free
        D_inv[i] = _inverse(A[i][i], whole[i], alone[i], joints[i])
        L[i] = {j: A[i][j] * D_inv[i] for j in range(i) if not is_zero(A[i][j])}
        for j, factor in L[i].items():
            for k in L[i]:
                if k <= j:
                    A[j][k] -= factor * A[i][k]
    return L, D_inv


def _inverse_rows(L: SparseRows) -> SparseRows:
    """Return the rows of L⁻¹ with its diagonal: l_i = e_i − Σ L_ij l_j."""
    rows: SparseRows = []
    for i, row in enumerate(L):
        columns = sorted({k for j in row for k in rows[j]})
        rows.append({k: -dot([*row.values()], [rows[j].get(k, 0.0) for j in row]) for k in columns} | {i: 1.0})
    return rows


def _inverse(D: Any, whole: Any, alone: Any, joint: str) -> Any:
    """Return 1/D. Raises SingularInertiaError if D is a number, and only rounding error of the inertia ``whole``."""
    if isinstance(D, float) and 1e-15 * whole >= D:
        raise SingularInertiaError(joint, motions=isinstance(alone, float) and alone > 1e-15 * whole)
    return 1.0 / D


def mass_matrix_inverse(tree: Tree, q: Scalars, passive: bool = False) -> list[list[Any]]:
    """Return M(q)⁻¹, nv × nv, symmetric; ``passive`` adds the joints' armature to M's diagonal.

    Raises SingularInertiaError naming the joint where a joint moves no inertia at all.
    """
    return FactoredInverse.of(tree, mass_matrix(tree, q, passive)).matrix


def mass_matrix_solve(tree: Tree, q: Scalars, x: Scalars, passive: bool = False) -> list[Any]:
    """Return M(q)⁻¹ x (nv) without computing M: the accelerations under joint forces x, at rest without gravity."""
    return articulated_bodies(tree.with_gravity(Vec3.zero()), q, [0.0] * tree.nv, x, armature=passive)


ROWS = (
    FunctionSpec.of(
        mass_matrix_inverse,
        "q",
        Output(("nv", "nv"), "1/(kg·m²), 1/(kg·m), 1/kg"),
        "Inverse of the joint-space mass matrix.",
        options=(PASSIVE,),
        joint_space=True,
        requires_regular_coordinates=True,
    ),
    FunctionSpec.of(
        mass_matrix_solve,
        "q x",
        Output(("nv",), "rad/s², m/s²"),
        "Product of the inverse mass matrix with joint forces.",
        options=(PASSIVE,),
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)
