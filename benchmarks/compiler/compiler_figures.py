"""Measurements of the compiler: float32, instruction sets, threads, calls that write to an array, warm starts."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.measurement.paired_timing import Comparison, compare
from benchmarks.measurement.robots import BenchmarkRobot, quietly
from benchmarks.peers.pinocchio_peer import Pinocchio
from linkwork.cli.arguments import random_states
from linkwork.cli.function_timings import Call, Effort, environment, threads
from linkwork.kernels.compiler_api import levels

__all__ = ["Figure", "compiler_figures", "long_program_seconds", "no_op_seconds"]

_BATCH, _LARGE_BATCH = 1024, 65536


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number, and the times that it was computed from [s]: ours and another's."""

    value: float
    ours: float | None = None
    peer: float | None = None


def compiler_figures(
    entry: BenchmarkRobot, robot: lw.Robot, peer: Pinocchio | None, effort: Effort
) -> Iterator[tuple[str, str, Figure]]:
    """Function, measure and figure of everything that `TARGETS` asks of a robot besides single functions."""
    if peer is not None:
        yield "inverse_dynamics", "call out", _part(_call_with_out(robot, peer, effort))
        if entry.hand:
            yield "pose", "call", _part(_pose(robot, peer, entry.hand, effort))
        yield from _levels(robot, peer, effort)
    yield "inverse_dynamics", "threads", _threads(robot, effort)
    seconds = _warm_start(entry)
    yield "inverse_dynamics", "warm start", Figure(seconds, seconds)
    if entry.name == "panda":
        fixed = _fixed_fingers(entry)
        for function in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
            count = fixed.compile(function).arithmetic
            yield function, "operations, fingers fixed", Figure(count)


def _part(result: Comparison) -> Figure:
    """Our share of the peer's time."""
    assert result.ratio is not None
    return Figure(1.0 / result.ratio, result.ours, result.peer)


def _speed(result: Comparison, size: int) -> Figure:
    """Return the speed relative to the peer, and both times for one state."""
    assert result.ratio is not None and result.peer is not None
    return Figure(result.ratio, result.ours / size, result.peer / size)


def _call_with_out(robot: lw.Robot, peer: Pinocchio, effort: Effort) -> Comparison:
    state = random_states(robot, "inverse_dynamics", 3)
    names = {"kernel": robot.compile("inverse_dynamics"), "out": np.empty(robot.nv), **state}
    return compare(Call("kernel(q, v, a, out=out)", names), peer.single("inverse_dynamics", state), effort)


def _pose(robot: lw.Robot, peer: Pinocchio, frame: str, effort: Effort) -> Comparison:
    state = random_states(robot, "pose", 3)
    ours = Call(f"robot.pose(q, {frame!r})", {"robot": robot, **state})
    theirs = peer.pose(frame, state)
    exec(theirs.statement, dict(theirs.names))
    reference = peer.data.oMf[peer.model.getFrameId(frame)].homogeneous
    difference = np.abs(robot.pose(state["q"], frame) - reference).max()
    assert difference < 1e-12, f"poses differ by {difference}"
    return compare(ours, theirs, effort)


def _levels(robot: lw.Robot, peer: Pinocchio, effort: Effort) -> Iterator[tuple[str, str, Figure]]:
    """Batches in float32, and with AVX2 where the processor has more."""
    variants = [("", ("inverse_dynamics",), np.float32)]
    if "avx2" in levels():
        both = ("inverse_dynamics", "forward_dynamics")
        variants += [(" avx2", both, np.float64), (" avx2", both[:1], np.float32)]
    for level, functions, dtype in variants:
        with environment(**({"LINKWORK_SIMD": "avx2"} if level else {})):
            kernels = {function: lw.Robot(robot.tree).compile(function) for function in functions}
        for function, kernel in kernels.items():
            states = random_states(robot, function, 2, _BATCH)
            arrays = {name: x.astype(dtype) for name, x in states.items()}
            single = dtype is np.float32
            _agree(kernel(*arrays.values()), robot, function, states, 1e-3 if single else 1e-8)
            ours = Call(f"kernel({', '.join(arrays)})", {"kernel": kernel, **arrays})
            measure = f"batch{level}{' float32' if single else ''}"
            with threads(1):
                yield function, measure, _speed(compare(ours, peer.batch(function, states), effort), _BATCH)


