"""Rows of benchmarks: a program that prints nothing, and a table without rows, are errors."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["NoRowsError", "require", "require_rows", "table"]

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
    programs = [x.stem for x in sorted(Path(__file__).parent.glob("*.py")) if "\nif __name__ ==" in x.read_text()]
    known = ", ".join(x for x in programs if not x.startswith("__"))
    is_program = name.rpartition(".")[2] in ("benchmarks", *programs)
    reason = "nothing was measured" if is_program else f"it is no benchmark; benchmarks are {known}"
    print(f"{name}: no rows were printed: {reason}", file=sys.stderr, flush=True)
    os._exit(1)
