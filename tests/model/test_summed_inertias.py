"""Body inertias are sums over their links and cannot be changed separately."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.joints import Revolute
from linkwork.model.body import WORLD, Body, Frame, Limits
from linkwork.model.composite_body import with_summed_inertias, without_inertias
from linkwork.model.random_tree import random_tree
from linkwork.model.simplify import simplify_tree
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3
from oracles.example_robots import EXAMPLES, shipped

HEAVY = Inertia.at_center(3.0, Vec3(0.1, 0.0, 0.2), Symmetric3.diagonal(0.1, 0.2, 0.25))


def test_body_inertia_that_contradicts_its_links_inertias_is_refused():
    """A change of the body's inertia only would let the robot's mass contradict its mass matrix."""
    for tree in (shipped("arm7").tree, shipped("quadruped").tree, random_tree(np.random.default_rng(0), 4)):
        for i in (0, len(tree.bodies) - 1):
            message = f"body '{tree.bodies[i].name}': its inertia is not the sum of the inertias of its links"
            body = replace(tree.bodies[i], inertia=tree.bodies[i].inertia + HEAVY)
            with pytest.raises(ValueError, match=message):
                replace(tree, bodies=(*tree.bodies[:i], body, *tree.bodies[i + 1 :]))
            k = next(k for k, frame in enumerate(tree.frames) if frame.body == i and frame.inertia.mass)
            for inertia in (HEAVY, Inertia.zero()):
                frame = replace(tree.frames[k], inertia=inertia)
                with pytest.raises(ValueError, match="its inertia is not the sum"):
                    replace(tree, frames=(*tree.frames[:k], frame, *tree.frames[k + 1 :]))


def test_small_contradictions_between_body_and_link_inertias_are_refused():
    """A tenth of a per mille of the smallest moment of mass of one link."""
    tree = shipped("arm7").tree
    for part in ("mass", "moment", "about"):
        body = tree.bodies[3]
        value = getattr(body.inertia, part)
        changed = value * (1 + 1e-4) if part != "about" else replace(value, xx=value.xx * (1 + 1e-4))
        wrong = replace(body, inertia=replace(body.inertia, **{part: changed}))
        with pytest.raises(ValueError, match="its inertia is not the sum"):
            replace(tree, bodies=(*tree.bodies[:3], wrong, *tree.bodies[4:]))


def test_contradictions_of_inertias_are_refused_beyond_a_relative_rounding_of_1e_9():
    tree = shipped("arm7").tree
    body = tree.bodies[3]
    for by in (5e-10, 3e-9):
        near = replace(body, inertia=replace(body.inertia, mass=body.inertia.mass * (1.0 + by)))
        with nullcontext() if by < 1e-9 else pytest.raises(ValueError, match="its inertia is not the sum"):
            replace(tree, bodies=(*tree.bodies[:3], near, *tree.bodies[4:]))


def test_link_and_body_inertias_changed_together_are_accepted():
    tree = shipped("arm7").tree
    k = next(k for k, frame in enumerate(tree.frames) if frame.name == "hand")
    frames = (*tree.frames[:k], replace(tree.frames[k], inertia=HEAVY), *tree.frames[k + 1 :])
    edited = lw.Robot(replace(tree, bodies=with_summed_inertias(tree.bodies, frames), frames=frames))
    assert edited.mass == pytest.approx(shipped("arm7").mass + 3.0 - tree.frames[k].inertia.mass, rel=1e-14)
    assert edited.mass == edited.tree.mass == pytest.approx(sum(frame.inertia.mass for frame in frames), rel=1e-14)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_body_inertias_of_example_and_transformed_robots_are_sums_over_links(example):
    """Transformed trees round differently; regrouped trees have no links' inertias to compare."""
    tree = example.robot().tree
    assert with_summed_inertias(tree.bodies, tree.frames) == tree.bodies
    result = simplify_tree(tree)
    assert result.frames == without_inertias(result.frames)
    assert example.robot().with_root(example.frames[0]).mass == pytest.approx(example.robot().mass, rel=1e-12)


def test_trees_without_link_inertias_use_the_inertias_of_bodies():
    """The inertia of a moving body counts although none of its links has one."""
    joint, identity = Revolute(Vec3(0.0, 0.0, 1.0)), Pose.identity()
    body = Body("arm", WORLD, "hinge", joint, identity, identity, HEAVY, Limits.none(joint), (0.0,), (0.0,))
    tree = Tree("one", (body,), (Frame("arm", 0, identity), Frame("floor", WORLD, identity, HEAVY)))
    assert lw.Robot(tree).mass == 6.0
    assert lw.Robot(tree).mass_matrix([0.0])[0, 0] == pytest.approx(HEAVY.about.zz)


def test_welded_links_and_joints_of_rerooted_robots_are_those_of_the_file():
    """A joint on a welded link states it; also after rerooting twice."""
    tree = shipped("arm7_gripper").tree
    frames = {frame.name: frame for frame in tree.frames}
    for body in tree.bodies:
        parent, child = body.links
        assert child == body.name
        assert frames[parent].body == body.parent
    assert any(body.parent != WORLD and body.links[0] != tree.bodies[body.parent].name for body in tree.bodies)
    for frame in tree.frames:
        assert (frame.fixed_joint is None) == (frame.welded_to is None)
        if frame.welded_to is not None:
            assert frames[frame.welded_to].body == frame.body
    robot = shipped("humanoid")
    rerooted = robot.with_root("left_hand")
    assert {frozenset(body.links) for body in rerooted.tree.bodies[1:]} < {
        frozenset(b.links) for b in robot.tree.bodies
    }
    assert rerooted.with_root(robot.tree.bodies[0].name).tree.bodies[1].links == robot.tree.bodies[1].links
