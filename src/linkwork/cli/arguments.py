"""Arguments that several commands take, and what goes wrong with them.

Configurations, numbers and files that several commands take as text.

Random states of a robot, as the functions of the table take them.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from linkwork._util.file_access import kind_of_file, opened_regular, replaced
from linkwork.cli.output import Terminal, escaped, label, quantity
from linkwork.errors import Issue, ModelError, UnknownNameError
from linkwork.geometry.scene import Scene
from linkwork.parts.construction.robot_loading import Continuous, Inertias, Mimicry
from linkwork.robot import Robot, load
from linkwork.robot_table import ROBOT
from linkwork.shapes import Mesh

__all__ = [
    "BAD_MODEL",
    "FAILED",
    "USAGE",
    "CommandError",
    "add_files",
    "add_json",
    "add_meshes",
    "add_robot",
    "check_files",
    "configuration_of",
    "from_zero",
    "issue_text",
    "load_robot",
    "named_numbers",
    "number_from",
    "number_of",
    "positive",
    "random_states",
    "robot_of",
    "scene_of",
    "with_meshes",
    "words_of",
    "write_files",
]


FAILED, USAGE, BAD_MODEL = 1, 2, 3  # exit codes
_MAX_SCENE = 1 << 28  # bytes of a file of obstacles


class CommandError(Exception):
    """What ends a command: an exit code, and a message for people."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def add_robot(parser: argparse.ArgumentParser) -> None:
    """A robot, and how it is read: the options of `linkwork.load`."""
    parser.add_argument("file", metavar="FILE", help="a robot file, or the name of a built-in robot (see `robots`)")
    parser.add_argument("--format", metavar="NAME", help="the file's format (default: by its suffix or content)")
    parser.add_argument("--floating-base", action="store_true", help="free the root link instead of fixing it")
    parser.add_argument("--strict", action="store_true", help="make errors of everything that would be repaired")
    parser.add_argument("--multi-root", action="store_true", help="fix every root link to the world")
    parser.add_argument("--loops", metavar="FILE", help="a JSON or YAML file that closes the robot's loops")
    for name, (about, choices) in _CHOICES.items():
        parser.add_argument(f"--{name}", choices=choices, default=choices[0], help=f"{about} (default: {choices[0]})")


_CHOICES = {
    "mimic": ("what becomes of joints that the file makes follow others", get_args(Mimicry)),
    "continuous": ("how the configuration of a continuous joint is written", get_args(Continuous)),
    "inertia": (
        "whether inertias are those given, repaired where no body has them, or left out",
        get_args(Inertias),
    ),
}


def robot_of(arguments: argparse.Namespace, terminal: Terminal) -> Robot:
    """The robot that arguments name, read as they say; its warnings are logged where text is printed.

    Raises CommandError.
    """
    options = {
        name: getattr(arguments, name)
        for name in ("format", "floating_base", "strict", "multi_root", "loops", *_CHOICES)
    }
    return read_robot(arguments.file, **options) if arguments.json else load_robot(arguments.file, terminal, **options)


def add_meshes(parser: argparse.ArgumentParser) -> None:
    """Where mesh files are, whose hulls collide."""
    parser.add_argument(
        "--meshes", metavar="FOLDER", nargs="+", help="folders of the robot's mesh files: their convex hulls collide"
    )
    parser.add_argument(
        "--hull-vertices", metavar="N", type=positive, default=32, help="of a hull, at most (default: 32)"
    )
    parser.add_argument(
        "--convex-pieces", action="store_true", help="take meshes apart into convex pieces first (needs coacd)"
    )


