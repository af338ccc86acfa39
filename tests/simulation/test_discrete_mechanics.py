"""Steps in the configuration spaces of joints: both halves of a step, and its difference, for every joint type."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.model.random_tree import random_tree
from linkwork.simulation.algorithms.discrete_mechanics import StepSpace
from linkwork.spatial import Vec3

MOVING = [kind for kind in joints.ALL if kind is not joints.Fixed]


def test_midpoint_of_a_step_is_half_of_it_from_both_ends() -> None:
    for kind in MOVING:
        rng = np.random.default_rng(0)
        tree = random_tree(rng, 2, types=[kind])
        space, robot = StepSpace.of(tree), lw.Robot(tree)
        q = robot.random_configuration(seed=1)
        phi = (0.5 * rng.normal(size=tree.nv)).tolist()
        end = space.integrate(q.tolist(), phi)
        assert space.difference(q.tolist(), end) == pytest.approx(phi, abs=3e-15), kind
        middle, moved = space.halfway(q.tolist(), phi)
        for share, expected in ((0.5, np.array(end)), (-0.5, q)):
            reached = np.array(space.integrate(middle, [share * x for x in moved]))
            assert np.abs(robot.difference(reached, expected)).max() < 3e-15, kind


def test_step_of_a_planar_joint_is_straight_in_the_plane_and_of_a_composite_that_of_its_joints() -> None:
    hinge = joints.Revolute(Vec3(0.48, -0.6, 0.64))
    composite = joints.Composite((hinge, joints.Planar()))
    tree = lw.Robot.build(
        "sled", lw.Link("sled", mass=1.0), lw.Joint.of(composite, name="j", parent="world", child="sled")
    ).tree
    space = StepSpace.of(tree)
    q, phi = [0.3, 0.2, -0.4, 0.7], [0.2, 0.5, -0.3, 0.6]
    c, s = np.cos(0.7), np.sin(0.7)
    dx, dy = 0.5 * c + 0.3 * s, 0.5 * s - 0.3 * c
    end = [0.5, 0.2 + dx, -0.4 + dy, 1.3]
    assert space.integrate(q, phi) == pytest.approx(end, abs=1e-15)
    assert space.difference(q, end) == pytest.approx(phi, abs=1e-15)
    middle, moved = space.halfway(q, phi)
    assert middle == pytest.approx([0.4, 0.2 + 0.5 * dx, -0.4 + 0.5 * dy, 1.0], abs=1e-15)
    c, s = np.cos(1.0), np.sin(1.0)
    assert moved == pytest.approx([0.2, c * dx + s * dy, c * dy - s * dx, 0.6], abs=1e-15)
