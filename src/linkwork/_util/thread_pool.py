"""Parallel execution of tasks on threads with stacks large enough for compilation, with progress reports.

If no thread can be started, the tasks run in the calling thread.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from linkwork._util.own_thread import start_thread

__all__ = ["available_processors", "in_parallel", "run"]


T = TypeVar("T")
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
    """The remaining tasks, the results by task index, and a queue with one entry per finished task."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        self.remaining = list(enumerate(tasks))[::-1]
        self.results: dict[int, T] = {}
        self._ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._running: set[int] = set()  # threads
        self._left: queue.SimpleQueue[None] = queue.SimpleQueue()  # one entry for each thread that has ended

    def run_all(self) -> None:
        """Run tasks until none is left, on a thread of their own."""
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

    The first error is raised after the running tasks have ended.  Those of ``last`` run afterwards, in order, on the
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