def with_meshes(robot: Robot, arguments: argparse.Namespace) -> Robot:
    """The robot with hulls in the place of meshes that collide.  Raises CommandError."""
    meshes = {
        geometry.shape.uri
        for frame in robot.tree.frames
        for geometry in frame.collisions
        if isinstance(geometry.shape, Mesh)
    }
    if not meshes:
        return robot
    if not arguments.meshes:
        some = ", ".join(escaped(uri) for uri in sorted(meshes)[:3])
        raise CommandError(
            USAGE,
            f"{label(robot.name)}: collision shapes are {quantity(len(meshes), 'mesh file')}, which have no distances "
            f"until they are read: {some}{' ...' if len(meshes) > 3 else ''}; --meshes FOLDER says where they are",
        )
    try:
        return robot.with_collision_hulls(
            arguments.meshes, max_vertices=arguments.hull_vertices, pieces=arguments.convex_pieces
        )
    except (ImportError, OSError, ValueError) as error:
        raise CommandError(BAD_MODEL, escaped(str(error))) from error


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def positive(text: str) -> int:
    """A whole number of at least one, as argparse's ``type``."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected an integer >= 1, got {text!r}")
    return value


def from_zero(text: str) -> int:
    """A whole number of at least zero, as argparse's ``type``."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected an integer >= 0, got {text!r}")
    return value


