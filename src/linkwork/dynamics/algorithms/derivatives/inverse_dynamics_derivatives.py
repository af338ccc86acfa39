"""First and second derivatives of inverse dynamics, analytical, by composite bodies.

The twists of bodies vary by Ψ̇ and their accelerations by Ψ̇ × V + Ψ̈ in axes that move with them
(`body_motion_derivatives`).  The force on all bodies that a joint carries, with composite inertia I, varies by
I Ψ̈ + B Ψ̇, and rotates with them.  A mass at r with velocity ṙ has the additional acceleration 2 Ψ̇_ω × ṙ, so

    B Ψ̇ = 2 (∫ρ r × (Ψ̇_ω × ṙ); ∫ρ Ψ̇_ω × ṙ)

depends on the twelve values ∫ρ ṙ rᵀ and ∫ρ ṙ.  The force of a joint towards the world changes by the whole variation.
The force of a joint farther out changes only by the variation of its own load, without the rotation:

    ∂τ_d/∂q_c = J_d · (I_C Ψ̈_c + B_C Ψ̇_c + J_c ×* F_C)   d before c,  of what c carries
    ∂τ_d/∂q_c = J_d · (I_C Ψ̈_c + B_C Ψ̇_c)                d after c,   of what d carries

Sources: Singh, Russell and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, IEEE Robotics and Automation Letters 7, 2022; Legnani et al., Mech. Mach. Theory 31, 1996 (∫ρ ṙ rᵀ).

Second derivatives, of a weighted sum Σ w_i τ_i or of every joint force: let W_i be the twist of body i for joint
velocities w.  The sum is the power Σ F_i · W_i.  The bodies that column c carries vary by Ψ̇ and Ψ̈
(`body_motion_derivatives`), and their W by X = W_p × J_c + ∂(S w).  So its gradient is

    ∂/∂q_c = X · F_C + Ψ̈ · P_C + 2 Ψ̇_ω · Q_C,      ∂/∂v_c = Ψ̈ · P_C + 2 Ψ̇_ω · Q_C,      ∂/∂a_c = J_c · P_C

with three sums over the bodies that c carries, F_C = Σ F_i, P_C = Σ I_i W_i and Q_C = Σ ∫ρ ṙ × (W_i at r), in the
body's axes, relative to an inertial frame at its moving origin.  It takes two to three times the operations of inverse
dynamics, and is differentiated again by automatic differentiation (`tangent_autodiff`).

The second derivative with respect to q is the symmetric one, ∂²/∂s∂t of f(q ⊕ (s e_i + t e_j)).  Velocities of
different joints commute; for one joint it is the mean of both orders.

Sources: Singh, Russell and Wensing, On second-order derivatives of rigid-body dynamics: theory and implementation, IEEE
Transactions on Robotics 40, 2024; Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 5 (forward
over reverse).

Passive joint forces: joints do not affect each other, so all joints are differentiated together.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers, turned_wrenches, varying
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import derivatives, tangent_rates
from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.passive_joint_forces import added_force_of_joints, armature, element_forces
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.model.body import WORLD
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import PASSIVE, SMOOTH_FRICTION, FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, RigidMotion, Subspace, Vec3, cross, cross_star
from linkwork.spatial.rigid_motion import MovingInertia

__all__ = [
    "ROWS",
    "Matrix",
    "Tensor",
    "force_derivatives",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_hessian",
    "inverse_dynamics_second_derivatives",
    "rows_of_inverse_dynamics_derivatives",
]


Scalars = Sequence[Any]
Matrix = list[list[Any]]


def inverse_dynamics_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, Matrix, Matrix]:
    """Return ∂τ/∂q, in the tangent space of q, ∂τ/∂v, and ∂τ/∂a = M(q): nv × nv each.

    Wrenches are constant in the axes that they are expressed in.
    """
    return rows_of_inverse_dynamics_derivatives(tree, q, v, a, None, wrenches, passive, friction)


def rows_of_inverse_dynamics_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    rows: Container[int] | None,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, Matrix, Matrix]:
    """Return `inverse_dynamics_derivatives`, of which only ``rows`` are needed; None selects all rows.

    ``rows`` are indices in τ.  The other rows of the results are incomplete.
    """
    needed = [rows is None or k in rows for k in range(tree.nv)]
    zero_rows = zeros(tree.nv), zeros(tree.nv), zeros(tree.nv)
    dq, dv, da = passive_part(tree, q, v, friction) if passive else zero_rows
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    at = carriers(tree, q, v, a)
    for row, column, value in turned_wrenches(tree, q, at, wrenches):
        dq[row][column] = dq[row][column] + value

    outside = external_forces(tree, q, wrenches)
    load: dict[int, MovingInertia] = {}
    F: dict[int, Force] = {}
    for i, _, body in tree.outward():
        inertia, V = at[i].Y @ body.inertia, at[i].V
        load[i] = MovingInertia.with_twist(inertia, V)
        F[i] = inertia @ at[i].A + cross_star(V, inertia @ V)
        if i in outside:
            F[i] -= at[i].Y @ outside[i]

    for i, p, _ in tree.inward():
        I_C, B_C = load[i].inertia, load[i]
        for c in at[i].columns:
            k = c.number
            force_q = I_C @ c.speeding + B_C.coriolis(c.turning.angular) * 2.0
            force_v = I_C @ c.swinging + B_C.coriolis(c.J.angular) * 2.0
            force_a, swept = I_C @ c.J, B_C.coriolis_transpose(c.J) * 2.0
            for d, J_rate in zip(at[i].columns, c.local_rates, strict=True):
                if needed[d.number]:
                    dq[d.number][k] = dq[d.number][k] + d.J.dot(force_q) + J_rate.dot(F[i])
                    dv[d.number][k] = dv[d.number][k] + d.J.dot(force_v)
                    da[d.number][k] = da[d.number][k] + d.J.dot(force_a)
            force_q += cross_star(c.J, F[i])
            j = p
            while j != WORLD:
                for d in at[j].columns:
                    if not (needed[k] or needed[d.number]):
                        continue
                    m = d.J.dot(force_a)
                    if needed[d.number]:
                        dq[d.number][k] = dq[d.number][k] + d.J.dot(force_q)
                        dv[d.number][k] = dv[d.number][k] + d.J.dot(force_v)
                        da[d.number][k] = da[d.number][k] + m
                    if needed[k]:
                        dq[k][d.number] = dq[k][d.number] + d.speeding.dot(force_a) + d.turning.angular.dot(swept)
                        dv[k][d.number] = dv[k][d.number] + d.swinging.dot(force_a) + d.J.angular.dot(swept)
                        da[k][d.number] = da[k][d.number] + m
                j = tree.bodies[j].parent
        if p != WORLD:
            load[p] += load[i]
            F[p] += F[i]
    return dq, dv, da


def passive_part(tree: Tree, q: Scalars, v: Scalars, friction: str | FrictionLaw) -> tuple[Matrix, Matrix, Matrix]:
    """Return −∂f/∂q, −∂f/∂v and diag(armature), nv × nv each, for the joint forces f of passive elements.

    f are the forces of springs, dampers, friction and force elements, minus the gyroscopic force of armature.
    """
    dq, dv, da = zeros(tree.nv), zeros(tree.nv), zeros(tree.nv)
    for matrix, values in zip((dq, dv), passive_force_derivatives(tree, q, v, friction), strict=True):
        for i, k, value in values:
            matrix[i][k] = matrix[i][k] - value
    for k, rotor in enumerate(armature(tree)):
        da[k][k] = da[k][k] + rotor
    if tree.force_elements:
        for matrix, by in zip((dq, dv), element_force_derivatives(tree, q, v), strict=True):
            for row, more in zip(matrix, by, strict=True):
                row[:] = [x if is_zero(y) else x - y for x, y in zip(row, more, strict=True)]
    return dq, dv, da


def zeros(n: int) -> Matrix:
    return [[0.0] * n for _ in range(n)]


Tensor = list[Matrix]


def inverse_dynamics_hessian(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    weights: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, ...]:
    """Return the second derivatives of Σ w_i τ_i, the sum of joint forces with ``weights`` w (nv × nv each).

    They are ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂q∂a; ∂²/∂v∂a and ∂²/∂a∂a are zero.
    """

    def gradients(q: Scalars, v: Scalars) -> Scalars:
        return [x for part in weighted_gradient(tree, q, v, a, weights, wrenches, passive, friction) for x in part]

    by_q, by_v = derivatives(tree, gradients, q, v)
    n = tree.nv
    twice, mixed, with_a = by_q[:n], by_q[n : 2 * n], by_q[2 * n :]
    return symmetric(tree, twice), _transposed(mixed), _mirrored(by_v[n : 2 * n]), _transposed(with_a)


def inverse_dynamics_second_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Tensor, ...]:
    """Return ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂q∂a of every joint force (nv × nv × nv each).

    Element [i, j, k] of ∂²/∂x∂y is ∂²τ_i/∂x_j∂y_k.
    """
    n = tree.nv

    def first(q: Scalars, v: Scalars) -> Scalars:
        dq, dv, da = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive, friction)
        return [x for matrix in (dq, dv, da) for row in matrix for x in row]

    by_q, by_v = derivatives(tree, first, q, v)
    twice, mixed, with_a = ([by_q[(m * n + i) * n : (m * n + i + 1) * n] for i in range(n)] for m in range(3))
    of_v = [by_v[(n + i) * n : (n + i + 1) * n] for i in range(n)]
    return (
        [symmetric(tree, matrix) for matrix in twice],
        [_transposed(matrix) for matrix in mixed],
        [_mirrored(matrix) for matrix in of_v],
        [_transposed(matrix) for matrix in with_a],
    )


def weighted_gradient(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    weights: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the gradient of the weighted sum Σ w_i τ_i of joint forces by q (in the tangent space), v and a.

    τ are the joint forces of inverse dynamics, and w are the ``weights``.
    """
    by_q, by_v, by_a = _of_joints(tree, q, v, weights, passive, friction)
    q, v, a, w = tree.split_q(q), tree.split_v(v), tree.split_v(a), tree.split_v(weights)
    if wrenches:
        for row, column, value in turned_wrenches(tree, q, carriers(tree, q, v, a), wrenches):
            by_q[column] = by_q[column] + weights[row] * value

    outside = external_forces(tree, q, wrenches)
    motion: dict[int, RigidMotion] = {WORLD: RigidMotion.of_fixed_base(tree.gravity)}
    W: dict[int, Motion] = {WORLD: Motion.zero()}
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    F: dict[int, Force] = {}
    P: dict[int, Force] = {}
    Q: dict[int, Vec3] = {}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        motion[i] = motion[p].through(X[i], S[i] @ v[i], S[i] @ a[i] + body.bias(q[i], v[i]))
        W[i] = X[i].inv() @ W[p] + S[i] @ w[i]
        turning = MovingInertia.of(body.inertia, motion[i].angular_velocity)
        F[i], P[i], Q[i] = motion[i].wrench(body.inertia), body.inertia @ W[i], turning.coriolis_transpose(W[i])
        if i in outside:
            F[i] -= outside[i]

    for i, p, body in tree.inward():
        V, A, V_J = Motion(motion[i].angular_velocity, Vec3.zero()), motion[i].spatial_rate, S[i] @ v[i]
        V_p, A_p = V - V_J, A - (S[i] @ a[i] + body.bias(q[i], v[i]) + cross(V, V_J))
        for c in varying(body, range(tree.nv)[tree.v_slices[i]], q[i], v[i], a[i], Pose.identity(), V_p, A_p):
            turned = cross(W[i] - S[i] @ w[i], c.J) + Subspace(c.local_rates) @ w[i]
            changes = (
                turned.dot(F[i]) + c.speeding.dot(P[i]) + c.turning.angular.dot(Q[i]) * 2.0,
                c.swinging.dot(P[i]) + c.J.angular.dot(Q[i]) * 2.0,
                c.J.dot(P[i]),
            )
            for gradient, change in zip((by_q, by_v, by_a), changes, strict=True):
                gradient[c.number] = gradient[c.number] + change
        if p != WORLD:
            R, moved = X[i].rotation, X[i] @ P[i]
            departure = motion[p].angular_velocity.cross(X[i].translation) + R @ V_J.linear
            F[p], P[p] = F[p] + X[i] @ F[i], P[p] + moved
            Q[p] = Q[p] + R @ Q[i] + departure.cross(moved.force)
    return by_q, by_v, by_a


