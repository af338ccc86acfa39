"""The trees that properties are tested on: every joint type alone and all mixed, as chains, stars and at random."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

from linkwork import Robot, joints
from linkwork.model.body import WORLD
from linkwork.model.random_tree import random_inertia, random_tree
from linkwork.model.tree import Tree
from linkwork.model.tree_edits import reroot

from .coupling import randomly_coupled

__all__ = [
    "TREES",
    "every_moving_tree",
    "every_moving_type",
    "every_plain_tree",
    "every_tree",
    "few_trees",
    "regularity",
    "robot_of",
    "state",
]


_WITH_FOLLOWERS = (joints.Revolute, joints.Prismatic, joints.Fixed, joints.Floating)  # random couplings want the first


def _trees() -> dict[str, Tree]:
    trees = {}
    for seed, kind in enumerate(joints.ALL):
        trees[f"{kind.type_name()}_chain"] = random_tree(np.random.default_rng(seed), 3, types=[kind], shape="chain")
        trees[f"{kind.type_name()}_random"] = random_tree(np.random.default_rng(seed + 50), 4, types=[kind])
    for seed in range(3):
        trees[f"mixed_{seed}"] = random_tree(np.random.default_rng(100 + seed), 7)
    trees["mixed_chain"] = random_tree(np.random.default_rng(200), 6, shape="chain")
    trees["mixed_star"] = random_tree(np.random.default_rng(300), 6, shape="star")
    for seed in range(2):
        coupled = random_tree(np.random.default_rng(400 + seed), 9, types=_WITH_FOLLOWERS)
        trees[f"coupled_{seed}"] = randomly_coupled(coupled, 3, seed)
    coupled = random_tree(np.random.default_rng(402), 6, types=_WITH_FOLLOWERS[:2], shape="chain")
    trees["coupled_chain"] = randomly_coupled(coupled, 3)
    coupled = random_tree(np.random.default_rng(403), 8, types=_WITH_FOLLOWERS)
    trees["rerooted"] = reroot(_on_heavy_ground(coupled), "tool7")
    trees["rerooted_coupled"] = reroot(_on_heavy_ground(trees["coupled_chain"]), "tool4")
    return trees


def _on_heavy_ground(tree: Tree) -> Tree:
    """Give mass to links that are fixed to the world: under another root they move."""
    inertia = random_inertia(np.random.default_rng(0))
    return replace(tree, frames=tuple(replace(f, inertia=inertia) if f.body == WORLD else f for f in tree.frames))


TREES = _trees()
_FEW = [name for name in TREES if name.endswith("_chain") or name == "mixed_0"]

every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
_PLAIN = {name: tree for name, tree in TREES.items() if not (tree.has_couplings or tree.stacking)}
every_plain_tree = pytest.mark.parametrize("tree", _PLAIN.values(), ids=_PLAIN)  # every joint free, in body order
_MOVING = {name: tree for name, tree in TREES.items() if tree.nv}
every_moving_tree = pytest.mark.parametrize("tree", _MOVING.values(), ids=_MOVING)
_TYPES = [name for k, name in enumerate(TREES) if k % 4 in (0, 3) and k < 2 * len(joints.ALL)]
_TYPES += ["mixed_0", "mixed_star", "coupled_0", "rerooted_coupled"]
every_moving_type = pytest.mark.parametrize(
    "tree", [_MOVING[name] for name in _TYPES if name in _MOVING], ids=[name for name in _TYPES if name in _MOVING]
)  # of each type a chain or a random tree: where a function asked of one tree is long
few_trees = pytest.mark.parametrize("tree", [TREES[name] for name in _FEW], ids=_FEW)


@functools.cache
def robot_of(tree: Tree) -> Robot:
    """The tree's robot: its functions are compiled once for all tests."""
    return Robot(tree)


def state(tree: Tree, seed: int = 0, size: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q (size, nq), v and a (size, nv), of order 1; q away from singular coordinates, as gimbal lock is."""
    rng = np.random.default_rng(seed)
    drawn = robot_of(tree).random_configuration(rng, size=20 * size)
    q = np.array([x for x in drawn if regularity(tree, x) >= 0.2][:size]).reshape(size, tree.nq)
    return q, rng.normal(size=(size, tree.nv)), rng.normal(size=(size, tree.nv))


def regularity(tree: Tree, q: np.ndarray) -> float:
    parts = zip(tree.bodies, tree.split_q(q.tolist()), strict=True)
    return min((float(body.joint.regularity(x)) for body, x in parts), default=1.0)
