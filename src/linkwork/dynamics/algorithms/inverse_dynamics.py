"""Recursive Newton-Euler algorithm (RNEA): inverse dynamics, also as a sum over bodies (`jacobian_sum`).

Sources: Luh, Walker and Paul, ASME J. DSMC 102, 1980; Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 5.

Jacobian sum: all terms of body i are at its own origin, in the world's axes.  J_i has the twist of each unit velocity,
M_i is the body's inertia, c_i the wrench of its velocities, and g_i the wrench that supports its weight.  With the
acceleration A_i = J_i a the joint forces are

    u = Σ J_iᵀ (M_i J_i a + c_i + g_i).

Sources: Murray, Li and Sastry, A Mathematical Introduction to Robotic Manipulation, 1994, section 4.3; Siciliano,
Sciavicco, Villani and Oriolo, Robotics: Modelling, Planning and Control, 2009, section 7.1 (the Jacobian sum).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from linkwork.dynamics.algorithms.coulomb_friction import starting_friction
from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.passive_joint_forces import added_force, armature
from linkwork.kinematics.algorithms.forward_kinematics import rotated, twist_at
from linkwork.model.body import WORLD
from linkwork.model.friction_laws import DEFAULT, FrictionLaw, friction_law
from linkwork.model.function_spec import FRICTION, PASSIVE, FunctionSpec, Option, Output
from linkwork.model.tree import Tree
from linkwork.spatial import (
    Force,
    Inertia,
    Motion,
    Pose,
    RigidMotion,
    Rotation,
    Subspace,
    Vec3,
    by_rows,
)

__all__ = ["ROWS", "bias_force", "carried_wrenches", "gravity_force", "inverse_dynamics"]


Scalars = Sequence[Any]


def inverse_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
    method: str = "newton_euler",
) -> list[Any]:
    """Return the joint forces τ = M(q) a + h(q, v) − Σ Jᵀ w (nv) under which the robot accelerates by a.

    M is the mass matrix, h the bias force, and w are external wrenches on frames with Jacobians J. With ``passive``
    the result is τ + diag(armature) a + g(q, v) − τ_p(q, v), with the armature's gyroscopic force g and the passive
    forces τ_p. Under a friction law such as Coulomb's, joints that start from rest also overcome their friction f
    sign(a).
    """
    compute = newton_euler if method == "newton_euler" else jacobian_sum
    tau = compute(tree, q, v, a, wrenches)
    if passive:
        law = friction_law(friction)
        exerted = added_force(tree, q, v, law)
        if law.sticks:
            exerted = [x + y for x, y in zip(exerted, starting_friction(tree, v, a, law), strict=True)]
        alone = [x + m * rate for x, m, rate in zip(tau, armature(tree), a, strict=True)]
        return [x - y for x, y in zip(alone, exerted, strict=True)]
    return tau


def newton_euler(tree: Tree, q: Scalars, v: Scalars, a: Scalars, wrenches: Wrenches = ()) -> list[Any]:
    """Return the joint forces τ (nv) by the recursive Newton-Euler algorithm.

    The wrench that moves each body is propagated to its parent.
    """
    X, S, F = carried_wrenches(tree, q, v, a, wrenches)
    tau: dict[int, list[Any]] = {}
    for i, p, _ in tree.inward():
        tau[i] = S[i].T @ F[i]
        if p != WORLD:
            F[p] += X[i] @ F[i]
    return tree.gathered(tau)


def carried_wrenches(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, wrenches: Wrenches = ()
) -> tuple[dict[int, Pose], dict[int, Subspace], dict[int, Force]]:
    """Return, for each body, its pose X in the parent, its joint's motion subspace S, and a wrench F.

    F is the wrench that accelerates the body and supports its weight, minus external wrenches on it.
    """
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    outside = external_forces(tree, q, wrenches)
    motion: dict[int, RigidMotion] = {WORLD: RigidMotion.of_fixed_base(tree.gravity)}
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    F: dict[int, Force] = {}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        motion[i] = motion[p].through(X[i], S[i] @ v[i], S[i] @ a[i] + body.bias(q[i], v[i]))
        F[i] = motion[i].wrench(body.inertia)
        if i in outside:
            F[i] -= outside[i]
    return X, S, F


def bias_force(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """Return the bias force h(q, v) = C(q, v) v + g(q) − Σ Jᵀ w (nv), the joint forces at a = 0.

    C v are Coriolis and centrifugal forces, g is gravity, and w are external wrenches on frames with Jacobians J.
    ``passive`` adds the joints' gyroscopic forces and subtracts their passive forces.
    """
    return inverse_dynamics(tree, q, v, [0.0] * tree.nv, wrenches, passive, friction)


def gravity_force(tree: Tree, q: Scalars, wrenches: Wrenches = (), passive: bool = False) -> list[Any]:
    """Return g(q) − Σ Jᵀ w, the joint forces (nv) that hold the robot at rest; ``passive`` includes springs."""
    return inverse_dynamics(tree, q, [0.0] * tree.nv, [0.0] * tree.nv, wrenches, passive)


_FORCES = Output(("nv",), "N·m, N")
_COMMON: dict[str, Any] = {"optional": ("gravity",), "takes_wrenches": True, "joint_space": True}


class _Term(NamedTuple):
    """Term of a body in the sum Σ Jᵀ (M J a + c + g), about the body's origin in the world's axes."""

    body: int
    axes: Pose  # R_WB, about the body's origin
    J: dict[int, Motion]  # columns, by the velocities that move the body
    M: Inertia
    c: Force
    g: Force


def jacobian_sum(tree: Tree, q: Scalars, v: Scalars, a: Scalars, wrenches: Wrenches = ()) -> list[Any]:
    """Return the joint forces τ = Σ Jᵀ (M J a + c + g − w) (nv) of inverse dynamics, as a sum over bodies.

    A body has the Jacobian J, the inertia M, the bias wrench c and the wrench g that supports its weight; w is the
    external wrench on it.
    """
    outside = external_forces(tree, tree.split_q(q), wrenches)
    tau: list[Any] = [0.0] * tree.nv
    for i, axes, J, M, c, g in _terms(tree, q, v):
        A = sum((J_k * a[k] for k, J_k in J.items()), Motion.zero())
        F = M @ A + c + g
        if i in outside:
            F -= axes @ outside[i]
        for k, J_k in J.items():
            tau[k] += J_k.dot(F)
    return tau


def newton_euler_terms(tree: Tree, q: Scalars, v: Scalars) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the inertia M (nb, 6, 6), the bias wrench c and the weight wrench g (nb, 6 each) of every body.

    c is the wrench that the body's motion needs at velocity v and zero joint accelerations; g is the wrench that
    supports its weight. All are at the body's origin in the world's axes.
    """
    terms = [*_terms(tree, q, v)]
    units = [Motion.of([1.0 if j == k else 0.0 for j in range(6)]) for k in range(6)]
    M = [by_rows([term.M @ unit for unit in units]) for term in terms]
    return M, [term.c.elements() for term in terms], [term.g.elements() for term in terms]


