"""Thread of a live page that makes all changes of the scene, one job at a time.

Jobs have a key. A new job replaces one with the same key that has not begun, so the latest state is shown and others
are dropped: the caller never waits, and no queue grows. Events of controls only post jobs.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections.abc import Callable, Hashable
from typing import Any

__all__ = ["PERIOD", "Worker", "when_changed", "when_clicked"]

PERIOD = 1.0 / 60.0  # [s] between two pictures at least
_INTERVAL = 0.2  # [s] after which a wait sees Ctrl-C at the latest
_PATIENCE = 10.0  # [s] that `stop` waits for a job that runs


class Worker:
    """Thread that runs the latest job of each key and then publishes the result, at most once in each `PERIOD`.

    ``publish()`` runs after the jobs, and returns the time [s] after which it must run again without a job, or None.
    ``fail(error)`` receives errors of jobs. ``finish()`` runs at the end, in the thread.
    """

    def __init__(
        self, publish: Callable[[], float | None], fail: Callable[[Exception], None], finish: Callable[[], None]
    ) -> None:
        self._publish, self._fail, self._finish = publish, fail, finish
        self._jobs: dict[Hashable, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
        self._changed = threading.Condition()
        self._busy = False
        self._ended = threading.Event()
        self.dropped = 0
        """Number of jobs that were replaced before they began."""
        self.published = 0
        """Number of pictures."""
        self._thread = threading.Thread(target=self._run, name="linkwork live page", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """True until `stop` is called."""
        return not self._ended.is_set()

    def post(self, key: Hashable, job: Callable[..., Any], *arguments: Any) -> None:
        """Run a job soon, replacing a waiting job with the same key; a call after `stop` has no effect."""
        with self._changed:
            if key in self._jobs:
                self.dropped += 1
            self._jobs[key] = job, arguments
            self._changed.notify_all()

    def settle(self, timeout: float = 60.0) -> bool:
        """Wait until all jobs are done and published; return False after ``timeout`` [s]."""
        with self._changed:
            return self._changed.wait_for(lambda: self._ended.is_set() or not (self._jobs or self._busy), timeout)

    def stop(self) -> None:
        """End the thread, and wait for its end unless the caller is this thread."""
        self.request_stop()
        if threading.current_thread() is not self._thread:
            self._thread.join(_PATIENCE)

    def request_stop(self) -> None:
        """End the thread soon, without waiting."""
        self._ended.set()
        with self._changed:
            self._changed.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the thread; return True if it has ended.

        It waits for short times, since a signal that comes just before a wait does not interrupt it.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        is_other = threading.current_thread() is not self._thread
        while is_other and self._thread.is_alive() and (left := end - time.monotonic()) > 0.0:
            self._thread.join(min(left, _INTERVAL))
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            pause: float | None = None
            while not self._ended.is_set():
                with self._changed:
                    self._changed.wait_for(lambda: self._jobs or self._ended.is_set(), pause)
                    jobs, self._jobs, self._busy = [*self._jobs.values()], {}, True
                begin = time.perf_counter()
                for job, arguments in jobs:
                    self._call(job, *arguments)
                pause = self._call(self._publish)
                self.published += 1
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
                self._ended.wait(max(PERIOD - (time.perf_counter() - begin), 0.0))
        finally:
            self._finish()

    def _call(self, job: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function; report its error by ``fail``, so that the thread does not end."""
        try:
            return job(*arguments)
        except Exception as error:
            try:
                self._fail(error)
            except Exception:
                traceback.print_exc()
            return None


def when_changed(control: Any, act: Callable[[Any], Any]) -> None:
    """Call ``act(value)`` when a user changes a control in a page, but not when the program sets its value."""

    async def changed(event: Any) -> None:
        if event.client_id is not None:
            act(event.target.value)

    control.on_update(changed)


def when_clicked(button: Any, act: Callable[[], Any]) -> None:
    """Call ``act()`` when somebody clicks a button."""

    async def clicked(event: Any) -> None:
        act()

    button.on_click(clicked)
