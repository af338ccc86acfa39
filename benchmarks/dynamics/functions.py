"""Matrices of kinematics and dynamics compared with Pinocchio: `python -m benchmarks.dynamics.functions`.

The benchmark measures selected functions as `python -m benchmarks` does.  The default functions are the inverse of the
mass matrix, the Coriolis matrix, the centroidal momentum matrix, the Jacobian of the center of mass, the time
derivative of a hand's Jacobian, and the regressor of joint forces.  Pinocchio has no batched calls for them and is
called in a loop.  ``--file robot.urdf inverse_dynamics`` measures a robot of your own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.dynamics.robot_figures import FULL, QUICK, measure_robot
from benchmarks.measurement.machine import machine
from benchmarks.measurement.robots import ROBOTS, BenchmarkRobot
from benchmarks.peers.pinocchio_peer import COUNTERPARTS
from benchmarks.tables.report import METHOD, context_table, data, target_table
from benchmarks.tables.targets import MATRICES
from benchmarks.tables.verdicts import verdicts
from linkwork.cli.output import Stream, Terminal

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and, if asked, write the JSON; return 1 if outputs differ from Pinocchio's."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dynamics.functions", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "functions",
        nargs="*",
        default=MATRICES,
        metavar="FUNCTION",
        help="functions to measure (default: the matrices)",
    )
    parser.add_argument("--robots", nargs="+", default=["panda", "talos"], choices=list(ROBOTS), metavar="NAME")
    parser.add_argument("--file", metavar="URDF", help="measure the robot in this file instead")
    parser.add_argument("--quick", action="store_true", help="one batch, short timings")
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    parser.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    chosen = parser.parse_args(arguments)
    if not set(chosen.functions) <= set(COUNTERPARTS):
        parser.error(f"expected functions of {', '.join(COUNTERPARTS)}, got {', '.join(chosen.functions)}")
    terminal, about = Terminal(Stream(sys.stdout), Stream(sys.stderr)), machine()
    plan = QUICK if chosen.quick else FULL
    robots = [BenchmarkRobot.of_file(chosen.file)] if chosen.file else [ROBOTS[name] for name in chosen.robots]
    results = [measure_robot(robot, plan, terminal.log.line, chosen.functions) for robot in robots]
    rows = verdicts(results, None, functions=chosen.functions)
    out = terminal.out
    if rows:  # some functions and robots have no target
        out.lines([*target_table(rows, markdown=chosen.markdown), ""])
    out.lines([*context_table(results, markdown=chosen.markdown), ""])
    out.line("; ".join(f"{name} {value}" for name, value in about.items()))
    out.line(METHOD)
    out.line(f"{sum(row.met for row in rows)} of {len(rows)} targets met")
    if chosen.json:
        written = data(about, results, None, rows, {})
        Path(chosen.json).write_text(json.dumps(written, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    wrong = [
        f"{result.robot}: {outcome.function}" for result in results for outcome in result.functions if outcome.differs
    ]
    for measure in wrong:
        terminal.error(f"{measure}: outputs differ from Pinocchio's by more than rounding explains")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
