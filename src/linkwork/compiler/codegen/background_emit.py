"""Compilation of LLVM IR in other processes, while this one works with quick code.

LLVM cannot be stopped while it compiles, and a thread inside LLVM may crash a process that exits.  Therefore a child
process compiles (`compile_process`), and a thread of this process waits for its object files.  At exit the child is
killed.  A forked process starts its own child processes for unfinished jobs.  If no child can be started, the thread
itself compiles.  A job whose child ended early is dropped, and the quick code stays in use.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import sys
import time
import zlib
from _queue import Empty, SimpleQueue
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import get_ident
from typing import Any

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public, unchecked
from linkwork._util.collection_pauses import is_any_paused
from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.thread_safety import Lock
from linkwork._util.thread_tasks import available_processors, in_main_interpreter, start_thread
from linkwork._util.validation import duration, optional
from linkwork.compiler.backend import Claim
from linkwork.compiler.codegen.jit import effort_of, emit
from linkwork.compiler.codegen.target import Target, processor

__all__ = ["Job", "is_available", "submit", "wait_for_compiler"]

_MAX_PROCESSES = 4
_MAX_READ = 1 << 20  # [bytes]
_IDLE = 10.0  # [s] after which a child without work ends
_QUIET = 0.2  # [s] without other traces and compilations, after which modules are written
_LOOK_INTERVAL = 0.3  # [s] between two looks for the code that another process compiles
_POLL = 2e-3  # [s] between two looks for the end of jobs and threads
_LONGEST_EXIT = 2.0  # [s] that the exit of this process waits for a thread that links code
_PROGRAM = Path(__file__).with_name("compile_process.py")
_START = "import runpy, sys; sys.path[:] = sys.argv[2:]; runpy.run_path(sys.argv[1], run_name='__main__')"


@dataclass(eq=False)
class Job:
    """Modules to compile for a target; ``done`` is called on another thread with their object files.

    ``modules`` returns the compressed modules and their length in characters.  Unless ``is_written``, it writes them.
    ``modules`` of an ``urgent`` job, for a kernel that has no code yet, are compiled before others.  ``claim`` and
    ``release`` are as for `Backend.emit_later`.
    """

    modules: Callable[[], tuple[Sequence[bytes], int]]
    is_written: bool
    target: Target
    done: Callable[[list[bytes]], None]
    urgent: bool = False
    claim: Callable[[], Claim] = lambda: "now"
    release: Callable[[], None] = lambda: None
    not_before: float = 0.0  # [s] of the monotonic clock: when another process may have compiled the modules

    @cached_property
    def packed(self) -> Sequence[bytes]:
        """The compressed modules."""
        return self._modules[0]

    @property
    def effort(self) -> int:
        """LLVM's optimization level."""
        return effort_of(self._modules[1], self.target)

    @cached_property
    def _modules(self) -> tuple[Sequence[bytes], int]:
        return self.modules()


