"""Checks of this machine: the cache, other processes, threads and interrupts, clocks, SIMD lanes and times of calls.

A time is the shortest of several measurements of this thread's processor time, so other programs on the machine have
little effect. If that clock has long steps (16 ms on Windows), a function is called repeatedly for the duration of many
steps.
"""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork import get_num_threads, set_num_threads
from linkwork._util.child_process import run_program
from linkwork._util.thread_tasks import available_processors
from linkwork.installation.number_checks import digest_of, dynamics_kernel, states
from linkwork.installation.report import Check, Outcome, Verdict, outcome_of
from linkwork.kernels import Cache, cache_location, code_statistics, host, levels

__all__ = ["PROCESS_CHECKS", "SPEED_CHECKS"]

_SECONDS = 300.0  # maximum for another process, which takes one second: other programs may keep all processors busy
_SMALL_STACK = 1 << 18  # [bytes] of a thread: less than the default of each system
_NOT_ENDED = "close other programs and check again; report this table if it does not end either"
_REPEATED = 100  # batches of states together, which threads share

# The other process reads a kernel and its states, and writes a digest of the results and if their code was cached.
_PROGRAM = """
import pickle, sys
from linkwork.installation.number_checks import digest_of
from linkwork.kernels import code_statistics
kernel, states = pickle.load(sys.stdin.buffer)
digest = digest_of(kernel(*states))
print(digest, code_statistics(kernel).cached)
"""


def _cache() -> Outcome:
    location = cache_location()
    remedy = "set LINKWORK_CACHE to a directory that you can write to: without it, each process compiles again"
    if location.folder is None or location.refused:
        return Outcome(Verdict.DIFFERS, location.refused or "no directory", "a directory of your own", remedy)
    folder = location.folder
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"linkwork")
    except OSError as error:
        return Outcome(Verdict.DIFFERS, f"{folder}: {error.strerror}", "writable", remedy)
    entries = Cache(location.folder, location.max_bytes).entries()
    size = sum(state.st_size for _, state in entries) / 2**20
    return Outcome(Verdict.OK, f"{location.folder}: {len(entries)} entries, {size:.1f} MiB", "writable")


def _second_process() -> Outcome:
    kernel, values = dynamics_kernel(), states()
    digest = digest_of(kernel(*values))
    code_statistics(kernel)  # compiles all code of the kernel, which the cache stores
    ended = run_program([sys.executable, "-c", _PROGRAM], pickle.dumps((kernel, values)), _SECONDS)
    if ended is None:
        return Outcome(Verdict.FAILED, f"not ended after {_SECONDS:g} s", "equal bits, from the cache", _NOT_ENDED)
    code, output, errors = ended.code, *(text.decode(errors="replace") for text in ended[1:])
    if code:
        error = errors.strip().rpartition("\n")[2]
        return Outcome(Verdict.FAILED, error or f"exit code {code}", "equal bits", "report this table")
    result, cached = output.split()
    if result != digest:
        return Outcome(Verdict.FAILED, result, digest, "report this table: another process computes different numbers")
    if cached != "True" and _cache().verdict is Verdict.OK:
        remedy = "the cache does not return what was stored: each process compiles again; report this table"
        return Outcome(Verdict.DIFFERS, "equal bits, compiled again", "equal bits, from the cache", remedy)
    measured = "equal bits, from the cache" if cached == "True" else "equal bits, without a cache"
    return Outcome(Verdict.OK, measured, "equal bits, from the cache")


def _forked(connection: Any) -> None:
    connection.send(digest_of(dynamics_kernel()(*states())))
    connection.close()


def _fork() -> Outcome:
    if "fork" not in multiprocessing.get_all_start_methods():
        return Outcome(Verdict.OK, "this system has no fork", "equal bits, or no fork")
    digest = digest_of(dynamics_kernel()(*states()))
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_forked, args=(sender,))
    process.start()
    sender.close()
    answered = receiver.poll(_SECONDS)
    answer = receiver.recv() if answered else f"not ended after {_SECONDS:g} s"
    process.join(1.0)
    if process.is_alive():
        process.kill()
    remedy = "start worker processes by spawn; report this table" if answered else _NOT_ENDED
    return outcome_of(answer == digest, str(answer), digest, remedy)


def _threads() -> Outcome:
    kernel, processors, usual = dynamics_kernel(), available_processors(), get_num_threads()
    values = [np.tile(x, (_REPEATED, 1)) for x in states()]
    digests = set()
    try:
        for count in (1, max(2, usual)):
            set_num_threads(count)
            digests.add(digest_of(kernel(*values)))
    finally:
        set_num_threads(usual)
    if len(digests) > 1:
        return Outcome(Verdict.FAILED, "other bits with more threads", "equal bits", "report this table")
    measured = f"{usual} for {processors} processors"
    remedy = "LINKWORK_NUM_THREADS or lw.set_num_threads sets the number of threads of large batches"
    return outcome_of(usual >= min(processors, 2), measured, "more than one, or one processor", remedy, Verdict.DIFFERS)


def _small_stack() -> Outcome:
    digests: list[str] = []
    size = threading.stack_size(_SMALL_STACK)
    try:
        thread = threading.Thread(target=lambda: digests.append(digest_of(dynamics_kernel()(*states()))))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    right = digests == [digest_of(dynamics_kernel()(*states()))]
    expected = f"equal bits with {_SMALL_STACK >> 10} KiB"
    return outcome_of(right, "equal bits" if right else "no result", expected, "report this table")


PROCESS_CHECKS = (
    Check("cache", _cache),
    Check("second process", _second_process),
    Check("fork", _fork),
    Check("threads", _threads),
    Check("small stack", _small_stack),
)


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
    """Return the step between two readings of this thread's clock [s]; Windows reports too short a step."""
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
