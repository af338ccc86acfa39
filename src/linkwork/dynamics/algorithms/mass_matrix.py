"""Composite-rigid-body algorithm (CRBA): the joint-space mass matrix, its pivots, and the Coriolis matrix.

Sources: Walker and Orin, ASME J. DSMC 104, 1982; Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 6.

Pivots: with M = Lᵀ D L, D_k is the inertia along velocity k while the joints after it are free.  The articulated-body
algorithm divides by D_k = S_k · I_A S_k.  M is singular where a pivot is zero: some motion moves no inertia.
Source: Featherstone, 2008, sections 6.5 and 7.1.

Coriolis matrix: a mass at r moves by J v for velocities v of the joints, and accelerates by J a + J̇ v.  So
M = ∫ρ Jᵀ J, and

    C(q, v) = ∫ρ Jᵀ J̇ :      C v = h(q, v) − g(q)   and   Ṁ = C + Cᵀ.

Where q̇ = v these are the Christoffel symbols of M.  The inertia that the joint of body i carries is a `MovingInertia`.
In the inward pass it gives the elements of the row and the column of i in C for every joint between the world and i.

Sources: Niemeyer and Slotine, Performance in adaptive manipulator control, Int. J. Robotics Research 10, 1991 (a
Coriolis matrix by recursion); Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and Christoffel
symbols for rigid-body systems, ASME J. Comput. Nonlinear Dynam. 16, 2021 (by composite bodies, in O(n d)).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from linkwork.dynamics.algorithms.passive_joint_forces import armature
from linkwork.errors import SingularInertiaError, SingularMatrixError
from linkwork.expr.autodiff.custom_derivative import apply_rule
from linkwork.expr.linalg.factorizations import METHODS
from linkwork.expr.linalg.linear_solve import Solve
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.linalg.triangular_factors import Pivots, ltdl_factors
from linkwork.expr.scalar.functions import fabs
from linkwork.model.body import WORLD
from linkwork.model.function_spec import PASSIVE, FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import ArticulatedInertia, Inertia, Motion, Pose, Subspace, Vec3
from linkwork.spatial.rigid_motion import MovingInertia

__all__ = ["ROWS", "joint_motions", "mass_matrix", "mass_pivots", "mass_sizes", "mass_solved", "owners", "yielding"]


def mass_matrix(tree: Tree, q: Sequence[Any], passive: bool = False) -> list[list[Any]]:
    """Return M(q), nv × nv, symmetric, with kinetic energy ½ vᵀ M v; ``passive`` adds diag(armature)."""
    q = tree.split_q(q)
    X = {i: body.X(q[i]) for i, _, body in tree.outward()}
    S = {i: body.S(q[i]) for i, _, body in tree.outward()}
    composite = {i: body.inertia for i, _, body in tree.outward()}
    M: list[list[Any]] = [[0.0] * tree.nv for _ in range(tree.nv)]
    for i, p, _ in tree.inward():
        for k, column in enumerate(S[i].columns, start=tree.v_slices[i].start):
            F = composite[i] @ column
            for row, value in zip(range(tree.nv)[tree.v_slices[i]], S[i].T @ F, strict=True):
                if row <= k:  # the joint's own block, once for both triangles
                    M[k][row] += value
                    if row < k:
                        M[row][k] += value
            j = i
            while tree.bodies[j].parent != WORLD:
                F = X[j] @ F
                j = tree.bodies[j].parent
                for row, value in zip(range(tree.nv)[tree.v_slices[j]], S[j].T @ F, strict=True):
                    M[row][k] += value
                    M[k][row] += value
        if p != WORLD:
            composite[p] += X[i] @ composite[i]
    if passive:
        for k, alone in enumerate(armature(tree)):
            M[k][k] += alone
    return M


Scalars = Sequence[Any]
Inverse = Callable[[Any], Any]
_PART = 1e-9  # relative inertia in every direction from which on a body resists by itself


def mass_pivots(
    tree: Tree, q: Scalars, armature: bool = False, fixed: Collection[int] = (), inverse: Inverse = lambda D: 1.0 / D
) -> dict[int, Any]:
    """Return the pivots D_k of M = LᵀDL, by index k in v.

    The velocities of ``fixed`` bodies, whose accelerations are prescribed, are left out.  ``inverse`` computes 1/D.
    """
    if tree.has_couplings:
        M = mass_matrix(tree, q, armature)
        free = [k for k, i in enumerate(owners(tree)) if i not in fixed]
        _, D, _ = ltdl_factors([[M[k][j] for j in free] for k in free], Pivots("mass_pivots", zero=True))
        return dict(zip(free, D, strict=True))
    q, result = tree.split_q(q), {}
    X = {i: body.X(q[i]) for i, _, body in tree.outward()}
    S = {i: body.S(q[i]) for i, _, body in tree.outward()}
    I_A = {i: ArticulatedInertia.of(body.inertia) for i, _, body in tree.outward()}
    for i, p, body in tree.inward():
        I_a = I_A[i]
        rotors = body.armature if armature else [0.0] * len(S[i])
        velocities = [] if i in fixed else range(tree.nv)[tree.v_slices[i]]
        for k, column, rotor in [*zip(velocities, S[i].columns, rotors, strict=False)][::-1]:
            U = I_a @ column
            result[k] = column.dot(U) + rotor
            I_a = I_a.freed(column, U, inverse(result[k]), alone=is_zero(rotor))
        if p != WORLD:
            I_A[p] += X[i] @ I_a
    return result


def mass_sizes(tree: Tree, q: Scalars, armature: bool = False) -> list[Any]:
    """Return, for each velocity (nv), the size to which rounding errors of M's diagonal and pivots are relative.

    It is the diagonal of M, computed with the absolute values of its terms.
    """
    q = tree.split_q(q)
    composite = {i: body.inertia for i, _, body in tree.outward()}
    sizes: dict[int, list[Any]] = {}
    for i, p, body in tree.inward():
        columns = body.S(q[i]).columns
        rotors = body.armature if armature else [0.0] * len(columns)
        sizes[i] = [_size(composite[i], column) + rotor for column, rotor in zip(columns, rotors, strict=True)]
        if p != WORLD:
            composite[p] += body.X(q[i]) @ composite[i]
    return tree.gathered(sizes)


def yielding(tree: Tree, q: Scalars, armature: bool = False) -> list[int]:
    """Return the indices in v of velocities for which the pivot of M = LᵀDL may vanish in some configuration.

    q is any configuration. A velocity is left out if the inertia of the joint's own body resists it, whatever the
    joints after it do. If joints follow others, the result is empty if every body resists its own joint, else it has
    all velocities.
    """
    q = tree.split_q(q)
    result: list[int] = []
    for i, _, body in tree.outward():
        velocities = range(tree.nv)[tree.v_slices[i]]
        if velocities and not (_is_solid(body.inertia) or (armature and all(body.armature))):
            columns = body.S(q[i]).columns
            steady = len(columns) == 1 and columns == body.S([x + 0.7 for x in q[i]]).columns
            if not (steady and columns[0].dot(body.inertia @ columns[0]) > _PART * _size(body.inertia, columns[0])):
                result += velocities
    return result if not (tree.has_couplings and result) else [*range(tree.nv)]


def _is_solid(inertia: Inertia) -> bool:
    """Return True if a body's inertia resists every motion."""
    if inertia.mass <= 0.0:
        return False
    at_center = inertia.shifted(inertia.moment * (-1.0 / inertia.mass)).about
    a, b, c = at_center.xx, at_center.yy, at_center.zz
    f, g, h = at_center.yz, at_center.xz, at_center.xy
    minor, size = a * b - h * h, a + b + c
    determinant = c * minor - f * (a * f - g * h) + g * (h * f - b * g)
    return bool(a > _PART * size and minor > _PART * size**2 and determinant > _PART * size**3)


