"""The tree whose joints move straight: what segments of configurations are measured along."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from linkwork.joints import JointType
from linkwork.joints.straight_motion import straightened
from linkwork.model.tree import Tree

__all__ = ["affine_numbers", "straight_tree"]

_SAMPLES = 8
_SAME = 1e-9


def straight_tree(tree: Tree) -> Tree:
    """Return the tree with planar and floating joints straightened, or itself if it has none.

    See `linkwork.joints.straight_motion`.

    Configurations and poses of bodies are the same.  Velocities are others, so it is for segments of configurations
    alone.
    """
    found = _straightened(tree)
    return tree if found is None else found


@lru_cache(256)
def _straightened(tree: Tree) -> Tree | None:
    """Return the other tree, None where it would be the same."""
    bodies = tuple([replace(body, joint=straightened(body.joint)) for body in tree.bodies])
    if all(a.joint is b.joint for a, b in zip(bodies, tree.bodies, strict=True)):
        return None
    return replace(tree, bodies=bodies)


def affine_numbers(joint: JointType) -> np.ndarray:
    """Return which numbers of q (nq,) change at a constant rate along ``integrate(q, t φ)``: between two configurations
    these keep to limits that both ends keep to.  By random segments, within 1e-9."""
    if joint.nq == 0:
        return np.ones(0, dtype=bool)
    rng = np.random.default_rng(0)
    free = np.full(joint.nq, np.inf).tolist()
    found = np.ones(joint.nq, dtype=bool)
    for q in joint.random(rng, [-x for x in free], free, (_SAMPLES,)).tolist():
        phi = rng.uniform(-1.0, 1.0, joint.nv).tolist()
        a, b, c = (np.array(joint.integrate(q, [t * x for x in phi]), dtype=float) for t in (0.0, 0.4, 1.0))
        found &= np.abs(a + 0.4 * (c - a) - b) <= _SAME * (1.0 + np.abs(c - a))
    return found
