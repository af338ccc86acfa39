"""Files of commands beside the robot's file: scenes and attached objects, results and figures."""

from __future__ import annotations

import argparse
import csv
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from linkwork import Robot, load_scene
from linkwork._util.file_access import kind_of_file, replaced
from linkwork.cli.output import FAILED, USAGE, CommandError, Terminal, escaped
from linkwork.collision import SceneSetup
from linkwork.errors import ModelError, ModelWarning

__all__ = [
    "DATA",
    "PICTURES",
    "Writers",
    "add_files",
    "add_scene",
    "check_files",
    "check_tools",
    "data_writers",
    "pictures",
    "scene_setup",
    "setup_of",
    "write_files",
    "written_lines",
]

PICTURES = (".html", ".glb", ".png", ".mp4")  # pages, models, pictures and films of ``show``
DATA = (".json", ".csv", ".npz")  # results of one function, by `data_writers`
_DRAWN = (".png", ".mp4")  # by a browser

Writers = Mapping[str, Callable[[str], Any]]
"""Functions that write a file, by its ending in lower case."""


def pictures(show: Callable[..., Any], endings: Sequence[str] = PICTURES, **options: Any) -> Writers:
    """Return for each file ending a function that calls ``show`` with a file and the options."""

    def writer(ending: str) -> Callable[[str], Any]:
        return lambda file: show(**{ending[1:]: file}, **options)

    return {ending: writer(ending) for ending in endings}


def add_files(parser: argparse.ArgumentParser, output: str, plot: str | None = None) -> None:
    """Add options for the files that a command writes, with their help."""
    parser.add_argument("--output", metavar="FILE", help=output)
    if plot is not None:
        parser.add_argument("--plot", metavar="FILE", help=plot)
    parser.add_argument("--force", action="store_true", help="replace existing files")


def data_writers(
    data: Mapping[str, Any],
    columns: Sequence[str],
    rows: Iterable[Iterable[Any]],
    arrays: Mapping[str, Any] | None = None,
) -> Writers:
    """Return functions that write results, by file ending: ``data`` as JSON, a table of ``rows``, and an archive.

    The table has the header ``columns``. The archive (.npz) has ``arrays``, by default the entries of ``data`` that
    are numbers or lists.
    """

    def writer(ending: str) -> Callable[[str], None]:
        def write(file: str) -> None:
            with replaced(file, text=ending != ".npz") as target:
                if ending == ".json":
                    json.dump(data, target, indent=2)
                elif ending == ".csv":
                    csv.writer(target).writerows([columns, *rows])
                else:
                    kinds = (list, float, np.ndarray)
                    stored = {name: np.array(x) for name, x in (arrays or data).items() if isinstance(x, kinds)}
                    np.savez(target, allow_pickle=False, **stored)

        return write

    return {ending: writer(ending) for ending in DATA}


def check_files(arguments: argparse.Namespace, endings: Sequence[str]) -> None:
    """Raise CommandError if the file of ``--output`` or ``--plot`` cannot be written, before the computation."""
    output, plot = arguments.output, getattr(arguments, "plot", None)
    ending = "" if output is None else Path(output).suffix.lower()
    if output is not None and ending not in endings:
        expected = f"{', '.join(endings[:-1])} or {endings[-1]}"
        remedy = "; --json prints to standard output" if output in ("-", "/dev/stdout") else ""
        if ending in (".svg", ".pdf") and ".png" in endings:
            remedy = f'; robot.plot(q).figure.savefig("robot{ending}") of Python writes vector graphics'
        raise CommandError(USAGE, f"--output: expected a file that ends in {expected}, got {escaped(output)}{remedy}")
    check_tools("--output", ending)
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


def check_tools(option: str, ending: str) -> None:
    """Raise CommandError if files with this ending need a package or program that is not installed."""
    if ending in _DRAWN and find_spec("playwright") is None:
        raise CommandError(FAILED, f'{option}: {ending} needs playwright: pip install "linkwork[pictures]"')
    if ending == ".mp4":
        from linkwork.viewer.pictures import encoder

        try:
            encoder(f"{option}: {ending}")
        except RuntimeError as error:
            raise CommandError(FAILED, str(error)) from None


def written_lines(arguments: argparse.Namespace, written: bool = True) -> list[str]:
    """Return lines that name the file of ``--plot`` and, if ``written``, the file of ``--output``."""
    files = [arguments.output if written else None, getattr(arguments, "plot", None)]
    names = [escaped(file) for file in files if file is not None]
    return ["", f"written to {' and '.join(names)}"] if names else []


def write_files(arguments: argparse.Namespace, writers: Writers, draw: Callable[[], Any] | None = None) -> bool:
    """Write the file of ``--output``, and the figure that ``draw`` returns to the file of ``--plot``.

    Returns True if the file of ``--output`` is written: its ending has a writer.  Raises CommandError.
    """
    plot = getattr(arguments, "plot", None)
    writer = None if arguments.output is None else writers.get(Path(arguments.output).suffix.lower())
    try:
        if writer is not None:
            writer(arguments.output)
        if plot is not None and draw is not None:
            import matplotlib as mpl

            mpl.use("agg")
            figure = draw()
            with replaced(plot) as file:
                figure.savefig(file, format=Path(plot).suffix.lstrip(".").lower() or None)
    except (ImportError, RuntimeError) as error:  # RuntimeError: Chromium or ffmpeg fails
        raise CommandError(FAILED, escaped(str(error).removeprefix("show: "))) from error
    except OSError as error:
        name = escaped(str(error.filename or arguments.output or plot))
        raise CommandError(FAILED, f"cannot write {name}: {error.strerror or error}") from error
    except (TypeError, ValueError) as error:  # an unknown image format, or joints that a message of ROS does not have
        raise CommandError(USAGE, escaped(str(error))) from error
    return writer is not None


def add_scene(parser: argparse.ArgumentParser) -> None:
    """Add the option for the scene around the robot."""
    parser.add_argument(
        "--scene", metavar="FILE", help="a file of obstacles: YAML, JSON, or MoveIt's text format (.scene)"
    )


def scene_setup(arguments: argparse.Namespace, robot: Robot, terminal: Terminal) -> SceneSetup | None:
    """Return the robot with objects of the scene file ``--scene``, and the obstacles; None without this option.

    Warnings about the file are logged, but not with ``--json``. Raises CommandError.
    """
    if arguments.scene is None:
        return None
    setup = setup_of(arguments.scene, robot, arguments)
    if not arguments.json:
        terminal.issues(setup.scene.issues)
    return setup


def setup_of(file: str, robot: Robot | None, arguments: argparse.Namespace, code: int = USAGE) -> SceneSetup:
    """Return the content of a scene file; without a robot only its obstacles. Raises CommandError."""
    options = {"package_dirs": arguments.package_dirs, "trusted": arguments.trusted}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            if robot is None:
                return SceneSetup(None, load_scene(file, **options))
            return load_scene(file, robot, **options)
    except ModelError as error:
        hint = "name the robot after the scene's file"
        issues = [replace(issue, hint=hint) if issue.code == "ROBOT_NEEDED" else issue for issue in error.issues]
        raise CommandError(code, str(ModelError(issues)), issues) from error
    except OSError as error:
        name = escaped(str(error.filename or file))
        raise CommandError(code, f"cannot read {name}: {error.strerror or error}") from error
    except (ImportError, TypeError, ValueError) as error:
        raise CommandError(code, escaped(str(error))) from error
