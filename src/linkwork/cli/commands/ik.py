"""`linkwork ik`: find a configuration in which a frame has a pose, or its origin a position."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from linkwork.cli.arguments import BAD_MODEL, FAILED, USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.files import DATA, add_files, check_files, data_writers, pictures, write_files, written_lines
from linkwork.cli.output import Terminal, escaped, label, number, table
from linkwork.cli.parser import NUMERIC
from linkwork.cli.states import add_frames, configuration_data, configuration_of
from linkwork.cli.values import (
    add_limits,
    limits_of,
    number_from,
    pose_of,
    position_of,
    positive,
)
from linkwork.errors import UnknownNameError
from linkwork.viewer.start_configuration import start_configuration

__all__ = ["add_arguments", "run"]

_SHOWN = (".html", ".glb", ".png")
_TOLERANCES = {"position": "m", "orientation": "rad"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_frames(parser, "the frame that has to reach the target")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--pose",
        metavar="X",
        nargs="+",
        type=NUMERIC,
        help="the pose: X Y Z and, as in URDF, roll, pitch and yaw, 0 if omitted [m, rad]; or @FILE",
    )
    target.add_argument(
        "--position", metavar="X", nargs="+", type=NUMERIC, help="X Y Z of the origin alone [m], or @FILE"
    )
    parser.add_argument(
        "--q-init",
        metavar="Q",
        nargs="+",
        type=NUMERIC,
        help="initial guess: all of q, NAME=NUMBER for some, or @FILE",
    )
    for name, unit in _TOLERANCES.items():
        parser.add_argument(
            f"--{name}-tolerance",
            metavar="X",
            type=number_from(0.0, unit=unit),
            help=f"tolerance of each axis [{unit}] (default: 1e-6)",
        )
    parser.add_argument("--max-iterations", metavar="N", type=positive, help="maximum iterations")
    parser.add_argument("--time-limit", metavar="S", type=number_from(0.0, unit="s"), help="time limit [s]")
    add_limits(parser)
    add_files(parser, "write q (.json, .csv, .npz), or show the robot (.html, .glb, .png)")
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    check_files(arguments, (*DATA, *_SHOWN))
    names = ("position_tolerance", "orientation_tolerance", "max_iterations", "time_limit")
    options: dict[str, Any] = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    try:
        if arguments.relative_to != "world":
            options["relative_to"] = arguments.relative_to
        if arguments.q_init is not None:
            start = start_configuration(robot)
            options["q_init"] = configuration_of(robot, "--q-init", arguments.q_init, start, closes=False)
        options["position_limits"] = limits_of(robot, arguments.position_limits)
        result = robot.inverse_kinematics(_target(arguments), arguments.frame, **options)
    except (UnknownNameError, ValueError) as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    except TypeError as error:
        raise CommandError(BAD_MODEL, escaped(str(error))) from error
    status = str(result.status)
    about: dict[str, Any] = {"frame": arguments.frame, "relative_to": arguments.relative_to, "status": status}
    errors = {name: float(getattr(result, f"{name}_error")) for name in _TOLERANCES}
    counts = {"iterations": int(result.iterations), "restarts": int(result.restarts)}
    about |= {"success": bool(result.success), "message": str(result)}
    data = configuration_data(robot, np.asarray(result.q), **about, errors=errors, **counts)
    writers = data_writers(data, data["q_names"], [data["q"]])
    written = write_files(arguments, {**writers, **pictures(result.show, _SHOWN)})
    if arguments.json:
        terminal.out.json(data | {"output": arguments.output})
    else:
        rows = [[label(name), number(x + 0.0)] for name, x in zip(robot.q_names, result.q, strict=True)]
        lines = [f"{label(robot.name)}: {escaped(status)}", "", *table(["coordinate", "q"], rows), ""]
        q = " ".join(repr(float(x)) for x in result.q)
        lines += [f"as an option: --q {q}", *(() if result.success else ["", escaped(str(result))])]
        terminal.out.lines([*lines, *written_lines(arguments, written)])
    return 0 if result.success else FAILED


def _target(arguments: argparse.Namespace) -> np.ndarray:
    """Return the target pose (4, 4) or position (3,) from the command's options. Raises ValueError."""
    if arguments.pose is not None:
        return pose_of("--pose", arguments.pose)
    return position_of("--position", arguments.position)
