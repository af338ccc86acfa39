"""One configuration of a robot in the arguments of a command, and the vectors and matrices that belong to it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork import Robot, __version__
from linkwork.cli.output import USAGE, CommandError, Terminal, escaped, label, number, table
from linkwork.cli.parser import NUMERIC
from linkwork.cli.values import configuration_of
from linkwork.errors import UnknownNameError
from linkwork.viewer.start_configuration import start_configuration

__all__ = ["add_configuration", "add_frames", "configuration_data", "matrix_lines", "named_or_listed", "required_q"]

_CLOSED = 1e-6  # [m, rad] error of constraints that needs no warning


def add_configuration(parser: argparse.ArgumentParser) -> None:
    """Add the options that select one configuration."""
    parser.add_argument(
        "--q",
        metavar="Q",
        nargs="+",
        type=NUMERIC,
        help="configuration: all of q, NAME=NUMBER for some, or @FILE (default: zero or within limits, closed loops)",
    )
    parser.add_argument("--configuration", metavar="CONFIGURATION", help="a named configuration of the robot's file")


def add_frames(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the options that name a frame, and the frame that it is relative to."""
    parser.add_argument("--frame", metavar="FRAME", required=True, help=about)
    parser.add_argument(
        "--relative-to", metavar="FRAME", default="world", help="the reference frame (default: the world)"
    )


def named_or_listed(robot: Robot, arguments: argparse.Namespace) -> np.ndarray | None:
    """Return the configuration of the options, or None without one.  Raises CommandError."""
    try:
        q = None
        if arguments.configuration is not None:
            q = robot.named_configurations[arguments.configuration].q
        if arguments.q is not None:
            q = configuration_of(robot, "--q", arguments.q, start_configuration(robot) if q is None else q)
        return q
    except (UnknownNameError, ValueError) as error:
        raise CommandError(USAGE, escaped(str(error))) from error


def required_q(robot: Robot, arguments: argparse.Namespace, terminal: Terminal) -> np.ndarray:
    """Return the configuration of the options, by default the one in which `Robot.show` draws the robot.

    Warns if constraints do not hold there.  Raises CommandError.
    """
    q = named_or_listed(robot, arguments)
    q = start_configuration(robot) if q is None else q
    if any(constraint.holonomic for constraint in robot.tree.constraints):
        error = float(np.abs(robot.constraint_error(q)).max())
        if error > _CLOSED:
            terminal.warning(
                f"--q: the configuration violates the constraints: error {number(error)}; see Robot.assemble"
            )
    return q


def configuration_data(robot: Robot, q: np.ndarray, **more: Any) -> dict[str, Any]:
    """Return results at one configuration for JSON; arrays become lists."""
    data = {"linkwork": __version__, "robot": robot.name, "q_names": list(robot.q_names), "q": q, **more}
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in data.items()}


def matrix_lines(title: str, rows: Sequence[str], columns: Sequence[str], values: np.ndarray) -> list[str]:
    """Return the lines of a table with the names of its rows and columns."""
    cells = [[label(name), *(number(x + 0.0) for x in row)] for name, row in zip(rows, values, strict=True)]
    return ["", *table([title, *map(label, columns)], cells)]
