"""Tasks on threads: one thread of linkwork, on which no signal handler runs, and parallel tasks with progress.

Python runs signal handlers on the main thread, between two bytecodes.  If a handler raises there, a lock that Python
code has just acquired stays acquired: llvmlite's, and those of `threading.Thread.start`.  Such code is therefore called
on linkwork's own thread, and the main thread waits for the result.  If a handler ends the wait, the call on linkwork's
thread still runs to its end, and its result is dropped.

Objects whose deletion calls such code are also deleted on linkwork's thread: see `deleted_on_own_thread`.

Parallel tasks have stacks large enough for compilation.  If no thread can be started, they run in the calling thread.
"""

from __future__ import annotations

import _thread
import atexit
import os
import queue
import sys
import threading
from _queue import Empty, SimpleQueue
from _thread import get_ident, stack_size, start_new_thread
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from types import BuiltinFunctionType
from typing import Any, Generic, TypeVar
from weakref import ref

from linkwork._util.thread_safety import Lock

__all__ = [
    "available_processors",
    "deleted_on_own_thread",
    "in_main_interpreter",
    "in_parallel",
    "on_own_thread",
    "run",
    "start_thread",
]

T = TypeVar("T")
_STACK = 1 << 23  # [bytes] LLVM needs more than the small default stacks of some systems and programs
_IDLE = 10.0  # [s] after which the thread ends if it has nothing to do
_LONGEST_EXIT = 2.0  # [s] that the exit of this process waits for a call on the thread
_Request = tuple[list[Callable[[], Any]], "SimpleQueue[Any]"]


@cache
def in_main_interpreter() -> bool:
    """Return True in Python's first interpreter; C code cannot call back into subinterpreters."""
    import ctypes

    main, current = ctypes.pythonapi["PyInterpreterState_Main"], ctypes.pythonapi["PyInterpreterState_Get"]
    main.restype = current.restype = ctypes.c_void_p
    return bool(main() == current())


def on_own_thread(function: Callable[[], T]) -> T:
    """Return ``function()``, called on linkwork's own thread if signal handlers run on this one.

    The function is called on the calling thread if that is not the main thread, or if no thread can be started.
    """
    if get_ident() != threading.main_thread().ident or not in_main_interpreter() or _exiting:
        if get_ident() != threading.main_thread().ident:
            _delete_here()
        return function()
    waiting: list[Callable[[], T]] = [function]
    answers: SimpleQueue[Any] = SimpleQueue()
    try:
        _requests.put((waiting, answers))
        if not _servers and not start_thread(_serve, _requests):
            _answer((waiting, answers))
        result, error = answers.get()
    finally:
        waiting.clear()  # a request that was not begun is dropped
    if error is None:
        return result  # type: ignore[no-any-return]
    try:
        raise error
    finally:
        del error  # its traceback refers to this frame


def start_thread(function: Callable[..., None], *arguments: Any) -> bool:
    """Start a thread with a large stack by one call of C; return False if the system or Python refuses.

    Python does not wait for the thread when the process exits.
    """
    if not isinstance(_thread.start_new_thread, BuiltinFunctionType):  # gevent's, whose threads wait for this one
        return False
    with _starting:
        before = stack_size()
        try:
            if before < _STACK:
                with suppress(ValueError, RuntimeError):  # some systems have one size
                    stack_size(_STACK)
            start_new_thread(function, arguments)
        except (RuntimeError, MemoryError):  # the limit of threads is reached, or the interpreter is shutting down
            return False
        finally:
            stack_size(before)
    return True


def _serve(requests: SimpleQueue[Any]) -> None:
    """Serve requests and deletions queued by `deleted_on_own_thread`, until the queue has been idle for long."""
    thread = get_ident()
    _servers.append(thread)
    while True:
        try:
            request = requests.get(timeout=_IDLE)
        except Empty:
            _servers.remove(thread)
            if requests.empty():
                return
            _servers.append(thread)  # a request came meanwhile, for which no thread may have been started
            continue
        if request is None:
            _servers.remove(thread)
            return
        if isinstance(request, tuple):
            _answer(request)
        del request


def _delete_here() -> None:
    """Delete on this thread the objects that are queued for deletion on linkwork's own thread, which is not running.

    No signal handlers run on this thread.
    """
    with suppress(Empty):
        while not _servers:
            request = _requests.get_nowait()
            if isinstance(request, tuple):
                _answer(request)
            del request


def _answer(request: _Request) -> None:
    """Call the function of a request and store its result for the waiting thread.

    Nothing is called if the request was already served or its result is no longer needed.
    """
    waiting, answers = request
    try:
        function = waiting.pop()
    except IndexError:
        return
    try:
        answers.put((function(), None))
    except BaseException as error:  # `on_own_thread` raises it in the calling thread
        answers.put((None, error))


