"""Arguments that several commands have (robots, configurations, numbers, files), and their errors.

`random_states` draws random inputs of a robot's functions.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np

from linkwork import Robot, Scene, load, pose
from linkwork._util.file_access import kind_of_file, opened_regular, replaced
from linkwork.cli.command_error import BAD_MODEL, FAILED, USAGE, CommandError
from linkwork.cli.output import Terminal, escaped, label, quantity
from linkwork.errors import Issue, ModelError, UnknownNameError
from linkwork.model import WORLD
from linkwork.shapes import Mesh

__all__ = [
    "BAD_MODEL",
    "FAILED",
    "USAGE",
    "CommandError",
    "add_files",
    "add_json",
    "add_limits",
    "add_meshes",
    "add_robot",
    "check_files",
    "configuration_of",
    "floats",
    "from_zero",
    "limits_of",
    "load_robot",
    "log_issues",
    "named_values",
    "not_a_number",
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


_MAX_SCENE = 1 << 28  # [bytes] of a file of obstacles


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a robot, and the options with which `linkwork.load` reads it."""
    parser.add_argument("file", metavar="FILE", help="a robot file, or the name of a built-in robot (see `robots`)")
    parser.add_argument("--format", metavar="NAME", help="the file's format (default: by its suffix or content)")
    parser.add_argument(
        "--base",
        metavar="X",
        nargs="+",
        help="the pose of the root link: X Y Z and, as in URDF, roll, pitch and yaw, 0 if omitted [m, rad]",
    )
    parser.add_argument(
        "--floating-base",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="free the base, or fix it (default: as the file says)",
    )
    parser.add_argument("--strict", action="store_true", help="report repairable problems as errors")
    parser.add_argument("--multi-root", action="store_true", help="fix every root link to the world")
    parser.add_argument("--loops", metavar="FILE", help="a JSON or YAML file that closes the robot's loops")
    parser.add_argument(
        "--xacro", action="store_true", help="expand a xacro file, a program that can run code: only if you trust it"
    )
    parser.add_argument(
        "--argument", metavar="NAME=VALUE", action="append", type=_pair, help="the value of an argument of a xacro file"
    )
    parser.add_argument(
        "--package-dirs",
        metavar="FOLDER",
        nargs="+",
        help="folders with the files of packages and models that the file names",
    )
    parser.add_argument(
        "--untrusted",
        dest="trusted",
        action="store_false",
        help="read a stranger's file: other libraries parse it in a process without other files and network",
    )
    parser.add_argument("--model", metavar="NAME", help="read one model of an SDF file")
    for name, (about, choices) in _CHOICES.items():
        parser.add_argument(f"--{name}", choices=choices, default=choices[0], help=f"{about} (default: {choices[0]})")


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
    """Return a name and a value from NAME=VALUE.  Raises argparse.ArgumentTypeError."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name, value


def robot_of(arguments: argparse.Namespace, terminal: Terminal) -> Robot:
    """Return the robot that the arguments name.  Raises CommandError.

    Its warnings are logged, but not with ``--json``.
    """
    options = {name: getattr(arguments, name) for name in (*_PLAIN, *_CHOICES)}
    if arguments.argument:
        options["arguments"] = dict(arguments.argument)
    if arguments.base is not None:
        options["base"] = _base_of(arguments.base)
    return read_robot(arguments.file, **options) if arguments.json else load_robot(arguments.file, terminal, **options)


def _base_of(texts: Sequence[str]) -> np.ndarray:
    """Return the pose in the option ``--base``.  Raises CommandError."""
    try:
        numbers = [number_of("--base", word) for word in words_of("--base", texts)]
    except ValueError as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    if len(numbers) not in (3, 6):
        raise CommandError(USAGE, f"--base: expected X Y Z ROLL PITCH YAW, or X Y Z, got {len(numbers)} numbers")
    return pose(numbers[:3], rpy=numbers[3:] or None)


def floats(robot: Robot) -> bool:
    """Return True if a link of the robot moves freely in the world."""
    return any(body.parent == WORLD and body.joint.is_floating for body in robot.tree.bodies)


def add_meshes(parser: argparse.ArgumentParser) -> None:
    """Add the options for the folders of mesh files, and for the convex hulls that replace meshes in collisions."""
    parser.add_argument(
        "--meshes", metavar="FOLDER", nargs="+", help="folders of the robot's mesh files: their convex hulls collide"
    )
    parser.add_argument(
        "--hull-vertices", metavar="N", type=positive, default=32, help="maximum vertices of a hull (default: 32)"
    )
    parser.add_argument(
        "--convex-decomposition",
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
    if not arguments.meshes:
        some = ", ".join(escaped(uri) for uri in sorted(meshes)[:3])
        raise CommandError(
            USAGE,
            f"{label(robot.name)}: collision shapes are {quantity(len(meshes), 'mesh file')}, which have no distances "
            f"until they are loaded: {some}{' ...' if len(meshes) > 3 else ''}; pass their folder as --meshes FOLDER",
        )
    try:
        return robot.with_collision_hulls(
            arguments.meshes, max_vertices=arguments.hull_vertices, decompose=arguments.convex_decomposition
        )
    except (ImportError, OSError, ValueError) as error:
        raise CommandError(BAD_MODEL, escaped(str(error))) from error


def add_json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def positive(text: str) -> int:
    """Return a text as an integer >= 1.  Raises argparse.ArgumentTypeError."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(not_a_number("an integer >= 1", text))
    return value


