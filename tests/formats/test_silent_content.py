"""All content of a robot file changes the robot or the report, or is refused."""

from __future__ import annotations

import linkwork as lw
from formats.silent_content import silent_content
from linkwork.formats import srdf

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

    def read(text: str) -> tuple[object, list[lw.errors.Issue]]:
        result = srdf.parse_srdf(tree, text)
        return (result.named_configurations, result.disabled_collisions, result.enabled_collisions), [
            *result.report.warnings
        ]

    assert silent_content(SRDF, read, srdf._SCHEMA, "robot") == []
