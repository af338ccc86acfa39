"""`linkwork precompile`: compile a robot's functions ahead of their first use, into the cache on disk."""

from __future__ import annotations

import argparse
import runpy
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from linkwork import Robot, __version__
from linkwork.cli.arguments import FAILED, USAGE, CommandError, add_json, add_meshes, add_robot, robot_of, with_meshes
from linkwork.cli.files import add_scene, scene_setup
from linkwork.cli.output import Terminal, escaped, label, number, quantity
from linkwork.kernels import Cache, cache_location

__all__ = ["add_arguments", "run"]

_MIB = 1 << 20
_COLLIDING = (  # methods that check collisions, for which meshes need to be loaded
    *("distances", "minimum_distance", "nearest_pair", "in_collision", "is_motion_free", "plan", "timed"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument(
        "--functions",
        metavar="FUNCTION",
        nargs="+",
        required=True,
        help="names of functions, with the frame where one is needed (inverse_dynamics pose:hand); methods "
        f"({', '.join(_COLLIDING)}, simulate, inverse_kinematics:hand); or "
        "FILE.py:NAME, a function of the robot that calls what is to be compiled, such as a controller",
    )
    add_scene(parser)
    add_meshes(parser)
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    location = cache_location()
    if location.folder is None or location.refused:
        raise CommandError(FAILED, f"nothing is stored: the cache is not used: {escaped(location.refused or '')}")
    robot = robot_of(arguments, terminal)
    if any(text in _COLLIDING for text in arguments.functions):
        robot = with_meshes(robot, arguments)
    setup, scene = scene_setup(arguments, robot, terminal), None
    if setup is not None:
        robot, scene = setup.robot, setup.scene
    start = time.perf_counter()
    try:
        functions = [_function(robot, text) for text in arguments.functions]
        robot.precompile(functions, scene=scene, progress=False if arguments.json else None)
    except (KeyError, TypeError, ValueError, OSError, ImportError) as error:
        message = str(error).replace("precompile: functions: ", "--functions: ")
        raise CommandError(USAGE, escaped(message)) from error
    seconds = time.perf_counter() - start
    entries = Cache(location.folder, location.max_bytes).entries()
    size = sum(state.st_size for _, state in entries)
    if arguments.json:
        terminal.out.json(
            {
                "linkwork": __version__,
                "robot": robot.name,
                "functions": arguments.functions,
                "seconds": seconds,
                "directory": str(location.folder),
                "entries": len(entries),
                "bytes": size,
            }
        )
    else:
        compiled = (
            f"{label(robot.name)}: {quantity(len(functions), 'function')} compiled in {number(round(seconds, 1))} s"
        )
        terminal.out.line(
            f"{compiled}; {number(round(size / _MIB, 1))} MiB in the cache {escaped(str(location.folder))}"
        )
    return 0


def _function(robot: Robot, text: str) -> str | tuple[str, str] | Callable[[], Any]:
    """Return the function that ``text`` names, in the form for `Robot.precompile`.

    Raises ValueError for a Python file without the function.
    """
    name, colon, argument = text.rpartition(":") if ".py:" in text else text.partition(":")
    if not name.endswith(".py"):
        return (name, argument) if colon else name
    known = runpy.run_path(name)
    if not callable(known.get(argument)):
        raise ValueError(f"--functions: expected a function {argument!r} in {name}, got {known.get(argument)!r}")
    return partial(known[argument], robot)
