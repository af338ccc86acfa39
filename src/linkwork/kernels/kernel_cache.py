"""Things that take long to make and are made once, however many threads ask for them at the same time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from linkwork._util.fork_safe_lock import Lock

__all__ = ["LazyCache"]

T = TypeVar("T")


class _Turn:
    """The lock of a key that is being made, and the calls that are waiting for it or hold it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.calls: set[object] = set()


class LazyCache(Generic[T]):
    """A table of things by their keys; of more than ``most`` those go that were not asked for the longest."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._made: OrderedDict[Hashable, T] = OrderedDict()
        self._turns: dict[Hashable, _Turn] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The thing of this key, made by the first who asks; who asks for another does not wait for that.

        Where it cannot be made, the error is raised and nothing of the key is kept.
        """
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        call = object()
        try:
            with self._lock:
                turn = self._turns.setdefault(key, _Turn())
                turn.calls.add(call)
            with turn.lock:
                with self._lock:
                    if key in self._made:
                        return self._made[key]
                made = make()
                with self._lock:
                    self._made[key] = made
                    while self.most is not None and len(self._made) > self.most:
                        self._made.popitem(last=False)
                return made
        finally:  # inline, and in two steps: a signal handler may raise where a function is called
            with self._lock:
                try:
                    if key in self._turns:
                        self._turns[key].calls.discard(call)
                finally:
                    if key in self._turns and not self._turns[key].calls:
                        del self._turns[key]

    def __len__(self) -> int:
        return len(self._made)