def mass_solved(
    tree: Tree, M: Sequence[Sequence[Any]], b: Scalars, velocities: Sequence[int] | None = None
) -> list[Any]:
    """Return x with M x = b by LᵀDL, which preserves the zeros between branches.

    M is the mass matrix, or its rows and columns of some ``velocities``.

    Raises SingularInertiaError naming the joint where a pivot is known not to be positive.
    """
    method, n = METHODS["pos"], len(b)
    try:
        return apply_rule(
            Solve("mass_matrix", method, n, 1, with_status=False), [*(M[i][j] for i, j in method.reads(n)), *b]
        )
    except SingularMatrixError as error:
        k = error.pivot if velocities is None else velocities[error.pivot]
        raise SingularInertiaError(tree.bodies[owners(tree)[k]].joint_name) from None


def owners(tree: Tree) -> list[int]:
    """Return, for each velocity (nv), the index of the body whose joint it belongs to."""
    result = [WORLD] * tree.nv
    for i, _ in tree.stacked():
        for k in range(tree.nv)[tree.v_slices[i]]:
            result[k] = i
    return result


def _size(inertia: Inertia, S: Motion) -> Any:
    """Return an upper bound of S · I S, the inertia I of a body along a motion S: its terms' absolute values add up."""
    m, h, J = inertia.mass, inertia.moment, inertia.about
    w, v = [fabs(x) for x in S.angular], [fabs(x) for x in S.linear]
    rows = ((J.xx, J.xy, J.xz), (J.xy, J.yy, J.yz), (J.xz, J.yz, J.zz))
    angular = sum(fabs(x) * w[r] * w[c] for r, row in enumerate(rows) for c, x in enumerate(row))
    arms = [fabs(x) for x in h]
    mixed = sum(arms[r] * (w[(r + 1) % 3] * v[(r + 2) % 3] + w[(r + 2) % 3] * v[(r + 1) % 3]) for r in range(3))
    return angular + 2.0 * mixed + fabs(m) * sum(x * x for x in v)


