"""Elements of joints and loops in a written URDF."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from linkwork._util.messages import listed
from linkwork.constraints import LoopJoint
from linkwork.formats.simple_joints import own_ends
from linkwork.formats.written_content import WritingLog, rotation_error, rpy_of
from linkwork.formats.xml_text import Node, number_list_text, number_text
from linkwork.joints import Fixed, Planar, Prismatic, Revolute, Spherical, UnboundedRevolute
from linkwork.model.body import FRICTION_VELOCITY, Drive
from linkwork.model.description import JointDescription
from linkwork.spatial import Pose, Rotation

__all__ = ["NO_BOUND", "JointElements", "add_origin", "has_loop_joint"]

NO_BOUND = sys.float_info.max  # stands for a bound that does not exist, as in files of many exporters
_ORTHONORMAL = 1e-14
_LOOPS = {Revolute: "revolute", Prismatic: "prismatic", Planar: "planar", Spherical: "spherical", Fixed: "fixed"}


def add_origin(log: WritingLog, node: Node, pose: Pose, element: str, tag: str | None = "origin") -> None:
    """Add the pose of an element as its child ``<origin>``, or as attributes of the element itself."""
    if pose.is_identity:
        return
    angles = rpy_of(pose.rotation)
    if rotation_error(Rotation.from_rpy(*angles), pose.rotation) > _ORTHONORMAL:
        log.lost(element, "the rotation is not orthonormal: the angles of a nearby rotation are written")
    attributes = {"xyz": number_list_text(pose.translation)} if any(pose.translation) else {}
    attributes |= {"rpy": number_list_text(angles)} if any(angles) else {}
    if tag is None:
        node.attributes |= attributes
    else:
        node.add(tag, **attributes)


def has_loop_joint(loop: LoopJoint) -> bool:
    """Return True for a loop whose joint type `<loop_joint>` supports."""
    kind = loop.joint
    if isinstance(kind, (Spherical, Planar)):
        return kind == (Planar.across(kind.normal) if isinstance(kind, Planar) else Spherical())
    return type(kind) in _LOOPS


class JointElements:
    """Writer of joints and loop joints as URDF.

    ``has_sines`` is True for a robot with angles stored as sine and cosine; its file has no other continuous joints.
    ``version`` is the version of URDF that the joints need; "" for 1.0.
    """

    def __init__(self, log: WritingLog, has_sines: bool) -> None:
        self.log, self.has_sines = log, has_sines
        self.version = ""

    def add_joint(self, root: Node, joint: JointDescription) -> None:
        """Write a joint."""
        element, kind = f"joint[{joint.name}]", joint.joint
        node = root.add("joint", name=joint.name, type=self._type(element, joint))
        add_origin(self.log, node, joint.placement, element)
        node.add("parent", link=joint.parent)
        node.add("child", link=joint.child)
        axis = kind.normal if isinstance(kind, Planar) else getattr(kind, "axis", None)
        if axis is not None and tuple(axis) != (1.0, 0.0, 0.0):
            node.add("axis", xyz=number_list_text(axis))
        self._limit(node, element, joint)
        self._dynamics(node, element, joint)
        if joint.mimic is not None:
            ratio, offset = joint.mimic.ratio, joint.mimic.offset
            more = {"multiplier": number_text(ratio)} if ratio != 1.0 else {}
            more |= {"offset": number_text(offset)} if offset != 0.0 else {}
            node.add("mimic", joint=joint.mimic.joint, **more)

    def _type(self, element: str, joint: JointDescription) -> str:
        kind = joint.joint
        if isinstance(kind, UnboundedRevolute):
            hint = 'load the file with continuous="sincos"'
            self.log.changed(element, "the sine and cosine in q are not written: the joint is continuous", hint)
            return "continuous"
        if isinstance(kind, Revolute):
            is_bounded = any(map(math.isfinite, (*joint.limits.positions[0], *joint.limits.positions[1])))
            return "revolute" if is_bounded or self.has_sines else "continuous"
        return type(kind).__name__.lower()

    def _limit(self, node: Node, element: str, joint: JointDescription) -> None:
        limits, kind = joint.limits, joint.joint
        if kind.nv != 1 or isinstance(kind, UnboundedRevolute):
            rates = (*limits.velocity, *limits.effort, *limits.acceleration, *limits.jerk)
            bounds = (*limits.lower, *limits.upper) + (() if kind.nv == 1 else rates)
            if any(map(math.isfinite, bounds)):
                self.log.lost(element, f"the limits of a {kind.type_name()} joint are not written")
        elif not limits.enabled and any(map(math.isfinite, (*limits.lower, *limits.upper))):
            self.log.lost(element, "bounds without effect are not written")
        if kind.nv != 1:
            return
        attributes = {"effort": _bound(limits.effort[0]), "velocity": _bound(limits.velocity[0])}
        for key, values in (("acceleration", limits.acceleration), ("jerk", limits.jerk)):
            if any(map(math.isfinite, values)):
                attributes[key], self.version = number_text(values[0]), "1.2"
        if node.attributes["type"] != "continuous":
            (lower,), (upper,) = limits.positions
            node.add("limit", lower=_bound(lower), upper=_bound(upper), **attributes)
        elif len(attributes) > 2 or any(map(math.isfinite, (*limits.effort, *limits.velocity))):
            node.add("limit", **attributes)

    def _dynamics(self, node: Node, element: str, joint: JointDescription) -> None:
        drive, kind = joint.drive, joint.joint
        resists = any(joint.damping) or any(joint.friction)
        if kind.nv != 1:
            if resists or drive != Drive():
                self.log.lost(element, f"damping, friction and drive of a {kind.type_name()} joint are not written")
            return
        if joint.dynamics == "none" and resists:
            self.log.lost(element, "damping and friction without effect are not written")
        values = {} if joint.dynamics == "none" else {"damping": joint.damping[0], "friction": joint.friction[0]}
        if drive.static_friction not in ((), joint.friction):
            self.log.lost(element, "the static friction is not written")
        if drive.friction_velocity not in ((), (FRICTION_VELOCITY,)):
            self.log.lost(element, "the velocity scale of the law of friction is not written")
        spring_position = kind.difference(kind.zero(), drive.rest)[0] if drive.rest else 0.0
        for key, numbers_of_joint in (("armature", drive.armature), ("spring_stiffness", drive.stiffness)):
            values[key] = numbers_of_joint[0] if numbers_of_joint else 0.0
        values["spring_reference"] = float(spring_position)
        stated = {key: number_text(value) for key, value in values.items() if value != 0.0}
        if stated:  # urdfdom requires damping or friction
            node.add("dynamics", **({"damping": "0"} | stated))

    def add_loop(self, root: Node, loop: LoopJoint, ends: Sequence[tuple[str, Pose]]) -> None:
        """Write a loop joint between two links; ``ends`` has the name of each link and the joint's pose on it."""
        kind, element = loop.joint, f"loop_joint[{loop.name}]"
        node = root.add("loop_joint", name=loop.name, type=_LOOPS[type(kind)])
        for tag, (link, pose) in zip(("link1", "link2"), ends, strict=True):
            add_origin(self.log, node.add(tag, link=link), pose, element, tag=None)
        axis = kind.normal if isinstance(kind, Planar) else getattr(kind, "axis", None)
        if axis is not None:
            node.add("axis", xyz=number_list_text(axis))
        limits = {
            key: number_text(values[0])
            for key, values in (
                ("lower", loop.lower),
                ("upper", loop.upper),
                ("velocity", loop.velocity_bound),
                ("effort", loop.effort),
            )
            if values and math.isfinite(values[0])
        }
        resists = {
            key: number_text(values[0])
            for key, values in (
                ("damping", loop.damping),
                ("friction", loop.friction),
                ("spring_stiffness", loop.stiffness),
                ("spring_reference", loop.rest),
            )
            if values and values[0] != 0.0
        }
        lost = [*loop.static_friction, *loop.friction_velocity]
        if lost or (kind.nv != 1 and (limits or resists)):
            self.log.lost(element, "its static friction and, with several coordinates, its limits are not written")
        for tag, values in (("limit", limits), ("dynamics", resists)):
            if values and kind.nv == 1:
                node.add(tag, **values)
        frames = f", nor its frames {listed(sorted(names))}" if (names := own_ends(loop)) else ""
        self.log.changed(element, f"the loop is written as <loop_joint>, which few readers know{frames}")


def _bound(value: float) -> str:
    return number_text(math.copysign(NO_BOUND, value) if math.isinf(value) else value)
