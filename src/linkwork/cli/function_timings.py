"""Measurement of a robot's functions: operations, compile time, and seconds of a call and of a batch.

A call is repeated for a time that the clock resolves well, in several rounds; the median is reported. Python's garbage
collector runs as in any program.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
import timeit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork import Robot, get_num_threads, set_num_threads
from linkwork.kernels import read_request

__all__ = [
    "FUNCTIONS",
    "Call",
    "Compiled",
    "Effort",
    "compile_cold",
    "environment",
    "method_call",
    "repetitions",
    "seconds_per_call",
    "threads",
]

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "forward_kinematics")
"""The functions that `linkwork bench` measures."""


@dataclass(frozen=True, slots=True)
class Call:
    """A Python statement to time, and the values of the names in it."""

    statement: str
    names: Mapping[str, Any]

    def timer(self) -> timeit.Timer:
        # timeit would disable the garbage collector
        return timeit.Timer(self.statement, setup="_gc.enable()", globals={**self.names, "_gc": gc})


@dataclass(frozen=True, slots=True)
class Effort:
    """Amount of measurement: the number of rounds, and the minimum time of a round [s]."""

    rounds: int = 7
    at_least: float = 0.02


@dataclass(frozen=True, slots=True)
class Compiled:
    """Result of a compilation: the operations for one sample, and the times of tracing and compiling [s]."""

    operations: int  # multiplications, additions and subtractions
    trace_seconds: float
    compile_seconds: float  # from the program to machine code


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Set environment variables for the duration of a block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set the number of threads of a batch for the duration of a block."""
    before = get_num_threads()
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)


def compile_cold(robot: Robot, function: str, *options: str) -> Compiled:
    """Return the times of compiling a robot's function without earlier compiled code or the disk cache.

    ``options`` is the frame, for functions that have one.
    """
    with environment(LINKWORK_CACHE="off"):
        fresh = Robot(robot.tree)
        start = time.perf_counter()
        fresh.precompile([(function, *options)], progress=False)
        seconds = time.perf_counter() - start
        label = read_request(robot._subject, (function, *options)).label
        kernel = fresh.compile({label: (function, *options)})  # the method's kernel, which has this name
    return Compiled(kernel.arithmetic, max(seconds - kernel.compile_time, 0.0), kernel.compile_time)


def method_call(robot: Robot, function: str, states: dict[str, np.ndarray], *options: str) -> Call:
    """Return the statement that calls a robot's method with one state or a batch, for timing.

    The arrays are row-major, and the result is a new array.  The method is compiled before.
    """
    robot.precompile([(function, *options)], progress=False)  # until it is compiled, single calls use another path
    return Call(f"robot.{function}({', '.join([*states, *map(repr, options)])})", {"robot": robot, **states})


def seconds_per_call(call: Call, effort: Effort) -> float:
    """Return the time of a call [s]: the median over rounds of the mean over repetitions."""
    timer = call.timer()
    count = repetitions(timer, effort.at_least)
    return statistics.median(timer.timeit(count) / count for _ in range(effort.rounds))


def repetitions(timer: timeit.Timer, at_least: float) -> int:
    """Return a number of repetitions that takes at least ``at_least`` seconds.

    The calls to determine it also serve as warm-up.
    """
    count = 1
    while True:
        seconds = timer.timeit(count)
        if seconds >= at_least:
            return count
        share = at_least / max(seconds, 1e-9)
        count = max(count + 1, min(10 * count, int(count * share * 1.2)))
