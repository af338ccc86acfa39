"""MJCF document under construction, and poses and quaternions as its attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from linkwork.formats.mjcf.writing.joint_elements import Part
from linkwork.formats.unique_names import Names
from linkwork.formats.written_content import WritingLog
from linkwork.formats.xml_text import Node, number_list_text
from linkwork.model import WORLD, Body, Tree
from linkwork.spatial import Pose, Quaternion, Rotation

__all__ = ["MjcfDocument", "between", "bounds", "placed", "quaternion_text"]


_FAR = 1e10  # stands for a bound that a range does not have


@dataclass(slots=True)
class MjcfDocument:
    """A document under construction: its elements by link, the joints in MuJoCo's order, and the log of losses."""

    tree: Tree
    root: Node
    log: WritingLog
    links: dict[str, Node] = field(default_factory=dict)  # the <body> of each link
    joints: list[tuple[Body, tuple[str, ...], list[Part]]] = field(default_factory=list)  # in the order of qpos
    sites: Names = field(default_factory=Names)
    tendons: Names = field(default_factory=Names)
    equalities: Names = field(default_factory=Names)

    def section(self, tag: str) -> Node:
        """Return the document's element of a section, such as <actuator>, which is added if it does not exist yet."""
        section = next((node for node in self.root.children if node.tag == tag), None)
        return self.root.add(tag) if section is None else section

    def pose_in_link(self, frame: str) -> tuple[str, Pose]:
        """Return the link of a frame, or "world", and the frame's pose in that link."""
        named = link = self.tree.frame(frame)
        while link.name not in self.links and link.welded_to is not None:
            link = self.tree.frame(link.welded_to)
        if link.name in self.links:
            return link.name, between(link.placement, named.placement)
        return ("world" if named.body == WORLD else self.tree.bodies[named.body].name), named.placement

    def site(self, name: str, frame: str, pose: Pose) -> str:
        """Add a site at a pose in a frame, and return its name, which is ``name`` or a name like it.

        A frame that is a site already is returned if the pose is the identity.
        """
        if frame in self.sites.taken and pose.is_identity:
            return frame
        unique = self.sites.new(name)
        link, X = self.pose_in_link(frame)
        node = self.links.get(link, self.section("worldbody"))
        node.add("site", name=unique, **placed(X @ pose if not pose.is_identity else X))
        return unique


def between(X_a: Pose, X_b: Pose) -> Pose:
    """Return X_ab; X_b itself if X_a is the identity."""
    return X_b if X_a.is_identity else X_a.inv() @ X_b


def placed(X: Pose) -> dict[str, str]:
    """Return the attributes pos and quat of a pose, without those of the identity."""
    result = {}
    if any(X.translation):
        result["pos"] = number_list_text(X.translation)
    if X.rotation != Rotation.identity():
        result["quat"] = quaternion_text(X.rotation)
    return result


def bounds(log: WritingLog, element: str, prefix: str, low: float, high: float) -> dict[str, str]:
    """Return the attributes of a range, such as ``ctrllimited`` and ``ctrlrange``; none if it has no finite bound.

    MuJoCo needs two finite bounds, of which the lower is below the upper.
    """
    if math.isinf(low) and math.isinf(high):
        return {}
    if math.isinf(low) or math.isinf(high):
        far = max(_FAR, 10.0 * min(abs(low), abs(high)))
        log.changed(element, f"a range with one bound has the other at {far:g}")
        low, high = max(low, -far), min(high, far)
    if low == high:
        log.changed(element, f"a range with equal bounds ({low:g}) has the upper one at the next number")
        high = math.nextafter(high, math.inf)
    return {f"{prefix}limited": "true", f"{prefix}range": number_list_text((low, high))}


def quaternion_text(rotation: Rotation) -> str:
    """Return the quaternion (w, x, y, z) of a rotation as text."""
    return number_list_text(Quaternion.of(rotation).elements())
