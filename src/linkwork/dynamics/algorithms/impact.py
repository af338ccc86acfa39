"""Impact: what impulses do to velocities, by articulated bodies.

In an instant nothing moves and only impulses count, of which M (v⁺ − v) = Σ Jᵀ p: forward dynamics of a robot at rest
and without weight, with impulses in the place of wrenches and steps of velocity in that of accelerations.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 11.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.forward_dynamics import articulated_bodies
from linkwork.model.function_spec import PASSIVE, FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["ROWS", "impact"]

Scalars = Sequence[Any]


def impact(tree: Tree, q: Scalars, v: Scalars, impulses: Wrenches = (), passive: bool = False) -> list[Any]:
    """v⁺ = v + M⁻¹ Σ Jᵀ p: the velocities (nv) after impulses; with ``passive`` armature is part of M."""
    still = [0.0] * tree.nv
    steps = articulated_bodies(tree.under(Vec3.zero()), q, still, still, impulses, passive)
    return [x + step for x, step in zip(v, steps, strict=True)]


ROWS = (
    FunctionSpec.of(
        impact,
        "q v",
        Output(("nv",), "rad/s, m/s"),
        "Velocities after impulses.",
        options=(PASSIVE,),
        wrenched=True,
        acting="impulses",
        joint_space=True,
        regular=True,
    ),
)
