"""`linkwork map`: map the positions that a robot's frame reaches, on all processors or on a Dask cluster."""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np

from linkwork import Robot, __version__
from linkwork._util.file_access import replaced
from linkwork.cli.arguments import FAILED, USAGE, CommandError, add_json, add_meshes, add_robot, robot_of, with_meshes
from linkwork.cli.files import add_files, add_scene, check_files, pictures, scene_setup, write_files, written_lines
from linkwork.cli.number_texts import not_a_number
from linkwork.cli.output import Terminal, escaped, label, number, quantity, table
from linkwork.cli.values import add_limits, from_zero, limits_of, number_from, positive
from linkwork.errors import UnknownNameError
from linkwork.workspace.map_job import AXES, JACOBIAN_ROWS
from linkwork.workspace.workspace_map import VALUES, WorkspaceMap

__all__ = ["add_arguments", "run"]

_MAPS, _SHOWN = (".npz", ".zarr"), (".html", ".glb", ".png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_meshes(parser)
    parser.add_argument("--frame", metavar="FRAME", required=True, help="the frame whose positions are mapped")
    parser.add_argument(
        "--relative-to",
        metavar="NAME",
        default="world",
        help="the frame that positions are relative to (default: the world)",
    )
    parser.add_argument(
        "--samples", metavar="N", type=_count, default=1_000_000, help="number of samples, such as 1e8 (default: 1e6)"
    )
    parser.add_argument(
        "--voxel-size",
        metavar="M",
        type=number_from(1e-6, unit="m"),
        default=0.05,
        help="side of a voxel [m] (default: 0.05)",
    )
    parser.add_argument(
        "--approach-axis",
        choices=[*AXES],
        default="z",
        help="the axis whose directions are counted (default: z); write --approach-axis=-x for a negative one",
    )
    parser.add_argument(
        "--part",
        choices=[*JACOBIAN_ROWS],
        default="position",
        help="rows of the Jacobian for manipulability (default: position)",
    )
    parser.add_argument(
        "--collision",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="check collisions (default: if the robot has collision shapes)",
    )
    add_scene(parser)
    parser.add_argument(
        "--margin",
        metavar="M",
        type=number_from(0.0, unit="m"),
        default=0.0,
        help="smallest free distance [m] (default: 0)",
    )
    add_limits(parser)
    parser.add_argument("--seed", metavar="N", type=from_zero, default=0, help="seed of random numbers (default: 0)")
    parser.add_argument("--workers", metavar="N", type=positive, help="processes (default: one for each processor)")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler, such as tcp://10.0.0.5:8786, whose workers compute"
    )
    parser.add_argument(
        "--chunk", metavar="N", type=_count, help="samples of a chunk, the unit of work (default: 5 s of work)"
    )
    add_files(
        parser,
        "write the map (.npz or .zarr; the same command continues a map that was stopped) or its voxels (.csv), or "
        "show it (.html, .glb, .png)",
        "draw a value in three planes, with matplotlib",
    )
    parser.add_argument(
        "--value", choices=[*VALUES], default="collision_free", help="the value that is drawn (default: collision_free)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    if arguments.collision or (arguments.collision is None and robot.collision_shapes):
        robot = with_meshes(robot, arguments)
    setup, scene = scene_setup(arguments, robot, terminal), None
    if setup is not None:
        robot, scene = setup.robot, setup.scene
    _check_output(arguments)
    start = time.perf_counter()
    try:
        result = robot.workspace_map(
            arguments.frame,
            scene,
            samples=arguments.samples,
            voxel_size=arguments.voxel_size,
            relative_to=arguments.relative_to,
            approach_axis=arguments.approach_axis,
            part=arguments.part,
            collision=arguments.collision,
            margin=arguments.margin,
            position_limits=limits_of(robot, arguments.position_limits),
            seed=arguments.seed,
            workers=arguments.workers,
            scheduler=arguments.scheduler,
            path=arguments.output if str(arguments.output).lower().endswith(_MAPS) else None,
            overwrite=arguments.force,
            chunk=arguments.chunk,
            progress=False if arguments.json else None,
        )
    except (UnknownNameError, ValueError, TypeError) as error:
        raise CommandError(USAGE, escaped(str(error).removeprefix("workspace_map: "))) from error
    except (ImportError, RuntimeError) as error:
        raise CommandError(FAILED, escaped(str(error).removeprefix("workspace_map: "))) from error
    except OSError as error:
        name = f" {escaped(str(error.filename))}" if error.filename else ""
        reason = error.strerror or str(error).removeprefix("workspace_map: ")
        raise CommandError(FAILED, f"{escaped(reason)}{name}") from error
    seconds = time.perf_counter() - start
    shown = pictures(result.show, _SHOWN, name=arguments.value, robot=robot)
    writers = {".csv": lambda file: _write_voxels(result, file), **shown}
    write_files(arguments, writers, lambda: result.plot(arguments.value)[0].figure)
    if arguments.json:
        terminal.out.json(_data(robot, result, seconds, arguments))
    else:
        terminal.out.lines(_text(robot, result, seconds, arguments))
    return 0


def _check_output(arguments: argparse.Namespace) -> None:
    """Raise CommandError before the computation if an output file cannot be written; the map may be a folder."""
    output = arguments.output
    if output is not None and Path(output).is_dir() and Path(output).suffix == ".zarr":
        if not arguments.force:
            raise CommandError(USAGE, f"--output: {escaped(output)} exists already; pass --force to replace it")
        arguments = argparse.Namespace(**{**vars(arguments), "output": None})
    check_files(arguments, (*_MAPS, ".csv", *_SHOWN))


def _write_voxels(result: WorkspaceMap, file: str) -> None:
    """Write a text table with the centre [m] and the values of each voxel."""
    columns = {**dict(zip("xyz", result.points.T, strict=True)), **result.values}
    with replaced(file, text=True) as text:
        out = csv.writer(text)
        out.writerow(columns)
        out.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


def _count(text: str) -> int:
    """Return a text such as "100000" or "1e5" as an integer >= 1.  Raises argparse.ArgumentTypeError."""
    try:
        value = float(text) if "e" in text.lower() else int(text)
    except ValueError:
        value = 0
    if not 1 <= value < 2**53 or value != int(value):
        raise argparse.ArgumentTypeError(not_a_number("an integer >= 1, such as 100000 or 1e5", text))
    return int(value)


# -- results

_QUANTILES = (0.0, 0.5, 0.9, 1.0)
_NAMES = ("min", "median", "p90", "max")


def _statistics(result: WorkspaceMap) -> dict[str, list[float]]:
    """Return quantiles of each value, by its name, over the voxels with collision-free samples."""
    free = result.collision_free > 0
    if not free.any():
        return {}
    return {name: np.quantile(x[free], _QUANTILES).tolist() for name, x in result.values.items()}


def _text(robot: Robot, result: WorkspaceMap, seconds: float, arguments: argparse.Namespace) -> list[str]:
    free = int(result.collision_free.sum())
    share = f"{100.0 * free / result.samples:.2f} % without collisions"
    checked = share if result.collision else "collisions not checked"
    lines = [
        f"{label(robot.name)}: {escaped(result.frame)} relative to {escaped(result.relative_to)}, "
        f"{quantity(result.samples, 'configuration')}, {checked}",
        "",
        f"reached: {quantity(len(result), 'voxel')} of {number(result.voxel_size)} m; "
        f"without collisions {number(result.volume)} m³",
    ]
    if statistics := _statistics(result):
        rows = [[VALUES[name], *(f"{x:.4g}" for x in row)] for name, row in statistics.items()]
        lines += ["", *table(["by voxel", *_NAMES], rows)]
    lines += written_lines(arguments)
    each = 1e9 * seconds / result.samples
    return [
        *lines,
        "",
        f"{seconds:.3g} s, {each:.3g} ns a configuration, with the start of workers and compilation",
        f"linkwork {__version__}; float64; seed {result.seed}",
    ]


def _data(robot: Robot, result: WorkspaceMap, seconds: float, arguments: argparse.Namespace) -> dict[str, Any]:
    box = [(result.cells.min(axis=0) * result.voxel_size).tolist()]
    box += [((result.cells.max(axis=0) + 1) * result.voxel_size).tolist()]
    return {
        "linkwork": __version__,
        "robot": robot.name,
        "frame": result.frame,
        "relative_to": result.relative_to,
        "scene": arguments.scene,
        "samples": result.samples,
        "seed": result.seed,
        "voxel_size": result.voxel_size,
        "approach_axis": result.approach_axis,
        "part": result.part,
        "collision": result.collision,
        "margin": arguments.margin,
        "collision_free": int(result.collision_free.sum()),
        "voxels": len(result),
        "volume": result.volume,
        "box": box,
        "values": {name: dict(zip(_NAMES, row, strict=True)) for name, row in _statistics(result).items()},
        "seconds": seconds,
        "output": arguments.output,
    }
