"""`linkwork convert`: read a robot in one format and write it in another, with a report of lost content.

The suffix of the output selects the method of `Robot` that writes it.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from linkwork import Robot, __version__
from linkwork._util.file_access import kind_of_file
from linkwork.cli.arguments import (
    FAILED,
    USAGE,
    CommandError,
    add_json,
    add_meshes,
    add_robot,
    read_robot,
    robot_of,
    with_meshes,
)
from linkwork.cli.output import Terminal, as_options, columns_of, escaped, issue_data, label, quantity
from linkwork.errors import Issue, ModelError
from linkwork.formats import find_format
from linkwork.formats.description import describe
from linkwork.joints import Helical, UnboundedRevolute
from linkwork.parts import RobotDifference

__all__ = ["WRITERS", "add_arguments", "run"]

WRITERS: Mapping[str, str] = {
    ".urdf": "to_urdf",
    ".sdf": "to_sdf",
    ".world": "to_sdf",
    ".xml": "to_mjcf",
    ".mjcf": "to_mjcf",
    ".json": "save",
}
"""The method of `Robot` that writes a file, by the file's suffix."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument(
        "output", metavar="OUTPUT", help=f"the file to write: {', '.join(WRITERS)}; or - for standard output, with --to"
    )
    parser.add_argument("--to", metavar="SUFFIX", help="the format of standard output: urdf, sdf, xml or json")
    parser.add_argument(
        "--hulls",
        action="store_true",
        help="replace the mesh files of collision shapes by convex hulls, which are written",
    )
    add_meshes(parser)
    parser.add_argument("--to-loops", metavar="FILE", help="a second JSON file for content that URDF does not have")
    parser.add_argument("--to-srdf", metavar="FILE", help="an SRDF beside a URDF: pairs of links, named configurations")
    parser.add_argument("--to-meshes", metavar="FOLDER", help="a folder for the mesh files of convex hulls")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="read the written file and compare it with the robot; fail for differences that were not announced",
    )
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    if arguments.output == "-":
        return _to_standard_output(arguments, terminal)
    if arguments.to is not None:
        raise CommandError(
            USAGE, f"--to is for standard output; the suffix of {escaped(arguments.output)} is the format"
        )
    method = _method_for(arguments.output)
    _check_output(arguments.output, arguments.force)
    for beside in (arguments.to_loops, arguments.to_srdf):
        if beside is not None:
            _check_output(beside, arguments.force)
    if arguments.to_srdf is not None and (method != "to_urdf" or Path(arguments.to_srdf).suffix.lower() != ".srdf"):
        raise CommandError(USAGE, f"--to-srdf: expected a file .srdf beside a .urdf, got {escaped(arguments.to_srdf)}")
    robot = robot_of(arguments, terminal)
    robot = with_meshes(robot, arguments) if arguments.hulls else robot
    losses = _written(getattr(robot, method), arguments)
    if arguments.to_meshes is not None and not Path(arguments.to_meshes).is_dir():
        terminal.note("--to-meshes: the robot has no convex hulls to write; --hulls makes them of its mesh files")
    if arguments.to_srdf is not None:
        srdf_losses = _written_srdf(robot, arguments)
        losses = (*(x for x in losses if (x.where.element or "").partition("/")[2] not in _OF_SRDF), *srdf_losses)
    comparison, stated = None, list[tuple[RobotDifference, Issue]]()
    unstated = list[RobotDifference]()
    if arguments.verify:
        read = _read_again(robot, arguments)
        comparison = robot.compare(read)
        stated, unstated = split_differences(comparison.differences, losses, _names_of(robot))
        stated, unstated = without_other_dynamics(robot, read, stated, unstated)
    if arguments.json:
        about = {"linkwork": __version__, "file": robot.tree.source, "output": arguments.output, "robot": robot.name}
        verified = None
        if comparison is not None:
            verified = {**comparison.as_dict(), "unannounced": [difference.as_dict() for difference in unstated]}
        terminal.out.json({**about, "losses": [issue_data(loss) for loss in losses], "verified": verified})
        return FAILED if unstated else 0
    terminal.issues(losses)
    lost = f"; {quantity(len(losses), 'thing')} not written as stated" if losses else ""
    terminal.out.line(f"{label(robot.name)}: written to {escaped(arguments.output)}{lost}")
    if comparison is not None:
        terminal.out.lines(["", *comparison.lines(columns_of(terminal.out))])
        if stated:
            causes = dict.fromkeys(as_options(issue.message) for _, issue in stated)
            head = f"{quantity(len(stated), 'difference')} announced as not written, or as written otherwise:"
            terminal.out.lines(["", head, *(f"- {escaped(text)}" for text in causes)])
        if unstated:
            shown = [f"- {escaped(str(difference))}" for difference in unstated[:_MOST_SHOWN]]
            head = f"{quantity(len(unstated), 'difference')} not announced:"
            more = [f"and {len(unstated) - _MOST_SHOWN} more"] if len(unstated) > _MOST_SHOWN else []
            terminal.out.lines(["", head, *shown, *more])
    return FAILED if unstated else 0


