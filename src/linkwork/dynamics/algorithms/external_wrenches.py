"""External wrenches: forces and moments on bodies, at the origins of frames, in the axes of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.kinematics.algorithms.forward_kinematics import fork
from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Vec3

__all__ = ["Wrenches", "external_forces"]

Scalars = Sequence[Any]
Wrenches = Sequence[tuple[str, str, Scalars]]  # (frame, expressed_in, (moment; force))


def external_forces(tree: Tree, q: Scalars, wrenches: Wrenches) -> dict[int, Force]:
    """Return the sum of external wrenches by body, in the body's coordinates; q is split by body."""
    result: dict[int, Force] = {}
    for name, expressed_in, components in wrenches:
        frame, axes, w = tree.frame(name), tree.frame(expressed_in), Force.of(components)
        n, f = (_in_axes_of(tree, q, frame.body, axes, part) for part in (w.moment, w.force))
        F = Force(n + frame.placement.translation.cross(f), f)
        result[frame.body] = result[frame.body] + F if frame.body in result else F
    return result


def _in_axes_of(tree: Tree, q: Scalars, body: int, axes: Frame, v: Vec3) -> Vec3:
    """Rotate a vector from a frame's axes to those of a body, joint by joint, inward and outward."""
    _, inward, outward = fork(tree, axes.body, body)
    v = axes.placement.rotation @ v
    for i in reversed(inward):
        v = tree.bodies[i].X(q[i]).rotation @ v
    for i in outward:
        v = tree.bodies[i].X(q[i]).rotation.inv_act(v)
    return v
