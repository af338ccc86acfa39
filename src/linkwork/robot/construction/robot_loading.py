"""Loading of a robot's tree from the name of a built-in robot, a file or a text."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from types import NoneType
from typing import Any, Literal, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from linkwork import robots
from linkwork._util.file_access import LOOPS, Budget, similar_files
from linkwork._util.file_search import Folders, read_folders
from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.messages import escaped, nearest
from linkwork._util.unknown_names import option_hint
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import shown
from linkwork.errors import Findings, ModelWarning, UnknownNameError
from linkwork.formats import Format, registry
from linkwork.formats.file_reading import XacroArguments, path_text
from linkwork.model.body import WORLD
from linkwork.model.description import Description
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree, read_gravity
from linkwork.spatial.arguments import checked_pose

__all__ = ["BuildOptions", "LoadOptions", "Options", "read_robot", "read_robot_string", "warn_of_repairs"]

Mimicry = Literal["free", "coupled", "ignore"]
Continuous = Literal["angle", "sincos"]
Inertias = Literal["given", "nearest", "ignore"]


class BuildOptions(TypedDict, total=False):
    """Keywords of `Robot.build` and `Robot.from_dh`, for type checkers."""

    floating_base: bool | None
    gravity: Sequence[float] | None
    strict: bool
    multi_root: bool
    mimic: Mimicry
    inertia: Inertias


class LoadOptions(BuildOptions, total=False):
    """Keywords of `linkwork.load`, for type checkers."""

    base: ArrayLike | None
    continuous: Continuous
    loops: str | os.PathLike[str] | None
    package_dirs: Folders | None
    xacro: bool
    arguments: XacroArguments | None
    model: str | None
    trusted: bool
    budget: Budget | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of `linkwork.load`, `Robot.build` and `Robot.from_dh`, which `linkwork.load` explains.

    Raises TypeError for switches that are not bools.
    """

    base: ArrayLike | None = None
    floating_base: bool | None = None
    gravity: Sequence[float] | None = None
    strict: bool = False
    multi_root: bool = False
    mimic: Mimicry = "free"
    continuous: Continuous = "angle"
    inertia: Inertias = "given"
    loops: str | os.PathLike[str] | None = None
    package_dirs: Folders | None = None
    xacro: bool = False
    arguments: XacroArguments | None = None
    model: str | None = None
    trusted: bool = True
    budget: Budget | None = None

    def __post_init__(self) -> None:
        for name in ("floating_base", "strict", "multi_root", "xacro", "trusted"):
            value = getattr(self, name)
            if value is None and name == "floating_base":
                continue  # as the file says
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"{name}: expected True or False, got {value!r}")
            object.__setattr__(self, name, bool(value))
        if not isinstance(self.budget, (Budget, NoneType)):
            raise TypeError(f"budget: expected a linkwork.formats.Budget, got {shown(self.budget)}")
        if self.xacro and not self.trusted:
            message = "a xacro file is a program, which can run code and open any file: it cannot be read as untrusted"
            raise TypeError(f"xacro: expected False with trusted=False, got True; {message}")

    @classmethod
    def of(cls, function: str, keywords: Mapping[str, Any], *, without: Sequence[str] = ()) -> Self:
        """Return options from the keywords of a function.

        Raises TypeError for unknown keywords and those in ``without``.
        """
        known = [field.name for field in fields(cls) if field.name not in without]
        for name in keywords:
            if name not in known:
                raise TypeError(f"{function}: no option named {name!r}; {option_hint(function, name, known)}")
        return cls(**keywords)

    def tree(self, description: Description | Tree, action: str = "reading") -> Tree:
        """Return the kinematic tree of a robot's description, or the given tree with another gravity.

        Raises TypeError for options that do not apply to a given tree, whose base and joints are complete.
        Issues a `ModelWarning` that reports repairs; ``action`` is "reading" or "building" in its text.
        """
        if isinstance(description, Tree):
            self._refuse_changes(description)
            tree = description if self.gravity is None else description.with_gravity(read_gravity(self.gravity))
        else:
            tree = build_tree(
                description,
                floating_base=bool(self.floating_base) and not description.base_is_stated,
                gravity=self.gravity,
                strict=self.strict,
                multi_root=self.multi_root,
                mimic=self.mimic,
            )
        if self.loops is not None:
            from linkwork.formats.loops_file import with_loops_of_file

            tree = with_loops_of_file(tree, self.loops, budget=self.budget or LOOPS, strict=self.strict)
        warn_of_repairs(tree, action)
        return tree

    def _refuse_changes(self, tree: Tree) -> None:
        floats = any(body.parent == WORLD and body.joint.is_floating for body in tree.bodies)
        refused = {
            "floating_base": self.floating_base is True or (self.floating_base is False and floats),
            "multi_root": self.multi_root,
            "mimic": self.mimic != "free",
        }
        for name, is_refused in refused.items():
            if is_refused:
                raise TypeError(
                    f"load: {name}: expected no such option for the file of a complete robot, whose base and joints "
                    f"are as they were saved, got {getattr(self, name)!r}; edit the robot after loading"
                )


