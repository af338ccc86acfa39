"""Things that take long to make and are made once, however many threads ask for them at the same time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .._locks import Lock

__all__ = ["Once"]

T = TypeVar("T")


class Once(Generic[T]):
    """A table of things by their keys; of more than ``most`` those go that were not asked for the longest."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._made: OrderedDict[Hashable, T] = OrderedDict()
        self._turns: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The thing of this key, made by the first who asks; who asks for another does not wait for that."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
            turn = self._turns.setdefault(key, Lock())
        with turn:
            with self._lock:
                if key in self._made:
                    return self._made[key]
            made = make()
            with self._lock:
                self._made[key] = made
                self._turns.pop(key, None)
                while self.most is not None and len(self._made) > self.most:
                    self._made.popitem(last=False)
            return made

    def __len__(self) -> int:
        return len(self._made)
