"""Inverse dynamics: the recursive Newton-Euler algorithm.

Sources: Luh, Walker and Paul, ASME J. DSMC 102, 1980; Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.body import WORLD
from ...model.tree import Tree
from ...spatial import Force, Pose, RigidMotion, Subspace
from ..row import Output, Row

__all__ = ["ROWS", "bias_force", "gravity_force", "inverse_dynamics"]

Scalars = Sequence[Any]


def inverse_dynamics(tree: Tree, q: Scalars, v: Scalars, a: Scalars) -> list[Any]:
    """τ = M(q) a + h(q, v): the joint forces (nv) under which the robot accelerates by a."""
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    motion: dict[int, RigidMotion] = {WORLD: RigidMotion.held_against(tree.gravity)}
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    F: dict[int, Force] = {}
    tau: dict[int, list[Any]] = {}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        motion[i] = motion[p].through(X[i], S[i] @ v[i], S[i] @ a[i] + body.bias(q[i], v[i]))
        F[i] = motion[i].wrench(body.inertia)
    for i, p, _ in tree.inward():
        tau[i] = S[i].T @ F[i]
        if p != WORLD:
            F[p] += X[i] @ F[i]
    return tree.gathered(tau)


def bias_force(tree: Tree, q: Scalars, v: Scalars) -> list[Any]:
    """h(q, v) = C(q, v) v + g(q): the joint forces (nv) at which a = 0."""
    return inverse_dynamics(tree, q, v, [0.0] * tree.nv)


def gravity_force(tree: Tree, q: Scalars) -> list[Any]:
    """g(q): the joint forces (nv) that hold the robot still."""
    return inverse_dynamics(tree, q, [0.0] * tree.nv, [0.0] * tree.nv)


_FORCES = Output(("nv",), "N·m, N")

ROWS = (
    Row.of(
        inverse_dynamics,
        "q v a",
        _FORCES,
        "Joint forces under which the robot accelerates as asked.",
        joint_space=True,
    ),
    Row.of(
        bias_force,
        "q v",
        _FORCES,
        "Joint forces at which nothing accelerates: Coriolis, centrifugal and gravity.",
        joint_space=True,
    ),
    Row.of(gravity_force, "q", _FORCES, "Joint forces that hold the robot still.", joint_space=True),
)
