"""External wrenches: what acts on bodies from outside, at the origins of frames, in the axes of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.kinematics.algorithms.relative_kinematics import fork
from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Vec3

__all__ = ["Wrenches", "external_forces"]

Scalars = Sequence[Any]
Wrenches = Sequence[tuple[str, str, Scalars]]  # (frame, expressed_in, (moment; force))


def external_forces(tree: Tree, q: Scalars, wrenches: Wrenches) -> dict[int, Force]:
    """By body: the sum of what acts on it from outside, in its own coordinates.  q is split, body by body."""
    result: dict[int, Force] = {}
    for name, expressed_in, numbers in wrenches:
        frame, axes, w = tree.frame(name), tree.frame(expressed_in), Force.of(numbers)
        n, f = (_in_axes_of(tree, q, frame.body, axes, part) for part in (w.moment, w.force))
        F = Force(n + frame.placement.translation.cross(f), f)
        result[frame.body] = result[frame.body] + F if frame.body in result else F
    return result


def _in_axes_of(tree: Tree, q: Scalars, body: int, axes: Frame, v: Vec3) -> Vec3:
    """A vector that is given in a frame's axes, in those of a body: turned joint by joint, inward and outward."""
    _, inward, outward = fork(tree, axes.body, body)
    v = axes.placement.rotation @ v
    for i in reversed(inward):
        v = tree.bodies[i].X(q[i]).rotation @ v
    for i in outward:
        v = tree.bodies[i].X(q[i]).rotation.inv_act(v)
    return v
