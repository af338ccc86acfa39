"""Tuples whose members can also be accessed by name, with completion of the names in editors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex, TypeVar, overload

from linkwork.errors import UnknownNameError

__all__ = ["Named"]

T = TypeVar("T")


class Named(tuple[T, ...]):
    """A tuple of names, or of objects with a ``name``: ``joints["elbow"]`` is the member with that name.

    IPython completes the names.  An unknown name raises UnknownNameError.
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
