"""Growth of cost with the number of links: `python -m benchmarks.dynamics.growth`.

The robots are chains of 5 to 200 hinges, and a binary tree of 255 spherical joints for dynamics, as in `large`.  For
each function and first derivative, the benchmark measures:

- the number of operations and the size of the code;
- the time to trace, compile and call it once and with a batch (cold, without the cache), and the memory for it;
- the time for one state in a batch on one thread, and for one call.

Reverse-mode derivatives are compared with the matrices.  A power law n^p is fitted to each figure of the chains by
least squares over logarithms, from `LEAST` links: in shorter chains, the savings at the links next to the world
dominate.

Operations grow as the algorithms predict.  Exponents of times are 0.1 to 0.2 higher where code or results exceed a
cache, or straight-line code becomes loops: that is a single factor, not a power.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.compiler.large_robots import (
    FUNCTIONS,
    VJP,
    LargeResult,
    check_derivatives,
    growth,
    large_robot,
    large_robots,
    large_verdicts,
    result_table,
)
from benchmarks.compiler.large_robots import ROBOTS as ALL
from benchmarks.dynamics.robot_figures import FULL, QUICK
from benchmarks.measurement.machine import machine
from benchmarks.tables.rows import table
from benchmarks.tables.targets import GROWTH, GROWTH_SLACK, LARGE, Target
from benchmarks.tables.verdicts import Verdict
from linkwork.cli.function_timings import Effort

__all__ = ["Growth", "fitted", "grown", "growth_verdicts"]

LEAST = 20
FIGURES = {
    "operations": "operations",
    "batch": "time of a state in a batch",
    "call": "time of one call",
    "cold": "compile cold",
    "code_bytes": "code size",
}
_QUICK = ("chain 10", "chain 20", "chain 50")
_LONG = ("chain 200", "tree 255")
_CHAINS, _TREES = ([x for x in ALL if x.startswith(shape)] for shape in ("chain", "tree"))
_CHECKED, _NEAR = "chain 50", 1e-9  # where derivatives are compared, and how near they have to be


@dataclass(frozen=True, slots=True)
class Growth:
    """The power of a chain's number of links with which a figure of a function grows."""

    function: str
    figure: str
    sizes: tuple[int, ...]
    values: tuple[float, ...]
    power: float

    @property
    def target(self) -> Target:
        return Target(GROWTH[self.function] + GROWTH_SLACK)


def grown(effort: Effort, quick: bool = False) -> list[LargeResult]:
    """Measure all chains and trees; quick: short chains, and the cases with bounds in `large`."""
    if not quick:
        return [*large_robots(effort, _CHAINS, functions=tuple(GROWTH)), *large_robots(effort, _TREES)]
    results = [*large_robots(effort, _QUICK, functions=tuple(GROWTH)), *large_robots(effort, _LONG)]
    chains = {function: None for robot, function in LARGE if robot == _LONG[0] and function not in FUNCTIONS}
    return [*results, *large_robots(effort, _LONG[:1], functions=tuple(chains))]


def fitted(results: Sequence[LargeResult], least: int = LEAST) -> list[Growth]:
    """The growth of every figure of every function of which chains of two lengths were measured."""
    result = []
    for function in GROWTH:
        chains = [x for x in results if x.function == function and x.robot.startswith("chain")]
        chains = [x for x in chains if int(x.robot.split()[1]) >= least]
        if len(chains) < 2:
            continue
        sizes = tuple(int(x.robot.split()[1]) for x in chains)
        for figure in FIGURES:
            if not all(getattr(x, figure) for x in chains):
                continue  # nobody tells
            values = tuple(float(getattr(x, figure)) for x in chains)
            result.append(Growth(function, figure, sizes, values, growth(chains, figure)))
    return result


def growth_verdicts(result: Sequence[Growth]) -> list[Verdict]:
    """The rows of the table of targets."""
    rows = []
    for x in result:
        title = f"{x.function.replace('_', ' ')}, growth of {FIGURES[x.figure]}"
        chains = f"chains {x.sizes[0]}-{x.sizes[-1]}"
        times = f"x {x.values[-1] / x.values[0]:.3g}"
        bound = f"<= n^{GROWTH[x.function]}"
        rows.append(Verdict(chains, title, times, "-", x.power, f"n^{x.power:.2f}", x.target, bound))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables and, if asked, write the JSON; return 1 if derivatives disagree."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dynamics.growth", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="short chains, short timings")
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    chosen = parser.parse_args(arguments)
    about = machine()
    results = grown((QUICK if chosen.quick else FULL).effort, chosen.quick)
    result = fitted(results)
    rows = [*large_verdicts(results), *growth_verdicts(result)]
    cells = [[x.robot, x.label, x.ours, x.shown, x.target_shown, x.verdict] for x in rows]
    print("\n".join(result_table(results)))
    print()
    print("\n".join(table(["robots", "what", "", "grows as", "target", ""], cells, left=(0, 1, 5))))
    robot = large_robot(_CHECKED)
    errors = {function: check_derivatives(robot, function) for function in FUNCTIONS}
    for function, error in errors.items():
        print(f"{VJP}{function} beside its derivatives, {_CHECKED}: {error:.1e} of their size")
    print("; ".join(f"{name} {value}" for name, value in about.items()))
    print(f"{sum(row.met for row in rows)} of {len(rows)} targets met")
    if chosen.json:
        data = {
            "machine": about,
            "results": [asdict(x) for x in results],
            "errors": errors,
            "growth": [{**asdict(x), "max_iterations": x.target.bound, "met": x.target.met(x.power)} for x in result],
        }
        Path(chosen.json).write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return int(not all(error < _NEAR for error in errors.values()))


if __name__ == "__main__":
    raise SystemExit(main())
