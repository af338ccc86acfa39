"""Tuples whose members can also be accessed by name: lists of named members, and results."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, SupportsIndex, TypeVar, cast, overload

from linkwork.errors import UnknownNameError

__all__ = ["Named", "result_tuple"]

T = TypeVar("T")


class Named(tuple[T, ...]):
    """A tuple of names, or of objects with a ``name``: ``joints["elbow"]`` is the member with that name.

    ``"elbow" in joints`` is True, too.  IPython completes the names.  An unknown name raises UnknownNameError.
    """

    kind: str  # the kind of the members in messages, for example "joint"

    def __new__(cls, members: Iterable[T], kind: str = "member") -> Named[T]:
        result = super().__new__(cls, members)
        result.kind = kind
        return result

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[T, ...]: ...
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for member, name in zip(self, self._names(), strict=True):
            if name == key:
                return member
        raise UnknownNameError(self.kind, key, self._names())

    def __contains__(self, key: object) -> bool:
        """Return True for a member, and for the name of a member."""
        return key in self._names() if isinstance(key, str) else super().__contains__(key)

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError; for the name of a member the message shows the access by brackets."""
        message = f"a list of {self.__dict__.get('kind', 'member')}s has no attribute {name!r}"
        if not name.startswith("_") and name in self._names():
            message += f"; write [{name!r}] after it, for the member with this name"
        raise AttributeError(message, name=name, obj=self)

    def _names(self) -> list[str]:
        members: Iterable[Any] = iter(self)
        return [member if isinstance(member, str) else member.name for member in members]

    def _repr_html_(self) -> str | None:
        """Return an HTML table of members that describe themselves by `_html_row`; None for others, such as names."""
        members: Iterable[Any] = iter(self)
        described = [getattr(member, "_html_row", None) for member in members]
        if not described or None in described:
            return None
        from linkwork._util.html_tables import rows_table

        return rows_table([row() for row in described if row is not None], f"{self.kind}s")

    def _ipython_key_completions_(self) -> list[str]:
        return self._names()


@lru_cache(maxsize=1024)
def result_tuple(name: str, fields: tuple[str, ...]) -> Any:
    """Return the class of named tuples with these fields; the same class for the same name and fields."""
    kind = cast(Any, namedtuple)(name, fields)
    kind.__reduce__ = _reduce
    return kind


def _reduce(self: Any) -> tuple[Any, ...]:
    return _restored, (type(self).__name__, self._fields, tuple(self))


def _restored(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return result_tuple(name, fields)._make(values)
