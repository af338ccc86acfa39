"""`linkwork view`: show a robot, a motion or a map in the browser, or write a page, a glTF file, a picture or a film.

Motions and maps are files that other commands, `Trajectory.save`, `Simulation.save` and `WorkspaceMap.save` wrote.
"""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path
from typing import Any

from linkwork import Robot, Scene, __version__, motion, simulation, workspace
from linkwork._util.file_access import kind_of_file
from linkwork._util.pictures import PICTURE_GHOSTS
from linkwork.cli.arguments import FAILED, USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.files import add_scene, check_tools, scene_setup
from linkwork.cli.output import Terminal, escaped, label
from linkwork.cli.states import add_configuration, named_or_listed, warn_of_limits, warn_of_open_loops
from linkwork.cli.values import from_zero, number_from
from linkwork.viewer.figures.robot_figures import frames_to_draw

__all__ = ["add_arguments", "run"]

_FILES = {
    "html": "a self-contained page",
    "glb": "a binary glTF file",
    "png": "a picture",
    "mp4": "a film of the motion",
}
_MAX_PORT = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_configuration(parser)
    add_scene(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--motion",
        metavar="FILE",
        help="a path, a trajectory or a simulation of the robot (.npz, .csv), or a message of ROS (.yaml, .json)",
    )
    shown.add_argument("--map", metavar="FILE", help="a map of the robot's workspace (.npz or .zarr)")
    parser.add_argument("--meshes", metavar="FOLDER", nargs="+", help="folders of the robot's mesh files")
    parser.add_argument("--frame", dest="frames", metavar="FRAME", nargs="+", help="frames whose paths are drawn")
    parser.add_argument(
        "--ghosts",
        metavar="N",
        type=from_zero,
        help=f"transparent robots along a motion (default: {PICTURE_GHOSTS} in a picture of the whole motion, else 0)",
    )
    parser.add_argument(
        "--time",
        metavar="T",
        type=number_from(-math.inf, unit="s"),
        help="with --png: time of the pose (default: the whole motion)",
    )
    for name, about in _FILES.items():
        parser.add_argument(f"--{name}", metavar="FILE", help=f"write {about} instead")
    parser.add_argument("--output", metavar="FILE", help=f"write one of these by its ending: .{', .'.join(_FILES)}")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--port", metavar="N", type=from_zero, help="port of the page (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="serve the page without opening a window")
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    output = _output(arguments)
    for name in ("frames", "ghosts", "time"):
        if getattr(arguments, name) is not None and arguments.motion is None:
            raise CommandError(USAGE, f"--{name.removesuffix('s') if name == 'frames' else name} needs --motion FILE")
    if arguments.time is not None and arguments.png is None:
        raise CommandError(USAGE, "--time needs --png FILE")
    robot = robot_of(arguments, terminal)
    q = named_or_listed(robot, arguments)
    if q is not None:
        warn_of_limits(robot, q, terminal)
        warn_of_open_loops(robot, q, terminal)
    setup, scene = scene_setup(arguments, robot, terminal), None
    if setup is not None:
        robot, scene = setup.robot, setup.scene
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = _show(robot, q, scene, arguments, output)
    except (ImportError, OSError, RuntimeError) as error:  # RuntimeError: Chromium or ffmpeg fails
        raise CommandError(FAILED, escaped(str(error).removeprefix("show: "))) from error
    except ValueError as error:
        raise CommandError(USAGE, escaped(str(error).removeprefix("show: "))) from error
    for warning in caught:
        terminal.warning(escaped(str(warning.message)))
    if isinstance(result, Path):
        _say(arguments, terminal, robot, "file", str(result))
        return 0
    with result as view:
        _say(arguments, terminal, robot, "url", view.url)
        if not arguments.json:
            terminal.out.line("close its window, or press Ctrl-C, to end")
        terminal.out.flush()
        view.wait()
    return 0


