"""A table of a limited number of entries that threads share."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from linkwork._util.fork_safe_lock import Lock

__all__ = ["BoundedCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A table whose oldest entries are dropped as new ones are stored; threads may read and store at the same time.

    ``capacity`` limits the sum of the entries' ``size``, by default their number; the newest entry is always stored.
    ``get`` reads an entry, as that of a dict does, without a lock.
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
