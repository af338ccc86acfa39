"""The Coriolis matrix that belongs to the mass matrix: composite bodies that carry along how their inertia changes.

A mass at r moves by J v for velocities v of the joints, and accelerates by J a + J̇ v.  So M = ∫ρ Jᵀ J, and

    C(q, v) = ∫ρ Jᵀ J̇ :      C v = h(q, v) − g(q)   and   Ṁ = C + Cᵀ.

Where q̇ = v these are the Christoffel symbols of M.  Columns are those of composite bodies (see `mass_matrix`): what
the joint of body i carries follows from its `MovingInertia`, and on the way inward gives the elements of its row and of
its column in C for every joint between the world and body i.

Sources: Niemeyer and Slotine, Performance in adaptive manipulator control, Int. J. Robotics Research 10, 1991 (a
Coriolis matrix by recursion); Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and Christoffel
symbols for rigid-body systems, ASME J. Comput. Nonlinear Dynam. 16, 2021 (by composite bodies, in O(n d)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.model.body import WORLD
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Subspace, Vec3
from linkwork.spatial.moving_inertia import MovingInertia

__all__ = ["ROWS", "JointMotion", "coriolis_matrix", "joint_motions"]

Scalars = Sequence[Any]


class JointMotion:
    """How a body moves with its joint: its pose in its parent, ω, S and Ṡ in its axes, and how its origin moves away.

    Ṡ is what is seen from axes that do not turn, at the body's origin, and ``departure`` [m/s] is the velocity of the
    body's origin relative to its parent's, as seen from there, in the parent's axes.
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
    """By body; q and v are split, body by body."""
    found: dict[int, JointMotion] = {}
    for i, p, body in tree.outward():
        omega = Vec3.zero() if p == WORLD else found[p].omega
        found[i] = JointMotion(body.X(q[i]), body.S(q[i]), body.S_dot(q[i], v[i]), v[i], omega)
    return found


def coriolis_matrix(tree: Tree, q: Scalars, v: Scalars) -> list[list[Any]]:
    """C(q, v), nv × nv: C v is the bias force without gravity, and C + Cᵀ the rate of the mass matrix."""
    q, v = tree.split_q(q), tree.split_v(v)
    motion = joint_motions(tree, q, v)
    composite = {i: MovingInertia.of(body.inertia, motion[i].omega) for i, _, body in tree.outward()}
    C: list[list[Any]] = [[0.0] * tree.nv for _ in range(tree.nv)]
    for i, p, _ in tree.inward():
        numbers, at = range(tree.nv)[tree.v_slices[i]], motion[i]
        for k, S_k, S_k_dot in zip(numbers, at.S.columns, at.S_dot, strict=True):
            load = composite[i].carried(S_k, S_k_dot)
            for row, value in zip(numbers, at.S.T @ load.moved, strict=True):
                C[row][k] += value
            j = i
            while tree.bodies[j].parent != WORLD:
                load = load.seen(motion[j].X, motion[j].departure)
                j = tree.bodies[j].parent
                S, S_dot = motion[j].S.columns, motion[j].S_dot
                for row, S_row, S_row_dot in zip(range(tree.nv)[tree.v_slices[j]], S, S_dot, strict=True):
                    C[row][k] += S_row.dot(load.moved)
                    C[k][row] += S_row_dot.dot(load.momentum) + S_row.angular.dot(load.swept)
        if p != WORLD:
            composite[p] += composite[i].seen(motion[i].X, motion[i].departure)
    return C


ROWS = (
    FunctionSpec.of(
        coriolis_matrix,
        "q v",
        Output(("nv", "nv"), "N·m·s, N·s"),
        "Matrix C of Coriolis and centrifugal forces C v, with Ṁ = C + Cᵀ.",
        joint_space=True,
    ),
)
