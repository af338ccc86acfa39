"""The trees that properties are tested on: every joint type alone and all mixed, as chains, stars and at random."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from linkwork import Robot, joints
from linkwork.model.random import random_tree
from linkwork.model.tree import Tree

__all__ = ["TREES", "every_moving_tree", "every_tree", "few_trees", "robot_of", "state"]


def _trees() -> dict[str, Tree]:
    trees = {}
    for seed, kind in enumerate(joints.ALL):
        trees[f"{kind.type_name()}_chain"] = random_tree(np.random.default_rng(seed), 3, types=[kind], shape="chain")
        trees[f"{kind.type_name()}_random"] = random_tree(np.random.default_rng(seed + 50), 4, types=[kind])
    for seed in range(3):
        trees[f"mixed_{seed}"] = random_tree(np.random.default_rng(100 + seed), 7)
    trees["mixed_chain"] = random_tree(np.random.default_rng(200), 6, shape="chain")
    trees["mixed_star"] = random_tree(np.random.default_rng(300), 6, shape="star")
    return trees


TREES = _trees()
_FEW = [name for name in TREES if name.endswith("_chain") or name == "mixed_0"]

every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
_MOVING = {name: tree for name, tree in TREES.items() if tree.nv}
every_moving_tree = pytest.mark.parametrize("tree", _MOVING.values(), ids=_MOVING)
few_trees = pytest.mark.parametrize("tree", [TREES[name] for name in _FEW], ids=_FEW)


@functools.cache
def robot_of(tree: Tree) -> Robot:
    """The tree's robot: its functions are compiled once for all tests."""
    return Robot(tree)


def state(tree: Tree, seed: int = 0, size: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q (size, nq), v and a (size, nv), of order 1; q away from singular coordinates, as gimbal lock is."""
    rng = np.random.default_rng(seed)
    drawn = robot_of(tree).random_configuration(rng, size=20 * size)
    q = np.array([x for x in drawn if _regularity(tree, x) >= 0.2][:size]).reshape(size, tree.nq)
    return q, rng.normal(size=(size, tree.nv)), rng.normal(size=(size, tree.nv))


def _regularity(tree: Tree, q: np.ndarray) -> float:
    parts = zip(tree.bodies, tree.split_q(q.tolist()), strict=True)
    return min((float(body.joint.regularity(x)) for body, x in parts), default=1.0)
