"""SRDF files that the library writes, and rotors that it reads, beside Pinocchio's reader of the same files."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.errors import ModelError, ModelWarning
from linkwork.formats import srdf_writing
from linkwork.model.random_tree import random_tree

ROTORS = """<robot name="arm6"><rotor_params>
<joint name="elbow" mass="1.5e-4" gear_ratio="50"/>
<joint name="shoulder_lift" mass="2e-4" gear_ratio="-120.5"/>
{more}
</rotor_params></robot>"""


def same_states(robot, again):
    assert [x.name for x in again.named_configurations] == [x.name for x in robot.named_configurations]
    for state, read in zip(robot.named_configurations, again.named_configurations, strict=True):
        np.testing.assert_allclose(read.q, state.q, rtol=0, atol=1e-15)
        assert read.joints == tuple(x for x in state.joints if robot.joint(x).type.nv)


@pytest.mark.light
@pytest.mark.parametrize("kind", lw.joints.ALL)
def test_states_of_all_joint_types_are_read_from_the_written_srdf(kind, tmp_path):
    robot = lw.Robot(random_tree(np.random.default_rng(3), 3, types=(kind,)))
    for seed, name in enumerate(("home", "arm/away")):
        robot = robot.with_named_configuration(name, robot.random_configuration(seed=seed))
    report = robot.to_srdf(tmp_path / "robot.srdf")
    assert not report.warnings
    bare = robot.without_named_configurations()
    same_states(robot, bare.with_srdf_document(tmp_path / "robot.srdf"))
    same_states(robot, bare.with_srdf_document(robot.srdf_document()))


def test_states_of_a_floating_robot_with_coupled_joints_are_read_from_the_written_srdf(tmp_path):
    robot = lw.load("arm7_gripper", floating_base=True)
    robot = robot.with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)})
    robot = robot.with_named_configuration("home", robot.random_configuration(seed=2))
    robot.to_srdf(tmp_path / "robot.srdf")
    text = (tmp_path / "robot.srdf").read_text()
    assert '<virtual_joint name="floating_base" type="floating" parent_frame="world" child_link="base"/>' in text
    assert '<joint name="right_finger_slide"' not in text and text.count('<joint name="elbow"') == 2
    again = robot.without_named_configurations().with_srdf_document(tmp_path / "robot.srdf")
    same_states(robot, again)
    assert again.collision_pairs == robot.collision_pairs


def test_pinocchio_reads_the_configurations_of_the_written_srdf(tmp_path):
    pin = pytest.importorskip("pinocchio")
    robot = lw.load("arm6").with_named_configuration("home", lw.load("arm6").random_configuration(seed=4))
    robot.to_srdf(tmp_path / "arm6.srdf")
    model = pin.buildModelFromUrdf(lw.robots.path("arm6"))
    pin.loadReferenceConfigurations(model, str(tmp_path / "arm6.srdf"), False)
    q = model.referenceConfigurations["home"]
    indices = [model.joints[model.getJointId(joint.name)].idx_q for joint in robot.joints]
    np.testing.assert_array_equal(q[indices], robot.named_configurations["home"].q)


def test_velocities_and_controls_of_states_are_reported_as_lost(tmp_path):
    robot = lw.load("arm6").with_actuators(lw.Actuator.motor("m", "elbow"))
    robot = robot.with_named_configuration("run", robot.neutral(), v=np.ones(robot.nv), controls={"m": 1.0})
    report = robot.to_srdf(tmp_path / "arm6.srdf")
    assert [(x.code, x.where.element) for x in report.warnings] == [
        ("NOT_WRITTEN", "robot[arm6]/named_configuration[run]")
    ] * 2
    assert {x.message for x in report.warnings} == {f"SRDF has no {x} of states" for x in ("velocities", "controls")}
    with pytest.raises(ModelError, match="NOT_WRITTEN"):
        robot.to_srdf(tmp_path / "again.srdf", strict=True)
    assert not (tmp_path / "again.srdf").exists()
    with pytest.raises(
        ValueError, match=r"to_srdf: path: expected a file named \.srdf, got 'a\.urdf'; use robot\.to_urdf"
    ):
        robot.to_srdf("a.urdf")


def test_srdf_with_too_many_pairs_of_welded_links_is_refused(tmp_path, monkeypatch):
    robot = lw.load("arm6")
    for name in "abc":
        robot = robot.with_attached(name, robot.frames[-1], lw.shapes.Sphere(0.02))
    robot.to_srdf(tmp_path / "all.srdf")
    count = (tmp_path / "all.srdf").read_text().count('reason="Adjacent"')
    assert count >= 3
    monkeypatch.setattr(own_code, "_replaced", {})
    for limit in (count, count - 1):
        monkeypatch.setattr(srdf_writing, "MAX_PAIRS", limit)
        if limit == count:
            robot.to_srdf(tmp_path / "again.srdf")
        else:
            with pytest.raises(ValueError, match=rf"more than {limit} pairs of links that never move relative"):
                robot.to_srdf(tmp_path / "again.srdf")


def test_rotors_of_srdf_become_the_armature_and_gear_ratio_of_pinocchio(tmp_path):
    pin = pytest.importorskip("pinocchio")
    (tmp_path / "arm6.srdf").write_text(ROTORS.format(more=""))
    robot = lw.load("arm6").with_srdf_document(tmp_path / "arm6.srdf")
    model = pin.buildModelFromUrdf(lw.robots.path("arm6"))
    pin.loadRotorParameters(model, str(tmp_path / "arm6.srdf"), False)
    indices = [model.joints[model.getJointId(joint.name)].idx_v for joint in robot.joints]
    np.testing.assert_allclose(robot.armature, model.armature[indices], rtol=1e-15)
    np.testing.assert_array_equal(robot.gear_ratio, model.rotorGearRatio[indices])
    rotors = {"elbow": 1.5e-4, "shoulder_lift": 2e-4}
    ratios = {"elbow": 50.0, "shoulder_lift": -120.5}
    expected = lw.load("arm6").with_joint_dynamics(gear_ratio=ratios, rotor_inertia=rotors)
    assert robot.joints == expected.joints and not robot.report.warnings


@pytest.mark.light
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ('<joint name="elbow" mass="1" gear_ratio="1"/>', "DUPLICATE_NAME"),
        ('<joint name="wrist_1" mass="-1" gear_ratio="1"/>', "NEGATIVE"),
        ('<joint name="wrist_1" mass="1" gear_ratio="0"/>', "ZERO_VALUE"),
        ('<joint name="wrist_1" mass="1e19" gear_ratio="100"/>', "MAGNITUDE"),
        ('<joint name="wrist_1" mass="1"/>', "ATTRIBUTE_MISSING"),
        ('<joint name="wrist_1" mass="one" gear_ratio="1"/>', "NUMBER"),
        ('<joint mass="1" gear_ratio="1"/>', "BAD_NAME"),
    ],
)
def test_invalid_rotors_in_srdf_are_errors_with_a_line(more, code):
    with pytest.raises(ModelError, match=code) as caught:
        lw.load("arm6").with_srdf_document(ROTORS.format(more=more))
    assert [issue.code for issue in caught.value.issues] == [code] and caught.value.line == 4


def test_rotors_of_unknown_and_of_other_joints_are_ignored_with_a_finding():
    with pytest.warns(ModelWarning, match=r"UNKNOWN_JOINT.*\n.*did you mean 'elbow'"):
        lw.load("arm6").with_srdf_document(ROTORS.format(more='<joint name="elbo" mass="1" gear_ratio="1"/>'))
    floating = lw.load("arm6", floating_base=True)
    robot = floating.with_srdf_document(ROTORS.format(more='<joint name="floating_base" mass="1" gear_ratio="1"/>'))
    assert [x.code for x in robot.report.warnings] == ["IGNORED"] and not robot.armature[:6].any()
