"""From a name, a file or a text to a robot's tree."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .. import robots
from ..errors import UnknownNameError
from ..formats import parse_urdf, read_urdf
from ..model.build import build_tree
from ..model.description import Description
from ..model.tree import Tree

__all__ = ["read_robot", "read_robot_string"]


def read_robot(
    robot: str | os.PathLike[str],
    *,
    floating_base: bool,
    gravity: Sequence[float],
    strict: bool,
    multi_root: bool,
    mimic: str,
    continuous: str,
) -> Tree:
    """The tree of a robot inside linkwork, by name, or of a file: see `linkwork.load`."""
    path: str | os.PathLike[str] = robot
    if isinstance(robot, str):
        if robot in robots.names():
            path = robots.path(robot)
        elif robot.isidentifier() and not os.path.exists(robot):
            raise UnknownNameError("robot inside linkwork, and no file,", robot, robots.names())
    description = read_urdf(path, strict=strict, continuous=continuous)
    return _built(description, floating_base, gravity, strict, multi_root, mimic)


def read_robot_string(
    text: str | bytes,
    *,
    floating_base: bool,
    gravity: Sequence[float],
    strict: bool,
    multi_root: bool,
    mimic: str,
    continuous: str,
) -> Tree:
    """The tree of a robot given as the text of a URDF file."""
    description = parse_urdf(text, strict=strict, continuous=continuous)
    return _built(description, floating_base, gravity, strict, multi_root, mimic)


def _built(
    description: Description,
    floating_base: bool,
    gravity: Sequence[float],
    strict: bool,
    multi_root: bool,
    mimic: str,
) -> Tree:
    return build_tree(
        description,
        floating_base=floating_base,
        gravity=gravity,
        strict=strict,
        multi_root=multi_root,
        mimic=mimic,
    )
