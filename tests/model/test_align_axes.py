"""Aligned axes: the same dynamics and frames, with joints rotated about one coordinate axis."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.joints import Cam, Helical
from linkwork.joints import ALL, Prismatic, Revolute
from linkwork.model.random_tree import random_tree
from linkwork.model.simplify import align_axes, regroup_inertias, shift_origins
from linkwork.spatial import Pose, Rotation, Vec3
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.same_dynamics import assert_same_dynamics
from oracles.scalars import Direct
from oracles.trees import every_tree, state

every_robot = pytest.mark.parametrize("example", [*EXAMPLES, *SHIPPED], ids=str)
AXES = [Vec3(*(sign * float(i == k) for i in range(3))) for k in range(3) for sign in (1.0, -1.0)]
ANGLES = [0.0, 1.5708, 3.1416, 1e-6, -1.570796, 0.3]


def skew_tree(seed, bodies=6, types=(Revolute, Prismatic), shape="chain"):
    """A random tree of joints along coordinate axes, in frames turned by round angles of roll, pitch and yaw."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, bodies, types=types, shape=shape)
    parts = []
    for body in tree.bodies:
        joint = type(body.joint)(AXES[rng.integers(6)]) if isinstance(body.joint, (Revolute, Prismatic)) else body.joint
        R = Rotation.from_rpy(*(ANGLES[k] for k in rng.integers(len(ANGLES), size=3)))
        placement = Pose(R, body.placement.translation)
        parts.append(replace(body, joint=joint, placement=placement, rotor=Pose.identity()))
    return replace(tree, bodies=tuple(parts))


def assert_same_robot(tree, seed=0, size=4):
    edited_tree = align_axes(tree)
    q, v, a = state(tree, seed, size)
    assert_same_dynamics(tree, edited_tree, q, v, a)
    assert_same_dynamics(tree, regroup_inertias(shift_origins(edited_tree)), q, v, a)
    for frame in tree.frames[:20]:
        assert_close(
            Direct(edited_tree).pose(q, frame.name), Direct(tree).pose(q, frame.name), 1e-13, frame.name, core=2
        )


@every_tree
def test_aligning_joint_axes_preserves_random_trees(tree):
    assert_same_robot(tree)


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(20))
def test_aligning_joint_axes_preserves_trees_with_skew_axes(seed):
    assert_same_robot(skew_tree(seed, types=ALL if seed % 3 == 0 else (Revolute, Prismatic)), seed)
    assert_same_robot(skew_tree(seed, shape="random"), seed)


@pytest.mark.costly
@every_robot
def test_aligning_joint_axes_preserves_example_robots(example):
    assert_same_robot(example.robot().tree, size=2)


def general(tree):
    """Count the bodies with a general rotation relative to their parent."""
    return sum(not body.placement.rotation.is_turn for body in tree.bodies if body.parent >= 0)


def test_aligning_joint_axes_rotates_joints_about_one_coordinate_axis():
    trees = [skew_tree(seed, 10) for seed in range(20)]
    assert sum(map(general, trees)) > 80
    assert all(general(align_axes(tree)) == 0 for tree in trees)


def test_trees_with_aligned_joint_axes_are_unchanged():
    for tree in (SHIPPED[2].robot().tree, SHIPPED[5].robot().tree):
        assert align_axes(tree) == tree
    once = align_axes(skew_tree(3))
    assert align_axes(once) == once


def test_aligning_joint_axes_leaves_joints_without_declared_symmetry_unchanged():
    """A free body's velocity is in its axes; a user's joint declares no symmetry."""
    fast = [kind for kind in ALL if not kind.example(np.random.default_rng(0)).commuting_rotations()]
    for kinds in (fast, [Cam, Helical]):
        tree = random_tree(np.random.default_rng(2), 5, types=kinds)
        assert align_axes(tree) == tree


def test_rotations_declared_as_symmetries_commute_with_the_joints_transform(drawn):
    rng = np.random.default_rng(0)
    for kind in drawn(ALL):
        for joint in (kind.example(rng) for _ in range(5)):
            free = np.full(joint.nq, np.inf)
            for direction in joint.commuting_rotations():
                forward, back = (Pose(Rotation.about(direction, angle), Vec3.zero()) for angle in (0.3, -0.3))
                for q in joint.random(rng, -free, free, (3,)).tolist():
                    X = joint.X(q)
                    assert_close((back @ X @ forward).elements(), X.elements(), 1e-15)
