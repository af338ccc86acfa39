"""Output of the commands: text that any stream accepts, tables, JSON, safe names, and errors with exit codes.

Data is written to standard output and logs to standard error. There is no colour. `folded` prints tables that fit a
width: empty columns are omitted, and columns that do not fit follow below.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.console import Stream
from linkwork._util.messages import cut, escaped, label, number, number_list, table, width
from linkwork.errors import Issue

__all__ = [
    "BAD_MODEL",
    "EXIT_CODES",
    "FAILED",
    "INTERRUPTED",
    "NO_READER",
    "USAGE",
    "CommandError",
    "Stream",
    "Terminal",
    "UsageExit",
    "as_options",
    "columns_of",
    "escaped",
    "finite",
    "folded",
    "issue_data",
    "label",
    "number",
    "number_list",
    "quantity",
    "table",
    "width",
]

FAILED, USAGE, BAD_MODEL, INTERRUPTED, NO_READER = 1, 2, 3, 130, 141

EXIT_CODES: dict[int, str] = {
    0: "done",
    FAILED: "failed: no solution, robots that differ, an error while writing, a package that is not installed",
    USAGE: "wrong usage: invalid arguments, names that the robot does not have, a file to write that exists already or "
    "whose folder does not exist",
    BAD_MODEL: "a robot file that cannot be read, or a robot that the command does not support",
    INTERRUPTED: "interrupted (Ctrl-C)",
    NO_READER: "the reader of the output has closed it",
}
"""Exit codes of all commands, with their meanings."""


class CommandError(Exception):
    """Error that ends a command: exit code, message, and the errors and warnings of a file."""

    def __init__(self, code: int, message: str, issues: Sequence[Issue] = (), warnings: Sequence[Issue] = ()) -> None:
        super().__init__(message)
        self.code, self.issues, self.warnings = code, issues, warnings


def error_data(error: CommandError) -> dict[str, Any]:
    """Return an error as data for JSON."""
    problems = {name: [*map(issue_data, getattr(error, name))] for name in ("issues", "warnings")}
    return {"error": str(error), "exit_code": error.code, **problems}


class UsageExit(SystemExit):
    """Exception that ends a command with wrong arguments, after the message has been printed."""

    def __init__(self, message: str) -> None:
        super().__init__(USAGE)
        self.message = message


def issue_data(issue: Issue) -> dict[str, Any]:
    """Return an issue of a robot's file as data for JSON."""
    where = issue.where
    return {
        "code": issue.code,
        "message": issue.message,
        "hint": issue.hint,
        "file": where.file,
        "line": where.line,
        "column": where.column,
        "element": where.element,
    }


@dataclass(frozen=True, slots=True)
class Terminal:
    """Streams of a command: one for its data, one for its messages."""

    out: Stream
    log: Stream
    is_quiet: bool = False  # True if warnings, notes and progress are not printed

    @property
    def progress(self) -> Stream:
        """Stream for the progress of a command."""
        return Stream(None) if self.is_quiet else self.log

    def warning(self, text: str) -> None:
        self._log(f"linkwork: warning: {text}")

    def note(self, text: str) -> None:
        self._log(f"linkwork: note: {text}")

    def issues(self, issues: Iterable[Issue]) -> None:
        """Log the findings of a report: notes, and repairs or losses as warnings."""
        for issue in issues:
            (self.note if issue.is_note else self.warning)(as_options(str(issue)))

    def _log(self, line: str) -> None:
        if not self.is_quiet:
            self.log.line(line)

    def error(self, text: str) -> None:
        self.log.line(f"linkwork: error: {text}")


_ARGUMENT = re.compile(r"""\b(\w+)=(?:True\b|(['"])(\w+)\2)""")
_LOADED = re.compile(r"""\bload\(path, (\w+=(['"])\w+\2)\)""")  # an option of load with a value
_TOUCHING = re.compile(r"""touching=\[\((['"])(.+?)\1, (['"])(.+?)\3\)((?:, \([^()]*\))*)\]""")  # pairs of plan
_CALLS = {
    "load(path, format=...)": "--format NAME",
    "load(path, xacro=True)": "--xacro",
    "load(path, package_dirs=[...])": "--package-dirs FOLDER",
    "show() draws": "--output FILE.html draws",
    "loops= writes a file": "--to-loops FILE writes a file",
    "robot.to_srdf(path) writes": "--to-srdf FILE writes",
    "Robot.with_collision_hulls replaces": "--hulls replaces",
    "pass a scene, or enable pairs by with_collision_pairs": "pass --scene FILE",
    "numpy.radians converts degrees": "write deg after numbers that are degrees, such as 90deg",
    "couple them: robot.with_couplings": "--mimic coupled couples them",
}


