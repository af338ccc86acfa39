"""Joints in terms of the few types that other formats have: chains of simple joints, and joints without a rotor's pose.

A joint of several coordinates becomes a chain of joints with one coordinate each, connected by links without mass, if
its q and v are those of the chain in order.  The motion, the mass matrix and all forces are the same.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace

from linkwork.formats.tree_description import DescribedTree
from linkwork.joints import (
    Composite,
    Cylindrical,
    Fixed,
    Helical,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    SphericalEuler,
    Translational,
    UnboundedRevolute,
    Universal,
)
from linkwork.model.body import Drive, Following, Limits
from linkwork.model.composite_body import compose
from linkwork.model.description import JointDescription, LinkDescription
from linkwork.spatial import Inertia, Pose, Rotation, Vec3

__all__ = ["Chain", "chain_of", "split_joint", "with_standard_axes", "without_rotor"]

Chain = tuple[tuple[Pose, JointType], ...]
"""Joints in series, each with the pose of its frame F in the M of the joint before."""

_AXES = {"x": Vec3(1.0, 0.0, 0.0), "y": Vec3(0.0, 1.0, 0.0), "z": Vec3(0.0, 0.0, 1.0)}


def chain_of(joint: JointType, kinds: Collection[type[JointType]]) -> Chain | None:
    """Return a joint as a chain of joints of some kinds with the same q and v; None if there is no such chain.

    A helical joint is a revolute and a prismatic one, which follows it.
    """
    here = Pose.identity()
    if type(joint) in kinds:
        return ((here, joint),)
    match joint:
        case Universal():
            simple: list[tuple[Pose, JointType]] = [(here, Revolute(joint.first)), (here, Revolute(joint.second))]
        case Cylindrical():
            simple = [(here, Revolute(joint.axis)), (here, Prismatic(joint.axis))]
        case Helical():
            simple = [(here, Revolute(joint.axis)), (here, Prismatic(joint.axis))]
        case Translational():
            simple = [(here, Prismatic(axis)) for axis in _AXES.values()]
        case SphericalEuler():
            simple = [(here, Revolute(_AXES[letter])) for letter in joint.order]
        case Composite():
            simple = [*zip(joint.placements, joint.joints, strict=True)]
        case _:
            return None
    if not isinstance(joint, Composite):
        return tuple(simple) if all(type(part) in kinds for _, part in simple) else None
    result: list[tuple[Pose, JointType]] = []
    for placement, part in simple:
        inner = None if isinstance(part, Helical) else chain_of(part, kinds)
        if inner is None:
            return None
        (X, first), *others = inner
        result += [(compose(placement, X), first), *others]
    return tuple(result)


def split_joint(
    described: DescribedTree, joint: JointDescription, chain: Chain
) -> tuple[list[LinkDescription], list[JointDescription]]:
    """Return the links without mass and the joints of a chain in place of a joint.

    The first joint keeps the name.
    """
    if len(chain) == 1:
        return [], [joint]
    links: list[LinkDescription] = []
    joints: list[JointDescription] = []
    parent, q, v = joint.parent, 0, 0
    advance = joint.joint.pitch if isinstance(joint.joint, Helical) else None
    for k, (placement, part) in enumerate(chain):
        is_last = k == len(chain) - 1
        name = joint.name if k == 0 else described.names.new(f"{joint.name}_{k + 1}")
        child = joint.child if is_last else described.names.new(f"{joint.name}_link_{k + 1}")
        if not is_last:
            links.append(LinkDescription(child, Inertia.zero()))
        own = slice(q, q + part.nq), slice(v, v + part.nv)
        follows = advance is not None and k == 1
        mimic = joint.mimic if advance is not None and k == 0 else None
        joints.append(
            replace(
                joint,
                name=name,
                parent=parent,
                child=child,
                joint=part,
                placement=compose(joint.placement, placement) if k == 0 else placement,
                rotor=joint.rotor if is_last else Pose.identity(),
                limits=Limits.none(part) if follows else _part_of_limits(joint.limits, *own),
                damping=(0.0,) if follows else joint.damping[own[1]],
                friction=(0.0,) if follows else joint.friction[own[1]],
                mimic=Following(joint.name, advance) if follows and advance is not None else mimic,
                drive=Drive() if follows else _part_of_drive(joint.drive, *own),
            )
        )
        parent, q, v = child, own[0].stop, own[1].stop
    return links, joints


def _part_of_limits(limits: Limits, q: slice, v: slice) -> Limits:
    rates = limits.velocity[v], limits.effort[v], limits.enabled, limits.acceleration[v], limits.jerk[v]
    return Limits(limits.lower[q], limits.upper[q], *rates)


def _part_of_drive(drive: Drive, q: slice, v: slice) -> Drive:
    return Drive(**{f.name: getattr(drive, f.name)[q if f.name == "rest" else v] for f in fields(Drive)})


def with_standard_axes(joint: JointDescription) -> JointDescription:
    """Return a planar joint in the plane of x and y, by other frames F and M; another joint unchanged."""
    planar = joint.joint
    if not isinstance(planar, Planar) or planar == Planar.across(planar.normal):
        return joint
    x, y, n = planar.x_axis, planar.y_axis, planar.normal
    turn = Pose(Rotation(Vec3(x.x, y.x, n.x), Vec3(x.y, y.y, n.y), Vec3(x.z, y.z, n.z)), Vec3.zero())
    return replace(joint, joint=Planar(), placement=joint.placement @ turn, rotor=turn.inv().formed() @ joint.rotor)


def without_rotor(
    described: DescribedTree, joint: JointDescription
) -> tuple[list[LinkDescription], list[JointDescription]]:
    """Return a joint whose child link is at its frame M, with the link and the fixed joint that this may need.

    A rotor's pose that commutes with the joint's motion, up to a rotation of the axis, moves to the other side of the
    joint.
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
