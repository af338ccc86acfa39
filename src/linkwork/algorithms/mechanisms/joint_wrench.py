"""The wrench across one joint of a robot with constraints, whose forces go through its joints too.

A joint is opened: behind it stands one that lets everything go and does not move (`opened`).  What that one would have
to exert is the wrench across the joint.  With the rows G′ of the constraints and the wrenches of what closes loops in
this wider tree, and w₀ the wrench that bodies and what acts on them from outside take,

    w = w₀ − G′ᵀ λ − J′ᵀ F,

of the wider tree's last six velocities.  A constraint between numbers of joints alone, as of gears, has no such
columns: its force acts in the joints, and goes through them as a motor's does.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, sections 5.3 and 8.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...expr.linalg.sums import is_zero
from ...model.opened import opened
from ...model.tree import Tree
from ..constraints.rows import rates_of
from ..dynamics.external import Wrenches
from ..forces.joint_wrenches import joint_wrenches
from .loop_joints import with_loop_forces

__all__ = ["constrained_joint_wrench"]

Scalars = Sequence[Any]


def constrained_joint_wrench(
    tree: Tree,
    joint: str,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    forces: Scalars,
    wrenches: Wrenches = (),
    time: Any = 0.0,
    passive: bool = False,
) -> list[Any]:
    """w (6), (moment; force) [N·m, N]: what a joint's parent exerts on its child, at the origin and in the axes of M.

    ``forces`` λ (nc) [N, N·m] are those of the constraints' rows, as `constrained_forward_dynamics` has them; with
    ``passive`` springs, damping and friction of the joints that close loops count.  Raises UnknownNameError.
    """
    at = tree.joint_index(joint)
    w = list(joint_wrenches(tree, q, v, a, wrenches)[at])
    if not tree.constraints:
        return w
    wide = opened(tree, joint)
    free = wide.nv - 6
    wide_q, wide_v = [*q, *wide.bodies[at + 1].joint.zero()], [*v, *[0.0] * 6]
    for row, force in zip(rates_of(wide, wide_q, wide_v, time).rows, forces, strict=True):
        w = [x if is_zero(g) or is_zero(force) else x - g * force for x, g in zip(w, row[free:], strict=True)]
    own = with_loop_forces(wide, wide_q, wide_v, [0.0] * wide.nv, None, passive)[free:]
    return [x if is_zero(f) else x - f for x, f in zip(w, own, strict=True)]
