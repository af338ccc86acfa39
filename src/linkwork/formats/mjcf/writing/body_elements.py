"""Links, joints, further frames and points of a robot as bodies, joints and sites of MJCF.

Inertias are within the bounds that MuJoCo's compiler checks.  It refuses a principal moment that exceeds the sum of the
others by one rounding, and a moving body whose mass or least moment is below 1e-15.  The inertias of thin rods, flat
plates and points are at these bounds.  They are written by their principal moments, which MuJoCo does not compute
again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.formats.description import mass_properties, moments_possible
from linkwork.formats.mjcf.writing.joint_elements import (
    BALL,
    FREE,
    JointMap,
    Part,
    keeps_coordinates,
    mujoco_parts,
    placed_parts,
    zero_pose,
)
from linkwork.formats.mjcf.writing.mjcf_document import (
    MjcfDocument,
    add_shapes,
    between,
    bounds,
    placed,
    quaternion_text,
)
from linkwork.formats.written_content import LEAST_MOMENT, is_at_bounds
from linkwork.formats.xml_text import Node, number_list_text, number_text
from linkwork.model import WORLD, Body, Frame, Tree, names_in
from linkwork.spatial import Pose, Rotation, Symmetric3, Vec3

__all__ = ["add_bodies"]

_EXACT = 1e-13  # relative change of a moment that is rounding of float64
_FIXED = "a fixed joint is written as a body without a joint, and its name is lost"


@dataclass(frozen=True, slots=True)
class _JointsBefore:
    """Joints of the massless links between a body and its parent that has a <body>; the links themselves have none."""

    node: Node  # of the carrying link
    carrier: str
    joints: tuple[tuple[Body, tuple[str, ...], tuple[Part, ...]], ...] = ()
    placement: Pose | None = None  # of the last of these links in the carrying link, at zero


def add_bodies(document: MjcfDocument) -> None:
    """Add a <body> for each link, inside that of its parent link, and a <site> for each additional frame."""
    tree, world = document.tree, document.section("worldbody")
    carried = {body.name: body for body in tree.bodies}
    order = {body.name: k for k, body in enumerate(tree.bodies)}
    children: dict[str, list[Frame]] = {}
    for link in sorted(tree.links, key=lambda frame: order.get(frame.name, -1)):
        children.setdefault(_carrier(tree, link, carried.get(link.name)), []).append(link)
    skipped = _skipped_links(tree, children)
    roots = children.get("world", [])
    stack = [(link, _JointsBefore(world, "world")) for link in reversed(roots)]
    while stack:
        link, before = stack.pop()
        below = reversed(children.get(link.name, []) if link.name != "world" else [])
        body = carried.get(link.name)
        if link.name in skipped:
            assert body is not None
            after = _skip_link(document, body, before)
        else:
            node = world if link.name == "world" else _add_link(document, link, body, before)
            document.links[link.name] = node
            add_shapes(document, link, node)
            after = _JointsBefore(node, link.name)
        stack.extend((child, after) for child in below)
    _add_marks(document)


def _skipped_links(tree: Tree, children: dict[str, list[Frame]]) -> set[str]:
    """Return massless links between two joints that have no other child link and are not referenced.

    MuJoCo refuses moving bodies without mass; the joints on both sides become joints of one body.
    """
    references = [x.references for x in tree.constraints] + [x.references for x in tree.force_elements]
    named = {name for reference in references for name in (*reference.frames, *reference.points)}
    named |= {name for actuator in tree.actuators for name in actuator.frames}
    named |= {point.frame for point in tree.points} | {direction.frame for direction in tree.directions}
    result = set()
    for i, body in enumerate(tree.bodies):
        frames, below = tree.frames_on(i), children.get(body.name, [])
        if len(frames) != 1 or len(below) != 1 or body.name in named:
            continue
        if any(part.kind in (BALL, FREE) for part in mujoco_parts(body.joint) or ()):
            continue  # MuJoCo has no rotation after a ball in one body
        (link,) = frames
        if link.inertia.is_zero and not (link.visuals or link.collisions) and below[0].fixed_joint is None:
            result.add(body.name)
    return result


def _skip_link(document: MjcfDocument, body: Body, before: _JointsBefore) -> _JointsBefore:
    message = (
        "links without mass between two joints are read with the names of their joints, as parts of the body after"
    )
    for name in (body.name, body.joint_name):
        document.log.changed(f"link[{name}]", message)
    parts = tuple(placed_parts(mujoco_parts(body.joint) or (), body.rotor))
    X = _placed_after(document.tree, before, body)
    return _JointsBefore(before.node, before.carrier, (*_moved(before.joints, body), (body, _names(body), parts)), X)


def _moved(
    joints: Sequence[tuple[Body, tuple[str, ...], tuple[Part, ...]]], body: Body
) -> list[tuple[Body, tuple[str, ...], tuple[Part, ...]]]:
    """Return joints that precede a body, with their axes and positions in the coordinates of that body."""
    X = zero_pose(body.joint, body.placement, body.rotor)
    return [(carrier, names, tuple(part.in_frame(X) for part in parts)) for carrier, names, parts in joints]


def _placed_after(tree: Tree, before: _JointsBefore, body: Body) -> Pose:
    """Return the pose of a body in its parent link that has a <body>, at the zero configuration."""
    X = zero_pose(body.joint, body.placement, body.rotor)
    if before.placement is not None:
        return before.placement @ X
    return between(Pose.identity() if before.carrier == "world" else tree.frame(before.carrier).placement, X)


def _names(body: Body) -> tuple[str, ...]:
    """Return the names of the MuJoCo joints that represent the joint of a body."""
    parts = mujoco_parts(body.joint) or ()
    coordinates = names_in(body, "v")
    return tuple(coordinates[part.coordinate] if len(parts) > 1 else body.joint_name for part in parts)


def _add_marks(document: MjcfDocument) -> None:
    """Add a site for each frame and point that is not a link."""
    tree = document.tree
    for frame in tree.frames:
        if not frame.is_link:
            document.site(frame.name, frame.name, Pose.identity())
    for point in tree.points:
        document.site(point.name, point.frame, Pose(Rotation.identity(), point.position))
    for direction in tree.directions:
        document.log.lost(f"direction[{direction.name}]", "MJCF has no directions")
    if tree.inertias_ignored:
        document.log.lost("links", "the robot was loaded without inertias, which MuJoCo needs")


def _carrier(tree: Tree, link: Frame, body: Body | None) -> str:
    """Return the name of the parent link of a link; "world" for a root."""
    if body is None and link.welded_to is not None:
        carrier = tree.frame(link.welded_to)
        while not carrier.is_link and carrier.welded_to is not None:
            carrier = tree.frame(carrier.welded_to)
        return carrier.name
    if body is None:
        return "world" if link.body == WORLD or link.name == "world" else tree.bodies[link.body].name
    parts = mujoco_parts(body.joint) or ()
    if body.links is not None and body.links[0] != link.name and not any(part.kind == FREE for part in parts):
        parent = body.links[0]
        if parent == "world" or any(frame.name == parent for frame in tree.frames_on(body.parent)):
            return parent
    return "world" if body.parent == WORLD else tree.bodies[body.parent].name


def _add_link(document: MjcfDocument, link: Frame, body: Body | None, before: _JointsBefore) -> Node:
    """Add the <body> of a link with its joints and inertia."""
    tree, carrier = document.tree, before.carrier
    if body is None:
        X = between(Pose.identity() if carrier == "world" else tree.frame(carrier).placement, link.placement)
        node = before.node.add("body", name=link.name, **placed(X))
        if link.fixed_joint is not None:
            document.log.changed(f"joint[{link.fixed_joint}]", _FIXED)
    else:
        node = before.node.add("body", name=link.name, **placed(_placed_after(tree, before, body)))
        joint_parts = placed_parts(mujoco_parts(body.joint) or (), body.rotor)
        for moving, names, parts in (*_moved(before.joints, body), (body, _names(body), tuple(joint_parts))):
            _add_joints(document, node, moving, names, parts)
    moves = body is not None and bool(before.joints or mujoco_parts(body.joint))
    if not link.inertia.is_zero:
        _add_inertial(document, node, link, moves=moves)
        return node
    node.add("inertial", pos="0 0 0", mass="0", diaginertia="0 0 0")  # else some readers compute it from shapes
    if body is not None:
        message = "MuJoCo refuses a link that moves without mass, unless a link welded to it has mass"
        document.log.lost(f"link[{link.name}]", message)
    return node


def _add_joints(document: MjcfDocument, node: Node, body: Body, names: tuple[str, ...], parts: Sequence[Part]) -> None:
    """Add the joints of a body, with limits, damping, friction, armature and springs."""
    if not parts:
        document.log.changed(f"joint[{body.joint_name}]", _FIXED)
        return
    document.joints.append((body, names, list(parts)))
    element = f"joint[{body.joint_name}]"
    if not keeps_coordinates(body.joint):
        kinds = " and ".join(sorted({part.kind for part in parts}))
        kind = body.joint.type_name()
        document.log.changed(element, f"a {kind} joint is written as {kinds}, with other coordinates")
    elif parts[0].kind == FREE and not (body.placement.is_identity and body.rotor.is_identity):
        message = "a floating joint with a placement is written with the pose in the world as its coordinates"
        document.log.changed(element, message)
    elif parts[0].kind == BALL and body.rotor.rotation != Rotation.identity():
        message = "a ball joint of a link that is turned in the joint's frame is written with a quaternion in link axes"
        document.log.changed(element, f"{message}, other coordinates")
    _report_drive(document, element, body)
    joint = JointMap(body, parts)
    values = _passive(document, element, body, joint)
    efforts = [body.limits.effort[part.coordinate] if joint.keeps_velocity(part) else math.inf for part in parts]
    if sum(map(math.isfinite, efforts)) < sum(map(math.isfinite, body.limits.effort)):
        message = "are written only along velocities of MuJoCo's hinges and slides"
        document.log.lost(element, f"effort limits {body.limits.effort} of a {body.joint.type_name()} joint {message}")
    for k, (name, part) in enumerate(zip(names, parts, strict=True)):
        attributes = {key: number_text(each[k]) for key, each in values.items() if each[k] != 0.0}
        _add_joint(document, node, body, name, part, efforts[k], attributes)


def _report_drive(document: MjcfDocument, element: str, body: Body) -> None:
    """Record in the report those parameters of a joint that MuJoCo's joints do not have."""
    limits, drive = body.limits, body.drive
    if any(map(math.isfinite, limits.velocity)):
        document.log.lost(element, "MJCF has no velocity limits")
    if any(map(math.isfinite, (*limits.acceleration, *limits.jerk))):
        document.log.lost(element, "MJCF has no limits of acceleration and jerk")
    if not limits.enabled and any(map(math.isfinite, (*limits.lower, *limits.upper))):
        document.log.lost(element, "bounds without effect are not written")
    if body.dynamics == "none" and (any(body.damping) or any(body.friction)):
        document.log.lost(element, "damping and friction without effect are not written")
    if drive.static_friction not in ((), body.friction) or drive.friction_velocity:
        document.log.lost(element, "MJCF has no static friction and no friction velocity")
    if any(ratio != 1.0 for ratio in drive.gear_ratio):
        document.log.lost(element, "MJCF has no gear ratio of joints")
    if body.mimic is not None and body.coupling is None:
        document.log.lost(element, "mimic relations of joints that move freely", "couple them: robot.with_couplings")


