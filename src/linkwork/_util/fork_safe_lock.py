"""Locks that are released in a forked process, and that no interrupt leaves acquired."""

from __future__ import annotations

import os
import sys
import threading
from weakref import ref

__all__ = ["InterruptSafeLock", "Lock"]


class InterruptSafeLock(type(threading.RLock())):  # type: ignore[misc]  # the class itself has no public name
    """A reentrant lock that Ctrl-C never leaves acquired, in a `with` statement.

    Up to Python 3.13, `with` calls a method that is written in C, and no signal handler runs before the block is
    entered.  From Python 3.14 on, a handler runs after such a call (python/cpython#148874).  None runs after the return
    from a method that is written in Python, which releases the lock if a handler raises in it.
    """

    __slots__ = ()

    if sys.version_info >= (3, 14):

        def __enter__(self) -> bool:
            try:
                return self.acquire()  # type: ignore[no-any-return]
            except BaseException:
                if self._is_owned():  # the handler ran after the lock was acquired
                    self.release()
                raise


class Lock(InterruptSafeLock):
    """A reentrant lock that is released in a forked process if another thread had acquired it.

    A fork copies only the thread that forks, so no other thread could release the lock there.
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
