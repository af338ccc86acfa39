"""Aligned joint frames: the same dynamics and frames, without rotor offsets."""

from dataclasses import replace

import pytest

from linkwork.model.simplify import align_joint_frames
from linkwork.model.tree_edits import reroot
from linkwork.spatial import Pose
from oracles.comparison import assert_close
from oracles.example_robots import SHIPPED
from oracles.same_dynamics import assert_same_dynamics
from oracles.scalars import Direct
from oracles.trees import every_tree, state


def assert_same_robot(tree):
    edited_tree = align_joint_frames(tree)
    assert all(body.rotor == Pose.identity() for body in edited_tree.bodies)
    q, v, a = state(tree)
    assert_same_dynamics(tree, edited_tree, q, v, a)
    for frame in tree.frames[:20]:
        assert_close(
            Direct(edited_tree).pose(q, frame.name), Direct(tree).pose(q, frame.name), 1e-13, frame.name, core=2
        )


@every_tree
def test_aligning_joint_frames_preserves_random_trees(tree):
    assert_same_robot(tree)


@pytest.mark.parametrize("example", SHIPPED[:4], ids=str)
def test_aligning_joint_frames_preserves_rerooted_robots(example):
    tree = example.robot().tree
    assert align_joint_frames(tree) is tree  # a URDF has no rotors
    assert_same_robot(reroot(tree, example.frames[0]))


def test_aligning_joint_frames_is_idempotent():
    tree = SHIPPED[1].robot().tree
    edited_tree = align_joint_frames(reroot(reroot(tree, tree.bodies[3].name), tree.frames[0].name))
    assert align_joint_frames(edited_tree) is edited_tree
    assert replace(edited_tree) == edited_tree
