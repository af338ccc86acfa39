"""All content of a robot file changes the robot or the report, or is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import linkwork as lw
from formats.sdf_content import DOCUMENTS
from formats.silent_content import described, missing_content, silent_content
from linkwork.errors import Issue
from linkwork.formats import parse_sdf, parse_urdf, srdf
from linkwork.formats.sdf import sdf_schema
from linkwork.formats.urdf import urdf_reader, urdf_schema

SRDF = (
    """<robot name="arm7_gripper" version="1.0">
  <group name="arm"><link name="base"/><joint name="elbow"/><chain base_link="base" tip_link="hand"/>
    <group name="hand"/></group>
  <end_effector name="tool" parent_link="hand" group="hand" parent_group="arm"/>
  <virtual_joint name="world_joint" type="fixed" parent_frame="world" child_link="base"/>
  <passive_joint name="elbow"/>
  <joint_property joint_name="elbow" property_name="angular_distance_weight" value="3"/>
  <link_sphere_approximation link="base"><sphere center="0 0 1" radius="0.5"/></link_sphere_approximation>
  <disable_collisions link1="base" link2="tool" reason="Never"/>
  <disable_default_collisions link="forearm_proximal"/>
  <group_state name="home" group="arm"><joint name="world_joint" value="0.5"/></group_state>
</robot>""",
    """<robot name="arm7_gripper">
  <disable_collisions link1="base" link2="wrist" reason="Never"/>
  <enable_collisions link1="hand" link2="left_finger" reason="User"/>
  <disable_default_collisions link="tool"/>
  <group_state name="home" group="arm"><joint name="elbow" value="-1.2"/></group_state>
  <group_state name="x" group="arm"><joint name="elbow" value="-1.2"/></group_state>
  <group_state name="x" group="hand"><joint name="right_finger_slide" value="0.01"/></group_state>
</robot>""",
)


def test_no_content_of_an_srdf_is_silent() -> None:
    tree = lw.load("arm7_gripper").with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)}).tree

    def read(text: str) -> tuple[object, Sequence[Issue]]:
        result = srdf.parse_srdf(tree, text)
        return (result.named_configurations, result.disabled_collisions, result.enabled_collisions), [
            *result.report.warnings
        ]

    assert missing_content(SRDF, srdf._SCHEMA, "robot") == []
    for text in SRDF:
        assert silent_content(text, read, srdf._SCHEMA, "robot") == [], text


LINKS = """<link name="base">
  <visual name="v"><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry><box size="1 2 3"/></geometry>
  <material name="red"/></visual>
  <visual><geometry><cylinder radius="1" length="2"/></geometry><material name="own"><color rgba="0.1 0.2 0.3 0.4"/>
    <texture filename="a.png"/></material></visual>
  <collision name="c"><origin xyz="1 2 3" quat_xyzw="0.5 0.5 0.5 0.5"/><geometry>
    <capsule radius="1" length="2"/></geometry></collision>
  <collision><geometry><sphere radius="1"/></geometry></collision>
  <collision><geometry><mesh filename="a.stl" scale="1 2 3"/></geometry></collision>
  <inertial><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><mass value="2"/>
    <inertia ixx="1" ixy="0.01" ixz="0.02" iyy="1.1" iyz="0.03" izz="1.2"/></inertial></link>
  <material name="red"><color rgba="0.1 0.2 0.3 0.4"/></material>"""
BODY = """<axis xyz="1 2 3"/>
  <limit lower="-1" upper="2" effort="3" velocity="4" acceleration="5" deceleration="6" jerk="7"/>
  <dynamics damping="1" friction="2" spring_stiffness="3" spring_reference="0.5" armature="0.25"/>"""
ORIGIN, POSE = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>', 'xyz="1 2 3" quat_xyzw="0.5 0.5 0.5 0.5"'
TREE = """<link name="tip"/><link name="other"/>
  <joint name="lead" type="prismatic"><parent link="base"/><child link="other"/>
  <limit lower="-1" upper="1" effort="1" velocity="2"/></joint>"""


def urdf(*content: str) -> str:
    base = "" if any("<link " in text for text in content) else '<link name="base"/>'
    return f'<robot name="r" version="1.2">{base}{"".join(content)}{TREE}</robot>'


def urdf_joint(kind: str) -> str:
    return f"""<joint name="j" type="{kind}">{ORIGIN}<parent link="base"/><child link="tip"/>{BODY}
      <mimic joint="lead" multiplier="2" offset="0.5"/></joint>"""


def urdf_loops(kind: str) -> str:
    return f"""<joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint>
      <loop_joint name="l" type="{kind}"><link1 link="tip" {POSE}/><link2 link="other">{ORIGIN}</link2>
      {BODY}</loop_joint>
      <loop name="m" type="{kind}"><predecessor link="tip">{ORIGIN}</predecessor><successor link="other">{ORIGIN}
      </successor>{BODY}</loop>"""


URDF = [
    urdf(LINKS, urdf_joint("revolute")),
    *(urdf(urdf_joint(kind)) for kind in ("continuous", "prismatic", "fixed", "floating", "planar")),
    *map(urdf, map(urdf_loops, urdf_reader.LOOP_TYPES)),
    urdf(
        f"""<joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint>
      <loop_joint name="l" type="fixed"><link1 link="tip"><origin xyz="1 2 3"/></link1>
        <link2 link="other" xyz="1 2 3" rpy="0.1 0.2 0.3"/></loop_joint>
      <loop_joint name="n" type="fixed"><link1 link="tip" xyz="1 2 3" rpy="0 1 0"/><link2 link="other" {POSE}/>
      </loop_joint>"""
    ),
]


@pytest.mark.slow(every=3)
def test_no_content_of_a_urdf_is_silent(drawn: Any) -> None:
    def read(text: str) -> tuple[object, Sequence[Issue]]:
        description = parse_urdf(text)
        return described(replace(description, warnings=())), description.warnings

    assert missing_content(URDF, urdf_schema._SCHEMA, "robot") == []
    for text in drawn(URDF):
        assert silent_content(text, read, urdf_schema._SCHEMA, "robot") == [], text


@pytest.mark.slow(every=9)
def test_no_content_of_an_sdf_is_silent(drawn: Any) -> None:
    def read(text: str) -> tuple[object, Sequence[Issue]]:
        description = parse_sdf(text, package_dirs=Path(__file__).parent / "sdf" / "models")
        return described(replace(description, warnings=())), description.warnings

    labels = {"sdf/world@name='w_other'", "sdf/model/include/name='p_other'"}  # of one model's world, of a merged model
    assert missing_content(DOCUMENTS, sdf_schema._SCHEMA, "sdf") == []
    for text in drawn(DOCUMENTS):
        assert set(silent_content(text, read, sdf_schema._SCHEMA, "sdf")) <= labels, text
