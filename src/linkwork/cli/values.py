"""Values in the arguments of commands: numbers, vectors and poses, also from files, limits, and their errors.

``@FILE`` denotes the numbers of a file, as Python and other commands write them: .json, .csv, .npz and .npy.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np

from linkwork import Robot, pose
from linkwork.cli.number_texts import in_si, is_number, not_a_number, number_of, words_of
from linkwork.cli.output import quantity
from linkwork.cli.parser import NUMERIC
from linkwork.cli.stored_values import STORED_SUFFIXES, content_of, is_file, stored_rows, stored_values
from linkwork.errors import UnknownNameError

__all__ = [
    "add_limits",
    "chosen_rows",
    "chosen_values",
    "from_zero",
    "limits_of",
    "named_values",
    "number_from",
    "pose_of",
    "position_of",
    "positive",
    "units_of",
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


def number_from(least: float, why: str = "", *, unit: str = "") -> Callable[[str], float]:
    """Return a function that reads a finite number >= ``least``, for the ``type`` of argparse.

    ``least`` may be −inf, and ``why`` explains it in the error message. ``unit`` is the SI unit to which numbers with
    other units are converted.
    """

    def read(text: str) -> float:
        try:
            value = in_si(text, unit)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
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
        help="limits of coordinates in addition to the robot's, such as those of slides [rad, m], or @FILE.json",
    )


def limits_of(robot: Robot, texts: Sequence[str]) -> dict[str, tuple[float, float]] | None:
    """Return the limits of the options as (lower, upper) by coordinate name; None without any.

    Raises ValueError and UnknownNameError.
    """
    result = dict[str, tuple[float, float]]()
    for file in (text for text in texts if text.startswith("@")):
        result |= _stored_limits(robot, file)
    for word in words_of("--position-limits", [text for text in texts if not text.startswith("@")]):
        name, _, pair = word.rpartition("=")
        low, colon, high = pair.partition(":")
        if not name or not colon:
            raise ValueError(f"--position-limits: expected NAME=LOW:HIGH, got {word!r}")
        if name not in robot.q_names:
            raise UnknownNameError("coordinate of q", name, robot.q_names)
        option, unit = f"--position-limits: {name}", units_of(robot, "q")[name]
        result[name] = number_of(option, low, unit), number_of(option, high, unit)
    return result or None


def _stored_limits(robot: Robot, word: str) -> dict[str, tuple[float, float]]:
    """Return the limits of a JSON file by coordinate: {"elbow": [-1, 1]}.  Raises ValueError and UnknownNameError."""
    content = content_of("--position-limits", word[1:], "json")
    if not isinstance(content, dict):
        raise ValueError(f"--position-limits: {word}: expected an object of [LOW, HIGH] by coordinate of q")
    for name, pair in content.items():
        if name not in robot.q_names:
            raise UnknownNameError("coordinate of q", name, robot.q_names)
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"--position-limits: {word}: {name}: expected [LOW, HIGH], got {pair!r}")
    option = "--position-limits: {}"
    return {
        name: (number_of(option.format(name), str(a)), number_of(option.format(name), str(b)))
        for name, (a, b) in content.items()
    }


def pose_of(option: str, texts: Sequence[str]) -> np.ndarray:
    """Return the pose (4, 4) in the text of an option: a position and, if given, roll, pitch and yaw.

    A file may also have a matrix (4, 4).  Raises ValueError.
    """
    values = _values_of(option, texts, (option.split()[0][2:].replace("-", "_"), "pose"), ("m",) * 3 + ("rad",) * 3)
    if values.shape == (4, 4):
        return values
    if values.shape not in ((3,), (6,)):
        expected = "X Y Z ROLL PITCH YAW, or X Y Z" + (", or a matrix (4, 4)" if is_file(texts) else "")
        raise ValueError(f"{option}: expected {expected}, got {_size(values)}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        X = pose(values[:3], rpy=values[3:] if len(values) == 6 else None)
    for warning in caught:  # of angles that are probably degrees
        warnings.warn(f"{option}: {str(warning.message).removeprefix('pose: rpy: ')}", stacklevel=2)
    return X


def position_of(option: str, texts: Sequence[str], unit: str = "m") -> np.ndarray:
    """Return the position (3,), or another vector with the SI unit ``unit``, in an option's text. Raises ValueError."""
    key = "position" if unit == "m" else option.removeprefix("--").replace("-", "_")
    values = _values_of(option, texts, (key,), (unit,) * 3)
    if values.shape != (3,):
        raise ValueError(f"{option}: expected X Y Z, got {_size(values)}")
    return values


def _values_of(option: str, texts: Sequence[str], keys: Sequence[str], units: Sequence[str]) -> np.ndarray:
    """Return the numbers in the text of an option, or in its file.  Raises ValueError."""
    if not is_file(texts):
        stated = zip_longest(words_of(option, texts), units, fillvalue="")
        return np.array([number_of(option, word, unit) for word, unit in stated if word])
    if len(texts) > 1:
        raise ValueError(f"{option}: expected {texts[0]} alone, or numbers, got both")
    values = stored_values(option, texts[0], keys, ())
    assert isinstance(values, np.ndarray)
    return values