def read_robot(robot: str | os.PathLike[str], options: Options, format: str | Format | None = None) -> Tree:
    """Return the kinematic tree of a built-in robot, by its name, or of a file; see `linkwork.load`."""
    return _with_base(_read_robot(robot, options, format), options)


def _with_base(tree: Tree, options: Options) -> Tree:
    if options.base is None:
        return tree
    from linkwork.model.joined_trees import placed

    return placed(tree, checked_pose(options.base, "load: base"), "load: base")


def _read_robot(robot: str | os.PathLike[str], options: Options, format: str | Format | None) -> Tree:
    chosen = None if format is None else registry.format_named(format)
    path: str | os.PathLike[str] = robot
    if options.loops is not None:
        options = replace(options, loops=_at_home(options.loops))
    if isinstance(robot, str) and robot in robots.names():
        path = robots.path(robot)
        if options.loops is None:
            options = replace(options, loops=robots.loops(robot))
    elif isinstance(robot, (str, os.PathLike)):
        path = os.path.expanduser(robot)
        if isinstance(robot, str) and _is_plain_name(robot) and not os.path.exists(robot):
            choices = _OTHER_ROBOTS.get(robot.lower().replace("-", "_").replace(" ", "_"))
            choices, files = choices or nearest(robot, robots.names()), similar_files("", robot)
            if files:
                choices = f"did you mean the file {' or '.join(map(repr, files))}? {choices}"
            remedy = f'{choices}; load_description("panda_description") loads robots of the package robot_descriptions'
            raise UnknownNameError("file, and no robot of linkwork,", robot, robots.names(), remedy)
    if options.arguments is not None and not options.xacro:
        raise TypeError("load: arguments: values are for a xacro file: pass xacro=True too")
    if chosen is None and not options.xacro:
        chosen = registry.find_format(path)
    if not options.trusted and not (chosen and "trusted" in chosen.options):
        return replace(_untrusted(path, options, chosen), trusted=False)
    if options.xacro:
        return _with_missing_meshes(options.tree(_expanded(path, options, chosen)), options.package_dirs)
    assert chosen is not None
    tree = options.tree(chosen.read(path, strict=options.strict, **_options_of(chosen, options)))
    return _with_missing_meshes(tree, options.package_dirs)


_LINKAGES = 'docs/mechanisms.md, section "Four-bar from lengths", builds a linkage from lengths'
_OTHER_ROBOTS = {  # remedies for names of mechanisms that users may expect
    **dict.fromkeys(("theo_jansen", "strandbeest", "jansen"), "use 'jansen_leg'"),
    **dict.fromkeys(("four_bar", "4bar", "four_bar_linkage", "fourbar_linkage"), f"use 'fourbar'; {_LINKAGES}"),
    **dict.fromkeys(("slider_crank", "crank_slider", "five_bar", "six_bar", "peaucellier"), _LINKAGES),
    **dict.fromkeys(("cam", "cam_follower"), "linkwork.constraints.CurveCoupling is a cam: docs/constraints.md"),
    **dict.fromkeys(("stewart_platform", "hexapod_platform"), "use 'stewart'"),
}


def _is_plain_name(name: str) -> bool:
    """Return True for a word, perhaps with hyphens and blanks: no path and no file with a suffix."""
    return bool(name) and name.replace("-", "_").replace(" ", "_").isidentifier()


def _untrusted(path: str | os.PathLike[str], options: Options, chosen: Format | None) -> Tree:
    """Return the tree of an untrusted file; another process reads it unless only linkwork or Python parse it."""
    assert chosen is not None
    if not _needs_process(chosen, options):
        return _read_robot(path, replace(options, trusted=True), chosen)
    from linkwork.robot.construction.isolated_loading import read_in_process

    tree = read_in_process(path, options, chosen.name)
    warn_of_repairs(tree)
    return tree


def _needs_process(chosen: Format, options: Options) -> bool:
    """Return True if another process must read an untrusted file, because a third-party library parses it.

    The other process does not know user-defined formats, so the result is False for them.
    """
    loops = "" if options.loops is None else os.path.splitext(path_text(options.loops))[1].lower()
    is_own = isinstance(chosen.reader, str) and chosen.reader.startswith("linkwork.")
    return is_own and (bool(chosen.package) or loops in (".yaml", ".yml"))


