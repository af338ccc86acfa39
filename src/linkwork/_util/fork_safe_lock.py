"""Locks that are released in a forked process, and that no interrupt leaves acquired."""

from __future__ import annotations

import os
import threading
from weakref import ref

__all__ = ["Lock"]


class Lock(type(threading.RLock())):  # type: ignore[misc]  # the class itself has no public name
    """A reentrant lock that is released in a forked process if another thread had acquired it.

    A fork copies only the thread that forks, so no other thread could release the lock there.

    `with` calls methods that are written in C.  A signal handler runs between two bytecodes, so it cannot raise after
    the lock is acquired and before the block is entered: Ctrl-C never leaves the lock acquired.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        _locks.add(ref(self, _locks.discard))

    def renewed(self) -> None:
        """Release the lock in a forked process, unless this thread has acquired it."""
        if self.acquire(blocking=False):
            self.release()
        else:
            self._at_fork_reinit()


_locks: set[ref[Lock]] = set()  # no WeakSet, which calls Python when a lock is deleted: an interrupt is lost there


def _after_fork() -> None:
    for reference in list(_locks):
        lock = reference()
        if lock is not None:
            lock.renewed()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_after_fork)
