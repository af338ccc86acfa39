"""Measuring a robot's functions: work, compile time, batches and single calls, beside Pinocchio where it is there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from linkwork.cli.arguments import random_states
from linkwork.cli.benchmark.paired_timing import Call
from linkwork.cli.benchmark.pinocchio_peer import Pinocchio, disagreement
from linkwork.kernels.compiler_api import get_num_threads, set_num_threads
from linkwork.kernels.function_request import read_request
from linkwork.robot import Robot
from linkwork.robot_table import robot_owner

__all__ = ["Compiled", "agreement", "batch_calls", "compile_cold", "environment", "fits", "single_calls", "threads"]

_MOST_BYTES = 400 * 2**20  # of a batch's result


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a kernel took to make, and how much work one sample is."""

    operations: int  # multiplications, additions and subtractions
    trace_seconds: float
    compile_seconds: float  # from the program to machine code


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Environment variables set meanwhile."""
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
    """So many threads for a batch meanwhile."""
    before = get_num_threads()
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)


def compile_cold(robot: Robot, function: str, *asked: str) -> Compiled:
    """Compile a function for a robot that has compiled nothing yet, whatever the cache holds.

    Here and below, ``asked`` is the frame, of functions that have one.
    """
    with environment(LINKWORK_CACHE="off"):
        fresh = Robot(robot.tree)
        start = time.perf_counter()
        fresh.warm_up([(function, *asked)], progress=False)
        seconds = time.perf_counter() - start
        label = read_request(robot_owner(robot.tree), (function, *asked)).label
        kernel = fresh.compile({label: (function, *asked)})  # the method's own, which is named so
    return Compiled(kernel.arithmetic, max(seconds - kernel.compile_time, 0.0), kernel.compile_time)


def agreement(robot: Robot, peer: Pinocchio, function: str, *asked: str, samples: int = 32) -> tuple[float, float]:
    """The largest relative difference between the two over random states, and how large rounding may make it.

    The bound is 100 roundings for each degree of freedom; solving with the mass matrix multiplies it with its condition
    number.
    """
    states = random_states(robot, function, 1, samples)
    ours = getattr(robot, function)(*states.values(), *asked)
    error = disagreement(ours, peer.results(function, states, *asked))
    bound = 100 * np.finfo(float).eps * max(robot.nv, 1)
    if function in ("forward_dynamics", "forward_dynamics_derivatives", "mass_matrix_inverse"):
        bound *= float(np.max(np.linalg.cond(robot.mass_matrix(states["q"]))))
    return error, float(bound)


def fits(robot: Robot, function: str, size: int, *asked: str) -> bool:
    """Whether a batch's result is of reasonable size."""
    states = random_states(robot, function, 0)
    found = getattr(robot, function)(*states.values(), *asked)
    return sum(int(part.nbytes) for part in (found if isinstance(found, tuple) else (found,))) * size <= _MOST_BYTES


def batch_calls(
    robot: Robot, peer: Pinocchio | None, function: str, size: int, *asked: str
) -> tuple[Call, Call | None]:
    """A batch, ours and the peer's, with the same states: one thread, row-major arrays in, a new array out."""
    states = random_states(robot, function, 2, size)
    return _call(robot, function, states, *asked), None if peer is None else peer.batch(function, states, *asked)


def single_calls(robot: Robot, peer: Pinocchio | None, function: str, *asked: str) -> tuple[Call, Call | None]:
    """One call from Python with arrays of one state, ours and the peer's: a new array out."""
    state = random_states(robot, function, 3)
    return _call(robot, function, state, *asked), None if peer is None else peer.single(function, state, *asked)


def _call(robot: Robot, function: str, states: dict[str, np.ndarray], *asked: str) -> Call:
    robot.warm_up([(function, *asked)], progress=False)  # while it is compiled, single calls take another way
    return Call(f"robot.{function}({', '.join([*states, *map(repr, asked)])})", {"robot": robot, **states})
