"""Files of numbers in the arguments of commands: @FILE, as Python and other commands write them.

A file is .json, .csv, .txt, .npz or .npy: an array, numbers by name, or a table with a header.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from linkwork._util.messages import first_of
from linkwork.cli.number_texts import number_of
from linkwork.cli.output import USAGE, CommandError, escaped
from linkwork.errors import ModelError
from linkwork.formats import Budget
from linkwork.formats.description import read_regular

__all__ = ["STORED_SUFFIXES", "content_of", "is_file", "stored_rows", "stored_values"]

_BUDGET = Budget()
_STORED = re.compile(
    r"@(?P<file>-|.*?\.(?P<kind>json|csv|txt|npz|npy))(:(?P<key>[A-Za-z_][\w.]*))?(:(?P<row>[-+]?\d+))?", re.IGNORECASE
)
STORED_SUFFIXES = (".json", ".csv", ".txt", ".npz", ".npy")
_ROWS = "rows of numbers"
_SEPARATOR = re.compile(r"\s*[,;\s]\s*")


def is_file(texts: Sequence[str]) -> bool:
    """Return True if the text of an option is @FILE."""
    return bool(texts) and texts[0].startswith("@")


def stored_values(
    option: str, word: str, keys: Sequence[str] | Mapping[str, Any], names: Sequence[str]
) -> np.ndarray | dict[str, float]:
    """Return the values that @FILE, @FILE:NAME or @FILE:NAME:ROW refers to: an array, or numbers by coordinate.

    ``keys`` are the names of the array, the likeliest first. Values are by coordinate if the file states ``names``.
    Raises ValueError, and CommandError for a file that cannot be read.
    """
    return _one(option, word, keys, names, *_selected(option, word, keys, names))


def stored_rows(
    option: str, word: str, keys: Sequence[str] | Mapping[str, Any], names: Sequence[str]
) -> tuple[list[np.ndarray | dict[str, float]], bool]:
    """Return the values of all rows of @FILE, each as by `stored_values`, and True if the file is a table.

    A vector, numbers by coordinate and a selected row do not count as a table.
    """
    content, stated, row = _selected(option, word, keys, names)
    if row is None and isinstance(content, _Table):
        return [content.row(option, word, [*keys][-1], names, k) for k in range(len(content.rows))], True
    is_array = row is None and isinstance(content, np.ndarray) and content.ndim == 2
    if is_array and (content.shape[1] > 1 or len(names) == 1):
        return [_finite(option, word, values, names, stated) for values in content], True
    return [_one(option, word, keys, names, content, stated, row)], False


def _one(
    option: str,
    word: str,
    keys: Sequence[str] | Mapping[str, Any],
    names: Sequence[str],
    content: Any,
    stated: Any,
    row: int | None,
) -> np.ndarray | dict[str, float]:
    """Return the values of one row of a file's content."""
    if isinstance(content, _Table):
        return content.row(option, word, [*keys][-1], names, row)
    if isinstance(content, dict):
        return content
    return _finite(option, word, _one_row(option, word, content, row, matrix=not names), names, stated)


def _selected(
    option: str, word: str, keys: Sequence[str] | Mapping[str, Any], names: Sequence[str]
) -> tuple[Any, Any, int | None]:
    """Return the content that @FILE:NAME:ROW refers to, names of coordinates in the file, and the row or None.

    The content is a table, numbers by coordinate, or an array.
    """
    match = _STORED.fullmatch(word)
    if match is None:
        raise ValueError(f"{option}: expected @FILE or @FILE:NAME:ROW, FILE a .json, .csv, .npz or .npy, got {word!r}")
    row = None if match["row"] is None else int(match["row"])
    content = content_of(option, match["file"], (match["kind"] or "json").lower())
    if isinstance(content, _Table):
        if match["key"] is not None:
            raise ValueError(f"{option}: {match['file']} has columns, expected @{match['file']}:ROW, got {word!r}")
        return content, None, row
    stated: Any = None
    if isinstance(content, dict) and content.get("success") is False:
        status = content.get("status", "failed")
        warnings.warn(f"{option}: the result of {word} has the status {status}", stacklevel=2)
    if isinstance(content, dict):
        scalars = [x for x in content.values() if isinstance(x, (int, float)) and not isinstance(x, bool)]
        if names and match["key"] is None and scalars and len(scalars) == len(content):
            return {name: number_of(f"{option}: {name}", str(x)) for name, x in content.items()}, None, row
        key = match["key"] or next((key for key in keys if key in content), None)
        if key is None or key not in content:
            expected = f"{key!r}" if key is not None else " or ".join(map(repr, keys))
            present = ", ".join(map(repr, content)) or "none"
            raise ValueError(f"{option}: {word}: expected an array {expected}, got {present}; name it: @FILE:NAME")
        stated = next((content[f"{x}_names"] for x in (key, [*keys][-1]) if f"{x}_names" in content), None)
        content = content[key]
    try:
        return np.array([] if content is None else content, dtype=float), stated, row
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"{option}: {word}: expected an array of numbers, got {str(content)[:60]}") from None


