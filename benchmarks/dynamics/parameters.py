"""Cost of runtime parameters of a robot: `python -m benchmarks.dynamics.parameters`.

For each function, the benchmark measures the operations for one state and the time for a batch on one thread.  The
robot's parameters are constants, or some are inputs, either shared by all states of the batch or with one value per
state.  Ratios of times are medians of rounds in which both run one right after the other.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.dynamics.robot_figures import FULL, QUICK, STANDARD_BATCH
from benchmarks.measurement.machine import machine
from benchmarks.measurement.paired_timing import compare
from benchmarks.measurement.robots import ROBOTS, NotInstalled
from benchmarks.tables.rows import table
from linkwork.cli.function_timings import Call, Effort, threads

__all__ = ["FUNCTIONS", "Cost", "cost_table", "costs", "parameter_sets"]

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
IN_JOINTS = ("armature", "damping", "friction")


@dataclass(frozen=True, slots=True)
class Cost:
    """A function with some parameters; the time is that of one state in a batch without any [s]."""

    robot: str
    function: str
    parameters: str  # in words
    count: int  # how many there are
    operations: int
    constant_operations: int  # of the same function without parameters
    constant_batch: float
    shared: float  # how many times that it takes where the batch shares the parameters
    each: float  # and where each state has its own

    @property
    def work(self) -> float:
        """Return the operations relative to the function without parameters."""
        return self.operations / self.constant_operations


def parameter_sets(robot: lw.Robot, function: str) -> dict[str, tuple[bool, list[str]]]:
    """Return by description the sets of runtime parameters: whether joint parameters count, and the names."""
    body, joint = robot.bodies[-1], robot.joints[len(robot.joints) // 2].name
    results = {
        "gravity": (False, ["gravity"]),
        "inertia of a hand or foot": (False, [f"inertia:{body}"]),
        "inertias of all bodies": (False, ["inertia"]),
        "armature, damping, friction": (True, [*IN_JOINTS]),
        "placement of a joint": (False, [f"placement:{joint}"]),
        "placements of all joints": (False, ["placement"]),
        "all of these": (True, ["inertia", "placement", *IN_JOINTS, "gravity"]),
    }
    if function == "mass_matrix":
        del results["gravity"]
        results["armature, damping, friction"] = (True, ["armature"])
        results["all of these"] = (True, ["inertia", "placement", "armature"])
    return results


def costs(name: str, robot: lw.Robot, effort: Effort, size: int = STANDARD_BATCH) -> list[Cost]:
    """Every function of one robot with every set of parameters, on one thread."""
    results = []
    rng = np.random.default_rng(0)
    states: dict[str, Any] = {"q": robot.random_configuration(rng, size=size)}
    states |= {key: rng.normal(size=(size, robot.nv)) for key in ("v", "a", "tau")}
    with threads(1):
        for function in FUNCTIONS:
            for words, (passive, parameters) in parameter_sets(robot, function).items():
                request = (function, {"passive": True}) if passive else function
                before, kernel = robot.compile(request), robot.compile(request, parameters=parameters)
                values = robot.parameters(parameters)
                many = {key: x + 0.01 * np.abs(x) * rng.normal(size=(size, *x.shape)) for key, x in values.items()}
                arrays = {port.name: states[port.name] for port in before.inputs}
                single_call = _call(before, arrays)
                shared, each = (compare(single_call, _call(kernel, arrays | x), effort) for x in (values, many))
                assert shared.ratio is not None and each.ratio is not None
                value_count, counted = sum(x.size for x in values.values()), (kernel.arithmetic, before.arithmetic)
                times = shared.ours / size, shared.ratio, each.ratio
                results.append(Cost(name, function, words, value_count, *counted, *times))
    return results


def _call(kernel: lw.Kernel, arrays: dict[str, np.ndarray]) -> Call:
    kernel(*arrays.values())  # compiled by now
    return Call(f"kernel({', '.join(arrays)})", {"kernel": kernel, **arrays})


def cost_table(result: Sequence[Cost]) -> list[str]:
    """One line a function and a set of parameters."""
    header = ["robot", "function", "inputs", "numbers", "operations", "work", "constants [µs]", "shared", "each"]
    cells = [
        [
            x.robot,
            x.function,
            x.parameters,
            str(x.count),
            str(x.operations),
            f"{x.work:.2f}",
            f"{1e6 * x.constant_batch:.3g}",
            f"{x.shared:.2f}",
            f"{x.each:.2f}",
        ]
        for x in result
    ]
    return table(header, cells, left=(0, 1, 2))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and, if asked, write the JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dynamics.parameters", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("robots", nargs="*", default=["panda", "talos"], help=f"of {', '.join(ROBOTS)}")
    parser.add_argument("--quick", action="store_true", help="short timings")
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    chosen = parser.parse_args(arguments)
    about, result = machine(), list[Cost]()
    for name in chosen.robots:
        try:
            result += costs(name, ROBOTS[name].load(), (QUICK if chosen.quick else FULL).effort)
        except NotInstalled as missing:
            print(missing)
    print("\n".join(cost_table(result)))
    print("; ".join(f"{name} {value}" for name, value in about.items()))
    if chosen.json:
        data = {"machine": about, "results": [asdict(x) for x in result]}
        Path(chosen.json).write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
