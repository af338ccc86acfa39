"""Joints in a written SDF file: types and axes, joints that close loops, and frames."""

from __future__ import annotations

import math
from collections.abc import Mapping

from linkwork.constraints import LoopJoint
from linkwork.formats.sdf.sdf_elements import NO_LIMIT
from linkwork.formats.sdf.sdf_link_contents import add_pose
from linkwork.formats.simple_joints import IMMOBILE, immobile, own_ends
from linkwork.formats.tree_description import WORLD_LINK, DescribedTree
from linkwork.formats.written_content import WritingLog
from linkwork.formats.xml_text import Node, number_list_text, number_text
from linkwork.joints import (
    Fixed,
    Helical,
    JointType,
    Prismatic,
    Revolute,
    Spherical,
    SphericalMRP,
    UnboundedRevolute,
    Universal,
)
from linkwork.model import WORLD, Frame, Tree
from linkwork.spatial import Pose, Vec3

__all__ = ["ROOT", "LoopWriter", "add_axes", "type_of"]

ROOT = "__model__"  # the frame of the model, which is the world's
_CLOSED = 1e-9  # largest distance of the ends of a loop at zero that counts as rounding [m, rad]


_RIGHT_ANGLE = 1e-9  # largest cosine between axes at a right angle


def add_axes(
    log: WritingLog, node: Node, element: str, kind: JointType, values: Mapping[str, tuple[float, ...]]
) -> None:
    """Add the axes of a joint with their limits and dynamics; SDF has no element for those of a ball joint."""
    axes = _axes_of(kind)
    no_limits = {"lower": -math.inf, "upper": math.inf, "velocity": math.inf, "effort": math.inf}
    if isinstance(kind, UnboundedRevolute):
        if any(map(math.isfinite, (*values["lower"], *values["upper"]))):
            log.lost(element, "bounds of the sine and cosine of an angle are not written")
        values = {**values, "lower": (-math.inf,), "upper": (math.inf,)}
    if not axes:
        if any(x != no_limits.get(key, 0.0) for key, elements in values.items() for x in elements):
            log.lost(element, f"limits, damping, friction and springs of a {type_of(kind)} joint are lost")
        return
    if isinstance(kind, Universal) and abs(kind.first.dot(kind.second)) > _RIGHT_ANGLE:
        log.changed(element, "the axes of a universal joint are at no right angle, which some readers refuse")
    if isinstance(kind, Helical):
        node.add("screw_thread_pitch", number_text(kind.pitch * (2.0 * math.pi)))
    for k, axis in enumerate(axes):
        child = node.add("axis" if k == 0 else "axis2")
        child.add("xyz", number_list_text(axis))
        limit, dynamics = Node("limit"), Node("dynamics")
        for key, elements in values.items():
            if key in no_limits and NO_LIMIT <= abs(elements[k]) < math.inf:
                log.changed(element, f"a bound of {NO_LIMIT:g} or more is none in SDF")
            if elements[k] != no_limits.get(key, 0.0):
                (limit if key in no_limits else dynamics).add(key, number_text(elements[k]))
        child.children += [part for part in (limit, dynamics) if part.children]


def type_of(kind: JointType) -> str:
    """Return the SDF type of a joint, such as "revolute"."""
    return _TYPES[type(kind)]


def _axes_of(kind: JointType) -> tuple[Vec3, ...]:
    match kind:
        case Universal():
            return kind.first, kind.second
        case Revolute() | UnboundedRevolute() | Prismatic() | Helical():
            return (kind.axis,)
    return ()


_TYPES: dict[type[JointType], str] = {
    Fixed: "fixed",
    Revolute: "revolute",
    UnboundedRevolute: "continuous",
    Prismatic: "prismatic",
    Spherical: "ball",
    Universal: "universal",
    Helical: "screw",
}


