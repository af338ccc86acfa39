"""Values in the arguments of commands: numbers, vectors and poses, also from files, limits, and their errors.

``@FILE`` denotes the numbers of a file, as Python and other commands write them: .json, .csv, .npz and .npy.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from linkwork import Robot, pose
from linkwork.cli.number_texts import in_si, is_number, not_a_number, number_of, words_of
from linkwork.cli.output import USAGE, CommandError, escaped, quantity
from linkwork.cli.parser import NUMERIC
from linkwork.errors import ModelError, UnknownNameError
from linkwork.formats import Budget
from linkwork.formats.description import read_regular

__all__ = [
    "add_limits",
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
    """Return a function that reads a finite number >= ``least`` (may be -inf), for the ``type`` of argparse.

    ``why`` explains the bound in its error message.  ``unit`` is the SI unit, to which units after numbers are
    converted.
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
    content = _content("--position-limits", word[1:], "json")
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
        expected = "X Y Z ROLL PITCH YAW, or X Y Z" + (", or a matrix (4, 4)" if _is_file(texts) else "")
        raise ValueError(f"{option}: expected {expected}, got {_size(values)}")
    return pose(values[:3], rpy=values[3:] if len(values) == 6 else None)


def position_of(option: str, texts: Sequence[str], unit: str = "m") -> np.ndarray:
    """Return the position (3,) in the text of an option, or another vector with its SI unit.  Raises ValueError."""
    key = "position" if unit == "m" else option.removeprefix("--").replace("-", "_")
    values = _values_of(option, texts, (key,), (unit,) * 3)
    if values.shape != (3,):
        raise ValueError(f"{option}: expected X Y Z, got {_size(values)}")
    return values


