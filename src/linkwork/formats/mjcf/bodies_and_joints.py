"""Bodies and joints of a compiled model as links and joints.

A body with several joints becomes a chain of links without mass, which have the names of the joints before the last.  A
body without joints is welded to its parent.  Coordinates of hinges and slides are those of MuJoCo: q = qpos.  MuJoCo
measures their displacement from the position in which the model is stated, qpos0 (``ref``), so the constant motion by
−qpos0 is part of the joint's placement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from linkwork._util.messages import listed, quoted
from linkwork.errors import Issue, Location
from linkwork.formats.description import (
    FLOATING_BASE,
    Drive,
    Findings,
    FrameDescription,
    JointDescription,
    Limits,
    LinkDescription,
    check_inertial,
)
from linkwork.formats.mjcf.compiled_model import WORLD_LINK, CompiledModel, pose_of
from linkwork.joints import Fixed, Floating, JointType, Prismatic, Revolute, Spherical
from linkwork.model import compose
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3

__all__ = ["Structure", "read_structure", "sites_as_frames"]


@dataclass(slots=True)
class Structure:
    """Links and joints that were read from a compiled MuJoCo model."""

    links: list[LinkDescription] = field(default_factory=list)
    joints: list[JointDescription] = field(default_factory=list)
    fixed_base: dict[int, Sequence[float]] = field(default_factory=dict)  # free joints that are to be fixed, by index

    def rigid(self, apart: str = "") -> dict[str, str]:
        """Return a dict from each link to the first link of the same rigid body.

        Links are of one rigid body if fixed joints connect them; links welded to ``apart`` count as separate.
        """
        result = {link.name: link.name for link in self.links}
        for joint in self.joints:
            if joint.joint.nv == 0 and joint.parent != apart:
                result[joint.child] = result[joint.parent]
        return result

    def with_joint(self, name: str, **changes: object) -> None:
        """Change fields of a joint."""
        self.joints = [replace(joint, **changes) if joint.name == name else joint for joint in self.joints]  # type: ignore[arg-type]


def read_structure(
    source: CompiledModel,
    findings: Findings,
    shapes: dict[int, tuple[tuple[Geometry, ...], tuple[Geometry, ...]]],
    floating_base: bool | None,
) -> Structure:
    """Return the links and joints of a model; ``shapes`` are the (visual, collision) shapes of each body.

    ``floating_base`` is None to keep the base as the model states it, True to free it, False to fix it.
    """
    result, joints = Structure(), _Joints(source)
    array = source.array
    parents, poses = array("body_parentid"), [*map(pose_of, array("body_pos"), array("body_quat"))]
    first, counts, mocap = array("body_jntadr"), array("body_jntnum"), array("body_mocapid")
    inertias = _Inertias(source, findings)
    freed = _freed_base(source, findings, parents, counts, mocap) if floating_base else None
    if floating_base is False:
        result.fixed_base = _base_to_fix(source, findings)
    for i, name in enumerate(source.bodies):
        where = source.of_body("body", name, parents[i])
        joints_of_body = [j for j in range(first[i], first[i] + counts[i]) if j not in result.fixed_base]
        carrier, X = source.bodies[parents[i]], poses[i]
        for j in joints_of_body[:-1]:
            link = source.frame_names.underscored(source.joints[j])
            result.links.append(
                LinkDescription(link, Inertia.zero(), where=source.of_body("joint", source.joints[j], i))
            )
            result.joints.append(joints.read(j, carrier, link, X))
            carrier, X = link, Pose.identity()
        visuals, collisions = shapes.get(i, ((), ()))
        inertia = inertias.read(i, where, (*visuals, *collisions))
        result.links.append(LinkDescription(name, inertia, visuals, collisions, where))
        if joints_of_body:
            result.joints.append(joints.read(joints_of_body[-1], carrier, name, X))
        elif i == freed:
            zeros = (0.0,) * 6
            free = Floating()
            base = source.joint_names.underscored(FLOATING_BASE)
            result.joints.append(
                JointDescription(
                    base, WORLD_LINK, name, free, Pose.identity(), Limits.none(free), zeros, zeros, where=where
                )
            )
        elif i > 0:
            pose = result.fixed_base.get(first[i])
            X = X if pose is None else pose_of(pose[:3], pose[3:])
            weld = source.joint_names.underscored(f"{name}_weld")
            fixed = Fixed()
            result.joints.append(
                JointDescription(weld, carrier, name, fixed, X, Limits.none(fixed), (), (), where=where)
            )
    moving = [source.bodies[i] for i, k in enumerate(mocap) if k >= 0]
    if moving:
        subject = f"mocap body {quoted(moving[0])} is" if len(moving) == 1 else f"mocap bodies {listed(moving)} are"
        source.ignored(f"{subject} fixed at the pose of the file", source.of_body("body", moving[0], 0))
    return result


def sites_as_frames(source: CompiledModel) -> list[FrameDescription]:
    """Return a frame for each site, and set the names of the sites' frames.

    A site with the name of a body, or named "world", has the name with "_site" appended.
    """
    result = []
    array = source.array
    site_names = [source.name_in_model("site", i) for i in range(source.model.nsite)]
    for i, (body, p, q) in enumerate(zip(array("site_bodyid"), array("site_pos"), array("site_quat"), strict=True)):
        site_name = site_names[i] or f"site{i}"
        name = source.frame_names.underscored(
            f"{site_name}_site" if site_name in source.frame_names.taken else site_name
        )
        source.sites.append(name)
        where = source.of_body("site", site_name, body)
        result.append(FrameDescription(name, source.bodies[body], pose_of(p, q), where))
    return result


class _Joints:
    """Reader of the joints of a compiled MuJoCo model."""

    def __init__(self, source: CompiledModel) -> None:
        self.source = source
        array = source.array
        self.types = [source.kind("mjtJoint", x) for x in array("jnt_type")]
        self.q, self.dof, self.body = array("jnt_qposadr"), array("jnt_dofadr"), array("jnt_bodyid")
        self.pos, self.axis = array("jnt_pos"), array("jnt_axis")
        self.limited, self.range = array("jnt_limited"), array("jnt_range")
        self.stiffness, self.poly = array("jnt_stiffness"), array("jnt_stiffnesspoly")
        self.yields = array("jnt_springyield")
        self.effort_limited, self.effort = array("jnt_actfrclimited"), array("jnt_actfrcrange")
        self.qpos0, self.qpos_spring = array("qpos0"), array("qpos_spring")
        self.damping, self.damping_poly = array("dof_damping"), array("dof_dampingpoly")
        self.armature, self.friction = array("dof_armature"), array("dof_frictionloss")
        self._add_rotors()
        of_dofs = array("dof_jntid")
        for quantity, values, owners in (
            ("spring of negative stiffness", self.stiffness, range(len(self.stiffness))),
            ("negative damping", self.damping, of_dofs),
            ("negative armature", self.armature, of_dofs),
            ("negative friction", self.friction, of_dofs),
        ):
            self._leave_out_negative(quantity, values, owners)

    def read(self, j: int, parent: str, child: str, X: Pose) -> JointDescription:
        """Return MuJoCo joint j as a joint between two links.

        X is the pose of its frame in the parent link before the displacement by −qpos0.
        """
        source, name, kind, where = self.source, self.source.joints[j], self.types[j], self.where(j)
        axis, p, start = Vec3.of(self.axis[j]), Vec3.of(self.pos[j]), self.qpos0[self.q[j]]
        if not all(map(math.isfinite, axis)) or not any(axis):
            source.error("AXIS_ZERO", f"{source.title('joint', name)}: its axis has no direction: {(*axis,)}", where)
            axis = Vec3(0.0, 0.0, 1.0)
        joint: JointType
        rotor = Pose.identity()
        if kind == "free":
            joint, placement = Floating(), Pose.identity()  # qpos is the pose in the world
        elif kind == "slide":
            joint, placement = Prismatic(axis), X
            if start:
                placement = compose(X, Pose(Rotation.identity(), joint.axis * -start))
        else:
            joint = Spherical() if kind == "ball" else Revolute(axis)
            turn = Rotation.about(joint.axis, -start) if isinstance(joint, Revolute) and start else Rotation.identity()
            placement = compose(X, Pose(turn, p)) if any(p) or start else X
            rotor = Pose(Rotation.identity(), -p) if any(p) else rotor
        dofs = slice(self.dof[j], self.dof[j] + joint.nv)
        damping, friction = tuple(self.damping[dofs]), tuple(self.friction[dofs])
        zeros = (0.0,) * joint.nv
        return JointDescription(
            name,
            parent,
            child,
            joint,
            placement,
            self.limits(j, joint),
            zeros if "damper" in source.disabled else damping,
            zeros if source.disabled & {"frictionloss", "constraint"} else friction,
            rotor=rotor,
            where=where,
            drive=self.drive(j, joint, dofs),
        )

    def where(self, j: int) -> Location:
        return self.source.of_body("joint", self.source.joints[j], self.body[j])

    def limits(self, j: int, joint: JointType) -> Limits:
        """Return the limits of joint j: of its configuration, and of its effort if the range of forces is symmetric."""
        source, no_limits = self.source, Limits.none(joint)
        caller = source.title("joint", source.joints[j])
        lower, upper, effort = no_limits.lower, no_limits.upper, no_limits.effort
        if self.limited[j]:
            if joint.nq == 1:
                lower, upper = (self.range[j][0],), (self.range[j][1],)
            else:
                angle = math.degrees(self.range[j][1])
                source.unsupported(f"{caller}: the limit of its angle, {angle:.6g}°, is not taken", self.where(j))
        if self.effort_limited and self.effort_limited[j] and joint.nv == 1:
            low, high = self.effort[j]
            if low == -high:
                effort = (high,)
        return Limits(lower, upper, no_limits.velocity, effort, not source.disabled & {"limit", "constraint"})

    def drive(self, j: int, joint: JointType, dofs: slice) -> Drive:
        """Return the armature and the spring of joint j, and report properties that linkwork's joints do not have."""
        source, caller = self.source, self.source.title("joint", self.source.joints[j])
        armature, stiffness = tuple(self.armature[dofs]), 0.0
        if "spring" not in source.disabled:
            stiffness = self.stiffness[j]
            if self.poly and any(self.poly[j]):
                source.unsupported(f"{caller}: the higher powers of its spring's force are not taken", self.where(j))
            if self.yields and self.yields[j] > 0.0:
                source.unsupported(f"{caller}: the yielding of its spring is not taken", self.where(j))
        if "damper" not in source.disabled and self.damping_poly and any(map(any, self.damping_poly[dofs])):
            source.unsupported(f"{caller}: the higher powers of its damping force are not taken", self.where(j))
        spring_position = tuple(self.qpos_spring[self.q[j] : self.q[j] + joint.nq])
        if self.types[j] == "free":
            self.check_free(j, dofs)
            spring_position = spring_position[3:] + spring_position[:3]  # MuJoCo's order is position, quaternion
        return Drive(
            armature=armature if any(armature) else (),
            stiffness=(stiffness,) * joint.nv if stiffness else (),
            rest=spring_position if stiffness else (),
        )

    def check_free(self, j: int, dofs: slice) -> None:
        """Report properties of a free joint that act along the world's axes in MuJoCo."""
        source, caller = self.source, self.source.title("free joint", self.source.joints[j])
        armature, damping, friction = (x[dofs] for x in (self.armature, self.damping, self.friction))
        if len({*armature[:3]}) > 1:
            source.unsupported(f"{caller}: its armature acts along the body's axes, not the world's", self.where(j))
        if any(friction[:3]):
            source.unsupported(f"{caller}: its friction acts along the body's axes, not the world's", self.where(j))
        if len({*damping[:3]}) > 1:
            source.unsupported(f"{caller}: its damping acts along the body's axes, not the world's", self.where(j))
        for values in (self.armature, self.damping, self.friction):  # MuJoCo's order is linear, angular
            values[dofs] = values[dofs][3:] + values[dofs][:3]

    def _leave_out_negative(self, quantity: str, values: list[float], owners: Sequence[int]) -> None:
        """Set negative values, which MuJoCo accepts, to zero in ``values``, and report the joints concerned.

        ``owners`` are the indices of the joints to which the values belong.
        """
        for j in dict.fromkeys(j for j, x in zip(owners, values, strict=True) if x < 0.0):
            message = f"{self.source.title('joint', self.source.joints[j])}: its {quantity} is not taken"
            self.source.unsupported(message, self.where(j))
        values[:] = [max(x, 0.0) for x in values]

    def _add_rotors(self) -> None:
        """Add the armature and damping of each actuator, multiplied by the squared gear, to the values of its joint."""
        source = self.source
        array = source.array
        rotors, dampers = array("actuator_armature"), array("actuator_damping")
        kinds, ids = array("actuator_trntype"), array("actuator_trnid")
        outputs, gears, poly = array("actuator_outadr"), array("actuator_gear"), array("actuator_dampingpoly")
        for i, (rotor, damper) in enumerate(zip(rotors, dampers, strict=True)):
            if not (rotor or damper or (poly and any(poly[i]))):
                continue
            kind = source.kind("mjtTrn", kinds[i])
            name = source.name_in_model("actuator", i) or f"actuator{i}"
            j = ids[i][0]
            simple = kind in ("joint", "jointinparent") and self.types[j] in ("hinge", "slide")
            if not simple or (poly and any(poly[i])):
                message = f"{source.title('actuator', name)}: its armature and damping are not taken"
                source.unsupported(message, source.where("actuator", name))
                continue
            gear = gears[outputs[i]][0]
            self.armature[self.dof[j]] += rotor * gear * gear
            self.damping[self.dof[j]] += damper * gear * gear