def _size(values: np.ndarray) -> str:
    return f"{len(values)} numbers" if values.ndim == 1 else f"an array of shape {values.shape}"


def units_of(robot: Robot, symbol: str) -> dict[str, str]:
    """Return the SI unit of each coordinate of q, or of v, by its name."""
    joints = [body.joint for _, body in robot.tree.stacked()]
    if symbol == "q":
        return dict(zip(robot.q_names, (unit for joint in joints for unit in joint.q_units), strict=True))
    return dict(zip(robot.v_names, (unit for joint in joints for unit in joint.v_units), strict=True))


def named_values(
    option: str, texts: Sequence[str], defaults: np.ndarray, names: Sequence[str], symbol: str
) -> np.ndarray:
    """Return a vector from an option's text: all elements, or NAME=NUMBER for each element to change.

    The other elements are taken from ``defaults``. ``symbol`` names the vector in messages. NAME=NUMBER after @FILE
    changes elements of the file. Raises ValueError and UnknownNameError.
    """
    return chosen_values(option, texts, defaults, names, symbol)[0]


def chosen_values(
    option: str,
    texts: Sequence[str],
    defaults: np.ndarray,
    names: Sequence[str],
    symbol: str,
    units: Mapping[str, str] | None = None,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return a vector as by `named_values`, and the names of the elements that the user stated.

    ``units`` are the SI units of elements by name; elements without a name there have no unit.
    """
    unit = (units or {}).get
    x, chosen = np.array(defaults, dtype=float), tuple(names)
    if is_file(texts):
        key = option.removeprefix("--").replace("-", "_")
        stored = stored_values(option, texts[0], dict.fromkeys((key, symbol)), names)
        x, chosen = _coordinates(option, stored, x, names, symbol)
        texts = texts[1:]
        if not all("=" in word for word in texts):
            raise ValueError(f"{option}: expected NAME=NUMBER after a file, got {texts[0]!r}")
        if not texts:
            return x, chosen
    words = words_of(option, texts)
    if all("=" in word for word in words):
        for word in words:
            name, _, text = word.rpartition("=")
            if name not in names:
                raise UnknownNameError(f"coordinate of {symbol}", name, names)
            x[names.index(name)] = number_of(f"{option}: {name}", text, unit(name, ""))
        return x, tuple(word.rpartition("=")[0] for word in words)
    if any("=" in word for word in words):
        raise ValueError(f"{option}: expected numbers or NAME=NUMBER, got both")
    for word in (word for word in words if not is_number(word)):
        hint = f"; @{word} reads a file" if Path(word).suffix.lower() in STORED_SUFFIXES else ""
        hint = "; @- reads standard input" if word == "-" else hint
        raise ValueError(f"{option}: {not_a_number('numbers or NAME=NUMBER', word)}{hint}")
    if len(words) != len(names):
        few = f" ({', '.join(names)})" if 0 < len(names) <= _FEW else ""
        expected = f"{quantity(len(names), 'coordinate')} of {symbol}{few}"
        raise ValueError(f"{option}: expected {expected}, got {quantity(len(words), 'number')}")
    pairs = zip(words, names, strict=True)
    return np.array([number_of(f"{option}: {name}", word, unit(name, "")) for word, name in pairs]), chosen


def chosen_rows(
    option: str,
    texts: Sequence[str],
    defaults: np.ndarray,
    names: Sequence[str],
    symbol: str,
    units: Mapping[str, str] | None = None,
) -> tuple[list[tuple[np.ndarray, tuple[str, ...]]], bool]:
    """Return the vectors of all rows of a table @FILE, each as by `chosen_values`, and True.

    For any other text the result is a single row, and False.
    """
    if len(texts) != 1 or not is_file(texts):
        return [chosen_values(option, texts, defaults, names, symbol, units)], False
    key = option.removeprefix("--").replace("-", "_")
    rows, several = stored_rows(option, texts[0], dict.fromkeys((key, symbol)), names)
    return [_coordinates(option, row, defaults, names, symbol) for row in rows], several


def _coordinates(
    option: str, stored: np.ndarray | dict[str, float], defaults: np.ndarray, names: Sequence[str], symbol: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return a vector with a file's values and ``defaults`` elsewhere, and the names of elements in the file."""
    if isinstance(stored, dict):
        x = np.array(defaults, dtype=float)
        for name, value in stored.items():
            if name not in names:
                raise UnknownNameError(f"coordinate of {symbol}", name, names)
            x[names.index(name)] = value
        return x, tuple(stored)
    if stored.shape != defaults.shape:
        raise ValueError(f"{option}: expected {quantity(len(names), 'coordinate')} of {symbol}, got {_size(stored)}")
    return stored, tuple(names)


_FEW = 12  # names of coordinates in a message
