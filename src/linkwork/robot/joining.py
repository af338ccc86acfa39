"""Methods that place a robot's base, mount a robot on another, and join several robots into one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Self

from numpy.typing import ArrayLike

from linkwork._util.file_search import joined_searches
from linkwork._util.validation import name as named
from linkwork._util.validation import shown
from linkwork.kernels.owners import has_symbols
from linkwork.kernels.robot_base import RobotBase, edits
from linkwork.model.joined_trees import joined, mounted, placed, with_shapes
from linkwork.model.tree import Tree
from linkwork.shapes import Mesh, Shape
from linkwork.spatial.arguments import checked_pose

__all__ = ["JoiningMethods", "joined_tree", "with_paths"]


class JoiningMethods(RobotBase):
    """Methods of `Robot` that place its base in the world, and mount another robot on it."""

    __slots__ = ()

    @edits
    def with_base(self, pose: ArrayLike) -> Self:
        """Return the robot with its root link at ``pose`` in the world: (4, 4), or a position (3,) [m].

        Everything that was fixed to the world moves with the root link, and the world itself stays: links, frames and
        joints, and what points, constraints and force elements refer to as "world". A fixed joint named
        ``{link}_mount`` fixes the root link to the world, unless it has one. A second call replaces the pose of the
        first. q and v are the same, and gravity is that of the world.

        A robot with a floating base is refused, because q has its pose. Bodies that float beside a fixed base do not
        move.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7").with_base(lw.pose((0.4, 0.0, 0.8)))
        >>> arm.pose(arm.neutral(), "base")[:3, 3].tolist()
        [0.4, 0.0, 0.8]

        Raises ValueError for an invalid pose, and for a robot whose base floats.
        """
        return type(self)(placed(self._tree, checked_pose(pose, "with_base: pose")))

    @edits
    def with_mounted(self, robot: RobotBase, at: str, pose: ArrayLike | None = None, *, prefix: str = "") -> Self:
        """Return the robot with another robot mounted on it, such as a gripper on the flange of an arm.

        The root link of ``robot`` is welded to the frame ``at`` by a fixed joint named ``{link}_mount``; ``pose`` is
        its pose in that frame, by default the identity. Everything of the robot comes along: links, joints, frames,
        points, constraints, force elements, actuators, named configurations and pairs for collisions. ``prefix``
        precedes all of its names. Its q and v follow those of this robot: q is (q of this robot, q of the other). If
        one of the two alone has visual shapes, the collision shapes of the other become visual ones too.

        >>> import linkwork as lw
        >>> gripper = lw.Robot.build(
        ...     "gripper",
        ...     lw.Link("palm", mass=0.4),
        ...     lw.Link("finger", mass=0.05),
        ...     lw.Joint.of(lw.joints.Prismatic((0, 1, 0)), name="slide", parent="palm", child="finger"),
        ... )
        >>> arm = lw.load("arm7").with_mounted(gripper, "tool", lw.pose((0, 0, 0.02)), prefix="hand_")
        >>> arm.q_names[-2:], arm.links["hand_palm"].parent
        (('wrist_roll', 'hand_slide'), 'tool')

        Raises UnknownNameError for an unknown frame. Raises ValueError for a name that both robots have, another
        gravity, a robot whose base floats, and a constraint on the centre of mass of ``robot`` alone.
        """
        caller = "with_mounted"
        tree, part = with_paths(self._tree, _tree_of(caller, "robot", robot))
        prefix = named(caller, "prefix", prefix, description="the start of names, a string", empty=True)
        X = checked_pose(pose, f"{caller}: pose")
        return type(self)(mounted(tree, part, at, X, prefix))


def joined_tree(robots: Mapping[str, RobotBase], name: str) -> Tree:
    """Return the tree of several robots: see `linkwork.join_robots`."""
    caller = "join_robots"
    if not isinstance(robots, Mapping) or not robots:
        example = 'as in {"left": arm, "right": other}'
        raise TypeError(f"{caller}: robots: expected a dict, {example}, got {shown(robots)}")
    for key in robots:
        named(caller, "robots", key, description="the name of a robot, a string")
    named(caller, "name", name, description="the robot's name, a string")
    trees = with_paths(*(_tree_of(caller, f"robots[{key!r}]", robot) for key, robot in robots.items()))
    return joined(name, dict(zip(robots, trees, strict=True)))


def _tree_of(caller: str, argument: str, robot: Any) -> Tree:
    if not isinstance(robot, RobotBase):
        raise TypeError(f"{caller}: {argument}: expected a robot, as linkwork.load returns it, got {shown(robot)}")
    if has_symbols(robot._subject):
        raise TypeError(f"{caller}: {argument}: robot {robot.name!r} has symbols among its parameters: set them later")
    return robot.tree


def with_paths(*trees: Tree) -> list[Tree]:
    """Return the trees with absolute paths of their mesh files, if the robots' files are in several folders.

    Meshes of a package also get absolute paths if another tree has a package of the same name in another folder.
    """
    folders = {os.path.dirname(os.path.abspath(file)) for tree in trees for file in tree.files}
    return [*trees] if len(folders) < 2 else [_with_whole_paths(tree, trees) for tree in trees]


def _with_whole_paths(tree: Tree, trees: Sequence[Tree]) -> Tree:
    from linkwork.formats.resource_paths import path_of, resource_paths, tree_paths

    search = tree_paths(tree)
    stated = reduce(joined_searches, (each.package_dirs for each in trees))
    together = resource_paths(tuple(file for each in trees for file in each.files), stated)
    home = None if tree.source is None else os.path.dirname(os.path.abspath(tree.source))

    def whole(shape: Shape) -> Shape:
        if not isinstance(shape, Mesh) or "\\" in shape.uri:
            return shape
        if "://" in shape.uri:
            path = path_of(search, shape.uri)
            return shape if path in (None, path_of(together, shape.uri)) else replace(shape, uri=path)
        path = None if home is None else os.path.join(home, shape.uri)
        return shape if path is None or not os.path.exists(path) else replace(shape, uri=path)

    return with_shapes(tree, whole)