_MOST_SHOWN = 20  # differences
_GROUPS_OF_ELEMENTS: Mapping[str, Sequence[str]] = {  # of differences, by the last step of an element's path
    "collision": ("collisions",),
    "visual": ("visuals",),
    "inertial": ("inertias", "dynamics"),
    "constraint": ("constraints", "names"),
    "loop_joint": ("constraints", "names"),
    "force_element": ("constraints", "drives"),
    "actuator": ("actuators",),
    "named_configuration": ("actuators",),
    "frame": ("names",),
    "point": ("names",),
    "direction": ("names",),
}
_GROUPS_OF_TEXTS = {  # of differences in joints and links, by words of the loss
    "limits": re.compile(r"\b(limits?|bounds?|ranges?)\b"),
    "drives": re.compile(r"\b(damping|friction|armature|gear|springs?|stiffness|rotors?|drive)\b"),
    "joints": re.compile(r"\b(mimic|coupling|written as|written with)\b"),
    "names": re.compile(r"\b(written as|added|names?|without mass)\b"),
    "constraints": re.compile(r"\b(mimic|coupling|loops?)\b"),
    "inertias": re.compile(r"\b((?<!without )mass|masses|inertia|inertias)\b"),
    "dynamics": re.compile(r"\b((?<!without )mass|masses|inertia|inertias)\b"),
    "collisions": re.compile(r"\bshapes\b"),
    "visuals": re.compile(r"\bshapes\b"),
}
_NOT_COMPARED = re.compile(  # content of shapes and pairs that `Robot.compare` does not have
    r"shapes are written without their names|names of materials|\bthe (material|texture|friction) |\bpairs of links\b"
)
_NAME = r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]"  # in a step of a path; it may have brackets of its own, as in "link[a[1]]"
_PATH = re.compile(rf"'((?:\w+{_NAME}/?)+\w*)'")  # of an element, in the list of a message
_STEP = re.compile(rf"(\w+)(?:{_NAME})?")
_QUOTED = re.compile(r"'([^']*)'")
_SHAPE = re.compile(r"/\d+$")  # the number of one of a link's shapes
_CUT = re.compile(r"\.\.\. and \d+ more")  # the end of a list that does not name all


_Explained = list[tuple[RobotDifference, Issue]]


def split_differences(
    differences: Sequence[RobotDifference], losses: Sequence[Issue], names: Collection[str] = ()
) -> tuple[_Explained, list[RobotDifference]]:
    """Split differences into those that a loss of the writer explains, each with this loss, and all others.

    A loss explains differences of its kind (such as limits) in the links, joints or other elements that it names, and
    in those whose names derive from these. ``names`` are names of the written robot, which count as not derived.
    """
    explained = [(_explained(issue), issue) for issue in losses]
    stated: _Explained = []
    unstated: list[RobotDifference] = []
    for difference in differences:
        group, subject = difference.group, difference.subject
        if group in ("collisions", "visuals") and subject not in names:
            subject = _SHAPE.sub("", subject)
        cause = next((issue for pairs, issue in explained if _is_in(pairs, group, subject, names)), None)
        if cause is None:
            unstated.append(difference)
        else:
            stated.append((difference, cause))
    return stated, unstated


