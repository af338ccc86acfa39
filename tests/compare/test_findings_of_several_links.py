"""Check of a model: findings that depend on several links or joints, and on shapes of unknown size."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import linkwork as lw
from compare.test_plausibility import (
    HALF,
    MIMIC,
    ROD,
    SMALL_RANGE,
    SOUND,
    UNIFORM,
    alone,
    check,
    joint,
    link,
    moments,
    robot_of,
    uniform,
)
from linkwork._util import own_code
from linkwork.compare import compare_robots, state_comparison
from linkwork.compare.plausibility.link_checks import _possible
from linkwork.compare.robot_comparison import Comparer
from linkwork.robot.robot_table import ROBOT


def test_check_model_states_how_likely_a_fault_is_by_how_many_joints_have_it():
    """Small ranges of half of the joints are notes, of more than half warnings."""
    for count, severity in ((2, "note"), (3, "warning")):
        names = ["base", "a", "b", "c", "d"]
        limits = [SMALL_RANGE] * count + [SOUND] * (4 - count)
        parts = [
            part
            for parent, child, limit in zip(names, names[1:], limits, strict=False)
            for part in (link(child), joint(child, parent, limit))
        ]
        findings = check(*parts).findings
        assert [x.severity for x in findings if x.code == "LIMIT_UNITS"] == [severity] * count
    for mass, severity in ((90.0, "note"), (120.0, "warning")):
        assert [x.severity for x in check(*uniform(mass)).findings if x.code == "DENSITY"] == [severity]


def test_check_model_compares_the_inertias_of_most_links():
    def of(equal, unequal):
        names = ["base", *(f"l{k}" for k in range(equal + unequal))]
        inertias = [ROD] * equal + [moments(UNIFORM * (1.0 + 0.01 * k)) for k in range(1, unequal + 1)]
        return [
            part
            for parent, child, inertia in zip(names, names[1:], inertias, strict=False)
            for part in (link(child, inertia=inertia), joint(child, parent))
        ]

    for equal, unequal, expected in ((4, 4, False), (5, 4, True), (3, 0, False), (4, 0, True)):
        assert ("IDENTICAL_INERTIAS" in {x.code for x in check(*of(equal, unequal)).findings}) is expected


def test_check_model_compares_links_at_mirrored_positions_only():
    """The x of one centre has a wrong sign if the legs are a pair."""
    skew = moments(0.011, 0.009)
    for y, expected in ((-0.2, {"COM_MIRRORED"}), (-0.26, set())):
        legs = [
            part
            for name, at, com in (("left_leg", 0.2, "0.08 0.06 -0.1"), ("right_leg", y, "-0.08 -0.06 -0.1"))
            for part in (
                link(name, com=com, inertia=skew, shapes=""),
                joint(name, "trunk", at=f"0.3 {at} 0.5"),
            )
        ]
        trunk = link("trunk", mass=4.0, com="0 0 0", shapes=""), joint("trunk")
        assert {x.code for x in check(*trunk, *legs).findings} & {"COM_MIRRORED"} == expected


class Foam(lw.shapes.Sphere):
    """A shape of known extent whose volume and points are not known."""

    @property
    def volume(self):
        return None

    def unit_inertia(self):
        return None

    def support(self, directions):
        raise ValueError("no support points")


def test_check_model_accepts_shapes_without_a_volume_or_a_box():
    def body(shape):
        return lw.Link("rod", mass=2.0, com=(0.6, 0.1, 0.0), inertia=(0.01, 0.02, 0.025), collisions=[shape])

    hinge = lw.Joint.of(lw.joints.Revolute((0.6, 0.0, 0.8)), name="hinge", parent="world", child="rod")
    robot = lw.Robot.build("r", body(Foam(0.1)), hinge)
    assert not {x.code for x in robot.check_model().findings} & {"COM_OUTSIDE", "DENSITY", "INERTIA_ORIGIN"}
    solid = lw.Robot.build("r", body(lw.shapes.Sphere(0.1)), hinge)
    assert "COM_OUTSIDE" in {x.code for x in solid.check_model().findings}


def test_check_model_ignores_friction_without_effect_and_followers_of_unlimited_joints():
    parts = link(), joint(more='<dynamics friction="4"/>')
    tree = robot_of(*parts).tree
    idle = dataclasses.replace(tree, bodies=tuple(dataclasses.replace(body, dynamics="none") for body in tree.bodies))
    assert "FRICTION_LARGE" in {x.code for x in lw.Robot(tree).check_model().findings}
    assert "FRICTION_LARGE" not in {x.code for x in lw.Robot(idle).check_model().findings}
    follower = link("more"), joint("more", "rod", more=MIMIC)
    for kind, expected in (("continuous", False), ("revolute", False)):
        findings = check(link(), joint(type=kind), *follower).findings
        assert ("MIMIC_RANGE" in {x.code for x in findings}) is expected


def test_rounding_of_second_moments_and_of_powers_of_ten_has_stated_limits():
    for least, expected in ((-5e-6, True), (-5e-5, False)):
        assert _possible(np.diag([least, 0.7, 1.0])) is expected
    for moment, expected in (("1e-2", True), ("1.00001e-2", False)):
        parts = alone(mass=0.01 / (2.5 * HALF) ** 2, inertia=moments(moment, moment))
        assert ("PLACEHOLDER" in {x.code for x in check(*parts).findings}) is expected


def test_dynamics_of_large_robots_are_compared_by_forces_or_not_at_all(monkeypatch):
    """Up to a number of velocities by mass matrices, then by the force of one acceleration, then not."""
    monkeypatch.setattr(own_code, "_replaced", {})
    robot = robot_of(link(), joint(), link("more"), joint("more", "rod", at="0.3 0.1 0.2"))
    q, G, a = [0.3, -0.7], np.array([[1.0, 0.5], [-0.25, 2.0]]), np.array([0.4, -0.9])
    M = np.array(ROBOT["mass_matrix"].compute(robot.tree, q), dtype=float).reshape(2, 2)
    for most, has_matrix in ((2, True), (1, False)):
        monkeypatch.setattr(state_comparison, "_MOST", most)
        result = state_comparison.dynamics_of(ROBOT, robot.tree, q, G, a)
        assert (result[0] is not None) is has_matrix
        assert result[1] == pytest.approx(G.T @ M @ G @ a, abs=1e-14)
        assert not has_matrix or result[0] == pytest.approx(G.T @ M @ G, abs=1e-14)
    for most, noted in ((2, False), (1, True)):
        monkeypatch.setattr(compare_robots, "_MOST_VELOCITIES", most)
        notes = robot.compare(robot, samples=1).notes
        assert any(f"of more than {most} velocities are not compared" in note for note in notes) is noted
    to = Comparer(1e-9)
    state_comparison.compare_poses(to, [], 1.0, "at random configurations")
    assert not to.differences
