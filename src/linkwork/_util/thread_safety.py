"""Locks that are released in a forked process and that no interrupt leaves acquired, and a table that threads share."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import ref

__all__ = ["BoundedCache", "InterruptSafeLock", "Lock"]


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


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Cache that drops its oldest entries as new ones are stored; threads may read and store at the same time.

    ``capacity`` limits the sum of the entries' ``size``, by default their number; the newest entry is always stored.
    ``get`` reads an entry without a lock, as the method of a dict does.
    """

    __slots__ = ("_capacity", "_entries", "_lock", "_size", "_sizes", "get")

    def __init__(self, capacity: int, size: Callable[[V], int] = lambda value: 1) -> None:
        self._entries: dict[K, V] = {}
        self._sizes: dict[K, int] = {}  # in the order in which entries were last stored
        self._capacity, self._size, self._lock = capacity, size, Lock()
        self.get: Callable[[K], V | None] = self._entries.get

    def keep(self, key: K, value: V) -> V:
        """Store an entry and return its value; an entry of the same key is replaced."""
        with self._lock:
            self._entries[key] = value
            self._sizes.pop(key, None)
            self._sizes[key] = self._size(value)
            while len(self._sizes) > 1 and sum(self._sizes.values()) > self._capacity:
                oldest = next(iter(self._sizes))
                del self._sizes[oldest], self._entries[oldest]
        return value

    def __len__(self) -> int:
        return len(self._entries)