def from_zero(text: str) -> int:
    """Return a text as an integer >= 0.  Raises argparse.ArgumentTypeError."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(not_a_number("an integer >= 0", text))
    return value


def number_from(least: float, why: str = "") -> Callable[[str], float]:
    """Return a function that reads a finite number >= ``least`` (may be -inf), for the ``type`` of argparse.

    ``why`` explains the bound in its error message.
    """

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (least <= value < math.inf and value > -math.inf):
            expected = f"a number >= {least:g}" if least > -math.inf else "a finite number"
            raise argparse.ArgumentTypeError(not_a_number(f"{expected}{why}", text))
        return value

    return read


def scene_of(file: str | None) -> Scene | None:
    """Return the scene in a file, or None if no file is named. Raises CommandError."""
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
    """Return the robot that is built in under a name or described by a file. Raises CommandError.

    Its warnings and notes are logged.
    """
    robot = read_robot(name, **options)
    log_issues(robot.report.warnings, terminal)
    return robot


def log_issues(issues: Iterable[Issue], terminal: Terminal) -> None:
    """Log the findings of a report: notes, and repairs or losses as warnings."""
    for issue in issues:
        (terminal.note if issue.is_note else terminal.warning)(str(issue))


def read_robot(name: str, **options: Any) -> Robot:
    """Return the robot that is built in under a name or described by a file. Raises CommandError."""
    try:
        return load(name, **options)
    except ModelError as error:
        texts = [str(issue) for issue in error.issues]
        text = texts[0] if len(texts) == 1 else "\n".join([f"{len(texts)} errors:", *texts])
        raise CommandError(BAD_MODEL, text) from error
    except (UnknownNameError, ImportError) as error:  # a name, PyYAML or the package of a format
        raise CommandError(BAD_MODEL, escaped(str(error))) from error
    except (TypeError, ValueError) as error:  # an option that the file's format does not have, a folder that is none
        raise CommandError(USAGE, escaped(str(error))) from error
    except OSError as error:
        raise CommandError(
            BAD_MODEL, f"cannot read {escaped(str(error.filename or name))}: {error.strerror or error}"
        ) from error


def add_files(parser: argparse.ArgumentParser, output: str, plot: str) -> None:
    """Add options for the files that a command writes, with their help."""
    parser.add_argument("--output", metavar="FILE", help=output)
    parser.add_argument("--plot", metavar="FILE", help=plot)
    parser.add_argument("--force", action="store_true", help="replace existing files")


def check_files(arguments: argparse.Namespace, endings: tuple[str, ...]) -> None:
    """Raise CommandError if the file of ``--output`` or ``--plot`` cannot be written, before the computation."""
    output, plot = arguments.output, arguments.plot
    if output is not None and Path(output).suffix not in endings:
        expected = " or ".join(endings)
        raise CommandError(USAGE, f"--output: expected a file that ends in {expected}, got {escaped(output)}")
    for option, file in (("--output", output), ("--plot", plot)):
        if file is None:
            continue
        if not Path(file).absolute().parent.is_dir():
            raise CommandError(USAGE, f"{option}: cannot write {escaped(file)}: the folder does not exist")
        if Path(file).exists():
            if not Path(file).is_file():
                kind = kind_of_file(Path(file).stat().st_mode)
                raise CommandError(USAGE, f"{option}: cannot write {escaped(file)}: this is {kind}")
            if not arguments.force:
                raise CommandError(USAGE, f"{option}: {escaped(file)} exists already; pass --force to replace it")
    if plot is not None:
        try:
            from matplotlib.backend_bases import FigureCanvasBase
        except ImportError:
            raise CommandError(FAILED, '--plot needs matplotlib: pip install "linkwork[figures]"') from None
        known = sorted(FigureCanvasBase.get_supported_filetypes())
        suffix = Path(plot).suffix.lstrip(".").lower()
        if suffix and suffix not in known:
            raise CommandError(USAGE, f"--plot: expected a file that ends in .{', .'.join(known)}, got {escaped(plot)}")


def write_files(arguments: argparse.Namespace, save: Callable[[str], None] | None, draw: Callable[[], Any]) -> None:
    """Call ``save`` with the file of ``--output``, and write the figure that ``draw`` returns to that of ``--plot``.

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
    except ValueError as error:  # an unknown image format
        raise CommandError(USAGE, escaped(str(error))) from error


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--limits``, which `limits_of` reads."""
    parser.add_argument(
        "--limits",
        metavar="NAME=LOW:HIGH",
        nargs="+",
        action="extend",
        default=[],
        help="limits of coordinates in addition to the robot's; unbounded ones need some [rad, m]",
    )


def limits_of(robot: Robot, texts: Sequence[str]) -> dict[str, tuple[float, float]] | None:
    """Return the limits of the options as (lower, upper) by coordinate name; None without any.

    Raises ValueError and UnknownNameError.
    """
    result = {}
    for word in words_of("--limits", texts):
        name, _, pair = word.rpartition("=")
        low, colon, high = pair.partition(":")
        if not name or not colon:
            raise ValueError(f"--limits: expected NAME=LOW:HIGH, got {word!r}")
        if name not in robot.q_names:
            raise UnknownNameError("coordinate of q", name, robot.q_names)
        result[name] = number_of(f"--limits: {name}", low), number_of(f"--limits: {name}", high)
    return result or None


_DECIMAL_COMMA = re.compile(r",\d")


def words_of(option: str, texts: Sequence[str]) -> list[str]:
    """Return the words that are separated by blanks and commas.  Raises ValueError for a comma before a digit."""
    for text in texts:
        if _DECIMAL_COMMA.search(text):
            raise ValueError(f"{option}: {not_a_number('numbers', text)}")
    return [word for text in texts for word in re.split(r"[\s,]+", text.strip()) if word]


def not_a_number(expected: str, text: str) -> str:
    """Return the message for a text that is not the expected number; it explains a comma before a digit."""
    message = f"expected {expected}, got {text!r}"
    if _DECIMAL_COMMA.search(text):
        message += "; write a decimal point (0.1 instead of 0,1), and blanks between several numbers"
    return message


def number_of(option: str, text: str) -> float:
    """Return a finite number. Raises ValueError."""
    try:
        result = float(text)
    except ValueError:
        result = np.nan
    if not np.isfinite(result):
        raise ValueError(f"{option}: {not_a_number('a finite number', text)}")
    return result


def configuration_of(robot: Robot, option: str, texts: Sequence[str], others: np.ndarray) -> np.ndarray:
    """Return a configuration (nq,) from the text of an option: all coordinates, or NAME=NUMBER for some.

    The other coordinates are those of ``others`` (nq,).  Raises ValueError and UnknownNameError.
    """
    return named_values(option, texts, others, robot.q_names, "q")


def named_values(
    option: str, texts: Sequence[str], others: np.ndarray, names: Sequence[str], symbol: str
) -> np.ndarray:
    """Return a vector from the text of an option: all its elements, or NAME=NUMBER for some of ``names``.

    The other elements are those of ``others``.  ``symbol`` names the vector in messages.  Raises ValueError and
    UnknownNameError.
    """
    words = words_of(option, texts)
    x = np.array(others, dtype=float)
    if all("=" in word for word in words):
        for word in words:
            name, _, text = word.rpartition("=")
            if name not in names:
                raise UnknownNameError(f"coordinate of {symbol}", name, names)
            x[names.index(name)] = number_of(f"{option}: {name}", text)
        return x
    if any("=" in word for word in words):
        raise ValueError(f"{option}: expected numbers or NAME=NUMBER, got both")
    if len(words) != len(names):
        raise ValueError(f"{option}: expected the {len(names)} coordinates of {symbol}, got {len(words)} numbers")
    return np.array([number_of(option, word) for word in words])


def random_states(
    robot: Robot, function: str, rng: np.random.Generator | int, size: int | None = None
) -> dict[str, np.ndarray]:
    """Return random inputs of a robot's function by name, in the order of its arguments: (n,), or (size, n) each.

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
