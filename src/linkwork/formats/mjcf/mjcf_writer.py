"""MJCF writer: the text of a MuJoCo model of a robot, and what the format cannot say.

Each link becomes a body, with its inertia, shapes and joints; a link welded to another becomes a body without joints.
Joints with several coordinates become several hinges and slides of one body (`joint_elements`).
Source: https://mujoco.readthedocs.io/en/stable/XMLreference.html.
"""

from __future__ import annotations

from linkwork._util.messages import quoted
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats.mjcf.body_elements import add_bodies
from linkwork.formats.mjcf.joint_elements import FREE, mujoco_parts
from linkwork.formats.mjcf.mjcf_document import MjcfDocument
from linkwork.formats.mjcf.relation_elements import add_actuators, add_keyframes, add_relations
from linkwork.formats.xml_text import Node, numbers_text, xml_text
from linkwork.model.body import WORLD
from linkwork.model.tree import Report, Tree

__all__ = ["mjcf_text"]


def mjcf_text(tree: Tree, *, strict: bool = False) -> tuple[str, Report]:
    """Return the text of an MJCF file of a robot, and the report of what it does not state.

    Raises ModelError for a robot with a joint that MuJoCo does not have; with ``strict`` also if anything else is not
    stated (NOT_WRITTEN).
    """
    root = Node("mujoco", {"model": tree.name} if tree.name else {})
    root.add("compiler", angle="radian", autolimits="false", inertiafromgeom="false", fusestatic="false")
    root.add("option", gravity=numbers_text(tree.gravity))
    document = MjcfDocument(tree, root)
    for tag in ("asset", "worldbody"):
        root.add(tag)
    _check_joints(tree)
    add_bodies(document)
    add_relations(document)
    add_actuators(document)
    add_keyframes(document)
    root.children = [node for node in root.children if node.children or node.attributes]
    if strict and document.losses:
        raise ModelError(document.losses[:20])
    return xml_text(root), Report(document.losses)


def _check_joints(tree: Tree) -> None:
    """Raise ModelError for joints that MuJoCo does not have."""
    issues = []
    for body in tree.bodies:
        parts = mujoco_parts(body.joint)
        message = ""
        if parts is None:
            message = f"joint {quoted(body.joint_name)}: MJCF has no joint of type {body.joint.type_name()}"
        elif parts[0].kind == FREE and body.parent != WORLD:
            message = f"joint {quoted(body.joint_name)}: a free joint of MJCF connects a body to the world only"
        if message:
            where = Location(element=f"joint[{body.joint_name}]")
            hint = "replace the joint, or save the robot with robot.save(path)"
            issues.append(Issue("NOT_WRITTEN", message, where, hint))
    if issues:
        raise ModelError(issues[:20])
