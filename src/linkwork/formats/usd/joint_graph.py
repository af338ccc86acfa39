"""Spanning tree of links and joints: joints of the tree, loops, bodies without joints, and the initial state.

The joints of a stage may form any graph.  Joints are added to the tree in the order of the stage, those that are
excluded from articulations last.  A joint between two links that are connected already closes a loop.  The
initial state is the configuration in which a stage shows its bodies, with the targets of the drives as controls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from linkwork.constraints import LoopJoint
from linkwork.errors import Location
from linkwork.formats.description import (
    FLOATING_BASE,
    ConstraintDescription,
    DisabledPair,
    FrameDescription,
    JointDescription,
    Limits,
    NamedState,
    NamedStateDescription,
)
from linkwork.formats.unique_names import Names
from linkwork.formats.usd.joint_prims import JointPrim, following
from linkwork.formats.usd.prim_values import PrimReader
from linkwork.joints import Cylindrical, Fixed, Floating, JointType, Prismatic, Reversed, Revolute
from linkwork.spatial import Pose, Quaternion

__all__ = ["INITIAL", "WORLD", "Graph", "initial_state", "joint_graph"]

WORLD = "world"


@dataclass
class Graph:
    """Joints of a tree from the world outwards, frames and constraints of loops, and pairs of links in loops."""

    joints: list[JointDescription]
    frames: list[FrameDescription]
    constraints: list[ConstraintDescription]
    pairs: list[DisabledPair]
    used: list[JointPrim]  # joints of the tree
    loops: list[JointPrim]  # joints that close loops


def joint_graph(
    reader: PrimReader,
    poses: Mapping[str, Pose],
    fixed: Mapping[str, Any],
    joints: list[JointPrim],
    roots: Iterable[str],
    prims: Mapping[str, Any],
    marks: Iterable[str],
) -> Graph:
    """Sort the joints of a stage into tree joints and loops.

    ``poses`` are the poses of all links in the world, in order. ``fixed`` are the links that do not move, with their
    prims. ``roots`` are preferred root links of floating parts of the robot. ``prims`` are the prims of the links;
    ``marks`` are the names of frames.
    """
    by_path = {str(joint.prim.GetPath()): joint for joint in joints}
    owner = {name: name for name in (WORLD, *poses)}

    def top(link: str) -> str:
        while owner[link] != link:
            owner[link] = owner[owner[link]]
            link = owner[link]
        return link

    neighbours: dict[str, list[tuple[str, JointPrim | None]]] = {name: [] for name in owner}
    for link in fixed:
        owner[top(link)] = WORLD
        neighbours[WORLD].append((link, None))
    tree, loops, immobile = [], [], {WORLD, *fixed}
    for joint in sorted(joints, key=lambda joint_prim: joint_prim.excluded):
        first, second = (end.link for end in joint.ends)
        if isinstance(joint.joint, Floating):
            reader.note(joint.prim, "a joint that is free in all directions does not join bodies: it is ignored")
        elif first in immobile and second in immobile:
            reader.note(joint.prim, "a joint between two bodies that do not move is ignored")
        elif top(first) == top(second):
            loops.append(joint)
        else:
            a, b = top(first), top(second)
            owner[a if b == WORLD else b] = b if b == WORLD else a
            tree.append(joint)
            neighbours[first].append((second, joint))
            neighbours[second].append((first, joint))
    graph = Graph([], [], [], [], [], loops)
    parts: dict[str, list[str]] = {}  # links by the representative of their floating part
    for link in poses:
        if top(link) != WORLD:
            parts.setdefault(top(link), []).append(link)
    entered, chosen = {joint.ends[1].link for joint in tree}, {*roots}
    floating = [_start(members, chosen, entered) for members in parts.values()]
    described: dict[int, JointDescription] = {}
    bases = []
    taken = Names(joint.name for joint in joints)
    for link in floating:
        name = taken.underscored(FLOATING_BASE if len(floating) == 1 else f"{link}_floating")
        free = Floating()
        zeros = (0.0,) * free.nv
        bases.append(
            JointDescription(
                name,
                WORLD,
                link,
                free,
                Pose.identity(),
                Limits.none(free),
                zeros,
                zeros,
                where=reader.where(prims[link]),
            )
        )
    welds = []
    for link, prim in fixed.items():
        name = taken.underscored(f"{link}_fixed")
        welds.append(
            JointDescription(
                name, WORLD, link, Fixed(), poses[link], Limits.none(Fixed()), (), (), where=reader.where(prim)
            )
        )
    visited, waiting = {WORLD, *floating}, [WORLD, *floating]
    while waiting:
        link = waiting.pop()
        for neighbour, edge in neighbours[link]:
            if neighbour in visited:
                continue
            visited.add(neighbour)
            waiting.append(neighbour)
            if edge is not None:
                described[id(edge)] = _described(reader, edge, link, by_path)
    graph.joints = [*bases, *welds, *(described[id(joint)] for joint in joints if id(joint) in described)]
    graph.used = [joint for joint in joints if id(joint) in described]
    names = Names((*owner, *marks))
    for loop in loops:
        _close(reader, graph, loop, names)
    return graph


def _start(members: list[str], roots: set[str], entered: set[str]) -> str:
    """Return the root link of a floating part: the root of its articulation, or a link that is no joint's child."""
    candidates = [link for link in members if link in roots] or [link for link in members if link not in entered]
    return (candidates or members)[0]