def as_options(message: str) -> str:
    """Return a message of Python code with options instead of arguments: ``--mimic coupled`` for mimic="coupled"."""
    text = message
    for call, option in _CALLS.items():
        text = text.replace(call, option)
    text = _LOADED.sub(r"\1", text)
    text = _TOUCHING.sub(_touching_options, text)
    return _ARGUMENT.sub(lambda match: f"--{match[1].replace('_', '-')} {match[3] or ''}".rstrip(), text)


def _touching_options(match: re.Match[str]) -> str:
    """Return the option ``--touching`` for a message that shows a Python list of pairs that may touch."""
    pairs = re.findall(r"""\((['"])(.+?)\1, (['"])(.+?)\3\)""", match[0])
    return " ".join(f"--touching {shlex.quote(a)} {shlex.quote(b)}" for _, a, _, b in pairs)


_LEADING = re.compile(r"(?:[a-z_]+: )?([a-z]+(?:_[a-z]+)*)(?=[:\[])")
_COMPOUND = re.compile(r"(?<![\w.'\"/-])([a-z]+(?:_[a-z]+)+)(?![\w.'\"(=/])")


def with_options(message: str, options: Mapping[str, str]) -> str:
    """Return an error message with the names of options instead of Python arguments: ``--voxel-size`` for voxel_size.

    Replaced are the argument at the beginning, without the function's name before it, and words with underscores.
    """

    def option(match: re.Match[str]) -> str:
        return options.get(match[1], match[0])

    return _COMPOUND.sub(option, _LEADING.sub(option, message, count=1) if _LEADING.match(message) else message)


def quantity(count: int, singular: str) -> str:
    """Return a count with its noun, such as "1 link" or "7 links"."""
    return f"{count} {singular}" if count == 1 else f"{count} {singular}s"


def finite(values: Any) -> list[float | None]:
    """Return values as a list for JSON, with None instead of infinity (no bound)."""
    return [float(x) if np.isfinite(x) else None for x in values]


_GAP = 2  # characters between two columns of a table


def columns_of(out: Stream) -> int | None:
    """Return the width of a terminal in characters; None for other streams, which have no limit."""
    return shutil.get_terminal_size().columns if out.is_terminal else None


def folded(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: int | None,
    *,
    left: Sequence[int] = (0,),
    together: Sequence[Sequence[int]] = (),
) -> list[str]:
    """Return the lines of a table, split into parts one below the other so that it fits a width.

    Each part begins with the first column. Columns without content (or only dashes) are omitted. Columns listed
    ``together`` are in one part if it has enough space. Rows without content in a part appear only in the first. Cells
    wider than a part are cut, and names at three fifths of the width. With ``columns`` None there is no limit.
    """
    if columns is None:
        return table(header, rows, left=left)
    used = [0, *(k for k in range(1, len(header)) if any(row[k] not in ("", "-") for row in rows))]
    wide = [max(map(width, column)) for column in zip(header, *rows, strict=True)]
    wide[0] = min(wide[0], 3 * columns // 5)
    room = columns - wide[0]  # for the others, each with the gap before it
    wide = [wide[0], *(min(n, room - _GAP) for n in wide[1:])]
    parts: list[list[int]] = [[]]
    for unit in _units(used[1:], together):
        for group in [unit] if _width_of(unit, wide) <= room else [[k] for k in unit]:
            if parts[-1] and _width_of([*parts[-1], *group], wide) > room:
                parts.append([])
            parts[-1] += group
    result: list[str] = []
    for part in parts:
        shown = [0, *part]
        used_rows = [row for row in rows if part is parts[0] or any(row[k] not in ("", "-") for k in part)]
        cells = [[cut(line[k], wide[k]) for k in shown] for line in (header, *used_rows)]
        flush = [index for index, k in enumerate(shown) if k in left]
        result += [*([""] if result else []), *table(cells[0], cells[1:], left=flush)]
    return result


def _units(used: Sequence[int], together: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the indices of the used columns in order, as lists of columns that must stay together."""
    of = {k: list(unit) for unit in together for k in unit}
    units: list[list[int]] = []
    for k in used:
        if units and units[-1][0] in of.get(k, ()):
            units[-1].append(k)
        else:
            units.append([k])
    return units


def _width_of(chosen: Sequence[int], wide: Sequence[int]) -> int:
    return sum(_GAP + wide[k] for k in chosen)
