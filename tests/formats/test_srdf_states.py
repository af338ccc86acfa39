"""States of groups in SRDF files, as named configurations."""

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning

GRIPPER = lw.load("arm7_gripper")
TEXT = """
<robot name="arm7_gripper">
  <virtual_joint name="world_joint" type="fixed" parent_frame="world" child_link="base"/>
  <group_state name="home" group="arm">
    <joint name="elbow" value="-1.2"/>
    <joint name="world_joint" value="0"/>
    {more}
  </group_state>
  <group_state name="open" group="fingers"><joint name="left_finger_slide" value="0.03"/></group_state>
  {others}
</robot>"""


def test_srdf_group_states_become_named_configurations():
    robot = GRIPPER.with_srdf_document(TEXT.format(more="", others=""))
    assert [state.name for state in robot.named_configurations] == ["home", "open"]
    home = robot.named_configurations["home"]
    assert home.joints == ("elbow",) and home.q[robot.joint("elbow").q_slice] == -1.2
    again = robot.with_srdf_document(TEXT.format(more='<joint name="wrist_roll" value="1"/>', others=""))
    assert again.named_configurations["home"].joints == ("elbow", "wrist_roll")


def test_srdf_states_of_equal_name_are_distinguished_by_their_group():
    other_state = '<group_state name="home" group="fingers"><joint name="left_finger_slide" value="0"/></group_state>'
    robot = GRIPPER.with_srdf_document(TEXT.format(more="", others=other_state))
    assert [state.name for state in robot.named_configurations] == ["arm/home", "open", "fingers/home"]


def test_srdf_values_of_locked_and_coupled_joints_are_ignored():
    more = '<joint name="right_finger_slide" value="0.01"/>'
    bound = GRIPPER.with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)}).with_locked_joints(["elbow"])
    home = bound.with_srdf_document(TEXT.format(more=more, others="")).named_configurations["home"]
    assert home.joints == () and home.q.tolist() == bound.neutral().tolist()


def test_srdf_angles_of_continuous_joints_become_sine_and_cosine():
    robot = lw.Robot.build(
        "wheel",
        lw.Joint.of(lw.joints.UnboundedRevolute((0, 0, 1)), name="spin", parent="world", child="rim"),
        lw.Link("rim", mass=1.0, inertia=(0.1, 0.1, 0.1)),
    )
    state = '<group_state name="turned" group="g"><joint name="spin" value="0.5"/></group_state>'
    turned = robot.with_srdf_document(f'<robot name="wheel">{state}</robot>').named_configurations["turned"]
    assert turned.q == pytest.approx([np.sin(0.5), np.cos(0.5)])


@pytest.mark.parametrize(
    ("more", "others_text", "code"),
    [
        ('<joint name="elbow" value="0"/>', "", "DUPLICATE_NAME"),
        ('<joint name="wrist_roll" value="one"/>', "", "NUMBER"),
        ('<joint name="wrist_roll" value="0 1"/>', "", "ARITY"),
        ('<joint name="wrist_roll" value="-1e308"/>', "", "MAGNITUDE"),
        ('<joint name="wrist_roll"/>', "", "ATTRIBUTE_MISSING"),
        ('<joint value="0"/>', "", "BAD_NAME"),
        ("", '<group_state name="home" group="arm"/>', "DUPLICATE_NAME"),
        ("", '<group_state group="arm"/>', "BAD_NAME"),
        ("", 2 * '<group_state name="away"/>', "DUPLICATE_NAME"),
    ],
)
def test_invalid_srdf_states_are_errors_with_a_line(more, others_text, code):
    with pytest.raises(ModelError, match=code) as caught:
        GRIPPER.with_srdf_document(TEXT.format(more=more, others=others_text))
    assert [issue.code for issue in caught.value.issues] == [code] and caught.value.line is not None


UNUSED = [
    ('<joint name="elbo" value="0"/>', "", "UNKNOWN_JOINT", "did you mean 'elbow'"),
    ("<link/>", "", "UNKNOWN_TAG", "<link> in <group_state>"),
    ("", '<grpup name="a"/>', "UNKNOWN_TAG", "did you mean 'group'"),
    ("", '<group name="a" nmae="b"/>', "UNKNOWN_TAG", "did you mean 'name'"),
    ("", '<disable_collisions link1="base" link2="hnad" reason="Never"/>', "UNKNOWN_LINK", "did you mean 'hand'"),
    ("", '<disable_default_collisions link="hnad"/>', "UNKNOWN_LINK", "did you mean 'hand'"),
]


@pytest.mark.light
@pytest.mark.parametrize(("more", "others_text", "code", "message"), UNUSED)
def test_unknown_content_of_an_srdf_is_a_warning_and_with_strict_an_error(more, others_text, code, message):
    text = TEXT.format(more=more, others=others_text)
    with pytest.warns(ModelWarning, match=code):
        robot = GRIPPER.with_srdf_document(text)
    (issue,) = robot.report.repairs
    assert issue.code == code and message in str(issue) and issue.where.line is not None
    assert [state.name for state in robot.named_configurations] == ["home", "open"]
    with pytest.raises(ModelError, match=code):
        GRIPPER.with_srdf_document(text, strict=True)


