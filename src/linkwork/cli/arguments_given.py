"""Configurations, numbers and files that several commands take as text."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.file_access import kind_of_file, replaced
from linkwork.cli.arguments import FAILED, USAGE, CommandError
from linkwork.cli.output import escaped
from linkwork.errors import UnknownNameError
from linkwork.robot import Robot

__all__ = ["add_files", "check_files", "configuration_of", "named_numbers", "number_of", "words_of", "write_files"]


def add_files(parser: argparse.ArgumentParser, output: str, plot: str) -> None:
    """Options for the files that a command writes, with their help."""
    parser.add_argument("--output", metavar="FILE", help=output)
    parser.add_argument("--plot", metavar="FILE", help=plot)
    parser.add_argument("--force", action="store_true", help="replace files of these names that are there already")


def check_files(arguments: argparse.Namespace, endings: tuple[str, ...]) -> None:
    """Whether ``--output`` and ``--plot`` can be written, before anything is computed.  Raises CommandError."""
    output, plot = arguments.output, arguments.plot
    if output is not None and Path(output).suffix not in endings:
        expected = " or ".join(endings)
        raise CommandError(USAGE, f"--output: expected a file that ends in {expected}, got {escaped(output)}")
    for option, file in (("--output", output), ("--plot", plot)):
        if file is None:
            continue
        if not Path(file).absolute().parent.is_dir():
            raise CommandError(USAGE, f"{option}: cannot write {escaped(file)}: there is no such folder")
        if Path(file).exists():
            if not Path(file).is_file():
                kind = kind_of_file(Path(file).stat().st_mode)
                raise CommandError(USAGE, f"{option}: cannot write {escaped(file)}: this is {kind}")
            if not arguments.force:
                raise CommandError(USAGE, f"{option}: {escaped(file)} exists already: --force replaces it")
    if plot is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise CommandError(FAILED, '--plot needs matplotlib: pip install "linkwork[figures]"') from None


def write_files(arguments: argparse.Namespace, save: Callable[[str], None] | None, draw: Callable[[], Any]) -> None:
    """Write what ``save`` writes to ``--output``, and the figure that ``draw`` gives to ``--plot``.

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
    except ValueError as error:  # a kind of picture that is none
        raise CommandError(USAGE, escaped(str(error))) from error


def words_of(given: Sequence[str]) -> list[str]:
    """What spaces and commas separate."""
    return [word for text in given for word in re.split(r"[\s,]+", text.strip()) if word]


def number_of(option: str, text: str) -> float:
    """A finite number.  Raises ValueError."""
    try:
        found = float(text)
    except ValueError:
        found = np.nan
    if not np.isfinite(found):
        raise ValueError(f"{option}: expected a finite number, got {text!r}")
    return found


def configuration_of(robot: Robot, option: str, given: Sequence[str], others: np.ndarray) -> np.ndarray:
    """All numbers of q, or some of them by name.  Raises ValueError and UnknownNameError."""
    return named_numbers(option, given, others, robot.q_names, "q")


def named_numbers(
    option: str, given: Sequence[str], others: np.ndarray, names: Sequence[str], symbol: str
) -> np.ndarray:
    """All numbers, or some of them by name and the others as they are.  Raises ValueError and UnknownNameError."""
    words = words_of(given)
    x = np.array(others, dtype=float)
    if all("=" in word for word in words):
        for word in words:
            name, _, text = word.rpartition("=")
            if name not in names:
                raise UnknownNameError(f"number of {symbol}", name, names)
            x[names.index(name)] = number_of(f"{option}: {name}", text)
        return x
    if any("=" in word for word in words):
        raise ValueError(f"{option}: expected numbers, or NAME=NUMBER each, got both")
    if len(words) != len(names):
        raise ValueError(f"{option}: expected {len(names)} numbers, those of {symbol}, got {len(words)}")
    return np.array([number_of(option, word) for word in words])