def _of_joints(
    tree: Tree, q: Scalars, v: Scalars, weights: Scalars, passive: bool, friction: str | FrictionLaw
) -> list[list[Any]]:
    """Return the gradients by q, v and a of a weighted sum of the passive and armature forces of joints."""
    if not passive:
        return [[0.0] * tree.nv for _ in range(3)]
    parts = [_transposed(matrix) for matrix in passive_part(tree, q, v, friction)]
    return [[sum((x * y for x, y in zip(weights, column, strict=True)), 0.0) for column in part] for part in parts]


def symmetric(tree: Tree, H: Matrix) -> Matrix:
    """Return the symmetric matrix of second derivatives with respect to q.

    For two velocities of the same joint it has the mean of both orders of differentiation.
    """
    owner = [0] * tree.nv
    for i, _ in tree.stacked():
        for k in range(tree.nv)[tree.v_slices[i]]:
            owner[k] = i
    mirrored = _mirrored(H)
    for j, row in enumerate(mirrored):
        for k in range(tree.nv):
            if owner[j] == owner[k] and j != k:
                row[k] = (H[min(j, k)][max(j, k)] + H[max(j, k)][min(j, k)]) * 0.5
    return mirrored


def _mirrored(H: Matrix) -> Matrix:
    """Return the symmetric matrix that has the upper triangle of H."""
    return [[H[min(j, k)][max(j, k)] for k in range(len(H))] for j in range(len(H))]


