"""Jacobians of all bodies at once: their columns are the same motions, seen from different points.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 4.5 (body Jacobians).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.kinematics.algorithms.jacobians.joint_path import poses_in
from linkwork.kinematics.algorithms.relative_kinematics import fork, moved
from linkwork.model.function_spec import Output, Row, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Subspace, by_rows

__all__ = ["ROWS", "jacobians"]

Scalars = Sequence[Any]


def jacobians(
    tree: Tree, q: Scalars, relative_to: str = "world", expressed_in: str = "world", at: str | None = None
) -> list[list[list[Any]]]:
    """J (6 × nv) of every body, in body order: its twist relative to A, expressed in E, at P is J v."""
    q = tree.split_q(q)
    A, E, P = tree.frame(relative_to), tree.frame(expressed_in), None if at is None else tree.frame(at)
    X = poses_in(tree, q, E, range(len(tree.bodies)))
    C: dict[int, Subspace] = {i: X[i] @ body.S(q[i]) for i, _, body in tree.outward()}
    found = []
    for b, _, _ in tree.outward():
        point = X[b].translation if P is None else X[P.body].point(P.placement.translation)
        _, to_b, to_A = fork(tree, b, A.body)
        columns = [Motion.zero()] * tree.nv
        for chain, sign in ((to_b, 1.0), (to_A, -1.0)):
            for i in chain:
                for k, column in enumerate(C[i].columns, start=tree.v_slices[i].start):
                    columns[k] += moved(column, point) * sign
        found.append(by_rows(columns))
    return found


ROWS = (
    Row.of(
        jacobians,
        "q",
        Output(("nb", 6, "nv"), "1, m"),
        "Matrices that map velocities to the twists of all bodies.",
        options=frame_options("relative_to", "expressed_in", "at"),
    ),
)
