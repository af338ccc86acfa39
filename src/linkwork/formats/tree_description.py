"""Conversion of a tree to links and joints as robot files state them: the reverse of `build_tree`.

A tree stores the poses of joints and links relative to bodies; a file states them relative to links. Frames that are
not links become links with fixed joints, since few formats have frames. The order of the joints is such that a reader
which visits children in the order of the file finds the order of the robot's q, if there is such an order.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from linkwork.formats.unique_names import Names
from linkwork.joints import Fixed, Floating
from linkwork.model.body import WORLD, Body, Drive, Frame, Limits
from linkwork.model.description import JointDescription, LinkDescription
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose

__all__ = ["WORLD_LINK", "DescribedTree", "describe", "relative_pose"]

WORLD_LINK = "world"


@dataclass(frozen=True, slots=True)
class DescribedTree:
    """Links and joints of a tree, from the root outwards.

    There is one root link.  ``base`` is the body whose floating joint is left out, because the root link floats.
    ``added`` are the names of links that are frames of the robot, or that only connect others.  ``bodies`` has the body
    of each moving joint, by the joint's name.
    """

    links: tuple[LinkDescription, ...]
    joints: tuple[JointDescription, ...]
    bodies: dict[str, Body]
    base: Body | None
    frames: tuple[str, ...]  # frames of the robot that became links
    added: tuple[str, ...]  # links that the robot does not have
    keeps_order: bool  # True if the order of the joints is that of the robot's q
    names: Names  # of links, joints and frames
    body_links: tuple[str, ...]  # links at the frames of the bodies, in order

    def carrier(self, tree: Tree, name: str) -> tuple[str, Pose] | None:
        """Return the link that a frame is fixed to, and its pose on the link.

        None for a frame of the world, if the world has no link.
        """
        frame, known = tree.frame(name), {link.name for link in self.links}
        on_body = [candidate for candidate in tree.frames if candidate.body == frame.body and candidate.name in known]
        preferred = [
            candidate for link_name in (name, frame.welded_to) for candidate in on_body if candidate.name == link_name
        ]
        carrier = next(iter([*preferred, *on_body]), None)
        if carrier is not None:
            return carrier.name, relative_pose(carrier.placement, frame.placement)
        if frame.body != WORLD:
            return self.body_links[frame.body], frame.placement
        return (WORLD_LINK, frame.placement) if WORLD_LINK in known else None


def describe(tree: Tree, without: Collection[str] = ()) -> DescribedTree:
    """Convert a tree to links and joints; ``without`` names frames that are left out."""
    return _Describer(tree, without).describe()


def relative_pose(X_ab: Pose, X_ac: Pose) -> Pose:
    """Return X_bc, the pose of a frame c in a frame b, from their poses in a frame a."""
    if X_ab.is_identity:
        return X_ac
    return Pose.identity() if X_ab == X_ac else X_ab.inv() @ X_ac


class _Describer:
    """Builder of the links and joints of a tree."""

    def __init__(self, tree: Tree, without: Collection[str]) -> None:
        self.tree = tree
        self.frames = [frame for frame in tree.frames if frame.name not in without]
        self.names = Names([WORLD_LINK, *(frame.name for frame in tree.frames), *(body.name for body in tree.bodies)])
        self.names.taken |= {point.name for point in tree.points} | {mark.name for mark in tree.directions}
        self.names.taken |= {frame.fixed_joint for frame in tree.frames if frame.fixed_joint is not None}
        self.names.taken |= {constraint.name for constraint in tree.constraints}
        self.names.taken |= {body.joint_name for body in tree.bodies}
        self.added: list[str] = []
        self.body_frames: dict[int, Frame] = {}  # the frame of each body itself, by index

    def describe(self) -> DescribedTree:
        self._add_own_frames()
        base = self._floating_base()
        root = self._root(base)
        fixed = self._welds(root)
        moving = self._moving(base)
        joints = self._in_order([*moving, *fixed], root)
        links = [LinkDescription(f.name, f.inertia, f.visuals, f.collisions) for f in self.frames]
        order = [body.joint_name for _, body in self.tree.stacked()]
        bodies = {body.joint_name: body for body in self.tree.bodies if body is not base}
        written_joints = {*order}
        written = [] if base is None else [base.joint_name]
        written += [joint.name for joint in joints if joint.name in bodies and joint.name in written_joints]
        return DescribedTree(
            tuple(links),
            tuple(joints),
            bodies,
            base,
            tuple(frame.name for frame in self.frames if not frame.is_link),
            tuple(self.added),
            written == order,
            self.names,
            tuple(self.body_frames[i].name for i in range(len(self.tree.bodies))),
        )

    def _add_own_frames(self) -> None:
        """Find a frame that coincides with each body, and add a link for a body that has none."""
        for frame in self.frames:
            if frame.body != WORLD and frame.name == self.tree.bodies[frame.body].name and frame.placement.is_identity:
                self.body_frames[frame.body] = frame
        known = {frame.name for frame in self.frames}
        bare = all(frame.body == WORLD or frame.inertia == Inertia.zero() for frame in self.frames)
        for i, body in enumerate(self.tree.bodies):
            if i not in self.body_frames:
                name = body.name if body.name not in known else self.names.new(f"{body.name}_body")
                self.body_frames[i] = Frame(name, i, Pose.identity(), body.inertia if bare else Inertia.zero())
                self.frames.append(self.body_frames[i])
                self.added.append(name)

    def _floating_base(self) -> Body | None:
        """Return the body of the floating base, if its joint alone connects the robot to the world; else None."""
        roots = [body for body in self.tree.bodies if body.parent == WORLD]
        if len(roots) != 1 or any(frame.body == WORLD for frame in self.frames):
            return None
        (body,) = roots
        plain = body.placement.is_identity and body.rotor.is_identity and body.joint == Floating()
        is_free = not any(body.damping) and not any(body.friction) and body.limits == Limits.none(body.joint)
        is_free = is_free and body.drive == Drive()
        return body if plain and is_free else None

    def _root(self, base: Body | None) -> str:
        """Return the name of the root link.

        It is the link of the floating base, or a link at the origin of the world, which is added if there is none.
        """
        if base is not None:
            return self.body_frames[self.tree.bodies.index(base)].name
        grounded = [frame for frame in self.frames if frame.body == WORLD]
        loose = [frame for frame in grounded if frame.is_link and frame.fixed_joint is None]
        if len(loose) == 1 and loose[0].placement.is_identity:
            return loose[0].name
        named = next((frame for frame in grounded if frame.name == WORLD_LINK), None)
        if named is None:
            self.frames.insert(0, Frame(WORLD_LINK, WORLD, Pose.identity()))
            self.added.append(WORLD_LINK)
        return WORLD_LINK

    def _welds(self, root: str) -> list[JointDescription]:
        """Return the fixed joints that connect links of the same body, or links of the world with the root."""
        result = []
        at = {frame.name: frame for frame in self.frames}
        for frame in self.frames:
            base_name = root if frame.body == WORLD else self.body_frames[frame.body].name
            if frame.name == base_name:
                continue
            carrier = at.get(frame.welded_to or "", at[base_name])
            if carrier.body != frame.body or carrier is frame:
                carrier = at[base_name]
            name = frame.fixed_joint or self.names.new(f"{frame.name}_fixed")
            result.append(self._joint(name, carrier, frame, Fixed(), carrier.placement, frame.placement))
        return result

    def _joint(
        self, name: str, parent: Frame, child: Frame, joint: Fixed, X_parent: Pose, X_child: Pose
    ) -> JointDescription:
        pose = relative_pose(X_parent, X_child)
        return JointDescription(name, parent.name, child.name, joint, pose, Limits.none(joint), (), ())

    def _moving(self, base: Body | None) -> list[JointDescription]:
        at = {frame.name: frame for frame in self.frames}
        world = next((f for f in self.frames if f.body == WORLD and f.placement.is_identity), None)
        result = []
        for i, body in enumerate(self.tree.bodies):
            if body is base:
                continue
            named = at.get(body.links[0]) if body.links is not None else None
            parent = named if named is not None and named.body == body.parent else None
            parent = parent or (world if body.parent == WORLD else self.body_frames[body.parent])
            assert parent is not None
            result.append(
                JointDescription(
                    body.joint_name,
                    parent.name,
                    self.body_frames[i].name,
                    body.joint,
                    relative_pose(parent.placement, body.placement),
                    body.limits,
                    body.damping,
                    body.friction,
                    body.coupling or body.mimic,
                    body.rotor,
                    dynamics=body.dynamics,
                    drive=body.drive,
                )
            )
        return result

    def _in_order(self, joints: list[JointDescription], root: str) -> list[JointDescription]:
        """Return the joints ordered from the root outwards.

        Children of a link are in the order of the first joint in q among all joints of their subtree.
        """
        rank = {self.tree.bodies[i].joint_name: k for k, i in enumerate(self.tree.order)}
        children: dict[str, list[JointDescription]] = {}
        for joint in joints:
            children.setdefault(joint.parent, []).append(joint)
        visited, stack = [], [*children.get(root, ())]
        while stack:
            joint = stack.pop()
            visited.append(joint)
            stack.extend(children.get(joint.child, ()))
        first: dict[str, int] = {}  # rank of the first moving joint at or behind a joint, by the joint's child link
        for joint in reversed(visited):
            behind = [first[child_joint.child] for child_joint in children.get(joint.child, ())]
            joint_rank = rank.get(joint.name, len(rank)) if joint.joint.nv or joint.name in rank else len(rank)
            first[joint.child] = min([joint_rank, *behind])
        result, stack = [], sorted(children.get(root, ()), key=lambda joint: first[joint.child], reverse=True)
        while stack:
            joint = stack.pop()
            result.append(joint)
            stack.extend(sorted(children.get(joint.child, ()), key=lambda j: first[j.child], reverse=True))
        return result
