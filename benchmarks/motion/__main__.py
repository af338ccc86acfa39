"""Reference motion compared with other libraries: `python -m benchmarks.motion`.

Each part is a module with a function ``rows(quick)`` that returns `MotionRow`s: a figure with its unit and, if
available, its target and another library's figure.  To add a part, add its function to `PARTS`, its targets to
`targets.MOTION`, and its table to docs/motion_figures.md between two comments with the part's name (a test checks
this).  Outputs are compared before anything is timed.  ``--write`` measures all parts, or the named ones, and writes
the tables into that page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.motion.cartesian import cartesian_rows
from benchmarks.motion.planning import planning_rows
from benchmarks.motion.profiles import profile_rows
from benchmarks.motion.splines import spline_rows
from benchmarks.motion.timing import timing_rows
from benchmarks.tables.figure_pages import PAGE
from benchmarks.tables.part_programs import Rows, run_parts

__all__ = ["PARTS", "main"]

PARTS: dict[str, Rows] = {
    "profiles": profile_rows,
    "splines": spline_rows,
    "timing": timing_rows,
    "planning": planning_rows,
    "cartesian": cartesian_rows,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print.  Raises AssertionError where results differ from another library's."""
    return run_parts("motion", __doc__ or "", PARTS, PAGE, arguments)


if __name__ == "__main__":
    sys.exit(main())