def _passive(document: MjcfDocument, element: str, body: Body, joint: JointMap) -> dict[str, list[float]]:
    """Return damping, friction, armature and springs of a joint as attributes, with one number for each MuJoCo joint.

    A value is reported as lost if no numbers for MuJoCo's joints have the same effect.
    """
    drive, resists = body.drive, body.dynamics != "none"
    result = {}
    for attribute, quantity, values, power in (
        ("damping", "damping", body.damping if resists else (), 2),
        ("frictionloss", "friction", body.friction if resists else (), 1),
        ("armature", "armature", drive.armature, 2),
    ):
        if any(values) and joint.keeps_resistance(values, power):
            result[attribute] = joint.each(values)
        elif any(values):
            message = f"MuJoCo's joints have no {quantity} like {values} of a {body.joint.type_name()} joint"
            document.log.lost(element, message)
    stiffness, spring_position = drive.stiffness, drive.rest
    if any(stiffness) and not joint.keeps_springs(stiffness, spring_position):
        at_rest = f" at rest at {spring_position}" if spring_position else ""
        message = f"MuJoCo's joints have no springs like {stiffness}{at_rest} of a {body.joint.type_name()} joint"
        document.log.lost(element, message)
    elif any(stiffness):
        result["stiffness"] = joint.each(stiffness)
        result["springref"] = joint.rests(spring_position)
    return result