def without_other_dynamics(
    robot: Robot, read: Robot, stated: _Explained, unstated: Sequence[RobotDifference]
) -> tuple[_Explained, list[RobotDifference]]:
    """Return both lists of `split_differences`, after a check whether losses of masses and inertias explain them.

    A loss explains a difference of dynamics if the difference vanishes when the links named by the loss get the
    inertias of the written file. All other differences of dynamics move to the second list.
    """
    by_inertia = [pair for pair in stated if pair[0].group == "dynamics" and _is_of_inertias(pair[1])]
    if not by_inertia:
        return stated, [*unstated]
    links = {difference.subject for difference, _ in stated if difference.group == "inertias"}
    both = links & {link.name for link in robot.links} & {link.name for link in read.links}
    try:
        for name in sorted(both):
            robot = robot.with_inertia(name, inertia=read.link(name).inertia_at_origin)
    except ValueError:  # such an inertia belongs to no body: the announcement is all that is known
        return stated, [*unstated]
    left = {(x.quantity, x.subject) for x in robot.compare(read).differences if x.group == "dynamics"}
    remaining = [difference for difference, _ in by_inertia if (difference.quantity, difference.subject) in left]
    return [pair for pair in stated if pair[0] not in remaining], [*unstated, *remaining]


def _is_of_inertias(issue: Issue) -> bool:
    return any(group == "inertias" for group, _ in _explained(issue))


def _is_in(pairs: set[tuple[str, str]], group: str, subject: str, names: Collection[str]) -> bool:
    """Return True for ``subject`` in ``pairs``, or if its name derives from one there: "pin_F" from "pin"."""
    stated = {name for known, name in pairs if known == group}
    if "" in stated or subject in stated:
        return True
    endings = (":", "_F", "_M") if subject in names else (":", "_")
    return any(subject.startswith(f"{name}{ending}") for name in stated for ending in endings)


def _names_of(robot: Robot) -> set[str]:
    """Return the names of all parts of a robot."""
    tree = robot.tree
    parts = (tree.frames, tree.points, tree.directions, tree.constraints, tree.force_elements, tree.actuators)
    return {*robot.frames, *tree.carried, *(part.name for group in parts for part in group)}


def _explained(issue: Issue) -> set[tuple[str, str]]:
    """Return pairs (group of differences, name of an element, or "" for all) that a loss explains."""
    first = (issue.where.element or "").partition("/")[2]
    result = set[tuple[str, str]]()
    for path in (first, *(path for path, _ in _PATH.findall(issue.message))):
        steps = _STEP.findall(path)
        kind, name = steps[-1] if steps else ("", "")
        groups = _GROUPS_OF_ELEMENTS.get(kind) or _GROUPS_OF_ELEMENTS.get(kind.removesuffix("s"))
        if groups and groups[0] in ("collisions", "visuals") and _NOT_COMPARED.search(issue.message):
            continue
        if groups is None:
            groups = [group for group, words in _GROUPS_OF_TEXTS.items() if words.search(issue.message)]
        names = [name or (steps[0][1] if steps else "")]
        if not names[0]:  # such as "links" or "points", of which the message names some
            names = [""] if _CUT.search(issue.message) else [*_QUOTED.findall(issue.message)] or [""]
        elif _CUT.search(issue.message):
            names = [""]
        result |= {(group, "" if group == "dynamics" else each) for group in groups for each in names}
    if "other coordinates" in issue.message:  # random configurations are different ones
        result |= {("poses", ""), ("dynamics", ""), ("joints", "")}
    return result | ({("dynamics", "")} if first == "gravity" else set())


def _read_again(written_robot: Robot, arguments: argparse.Namespace) -> Robot:
    """Read the written file with the options that give the same robot, and return this robot.

    Raises CommandError.
    """
    tree, written = written_robot.tree, find_format(arguments.output)
    options: dict[str, Any] = {} if arguments.to_loops is None else {"loops": arguments.to_loops}
    if written.name != "linkwork":  # whose files state all of this
        follows = tree.has_couplings or any(isinstance(body.joint, Helical) for body in tree.bodies)
        options["mimic"] = "coupled" if follows else "free"
        has_sines = any(isinstance(body.joint, UnboundedRevolute) for body in tree.bodies)
        for name, value, is_needed in (
            ("continuous", "sincos", has_sines),
            ("inertia", "ignore", tree.inertias_ignored),
        ):
            if is_needed and name in written.options:
                options[name] = value
    if written.name == "urdf" and describe(tree).base is not None:
        options["floating_base"] = True
    robot = read_robot(arguments.output, **options)
    return robot if arguments.to_srdf is None else robot.with_srdf_document(arguments.to_srdf)


_OF_SRDF = ("collisions", "named_configurations")  # elements of losses of a URDF that an SRDF beside it has