def _agree(ours: np.ndarray, robot: lw.Robot, function: str, states: dict[str, Any], bound: float) -> None:
    """Check the timed kernel's results against the public method, up to rounding in the kernel's type."""
    expected = getattr(robot, function)(*states.values())
    error = np.abs(ours - expected).max() / np.abs(expected).max()
    assert error < bound, f"{function}: differs by {error}"


def _threads(robot: lw.Robot, effort: Effort) -> Figure:
    """Two threads against one."""
    states = random_states(robot, "inverse_dynamics", 2, _LARGE_BATCH)
    names = {"robot": robot, "set_num_threads": lw.set_num_threads, **states}
    statement = f"robot.inverse_dynamics({', '.join(states)})"
    with threads(1):  # whatever is set below is set back
        single_thread, two = (Call(f"set_num_threads({n}); {statement}", names) for n in (1, 2))
        result = compare(two, single_thread, effort)
    assert result.ratio is not None
    return Figure(result.ratio, result.ours, result.peer)


_WARM = """
import sys, time
import numpy as np
import linkwork as lw
start = time.perf_counter()
robot = lw.load(sys.argv[1], floating_base=sys.argv[2] == "True")
robot.inverse_dynamics(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv))
print(time.perf_counter() - start)
"""


def _warm_start(entry: BenchmarkRobot) -> float:
    """The median of five fresh processes, after one that fills the cache."""
    with tempfile.TemporaryDirectory() as folder, environment(LINKWORK_CACHE=folder):
        command = [sys.executable, "-c", _WARM, entry.path, str(entry.floating_base)]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(6)]
    return float(np.median([float(run.stdout) for run in runs[1:]]))


def _fixed_fingers(entry: BenchmarkRobot) -> lw.Robot:
    """The Panda whose fingers do not move."""
    text = Path(entry.path).read_text(encoding="utf-8")
    text = re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', text)
    with quietly():
        robot = lw.Robot.from_urdf_string(text, mimic="ignore")
    assert robot.nv == 7
    return robot


def no_op_seconds(effort: Effort) -> dict[str, float]:
    """Return the time for a call with almost no computation: three input arrays of 9 values, one output of 9."""
    kernel = lw.compile(lambda q, v, a: q, q=9, v=9, a=9, name="nothing")
    names = {"kernel": kernel, "ufunc": kernel.ufunc, "out": np.empty(9), **{name: np.ones(9) for name in "qva"}}
    statements = {
        "a new array": "kernel(q, v, a)",
        "out=": "kernel(q, v, a, out=out)",
        "through NumPy's ufunc": "ufunc(q, v, a)",
    }
    return {
        statement_name: compare(Call(statement, names), None, effort).ours
        for statement_name, statement in statements.items()
    }


def long_program_seconds(instructions: int = 100_000) -> tuple[int, float]:
    """Instructions of a program about so long, and the seconds it took to trace and compile it.

    It is a recursion of multiplications and additions over a state of 40 numbers, which stay within [-1, 1].
    """

    def recursion(x: Any) -> Any:
        values, rng = list(x), np.random.default_rng(0)
        for _ in range(instructions * 2 // 3):
            a, b = (values[-k] for k in rng.integers(1, 40, size=2))
            values += [1.0 - 2.0 * (a * a)] if rng.random() < 0.5 else [0.5 * (a + b), 0.3 * (a - b) + 0.1 * b]
        return np.array(values[-100:], dtype=object)

    with environment(LINKWORK_CACHE="off"):
        start = time.perf_counter()
        kernel = lw.compile(recursion, x=40)
        seconds = time.perf_counter() - start
    x = np.random.default_rng(1).uniform(-1.0, 1.0, size=(20, 40))
    error = np.abs(kernel(x) - kernel.interpret(x)).max()
    assert error < 1e-6, f"the long program differs by {error}"
    return len(kernel.program.instructions), seconds
