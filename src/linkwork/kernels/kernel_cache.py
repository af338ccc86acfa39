"""A thread-safe cache of expensive objects; each is created only once, even if several threads request it.

An object that was created with users' functions is created again if values that these functions read have changed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from linkwork._util.thread_safety import Lock
from linkwork.compiler.trace.user_state import user_state

__all__ = ["LazyCache"]

T = TypeVar("T")


class _KeyLock:
    """The lock of a key whose object is being created, and the calls that wait for it or hold it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.calls: set[object] = set()


class LazyCache(Generic[T]):
    """A table of objects by key; with a ``capacity``, the least recently used are dropped."""

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        self._objects: OrderedDict[Hashable, tuple[T, object]] = OrderedDict()
        self._key_locks: dict[Hashable, _KeyLock] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the object of this key, created by the first caller; callers of other keys do not wait for it.

        If its creation fails, the error is raised and nothing is stored for the key.
        """
        known = self._current(key)
        if known is not None:
            return known[0]
        call = object()
        try:
            with self._lock:
                key_lock = self._key_locks.setdefault(key, _KeyLock())
                key_lock.calls.add(call)
            with key_lock.lock:
                known = self._current(key)
                if known is not None:
                    return known[0]
                created = make()
                state = user_state(key)  # after the trace, which may change an object of the user
                with self._lock:
                    self._objects[key] = created, state
                    while self.capacity is not None and len(self._objects) > self.capacity:
                        self._objects.popitem(last=False)
                return created
        finally:  # inline, and in two steps: a signal handler may raise where a function is called
            with self._lock:
                try:
                    if key in self._key_locks:
                        self._key_locks[key].calls.discard(call)
                finally:
                    if key in self._key_locks and not self._key_locks[key].calls:
                        del self._key_locks[key]

    def _current(self, key: Hashable) -> tuple[T, object] | None:
        """Return the entry of this key; None if it is missing, or if users' functions now read other values."""
        with self._lock:
            entry = self._objects.get(key)
            if entry is not None:
                self._objects.move_to_end(key)
        is_current = entry is not None and (entry[1] is None or entry[1] == user_state(key))
        return entry if is_current else None

    def __len__(self) -> int:
        return len(self._objects)

    def _trace_content(self) -> None:
        """Return None: traces do not depend on stored entries."""
