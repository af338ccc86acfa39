"""Writing of URDF, in the forms that linkwork reads: see `urdf_reader` for the extensions.

Content that URDF cannot represent is listed: as NOT_WRITTEN if it is lost, and as WRITTEN_AS if it has another form.  A
joint that URDF cannot represent by any of its joints is an error.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace

from linkwork._util.messages import listed, quoted
from linkwork.constraints import LoopJoint
from linkwork.formats.simple_joints import (
    IMMOBILE,
    chain_of,
    has_part,
    immobile,
    own_ends,
    split_joint,
    unreversed,
    with_parts_of_joints,
    with_quaternions,
    with_standard_axes,
    without_rotor,
)
from linkwork.formats.tree_description import describe
from linkwork.formats.urdf.written_joints import JointElements, add_origin, has_loop_joint
from linkwork.formats.written_content import (
    MeshFolder,
    WritingLog,
    inertial_values,
    is_at_bounds,
    report_attachments,
    report_mesh_names,
    report_shape,
    simple_geometries,
)
from linkwork.formats.xml_text import Node, number_list_text, number_text, xml_text
from linkwork.joints import Fixed, Floating, Helical, Planar, Prismatic, Revolute, UnboundedRevolute
from linkwork.model.description import JointDescription, LinkDescription
from linkwork.model.inertia_check import principal_moments
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_builder import DEFAULT_GRAVITY, FLOATING_BASE
from linkwork.shapes import Box, Capsule, Cylinder, Geometry, Mesh, Polytope, Shape, Sphere
from linkwork.spatial import Inertia

__all__ = ["urdf_text", "with_written_joints"]

_KINDS = (Fixed, Revolute, UnboundedRevolute, Prismatic, Planar, Floating)


def urdf_text(
    tree: Tree,
    *,
    strict: bool = False,
    with_loops_file: bool = False,
    meshes: MeshFolder | None = None,
    path: str | os.PathLike[str] | None = None,
) -> tuple[str, Report]:
    """Return a robot as the text of a URDF, and the report of content that URDF cannot represent.

    Frames that are not links, loops, actuators and all other attachments are left out with ``with_loops_file``,
    because they are written to a loops file. ``meshes`` is a folder for convex hulls, which URDF cannot represent;
    ``path`` is the path of the URDF file.

    Raises ModelError for a joint that URDF does not have, and with ``strict`` for any loss (NOT_WRITTEN); ValueError
    for a name that XML cannot represent.
    """
    return _Writer(tree, strict, with_loops_file, meshes).write(path)


def with_written_joints(tree: Tree) -> Tree:
    """Return a tree whose actuators and named configurations refer to the joints in its URDF, for a loops file."""
    writer = _Writer(tree, False, True, None)
    for joint in writer.described.joints:
        writer.simple(joint)
    tree, base, idle = writer.tree, writer.described.base, writer.idle
    bases = {} if base is None else {base.joint_name: [(FLOATING_BASE, base.joint.nq, base.joint.nv)]}
    motors = [item.name for item in tree.actuators if item in idle]
    moving = tree.with_unchecked(
        constraints=tuple(item for item in tree.constraints if item not in idle),
        force_elements=tuple(item for item in tree.force_elements if item not in idle),
        actuators=tuple(item for item in tree.actuators if item not in idle),
        named_configurations=tuple(state.without(controls=motors) for state in tree.named_configurations),
    )
    return with_parts_of_joints(moving, writer.parts | bases)


class _Writer:
    """Writer of one robot as URDF.

    ``links`` collects massless links that connect the parts of a joint. ``parts`` has, for each joint, the name, nq
    and nv of its parts.
    """

    def __init__(self, tree: Tree, strict: bool, with_loops_file: bool, meshes: MeshFolder | None) -> None:
        self.log = WritingLog(tree, "URDF", strict)
        self.tree = tree = with_quaternions(tree, Floating, self.log)
        self.meshes, self.with_loops_file = meshes, with_loops_file
        self.follows = tree.has_couplings or any(isinstance(unreversed(body.joint), Helical) for body in tree.bodies)
        self.elements = JointElements(self.log, has_part(tree, UnboundedRevolute, _KINDS))
        self.idle = immobile(tree)
        loops = [item for item in tree.constraints if isinstance(item, LoopJoint) and item not in self.idle]
        self.loops = [] if with_loops_file else loops
        self.described = describe(tree, without=self._frames_left_out())
        self.links: list[LinkDescription] = []
        self.parts: dict[str, list[tuple[str, int, int]]] = {}
        self.version = ""  # of URDF that the shapes need; "" for 1.0

    def write(self, path: str | os.PathLike[str] | None) -> tuple[str, Report]:
        root = Node("robot", {"name": self.tree.name})
        joints = [part for joint in self.described.joints for part in self.simple(joint)]
        self.log.raise_refusals()
        for link in (*self.described.links, *self.links):
            self._link(root, link)
        for joint in joints:
            self.elements.add_joint(root, joint)
        written = [loop.name for loop in self.loops if self._loop(root, loop)]
        self._transmissions(root, joints)
        self._report(written)
        if version := max(self.version, self.elements.version):
            root.attributes["version"] = version
        report_mesh_names(self.log, self.tree, path)
        report = self.log.report()
        return xml_text(root), report

    def _frames_left_out(self) -> set[str]:
        """Return the frames that are not written: those in the loops file, and those that readers add for loops."""
        if self.with_loops_file:
            return {frame.name for frame in self.tree.frames if not frame.is_link}
        added = {name for loop in self.loops if has_loop_joint(loop) for name in own_ends(loop)}
        carriers = {frame.body for frame in self.tree.links} | {*range(len(self.tree.bodies))}
        welded_to = {frame.welded_to for frame in self.tree.frames}
        ends = [self.tree.frame(name) for name in added - welded_to]
        return {frame.name for frame in ends if not frame.is_link and frame.body in carriers}

    def _loop(self, root: Node, loop: LoopJoint) -> bool:
        """Write a loop joint; return False if URDF cannot represent it."""
        ends = [self.described.carrier(self.tree, name) for name in (loop.relative_to, loop.frame)]
        existing = [end for end in ends if end is not None]
        if len(existing) < 2 or not has_loop_joint(loop):
            return False
        self.elements.add_loop(root, loop, existing)
        return True

    # -- links

    def _link(self, root: Node, link: LinkDescription) -> None:
        node = root.add("link", name=link.name)
        if link.inertia != Inertia.zero():
            self._inertia(node, link)
        for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
            element = f"link[{link.name}]/{tag}"
            for geometry in simple_geometries(self.log, element, shapes):
                self._geometry(node, tag, element, link.name, geometry)

    def _inertia(self, link: Node, description: LinkDescription) -> None:
        mass, center, about = inertial_values(description.inertia)
        if mass == 0.0 and any(description.inertia.moment):
            self.log.lost(f"link[{description.name}]/inertial", "first moments of mass without mass are not written")
        if is_at_bounds(principal_moments(about)):
            message = "the inertia is at the bounds of what a body can have: MuJoCo refuses it in a URDF"
            self.log.changed(f"link[{description.name}]/inertial", message, "to_mjcf writes it within MuJoCo's bounds")
        node = link.add("inertial")
        if any(center):
            node.add("origin", xyz=number_list_text(center))
        node.add("mass", value=number_text(mass))
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        node.add("inertia", **{key: number_text(x) for key, x in zip(names, about.elements(), strict=True)})

    def _geometry(self, link: Node, tag: str, element: str, name: str, geometry: Geometry) -> None:
        shape = self._shape(name, geometry.shape)
        if shape is None:
            report_shape(self.log, element, geometry)
            return
        if geometry.friction is not None:
            kind = "shapes" if tag == "visual" else "collision shapes"
            self.log.lost(element, f"the friction of {kind} is not written")
        node = link.add(tag, **({"name": geometry.name} if geometry.name else {}))
        add_origin(self.log, node, geometry.origin, element)
        node.add("geometry").children.append(shape)
        material = geometry.material
        if material is None:
            return
        if tag == "collision" or (material.rgba is None and material.texture is None):
            self.log.lost(f"{element}/material", f"the material {quoted(material.name)} of {tag}s is not written")
            return
        color = node.add("material", name=material.name)
        if material.rgba is not None:
            color.add("color", rgba=number_list_text(material.rgba))
        if material.texture is not None:
            color.add("texture", filename=material.texture)

    def _shape(self, link: str, shape: Shape) -> Node | None:
        match shape:
            case Box():
                return Node("box", {"size": number_list_text(shape.size)})
            case Cylinder() | Capsule():
                if isinstance(shape, Capsule):
                    self.version = "1.1"
                tag = type(shape).__name__.lower()
                return Node(tag, {"radius": number_text(shape.radius), "length": number_text(shape.length)})
            case Sphere():
                return Node("sphere", {"radius": number_text(shape.radius)})
            case Mesh():
                scale = {} if shape.scale == (1.0, 1.0, 1.0) else {"scale": number_list_text(shape.scale)}
                return Node("mesh", {"filename": shape.uri, **scale})
            case Polytope() if self.meshes is not None:
                return Node("mesh", {"filename": self.meshes.add(link, shape)})
        return None

    # -- joints

    def simple(self, joint: JointDescription) -> list[JointDescription]:
        """Return the URDF joints that represent a joint of the robot: one, or several in a chain."""
        element, type_name = f"joint[{joint.name}]", joint.joint.type_name()
        body = self.described.bodies.get(joint.name)
        chain = chain_of(joint.joint, _KINDS)
        if chain is None:
            self.log.refuse(element, f"URDF has no {type_name} joint, nor joints with the same coordinates")
            return []
        if body is not None and body.coupling is not None and joint.joint.nq != 1:
            self.log.refuse(element, f"URDF cannot couple a {type_name} joint to another")
        elif body is not None and body.coupling is not None:
            self.log.changed(element, "the coupling is written as <mimic>", 'load the file with mimic="coupled"')
        elif joint.mimic is not None and (self.follows or joint.joint.nq != 1):
            self.log.lost(element, "the mimic relation of a joint that moves freely is not written")
            joint = replace(joint, mimic=None)
        links, parts = split_joint(self.described, joint, chain)
        self.links += links
        self.parts[joint.name] = [(part.name, part.joint.nq, part.joint.nv) for part in parts]
        if len(parts) > 1:
            names = listed([part.name for part in parts])
            follows = 'load the file with mimic="coupled"' if isinstance(unreversed(joint.joint), Helical) else None
            self.log.changed(element, f"the {type_name} joint is written as {len(parts)} joints, {names}", follows)
        result = []
        for part in parts:
            links, simple = without_rotor(self.described, with_standard_axes(part))
            self.links += links
            result += simple
        return result

    # -- transmissions

    def _transmissions(self, root: Node, joints: Sequence[JointDescription]) -> None:
        actuators = (
            [] if self.with_loops_file else [actuator for actuator in self.tree.actuators if len(actuator.joints) == 1]
        )
        for joint in joints:
            ratio = joint.drive.gear_ratio
            motors = [actuator.name for actuator in actuators if actuator.joints[0][0] == joint.name]
            if joint.joint.nv != 1 or (ratio in ((), (1.0,)) and not motors):
                continue
            name = motors[0] if len(motors) == 1 else f"{joint.name}_motor"
            node = root.add("transmission", name=f"{joint.name}_transmission")
            node.add("type", "transmission_interface/SimpleTransmission")
            node.add("joint", name=joint.name).add("hardwareInterface", "hardware_interface/EffortJointInterface")
            actuator = node.add("actuator", name=name)
            actuator.add("hardwareInterface", "hardware_interface/EffortJointInterface")
            if ratio not in ((), (1.0,)):
                actuator.add("mechanicalReduction", number_text(ratio[0]))

    # -- the report

    def _report(self, loops: Collection[str]) -> None:
        log, tree, described = self.log, self.tree, self.described
        if described.base is not None:
            base = described.base.joint_name
            hint = "load the file with floating_base=True"
            log.changed(f"joint[{base}]", "a floating base is not written: the root link is free", hint)
            if base != FLOATING_BASE:
                log.lost(
                    f"joint[{base}]", f"the name of the floating base is not written: it is {FLOATING_BASE!r} then"
                )
        if tree.gravity != DEFAULT_GRAVITY:
            log.lost(
                "gravity", f"URDF has no gravity, here {number_list_text(tree.gravity)} m/s²", "load it with gravity="
            )
        if tree.inertias_ignored:
            log.changed("", "the robot has no inertias", 'load the file with inertia="ignore"')
        if not described.keeps_order:
            log.lost("joints", "joints have another order in q: that of links from the root outwards")
        for names, message in (
            (described.frames, "frames are written as links with fixed joints"),
            (described.added, "links without mass are added, which connect the others"),
        ):
            if names:
                log.changed("links", f"{message}: {listed(names)}")
        for item in self.idle:
            log.lost(f"[{item.name}]", IMMOBILE)
        kinds = ("points", "directions", "constraints", "force_elements", "actuators", "named_configurations")
        report_attachments(log, tree, kinds if self.with_loops_file else loops)
