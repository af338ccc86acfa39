"""The joint-space mass matrix: the composite-rigid-body algorithm.

Sources: Walker and Orin, ASME J. DSMC 104, 1982; Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.passive_joint_forces import armature
from linkwork.model.body import WORLD
from linkwork.model.function_spec import PASSIVE, Output, Row
from linkwork.model.tree import Tree

__all__ = ["ROWS", "mass_matrix"]


def mass_matrix(tree: Tree, q: Sequence[Any], passive: bool = False) -> list[list[Any]]:
    """M(q), nv × nv, symmetric: twice the kinetic energy is vᵀ M v.  With ``passive`` + diag(armature)."""
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


ROWS = (
    Row.of(
        mass_matrix,
        "q",
        Output(("nv", "nv"), "kg·m², kg·m, kg"),
        "Joint-space mass matrix.",
        options=(PASSIVE,),
        joint_space=True,
    ),
)
