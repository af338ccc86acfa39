"""Base classes of returned values: `ReturnedValue` has no public constructor, `Result` has a status.

`Result` is public as `linkwork.errors.Result`.
"""

from __future__ import annotations

import dataclasses
import functools
import reprlib
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from linkwork._util.lazy_imports import published_in
from linkwork._util.messages import first_of
from linkwork._util.status import Status

__all__ = ["Result", "ReturnedValue"]


class ReturnedValue:
    """Base class of values that linkwork returns and users do not construct."""

    __slots__ = ()

    def __init__(self) -> None:
        """Raise TypeError: only functions and methods of linkwork create these values."""
        raise TypeError(f"{type(self).__name__}: has no constructor; functions and methods of linkwork create it")

    @classmethod
    def _make(cls, *values: Any, **named: Any) -> Self:
        """Create an instance from the arguments of `_fill`."""
        instance = object.__new__(cls)
        instance._fill(*values, **named)
        return instance

    def _fill(self, *values: Any, **named: Any) -> None:
        """Set the fields of a dataclass, by position or by name.  Classes that are not dataclasses override it."""
        cls: Any = type(self)
        names, defaults, factories = _fields_of(cls)
        if len(values) == len(names) and not named:
            vars(self).update(zip(names, values, strict=True))
            return
        fields = dict(zip(names, values, strict=False)) | named
        for name, factory in factories.items():
            if name not in fields:
                fields[name] = factory()
        fields = defaults | fields
        if len(values) > len(names) or fields.keys() != set(names):
            raise TypeError(f"{type(self).__name__}: expected the fields {names}, got {(*fields,)}")
        vars(self).update(fields)

    def _replaced(self, **changes: Any) -> Self:
        """Return a copy of a dataclass with new values for the named fields."""
        cls: Any = type(self)
        names, _, _ = _fields_of(cls)
        return self._make(**({name: vars(self)[name] for name in names} | changes))


ReturnedValue.__init__.__annotations__.clear()  # then help() shows no constructor of subclasses


@functools.cache
def _fields_of(cls: Any) -> tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]:
    """Return the field names of a dataclass, the default values and the default factories, by field."""
    fields = dataclasses.fields(cls)
    missing = dataclasses.MISSING
    defaults = {f.name: f.default for f in fields if f.default is not missing}
    factories = {f.name: f.default_factory for f in fields if f.default_factory is not missing}
    return tuple(f.name for f in fields), defaults, factories


@published_in("linkwork.errors")
class Result(ReturnedValue):
    """The result of a computation that may fail.

    All results have

    - ``success``: True where the result may be used; bool, or an array (...) for a batch;
    - ``status``: the outcome as a `Status`; for a batch an array (...) of status words;
    - ``message``: a sentence with names and values; for a batch a summary;
    - ``iterations``: number of iterations of the computation, an integer or an array (...);
    - `explain`: status, message and advice.

    A result has no truth value, because a batch of results has none: use ``success``.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # fields of some subclasses, and properties of others

        @property
        def success(self) -> Any: ...

        @property
        def status(self) -> Any: ...

        @property
        def iterations(self) -> Any: ...

    @property
    def message(self) -> str:
        """The outcome in a sentence with names and values; for a batch, the number of entries of each status."""
        words = np.asarray(self.status)
        return self._sentence(()) if not words.ndim else counted(words)

    def explain(self, index: int | tuple[int, ...] = ()) -> str:
        """Return status, message and advice of one entry of a batch, or a summary of the whole batch without ``index``.

        The summary lists the indices of failed entries by status.  The text of an entry with ``success`` and a status
        that has advice, as a local minimum of soft tasks, begins with "success".

        Raises ValueError for an index of another length than the batch shape, IndexError for an index out of range.
        """
        words = np.asarray(self.status)
        if words.ndim and isinstance(index, tuple) and not index:
            failed = ~np.asarray(self.success, dtype=bool)
            indices = {Status(word): np.argwhere(failed & (words == word)) for word in np.unique(words[failed])}
            lines = [f"{status} at {_listed(at)}: {status.advice}".rstrip(": ") for status, at in indices.items()]
            if any(Status(word).advice for word in np.unique(words[~failed])):
                lines.insert(0, f"success: {np.sum(~failed)} of {failed.size}")
            return "\n".join([self.message, *lines])
        entry = _checked_index(index, words.shape)
        status = Status(words[entry])
        if np.asarray(self.success)[entry]:
            return f"{'success, ' if status.advice else ''}{status}: {self._sentence(entry)}"
        return f"{status}: {self._sentence(entry)}{status.advice and f'. {status.advice}'}"

    def _sentence(self, entry: tuple[int, ...]) -> str:
        """Return the message of one entry; its index has one integer per axis of the batch."""
        raise NotImplementedError

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: a result has no truth value; use .success, and .success.all() of a batch"
        )


def _listed(indices: np.ndarray) -> str:
    """Return indices (n, axes) as a text with the first three."""
    return first_of([str(int(at[0]) if at.size == 1 else (*at.tolist(),)) for at in indices], 3)


def counted(words: np.ndarray) -> str:
    """Return the number of entries of each status, the most frequent first: "3 of 5 solved, 2 out_of_reach"."""
    if not words.size:
        return "an empty batch"
    names, counts = np.unique(words, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    most = order[0]
    further = [f"{counts[k]} {names[k]}" for k in order[1:]]
    return ", ".join([f"{counts[most]} of {words.size} {names[most]}", *further])


def _checked_index(index: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return an index of a batch as non-negative integers.  Raises ValueError and IndexError."""
    entry = index if isinstance(index, tuple) else (index,)
    if len(entry) != len(shape) or not all(map(_is_integer, entry)):
        got = reprlib.repr(index)
        raise ValueError(f"explain: index: expected {len(shape)} integers, for a batch of {shape}, got {got}")
    if not all(-n <= k < n for k, n in zip(entry, shape, strict=True)):
        raise IndexError(f"explain: index: expected integers within the batch {shape}, got {index!r}")
    return tuple(int(k) % n for k, n in zip(entry, shape, strict=True))


def _is_integer(x: object) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)
