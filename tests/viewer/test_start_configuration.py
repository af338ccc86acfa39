"""The configuration in which pictures and commands begin: within the limits, neutral wherever that is possible."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer.scenes.robot_scenes import robot_document
from linkwork.viewer.start_configuration import start_configuration
from oracles.example_robots import EXAMPLES, SHIPPED


def outside(robot, q):
    return (q < robot.lower - 1e-9) | (q > robot.upper + 1e-9)


@pytest.mark.slow(every=5)
def test_pictures_of_example_robots_start_within_joint_limits():
    changed = set()
    for example in (*EXAMPLES, *SHIPPED):
        robot = example.robot()
        if robot.constraints:
            continue
        q, neutral = start_configuration(robot), robot.neutral()
        beyond = outside(robot, neutral)
        assert not outside(robot, q).any(), example.name
        np.testing.assert_array_equal(q[~beyond], neutral[~beyond])
        np.testing.assert_allclose(q[beyond], 0.5 * (robot.lower[beyond] + robot.upper[beyond]))
        if beyond.any():
            changed.add(example.name)
    assert {"panda", "kinova"} <= changed and "ur5" not in changed


URDF = """<robot name="r"><link name="base"/>{}</robot>"""
JOINT = """<link name="l{k}"/><joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/>
<axis xyz="0 1 0"/><limit lower="{low}" upper="{high}" effort="1" velocity="1"/></joint>"""


def arm_with(*limits):
    names = ["base", *(f"l{k}" for k in range(len(limits)))]
    joints = [JOINT.format(k=k, parent=names[k], low=low, high=high) for k, (low, high) in enumerate(limits)]
    return lw.Robot.from_urdf_string(URDF.format("".join(joints)))


def test_start_configurations_of_pictures_respect_limits_names_and_couplings():
    arm = arm_with((-1, 1), (0.5, 2.5))
    assert start_configuration(arm).tolist() == [0.0, 1.5]
    named = arm.with_named_configuration("folded", [0.0, 3.0]).with_named_configuration("home", [0.3, 0.7])
    assert start_configuration(named).tolist() == [0.3, 0.7]  # the first one within the limits
    within = arm_with((-1, 1), (-1, 1)).with_named_configuration("home", [0.3, 0.7])
    assert start_configuration(within).tolist() == [0.0, 0.0]
    near = arm_with((0.9e-9, 1), (1.1e-9, 1), (-1, -0.9e-9), (-1, -1.1e-9))  # limits exceeded by rounding are satisfied
    assert start_configuration(near).tolist() == pytest.approx([0.0, 0.5, 0.0, -0.5])
    coupled = arm_with((-1, 1), (0.5, 2.5)).with_couplings({"j1": ("j0", 2.0, -0.5)})
    assert start_configuration(coupled).tolist() == [0.75]  # 2 · 0.5 − 0.5 = 0.5 to 2 · 1 − 0.5 = 1.5
    apart = arm_with((-1, 1), (0.5, 2.5)).with_couplings({"j1": ("j0", 0.0, 0.0)})
    assert start_configuration(apart).tolist() == [0.0]


def test_pictures_of_mechanisms_start_in_an_assembled_configuration():
    for name in ("fourbar", "arm"):
        robot = lw.load(name) if name == "fourbar" else arm_with((0.5, 2.5))
        q = start_configuration(robot)
        np.testing.assert_array_equal(robot_document(robot).actors[0].q[0, 0], q)
        assert not robot.constraints or np.abs(robot.constraint_error(q)).max() < 1e-6
