"""Locks that a forked process finds free."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from functools import cached_property
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
    if sys.version_info < (3, 12):  # later ones have no lock
        _renew_cached_properties()


def _renew_cached_properties() -> None:
    """Until Python 3.11 a `cached_property` has a lock, which another thread may have had."""
    known = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == _PACKAGE]
    kinds = {kind for module in known for kind in vars(module).values() if isinstance(kind, type)}
    for kind in kinds:
        for one in vars(kind).values() if kind.__module__.partition(".")[0] == _PACKAGE else ():
            if isinstance(one, cached_property):
                one.__dict__["lock"] = threading.RLock()


_PACKAGE = __name__.partition(".")[0]
if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_after_fork)
