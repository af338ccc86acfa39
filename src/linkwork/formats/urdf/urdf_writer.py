"""Writing of URDF, in the forms that linkwork reads: see `urdf_reader` for the extensions.

What URDF has no word for is listed: as NOT_WRITTEN where it is lost, and as WRITTEN_AS where it has another form.  A
joint that URDF cannot represent by any of its joints is an error.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace

from linkwork._util.messages import listed, quoted
from linkwork.constraints import LoopJoint
from linkwork.formats.fewest_digits import inertial_values, rotation_error, rpy_of
from linkwork.formats.simple_joints import (
    IMMOBILE,
    chain_of,
    has_part,
    immobile,
    split_joint,
    unreversed,
    with_parts_of_joints,
    with_standard_axes,
    without_rotor,
)
from linkwork.formats.tree_description import describe, relative_pose
from linkwork.formats.written_content import (
    MeshFolder,
    WritingLog,
    is_at_bounds,
    report_attachments,
    report_mesh_names,
    report_shape,
    simple_geometries,
)
from linkwork.formats.xml_text import Node, number_list_text, number_text, xml_text
from linkwork.joints import (
    Fixed,
    Floating,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    UnboundedRevolute,
)
from linkwork.model.body import FRICTION_VELOCITY, WORLD, Drive
from linkwork.model.description import JointDescription, LinkDescription
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_builder import DEFAULT_GRAVITY, FLOATING_BASE
from linkwork.model.value_check import principal_moments
from linkwork.shapes import Box, Capsule, Cylinder, Geometry, Mesh, Polytope, Shape, Sphere
from linkwork.spatial import Inertia, Pose, Rotation

__all__ = ["NO_BOUND", "urdf_text", "with_written_joints"]

_KINDS = (Fixed, Revolute, UnboundedRevolute, Prismatic, Planar, Floating)
NO_BOUND = sys.float_info.max  # stands for a bound that does not exist, as in files of many exporters


def urdf_text(
    tree: Tree,
    *,
    strict: bool = False,
    with_loops_file: bool = False,
    meshes: MeshFolder | None = None,
    path: str | os.PathLike[str] | None = None,
) -> tuple[str, Report]:
    """Return a robot as the text of a URDF, and the report of what URDF cannot represent.

    Frames that are no links, loops, actuators and all other attachments are left out with ``with_loops_file``, as
    another file has them.  ``meshes`` is a folder for hulls, which URDF has no shape for; ``path`` is that of the file.

    Raises ModelError for a joint that URDF does not have, and with ``strict`` for any loss (NOT_WRITTEN); ValueError
    for a name that XML cannot represent.
    """
    return _Writer(tree, strict, with_loops_file, meshes).write(path)


def with_written_joints(tree: Tree) -> Tree:
    """Return a tree whose content refers to the joints of its URDF, for a loops file."""
    writer = _Writer(tree, False, True, None)
    for joint in writer.described.joints:
        writer.simple(joint)
    base, idle = writer.described.base, writer.idle
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
    """Writer of one robot.

    ``links`` collects the links that connect parts of joints, and ``parts`` the name, nq and nv of these, by joint.
    """

    def __init__(self, tree: Tree, strict: bool, with_loops_file: bool, meshes: MeshFolder | None) -> None:
        self.tree, self.meshes, self.with_loops_file = tree, meshes, with_loops_file
        self.log = WritingLog(tree, "URDF", strict)
        self.follows = tree.has_couplings or any(isinstance(unreversed(body.joint), Helical) for body in tree.bodies)
        self.has_sines = has_part(tree, UnboundedRevolute, _KINDS)
        self.idle = immobile(tree)
        loops = [item for item in tree.constraints if isinstance(item, LoopJoint) and item not in self.idle]
        self.loops = [] if with_loops_file else loops
        self.described = describe(tree, without=self._frames_left_out())
        self.links: list[LinkDescription] = []
        self.parts: dict[str, list[tuple[str, int, int]]] = {}
        self.version = ""  # of URDF that the content needs; "" for 1.0

    def write(self, path: str | os.PathLike[str] | None) -> tuple[str, Report]:
        root = Node("robot", {"name": self.tree.name})
        joints = [part for joint in self.described.joints for part in self.simple(joint)]
        self.log.raise_refusals()
        for link in (*self.described.links, *self.links):
            self._link(root, link)
        for joint in joints:
            self._joint(root, joint)
        written = [loop.name for loop in self.loops if self._loop(root, loop)]
        self._transmissions(root, joints)
        self._report(written)
        if self.version:
            root.attributes["version"] = self.version
        report_mesh_names(self.log, self.tree, path)
        report = self.log.report()
        return xml_text(root), report

    def _frames_left_out(self) -> set[str]:
        """Return the frames that another file has, or that the reader of a loop adds itself."""
        added = {frame.name for frame in self.tree.frames if not frame.is_link}
        if not self.with_loops_file:
            added &= {f"{loop.name}_{letter}" for loop in self.loops for letter in "FM"}
            added &= {name for loop in self.loops for name in (loop.frame, loop.relative_to)}
            added -= {frame.welded_to or "" for frame in self.tree.frames}
        return added

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
            self.log.lost(element, "the friction of shapes is not written")
        node = link.add(tag, **({"name": geometry.name} if geometry.name else {}))
        self._origin(node, geometry.origin, element)
        node.add("geometry").children.append(shape)
        material = geometry.material
        if material is None:
            return
        if tag == "collision" or (material.rgba is None and material.texture is None):
            self.log.lost(element, f"the material {quoted(material.name)} of {tag}s is not written")
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
                    self.version = self.version or "1.1"
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

    def _origin(self, node: Node, pose: Pose, element: str, tag: str | None = "origin") -> None:
        """Add the pose of an element as its child ``<origin>``, or as attributes of the element itself."""
        if pose.is_identity:
            return
        angles = rpy_of(pose.rotation)
        if rotation_error(Rotation.from_rpy(*angles), pose.rotation) > _ORTHONORMAL:
            self.log.lost(element, "the rotation is not orthonormal: the angles of a nearby rotation are written")
        attributes = {"xyz": number_list_text(pose.translation)} if any(pose.translation) else {}
        attributes |= {"rpy": number_list_text(angles)} if any(angles) else {}
        if tag is None:
            node.attributes |= attributes
        else:
            node.add(tag, **attributes)

    # -- joints

    def simple(self, joint: JointDescription) -> list[JointDescription]:
        """Return the joints of URDF that a joint is written as."""
        element, type_name = f"joint[{joint.name}]", joint.joint.type_name()
        body = self.described.bodies.get(joint.name)
        chain = chain_of(joint.joint, _KINDS)
        if chain is None or any(isinstance(part, Floating) and part != Floating() for _, part in chain):
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

    def _joint(self, root: Node, joint: JointDescription) -> None:
        element, kind = f"joint[{joint.name}]", joint.joint
        node = root.add("joint", name=joint.name, type=self._type(element, joint))
        self._origin(node, joint.placement, element)
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
        kept = {"effort": _bound(limits.effort[0]), "velocity": _bound(limits.velocity[0])}
        for key, values in (("acceleration", limits.acceleration), ("jerk", limits.jerk)):
            if any(map(math.isfinite, values)):
                kept[key], self.version = number_text(values[0]), "1.2"
        if node.attributes["type"] != "continuous":
            (lower,), (upper,) = limits.positions
            node.add("limit", lower=_bound(lower), upper=_bound(upper), **kept)
        elif len(kept) > 2 or any(map(math.isfinite, (*limits.effort, *limits.velocity))):
            node.add("limit", **kept)

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
        rest = kind.difference(kind.zero(), drive.rest)[0] if drive.rest else 0.0
        for key, given in (("armature", drive.armature), ("spring_stiffness", drive.stiffness)):
            values[key] = given[0] if given else 0.0
        values["spring_reference"] = float(rest)
        stated = {key: number_text(value) for key, value in values.items() if value != 0.0}
        if stated:  # urdfdom requires damping or friction
            node.add("dynamics", **({"damping": "0"} | stated))

    # -- loops and transmissions

    def _loop(self, root: Node, loop: LoopJoint) -> bool:
        """Write a loop joint; return False if the file cannot have it."""
        kind, element = loop.joint, f"loop_joint[{loop.name}]"
        type_ = {Revolute: "revolute", Prismatic: "prismatic", Planar: "planar", Spherical: "spherical", Fixed: "fixed"}
        word = type_.get(type(kind))
        frames = [f"{loop.name}_{letter}" for letter in "FM"]
        is_standard = kind in (Spherical(), Fixed()) or isinstance(kind, (Revolute, Prismatic))
        is_standard = is_standard or (isinstance(kind, Planar) and kind == Planar.across(kind.normal))
        known = {link.name for link in (*self.described.links, *self.links)}
        ends = [self._end(frame, known) for frame in (loop.relative_to, loop.frame)]
        if word is None or not is_standard or any(frame in known for frame in frames) or None in ends:
            return False
        node = root.add("loop_joint", name=loop.name, type=word)
        for tag, end in zip(("link1", "link2"), ends, strict=True):
            assert end is not None
            self._origin(node.add(tag, link=end[0]), end[1], element, tag=None)
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
        self.log.changed(element, "the loop is written as <loop_joint>, which few readers know")
        return True

    def _end(self, name: str, known: Collection[str]) -> tuple[str, Pose] | None:
        """Return the link that carries the end of a loop, and the pose of the end there; None without such a link."""
        frame = self.tree.frame(name)
        if name in known:
            return name, Pose.identity()
        on_body = [other for other in self.tree.frames if other.body == frame.body and other.name in known]
        carrier = next((other for other in on_body if other.name == frame.welded_to), None)
        carrier = carrier or next(iter(on_body), None)
        if carrier is None:
            return ("world", frame.placement) if "world" in known and frame.body == WORLD else None
        return carrier.name, relative_pose(carrier.placement, frame.placement)

    def _transmissions(self, root: Node, joints: Sequence[JointDescription]) -> None:
        actuators = [] if self.with_loops_file else [one for one in self.tree.actuators if len(one.joints) == 1]
        for joint in joints:
            ratio = joint.drive.gear_ratio
            own = [actuator.name for actuator in actuators if actuator.joints[0][0] == joint.name]
            if joint.joint.nv != 1 or (ratio in ((), (1.0,)) and not own):
                continue
            name = own[0] if len(own) == 1 else f"{joint.name}_motor"
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


def _bound(value: float) -> str:
    return number_text(math.copysign(NO_BOUND, value) if math.isinf(value) else value)


_ORTHONORMAL = 1e-14
