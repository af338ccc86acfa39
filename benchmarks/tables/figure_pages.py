"""The page of figures of motion, which `python -m benchmarks.motion --write` updates.

`python -m benchmarks.tables.figure_pages FILES` updates it from files that ``--json`` wrote.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.compiler.operation_counts import written
from benchmarks.measurement.machine import named
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import Target

__all__ = ["PAGE", "as_data", "main", "of_data", "tables", "write"]

PAGE = Path(__file__).parents[2] / "docs" / "motion_figures.md"


def tables(parts: Mapping[str, Sequence[MotionRow]], about: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables of the measured parts, by their names in the page."""
    where = f"{named(about)}; {str(about['date'])[:10]}."
    return {name: "\n".join([*_table(rows), "", where]) for name, rows in parts.items() if rows}


def _table(rows: Sequence[MotionRow]) -> list[str]:
    cells = [(x.label, x.ours_shown, x.peer_shown) for x in rows]
    return [
        "| | linkwork | peer |",
        "|---|--:|--:|",
        *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |".replace("|  |", "| |") for row in cells),
    ]


def as_data(rows: Sequence[MotionRow]) -> list[dict[str, Any]]:
    """Plain values, for a file."""
    return [{**asdict(row), "met": row.met} for row in rows]


def of_data(rows: Sequence[dict[str, Any]]) -> list[MotionRow]:
    """Return the rows in a file's data."""
    results = []
    for row in rows:
        bounds = {x: None if row[x] is None else Target(**row[x]) for x in ("target", "beside")}
        results.append(MotionRow(**{**{k: v for k, v in row.items() if k != "met"}, **bounds}))
    return results


def write(parts: Mapping[str, Sequence[MotionRow]], about: Mapping[str, Any], page: Path = PAGE) -> None:
    """Write the tables of the measured parts into a page."""
    page.write_text(written(page.read_text(encoding="utf-8"), tables(parts, about)), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables into the page; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables.figure_pages", description="Put figures in place."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="files that python -m benchmarks.motion --json wrote")
    for file in parser.parse_args(arguments).files:
        data = json.loads(Path(file).read_text(encoding="utf-8"))
        write({name: of_data(rows) for name, rows in data["parts"].items()}, data["machine"])
    print(f"{PAGE.name}: tables written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
