"""Robots before and after writing, compared without compiled code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.dynamics.algorithms.inverse_dynamics import gravity_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.formats.tree_description import describe
from linkwork.model.body import WORLD
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["drawn_configuration", "frame_poses", "ordered_tree", "relative_difference"]


def ordered_tree(seed: int, bodies: int, types: tuple[type, ...]) -> Tree:
    """A random tree of joints of some types, with q in the order of its links from the root outwards.

    Quaternions have their scalar first, as files have.
    """
    tree = random_tree(np.random.default_rng(seed), bodies, types=types)
    plain = [type(body.joint)() if hasattr(body.joint, "scalar_last") else body.joint for body in tree.bodies]
    tree = replace(tree, bodies=tuple([replace(b, joint=j) for b, j in zip(tree.bodies, plain, strict=True)]))
    index = {body.joint_name: i for i, body in enumerate(tree.bodies)}
    return replace(tree, stacking=tuple([index[j.name] for j in describe(tree).joints if j.name in index]))


def drawn_configuration(tree: Tree, rng: np.random.Generator) -> list[float]:
    """A random configuration within the limits."""
    drawn = [body.joint.random(rng, *body.limits.positions, ()) for _, body in tree.stacked()]
    return [float(x) for q in drawn for x in q]


def frame_poses(tree: Tree, q: list[float]) -> dict[str, np.ndarray]:
    """The pose of each frame in the world, as a matrix (4, 4)."""
    parts, X = tree.split_q(q), {WORLD: Pose.identity()}
    for i, parent, body in tree.outward():
        X[i] = X[parent] @ body.X(parts[i])
    return {f.name: np.reshape((X[f.body] @ f.placement).elements(), (4, 4)) for f in tree.frames}


def relative_difference(tree: Tree, tree_b: Tree, rng: np.random.Generator) -> float:
    """The largest difference of poses, mass matrices and gravity forces, relative to the robot's size, M and weight.

    The frames of the tree have to be frames of the other one.
    """
    q = drawn_configuration(tree, rng)
    assert (tree_b.nq, tree_b.nv) == (tree.nq, tree.nv)
    poses, poses_b = frame_poses(tree, q), frame_poses(tree_b, q)
    size = max([1.0, *(float(np.abs(X).max()) for X in poses.values())])
    differences = [float(np.abs(poses_b[name] - X).max()) / size for name, X in poses.items()]
    if tree.nv:
        M, N = (np.array(mass_matrix(tree_, q), dtype=float) for tree_ in (tree, tree_b))
        g, h = (np.array(gravity_force(tree_, q), dtype=float) for tree_ in (tree, tree_b))
        weight = max(tree.mass * float(np.linalg.norm([*tree.gravity])) * size, 1e-300)
        differences += [float(np.abs(M - N).max() / np.abs(M).max()), float(np.abs(g - h).max()) / weight]
    return max(differences)