def _described(reader: PrimReader, joint: JointPrim, parent: str, by_path: Mapping[str, JointPrim]) -> JointDescription:
    """Return the description of a tree joint, reversed with the same coordinates if its second end is on the parent."""
    first, second = joint.ends
    kind = joint.joint
    if first.link != parent:
        first, second = second, first
        kind = _reversed(kind)
    return JointDescription(
        name=joint.name,
        parent=first.link,
        child=second.link,
        joint=kind,
        placement=first.pose,
        limits=joint.limits,
        damping=joint.damping,
        friction=joint.friction,
        mimic=following(reader, joint, by_path),
        rotor=second.pose.inv().formed() if not second.pose.is_identity else second.pose,
        where=reader.where(joint.prim),
        drive=joint.drive,
    )


def _reversed(joint: JointType) -> JointType:
    if isinstance(joint, (Revolute, Prismatic, Cylindrical)):
        return type(joint)(-joint.axis)
    return joint if isinstance(joint, Fixed) else Reversed(joint)


def _close(reader: PrimReader, graph: Graph, joint: JointPrim, names: Names) -> None:
    """Add a loop to ``graph``: two frames, and the joint between them."""
    where = reader.where(joint.prim)
    ends = [
        FrameDescription(names.underscored(f"{joint.name}_{letter}"), end.link, end.pose, where)
        for letter, end in zip("FM", joint.ends, strict=True)
    ]
    graph.frames += ends
    limits, values = joint.limits, {}
    if joint.joint.nv:
        values = {
            "lower": limits.lower,
            "upper": limits.upper,
            "velocity_bound": limits.velocity,
            "effort": limits.effort,
            "damping": joint.damping,
            "friction": joint.friction,
            "static_friction": joint.drive.static_friction,
        }
        values = {
            key: value
            for key, value in values.items()
            if any(x not in (0.0, float("inf"), -float("inf")) for x in value)
        }
    loop = LoopJoint(joint.name, joint.joint, ends[1].name, ends[0].name, **values)
    graph.constraints.append(ConstraintDescription(loop, where))
    for property_name, present in (
        ("armature", joint.drive.armature),
        ("drive", joint.actuators),
        ("relation to another joint", joint.mimic),
    ):
        if present:
            reader.warn(joint.prim, "UNSUPPORTED", f"the {property_name} of a joint that closes a loop is left out")
    first, second = (end.link for end in joint.ends)
    if not joint.collides and first != second:
        graph.pairs.append(DisabledPair(first, second, "Adjacent"))


INITIAL = "initial"  # name of the configuration
_ZERO = 1e-6  # [rad, m] coordinates below it are rounding of single precision
_APART = 1e-3  # [rad, m] bodies that are farther from where their joint can hold them are reported


def initial_state(
    reader: PrimReader, graph: Graph, poses: Mapping[str, Pose], where: Location
) -> NamedStateDescription | None:
    """Return the configuration "initial" of the stage, or None if it is zero and no drive has a target.

    Joints that follow others are left out.  The warning POSE_APART reports bodies whose poses in
    the stage their joint cannot reach.
    """
    values: list[tuple[str, tuple[float, ...]]] = []
    is_moved = False
    for joint in graph.joints:
        if isinstance(joint.joint, Floating) and joint.name not in {used.name for used in graph.used}:
            pose = poses[joint.child]
            quaternion = [float(x) for x in Quaternion.of(pose.rotation).elements()]
            values.append((joint.name, (*quaternion, *pose.translation)))
            is_moved |= [*values[-1][1]] != [*joint.joint.zero()]
    for used in graph.used:
        first, second = (_placed(poses, end.link) @ end.pose for end in used.ends)
        q = _coordinates(reader, used, first.inv().formed() @ second)
        if q is not None and used.mimic is None and used.joint.nq:
            values.append((used.name, q))
            is_moved |= [*q] != [*used.joint.zero()]
    for loop in graph.loops:  # to report loops that are open in the stage
        first, second = (_placed(poses, end.link) @ end.pose for end in loop.ends)
        _coordinates(reader, loop, first.inv().formed() @ second)
    controls = tuple(target for used in graph.used for target in used.targets)
    if not is_moved and not any(value for _, value in controls):
        return None
    return NamedStateDescription(NamedState(INITIAL, tuple(values), None, controls or None), where)


def _placed(poses: Mapping[str, Pose], link: str) -> Pose:
    return poses.get(link, Pose.identity())


def _coordinates(reader: PrimReader, used: JointPrim, X: Pose) -> tuple[float, ...] | None:
    """Return a joint's coordinates at the pose X_FM, shifted by full turns into the limits if possible."""
    joint = used.joint
    residual: Any = joint.pose_residual(X)
    apart = max(math.hypot(*residual.angular), math.hypot(*residual.linear))
    if not apart <= _APART:
        message = f"the bodies are {apart:.3g} [rad, m] from where the joint can hold them: the joint's frames are used"
        reader.warn(used.prim, "POSE_APART", message)
        return None
    q = [float(x) for x in joint.configuration_from_pose(X)]
    if joint.nq == joint.nv:
        q = [0.0 if abs(x) < _ZERO else x for x in q]
        for k, unit in enumerate(joint.q_units):
            lower, upper = used.limits.lower[k], used.limits.upper[k]
            turn = math.copysign(2.0 * math.pi, lower - q[k])
            if unit == "rad" and not lower <= q[k] <= upper and lower <= q[k] + turn <= upper:
                q[k] += turn
    return tuple(q)