def _values_of(option: str, texts: Sequence[str], keys: Sequence[str], units: Sequence[str]) -> np.ndarray:
    """Return the numbers in the text of an option, or in its file.  Raises ValueError."""
    if not _is_file(texts):
        stated = zip_longest(words_of(option, texts), units, fillvalue="")
        return np.array([number_of(option, word, unit) for word, unit in stated if word])
    if len(texts) > 1:
        raise ValueError(f"{option}: expected {texts[0]} alone, or numbers, got both")
    values = _stored_values(option, texts[0], keys, ())
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
    """Return a vector from the text of an option: all elements, or NAME=NUMBER for each changed element.

    The other elements are those of ``defaults``.  ``symbol`` names the vector in messages.  NAME=NUMBER after @FILE
    changes elements of the file.  Raises ValueError and UnknownNameError.
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
    """Return a vector as `named_values` does, and the names of its chosen elements: those named, or all.

    ``units`` are the SI units of elements by name; numbers of others have no unit.
    """
    unit = (units or {}).get
    x, chosen = np.array(defaults, dtype=float), tuple(names)
    if _is_file(texts):
        key = option.removeprefix("--").replace("-", "_")
        stored = _stored_values(option, texts[0], dict.fromkeys((key, symbol)), names)
        if isinstance(stored, dict):
            for name, value in stored.items():
                if name not in names:
                    raise UnknownNameError(f"coordinate of {symbol}", name, names)
                x[names.index(name)] = value
            chosen = tuple(stored)
        elif stored.shape != x.shape:
            raise ValueError(
                f"{option}: expected {quantity(len(names), 'coordinate')} of {symbol}, got {_size(stored)}"
            )
        else:
            x = stored
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
        hint = f"; @{word} reads a file" if Path(word).suffix.lower() in _STORED_SUFFIXES else ""
        raise ValueError(f"{option}: {not_a_number('numbers or NAME=NUMBER', word)}{hint}")
    if len(words) != len(names):
        few = f" ({', '.join(names)})" if 0 < len(names) <= _FEW else ""
        expected = f"{quantity(len(names), 'coordinate')} of {symbol}{few}"
        raise ValueError(f"{option}: expected {expected}, got {quantity(len(words), 'number')}")
    pairs = zip(words, names, strict=True)
    return np.array([number_of(f"{option}: {name}", word, unit(name, "")) for word, name in pairs]), chosen


_FEW = 12  # names of coordinates in a message


# -- files

_BUDGET = Budget()
_STORED = re.compile(
    r"@(?P<file>-|.*?\.(?P<kind>json|csv|txt|npz|npy))(:(?P<key>[A-Za-z_][\w.]*))?(:(?P<row>[-+]?\d+))?", re.IGNORECASE
)
_STORED_SUFFIXES = (".json", ".csv", ".txt", ".npz", ".npy")
_SEPARATOR = re.compile(r"\s*[,;\s]\s*")


def _is_file(texts: Sequence[str]) -> bool:
    return bool(texts) and texts[0].startswith("@")


def _stored_values(
    option: str, word: str, keys: Sequence[str] | Mapping[str, Any], names: Sequence[str]
) -> np.ndarray | dict[str, float]:
    """Return the values that @FILE, @FILE:NAME or @FILE:NAME:ROW denotes: an array, or numbers by coordinate.

    ``keys`` are the names of the array, the likeliest first.  Values are by coordinate if the file states ``names``.
    Raises ValueError, and CommandError for a file that cannot be read.
    """
    match = _STORED.fullmatch(word)
    if match is None:
        raise ValueError(f"{option}: expected @FILE or @FILE:NAME:ROW, FILE a .json, .csv, .npz or .npy, got {word!r}")
    row = None if match["row"] is None else int(match["row"])
    content = _content(option, match["file"], (match["kind"] or "json").lower())
    if isinstance(content, _Table):
        if match["key"] is not None:
            raise ValueError(f"{option}: {match['file']} has columns, expected @{match['file']}:ROW, got {word!r}")
        return content.row(option, word, [*keys][-1], names, row)
    stated: Any = None
    if isinstance(content, dict):
        scalars = [x for x in content.values() if isinstance(x, (int, float)) and not isinstance(x, bool)]
        if names and match["key"] is None and scalars and len(scalars) == len(content):
            return {name: number_of(f"{option}: {name}", str(x)) for name, x in content.items()}
        key = match["key"] or next((key for key in keys if key in content), None)
        if key is None or key not in content:
            expected = f"{key!r}" if key is not None else " or ".join(map(repr, keys))
            present = ", ".join(map(repr, content)) or "none"
            raise ValueError(f"{option}: {word}: expected an array {expected}, got {present}; name it: @FILE:NAME")
        stated = next((content[f"{x}_names"] for x in (key, [*keys][-1]) if f"{x}_names" in content), None)
        content = content[key]
    try:
        values = np.array([] if content is None else content, dtype=float)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"{option}: {word}: expected an array of numbers, got {str(content)[:60]}") from None
    values = _one_row(option, word, values, row, matrix=not names)
    if not np.isfinite(values).all():
        raise ValueError(f"{option}: {word}: expected finite numbers, got {values[~np.isfinite(values)][0]}")
    if names and stated is not None and values.shape == np.shape(stated):
        return {str(name): float(x) for name, x in zip(np.asarray(stated).tolist(), values, strict=True)}
    return values


class _Table:
    """A table with a header: its columns by name, and the cells of each row as text."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.header, self.rows = [name.strip() for name in header], rows

    def row(self, option: str, word: str, symbol: str, names: Sequence[str], row: int | None) -> dict[str, float]:
        """Return the numbers of one row by coordinate; columns are named by it, or as "q:elbow".  Raises ValueError."""
        columns = {name: next((x for x in (f"{symbol}:{name}", name) if x in self.header), None) for name in names}
        missing = next((name for name, column in columns.items() if column is None), None)
        if missing is not None or not names:
            expected = f"a column {missing!r}" if names else "rows of numbers"
            got = ", ".join(map(repr, self.header[:8]))
            raise ValueError(f"{option}: {word}: expected {expected}, got {got}{' ...' * (len(self.header) > 8)}")
        cells = self.rows[_row_index(option, word, len(self.rows), row)]
        return {
            name: number_of(f"{option}: {word}: {name}", cells[self.header.index(column)])
            for name, column in columns.items()
            if column is not None
        }


