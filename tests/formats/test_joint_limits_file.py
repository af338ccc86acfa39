"""Limits of joints from MoveIt's joint_limits.yaml."""

from __future__ import annotations

import json
import math

import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning

ARM = lw.load("arm6")
TEXT = """# as MoveIt's setup assistant writes it
default_velocity_scaling_factor: 0.1
joint_limits:
  elbow:
    has_velocity_limits: true
    max_velocity: 2.5
    has_acceleration_limits: true
    max_acceleration: 4
  shoulder_lift:
    has_velocity_limits: false
    max_velocity: 1.5
    max_jerk: 100.5
    has_effort_limits: true
    max_effort: 30
    min_position: -1.25
  wrist_1:
    min_position: -1
    max_position: 2
"""


def limits(robot, name):
    joint = robot.joint(name)
    return {
        key: getattr(joint, key).tolist() for key in ("lower", "upper", "velocity", "effort", "acceleration", "jerk")
    }


def test_joint_limits_file_replaces_only_the_limits_that_it_states(tmp_path):
    robot = ARM.with_joint_limits_document(TEXT)
    before = {joint.name: limits(ARM, joint.name) for joint in ARM.joints}
    assert limits(robot, "elbow") == before["elbow"] | {"velocity": [2.5], "acceleration": [4.0]}
    changed = {"velocity": [math.inf], "jerk": [100.5], "effort": [30.0], "lower": [-1.25]}
    assert limits(robot, "shoulder_lift") == before["shoulder_lift"] | changed
    assert limits(robot, "wrist_1") == before["wrist_1"] | {"lower": [-1.0], "upper": [2.0]}
    assert all(limits(robot, x) == before[x] for x in before.keys() - {"elbow", "shoulder_lift", "wrist_1"})
    assert [(x.code, x.where.line) for x in robot.report.warnings] == [("IGNORED", 2)]
    expected = ARM.with_joint(ARM.joint("elbow").with_velocity_limit(2.5).with_acceleration_limit(4.0))
    assert robot.joint("elbow") == expected.joint("elbow")
    (tmp_path / "joint_limits.yaml").write_text(TEXT)
    for document in (tmp_path / "joint_limits.yaml", str(tmp_path / "joint_limits.yaml"), TEXT.encode()):
        assert ARM.with_joint_limits_document(document) == robot
    unlimited = robot.with_joint_limits_document("joint_limits: {elbow: {has_acceleration_limits: false}}")
    assert limits(unlimited, "elbow") == before["elbow"] | {"velocity": [2.5]}


def test_limits_are_read_from_json_and_from_files_of_parameters():
    inner = {"joint_limits": {"elbow": {"max_velocity": 2.5}}}
    expected = ARM.with_joint(ARM.joint("elbow").with_velocity_limit(2.5))
    for document in (
        inner,
        {"robot_description_planning": inner},
        {"/**": {"ros__parameters": {"robot_description_planning": inner}}},
        {"move_group": {"ros__parameters": {"robot_description_planning": inner}}},
    ):
        assert ARM.with_joint_limits_document(json.dumps(document)) == expected


@pytest.mark.light
@pytest.mark.parametrize(
    ("before", "after", "code", "line"),
    [
        ("joint_limits:", "limits:", "WRONG_FORMAT", None),
        ("max_velocity: 2.5", "max_velocity: fast", "NUMBER", 6),
        ("max_velocity: 2.5", "max_velocity: -2.5", "NEGATIVE", 6),
        ("max_velocity: 2.5", "max_velocity: 1e300", "MAGNITUDE", 6),
        ("has_velocity_limits: true", "has_velocity_limits: 1", "DATA_TYPE", 5),
        ("min_position: -1\n", "min_position: 3\n", "LIMIT_ORDER", 17),
        ("min_position: -1.25", "min_position: 1e6", "LIMIT_ORDER", 10),
        ("joint_limits:\n", "joint_limits:\n  wrist: 3\n", "DATA_TYPE", None),
    ],
)
def test_invalid_limits_in_a_file_are_errors_with_a_line(before, after, code, line):
    with pytest.raises(ModelError, match=code) as caught:
        ARM.with_joint_limits_document(TEXT.replace(before, after))
    issues = [issue for issue in caught.value.issues if issue.code == code]
    assert len(issues) == len(caught.value.issues) == 1, caught.value.issues
    assert line is None or issues[0].where.line == line
    assert line is None or "joint_limits/" in issues[0].where.element


def test_unknown_joints_and_keys_of_limits_are_ignored_with_a_warning_and_refused_if_strict():
    for document, code, text in (
        ("joint_limits: {elbo: {max_velocity: 1}}", "UNKNOWN_JOINT", "did you mean 'elbow'"),
        ("joint_limits: {elbow: {max_veloctiy: 1}}", "UNKNOWN_KEY", "did you mean 'max_velocity'"),
        ("joint_limit: {}\njoint_limits: {}", "UNKNOWN_KEY", "did you mean 'joint_limits'"),
    ):
        with pytest.warns(ModelWarning, match=rf"with_joint_limits_document: .*{code}\]\n.*{text}"):
            robot = ARM.with_joint_limits_document(document)
        assert robot.joints == ARM.joints
        with pytest.raises(ModelError, match=code):
            ARM.with_joint_limits_document(document, strict=True)
    floating = lw.load("arm6", floating_base=True)
    with pytest.warns(ModelWarning, match="which has several coordinates, are ignored"):
        floating.with_joint_limits_document("joint_limits: {floating_base: {max_velocity: 1}}")
    for document in (
        "joint_limits: {elbow: {k_position: 5}}",
        "joint_limits:",
        "cartesian_limits: {}\njoint_limits: {}",
    ):
        assert ARM.with_joint_limits_document(document, strict=True).joints == ARM.joints
    wheel = lw.Robot.build(
        "wheel",
        lw.Joint.of(lw.joints.UnboundedRevolute((0, 0, 1)), name="spin", parent="world", child="rim"),
        lw.Link("rim", mass=1.0, inertia=(0.1, 0.1, 0.1)),
    )
    read = wheel.with_joint_limits_document("joint_limits: {spin: {max_velocity: 3, max_position: 1}}", strict=True)
    assert read.joint("spin").velocity == 3.0 and [x.code for x in read.report.warnings] == ["IGNORED"]
    with pytest.raises(FileNotFoundError, match="none"):
        ARM.with_joint_limits_document("none.yaml")
    with pytest.raises(
        TypeError,
        match="document: expected a string or bytes or a path, got 3; joint limits: expected a text, or the path",
    ):
        ARM.with_joint_limits_document(3)
