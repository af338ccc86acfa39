"""`linkwork pose`: print the pose of a frame at one configuration, or at all rows of a table."""

from __future__ import annotations

import argparse

import numpy as np

from linkwork import quaternion, rpy
from linkwork.cli.arguments import USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.files import DATA, add_files, check_files, data_writers, write_files, written_lines
from linkwork.cli.output import Terminal, escaped, label, number, table
from linkwork.cli.states import add_configuration, add_frames, configuration_data, configurations_of, matrix_lines
from linkwork.errors import UnknownNameError

__all__ = ["add_arguments", "run"]

_COLUMNS = ("x", "y", "z", "roll", "pitch", "yaw", "qw", "qx", "qy", "qz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_frames(parser, "the frame whose pose is printed")
    add_configuration(parser)
    add_files(parser, "write the poses: a row for each configuration (.csv), or all results (.json, .npz)")
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    check_files(arguments, DATA)
    robot = robot_of(arguments, terminal)
    q = configurations_of(robot, arguments, terminal)
    try:
        X = robot.pose(q, arguments.frame, relative_to=arguments.relative_to)
    except UnknownNameError as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    parts = {"position": X[..., :3, 3], "rpy": rpy(X), "quaternion_wxyz": quaternion(X)}
    values = np.concatenate([*parts.values()], axis=-1) + 0.0
    frames = {"frame": arguments.frame, "relative_to": arguments.relative_to}
    data = configuration_data(robot, q, **frames, pose=X, **parts)
    write_files(arguments, data_writers(data, _COLUMNS, np.atleast_2d(values).tolist()))
    if arguments.json:
        terminal.out.json(data | {"output": arguments.output})
        return 0
    lines = [f"{label(robot.name)}: pose of {label(arguments.frame)} relative to {label(arguments.relative_to)}", ""]
    if q.ndim == 2:
        rows = [[str(k), *map(number, row)] for k, row in enumerate(values)]
        lines += [*table(("row", *_COLUMNS), rows, left=()), "", "[m, rad]; --output FILE.csv writes the table"]
        terminal.out.lines([*lines, *written_lines(arguments)])
        return 0
    titles = ("position [m]", "roll, pitch, yaw [rad]", "quaternion (w, x, y, z)")
    lines += [
        f"{title}: {' '.join(number(x + 0.0) for x in values)}"
        for title, values in zip(titles, parts.values(), strict=True)
    ]
    lines += matrix_lines("axes of the frame", "xyz", ("x", "y", "z"), X[:3, :3])
    terminal.out.lines([*lines, *written_lines(arguments)])
    return 0
