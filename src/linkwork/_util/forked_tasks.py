"""Tasks that go on in a forked process, so that Python code of several tasks runs at the same time.

Threads share Python's lock: two functions that are traced on two threads take as long as one after the other.  A task
whose results go to a store on disk can do its long work in a copy of this process instead.  The copy stores the results
and ends; this process waits, and finds them.

A copy has this process's memory, but none of its other threads, files and signal handlers.  The task does the work in
this process if the copy cannot be started, ends early, or uses no processor time for some seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from linkwork._util.collection_pauses import disable_collections
from linkwork._util.fork_safe_lock import Lock
from linkwork._util.worker_process import worker_of

__all__ = [
    "VARIABLE",
    "CancelledTaskError",
    "ForkableTask",
    "do_afterwards",
    "do_without_copies",
    "go_on_in_copy",
    "has_copies",
    "is_copy",
]

T = TypeVar("T")
VARIABLE = "LINKWORK_FORK"
# libraries that advise against forks, or change them
_CAUTIOUS = ("mpi4py", "gevent", "eventlet", "jax", "grpc", "ray")
_LARGEST = 2 << 30  # [bytes] of memory in use: a fork copies its page tables, some 10 ms for each GB
_POLL = 0.05  # [s] between two looks at a copy
_STALLED = 5.0  # [s] without processor time, after which a copy is given up
_NICE = 10  # added to the priority number of a copy after its task: others go first
_LONGEST = 300  # [s] after which the system ends a copy in any case


class ForkableTask:
    """A task for `thread_pool`, which may go on in a copy of this process where it says so by `go_on_in_copy`.

    ``beside`` are the tasks that run beside it in this process: a copy gains nothing where there is none.  A task that
    is ``cancelled`` begins no more long work, and stops waiting for its copy, which is ended.
    """

    def __init__(self, task: Callable[[], T], beside: set[Any], *, forks: bool = True) -> None:
        self.task, self.beside, self.forks = task, beside, forks
        self.cancelled = False

    def __call__(self) -> Any:
        before, _local.task = getattr(_local, "task", None), self
        self.beside.add(self)
        try:
            result = self.task()
        except BaseException:
            if _copy is not None and _copy.task is self:
                os._exit(1)
            raise
        finally:
            _local.task = before
            self.beside.discard(self)
        if _copy is not None and _copy.task is self:
            _end_copy()
        return result


class CancelledTaskError(BaseException):
    """A task was cancelled before long work, or while it waited for its copy."""


def go_on_in_copy(waiting: Callable[[], object] = lambda: None, can_store: Callable[[], bool] = lambda: True) -> bool:
    """Fork before long work, if the calling thread runs a task that allows it; return True if the work may be done.

    The copy gets False and goes on with the task.  Meanwhile this process waits for the end of the task, calling
    ``waiting`` from time to time; then it should look for the results.  False means that it has to do the work.
    ``can_store`` is called before a fork; it returns False where a copy could not store its results.
    """
    task: ForkableTask | None = getattr(_local, "task", None)
    if task is not None and task.cancelled:
        raise CancelledTaskError
    if task is None or not task.forks or len(task.beside) < 2 or not _may_fork() or not can_store():
        return False
    task.forks = False  # once
    try:
        source, sink = os.pipe()
    except OSError:
        return False
    try:
        number = _fork()
    except (OSError, RuntimeError):  # the limit of processes is reached, or an interpreter that does not fork
        os.close(source)
        os.close(sink)
        return False
    if number == 0:
        try:
            _become_copy(task, sink)
        except BaseException:
            os._exit(1)
        return False
    os.close(sink)
    task.beside.discard(task)
    try:
        return _wait(task, number, source, waiting)
    finally:
        task.beside.add(task)
        os.close(source)


def is_copy() -> bool:
    """Return True in a copy of a process that does one task."""
    return _copy is not None


def do_without_copies() -> None:
    """Start no more copies: results of one were not found."""
    global _is_in_vain
    _is_in_vain = True


def do_afterwards(work: Callable[[], object]) -> None:
    """Do work in a copy after its task has ended, when the other process goes on."""
    assert _copy is not None
    _copy.afterwards.append(work)


def has_copies() -> bool:
    """Return True while copies of this process are running."""
    for number in list(_copies):
        _reap(number)
    return bool(_copies)


# -- this process


def _may_fork() -> bool:
    """Return True if a copy gains time and is safe: on Linux, on an idle processor, with the memory for it."""
    if not sys.platform.startswith("linux") or is_copy() or sys.is_finalizing() or sys.gettrace() is not None:
        return False
    if _is_in_vain or os.environ.get(VARIABLE, "").lower() in ("off", "0") or worker_of() is not None:
        return False
    if any(name in sys.modules for name in _CAUTIOUS):
        return False
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        processors = len(os.sched_getaffinity(0))
    except (OSError, ValueError, IndexError):
        return False
    has_copies()  # forgets those that have ended
    return resident <= _LARGEST and sum(_copies.values()) + 1 < processors


def _fork() -> int:
    """Fork; the functions that other modules call in a forked process see `is_copy`."""
    global _forking
    with _starting:
        _forking = threading.get_ident()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of forks beside other threads, which a copy does not need
                number = os.fork()
        finally:
            if not is_copy():
                _forking = 0
    if number:
        _copies[number] = True
    return number


def _wait(task: ForkableTask, number: int, source: int, waiting: Callable[[], object]) -> bool:
    """Return True when a copy has ended its task; False if it ended early, or does nothing."""
    import select

    poll = select.poll()
    poll.register(source, select.POLLIN)
    used, since = None, time.monotonic()
    while True:
        if poll.poll(1000.0 * _POLL):
            done = os.read(source, 1) == b"1"
            if done and number in _copies:
                _copies[number] = False
            if not done:
                _end(number)
            return done
        if task.cancelled:
            _end(number)
            raise CancelledTaskError
        waiting()
        ticks = _processor_ticks(number)
        if ticks is None or ticks != used:
            used, since = ticks, time.monotonic()
        if time.monotonic() - since > _STALLED or _reap(number):
            _end(number)
            return False


def _processor_ticks(number: int) -> int | None:
    """Return the processor time that a process has used, in ticks of the system; None if it is not known."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{number}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
        return int(fields[11]) + int(fields[12])
    return None


