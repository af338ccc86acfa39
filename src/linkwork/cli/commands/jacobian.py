"""`linkwork jacobian`: print the Jacobian of a frame at one configuration, or at all rows of a table."""

from __future__ import annotations

import argparse

import numpy as np

from linkwork.cli.arguments import USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.files import DATA, add_files, check_files, data_writers, write_files, written_lines
from linkwork.cli.output import Terminal, escaped, label, number, table
from linkwork.cli.states import add_configuration, add_frames, configuration_data, configurations_of, matrix_lines
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
    add_files(parser, "write the Jacobians: six rows for each configuration (.csv), or all results (.json, .npz)")
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    check_files(arguments, DATA)
    robot = robot_of(arguments, terminal)
    q = configurations_of(robot, arguments, terminal)
    options = {
        name: getattr(arguments, name)
        for name in ("relative_to", "expressed_in", "point")
        if getattr(arguments, name) is not None
    }
    try:
        J = robot.jacobian(q, arguments.frame, **options)
    except UnknownNameError as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    names = {"frame": arguments.frame, **options, "rows": list(_ROWS), "v_names": list(robot.v_names)}
    data = configuration_data(robot, q, **names, jacobian=J)
    matrices = J[np.newaxis] if q.ndim == 1 else J
    rows = [
        [k, title, *(row + 0.0).tolist()]
        for k, matrix in enumerate(matrices)
        for title, row in zip(_ROWS, matrix, strict=True)
    ]
    columns = ("row", "component", *robot.v_names)
    write_files(arguments, data_writers(data, columns, rows))
    if arguments.json:
        terminal.out.json(data | {"output": arguments.output})
        return 0
    title = f"{label(robot.name)}: Jacobian of {label(arguments.frame)} relative to {label(arguments.relative_to)}"
    if q.ndim == 2:
        cells = [[str(k), component, *map(number, values)] for k, component, *values in rows]
        lines = ["", *table([*columns[:2], *map(label, columns[2:])], cells, left=(1,))]
    else:
        lines = matrix_lines("", _ROWS, robot.v_names, J)
    terminal.out.lines([title, *lines, *written_lines(arguments)])
    return 0