def _transposed(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


_UNITS = ("N·m, N", "N·m·s, N·s", "kg·m²", "kg·m², kg·m")
_NAMES = ("dq_dq", "dq_dv", "dv_dv", "dq_da")
_COMMON: dict[str, Any] = {
    "optional": ("gravity",),
    "options": (PASSIVE, SMOOTH_FRICTION),
    "takes_wrenches": True,
    "joint_space": True,
}


Entries = list[tuple[int, int, Any]]  # (row, column, value)


def force_derivatives(
    tree: Tree, q: Scalars, v: Scalars, forces: Callable[[Scalars, Scalars], list[Any]]
) -> tuple[Matrix, Matrix]:
    """Differentiate joint forces, functions of q and v, by q in its tangent space, and by v: nv × nv each."""

    def rates(result: Scalars, level: int) -> Matrix:
        tangents = [parts(x, level)[1] for x in result]
        return [[t.get(k) if isinstance(t, SparseTangent) else 0.0 for k in range(tree.nv)] for t in tangents]

    moving = seeded(q, [SparseTangent(row) for row in tangent_rates(tree, q)])
    going = seeded(v, [SparseTangent({k: 1.0}) for k in range(tree.nv)])
    return rates(forces(moving, v), moving[0].level), rates(forces(q, going), going[0].level)


def element_force_derivatives(tree: Tree, q: Scalars, v: Scalars) -> tuple[Matrix, Matrix]:
    """Differentiate the joint forces of force elements by q, in its tangent space, and by v: nv × nv each."""
    return force_derivatives(tree, q, v, lambda q, v: element_forces(tree, q, v))


def passive_force_derivatives(
    tree: Tree, q: Scalars, v: Scalars, friction: str | FrictionLaw
) -> tuple[Entries, Entries]:
    """Return the nonzero elements (row, column, value) of ∂f/∂q and ∂f/∂v, for the passive joint forces f.

    f are the forces of springs, damping and friction in joints, minus the gyroscopic force of armature. ∂f/∂q is in
    the tangent space of q. Force elements are left out: see `element_force_derivatives`.
    """

    def of_q(q: Scalars) -> list[Any]:
        return added_force_of_joints(tree, q, v, friction)

    def of_v(v: Scalars) -> list[Any]:
        return added_force_of_joints(tree, q, v, friction)

    by_q = _blocks(tree, of_q, lambda k: seeded(q, _moved(tree, q, k)))
    return by_q, _blocks(tree, of_v, lambda k: seeded(v, _kth(tree, k)))


def _blocks(tree: Tree, forces: Callable[[Scalars], list[Any]], varied: Callable[[int], list[Any]]) -> Entries:
    """Return elements (row, column, value) of the derivatives of each joint's ``forces`` by its own velocities.

    ``varied(k)`` are the arguments as dual numbers that vary along the k-th velocity of every joint.
    """
    result = []
    for k in range(max((body.joint.nv for _, body in tree.stacked()), default=0)):
        moving = varied(k)
        product = forces(moving)
        for i, body in tree.stacked():
            columns = range(tree.nv)[tree.v_slices[i]]
            if k < body.joint.nv:
                result += [(row, columns[k], parts(product[row], moving[0].level)[1]) for row in columns]
    return result


def _moved(tree: Tree, q: Scalars, k: int) -> list[Any]:
    """Return the rate q̇ for a velocity whose k-th component of every joint is 1, and 0 elsewhere."""
    v, result = _kth(tree, k), [0.0] * tree.nq
    for i, body in tree.stacked():
        columns = tree.q_slices[i]
        result[columns] = body.call_joint("q_dot", q[columns], v[tree.v_slices[i]])
    return result


def _kth(tree: Tree, k: int) -> list[float]:
    """Return the velocity (nv) whose k-th component of every joint is 1, and 0 elsewhere."""
    result = [0.0] * tree.nv
    for i, body in tree.stacked():
        if k < body.joint.nv:
            result[tree.v_slices[i].start + k] = 1.0
    return result


ROWS = (
    FunctionSpec.of(
        inverse_dynamics_derivatives,
        "q v a",
        (
            Output(("nv", "nv"), "N·m/rad, N/m", "dtau_dq"),
            Output(("nv", "nv"), "N·m·s/rad, N·s/m", "dtau_dv"),
            Output(("nv", "nv"), "kg·m², kg", "dtau_da"),
        ),
        "Derivatives of the joint forces of inverse dynamics by q, v and a.",
        optional=("gravity",),
        options=(PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        joint_space=True,
    ),
    FunctionSpec.of(
        inverse_dynamics_hessian,
        "q v a weights",
        [Output(("nv", "nv"), units, f"d2_{name}") for name, units in zip(_NAMES, _UNITS, strict=True)],
        "Second derivatives of a weighted sum of the joint forces of inverse dynamics.",
        **_COMMON,
    ),
    FunctionSpec.of(
        inverse_dynamics_second_derivatives,
        "q v a",
        [Output(("nv", "nv", "nv"), units, f"d2tau_{name}") for name, units in zip(_NAMES, _UNITS, strict=True)],
        "Second derivatives of every joint force of inverse dynamics.",
        **_COMMON,
    ),
)