def _with_missing_meshes(tree: Tree, package_dirs: Folders | None) -> Tree:
    """Return the tree with the folders ``package_dirs``, and a note about mesh files that are not found."""
    tree = _with_packages(tree, package_dirs)
    if not any(frame.visuals or frame.collisions for frame in tree.frames):
        return tree
    from linkwork.formats.resource_paths import with_missing_meshes

    return with_missing_meshes(tree)


def _with_packages(tree: Tree, package_dirs: Folders | None) -> Tree:
    """Return the tree with folders in which its mesh files are searched later."""
    if package_dirs is None:
        return tree
    return replace(tree, package_dirs=read_folders("load: package_dirs", package_dirs))


def _expanded(path: Any, options: Options, chosen: Format | None) -> Description:
    """Expand a xacro file to URDF or SDF text, and return the description of the robot in it."""
    from linkwork.formats.xacro_files import expanded_xacro

    text, issues = expanded_xacro(path, options.arguments, options.package_dirs)
    findings = Findings(strict=options.strict)
    for issue in issues:
        findings.warn(issue)
    findings.raise_errors()
    description = _described(text, path, options, chosen)
    return replace(description, warnings=(*findings.warnings, *description.warnings))


def _described(text: str, path: Any, options: Options, chosen: Format | None) -> Description:
    """Return the description of the robot in ``text``, to which the xacro file at ``path`` was expanded."""
    from linkwork.formats import parse_sdf, parse_urdf

    inner = registry.format_of_text(text)
    if chosen is not None and chosen != inner:
        expanded = "a text of no known format" if inner is None else inner.title
        raise TypeError(f"load: format: the xacro file expands to {expanded}, not to {chosen.title}")
    source = f"{path_text(path)} (expanded)"
    if inner is not None and inner.name == "sdf":
        return parse_sdf(text, source=source, strict=options.strict, **_options_of(inner, options))
    urdf = registry.format_named("urdf")
    keywords = _options_of(urdf, replace(options, package_dirs=None))  # they were for the expansion
    return parse_urdf(text, source=source, strict=options.strict, **keywords)


def _options_of(chosen: Format, options: Options) -> dict[str, Any]:
    """Return those options that the reader of a format takes.

    Raises TypeError for options that the format does not have.
    """
    for field in fields(Options):
        takers = ", ".join(x.name for x in registry.FORMATS if field.name in x.options)
        if field.name in _OF_EVERY_FORMAT or not takers or field.name in chosen.options:
            continue
        if getattr(options, field.name) != field.default:
            message = f"load: {field.name}: {chosen.title} does not take this option; formats that do: {takers}"
            raise TypeError(message)
    return {name: getattr(options, name) for name in chosen.options}


_OF_EVERY_FORMAT = (
    *("base", "floating_base", "gravity", "strict", "loops", "xacro", "arguments", "trusted"),
    "package_dirs",
)
"""Options that apply to files of every format; a reader may take them besides."""


def _at_home(path: Any) -> Any:
    return os.path.expanduser(path) if isinstance(path, (str, os.PathLike)) else path


def read_robot_string(text: str | bytes, options: Options) -> Tree:
    """Return the tree of a robot from the text of a URDF file."""
    from linkwork.formats import parse_urdf

    keywords = {name: getattr(options, name) for name in ("strict", "continuous", "inertia", "budget")}
    tree = _with_packages(options.tree(parse_urdf(text, **keywords)), options.package_dirs)
    return _with_base(replace(tree, trusted=options.trusted), options)


def warn_of_repairs(tree: Tree, action: str = "reading") -> None:
    """Issue one `ModelWarning` that reports the repairs made while reading or building a robot, if there are any."""
    if tree.report.repairs:
        warnings.warn(_repair_message(tree, action), ModelWarning, stacklevel=levels_up())


def _repair_message(tree: Tree, action: str) -> str:
    """Return a short list of the repairs made while reading or building a robot."""
    repairs = tree.report.repairs
    count = "1 issue" if len(repairs) == 1 else f"{len(repairs)} issues"
    file = f"{tree.source}: " if tree.source else ""
    lines = [f"{file}{action} robot {tree.name!r} found {count}; print(robot.report) lists all:"]
    for issue in repairs[:_MAX_SHOWN]:
        line = f"line {issue.where.line}, " if issue.where.line else ""
        location = f"{line}{issue.where.element}: " if issue.where.element else ""
        text = issue.message if len(issue.message) <= _MAX_LENGTH else issue.message[: _MAX_LENGTH - 3] + "..."
        lines.append(f"  {location}{text} [{issue.code}]")
    if len(repairs) > _MAX_SHOWN:
        lines.append(f"  ... and {len(repairs) - _MAX_SHOWN} more")
    return "\n".join(map(escaped, lines))


_MAX_SHOWN, _MAX_LENGTH = 3, 320
