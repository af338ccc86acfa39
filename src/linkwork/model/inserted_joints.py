"""Joints without motion that are added to a tree: their forces are the wrenches across joints and welds.

`insert_free_joint` adds a joint at rest behind another one.  `unweld` makes a weld a joint without coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from linkwork.errors import UnknownNameError
from linkwork.joints import Fixed, Floating
from linkwork.model.body import WORLD, Body, Drive, Frame, Limits
from linkwork.model.composite_body import compose, link_inertia
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose

__all__ = ["insert_free_joint", "unweld"]


def insert_free_joint(tree: Tree, joint: str) -> Tree:
    """Return the tree with a `Floating` joint between a joint's rotor frame M and everything that the joint moves.

    Its coordinates come last in q and v; all others keep their positions. At its zero configuration and velocity the
    motion is unchanged, and its joint force is the wrench (moment; force) that M exerts on the moved bodies, at M's
    origin in M's axes. Values of the tree may be of any scalars; they are not checked. Raises UnknownNameError.
    """
    at = tree.joint_index(joint)

    def moved(i: int) -> int:
        return i if i < at else i + 1

    def behind(body: Body) -> Body:
        parent = body.parent if body.parent == WORLD else moved(body.parent)
        return body if parent == body.parent else replace(body, parent=parent)

    taken = {frame.name for frame in tree.frames} | {body.name for body in tree.bodies}
    name = next(x for k in range(len(taken) + 1) if (x := f"{joint}: M{k or ''}") not in taken)
    whole, free = tree.bodies[at], Floating()
    stub = replace(whole, name=name, rotor=Pose.identity(), inertia=Inertia.zero())
    free_body = replace(
        whole,
        parent=at,
        joint_name=f"{name} free joint",
        joint=free,
        placement=Pose.identity(),
        limits=Limits.none(free),
        damping=(0.0,) * free.nv,
        friction=(0.0,) * free.nv,
        mimic=None,
        coupling=None,
        drive=Drive(),
    )
    bodies = (*tree.bodies[:at], stub, free_body, *map(behind, tree.bodies[at + 1 :]))
    frames = tuple(frame if frame.body == WORLD else replace(frame, body=moved(frame.body)) for frame in tree.frames)
    order = tuple(i if i <= at else i + 1 for i in tree.order)
    bare = tuple(
        replace(frame, inertia=Inertia.zero()) for frame in frames
    )  # inertias may be symbols, which cannot be checked
    parts = {f.name: getattr(tree, f.name) for f in fields(Tree) if f.init}  # of a tree or a subclass
    result = Tree(**(parts | {"bodies": bodies, "frames": bare, "stacking": (*order, at + 1)}))
    return result.with_unchecked(frames=frames)


def unweld(tree: Tree, joint: str) -> Tree:
    """Return the tree with a weld replaced by a joint without coordinates, whose child link becomes a body.

    q and v are the same. The new body has the link that the weld connects, and all that is welded to it or moves on
    it.

    Values of the tree may be of any scalars; they are not checked. Raises UnknownNameError, and ValueError if the
    parameter "inertia" sets the inertia of the whole body: see `link_inertia`.
    """
    welds = tree.fixed_joints
    if joint not in welds:
        raise UnknownNameError("fixed joint", joint, welds)
    link = tree.frame(welds[joint])
    frames, behind = tree.frames, {link.name}
    while more := {f.name for f in frames if f.welded_to in behind and f.body == link.body} - behind:
        behind |= more
    at = 0 if link.body == WORLD else link.body + 1
    X = link.placement.inv().formed()

    def moved(i: int) -> int:
        return i if i < at else i + 1

    def body_of(body: Body) -> Body:
        if body.parent != link.body:
            return body if body.parent == WORLD else replace(body, parent=moved(body.parent))
        parent = body.links[0] if body.links else None
        return replace(body, parent=at, placement=compose(X, body.placement)) if parent in behind else body

    def frame_of(frame: Frame) -> Frame:
        if frame.name == link.name:
            return replace(frame, body=at, placement=Pose.identity(), fixed_joint=None, welded_to=None)
        if frame.name in behind:
            return replace(frame, body=at, placement=compose(X, frame.placement))
        return frame if frame.body == WORLD else replace(frame, body=moved(frame.body))

    fixed, identity = Fixed(), Pose.identity()
    placed = tuple(frame_of(frame) for frame in frames)
    I, I_left = (_summed_inertia(placed, body, joint) for body in (at, at - 1))
    no_inertia = Inertia.zero()
    welded = Body(
        link.name, link.body, joint, fixed, link.placement, identity, I or no_inertia, Limits.none(fixed), (), ()
    )
    bodies = [*map(body_of, tree.bodies[:at]), welded, *map(body_of, tree.bodies[at:])]
    if I is not None and link.body != WORLD:
        bodies[link.body] = replace(bodies[link.body], inertia=I_left or no_inertia)
    bare = tuple(replace(frame, inertia=Inertia.zero()) for frame in placed)  # symbols cannot be checked
    parts = {f.name: getattr(tree, f.name) for f in fields(Tree) if f.init}
    order = (*(moved(i) for i in tree.order), at)
    result = Tree(**(parts | {"bodies": tuple(bodies), "frames": bare, "stacking": order}))
    return result.with_unchecked(frames=placed)


def _summed_inertia(frames: Sequence[Frame], body: int, joint: str) -> Inertia | None:
    """Return the sum of the inertias of frames on a body, which may be of any scalars; None if they have none."""
    result: Inertia | None = None
    for frame in frames:
        inertia = frame.inertia
        if frame.body == body and not (inertia.mass.__class__ is float and inertia == Inertia.zero()):
            placed = frame.placement @ link_inertia(frame, f"wrench across fixed joint {joint!r}")
            result = placed if result is None else result + placed
    return result