class _Child:
    """A child process that compiles LLVM IR.  Raises OSError if it does not start or has another LLVM or llvmlite."""

    def __init__(self) -> None:
        import subprocess

        environment = {key: x for key, x in os.environ.items() if key not in ("PYTHONSTARTUP", "PYTHONINSPECT")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, str(_PROGRAM), *map(os.path.abspath, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # Ctrl-C in a terminal interrupts this process alone
            env=environment,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._requests, self._replies = self.process.stdin, self.process.stdout
        self._received = bytearray()  # no buffered reader, whose lock a fork may copy while it is acquired
        try:
            answer = self._head()
            if answer.get("versions") != [processor().llvmlite, processor().llvm]:
                raise OSError(f"the compiling process has other versions: {answer}")
        except BaseException:
            self.end()
            raise

    def compile(self, job: Job) -> list[bytes]:
        """Return the object files of a job.  Raises OSError if the child ended, RuntimeError if LLVM failed."""
        options = job.target.machine_options(job.effort)
        head = {"triple": options.pop("triple"), "options": options, "sizes": [*map(len, job.packed)]}
        self._write(json.dumps(head).encode() + b"\n")
        for module in job.packed:
            self._write(module)
        answer = self._head()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return [self._read(size) for size in answer["sizes"]]

    def end(self) -> None:
        """Kill the child."""
        with contextlib.suppress(OSError):
            self.process.kill()
        with contextlib.suppress(OSError):
            self.process.wait()
        self.close()

    def close(self) -> None:
        """Close the pipes without a message to the child, which may belong to the parent of a forked process."""
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                pipe.close()

    def _write(self, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[self._requests.write(remaining) or 0 :]

    def _head(self) -> dict[str, Any]:
        while b"\n" not in self._received:
            self._receive()
        answer: dict[str, Any] = json.loads(self._read(self._received.index(b"\n") + 1))
        return answer

    def _read(self, size: int) -> bytes:
        while len(self._received) < size:
            self._receive()
        data = bytes(self._received[:size])
        del self._received[:size]
        return data

    def _receive(self) -> None:
        data = self._replies.read(_MAX_READ)
        if not data:
            raise OSError("the compiling process ended")
        self._received += data


class _Background:
    """The compilation jobs of this process, and threads that run them, each with a child process that compiles.

    The main thread calls `submit` and `wait`, which a signal handler may end at any bytecode: so each change that they
    make is one C call.  A thread registers itself.
    """

    def __init__(self, jobs: Sequence[Job] = ()) -> None:
        self.lock = Lock()
        self.waiting = deque(jobs)
        self.running: list[Job] = []
        self.children: list[_Child] = []
        self.threads: set[int] = set()
        self.writing: set[int] = set()  # threads that write modules, in Python alone
        self.idle = 0
        self.hurried: set[object] = set()  # calls that wait for the jobs
        self.stopped = False
        self.wakes: SimpleQueue[None] = SimpleQueue()  # one entry for each change that a thread may wait for

    def submit(self, job: Job) -> None:
        with self.lock:
            if job.urgent:
                self.waiting.appendleft(job)
            else:
                self.waiting.append(job)
        self.wakes.put(None)
        self.start()

    def start(self) -> bool:
        """Start a thread if there are more jobs than idle threads; return False if no thread can be started."""
        return not self._is_needed() or start_thread(self._work)

    def _is_needed(self) -> bool:
        """Return True if one more thread should be started."""
        return not self.stopped and len(self.waiting) > self.idle and len(self.threads) < _processes()

    def wait(self, seconds: float | None) -> bool:
        end = math.inf if seconds is None else time.monotonic() + seconds
        call = object()
        try:
            self.hurried.add(call)
            while self._is_busy():
                if not self.threads and not self.start():  # nothing works on them: the limit of threads is reached
                    return False
                remaining = end - time.monotonic()
                if remaining <= 0.0:
                    return False
                time.sleep(min(remaining, _POLL))
            return True
        finally:
            self.hurried.discard(call)

    def _is_busy(self) -> bool:
        with self.lock:
            return bool(self.waiting or self.running)

    def stop(self) -> None:
        """Kill the children, drop the jobs, and wait for threads that link code."""
        with self.lock:
            self.stopped = True
            self.waiting.clear()
        for _ in range(len(self.threads)):
            self.wakes.put(None)
        for child in list(self.children):
            with contextlib.suppress(OSError):
                child.process.kill()
        end = time.monotonic() + _LONGEST_EXIT
        while self.threads - self.writing - {get_ident()} and time.monotonic() < end:
            time.sleep(_POLL)

    def _work(self) -> None:
        with self.lock:
            if not self._is_needed():
                return
            self.threads.add(get_ident())
            self.idle += 1
        child: _Child | None = None
        try:
            while (job := self._next()) is not None:
                again = False
                try:
                    self._write(job)  # before the claim: a thread that waits for the job's lock is never quiet
                    state = job.claim()
                    again = state == "later"
                    if state != "now":
                        continue
                    child = self._child(child) if job.packed else child
                    objects = _compiled_here(job) if child is None else child.compile(job)
                    if not self.stopped:
                        job.done(objects)
                except (OSError, ValueError, RuntimeError, MemoryError):
                    if child is not None:
                        self._remove(child)
                        child = None
                finally:
                    job.release()
                    self._finished(job, again)
        finally:
            if child is not None:
                self._remove(child)
            self._leave(get_ident())

    def _write(self, job: Job) -> None:
        """Generate a job's source while no other thread traces or compiles.  Raises RuntimeError if that fails."""
        if job.is_written:
            return
        thread = get_ident()
        self.writing.add(thread)
        try:
            quiet = time.monotonic()
            while time.monotonic() < quiet + _QUIET and not (self.hurried or self.stopped):
                time.sleep(_QUIET / 4)
                if is_any_paused():
                    quiet = time.monotonic()
            if self.stopped:
                raise OSError("the process is exiting, so its modules are not compiled")
            job.packed  # noqa: B018
        except Exception as reason:  # of the function that is traced, for instance
            raise RuntimeError("the modules could not be written") from reason
        finally:
            self.writing.discard(thread)

    def _next(self) -> Job | None:
        """Wait for a job and return it; None if the queue stays empty for the waiting time."""
        end = time.monotonic() + _IDLE
        while True:
            with self.lock:
                now = time.monotonic()
                if self.stopped:
                    return None
                job = next((job for job in self.waiting if job.not_before <= now), None)
                if job is not None:
                    self.idle -= 1
                    self.waiting.remove(job)
                    self.running.append(job)
                    return job
                if not self.waiting and now >= end:
                    return None
                pause = min((job.not_before for job in self.waiting), default=end) - now
            with contextlib.suppress(Empty):
                self.wakes.get(timeout=max(pause, 0.0))

    def _finished(self, job: Job, again: bool) -> None:
        """Record that a thread has ended its work on a job; with ``again``, queue the job once more after a delay."""
        with self.lock:
            self.idle += 1
            self.running.remove(job)
            if again and not self.stopped:
                job.not_before = time.monotonic() + _LOOK_INTERVAL
                self.waiting.append(job)

    def _leave(self, thread: int) -> None:
        with self.lock:
            self.idle -= 1
            self.threads.discard(thread)
        self.start()

    def _child(self, child: _Child | None) -> _Child | None:
        """Return the child process of this thread, started if ``child`` is None; None if it cannot be started."""
        if child is not None:
            return child
        try:
            new = _Child()
        except OSError:
            return None
        with self.lock:
            self.children.append(new)
        if self.stopped:
            self._remove(new)
            raise OSError("this process exits")
        return new

    def _remove(self, child: _Child) -> None:
        with self.lock:
            if child in self.children:
                self.children.remove(child)
        child.end()


def _compiled_here(job: Job) -> list[bytes]:
    texts = [zlib.decompress(module).decode() for module in job.packed]
    return emit(texts, replace(job.target, effort=job.effort))


def _processes() -> int:
    """Return the number of compiling processes: half of the processors, since the program uses the others."""
    return max(1, min(available_processors() // 2, _MAX_PROCESSES))


def is_available() -> bool:
    """Return True if this process can compile in the background.

    This requires a Python executable that can be started.  It is impossible in programs that embed Python, since their
    executable would start the program again.
    """
    name = Path(sys.executable or "").name.lower()
    return (
        name.startswith(("python", "pypy"))
        and not getattr(sys, "frozen", False)
        and in_main_interpreter()
        and not sys.is_finalizing()
        and _PROGRAM.is_file()
    )


def submit(job: Job) -> None:
    """Compile modules in another process; `Job.done` is called with the object files, unless that fails."""
    _background.submit(job)


@public(timeout=unchecked)
def wait_for_compiler(timeout: float | None = None) -> bool:
    """Wait until the best machine code of all kernels is in use; return False if ``timeout`` ends first.

    A kernel's first call uses code that is compiled in little time.  Better code is compiled in other processes, and
    replaces it between two calls; results are the same to the bit.  Call this function before times are measured, or
    before a control loop begins.  ``timeout`` [s] is the longest time to wait, by default unlimited.  Raises TypeError
    for a timeout that is not a number, ValueError for a negative one or NaN.

    >>> import linkwork as lw
    >>> robot = lw.load("arm7")
    >>> robot.forward_dynamics(robot.neutral(), [0.0] * 7, [0.0] * 7).shape
    (7,)
    >>> lw.wait_for_compiler()
    True
    """
    return _background.wait(optional(duration)("wait_for_compiler", "timeout", timeout))


def _stop() -> None:
    _background.stop()


def _renew_in_child() -> None:
    """After a fork, let the forked process compile again the jobs that its parent process had not finished."""
    global _background
    old = _background
    for child in old.children:
        child.close()
        child.process.returncode = 0  # it belongs to the other process
    _background = _Background([*old.running, *old.waiting])
    _background.start()


_background = _Background()
atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)
