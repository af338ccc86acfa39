"""Reference motion beside others: `python -m benchmarks.motion`.

Each part is a module with a function ``rows(quick)`` that gives rows of text, what stands beside what: to add one, name
it in `PARTS`.  Outputs are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from linkwork import set_num_threads

from .motion_profiles import profile_rows
from .motion_splines import spline_rows
from .motion_timing import timing_rows

__all__ = ["PARTS", "main"]

Rows = Callable[[bool], list[tuple[str, str]]]

PARTS: dict[str, Rows] = {"profiles": profile_rows, "splines": spline_rows, "timing": timing_rows}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print.  Raises AssertionError where results differ from another library's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.motion", description=__doc__)
    parser.add_argument("parts", nargs="*", help="all, if none is named")
    parser.add_argument("--quick", action="store_true", help="fewer cases and rounds")
    chosen = parser.parse_args(arguments)
    set_num_threads(1)
    for name in chosen.parts or PARTS:
        print(f"\n{name}")
        for what, figure in PARTS[name](chosen.quick):
            print(f"  {what:<72} {figure}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
