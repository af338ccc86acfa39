"""Rows of benchmarks: a program that prints nothing, and a table without rows, are errors."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["NoRowsError", "programs", "require", "require_rows", "table"]

_STARTED = "LINKWORK_BENCHMARK"  # variable of the environment of processes that a benchmark starts


class NoRowsError(RuntimeError):
    """Raised where nothing was measured."""


def require(count: int, text: str) -> None:
    """Raise NoRowsError, which states ``text``, if nothing was counted."""
    if not count:
        raise NoRowsError(f"benchmarks: nothing was measured: {text}")


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,), markdown: bool = False
) -> list[str]:
    """Return the lines of a table, as text or in Markdown; ``left`` are the columns that are aligned to the left.

    Raises NoRowsError for a table without rows.
    """
    require(len(rows), f"no rows for the table of {', '.join(filter(None, header))}")
    if markdown:
        rule = [":--" if k in left else "--:" for k in range(len(header))]
        return ["| " + " | ".join(row) + " |" for row in (header, rule, *rows)]
    from linkwork.cli import output

    return output.table(header, rows, left=left)


def require_rows() -> None:
    """Let the program of `python -m benchmarks...` end with an error if it prints nothing.

    Other programs, and processes that a benchmark starts, end as before.  While Python looks for the module of ``-m``,
    ``sys.argv`` begins with this option.
    """
    if sys.argv[:1] == ["-m"] and _STARTED not in os.environ:
        os.environ[_STARTED] = "1"
        out = _CountedLines(sys.stdout)
        sys.stdout = out
        atexit.register(_check, out, sys.orig_argv)


def programs() -> list[str]:
    """Return the names after "benchmarks." of all modules that are programs; "" is `python -m benchmarks` itself."""
    folder = Path(__file__).parents[1]
    files = [x.relative_to(folder) for x in sorted(folder.rglob("*.py")) if "\nif __name__ ==" in x.read_text()]
    return sorted(".".join(x.with_suffix("").parts).removesuffix("__main__").strip(".") for x in files)


class _CountedLines:
    """A stream of text, and whether something was written to it."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.is_written = stream, False

    def write(self, text: str) -> int:
        self.is_written = self.is_written or not text.isspace()
        return int(self.stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _check(out: _CountedLines, arguments: Sequence[str]) -> None:
    """End the process with exit code 1 if nothing was written."""
    if out.is_written:
        return
    name = arguments[arguments.index("-m") + 1]
    known = programs()
    is_program = name.removeprefix("benchmarks").strip(".") in known
    reason = "nothing was measured" if is_program else f"it is not a benchmark; benchmarks are {', '.join(known[1:])}"
    print(f"{name}: no rows were printed: {reason}", file=sys.stderr, flush=True)
    os._exit(1)
