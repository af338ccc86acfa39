"""Locks that are released in a forked process, and that no interrupt leaves acquired."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from functools import cached_property

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
        _locks.add(self)

    def renewed(self) -> None:
        """Release the lock in a forked process, unless this thread has acquired it."""
        if self.acquire(blocking=False):
            self.release()
        else:
            self._at_fork_reinit()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_locks):
        lock.renewed()
    if sys.version_info < (3, 12):  # later versions have no lock
        _renew_cached_properties()


def _renew_cached_properties() -> None:
    """Replace the locks of `cached_property`, which Python has until 3.11 and another thread may have acquired."""
    known = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == _PACKAGE]
    kinds = {kind for module in known for kind in vars(module).values() if isinstance(kind, type)}
    for kind in kinds:
        for one in vars(kind).values() if kind.__module__.partition(".")[0] == _PACKAGE else ():
            if isinstance(one, cached_property):
                one.__dict__["lock"] = threading.RLock()


_PACKAGE = __name__.partition(".")[0]
if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_after_fork)
