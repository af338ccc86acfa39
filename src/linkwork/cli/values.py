"""Values in the arguments of commands: numbers, configurations, limits, and their errors."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from linkwork import Robot, pose
from linkwork.cli.parser import NUMERIC
from linkwork.errors import UnknownNameError

__all__ = [
    "add_limits",
    "configuration_of",
    "from_zero",
    "limits_of",
    "named_values",
    "not_a_number",
    "number_from",
    "number_of",
    "pose_of",
    "positive",
    "words_of",
]


def positive(text: str) -> int:
    """Return a text as an integer >= 1.  Raises argparse.ArgumentTypeError."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(not_a_number("an integer >= 1", text))
    return value


def from_zero(text: str) -> int:
    """Return a text as an integer >= 0.  Raises argparse.ArgumentTypeError."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(not_a_number("an integer >= 0", text))
    return value


def number_from(least: float, why: str = "") -> Callable[[str], float]:
    """Return a function that reads a finite number >= ``least`` (may be -inf), for the ``type`` of argparse.

    ``why`` explains the bound in its error message.
    """

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (least <= value < math.inf and value > -math.inf):
            expected = f"a number >= {least:g}" if least > -math.inf else "a finite number"
            raise argparse.ArgumentTypeError(not_a_number(f"{expected}{why}", text))
        return value

    return read


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--position-limits``, which `limits_of` reads."""
    parser.add_argument(
        "--position-limits",
        metavar="NAME=LOW:HIGH",
        nargs="+",
        type=NUMERIC,
        action="extend",
        default=[],
        help="limits of coordinates in addition to the robot's, such as those of unbounded slides [rad, m]",
    )


def limits_of(robot: Robot, texts: Sequence[str]) -> dict[str, tuple[float, float]] | None:
    """Return the limits of the options as (lower, upper) by coordinate name; None without any.

    Raises ValueError and UnknownNameError.
    """
    result = {}
    for word in words_of("--position-limits", texts):
        name, _, pair = word.rpartition("=")
        low, colon, high = pair.partition(":")
        if not name or not colon:
            raise ValueError(f"--position-limits: expected NAME=LOW:HIGH, got {word!r}")
        if name not in robot.q_names:
            raise UnknownNameError("coordinate of q", name, robot.q_names)
        result[name] = number_of(f"--position-limits: {name}", low), number_of(f"--position-limits: {name}", high)
    return result or None


_DECIMAL_COMMA = re.compile(r",\d")


def words_of(option: str, texts: Sequence[str]) -> list[str]:
    """Return the words that are separated by blanks and commas.  Raises ValueError for a comma before a digit."""
    for text in texts:
        if _DECIMAL_COMMA.search(text):
            raise ValueError(f"{option}: {not_a_number('numbers', text)}")
    return [word for text in texts for word in re.split(r"[\s,]+", text.strip()) if word]


def not_a_number(expected: str, text: str) -> str:
    """Return the message for a text that is not the expected number; it explains a comma before a digit."""
    message = f"expected {expected}, got {text!r}"
    if _DECIMAL_COMMA.search(text):
        message += "; write a decimal point (0.1 instead of 0,1), and blanks between several numbers"
    return message


def number_of(option: str, text: str) -> float:
    """Return a finite number. Raises ValueError."""
    try:
        result = float(text)
    except ValueError:
        result = np.nan
    if not np.isfinite(result):
        raise ValueError(f"{option}: {not_a_number('a finite number', text)}")
    return result


def pose_of(option: str, texts: Sequence[str]) -> np.ndarray:
    """Return the pose (4, 4) in the text of an option: a position and, if given, roll, pitch and yaw.

    Raises ValueError.
    """
    values = [number_of(option, word) for word in words_of(option, texts)]
    if len(values) not in (3, 6):
        raise ValueError(f"{option}: expected X Y Z ROLL PITCH YAW, or X Y Z, got {len(values)} numbers")
    return pose(values[:3], rpy=values[3:] or None)


def configuration_of(robot: Robot, option: str, texts: Sequence[str], defaults: np.ndarray) -> np.ndarray:
    """Return a configuration (nq,) from the text of an option: all coordinates, or NAME=NUMBER for each changed one.

    The other coordinates are those of ``defaults`` (nq,).  Raises ValueError and UnknownNameError.
    """
    return named_values(option, texts, defaults, robot.q_names, "q")


def named_values(
    option: str, texts: Sequence[str], defaults: np.ndarray, names: Sequence[str], symbol: str
) -> np.ndarray:
    """Return a vector from the text of an option: all elements, or NAME=NUMBER for each changed element.

    The other elements are those of ``defaults``.  ``symbol`` names the vector in messages.  Raises ValueError and
    UnknownNameError.
    """
    words = words_of(option, texts)
    x = np.array(defaults, dtype=float)
    if all("=" in word for word in words):
        for word in words:
            name, _, text = word.rpartition("=")
            if name not in names:
                raise UnknownNameError(f"coordinate of {symbol}", name, names)
            x[names.index(name)] = number_of(f"{option}: {name}", text)
        return x
    if any("=" in word for word in words):
        raise ValueError(f"{option}: expected numbers or NAME=NUMBER, got both")
    if len(words) != len(names):
        raise ValueError(f"{option}: expected the {len(names)} coordinates of {symbol}, got {len(words)} numbers")
    return np.array([number_of(option, word) for word in words])
