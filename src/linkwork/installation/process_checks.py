"""Checks of what compiled code needs from the system: the cache, other processes, threads and their stacks."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
import tempfile
import threading
from typing import Any

import numpy as np

from linkwork import get_num_threads, set_num_threads
from linkwork._util.thread_pool import available_processors
from linkwork.installation.number_checks import digest_of, dynamics_kernel, states
from linkwork.installation.report import Check, Outcome, Verdict, outcome_of
from linkwork.kernels import Cache, cache_location, code_statistics

__all__ = ["PROCESS_CHECKS"]

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
    command = [sys.executable, "-c", _PROGRAM]
    message = pickle.dumps((kernel, values))
    try:
        done = subprocess.run(command, input=message, capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return Outcome(Verdict.FAILED, f"not ended after {_SECONDS:g} s", "equal bits, from the cache", _NOT_ENDED)
    if done.returncode:
        error = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        return Outcome(Verdict.FAILED, error or f"exit code {done.returncode}", "equal bits", "report this table")
    result, cached = done.stdout.decode().split()
    if result != digest:
        return Outcome(Verdict.FAILED, result, digest, "report this table: another process computes other numbers")
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
