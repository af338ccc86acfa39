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

SMALLEST = {  # arguments of each benchmark, by the name of its module after "benchmarks."
    "": ("--quick", "--robots", "panda", "--json", "/dev/null"),
    "compiler.accuracy": ("--samples", "200", "--functions", "exp"),
    "fuzz.callable_forms": ("--only", "Pose"),
    "ik.closed_form": ("--quick",),
    "simulation.contact_stacks": ("--quick",),
    "simulation.contact_kinds": ("quadruped_points",),
    "compiler.control_flow": ("--quick",),
    "clusters.dask_overhead": ("--chunks", "1000", "--rounds", "1"),
    "dynamics.derivatives": ("--quick", "--robots", "panda"),
    "distance": ("--quick", "--pairs", "sphere, box"),
    "distance.identities": ("--count", "5", "--searched", "1", "--families", "cylinder-hull"),
    "clusters.distributed": ("--parts", "pickling", "--samples", "1e4", "--rounds", "1"),
    "compiler.operation_counts": (),
    "first_calls": ("inverse dynamics", "--repeat", "1"),
    "dynamics.functions": ("--quick", "--robots", "panda"),
    "fuzz": ("arguments", "--count", "20"),
    "fuzz.callables": ("--count", "20"),
    "fuzz.formats": ("--count", "20", "urdf"),
    "dynamics.growth": ("--quick",),
    "dynamics.humanoid_derivatives": ("--functions", "inverse_dynamics"),
    "fuzz.hostile_run": (),
    "ik": ("--quick", "--robot", "panda"),
    "compiler.large_robots": ("--robots", "chain 20"),
    "compiler.linear_algebra": ("--sizes", "3"),
    "mechanisms.energy": ("--random", "0", "--bundled", "fourbar", "--duration", "0.1"),
    "mechanisms": ("--quick",),
    "motion": ("--quick",),
    "motion.planning": ("--queries", "5"),
    "optimal": ("--quick",),
    "dynamics.parameters": ("--quick", "panda"),
    "first_calls.pickled_kernels": ("--processes", "2", "--repeats", "1"),
    "optimal.quadratic": ("--quick",),
    "optimal.random_guesses": ("--count", "1"),
    "simulation": ("--quick",),
    "soak": ("--cases", "3"),
    "viewer": ("page",),
}
STARTED_BY_OTHERS = {  # modules that are programs, but no benchmarks of their own
    "compiler.control_flow_functions": "a process of control",
    "distance.page": "writes tables of distance into a page",
    "fuzz.coverage": "a step of .ci/nightly, which needs atheris",
    "ik.page": "writes tables of ik into a page",
    "tables.figure_pages": "writes tables of motion into a page",
    "formats.robot_files": "needs a folder of robot files",
    "optimal.shooting_peer": "a process of optimal",
    "smallest": "this program",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run benchmarks, print the seconds of each and the output of those that fail; return 1 if any fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smallest", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SMALLEST)} (default: all)")
    names, out, failed = parser.parse_args(arguments).names or [*SMALLEST], Stream(sys.stdout), 0
    for name in names:
        start = time.perf_counter()
        command = [sys.executable, "-m", f"benchmarks.{name}".strip("."), *SMALLEST[name]]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        failed += done.returncode != 0
        out.line(f"{name}: exit code {done.returncode} after {time.perf_counter() - start:.0f} s")
        if done.returncode:
            out.lines(done.stdout.splitlines()[-30:])
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
