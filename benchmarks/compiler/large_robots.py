"""Robots of many bodies: code whose steps are compiled once and run from a table, beside the straight line.

Chains of hinges and a binary tree of spherical joints, with random offsets and inertias.  Cold is the time to trace, to
compile, and to call once and with a batch, without the cache.  Times are those of one state in a batch, on one thread,
into an array made before.  Growth is the power of the number of links with which a figure of chains grows.  Memory is
what the process needed at most beyond what it had before, from the trace to the end of the first batch.

``vjp of`` a function is its kernel's `vjp`: from weights of the outputs to gradients by all inputs.  It is compared
with the matrices of the function's named derivatives.
"""

from __future__ import annotations

import argparse
import importlib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import linkwork as lw
from benchmarks.measurement.paired_timing import compare
from benchmarks.tables.rows import table
from benchmarks.tables.targets import LARGE, LARGE_BYTES, Target
from benchmarks.tables.verdicts import Verdict
from linkwork.cli.arguments import random_states
from linkwork.cli.function_timings import Call, Effort, environment, threads
from linkwork.joints import Revolute, Spherical
from linkwork.kernels.compiler_api import code_statistics

__all__ = [
    "BATCH",
    "ROBOTS",
    "LargeResult",
    "check_derivatives",
    "growth",
    "kernel_of",
    "large_robot",
    "large_robots",
    "large_verdicts",
    "measured",
    "result_table",
    "states_of",
]

BATCH = 1024
_MOST_BYTES = 4 * 2**20  # of a batch's arrays: of large ones it has fewer states, so that memory is not what is timed
_BLOCK = 16  # states that are computed together, at most
FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
VJP = "vjp of "
DERIVATIVES = tuple(derivative for name in FUNCTIONS for derivative in (f"{VJP}{name}", f"{name}_derivatives"))
ROBOTS = (*(f"chain {n}" for n in (5, 10, 20, 50, 100, 200)), "tree 255")
MODES = ("straight", "outlined", "chosen")


@dataclass(frozen=True, slots=True)
class LargeResult:
    """Measurements of a robot's function, compiled in one of `WAYS`; times in seconds for one state."""

    robot: str
    function: str
    mode: str
    operations: int
    cold: float
    code_bytes: int
    batch: float
    call: float
    is_outlined: bool
    memory: int = 0  # bytes; 0 where the system does not tell


Arrays = tuple[np.ndarray, ...]


def large_robot(name: str) -> lw.Robot:
    """``"chain 20"``: twenty links one after the other; ``"tree 31"``: each body carries two others."""
    shape, count = name.split()
    rng = np.random.default_rng(1)
    parts: list[lw.Link | lw.Joint] = []
    for k in range(int(count)):
        position, com = rng.uniform(-0.3, 0.3, 3), rng.uniform(-0.1, 0.1, 3)
        moments = np.diag(rng.uniform(0.1, 0.12, 3))
        parts.append(lw.Link(f"link{k}", mass=float(rng.uniform(0.5, 2.0)), com=com, inertia=moments))
        before = k - 1 if shape == "chain" else (k - 1) // 2
        type_ = Revolute(((0, 0, 1), (0, 1, 0))[k % 2]) if shape == "chain" else Spherical()
        parent = f"link{before}" if k else "world"
        parts.append(lw.Joint.of(type_, name=f"joint{k}", parent=parent, child=f"link{k}", placement=position))
    return lw.Robot.build(name.replace(" ", "_"), *parts)


def large_robots(
    effort: Effort,
    robots: Sequence[str] = ("chain 200", "tree 255"),
    modes: Sequence[str] = ("chosen",),
    functions: Sequence[str] = FUNCTIONS,
    batch: int = BATCH,
) -> list[LargeResult]:
    """Every function of every robot in each way; the straight line and the rows are compared with each other."""
    results = []
    for robot in robots:
        for function in functions:
            answers = []
            for mode in modes:
                result, answer = measured(large_robot(robot), robot, function, mode, batch, effort)
                results.append(result)
                answers.append(answer)
            for answer in answers[1:]:
                for first, second in zip(answer, answers[0], strict=True):
                    error = np.abs(first - second).max() / np.abs(second).max()
                    assert error < 1e-9, f"{robot}, {function}: differs from the straight line by {error}"
    return results