def test_elements_of_motion_planners_in_an_srdf_are_noted():
    gripper = '<gripper name="g" clearance="0.1"><position>0 0 0 0 0 0 1</position><link name="hand"/></gripper>'
    robot = GRIPPER.with_srdf_document(TEXT.format(more="", others=2 * gripper), strict=True)
    assert [str(issue).count("<gripper> in <robot> is ignored (2 times") for issue in robot.report.warnings].count(
        1
    ) == 1


MASS = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
BASE = f"""<robot name="box"><link name="base">{MASS}</link><link name="arm">{MASS}</link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint></robot>"""
STATE = """<robot name="box">{more}<group_state name="stand" group="all">
  <joint name="root_joint" value="0.5 -0.4 0.3 0.1 -0.7 0.1 0.7"/>
  <joint name="hinge" value="0.6"/></group_state></robot>"""
VIRTUAL = '<virtual_joint name="root_joint" type="floating" parent_frame="world" child_link="{}"/>'
BAD_VIRTUAL = VIRTUAL.format("arm")


@pytest.mark.parametrize("more", ["", VIRTUAL.format("base")])
def test_srdf_states_of_the_floating_base_equal_those_of_pinocchio(more):
    pinocchio = pytest.importorskip("pinocchio")
    model = pinocchio.buildModelFromXML(BASE, pinocchio.JointModelFreeFlyer())
    pinocchio.loadReferenceConfigurationsFromXML(model, STATE.format(more=more))
    expected = model.referenceConfigurations["stand"]
    robot = lw.Robot.from_urdf_string(BASE, floating_base=True).with_srdf_document(STATE.format(more=more))
    q = robot.named_configurations["stand"].q
    assert robot.named_configurations["stand"].joints == ("floating_base", "hinge")
    assert q[4:7].tolist() == expected[:3].tolist() and q[7] == expected[7]
    assert q[[1, 2, 3, 0]].tolist() == expected[3:7].tolist()


@pytest.mark.parametrize(
    ("floating", "more"), [(None, ""), (None, VIRTUAL.format("base")), (True, VIRTUAL.format("arm"))]
)
def test_srdf_states_of_a_base_that_the_robot_does_not_have_are_noted(floating, more):
    robot = lw.Robot.from_urdf_string(BASE, floating_base=floating)
    robot = robot.with_srdf_document(STATE.format(more=more), strict=True)
    assert robot.named_configurations["stand"].joints == ("hinge",)
    assert any("for a moving base that the robot does not have" in str(x) for x in robot.report.warnings)


def test_srdf_state_applies_to_the_floating_base_despite_a_fixed_joint_of_its_name():
    more = (
        '<link name="sole"/><joint name="floating_base" type="fixed"><parent link="arm"/><child link="sole"/></joint>'
    )
    text = BASE.replace("</robot>", f"{more}</robot>")
    robot = lw.Robot.from_urdf_string(text, floating_base=True).with_srdf_document(STATE.format(more=""))
    assert robot.named_configurations["stand"].joints == ("floating_base", "hinge")
    locked = robot.with_locked_joints({"floating_base": robot.named_configurations["stand"].q[:7]})
    assert [joint.name for joint in locked.joints] == ["hinge"]
    assert locked.pose([0.0], "base")[:3, 3].tolist() == [0.5, -0.4, 0.3]


@pytest.mark.parametrize("value", ["0.5 -0.4 0.3", f"0.5 -0.4 {np.cos(0.3)} {np.sin(0.3)}"])
def test_srdf_states_of_a_planar_base_have_an_angle_or_its_cosine_and_sine(value):
    base = lw.Joint.of(lw.joints.Planar(), name="drive", parent="world", child="base")
    robot = lw.Robot.build("box", base, lw.Link("base", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    for name in ("drive", "world_joint"):
        virtual = '<virtual_joint name="world_joint" type="planar" parent_frame="world" child_link="base"/>'
        state = f'{virtual}<group_state name="there"><joint name="{name}" value="{value}"/></group_state>'
        planar = robot.with_srdf_document(f'<robot name="box">{state}</robot>').named_configurations["there"]
        assert planar.q == pytest.approx([0.5, -0.4, 0.3], abs=1e-15)


def test_srdf_states_of_a_spherical_joint_have_the_scalar_last():
    joint = lw.Joint.of(lw.joints.Spherical(), name="ball", parent="world", child="arm")
    robot = lw.Robot.build("ball", joint, lw.Link("arm", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    state = '<group_state name="turned"><joint name="ball" value="0.1 -0.7 0.1 0.7"/></group_state>'
    turned = robot.with_srdf_document(f'<robot name="ball">{state}</robot>').named_configurations["turned"]
    assert turned.q.tolist() == [0.7, 0.1, -0.7, 0.1]


@pytest.mark.parametrize("kind", [str, Path])
def test_srdf_is_read_from_a_path(tmp_path, kind):
    path = tmp_path / "arm.srdf"
    path.write_text(TEXT.format(more="", others=""), encoding="utf-8")
    assert GRIPPER.with_srdf_document(kind(path)) == GRIPPER.with_srdf_document(path.read_text(encoding="utf-8"))
    with pytest.raises(FileNotFoundError, match="none"):
        GRIPPER.with_srdf_document(kind(tmp_path / "none.srdf"))
    path.write_text(TEXT.format(more='<joint name="elbow" value="x"/>', others=""), encoding="utf-8")
    with pytest.raises(ModelError, match=r"arm\.srdf:7"):
        GRIPPER.with_srdf_document(kind(path))
