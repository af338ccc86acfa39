"""Shifted origins: the same dynamics and frames, with more zeros in the offsets."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.joints import Cam, Helical
from linkwork.joints import ALL, Prismatic, Revolute
from linkwork.model.random_tree import random_tree
from linkwork.model.simplify import regroup_inertias, shift_origins
from linkwork.spatial import Pose, Rotation, Vec3
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED, shipped
from oracles.same_dynamics import assert_same_dynamics
from oracles.scalars import Direct
from oracles.trees import every_tree, state

every_robot = pytest.mark.parametrize("example", [*EXAMPLES, *SHIPPED], ids=str)
AXES = [Vec3(1.0, 0.0, 0.0), Vec3(0.0, -1.0, 0.0), Vec3(0.0, 0.0, 1.0)]
QUARTERS = [Rotation.from_rpy(*(0.5 * np.pi * n for n in turns)) for turns in np.ndindex(4, 4, 1)]


def aligned_tree(seed, bodies=6, types=(Revolute, Prismatic), shape="random"):
    """A random tree whose axes lie along coordinate axes and whose parts are turned by quarters, as robots' are."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, bodies, types=types, shape=shape)

    def pose():
        offset = Vec3.of([float(x) for x in rng.normal(size=3) * rng.integers(0, 2, size=3)])
        return Pose(QUARTERS[rng.integers(len(QUARTERS))], offset)

    parts = []
    for body in tree.bodies:
        joint = type(body.joint)(AXES[rng.integers(3)]) if isinstance(body.joint, (Revolute, Prismatic)) else body.joint
        rotor = pose() if rng.integers(2) else Pose.identity()
        parts.append(replace(body, joint=joint, placement=pose(), rotor=rotor))
    return replace(tree, bodies=tuple(parts))


def coordinates(tree):
    """Numbers in the offsets of bodies that sit on others."""
    return sum(x != 0.0 for body in tree.bodies if body.parent >= 0 for x in body.placement.translation)


def assert_same_robot(tree, seed=0, size=4):
    edited_tree = shift_origins(tree)
    q, v, a = state(tree, seed, size)
    assert_same_dynamics(tree, edited_tree, q, v, a)
    assert_same_dynamics(tree, regroup_inertias(edited_tree), q, v, a)
    for frame in tree.frames[:20]:
        assert_close(
            Direct(edited_tree).pose(q, frame.name), Direct(tree).pose(q, frame.name), 1e-13, frame.name, core=2
        )


@every_tree
def test_shifting_joint_origins_preserves_random_trees(tree):
    assert_same_robot(tree)


@pytest.mark.parametrize("seed", range(12))
def test_shifting_joint_origins_preserves_trees_with_aligned_axes(seed):
    tree = aligned_tree(
        seed, types=ALL if seed % 2 else (Revolute, Prismatic), shape=("random", "chain", "star")[seed % 3]
    )
    assert_same_robot(tree, seed)


@pytest.mark.costly
@every_robot
def test_shifting_joint_origins_preserves_example_robots(example):
    assert_same_robot(example.robot().tree, size=2)
    assert coordinates(shift_origins(example.robot().tree)) <= coordinates(example.robot().tree)


def test_shifted_joint_origins_have_fewer_nonzero_offsets():
    trees = [aligned_tree(seed, 12) for seed in range(20)]
    assert sum(coordinates(shift_origins(tree)) for tree in trees) < 0.8 * sum(map(coordinates, trees))
    for name, most in {"arm6": 4, "quadruped": 12}.items():
        assert coordinates(shift_origins(shipped(name).tree)) <= most < coordinates(shipped(name).tree)


def test_shifting_joint_origins_changes_only_placements():
    tree = aligned_tree(5, 10)
    edited_tree = shift_origins(tree)
    assert edited_tree != tree
    for old, new in zip(tree.bodies, edited_tree.bodies, strict=True):
        assert replace(new, placement=old.placement, inertia=old.inertia) == old
        assert new.placement.rotation == old.placement.rotation
        assert new.inertia.mass == old.inertia.mass
    assert shift_origins(edited_tree) == edited_tree


def test_joint_origins_of_free_bodies_and_users_joints_are_not_shifted():
    """A free body's velocity is that of its origin; a user's joint declares no shifts."""
    fast = [kind for kind in ALL if not kind.example(np.random.default_rng(0)).commuting_translations()]
    for kinds in (fast, [Cam, Helical]):
        tree = random_tree(np.random.default_rng(2), 5, types=kinds)
        assert shift_origins(tree) == tree


def test_shifts_declared_as_symmetries_commute_with_the_joints_transform(drawn):
    rng = np.random.default_rng(0)
    for kind in drawn(ALL):
        for joint in (kind.example(rng) for _ in range(5)):
            free = np.full(joint.nq, np.inf)
            for direction in joint.commuting_translations():
                forward, back = (Pose(Rotation.identity(), direction * s) for s in (0.3, -0.3))
                for q in joint.random(rng, -free, free, (3,)).tolist():
                    X = joint.X(q)
                    assert_close((back @ X @ forward).elements(), X.elements(), 1e-15)


def test_shifting_joint_origins_of_a_tree_with_400_branches_is_fast():
    """Few origins are tried, for any number of children."""
    tree = aligned_tree(1, 400, types=[Revolute], shape="star")
    assert coordinates(shift_origins(tree)) <= coordinates(tree)
