"""Base classes of what linkwork returns: `Made` has no public constructor, `Result` has a status.

`Result` is public as `linkwork.errors.Result`.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from linkwork._util.status import Status

__all__ = ["Made", "Result"]


class Made:
    """A value that functions and methods of linkwork return, and that has no public constructor."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        package, *room = cls.__module__.split(".")
        if package == "linkwork":
            cls.__module__ = f"linkwork.{room[0]}"  # which publishes the class

    def __init__(self) -> None:
        """Raise TypeError: linkwork's functions and methods make these values."""
        raise TypeError(f"{type(self).__name__}: has no constructor: functions and methods of linkwork return it")

    @classmethod
    def _make(cls, *values: Any, **named: Any) -> Self:
        """Make an instance, of the values of `_fill`."""
        made = object.__new__(cls)
        made._fill(*values, **named)
        return made

    def _fill(self, *values: Any, **named: Any) -> None:
        """Set the fields of a dataclass.  Other classes have their own."""
        cls: Any = type(self)
        names, defaults, factories = _fields_of(cls)
        if len(values) == len(names) and not named:
            vars(self).update(zip(names, values, strict=True))
            return
        given = dict(zip(names, values, strict=False)) | named
        for name, factory in factories.items():
            if name not in given:
                given[name] = factory()
        given = defaults | given
        if len(values) > len(names) or given.keys() != set(names):
            raise TypeError(f"{type(self).__name__}: expected the fields {names}, got {(*given,)}")
        vars(self).update(given)

    def _replaced(self, **changes: Any) -> Self:
        """Return a dataclass with other values for some fields."""
        cls: Any = type(self)
        names, _, _ = _fields_of(cls)
        return self._make(**({name: vars(self)[name] for name in names} | changes))


Made.__init__.__annotations__.clear()  # then help() shows no constructor of subclasses


@functools.cache
def _fields_of(cls: Any) -> tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]:
    """Return the names of a dataclass's fields, the defaults of some, and functions that make those of others."""
    fields = dataclasses.fields(cls)
    missing = dataclasses.MISSING
    defaults = {f.name: f.default for f in fields if f.default is not missing}
    factories = {f.name: f.default_factory for f in fields if f.default_factory is not missing}
    return tuple(f.name for f in fields), defaults, factories


class Result(Made):
    """The result of a computation that may fail.

    All results have

    - ``success``: True where the result may be used; bool, or an array (...) of a batch;
    - ``status``: the outcome as a `Status`, or an array (...) of its words of a batch;
    - ``message``: a sentence with names and numbers, of a batch a summary;
    - ``iterations``: the iterations of the computation, an integer or an array (...);
    - `explain`: status, message and advice.

    Results have no truth value, since those of batches have none: use ``success``.
    """

    __slots__ = ()
    __module__ = "linkwork.errors"

    if TYPE_CHECKING:  # fields of some subclasses, and properties of others

        @property
        def success(self) -> Any: ...

        @property
        def status(self) -> Any: ...

        @property
        def iterations(self) -> Any: ...

    @property
    def message(self) -> str:
        """The outcome in a sentence with names and numbers; of a batch, how many have which status."""
        words = np.asarray(self.status)
        return self._sentence(()) if not words.ndim else counted(words)

    def explain(self, index: int | tuple[int, ...] = ()) -> str:
        """Return status, message and advice; of a batch those at an index, or of the whole batch without one.

        Raises ValueError for an index that does not fit the batch, IndexError for one beyond it.
        """
        words = np.asarray(self.status)
        if words.ndim and isinstance(index, tuple) and not index:
            failed = [Status(word) for word in np.unique(words[~np.asarray(self.success, dtype=bool)])]
            return "\n".join([self.message, *(f"{status}: {status.advice}" for status in failed if status.advice)])
        place = _checked_index(index, words.shape)
        status = Status(words[place])
        advice = "" if np.asarray(self.success)[place] or not status.advice else f". {status.advice}"
        return f"{status}: {self._sentence(place)}{advice}"

    def _sentence(self, place: tuple[int, ...]) -> str:
        """Return the message of one entry: the index has an integer for each axis of the batch."""
        raise NotImplementedError

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: a result has no truth value; use .success, and .success.all() of a batch"
        )


def counted(words: np.ndarray) -> str:
    """Return how many entries have which status, the most frequent first: "3 of 5 solved, 2 out_of_reach"."""
    if not words.size:
        return "an empty batch"
    names, counts = np.unique(words, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    most = order[0]
    rest = [f"{counts[k]} {names[k]}" for k in order[1:]]
    return ", ".join([f"{counts[most]} of {words.size} {names[most]}", *rest])


def _checked_index(index: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return an index of a batch as integers from 0 on.  Raises ValueError and IndexError."""
    place = index if isinstance(index, tuple) else (index,)
    if len(place) != len(shape) or not all(map(_is_integer, place)):
        raise ValueError(f"explain: index: expected {len(shape)} integers, for a batch of {shape}, got {index!r}")
    if not all(-n <= k < n for k, n in zip(place, shape, strict=True)):
        raise IndexError(f"explain: index: expected integers within the batch {shape}, got {index!r}")
    return tuple(int(k) % n for k, n in zip(place, shape, strict=True))


def _is_integer(x: object) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)
