"""Forward dynamics: the articulated-body algorithm, or by the mass matrix.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 7 and 6.  Velocity products are taken in frames
that move with each body's origin (see `linkwork.spatial.rigid_motion`), and a joint of several degrees of freedom is
eliminated one at a time, as a chain of joints between massless bodies would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.coulomb_friction import dry_friction, with_dry_friction
from linkwork.dynamics.algorithms.coupled_joint_dynamics import coupled_forward_dynamics
from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix, mass_solved
from linkwork.dynamics.algorithms.passive_joint_forces import with_passive_force
from linkwork.errors import SingularInertiaError
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.model.body import WORLD, Body
from linkwork.model.friction_laws import DEFAULT, FrictionLaw, friction_law
from linkwork.model.function_spec import FRICTION, PASSIVE, FunctionSpec, Option, Output
from linkwork.model.tree import Tree
from linkwork.spatial import (
    ArticulatedInertia,
    Force,
    Motion,
    Pose,
    RigidMotion,
    Subspace,
    Vec3,
)

__all__ = ["ROWS", "articulated_bodies", "forward_dynamics", "inverse_resistance"]

Scalars = Sequence[Any]


def forward_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT,
    method: str = "articulated_bodies",
) -> list[Any]:
    """a = M(q)⁻¹ (τ + Σ Jᵀ w − h(q, v)): the joint accelerations (nv) under the joint forces τ.

    With ``passive`` the joints' own forces join τ, and their armature M.  Where the law of dry friction sticks, joints
    at rest may stay there: see `coulomb_friction`.

    Raises SingularInertiaError naming the joint where a joint moves no inertia at all.
    """
    if passive:
        tau = with_passive_force(tree, q, v, tau, friction)
        if friction_law(friction).sticks and not all(map(is_zero, dry_friction(tree)[1])):
            articulated_bodies(tree, q, v, tau, wrenches, armature=True)  # refuses joints that nothing resists
            forces = [x - y for x, y in zip(tau, bias_force(tree, q, v, wrenches), strict=True)]
            return with_dry_friction(tree, v, mass_matrix(tree, q, passive=True), forces)
    if method == "mass_matrix":
        h = bias_force(tree, q, v, wrenches)
        return mass_solved(tree, mass_matrix(tree, q, passive), [x - y for x, y in zip(tau, h, strict=True)])
    return articulated_bodies(tree, q, v, tau, wrenches, passive)


def articulated_bodies(
    tree: Tree, q: Scalars, v: Scalars, tau: Scalars, wrenches: Wrenches = (), armature: bool = False
) -> list[Any]:
    """a (nv) by the inertia that each body shows while the joints after it are free; with the joints' ``armature``.

    Where joints follow others, they share an acceleration: see `coupled_dynamics`.
    """
    if tree.has_couplings:
        return coupled_forward_dynamics(tree, q, v, tau, wrenches, armature)
    q, v, tau = tree.split_q(q), tree.split_v(v), tree.split_v(tau)
    outside = external_forces(tree, q, wrenches)
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    omega: dict[int, Vec3] = {WORLD: Vec3.zero()}
    zeta: dict[int, Motion] = {}
    I_A: dict[int, ArticulatedInertia] = {}
    p_A: dict[int, Force] = {}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        carried = RigidMotion.spinning(omega[p]).through(X[i], S[i] @ v[i], body.bias(q[i], v[i]))
        omega[i], zeta[i] = carried.angular_velocity, carried.spatial_rate
        I_A[i] = ArticulatedInertia.of(body.inertia)
        p_A[i] = RigidMotion.spinning(omega[i]).wrench(body.inertia)
        if i in outside:
            p_A[i] -= outside[i]

    U: dict[int, list[Force]] = {}
    D_inv: dict[int, list[Any]] = {}
    u: dict[int, list[Any]] = {}
    for i, p, body in tree.inward():
        U[i], D_inv[i], u[i] = [], [], []
        I_a, p_a = I_A[i], p_A[i]
        rotors = body.armature if armature else [0.0] * len(S[i])
        for column, torque, rotor in zip(*map(reversed, (S[i].columns, tau[i], rotors)), strict=True):
            U_k = I_a @ column
            D_k = inverse_resistance(column.dot(U_k) + rotor, body, I_A[i], column)
            u_k = torque - column.dot(p_a)
            I_a = I_a.freed(column, U_k, D_k, alone=is_zero(rotor))
            p_a += U_k * (D_k * u_k)
            U[i].append(U_k)
            D_inv[i].append(D_k)
            u[i].append(u_k)
        if p != WORLD:
            I_A[p] += X[i] @ I_a
            p_A[p] += X[i] @ (p_a + I_a @ zeta[i])

    A = {WORLD: Motion(Vec3.zero(), -tree.gravity)}
    a: dict[int, list[Any]] = {}
    for i, p, _ in tree.outward():
        A[i] = X[i].inv() @ A[p] + zeta[i]
        a[i] = []
        for column, U_k, D_k, u_k in zip(S[i].columns, *map(reversed, (U[i], D_inv[i], u[i])), strict=True):
            rate = D_k * (u_k - A[i].dot(U_k))
            A[i] += column * rate
            a[i].append(rate)
    return tree.gathered(a)


def inverse_resistance(D: Any, body: Body, I: ArticulatedInertia, motion: Motion) -> Any:
    """1/D, D what resists a motion of the body while the joint's later ones are free; I resists it while they are not.

    Raises SingularInertiaError where D is nothing: because nothing is moved, or what is moved has later motions too.
    """
    rounding = 1e-15 * (abs(body.inertia.about.xx) + abs(body.inertia.mass))
    if isinstance(D, float) and isinstance(rounding, float) and rounding >= D:
        alone = motion.dot(I @ motion)
        raise SingularInertiaError(body.joint_name, motions=isinstance(alone, float) and alone > rounding)
    return 1.0 / D


ROWS = (
    FunctionSpec.of(
        forward_dynamics,
        "q v tau",
        Output(("nv",), "rad/s², m/s²"),
        "Accelerations under given joint forces.",
        optional=("gravity",),
        options=(PASSIVE, FRICTION, Option("method", "articulated_bodies", ("articulated_bodies", "mass_matrix"))),
        wrenched=True,
        joint_space=True,
        regular=True,
    ),
)