def _terms(tree: Tree, q: Scalars, v: Scalars) -> Iterator[_Term]:
    q, v = tree.split_q(q), tree.split_v(v)
    R: dict[int, Rotation] = {WORLD: Rotation.identity()}
    J: dict[int, dict[int, Motion]] = {WORLD: {}}
    motion: dict[int, RigidMotion] = {WORLD: RigidMotion.spinning(Vec3.zero())}
    for i, p, body in tree.outward():
        X, S = body.X(q[i]), body.S(q[i])
        R[i] = R[p] @ X.rotation
        J[i] = {k: twist_at(J_k, R[p] @ X.translation) for k, J_k in J[p].items()}
        for k, column in zip(range(tree.nv)[tree.v_slices[i]], S.columns, strict=True):
            J[i][k] = J[i].get(k, Motion.zero()) + rotated(R[i], column)
        motion[i] = motion[p].through(X, S @ v[i], body.bias(q[i], v[i]))  # for a = 0
        axes = Pose(R[i], Vec3.zero())
        M: Inertia = axes @ body.inertia
        c: Force = axes @ motion[i].wrench(body.inertia)
        yield _Term(i, axes, J[i], M, c, M @ Motion(Vec3.zero(), -tree.gravity))


ROWS = (
    FunctionSpec.of(
        inverse_dynamics,
        "q v a",
        _FORCES,
        "Joint forces for given accelerations.",
        options=(PASSIVE, FRICTION, Option("method", "newton_euler", ("newton_euler", "jacobian_sum"))),
        **_COMMON,
    ),
    FunctionSpec.of(
        bias_force,
        "q v",
        _FORCES,
        "Joint forces at zero acceleration: Coriolis, centrifugal and gravity.",
        options=(PASSIVE, FRICTION),
        **_COMMON,
    ),
    FunctionSpec.of(
        gravity_force, "q", _FORCES, "Joint forces that hold the robot at rest.", options=(PASSIVE,), **_COMMON
    ),
    FunctionSpec.of(
        newton_euler_terms,
        "q v",
        (
            Output(("nb", 6, 6), "kg·m², kg·m, kg", "M"),
            Output(("nb", 6), "N·m, N", "c"),
            Output(("nb", 6), "N·m, N", "g"),
        ),
        "Inertia, wrench of the velocities and wrench that supports the weight of every body.",
        optional=("gravity",),
        needs_body_inertia=True,
    ),
)
