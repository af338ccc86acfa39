"""Everything that is measured of one robot."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.compiler.compiler_figures import Figure, compiler_figures
from benchmarks.measurement.paired_timing import Comparison, compare, percentiles
from benchmarks.measurement.robots import BenchmarkRobot
from benchmarks.peers.pinocchio_peer import CannotCompare, Pinocchio, agreement, batch_calls, single_calls
from benchmarks.tables.targets import TARGETS
from linkwork import Robot
from linkwork.cli.arguments import random_states
from linkwork.cli.function_timings import FUNCTIONS, Call, Effort, compile_cold, threads
from linkwork.errors import SingularInertiaError
from linkwork.robot.robot_table import ROBOT

__all__ = ["FULL", "QUICK", "STANDARD_BATCH", "FunctionResult", "Plan", "RobotResult", "functions_of", "measure_robot"]

STANDARD_BATCH = 1024
_MAX_BYTES = 400 * 2**20  # of a batch's result


@dataclass(frozen=True, slots=True)
class Plan:
    """Effort, batch sizes, and numbers of compilations and calls."""

    effort: Effort
    batches: tuple[int, ...]
    compiles: int  # fresh compilations, of which the median counts
    calls: int  # single calls for the percentiles


FULL = Plan(Effort(rounds=9, at_least=0.02), (1, 16, STANDARD_BATCH, 65536), 3, 5000)
QUICK = Plan(Effort(rounds=3, at_least=0.005), (STANDARD_BATCH,), 1, 500)


@dataclass(slots=True)
class FunctionResult:
    """Measurements of a function; times in seconds."""

    function: str
    operations: int
    trace: float
    compile: float  # program to machine code
    difference: float | None = None  # from Pinocchio's outputs, relative
    bound: float | None = None  # what rounding explains of it
    batches: dict[int, Comparison] = field(default_factory=dict)  # for the whole batch
    call: Comparison | None = None
    call_percentiles: tuple[float, float] | None = None  # 50 and 99
    peer_percentiles: tuple[float, float] | None = None
    into: Comparison | None = None  # a batch of `STANDARD_BATCH` by the kernel, into an array made before
    asymmetric: int | None = None  # elements of a batch of matrices that differ from their transposes'

    @property
    def differs(self) -> bool:
        return self.difference is not None and self.bound is not None and not self.difference <= self.bound


@dataclass(slots=True)
class RobotResult:
    """Measurements of a robot."""

    robot: str
    nq: int
    nv: int
    bodies: int
    functions: list[FunctionResult] = field(default_factory=list)
    figures: dict[str, dict[str, Figure]] = field(default_factory=dict)  # of a function, by measure
    notes: list[str] = field(default_factory=list)


def functions_of(name: str) -> tuple[str, ...]:
    """Return the functions measured for a robot: those of `linkwork bench`, and others with targets."""
    targeted = [function for robot, function, measure in TARGETS if (robot, measure) == (name, "batch")]
    return tuple(dict.fromkeys((*FUNCTIONS, *targeted)))


def measure_robot(
    entry: BenchmarkRobot,
    plan: Plan,
    done: Callable[[str], None] = lambda _: None,
    functions: Sequence[str] | None = None,
) -> RobotResult:
    """Measure functions of a robot, by default all of them and the figures of the compiler.

    ``done`` is called after each.  Raises NotInstalled.
    """
    robot = entry.load()
    result = RobotResult(entry.name, robot.nq, robot.nv, len(robot.bodies))
    peer: Pinocchio | None = None
    try:
        peer = Pinocchio(robot)
    except CannotCompare as reason:
        result.notes.append(f"no comparison: {reason}")
    for function in functions_of(entry.name) if functions is None else functions:
        frames = (entry.hand,) if ROBOT[function].requires_frame else ()
        try:
            compilations = [compile_cold(robot, function, *frames) for _ in range(plan.compiles)]
        except SingularInertiaError as error:
            result.notes.append(f"{function}: {error}")
            continue
        outcome = FunctionResult(
            function,
            compilations[0].operations,
            statistics.median(m.trace_seconds for m in compilations),
            statistics.median(m.compile_seconds for m in compilations),
        )
        beside = peer
        if peer is not None:
            outcome.difference, outcome.bound = agreement(robot, peer, function, *frames)
            if outcome.differs:
                beside = None  # what computes something else is not timed beside
        for size in plan.batches:
            if fits(robot, function, size, *frames):
                ours, its = batch_calls(robot, beside, function, size, *frames)
                with threads(1):
                    outcome.batches[size] = compare(ours, its, plan.effort)
                    if size == STANDARD_BATCH:
                        outcome.into = compare(_into(robot, function, frames, ours), its, plan.effort)
        ours, its = single_calls(robot, beside, function, *frames)
        outcome.call = compare(ours, its, plan.effort)
        outcome.call_percentiles = percentiles(ours, plan.calls)
        outcome.peer_percentiles = None if its is None else percentiles(its, plan.calls)
        result.functions.append(outcome)
        done(f"{entry.name}: {function}")
        if (entry.name, function, "asymmetry") in TARGETS:
            outcome.asymmetric = _asymmetric(robot, function)
    if functions is None and any(robot_name == entry.name for robot_name, _, _ in TARGETS):
        for function, measure, figure in compiler_figures(entry, robot, peer, plan.effort):
            result.figures.setdefault(function, {})[measure] = figure
            done(f"{entry.name}: {function}, {measure}")
    return result


def _into(robot: Robot, function: str, frames: Sequence[str], call: Call) -> Call:
    """The same batch by the function's kernel, with the result in an array made before."""
    states = {name: x for name, x in call.names.items() if name != "robot"}
    kernel = robot.compile((function, *frames))
    names = {**states, "kernel": kernel, "out": kernel(*states.values())}
    return Call(f"kernel({', '.join(states)}, out=out)", names)


def _asymmetric(robot: Robot, function: str) -> int:
    """Count the elements of a batch of matrices that differ from those of the transposes."""
    matrices = getattr(robot, function)(*random_states(robot, function, 2, STANDARD_BATCH).values())
    return int(np.sum(matrices != np.swapaxes(matrices, -1, -2)))


def fits(robot: Robot, function: str, size: int, *frames: str) -> bool:
    """True where a batch's result is of reasonable size."""
    states = random_states(robot, function, 0)
    result = getattr(robot, function)(*states.values(), *frames)
    return sum(int(part.nbytes) for part in (result if isinstance(result, tuple) else (result,))) * size <= _MAX_BYTES
