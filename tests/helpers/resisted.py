"""Trees with something in every joint: armature, damping, dry friction and springs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.model.body import Drive
from linkwork.model.tree import Tree

__all__ = ["resisted"]


def resisted(tree: Tree, seed: int = 0) -> Tree:
    """The tree, its joints stiff, damped, dry and heavy at random."""
    rng = np.random.default_rng(seed)

    def some(n: int) -> tuple[float, ...]:
        return tuple(rng.uniform(0.1, 1.0, n).tolist())

    def full(body):  # type: ignore[no-untyped-def]
        n = body.joint.nv
        drive = Drive(armature=some(n), stiffness=some(n), friction_velocity=some(n))
        return replace(body, damping=some(n), friction=some(n), drive=drive)

    return replace(tree, bodies=tuple(map(full, tree.bodies)))
