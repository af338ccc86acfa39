"""What the commands print: text that any stream takes, tables, JSON, and names made safe to print.

Data goes to standard output and logs to standard error.  There is no colour.

Tables that fit a width: columns that say nothing are left out, and those that do not fit follow below.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.console import Stream
from linkwork._util.messages import cut, escaped, label, number, numbers, table, width

__all__ = [
    "Stream",
    "Terminal",
    "columns_of",
    "escaped",
    "finite",
    "folded",
    "label",
    "number",
    "numbers",
    "quantity",
    "table",
    "width",
]


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a command prints: data and logs."""

    out: Stream
    log: Stream

    def warning(self, text: str) -> None:
        self.log.line(f"linkwork: warning: {text}")

    def error(self, text: str) -> None:
        self.log.line(f"linkwork: error: {text}")


def quantity(count: int, singular: str) -> str:
    """ "1 link", "7 links"."""
    return f"{count} {singular}" if count == 1 else f"{count} {singular}s"


def finite(values: Any) -> list[float | None]:
    """Numbers as JSON has them: None where there is no bound (infinity)."""
    return [float(x) if np.isfinite(x) else None for x in values]


_GAP = 2  # columns between two of a table


def columns_of(out: Stream) -> int | None:
    """How many columns a terminal shows; None for what is no terminal, which takes all."""
    return shutil.get_terminal_size().columns if out.is_terminal else None


def folded(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: int | None,
    *,
    left: Sequence[int] = (0,),
    together: Sequence[Sequence[int]] = (),
) -> list[str]:
    """A table, in as many parts below each other as it takes to fit; each part begins with the first column.

    Columns in which no row says anything (but a dash) are left out.  Those that are to stand ``together`` come in one
    part where that has room for them.  Rows that say nothing in a part are in the first alone.  Cells are cut where
    they are wider than a part, or names than three fifths.  Where ``columns`` is None there is room for all.
    """
    if columns is None:
        return table(header, rows, left=left)
    told = [0, *(k for k in range(1, len(header)) if any(row[k] not in ("", "-") for row in rows))]
    wide = [max(map(width, column)) for column in zip(header, *rows, strict=True)]
    wide[0] = min(wide[0], 3 * columns // 5)
    room = columns - wide[0]  # for the others, each with the gap before it
    wide = [wide[0], *(min(n, room - _GAP) for n in wide[1:])]
    parts: list[list[int]] = [[]]
    for unit in _units(told[1:], together):
        for piece in [unit] if _taken(unit, wide) <= room else [[k] for k in unit]:
            if parts[-1] and _taken([*parts[-1], *piece], wide) > room:
                parts.append([])
            parts[-1] += piece
    result: list[str] = []
    for part in parts:
        shown = [0, *part]
        telling = [row for row in rows if part is parts[0] or any(row[k] not in ("", "-") for k in part)]
        cells = [[cut(line[k], wide[k]) for k in shown] for line in (header, *telling)]
        flush = [place for place, k in enumerate(shown) if k in left]
        result += [*([""] if result else []), *table(cells[0], cells[1:], left=flush)]
    return result


def _units(told: Sequence[int], together: Sequence[Sequence[int]]) -> list[list[int]]:
    """The columns in their order, those that stand together in one list."""
    of = {k: list(unit) for unit in together for k in unit}
    units: list[list[int]] = []
    for k in told:
        if units and units[-1][0] in of.get(k, ()):
            units[-1].append(k)
        else:
            units.append([k])
    return units


def _taken(chosen: Sequence[int], wide: Sequence[int]) -> int:
    return sum(_GAP + wide[k] for k in chosen)
