"""Run of every benchmark at its smallest size: `python -m benchmarks.smallest [NAME...]`.

It shows that each of them starts and ends; its figures are of no use.  `.ci/nightly` runs it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

from linkwork.cli.output import Stream

__all__ = ["SMALLEST", "STARTED_BY_OTHERS"]

SMALLEST = {  # arguments of each benchmark, by the name of its module
    "__main__": ("--quick", "--robots", "panda", "--json", "/dev/null"),
    "accuracy": ("--samples", "200", "--functions", "exp"),
    "callable_forms": ("--only", "Pose"),
    "closed_form": ("--quick",),
    "contact_stacks": ("--quick",),
    "control": ("--quick",),
    "dask_overhead": ("--chunks", "1000", "--rounds", "1"),
    "derivatives": ("--quick", "--robots", "panda"),
    "distance": ("--quick", "--pairs", "sphere, box"),
    "distance_identities": ("--count", "5", "--searched", "1", "--families", "cylinder-hull"),
    "distributed": ("--parts", "pickling", "--samples", "1e4", "--rounds", "1"),
    "figures": (),
    "first_call": ("inverse dynamics", "--repeat", "1"),
    "functions": ("--quick", "--robots", "panda"),
    "fuzz": ("arguments", "--count", "20"),
    "fuzz_callables": ("--count", "20"),
    "fuzz_formats": ("--count", "20", "urdf"),
    "growth": ("--quick",),
    "handed": ("--functions", "inverse_dynamics"),
    "hostile_run": (),
    "ik": ("--quick", "--robot", "panda"),
    "large": ("--robots", "chain 20"),
    "linalg": ("--sizes", "3"),
    "mechanism_energy": ("--random", "0", "--bundled", "fourbar", "--duration", "0.1"),
    "mechanisms": ("--quick",),
    "motion": ("--quick",),
    "motion_planning": ("--queries", "5"),
    "optimal": ("--quick",),
    "parameters": ("--quick", "panda"),
    "pickled_kernels": ("--processes", "2", "--repeats", "1"),
    "quadratic": ("--quick",),
    "random_guesses": ("--count", "1"),
    "simulation": ("--quick",),
    "soak": ("--cases", "3"),
    "viewer": ("page",),
}
STARTED_BY_OTHERS = {  # modules that are programs, but no benchmarks of their own
    "control_functions": "a process of control",
    "distance_page": "writes tables of distance into a page",
    "fuzz_coverage": "a step of .ci/nightly, which needs atheris",
    "ik_page": "writes tables of ik into a page",
    "motion_page": "writes tables of motion into a page",
    "robot_files": "needs a folder of robot files",
    "shooting_peer": "a process of optimal",
    "smallest": "this program",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run benchmarks, print the seconds of each and the output of those that fail; return 1 if any fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smallest", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SMALLEST)} (default: all)")
    names, out, failed = parser.parse_args(arguments).names or [*SMALLEST], Stream(sys.stdout), 0
    for name in names:
        start = time.perf_counter()
        command = [sys.executable, "-m", f"benchmarks.{name}", *SMALLEST[name]]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        failed += done.returncode != 0
        out.line(f"{name}: exit code {done.returncode} after {time.perf_counter() - start:.0f} s")
        if done.returncode:
            out.lines(done.stdout.splitlines()[-30:])
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