def measured(
    robot: lw.Robot, name: str, request: str | tuple[str, str], mode: str, batch: int, effort: Effort
) -> tuple[LargeResult, Arrays]:
    """Measure a function of a robot or of a frame; return the measurements and the results for a batch."""
    function = request if isinstance(request, str) else request[0]
    with environment(LINKWORK_CACHE="off"), threads(1), _forced(mode):
        before = _memory(reset=True)
        start = time.perf_counter()
        kernel = kernel_of(robot, request)
        seconds = time.perf_counter() - start
        values = sum(port.size for port in (*kernel.inputs, *kernel.outputs))
        batch = min(batch, max(_BLOCK, _MOST_BYTES // (8 * values) // _BLOCK * _BLOCK))
        single, many = states_of(robot, kernel, function, 3), states_of(robot, kernel, function, 3, batch)
        start = time.perf_counter()
        kernel(*single.values())
        answer = _listed(kernel(*many.values()))
        cold = seconds + time.perf_counter() - start
        memory = _memory() - before
        out = tuple([np.empty_like(x) for x in answer])
        into = {"kernel": kernel, "out": out if len(out) > 1 else out[0], **many}
        of_batch = compare(Call(f"kernel({', '.join(many)}, out=out)", into), None, effort).ours
        of_call = compare(Call(f"kernel({', '.join(single)})", {"kernel": kernel, **single}), None, effort).ours
        operations = sum(kernel.operations.values())
        is_outlined = any(i.operation.name == "outlined_calls" for i in kernel.program.instructions)
        size = code_statistics(kernel).code_bytes
    of_one = of_batch / batch
    return LargeResult(name, function, mode, operations, cold, size, of_one, of_call, is_outlined, memory), answer


def _listed(answer: Any) -> Arrays:
    return tuple(answer) if isinstance(answer, tuple) else (answer,)


def kernel_of(robot: lw.Robot, function: str | tuple[str, str]) -> Any:
    """The kernel of a function of the robot, or the `vjp` of one's."""
    if not isinstance(function, str):
        return robot.compile(function)
    kernel = robot.compile(function.removeprefix(VJP))
    return kernel.vjp() if function.startswith(VJP) else kernel


def states_of(robot: lw.Robot, kernel: Any, function: str, seed: int, size: int | None = None) -> dict[str, np.ndarray]:
    """Random states; what else the kernel takes is drawn from the normal distribution."""
    states = random_states(robot, function.removeprefix(VJP), seed, size)
    rng, batch = np.random.default_rng(seed + 1), () if size is None else (size,)
    return {
        port.name: states[port.name] if port.name in states else rng.normal(size=(*batch, *port.shape))
        for port in kernel.inputs
    }


def _memory(*, reset: bool = False) -> int:
    """The most bytes that this process had in memory since it was reset, or those it has now; 0 if nobody tells."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return 1024 * int(lines["VmRSS" if reset else "VmHWM"].split()[0])
    except (OSError, KeyError):
        return 0


def check_derivatives(robot: lw.Robot, function: str, count: int = 3) -> float:
    """Return the maximum relative difference between a function's `vjp` and products with its named derivatives."""
    with environment(LINKWORK_CACHE="off"), threads(1):
        pulled, named = kernel_of(robot, VJP + function), robot.compile(f"{function}_derivatives")
        states = states_of(robot, pulled, VJP + function, 5, count)
        gradients, matrices = pulled(*states.values()), named(*(states[port.name] for port in named.inputs))
    weights = states[pulled.inputs[-1].name]
    expected = [np.einsum("ni,nij->nj", weights, matrix) for matrix in matrices]
    return float(max(np.abs(x - y).max() / np.abs(y).max() for x, y in zip(gradients, expected, strict=True)))


@contextmanager
def _forced(mode: str) -> Iterator[None]:
    """Outline every program, or none."""
    if mode == "chosen":
        yield
        return
    module = importlib.import_module("linkwork.compiler.passes.outline")
    least = 0 if mode == "outlined" else math.inf
    with mock.patch.multiple(module, _MIN_INSTRUCTIONS=least, _MIN_OF_SHORT=least, _MAX_REMAINING=math.inf):
        yield


def large_verdicts(results: Sequence[LargeResult]) -> list[Verdict]:
    """The rows of the table of targets."""
    rows = []
    for result in results:
        bound = LARGE.get((result.robot, result.function))
        if bound is None or result.mode != "chosen":
            continue
        shown = f"{result.cold:.2f} s"
        title = f"{result.function.replace('_', ' ')}, compile cold, with its loop over batches"
        rows.append(Verdict(result.robot, title, shown, "-", result.cold, shown, Target(bound), f"<= {bound:g} s"))
        most = LARGE_BYTES.get((result.robot, result.function))
        if most is not None and result.memory:
            title, shown = f"{result.function.replace('_', ' ')}, memory to compile it", f"{result.memory / 1e9:.2f} GB"
            below = f"<= {most / 1e9:g} GB"
            rows.append(Verdict(result.robot, title, shown, "-", result.memory, shown, Target(most), below))
    return rows


def growth(results: Sequence[LargeResult], figure: str) -> float:
    """The power of the number of links with which a figure grows, by least squares over its logarithms: of chains."""
    points = [(int(result.robot.split()[1]), getattr(result, figure)) for result in results]
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0])


