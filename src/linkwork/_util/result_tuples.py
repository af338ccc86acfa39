"""Named tuples of results, whose classes are created at run time; the tuples pickle."""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache
from typing import Any, cast

__all__ = ["result_tuple"]


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
