"""A tree in which one joint is opened: behind it stands one that lets everything go."""

from __future__ import annotations

from dataclasses import fields, replace

from linkwork.joints import Floating
from linkwork.model.body import WORLD, Body, Drive, Limits
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose

__all__ = ["opened"]


def opened(tree: Tree, joint: str) -> Tree:
    """The tree with a `Floating` joint between a joint's moving frame M and what the joint carries.

    Its numbers come last in q and v, behind all others, which stay where they are.  At its zero configuration and
    velocity nothing moves otherwise than before, and its force is the wrench (moment; force) that M exerts on what
    hangs on it, at M's origin and in M's axes.  Numbers of the tree may be of any scalars; none of them is looked at.
    Raises UnknownNameError.
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
    let_go = replace(
        whole,
        parent=at,
        joint_name=f"{name} lets go",
        joint=free,
        placement=Pose.identity(),
        limits=Limits.none(free),
        damping=(0.0,) * free.nv,
        friction=(0.0,) * free.nv,
        mimic=None,
        coupling=None,
        drive=Drive(),
    )
    bodies = (*tree.bodies[:at], stub, let_go, *map(behind, tree.bodies[at + 1 :]))
    frames = tuple(frame if frame.body == WORLD else replace(frame, body=moved(frame.body)) for frame in tree.frames)
    order = tuple(i if i <= at else i + 1 for i in tree.order)
    bare = tuple(replace(frame, inertia=Inertia.zero()) for frame in frames)  # inertias may be symbols
    parts = {f.name: getattr(tree, f.name) for f in fields(Tree) if f.init}  # of a tree, or what stands for one
    found = Tree(**(parts | {"bodies": bodies, "frames": bare, "stacking": (*order, at + 1)}))
    return found.made_of(frames=frames)
