"""Several tasks at once, on threads whose stacks are large enough to compile on; on none where none can be started.

Doing several things at once, with progress shown on standard error.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from linkwork._util.fork_safe_lock import Lock
from linkwork._util.progress import Reporter

__all__ = ["in_parallel", "run"]


T = TypeVar("T")
_STACK = 1 << 23  # bytes: LLVM takes more than threads have where a system or a program gives them little
_starting = Lock()


def run(
    tasks: Sequence[Callable[[], T]],
    done: Callable[[], None] = lambda: None,
    waiting: Callable[[], float | None] = lambda: None,
) -> list[T]:
    """The results of all tasks, of which as many run at the same time as there are processors.

    ``done`` is called here after each task.  ``waiting`` is called here before each wait for one, and returns after how
    many seconds it wants to be called again, if so.  The first error is raised when the tasks that had begun are done;
    those that had not are left.  Where no thread can be started, the tasks run here one after the other.
    """
    work = _Work(tasks)
    threads = _started(work.some, min(len(tasks), os.cpu_count() or 1))
    try:
        for _ in tasks:
            if threads:
                work.wait(waiting)
            else:
                waiting()
                work.one()
                work.wait(lambda: None)
            done()
    finally:
        work.left.clear()
        for thread in threads:
            thread.join()
    return [work.results[k] for k in range(len(tasks))]


class _Work(Generic[T]):
    """Tasks that are left, results that there are, and word of each that has ended."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        self.left = list(enumerate(tasks))[::-1]
        self.results: dict[int, T] = {}
        self._ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def some(self) -> None:
        """Do tasks as long as some are left."""
        while self.left:
            self.one()

    def one(self) -> None:
        try:
            k, task = self.left.pop()
        except IndexError:  # another thread was faster
            return
        try:
            self.results[k] = task()
        except BaseException as error:  # it is raised where the results are waited for
            self.left.clear()
            self._ended.put(error)
        else:
            self._ended.put(None)

    def wait(self, waiting: Callable[[], float | None]) -> None:
        """Wait until one more task has ended.  Raises its error."""
        while True:
            try:
                error = self._ended.get(timeout=waiting())
                break
            except queue.Empty:
                continue
        if error is not None:
            raise error


def _started(work: Callable[[], None], count: int) -> list[threading.Thread]:
    """So many threads, or as many as can be started."""
    threads: list[threading.Thread] = []
    if sys.is_finalizing():  # a thread started now would wait for Python for ever
        return threads
    with _starting:
        before = _stack_size(_STACK)
        if before > _STACK:
            _stack_size(before)
        try:
            for _ in range(count):
                thread = threading.Thread(target=work)
                thread.start()
                threads.append(thread)
        except (RuntimeError, MemoryError):  # no more threads are allowed, or Python is ending
            pass
        finally:
            _stack_size(before)
    return threads


def _stack_size(size: int) -> int:
    """Set the size of the stacks of threads started from now on, where it can be set.  Returns what it was."""
    try:
        return threading.stack_size(size)
    except (ValueError, RuntimeError):
        return 0


def in_parallel(caller: str, tasks: Sequence[Callable[[], Any]], label: str, progress: Any) -> None:
    """Call every task, as many at a time as there are processors, and report ``progress`` (see `Reporter`).

    The first error is raised when the tasks that had begun are done.
    """
    if not tasks:
        return
    with Reporter(caller, progress, label, len(tasks)).hide_notices() as report:
        run(tasks, done=report.advance)
