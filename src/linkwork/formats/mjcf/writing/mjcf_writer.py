"""MJCF writer: the text of a MuJoCo model of a robot, and what the format cannot say.

Each link becomes a body, with its inertia, shapes and joints; a link welded to another becomes a body without joints.
Joints with several coordinates become several hinges and slides of one body (`joint_elements`).
Source: https://mujoco.readthedocs.io/en/stable/XMLreference.html.
"""

from __future__ import annotations

from linkwork._util.messages import quoted
from linkwork.formats.description import Report
from linkwork.formats.mjcf.writing.body_elements import add_bodies
from linkwork.formats.mjcf.writing.joint_elements import FREE, mujoco_parts
from linkwork.formats.mjcf.writing.mjcf_document import MjcfDocument
from linkwork.formats.mjcf.writing.relation_elements import add_actuators, add_keyframes, add_relations
from linkwork.formats.written_content import WritingLog
from linkwork.formats.xml_text import Node, number_list_text, xml_text
from linkwork.model import WORLD, Tree

__all__ = ["mjcf_text"]


def mjcf_text(tree: Tree, *, strict: bool = False) -> tuple[str, Report]:
    """Return the text of an MJCF file of a robot, and the report of content that MJCF cannot represent.

    Raises ModelError for a robot with a joint that MuJoCo does not have; with ``strict`` also for any loss
    (NOT_WRITTEN).
    """
    log = WritingLog(tree, "MJCF", strict)
    _check_joints(tree, log)
    root = Node("mujoco", {"model": tree.name} if tree.name else {})
    root.add("compiler", angle="radian", autolimits="false", inertiafromgeom="false", fusestatic="false")
    root.add("option", gravity=number_list_text(tree.gravity))
    document = MjcfDocument(tree, root, log)
    for tag in ("asset", "worldbody"):
        root.add(tag)
    add_bodies(document)
    add_relations(document)
    add_actuators(document)
    add_keyframes(document)
    root.children = [node for node in root.children if node.children or node.attributes]
    return xml_text(root), log.report()


def _check_joints(tree: Tree, log: WritingLog) -> None:
    """Raise ModelError for joints that MuJoCo does not have."""
    for body in tree.bodies:
        parts = mujoco_parts(body.joint)
        if parts is None:
            message = f"joint {quoted(body.joint_name)}: MJCF has no joint of type {body.joint.type_name()}"
        elif parts and parts[0].kind == FREE and body.parent != WORLD:
            message = f"joint {quoted(body.joint_name)}: a free joint of MJCF connects a body to the world only"
        else:
            continue
        log.refuse(f"joint[{body.joint_name}]", message)
    log.raise_refusals()
