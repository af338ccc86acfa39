"""Checks of speed: clocks, SIMD lanes, and times of calls beside a yardstick in Python.

Times are processor time of this thread, the least of several, so that other programs of the machine change them
little. Where that clock has long steps (16 ms on Windows), a function is called as often as many steps take.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from linkwork.installation.number_checks import dynamics_kernel, states
from linkwork.installation.report import Check, Outcome, Verdict, outcome_of
from linkwork.kernels import code_statistics, host, levels

__all__ = ["SPEED_CHECKS"]

_TRIALS, _LONG_TRIALS = 15, 3  # of one call each, and of several
_STEPS = 10  # of the clock in a trial at least: a tenth is the error
_LONGEST_STEP = 1.0  # [s] of the clock
_YARDSTICK = 100_000  # additions in a loop of Python
# Times on a machine of the tests (AMD Zen 5, Python 3.11), as multiples of one addition of the yardstick.
_SINGLE_CALL = 6.5
_STATE_OF_LANE = 6.2
_SLOWER = 4.0  # factor that is reported


def _least(function: Callable[[], object]) -> float:
    """Return the least processor time of several calls [s], each measured over many steps of the clock."""
    shortest = _STEPS * _step()
    calls, seconds = 1, _seconds(function, 1)
    while seconds < shortest:
        calls = 1 + int(1.5 * calls * shortest / seconds) if seconds else 4 * calls
        seconds = _seconds(function, calls)
    times = [_seconds(function, calls) for _ in range(_TRIALS if calls == 1 else _LONG_TRIALS)]
    return min(seconds, *times) / calls


def _seconds(function: Callable[[], object], calls: int) -> float:
    begin = time.thread_time()
    for _ in range(calls):
        function()
    return time.thread_time() - begin


def _step() -> float:
    """Return the step between two readings of this thread's clock [s]; `time.get_clock_info` states less on Windows."""
    start = _next_reading()
    return _next_reading() - start


def _next_reading() -> float:
    """Return the first reading of this thread's clock that differs. Raises RuntimeError if it stands still."""
    begin = end = time.thread_time()
    limit = time.perf_counter() + _LONGEST_STEP
    while end == begin:
        end = time.thread_time()
        if time.perf_counter() > limit:
            raise RuntimeError(f"time.thread_time() has not changed in {_LONGEST_STEP} s")
    return end


def _addition() -> float:
    """Return the time of one addition in a loop of Python [s]."""

    def add() -> None:
        total = 0
        for number in range(_YARDSTICK):
            total += number

    return _least(add) / _YARDSTICK


def _clock() -> Outcome:
    begin = time.perf_counter(), time.monotonic(), time.time()
    time.sleep(0.2)
    measured, monotonic, wall = (
        end - start for end, start in zip((time.perf_counter(), time.monotonic(), time.time()), begin, strict=True)
    )
    largest = max(abs(measured - monotonic), abs(measured - wall)) / measured
    steps = {time.perf_counter() for _ in range(100)}
    text = f"clocks within {100 * largest:.1f} %, {len(steps)} of 100 readings differ"
    remedy = "times that linkwork prints, and time limits, are as wrong as this machine's clock"
    right = measured * 1.05 >= 0.2 and largest < 0.05 and len(steps) > 50
    return outcome_of(right, text, "within 5 %, more than 50", remedy, Verdict.DIFFERS)


def _lanes() -> Outcome:
    lanes, best = code_statistics(dynamics_kernel()).lanes, [*levels().values()][-1].lanes
    remedy = "LINKWORK_SIMD limits the instruction set; without it code has the best one of this processor"
    return outcome_of(lanes >= best, str(lanes), f"{best}, of {[*levels()][-1]}", remedy, Verdict.DIFFERS)


def _fused_multiply_add() -> Outcome:
    remedy = "the last bits of results differ from those of processors with fused multiply-add"
    fuses = host().fma
    return outcome_of(fuses, "used" if fuses else "not used", "used", remedy, Verdict.DIFFERS)


def _single_call() -> Outcome:
    kernel, state = dynamics_kernel(), [x[0].copy() for x in states()]

    def call() -> None:
        for _ in range(1000):
            kernel(*state)

    return _speed(_least(call) / 1000, _SINGLE_CALL)


def _batch() -> Outcome:
    kernel, values = dynamics_kernel(), states()
    size, out = len(values[0]), np.empty_like(values[0])

    def call() -> None:
        for _ in range(10):
            kernel(*values, out=out)

    return _speed(_least(call) / (10 * size), _STATE_OF_LANE / host().lanes)


def _speed(seconds: float, multiple: float) -> Outcome:
    expected = multiple * _addition()
    remedy = "code or calls are slower than the processor allows; report this table"
    measured, usual = f"{1e9 * seconds:.0f} ns", f"about {1e9 * expected:.0f} ns"
    return outcome_of(seconds < _SLOWER * expected, measured, usual, remedy, Verdict.DIFFERS)


SPEED_CHECKS = (
    Check("clock", _clock),
    Check("SIMD lanes", _lanes),
    Check("fused multiply-add", _fused_multiply_add),
    Check("time of a call", _single_call),
    Check("time of a state", _batch),
)