def _written_srdf(robot: Robot, arguments: argparse.Namespace) -> Sequence[Issue]:
    """Write the SRDF file of ``--to-srdf``, and return issues for content that it cannot represent.

    Raises CommandError.
    """
    try:
        return tuple(robot.to_srdf(arguments.to_srdf, strict=arguments.strict).warnings)
    except ModelError as error:
        text = "\n".join(map(str, error.issues))
        raise CommandError(FAILED, f"{escaped(arguments.to_srdf)} is not written:\n{text}") from error
    except OSError as error:
        raise CommandError(FAILED, f"cannot write {escaped(arguments.to_srdf)}: {error.strerror or error}") from error


def _to_standard_output(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Write the robot to standard output in the format of ``--to``.  Raises CommandError."""
    suffixes = sorted({suffix.removeprefix(".") for suffix in WRITERS})
    suffix = (arguments.to or "").lower().removeprefix(".")
    if suffix not in suffixes:
        got = "none" if arguments.to is None else escaped(repr(arguments.to))
        raise CommandError(USAGE, f"OUTPUT: expected --to with standard output, {', '.join(suffixes)}, got {got}")
    beside = {"--json": arguments.json, "--verify": arguments.verify, "--to-srdf": arguments.to_srdf}
    beside |= {"--to-loops": arguments.to_loops, "--to-meshes": arguments.to_meshes}
    used = next((option for option, value in beside.items() if value), None)
    if used is not None:
        raise CommandError(USAGE, f"{used}: expected a file as OUTPUT, got the standard output")
    robot = robot_of(arguments, terminal)
    robot = with_meshes(robot, arguments) if arguments.hulls else robot
    with TemporaryDirectory(prefix="linkwork-") as folder:
        file = Path(folder) / f"robot.{suffix}"
        inner = argparse.Namespace(**{**vars(arguments), "output": str(file)})
        losses = _written(getattr(robot, _method_for(str(file))), inner)
        text = file.read_text(encoding="utf-8")
    terminal.issues(losses)
    terminal.out.write(text)
    return 0


def _method_for(output: str) -> str:
    """Return the name of the method of `Robot` that writes a file.  Raises CommandError."""
    known = {suffix: name for suffix, name in WRITERS.items() if hasattr(Robot, name)}
    suffix = Path(output).suffix.lower()
    if suffix not in known:
        written = ", ".join(known) or "none"
        raise CommandError(USAGE, f"no format to write has the suffix {escaped(repr(suffix))}; formats are {written}")
    return known[suffix]


def _check_output(output: str, force: bool) -> None:
    """Raise CommandError if the file cannot be written, or exists and must not be replaced."""
    path = Path(output)
    if not path.absolute().parent.is_dir():
        raise CommandError(USAGE, f"cannot write {escaped(output)}: the folder does not exist")
    if path.exists() and not path.is_file():
        raise CommandError(USAGE, f"cannot write {escaped(output)}: this is {kind_of_file(path.stat().st_mode)}")
    if path.exists() and not force:
        raise CommandError(USAGE, f"{escaped(output)} exists already; pass --force to replace it")


def _written(write: Callable[..., Any], arguments: argparse.Namespace) -> tuple[Issue, ...]:
    """Write the robot's file, and return issues for content that its format cannot represent. Raises CommandError."""
    taken = inspect.signature(write).parameters
    options: dict[str, Any] = {"strict": arguments.strict} if "strict" in taken else {}
    if "world" in taken and Path(arguments.output).suffix.lower() == ".world":
        options["world"] = "world"
    for option, value in (("loops", arguments.to_loops), ("meshes", arguments.to_meshes)):
        if value is not None:
            if option not in taken:
                remedy = "; --hulls writes convex hulls into the file itself" if option == "meshes" else ""
                file = escaped(arguments.output)
                raise CommandError(USAGE, f"--to-{option}: files like {file} have no such companion{remedy}")
            options[option] = value
    try:
        report = write(arguments.output, **options)
    except ModelError as error:
        text = "\n".join(map(str, error.issues))
        raise CommandError(FAILED, f"{escaped(arguments.output)} is not written:\n{text}") from error
    except (TypeError, ValueError) as error:  # content that no file can represent
        raise CommandError(FAILED, escaped(str(error))) from error
    except OSError as error:
        raise CommandError(FAILED, f"cannot write {escaped(arguments.output)}: {error.strerror or error}") from error
    return tuple(getattr(report, "warnings", ()))
