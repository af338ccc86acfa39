"""Paired timing of calls and a peer's calls on a shared machine.

Two calls are compared in rounds, one right after the other (A B, B A, A B ...).  Each call is repeated for a duration
that the clock resolves well.  The result is the median over rounds; for ratios, the median of each round's ratio.  A
disturbance longer than a round slows both calls; a shorter one does not affect the median.  Python's garbage collector
is enabled, as in a user's program.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np

from linkwork.cli.function_timings import Call, Effort, repetitions

__all__ = ["Comparison", "compare", "percentiles"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Median times of a call and, if present, of a peer's call [s].  ``ratio`` is the median of peer over ours."""

    ours: float
    peer: float | None = None
    ratio: float | None = None


def compare(ours: Call, peer: Call | None, effort: Effort) -> Comparison:
    """Time a call and, if present, a peer's call."""
    timers = [(call.timer(), 0) for call in (ours, peer) if call is not None]
    timers = [(timer, repetitions(timer, effort.at_least)) for timer, _ in timers]
    rounds: list[list[float]] = []
    for k in range(effort.rounds):
        seconds = [0.0] * len(timers)
        for j in range(len(timers)) if k % 2 == 0 else reversed(range(len(timers))):
            timer, count = timers[j]
            seconds[j] = timer.timeit(count) / count
        rounds.append(seconds)
    first = statistics.median(r[0] for r in rounds)
    if peer is None:
        return Comparison(first)
    second = statistics.median(r[1] for r in rounds)
    return Comparison(first, second, statistics.median(r[1] / r[0] for r in rounds))


def percentiles(call: Call, count: int) -> tuple[float, float]:
    """The median and the 99th percentile of single calls [s], each timed alone: the clock's own cost is in both."""
    names = dict(call.names)
    exec(f"def run(): {call.statement}", names)  # the statement is this package's own text
    run = names["run"]
    clock = time.perf_counter_ns
    times = np.empty(count)
    for k in range(count):
        start = clock()
        run()
        times[k] = clock() - start
    p50, p99 = np.percentile(times, (50, 99))
    return float(p50) * 1e-9, float(p99) * 1e-9
