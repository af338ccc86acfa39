"""Names and numbers as people read them: made safe to print, cut where they are long, as wide as they are."""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from linkwork._util.console import backslashed

__all__ = ["cut", "escaped", "label", "number", "numbers", "short_repr", "table", "width"]

_LONGEST = 60  # characters of a name in a table
_FEW = 12  # numbers of an array that are shown


def escaped(text: str) -> str:
    """A text from outside, with control characters (and all else that does not print) as backslash escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else backslashed(c) for c in text)


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


def cut(text: str, columns: int) -> str:
    """A text in at most so many columns: its end is left out where it takes more."""
    if width(text) <= columns:
        return text
    while width(text) >= columns:
        text = text[:-1]
    return text + "…"


def width(text: str) -> int:
    """How many columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


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


def short_repr(value: Any) -> str:
    """The class and the fields of a named tuple or a dataclass, with large arrays by their shapes: its ``__repr__``.

    >>> from typing import NamedTuple
    >>> class Gains(NamedTuple):
    ...     K: object
    ...     name: str
    ...     def __repr__(self):
    ...         return short_repr(self)
    >>> Gains(np.zeros((3, 14)), "arm")
    Gains(K=<array (3, 14)>, name='arm')
    """
    fields = getattr(value, "_fields", None)
    names = fields or [f.name for f in dataclasses.fields(value) if f.repr]
    return f"{type(value).__name__}({', '.join(f'{name}={_shown(getattr(value, name))}' for name in names)})"


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"<array {x.shape}>" if x.size > _FEW or x.dtype == object else repr(x.tolist())
    if isinstance(x, (list, tuple, dict)) and len(x) > _FEW:
        return f"<{type(x).__name__} of {len(x)}>"
    return repr(x)
