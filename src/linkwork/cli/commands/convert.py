"""`linkwork convert`: read a robot in one format and write it in another, listing what the other cannot say.

The suffix of the output selects the method of `Robot` that writes it.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from linkwork import Robot, __version__
from linkwork._util.file_access import kind_of_file
from linkwork.cli.arguments import FAILED, USAGE, CommandError, add_json, add_robot, read_robot, robot_of
from linkwork.cli.output import Terminal, columns_of, escaped, issue_data, label, quantity
from linkwork.errors import Issue, ModelError
from linkwork.formats import find_format
from linkwork.formats.description import describe
from linkwork.joints import Helical, UnboundedRevolute

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
    parser.add_argument("output", metavar="OUTPUT", help=f"the file to write: {', '.join(WRITERS)}")
    parser.add_argument("--to-loops", metavar="FILE", help="a second JSON file for content that URDF does not have")
    parser.add_argument("--to-meshes", metavar="FOLDER", help="a folder for the mesh files of convex hulls")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--verify", action="store_true", help="read the written file and compare it with the robot")
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    method = _method_for(arguments.output)
    _check_output(arguments.output, arguments.force)
    if arguments.to_loops is not None:
        _check_output(arguments.to_loops, arguments.force)
    robot = robot_of(arguments, terminal)
    losses = _written(getattr(robot, method), arguments)
    comparison = None
    if arguments.verify:
        comparison = robot.compare(_read_again(robot, arguments))
    same = comparison is None or comparison.same
    if arguments.json:
        about = {"linkwork": __version__, "file": robot.tree.source, "output": arguments.output, "robot": robot.name}
        verified = None if comparison is None else comparison.as_dict()
        terminal.out.json({**about, "losses": [issue_data(loss) for loss in losses], "verified": verified})
        return 0 if same else FAILED
    terminal.issues(losses)
    lost = f"; {quantity(len(losses), 'thing')} not written as stated" if losses else ""
    terminal.out.line(f"{label(robot.name)}: written to {escaped(arguments.output)}{lost}")
    if comparison is not None:
        terminal.out.lines(["", *comparison.lines(columns_of(terminal.out))])
    return 0 if same else FAILED


def _read_again(robot: Robot, arguments: argparse.Namespace) -> Robot:
    """Return the robot of the written file, read with the options by which it is the written one.

    Raises CommandError.
    """
    tree, written = robot.tree, find_format(arguments.output)
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
    return read_robot(arguments.output, **options)


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
    """Write the file, and return the content that its format cannot represent.  Raises CommandError."""
    taken = inspect.signature(write).parameters
    options: dict[str, Any] = {"strict": arguments.strict} if "strict" in taken else {}
    if "world" in taken and Path(arguments.output).suffix.lower() == ".world":
        options["world"] = "world"
    for option, value in (("loops", arguments.to_loops), ("meshes", arguments.to_meshes)):
        if value is not None:
            if option not in taken:
                raise CommandError(
                    USAGE, f"--to-{option}: files like {escaped(arguments.output)} have no such companion"
                )
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
