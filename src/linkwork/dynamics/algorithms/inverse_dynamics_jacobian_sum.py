"""Inverse dynamics as the sum over bodies of Jᵀ (M a + c + g), and the terms M, c and g of each body.

Everything of body i is at its own origin, in the world's axes: J_i, the twist of each unit velocity; M_i, the body's
inertia; c_i, the wrench of its velocities alone, and g_i, the wrench that holds its weight.  With A_i = J_i a its
inertia, its velocities and its weight ask of the joints

    u = Σ J_iᵀ (M_i J_i a + c_i + g_i).

Sources: Murray, Li and Sastry, A Mathematical Introduction to Robotic Manipulation, 1994, section 4.3; Siciliano,
Sciavicco, Villani and Oriolo, Robotics: Modelling, Planning and Control, 2009, section 7.1 (the Jacobian sum).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.kinematics.algorithms.relative_kinematics import moved, rotated
from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import (
    Force,
    Inertia,
    Motion,
    Pose,
    RigidMotion,
    Rotation,
    Vec3,
    by_rows,
)

__all__ = ["ROWS", "body_terms", "jacobian_sum"]

Scalars = Sequence[Any]


class _Term(NamedTuple):
    """What one body is to the sum, at its origin in the world's axes."""

    body: int
    axes: Pose  # R_WB, about the body's origin
    J: dict[int, Motion]  # by the velocities that move the body
    M: Inertia
    c: Force
    g: Force


def jacobian_sum(tree: Tree, q: Scalars, v: Scalars, a: Scalars, wrenches: Wrenches = ()) -> list[Any]:
    """τ = Σ Jᵀ (M J a + c + g − w): the joint forces (nv) of inverse dynamics."""
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


def body_terms(tree: Tree, q: Scalars, v: Scalars) -> tuple[list[Any], list[Any], list[Any]]:
    """M (nb, 6, 6), c (nb, 6) and g (nb, 6) of every body, at its origin in the world's axes."""
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
        J[i] = {k: moved(J_k, R[p] @ X.translation) for k, J_k in J[p].items()}
        for k, column in zip(range(tree.nv)[tree.v_slices[i]], S.columns, strict=True):
            J[i][k] = J[i].get(k, Motion.zero()) + rotated(R[i], column)
        motion[i] = motion[p].through(X, S @ v[i], body.bias(q[i], v[i]))  # as it is while a = 0
        axes = Pose(R[i], Vec3.zero())
        M: Inertia = axes @ body.inertia
        c: Force = axes @ motion[i].wrench(body.inertia)
        yield _Term(i, axes, J[i], M, c, M @ Motion(Vec3.zero(), -tree.gravity))


ROWS = (
    Row.of(
        body_terms,
        "q v",
        (
            Output(("nb", 6, 6), "kg·m², kg·m, kg", "M"),
            Output(("nb", 6), "N·m, N", "c"),
            Output(("nb", 6), "N·m, N", "g"),
        ),
        "Inertia, wrench of the velocities and wrench against the weight of every body.",
        optional=("gravity",),
        weighed=True,
    ),
)
