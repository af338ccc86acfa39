"""Cost and savings of loops, linear solves and functions of a robot in one kernel.

All calls use float64, one thread and new output arrays.  Results are compared before anything is timed.
`python -m benchmarks.compiler.control_flow` prints this part of the table alone.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.compiler.compiler_figures import Figure
from benchmarks.compiler.control_flow_functions import (
    CONTROLLER_SHAPES,
    REACH_SHAPES,
    cold_seconds,
    controller,
    controller_inputs,
    definite_controller,
    pinocchio_controller,
    reach_inputs,
    reach_step,
    steps_of_reach,
)
from benchmarks.compiler.rollouts import roll_out_figures
from benchmarks.measurement.paired_timing import compare
from benchmarks.measurement.robots import NotInstalled
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.report import target_table
from benchmarks.tables.targets import CONTROL, Target
from benchmarks.tables.verdicts import Verdict
from linkwork.cli.function_timings import Call, Effort, environment, threads
from linkwork.compiler.codegen.loops import loop_program_code as layout
from linkwork.expr import while_loop
from linkwork.kernels.compiler_api import levels

__all__ = ["QUICK", "ControlSizes", "control_figures", "control_verdicts"]


@dataclass(frozen=True, slots=True)
class ControlSizes:
    """Numbers of samples, steps, roll-outs and processes."""

    batch: int = 4096
    steps: int = 1000  # of a roll-out
    roll_outs: int = 1024
    peers: int = 16  # roll-outs of MuJoCo, one after the other
    gradients: int = 64
    processes: int = 5


QUICK = ControlSizes(batch=1024, roll_outs=128, peers=4, gradients=16, processes=1)


def control_figures(effort: Effort, sizes: ControlSizes = ControlSizes()) -> dict[str, Figure]:
    """Return a figure for each measure of `CONTROL`, without those that cannot be measured on this machine."""
    result = dict(_controller(effort, sizes.batch))
    result["iteration"] = _iteration(effort, sizes.batch)
    for level, measure in (("avx512", "refill, AVX-512"), ("avx2", "refill, AVX2")):
        if level in levels():
            with environment(LINKWORK_SIMD=level):
                result[measure] = _refill(effort, sizes.batch)
    with suppress(NotInstalled):
        result |= roll_out_figures(effort, sizes.steps, sizes.roll_outs, sizes.peers, sizes.gradients)
    for function in ("controller", "reach"):
        runs = [cold_seconds(function) for _ in range(sizes.processes)]
        for mode in ("call", "batch"):
            seconds = statistics.median(run[mode] for run in runs)
            result[f"compile {function}, {mode}"] = Figure(seconds, seconds)
    return result


def _controller(effort: Effort, batch: int) -> Iterator[tuple[str, Figure]]:
    kernel = lw.compile(controller, name="controller", **CONTROLLER_SHAPES)
    inputs = controller_inputs(batch)
    sample = {name: x[0].copy() for name, x in inputs.items()}
    statement = f"kernel({', '.join(inputs)})"
    ours = Call(statement, {"kernel": kernel, **sample})
    try:
        peer = pinocchio_controller(sample)
    except CannotCompare:
        seconds = compare(ours, None, effort).ours
        yield "call", Figure(seconds, seconds)
    else:
        result, expected = kernel(**sample), eval(peer.statement, dict(peer.names))  # the statement is ours
        error = np.abs(result - expected).max() / np.abs(expected).max()
        assert error < 1e-9, f"the controller differs from Pinocchio's by {error}"
        outcome = compare(ours, peer, effort)
        assert outcome.peer is not None and outcome.ratio is not None
        yield "call", Figure(outcome.ours, outcome.ours, outcome.peer)
        yield "call, Pinocchio", Figure(outcome.ratio, outcome.ours, outcome.peer)
        definite = lw.compile(definite_controller, name="definite_controller", **CONTROLLER_SHAPES)
        error = np.abs(definite(**sample) - expected).max() / np.abs(expected).max()
        assert error < 1e-9, f"the controller that is told of its matrices differs from Pinocchio's by {error}"
        outcome = compare(Call(statement, {"kernel": definite, **sample}), peer, effort)
        assert outcome.peer is not None and outcome.ratio is not None
        yield "call, told", Figure(outcome.ratio, outcome.ours, outcome.peer)
    reference = kernel.call_python(*(x[:64] for x in inputs.values()))
    error = np.abs(kernel(**inputs)[:64] - reference).max() / np.abs(reference).max()
    assert error < 1e-9, f"the controller differs from its function by {error}"
    with threads(1):
        seconds = compare(Call(statement, {"kernel": kernel, **inputs}), None, effort).ours / batch
    yield "batch", Figure(seconds, seconds)


def _iteration(effort: Effort, batch: int, count: int = 20) -> Figure:
    """A loop that no sample leaves before its bound, against the kernel of a step."""
    loop = lw.compile(
        lambda q, target: (
            while_loop(
                lambda state: state[1] >= 0.0,
                lambda state: reach_step(state[0], target),
                (q, 1.0),
                max_iterations=count,
            ).state
        ),
        name="loop",
        **REACH_SHAPES,
    )
    step = lw.compile(reach_step, name="step", **REACH_SHAPES)
    inputs = reach_inputs(batch)
    q = inputs["q"]
    for _ in range(count):
        q, error = step(q, inputs["target"])
    for result, expected in zip(loop(**inputs), (q, error), strict=True):
        assert np.array_equal(result, expected), "a loop differs from its steps"
    with threads(1):
        outcome = compare(
            Call("loop(q, target)", {"loop": loop, **inputs}), Call("step(q, target)", {"step": step, **inputs}), effort
        )
    assert outcome.peer is not None and outcome.ratio is not None
    return Figure(1.0 / (outcome.ratio * count), outcome.ours / (batch * count), outcome.peer / batch)


def _refill(effort: Effort, batch: int, mean: float = 8.0) -> Figure:
    """Steps of inverse kinematics, as many as geometric numbers say, with lanes that take new samples and without."""
    inputs = reach_inputs(batch)
    inputs["length"] = np.random.default_rng(1).geometric(1.0 / mean, size=batch).astype(float)
    most = int(inputs["length"].max())

    def steps(q: Any, target: Any, length: Any) -> Any:
        return steps_of_reach(q, target, length, most)

    kernels = []
    for vectors in (layout._VECTORS, 1):
        with environment(LINKWORK_CACHE="off"), _tiles_of(vectors):
            kernel = lw.compile(steps, **REACH_SHAPES, length=())
            results = kernel(**inputs)  # its code for batches is made now
        kernels.append((kernel, results))
    (ours, result), (peer, expected) = kernels
    assert np.array_equal(result, expected), "refilled lanes give something else"
    with threads(1):
        statement = f"kernel({', '.join(inputs)})"
        times = compare(
            Call(statement, {"kernel": ours, **inputs}), Call(statement, {"kernel": peer, **inputs}), effort
        )
    assert times.peer is not None and times.ratio is not None
    return Figure(times.ratio, times.ours / batch, times.peer / batch)


@contextmanager
def _tiles_of(vectors: int) -> Iterator[None]:
    """Let the lanes of kernels compiled in this context share the samples of `vectors` vectors; 1: no sharing."""
    before = layout._VECTORS
    layout._VECTORS = vectors
    try:
        yield
    finally:
        layout._VECTORS = before


def control_verdicts(figures: dict[str, Figure], sizes: ControlSizes = ControlSizes()) -> list[Verdict]:
    """The rows of the table of targets."""
    return [_verdict(measure, target, figures.get(measure), sizes) for measure, target in CONTROL.items()]


_UNITS = {"s": 1.0, "µs": 1e6, "ns": 1e9}


def _verdict(measure: str, target: Target, figure: Figure | None, sizes: ControlSizes) -> Verdict:
    robot, title, unit, peer_name = _rows(sizes)[measure]
    sign = ">=" if target.at_least else "<="
    if figure is None:
        ours, peer, value, ratio = "-", "-", None, "-"
    else:
        ours, value, ratio = _time(figure.ours, unit), figure.value, f"{figure.value:.2f}x"
        peer = "-" if figure.peer is None else f"{_time(figure.peer, unit)} ({peer_name})"
    if measure in _TIMES:
        return Verdict(robot, title, ours, peer, value, ours, target, f"{sign} {_time(target.bound, unit)}")
    return Verdict(robot, title, ours, peer, value, ratio, target, f"{sign} {target.bound:g}x")


def _time(seconds: float | None, unit: str) -> str:
    return "-" if seconds is None else f"{_UNITS[unit] * seconds:.4g} {unit}"


def _rows(sizes: ControlSizes) -> dict[str, tuple[str, str, str, str]]:
    """Return for each measure: the robot, a description, the unit of its times, and the peer."""
    lengths = "inverse kinematics, numbers of steps geometric with mean 8, lanes refilled, one sample"
    compiled = "from the function to"
    return {
        "call": ("arm7", "impedance controller, one call", "µs", "Pinocchio and NumPy"),
        "call, Pinocchio": ("arm7", "impedance controller, one call, beside Pinocchio", "µs", "Pinocchio and NumPy"),
        "call, told": (
            "arm7",
            "impedance controller told that its matrices are definite, one call, beside Pinocchio",
            "µs",
            "Pinocchio and NumPy",
        ),
        "batch": ("arm7", f"impedance controller, batch of {sizes.batch}, one state", "ns", ""),
        "iteration": ("arm7", f"inverse kinematics, batch of {sizes.batch}, one iteration", "ns", "a step's kernel"),
        "refill, AVX-512": ("arm7", f"{lengths}, AVX-512", "ns", "not refilled"),
        "refill, AVX2": ("arm7", f"{lengths}, AVX2", "ns", "not refilled"),
        "scan, calls": (
            "panda",
            f"{sizes.steps} steps as a scan, batch of {sizes.roll_outs}, one step",
            "ns",
            "calls of a step's kernel",
        ),
        "scan, MuJoCo": ("panda", f"{sizes.steps} steps with all states returned, one step", "ns", "mujoco.rollout"),
        "gradient": ("panda", f"gradient of {sizes.steps} steps by all forces, one step", "ns", "the roll-out"),
        "compile controller, call": ("arm7", f"impedance controller, {compiled} a call's answer", "s", ""),
        "compile controller, batch": ("arm7", f"impedance controller, {compiled} a call's and a batch's", "s", ""),
        "compile reach, call": ("arm7", f"inverse kinematics, {compiled} a call's answer", "s", ""),
        "compile reach, batch": ("arm7", f"inverse kinematics, {compiled} a call's and a batch's", "s", ""),
    }


_TIMES = {"call", "batch", *(measure for measure in CONTROL if measure.startswith("compile"))}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compiler.control_flow", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="small batches, short timings")
    effort, sizes = (Effort(3), QUICK) if parser.parse_args(arguments).quick else (Effort(9), ControlSizes())
    sys.stdout.write("\n".join(target_table(control_verdicts(control_figures(effort, sizes), sizes))) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
