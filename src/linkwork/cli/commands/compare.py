"""`linkwork compare`: differences of two robots, or of a robot and the model that another library reads.

Exit codes: 0 the same, 1 something differs; others as for all commands.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from linkwork import Robot, __version__
from linkwork.cli.arguments import BAD_MODEL, FAILED, USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.output import Terminal, columns_of, escaped
from linkwork.cli.parser import PAIRS
from linkwork.cli.values import from_zero, number_from
from linkwork.compare.compare_robots import GROUPS
from linkwork.compare.library_model import LIBRARIES
from linkwork.compare.robot_comparison import RobotComparison

__all__ = ["add_arguments", "add_beside", "add_sampling", "compared_with_libraries", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument("other", metavar="OTHER", nargs="?", help="the robot to compare with: a file or a name")
    parser.add_argument("--other-format", metavar="NAME", help="format of OTHER (default: by its suffix or content)")
    parser.add_argument("--other-loops", metavar="FILE", help="a JSON or YAML file that closes the loops of OTHER")
    parser.add_argument(
        "--names",
        metavar="NAME=OTHER",
        nargs="+",
        type=PAIRS,
        default=[],
        help="links, joints and other parts with another name",
    )
    parser.add_argument(
        "--bodies", action="store_true", help="compare inertias of bodies, the links that fixed joints weld together"
    )
    parser.add_argument(
        "--ignore", metavar="GROUP", nargs="+", default=[], choices=[*GROUPS], help=f"leave out: {', '.join(GROUPS)}"
    )
    add_sampling(parser)
    add_beside(parser)
    add_json(parser)


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """Add the options for the tolerance and the random configurations of a comparison."""
    parser.add_argument(
        "--tolerance", metavar="X", type=number_from(0.0), default=1e-9, help="relative tolerance (default: 1e-9)"
    )
    parser.add_argument(
        "--samples", metavar="N", type=from_zero, default=10, help="number of random configurations (default: 10)"
    )
    parser.add_argument("--seed", metavar="N", type=from_zero, default=0, help="seed of random numbers (default: 0)")


def add_beside(parser: argparse.ArgumentParser) -> None:
    """Add the option for comparisons with the models that other libraries read from the same file."""
    parser.add_argument(
        "--beside",
        metavar="LIBRARY",
        nargs="+",
        default=[],
        choices=[*LIBRARIES],
        help=f"compare with the model that a library reads from the file: {', '.join(LIBRARIES)}",
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    if arguments.other is None and not arguments.beside:
        raise CommandError(USAGE, "expected a second robot to compare with, or --beside LIBRARY")
    names = _names(arguments.names)
    robot = robot_of(arguments, terminal)
    comparisons: list[RobotComparison] = []
    if arguments.other is not None:
        of_other = {"file": arguments.other, "format": arguments.other_format, "loops": arguments.other_loops}
        second = robot_of(argparse.Namespace(**{**vars(arguments), **of_other}), terminal)
        comparisons.append(
            _checked(
                lambda: robot.compare(
                    second,
                    names=names,
                    by="bodies" if arguments.bodies else "links",
                    ignore=arguments.ignore,
                    tolerance=arguments.tolerance,
                    samples=arguments.samples,
                    seed=arguments.seed,
                ),
                USAGE,
            )
        )
    comparisons += compared_with_libraries(robot, arguments)
    if arguments.json:
        same = all(comparison.same for comparison in comparisons)
        about = {"linkwork": __version__, "file": arguments.file, "other": arguments.other, "same": same}
        terminal.out.json({**about, "comparisons": [comparison.as_dict() for comparison in comparisons]})
    else:
        columns = columns_of(terminal.out)
        terminal.out.lines(
            [
                line
                for k, comparison in enumerate(comparisons)
                for line in ([""] if k else []) + comparison.lines(columns)
            ]
        )
    return 0 if all(comparison.same for comparison in comparisons) else FAILED


def compared_with_libraries(robot: Robot, arguments: argparse.Namespace) -> list[RobotComparison]:
    """Return the comparisons with the libraries that ``--beside`` names.  Raises CommandError."""
    return [
        _checked(
            lambda library=library: robot.compare_with_library(  # type: ignore[misc]
                library, tolerance=arguments.tolerance, samples=arguments.samples, seed=arguments.seed
            ),
            BAD_MODEL,
        )
        for library in arguments.beside
    ]


def _checked(compare: Callable[[], RobotComparison], code: int) -> RobotComparison:
    try:
        return compare()
    except (KeyError, ValueError) as error:  # an unknown name; a file that the library does not read
        raise CommandError(code, escaped(str(error))) from error


def _names(texts: list[str]) -> dict[str, str]:
    """Return the pairs of ``--names`` as {name in the first robot: name in the second}. Raises CommandError."""
    result = {}
    for text in texts:
        name, equals, second = text.partition("=")
        if not (name and equals and second):
            raise CommandError(USAGE, f"--names: expected NAME=OTHER, got {escaped(repr(text))}")
        result[name] = second
    return result
