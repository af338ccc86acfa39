"""Errors of one file come together: those of values beside those of names, without errors that follow from others."""

from __future__ import annotations

import pytest

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.formats import parse_loops, parse_sdf

LIMIT = '<limit lower="0" upper="1" effort="1" velocity="1"/>'
MOMENTS = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
URDF = f"""<robot name="r">
<link name="base"/>
<link name="arm"><inertial><mass value="-1"/>{MOMENTS}</inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="amr"/><axis xyz="0 0 0"/>{LIMIT}</joint>
<joint name="k" type="fixed"><parent link="base"/><child link="hand"/></joint>
<joint name="m" type="fixed"><parent link="base"/></joint>
<joint name="n" type="continuous"><parent link="base"/><child link="arm"/><mimic joint="zz"/></joint>
</robot>"""
SDF = """<sdf version="1.11"><model name="r">
<link name="base"/>
<link name="arm"><inertial><mass>-1</mass></inertial></link>
<joint name="j" type="revolute"><parent>base</parent><child>amr</child><axis><xyz>0 0 0</xyz></axis></joint>
<joint name="k" type="fixed"><parent>bas</parent><child>arm</child></joint>
<frame name="f" attached_to="nope"><pose>1 2 x 0 0 0</pose></frame>
<joint name="u" type="universal"><pose relative_to="f"/><parent>base</parent><child>arm</child>
<axis><xyz expressed_in="f">0 1 0</xyz></axis><axis2><xyz expressed_in="base">0 1 0</xyz></axis2></joint>
</model></sdf>"""


def errors(read, text):
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        read(text)
    return {(issue.code, issue.where.line) for issue in caught.value.issues}


@pytest.mark.light
def test_errors_of_values_and_of_names_in_a_urdf_come_together():
    expected = {("MASS_NEGATIVE", 3), ("AXIS_ZERO", 4), ("UNKNOWN_LINK", 4), ("UNKNOWN_LINK", 5)}
    expected |= {("ELEMENT_MISSING", 6), ("MIMIC_UNKNOWN", 7)}
    assert errors(lw.Robot.from_urdf_string, URDF) == expected  # not one of the child "" of line 6
    unnamed = URDF.replace('<link name="base"/>', '<link nam="base"/>')  # whose name other lines may mean
    expected = {x for x in expected if x[0] != "UNKNOWN_LINK"} | {("BAD_NAME", 2)}
    assert errors(lw.Robot.from_urdf_string, unnamed) == expected
    loop = '<loop_joint name="l" type="fixed"><link1 link="base"/><link2 link="none" xyz="0 0 a"/></loop_joint></robot>'
    assert errors(lw.Robot.from_urdf_string, URDF.replace("</robot>", loop)) >= {("NUMBER", 8), ("UNKNOWN_LINK", 8)}


@pytest.mark.light
def test_structural_errors_of_a_urdf_alone_are_as_before_and_correct_files_have_none():
    correct = (
        URDF.replace("-1", "1").replace("amr", "arm").replace("0 0 0", "0 0 1").replace('link="hand"', 'link="tip"')
    )
    correct = correct.replace('<joint name="m" type="fixed"><parent link="base"/></joint>', '<link name="tip"/>')
    two_parents = correct.replace('<mimic joint="zz"/>', "")
    assert errors(lw.Robot.from_urdf_string, two_parents) == {("TWO_PARENTS", 7)}
    both = two_parents.replace('mass value="1"', 'mass value="-1"')
    assert errors(lw.Robot.from_urdf_string, both) == {("MASS_NEGATIVE", 3), ("TWO_PARENTS", 7)}
    tree = two_parents.replace(
        '<parent link="base"/><child link="arm"/></joint>', '<parent link="tip"/><child link="end"/></joint>'
    )
    assert lw.Robot.from_urdf_string(tree.replace("</robot>", '<link name="end"/></robot>')).nq == 2


@pytest.mark.light
def test_errors_of_values_and_of_names_in_an_sdf_come_together():
    expected = {("NUMBER", 6), ("UNKNOWN_FRAME", 6), ("MASS_NEGATIVE", 3), ("AXIS_ZERO", 4)}
    expected |= {("UNKNOWN_LINK", 4), ("UNKNOWN_LINK", 5)}
    assert errors(parse_sdf, SDF) == expected  # not that the axes of the joint u are parallel, whose frame is unknown
    with_frame = SDF.replace('attached_to="nope"><pose>1 2 x 0 0 0</pose>', ">")
    assert errors(parse_sdf, with_frame) == {x for x in expected if x[1] != 6}


LOOPS = """{"version": 1,
 "frames": [{"name": "b", "on": "base", "placement": {"xyz": [0, 0, 1]}}],
 "loops": [{"name": "l", "type": "revolut", "frame": "a", "other": "b"},
  {"name": "k", "type": "fixed", "frame": "a", "other": "b"}],
 "actuators": [{"name": "m", "kind": "motor", "joint": "nope"}, {"name": "n"}]
}"""


@pytest.mark.light
def test_errors_of_values_and_of_names_in_a_loops_file_come_together(tmp_path):
    robot = lw.load("double_pendulum")
    expected = {("JOINT_TYPE", 3), ("UNKNOWN_FRAME", 4), ("UNKNOWN_JOINT", 5), ("KEY_MISSING", 5)}
    assert errors(robot.with_loops_document, LOOPS) == expected  # not the unknown frame of the loop on line 3
    path = tmp_path / "loops.json"
    path.write_text(LOOPS)
    assert errors(lambda file: lw.load("double_pendulum", loops=file), path) == expected
    without_frame = LOOPS.replace("[0, 0, 1]", '"x"')  # whose name other lines may mean
    assert errors(robot.with_loops_document, without_frame) == {("DATA_TYPE", 2), ("JOINT_TYPE", 3), ("KEY_MISSING", 5)}
    assert errors(parse_loops, LOOPS) == {("JOINT_TYPE", 3), ("KEY_MISSING", 5)}  # without a robot
