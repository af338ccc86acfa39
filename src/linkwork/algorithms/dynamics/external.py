"""External wrenches: what acts on bodies from outside, at the origins of frames, in the axes of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.tree import Tree
from ...spatial import Force, Pose
from ..kinematics.between import pose_of_body

__all__ = ["Wrenches", "external_forces"]

Scalars = Sequence[Any]
Wrenches = Sequence[tuple[str, str, Scalars]]  # (frame, expressed_in, (moment; force))


def external_forces(tree: Tree, q: Scalars, wrenches: Wrenches) -> dict[int, Force]:
    """By body: the sum of what acts on it from outside, in its own coordinates.  q is split, body by body."""
    found: dict[int, Force] = {}
    for name, expressed_in, numbers in wrenches:
        frame, axes = tree.frame(name), tree.frame(expressed_in)
        R_EB = pose_of_body(tree, q, axes, frame.body).rotation
        X_PB = Pose(R_EB, -(R_EB @ frame.placement.translation))  # seen from the frame's origin, in the axes
        F = X_PB.inv() @ Force.of(numbers)
        found[frame.body] = found[frame.body] + F if frame.body in found else F
    return found