class LoopWriter:
    """Writer of the loop joints of one robot.

    ``links`` and ``joints`` map the robot's names to those in the file. ``written`` has the links that each written
    loop connects.
    """

    def __init__(
        self, tree: Tree, described: DescribedTree, log: WritingLog, links: Mapping[str, str], joints: Mapping[str, str]
    ) -> None:
        self.tree, self.described, self.log, self.links, self.joints = tree, described, log, links, joints
        self.written: dict[str, tuple[str, str]] = {}
        self.reported: set[str] = set()  # loops that the report names
        self.exchanged: set[str] = set()  # loops whose ends are exchanged in the file

    def add(self, model: Node, loop: LoopJoint) -> None:
        """Write a loop joint as a <joint>, or report why SDF cannot represent it."""
        kind, element = loop.joint, f"joint[{loop.name}]"
        if loop in immobile(self.tree):
            self._lost(loop, IMMOBILE)
            return
        (parent, parent_pose), (child, pose) = self.carrier(loop.relative_to), self.carrier(loop.frame)
        is_ball, swapped = type(kind) in (Spherical, SphericalMRP), False
        if child == ROOT:  # SDF has no joint whose child is the world: its ends are exchanged
            (parent, child), pose, swapped = (child, parent), parent_pose, isinstance(kind, Universal)
            if isinstance(kind, Universal):  # X⁻¹ = R(−a₂, q₂) R(−a₁, q₁): the coordinates change places
                kind = Universal(-kind.second, -kind.first, right_angle=kind.right_angle)
            elif not is_ball:
                kind = kind.reversed()
        if type(kind) not in (Fixed, Revolute, Prismatic, Universal, Helical) and not is_ball:
            return
        if self._gap(loop) > _CLOSED:
            self._lost(loop, "the loop is not written: it is open where q is zero, and SDF needs it closed there")
            return
        if parent == ROOT == self.carrier(loop.frame)[0]:
            inverse = ", and with the inverse rotation as its coordinates" if is_ball else ""
            inverse = ", and with its coordinates in the other order" if swapped else inverse
            self.log.changed(element, f"the loop is written with its ends exchanged, the world first{inverse}")
            self.exchanged.add(loop.name)
        if is_ball:
            if kind != Spherical():
                self.log.changed(element, "a ball joint is written with a quaternion, its scalar first")
            kind = Spherical()
        self.written[loop.name] = ("world" if parent == ROOT else parent), child
        if loop.frame != f"{loop.name}_M" or loop.relative_to != f"{loop.name}_F":
            message = "the loop is written as a joint between links, and its frames are read with names of the loop"
            self.log.changed(f"constraint[{loop.name}]", message)
        node = model.add("joint", name=self.joints[loop.name], type=type_of(kind))
        add_pose(node, pose, child)
        node.add("parent", self.written[loop.name][0])
        node.add("child", child)
        nq, nv = kind.nq, kind.nv
        values = {
            "lower": loop.lower or (-math.inf,) * nq,
            "upper": loop.upper or (math.inf,) * nq,
            "velocity": loop.velocity_bound or (math.inf,) * nv,
            "effort": loop.effort or (math.inf,) * nv,
            "damping": loop.damping or (0.0,) * nv,
            "friction": loop.friction or (0.0,) * nv,
            "spring_stiffness": loop.stiffness or (0.0,) * nv,
            "spring_reference": loop.rest or (0.0,) * nv,
        }
        if swapped:
            values = {name: value[::-1] for name, value in values.items()}
        add_axes(self.log, node, element, kind, values)
        if loop.static_friction or loop.friction_velocity:
            self.log.lost(element, "its static friction is not written")

    def own_ends(self, carried: Mapping[str, str]) -> set[str]:
        """Return the frames that linkwork's reader adds for loops; report loops that it will read as tree joints.

        These loops connect a freely moving part of the robot with another part. ``carried`` has the parent of each
        link that a joint moves or fixes.
        """
        before, as_loops, children = dict(carried), set[str](), {*carried}

        def top(link: str) -> str:
            while link in before:
                link = before[link]
            return link

        for is_first in (True, False):  # the reader's order: first the loops whose child no joint carries
            for name, (parent, child) in self.written.items():
                a, b = top(parent), top(child)
                if a == b or name in as_loops or (is_first and child in children):
                    continue
                before[a if b == "world" else b] = b if b == "world" else a
                as_loops.add(name)
                children.add(child)
                message = "the loop connects a link that moves freely: readers take it for a joint of the tree"
                self.log.changed(f"joint[{name}]", f"{message}, and have the link with other coordinates")
        loops = [
            constraint
            for constraint in self.tree.constraints
            if isinstance(constraint, LoopJoint) and constraint.name in self.written
        ]
        same = [
            constraint
            for constraint in loops
            if constraint.name not in as_loops | self.exchanged and self.joints[constraint.name] == constraint.name
        ]
        return {name for constraint in same for name in own_ends(constraint)}

    def carrier(self, name: str) -> tuple[str, Pose]:
        """Return the link for the written frame, and the pose of the frame on this link."""
        carrier, frame = self.described.carrier(self.tree, name), self.tree.frame(name)
        if carrier is None or carrier[0] == WORLD_LINK:
            return ROOT, frame.placement
        return self.links[carrier[0]], carrier[1]

    def _lost(self, loop: LoopJoint, message: str) -> None:
        self.log.lost(f"joint[{loop.name}]", message)
        self.reported.add(loop.name)

    def _gap(self, loop: LoopJoint) -> float:
        """Return the largest closure error [m, rad] of a loop with all coordinates at zero, also its own."""
        F, M = (self._at_zero(self.tree.frame(name)) for name in (loop.relative_to, loop.frame))
        difference = loop.joint.X(loop.joint.zero()).difference(F.inv() @ M)
        return max(abs(float(x)) for x in difference.elements())

    def _at_zero(self, frame: Frame) -> Pose:
        """Return the pose of a frame in the world if each joint is at its own zero, also joints that follow others."""
        X, body = frame.placement, frame.body
        while body != WORLD:
            next_body = self.tree.bodies[body]
            X, body = (
                next_body.placement @ next_body.joint.X(next_body.joint.zero()) @ next_body.rotor @ X,
                next_body.parent,
            )
        return X