def _end(number: int) -> None:
    """Kill a copy, if it still runs."""
    if number in _copies and not _reap(number):
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(number, 0)
        _copies.pop(number, None)


def _reap(number: int) -> bool:
    """Return True if a copy has ended, or is no child of this process any more."""
    try:
        ended = os.waitpid(number, os.WNOHANG)[0] != 0
    except OSError:
        ended = True
    if ended:
        _copies.pop(number, None)
    return ended


def _end_all() -> None:
    for number in list(_copies):
        _end(number)


# -- the copy


class _Copy:
    """State of a copy besides the memory of the other process: its task, and the work after it."""

    def __init__(self) -> None:
        self.task: ForkableTask | None = None
        self.sink = -1
        self.afterwards: list[Callable[[], object]] = []


def _note_fork() -> None:
    """Forget the copies of the process that forked, and note if this one is a copy itself."""
    global _copy
    _copies.clear()
    _copy = _Copy() if _forking == threading.get_ident() else None


def _become_copy(task: ForkableTask, sink: int) -> None:
    """Leave what belongs to the other process: its signals, streams, files and log."""
    assert _copy is not None
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_LONGEST)
    _copy.task, _copy.sink = task, sink
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != sink:
            with contextlib.suppress(OSError):
                os.close(int(name))
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 # as long as the process
    sys.setprofile(None)
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.disable(logging.CRITICAL)
    disable_collections()  # an object of the other process could write to its file when it is collected


def _end_copy() -> NoReturn:
    """Report that the task has ended, do what is left, and end."""
    assert _copy is not None
    try:
        os.write(_copy.sink, b"1")
        os.nice(_NICE)
        for work in _copy.afterwards:
            work()
    finally:
        os._exit(0)


_local = threading.local()
_starting = Lock()
_copies: dict[int, bool] = {}  # the running copies, by the number of the process: True while their task runs
_is_in_vain = False
_forking = 0  # the thread that forks a copy
_copy: _Copy | None = None  # of this process, if it is a copy itself
atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
