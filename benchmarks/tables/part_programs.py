"""Common code of benchmarks with several parts: arguments, tables, the file of results, and the page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.measurement.machine import machine
from benchmarks.tables.figure_pages import as_data, write
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.rows import table
from linkwork import set_num_threads
from linkwork.cli.output import Stream, Terminal

__all__ = ["Rows", "run_parts"]

Rows = Callable[[bool], list[MotionRow]]


def run_parts(
    name: str, about: str, parts: Mapping[str, Rows], page: Path, arguments: Sequence[str] | None = None
) -> int:
    """Measure and print.  Raises AssertionError where results differ from another library's."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about.split("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"names among {', '.join(parts)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer cases and rounds")
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {page.name}")
    chosen = parser.parse_args(arguments)
    unknown = [part for part in chosen.parts if part not in parts]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(parts)}")
    set_num_threads(1)
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    results: dict[str, list[MotionRow]] = {}
    for part in chosen.parts or parts:
        results[part] = parts[part](chosen.quick)
        cells = [[x.label, x.ours_shown, x.target_shown, x.peer_shown, x.verdict] for x in results[part]]
        terminal.out.lines([*table([part, "linkwork", "target", "peer", ""], cells, left=(0, 3, 4)), ""])
    judged = [row for rows in results.values() for row in rows if row.met is not None]
    if judged:
        terminal.out.line(f"{sum(bool(row.met) for row in judged)} of {len(judged)} targets met")
    where = machine()
    if chosen.json:
        data = {"machine": where, "parts": {part: as_data(rows) for part, rows in results.items()}}
        Path(chosen.json).write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if chosen.write:
        write(results, where, page)
    return 0
