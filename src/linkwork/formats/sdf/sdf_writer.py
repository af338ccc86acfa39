"""Writing of SDF 1.11: one model, by itself or in a world.

Poses are relative to the links and joints that they belong to, with quaternions, so that no written pose is a product
of several poses. Content that SDF cannot represent is listed: as NOT_WRITTEN if it is lost, and as WRITTEN_AS if it
has another form. A joint that SDF cannot represent by any of its joints is an error.

Source: http://sdformat.org/spec?ver=1.11 and the proposals on the semantics of poses and frames there.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace

from linkwork._util.messages import listed
from linkwork.constraints import LoopJoint
from linkwork.formats.description import (
    DEFAULT_GRAVITY,
    FRICTION_VELOCITY,
    Drive,
    JointDescription,
    Limits,
    LinkDescription,
    Report,
    describe,
)
from linkwork.formats.sdf.sdf_link_contents import LinkContents, add_pose
from linkwork.formats.sdf.written_joints import ROOT, LoopWriter, add_axes, type_of
from linkwork.formats.simple_joints import chain_of, has_part, split_joint, with_quaternions
from linkwork.formats.unique_names import Names
from linkwork.formats.written_content import MeshFolder, WritingLog, is_own, report_attachments, report_mesh_names
from linkwork.formats.xml_text import Node, number_list_text, number_text, xml_text
from linkwork.joints import (
    Fixed,
    Floating,
    FloatingEuler,
    FloatingMRP,
    Helical,
    Prismatic,
    Revolute,
    Spherical,
    UnboundedRevolute,
    Universal,
)
from linkwork.model import WORLD, Tree, compose
from linkwork.spatial import Inertia

__all__ = ["sdf_text"]

_KINDS = (Fixed, Revolute, UnboundedRevolute, Prismatic, Spherical, Universal, Helical)
_FREE = (Floating, FloatingMRP, FloatingEuler)
_BASE = "base_fixed_to_world"  # name of the joint that fixes the root link


def sdf_text(
    tree: Tree,
    *,
    strict: bool = False,
    world: str | None = None,
    meshes: MeshFolder | None = None,
    path: str | os.PathLike[str] | None = None,
) -> tuple[str, Report]:
    """Return a robot as the text of an SDF file, and the report of content that SDF cannot represent.

    With the name of a ``world``, the model is in a world of this name, which states the gravity. ``meshes`` is a
    folder for hulls, which SDF cannot represent; ``path`` is the path of the SDF file.

    Raises ModelError for a joint that SDF does not have, and with ``strict`` for any loss (NOT_WRITTEN); ValueError
    for a name that XML cannot represent.
    """
    return _Writer(tree, strict, world, meshes).write(path)


class _Writer:
    """Writer of one robot as SDF.

    ``links`` collects massless links that connect the parts of a joint. ``root`` is the link that no joint moves, or
    None if that is the world.
    """

    def __init__(self, tree: Tree, strict: bool, world: str | None, meshes: MeshFolder | None) -> None:
        self.log = WritingLog(tree, "SDF", strict)
        self.tree = tree = with_quaternions(tree, Spherical, self.log)
        self.world = world
        self.follows = tree.has_couplings
        self.has_sines = has_part(tree, UnboundedRevolute, _KINDS)
        self.marks = [frame for frame in tree.frames if not frame.is_link]
        self.described = describe(tree, without=[frame.name for frame in self.marks])
        self.links: list[LinkDescription] = []
        self.contents = LinkContents(self.log, meshes)
        self.free: dict[str, JointDescription] = {}  # links that move freely in the world, with their joints
        self.joints = [part for joint in self.described.joints for part in self._simple(joint)]
        self.log.raise_refusals()
        self.placed = {joint.child: joint for joint in self.joints}
        self.model_name = _allowed("model", tree.name)
        self.link_names, self.joint_names, self.mark_names = self._names()
        moved = {"world", *self.placed, *self.free}
        self.root = next((link.name for link in self.described.links if link.name not in moved), None)

    def write(self, path: str | os.PathLike[str] | None) -> tuple[str, Report]:
        root = Node("sdf", {"version": "1.11"})
        inside = root
        if self.world is not None:
            inside = root.add("world", name=self.world)
            inside.add("gravity", number_list_text(self.tree.gravity))
        model = inside.add("model", name=self.model_name, **self._canonical())
        for link in (*self.described.links, *self.links):
            self._link(model, link)
        if self.described.base is None and self.root is not None:
            fixed = model.add("joint", name=self.joint_names[_BASE], type="fixed")
            fixed.add("parent", "world")
            fixed.add("child", self.link_names[self.root])
        for joint in self.joints:
            self._joint(model, joint)
        loops = LoopWriter(self.tree, self.described, self.log, self.link_names, self.joint_names)
        for constraint in self.tree.constraints:
            if isinstance(constraint, LoopJoint):
                loops.add(model, constraint)
        added = loops.own_ends(self._parents())
        for frame in self.marks:
            if frame.name in added:
                continue
            carrier, pose = loops.carrier(frame.name)
            if carrier == ROOT and self.root is None:
                self.log.lost(f"frame[{frame.name}]", "a frame on the world is not written: no link is there")
                continue
            add_pose(model.add("frame", name=self.mark_names[frame.name], attached_to=carrier), pose, carrier)
        self._report([*loops.written, *loops.reported])
        report_mesh_names(self.log, self.tree, path)
        report = self.log.report()
        return xml_text(root), report

    def _parents(self) -> dict[str, str]:
        """Return the parent link of each link that has a joint, fixed or moving; both by their names in the file."""
        result = {
            self.link_names[joint.child]: self.link_names.get(joint.parent, joint.parent) for joint in self.joints
        }
        if self.described.base is None and self.root is not None:
            result[self.link_names[self.root]] = "world"
        return result

    def _canonical(self) -> dict[str, str]:
        """Return the attribute that names the canonical link, to which the model frame is fixed.

        There is no attribute if this link is the first of the file.
        """
        first = next((link.name for link in self.described.links if link.name != "world"), None)
        return {} if self.root in (None, first) else {"canonical_link": self.link_names[self.root or ""]}

    def _names(self) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
        """Return the names of links, joints and frames in the file, where all are different.

        Names that SDF reserves are changed.
        """
        names = Names()
        links: dict[str, str] = {}
        joints: dict[str, str] = {}
        marks: dict[str, str] = {}
        renamed: dict[str, str] = {}  # new names by element
        loops = [constraint.name for constraint in self.tree.constraints if isinstance(constraint, LoopJoint)]
        for kind, described_names, result in (
            ("link", [link.name for link in (*self.described.links, *self.links)], links),
            ("joint", [*(joint.name for joint in self.joints), *loops, _BASE], joints),
            ("frame", [frame.name for frame in self.marks], marks),
        ):
            for name in described_names:
                is_world = kind == "link" and name == "world"
                result[name] = name if is_world else names.new(_allowed(kind, name))
                if result[name] != name and name != _BASE:
                    renamed[f"{kind}[{name}]"] = result[name]
        if self.model_name != self.tree.name:
            renamed["model"] = self.model_name
        names_written = listed(renamed.values())
        message = (
            f"SDF allows each name once, without '::' and outer blanks, and reserves some: written as {names_written}"
        )
        for element in renamed:
            self.log.lost(element, message)
        return links, joints, marks

    # -- links

    def _link(self, model: Node, link: LinkDescription) -> None:
        if link.name == "world":
            if link.inertia != Inertia.zero() or link.visuals or link.collisions:
                element = "link[world]/collision" if link.collisions else "link[world]"
                self.log.lost(element, "the mass and the shapes of the world are not written")
            return
        node = model.add("link", name=self.link_names[link.name])
        joint = self.placed.get(link.name)
        if joint is not None:
            add_pose(node, joint.rotor, self.joint_names[joint.name])
        elif link.name in self.free:
            joint = self.free[link.name]
            parent = ROOT if joint.parent == "world" else self.link_names[joint.parent]
            add_pose(node, compose(joint.placement, joint.rotor), parent)
        self.contents.add(node, link)

    # -- joints

    def _simple(self, joint: JointDescription) -> list[JointDescription]:
        """Return the SDF joints that represent a joint of the robot: one, or several in a chain."""
        element, type_name = f"joint[{joint.name}]", joint.joint.type_name()
        body = self.described.bodies.get(joint.name)
        if isinstance(joint.joint, _FREE) and is_own(joint.joint) and body is not None and body.parent == WORLD:
            self.free[joint.child] = joint
            moved = joint.joint != Floating() or not body.rotor.is_identity
            if (
                joint.limits != Limits.none(joint.joint)
                or any((*joint.damping, *joint.friction))
                or joint.drive != Drive()
            ):
                self.log.lost(
                    element, "limits, damping, friction and drive of a link that moves freely are not written"
                )
            coordinates = ", and with other coordinates: its pose in that at zero" if moved else ""
            message = "a link that moves freely is written without a joint, so the joint's name is lost"
            self.log.changed(element, f"{message}{coordinates}")
            return []
        chain = chain_of(joint.joint, _KINDS)
        if chain is None:
            self.log.refuse(element, f"SDF has no {type_name} joint, nor joints with the same coordinates")
            return []
        coupled = body is not None and body.coupling is not None
        if coupled and joint.joint.nq != 1:
            self.log.refuse(element, f"SDF cannot couple a {type_name} joint to another")
        elif coupled:
            self.log.changed(element, "the coupling is written as <mimic>", 'load the file with mimic="coupled"')
        elif joint.mimic is not None and (self.follows or joint.joint.nq != 1):
            self.log.lost(element, "the mimic relation of a joint that moves freely is not written")
            joint = replace(joint, mimic=None)
        elif joint.mimic is not None:
            hint = 'load the file with mimic="ignore" to let the joint move freely'
            self.log.changed(element, "the mimic relation of a free joint is written, and readers enforce it", hint)
        links, parts = split_joint(self.described, joint, chain)
        self.links += links
        if len(parts) > 1:
            names = listed([part.name for part in parts])
            self.log.changed(element, f"the {type_name} joint is written as {len(parts)} joints, {names}")
        return parts

    def _joint(self, model: Node, joint: JointDescription) -> None:
        element, kind = f"joint[{joint.name}]", joint.joint
        limits = joint.limits
        node = model.add("joint", name=self.joint_names[joint.name], type=self._type(element, joint))
        parent = "world" if joint.parent == "world" else self.link_names[joint.parent]
        add_pose(node, joint.placement, ROOT if joint.parent == "world" else parent)
        node.add("parent", parent)
        node.add("child", self.link_names[joint.child])
        lower, upper = limits.positions
        if not limits.enabled and any(map(math.isfinite, (*limits.lower, *limits.upper))):
            self.log.lost(element, "bounds without effect are not written")
        resists = joint.dynamics != "none"
        if not resists and (any(joint.damping) or any(joint.friction)):
            self.log.lost(element, "damping and friction without effect are not written")
        drive, nv = joint.drive, kind.nv
        spring_position = kind.difference(kind.zero(), drive.rest) if drive.rest else [0.0] * nv
        values = {
            "lower": lower,
            "upper": upper,
            "velocity": limits.velocity,
            "effort": limits.effort,
            "damping": joint.damping if resists else (0.0,) * nv,
            "friction": joint.friction if resists else (0.0,) * nv,
            "spring_stiffness": drive.stiffness or (0.0,) * nv,
            "spring_reference": tuple(map(float, spring_position)),
        }
        add_axes(self.log, node, element, kind, values)
        self._lost_drive(element, joint)
        if joint.mimic is not None:
            axis = next(child for child in node.children if child.tag == "axis")
            mimic = axis.add("mimic", joint=self.joint_names[joint.mimic.joint])
            mimic.add("multiplier", number_text(joint.mimic.ratio))
            mimic.add("offset", number_text(joint.mimic.offset))
            mimic.add("reference", "0")

    def _type(self, element: str, joint: JointDescription) -> str:
        match joint.joint:
            case UnboundedRevolute():
                hint = 'load the file with continuous="sincos"'
                self.log.changed(element, "the sine and cosine in q are not written: the joint is continuous", hint)
                return "continuous"
            case Revolute():
                is_bounded = any(map(math.isfinite, (*joint.limits.positions[0], *joint.limits.positions[1])))
                return "revolute" if is_bounded or self.has_sines else "continuous"
        return type_of(joint.joint)

    def _lost_drive(self, element: str, joint: JointDescription) -> None:
        drive = joint.drive
        rates = (*joint.limits.acceleration, *joint.limits.jerk)
        lost = {
            "limits of acceleration and jerk": any(map(math.isfinite, rates)),
            "armature": any(drive.armature),
            "gear ratio": any(ratio != 1.0 for ratio in drive.gear_ratio),
            "static friction": drive.static_friction not in ((), joint.friction),
            "scale of the law of friction": any(x != FRICTION_VELOCITY for x in drive.friction_velocity),
        }
        names = [name for name, is_lost in lost.items() if is_lost]
        if names:
            self.log.lost(element, f"SDF has no {', '.join(names)} of joints")

    # -- the report

    def _report(self, loops: Sequence[str]) -> None:
        log, tree, described = self.log, self.tree, self.described
        if described.base is not None:
            message = "a floating base is written as a model without a base, so the joint's name is lost"
            log.changed(f"joint[{described.base.joint_name}]", message)
        massless = [link.name for link in (*described.links, *self.links) if link.inertia == Inertia.zero()]
        massless = [name for name in massless if name != "world"]
        if massless:
            hint = "Gazebo simulates links with positive masses only"
            log.changed("links", f"links without mass have a mass of 0: {listed(massless)}", hint)
        if self.contents.materials:
            log.changed(
                "links", f"colours are written without the names of materials: {listed(self.contents.materials)}"
            )
        if tree.gravity != DEFAULT_GRAVITY and self.world is None:
            log.lost(
                "gravity", f"a model has no gravity, here {number_list_text(tree.gravity)} m/s²", "world= writes it"
            )
        if tree.inertias_ignored:
            log.changed("", "the robot has no inertias", 'load the file with inertia="ignore"')
        free = {joint.name for joint in self.free.values()}  # readers of SDF put these joints first
        leads = {body.joint_name for _, body in [*tree.stacked()][: len(free)]} == free
        if not (described.keeps_order and leads):
            log.lost("joints", "joints have another order in q: that of links from the root outwards")
        if described.added:
            log.changed("links", f"links without mass are added, which connect the others: {listed(described.added)}")
        report_attachments(log, tree, loops)


def _allowed(kind: str, name: str) -> str:
    """Return a name that SDF allows for an element; ``kind`` is its tag."""
    result = name.replace("::", "_").replace("\r", " ").strip()  # a reader takes a carriage return for a line feed
    is_reserved = result == "world" or (result.startswith("__") and result.endswith("__"))
    return f"{kind}_{result}" if is_reserved or not result else result