def _finite(
    option: str, word: str, values: np.ndarray, names: Sequence[str], stated: Any
) -> np.ndarray | dict[str, float]:
    """Return finite values, by coordinate if the file states their names. Raises ValueError."""
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
        """Return the numbers of a row by coordinate; columns are named "elbow" or "q:elbow". Raises ValueError."""
        columns = {name: next((x for x in (f"{symbol}:{name}", name) if x in self.header), None) for name in names}
        missing = [name for name, column in columns.items() if column is None]
        if missing or not names:
            expected = f"columns of all coordinates, also {first_of([*map(repr, missing)], 8)}"
            got = ", ".join(map(repr, self.header[:8]))
            got += " ..." * (len(self.header) > 8)
            raise ValueError(f"{option}: {word}: expected {expected if names else _ROWS}, got {got}")
        cells = self.rows[_row_index(option, word, len(self.rows), row)]
        return {
            name: number_of(f"{option}: {word}: {name}", cells[self.header.index(column)])
            for name, column in columns.items()
            if column is not None
        }


def _row_index(option: str, word: str, count: int, row: int | None) -> int:
    """Return the index of the selected row; if none is selected, that of the only row. Raises ValueError."""
    if row is None and count != 1:
        raise ValueError(f"{option}: {word}: expected one row, got {count}; select one: @FILE:ROW, -1 for the last")
    if row is not None and not -count <= row < count:
        raise ValueError(f"{option}: {word}: expected a row from {-count} to {count - 1}, got {row}")
    return 0 if row is None else row


def _one_row(option: str, word: str, values: np.ndarray, row: int | None, *, matrix: bool) -> np.ndarray:
    """Return a vector from an array of a file, or a matrix (4, 4) if ``matrix``. Raises ValueError."""
    if row is None and values.size and (values.ndim == 1 or (matrix and values.shape == (4, 4))):
        return values
    if row is None and values.ndim == 2 and values.shape[1] == 1:  # as numpy.savetxt writes a vector
        return values[:, 0]
    if values.ndim < 2 or not values.size:
        raise ValueError(f"{option}: {word}: expected an array with rows, got one of shape {values.shape}")
    result: np.ndarray = values[_row_index(option, word, len(values), row)]
    return result


def content_of(option: str, file: str, kind: str) -> Any:
    """Return the content of a file: an array, values by name, or a table.  Raises ValueError and CommandError."""
    try:
        data = _standard_input(option) if file == "-" else read_regular(file, _BUDGET)
    except ModelError as error:
        raise CommandError(USAGE, f"{option}: {escaped(str(error))}") from error
    except OSError as error:
        raise CommandError(USAGE, f"{option}: cannot read {escaped(file)}: {error.strerror or error}") from error
    if file == "-":
        kind, name = "csv" if _is_table(data) else "json", "standard input"
    else:
        name = file
    try:
        if kind == "json":
            return json.loads(data)
        if kind in ("csv", "txt"):
            return _cells(data.decode("utf-8-sig"))
        content = np.load(BytesIO(data), allow_pickle=False)
        return content if kind == "npy" else _arrays(content)
    except (ValueError, OSError, EOFError, RecursionError, zipfile.BadZipFile) as error:
        raise ValueError(f"{option}: cannot read {name} as .{kind}: {error}") from None


def _standard_input(option: str) -> bytes:
    """Return the content of standard input, read only once. Raises ValueError if it is too large."""
    stream = sys.stdin.buffer
    if not _input or _input[0][0] is not stream:
        _input[:] = [(stream, stream.read(_BUDGET.max_bytes + 1))]
    data = _input[0][1]
    if len(data) > _BUDGET.max_bytes:
        raise ValueError(f"{option}: @-: standard input has more bytes than the limit of {_BUDGET.max_bytes}")
    return data


_input: list[tuple[Any, bytes]] = []  # standard input with its content


def _is_table(data: bytes) -> bool:
    """Return True for text that is a table: not JSON, nor text that begins like JSON."""
    if data.lstrip()[:1] in (b"", b"[", b"{", b'"'):
        return False
    try:
        json.loads(data)
    except ValueError:
        return True
    return False


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
