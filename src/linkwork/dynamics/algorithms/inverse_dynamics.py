"""Inverse dynamics: the recursive Newton-Euler algorithm, or the sum over bodies (`jacobian_sum`).

Sources: Luh, Walker and Paul, ASME J. DSMC 102, 1980; Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.coulomb_friction import starting_friction
from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.inverse_dynamics_jacobian_sum import jacobian_sum
from linkwork.dynamics.algorithms.passive_joint_forces import armature, passive_force
from linkwork.model.body import WORLD
from linkwork.model.function_spec import FRICTION, PASSIVE, Option, Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Pose, RigidMotion, Subspace

__all__ = ["ROWS", "bias_force", "carried_wrenches", "gravity_force", "inverse_dynamics"]

Scalars = Sequence[Any]


def inverse_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str = "smooth",
    method: str = "newton_euler",
) -> list[Any]:
    """τ = M(q) a + h(q, v) − Σ Jᵀ w: the joint forces (nv) under which the robot accelerates by a.

    With ``passive`` the joints' own forces and armature are overcome too: τ + diag(armature) a − τ_p(q, v); with exact
    dry friction also that of joints which start from rest, f sign(a).
    """
    compute = newton_euler if method == "newton_euler" else jacobian_sum
    tau = compute(tree, q, v, a, wrenches)
    if passive:
        exerted = passive_force(tree, q, v, friction)
        if friction == "coulomb":
            exerted = [x + y for x, y in zip(exerted, starting_friction(tree, v, a), strict=True)]
        alone = [x + m * rate for x, m, rate in zip(tau, armature(tree), a, strict=True)]
        return [x - y for x, y in zip(alone, exerted, strict=True)]
    return tau


def newton_euler(tree: Tree, q: Scalars, v: Scalars, a: Scalars, wrenches: Wrenches = ()) -> list[Any]:
    """τ (nv) by the wrench F that each body takes, and hands on to its parent."""
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
    """X and S of every body's joint, and the wrench F that moves the body itself, less what acts on it from outside."""
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    outside = external_forces(tree, q, wrenches)
    motion: dict[int, RigidMotion] = {WORLD: RigidMotion.held_against(tree.gravity)}
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
    tree: Tree, q: Scalars, v: Scalars, wrenches: Wrenches = (), passive: bool = False, friction: str = "smooth"
) -> list[Any]:
    """h(q, v) = C(q, v) v + g(q) − Σ Jᵀ w: the joint forces (nv) at which a = 0."""
    return inverse_dynamics(tree, q, v, [0.0] * tree.nv, wrenches, passive, friction)


def gravity_force(tree: Tree, q: Scalars, wrenches: Wrenches = (), passive: bool = False) -> list[Any]:
    """g(q) − Σ Jᵀ w: the joint forces (nv) that hold the robot still; with ``passive`` against springs too."""
    return inverse_dynamics(tree, q, [0.0] * tree.nv, [0.0] * tree.nv, wrenches, passive)


_FORCES = Output(("nv",), "N·m, N")
_FELT: dict[str, Any] = {"optional": ("gravity",), "wrenched": True, "joint_space": True}

ROWS = (
    Row.of(
        inverse_dynamics,
        "q v a",
        _FORCES,
        "Joint forces under which the robot accelerates as asked.",
        options=(PASSIVE, FRICTION, Option("method", "newton_euler", ("newton_euler", "jacobian_sum"))),
        **_FELT,
    ),
    Row.of(
        bias_force,
        "q v",
        _FORCES,
        "Joint forces at which nothing accelerates: Coriolis, centrifugal and gravity.",
        options=(PASSIVE, FRICTION),
        **_FELT,
    ),
    Row.of(gravity_force, "q", _FORCES, "Joint forces that hold the robot still.", options=(PASSIVE,), **_FELT),
)