class _Inertias:
    """Reader of the inertias of a model's bodies."""

    def __init__(self, source: CompiledModel, findings: Findings) -> None:
        array = source.array
        self.findings = findings
        self.mass, self.moments = array("body_mass"), array("body_inertia")
        self.pos, self.quat = array("body_ipos"), array("body_iquat")

    def read(self, i: int, where: Location, shapes: tuple[Geometry, ...]) -> Inertia:
        """Return the inertia of body i about its origin."""
        if self.mass[i] == 0.0 and not any(self.moments[i]):
            return Inertia.zero()
        X = pose_of(self.pos[i], self.quat[i])
        about = X.rotation @ Symmetric3.diagonal(*self.moments[i])
        return check_inertial(self.findings, where, self.mass[i], X.translation, about, shapes)


def _freed_base(
    source: CompiledModel, findings: Findings, parents: list[int], counts: list[int], mocap: list[int]
) -> int | None:
    """Return the index of the body to which a floating joint is added.

    None if the base of the model is free already.
    """
    bases = [i for i in range(1, len(parents)) if parents[i] == 0 and mocap[i] < 0]
    types, first = source.array("jnt_type"), source.array("body_jntadr")
    free = [i for i in bases if counts[i] and source.kind("mjtJoint", types[first[i]]) == "free"]
    welded = [i for i in bases if not counts[i]]
    if len(welded) == 1 and not free:
        return welded[0]
    if not (len(bases) == 1 and free):
        message = (
            f"floating_base=True needs one body welded to the world, got {listed(source.bodies[i] for i in bases)}"
        )
        hint = "leave floating_base out: the file says how each base moves"
        findings.error(Issue("FLOATING_BASE", message, Location(source.file), hint))
    return None


def _base_to_fix(source: CompiledModel, findings: Findings) -> dict[int, Sequence[float]]:
    """Return the free joint of the model's only floating base, which is to be fixed: {joint index: its qpos0}."""
    starts = source.array("jnt_qposadr")
    free = [j for j, x in enumerate(source.array("jnt_type")) if source.kind("mjtJoint", x) == "free"]
    if len(free) > 1:
        bodies = [source.bodies[source.array("jnt_bodyid")[j]] for j in free]
        message = f"floating_base=False needs a single free body, got {len(free)}: {listed(bodies)}"
        hint = "leave floating_base out, and lock joints of the robot: with_locked_joints"
        findings.error(Issue("FLOATING_BASE", message, Location(source.file), hint))
        return {}
    return {j: source.array("qpos0")[starts[j] : starts[j] + 7] for j in free}
