"""Files that commands read and write beside the robot's: scenes, results and figures."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linkwork._util.file_access import kind_of_file, replaced
from linkwork.cli.command_error import FAILED, USAGE, CommandError
from linkwork.cli.output import escaped

__all__ = [
    "add_files",
    "check_files",
    "write_files",
]


def add_files(parser: argparse.ArgumentParser, output: str, plot: str) -> None:
    """Add options for the files that a command writes, with their help."""
    parser.add_argument("--output", metavar="FILE", help=output)
    parser.add_argument("--plot", metavar="FILE", help=plot)
    parser.add_argument("--force", action="store_true", help="replace existing files")


def check_files(arguments: argparse.Namespace, endings: tuple[str, ...]) -> None:
    """Raise CommandError if the file of ``--output`` or ``--plot`` cannot be written, before the computation."""
    output, plot = arguments.output, arguments.plot
    if output is not None and Path(output).suffix not in endings:
        expected = " or ".join(endings)
        raise CommandError(USAGE, f"--output: expected a file that ends in {expected}, got {escaped(output)}")
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


def write_files(arguments: argparse.Namespace, save: Callable[[str], None] | None, draw: Callable[[], Any]) -> None:
    """Call ``save`` with the file of ``--output``, and write the figure that ``draw`` returns to that of ``--plot``.

    Raises CommandError.
    """
    try:
        if save is not None and arguments.output is not None:
            save(arguments.output)
        if arguments.plot is not None:
            import matplotlib as mpl

            mpl.use("agg")
            figure = draw()
            with replaced(arguments.plot) as file:
                figure.savefig(file, format=Path(arguments.plot).suffix.lstrip(".").lower() or None)
    except OSError as error:
        name = escaped(str(error.filename or arguments.output or arguments.plot))
        raise CommandError(FAILED, f"cannot write {name}: {error.strerror or error}") from error
    except ValueError as error:  # an unknown image format
        raise CommandError(USAGE, escaped(str(error))) from error
