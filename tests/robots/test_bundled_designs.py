"""Bundled robots against the published designs that they follow."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin
import pytest

from robots.shipped import (
    FEET,
    TRIES,
    frame_pose,
    massive_links,
    mujoco_model,
    pinocchio_model,
    pinocchio_q,
    random_posture,
    text_of,
    xml_of,
)


def rotation_about_x(angle: float) -> pin.SE3:
    return pin.SE3(pin.rpy.rpyToMatrix(angle, 0.0, 0.0), np.zeros(3))


def rotation_about_z(angle: float) -> pin.SE3:
    return pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, angle), np.zeros(3))


def shift(x: float, z: float) -> pin.SE3:
    return pin.SE3(np.eye(3), np.array([x, 0.0, z]))


QUARTER = math.pi / 2


def test_bundled_arm6_has_the_kinematics_of_its_denavit_hartenberg_table():
    """The tool is where the Denavit-Hartenberg table (standard convention: a, d, alpha) puts it."""
    table = (
        ("shoulder_pan", 0, 0.089159, QUARTER),
        ("shoulder_lift", -0.425, 0, 0),
        ("elbow", -0.39225, 0, 0),
        ("wrist_1", 0, 0.10915, QUARTER),
        ("wrist_2", 0, 0.09465, -QUARTER),
        ("wrist_3", 0, 0.0823, 0),
    )
    model, rng = pinocchio_model("arm6", False), np.random.default_rng(1)
    for _ in range(TRIES):
        posture = random_posture("arm6", rng)
        pose = pin.SE3.Identity()
        for joint, a, d, alpha in table:
            pose = pose * rotation_about_z(posture.joints[joint]) * shift(a, d) * rotation_about_x(alpha)
        tool = frame_pose(model, pinocchio_q(model, posture, False), "tool")
        np.testing.assert_allclose(tool.homogeneous, pose.homogeneous, atol=1e-12)


@pytest.mark.parametrize("name", ["arm7", "arm7_gripper"])
def test_bundled_arm7_has_the_kinematics_of_its_denavit_hartenberg_table(name):
    """The hand is where the Denavit-Hartenberg table (modified convention: a, d, alpha) puts it."""
    table = (
        ("shoulder_pan", 0, 0.333, 0),
        ("shoulder_lift", 0, 0, -QUARTER),
        ("upper_arm_roll", 0, 0.316, QUARTER),
        ("elbow", 0.0825, 0, QUARTER),
        ("forearm_roll", -0.0825, 0.384, -QUARTER),
        ("wrist_flex", 0, 0, QUARTER),
        ("wrist_roll", 0.088, 0, QUARTER),
    )
    model, rng = pinocchio_model(name, False), np.random.default_rng(2)
    for _ in range(TRIES):
        posture = random_posture(name, rng)
        q = pinocchio_q(model, posture, False)
        pose = pin.SE3.Identity()
        for joint, a, d, alpha in table:
            pose = pose * rotation_about_x(alpha) * shift(a, 0) * rotation_about_z(posture.joints[joint]) * shift(0, d)
        hand, tool = pose * shift(0, 0.107), pose * shift(0, 0.107 + 0.1034)
        np.testing.assert_allclose(frame_pose(model, q, "hand").homogeneous, hand.homogeneous, atol=1e-12)
        np.testing.assert_allclose(frame_pose(model, q, "tool").homogeneous, tool.homogeneous, atol=1e-12)


def test_bundled_arm7_gripper_is_arm7_with_fingers():
    arm = {joint.get("name"): joint for joint in xml_of("arm7").findall("joint")}
    whole = {joint.get("name"): joint for joint in xml_of("arm7_gripper").findall("joint")}
    assert set(whole) - set(arm) == {"left_finger_slide", "right_finger_slide"}
    for name, joint in arm.items():
        assert [child.attrib for child in joint] == [child.attrib for child in whole[name]]
    for link in massive_links("arm7"):
        same = xml_of("arm7_gripper").find(f"link[@name='{link.get('name')}']")
        assert ET.tostring(link).strip() == ET.tostring(same).strip()
    assert whole["right_finger_slide"].find("mimic").attrib == {
        "joint": "left_finger_slide",
        "multiplier": "1",
        "offset": "0",
    }
    assert whole["left_finger_slide"].find("mimic") is None


def test_fingers_of_the_bundled_gripper_move_together():
    """The mimic joint removes one degree of freedom, and the fingers open evenly about the tool."""
    model = pin.buildModelFromXML(text_of("arm7_gripper"), mimic=True)
    assert model.nv == 8
    q = pin.neutral(model)
    q[model.idx_qs[model.getJointId("left_finger_slide")]] = 0.03
    tool = frame_pose(model, q, "tool")
    left = tool.actInv(frame_pose(model, q, "left_finger").translation)
    right = tool.actInv(frame_pose(model, q, "right_finger").translation)
    np.testing.assert_allclose(left, [0, 0.03, -0.045], atol=1e-12)
    np.testing.assert_allclose(right, [0, -0.03, -0.045], atol=1e-12)
    assert mujoco_model("arm7_gripper", False).neq == 1


def test_tip_of_the_bundled_double_pendulum_moves_in_a_plane():
    model, rng = pinocchio_model("double_pendulum", False), np.random.default_rng(3)
    for _ in range(TRIES):
        posture = random_posture("double_pendulum", rng)
        first = posture.joints["shoulder"]
        both = first + posture.joints["elbow"]
        tip = frame_pose(model, pinocchio_q(model, posture, False), "tip").translation
        reach = [-math.sin(first) - 0.8 * math.sin(both), 0.05, -math.cos(first) - 0.8 * math.cos(both)]
        np.testing.assert_allclose(tip, reach, atol=1e-12)


def test_bundled_quadruped_stands_on_straight_legs():
    model = pinocchio_model("quadruped", True)
    q = pin.neutral(model)
    for foot in FEET:
        x = 0.1946 if foot.startswith("front") else -0.1946
        y = 0.14695 if "left" in foot else -0.14695
        np.testing.assert_allclose(frame_pose(model, q, foot).translation, [x, y, -0.32], atol=1e-12)


def test_bundled_humanoid_stands_straight_with_published_lengths():
    model = pinocchio_model("humanoid", True)
    q = pin.neutral(model)
    height, leg = 1.60, 0.530 * 1.60
    for side, sign in (("left", 1), ("right", -1)):
        foot, hand = frame_pose(model, q, f"{side}_foot"), frame_pose(model, q, f"{side}_hand")
        np.testing.assert_allclose(foot.translation, [0, sign * 0.085, -leg], atol=1e-12)
        wrist = (0.818 - 0.186 - 0.146) * height - leg
        np.testing.assert_allclose(hand.translation, [0, sign * 0.129 * height, wrist - 0.08], atol=1e-12)
    head = frame_pose(model, q, "head").translation
    np.testing.assert_allclose(head, [0, 0, 0.870 * height - leg], atol=1e-12)
    assert head[2] + 2 * 0.104 == pytest.approx(height - leg)
    centre = pin.centerOfMass(model, model.createData(), q)
    assert abs(centre[1]) < 1e-12
    assert -0.07 < centre[0] < 0.17  # above the soles
    assert 0.53 < (centre[2] + leg) / height < 0.60  # where a standing person has it


def test_bundled_humanoid_has_the_published_mass_fractions():
    """Segment masses as fractions of the body: de Leva (1996), men."""
    masses = {link.get("name"): float(link.find("inertial/mass").get("value")) for link in massive_links("humanoid")}
    total = sum(masses.values())
    segments = {
        0.1117: ["pelvis"],
        0.1633 + 0.1596: ["waist_yaw_link", "waist_roll_link", "torso"],
        0.0694: ["neck", "head"],
        0.1416: ["left_hip_yaw_link", "left_hip_roll_link", "left_thigh"],
        0.0433: ["left_shank", "left_ankle_pitch_link"],
        0.0137: ["left_ankle_roll_link"],
        0.0271: ["left_shoulder_pitch_link", "left_shoulder_roll_link", "left_upper_arm"],
        0.0162: ["left_forearm", "left_wrist_yaw_link"],
        0.0061: ["left_wrist_roll_link", "left_wrist_pitch_link"],
    }
    for fraction, links in segments.items():
        assert sum(masses[link] for link in links) / total == pytest.approx(fraction, rel=1e-9)
    named = {link for links in segments.values() for link in links}
    assert named | {link.replace("left", "right") for link in named} == set(masses)