def _add_joint(
    document: MjcfDocument, node: Node, body: Body, name: str, part: Part, effort: float, passive: Mapping[str, str]
) -> None:
    """Add one MuJoCo joint with its effort limit and the attributes of damping, friction and springs (``passive``)."""
    limits, nv = body.limits, body.joint.nv
    element, single = f"joint[{body.joint_name}]", part.kind in (BALL, FREE)
    coordinate = slice(part.coordinate, part.coordinate + 1)
    bounded = body.joint.nq == nv and not single and limits.enabled
    low, high = (limits.lower[coordinate][0], limits.upper[coordinate][0]) if bounded else (-math.inf, math.inf)
    if not bounded and limits.enabled and any(math.isfinite(x) for x in (*limits.lower, *limits.upper)):
        document.log.lost(element, f"limits {limits.lower} and {limits.upper} of a {part.kind} joint")
    node.add(
        "joint",
        name=name,
        type=part.kind,
        axis=None if single else number_list_text(part.axis),
        pos=None if part.kind == FREE or not any(part.position) else number_list_text(part.position),
        **bounds(document.log, element, "", low, high),
        **bounds(document.log, element, "actuatorfrc", -effort, effort),
        **passive,
    )


# -- inertias


def _add_inertial(document: MjcfDocument, node: Node, link: Frame, *, moves: bool) -> None:
    """Add the mass, the centre of mass and the rotational inertia of a link to its <body>."""
    mass, center, about = mass_properties(link.inertia)
    element = f"link[{link.name}]"
    if moves and mass < LEAST_MOMENT:
        document.log.lost(element, f"MuJoCo refuses a moving link with a mass below {0.5 * LEAST_MOMENT:g} kg")
    moments, axes = _principal(about)
    low, middle, high = moments
    if not moments_possible(mass, moments)[1]:
        message = f"MuJoCo refuses the principal moments {low:.6g}, {middle:.6g}, {high:.6g} kg m², which no body has"
        document.log.lost(element, message, 'load the robot with inertia="nearest"')
    elif is_at_bounds(moments):
        written = _admissible(moments, LEAST_MOMENT if moves else 0.0)
        if any(abs(a - b) > _EXACT * high for a, b in zip(written, moments, strict=True)):
            message = (
                f"moments of inertia at MuJoCo's bounds (A + B >= C, {LEAST_MOMENT:g} kg m²) are written within them"
            )
            document.log.changed(element, message)
        node.add(
            "inertial",
            pos=number_list_text(center),
            mass=number_text(mass),
            quat=None if axes == Rotation.identity() else quaternion_text(axes),
            diaginertia=number_list_text(written),
        )
        return
    full = (about.xx, about.yy, about.zz, about.xy, about.xz, about.yz)
    node.add("inertial", pos=number_list_text(center), mass=number_text(mass), fullinertia=number_list_text(full))


def _principal(about: Symmetric3) -> tuple[tuple[float, float, float], Rotation]:
    """Return the principal moments in ascending order, and the rotation of the principal axes."""
    scale = max(map(abs, about.elements())) or 1.0
    xx, xy, xz, yy, yz, zz = (x / scale for x in about.elements())
    moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    low, middle, high = (float(x) * scale for x in moments)
    return (low, middle, high), Rotation(*(Vec3.of(row) for row in axes.tolist()))


def _admissible(moments: tuple[float, float, float], least: float) -> tuple[float, float, float]:
    """Return moments of inertia raised to at least ``least``, each at most the sum of the other two in float64."""
    low, middle, high = (max(x, least) for x in moments)
    return low, middle, min(high, low + middle)
