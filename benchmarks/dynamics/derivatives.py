"""Derivatives compared with Pinocchio and with the functions themselves: `python -m benchmarks.dynamics.derivatives`.

Full derivatives of inverse and forward dynamics are measured as `python -m benchmarks` measures functions.  Pinocchio
has no batched call for them and is called in a loop.  The costs of a gradient (`Kernel.vjp`) and of a Hessian-vector
product are relative to the function's own kernel, timed in the same rounds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.dynamics.robot_figures import FULL, QUICK, STANDARD_BATCH, measure_robot
from benchmarks.measurement.machine import machine
from benchmarks.measurement.paired_timing import compare
from benchmarks.measurement.robots import ROBOTS
from benchmarks.tables.report import METHOD, context_table, data, target_table
from benchmarks.tables.targets import DERIVATIVES, GRADIENTS, Target
from benchmarks.tables.verdicts import Verdict, verdicts
from linkwork import Kernel, Robot
from linkwork.cli.arguments import random_states
from linkwork.cli.function_timings import Call, Effort, threads
from linkwork.cli.output import Stream, Terminal

__all__ = ["gradients", "main"]


def gradients(name: str, effort: Effort) -> Iterator[Verdict]:
    """Yield the cost and the correctness of gradients and Hessian-vector products of a robot."""
    robot = ROBOTS[name].load()
    for (function, title), most in GRADIENTS.items():
        kernel = robot.compile(function)
        states = list(random_states(robot, function, 2, STANDARD_BATCH).values())
        rng = np.random.default_rng(0)
        weights = rng.normal(size=(STANDARD_BATCH, robot.nv))
        if title == "vjp":
            derived, more = kernel.vjp(), [weights]
            _check_gradient(robot, function, derived, [x[:3] for x in (*states, weights)])
        else:
            derived = kernel.hessian(weights=True, vector=True)
            directions = [rng.normal(size=(STANDARD_BATCH, robot.nv)) for _ in states]
            more = [weights, *directions]
            _check_product(robot, kernel, derived, [x[:3] for x in (*states, *more)])
        with threads(1):
            result = compare(_call(derived, [*states, *more]), _call(kernel, states), effort)
        value = result.ours / result.peer if result.peer else None
        shown = f"{value:.2f}x of the function" if value else "-"
        times = [f"{1e9 * x / STANDARD_BATCH:.4g} ns" if x else "-" for x in (result.ours, result.peer)]
        operations = f"{derived.arithmetic / kernel.arithmetic:.2f}x its operations"
        readable = f"{function.replace('_', ' ')}, {title}, {operations}"
        yield Verdict(name, readable, times[0], times[1], value, shown, Target(most), f"<= {most:g}x")


def _call(kernel: Kernel, arrays: Sequence[np.ndarray]) -> Call:
    names = {f"x{k}": x for k, x in enumerate(arrays)}
    return Call(f"kernel({', '.join(names)})", {"kernel": kernel, **names})


def _check_gradient(robot: Robot, function: str, vjp: Kernel, arguments: Sequence[np.ndarray]) -> None:
    """Against the analytic derivatives.  Raises AssertionError."""
    *states, weights = arguments
    result = vjp(*arguments)
    full = getattr(robot, f"{function}_derivatives")(*states)
    for gradient, matrix in zip(result, full, strict=True):
        expected = np.einsum("ni,nik->nk", weights, matrix)
        error = np.abs(gradient - expected).max() / np.abs(expected).max()
        assert error < 1e-8, f"{robot.name}: {function}: the gradient differs by {error:.2g}"


def _check_product(robot: Robot, kernel: Kernel, product: Kernel, arguments: Sequence[np.ndarray]) -> None:
    """Against differences of gradients.  Raises AssertionError."""
    q, v, tau, weights, *directions = arguments
    h, gradient = 1e-5, kernel.vjp()
    ends = [
        gradient(
            robot.integrate(q, s * h * directions[0]), v + s * h * directions[1], tau + s * h * directions[2], weights
        )
        for s in (1.0, -1.0)
    ]
    products = product(*arguments)
    for k, name in ((1, "v"), (2, "tau")):  # by q, differences of gradients are not symmetric on a manifold
        expected = (ends[0][k] - ends[1][k]) / (2.0 * h)
        error = np.abs(products[k] - expected).max() / max(np.abs(expected).max(), 1.0)
        assert error < 1e-4, f"{robot.name}: the Hessian-vector product by {name} differs by {error:.2g}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and, if asked, write the JSON; return 1 if outputs differ from Pinocchio's."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dynamics.derivatives", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--robots", nargs="+", default=["panda", "talos", "g1"], choices=list(ROBOTS), metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="one batch, short timings")
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    parser.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    chosen = parser.parse_args(arguments)
    terminal, about = Terminal(Stream(sys.stdout), Stream(sys.stderr)), machine()
    plan = QUICK if chosen.quick else FULL
    results = [measure_robot(ROBOTS[name], plan, terminal.log.line, DERIVATIVES) for name in chosen.robots]
    rows = verdicts(results, None, functions=DERIVATIVES)
    for name in chosen.robots:
        rows += gradients(name, plan.effort)
        terminal.log.line(f"{name}: gradients")
    out = terminal.out
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
