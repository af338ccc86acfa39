"""From a name, a file or a text to a robot's tree."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self, TypedDict

import numpy as np

from linkwork import robots
from linkwork._util.messages import nearest
from linkwork._util.user_frames import levels_up
from linkwork.errors import ModelWarning, UnknownNameError
from linkwork.formats import parse_urdf, read_loops, read_urdf
from linkwork.model.attached_constraints import attached
from linkwork.model.description import Description
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree

__all__ = ["BuildOptions", "LoadOptions", "Options", "read_robot", "read_robot_string"]

Mimicry = Literal["free", "coupled", "ignore"]
Continuous = Literal["angle", "sincos"]
Inertias = Literal["given", "nearest", "ignore"]


class BuildOptions(TypedDict, total=False):
    """The keywords of `Robot.build` and `Robot.from_dh`, for type checkers."""

    floating_base: bool
    gravity: Sequence[float]
    strict: bool
    multi_root: bool
    mimic: Mimicry
    inertia: Inertias


class LoadOptions(BuildOptions, total=False):
    """The keywords of `linkwork.load`, for type checkers."""

    continuous: Continuous
    loops: str | os.PathLike[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a robot is read: see `linkwork.load`.  Raises TypeError where a switch is neither True nor False."""

    floating_base: bool = False
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    strict: bool = False
    multi_root: bool = False
    mimic: Mimicry = "free"
    continuous: Continuous = "angle"
    inertia: Inertias = "given"
    loops: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for name in ("floating_base", "strict", "multi_root"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"{name}: expected True or False, got {value!r}")
            object.__setattr__(self, name, bool(value))

    @classmethod
    def of(cls, function: str, given: Mapping[str, Any], *, without: Sequence[str] = ()) -> Self:
        """From a function's keywords, all but some.  Raises TypeError for one that is not known."""
        known = [field.name for field in fields(cls) if field.name not in without]
        for name in given:
            if name not in known:
                raise TypeError(f"{function}: no option named {name!r}; {nearest(name, known)}")
        return cls(**given)

    def tree(self, description: Description, doing: str = "reading") -> Tree:
        """The tree of a description, with a `ModelWarning` for what reading (or building) it repaired."""
        tree = build_tree(
            description,
            floating_base=self.floating_base,
            gravity=self.gravity,
            strict=self.strict,
            multi_root=self.multi_root,
            mimic=self.mimic,
        )
        if tree.report.repairs:
            warnings.warn(_announcement(tree, doing), ModelWarning, stacklevel=levels_up())
        return tree if self.loops is None else attached(tree, read_loops(self.loops))


def read_robot(robot: str | os.PathLike[str], options: Options) -> Tree:
    """The tree of a robot inside linkwork, by name, or of a file: see `linkwork.load`."""
    path: str | os.PathLike[str] = robot
    if options.loops is not None:
        options = replace(options, loops=_at_home(options.loops))
    if isinstance(robot, str) and robot in robots.names():
        path = robots.path(robot)
        if options.loops is None:
            options = replace(options, loops=robots.loops(robot))
    elif isinstance(robot, (str, os.PathLike)):
        path = os.path.expanduser(robot)
        if isinstance(robot, str) and robot.isidentifier() and not os.path.exists(robot):
            raise UnknownNameError("robot inside linkwork, and no file,", robot, robots.names())
    return options.tree(read_urdf(path, strict=options.strict, continuous=options.continuous, inertia=options.inertia))


def _at_home(path: Any) -> Any:
    return os.path.expanduser(path) if isinstance(path, (str, os.PathLike)) else path


def read_robot_string(text: str | bytes, options: Options) -> Tree:
    """The tree of a robot given as the text of a URDF file."""
    return options.tree(parse_urdf(text, strict=options.strict, continuous=options.continuous, inertia=options.inertia))


def _announcement(tree: Tree, doing: str) -> str:
    """What reading or building a robot found odd, in short."""
    repairs = tree.report.repairs
    many = "1 thing" if len(repairs) == 1 else f"{len(repairs)} things"
    file = f"{tree.source}: " if tree.source else ""
    lines = [f"{file}{doing} robot {tree.name!r} found {many} odd; print(robot.report) lists all:"]
    for issue in repairs[:_SHOWN]:
        line = f"line {issue.where.line}, " if issue.where.line else ""
        place = f"{line}{issue.where.element}: " if issue.where.element else ""
        text = issue.message if len(issue.message) <= _LENGTH else issue.message[: _LENGTH - 3] + "..."
        lines.append(f"  {place}{text} [{issue.code}]")
    if len(repairs) > _SHOWN:
        lines.append(f"  ... and {len(repairs) - _SHOWN} more")
    return "\n".join(lines)


_SHOWN, _LENGTH = 3, 320
