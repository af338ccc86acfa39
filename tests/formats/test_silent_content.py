"""All content of a robot file changes the robot or the report, or is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import linkwork as lw
from formats.element_tables import PAGE, disagreements, page, read
from formats.sdf_content import DOCUMENTS
from formats.silent_content import content_outcomes, described, missing_content
from linkwork.errors import Issue
from linkwork.formats import parse_sdf, parse_urdf, srdf
from linkwork.formats.sdf import sdf_schema
from linkwork.formats.unused_content import Kind
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
  <rotor_params><joint name="elbow" mass="1.5e-4" gear_ratio="50"/></rotor_params>
</robot>""",
    """<robot name="arm7_gripper">
  <group_state name="x" group="arm"><joint name="elbow" value="-1.2"/></group_state>
  <group_state name="x" group="hand"><joint name="right_finger_slide" value="0.01"/></group_state>
</robot>""",
)


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


LABELS = {"sdf/world@name='w_other'", "sdf/model/include/name='p_other'"}  # of one model's world, of a merged model
Documents = Callable[[Sequence[str]], Iterable[str]]


def srdf_read(text: str) -> tuple[object, Sequence[Issue]]:
    tree = lw.load("arm7_gripper").with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)}).tree
    result = srdf.parse_srdf(tree, text)
    drives = [body.drive for body in result.bodies]
    content = result.named_configurations, result.disabled_collisions, result.enabled_collisions, drives
    return content, result.report.warnings


def urdf_read(text: str) -> tuple[object, Sequence[Issue]]:
    description = parse_urdf(text)
    return described(replace(description, warnings=())), description.warnings


def sdf_read(text: str) -> tuple[object, Sequence[Issue]]:
    description = parse_sdf(text, package_dirs=Path(__file__).parent / "sdf" / "models")
    return described(replace(description, warnings=())), description.warnings


FORMATS: dict[str, tuple[Any, Sequence[str], Mapping[str, Kind], str]] = {
    "srdf": (srdf_read, SRDF, srdf._SCHEMA, "robot"),
    "urdf": (urdf_read, URDF, urdf_schema._SCHEMA, "robot"),
    "sdf": (sdf_read, DOCUMENTS, sdf_schema._SCHEMA, "sdf"),
}


def cases(name: str, drawn: Documents = iter) -> Iterator[tuple[str, str, str]]:
    """Yield elements and attributes of a format, and the outcome of a change; "silent ..." tells the change."""
    read, documents, schema, root = FORMATS[name]
    for text in drawn(documents):
        for kind, item, change, outcome in content_outcomes(text, read, schema, root, NAMES.get(name, ())):
            known = schema.get(kind, Kind())
            is_read = item.lstrip("@") in {*known.attributes, *known.once, *known.many}
            outcome = "label" if outcome == "silent" and change in LABELS else outcome
            outcome = "taken" if outcome == "refused" and is_read else outcome  # another value is an error
            if "unknown" not in item:
                yield kind, item, outcome if outcome != "silent" else f"silent: {change}"
            elif outcome == "silent":
                yield kind, item, f"silent: {change}"


NAMES = {"srdf": ("forearm_distal", "left_finger", "wrist_flex")}  # links and a joint of the robot
CASES = {name: partial(cases, name) for name in FORMATS}


@pytest.mark.slow(every=5)
@pytest.mark.parametrize(
    "name",
    [
        "srdf",
        pytest.param("urdf", marks=pytest.mark.slow(every=3)),
        pytest.param("sdf", marks=pytest.mark.slow(every=9)),
    ],
)
def test_all_content_of_xml_robot_files_is_read_or_reported(name: str, drawn: Any) -> None:
    _, documents, schema, root = FORMATS[name]
    assert missing_content(documents, schema, root) == []
    rows = [*cases(name, drawn)]
    assert [outcome for _, _, outcome in rows if outcome.startswith("silent")] == []
    assert disagreements(name, rows) == []


def test_page_of_file_elements_shows_the_recorded_outcomes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read())