def _row_index(option: str, word: str, count: int, row: int | None) -> int:
    """Return the index of a row; the only one without a statement.  Raises ValueError."""
    if row is None and count != 1:
        raise ValueError(f"{option}: {word}: expected one row, got {count}; select one: @FILE:ROW, -1 for the last")
    if row is not None and not -count <= row < count:
        raise ValueError(f"{option}: {word}: expected a row from {-count} to {count - 1}, got {row}")
    return 0 if row is None else row


def _one_row(option: str, word: str, values: np.ndarray, row: int | None, *, matrix: bool) -> np.ndarray:
    """Return one vector of an array, or one (4, 4) for ``matrix``.  Raises ValueError."""
    if row is None and values.size and (values.ndim == 1 or (matrix and values.shape == (4, 4))):
        return values
    if row is None and values.ndim == 2 and values.shape[1] == 1:  # as numpy.savetxt writes a vector
        return values[:, 0]
    if values.ndim < 2 or not values.size:
        raise ValueError(f"{option}: {word}: expected an array with rows, got one of shape {values.shape}")
    result: np.ndarray = values[_row_index(option, word, len(values), row)]
    return result


def _content(option: str, file: str, kind: str) -> Any:
    """Return the content of a file: an array, values by name, or a table.  Raises ValueError and CommandError."""
    try:
        if file == "-":
            data = sys.stdin.buffer.read(_BUDGET.max_bytes + 1)
            if len(data) > _BUDGET.max_bytes:
                raise ValueError(f"{option}: @-: standard input has more bytes than the limit of {_BUDGET.max_bytes}")
        else:
            data = read_regular(file, _BUDGET)
    except ModelError as error:
        raise CommandError(USAGE, f"{option}: {escaped(str(error))}") from error
    except OSError as error:
        raise CommandError(USAGE, f"{option}: cannot read {escaped(file)}: {error.strerror or error}") from error
    try:
        if kind == "json":
            return json.loads(data)
        if kind in ("csv", "txt"):
            return _cells(data.decode("utf-8-sig"))
        content = np.load(BytesIO(data), allow_pickle=False)
        return content if kind == "npy" else _arrays(content)
    except (ValueError, OSError, EOFError, RecursionError, zipfile.BadZipFile) as error:
        raise ValueError(f"{option}: cannot read {file} as .{kind}: {error}") from None


def _arrays(archive: Any) -> dict[str, Any]:
    """Return the arrays of an archive by name, and the names of coordinates that its header states.

    Raises ValueError for arrays beyond the limit of a file.
    """
    size = sum(info.file_size for info in archive.zip.infolist())
    if size > _BUDGET.max_total_bytes:
        raise ValueError(f"its arrays have {size} bytes, more than the limit of {_BUDGET.max_total_bytes}")
    content = {name: archive[name] for name in archive.files}
    said = content.pop("said", None)
    stated = {} if said is None or said.dtype != np.uint8 else json.loads(said.tobytes())
    return content | {name: stated[name] for name in ("q_names", "v_names") if name in stated}


def _cells(text: str) -> Any:
    """Return the numbers of a text (rows, columns), or a table if its first row is a header.  Raises ValueError."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    rows = [*csv.reader(lines)] if any("," in line for line in lines) else [_SEPARATOR.split(x.strip()) for x in lines]
    if not rows or len({len(row) for row in rows}) != 1:
        raise ValueError("expected rows of equal length, separated by commas or blanks")
    try:
        return np.array([[float(cell) for cell in row] for row in rows])
    except ValueError:
        try:
            [float(cell) for cell in rows[0]]
        except ValueError:
            return _Table(rows[0], rows[1:])
        raise
