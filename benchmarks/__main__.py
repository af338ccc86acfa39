"""`python -m benchmarks`: measure, print the table, write the JSON.

The exit code is 1 where outputs differ from Pinocchio's by more than rounding explains, and 0 otherwise: a target that
is missed shows in the table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compiler.compiler_figures import long_program_seconds, no_op_seconds
from benchmarks.compiler.control_flow import QUICK as QUICK_CONTROL
from benchmarks.compiler.control_flow import ControlSizes, control_figures, control_verdicts
from benchmarks.compiler.large_robots import large_verdicts
from benchmarks.compiler.linear_algebra import linear_algebra, linear_algebra_verdicts
from benchmarks.dynamics.growth import fitted, grown, growth_verdicts
from benchmarks.dynamics.robot_figures import FULL, QUICK, Plan, RobotResult, measure_robot
from benchmarks.first_calls.startup import measure_startup
from benchmarks.measurement.machine import machine
from benchmarks.measurement.robots import ROBOTS, NotInstalled
from benchmarks.tables.report import METHOD, context_table, data, target_table
from benchmarks.tables.verdicts import verdicts
from linkwork.cli.output import Stream, Terminal

RESULTS = Path(__file__).parent / "results"
QUICK_ROBOTS = ("panda", "talos")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; returns the exit code."""
    chosen = _parser().parse_args(arguments)
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    plan = QUICK if chosen.quick else FULL
    about = machine()
    startup = measure_startup(3 if chosen.quick else 7)
    results = _measured(chosen.robots or (QUICK_ROBOTS if chosen.quick else tuple(ROBOTS)), plan, terminal)
    matrices = linear_algebra(plan.effort)
    sizes = QUICK_CONTROL if chosen.quick else ControlSizes()
    rows = [*verdicts(results, startup, long_program_seconds()), *linear_algebra_verdicts(matrices)]
    rows += control_verdicts(control_figures(plan.effort, sizes), sizes)
    many = grown(plan.effort, chosen.quick)
    rows += [*large_verdicts(many), *growth_verdicts(fitted(many))]
    floor = no_op_seconds(plan.effort)
    file = Path(chosen.json or RESULTS / time.strftime("%Y-%m-%dT%H%M%S.json"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        json.dumps(data(about, results, startup, rows, floor, many), indent=1, allow_nan=False) + "\n", encoding="utf-8"
    )
    out = terminal.out
    out.lines([*target_table(rows, markdown=chosen.markdown), ""])
    if results:  # otherwise all robots were left out, with the reasons
        out.lines([*context_table(results, markdown=chosen.markdown), ""])
    out.lines([f"{result.robot}: {note}" for result in results for note in result.notes])
    shown = ", ".join(f"{measure} {1e6 * seconds:.3f} µs" for measure, seconds in floor.items())
    out.line(f"a call that computes nothing, three arrays in and one out: {shown}")
    out.line(f"first answer of a fresh process (import, load, call): {startup.first_answer_seconds:.2f} s")
    out.line(
        f"a pose in a fresh process: {startup.pose_seconds:.3f} s of processor time, {startup.pose_modules} modules"
    )
    out.line("; ".join(f"{name} {value}" for name, value in about.items()))
    out.line(METHOD)
    met = sum(row.met for row in rows)
    out.line(f"{met} of {len(rows)} targets met; written to {file}")
    wrong = [
        f"{result.robot}: {outcome.function}" for result in results for outcome in result.functions if outcome.differs
    ]
    for measure in wrong:
        terminal.error(f"{measure}: outputs differ from Pinocchio's by more than rounding explains")
    return 1 if wrong else 0


def _measured(names: Sequence[str], plan: Plan, terminal: Terminal) -> list[RobotResult]:
    results = []
    for name in names:
        try:
            results.append(measure_robot(ROBOTS[name], plan, terminal.log.line))
        except NotInstalled as reason:
            terminal.warning(f"left out: {reason}")
    return results


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure linkwork beside Pinocchio.")
    parser.add_argument("--quick", action="store_true", help="two robots, one batch, short timings: about a minute")
    parser.add_argument("--robots", nargs="+", metavar="NAME", choices=list(ROBOTS), help=f"of {', '.join(ROBOTS)}")
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    parser.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
