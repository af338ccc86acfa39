"""What the commands print: text that any stream takes, tables, JSON, and names made safe to print.

Data goes to standard output and logs to standard error.  There is no colour.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

__all__ = ["Output", "Terminal", "escaped", "finite", "label", "number", "numbers", "quantity", "table", "width"]


class Output:
    """A stream of lines.  What its encoding lacks is written in ASCII; a closed stream takes nothing."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"

    @property
    def is_terminal(self) -> bool:
        """Whether a person sees each character as it comes."""
        return self._stream is not None and self._stream.isatty()

    def line(self, text: str = "") -> None:
        self.write(text + "\n")

    def lines(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.line(text)

    def write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(self.fitting(text))

    def json(self, data: Any) -> None:
        """One JSON document, in ASCII.  NaN and infinity are errors: see `finite`."""
        self.line(json.dumps(data, indent=2, allow_nan=False))

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def fitting(self, text: str) -> str:
        """The text in characters that the stream can encode."""
        if self._can(text):
            return text
        return "".join(c if self._can(c) else _PLAIN.get(c) or _backslashed(c) for c in text)

    def _can(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a command prints: data and logs."""

    out: Output
    log: Output

    def warning(self, text: str) -> None:
        self.log.line(f"linkwork: warning: {text}")

    def error(self, text: str) -> None:
        self.log.line(f"linkwork: error: {text}")


def escaped(text: str) -> str:
    """A text from outside, with control characters (and all else that does not print) as backslash escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _backslashed(c) for c in text)


def label(text: str) -> str:
    """A name from a file as tables have it: `escaped`, and cut where it is very long."""
    return escaped(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def number(x: float) -> str:
    """A number with up to six digits."""
    return f"{x + 0.0:.6g}"


def numbers(values: Iterable[float]) -> str:
    """One number, or several in parentheses; a dash where none of them is finite."""
    shown = [number(x) for x in values]
    if all(text in ("inf", "-inf") for text in shown):
        return "-"
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def quantity(count: int, singular: str) -> str:
    """ "1 link", "7 links"."""
    return f"{count} {singular}" if count == 1 else f"{count} {singular}s"


def finite(values: Any) -> list[float | None]:
    """Numbers as JSON has them: None where there is no bound (infinity)."""
    return [float(x) if np.isfinite(x) else None for x in values]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> list[str]:
    """Rows under a header, in columns as wide as they need; columns ``left`` are flush left, the others right."""
    widths = [max(map(width, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, ["-" * n for n in widths], *rows):
        cells = []
        for k, (cell, n) in enumerate(zip(row, widths, strict=True)):
            space = " " * (n - width(cell))
            cells.append(cell + space if k in left else space + cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def width(text: str) -> int:
    """How many columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _backslashed(c: str) -> str:
    return c.encode("unicode_escape").decode("ascii")


_LONGEST = 60  # characters of a name in a table

_PLAIN = dict(zip("├└│─█░…·×µ²", "|`|-#.~.xu2", strict=True))