class JointMotion:
    """Motion of a body with its joint: pose in its parent, angular velocity ω, motion subspace S and its rate Ṡ.

    ω, S and Ṡ are in the body's axes. Ṡ is the rate in axes that do not rotate, at the body's origin. ``departure``
    [m/s] is the velocity of the body's origin relative to its parent's, in the parent's axes.
    """

    __slots__ = ("S", "S_dot", "X", "departure", "omega")

    def __init__(self, X: Pose, S: Subspace, S_body: Subspace, v: Scalars, omega_parent: Vec3) -> None:
        self.X, self.S = X, S
        relative = S @ v
        self.omega = X.rotation.inv_act(omega_parent) + relative.angular
        self.departure = omega_parent.cross(X.translation) + X.rotation @ relative.linear
        w, pairs = self.omega, zip(S.columns, S_body.columns, strict=True)
        self.S_dot = [Motion(w.cross(s.angular) + d.angular, w.cross(s.linear) + d.linear) for s, d in pairs]


def joint_motions(tree: Tree, q: Scalars, v: Scalars) -> dict[int, JointMotion]:
    """Return the `JointMotion` of every body; q and v are split by body."""
    result: dict[int, JointMotion] = {}
    for i, p, body in tree.outward():
        omega = Vec3.zero() if p == WORLD else result[p].omega
        result[i] = JointMotion(body.X(q[i]), body.S(q[i]), body.S_dot(q[i], v[i]), v[i], omega)
    return result


def coriolis_matrix(tree: Tree, q: Scalars, v: Scalars) -> list[list[Any]]:
    """Return C(q, v), nv × nv: C v is the bias force without gravity, and C + Cᵀ the rate of the mass matrix."""
    q, v = tree.split_q(q), tree.split_v(v)
    motion = joint_motions(tree, q, v)
    composite = {i: MovingInertia.of(body.inertia, motion[i].omega) for i, _, body in tree.outward()}
    C: list[list[Any]] = [[0.0] * tree.nv for _ in range(tree.nv)]
    for i, p, _ in tree.inward():
        velocities, at = range(tree.nv)[tree.v_slices[i]], motion[i]
        for k, S_k, S_k_dot in zip(velocities, at.S.columns, at.S_dot, strict=True):
            load = composite[i].joint_momentum(S_k, S_k_dot)
            for row, value in zip(velocities, at.S.T @ load.column_rate, strict=True):
                C[row][k] += value
            j = i
            while tree.bodies[j].parent != WORLD:
                load = load.transformed(motion[j].X, motion[j].departure)
                j = tree.bodies[j].parent
                S, S_dot = motion[j].S.columns, motion[j].S_dot
                for row, S_row, S_row_dot in zip(range(tree.nv)[tree.v_slices[j]], S, S_dot, strict=True):
                    C[row][k] += S_row.dot(load.column_rate)
                    C[k][row] += S_row_dot.dot(load.momentum) + S_row.angular.dot(load.coriolis)
        if p != WORLD:
            composite[p] += composite[i].transformed(motion[i].X, motion[i].departure)
    return C


ROWS = (
    FunctionSpec.of(
        mass_matrix,
        "q",
        Output(("nv", "nv"), "kg·m², kg·m, kg"),
        "Joint-space mass matrix.",
        options=(PASSIVE,),
        joint_space=True,
    ),
    FunctionSpec.of(
        coriolis_matrix,
        "q v",
        Output(("nv", "nv"), "N·m·s, N·s"),
        "Matrix C of Coriolis and centrifugal forces C v, with Ṁ = C + Cᵀ.",
        joint_space=True,
    ),
)
