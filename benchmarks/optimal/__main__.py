"""Optimal motion compared with other libraries: `python -m benchmarks.optimal`.

Each part is a module with a function ``rows(quick)`` that returns `MotionRow`s: a figure with its unit and, if
available, its target and another library's figure.  To add a part, add its function to `PARTS`, its targets to
`targets.OPTIMAL`, and its table to docs/optimal_figures.md between two comments with the part's name (a test checks
this).  Outputs are compared before anything is timed.  ``--write`` measures all parts, or the named ones, and writes
the tables into that page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.optimal.control import lqr_rows, mpc_rows
from benchmarks.optimal.derivative import derivative_rows
from benchmarks.optimal.legged import legged_rows
from benchmarks.optimal.paths import path_rows
from benchmarks.optimal.scenes import scene_rows
from benchmarks.optimal.shooting import shooting_rows
from benchmarks.tables.part_programs import Rows, run_parts

__all__ = ["PAGE", "PARTS", "main"]

PAGE = Path(__file__).parents[2] / "docs" / "optimal_figures.md"
PARTS: dict[str, Rows] = {
    "paths": path_rows,
    "scenes": scene_rows,
    "legged": legged_rows,
    "shooting": shooting_rows,
    "lqr": lqr_rows,
    "mpc": mpc_rows,
    "derivative": derivative_rows,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print.  Raises AssertionError where results differ from another library's."""
    return run_parts("optimal", __doc__ or "", PARTS, PAGE, arguments)


if __name__ == "__main__":
    sys.exit(main())