class _Deletion(ref["Any"]):
    """Weak reference to an owner object, with the content that is deleted after the owner."""

    __slots__ = ("content",)
    content: Any


class _Owner:
    """An owner that refers to its own `_Deletion`: Python runs the callback before it releases this reference."""

    __slots__ = ("__weakref__", "deletion")
    deletion: _Deletion


def deleted_on_own_thread(content: Any) -> object:
    """Return an object that keeps ``content`` alive; when it dies, linkwork's own thread deletes ``content``.

    If the thread is not running, ``content`` is deleted when it runs again.
    """
    owner = _Owner()
    owner.deletion = _Deletion(owner, _requests.put)
    owner.deletion.content = content
    return owner


def _finish() -> None:
    """Wait, at the exit of the process, until linkwork's own thread has finished its work, and end the thread."""
    global _exiting
    _exiting = True
    ended: SimpleQueue[Any] = SimpleQueue()
    if _servers:
        _requests.put(([lambda: None], ended))
        _requests.put(None)
        with suppress(Empty):
            ended.get(timeout=_LONGEST_EXIT)


def _renew_in_child() -> None:
    """Reset this module's state in a forked process, in which linkwork's own thread does not exist."""
    global _requests
    _requests = SimpleQueue()
    _servers.clear()


_starting = Lock()  # the stack's size is a setting of the process
_requests: SimpleQueue[Any] = SimpleQueue()
_servers: list[int] = []  # threads that answer requests: one, or two for a moment
_exiting = False
atexit.register(_finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)


_POLL = 0.05  # [s] between two checks for threads that have ended


def available_processors() -> int:
    """Return the number of processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def run(
    tasks: Sequence[Callable[[], T]],
    done: Callable[[], None] = lambda: None,
    waiting: Callable[[], float | None] = lambda: None,
) -> list[T]:
    """Run all tasks, as many in parallel as there are processors, and return their results in order.

    ``done`` is called in this thread after each task.  ``waiting`` is called in this thread before each wait for a
    task; it returns the time [s] after which to call it again, or None.  The first error is raised after the running
    tasks have ended; tasks not yet started are dropped.  If no thread can be started, the tasks run in this thread.
    """
    work = _Work(tasks)
    count = 0 if sys.is_finalizing() else min(len(tasks), available_processors())  # Python hangs threads at its end
    try:
        are_started = [start_thread(work.run_all) for _ in range(count)]
        for _ in tasks:
            if any(are_started):
                work.wait(waiting)
            else:
                waiting()
                work.run_one()
                work.wait(lambda: None)
            done()
    finally:
        work.remaining.clear()
        work.join()
    return [work.results[k] for k in range(len(tasks))]


class _Work(Generic[T]):
    """State of parallel tasks: remaining tasks, results by task index, and a queue with an entry per finished task."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        self.remaining = list(enumerate(tasks))[::-1]
        self.results: dict[int, T] = {}
        self._ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._running: set[int] = set()  # threads
        self._left: queue.SimpleQueue[None] = queue.SimpleQueue()  # one entry for each thread that has ended

    def run_all(self) -> None:
        """Run remaining tasks one after the other until none is left; this is the body of each worker thread."""
        thread = threading.get_ident()
        self._running.add(thread)
        try:
            while self.remaining:
                self.run_one()
        finally:
            self._running.discard(thread)
            self._left.put(None)

    def run_one(self) -> None:
        try:
            k, task = self.remaining.pop()
        except IndexError:  # another thread took the last task
            return
        try:
            self.results[k] = task()
        except BaseException as error:  # `wait` raises it in the calling thread
            self.remaining.clear()
            self._ended.put(error)
        else:
            self._ended.put(None)

    def wait(self, waiting: Callable[[], float | None]) -> None:
        """Wait until one more task has ended, and raise its error if there is one."""
        while True:
            try:
                error = self._ended.get(timeout=waiting())
                break
            except queue.Empty:
                continue
        if error is not None:
            raise error

    def join(self) -> None:
        """Wait until no thread runs a task."""
        while self._running:
            with suppress(queue.Empty):
                self._left.get(timeout=_POLL)


def in_parallel(
    caller: str,
    tasks: Sequence[Callable[[], Any]],
    label: str,
    progress: Any,
    *,
    last: Sequence[Callable[[], Any]] = (),
) -> None:
    """Call every task, as many in parallel as there are processors, and report ``progress`` (see `Reporter`).

    The first error is raised after the running tasks have ended.  The tasks ``last`` run afterwards, in order, on the
    calling thread.
    """
    if not tasks and not last:
        return
    from linkwork._util.progress import Reporter

    with Reporter(caller, progress, label, len(tasks) + len(last)).hide_notices() as report:
        run(tasks, done=report.advance)
        for task in last:
            task()
            report.advance()
