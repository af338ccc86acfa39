"""Arguments that several commands have (robots, configurations, numbers, files), and their errors.

`random_states` draws random inputs of a robot's functions.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args, get_type_hints

import numpy as np

from linkwork import Robot, load
from linkwork.cli.number_texts import number_of, words_of
from linkwork.cli.output import BAD_MODEL, FAILED, USAGE, CommandError, Terminal, as_options, escaped, label, quantity
from linkwork.cli.parser import FRAME_AND_NUMERIC, NUMERIC
from linkwork.cli.stored_values import STORED_SUFFIXES
from linkwork.cli.values import pose_of, position_of, positive
from linkwork.errors import Issue, ModelError, UnknownNameError
from linkwork.model import WORLD
from linkwork.shapes import Mesh

__all__ = [
    "BAD_MODEL",
    "FAILED",
    "USAGE",
    "CommandError",
    "add_json",
    "add_meshes",
    "add_robot",
    "floats",
    "load_robot",
    "random_states",
    "robot_of",
    "with_meshes",
]


def add_robot(parser: argparse.ArgumentParser, *, nargs: str | None = None) -> None:
    """Add the arguments that name a robot, and the options with which `linkwork.load` reads it.

    ``nargs`` of the file is as in argparse: "?" for an optional one, "+" for several.
    """
    parser.add_argument(
        "file",
        nargs=nargs,
        metavar="FILE",
        help="a robot file, - for standard input, or the name of a built-in robot (see `robots`)",
    )
    group = parser.add_argument_group("options of the robot's file")
    group.add_argument("--format", metavar="NAME", help="the file's format (default: by its suffix or content)")
    group.add_argument(
        "--base",
        metavar="X",
        nargs="+",
        type=NUMERIC,
        help="the pose of the root link: X Y Z and, as in URDF, roll, pitch and yaw, 0 if omitted [m, rad]; or @FILE",
    )
    group.add_argument(
        "--floating-base",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="free the base, or fix it (default: as the file says)",
    )
    group.add_argument(
        "--gravity",
        metavar="X",
        nargs="+",
        type=NUMERIC,
        help="the acceleration of gravity X Y Z in the world (default: as the file says, or 0 0 -9.81) [m/s²]",
    )
    group.add_argument(
        "--srdf", metavar="FILE", help="an SRDF of MoveIt: pairs of links that do not collide, named configurations"
    )
    group.add_argument("--joint-limits", metavar="FILE", help="limits of joints: MoveIt's joint_limits.yaml")
    group.add_argument(
        "--payload",
        metavar="FRAME",
        nargs="+",
        type=FRAME_AND_NUMERIC,
        action="append",
        default=[],
        help="a load on a frame: FRAME MASS [X Y Z], its centre of mass in the frame [kg, m]; may be repeated",
    )
    group.add_argument("--strict", action="store_true", help="report repairable problems as errors")
    group.add_argument("--quiet", action="store_true", help="print no warnings, notes and progress")
    group.add_argument("--multi-root", action="store_true", help="fix every root link to the world")
    group.add_argument("--loops", metavar="FILE", help="a JSON or YAML file that closes the robot's loops")
    group.add_argument(
        "--xacro", action="store_true", help="expand a xacro file; it can run code, so use only files that you trust"
    )
    group.add_argument(
        "--argument", metavar="NAME=VALUE", action="append", type=_pair, help="the value of an argument of a xacro file"
    )
    group.add_argument(
        "--package-dirs",
        metavar="FOLDER",
        nargs="+",
        help="folders with the files of packages and models that the file names",
    )
    group.add_argument(
        "--untrusted",
        dest="trusted",
        action="store_false",
        help="read an untrusted file: libraries parse it in a process without access to other files and the network",
    )
    group.add_argument("--model", metavar="NAME", help="read one model of an SDF file")
    for name, (about, choices) in _CHOICES.items():
        group.add_argument(f"--{name}", choices=choices, default=choices[0], help=f"{about} (default: {choices[0]})")


_MAX_STDIN = 1 << 28  # [bytes]
_STDIN = "standard input"  # in messages; mesh files are searched from the current folder
_PLAIN = ("format", "floating_base", "strict", "multi_root", "loops", "package_dirs", "model", "xacro", "trusted")
_KINDS = get_type_hints(load)
_CHOICES = {
    name: (about, get_args(_KINDS[name]))
    for name, about in (
        ("mimic", "treatment of mimic joints"),
        ("continuous", "coordinates of a continuous joint"),
        ("inertia", "inertias of the file, repaired where they are not physical, or ignored"),
    )
}


def _pair(text: str) -> tuple[str, str]:
    """Split NAME=VALUE, or NAME:=VALUE as in ROS, into name and value. Raises argparse.ArgumentTypeError."""
    name, equals, value = text.partition("=")
    name = name.removesuffix(":")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name, value


def robot_of(arguments: argparse.Namespace, terminal: Terminal) -> Robot:
    """Return the robot that the command's arguments select. Raises CommandError.

    Warnings of loading are logged, but not with ``--json``.
    """
    options = {name: getattr(arguments, name) for name in (*_PLAIN, *_CHOICES)}
    if arguments.argument:
        options["arguments"] = dict(arguments.argument)
    if arguments.base is not None:
        try:
            options["base"] = pose_of("--base", arguments.base)
        except ValueError as error:
            raise CommandError(USAGE, escaped(str(error))) from error
    if arguments.gravity is not None:
        try:
            options["gravity"] = position_of("--gravity", arguments.gravity, "")
        except ValueError as error:
            raise CommandError(USAGE, escaped(str(error))) from error
    robot = _with_documents(read_robot(arguments.file, **options), arguments)
    if not arguments.json:
        terminal.issues(robot.report.warnings)
    return _with_payloads(robot, arguments.payload)


def _with_documents(robot: Robot, arguments: argparse.Namespace) -> Robot:
    """Return the robot with the content of the files of ``--srdf`` and ``--joint-limits``.  Raises CommandError."""
    for file, add in (
        (arguments.srdf, Robot.with_srdf_document),
        (arguments.joint_limits, Robot.with_joint_limits_document),
    ):
        if file is not None:
            robot = _read(Path(file), partial(add, robot, strict=arguments.strict))
    return robot


def _with_payloads(robot: Robot, payloads: Iterable[Sequence[str]]) -> Robot:
    """Return the robot with the loads of ``--payload``, links "payload" and "payload_2".  Raises CommandError."""
    try:
        for frame, *texts in payloads:
            words = words_of("--payload", texts)
            if len(words) not in (1, 4):
                got = " ".join([frame, *words])
                raise ValueError(f"--payload: expected FRAME MASS or FRAME MASS X Y Z, got {got!r}")
            values = [number_of("--payload", x, unit) for x, unit in zip(words, ("kg", "m", "m", "m"), strict=False)]
            taken = {link.name for link in robot.links} | {*robot.frames}
            count = next(k for k in range(1, len(taken) + 2) if _payload_name(k) not in taken)
            robot = robot.with_payload(_payload_name(count), frame, values[0], com=values[1:] or (0.0, 0.0, 0.0))
    except (UnknownNameError, ValueError) as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    return robot


def _payload_name(count: int) -> str:
    return "payload" if count == 1 else f"payload_{count}"


def floats(robot: Robot) -> bool:
    """Return True if a link of the robot moves freely in the world."""
    return any(body.parent == WORLD and body.joint.is_floating for body in robot.tree.bodies)


def add_meshes(parser: argparse.ArgumentParser) -> None:
    """Add the options for the folders of mesh files, and for the convex hulls that replace meshes in collisions."""
    parser.add_argument(
        "--meshes",
        metavar="FOLDER",
        nargs="+",
        help="folders of the robot's mesh files, whose convex hulls collide (default: where the file names them)",
    )
    parser.add_argument(
        "--max-vertices", metavar="N", type=positive, default=32, help="maximum vertices of a hull (default: 32)"
    )
    parser.add_argument(
        "--decompose",
        action="store_true",
        help="decompose meshes into convex components first (needs coacd)",
    )


def with_meshes(robot: Robot, arguments: argparse.Namespace) -> Robot:
    """Return the robot with convex hulls instead of the meshes of its collision shapes. Raises CommandError."""
    meshes = {
        geometry.shape.uri
        for frame in robot.tree.frames
        for geometry in frame.collisions
        if isinstance(geometry.shape, Mesh)
    }
    if not meshes:
        return robot
    try:
        return robot.with_collision_hulls(
            arguments.meshes, max_vertices=arguments.max_vertices, decompose=arguments.decompose
        )
    except (ImportError, OSError, ValueError) as error:
        if not arguments.meshes and isinstance(error, (FileNotFoundError, ValueError)):
            names = ", ".join(escaped(uri) for uri in sorted(meshes)[:3])
            more = " ..." if len(meshes) > 3 else ""
            raise CommandError(
                USAGE,
                f"{label(robot.name)}: collision shapes are {quantity(len(meshes), 'mesh file')}, which have no "
                f"distances until they are loaded: {names}{more}; pass their folder as --meshes FOLDER: "
                f"{escaped(str(error).removeprefix('with_collision_hulls: '))}",
            ) from error
        raise CommandError(BAD_MODEL, escaped(str(error))) from error


def add_json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def load_robot(name: str, terminal: Terminal, **options: Any) -> Robot:
    """Return the built-in robot called ``name``, or the robot in the file ``name``. Raises CommandError.

    Warnings and notes of loading are logged.
    """
    robot = read_robot(name, **options)
    terminal.issues(robot.report.warnings)
    return robot


def read_robot(name: str, **options: Any) -> Robot:
    """Return the built-in robot called ``name``, or the robot in the file ``name``. Raises CommandError.

    "-" is standard input, whose text is stored in a temporary file while it is read.
    """
    if name == "-":
        with TemporaryDirectory(prefix="linkwork-") as folder:
            file = Path(folder) / "stdin"
            text = sys.stdin.buffer.read(_MAX_STDIN + 1)
            if len(text) > _MAX_STDIN:
                raise CommandError(USAGE, f"-: standard input has more bytes than the limit of {_MAX_STDIN}")
            file.write_bytes(text)
            try:
                return _from_standard_input(read_robot(str(file), **options), str(file))
            except CommandError as error:
                message = str(error).replace(str(file), _STDIN)
                issues, warnings = (_of_standard_input(x, str(file)) for x in (error.issues, error.warnings))
                raise CommandError(error.code, message, issues, warnings) from error
    return _read(name, partial(load, **options))


def _read(name: str | Path, read: Callable[[Any], Robot]) -> Robot:
    """Return ``read(name)``, the robot in a file. Raises CommandError."""
    try:
        return read(name)
    except ModelError as error:
        texts = [str(issue) for issue in error.issues]
        if error.code == "UNKNOWN_FORMAT" and Path(name).suffix.lower() in STORED_SUFFIXES:
            hint = "options read results: linkwork view ROBOT --motion FILE, and --q @FILE"
            texts = [str(replace(error.issues[0], hint=hint))]
        text = texts[0] if len(texts) == 1 else "\n".join([f"{len(texts)} errors:", *texts])
        raise CommandError(BAD_MODEL, as_options(text), error.issues, error.warnings) from error
    except (UnknownNameError, ImportError) as error:  # a name, PyYAML or the package of a format
        raise CommandError(BAD_MODEL, escaped(str(error))) from error
    except (TypeError, ValueError) as error:  # an option that the file's format does not have, a folder that is none
        raise CommandError(USAGE, escaped(str(error))) from error
    except OSError as error:
        raise CommandError(
            BAD_MODEL, f"cannot read {escaped(str(error.filename or name))}: {error.strerror or error}"
        ) from error


def _from_standard_input(robot: Robot, file: str) -> Robot:
    """Return the robot with the name of standard input instead of ``file``, the temporary file with its text."""
    issues = _of_standard_input(robot.report.warnings, file)
    return Robot(replace(robot.tree, source=_STDIN, report=type(robot.report)(tuple(issues))))


def _of_standard_input(issues: Iterable[Issue], file: str) -> list[Issue]:
    """Return the issues with the name of standard input instead of the temporary ``file``."""
    return [
        replace(
            issue,
            message=issue.message.replace(file, _STDIN),
            where=replace(issue.where, file=_STDIN if issue.where.file == file else issue.where.file),
        )
        for issue in issues
    ]


def random_states(
    robot: Robot, function: str, rng: np.random.Generator | int, size: int | None = None
) -> dict[str, np.ndarray]:
    """Return random inputs of a robot's function, by name in the order of its arguments: (k,) each, or (size, k).

    Configurations are within the joints' limits, with unit quaternions; rates, velocities, accelerations and forces
    are drawn from the normal distribution, of standard deviation 1 in SI units (forces: 10).
    """
    generator = np.random.default_rng(rng)
    states = {}
    for argument in Robot.functions[function].quantities:
        name = argument.name
        if argument.configuration:
            states[name] = robot.random_configuration(generator, size=size)
        else:
            count = robot.nq if argument.shape == ("nq",) else robot.nv
            shape = count if size is None else (size, count)
            states[name] = generator.normal(scale=10.0 if name == "tau" else 1.0, size=shape)
    return states