def result_table(results: Sequence[LargeResult]) -> list[str]:
    """One line a function of a robot: everything measured."""
    header = ["robot", "function", "operations", "cold [s]", "memory [MB]", "code [KB]", "state [µs]", "call [µs]"]
    cells = [
        [
            x.robot,
            x.function,
            str(x.operations),
            f"{x.cold:.2f}",
            f"{x.memory / 1e6:.0f}" if x.memory else "-",
            f"{x.code_bytes / 1024:.0f}",
            f"{1e6 * x.batch:.3g}",
            f"{1e6 * x.call:.3g}",
        ]
        for x in results
    ]
    return table(header, cells, left=(0, 1))


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m benchmarks.compiler.large_robots`: print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compiler.large_robots", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--robots", nargs="+", default=ROBOTS, metavar="ROBOT", help='such as "chain 20" or "tree 31"')
    chosen = parser.parse_args(arguments)
    header = ["robot", "function", "operations", "way", "cold [s]", "code [KB]", "state [ns]", "call [µs]"]
    cells = []
    results = large_robots(Effort(), chosen.robots, MODES[:2])
    for result in results:
        cells.append([result.robot, result.function, str(result.operations), result.mode, *_figures(result)])
    print("\n".join(table(header, cells, left=(0, 1, 3))))
    for function in FUNCTIONS:
        for mode in MODES[:2]:
            chains = [x for x in results if (x.function, x.mode) == (function, mode) and x.robot.startswith("chain")]
            if len(chains) > 1:
                growths = (
                    f"{figure} {growth(chains, figure):.2f}" for figure in ("operations", "cold", "code_bytes", "batch")
                )
                print(f"growth of {function}, {mode}: {', '.join(growths)}")
    if chosen.robots == ROBOTS:
        from benchmarks.dynamics.humanoid_derivatives import first_order

        print("\nFirst derivatives:")
        print("\n".join(result_table(first_order(Effort()))))
    return 0


def _figures(result: LargeResult) -> list[str]:
    return [
        f"{result.cold:.2f}",
        f"{result.code_bytes / 1024:.0f}",
        f"{1e9 * result.batch:.4g}",
        f"{1e6 * result.call:.3g}",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