def number_from(least: float, why: str = "") -> Callable[[str], float]:
    """A finite number from a bound on, as argparse's ``type``; ``why`` it is that bound."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"expected a number of at least {least:g}{why}, got {text!r}")
        return value

    return read


def scene_of(file: str | None) -> Scene | None:
    """The scene of a file, if one is named.  Raises CommandError."""
    if file is None:
        return None
    try:
        with opened_regular(file) as (opened, size):
            if size > _MAX_SCENE:
                raise ValueError(f"the file has more bytes than the limit of {_MAX_SCENE}")
            text = opened.read(_MAX_SCENE).decode("utf-8")
        return Scene.from_json(text)
    except OSError as error:
        raise CommandError(USAGE, f"cannot read {escaped(file)}: {error.strerror or error}") from error
    except (TypeError, ValueError) as error:
        raise CommandError(USAGE, f"{escaped(file)}: {escaped(str(error))}") from error


def load_robot(name: str, terminal: Terminal, **options: Any) -> Robot:
    """The robot that an argument names, loaded with options, its warnings logged.  Raises CommandError."""
    robot = read_robot(name, **options)
    for issue in robot.report.warnings:
        terminal.warning(issue_text(issue))
    return robot


def read_robot(name: str, **options: Any) -> Robot:
    """The robot that an argument names, loaded with options.  Raises CommandError."""
    try:
        return load(name, **options)
    except ModelError as error:
        texts = [issue_text(issue) for issue in error.issues]
        text = texts[0] if len(texts) == 1 else "\n".join([f"{len(texts)} errors:", *texts])
        raise CommandError(BAD_MODEL, text) from error
    except (UnknownNameError, ImportError) as error:  # a name, PyYAML or the package of a format
        raise CommandError(BAD_MODEL, escaped(str(error))) from error
    except TypeError as error:  # an option that the file's format does not take
        raise CommandError(USAGE, escaped(str(error))) from error
    except OSError as error:
        raise CommandError(
            BAD_MODEL, f"cannot read {escaped(str(error.filename or name))}: {error.strerror or error}"
        ) from error


def issue_text(issue: Issue) -> str:
    """What an issue says, in one line or with its hint in a second one."""
    text = f"{escaped(str(issue.where))}: {escaped(issue.message)} [{issue.code}]"
    return f"{text}\n    hint: {escaped(issue.hint)}" if issue.hint else text


def add_files(parser: argparse.ArgumentParser, output: str, plot: str) -> None:
    """Options for the files that a command writes, with their help."""
    parser.add_argument("--output", metavar="FILE", help=output)
    parser.add_argument("--plot", metavar="FILE", help=plot)
    parser.add_argument("--force", action="store_true", help="replace files of these names that are there already")


def check_files(arguments: argparse.Namespace, endings: tuple[str, ...]) -> None:
    """Whether ``--output`` and ``--plot`` can be written, before anything is computed.  Raises CommandError."""
    output, plot = arguments.output, arguments.plot
    if output is not None and Path(output).suffix not in endings:
        expected = " or ".join(endings)
        raise CommandError(USAGE, f"--output: expected a file that ends in {expected}, got {escaped(output)}")
    for option, file in (("--output", output), ("--plot", plot)):
        if file is None:
            continue
        if not Path(file).absolute().parent.is_dir():
            raise CommandError(USAGE, f"{option}: cannot write {escaped(file)}: there is no such folder")
        if Path(file).exists():
            if not Path(file).is_file():
                kind = kind_of_file(Path(file).stat().st_mode)
                raise CommandError(USAGE, f"{option}: cannot write {escaped(file)}: this is {kind}")
            if not arguments.force:
                raise CommandError(USAGE, f"{option}: {escaped(file)} exists already: --force replaces it")
    if plot is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise CommandError(FAILED, '--plot needs matplotlib: pip install "linkwork[figures]"') from None


def write_files(arguments: argparse.Namespace, save: Callable[[str], None] | None, draw: Callable[[], Any]) -> None:
    """Write what ``save`` writes to ``--output``, and the figure that ``draw`` gives to ``--plot``.

    Raises CommandError.
    """
    try:
        if save is not None and arguments.output is not None:
            save(arguments.output)
        if arguments.plot is not None:
            import matplotlib as mpl

            mpl.use("agg")
            figure = draw()
            with replaced(arguments.plot) as file:
                figure.savefig(file, format=Path(arguments.plot).suffix.lstrip(".").lower() or None)
    except OSError as error:
        name = escaped(str(error.filename or arguments.output or arguments.plot))
        raise CommandError(FAILED, f"cannot write {name}: {error.strerror or error}") from error
    except ValueError as error:  # a kind of picture that is none
        raise CommandError(USAGE, escaped(str(error))) from error


def words_of(given: Sequence[str]) -> list[str]:
    """What spaces and commas separate."""
    return [word for text in given for word in re.split(r"[\s,]+", text.strip()) if word]


def number_of(option: str, text: str) -> float:
    """A finite number.  Raises ValueError."""
    try:
        result = float(text)
    except ValueError:
        result = np.nan
    if not np.isfinite(result):
        raise ValueError(f"{option}: expected a finite number, got {text!r}")
    return result


def configuration_of(robot: Robot, option: str, given: Sequence[str], others: np.ndarray) -> np.ndarray:
    """All numbers of q, or some of them by name.  Raises ValueError and UnknownNameError."""
    return named_numbers(option, given, others, robot.q_names, "q")


def named_numbers(
    option: str, given: Sequence[str], others: np.ndarray, names: Sequence[str], symbol: str
) -> np.ndarray:
    """All numbers, or some of them by name and the others as they are.  Raises ValueError and UnknownNameError."""
    words = words_of(given)
    x = np.array(others, dtype=float)
    if all("=" in word for word in words):
        for word in words:
            name, _, text = word.rpartition("=")
            if name not in names:
                raise UnknownNameError(f"number of {symbol}", name, names)
            x[names.index(name)] = number_of(f"{option}: {name}", text)
        return x
    if any("=" in word for word in words):
        raise ValueError(f"{option}: expected numbers, or NAME=NUMBER each, got both")
    if len(words) != len(names):
        raise ValueError(f"{option}: expected {len(names)} numbers, those of {symbol}, got {len(words)}")
    return np.array([number_of(option, word) for word in words])


def random_states(
    robot: Robot, function: str, rng: np.random.Generator | int, size: int | None = None
) -> dict[str, np.ndarray]:
    """Arrays for the inputs of a function, by name and in its order: (n,), or (size, n) in rows.

    Configurations lie within the joints' limits, with unit quaternions; rates, velocities, accelerations and forces
    are drawn from the normal distribution, of standard deviation 1 in SI units (forces: 10).
    """
    generator = np.random.default_rng(rng)
    states = {}
    for argument in ROBOT[function].quantities:
        name = argument.name
        if argument.configuration:
            states[name] = robot.random_configuration(generator, size=size)
        else:
            count = robot.nq if argument.shape == ("nq",) else robot.nv
            shape = count if size is None else (size, count)
            states[name] = generator.normal(scale=10.0 if name == "tau" else 1.0, size=shape)
    return states
