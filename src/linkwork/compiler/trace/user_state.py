"""Values that a user's functions read when they were traced: a kernel is traced again if one of them has changed.

A function reads its code, defaults and closure, variables of its module, and attributes of modules and objects that it
names, and so do the functions that it calls.  Numbers, texts, arrays and containers are compared by value, objects of
users by their attributes and the methods of their classes, all else by identity, such as objects of installed packages.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache, partial
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any
from weakref import ref

import numpy as np

from linkwork._util.own_code import is_of_user, is_own, is_proved
from linkwork._util.user_frames import names_in
from linkwork.compiler.cache.function_content import attributes_of

__all__ = ["user_state"]

_LARGE = 10_000  # elements of a container, or numbers of an array, from which on it is compared by identity
_PLAIN = (bool, int, str, bytes, complex, type(None), type(...), range, np.generic)
_COMPOSED = (MethodType, partial, type(cache(len)), tuple, list, dict, MappingProxyType)
_DATA = (*_PLAIN, float, np.ndarray, np.dtype, np.random.Generator)


def user_state(value: Any) -> object:
    """Return what functions and objects of users in a value read now, to be compared; None if it contains none."""
    readers = tuple(_readers(value, set()))
    return _Snapshot().of(readers) if readers else None


def _readers(value: Any, visited: set[int]) -> Iterator[Any]:
    """Yield functions and objects of users in a value."""
    if isinstance(value, _DATA) or id(value) in visited:
        return
    visited.add(id(value))
    kind = type(value)
    if isinstance(value, (FunctionType, type)):
        if is_of_user(value):
            yield value
        for x in _cells(value):
            yield from _readers(x, visited)
    elif kind in _COMPOSED or kind in (set, frozenset):
        for x in _parts(value):
            yield from _readers(x, visited)
    elif is_of_user(kind):
        yield value
    elif is_own(kind):
        known = _without_code.get(id(value))
        if known is not None and known() is value:
            return
        found = [x for _, part in attributes_of(value) for x in _readers(part, visited)]
        if not found and getattr(kind, "_stores_content", False):  # it never changes
            _without_code[id(value)] = ref(value, partial(_forget, id(value)))
        yield from found


def _forget(key: int, _: Any) -> None:
    _without_code.pop(key, None)


_without_code: dict[int, ref[Any]] = {}  # objects without code of users, by id


class _Snapshot:
    """Reader of values, each once: later occurrences are numbers."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}

    def of(self, value: Any) -> object:
        if isinstance(value, _PLAIN):
            return type(value), value
        if type(value) is float:
            return value.hex()
        if id(value) in self._seen:
            return "seen", self._seen[id(value)]
        self._seen[id(value)] = len(self._seen)
        if type(value) is np.ndarray and value.size <= _LARGE and not value.dtype.hasobject:
            return value.dtype.str, value.shape, value.tobytes()
        if isinstance(value, FunctionType):
            return self._function(value) if is_of_user(value) else _Same(value)
        if isinstance(value, type):
            return self._class(value) if is_of_user(value) else _Same(value)
        if type(value) in _COMPOSED:
            parts = _parts(value)
            return _Same(value) if len(parts) > _LARGE else (type(value), *map(self.of, parts))
        if type(value) in (set, frozenset) and len(value) <= _LARGE and all(isinstance(x, _PLAIN) for x in value):
            return type(value), frozenset(value)
        if isinstance(value, ModuleType) or not is_of_user(type(value)):
            return _Same(value)
        return self._class(type(value)), *map(self.of, (x for item in attributes_of(value) for x in item))

    def _function(self, function: FunctionType) -> tuple[object, ...]:
        names = names_in(function.__code__)
        there = {name: function.__globals__[name] for name in names if name in function.__globals__}
        for module in [x for x in there.values() if isinstance(x, ModuleType) and not is_proved(x)]:
            there |= {f"{module.__name__}.{name}": vars(module)[name] for name in names if name in vars(module)}
        values = (function.__defaults__, function.__kwdefaults__, *_cells(function), *there.values())
        return function.__code__, *there, *map(self.of, values)

    def _class(self, kind: type) -> tuple[object, ...]:
        bases = [base for base in kind.__mro__ if is_of_user(base)]
        items = [
            (name, x) for base in bases for name, x in vars(base).items() if not name.startswith("__") or callable(x)
        ]
        return kind.__qualname__, *map(
            self.of, (x for name, code in items for x in (name, getattr(code, "fget", code)))
        )


class _Same:
    """A value that is compared by identity, or by its own comparison if it is a constant of linkwork."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return False
        value = self.value
        return value is other.value or (is_own(type(value)) and isinstance(value, Hashable) and value == other.value)

    __hash__ = None  # type: ignore[assignment]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, type(cache(len))):
        return [value.__wrapped__]
    return [x for item in value.items() for x in item] if isinstance(value, Mapping) else list(value)


def _cells(function: Callable[..., Any]) -> list[Any]:
    result = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            result.append(cell.cell_contents)
        except ValueError:  # it has no content yet
            result.append(None)
    return result
