"""Reference motion beside others: `python -m benchmarks.motion`.

Each part is a module with a function ``rows(quick)`` that gives `MotionRow`s: a figure each, with its unit, its target
and another library's figure, where there are such.  To add a part: name its function in `PARTS`, its targets in
`targets.MOTION`, and its table in docs/motion_figures.md, between two comments with the part's name (a test asks for
them).  Outputs are compared before anything is timed.  ``--write`` measures all parts, or those that are named, and
puts the tables into that page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from linkwork import set_num_threads
from linkwork.cli.output import Stream, Terminal, table

from .machine import machine
from .motion_cartesian import cartesian_rows
from .motion_page import PAGE, as_data, write
from .motion_planning import planning_rows
from .motion_profiles import profile_rows
from .motion_rows import MotionRow
from .motion_splines import spline_rows
from .motion_timing import timing_rows

__all__ = ["PARTS", "main"]

Rows = Callable[[bool], list[MotionRow]]

PARTS: dict[str, Rows] = {
    "profiles": profile_rows,
    "splines": spline_rows,
    "timing": timing_rows,
    "planning": planning_rows,
    "cartesian": cartesian_rows,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print.  Raises AssertionError where results differ from another library's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.motion", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all, if none is named")
    parser.add_argument("--quick", action="store_true", help="fewer cases and rounds")
    parser.add_argument("--json", metavar="FILE", help="where to write everything measured")
    parser.add_argument("--write", action="store_true", help=f"put what was measured into {PAGE.name}")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.parts if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    set_num_threads(1)
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    found: dict[str, list[MotionRow]] = {}
    for name in chosen.parts or PARTS:
        found[name] = PARTS[name](chosen.quick)
        cells = [[x.what, x.ours_shown, x.target_shown, x.peer_shown, x.verdict] for x in found[name]]
        terminal.out.lines([*table([name, "linkwork", "target", "peer", ""], cells, left=(0, 3, 4)), ""])
    judged = [row for rows in found.values() for row in rows if row.met is not None]
    if judged:
        terminal.out.line(f"{sum(bool(row.met) for row in judged)} of {len(judged)} targets met")
    about = machine()
    if chosen.json:
        data = {"machine": about, "parts": {name: as_data(rows) for name, rows in found.items()}}
        Path(chosen.json).write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if chosen.write:
        write(found, about)
    return 0


if __name__ == "__main__":
    sys.exit(main())
