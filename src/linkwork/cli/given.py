"""Configurations, numbers and files that several commands take as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import UnknownNameError
from ..facade.robot.robot import Robot
from .arguments import FAILED, USAGE, CommandError
from .output import escaped

__all__ = ["check_files", "configuration_of", "named_numbers", "number_of", "words_of"]


def check_files(output: str | None, endings: tuple[str, ...], plot: str | None) -> None:
    """Whether ``--output`` and ``--plot`` can be written, before anything is computed.  Raises CommandError."""
    if output is not None and Path(output).suffix not in endings:
        expected = " or ".join(endings)
        raise CommandError(USAGE, f"--output: expected a file that ends in {expected}, got {escaped(output)}")
    for option, file in (("--output", output), ("--plot", plot)):
        if file is not None and not Path(file).absolute().parent.is_dir():
            raise CommandError(USAGE, f"{option}: cannot write {escaped(file)}: there is no such folder")
    if plot is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise CommandError(FAILED, '--plot needs matplotlib: pip install "linkwork[figures]"') from None


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
