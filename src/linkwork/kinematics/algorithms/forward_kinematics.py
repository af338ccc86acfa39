"""Forward kinematics: the poses of all bodies, by chaining the joints' transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["ROWS", "forward_kinematics"]


def forward_kinematics(tree: Tree, q: Sequence[Any]) -> list[Pose]:
    """X_WB for every body B, in body order."""
    q = tree.split_q(q)
    X = {WORLD: Pose.identity()}
    for i, p, body in tree.outward():
        X[i] = X[p] @ body.X(q[i])
    return [X[i] for i, _, _ in tree.outward()]


ROWS = (Row.of(forward_kinematics, "q", Output(("nb", 4, 4), "1, m"), "Poses of all bodies in the world."),)