def _show(robot: Robot, q: Any, scene: Scene | None, arguments: argparse.Namespace, output: dict[str, Any]) -> Any:
    """Show the robot, or a motion or map from a file. Raises CommandError for a file that cannot be read."""
    options: dict[str, Any] = {"meshes": arguments.meshes, **output}
    if arguments.motion is None and arguments.map is None:
        return robot.show(q, scene=scene, **options)
    file = arguments.map if arguments.motion is None else arguments.motion
    try:
        if arguments.motion is None:
            result: Any = workspace.WorkspaceMap.load(file)
            return result.show(robot=robot, q=q, **options)
        if q is not None:
            raise CommandError(USAGE, "--motion: the motion has the configurations: leave --q and --configuration out")
        return _motion(file, robot).show(scene=scene, **_drawn_motion(robot, arguments), **options)
    except (OSError, TypeError, ValueError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            message = f"cannot read {escaped(str(error.filename))}: {error.strerror or error}"
        else:
            reason = str(error).removeprefix("show: ").rpartition(f"{file}: ")[2]
            message = escaped(f"{file}: {reason}")
        raise CommandError(USAGE, message) from error


def _drawn_motion(robot: Robot, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `Robot.show` for a picture of a motion: its whole path, or the pose at one time."""
    is_whole = arguments.png is not None and arguments.time is None
    options: dict[str, Any] = {"ghosts": arguments.ghosts, "frames": arguments.frames}
    if is_whole and arguments.frames is None:
        options["frames"] = list(frames_to_draw(robot, None))
    return options if arguments.time is None else {**options, "time": arguments.time}


def _motion(file: str, robot: Robot) -> motion.Trajectory | simulation.Simulation:
    """Return the trajectory or the simulation in a file.  Raises ValueError and OSError."""
    if Path(file).suffix.lower() != ".npz":
        return motion.Trajectory.load(file, robot=robot)
    try:
        return motion.Trajectory.load(file, robot=robot)
    except ValueError as error:
        if "linkwork simulation" not in str(error):
            raise
        return simulation.Simulation.load(file, robot=robot)


def _output(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `Robot.show` for the output.  Raises CommandError for files that cannot be written."""
    if arguments.output is not None:
        ending = Path(arguments.output).suffix.lower()[1:]
        if ending not in _FILES:
            expected = f"expected a file that ends in .{', .'.join(_FILES)}"
            raise CommandError(USAGE, f"--output: {expected}, got {escaped(arguments.output)}")
        if getattr(arguments, ending) is not None:
            raise CommandError(USAGE, f"--output: cannot be combined with --{ending}; run the command for each file")
        setattr(arguments, ending, arguments.output)
    files = {name: getattr(arguments, name) for name in _FILES if getattr(arguments, name) is not None}
    if len(files) > 1:
        first, second = [*files][:2]
        raise CommandError(USAGE, f"--{second}: cannot be combined with --{first}; run the command for each file")
    for name, file in files.items():
        path = Path(file)
        if not path.absolute().parent.is_dir():
            raise CommandError(USAGE, f"--{name}: cannot write {escaped(file)}: the folder does not exist")
        if path.exists() and not path.is_file():
            kind = kind_of_file(path.stat().st_mode)
            raise CommandError(USAGE, f"--{name}: cannot write {escaped(file)}: this is {kind}")
        if path.exists() and not arguments.force:
            raise CommandError(USAGE, f"--{name}: {escaped(file)} exists already; pass --force to replace it")
        if name == "mp4" and arguments.motion is None:
            raise CommandError(USAGE, "--mp4 is a film of a motion: pass --motion FILE")
        check_tools(f"--{name}", f".{name}")
    if files:
        return files
    if arguments.port is not None and arguments.port > _MAX_PORT:
        raise CommandError(USAGE, f"--port: expected an integer from 0 to {_MAX_PORT}, got {arguments.port}")
    return {"port": arguments.port, "open_browser": not arguments.no_browser}


def _say(arguments: argparse.Namespace, terminal: Terminal, robot: Robot, key: str, value: str) -> None:
    if arguments.json:
        terminal.out.json({"linkwork": __version__, "name": robot.name, key: value})
    else:
        terminal.out.line(f"{label(robot.name)}: {escaped(value)}")
