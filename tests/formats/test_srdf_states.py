"""States of groups in SRDF files, as named configurations."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError

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
        ('<joint name="elbo" value="0"/>', "", "UNKNOWN_JOINT"),
        ('<joint name="elbow" value="0"/>', "", "DUPLICATE_NAME"),
        ('<joint name="wrist_roll" value="one"/>', "", "NUMBER"),
        ('<joint name="wrist_roll" value="0 1"/>', "", "ARITY"),
        ('<joint name="wrist_roll" value="-1e308"/>', "", "MAGNITUDE"),
        ('<joint name="wrist_roll"/>', "", "ATTRIBUTE_MISSING"),
        ('<joint value="0"/>', "", "BAD_NAME"),
        ("<link/>", "", "UNKNOWN_ELEMENT"),
        ("", '<group_state name="home" group="arm"/>', "DUPLICATE_NAME"),
        ("", '<group_state name="away"/>', "BAD_NAME"),
    ],
)
def test_invalid_srdf_states_are_errors_with_a_line(more, others_text, code):
    with pytest.raises(ModelError, match=code) as caught:
        GRIPPER.with_srdf_document(TEXT.format(more=more, others=others_text))
    assert [issue.code for issue in caught.value.issues] == [code] and caught.value.line is not None
