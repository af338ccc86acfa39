"""Joints in terms of the few types of other formats: chains of simple joints, and joints without a rotor's pose.

A joint of several coordinates becomes a chain of joints with one coordinate each, connected by links without mass, if
its q and v are those of the chain in order. The motion, the mass matrix and all forces are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace

from linkwork.constraints import Constraint, LoopJoint
from linkwork.force_elements import ForceElement
from linkwork.formats.tree_description import DescribedTree
from linkwork.formats.written_content import WritingLog, is_own
from linkwork.joints import (
    Composite,
    Cylindrical,
    Fixed,
    Floating,
    FloatingMRP,
    Helical,
    JointType,
    Planar,
    Prismatic,
    Reversed,
    Revolute,
    Spherical,
    SphericalEuler,
    SphericalMRP,
    Translational,
    UnboundedRevolute,
    Universal,
)
from linkwork.model.actuator import Actuator
from linkwork.model.body import WORLD, Body, Drive, Following, Limits
from linkwork.model.composite_body import compose
from linkwork.model.description import ByJoint, JointDescription, LinkDescription
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Rotation, Vec3

__all__ = [
    "IMMOBILE",
    "Chain",
    "chain_of",
    "has_part",
    "immobile",
    "own_ends",
    "split_joint",
    "unreversed",
    "with_parts_of_joints",
    "with_quaternions",
    "with_standard_axes",
    "without_rotor",
]

Chain = tuple[tuple[Pose, JointType], ...]
"""Joints in series, each with the pose of its frame F in the M of the joint before."""

_QUATERNIONS: dict[type[JointType], JointType] = {
    Spherical: Spherical(),
    SphericalMRP: Spherical(),
    Floating: Floating(),
    FloatingMRP: Floating(),
}
_AXES = {"x": Vec3(1.0, 0.0, 0.0), "y": Vec3(0.0, 1.0, 0.0), "z": Vec3(0.0, 0.0, 1.0)}


def chain_of(joint: JointType, kinds: Collection[type[JointType]]) -> Chain | None:
    """Return an equivalent chain of joints of the listed ``kinds`` with the same q and v; None if there is none.

    A helical joint becomes a revolute joint and a prismatic joint that follows its angle.
    """
    identity, joint = Pose.identity(), unreversed(joint)
    if type(joint) in kinds:
        return ((identity, joint),)
    if not is_own(joint):
        return None
    match joint:
        case Universal():
            simple: list[tuple[Pose, JointType]] = [
                (identity, Revolute(joint.first)),
                (identity, Revolute(joint.second)),
            ]
        case Cylindrical():
            simple = [(identity, Revolute(joint.axis)), (identity, Prismatic(joint.axis))]
        case Helical():
            simple = [(identity, Revolute(joint.axis)), (identity, Prismatic(joint.axis))]
        case Translational():
            simple = [(identity, Prismatic(axis)) for axis in _AXES.values()]
        case SphericalEuler():
            simple = [(identity, Revolute(_AXES[letter])) for letter in joint.order]
        case Composite():
            simple = [*zip(joint.placements, joint.joints, strict=True)]
        case _:
            return None
    if not isinstance(joint, Composite):
        return tuple(simple) if all(type(part) in kinds for _, part in simple) else None
    result: list[tuple[Pose, JointType]] = []
    for placement, part in simple:
        inner = None if isinstance(unreversed(part), Helical) else chain_of(part, kinds)
        if inner is None:
            return None
        (X, first), *further = inner
        result += [(compose(placement, X), first), *further]
    return tuple(result)


def unreversed(joint: JointType) -> JointType:
    """Return a joint with the motion of a reversed joint, of the same type, such as a hinge with opposite axis.

    A joint that is not reversed, or cannot be converted, is returned unchanged.
    """
    if not isinstance(joint, Reversed):
        return joint
    turned = joint.joint.reversed()
    return joint if isinstance(turned, Reversed) else turned


def has_part(tree: Tree, kind: type[JointType], kinds: Collection[type[JointType]]) -> bool:
    """Return True if the chain of ``kinds`` that represents a joint of the tree contains a joint of type ``kind``."""
    return any(isinstance(part, kind) for body in tree.bodies for _, part in chain_of(body.joint, kinds) or ())


def split_joint(
    described: DescribedTree, joint: JointDescription, chain: Chain
) -> tuple[list[LinkDescription], list[JointDescription]]:
    """Return the massless links and the joints of the chain that replaces a joint.

    The first joint keeps the name. Fixed joints in the chain become part of the poses.
    """
    moving, rotor = _without_fixed(chain)
    rotor = compose(rotor, joint.rotor)
    links: list[LinkDescription] = []
    joints: list[JointDescription] = []
    parent, q, v = joint.parent, 0, 0
    whole = unreversed(joint.joint)
    advance = whole.pitch if isinstance(whole, Helical) and len(moving) > 1 else None
    for k, (placement, part) in enumerate(moving):
        is_last = k == len(moving) - 1
        name = joint.name if k == 0 else described.names.new(f"{joint.name}_{k + 1}")
        child = joint.child if is_last else described.names.new(f"{joint.name}_link_{k + 1}")
        if not is_last:
            links.append(LinkDescription(child, Inertia.zero()))
        slices = slice(q, q + part.nq), slice(v, v + part.nv)
        follows = advance is not None and k == 1
        mimic = joint.mimic if joint.joint.nq == 1 and k == 0 else None
        joints.append(
            replace(
                joint,
                name=name,
                parent=parent,
                child=child,
                joint=part,
                placement=compose(joint.placement, placement) if k == 0 else placement,
                rotor=rotor if is_last else Pose.identity(),
                limits=Limits.none(part) if follows else _part_of_limits(joint.limits, *slices),
                damping=(0.0,) if follows else joint.damping[slices[1]],
                friction=(0.0,) if follows else joint.friction[slices[1]],
                mimic=Following(joint.name, advance) if follows and advance is not None else mimic,
                drive=Drive() if follows else _part_of_drive(joint.drive, *slices),
            )
        )
        parent, q, v = child, slices[0].stop, slices[1].stop
    return links, joints


IMMOBILE = "its ends are on links that fixed joints connect, where it has no effect"


def immobile(tree: Tree) -> list[Constraint | ForceElement | Actuator]:
    """Return loops, welds, force elements and actuators between two frames that cannot move relative to each other.

    Fixed joints connect the links of these frames.
    """
    rigid = {WORLD: WORLD}  # the body at the start of a rigid group, by body
    for i, parent, body in tree.outward():
        rigid[i] = rigid[parent] if body.joint.nv == 0 else i
    result: list[Constraint | ForceElement | Actuator] = []
    items: tuple[Constraint | ForceElement | Actuator, ...]
    items = (*tree.constraints, *tree.force_elements, *tree.actuators)
    for item in items:
        if isinstance(item, Actuator):
            frames = [item.frame, item.relative_to]
        else:
            frames = [*item.references.frames, *(tree.point(name).frame for name in item.references.points)]
        ends = [rigid[tree.frame(name).body] for name in frames if name is not None]
        if len(ends) == 2 and ends[0] == ends[1]:
            result.append(item)
    return result


def own_ends(loop: LoopJoint) -> set[str]:
    """Return the names of the frames that readers add for a loop "pin".

    They are "pin_F" on its first link and "pin_M" on its second.
    """
    return {loop.relative_to} & {f"{loop.name}_F"} | {loop.frame} & {f"{loop.name}_M"}


def with_parts_of_joints(tree: Tree, parts: Mapping[str, Sequence[tuple[str, int, int]]]) -> Tree:
    """Return a tree whose actuators and named configurations refer to the joints of the written file.

    ``parts`` has, by joint, the name, nq and nv of each joint that replaces it.
    """

    def split(values: ByJoint, column: int) -> ByJoint:
        """Return ``values`` (joint, numbers) divided among the joints that replace each joint.

        ``column`` is 0 for values of q and 1 for values of v.
        """
        result = []
        for name, vector in values:
            start = 0
            for part, *counts in parts.get(name, ((name, len(vector), len(vector)),)):
                components = vector[start : start + counts[column]]
                start += len(components)
                result += [(part, components)] if components else []
        return tuple(result)

    actuators = [replace(item, joints=split(item.joints, 1)) if item.joints else item for item in tree.actuators]
    states = [
        replace(state, q=split(state.q, 0), v=None if state.v is None else split(state.v, 1))
        for state in tree.named_configurations
    ]
    return tree.with_unchecked(actuators=tuple(actuators), named_configurations=tuple(states))


def _without_fixed(chain: Chain) -> tuple[Chain, Pose]:
    """Return the moving joints of a chain, or one fixed joint if none moves, with a pose.

    The pose is that of the chain's end in the child frame M of the last joint.
    """
    result: list[tuple[Pose, JointType]] = []
    X = Pose.identity()
    for placement, part in chain:
        X = compose(X, placement)
        if not isinstance(part, Fixed):
            result.append((X, part))
            X = Pose.identity()
    return (tuple(result), X) if result else (((X, Fixed()),), Pose.identity())


def _part_of_limits(limits: Limits, q: slice, v: slice) -> Limits:
    rates = limits.velocity[v], limits.effort[v], limits.enabled, limits.acceleration[v], limits.jerk[v]
    return Limits(limits.lower[q], limits.upper[q], *rates)


def _part_of_drive(drive: Drive, q: slice, v: slice) -> Drive:
    return Drive(**{f.name: getattr(drive, f.name)[q if f.name == "rest" else v] for f in fields(Drive)})


def with_quaternions(tree: Tree, kind: type[JointType], log: WritingLog) -> Tree:
    """Return a tree whose ball or floating joints (``kind``) have unit quaternions, scalar first, in q.

    It replaces joints with modified Rodrigues parameters or with the scalar last; their v is unchanged. The log names
    these joints.
    """
    bodies: list[Body] = []
    moved: dict[str, tuple[JointType, JointType]] = {}
    for body in tree.bodies:
        joint, limits, drive = _with_quaternion(body.joint, kind), body.limits, body.drive
        if joint != body.joint:
            element, name = f"joint[{body.joint_name}]", body.joint.type_name()
            log.changed(element, f"a {name} joint is written with a quaternion, its scalar first, as its coordinates")
            moved[body.joint_name] = body.joint, joint
            lower = _by_part(body.joint, joint, limits.lower, lambda _, part, __: (-math.inf,) * part.nq)
            upper = _by_part(body.joint, joint, limits.upper, lambda _, part, __: (math.inf,) * part.nq)
            if _count((*lower, *upper)) < _count((*limits.lower, *limits.upper)):
                log.lost(element, f"the limits of q of a {name} joint are not written")
            limits = replace(limits, lower=lower, upper=upper)
            drive = replace(drive, rest=_by_part(body.joint, joint, drive.rest, _at_pose)) if drive.rest else drive
        bodies.append(replace(body, joint=joint, limits=limits, drive=drive))
    states = []
    for state in tree.named_configurations:
        q = [(name, _by_part(*moved[name], x, _at_pose) if name in moved else x) for name, x in state.q]
        states.append(replace(state, q=tuple(q)))
    return tree.with_unchecked(bodies=tuple(bodies), named_configurations=tuple(states)) if moved else tree


def _with_quaternion(joint: JointType, kind: type[JointType]) -> JointType:
    if type(joint) is Composite:
        return Composite(tuple(_with_quaternion(part, kind) for part in joint.joints), joint.placements)
    known = _QUATERNIONS.get(type(joint), joint)
    return known if type(known) is kind else joint


def _by_part(
    joint: JointType,
    joint_of_values: JointType,
    values: Sequence[float],
    convert: Callable[[JointType, JointType, Sequence[float]], Sequence[float]],
) -> tuple[float, ...]:
    """Return q of a joint, converted for those parts that the file represents by other coordinates."""
    if joint == joint_of_values:
        return tuple(values)
    if not joint.parts:
        return tuple(convert(joint, joint_of_values, values))
    result: tuple[float, ...] = ()
    start = 0
    for part, part_of_other in zip(joint.parts, joint_of_values.parts, strict=True):
        result += _by_part(part, part_of_other, values[start : start + part.nq], convert)
        start += part.nq
    return result


def _at_pose(joint: JointType, target_joint: JointType, q: Sequence[float]) -> list[float]:
    return [float(x) for x in target_joint.configuration_from_pose(joint.X(q))]


def _count(bounds: Sequence[float]) -> int:
    return sum(map(math.isfinite, bounds))


def with_standard_axes(joint: JointDescription) -> JointDescription:
    """Return a planar joint with other frames F and M, so that it moves in the x-y plane; other joints unchanged."""
    planar = joint.joint
    if not isinstance(planar, Planar) or planar == Planar.across(planar.normal):
        return joint
    x, y, n = planar.x_axis, planar.y_axis, planar.normal
    turn = Pose(Rotation(Vec3(x.x, y.x, n.x), Vec3(x.y, y.y, n.y), Vec3(x.z, y.z, n.z)), Vec3.zero())
    return replace(joint, joint=Planar(), placement=joint.placement @ turn, rotor=turn.inv().formed() @ joint.rotor)


def without_rotor(
    described: DescribedTree, joint: JointDescription
) -> tuple[list[LinkDescription], list[JointDescription]]:
    """Return a joint whose child link coincides with its frame M, with an extra link and fixed joint if necessary.

    The pose of the child link in M (the rotor) moves to the parent's side if it commutes with the motion of the joint,
    up to a rotation of the axis.
    """
    rotor = joint.rotor
    if rotor.is_identity:
        return [], [joint]
    kind = joint.joint
    if isinstance(kind, (Fixed, Prismatic, Revolute, UnboundedRevolute)):
        slides = isinstance(kind, (Fixed, Prismatic))
        if slides or not any(kind.axis.cross(rotor.translation)):  # type: ignore[union-attr]
            turned = kind if isinstance(kind, Fixed) else type(kind)(rotor.rotation.inv_act(kind.axis))
            return [], [replace(joint, joint=turned, placement=compose(joint.placement, rotor), rotor=Pose.identity())]
    middle = described.names.new(f"{joint.name}_M")
    name, fixed = described.names.new(f"{middle}_fixed"), Fixed()
    weld = JointDescription(name, middle, joint.child, fixed, rotor, Limits.none(fixed), (), ())
    return [LinkDescription(middle, Inertia.zero())], [
        replace(joint, child=middle, rotor=Pose.identity()),
        weld,
    ]
