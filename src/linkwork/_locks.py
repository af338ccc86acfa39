"""Locks that a forked process finds free."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

__all__ = ["Lock"]


class Lock:
    """A lock that its thread may take again, and that is free in a forked process if another thread had it.

    A fork copies the thread that forks and no other, so nobody there would ever let go of it.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def renewed(self) -> None:
        """Become free, unless this thread has it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_locks):
        lock.renewed()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_after_fork)
