"""Spanning tree of the links and joints of SDF models, and the constraints that close the loops.

SDF's links and joints may form any graph. The tree is built in two passes over the joints in document order. The first
pass adds each joint that closes no loop and whose child is not yet the child of another joint. The second adds joints
that connect parts of the graph that are still separate. All other joints are loop joints.  The root is the world.
Links that no joint connects to it float, each part on its first link that is not the child of a joint; links of static
models are fixed to the world.  A joint from a link to the one before it in the tree is reversed, with the same
coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linkwork._util.messages import listed, quoted
from linkwork.constraints import Gear, LoopJoint
from linkwork.formats.description import (
    FLOATING_BASE,
    ConstraintDescription,
    Drive,
    FrameDescription,
    JointDescription,
    Limits,
)
from linkwork.formats.sdf.sdf_frames import Frames, Node
from linkwork.formats.sdf.sdf_joints import SdfJoint, values_of
from linkwork.formats.unique_names import Names
from linkwork.joints import Fixed, Floating, JointType
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["ModelNames", "SpanningTree"]

WORLD = "world"


class ModelNames:
    """Names of links, joints and frames in the robot; they start with the model's name if there are several models.

    With a single model, a joint or frame of the world gets the prefix "world::" if the model uses its name.
    """

    def __init__(self, prefix: str, nodes: Iterable[Node]) -> None:
        self.prefix = prefix
        nodes = [*nodes]
        self.joints = Names()
        self.of_model = {node.name.removeprefix(prefix) for node in nodes if prefix and node.name.startswith(prefix)}
        self.frames = Names(self(node) for node in nodes if node.kind in ("link", "frame"))

    def __call__(self, node: Node) -> str:
        if node.kind == "world":
            return WORLD
        is_of_world = node.scope is not None and node.scope.owner.kind == "world"
        if is_of_world and node.name in self.of_model:
            return f"{WORLD}::{node.name}"
        return node.name.removeprefix(self.prefix)

    def new_joint(self, name: str) -> str:
        """Return a name for a joint that the file does not have; it ends with underscores if the name is taken."""
        return self.joints.underscored(name)


class _Parts:
    """Connected components of a graph of links, found by union-find."""

    def __init__(self) -> None:
        self.parents: dict[Node, Node] = {}

    def find(self, node: Node) -> Node:
        path = [node]
        while (after := self.parents.get(path[-1], path[-1])) is not path[-1]:
            path.append(after)
        for passed in path:
            self.parents[passed] = path[-1]
        return path[-1]

    def join(self, a: Node, b: Node) -> bool:
        """Connect two links; return False if they are connected already."""
        a, b = self.find(a), self.find(b)
        if a is not b:
            self.parents[b] = a
        return a is not b


@dataclass(eq=False)
class SpanningTree:
    """Tree joints and loop joints of the models, as descriptions from which a robot is built.

    ``floating_base`` decides how the base moves: as the file says (None), freely (True) or not at all (False).
    """

    frames: Frames
    links: Sequence[Node]
    names: ModelNames
    floating_base: bool | None = None
    joints: list[JointDescription] = field(default_factory=list)
    marks: list[FrameDescription] = field(default_factory=list)
    constraints: list[ConstraintDescription] = field(default_factory=list)
    tree: list[SdfJoint] = field(default_factory=list)  # that are part of the tree

    def build(self, joints: Sequence[SdfJoint]) -> None:
        """Sort the joints into tree joints and loop joints, and describe them."""
        self.names.joints.taken.update(self.names(joint.node) for joint in joints)
        static = [link for link in self.links if link.fixed]
        moving = [joint for joint in joints if joint.kind != "gearbox" and not self._is_immovable(joint)]
        accepted, parts = self._accepted(static, moving)
        floating = self._roots(moving, parts)
        freed = self._freed(static, floating, accepted) if self.floating_base else None
        for link in self.links:
            if link is freed or (link in floating and self.floating_base is not False):
                self._float(link, len(floating) > 1)
            elif link in floating or link.fixed:
                self._fix(link)
        before = self._reversed(accepted, [self.frames.world, *static, *floating])
        welds = _Parts()
        for link in static:
            if link is not freed:
                welds.join(self.frames.world, link)
        loose = [joint for joint in accepted if freed in _ends(joint) and self.frames.world in _ends(joint)]
        for joint in accepted:
            if joint.kind == "fixed" and joint not in loose:
                welds.join(joint.parent, joint.child)
        for joint in moving:
            if joint in accepted:
                if joint not in loose:
                    self._add_joint(joint, joint in before)
            elif welds.find(joint.parent) is welds.find(joint.child):
                message = "is ignored: it connects two links that are welded together"
                joint.reader.note(joint.element, "IGNORED", f"joint {quoted(self.names(joint.node))} {message}")
            else:
                self._add_loop(joint)
        for joint in joints:
            if joint.kind == "gearbox":
                self._add_gear(joint)

    def _is_immovable(self, joint: SdfJoint) -> bool:
        """Return True, with a note, for a joint that cannot move: both its links are static or the world."""
        if not all(link.fixed or link.kind == "world" for link in _ends(joint)):
            return False
        message = "is ignored: both of its links are fixed to the world"
        joint.reader.note(joint.element, "IGNORED", f"joint {quoted(self.names(joint.node))} {message}")
        return True

    # -- the graph

    def _accepted(self, static: Iterable[Node], joints: Sequence[SdfJoint]) -> tuple[dict[SdfJoint, None], _Parts]:
        """Return the joints of the tree, and the connected components that they form with the world.

        The links ``static`` are fixed to the world.
        """
        parts, carried = _Parts(), {self.frames.world, *static}
        for link in static:
            parts.join(self.frames.world, link)
        accepted: dict[SdfJoint, None] = {}
        for joint in joints:
            if joint.child not in carried and parts.join(joint.parent, joint.child):
                accepted[joint] = None
                carried.add(joint.child)
        for joint in joints:
            if joint not in accepted and parts.join(joint.parent, joint.child):
                accepted[joint] = None
        return accepted, parts

    def _roots(self, joints: Iterable[SdfJoint], parts: _Parts) -> dict[Node, None]:
        """Return the links that get a floating joint: one in each component that is not connected to the world."""
        children = {joint.child for joint in joints}
        roots = {parts.find(self.frames.world): self.frames.world}
        for links in ([link for link in self.links if link not in children], self.links):
            for link in links:
                roots.setdefault(parts.find(link), link)
        chosen = set(roots.values())
        return dict.fromkeys(link for link in self.links if link in chosen)

    def _freed(self, static: Sequence[Node], floating: Iterable[Node], accepted: Iterable[SdfJoint]) -> Node | None:
        """Return the link that the option ``floating_base`` makes floating, though the file fixes it to the world.

        None if the base floats already.
        """
        if any(True for _ in floating):
            return None
        world = self.frames.world
        bases = [*static]
        for joint in accepted:
            if world in _ends(joint):
                link = joint.child if joint.parent is world else joint.parent
                bases.append(link)
                if joint.kind != "fixed":
                    message = f"joint {quoted(self.names(joint.node))} connects the base to the world: it cannot float"
                    joint.reader.error(joint.element, "FLOATING_BASE", message, "load it without floating_base=True")
                    return None
        if len(bases) != 1:
            listed_ = listed(self.names(link) for link in bases)
            message = f"floating_base: expected one link that is fixed to the world, got {len(bases)}: {listed_}"
            world.reader.error(world.element, "FLOATING_BASE", message, 'choose a model by model="name"')
            return None
        return bases[0]

    def _reversed(self, accepted: Iterable[SdfJoint], roots: Sequence[Node]) -> set[SdfJoint]:
        """Return the joints whose child link comes before their parent link in the tree, starting from the roots."""
        around: dict[Node, list[SdfJoint]] = {}
        for joint in accepted:
            for link in _ends(joint):
                around.setdefault(link, []).append(joint)
        result: set[SdfJoint] = set()
        reached, stack = set(roots), [*roots]
        while stack:
            node = stack.pop()
            for joint in around.get(node, ()):
                neighbour = joint.child if joint.parent is node else joint.parent
                if neighbour not in reached:
                    reached.add(neighbour)
                    stack.append(neighbour)
                    if neighbour is joint.parent:
                        result.add(joint)
        return result

    # -- descriptions

    def _float(self, link: Node, several: bool) -> None:
        name = f"{self.names(link)}::{FLOATING_BASE}" if several else FLOATING_BASE
        self._add_base(link, name, Floating())

    def _fix(self, link: Node) -> None:
        self._add_base(link, f"{WORLD}_to_{self.names(link)}", Fixed())

    def _add_base(self, link: Node, name: str, joint: JointType) -> None:
        zeros = (0.0,) * joint.nv
        where = link.reader.where(link.element)
        X, limits = self.frames.relative(self.frames.world, link), Limits.none(joint)
        name = self.names.new_joint(name)
        self.joints.append(JointDescription(name, WORLD, self.names(link), joint, X, limits, zeros, zeros, where=where))

    def _add_joint(self, sdf_joint: SdfJoint, is_reversed: bool) -> None:
        """Add the description of a tree joint; ``is_reversed`` if the file's child link is its parent in the tree.

        The joint has the axes of its child link if it is fixed or prismatic, or if both have the same origin. A ball
        joint has no axes that could be rotated, so its frame must also be parallel to the link's.
        """
        before, after = (sdf_joint.child, sdf_joint.parent) if is_reversed else (sdf_joint.parent, sdf_joint.child)
        rotor = self.frames.relative(sdf_joint.node, after)
        is_central = tuple(rotor.translation) == (0.0, 0.0, 0.0) and (sdf_joint.kind != "ball" or rotor.is_identity)
        if sdf_joint.kind in ("fixed", "prismatic") or is_central:
            turn = self.frames.relative(after, sdf_joint.node).rotation
            placement, rotor = self.frames.relative(before, after), Pose.identity()
        else:
            turn, placement = _NO_TURN, self.frames.relative(before, sdf_joint.node)
        joint = sdf_joint.make(turn)
        joint = joint.reversed() if is_reversed and joint.nv else joint
        self.tree.append(sdf_joint)
        self.joints.append(
            JointDescription(
                name=self.names(sdf_joint.node),
                parent=self.names(before),
                child=self.names(after),
                joint=joint,
                placement=placement,
                limits=_limits(sdf_joint, joint),
                damping=values_of(sdf_joint.axes, "damping") if sdf_joint.axes else (0.0,) * joint.nv,
                friction=values_of(sdf_joint.axes, "friction") if sdf_joint.axes else (0.0,) * joint.nv,
                rotor=rotor,
                where=sdf_joint.reader.where(sdf_joint.element),
                drive=_drive(sdf_joint, joint),
            )
        )

    def _add_loop(self, sdf_joint: SdfJoint) -> None:
        """Describe a joint that closes a loop, between frames "pin_F" on its parent and "pin_M" on its child.

        Their names end with underscores where links or frames of the file have them.
        """
        name, where = self.names(sdf_joint.node), sdf_joint.reader.where(sdf_joint.element)
        F, M = (self.names.frames.underscored(f"{name}_{letter}") for letter in "FM")
        for mark, link in ((F, sdf_joint.parent), (M, sdf_joint.child)):
            self.marks.append(
                FrameDescription(mark, self.names(link), self.frames.relative(link, sdf_joint.node), where)
            )
        joint = sdf_joint.make(_NO_TURN)
        values: dict[str, Any] = {}
        for key, argument, no_value in _LOOP_VALUES:
            stated = values_of(sdf_joint.axes, key)
            if all(value == no_value for value in stated):
                continue
            if len(stated) == joint.nv == joint.nq:
                values[argument] = stated
            else:
                message = (
                    f"{argument} of joint {quoted(name)}, which closes a loop, is not supported yet and is ignored"
                )
                sdf_joint.reader.warn(sdf_joint.element, "UNSUPPORTED", message)
        for axis, tag in zip(sdf_joint.axes, ("axis", "axis2"), strict=False):
            if axis.mimic is not None:
                message = f"<mimic> of joint {quoted(name)}, which closes a loop, is not supported yet and is ignored"
                sdf_joint.reader.warn(axis.mimic, "UNSUPPORTED", message)
            if axis.initial:
                message = f"initial_position of joint {quoted(name)}, which closes a loop, is ignored"
                sdf_joint.reader.note(sdf_joint.element.first(tag) or sdf_joint.element, "IGNORED", message)
        self.constraints.append(ConstraintDescription(LoopJoint(name, joint, M, F, **values), where))

    def _add_gear(self, sdf_joint: SdfJoint) -> None:
        """Describe a gearbox as a linear coupling of two hinges.

        One hinge connects the gearbox's parent with the reference body, the other its child. The child's angle about
        the gearbox's second axis is −ratio times the parent's angle about its first axis.
        """
        hinges = {frozenset(_ends(joint)): joint for joint in self.tree if joint.kind in ("revolute", "continuous")}
        pairs = []
        for link, axis in zip(_ends(sdf_joint), sdf_joint.axes, strict=True):
            hinge = (
                None if sdf_joint.gear_reference is None else hinges.get(frozenset((sdf_joint.gear_reference, link)))
            )
            sign = 0.0 if hinge is None else self._sign(sdf_joint, axis.direction, hinge)
            pairs.append((hinge, sign if hinge is None or hinge.child is link else -sign))
        (first, s1), (second, s2) = pairs
        name, where = self.names(sdf_joint.node), sdf_joint.reader.where(sdf_joint.element)
        if first is None or second is None or s1 * s2 == 0.0:
            message = (
                f"gearbox {quoted(name)} is not supported yet and is ignored: its parent and its child need hinges"
            )
            sdf_joint.reader.warn(
                sdf_joint.element, "UNSUPPORTED", f"{message} about its axes on the gearbox_reference_body"
            )
            return
        ratio = -sdf_joint.gear_ratio * s1 * s2
        gear = Gear(self.names(second.node), self.names(first.node), ratio, name=name)
        self.constraints.append(ConstraintDescription(gear, where))

    def _sign(self, gearbox: SdfJoint, direction: Vec3, hinge: SdfJoint) -> float:
        """Return 1 or −1 if a hinge's axis is parallel or opposite to a gearbox's direction; 0 for any other axis."""
        turn = self.frames.relative(hinge.node, gearbox.node).rotation
        a, b = turn @ direction, hinge.axes[0].direction
        cosine = a.dot(b) / (a.dot(a) * b.dot(b)) ** 0.5
        return 0.0 if abs(cosine) < 1.0 - _PARALLEL else 1.0 if cosine > 0.0 else -1.0


def _ends(joint: SdfJoint) -> tuple[Node, Node]:
    return joint.parent, joint.child


def _limits(sdf_joint: SdfJoint, joint: JointType) -> Limits:
    """Return the limits of a joint from its axes; infinite if the joint's coordinates are not those of its axes."""
    if len(sdf_joint.axes) != joint.nv:
        return Limits.none(joint)
    velocity, effort = values_of(sdf_joint.axes, "velocity"), values_of(sdf_joint.axes, "effort")
    if joint.nq != joint.nv:
        return replace(Limits.none(joint), velocity=velocity, effort=effort)
    return Limits(values_of(sdf_joint.axes, "lower"), values_of(sdf_joint.axes, "upper"), velocity, effort)


def _drive(sdf_joint: SdfJoint, joint: JointType) -> Drive:
    stiffness, spring_position = values_of(sdf_joint.axes, "stiffness"), values_of(sdf_joint.axes, "spring_position")
    return Drive(
        stiffness=stiffness if any(stiffness) else (),
        rest=tuple(joint.integrate(joint.zero(), spring_position)) if any(spring_position) and any(stiffness) else (),
    )


_NO_TURN = Rotation.identity()
_PARALLEL = 1e-6  # difference of the cosine of two axes from 1 that counts as parallel
_LOOP_VALUES = (
    ("lower", "lower", -math.inf),
    ("upper", "upper", math.inf),
    ("velocity", "velocity_bound", math.inf),
    ("effort", "effort", math.inf),
    ("damping", "damping", 0.0),
    ("friction", "friction", 0.0),
    ("stiffness", "stiffness", 0.0),
    ("spring_position", "rest", 0.0),
)
