"""`linkwork jacobian`: print the Jacobian of a frame at one configuration."""

from __future__ import annotations

import argparse

from linkwork.cli.arguments import USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.output import Terminal, escaped, label
from linkwork.cli.states import add_configuration, add_frames, configuration_data, matrix_lines, required_q
from linkwork.errors import UnknownNameError

__all__ = ["add_arguments", "run"]

_ROWS = ("wx", "wy", "wz", "vx", "vy", "vz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_frames(parser, "the frame whose twist the Jacobian gives")
    parser.add_argument("--expressed-in", metavar="FRAME", help="the frame in whose axes the twist is (default: world)")
    parser.add_argument(
        "--point", metavar="FRAME", help="the frame whose origin is the reference point of the twist (default: --frame)"
    )
    add_configuration(parser)
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    q = required_q(robot, arguments, terminal)
    options = {
        name: getattr(arguments, name)
        for name in ("relative_to", "expressed_in", "point")
        if getattr(arguments, name) is not None
    }
    try:
        J = robot.jacobian(q, arguments.frame, **options)
    except UnknownNameError as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    if arguments.json:
        names = {"frame": arguments.frame, **options, "rows": list(_ROWS), "v_names": list(robot.v_names)}
        terminal.out.json(configuration_data(robot, q, **names, jacobian=J))
        return 0
    title = f"{label(robot.name)}: Jacobian of {label(arguments.frame)} relative to {label(arguments.relative_to)}"
    terminal.out.lines([title, *matrix_lines("", _ROWS, robot.v_names, J)])
    return 0
